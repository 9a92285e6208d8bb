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

import operator
from collections.abc import Iterable, Iterator, Sequence

from suffice.spam.buckets.tables import BucketTables
from suffice.spam.counting import Counts
from suffice.spam.forgetting import Forgetting
from suffice.spam.shares import Kind, Known, KnownMessage, MessageState
from suffice.spam.token_sums import TokenSums

#: number of messages counted together
_MANY = 2_000
_SELECT = "SELECT digest, label, day, tokens, soft_spam, soft_ham FROM messages"


class Store(TokenSums):
    """The learned messages, and the sums over them; call writing methods within a transaction.

    Parameters are those of `StoreFile`.
    """

    @property
    def buckets(self) -> BucketTables:
        """The tables of buckets."""
        return BucketTables(self)  # not cached: a reference cycle would delay closing a deleted store

    def labels(self, digests: Sequence[bytes]) -> dict[bytes, Known]:
        """Return the classes of those of the given messages that are stored, by digest."""
        return self.look_up("SELECT label FROM messages WHERE digest = ?", digests)

    def message(self, digest: bytes) -> KnownMessage | None:
        """Return the row of a message; None if it is not stored."""
        row = self._connection.execute(f"{_SELECT} WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else KnownMessage(*row)

    def known(self, kinds: Sequence[Kind], many: int) -> Iterator[list[KnownMessage]]:
        """Yield the messages of some classes in a fixed order, in batches of `many`; call within a snapshot."""
        marks = ", ".join("?" for _ in kinds)
        rows = self._connection.execute(f"{_SELECT} WHERE label IN ({marks}) ORDER BY digest", (*kinds,))
        while chunk := rows.fetchmany(many):
            yield [KnownMessage(*row) for row in chunk]

    def add(self, messages: Sequence[KnownMessage], counts: Counts | None = None) -> None:
        """Store messages, none of which may be stored already; `counts` are their token counts, if known.

        Counts may be given for labelled messages of one day.
        """
        if not messages:
            return
        self.renew(max(message.day for message in messages))
        self._connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", messages)
        if counts is None:
            self.sum_messages(messages)
        else:
            self.sum_counts(counts, self.forgetting.weight(messages[0].day))

    def remove(self, digests: Iterable[bytes]) -> None:
        """Undo the learning of messages, all of which must be stored."""
        for digest in digests:
            self.take(digest)

    def take(self, digest: bytes) -> KnownMessage:
        """Undo the learning of a stored message, and return its row."""
        message = self.message(digest)
        assert message is not None
        self._connection.execute("DELETE FROM messages WHERE digest = ?", (digest,))
        self.sum_messages([message], -1)
        self.drop_empty(message.tokens)
        if message.label == "ham" and self.has_buckets:
            self.buckets.forget(digest, message.tokens, self.forgetting.weight(message.day))
        return message

    def state(self, digest: bytes) -> MessageState:
        """Return all that is stored of a message."""
        return MessageState(digest, self.message(digest), self.buckets.of([digest]).get(digest, ""))

    def restore(self, state: MessageState) -> None:
        """Make a message what it was; a bucket that is gone is created again."""
        if self.message(state.digest) is not None:
            self.take(state.digest)
        if state.message is not None:
            self.add([state.message])
        if state.bucket:
            self.buckets.file([state.digest], state.bucket)

    def expire(self, before: int) -> int:
        """Remove the messages of days before `before`, and return their number."""
        old = [row[0] for row in self._connection.execute("SELECT digest FROM messages WHERE day < ?", (before,))]
        self.remove(old)
        return len(old)

    def renew(self, day: int) -> None:
        """Make this day the origin of the weights, if the weights of this day have grown too large."""
        if self.forgetting.is_due(day):
            self.begin_anew(Forgetting(self.forgetting.half_life, day))

    def begin_anew(self, forgetting: Forgetting) -> None:
        """Change the origin of the weights; messages dated later, by a wrong clock, are set to the origin."""
        self._connection.execute("UPDATE messages SET day = ? WHERE day > ?", (forgetting.origin, forgetting.origin))
        self.recount(forgetting)

    def recount(self, forgetting: Forgetting) -> None:
        """Recompute all sums with other weights."""
        self.put("half_life", forgetting.half_life)
        self.put("origin", forgetting.origin)
        self.clear_sums()
        rows = self._connection.execute(f"{_SELECT} ORDER BY rowid")  # about the order of days
        while chunk := rows.fetchmany(_MANY):
            self.sum_messages(KnownMessage(*row) for row in chunk)
        self.buckets.recount(forgetting)

    def share(self, shares: Iterable[tuple[bytes, int, int]]) -> None:
        """Set the shares, in units of 1/`UNIT`, that unlabelled messages have in spam and in ham.

        Messages that were removed or labelled meanwhile are left unchanged.
        """
        before: list[KnownMessage] = []
        after: list[KnownMessage] = []
        for digest, spam, ham in shares:
            message = self.message(digest)
            if message is None or message.label != "unlabeled" or message[4:] == (spam, ham):
                continue
            before.append(message)
            after.append(message._replace(soft_spam=spam, soft_ham=ham))
        self.sum_messages(before, -1)
        self.sum_messages(after)
        for message in after:
            if not message.soft_spam and not message.soft_ham:
                self.drop_empty(message.tokens)
        changes = ((message.soft_spam, message.soft_ham, message.digest) for message in after)
        self._connection.executemany("UPDATE messages SET soft_spam = ?, soft_ham = ? WHERE digest = ?", changes)

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

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of spams, hams, tokens and unlabelled messages."""
        labels = dict(self._connection.execute("SELECT label, COUNT(*) FROM messages GROUP BY label"))
        tokens = self._connection.execute("SELECT COUNT(*) FROM tokens").fetchone()[0]
        return labels.get("spam", 0), labels.get("ham", 0), tokens, labels.get("unlabeled", 0)

    def days(self) -> tuple[int, int] | None:
        """Return the first and the last day of the stored messages, as days since 1970; None if there are none."""
        first, last = self._connection.execute("SELECT MIN(day), MAX(day) FROM messages").fetchone()
        return None if first is None else (operator.index(first), operator.index(last))
