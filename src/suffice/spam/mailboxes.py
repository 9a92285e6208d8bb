"""Sources of messages: mbox, Maildir, MH, a folder of any of them, one file, a stream, lines, or an IMAP folder."""

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

#: start of the address of an IMAP folder; one slash is enough, since conversion to a path removes the other
IMAP_ADDRESS = re.compile(r"(imaps?):/{1,2}(?=[^/])", re.IGNORECASE)

#: flags for opening files within folders, so that a file replaced by a link or a pipe is not followed or waited for
_IN_FOLDER = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
#: suffixes of files that mail programs keep beside mail (indexes, settings, logs), in lower case
_NOT_MAIL = (
    *(".msf", ".dat", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".db", ".json", ".js", ".ini", ".log", ".plist"),
    *(".lock", ".index", ".index.ids", ".index.sorted", ".cmeta", ".ibex.index", ".ev-summary", ".ev-summary-meta"),
    *(".toc", ".snm"),
)
_NOT_MAIL_NAMES = frozenset(("cmds", "filterlog.html", "junklog.html", "nstmp", "table_of_contents"))
#: suffix of folders with copies of messages that Thunderbird makes for desktop search
_COPIES = ".mozmsgs"
#: flags of a Maildir file that include T (trashed)
_TRASHED = re.compile(r"[:;!]2,[^,:;!]*T[^,:;!]*$")


Reader = Callable[[BinaryIO, str], Iterable[tuple[str, bytes]]]


class _GoneError(MailboxError):
    """A file was moved, or replaced by a link, since its folder was listed."""


def messages(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the raw messages of a file or a folder, whose format is detected.

    A folder with `cur` and `new` is a Maildir, one whose files have numbers as names is MH, and in any other folder
    each file is an mbox or a message, except the indexes and settings of mail programs. Subfolders are read too, each
    in its own format; symbolic links within folders are not followed. A file that begins with "From " is an mbox, one
    whose name ends in `.emlx` a message of Apple Mail, any other file one message; all may be compressed by gzip, bzip2
    or xz. Messages marked as deleted in a Maildir, by Thunderbird or by Apple Mail are left out.

    Parameters
    ----------
    path : str or path
        A file or a folder, or the address of an IMAP folder, `imaps://user@host/Folder`.

    Yields
    ------
    bytes
        One message, as stored.

    Raises
    ------
    MailboxError
        If there is nothing at `path`, or it may not be read, is damaged, or has an unsupported format such as PST. If
        that happens for a file in a folder, all other messages are yielded first.
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
    """Yield the raw messages of a file or a folder, each with its place.

    Parameters
    ----------
    path : str or path
        As in `messages`.
    skip : callable, optional
        Called with each folder within the given one, and each file that is not a message of a Maildir or an MH folder;
        those for which it returns True are left out.

    Yields
    ------
    (str, bytes)
        The place and the message. The place is the path of a file with one message, or for an mbox with several
        messages and for an IMAP folder the path, a colon and the number of the message, from 1. A file in a folder that
        cannot be read is yielded as `Spoiled`.
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

    Parameters
    ----------
    file : binary file
        The mailbox.

    Yields
    ------
    bytes
        Each message.

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

    Parameters
    ----------
    file : iterable of bytes
        The lines.

    Yields
    ------
    bytes
        Each message.

    Examples
    --------
    >>> from suffice.spam.mailboxes import lines
    >>> list(lines([b"see you at 8\n", b"\n", b"Winner: call now\r\n"]))
    [b'\nsee you at 8', b'\nWinner: call now']
    """
    for _, raw in located_lines(file, ""):
        yield raw


def located_lines(file: Iterable[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    r"""Yield every line that is not empty as a message without headers, each with the name and its line number.

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
    """Yield the messages of a folder and its subfolders, without recursion, whose depth is limited."""
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
            yield from _maildir(within)  # each file is one message, even with a "From " line
            within = [inner for inner in within if inner.name not in ("cur", "new", "tmp")]
        elif (numbered := _numbered(files)) is not None:
            yield from _mixed(numbered)  # archives named by year are mboxes
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
    """Return the messages of an MH folder in their order; None if it is not an MH folder."""
    numbered = [file for file in files if file.name.isascii() and file.name.isdigit()]
    marked = [file for file in files if file.name.startswith((".", ","))]
    if not numbered or len(numbered) < len(files) - len(marked):
        return None
    return sorted(numbered, key=lambda file: (len(file.name.lstrip("0")), file.name))


def _mixed(files: Iterable[Path], read: Reader = located_in) -> Iterator[tuple[str, bytes]]:
    """Yield the messages of files, by default each an mbox or a message."""
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
            except (MailboxError, OSError) as error:  # one bad file does not stop the others
                yield str(file), Spoiled.because(str(error))


def _may_be_mail(file: Path) -> bool:
    name = file.name.lower()
    return not name.startswith((".", ",")) and name not in _NOT_MAIL_NAMES and not name.endswith(_NOT_MAIL)


def _is_read(folder: Path, beside: list[str]) -> bool:
    """Return whether a subfolder may hold mail, given the names of its siblings."""
    name = folder.name
    if name.startswith("."):  # hidden folders hold mail in Maildir++ and KMail; others are indexes
        return name.endswith(".directory") or any((folder / part).is_dir() for part in ("cur", "new"))
    # Apple Mail keeps attachments beside their messages
    return not name.endswith(_COPIES) and not (name == "Attachments" and "Messages" in beside)


def _listed(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files and the subfolders of a folder, sorted, without links, which may lead anywhere."""
    files, within = [], []
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_file(follow_symlinks=False):
                    files.append(folder / entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    within.append(folder / entry.name)
    except FileNotFoundError:
        return [], []  # it was moved since its parent was listed
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
