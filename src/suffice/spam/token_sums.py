"""The sums of a store: the weights of the spams and of the hams that hold each token, and of all spams and hams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from suffice.spam.counting import Counts, counted
from suffice.spam.shares import LABELS, KnownMessage, Label, Row
from suffice.spam.store_file import StoreFile
from suffice.spam.tokenizing import ATTACHED

_ON_CONFLICT = "ON CONFLICT (token) DO UPDATE SET spam = spam + excluded.spam, ham = ham + excluded.ham"
_ADD = f"INSERT INTO tokens VALUES (?, ? * {{weight}}, ? * {{weight}}) {_ON_CONFLICT}"
#: the same for a text of `Counts.packed`; without WHERE, SQLite would parse ON as part of a join
_ADD_PACKED = (
    "INSERT INTO tokens SELECT key, (value >> 32) * {weight}, (value & 4294967295) * {weight} "
    f"FROM json_each(?) WHERE true {_ON_CONFLICT}"
)
#: joins the row of a token, and for an attached token also the row of the same token without the prefix
_JOINED = (
    "LEFT JOIN tokens AS own ON own.token = value LEFT JOIN tokens AS plain ON plain.token = "
    f"CASE WHEN substr(value, 1, {len(ATTACHED)}) = '{ATTACHED}' THEN substr(value, {len(ATTACHED) + 1}) END"
)


class TokenSums(StoreFile):
    """The tables `tokens` and `meta` of a store; call writing methods within a transaction."""

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

    def totals(self) -> tuple[int, int]:
        """Return the total weights of spams and hams."""
        return self.get("spam"), self.get("ham")

    def sum_messages(self, messages: Iterable[KnownMessage], sign: int = 1) -> None:
        """Add the weights of messages to the sums, or subtract them if `sign` is −1."""
        forgetting = self.forgetting
        labelled: dict[int, list[tuple[Label, list[str]]]] = {}
        others: list[KnownMessage] = []
        for message in messages:
            if (label := message.own_label) is None:
                others.append(message)
            else:
                labelled.setdefault(message.day, []).append((label, message.tokens))
        for day, pairs in labelled.items():
            self.sum_counts(counted(pairs), sign * forgetting.weight(day))
        rows = ((token, sign * spam, sign * ham) for each in others for token, spam, ham in each.rows(forgetting))
        totals = (sign * sum(both) for both in zip(*(each.weights(forgetting) for each in others), strict=True))
        self.sum_rows(rows, *totals)

    def sum_counts(self, counts: Counts, weight: int) -> None:
        """Add counts, times a weight, to the sums."""
        if weight == 0:
            return
        # sorted like the table, so that each of its pages is visited once
        texts, rows = counts.packed()
        self._connection.executemany(_ADD_PACKED.format(weight=weight), zip(texts))
        self._connection.executemany(_ADD.format(weight=weight), rows)
        self._add_totals(*(weight * counts.messages.get(label, 0) for label in LABELS))

    def sum_rows(self, rows: Iterable[Row], spam: int = 0, ham: int = 0) -> None:
        """Add rows, among which a token may occur several times, and the weights of spam and ham to the sums."""
        held: dict[str, list[int]] = {}
        for token, in_spam, in_ham in rows:
            sums = held.setdefault(token, [0, 0])
            sums[0] += in_spam
            sums[1] += in_ham
        self._connection.executemany(_ADD.format(weight=1), ((token, *held[token]) for token in sorted(held)))
        self._add_totals(spam, ham)

    def _add_totals(self, *weights: int) -> None:
        for label, weight in zip(LABELS, weights, strict=True):
            if weight:
                self.put(label, self.get(label) + weight)

    def drop_empty(self, tokens: Iterable[str]) -> None:
        """Delete the rows of those tokens that no message holds any more."""
        self._connection.executemany(
            "DELETE FROM tokens WHERE token = ? AND spam = 0 AND ham = 0", [(token,) for token in tokens]
        )

    def clear_sums(self) -> None:
        """Set all sums to zero."""
        self._connection.execute("DELETE FROM tokens")
        for label in LABELS:
            self.put(label, 0)

    def numbers_of_tokens(self, left_out: Sequence[str] = ()) -> list[tuple[int, int, int]]:
        """Return each pair of a spam weight and a ham weight that tokens have, with the number of these tokens.

        Tokens that begin with one of the prefixes `left_out` do not count.
        """
        others = " AND ".join(["substr(token, 1, ?) <> ?"] * len(left_out)) or "true"
        values = [value for prefix in left_out for value in (len(prefix), prefix)]
        select = f"SELECT spam, ham, count(*) FROM tokens WHERE {others} GROUP BY spam, ham ORDER BY spam, ham"
        return self._connection.execute(select, values).fetchall()

    def tokens(self) -> Iterator[str]:
        """Yield all known tokens; call within a snapshot."""
        for (token,) in self._connection.execute("SELECT token FROM tokens"):
            yield token
