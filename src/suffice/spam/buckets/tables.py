"""Buckets in the store: three tables that are created with the first bucket, and dropped with the last.

| table | row |
|---|---|
| `buckets` | the number of a bucket, its name, and the weight of its messages |
| `bucket_tokens` | a token, a bucket, and the weight of the messages there that hold it |
| `bucket_messages` | the digest of a message, and its bucket; its class, day and tokens are in `messages` |

All messages of buckets are hams, so the sums of ham in no bucket are differences of sums, and need no rows.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from suffice.spam.buckets.names import BUCKET_LIMIT, BucketError
from suffice.spam.counting import counted_lines
from suffice.spam.imported import Imported
from suffice.spam.reading import unpacked_lines
from suffice.spam.store_tables import BUCKET_TABLES

if TYPE_CHECKING:  # the store imports this module
    from suffice.spam.forgetting import Forgetting
    from suffice.spam.store import Store

_ADD = (
    "INSERT INTO bucket_tokens VALUES (?, ?, ?) "
    "ON CONFLICT (token, bucket) DO UPDATE SET weight = weight + excluded.weight"
)
#: the same for a text of `Counts.packed`
_ADD_PACKED = (
    "INSERT INTO bucket_tokens SELECT key, {number}, (value & 4294967295) * {weight} "
    "FROM json_each(?) WHERE true "  # else SQLite would parse ON as part of a join
    "ON CONFLICT (token, bucket) DO UPDATE SET weight = weight + excluded.weight"
)
#: number of messages counted together
_MANY = 2_000


class Bucket(NamedTuple):
    """A row of `buckets`."""

    number: int
    name: str
    weight: int


class BucketTables:
    """The buckets of a store; call writing methods within a transaction, reading methods within a snapshot."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._store._connection

    def all(self) -> list[Bucket]:
        """Return the buckets in the order of their names."""
        if not self._store.has_buckets:
            return []
        rows = self._connection.execute("SELECT id, name, weight FROM buckets ORDER BY name")
        return [Bucket(*row) for row in rows]

    def counts(self) -> dict[str, int]:
        """Return how many messages each bucket has, by name."""
        if not self._store.has_buckets:
            return {}
        select = (
            "SELECT name, (SELECT COUNT(*) FROM bucket_messages WHERE bucket = id) FROM buckets ORDER BY name"  # few
        )
        return dict(self._connection.execute(select).fetchall())

    def number(self, name: str) -> int | None:
        """Return the number of a bucket; None if there is none with this name."""
        if not self._store.has_buckets:
            return None
        row = self._connection.execute("SELECT id FROM buckets WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def of(self, digests: Iterable[bytes]) -> dict[bytes, str]:
        """Return the buckets of those of the given messages that are in one, by digest."""
        if not self._store.has_buckets:
            return {}
        select = "SELECT name FROM bucket_messages JOIN buckets ON id = bucket WHERE digest = ?"
        return self._store.look_up(select, digests)

    def make(self, name: str) -> int:
        """Return the number of a bucket, which is created if there is none with this name."""
        if (number := self.number(name)) is not None:
            return number
        if not self._store.has_buckets:
            for statement in BUCKET_TABLES.values():
                self._connection.execute(statement)
            self._store.check_tables()
        if len(self.all()) >= BUCKET_LIMIT:
            raise BucketError(f"a store has at most {BUCKET_LIMIT} buckets, so {name!r} cannot be added")
        made = self._connection.execute("INSERT INTO buckets (name, weight) VALUES (?, 0)", (name,)).lastrowid
        assert made is not None
        return made

    def rename(self, name: str, new: str) -> None:
        """Rename a bucket."""
        if name != new and self.number(new) is not None:
            raise BucketError(f"there is already a bucket {new!r}; give another name, or remove it first")
        self._connection.execute("UPDATE buckets SET name = ? WHERE id = ?", (new, self._existing(name)))

    def remove(self, name: str) -> int:
        """Remove a bucket, whose messages stay hams, and return their number."""
        number = self._existing(name)
        count = self._connection.execute("DELETE FROM bucket_messages WHERE bucket = ?", (number,)).rowcount
        self._connection.execute("DELETE FROM bucket_tokens WHERE bucket = ?", (number,))
        self._connection.execute("DELETE FROM buckets WHERE id = ?", (number,))
        if not self.all():
            for table in BUCKET_TABLES:
                self._connection.execute(f"DROP TABLE {table}")
            self._store.check_tables()
        return count

    def file(self, digests: Sequence[bytes], name: str) -> list[bytes]:
        """Put learned hams into a bucket, or into none if the name is empty; return those that changed."""
        number = self.make(name) if name else None
        before = self._numbers(digests)
        changed = [digest for digest in dict.fromkeys(digests) if before.get(digest) != number]
        if not changed:
            return []
        forgetting = self._store.forgetting
        for start in range(0, len(changed), _MANY):
            gains = _Gains()
            for digest in changed[start : start + _MANY]:
                message = self._store.message(digest)
                assert message is not None
                assert message.label == "ham"
                weight, lines = forgetting.weight(message.day), unpacked_lines(message.packed)
                if digest in before:
                    gains[before[digest], -weight].append(lines)
                if number is not None:
                    gains[number, weight].append(lines)
            self._sum(gains)
        self._connection.executemany("DELETE FROM bucket_messages WHERE digest = ?", zip(changed))
        if number is not None:
            rows = ((digest, number) for digest in changed)
            self._connection.executemany("INSERT INTO bucket_messages VALUES (?, ?)", rows)
        return changed

    def forget(self, digest: bytes, tokens: list[str], weight: int) -> None:
        """Remove a message from its bucket, if it is in one, given its tokens and weight."""
        for number in self._numbers([digest]).values():
            self._sum(_Gains({(number, -weight): ["\n".join(tokens)]}))
            self._connection.execute("DELETE FROM bucket_messages WHERE digest = ?", (digest,))

    def recount(self, forgetting: Forgetting) -> None:
        """Recompute the sums with other weights."""
        if not self._store.has_buckets:
            return
        self._connection.execute("DELETE FROM bucket_tokens")
        self._connection.execute("UPDATE buckets SET weight = 0")
        rows = self._connection.execute("SELECT bucket, day, tokens FROM bucket_messages JOIN messages USING (digest)")
        while chunk := rows.fetchmany(_MANY):
            gains = _Gains()
            for number, day, packed in chunk:
                gains[number, forgetting.weight(day)].append(unpacked_lines(packed))
            self._sum(gains)

    def imported(self) -> tuple[int, dict[str, int]]:
        """Return the weight of imported ham counts, in total and per token; they belong to no kind."""
        total, by_token = 0, defaultdict[str, int](int)
        forgetting = self._store.forgetting
        for chunk in self._store.known(("imported",), 10):
            for message in chunk:
                imported, weight = Imported.unpacked(message.packed), forgetting.weight(message.day)
                total += imported.totals(weight)[1]
                for token, _, ham in imported.rows(weight):
                    by_token[token] += ham
        return total, by_token

    def rows(self, tokens: str) -> Iterator[tuple[str, int, str]]:
        """Yield each token of a JSON list, its weight in ham, and its weights in buckets as a text.

        `by_number` parses the text; most tokens are in one or two messages, so few texts differ.
        """
        select = (
            "SELECT value, ifnull(ham, 0), ifnull((SELECT group_concat(bucket || ' ' || weight) FROM bucket_tokens "
            "WHERE bucket_tokens.token = value), '') FROM json_each(?) LEFT JOIN tokens ON tokens.token = value"
        )
        return iter(self._connection.execute(select, (tokens,)))

    def _existing(self, name: str) -> int:
        if (number := self.number(name)) is None:
            known = ", ".join(repr(bucket.name) for bucket in self.all()[:10]) or "none"
            raise BucketError(f"there is no bucket {name!r}; there are: {known}")
        return number

    def _numbers(self, digests: Iterable[bytes]) -> dict[bytes, int]:
        if not self._store.has_buckets:
            return {}
        return self._store.look_up("SELECT bucket FROM bucket_messages WHERE digest = ?", digests)

    def _sum(self, gains: _Gains) -> None:
        """Add messages to the weights of buckets and of the tokens in them."""
        for (number, weight), messages in gains.items():
            if weight == 0:
                continue
            counts = counted_lines(("ham", lines) for lines in messages)
            # sorted like the table, so that each of its pages is visited once
            texts, rows = counts.packed()
            self._connection.executemany(_ADD_PACKED.format(number=number, weight=weight), zip(texts))
            self._connection.executemany(_ADD, ((token, number, count * weight) for token, _, count in rows))
            gain = weight * len(messages)
            self._connection.execute("UPDATE buckets SET weight = weight + ? WHERE id = ?", (gain, number))
            if weight < 0:
                self._connection.executemany(
                    "DELETE FROM bucket_tokens WHERE token = ? AND bucket = ? AND weight = 0",
                    ((token, number) for token, _, _ in counts.rows()),
                )


class _Gains(defaultdict[tuple[int, int], list[str]]):
    """Tokens of messages, one per line, by the number of a bucket and the weight that each adds to it."""

    def __init__(self, given: Mapping[tuple[int, int], list[str]] | None = None) -> None:
        super().__init__(list, given or {})


def by_number(text: str) -> dict[int, int]:
    """Return the weights of a token in buckets, by their numbers, given the text of `BucketTables.rows`.

    Examples
    --------
    >>> from suffice.spam.buckets.tables import by_number
    >>> by_number("1 2097152,4 1048576"), by_number("")
    ({1: 2097152, 4: 1048576}, {})
    """
    pairs = (pair.split(" ") for pair in text.split(",")) if text else ()
    return {int(number): int(weight) for number, weight in pairs}
