"""Learning from unlabelled mail, by EM.

An unlabelled message belongs to spam with responsibility r, the filter's probability of spam without the message's own
counts, and adds to the counts of its tokens in either class:

    E-step   r = p(spam | message), by the counts of all other messages
    M-step   counts = labelled messages + Σ share(r) over the unlabelled ones
             share(r) = λ (1, 0) for r ≥ c, λ (0, 1) for r ≤ 1 − c, (0, 0) between

starting from the labelled messages alone, until the responsibilities converge. The result depends only on the set of
messages, not on their order or time of arrival.

The shares are those of classification EM, with unclear messages left out. With the shares of plain EM, λ (r, 1 − r),
and 20 labels the filter got worse: scores are tempered, so at first many messages have an r far from 0 and 1, and their
contributions to both classes drown out the few labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, islice

from suffice.spam.basis import Basis
from suffice.spam.forgetting import UNIT
from suffice.spam.leave_one_out import BATCH, log_odds_without
from suffice.spam.reading import Reading, unpack
from suffice.spam.scoring import logistic
from suffice.spam.shares import KnownMessage
from suffice.spam.store import Store

#: up to this many labelled messages an unlabelled one counts as much as a labelled one; with more it counts less, λ =
#: PLENTY / labelled, so that estimates do not outvote labels
PLENTY = 100
#: c, the probability from which a message is assigned to a class
CLEAR = 0.98
#: tolerance of convergence: mean absolute change of the responsibilities
SETTLED = 0.001
#: limit of iterations
MAX_ITERATIONS = 10
#: least number of labelled spams, and of labelled hams; with fewer, false positives increased
FEWEST = 25


@dataclass(frozen=True)
class Unlabeled:
    """The result of learning from unlabelled messages.

    Attributes
    ----------
    messages : int
        Number of new messages, which were learned from.
    known : int
        Number of messages known already, with a label or without.
    spam : float
        Expected number of spams among the new ones, Σ r.
    iterations : int
        Number of iterations, in each of which all responsibilities are estimated.
    skipped : int
        Number of messages that could not be read.
    """

    messages: int
    known: int
    spam: float
    iterations: int
    skipped: int = 0

    @property
    def rounds(self) -> int:
        """`iterations` under its former name, which the next release removes."""
        return self.iterations


def learn_unlabeled(
    store: Store,
    basis: Callable[[], Basis],
    readings: Iterable[Reading],
    day: int,
    progress: Callable[[int], object] | None,
) -> Unlabeled:
    """Add unlabelled messages to a store, and estimate the responsibilities of all unlabelled messages."""
    labelled = _require_labels(store)
    weight = round(UNIT * min(1.0, PLENTY / labelled))
    new, known = _collect(store, readings, day, progress)
    shares = _first_iteration(store, basis, weight)
    iterations = 1
    while iterations < MAX_ITERATIONS and shares:
        before, shares = shares, _responsibilities(store, basis)
        iterations += 1
        _assign(store, shares, weight)
        change = math.fsum(abs(r - before.get(digest, math.inf)) for digest, r in shares.items())
        if change <= SETTLED * len(shares):
            break
    return Unlabeled(len(new), known, math.fsum(shares.get(digest, 0.0) for digest in new), iterations)


def _require_labels(store: Store) -> int:
    """Return the number of labelled messages; raise ValueError if there are too few of a class."""
    with store.snapshot():
        spam, ham, *_ = store.size()
    if spam < FEWEST or ham < FEWEST:
        raise ValueError(
            f"learning from unlabelled mail needs at least {FEWEST} labelled spams and {FEWEST} labelled hams "
            f"to start with, but there are {spam} and {ham}; train more messages"
        )
    return spam + ham


def _collect(
    store: Store, readings: Iterable[Reading], day: int, progress: Callable[[int], object] | None
) -> tuple[list[bytes], int]:
    """Store the new messages, and return their digests and the number of known ones."""
    new: list[bytes] = []
    done = known = 0
    iterator = iter(readings)
    while batch := list(islice(iterator, BATCH)):
        with store.transaction():
            found = store.labels([reading.digest for reading in batch])
            fresh = {
                digest: KnownMessage(digest, "unlabeled", day, packed)
                for digest, packed in batch
                if digest not in found
            }
            store.add(list(fresh.values()))
        new += fresh
        known += len(batch) - len(fresh)
        done += len(batch)
        if progress is not None:
            progress(done)
    return new, known


def _first_iteration(store: Store, basis: Callable[[], Basis], weight: int) -> dict[bytes, float]:
    """Return responsibilities based on the labelled messages alone, and store the shares that follow from them."""
    with store.snapshot():
        is_first = not store.has_shares()
    if is_first:
        shares = _responsibilities(store, basis)
        _assign(store, shares, weight)
        return shares
    with store.transaction():  # one transaction: other writers wait, but an interruption keeps the previous shares
        store.drop_shares()
        shares = _responsibilities(store, basis)
        _assign(store, shares, weight)
    return shares


def _responsibilities(store: Store, basis: Callable[[], Basis]) -> dict[bytes, float]:
    """Return the probability of spam of each unlabelled message, based on the counts of all others."""
    found: dict[bytes, float] = {}
    with store.snapshot():
        sums, forgetting = basis(), store.forgetting
        for batch in store.known(("unlabeled",), BATCH):
            names = [unpack(message.packed) for message in batch]
            rows = store.rows(sorted(set(chain.from_iterable(names))))
            for message, own in zip(batch, names, strict=True):
                x = log_odds_without(own, (), rows, message.weights(forgetting), sums)
                found[message.digest] = logistic(sums.scoring.slope * x + sums.scoring.intercept)
    return found


def _assign(store: Store, shares: dict[bytes, float], weight: int) -> None:
    """Store the shares of the messages, a few hundred per transaction, so an interruption leaves a consistent store."""
    iterator = iter(shares.items())
    while batch := list(islice(iterator, BATCH)):
        with store.transaction():
            store.share((digest, *share(r, weight)) for digest, r in batch)


def share(responsibility: float, weight: int) -> tuple[int, int]:
    """Return the shares of `weight` that an unlabelled message with this responsibility adds to spam and to ham.

    Examples
    --------
    >>> from suffice.spam.unlabeled import share
    >>> [share(r, weight=1024) for r in (0.999, 0.7, 0.001)]
    [(1024, 0), (0, 0), (0, 1024)]
    """
    return weight * (responsibility >= CLEAR), weight * (responsibility <= 1.0 - CLEAR)
