"""The progress of a watch on an account, in an SQLite file beside the store, so that it continues where it ended.

| table | row |
|---|---|
| `folders` | a folder, the UIDVALIDITY of its UIDs, the highest UID at the start, and the highest processed UID |
| `messages` | the digest of a message, and its state, see `Known` |
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from suffice.spam.connected import Connected, StoreError

APPLICATION = 0x53_75_50_6C  # "SuPl"
SCHEMA_VERSION = 1
#: days after which messages that were not seen again are deleted
KEPT_DAYS = 730
#: seconds to wait for another watch that is just ending
WAIT = 1.0
_SCHEMA = (
    "CREATE TABLE folders (folder TEXT PRIMARY KEY, validity INTEGER NOT NULL, origin INTEGER NOT NULL, "
    "uid INTEGER NOT NULL, first INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE messages (digest BLOB PRIMARY KEY, state TEXT NOT NULL, folder TEXT, uid INTEGER, source INTEGER, "
    "day INTEGER NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


class Known(NamedTuple):
    """The state of a message.

    Attributes
    ----------
    state : str
        "left" in the inbox after a verdict; "moving" from the inbox, finished or not; "held", that is, it is or was in
        a folder that messages are moved to; "returned" by the user, or filed as ham.
    folder : str or None
        The folder that it is moved to or held in.
    uid : int or None
        Its UID in that folder, once it was seen there.
    source : int or None
        Its UID in the inbox while it is moving.
    """

    state: Literal["left", "moving", "held", "returned"]
    folder: str | None
    uid: int | None
    source: int | None


class FolderPlace(NamedTuple):
    """The progress in a folder: messages up to `origin` were there at the start, those up to `uid` are processed."""

    validity: int
    origin: int
    uid: int
    first: bool


def place_path(store: str | os.PathLike[str], account: str) -> Path:
    """Return the file of an account, beside the store, with a few digits of a hash in its name.

    Examples
    --------
    >>> from suffice.spam.imap.place import place_path
    >>> place_path("spam.sqlite", "ann on example.org:993").name
    'spam.sqlite.imap-6fa85be1'
    """
    path = Path(store)
    return path.with_name(f"{path.name}.imap-{hashlib.sha256(account.encode()).hexdigest()[:8]}")


class Place(Connected):
    """The stored progress of one account; only one watch at a time may have it open.

    Parameters
    ----------
    path : str or path
        The file, created with access for its owner only if it does not exist.
    throw_away : bool
        Start from the contents of the file, but never change it.
    """

    def __init__(self, path: str | os.PathLike[str], *, throw_away: bool = False) -> None:
        self.name = os.fspath(path)
        with self._explained():
            if throw_away:
                self._connect(":memory:", WAIT)
                if os.path.exists(path):
                    uri = f"{Path(path).absolute().as_uri()}?mode=rw"
                    with closing(sqlite3.connect(uri, uri=True, timeout=WAIT)) as file:
                        file.backup(self._connection)
            else:
                if not os.path.exists(path):
                    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
                self._connect(self.name, WAIT)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")  # until closed: prevents a second watch of the account
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")  # a move that was not recorded would be taken for one by the user
        with self.transaction():
            found = tuple(execute(f"PRAGMA {key}").fetchone()[0] for key in ("application_id", "user_version"))
            if found == (0, 0) and not execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                for statement in _SCHEMA:
                    execute(statement)
            elif found != (APPLICATION, SCHEMA_VERSION):
                raise StoreError(f"{self.name!r} is a file of another program or version; move it away to start over")
            execute("DELETE FROM messages WHERE state <> 'moving' AND day < ?", (_today() - KEPT_DAYS,))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StoreError(
                    f"another `watch` is using {self.name!r}; only one at a time can watch an account with a store"
                ) from error
            raise StoreError(f"{self.name!r} cannot be used: {error}; check its folder and the disk") from error
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.name!r} is damaged: {error}; move it away to start over") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction: all changes or none are made."""
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise

    def folder(self, name: str) -> FolderPlace | None:
        """Return the progress in a folder, or None for a new one."""
        select = "SELECT validity, origin, uid, first FROM folders WHERE folder = ?"
        row = self._row(select, name)
        return None if row is None else FolderPlace(row[0], row[1], row[2], bool(row[3]))

    def _row(self, select: str, key: str | bytes) -> Any:
        with self._explained():
            return self._connection.execute(select, (key,)).fetchone()

    def begin(self, name: str, validity: int, origin: int, *, is_source: bool) -> None:
        """Start or restart a folder; earlier UIDs are no longer valid."""
        first = self.folder(name) is None
        with self.transaction():
            execute = self._connection.execute
            execute("INSERT OR REPLACE INTO folders VALUES (?, ?, ?, 0, ?)", (name, validity, origin, first))
            execute("UPDATE messages SET uid = NULL WHERE folder = ?", (name,))
            if is_source:
                execute("UPDATE messages SET state = 'left', folder = NULL, source = NULL WHERE state = 'moving'")

    def advance(self, name: str, uid: int) -> None:
        """Record that a folder is processed up to a UID."""
        self._connection.execute("UPDATE folders SET uid = max(uid, ?) WHERE folder = ?", (uid, name))

    def known(self, digest: bytes) -> Known | None:
        """Return the state of a message, or None for a new one."""
        select = "SELECT state, folder, uid, source FROM messages WHERE digest = ?"
        row = self._row(select, digest)
        return None if row is None else Known(*row)

    def put(self, digest: bytes, known: Known) -> None:
        """Record the state of a message."""
        insert = "INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?)"
        self._connection.execute(insert, (digest, *known, _today()))

    def moving(self) -> list[tuple[bytes, Known]]:
        """Return the moves that were started and may not be finished."""
        select = "SELECT digest, state, folder, uid, source FROM messages WHERE state = 'moving' ORDER BY source"
        return [(row[0], Known(*row[1:])) for row in self._connection.execute(select)]


def _today() -> int:
    return int(time.time() // 86_400)
