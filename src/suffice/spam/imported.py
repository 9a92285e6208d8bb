"""Counts learned by another filter, kept in the store as rows beside those of messages.

A dump has no messages, and no tokens of fields that the other filter does not know. The rates of these tokens would
fall more in the class of which more was imported. An import is therefore scaled to the store's own ratio of spam to
ham, or to 1:1 if the store is empty: the rates in both classes then fall by the same factor, and their ratios do not
change.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple, Self

from suffice.spam.forgetting import UNIT

#: limit of messages per class that an import counts as, so that sums fit 64-bit integers
MOST = 1_000_000
#: number of tokens per row
_TOKENS = 20_000


class Imported(NamedTuple):
    """One row: the numbers of messages, the scale of each class in units of 1/`UNIT`, and the counts of tokens."""

    spam: int
    ham: int
    spam_scale: int
    ham_scale: int
    counts: dict[str, tuple[int, int]]

    def packed(self) -> bytes:
        """Return the row compressed, as stored; `unpacked` is the inverse."""
        head = f"{self.spam}\t{self.ham}\t{self.spam_scale}\t{self.ham_scale}"
        rows = [f"{token}\t{spam}\t{ham}" for token, (spam, ham) in sorted(self.counts.items())]
        return zlib.compress("\n".join([head, *rows]).encode(), 1)

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Return the row from the result of `packed`.

        Examples
        --------
        >>> from suffice.spam.imported import Imported
        >>> Imported.unpacked(Imported(3, 2, 1, 1, {"money": (2, 0)}).packed()).counts
        {'money': (2, 0)}
        """
        head, *rows = zlib.decompress(packed).decode().split("\n")
        spam, ham, spam_scale, ham_scale = map(int, head.split("\t"))
        cells = (row.rsplit("\t", 2) for row in rows)
        counts = {token: (int(in_spam), int(in_ham)) for token, in_spam, in_ham in cells}
        return cls(spam, ham, spam_scale, ham_scale, counts)

    def totals(self, weight: int) -> tuple[int, int]:
        """Return what the row adds to the totals, given the weight of a message of its day."""
        return self._scaled(self.spam, self.ham, weight)

    def rows(self, weight: int) -> Iterator[tuple[str, int, int]]:
        """Return what each token adds to the counts, given the weight of a message of its day."""
        return ((token, *self._scaled(*both, weight)) for token, both in self.counts.items())

    def _scaled(self, spam: int, ham: int, weight: int) -> tuple[int, int]:
        return weight * spam * self.spam_scale // UNIT, weight * ham * self.ham_scale // UNIT


def in_rows(
    spam: int, ham: int, counts: dict[str, tuple[int, int]], own_spam: int, own_ham: int
) -> Iterator[tuple[bytes, Imported]]:
    """Yield (digest, row) pairs, given the counts and the number of messages that the store itself has learned.

    Examples
    --------
    >>> from suffice.spam.imported import in_rows
    >>> [(_, row)] = in_rows(1000, 400, {"money": (500, 4)}, 50, 100)
    >>> [round(weight / 100) for weight in (*row.totals(100), *next(row.rows(100))[1:])]
    [200, 400, 100, 4]
    """
    import hashlib  # slow to import, and scoring does not need it

    if not own_spam or not own_ham:
        own_spam = own_ham = 1
    share = min(spam / own_spam, ham / own_ham, MOST / max(own_spam, own_ham))
    scales = round(UNIT * share * own_spam / spam), round(UNIT * share * own_ham / ham)
    tokens = sorted(counts)
    for start in range(0, max(1, len(tokens)), _TOKENS):
        chunk = {token: counts[token] for token in tokens[start : start + _TOKENS]}
        row = Imported(*((spam, ham) if start == 0 else (0, 0)), *scales, chunk)
        yield hashlib.sha256(b"imported\0" + row.packed()).digest(), row
