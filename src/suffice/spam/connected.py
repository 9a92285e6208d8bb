"""SQLite connections that are closed when the object that opened them is dropped."""

from __future__ import annotations

import os
import sqlite3
import threading

#: the connections that are open, so that `__del__` comes before the garbage collector's own finalizer of a connection,
#: and a forked process keeps what it inherited: SQLite forbids it to use or close those
_OPEN: set[sqlite3.Connection] = set()


class StoreError(ValueError):
    """A file is no store, is damaged, or is of a later version; says what was found and what to do."""


class Connected:
    """Base class of objects that keep an SQLite connection open, for the thread and the process that opened it.

    The garbage collector may drop the object in any thread. The connection is therefore opened with
    ``check_same_thread=False``, so that it can be closed there, and `_connection` checks the thread instead.
    """

    #: of the file, for error messages
    name: str

    def _connect(self, database: str, timeout: float) -> None:
        self._opened_by = os.getpid(), threading.get_ident()
        self._held = sqlite3.connect(database, timeout=timeout, isolation_level=None, check_same_thread=False)
        _OPEN.add(self._held)

    @property
    def _connection(self) -> sqlite3.Connection:
        """Return the connection; raise StoreError in another process or thread than the one that opened it."""
        here = os.getpid(), threading.get_ident()
        if here != self._opened_by:
            what = "thread" if here[0] == self._opened_by[0] else "process"
            raise StoreError(
                f"the store {self.name!r} was opened in another {what}, which must not be shared; open it here anew"
            )
        return self._held

    def close(self) -> None:
        """Close the file; what was committed is in it. A forked process leaves it to the one that opened it."""
        if os.getpid() == self._opened_by[0]:
            self._connection.close()
            _OPEN.discard(self._held)

    def __del__(self) -> None:
        held = getattr(self, "_held", None)  # None if the file could not be opened
        if held is not None and os.getpid() == self._opened_by[0]:
            held.close()
            _OPEN.discard(held)
