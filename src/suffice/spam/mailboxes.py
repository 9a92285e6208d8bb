"""Where messages are kept: mbox, Maildir, MH, a folder of files, one file, a stream, lines, or an IMAP folder."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

#: a message is read up to here; the rest of it is skipped (the reader looks at less than this)
MESSAGE_LIMIT = 64_000_000
#: how the address of an IMAP folder begins; one slash is enough, since one that went through a path has lost the other
IMAP_ADDRESS = re.compile(r"(imaps?):/{1,2}(?=[^/])", re.IGNORECASE)

_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_LINE_LIMIT = 1_000_000
#: how files within folders are opened: what became a link or a pipe since it was listed is not followed or waited for
_IN_FOLDER = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class MailboxError(ValueError):
    """What was given holds no messages that can be read; says what was found and what to do."""


class _GoneError(MailboxError):
    """A file was moved, or a link was put in its place, since its folder was listed."""


def messages(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the raw messages of a file or a folder, whichever kind it is.

    A folder with `cur` and `new` is a Maildir, one whose messages have numbers for names is MH, and in any other each
    file is a message, those of folders within included. Symbolic links within folders are not followed. A file that
    begins with "From " is an mbox, any other is one message.

    Parameters
    ----------
    path : str or path
        A file or a folder, or the address of an IMAP folder, `imaps://user@host/Folder`.

    Yields
    ------
    bytes
        One message, as it is stored.

    Raises
    ------
    MailboxError
        If there is nothing at `path`, or it may not be read.
    """
    for _, raw in located(path):
        yield raw


