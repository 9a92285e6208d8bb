"""Stores that this process may read and not write: those of a site, a folder or a file system that is read-only.

While any process has a store open for writing, SQLite reads it through two files beside it (`-wal`, `-shm`), which need
only be readable. While no process has, they are not there, and it would have to make them. Then the store is read as a
file that does not change, and whether it did is looked at before and after everything that is read.
"""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import quote

#: the files beside a store that SQLite shares between processes
_BESIDE = ("-wal", "-shm")


class State(NamedTuple):
    """What differs when a store has been changed, or is about to be."""

    file: tuple[int, int]
    changed: int
    size: int
    is_shared: bool


def may_write(path: str) -> bool:
    """Return whether this process may write to a store, or make it, which includes what SQLite writes beside it."""
    if not os.path.exists(path):
        return True
    if not _is_writable(path):
        return False
    return _is_writable(os.path.dirname(os.path.abspath(path))) or all(
        _is_writable(path + suffix) for suffix in _BESIDE
    )


def _is_writable(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def state_of(path: str) -> State:
    """Return the state of a store."""
    status = os.stat(path)
    is_shared = any(os.path.exists(path + suffix) for suffix in _BESIDE)
    return State((status.st_dev, status.st_ino), status.st_mtime_ns, status.st_size, is_shared)


def address(path: str, state: State) -> str:
    """Return how SQLite is told to open a store that is in a state."""
    return f"file:{quote(os.path.abspath(path))}?mode=ro{'' if state.is_shared else '&immutable=1'}"
