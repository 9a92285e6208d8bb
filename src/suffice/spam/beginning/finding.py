"""Finding the mail of common mail programs, and the folders that hold spam."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

#: locations of mail in a home folder, as patterns, with the names of the programs' own folders
_PLACES = (
    *("Maildir", "Mail", "mail", "mbox", ".maildir", ".mail"),
    *(".thunderbird/*/Mail/*", ".thunderbird/*/ImapMail/*"),
    *("snap/thunderbird/common/.thunderbird/*/Mail/*", "snap/thunderbird/common/.thunderbird/*/ImapMail/*"),
    *("Library/Thunderbird/Profiles/*/Mail/*", "Library/Thunderbird/Profiles/*/ImapMail/*"),
    *("AppData/Roaming/Thunderbird/Profiles/*/Mail/*", "AppData/Roaming/Thunderbird/Profiles/*/ImapMail/*"),
    *(".local/share/evolution/mail/*", ".local/share/local-mail", "Library/Mail/V*"),
)
#: folders that servers deliver mail to, with one file or folder per user
_SPOOLS = ("/var/mail", "/var/spool/mail")
#: suffixes of file names that mark mailboxes
_BOX_ENDS = (".gz", ".bz2", ".xz", ".mbox", ".sbd", ".maildir", ".directory")
#: names of folders for spam, and for deleted mail, in mail programs, in lower case
_JUNK = frozenset(("junk", "spam", "junk e-mail", "junk email", "bulk", "bulk mail"))
_TRASH = frozenset(("trash", "deleted items", "deleted messages", "bin"))
#: limit of depth in the search for folders
_DEPTH = 8


def mail_places(home: Path, user: str) -> list[Path]:
    """Return the locations of a person's mail among those that mail programs use, without empty ones."""
    found = [place for pattern in _PLACES for place in sorted(home.glob(pattern))]
    found += [Path(spool) / user for spool in _SPOOLS if user]
    real: dict[str, Path] = {}
    for place in found:
        if _has_something(place):
            real.setdefault(os.path.realpath(place), place)
    return [place for path, place in real.items() if not any(_is_within(path, other) for other in real)]


def junk_within(place: Path) -> list[Path]:
    """Return the folders for spam within a location, or the files of such folders."""
    return list(_junk(place, _DEPTH))


def is_unwanted(name: str) -> bool:
    """Return whether a folder, or the file of one, has a name used for spam or trash.

    Examples
    --------
    >>> from suffice.spam.beginning.finding import is_unwanted
    >>> [is_unwanted(name) for name in (".INBOX.Junk", "Trash.sbd", "Spam.mbox.gz", "Archive", "junk.eml")]
    [True, True, True, False, False]
    """
    return not _names(name).isdisjoint(_JUNK | _TRASH)


def _names(name: str) -> set[str]:
    """Return the names of a folder: without the suffix of a mailbox, and the last part of a Maildir++ name."""
    name = name.lower()
    while name.endswith(_BOX_ENDS):
        name = name.rpartition(".")[0]
    return {name, name.rpartition(".")[2]} if name.startswith(".") else {name}


def _junk(place: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(place) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:  # a file, or a folder of another user
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not (is_folder or entry.is_file(follow_symlinks=False)) or entry.name.endswith(".msf"):
            continue
        path = place / entry.name
        if not _names(entry.name).isdisjoint(_JUNK):
            if _has_something(path):
                yield path
        elif is_folder and depth and entry.name not in ("cur", "new", "tmp"):
            yield from _junk(path, depth - 1)


def _has_something(place: Path) -> bool:
    try:
        return place.stat().st_size > 0 if place.is_file() else place.is_dir() and any(place.iterdir())
    except OSError:  # a folder of another user
        return False


def _is_within(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip(os.sep) + os.sep)
