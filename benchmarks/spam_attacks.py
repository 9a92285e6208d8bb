"""What a spammer may do to a message so that a filter does not know it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.spam import read


@dataclass(frozen=True)
class Known:
    """What an attacker knows of somebody's ham: common words, and whole messages that the filter was taught."""

    words: list[str]
    hams: list[bytes]

    def messages(self, rng: np.random.Generator, count: int) -> list[bytes]:
        """Return some of the hams, with line feeds and without the "From " line of a mailbox."""
        chosen = (self.hams[i].replace(b"\r\n", b"\n") for i in rng.choice(len(self.hams), count, replace=False))
        return [_without_from_line(raw) for raw in chosen]


Attack = Callable[[bytes, Known, np.random.Generator], bytes]
#: characters before the text
PADDING = 262_144

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


def none(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    return raw


def good_words(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Two hundred words of ham behind the text."""
    head, text = _split(raw)
    return _joined(head, text + "\n" + " ".join(rng.choice(known.words, 200)))


def word_salad(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """As many words that nobody uses as the text has."""
    head, text = _split(raw)
    salad = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(min(500, len(text.split())))]
    return _joined(head, text + "\n" + " ".join(salad))


def homoglyphs(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Cyrillic letters for the Latin ones that they look like, in every second word."""
    head, text = _split(raw)
    return _joined(
        head, re.sub(r"[A-Za-z]{4,}(?![^<>]*>)", lambda m: m[0].translate(_ALIKE) if rng.random() < 0.5 else m[0], text)
    )


def zero_width(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """A space without width in the middle of every word."""
    head, text = _split(raw)
    return _joined(head, re.sub(r"([A-Za-z]{2})([A-Za-z]{2,})(?![^<>]*>)", "\\1\u200b\\2", text))


def spaced(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """A space between any two letters of every second word."""
    head, text = _split(raw)
    return _joined(
        head,
        re.sub(r"[A-Za-z]{4,}(?![^<>]*>)", lambda m: f" {' '.join(m[0])} " if rng.random() < 0.5 else m[0], text),
    )


def digits(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Digits and signs for the first two letters that have one, in every second word."""
    head, text = _split(raw)

    def disguised(match: re.Match[str]) -> str:
        if rng.random() < 0.5:
            return match[0]
        return re.sub("[oieast]", lambda m: "013@$7"["oieast".index(m[0])], match[0], count=2)

    return _joined(head, re.sub(r"[a-z]{5,}(?![^<>]*>)", disguised, text))


def hidden_words(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Two hundred words of ham that are not shown."""
    head, text = _split(raw)
    return _joined(head, f'{text}\n<div style="display:none">{" ".join(rng.choice(known.words, 200))}</div>')


def white_words(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Two hundred words of ham in white on white."""
    head, text = _split(raw)
    return _joined(head, f'{text}\n<font color="#ffffff">{" ".join(rng.choice(known.words, 200))}</font>')


def styled_words(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Two hundred words of ham that a style sheet hides."""
    head, text = _split(raw)
    words = " ".join(rng.choice(known.words, 200))
    return _joined(head, f"<style>.x7 {{display: none}}</style>{text}\n<p class=x7>{words}</p>")


def many_good_words(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Ten thousand words of ham behind the text."""
    head, text = _split(raw)
    return _joined(head, text + "\n" + " ".join(rng.choice(known.words, 10_000)))


def blank_padding(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Blank lines before the text."""
    head, text = _split(raw)
    return _joined(head, "\n" * PADDING + text)


def hidden_padding(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """A comment of ham before the text."""
    head, text = _split(raw)
    return _joined(head, f"<!-- {_words_of(known, rng)} -->{text}")


def word_padding(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Words of ham before the text, for all to see."""
    head, text = _split(raw)
    return _joined(head, f"{_words_of(known, rng)}\n{text}")


def _words_of(known: Known, rng: np.random.Generator) -> str:
    return " ".join(rng.choice(known.words, PADDING // 3))[:PADDING]


def entities(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """A character reference for the colon of every link, in an attribute."""
    head, text = _split(raw)
    if "<" not in text:
        text = re.sub(r"(https?)://([^\s<>\"]+)", r'<a href="\1&#58;//\2">here</a>', text)
    return _joined(head, re.sub("(?i)(https?)://", r"\1&#58;//", text))


def one_ham(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """A ham as an attached message."""
    return _with_parts(raw, [_AS_MESSAGE + ham for ham in known.messages(rng, 1)])


def ten_hams(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Ten hams as attached messages."""
    return _with_parts(raw, [_AS_MESSAGE + ham for ham in known.messages(rng, 10)])


def ten_headers(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """The headers of ten hams as attached messages."""
    return _with_parts(raw, [_AS_MESSAGE + ham.partition(b"\n\n")[0] + b"\n\n" for ham in known.messages(rng, 10)])


def ten_files(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """The texts of ten hams as attached files."""
    kind = b"Content-Type: text/plain; charset=utf-8\nContent-Disposition: attachment; filename=a.txt\n\n"
    return _with_parts(raw, [kind + _text_of(ham) for ham in known.messages(rng, 10)])


def ten_texts(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """The texts of ten hams as parts that are shown below the text."""
    kind = b"Content-Type: text/plain; charset=utf-8\n\n"
    return _with_parts(raw, [kind + _text_of(ham) for ham in known.messages(rng, 10)])


def ham_above(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """The text of a ham as a part above the text."""
    [ham] = known.messages(rng, 1)
    return _with_parts(raw, [], before=b"Content-Type: text/plain; charset=utf-8\n\n" + _text_of(ham))


def spam_inside(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """The spam as a message attached to 300 characters of a ham, with its own headers around both."""
    [ham] = known.messages(rng, 1)
    head = _without_from_line(raw.replace(b"\r\n", b"\n")).partition(b"\n\n")[0]
    shell = re.sub(rb"(?im)^(?:content-[a-z-]+|mime-version):[^\n]*\n(?:[ \t][^\n]*\n)*", b"", head + b"\n")
    text = b"Content-Type: text/plain; charset=utf-8\n\n" + _text_of(ham)[:300]
    return _with_parts(shell + text, [_AS_MESSAGE + _without_from_line(raw.replace(b"\r\n", b"\n"))])


def alternative(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """The text of a ham as the plain alternative."""
    [ham] = known.messages(rng, 1)
    first = b"Content-Type: text/plain; charset=utf-8\n\n" + _text_of(ham)
    return _with_parts(raw, [], before=first).replace(b"multipart/mixed", b"multipart/alternative", 1)


def forged_headers(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """All headers of a ham below the message's own."""
    [ham] = known.messages(rng, 1)
    head, _, body = _without_from_line(raw.replace(b"\r\n", b"\n")).partition(b"\n\n")
    return head + b"\n" + ham.partition(b"\n\n")[0] + b"\n\n" + body


_AS_MESSAGE = b"Content-Type: message/rfc822\n\n"


def _without_from_line(raw: bytes) -> bytes:
    return raw.partition(b"\n")[2] if raw.startswith(b"From ") else raw


def _text_of(raw: bytes) -> bytes:
    return "\n".join(part.text for part in read(raw).parts if part.text).encode("utf-8", "replace")


def _with_parts(raw: bytes, parts: list[bytes], before: bytes = b"") -> bytes:
    """Return a message with its body as one part of a multipart, and others around it."""
    head, _, body = _without_from_line(raw.replace(b"\r\n", b"\n")).partition(b"\n\n")
    field = rb"(?im)^(?:content-[a-z-]+%s):[^\n]*\n(?:[ \t][^\n]*\n)*"
    own = b"".join(re.findall(field % b"", head + b"\n"))
    rest = re.sub(field % b"|mime-version", b"", head + b"\n")
    line = b"\n--=_0f3a\n"
    held = [before] if before else []
    return (
        rest
        + b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="=_0f3a"\n'
        + b"".join(line + each for each in [*held, own + b"\n" + body, *parts])
        + b"\n--=_0f3a--\n"
    )


def image_only(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Nothing but a picture."""
    return _joined(_split(raw)[0], '<html><body><img src="cid:picture"></body></html>')


def empty_body(raw: bytes, known: Known, rng: np.random.Generator) -> bytes:
    """Headers alone."""
    return _split(raw)[0] + b"\n"


ATTACKS: dict[str, Attack] = {
    "as it is": none,
    "one ham attached": one_ham,
    "ten hams attached": ten_hams,
    "headers of ten hams attached": ten_headers,
    "ten hams as files": ten_files,
    "ten hams below the text": ten_texts,
    "a ham above the text": ham_above,
    "a ham as the alternative": alternative,
    "spam attached to a ham's text": spam_inside,
    "forged headers of a ham": forged_headers,
    "blank padding": blank_padding,
    "padding in a comment": hidden_padding,
    "padding of good words": word_padding,
    "entities in links": entities,
    "200 good words": good_words,
    "10,000 good words": many_good_words,
    "200 hidden good words": hidden_words,
    "200 white good words": white_words,
    "200 good words, by style": styled_words,
    "word salad": word_salad,
    "homoglyphs": homoglyphs,
    "zero-width characters": zero_width,
    "s p a c e d words": spaced,
    "d1gits for letters": digits,
    "image only": image_only,
    "empty body": empty_body,
}
