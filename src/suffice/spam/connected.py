"""SQLite connections that are closed when the object that opened them is deleted."""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading

#: the open connections, with the process and thread of each. This reference keeps them from being garbage-collected:
#: `__del__` of the owner closes them, and a forked process keeps those it inherited, which SQLite forbids to use or
#: close there
_OPEN: dict[sqlite3.Connection, tuple[int, int]] = {}


class StoreError(ValueError):
    """A file is not a store, is damaged, or is of a later version; the message says what to do."""


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
