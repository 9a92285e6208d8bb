"""The statistics of a filter in one SQLite file: a table of token counts, and the messages that it is a sum over.

| table | row |
|---|---|
| `tokens` | a token, and the total weight of the spams and of the hams that hold it |
| `messages` | digest of a message, class, day, tokens (compressed), and the shares of an unlabelled message |
| | also the counts learned by another filter, with the class "imported" |
| `meta` | total weights of spam and ham, thresholds, logistic link, half-life, lists of senders, imports |

A store with buckets has three more tables, see `suffice.spam.buckets.tables`.
Because the messages are kept, untraining is exact even if the tokeniser has changed, and the sums can be recomputed.
"""

from __future__ import annotations

import json
import operator
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from suffice.spam.buckets.tables import BucketTables
from suffice.spam.connected import Connected, StoreError
from suffice.spam.counting import Counts, counted
from suffice.spam.forgetting import Forgetting
from suffice.spam.imported import Imported
from suffice.spam.kept import SettingError, checked_setting
from suffice.spam.reading import Reading, unpack
from suffice.spam.readonly import State, address, may_write, state_of
from suffice.spam.shares import Kind, Known, KnownMessage, Label, parts
from suffice.spam.store_tables import (
    APPLICATION,
    SCHEMA_VERSION,
    foreign_parts,
    has_bucket_tables,
    make_tables,
    wrong_values,
)
from suffice.spam.tokenizing import ATTACHED

#: token, total weight of the spams that hold it, total weight of the hams
Row = tuple[str, int, int]

#: seconds to wait for another process that writes
PATIENCE = 60.0
#: limit of patience in seconds, so that SQLite's time-out in milliseconds does not overflow
_MOST_PATIENCE = 1_000_000.0
#: SQLite instructions, a few milliseconds, between two checks for an interrupt
_INTERRUPTIBLE = 100_000
_ADD = (
    "INSERT INTO tokens VALUES (?, ? * {weight}, ? * {weight}) "
    "ON CONFLICT (token) DO UPDATE SET spam = spam + excluded.spam, ham = ham + excluded.ham"
)
#: the same for a text of `Counts.packed`
_ADD_PACKED = (
    "INSERT INTO tokens SELECT key, (value >> 32) * {weight}, (value & 4294967295) * {weight} "
    "FROM json_each(?) WHERE true "  # else SQLite would parse ON as part of a join
    "ON CONFLICT (token) DO UPDATE SET spam = spam + excluded.spam, ham = ham + excluded.ham"
)
#: joins the row of a token, and for an attached token also the row of the same token without the prefix
_JOINED = (
    "LEFT JOIN tokens AS own ON own.token = value LEFT JOIN tokens AS plain ON plain.token = "
    f"CASE WHEN substr(value, 1, {len(ATTACHED)}) = '{ATTACHED}' THEN substr(value, {len(ATTACHED) + 1}) END"
)
#: errors that invalid values may cause, since SQLite accepts any value in any column; matched by exact type, so that
#: errors raised on purpose are not included
_BY_VALUES = (TypeError, ValueError, KeyError, AttributeError, AssertionError, IndexError, OverflowError)
#: number of messages counted together
_MANY = 2_000


class DamagedStoreError(StoreError):
    """A file is no longer readable as a store; it can be restored from a backup."""


class ReadOnlyStoreError(StoreError):
    """A write to a store that this process may only read."""


class ChangedStoreError(StoreError):
    """A read-only store was changed by another process while it was read; the read can be repeated."""


