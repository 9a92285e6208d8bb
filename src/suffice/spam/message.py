"""Parsing of a raw message into headers and parts, for any bytes, in bounded time and memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import NamedTuple

from suffice.spam.decoding import as_text, decoded_body, decoded_words
from suffice.spam.isolation import Unread, isolated

#: bytes of a message that are read; the rest is ignored
RAW_LIMIT = 16_000_000
HEADER_LIMIT = 65_536
HEADER_COUNT_LIMIT = 500
#: bytes of the headers searched for a listed sender, so that other headers before it cannot hide it
RAW_HEADER_LIMIT = 1_048_576
#: limits of characters, in total, for the message's own texts and for attached texts; each text may use half of what is
#: left, so that none uses all
TEXT_LIMIT = 1_048_576
ATTACHED_LIMIT = 65_536
#: texts that begin after this many characters of other texts count as attached
FIRST_SEEN = 2_000
PART_LIMIT = 200
DEPTH_LIMIT = 20
#: limit of lines that begin with "--" in a multipart; a message built to waste time has many that are not boundaries
DELIMITER_LIMIT = 20_000

#: headers that filters, scanners and mail programs add after arrival: neither evidence nor part of the message
STAMP = (
    rb"(?:x-(?:spam|suffice|bogosity|dspam|crm114|ham-report|virus|mailscanner|rspamd|barracuda|ironport|proofpoint|pmx|amavis"
    rb"|razor|pyzor|dcc-|antispam|anti-spam|antivirus|brightmail|cloudmark|forefront-antispam|microsoft-antispam|sbrule|sbclass"
    rb"|sbrs|yahoofilteredbulk|gmx-anti|ovh-spam|filter|ms-exchange-organization-(?:scl|pcl|antispam)|rbl|imap|uid|keywords"
    rb"|status|mozilla|evolution|gmail-labels|original-folder|folder|popfile|text-classification|scanned|clamav|sophos|avg"
    rb"|trend|kaspersky|avast|md5sum|delivery-time)[!-9;-~]*"
    rb"|spam[!-9;-~]*|status|content-length|lines|delivery-date|replied|forwarded|xref)"
)
_STAMP_NAME = re.compile(STAMP.decode(), re.IGNORECASE)
_FROM_LINE = re.compile(rb">?From [^\n]*\n")
# a bare CR is excluded, since the text after it would be taken for part of this line
_FROM_LINE_AS_SENT = re.compile(rb">?From [^\r\n]*\r?\n")
_FIELD_NAME = re.compile(r"[!-9;-~]{1,100}[ \t]*")
_FIELD_START = re.compile(rb"[!-9;-~]{1,100}[ \t]*:")
_FIELD_END = re.compile(r"\n(?![ \t])")
#: ASCII white space only: in values decoded as Latin-1, \x85 and \xa0 may be the last bytes of UTF-8 letters
_SPACE = " \t\n\r\v\f\x1c\x1d\x1e\x1f"
_DELIMITER = re.compile(rb"^--[^\n]+", re.MULTILINE)
#: the first word of a structured header, with comments; and a parameter, with the section number and the `*` of RFC
#: 2231
_FIRST_WORD = re.compile(r'[\s"]*+((?:[^;"(]|\([^()]*+\))*+)')
_COMMENT = re.compile(r"\([^()]*+\)")
_WORD_END = re.compile(r"[\s,]")
_SLASH = re.compile(r"\s*+/\s*+")
_PARAMETER = re.compile(
    r";\s*([a-z-]{1,40})(\*\d{1,3})?(\*?)\s*=\s*(?:\"((?:[^\"\\]|\\.){0,1000})\"?|([^\s;]{1,1000}))", re.IGNORECASE
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SYMBOLS = re.compile(r"%([0-9a-f]{2})", re.IGNORECASE)

Headers = tuple[tuple[str, str], ...]


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
    """Headers in order (names in lower case, values decoded), parts, and the headers of nested messages."""

    headers: Headers
    parts: tuple[Part, ...]
    inner_headers: Headers = ()

    def header(self, name: str) -> str:
        """Return the first value of a header, or an empty string."""
        return next((value for key, value in self.headers if key == name), "")


def read(raw: bytes) -> Message:
    r"""Parse a message; no input makes it fail.

    Lines may end in LF, CRLF or CR. A message that does not begin with a header is all body. Parts nested deeper than
    `DEPTH_LIMIT` are read as plain text, and everything beyond the other limits is left out.

    Examples
    --------
    >>> from suffice.spam import read
    >>> message = read(b"Subject: =?utf-8?q?caf=C3=A9?=\nContent-Transfer-Encoding: base64\n\naGVsbG8=")
    >>> message.header("subject"), message.parts[0].text
    ('café', 'hello')
    """
    raw = _with_line_feeds(raw[:RAW_LIMIT])
    headers, body = _read_headers(raw, 0, len(raw))
    # two limits, so that attachments cannot use up the limit of the message's own texts
    left = {False: TEXT_LIMIT, True: ATTACHED_LIMIT}
    parts: list[Part] = []
    nested: list[tuple[str, str]] = []
    for fields, start, end, place in _leaves(raw, headers, body, nested):
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


def digest(raw: bytes) -> str:
    r"""Return the identity of a message, SHA-256 in hexadecimal.

    The "From " line of a mailbox, the stamps of filters and mail programs, the kind of line ends and empty lines at the
    end are ignored, so that a stamped copy has the same identity.

    Examples
    --------
    >>> from suffice.spam import digest
    >>> digest(b"X-Suffice-Spam: yes\nSubject: a\n\nb\n") == digest(b"From x\r\nSubject: a\r\n\r\nb")
    True
    """
    import hashlib  # slow to import, and scoring does not need it

    if first := _FROM_LINE_AS_SENT.match(raw):
        raw = raw[first.end() :]
    raw = _with_line_feeds(raw)
    end = raw.find(b"\n\n", 0, HEADER_LIMIT)
    end = min(len(raw), HEADER_LIMIT) if end < 0 else end + 1
    head = b"" if raw[:1] == b"\n" else _stamp_field().sub(b"", raw[:end])
    body = raw if raw[:1] == b"\n" else raw[end:]
    state = hashlib.sha256(head)
    state.update(body.rstrip(b"\n"))
    return state.hexdigest()


def header_of(raw: bytes, name: str) -> str:
    """Return the first header with this name, decoded, without reading the body; empty if it cannot be read."""
    found = isolated(_read_head, raw)
    return "" if isinstance(found, Unread) else found.header(name)


def raw_headers(raw: bytes) -> list[tuple[str, str]]:
    r"""Return the headers of a message: names in lower case; values unfolded, as UTF-8, encoded words not decoded.

    Examples
    --------
    >>> from suffice.spam.message import raw_headers
    >>> raw_headers(b"From: =?utf-8?q?Ann?=\n <ann@example.org>\n\nTo: no")
    [('from', '=?utf-8?q?Ann?= <ann@example.org>')]
    """
    raw = _with_line_feeds(raw[:RAW_HEADER_LIMIT])
    fields, _ = _read_headers(raw, 0, len(raw), _unfolded, RAW_HEADER_LIMIT)
    return fields


def _unfolded(value: str) -> str:
    return as_text(value.replace("\n", " ").encode("latin-1"), "")


def _read_head(raw: bytes) -> Message:
    head = raw[:HEADER_LIMIT].replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    return read(head + b"\n\n")


def subject_of(raw: bytes) -> str:
    r"""Return the subject of a message, decoded; it may hold any character, and is empty if it cannot be read.

    Examples
    --------
    >>> from suffice.spam.message import subject_of
    >>> subject_of(b"From: ann\r\nSubject: =?utf-8?q?caf=C3=A9?=\r\n\r\nSubject: no")
    'café'
    """
    return header_of(raw, "subject")


@cache
def _stamp_field() -> re.Pattern[bytes]:
    return re.compile(rb"^" + STAMP + rb"[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n?)*", re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=4096)
def is_stamp(name: str) -> bool:
    """Return whether a header is one that a filter, a scanner or a mail program adds."""
    return _STAMP_NAME.fullmatch(name) is not None


def _with_line_feeds(raw: bytes) -> bytes:
    if b"\r" not in raw:
        return raw
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _read_headers(
    raw: bytes, start: int, end: int, decoded: Callable[[str], str] = decoded_words, limit: int = HEADER_LIMIT
) -> tuple[list[tuple[str, str]], int]:
    """Return the headers that begin at `start`, with decoded values, and the start of the body."""
    while first := _FROM_LINE.match(raw, start, end):
        start = first.end()
    if raw.startswith(b"\n", start, end):
        return [], start + 1
    if not _FIELD_START.match(raw, start, end):
        return [], start
    stop = raw.find(b"\n\n", start, min(end, start + limit))
    body = min(end, start + limit) if stop < 0 else stop + 2
    # Latin-1 maps each byte to one character, so positions in the text are positions in the bytes
    block = raw[start : body if stop < 0 else stop].decode("latin-1")
    fields = []
    position = start
    for field in _FIELD_END.split(block):
        name, colon, value = field.partition(":")
        if colon and len(name) <= 120 and (name := _field_name(name)):
            # the server's name must be in the literal header, not in encoded words
            decode = _unfolded if name == "authentication-results" else decoded
            fields.append((name, decode(value.strip(_SPACE))))
        elif not field.startswith(("From ", ">From ")):
            body = position  # not a header: the empty line is missing, and the body begins here
            break
        position += len(field) + 1
    return fields if limit > HEADER_LIMIT else fields[:HEADER_COUNT_LIMIT], body


@lru_cache(maxsize=1024)
def _field_name(name: str) -> str:
    """Return the name of a header in lower case, or an empty string if it is not valid."""
    return name.rstrip().lower() if _FIELD_NAME.fullmatch(name) else ""


class _Place(NamedTuple):
    """Whether a leaf is in a nested message, whether it is outside of all parts, and its group of alternatives."""

    is_inner: bool
    is_apart: bool
    alternative: int


def _leaves(
    raw: bytes, headers: list[tuple[str, str]], body: int, nested: list[tuple[str, str]]
) -> Iterator[tuple[list[tuple[str, str]], int, int, _Place]]:
    """Yield the fields, start, end and place of every leaf.

    It makes one pass over the lines that may be boundaries. The headers of nested messages are added to `nested`.
    """
    fields, start = headers, body
    boundaries: list[bytes] = []
    digests: list[bool] = []  # per boundary, whether its parts are messages if they declare no type
    groups: list[int] = []  # per boundary, the group of alternatives of its parts
    outside = DEPTH_LIMIT + 1  # number of boundaries around the outermost open nested message
    is_apart = False  # before the first or after the last part of a multipart
    messages, alternatives, room = 0, 0, HEADER_LIMIT

    def place() -> _Place:
        return _Place(outside <= len(boundaries), is_apart, groups[-1] if groups else 0)

    def enter() -> None:
        """Descend while the part that begins here contains other parts."""
        nonlocal fields, start, outside, is_apart, messages, alternatives, room
        is_apart = False
        while True:
            kind, parameters = _content(fields, "content-type")
            deep = len(boundaries) >= DEPTH_LIMIT or messages >= PART_LIMIT
            if kind.startswith("message/") or (not kind and digests and digests[-1]):
                outside = min(outside, len(boundaries))
                if deep or start >= len(raw):
                    return
                inner, inner_start = _read_headers(raw, start, len(raw))
                if inner_start == start:
                    return
                messages += 1
                for name, value in inner[: HEADER_COUNT_LIMIT - len(nested)]:
                    room -= len(name) + len(value)
                    if room >= 0:  # the limit is for all nested messages together
                        nested.append((name, value))
                fields, start = inner, inner_start
                continue
            boundary = parameters.get("boundary", "").rstrip().encode("latin-1", "replace")
            if kind.startswith("multipart/") and boundary and len(boundaries) < DEPTH_LIMIT:
                boundaries.append(boundary)
                digests.append(kind == "multipart/digest")
                alternatives += kind == "multipart/alternative"
                around = groups[-1] if groups else 0
                groups.append(around or (alternatives if kind == "multipart/alternative" else 0))
                is_apart = True
            return

    enter()
    if not boundaries:
        yield fields, start, len(raw), place()
        return
    count = 0
    for number, delimiter in enumerate(_DELIMITER.finditer(raw, start)):
        if number == DELIMITER_LIMIT:
            break
        line = delimiter[0][2:].rstrip()
        if line in boundaries:
            level, closing = boundaries.index(line), False
        elif line.endswith(b"--") and line[:-2] in boundaries:
            level, closing = boundaries.index(line[:-2]), True
        else:
            continue
        if delimiter.start() < start:
            continue
        yield fields, start, delimiter.start(), place()
        count += 1
        if count == PART_LIMIT:
            return
        start = min(len(raw), delimiter.end() + 1)
        if level < outside:
            outside = DEPTH_LIMIT + 1
        if closing:
            del boundaries[level:], digests[level:], groups[level:]
            fields, is_apart = [], True
        else:
            del boundaries[level + 1 :], digests[level + 1 :], groups[level + 1 :]
            fields, start = _read_headers(raw, start, len(raw))
            enter()
        if not boundaries:
            break
    yield fields, start, len(raw), place()


def _content(fields: list[tuple[str, str]], name: str) -> tuple[str, dict[str, str]]:
    """Return the value of a structured header in lower case, and its parameters."""
    for key, value in fields:
        if key == name:
            kind = _first_word(value)
            if ";" not in value:
                return kind, {}
            parameters: dict[str, str] = {}
            for parameter, number, mark, quoted, bare in _PARAMETER.findall(";" + value.partition(";")[2][:4000]):
                key = parameter.lower()
                if key in parameters and not number:
                    continue  # the first one counts
                text = quoted or bare
                if key == "boundary":
                    text = decoded_name(text) if mark else _ESCAPED.sub(r"\1", text)
                parameters[key] = parameters.get(key, "") + text
            return kind, parameters
    return "", {}


@lru_cache(maxsize=1024)
def _first_word(value: str) -> str:
    """Return the first word of a structured header in lower case, without quotes and comments."""
    found = _FIRST_WORD.match(value[:1000])
    word = _SLASH.sub("/", _COMMENT.sub(" ", found[1]).strip()) if found else ""
    return _WORD_END.split(word, maxsplit=1)[0].lower()


def _part(
    fields: list[tuple[str, str]], raw: bytes, start: int, end: int, left: dict[bool, int], place: _Place
) -> Part:
    """Return the leaf of raw[start:end], its text limited to half of the characters `left` for its kind."""
    kind, parameters = _content(fields, "content-type")
    disposition, about = _content(fields, "content-disposition")
    encoding, _ = _content(fields, "content-transfer-encoding")
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


def decoded_name(name: str) -> str:
    """Return a file name with %XX escapes decoded and a charset'' prefix removed."""
    if "%" not in name:
        return name[:200]
    name = name.rpartition("''")[2][:600]
    raw = _SYMBOLS.sub(lambda match: chr(int(match[1], 16)), name).encode("latin-1", "replace")
    return as_text(raw, "utf-8")[:200]
