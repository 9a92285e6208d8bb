"""Leave-one-out scores: log-odds of messages as if they had not been learned.

The statistics are sums, so the filter without one message has these sums minus the message: its weight is subtracted
from the counts of its tokens and from the totals, and the message is scored on the result. That is exact, and needs no
retraining. The filter before the newest messages arrived has the sums minus all of them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from suffice.spam.arrival import kept_day
from suffice.spam.basis import Basis
from suffice.spam.evaluation import Evaluation
from suffice.spam.isolation import Skips
from suffice.spam.labels import labelled_readings
from suffice.spam.reading import Reading, unpack
from suffice.spam.scoring import evidence, logistic
from suffice.spam.shares import KnownMessage, Label, Row
from suffice.spam.store import Store
from suffice.spam.tokenizing import ATTACHED
from suffice.spam.verdict import Thresholds

#: batch size; the rows of the tokens of one batch are in memory at a time
BATCH = 512
#: fraction of messages taken as the newest, limit of their number, and least number of older spams and of older hams
NEWEST, NEWEST_MOST, OLDER = 0.25, 4000, 20


#: returns the log-odds of a message, given arguments as `log_odds_without`
Measure = Callable[[Iterable[str], Iterable[str], dict[str, Row], tuple[int, int], Basis], float]
#: returns the measure of a rule on a store, to be called within a snapshot
Rule = Callable[[Store, Basis], Measure]


@dataclass(frozen=True)
class Sample:
    """Log-odds of messages of known class, each scored without its own counts."""

    log_odds: tuple[float, ...]
    is_spam: tuple[bool, ...]
    left_out: int
    skipped: int = 0
    #: number of newest messages, scored as if none of them had been learned
    newest: int = 0

    def evaluation(self, slope: float, intercept: float, thresholds: Thresholds) -> Evaluation:
        """Return the evaluation of the sample with a logistic link and thresholds."""
        probabilities = tuple(logistic(slope * x + intercept) for x in self.log_odds)
        return Evaluation(probabilities, self.is_spam, thresholds, self.left_out, self.skipped)


def log_odds_without(
    own: Iterable[str], others: Iterable[str], rows: dict[str, Row], weights: tuple[int, int], basis: Basis
) -> float:
    """Return the log-odds of a message after subtracting its weights from all sums; arguments as in `rows_without`."""
    left = rows_without(own, others, rows, weights)
    seen, in_spam, in_ham = zip(*left, strict=True) if left else ((), (), ())
    return math.fsum(evidence(seen, in_spam, in_ham, basis.spam - weights[0], basis.ham - weights[1], basis.scoring))


def rows_without(
    own: Iterable[str], others: Iterable[str], rows: dict[str, Row], weights: tuple[int, int]
) -> list[Row]:
    """Return the rows of the tokens of a message after subtracting its weights, where other messages hold them too.

    Its tokens are those that it was learned with (`own`), and `others` if the tokeniser has changed since.
    """
    spam, ham = weights
    weight, get = spam + ham, rows.get
    own = list(own)
    held = frozenset(own)
    left: list[Row] = []
    for name in chain(own, others):
        row = get(name)
        if row is not None:
            # once for the token itself, and for an attached token once more for the same token in the message's own
            # text
            times = (name in held) + (name.startswith(ATTACHED) and name.removeprefix(ATTACHED) in held)
            if row[1] + row[2] > times * weight:  # other messages hold it too
                left.append((name, row[1] - times * spam, row[2] - times * ham))
    return left


def filter_rule(store: Store, basis: Basis) -> Measure:
    """Return the score of the filter."""
    return log_odds_without


def sample_of(
    store: Store,
    basis: Callable[[], Basis],
    raws: Iterable[bytes] | None,
    labels: Label | Iterable[Label] | None,
    processes: int | None,
    progress: Callable[[int], object] | None,
    skipped: Callable[[int, str], object] | None = None,
    *,
    in_time: bool = False,
    rule: Rule = filter_rule,
) -> Sample:
    """Score the given labelled messages, or all learned ones if none are given, each without its own counts.

    With `in_time` the newest learned messages are scored as if none of them had been learned, if days are known.
    """
    totals = store.totals()
    if min(totals) <= 0:
        raise ValueError(
            f"a filter must have learned both spam and ham to be evaluated, but it has learned no "
            f"{'spam' if totals[0] <= 0 else 'ham'}; train some first"
        )
    if (raws is None) != (labels is None):
        raise ValueError("messages and labels must be given together, but one of them is missing; give both, or none")
    if raws is None or labels is None:
        sample = learned(store, basis, progress, in_time, rule)
    else:
        skips = Skips(skipped)
        readings = skips.left(labelled_readings(raws, labels, processes, store.servers))
        sample = given(store, basis, readings, progress, rule)
        sample = replace(sample, skipped=skips.count)
    if not sample.log_odds:
        raise ValueError("there are no labelled messages to evaluate on; train some first, or give some")
    return sample


def learned(
    store: Store,
    basis: Callable[[], Basis],
    progress: Callable[[int], object] | None,
    in_time: bool = False,
    rule: Rule = filter_rule,
) -> Sample:
    """Score every labelled message of the store, from the store alone; `in_time` as in `sample_of`."""
    log_odds: list[float] = []
    is_spam: list[bool] = []
    days: list[int | None] = []
    with store.snapshot():
        sums, forgetting = basis(), store.forgetting
        measure = rule(store, sums)
        for batch in store.known(("spam", "ham"), BATCH):
            names = [unpack(message.packed) for message in batch]
            rows = store.rows(sorted(set(chain.from_iterable(names))))
            for message, own in zip(batch, names, strict=True):
                log_odds.append(measure(own, (), rows, message.weights(forgetting), sums))
                is_spam.append(message.label == "spam")
                days.append(kept_day(own) if in_time else None)
            if progress is not None:
                progress(len(log_odds))
        newest = newest_of(days, is_spam)
        for place, value in _before(store, sums, newest):
            log_odds[place] = value
    return Sample(tuple(log_odds), tuple(is_spam), len(log_odds), newest=len(newest))


def newest_of(days: Sequence[int | None], is_spam: Sequence[bool]) -> set[int]:
    """Return the indices of the newest messages: whole days, about a quarter of all messages with a known day.

    The set is empty if too few spams or hams would be left.

    Examples
    --------
    >>> from suffice.spam.leave_one_out import newest_of
    >>> sorted(newest_of([1, 2, 3, None, 4] * 50, [True, False] * 125))[:3]
    [4, 9, 14]
    >>> newest_of([1] * 99, [True, False, True] * 33)
    set()
    """
    known = sorted(day for day in days if day is not None)
    if not known:
        return set()
    first = known[-max(1, min(NEWEST_MOST, int(NEWEST * len(known))))]
    if known.count(first) + len(known) - bisect_right(known, first) > 2 * NEWEST * len(known):
        first += 1  # this day has too many messages, so start with the next
    newest = {place for place, day in enumerate(days) if day is not None and day >= first}
    left = [spam for place, spam in enumerate(is_spam) if place not in newest]
    return newest if OLDER <= sum(left) <= len(left) - OLDER else set()


def _before(store: Store, basis: Basis, newest: set[int]) -> Iterator[tuple[int, float]]:
    """Yield the indices of the newest messages and their log-odds, scored on the sums minus all of them."""
    forgetting, spam, ham = store.forgetting, 0, 0
    taken: dict[str, list[int]] = {}
    none = [0, 0]
    for _, message in _at(store, newest):
        weights = message.weights(forgetting)
        spam, ham = spam + weights[0], ham + weights[1]
        for name in unpack(message.packed):
            counts = taken.setdefault(name, [0, 0])
            counts[0] += weights[0]
            counts[1] += weights[1]
    older = replace(basis, spam=basis.spam - spam, ham=basis.ham - ham)
    for place, message in _at(store, newest):
        names = unpack(message.packed)
        rows = {}
        for name, row in store.rows(names).items():
            same = taken.get(name.removeprefix(ATTACHED), none) if name.startswith(ATTACHED) else none
            left = row[1] - taken[name][0] - same[0], row[2] - taken[name][1] - same[1]
            if sum(left) > 0:
                rows[name] = (name, *left)
        yield place, log_odds_without((), names, rows, (0, 0), older)


def _at(store: Store, places: set[int]) -> Iterator[tuple[int, KnownMessage]]:
    """Yield (index, message) of labelled messages at the given indices, in the order of the store."""
    number = 0
    for batch in store.known(("spam", "ham"), BATCH) if places else ():
        for message in batch:
            if number in places:
                yield number, message
            number += 1


def given(
    store: Store,
    basis: Callable[[], Basis],
    pairs: Iterator[tuple[Reading, Label]],
    progress: Callable[[int], object] | None,
    rule: Rule = filter_rule,
) -> Sample:
    """Score given labelled messages; those that were learned, also without a label, are scored leave-one-out."""
    log_odds: list[float] = []
    is_spam: list[bool] = []
    left_out = 0
    measure: Measure | None = None
    while batch := list(islice(pairs, BATCH)):
        names = [reading.tokens for reading, _ in batch]
        with store.snapshot():
            sums, forgetting = basis(), store.forgetting
            rows = store.rows(sorted(set(chain.from_iterable(names))))
            known = [store.message(reading.digest) for reading, _ in batch]
            measure = rule(store, sums) if measure is None else measure
        for each, message, (_, label) in zip(names, known, batch, strict=True):
            if message is None:
                log_odds.append(measure((), each, rows, (0, 0), sums))
            else:
                left_out += 1
                own, weights = frozenset(unpack(message.packed)), message.weights(forgetting)
                held, new = [name for name in each if name in own], [name for name in each if name not in own]
                log_odds.append(measure(held, new, rows, weights, sums))
            is_spam.append(label == "spam")
        if progress is not None:
            progress(len(log_odds))
    return Sample(tuple(log_odds), tuple(is_spam), left_out)
