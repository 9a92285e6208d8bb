"""Copies of a store, whole or not there at all."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from suffice.spam.store import APPLICATION, SCHEMA_VERSION, Store, StoreError

#: so long others may write before a restoration gives up, in seconds
PATIENCE = 60.0


def back_up(store: Store, path: str | os.PathLike[str]) -> None:
    """Copy a store, as the last transaction left it, to a file; an older backup there is replaced, nothing else."""
    target = Path(path)
    _refuse_other_files(store, target)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # for its owner only
    except OSError as error:
        raise StoreError(
            f"the backup {str(target)!r} cannot be made: {error.strerror}; check that its folder exists and may be "
            "written"
        ) from error
    try:
        os.close(handle)
        with closing(sqlite3.connect(name, isolation_level=None)) as copy:
            store.copy_to(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()  # one file, with no log beside it
        _flush(name)
        os.replace(name, target)
        _flush_folder(target.parent)
    except sqlite3.Error as error:
        raise StoreError(f"the backup {str(target)!r} cannot be written: {error}; check the space left") from error
    finally:
        for rest in (name, f"{name}-journal", f"{name}-wal", f"{name}-shm"):
            Path(rest).unlink(missing_ok=True)


def restore(path: str | os.PathLike[str], backup: str | os.PathLike[str]) -> None:
    """Replace the store at `path`, or make it, by a copy of `backup`, after checking that this is a whole store."""
    source, target = Path(backup), Path(path)
    if not source.exists():
        raise StoreError(f"there is no backup {str(source)!r}; give the file that `backup` wrote")
    if target.exists() and source.samefile(target):
        raise StoreError(f"the backup and the store are the same file, {str(target)!r}; give the file of a backup")
    with closing(_read_only(source)) as copy:
        try:
            copy.execute("BEGIN")  # what is checked is what is copied
            _check(copy, source)
        except sqlite3.DatabaseError as error:
            raise _damaged(source, error) from error
        store = Store(target)
        try:
            store.replace_by(copy, PATIENCE)
        finally:
            store.close()


def _refuse_other_files(store: Store, target: Path) -> None:
    if not target.exists():
        return
    if store.name != ":memory:" and Path(store.name).exists() and target.samefile(store.name):
        raise StoreError(f"{str(target)!r} is the store itself; give another path for its backup")
    if _log(target).exists():  # SQLite would add what is in the log of the old file to the new one
        raise StoreError(f"{str(target)!r} is in use as a store; close what has it open, or give another path")
    try:
        with target.open("rb") as file:
            header = file.read(72)
    except OSError:
        header = b"a folder, or not ours"
    if header and not (header.startswith(b"SQLite format 3\0") and header[68:] == APPLICATION.to_bytes(4, "big")):
        raise StoreError(f"{str(target)!r} is no backup of a store, so it is left as it is; give another path")


def _check(copy: sqlite3.Connection, source: Path) -> None:
    if _number(copy, "application_id") != APPLICATION:
        raise StoreError(f"{str(source)!r} is no backup of a store of suffice.spam; give the file that `backup` wrote")
    version = _number(copy, "user_version")
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"the backup {str(source)!r} has schema version {version}, but this version of suffice reads "
            f"{SCHEMA_VERSION}; use the version of suffice that wrote it, or a later one"
        )
    found = [row[0] for row in copy.execute("PRAGMA integrity_check")]
    if found != ["ok"]:
        raise _damaged(source, found[0])
    totals = copy.execute("SELECT COUNT(*) FROM meta WHERE key IN ('spam', 'ham')").fetchone()[0]
    if totals != 2:
        raise _damaged(source, "it has no totals of spam and ham")


def _damaged(source: Path, reason: object) -> StoreError:
    return StoreError(
        f"the backup {str(source)!r} is damaged or no store: {reason}; the store is left as it is; give another backup"
    )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _log(path: Path) -> Path:
    """Return the file in which SQLite keeps the newest part of a store that is open."""
    return path.with_name(f"{path.name}-wal")


def _read_only(path: Path) -> sqlite3.Connection:
    # a file that nothing has open is read as it is, which leaves no log beside it
    how = "mode=ro" if _log(path).exists() else "immutable=1"
    try:
        return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise StoreError(f"{str(path)!r} cannot be read: {error}; check that it is a file and may be read") from error


def _flush(name: str) -> None:
    handle = os.open(name, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere folders cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
