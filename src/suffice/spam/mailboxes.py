"""Where messages are kept: mbox, Maildir, MH, a folder of any of them, one file, a stream, lines, or an IMAP folder."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from suffice.spam.isolation import Spoiled
from suffice.spam.mail_files import MESSAGE_LIMIT, MailboxError, as_mbox, located_in, message_in

__all__ = [
    "IMAP_ADDRESS",
    "MESSAGE_LIMIT",
    "MailboxError",
    "as_mbox",
    "lines",
    "located",
    "located_in",
    "located_lines",
    "messages",
    "stream",
]

#: how the address of an IMAP folder begins; one slash is enough, since one that went through a path has lost the other
IMAP_ADDRESS = re.compile(r"(imaps?):/{1,2}(?=[^/])", re.IGNORECASE)

#: how files within folders are opened: what became a link or a pipe since it was listed is not followed or waited for
_IN_FOLDER = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
#: what mail programs keep beside mail: indexes, settings, logs; in lower case
_NOT_MAIL = (
    *(".msf", ".dat", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".db", ".json", ".js", ".ini", ".log", ".plist"),
    *(".lock", ".index", ".index.ids", ".index.sorted", ".cmeta", ".ibex.index", ".ev-summary", ".ev-summary-meta"),
    *(".toc", ".snm"),
)
_NOT_MAIL_NAMES = frozenset(("cmds", "filterlog.html", "junklog.html", "nstmp", "table_of_contents"))
#: copies of messages that Thunderbird makes for the search of the system
_COPIES = ".mozmsgs"
#: the flags of a Maildir file, among which T is for trashed
_TRASHED = re.compile(r"[:;!]2,[^,:;!]*T[^,:;!]*$")


Reader = Callable[[BinaryIO, str], Iterable[tuple[str, bytes]]]


class _GoneError(MailboxError):
    """A file was moved, or a link was put in its place, since its folder was listed."""


def messages(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the raw messages of a file or a folder, whichever kind it is.

    A folder with `cur` and `new` is a Maildir, one whose messages have numbers for names is MH, and in any other each
    file is an mbox or a message, but for the indexes and settings of mail programs. Folders within are read too, each
    as what it is, and symbolic links within folders are not followed. A file that begins with "From " is an mbox, one
    whose name ends in `.emlx` a message of Apple Mail, any other one message; all may be compressed by gzip, bzip2 or
    xz. Messages that are marked as deleted in a Maildir, by Thunderbird or by Apple Mail are left out.

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
        If there is nothing at `path`, or it may not be read, is damaged, or of a format that is not read, such as PST.
        Where that is so of something in a folder, all else comes first.
    """
    problem = ""
    for _, raw in located(path):
        if isinstance(raw, Spoiled):
            problem = problem or raw.reason
        else:
            yield raw
    if problem:
        raise MailboxError(problem)