class Store(Connected):
    """The counts of tokens over the learned messages.

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
    def buckets(self) -> BucketTables:
        """The tables of buckets."""
        return BucketTables(self)  # not cached: a reference cycle would delay closing a deleted store

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
        if self.is_read_only:
            if not is_ready:
                raise StoreError(f"the store {self.name!r} is empty, and this user may not write to it; train it first")
            execute("PRAGMA cache_size = -32000")
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
        execute("PRAGMA cache_size = -32000")

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
                f"the store {self.name!r} must have its own tables and nothing else, but there is {found}; "
                "restore a backup"
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
            raise StoreError(f"the store {self.name!r} cannot be read any more: {error.strerror}") from error

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
            raise self._interrupted()
        try:
            yield
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
                raise self._interrupted() from error
            if "locked" in str(error):
                reason = (
                    f"is being written to by another process for more than {self.patience:g} seconds; try again later"
                )
            else:
                reason = f"cannot be used: {error}; check the file, its folder, their permissions and the space left"
            raise StoreError(f"the store {self.name!r} {reason}") from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.ProgrammingError):
                raise
            if error.sqlite_errorname == "SQLITE_NOTADB":
                raise DamagedStoreError(
                    f"{self.name!r} is not a store of suffice.spam, nor empty; give another path, or restore a backup"
                ) from error
            raise DamagedStoreError(f"the store {self.name!r} is damaged: {error}; restore a backup") from error
        except (zlib.error, json.JSONDecodeError, SettingError) as error:
            raise DamagedStoreError(f"the store {self.name!r} is damaged: {error}; restore a backup") from error
        except Exception as error:
            # sums of weights overflow for days far from the origin
            too_large = str(error) if isinstance(error, OverflowError) else ""
            if type(error) in _BY_VALUES and (found := wrong_values(self._held) or too_large):
                raise DamagedStoreError(f"the store {self.name!r} is damaged: {found}; restore a backup") from error
            raise

    def interrupt(self) -> None:
        """Interrupt the running operation, also from another thread, and refuse all later ones except closing."""
        self._interruption.set()

    def _interrupted(self) -> StoreError:
        return StoreError(f"work on the store {self.name!r} was interrupted; open it anew to go on")

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

    def totals(self) -> tuple[int, int]:
        """Return the total weights of spams and hams."""
        return self.get("spam"), self.get("ham")

    def rows(self, tokens: list[str]) -> dict[str, Row]:
        """Return the rows of the known tokens, by token.

        The counts of a token are also added to those of the same token in attachments: spam is spam wherever it occurs.
        """
        # one JSON list is faster than many parameters, and has no limit on their number
        select = (
            "SELECT value, ifnull(own.spam, 0) + ifnull(plain.spam, 0), ifnull(own.ham, 0) + ifnull(plain.ham, 0) "
            f"FROM json_each(?) {_JOINED} WHERE own.token IS NOT NULL OR plain.token IS NOT NULL"
        )
        return {row[0]: row for row in self._connection.execute(select, (json.dumps(tokens, ensure_ascii=False),))}

    def counts(self, tokens: str) -> tuple[list[str], list[str]]:
        """Return the spam weights and the ham weights of tokens, as in `rows`, in digits; "-" for unknown tokens.

        Tokens are given as a JSON list. Returning two concatenated texts takes a third of the time of `rows`.
        """
        select = (
            "SELECT group_concat(ifnull(own.spam + ifnull(plain.spam, 0), ifnull(plain.spam, '-'))), "
            f"group_concat(ifnull(own.ham + ifnull(plain.ham, 0), ifnull(plain.ham, '-'))) FROM json_each(?) {_JOINED}"
        )
        spam, ham = self._connection.execute(select, (tokens,)).fetchone()
        return ([], []) if spam is None else (spam.split(","), ham.split(","))

    def labels(self, digests: Sequence[bytes]) -> dict[bytes, Known]:
        """Return the classes of those of the given messages that are stored, by digest."""
        select = "SELECT label FROM messages WHERE digest = ?"
        rows = ((digest, self._connection.execute(select, (digest,)).fetchone()) for digest in digests)
        return {digest: row[0] for digest, row in rows if row is not None}

    def renew(self, day: int) -> None:
        """Make this day the origin of the weights, if the weights of this day have grown too large."""
        if self.forgetting.is_due(day):
            self.begin_anew(Forgetting(self.forgetting.half_life, day))

    def add(self, messages: Sequence[tuple[Reading, Label]], day: int, counts: Counts | None = None) -> None:
        """Learn messages, none of which may be stored already; `counts` are their token counts, if known."""
        self.renew(day)
        self._connection.executemany(
            "INSERT INTO messages (digest, label, day, tokens) VALUES (?, ?, ?, ?)",
            [(reading.digest, label, day, reading.packed) for reading, label in messages],
        )
        if counts is None:
            counts = counted((label, reading.tokens) for reading, label in messages)
        self._sum(counts, self.forgetting.weight(day))

    def remove(self, digests: Iterable[bytes]) -> None:
        """Undo the learning of messages, all of which must be stored."""
        for digest in digests:
            self.take(digest)

    def take(self, digest: bytes) -> tuple[int, int, list[str]]:
        """Undo the learning of a stored message; return its weights in spam and ham, and its tokens."""
        message = self.message(digest)
        assert message is not None
        if message.label == "imported":
            return self._take_imported(message)
        forgetting, tokens = self.forgetting, unpack(message.packed)
        spam, ham = message.weights(forgetting)
        self._connection.execute("DELETE FROM messages WHERE digest = ?", (digest,))
        if message.label == "unlabeled":
            self._sum_soft([(message.packed, -spam, -ham)])
        else:
            self._sum(counted([(message.label, tokens)]), -forgetting.weight(message.day))
        self._drop_empty(tokens)
        if message.label == "ham" and self.has_buckets:
            self.buckets.forget(digest, tokens, ham)
        return spam, ham, tokens

    def _take_imported(self, message: KnownMessage) -> tuple[int, int, list[str]]:
        imported = Imported.unpacked(message.packed)
        self._connection.execute("DELETE FROM messages WHERE digest = ?", (message.digest,))
        weight = self.forgetting.weight(message.day)
        self._sum_imported(imported, -weight)
        self._drop_empty(imported.counts)
        return *imported.totals(weight), list(imported.counts)

    def add_imported(self, rows: Iterable[tuple[bytes, bytes]], day: int) -> None:
        """Store counts learned by another filter, given as (digest, packed) rows that are not stored yet."""
        self.renew(day)
        for digest, packed in rows:
            self._connection.execute(
                "INSERT INTO messages (digest, label, day, tokens) VALUES (?, 'imported', ?, ?)", (digest, day, packed)
            )
            self._sum_imported(Imported.unpacked(packed), self.forgetting.weight(day))

    def put_messages(self, messages: Sequence[KnownMessage]) -> None:
        """Add rows of another store, none of which may be stored already."""
        by_day: dict[int, list[KnownMessage]] = {}
        for message in messages:
            by_day.setdefault(message.day, []).append(message)
        for day, rows in sorted(by_day.items()):
            self.renew(day)
            self._connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", rows)
            weight = self.forgetting.weight(day)
            labelled = ((row.label, unpack(row.packed)) for row in rows if row.label in ("spam", "ham"))
            self._sum(counted(cast("Iterable[tuple[Label, list[str]]]", labelled)), weight)
            soft = ((row.packed, *row.weights(self.forgetting)) for row in rows if row.label == "unlabeled")
            self._sum_soft(soft)
            for row in rows:
                if row.label == "imported":
                    self._sum_imported(Imported.unpacked(row.packed), weight)

    def _sum_imported(self, imported: Imported, weight: int) -> None:
        sign = -1 if weight < 0 else 1  # adding and subtracting must round the same way
        rows = ((token, sign * spam, sign * ham) for token, spam, ham in imported.rows(abs(weight)))
        self._connection.executemany(_ADD.format(weight=1), rows)
        for label, total in zip(("spam", "ham"), imported.totals(abs(weight)), strict=True):
            self.put(label, self.get(label) + sign * total)

    def _drop_empty(self, tokens: Iterable[str]) -> None:
        """Delete the rows of those tokens that no message holds any more."""
        self._connection.executemany(
            "DELETE FROM tokens WHERE token = ? AND spam = 0 AND ham = 0", [(token,) for token in tokens]
        )

    def begin_anew(self, forgetting: Forgetting) -> None:
        """Change the origin of the weights; messages dated later, by a wrong clock, are set to the origin."""
        self._connection.execute("UPDATE messages SET day = ? WHERE day > ?", (forgetting.origin, forgetting.origin))
        self.recount(forgetting)

    def recount(self, forgetting: Forgetting) -> None:
        """Recompute all sums with other weights."""
        self.put("half_life", forgetting.half_life)
        self.put("origin", forgetting.origin)
        self._connection.execute("DELETE FROM tokens")
        self.put("spam", 0)
        self.put("ham", 0)
        for (day,) in self._connection.execute("SELECT DISTINCT day FROM messages").fetchall():
            if weight := forgetting.weight(day):
                rows = self._connection.execute(
                    "SELECT label, tokens FROM messages WHERE day = ? AND label IN ('spam', 'ham')", (day,)
                )
                while chunk := rows.fetchmany(_MANY):
                    self._sum(counted((label, unpack(packed)) for label, packed in chunk), weight)
                rows = self._connection.execute(
                    "SELECT tokens, soft_spam, soft_ham FROM messages WHERE day = ? AND label = 'unlabeled'", (day,)
                )
                while chunk := rows.fetchmany(_MANY):
                    self._sum_soft((packed, *parts(weight, *soft)) for packed, *soft in chunk)
                select = "SELECT tokens FROM messages WHERE day = ? AND label = 'imported'"
                for (packed,) in self._connection.execute(select, (day,)).fetchall():
                    self._sum_imported(Imported.unpacked(packed), weight)
        self.buckets.recount(forgetting)

    def _sum(self, counts: Counts, weight: int) -> None:
        """Add counts, times a weight, to the counts of the tokens and to the totals."""
        if weight == 0:
            return
        # sorted like the table, so that each of its pages is visited once
        texts, rows = counts.packed()
        self._connection.executemany(_ADD_PACKED.format(weight=weight), zip(texts))
        self._connection.executemany(_ADD.format(weight=weight), rows)
        for label, count in counts.messages.items():
            self.put(label, self.get(label) + weight * count)

    def _sum_soft(self, messages: Iterable[tuple[bytes, int, int]]) -> None:
        """Add the spam and ham weights of messages to the counts of their tokens and to the totals."""
        held: dict[str, list[int]] = {}
        spam = ham = 0
        for packed, in_spam, in_ham in messages:
            if in_spam == in_ham == 0:
                continue
            spam += in_spam
            ham += in_ham
            for token in unpack(packed):
                counts = held.setdefault(token, [0, 0])
                counts[0] += in_spam
                counts[1] += in_ham
        rows = ((token, *held[token]) for token in sorted(held))
        self._connection.executemany(_ADD.format(weight=1), rows)
        self.put("spam", self.get("spam") + spam)
        self.put("ham", self.get("ham") + ham)

    def add_unlabeled(self, readings: Sequence[Reading], day: int) -> None:
        """Store unlabelled messages, none of which may be stored already; without shares they have no weight."""
        self.renew(day)
        self._connection.executemany(
            "INSERT INTO messages (digest, label, day, tokens) VALUES (?, 'unlabeled', ?, ?)",
            [(reading.digest, day, reading.packed) for reading in readings],
        )

    def share(self, shares: Iterable[tuple[bytes, int, int]]) -> None:
        """Set the shares, in units of 1/`UNIT`, that unlabelled messages have in spam and in ham.

        Messages that were removed or labelled meanwhile are left unchanged.
        """
        forgetting = self.forgetting
        changes, wanted, silent = [], [], []
        for digest, *new in shares:
            row = self._connection.execute(
                "SELECT tokens, day, soft_spam, soft_ham FROM messages WHERE digest = ? AND label = 'unlabeled'",
                (digest,),
            ).fetchone()
            if row is None or [*row[2:]] == new:
                continue
            packed, day, *old = row
            weight = forgetting.weight(day)
            gains = (after - before for before, after in zip(parts(weight, *old), parts(weight, *new), strict=True))
            changes.append((packed, *gains))
            wanted.append((*new, digest))
            if not any(new):
                silent.append(packed)
        self._sum_soft(changes)
        for packed in silent:
            self._drop_empty(unpack(packed))
        self._connection.executemany("UPDATE messages SET soft_spam = ?, soft_ham = ? WHERE digest = ?", wanted)

    def has_shares(self) -> bool:
        """Return whether any unlabelled message has a positive share."""
        select = "SELECT 1 FROM messages WHERE label = 'unlabeled' AND soft_spam + soft_ham > 0 LIMIT 1"
        return self._connection.execute(select).fetchone() is not None

    def drop_shares(self) -> None:
        """Set the shares of all unlabelled messages to zero."""
        select = "SELECT digest, 0, 0 FROM messages WHERE label = 'unlabeled' AND soft_spam + soft_ham > 0"
        rows = self._connection.execute(select).fetchall()
        for start in range(0, len(rows), _MANY):
            self.share(rows[start : start + _MANY])

    def known(self, kinds: Sequence[Kind], many: int) -> Iterator[list[KnownMessage]]:
        """Yield the messages of some classes in a fixed order, in batches of `many`; call within a snapshot."""
        marks = ", ".join("?" for _ in kinds)
        select = f"SELECT digest, label, day, tokens, soft_spam, soft_ham FROM messages WHERE label IN ({marks})"
        rows = self._connection.execute(f"{select} ORDER BY digest", (*kinds,))
        while chunk := rows.fetchmany(many):
            yield [KnownMessage(*row) for row in chunk]

    def message(self, digest: bytes) -> KnownMessage | None:
        """Return the row of a message; None if it is not stored."""
        select = "SELECT digest, label, day, tokens, soft_spam, soft_ham FROM messages WHERE digest = ?"
        row = self._connection.execute(select, (digest,)).fetchone()
        return None if row is None else KnownMessage(*row)

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of spams, hams, tokens and unlabelled messages."""
        labels = dict(self._connection.execute("SELECT label, COUNT(*) FROM messages GROUP BY label"))
        tokens = self._connection.execute("SELECT COUNT(*) FROM tokens").fetchone()[0]
        return labels.get("spam", 0), labels.get("ham", 0), tokens, labels.get("unlabeled", 0)

    def tokens(self) -> Iterator[str]:
        """Yield all known tokens; call within a snapshot."""
        for (token,) in self._connection.execute("SELECT token FROM tokens"):
            yield token

    def settings(self) -> dict[str, Any]:
        """Return all values of `meta` except the totals, which are sums."""
        rows = self._connection.execute("SELECT key, value FROM meta WHERE key NOT IN ('spam', 'ham') ORDER BY key")
        return {key: json.loads(value) for key, value in rows}

    def days(self) -> tuple[int, int] | None:
        """Return the first and the last day of the stored messages, as days since 1970; None if there are none."""
        first, last = self._connection.execute("SELECT MIN(day), MAX(day) FROM messages").fetchone()
        return None if first is None else (operator.index(first), operator.index(last))

    def expire(self, before: int) -> int:
        """Remove the messages of days before `before`, and return their number."""
        old = [row[0] for row in self._connection.execute("SELECT digest FROM messages WHERE day < ?", (before,))]
        self.remove(old)
        return len(old)

    def copy_to(self, copy: sqlite3.Connection) -> None:
        """Copy the store, as of its last transaction, into an empty database; others may write meanwhile."""
        with self.explained():
            self._connection.backup(copy)

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
            f"the store {path!r} cannot be made: {error.strerror}; check that its folder exists and may be written"
        ) from error
