"""Stores in folders owned by users: opened without following links, and only if all owners agree.

A user may at any time replace anything below their own folder by links or by files of others. SQLite opens files by
name, so the files it has opened are afterwards compared with those that were checked without following links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from suffice.spam.connected import StoreError

#: suffixes of the files that SQLite opens for a store
_SUFFIXES = ("", "-wal", "-shm", "-journal")
#: number of file descriptors that are checked; a scoring process has only a few open
_DESCRIPTORS = 256
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Held(NamedTuple):
    """A file: the descriptor of its open folder, its name there, its device and inode, and its owner."""

    folder: int
    name: str
    file: tuple[int, int]
    owner: int


@contextmanager
def held(path: Path, trusted: Path) -> Iterator[Held | None]:
    """Yield the file at a path, or None if there is none that may be used.

    Parameters
    ----------
    path : path
        Absolute path within `trusted`.
    trusted : path
        A folder of the site, whose path has no links.

    Below the trusted folder nothing may be a link. From the first folder that belongs neither to root nor to the user
    of this process, everything must have the same owner. No folder may be world-writable, and the file must have only
    one hard link.
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
    """Return the owner required below, None as long as it is the site; raise PermissionError if owners differ."""
    if owner is None:
        return None if found in (0, os.geteuid()) else found
    if found != owner:
        raise PermissionError
    return owner


def open_files() -> set[tuple[int, int, int]]:
    """Return the regular files that this process has open: descriptor, device and inode of each."""
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
    """Raise StoreError unless the files opened since `before` are those of the store that was checked."""
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
        raise StoreError(f"the store {store.name!r} was replaced while it was opened; it is not used")
