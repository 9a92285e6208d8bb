"""A store as an SQLite file: opening and checking it, transactions, settings."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from suffice.spam.connected import (
    ChangedStoreError,
    Connected,
    DamagedStoreError,
    ReadOnlyStoreError,
    StoreError,
    explanation,
    interrupted,
)
from suffice.spam.forgetting import Forgetting
from suffice.spam.kept import checked_setting
from suffice.spam.readonly import State, address, may_write, state_of
from suffice.spam.store_tables import APPLICATION, SCHEMA_VERSION, foreign_parts, has_bucket_tables, make_tables

#: seconds to wait for another process that writes
PATIENCE = 60.0
#: limit of patience in seconds, so that SQLite's time-out in milliseconds does not overflow
_MOST_PATIENCE = 1_000_000.0
#: SQLite instructions, a few milliseconds, between two checks for an interrupt
_INTERRUPTIBLE = 100_000


class StoreFile(Connected):
    """The file of a store, with its transactions and settings.

    Readers see the store as of the last transaction, also while another process writes. If a process is killed, its
    finished transactions are kept. After a power failure the last ones may be missing, but the store is consistent
    (`synchronous = NORMAL`).

    Parameters
    ----------
    path : str or path, optional
        Path of the file, created with access for its owner only if it does not exist; in memory if None. A file that
        this process may read but not write is opened read-only.
    patience : float
        How many seconds to wait for other writers.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, patience: float = PATIENCE) -> None:
        if not 0 <= patience <= _MOST_PATIENCE:
            raise ValueError(f"patience must be from 0 to {_MOST_PATIENCE:,.0f} seconds, but it is {patience!r}")
        self.name = "in memory" if path is None else os.fspath(path)
        self.in_memory = path is None
        # absolute, for other processes and changes of the working directory; a file may be called ":memory:"
        self.path = ":memory:" if path is None else os.path.abspath(self.name)
        self.patience = patience
        self._rollbacks = 0
        self._schema_version = -1
        #: whether it has the tables of buckets
        self.has_buckets = False
        self._interruption = threading.Event()
        #: fingerprint of a read-only store when it was opened; None for a writable store
        self._state: State | None = None
        if path is not None and not may_write(self.name):
            self._state = state_of(self.name)
        elif path is not None:
            _prepare_file(self.name)
        with self.explained():
            self._open()

    @property
    def is_read_only(self) -> bool:
        """Whether this process may read the store but not write to it."""
        return self._state is not None

    def _open(self) -> None:
        if self._state is None:
            self._connect(self.path, self.patience)
        else:
            self._connect(address(self.path, self._state), self.patience, uri=True)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        self._connection.set_progress_handler(self._interruption.is_set, _INTERRUPTIBLE)
        execute = self._connection.execute
        execute("PRAGMA trusted_schema = OFF")
        is_ready = self._is_ready()
        execute("PRAGMA cache_size = -32000")
        if self.is_read_only:
            if not is_ready:
                raise StoreError(f"the store {self.name!r} is empty, and this user may not write to it; train it first")
            return
        if not is_ready:
            with self.transaction():
                if not self._is_ready():  # another process may have created them meanwhile
                    make_tables(self._connection)
                    for key, value in (("spam", 0), ("ham", 0)):
                        self.put(key, value)
            self.check_tables()
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            self._switch_to_wal()
        execute("PRAGMA synchronous = NORMAL")

    def _is_ready(self) -> bool:
        """Return whether the tables exist, False for an empty file; raise StoreError for any other file."""
        execute = self._connection.execute
        application, version = (execute(f"PRAGMA {key}").fetchone()[0] for key in ("application_id", "user_version"))
        if application == APPLICATION and version == SCHEMA_VERSION:
            self.check_tables()
            return True
        if application == APPLICATION:
            raise StoreError(
                f"the store {self.name!r} has schema version {version}, but this version of suffice reads "
                f"{SCHEMA_VERSION}; use the version of suffice that wrote it, or a later one"
            )
        if application or version or execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise StoreError(
                f"{self.name!r} is an SQLite file of another program, not a store of suffice.spam; give another path"
            )
        return False

    def check_tables(self) -> None:
        """Raise if the file has foreign tables, views or triggers; checked once per change of the schema."""
        version = self._connection.execute("PRAGMA schema_version").fetchone()[0]
        if version == self._schema_version:  # unchanged since the last check
            return
        if found := foreign_parts(self._connection):
            raise DamagedStoreError(
                f"the store {self.name!r} must have its own tables and no others, but has {found}; restore a backup"
            )
        self.has_buckets = has_bucket_tables(self._connection)
        self._schema_version = version

    def _switch_to_wal(self) -> None:
        end = time.monotonic() + self.patience
        while True:  # SQLite does not wait here for other processes that are opening the store
            try:
                self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a write transaction: all changes or none are made, and other writers wait."""
        if self.is_read_only:
            raise ReadOnlyStoreError(
                f"the store {self.name!r} may be read by this user, but not written; train it as its owner, or let "
                "this user write to it and to its folder"
            )
        with self._begun("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Run a read transaction: all reads see the same state."""
        with self._unchanged(), self._begun("BEGIN"):
            yield

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Reopen a read-only store if it has changed, and raise StoreError if it changes during the reads."""
        if self._state is None or self._connection.in_transaction:
            yield
            return
        with self.explained():
            found = self._state_now()
            if found != self._state and not (self._state.is_shared and found.file == self._state.file):
                self.close()
                self._state = found
                self._schema_version = -1
                self._rollbacks += 1  # invalidates what was cached under the old `version`
                self._open()
        try:
            yield
        except DamagedStoreError:
            self._check_unchanged()
            raise
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self._state is not None and not self._state.is_shared and self._state_now() != self._state:
            raise ChangedStoreError(f"the store {self.name!r} was changed while it was read; try again")

    def _state_now(self) -> State:
        try:
            return state_of(self.path)
        except OSError as error:
            raise StoreError(f"the store {self.name!r} can no longer be read: {error.strerror}") from error

    @contextmanager
    def _begun(self, begin: str) -> Iterator[None]:
        if self._connection.in_transaction:  # nested: the outer transaction commits
            yield
            return
        with self.explained():
            self._connection.execute(begin)
            try:
                if self._schema_version >= 0:  # the store is open
                    self.check_tables()
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._rollbacks += 1
                self._connection.rollback()  # does nothing if SQLite already rolled back
                raise

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Translate errors of SQLite to a StoreError that says what to do."""
        if self._interruption.is_set():
            raise interrupted(self.name)
        try:
            yield
        except Exception as error:
            found = explanation(error, self.name, self.patience, getattr(self, "_held", None))
            if found is error:
                raise
            raise found from error

    def interrupt(self) -> None:
        """Interrupt the running operation, also from another thread, and refuse all later ones except closing."""
        self._interruption.set()

    @property
    def is_shared(self) -> bool:
        """Whether another process that opens the store sees the same state as this one."""
        return not self.in_memory and not self._connection.in_transaction

    def version(self) -> tuple[int, int, int]:
        """Return a version that differs after any change: by others, by this connection, or by a rollback."""
        others = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return others, self._connection.total_changes, self._rollbacks

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value of `meta`."""
        with self.explained():
            row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            return default if row is None else checked_setting(key, json.loads(row[0]))

    def put(self, key: str, value: Any) -> None:
        """Set a value of `meta`."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of the mail servers whose Authentication-Results are trusted."""
        return tuple(self.get("servers", ()))

    @property
    def forgetting(self) -> Forgetting:
        """The half-life and origin of the weights."""
        return Forgetting(self.get("half_life"), self.get("origin", 0))

    def look_up(self, select: str, digests: Iterable[bytes]) -> dict[bytes, Any]:
        """Return the value that a query finds for each digest; those of which it finds nothing are left out."""
        found = ((digest, self._connection.execute(select, (digest,)).fetchone()) for digest in digests)
        return {digest: row[0] for digest, row in found if row is not None}

    def settings(self) -> dict[str, Any]:
        """Return all values of `meta` except the totals, which are sums."""
        rows = self._connection.execute("SELECT key, value FROM meta WHERE key NOT IN ('spam', 'ham') ORDER BY key")
        return {key: json.loads(value) for key, value in rows}

    def copy_to(self, copy: sqlite3.Connection) -> None:
        """Copy the store, as of its last transaction, into an empty database; others may write meanwhile."""
        with self.explained():
            try:
                self._connection.backup(copy)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_FULL":
                    raise
                raise StoreError(f"the copy of the store {self.name!r} cannot be written: {error}") from error

    def replace_by(self, other: sqlite3.Connection, patience: float) -> None:
        """Replace the contents of the store in one transaction; wait up to `patience` seconds for other writers."""
        end = time.monotonic() + patience

        def wait(status: int, remaining: int, total: int) -> None:
            if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > end:
                raise sqlite3.OperationalError("database is locked")

        with self.explained():
            other.backup(self._connection, pages=-1, progress=wait, sleep=0.05)


def _prepare_file(path: str) -> None:
    """Create an empty file that only its owner may read, if it does not exist."""
    # An existing file is not opened here: closing it would drop the locks of other connections of this process.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreError(
            f"the store {path!r} cannot be created: {error.strerror}; check that its folder exists and may be written"
        ) from error
