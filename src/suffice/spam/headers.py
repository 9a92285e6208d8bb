"""The headers of a message: reading them, their structure, and the stamps of filters among them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from suffice.spam.decoding import as_text, decoded_words
from suffice.spam.isolation import Unread, isolated

HEADER_LIMIT = 65_536
HEADER_COUNT_LIMIT = 500
#: bytes of the headers searched for a listed sender, so that other headers before it cannot hide it
RAW_HEADER_LIMIT = 1_048_576

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
_FIELD_NAME = re.compile(r"[!-9;-~]{1,100}[ \t]*")
_FIELD_START = re.compile(rb"[!-9;-~]{1,100}[ \t]*:")
_FIELD_END = re.compile(r"\n(?![ \t])")
#: ASCII white space only: in values decoded as Latin-1, \x85 and \xa0 may be the last bytes of UTF-8 letters
_SPACE = " \t\n\r\v\f\x1c\x1d\x1e\x1f"
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
Fields = list[tuple[str, str]]


def with_line_feeds(raw: bytes) -> bytes:
    """Return a message with LF as its line ends."""
    if b"\r" not in raw:
        return raw
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def read_headers(
    raw: bytes, start: int, end: int, decoded: Callable[[str], str] = decoded_words, limit: int = HEADER_LIMIT
) -> tuple[Fields, int]:
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
    is_plain = decoded is decoded_words and "=?" not in block and block.isascii()  # only folds are to be decoded
    for field in _FIELD_END.split(block):
        name, colon, value = field.partition(":")
        if colon and len(name) <= 120 and (name := _field_name(name)):
            value = value.strip(_SPACE)
            if name == "authentication-results":
                value = _unfolded(value)  # the server's name must be in the literal header, not in encoded words
            elif not is_plain or "\n" in value:
                value = decoded(value)
            fields.append((name, value))
        elif not field.startswith(("From ", ">From ")):
            body = position  # not a header: the empty line is missing, and the body begins here
            break
        position += len(field) + 1
    return fields if limit > HEADER_LIMIT else fields[:HEADER_COUNT_LIMIT], body


@lru_cache(maxsize=1024)
def _field_name(name: str) -> str:
    """Return the name of a header in lower case, or an empty string if it is not valid."""
    return name.rstrip().lower() if _FIELD_NAME.fullmatch(name) else ""


def raw_headers(raw: bytes) -> Fields:
    r"""Return the headers of a message: names in lower case; values unfolded, as UTF-8, encoded words not decoded.

    Examples
    --------
    >>> from suffice.spam.headers import raw_headers
    >>> raw_headers(b"From: =?utf-8?q?Ann?=\n <ann@example.org>\n\nTo: no")
    [('from', '=?utf-8?q?Ann?= <ann@example.org>')]
    """
    raw = with_line_feeds(raw[:RAW_HEADER_LIMIT])
    fields, _ = read_headers(raw, 0, len(raw), _unfolded, RAW_HEADER_LIMIT)
    return fields


def _unfolded(value: str) -> str:
    """Return the value of a header on one line, as UTF-8."""
    return as_text(value.replace("\n", " ").encode("latin-1"), "")


def header_of(raw: bytes, name: str) -> str:
    """Return the first header with this name, decoded, without reading the body; empty if it cannot be read."""
    found = isolated(_fields_of, raw)
    return "" if isinstance(found, Unread) else next((value for key, value in found if key == name), "")


def _fields_of(raw: bytes) -> Fields:
    head = with_line_feeds(raw[:HEADER_LIMIT].replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n\n")
    return read_headers(head, 0, len(head))[0]


def subject_of(raw: bytes) -> str:
    r"""Return the subject of a message, decoded; it may hold any character, and is empty if it cannot be read.

    Examples
    --------
    >>> from suffice.spam.headers import subject_of
    >>> subject_of(b"From: ann\r\nSubject: =?utf-8?q?caf=C3=A9?=\r\n\r\nSubject: no")
    'café'
    """
    return header_of(raw, "subject")


@lru_cache(maxsize=4096)
def is_stamp(name: str) -> bool:
    """Return whether a header is one that a filter, a scanner or a mail program adds."""
    return _STAMP_NAME.fullmatch(name) is not None


def content(fields: Fields, name: str) -> tuple[str, dict[str, str]]:
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


def decoded_name(name: str) -> str:
    """Return a file name with %XX escapes decoded and a charset'' prefix removed."""
    if "%" not in name:
        return name[:200]
    name = name.rpartition("''")[2][:600]
    raw = _SYMBOLS.sub(lambda match: chr(int(match[1], 16)), name).encode("latin-1", "replace")
    return as_text(raw, "utf-8")[:200]