def located(path: str | os.PathLike[str], skip: Callable[[Path], bool] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the raw messages of a file or a folder, each with the place it is at.

    Parameters
    ----------
    path : str or path
        As of `messages`.
    skip : callable, optional
        Asked for each folder and each file that is no message of a Maildir or an MH folder, within the one that is
        given: those for which it returns True are left out.

    Yields
    ------
    (str, bytes)
        The path of a file with one message, or that of an mbox with a colon and the number of the message, from 1 on,
        if it holds several, and so for an IMAP folder; and the message. What cannot be read in a folder is `Spoiled`.
    """
    place = Path(path)
    if IMAP_ADDRESS.match(os.fspath(path)):
        from suffice.spam.imap import messages_of

        for number, raw in enumerate(messages_of(os.fspath(path)), 1):
            yield f"{os.fspath(path)}:{number}", raw
    elif place.is_dir():
        yield from _folders(place, skip)
    elif place.exists():
        with _opened(place) as file:
            yield from located_in(file, os.fspath(path))
    else:
        raise MailboxError(
            f"there is no file or folder {os.fspath(path)!r}; give an mbox, a Maildir, a folder or a message"
        )


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


def _folders(place: Path, skip: Callable[[Path], bool] | None) -> Iterator[tuple[str, bytes]]:
    """Yield the messages of a folder, and of the folders within; without recursion, which has a limit."""
    waiting = [place]
    while waiting:
        folder = waiting.pop()
        try:
            files, within = _listed(folder)
        except MailboxError as error:
            if folder == place:
                raise
            yield str(folder), Spoiled.because(str(error))
            continue
        names = [inner.name for inner in within]
        if "cur" in names or "new" in names:
            yield from _maildir(within)  # its files are a message each, also with a "From " line
            within = [inner for inner in within if inner.name not in ("cur", "new", "tmp")]
        elif (numbered := _numbered(files)) is not None:
            yield from _mixed(numbered)  # archives are called by their years, and are mboxes
        else:
            yield from _mixed([file for file in files if _may_be_mail(file) and not (skip and skip(file))])
        inner = [inner for inner in within if _is_read(inner, names) and not (skip and skip(inner))]
        waiting += reversed(inner)


def _maildir(within: list[Path]) -> Iterator[tuple[str, bytes]]:
    for part in ("new", "cur"):
        for folder in within:
            if folder.name == part:
                files = (file for file in _listed(folder)[0] if not file.name.startswith("."))
                yield from _mixed((file for file in files if not _TRASHED.search(file.name)), message_in)


def _numbered(files: list[Path]) -> list[Path] | None:
    """Return the messages of an MH folder in their order; None if it is none."""
    numbered = [file for file in files if file.name.isascii() and file.name.isdigit()]
    marked = [file for file in files if file.name.startswith((".", ","))]
    if not numbered or len(numbered) < len(files) - len(marked):
        return None
    return sorted(numbered, key=lambda file: (len(file.name.lstrip("0")), file.name))


def _mixed(files: Iterable[Path], read: Reader = located_in) -> Iterator[tuple[str, bytes]]:
    """Yield the messages of files, each of which is an mbox or a message by default."""
    for file in files:
        try:
            opened = _opened(file, _IN_FOLDER)
        except _GoneError:
            continue
        except MailboxError as error:
            yield str(file), Spoiled.because(str(error))
            continue
        with opened:
            try:
                yield from read(opened, str(file))
            except (MailboxError, OSError) as error:  # one file is no reason to leave the others out
                yield str(file), Spoiled.because(str(error))


def _may_be_mail(file: Path) -> bool:
    name = file.name.lower()
    return not name.startswith((".", ",")) and name not in _NOT_MAIL_NAMES and not name.endswith(_NOT_MAIL)


def _is_read(folder: Path, beside: list[str]) -> bool:
    """Return whether a folder within another may hold mail, given the names of those beside it."""
    name = folder.name
    if name.startswith("."):  # those of Maildir++, and of KMail; others are indexes
        return name.endswith(".directory") or any((folder / part).is_dir() for part in ("cur", "new"))
    # Apple Mail keeps attachments beside the messages they were in
    return not name.endswith(_COPIES) and not (name == "Attachments" and "Messages" in beside)


def _listed(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files and the folders in a folder, sorted; no links, which may lead anywhere."""
    files, within = [], []
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_file(follow_symlinks=False):
                    files.append(folder / entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    within.append(folder / entry.name)
    except FileNotFoundError:
        return [], []  # it was moved since the folder it was in was listed
    except OSError as error:
        raise MailboxError(
            f"the folder {str(folder)!r} cannot be read: {error.strerror}; check its permissions"
        ) from error
    return sorted(files), sorted(within)


def _opened(place: Path, flags: int = 0) -> BinaryIO:
    try:
        return open(place, "rb", opener=lambda name, mode: os.open(name, mode | flags))
    except OSError as error:
        kind = _GoneError if error.errno in (errno.ENOENT, errno.ELOOP) else MailboxError
        raise kind(f"the file {str(place)!r} cannot be read: {error.strerror}; check its permissions") from error
