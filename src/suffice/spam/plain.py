"""Sanitising of text from mail: no control sequences, changes of text direction or line breaks are left."""

from __future__ import annotations

import re

#: limit of characters shown per line
LINE_SHOWN = 200

_DIRECTIONS = {
    "\u061c": "ALM", "\u200e": "LRM", "\u200f": "RLM", "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF",
    "\u202d": "LRO", "\u202e": "RLO", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip
_VISIBLE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(32)},  # the pictures of control characters
    **{ord(mark): f"⟨{name}⟩" for mark, name in _DIRECTIONS.items()},
    **dict.fromkeys(range(0xE0000, 0xE0080), ""),  # tag characters, which are invisible
    **dict.fromkeys(
        (0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000), " "
    ),  # other spaces
    0xAD: "",  # soft hyphen
}
# Persian text and many emoji need these two
_JOINERS = "\u200c\u200d"
# C0 and C1 controls, direction marks, line separators, and lone surrogates, which cannot be encoded
_ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str, limit: int = LINE_SHOWN) -> str:
    r"""Return a text sanitised, on one line of at most `limit` characters, with single spaces.

    Control characters are shown as Unicode control pictures, direction marks by name, other unprintable characters as
    �.

    Examples
    --------
    >>> from suffice.spam.plain import one_line
    >>> one_line("invoice\u202efdp.exe\x1b[1m\n now"), one_line("a long one", 7)
    ('invoice⟨RLO⟩fdp.exe␛[1m now', 'a long…')
    """
    line = " ".join(text[: 4 * limit + 4].split())  # also removes \x1c to \x1f and \x85, which are spaces
    line = " ".join(_harmless(line).split())  # removed invisible characters may have separated spaces
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def many_lines(text: str, limit: int) -> str:
    r"""Return the first `limit` characters of a text of many lines, sanitised as in `one_line`.

    Examples
    --------
    >>> from suffice.spam.plain import many_lines
    >>> many_lines("two\r\nlines\x07 and\xa0more\n", 100)
    'two\nlines␇ and more\n'
    """
    text = text[:limit].replace("\r\n", "\n")
    return "\n".join("\t".join(map(_harmless, line.split("\t"))) for line in text.split("\n"))


def acts(text: str) -> bool:
    r"""Return whether a text holds control characters that a terminal or a protocol would act on.

    Examples
    --------
    >>> from suffice.spam.plain import acts
    >>> [acts(name) for name in ("Entwürfe", "Junk\r\nA1 LOGOUT", "a\x9bm", "a\u202eb")]
    [False, True, True, True]
    """
    return _ACTING.search(text) is not None


def _harmless(text: str) -> str:
    if text.isprintable():
        return text
    shown = text.translate(_VISIBLE)
    return "".join(letter if letter.isprintable() or letter in _JOINERS else "\ufffd" for letter in shown)
