"""Stores in folders that users own: opened without following a link anywhere, and only where the owners agree.

A user may put links, and files of others, in the place of anything below the own folder, at any time. SQLite opens
files by their names, so what it has opened is compared afterwards with what was looked at without links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from suffice.spam.connected import StoreError

#: the files of a store that SQLite opens, by what is added to its name
_SUFFIXES = ("", "-wal", "-shm", "-journal")
#: descriptors beyond these are not looked for: a process that scores has a few
_DESCRIPTORS = 256
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Held(NamedTuple):
    """A file: the open folder that it is in, its name there, which file it is, and its owner."""

    folder: int
    name: str
    file: tuple[int, int]
    owner: int


@contextmanager
def held(path: Path, trusted: Path) -> Iterator[Held | None]:
    """Give the file at a path, or None if there is none that may be used.

    Parameters
    ----------
    path : path
        Absolute, within `trusted`.
    trusted : path
        A folder of the site, without links in its path.

    Below the trusted folder nothing may be a link. From the first folder on that belongs neither to root nor to this
    process, all must belong to the same owner. No folder may be writable by everyone, and the file has one name.
    """
    folder = _opened(os.sep)
    try:
        owner = None
        for number, part in enumerate(path.parts[1:-1], 1):
            inner = _opened(part, folder)
            os.close(folder)
            folder = inner
            if number >= len(trusted.parts) - 1:
                status = os.fstat(folder)
                if status.st_mode & stat.S_IWOTH:
                    raise PermissionError
                owner = owner if number < len(trusted.parts) else _agreed(status.st_uid, owner)
        status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        _agreed(status.st_uid, owner)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise PermissionError
        found = Held(folder, path.name, (status.st_dev, status.st_ino), status.st_uid)
    except OSError:
        found = None
    try:
        yield found
    finally:
        os.close(folder)


def _opened(name: str, folder: int | None = None) -> int:
    return os.open(name, _FOLDER | os.O_CLOEXEC, dir_fd=folder)


def _agreed(found: int, owner: int | None) -> int | None:
    """Return who owns what is below, None while that is the site; raise PermissionError if owners differ."""
    if owner is None:
        return None if found in (0, os.geteuid()) else found
    if found != owner:
        raise PermissionError
    return owner


def open_files() -> set[tuple[int, int, int]]:
    """Return which regular files this process has open: descriptor, device and number of each."""
    found = set()
    for number in range(_DESCRIPTORS):
        try:
            status = os.fstat(number)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found.add((number, status.st_dev, status.st_ino))
    return found


def check_opened(before: set[tuple[int, int, int]], store: Held) -> None:
    """Raise StoreError unless what was opened since `before` are the files of a store, as they were looked at."""
    allowed = set()
    for suffix in _SUFFIXES:
        try:
            status = os.stat(store.name + suffix, dir_fd=store.folder, follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid in (store.owner, os.geteuid()):
            allowed.add((status.st_dev, status.st_ino))
    opened = {(device, number) for _, device, number in open_files() - before}
    if store.file not in opened or not opened <= allowed:
        raise StoreError(f"the store {store.name!r} was exchanged while it was opened; it is not used")
