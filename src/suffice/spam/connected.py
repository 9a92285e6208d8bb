"""SQLite connections that are closed when the object that opened them is deleted, and errors that say what to do."""

from __future__ import annotations

import atexit
import json
import os
import sqlite3
import threading
import zlib

from suffice.spam.kept import SettingError
from suffice.spam.store_tables import wrong_values

#: the open connections, with the process and thread of each. This reference keeps them from being garbage-collected:
#: `__del__` of the owner closes them, and a forked process keeps those it inherited, which SQLite forbids to use or
#: close there
_OPEN: dict[sqlite3.Connection, tuple[int, int]] = {}
#: errors that invalid values may cause, since SQLite accepts any value in any column; matched by exact type, so that
#: errors raised on purpose are not included
_BY_VALUES = (TypeError, ValueError, KeyError, AttributeError, AssertionError, IndexError, OverflowError)


class StoreError(ValueError):
    """A file is not a store, is damaged, or is of a later version; the message says what to do."""


class DamagedStoreError(StoreError):
    """A file is no longer readable as a store; it can be restored from a backup."""


class ReadOnlyStoreError(StoreError):
    """A write to a store that this process may only read."""


class ChangedStoreError(StoreError):
    """A read-only store was changed by another process while it was read; the read can be repeated."""


def interrupted(name: str) -> StoreError:
    """Return the error of a store whose work was interrupted."""
    return StoreError(f"work on the store {name!r} was interrupted; open it again to continue")


def explanation(error: Exception, name: str, patience: float, connection: sqlite3.Connection | None) -> Exception:
    """Return a StoreError that says what to do about an error in using a store, or the error itself if it is no such.

    Parameters
    ----------
    error : Exception
        What was raised.
    name : str
        The store, as the user named it.
    patience : float
        How many seconds other writers were waited for.
    connection : sqlite3.Connection or None
        The open store, to look for invalid values; None if it could not be opened.
    """
    if isinstance(error, sqlite3.OperationalError):
        if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            return interrupted(name)
        reason = f"cannot be used: {error}; check the file, its folder, their permissions and the space left"
        if "locked" in str(error):
            reason = f"has been locked by another process for more than {patience:g} seconds; try again later"
        return StoreError(f"the store {name!r} {reason}")
    damage = ""
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError):
        if error.sqlite_errorname == "SQLITE_NOTADB":
            return DamagedStoreError(
                f"{name!r} is not a store of suffice.spam, nor empty; give another path, or restore a backup"
            )
        damage = str(error)
    elif isinstance(error, (zlib.error, json.JSONDecodeError, SettingError)):
        damage = str(error)
    elif type(error) in _BY_VALUES and connection is not None:
        # sums of weights overflow for days far from the origin
        damage = wrong_values(connection) or (str(error) if isinstance(error, OverflowError) else "")
    return DamagedStoreError(f"the store {name!r} is damaged: {damage}; restore a backup") if damage else error


class Connected:
    """Base class of objects that keep an SQLite connection open, for the thread and the process that opened it.

    The garbage collector may drop the object in any thread. The connection is therefore opened with
    ``check_same_thread=False``, so that it can be closed there, and `_connection` checks the thread instead.
    """

    #: name of the file, for error messages
    name: str

    def _connect(self, database: str, timeout: float, *, uri: bool = False) -> None:
        self._opened_by = _here()
        self._held = sqlite3.connect(database, timeout=timeout, isolation_level=None, check_same_thread=False, uri=uri)
        _OPEN[self._held] = self._opened_by

    @property
    def _connection(self) -> sqlite3.Connection:
        """Return the connection; raise StoreError in a process or thread that did not open it."""
        here = _here()
        if here != self._opened_by:
            what = "thread" if here[0] == self._opened_by[0] else "process"
            raise StoreError(
                f"the store {self.name!r} was opened in another {what}, which cannot be shared; open it again here"
            )
        return self._held

    def close(self) -> None:
        """Close the file, which keeps all committed changes; a forked process leaves that to its parent."""
        if os.getpid() == self._opened_by[0]:
            self._connection.close()
            _OPEN.pop(self._held, None)

    def __del__(self) -> None:
        held = getattr(self, "_held", None)  # None if the file could not be opened
        if held is not None and os.getpid() == self._opened_by[0]:
            held.close()
            _OPEN.pop(held, None)


def _here() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


@atexit.register
def _close_at_exit() -> None:
    """Close the connections that are still open, except those of other threads, which may be in use."""
    for connection in [each for each, opened_by in _OPEN.items() if opened_by == _here()]:
        connection.close()
