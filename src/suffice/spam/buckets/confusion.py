"""The confusion matrix of buckets: every learned ham, judged leave-one-out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from suffice.spam.buckets.kinds import Kinds, rows_of
from suffice.spam.reading import unpack
from suffice.spam.store import Store
from suffice.spam.verdict import Verdict

#: batch size; the rows of the tokens of one batch are in memory
BATCH = 512


@dataclass(frozen=True)
class Confusion:
    """The predicted buckets of messages whose bucket is known, given that they are not spam.

    Attributes
    ----------
    names : tuple of str
        The kinds: "" for ham in no bucket, if there is any, and the buckets.
    counts : dict
        Number of messages by (kind, prediction). The prediction is "" if the message is predicted to be in no bucket,
        or no kind is clear.
    most_likely : int
        Number of messages whose own kind had the highest probability, clear or not.

    Examples
    --------
    >>> from suffice.spam.buckets.confusion import Confusion
    >>> table = Confusion(("", "work"), {("", ""): 8, ("work", "work"): 5, ("work", ""): 2, ("", "work"): 1}, 14)
    >>> table.row("work"), table.total, table.wrong
    ({'': 2, 'work': 5}, 16, 1)
    """

    names: tuple[str, ...]
    counts: dict[tuple[str, str], int]
    most_likely: int

    @property
    def said(self) -> tuple[str, ...]:
        """The possible predictions: no bucket, and each bucket."""
        return ("", *(name for name in self.names if name))

    @property
    def total(self) -> int:
        """The number of messages."""
        return sum(self.counts.values())

    @property
    def wrong(self) -> int:
        """The number of messages predicted to be in a bucket that is not theirs."""
        return sum(count for (name, said), count in self.counts.items() if said and said != name)

    @property
    def accuracy(self) -> float:
        """The fraction of messages whose own kind was the most likely one."""
        return self.most_likely / self.total if self.total else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Return the matrix as written in JSON."""
        return {
            "total": self.total,
            "wrong": self.wrong,
            "accuracy": self.accuracy if self.total else None,
            "confusion": {name: self.row(name) for name in self.names},
        }

    def row(self, name: str) -> dict[str, int]:
        """Return the number of messages of a kind per prediction."""
        return {said: self.counts.get((name, said), 0) for said in self.said}


def confusion(store: Store, today: int, progress: Callable[[int], object] | None = None) -> Confusion:
    """Judge every learned ham without its own counts, from the store alone; call within a snapshot."""
    kinds, forgetting = Kinds.of(store, today), store.forgetting
    counts: Counter[tuple[str, str]] = Counter()
    right = done = 0
    for batch in store.known(("ham",), BATCH) if kinds.names else ():
        own = store.buckets.of([message.digest for message in batch])
        read = [unpack(message.packed) for message in batch]
        names, columns = rows_of(store, kinds, sorted(set(chain.from_iterable(read))))
        rows = dict(zip(names, columns, strict=True))
        for message, tokens in zip(batch, read, strict=True):
            name, weight = own.get(message.digest, ""), message.weights(forgetting)[1]
            found = _probabilities_without(kinds, rows, tokens, name, weight)
            counts[name, Verdict(0.0, "ham", 0.0, [], buckets=found).bucket] += 1
            right += bool(found) and max(found, key=found.__getitem__) == name
            done += 1
        if progress is not None:
            progress(done)
    names = sorted({*kinds.names, *(name for name, _ in counts)})  # some may be so old that their weight is 0
    return Confusion(tuple(names), dict(counts), right)


def _probabilities_without(
    kinds: Kinds, rows: dict[str, list[int]], tokens: list[str], name: str, weight: int
) -> dict[str, float]:
    """Return the probabilities of a message after subtracting its weight from all sums of its kind."""
    own = [weight if each == name else 0 for each in kinds.names]
    left = kinds.without(name, weight)
    kept = [kinds.names.index(each) for each in left.names]
    seen, columns = [], []
    for token in tokens:
        column = [count - less for count, less in zip(rows.get(token, ()), own, strict=False)]
        if any(column):
            seen.append(token)
            columns.append([column[each] for each in kept])
    return left.probabilities(left.log_odds(seen, columns))
