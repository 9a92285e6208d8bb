"""Removal of the stamps that a message came with, which are forged; it needs nothing but regular expressions.

`suffice spam filter` passes mail on by it even if nothing else of the package can be loaded.
"""

from __future__ import annotations

import re

# Headers end at the first empty line. A bare CR ends a line for some mail programs and not for others. It counts as a
# line end when forged stamps are searched, but not when the end of the headers or the place of our stamps is
# determined, and a "From " line cannot contain it. So no mail program finds a stamp that is not ours.
_FROM_LINE = re.compile(rb"(?:From [^\r\n]*\r?\n)?")
_EMPTY_LINE = re.compile(rb"\r?\n")
_HEADERS_END = re.compile(rb"\n(?=\r?\n)")
_LINE_END = rb"(?:\r\n|\n|\r)"


class Removal:
    """A function that removes headers whose names begin with given prefixes, on top and below."""

    def __init__(self, *beginnings: bytes) -> None:
        self._beginnings = beginnings
        field = rb"(?:" + b"|".join(beginnings) + rb")[^\r\n]*(?:" + _LINE_END + rb"[ \t][^\r\n]*)*"
        self._on_top = re.compile(rb"(?:" + field + rb"(?:" + _LINE_END + rb"|\Z))*", re.IGNORECASE)
        self._below = re.compile(_LINE_END + field, re.IGNORECASE)

    def __call__(self, headers: bytes) -> bytes:
        """Return the headers without those."""
        lower = headers.lower()
        if not any(beginning in lower for beginning in self._beginnings):
            return headers
        if on_top := self._on_top.match(headers):
            headers = headers[on_top.end() :]
        return self._below.sub(b"", headers)


without_ours = Removal(b"x-suffice-")
without_spamassassins = Removal(b"x-suffice-", b"x-spam-")


def not_judged(raw: bytes) -> bytes:
    r"""Return a message with the status "error" in place of its own stamps.

    Examples
    --------
    >>> from suffice.spam.forged import not_judged
    >>> not_judged(b"From ann\nX-Suffice-Status: ham\nSubject: Hello\n\nBuy!")
    b'From ann\nX-Suffice-Status: error\nSubject: Hello\n\nBuy!'
    """
    return with_stamps(raw, [b"X-Suffice-Status: error"])


def with_stamps(raw: bytes, lines: list[bytes], without: Removal = without_ours) -> bytes:
    """Return a message with lines of headers on top, which replace those that are to be removed.

    They come after the "From " line of a mailbox, with the line ends of the message. A message that begins with a space
    or a tab gets an empty line in between, since its first line would otherwise continue the stamps.
    """
    top, message = split(raw, without)
    first = raw.find(b"\n")
    line_end = b"\r\n" if raw[first - 1 : first] == b"\r" else b"\n"
    gap = line_end if message[:1] in (b" ", b"\t") else b""
    return b"".join((top, *(line + line_end for line in lines), gap, message))


def split(raw: bytes, without: Removal = without_ours) -> tuple[bytes, bytes]:
    """Return the "From " line of a message, and the rest without stamps."""
    top = _from_line(raw)
    if _EMPTY_LINE.match(raw, top):
        return raw[:top], raw[top:]
    ended = _HEADERS_END.search(raw, top)
    end = len(raw) if ended is None else ended.end()
    return raw[:top], without(raw[top:end]) + raw[end:]


def _from_line(raw: bytes) -> int:
    line = _FROM_LINE.match(raw)
    return 0 if line is None else line.end()
