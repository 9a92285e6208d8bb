"""Log-odds of messages as if they had not been learned.

What is learned is a sum, so that a filter without one message is that sum minus the message: its weight is taken from
the counts of its tokens and from the totals, and what is left is scored. That is exact, and needs no second training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from suffice.spam.basis import Basis
from suffice.spam.evaluation import Evaluation
from suffice.spam.isolation import Skips
from suffice.spam.labels import labelled_readings
from suffice.spam.reading import Reading, unpack
from suffice.spam.scoring import evidence, logistic
from suffice.spam.shares import Label
from suffice.spam.store import Row, Store
from suffice.spam.verdict import Thresholds

#: so many messages are scored together: the rows of their tokens are in memory at a time
BATCH = 512


@dataclass(frozen=True)
class Sample:
    """Log-odds of messages whose class is known, none of them with its own counts."""

    log_odds: tuple[float, ...]
    is_spam: tuple[bool, ...]
    left_out: int
    skipped: int = 0

    def evaluation(self, slope: float, intercept: float, thresholds: Thresholds) -> Evaluation:
        """Return what a logistic link and thresholds make of them."""
        probabilities = tuple(logistic(slope * x + intercept) for x in self.log_odds)
        return Evaluation(probabilities, self.is_spam, thresholds, self.left_out, self.skipped)


def sample_of(
    store: Store,
    basis: Callable[[], Basis],
    raws: Iterable[bytes] | None,
    labels: Label | Iterable[Label] | None,
    processes: int | None,
    progress: Callable[[int], object] | None,
    skipped: Callable[[int, str], object] | None = None,
) -> Sample:
    """Score messages with labels, or without any given those that were learned; none with its own counts."""
    totals = store.totals()
    if min(totals) <= 0:
        raise ValueError(
            f"a filter must have learned both spam and ham to be looked at, but it has learned no "
            f"{'spam' if totals[0] <= 0 else 'ham'}; train some first"
        )
    if (raws is None) != (labels is None):
        raise ValueError("messages and labels belong together, but one of them is missing; give both, or none")
    if raws is None or labels is None:
        sample = learned(store, basis, progress)
    else:
        skips = Skips(skipped)
        sample = given(store, basis, skips.left(labelled_readings(raws, labels, processes)), progress)
        sample = replace(sample, skipped=skips.count)
    if not sample.log_odds:
        raise ValueError("there are no messages with a label to look at; train some first, or give some")
    return sample


def log_odds_without(
    own: Iterable[str], others: Iterable[str], rows: dict[str, Row], weights: tuple[int, int], basis: Basis
) -> float:
    """Return the log-odds of a message after its weights are taken from all sums.

    Its tokens are those that it was learned with, `own`, and others, if the tokeniser has changed since.
    """
    spam, ham = weights
    weight, get = spam + ham, rows.get
    left = [
        (name, row[1] - spam, row[2] - ham)
        for name in own
        if (row := get(name)) is not None and row[1] + row[2] > weight  # others hold it too
    ]
    left += [rows[name] for name in others if name in rows]
    seen, in_spam, in_ham = zip(*left, strict=True) if left else ((), (), ())
    return math.fsum(evidence(seen, in_spam, in_ham, basis.spam - spam, basis.ham - ham, basis.scoring))


def learned(store: Store, basis: Callable[[], Basis], progress: Callable[[int], object] | None) -> Sample:
    """Score every message that was learned with a label, from the store alone."""
    log_odds: list[float] = []
    is_spam: list[bool] = []
    with store.snapshot():
        sums, forgetting = basis(), store.forgetting
        for batch in store.known(("spam", "ham"), BATCH):
            names = [unpack(message.packed) for message in batch]
            rows = store.rows(sorted(set(chain.from_iterable(names))))
            for message, own in zip(batch, names, strict=True):
                log_odds.append(log_odds_without(own, (), rows, message.weights(forgetting), sums))
                is_spam.append(message.label == "spam")
            if progress is not None:
                progress(len(log_odds))
    return Sample(tuple(log_odds), tuple(is_spam), len(log_odds))


def given(
    store: Store,
    basis: Callable[[], Basis],
    pairs: Iterator[tuple[Reading, Label]],
    progress: Callable[[int], object] | None,
) -> Sample:
    """Score messages with labels; what was learned of them, also without a label, is left out."""
    log_odds: list[float] = []
    is_spam: list[bool] = []
    left_out = 0
    while batch := list(islice(pairs, BATCH)):
        names = [reading.tokens for reading, _ in batch]
        with store.snapshot():
            sums, forgetting = basis(), store.forgetting
            rows = store.rows(sorted(set(chain.from_iterable(names))))
            known = [store.message(reading.digest) for reading, _ in batch]
        for each, message, (_, label) in zip(names, known, batch, strict=True):
            if message is None:
                log_odds.append(log_odds_without((), each, rows, (0, 0), sums))
            else:
                left_out += 1
                own, weights = frozenset(unpack(message.packed)), message.weights(forgetting)
                held, new = [name for name in each if name in own], [name for name in each if name not in own]
                log_odds.append(log_odds_without(held, new, rows, weights, sums))
            is_spam.append(label == "spam")
        if progress is not None:
            progress(len(log_odds))
    return Sample(tuple(log_odds), tuple(is_spam), left_out)
