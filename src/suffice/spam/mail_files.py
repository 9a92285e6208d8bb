"""One file of mail: an mbox, a message, an `.emlx` of Apple Mail, or any of them compressed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import BinaryIO

from suffice.spam.compressed import CompressedError, expanded, is_compressed

#: bytes of a message that are read; the rest is skipped (the tokeniser reads less than this)
MESSAGE_LIMIT = 64_000_000

_LINE_LIMIT = 1_000_000
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_EMPTY_LINE = re.compile(rb"^\r?\n", re.MULTILINE)
_FIELD = re.compile(rb"[!-9;-~]{1,100}[ \t]*:")
#: weekday, time and year, which distinguish the line between two messages of an mbox from a sentence that begins with
#: "From"
_DATED = re.compile(rb" (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? .{0,40}[0-9]:[0-9]{2}.{0,40} [0-9]{4}")
_HEAD_LIMIT = 4_096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAC_LINES = re.compile(rb"From [^\r\n]*\r[^\n]")
#: end of Thunderbird's own marks, which are on top: below the first header that mail servers add, marks may be forged
_MARKS_END = re.compile(rb"^(?:return-path|received|delivered-to)[ \t]*:|^\r?\n", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(rb"^x-mozilla-status(2?):[ \t]*([0-9a-f]{1,8})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
#: bits of `X-Mozilla-Status` (removed but still in the file) and of `X-Mozilla-Status2` (marked as deleted on the
#: server)
_EXPUNGED, _DELETED_ON_SERVER = 0x0008, 0x0020_0000
#: start of the properties that follow a message in an `.emlx` file, and the bit of its flags for "deleted"
_PROPERTIES = re.compile(rb"<\?xml version=[^>]{0,100}>\s{0,10}<!DOCTYPE plist")
_FLAGS = re.compile(rb"<key>flags</key>\s{0,20}<(?:integer|real)>([0-9]{1,18})")
_EMLX_DELETED = 2
_EMLX = (".emlx", ".emlx.gz", ".emlx.bz2", ".emlx.xz")
#: other formats by their first bytes, and the advice for each
_FOREIGN = {
    b"!BDN": (
        "is an Outlook data file (PST or OST), which is not read; convert it with `readpst -r -o FOLDER FILE` (Debian "
        "package pst-utils) and give the folder"
    ),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": (
        "is a message or a document of Outlook or Office (OLE), which is not read; save it as .eml, or convert it with "
        "`msgconvert FILE` (Debian package libemail-outlook-message-perl)"
    ),
    b"\xcf\xad\x12\xfe": (
        "is a folder of Outlook Express (DBX), which is not read; convert it with `readdbx`, or import it into "
        "Thunderbird"
    ),
    b"*mbx*": (
        "is a mailbox in UW's mbx format, which is not read; convert it with `mailutil copy FILE '#driver.unix/NEW'`"
    ),
    b"\1\1\1\1\n": (
        "is a mailbox in MMDF format, which is not read; open it with mutt, and save its messages to an mbox"
    ),
    b"BABYL OPTIONS:": "is a mailbox of Rmail (Babyl), which is not read; open it with Emacs, which converts it to an "
    "mbox",
    b"\xff\xfe": "is a text in UTF-16, an encoding that mail never has; save it in UTF-8",
    b"\xfe\xff": "is a text in UTF-16, an encoding that mail never has; save it in UTF-8",
    **dict.fromkeys(
        (b"PK\3\4", b"PK\5\6", b"7z\xbc\xaf'\x1c", b"Rar!\x1a\7"),
        "is an archive (ZIP, 7z, RAR); unpack it, and give the folder",
    ),
    b"\x1f\x9d": "is compressed by compress, which is not read; decompress it with `uncompress FILE`",
    **dict.fromkeys(
        (b"%PDF-", b"\x89PNG\r\n", b"GIF8", b"\xff\xd8\xff", b"\x7fELF", b"SQLite format 3\0"),
        "is a document, a picture, a program or a database, not mail",
    ),
    b"\x28\xb5\x2f\xfd": "is compressed by zstd, which is not read; decompress it with `zstd -d FILE`",
    b"\x04\x22\x4d\x18": "is compressed by lz4, which is not read; decompress it with `lz4 -d FILE`",
}


class MailboxError(ValueError):
    """A path or file holds no readable messages; the text says what was found and what to do."""


def located_in(file: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    r"""Yield the raw messages of an open binary file, each with its place, as `located` does.

    Messages of an mbox that Thunderbird has marked as deleted are left out, but are counted in the numbering.

    Examples
    --------
    >>> import io
    >>> from suffice.spam.mail_files import located_in
    >>> list(located_in(io.BytesIO(b"From a\nSubject: 1\n\n\nFrom b\nSubject: 2\n\n"), "mail"))
    [('mail:1', b'Subject: 1\n\n'), ('mail:2', b'Subject: 2\n\n')]
    """
    with _explained(name):
        first, file = _begun(file, name)
        if first.startswith(b"From "):
            messages = _mbox(file)
            alone, second = next(messages), next(messages, None)
            if not is_deleted(alone):
                yield name if second is None else f"{name}:1", alone
            if second is not None:
                for number, raw in enumerate(chain([second], messages), 2):
                    if not is_deleted(raw):
                        yield f"{name}:{number}", raw
        elif first:
            raw = _rest(first, file)
            if not name.lower().endswith(_EMLX):
                yield name, raw
            elif (message := from_emlx(raw)) is not None:
                yield name, message


def message_in(file: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield an open binary file as one message with its place, even if it begins with a "From " line."""
    with _explained(name):
        first, file = _begun(file, name)
        yield name, _rest(first, file)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Raise MailboxError with the name of the file in place of CompressedError."""
    try:
        yield
    except CompressedError as error:
        raise MailboxError(f"the file {name!r} cannot be read: {error}") from error


def _begun(file: BinaryIO, name: str) -> tuple[bytes, BinaryIO]:
    """Return the first line of a file, and the file after it, decompressed if needed; refuse unsupported formats."""
    first = file.readline(_LINE_LIMIT)
    if is_compressed(first):
        file = expanded(first, file)
        first = file.readline(_LINE_LIMIT)
        if is_compressed(first):
            raise MailboxError(f"the file {name!r} is compressed twice; decompress it once")
    first = _without_gap(first, file)
    if _MAC_LINES.match(first):
        how = "convert it with `tr '\\r' '\\n' < FILE > NEW`"
        raise MailboxError(f"the file {name!r} is an mbox whose lines end as on old Macs; {how}")
    for magic, text in _FOREIGN.items():
        if first.startswith(magic):
            raise MailboxError(f"the file {name!r} {text}")
    if first[257:262] == b"ustar":
        raise MailboxError(f"the file {name!r} is a tar archive; unpack it, and give the folder")
    return first, file


def _without_gap(first: bytes, file: BinaryIO) -> bytes:
    """Return the start of a file up to a line end, without a byte order mark or empty lines before the mail."""
    line, gap = first.removeprefix(_BYTE_ORDER_MARK), b""
    if _FIELD.match(line):
        return line
    mark = first[: len(first) - len(line)]
    while line in (b"\n", b"\r\n") and len(gap) < _HEAD_LIMIT:
        gap += line
        line = file.readline(_LINE_LIMIT)
    return line if line.startswith(b"From ") and _DATED.search(line, 0, 300) else mark + gap + line


def _rest(first: bytes, file: BinaryIO) -> bytes:
    """Return a file as one message, given its first line."""
    rest = file.read(MESSAGE_LIMIT)
    while file.read(_LINE_LIMIT):  # so that a program writing into the pipe can finish
        pass
    return first + rest


def is_deleted(raw: bytes) -> bool:
    r"""Return whether Thunderbird has marked a message of an mbox as deleted; it stays there until compaction.

    Examples
    --------
    >>> from suffice.spam.mail_files import is_deleted
    >>> is_deleted(b"X-Mozilla-Status: 0009\nSubject: a\n\n"), is_deleted(b"X-Mozilla-Status: 0001\nSubject: a\n\n")
    (True, False)
    """
    head = raw[:_HEAD_LIMIT]
    end = _MARKS_END.search(head)
    marks: dict[bytes, bytes] = {}
    for which, value in _MARK.findall(head, 0, len(head) if end is None else end.start()):
        marks.setdefault(which, value)
    flags, more = (int(marks.get(which, b"0"), 16) for which in (b"", b"2"))
    return bool(flags & _EXPUNGED or more & _DELETED_ON_SERVER)


def from_emlx(raw: bytes) -> bytes | None:
    r"""Return the message of an `.emlx` file (a line with its size, the message, properties); None if it is deleted.

    If the size is wrong, the message ends before the properties, or at the end of the file.

    Examples
    --------
    >>> from suffice.spam.mail_files import from_emlx
    >>> from_emlx(b'13        \nSubject: a\n\nb<?xml version="1.0"?>\n<!DOCTYPE plist ...')
    b'Subject: a\n\nb'
    """
    count, _, rest = raw.partition(b"\n")
    if not (count := count.strip()).isdigit():
        return raw
    size = int(count) if len(count) < 12 else len(rest)
    start = -1 if size > len(rest) else size
    if start < 0 or not _PROPERTIES.match(rest[start : start + 200].lstrip()):
        found = [match.start() for match in _PROPERTIES.finditer(rest)]
        start = found[-1] if found else min(size, len(rest))
    flags = _FLAGS.search(rest, start, start + 100_000)
    if flags is not None and int(flags[1]) & _EMLX_DELETED:
        return None
    return rest[:start]


def as_mbox(raw: bytes) -> bytes:
    r"""Return a message in mbox format: after a "From " line, with its own such lines quoted and an empty line last.

    Examples
    --------
    >>> from suffice.spam.mail_files import as_mbox
    >>> as_mbox(b"Subject: a\n\nFrom here")
    b'From nobody Thu Jan  1 00:00:00 1970\nSubject: a\n\n>From here\n\n'
    """
    if raw.startswith(b"From "):
        raw = raw.partition(b"\n")[2]
    quoted = re.sub(rb"^(>*From )", rb">\1", raw, flags=re.MULTILINE)
    end = b"\n" if quoted.endswith(b"\n") else b"\n\n"
    return b"From nobody Thu Jan  1 00:00:00 1970\n" + quoted + end


def _mbox(file: BinaryIO) -> Iterator[bytes]:
    """Yield the messages after the first "From " line, one in memory at a time.

    A line that begins with "From " starts a message if it follows an empty line and either has a date in it or a header
    after it, since some programs do not quote such lines within messages. Without an empty line before, it needs both,
    since some programs put no empty line between messages.
    """
    collected = bytearray()
    after_empty = in_text = False
    ahead: bytes | None = None
    while line := file.readline(_LINE_LIMIT) if ahead is None else ahead:
        ahead = None
        if in_text and line.startswith(b"From "):
            ahead = file.readline(_LINE_LIMIT)
            signs = bool(_DATED.search(line, 0, 300)) + bool(_FIELD.match(ahead))
            if signs >= (1 if after_empty else 2):
                yield _unquoted(collected)
                collected, after_empty, in_text = bytearray(), False, False
                continue
        if len(collected) < MESSAGE_LIMIT:
            collected += line
        after_empty = line in (b"\n", b"\r\n")
        in_text = in_text or after_empty
    yield _unquoted(collected)


def _unquoted(collected: bytearray) -> bytes:
    """Return a message without the empty line that the mbox adds after it, and with quoted "From " lines unquoted."""
    last = next((end for end in (b"\r\n", b"\n") if collected.endswith(b"\n" + end)), b"")
    if last and _EMPTY_LINE.search(collected, 0, len(collected) - len(last)):
        del collected[-len(last) :]
    raw = bytes(collected)
    return _QUOTED_FROM.sub(rb"\1", raw) if b">From " in raw else raw
