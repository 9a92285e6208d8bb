"""Parsing of a raw message into headers and parts, for any bytes, in bounded time and memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from suffice.spam.decoding import as_text, decoded_body
from suffice.spam.headers import (
    HEADER_LIMIT,
    STAMP,
    Fields,
    Headers,
    content,
    decoded_name,
    read_headers,
    with_line_feeds,
)
from suffice.spam.parts import Place, leaves

#: bytes of a message that are read; the rest is ignored
RAW_LIMIT = 16_000_000
#: limits of characters, in total, for the message's own texts and for attached texts; each text may use half of what is
#: left, so that none uses all
TEXT_LIMIT = 1_048_576
ATTACHED_LIMIT = 65_536
#: texts that begin after this many characters of other texts count as attached
FIRST_SEEN = 2_000

# a bare CR is excluded, since the text after it would be taken for part of this line
_FROM_LINE_AS_SENT = re.compile(rb">?From [^\r\n]*\r?\n")


@dataclass(frozen=True, slots=True)
class Part:
    """One leaf of a message: a text or an attachment, or the text of a multipart before its first part.

    Attributes
    ----------
    content_type : str
        In lower case; ``"text/plain"`` if none is declared.
    charset, disposition, encoding, file_name : str
        As declared, the first three in lower case; empty if not declared.
    text : str
        The decoded text; empty for anything else. If it is longer than half of what is left of `TEXT_LIMIT` or
        `ATTACHED_LIMIT`, only the beginning and the end are kept.
    size : int
        Number of bytes of the part, as sent.
    is_inner : bool
        Whether it belongs to a nested message.
    is_attached : bool
        Whether a reader sees its text only after opening it, or not at all: an attachment, a part of a nested message,
        or text before or after the parts of a multipart.
    alternative : int
        The same positive number for parts that are alternatives of each other, of which one is shown; else 0.
    """

    content_type: str
    charset: str
    disposition: str
    encoding: str
    file_name: str
    text: str
    size: int
    is_inner: bool = False
    is_attached: bool = False
    alternative: int = 0

    @property
    def is_text(self) -> bool:
        """Whether it is read as text."""
        return self.content_type.startswith(("text/", "multipart/", "message/")) or "/" not in self.content_type

    @property
    def has_content(self) -> bool:
        """Whether it is anything but an empty text."""
        return not self.is_text or (bool(self.text) and not self.text.isspace())


@dataclass(frozen=True, slots=True)
class Message:
    """Headers in order (names in lower case, values decoded), parts, and the headers of nested messages.

    Attributes
    ----------
    headers : tuple of (name, value)
        The headers, in their order.
    parts : tuple of Part
        The parts of the body.
    inner_headers : tuple of (name, value), default ()
        The headers of nested messages.
    """

    headers: Headers
    parts: tuple[Part, ...]
    inner_headers: Headers = ()

    def header(self, name: str) -> str:
        """Return the first value of a header, or an empty string.

        Parameters
        ----------
        name : str
            The name of the header, in lower case.
        """
        return next((value for key, value in self.headers if key == name), "")


def read(raw: bytes) -> Message:
    r"""Parse a message; no input makes it fail.

    Lines may end in LF, CRLF or CR. A message that does not begin with a header is all body. Parts nested deeper than
    `DEPTH_LIMIT` are read as plain text, and everything beyond the other limits is left out.

    Parameters
    ----------
    raw : bytes
        The message.

    Returns
    -------
    Message
        Its headers and parts, decoded.

    Examples
    --------
    >>> from suffice.spam import read
    >>> message = read(b"Subject: =?utf-8?q?caf=C3=A9?=\nContent-Transfer-Encoding: base64\n\naGVsbG8=")
    >>> message.header("subject"), message.parts[0].text
    ('café', 'hello')
    """
    raw = with_line_feeds(raw[:RAW_LIMIT])
    headers, body = read_headers(raw, 0, len(raw))
    # two limits, so that attachments cannot use up the limit of the message's own texts
    left = {False: TEXT_LIMIT, True: ATTACHED_LIMIT}
    parts: list[Part] = []
    nested: Fields = []
    for fields, start, end, place in leaves(raw, headers, body, nested):
        if not fields and (start >= end or raw[start:end].isspace()):
            continue  # only the line ends around boundaries
        part = _part(fields, raw, start, end, left, place)
        left[part.is_attached] -= len(part.text)
        parts.append(part)
    return Message(tuple(headers), tuple(_by_sight(parts)), tuple(nested))


def _by_sight(parts: list[Part]) -> Iterator[Part]:
    """Yield the parts; texts after the first `FIRST_SEEN` visible characters become attached, the first text never."""
    if not any(part.has_content for part in parts if not part.is_attached):
        for place, part in enumerate(parts):
            if part.has_content:
                parts[place] = replace(part, is_attached=False)
                break
    seen, shown = 0, 0
    for part in parts:
        if not part.is_attached and part.is_text:
            if seen >= FIRST_SEEN and not (shown and shown == part.alternative):
                part = replace(part, is_attached=True)
            else:
                seen, shown = seen + len(part.text.strip()), part.alternative
        yield part


def identity(raw: bytes) -> bytes:
    """Return the identity of a message in a store, the 32 bytes of `digest`."""
    return bytes.fromhex(digest(raw))


def digest(raw: bytes) -> str:
    r"""Return the identity of a message, SHA-256 in hexadecimal.

    The "From " line of a mailbox, the stamps of filters and mail programs, the kind of line ends and empty lines at the
    end are ignored, so that a stamped copy has the same identity.

    Parameters
    ----------
    raw : bytes
        The message.

    Examples
    --------
    >>> from suffice.spam import digest
    >>> digest(b"X-Suffice-Spam: yes\nSubject: a\n\nb\n") == digest(b"From x\r\nSubject: a\r\n\r\nb")
    True
    """
    import hashlib  # slow to import, and scoring does not need it

    if first := _FROM_LINE_AS_SENT.match(raw):
        raw = raw[first.end() :]
    raw = with_line_feeds(raw)
    end = raw.find(b"\n\n", 0, HEADER_LIMIT)
    end = min(len(raw), HEADER_LIMIT) if end < 0 else end + 1
    head = b"" if raw[:1] == b"\n" else _stamp_field().sub(b"", raw[:end])
    body = raw if raw[:1] == b"\n" else raw[end:]
    state = hashlib.sha256(head)
    state.update(body.rstrip(b"\n"))
    return state.hexdigest()


@cache
def _stamp_field() -> re.Pattern[bytes]:
    return re.compile(rb"^" + STAMP + rb"[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n?)*", re.IGNORECASE | re.MULTILINE)


def _part(fields: Fields, raw: bytes, start: int, end: int, left: dict[bool, int], place: Place) -> Part:
    """Return the leaf of raw[start:end], its text limited to half of the characters `left` for its kind."""
    kind, parameters = content(fields, "content-type")
    disposition, about = content(fields, "content-disposition")
    encoding, _ = content(fields, "content-transfer-encoding")
    charset = parameters.get("charset", "").strip("'\" ").lower()[:40]
    name = decoded_name(about.get("filename") or parameters.get("name", ""))
    is_attached = place.is_inner or place.is_apart or disposition == "attachment"
    about_it = charset, disposition, encoding, name, "", end - start, place.is_inner, is_attached, place.alternative
    part = Part(kind or "text/plain", *about_it)
    if not part.is_text or left[is_attached] < 2 or end <= start:
        return part
    text = as_text(decoded_body(raw[start:end], encoding), charset)
    return replace(part, text=both_ends(text, left[is_attached] // 2))


def both_ends(text: str, most: int) -> str:
    """Return a text cut to at most `most` characters: three quarters from the beginning, one from the end.

    Examples
    --------
    >>> from suffice.spam.message import both_ends
    >>> both_ends("abcdefghij", 8), both_ends("abc", 8)
    ('abcdefij', 'abc')
    """
    return text if len(text) <= most else text[: most - most // 4] + text[len(text) - most // 4 :]
