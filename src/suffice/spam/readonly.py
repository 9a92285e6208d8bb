"""Stores that this process may read but not write: site-wide ones, or in a read-only folder or file system.

While any process has a store open for writing, SQLite reads it through two files beside it (`-wal`, `-shm`), which need
only be readable. Otherwise these files do not exist, and SQLite would have to create them. In that case the store is
opened as immutable, and whether it changed is checked before and after each read.
"""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import quote

#: the files beside a store that SQLite shares between processes
_BESIDE = ("-wal", "-shm")


class State(NamedTuple):
    """A fingerprint of a store, which differs if the store was changed or is about to be."""

    file: tuple[int, int]
    changed: int
    size: int
    is_shared: bool


def may_write(path: str) -> bool:
    """Return whether this process may write or create a store, including the files that SQLite writes beside it."""
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
    """Return the current fingerprint of a store."""
    status = os.stat(path)
    is_shared = any(os.path.exists(path + suffix) for suffix in _BESIDE)
    return State((status.st_dev, status.st_ino), status.st_mtime_ns, status.st_size, is_shared)


def address(path: str, state: State) -> str:
    """Return the URI with which SQLite opens a store in the given state."""
    return f"file:{quote(os.path.abspath(path))}?mode=ro{'' if state.is_shared else '&immutable=1'}"