def located(path: str | os.PathLike[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the raw messages of a file or a folder, each with the place it is at.

    Parameters
    ----------
    path : str or path
        As of `messages`.

    Yields
    ------
    (str, bytes)
        The path of a file with one message, or that of an mbox with a colon and the number of the message, from 1 on,
        if it holds several, and so for an IMAP folder; and the message.
    """
    place = Path(path)
    if IMAP_ADDRESS.match(os.fspath(path)):
        from suffice.spam.imap import messages_of

        for number, raw in enumerate(messages_of(os.fspath(path)), 1):
            yield f"{os.fspath(path)}:{number}", raw
    elif place.is_dir():
        yield from _folder(place)
    elif place.exists():
        with _opened(place) as file:
            yield from located_in(file, os.fspath(path))
    else:
        raise MailboxError(
            f"there is no file or folder {os.fspath(path)!r}; give an mbox, a Maildir, a folder or a message"
        )


def located_in(file: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    r"""Yield the raw messages of an open binary file, each with the place it is at, as `located` does.

    Examples
    --------
    >>> import io
    >>> from suffice.spam.mailboxes import located_in
    >>> list(located_in(io.BytesIO(b"From a\nSubject: 1\n\n\nFrom b\nSubject: 2\n\n"), "mail"))
    [('mail:1', b'Subject: 1\n\n'), ('mail:2', b'Subject: 2\n\n')]
    """
    first = file.readline(_LINE_LIMIT)
    if first.startswith(b"From "):
        letters = _mbox(file)
        alone, second = next(letters), next(letters, None)
        yield name if second is None else f"{name}:1", alone
        if second is not None:
            yield from ((f"{name}:{number}", raw) for number, raw in enumerate(chain([second], letters), 2))
    elif first:
        rest = file.read(MESSAGE_LIMIT)
        while file.read(_LINE_LIMIT):  # so that what writes into a pipe can end
            pass
        yield name, first + rest


def stream(file: BinaryIO) -> Iterator[bytes]:
    r"""Yield the raw messages of an open binary file, such as standard input: an mbox, or one message.

    Examples
    --------
    >>> import io
    >>> from suffice.spam.mailboxes import stream
    >>> list(stream(io.BytesIO(b"From a\nSubject: 1\n\n>From here\n\nFrom b\nSubject: 2\n\n")))
    [b'Subject: 1\n\nFrom here\n', b'Subject: 2\n\n']
    """
    for _, raw in located_in(file, ""):
        yield raw


def lines(file: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield every line that is not empty as a message without headers: SMS, comments, titles.

    Examples
    --------
    >>> from suffice.spam.mailboxes import lines
    >>> list(lines([b"see you at 8\n", b"\n", b"Winner: call now\r\n"]))
    [b'\nsee you at 8', b'\nWinner: call now']
    """
    for _, raw in located_lines(file, ""):
        yield raw


def located_lines(file: Iterable[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    r"""Yield every line that is not empty as a message without headers, each with its number behind the name.

    Examples
    --------
    >>> from suffice.spam.mailboxes import located_lines
    >>> list(located_lines([b"see you at 8\n", b"\n", b"Winner: call now\r\n"], "sms"))
    [('sms:1', b'\nsee you at 8'), ('sms:3', b'\nWinner: call now')]
    """
    for number, line in enumerate(file, 1):
        text = line.rstrip(b"\r\n")
        if text.strip():
            yield f"{name}:{number}", b"\n" + text


def as_mbox(raw: bytes) -> bytes:
    r"""Return a message as an mbox holds it: behind a "From " line, its own such lines quoted, an empty line last.

    Examples
    --------
    >>> from suffice.spam.mailboxes import as_mbox
    >>> as_mbox(b"Subject: a\n\nFrom here")
    b'From nobody Thu Jan  1 00:00:00 1970\nSubject: a\n\n>From here\n\n'
    """
    if raw.startswith(b"From "):
        raw = raw.partition(b"\n")[2]
    quoted = re.sub(rb"^(>*From )", rb">\1", raw, flags=re.MULTILINE)
    end = b"\n" if quoted.endswith(b"\n") else b"\n\n"
    return b"From nobody Thu Jan  1 00:00:00 1970\n" + quoted + end


def _mbox(file: BinaryIO) -> Iterator[bytes]:
    """Yield the messages behind the first "From " line, one in memory at a time."""
    collected: list[bytes] = []
    size = 0
    after_empty = False
    while line := file.readline(_LINE_LIMIT):
        if after_empty and line.startswith(b"From "):
            yield _unquoted(collected)
            collected, size, after_empty = [], 0, False
            continue
        if size < MESSAGE_LIMIT:
            collected.append(line)
            size += len(line)
        after_empty = line in (b"\n", b"\r\n")
    yield _unquoted(collected)


def _unquoted(collected: list[bytes]) -> bytes:
    """Return the message of these lines, without the empty line that the mailbox puts behind it."""
    empty = (b"\n", b"\r\n")
    if collected and collected[-1] in empty and any(line in empty for line in collected[:-1]):
        collected.pop()
    raw = b"".join(collected)
    return _QUOTED_FROM.sub(rb"\1", raw) if b">From " in raw else raw


def _folder(place: Path) -> Iterator[tuple[str, bytes]]:
    parts = [place / name for name in ("new", "cur") if (place / name).is_dir() and not (place / name).is_symlink()]
    if parts:
        files = [file for part in parts for file in _files(part)]
    else:
        files = _files(place)
        numbered = [file for file in files if file.name.isascii() and file.name.isdigit()]
        if numbered and len(numbered) >= len(files) - len([file for file in files if file.name.startswith((".", ","))]):
            files = sorted(numbered, key=lambda file: int(file.name))
        else:
            files = sorted(
                file
                for file in place.rglob("*")
                if _is_own_file(file) and not file.name.startswith(".") and file.name != "cmds"
            )
    for file in files:
        try:
            opened = _opened(file, _IN_FOLDER)
        except _GoneError:
            continue
        with opened:
            yield str(file), opened.read(MESSAGE_LIMIT)


def _files(place: Path) -> list[Path]:
    try:
        return sorted(file for file in place.iterdir() if _is_own_file(file))
    except OSError as error:
        raise MailboxError(
            f"the folder {str(place)!r} cannot be read: {error.strerror}; check its permissions"
        ) from error


def _is_own_file(file: Path) -> bool:
    """Return whether something in a folder is a file there, and no link to one that may be anywhere."""
    return file.is_file() and not file.is_symlink()


def _opened(place: Path, flags: int = 0) -> BinaryIO:
    try:
        return open(place, "rb", opener=lambda name, mode: os.open(name, mode | flags))
    except OSError as error:
        kind = _GoneError if error.errno in (errno.ENOENT, errno.ELOOP) else MailboxError
        raise kind(f"the file {str(place)!r} cannot be read: {error.strerror}; check its permissions") from error
