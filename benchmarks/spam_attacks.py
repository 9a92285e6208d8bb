"""What a spammer may do to a message so that a filter does not know it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from suffice.spam import read

Attack = Callable[[bytes, list[str], np.random.Generator], bytes]

_ALIKE = str.maketrans("aeopcyx", "аеорсух")
_TEXT_HEADERS = b"MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n"


def _split(raw: bytes) -> tuple[bytes, str]:
    """Return the headers without those of MIME, and the text."""
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    head = re.sub(rb"(?im)^(?:content-[a-z-]+|mime-version):[^\n]*\n?(?:[ \t][^\n]*\n?)*", b"", head + b"\n")
    return head, "\n".join(part.text for part in read(raw).parts)


def _joined(head: bytes, text: str) -> bytes:
    html = b"html" if "<" in text and ">" in text else b"plain"
    return head + _TEXT_HEADERS.replace(b"plain", html) + b"\n" + text.encode("utf-8", "replace")


def none(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    return raw


def good_words(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """Two hundred words of ham behind the text."""
    head, text = _split(raw)
    return _joined(head, text + "\n" + " ".join(rng.choice(words, 200)))


def word_salad(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """As many words that nobody uses as the text has."""
    head, text = _split(raw)
    salad = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(min(500, len(text.split())))]
    return _joined(head, text + "\n" + " ".join(salad))


def homoglyphs(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """Cyrillic letters for the Latin ones that they look like, in every second word."""
    head, text = _split(raw)
    return _joined(
        head, re.sub(r"[A-Za-z]{4,}(?![^<>]*>)", lambda m: m[0].translate(_ALIKE) if rng.random() < 0.5 else m[0], text)
    )


def zero_width(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """A space without width in the middle of every word."""
    head, text = _split(raw)
    return _joined(head, re.sub(r"([A-Za-z]{2})([A-Za-z]{2,})(?![^<>]*>)", "\\1\u200b\\2", text))


def spaced(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """A space between any two letters of every second word."""
    head, text = _split(raw)
    return _joined(
        head,
        re.sub(r"[A-Za-z]{4,}(?![^<>]*>)", lambda m: f" {' '.join(m[0])} " if rng.random() < 0.5 else m[0], text),
    )


def digits(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """Digits and signs for the first two letters that have one, in every second word."""
    head, text = _split(raw)

    def disguised(match: re.Match[str]) -> str:
        if rng.random() < 0.5:
            return match[0]
        return re.sub("[oieast]", lambda m: "013@$7"["oieast".index(m[0])], match[0], count=2)

    return _joined(head, re.sub(r"[a-z]{5,}(?![^<>]*>)", disguised, text))


def hidden_words(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """Two hundred words of ham that are not shown."""
    head, text = _split(raw)
    return _joined(head, f'{text}\n<div style="display:none">{" ".join(rng.choice(words, 200))}</div>')


def image_only(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """Nothing but a picture."""
    return _joined(_split(raw)[0], '<html><body><img src="cid:picture"></body></html>')


def empty_body(raw: bytes, words: list[str], rng: np.random.Generator) -> bytes:
    """Headers alone."""
    return _split(raw)[0] + b"\n"


ATTACKS: dict[str, Attack] = {
    "as it is": none,
    "200 good words": good_words,
    "word salad": word_salad,
    "homoglyphs": homoglyphs,
    "zero-width characters": zero_width,
    "s p a c e d words": spaced,
    "d1gits for letters": digits,
    "200 hidden good words": hidden_words,
    "image only": image_only,
    "empty body": empty_body,
}
