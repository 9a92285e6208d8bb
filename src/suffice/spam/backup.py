"""Backup and restore of a store; a copy is complete or does not exist."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import chain, count
from pathlib import Path

from suffice.spam.connected import DamagedStoreError, StoreError
from suffice.spam.store import Store
from suffice.spam.store_file import PATIENCE
from suffice.spam.store_tables import APPLICATION, SCHEMA_VERSION, foreign_parts

#: suffixes of the files that SQLite may keep beside a database
_BESIDE = ("-journal", "-wal", "-shm")


def back_up(store: Store, path: str | os.PathLike[str]) -> None:
    """Copy a store, as of its last transaction, to a file; only an older backup may be overwritten."""
    target = replaceable(path)
    _refuse_other_files(store, target)
    with _written("backup", target, store.copy_to) as name:
        with closing(_read_only(Path(name))) as copy:
            if problem := _problem(copy):
                raise DamagedStoreError(
                    f"the store {store.name!r} is damaged: {problem}; no backup was made, and an older one is not "
                    "changed; restore it"
                )
        os.replace(name, target)


def replaceable(path: str | os.PathLike[str]) -> Path:
    """Return the resolved path of a file that may be replaced; raise if it is a device or another special file.

    A user who may write to a folder can replace anything in it, `/dev/null` included.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise StoreError(f"{str(target)!r} is a device, a pipe or a socket, not a file that can be replaced")
    return target


def restore(path: str | os.PathLike[str], backup: str | os.PathLike[str]) -> None:
    """Replace or create the store at `path` by a copy of `backup`, after checking that the backup is intact.

    If the file at `path` is no longer readable as a store, it is first moved to NAME.damaged.
    """
    source, target = Path(backup), Path(path)
    if not source.exists():
        raise StoreError(f"there is no backup {str(source)!r}; give the file that `backup` wrote")
    if target.exists() and source.samefile(target):
        raise StoreError(f"the backup and the store are the same file, {str(target)!r}; give the file of a backup")
    with closing(_read_only(source)) as copy:
        try:
            copy.execute("BEGIN")  # a read transaction, so that the state checked is the state copied
            _check(copy, source)
        except sqlite3.DatabaseError as error:
            raise _damaged(source, error) from error
        try:
            _replace_contents(target, copy)
        except DamagedStoreError:
            _replace_file(target.resolve(), copy)


def _replace_contents(target: Path, copy: sqlite3.Connection) -> None:
    """Replace the contents of a store in one transaction, also for processes that have it open."""
    store = Store(target, patience=PATIENCE)
    try:
        store.replace_by(copy, PATIENCE)
    finally:
        store.close()


def _replace_file(target: Path, copy: sqlite3.Connection) -> None:
    """Replace a file that is no longer a store by a copy, and keep the old file beside it."""
    names = chain([f"{target.name}.damaged"], (f"{target.name}.damaged.{number}" for number in count(2)))
    with _written("store", target, copy.backup) as name:
        old = next(old for old in map(target.with_name, names) if not os.path.lexists(old))
        for end in (*_BESIDE, ""):  # the log first: SQLite would apply it to the new file
            part = Path(f"{target}{end}")
            if part.exists():
                part.rename(f"{old}{end}")
        os.replace(name, target)


@contextmanager
def _written(what: str, target: Path, fill: Callable[[sqlite3.Connection], object]) -> Iterator[str]:
    """Yield the name of a new file beside the target, written and synced, for the caller to move into place."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # readable by its owner only
    except OSError as error:
        raise StoreError(
            f"the {what} {str(target)!r} cannot be created: {error.strerror}; check that its folder exists and may be "
            "written"
        ) from error
    try:
        os.close(handle)
        with closing(sqlite3.connect(name, isolation_level=None)) as new:
            fill(new)
            new.execute("PRAGMA journal_mode = DELETE").fetchone()  # one file, with no log beside it
        _flush(name)
        yield name
        _flush_folder(target.parent)
    except sqlite3.Error as error:
        raise StoreError(f"the {what} {str(target)!r} cannot be written: {error}; check the space left") from error
    finally:
        for end in ("", *_BESIDE):
            Path(f"{name}{end}").unlink(missing_ok=True)


def _refuse_other_files(store: Store, target: Path) -> None:
    if not target.exists():
        return
    if not store.in_memory and Path(store.path).exists() and target.samefile(store.path):
        raise StoreError(f"{str(target)!r} is the store itself; give another path for its backup")
    if _log(target).exists():  # SQLite would apply the log of the old file to the new one
        raise StoreError(f"{str(target)!r} is in use as a store; close the programs that use it, or give another path")
    try:
        with target.open("rb") as file:
            header = file.read(72)
    except OSError:
        header = b"a folder, or not ours"
    if header and not (header.startswith(b"SQLite format 3\0") and header[68:] == APPLICATION.to_bytes(4, "big")):
        raise StoreError(f"{str(target)!r} is not a backup of a store, so it is not replaced; give another path")


def _check(copy: sqlite3.Connection, source: Path) -> None:
    if _number(copy, "application_id") != APPLICATION:
        raise StoreError(
            f"{str(source)!r} is not a backup of a store of suffice.spam; give the file that `backup` wrote"
        )
    version = _number(copy, "user_version")
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"the backup {str(source)!r} has schema version {version}, but this version of suffice reads "
            f"{SCHEMA_VERSION}; use the version of suffice that wrote it, or a later one"
        )
    if strange := foreign_parts(copy):
        raise _damaged(source, f"it must have the tables of a store and no others, but has {strange}")
    if problem := _problem(copy):
        raise _damaged(source, problem)
    totals = copy.execute("SELECT COUNT(*) FROM meta WHERE key IN ('spam', 'ham')").fetchone()[0]
    if totals != 2:
        raise _damaged(source, "it has no totals of spam and ham")


def _problem(copy: sqlite3.Connection) -> str:
    """Return the first problem that SQLite's integrity check reports, or an empty string."""
    try:
        found = str(copy.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    lines = [line for line in found.splitlines() if not line.startswith("***")]
    return "" if found == "ok" else lines[0] if lines else found


def _damaged(source: Path, reason: object) -> StoreError:
    return StoreError(
        f"the backup {str(source)!r} is damaged or not a store: {reason}; the store is not changed; give another backup"
    )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _log(path: Path) -> Path:
    """Return the path of SQLite's write-ahead log, which holds the newest changes of an open store."""
    return path.with_name(f"{path.name}-wal")


def _read_only(path: Path) -> sqlite3.Connection:
    # a file that no process has open is read as immutable, which creates no log beside it
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
