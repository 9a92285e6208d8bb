"""Learning from mail without labels, by EM.

An unlabelled message belongs to spam with its responsibility r, the probability that the filter gives without the
message's own counts, and adds to the counts of its tokens in either class:

    E-step   r = p(spam | message), by the counts of all other messages
    M-step   counts = labelled messages + Σ share(r) over the unlabelled ones
             share(r) = λ (1, 0) for r ≥ c, λ (0, 1) for r ≤ 1 − c, (0, 0) between

starting from the labelled messages alone, until responsibilities settle. What comes out depends on which messages there
are, and neither on their order nor on when they came.

The shares are those of classification EM, without what is not clear. With the shares of plain EM, λ (r, 1 − r), and 20
labels the filter got worse: scores are tempered, so that many messages have an r far from 0 and 1 at first, and what
these add to both classes blurs the few labels there are.
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
from suffice.spam.store import Store

#: up to so many labelled messages an unlabelled one counts as much as a labelled one; with more it counts less,
#: λ = PLENTY / labelled, so that what is known is not outvoted by guesses
PLENTY = 100
#: c, the probability of a class from which on a message is taken to be of it
CLEAR = 0.98
#: responsibilities have settled when they change by no more than this on average
SETTLED = 0.001
#: so often at most they are estimated
ROUNDS = 10
#: so many spams and so many hams with a label are needed to begin with; with fewer, false positives became more
FEWEST = 25


@dataclass(frozen=True)
class Unlabeled:
    """What became of messages without labels.

    Attributes
    ----------
    messages : int
        They were new, and are learned from.
    known : int
        They were known already, with a label or without.
    spam : float
        How many of the new ones are spam, by expectation: Σ r.
    rounds : int
        How often the responsibilities of all messages without a label were estimated.
    skipped : int
        How many could not be read.
    """

    messages: int
    known: int
    spam: float
    rounds: int
    skipped: int = 0


def learn_unlabeled(
    store: Store,
    basis: Callable[[], Basis],
    readings: Iterable[Reading],
    day: int,
    progress: Callable[[int], object] | None,
) -> Unlabeled:
    """Add messages without labels to a store, and estimate the responsibilities of all of them anew."""
    labelled = _require_labels(store)
    weight = round(UNIT * min(1.0, PLENTY / labelled))
    new, known = _collect(store, readings, day, progress)
    shares = _first_round(store, basis, weight)
    rounds = 1
    while rounds < ROUNDS and shares:
        before, shares = shares, _responsibilities(store, basis)
        rounds += 1
        _assign(store, shares, weight)
        change = math.fsum(abs(r - before.get(digest, math.inf)) for digest, r in shares.items())
        if change <= SETTLED * len(shares):
            break
    return Unlabeled(len(new), known, math.fsum(shares.get(digest, 0.0) for digest in new), rounds)


def _require_labels(store: Store) -> int:
    """Return how many messages have a label, if there are enough of both classes."""
    with store.snapshot():
        spam, ham, *_ = store.size()
    if spam < FEWEST or ham < FEWEST:
        raise ValueError(
            f"learning from unlabelled mail needs at least {FEWEST} spams and {FEWEST} hams with a label to begin "
            f"with, but there are {spam} and {ham}; train more messages"
        )
    return spam + ham


def _collect(
    store: Store, readings: Iterable[Reading], day: int, progress: Callable[[int], object] | None
) -> tuple[list[bytes], int]:
    """Keep the messages that are new, and return their digests and how many were known."""
    new: list[bytes] = []
    done = known = 0
    iterator = iter(readings)
    while batch := list(islice(iterator, BATCH)):
        with store.transaction():
            found = store.labels([reading.digest for reading in batch])
            fresh = {reading.digest: reading for reading in batch if reading.digest not in found}
            store.add_unlabeled(list(fresh.values()), day)
        new += fresh
        known += len(batch) - len(fresh)
        done += len(batch)
        if progress is not None:
            progress(done)
    return new, known


def _first_round(store: Store, basis: Callable[[], Basis], weight: int) -> dict[bytes, float]:
    """Return responsibilities by the labelled messages alone, with the shares they give assigned."""
    with store.snapshot():
        is_first = not store.has_shares()
    if is_first:
        shares = _responsibilities(store, basis)
        _assign(store, shares, weight)
        return shares
    with store.transaction():  # others wait, but an interruption leaves the shares there were
        store.drop_shares()
        shares = _responsibilities(store, basis)
        _assign(store, shares, weight)
    return shares


def _responsibilities(store: Store, basis: Callable[[], Basis]) -> dict[bytes, float]:
    """Return the probability of spam of each unlabelled message, by the counts of all others."""
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
    """Give the messages their shares of the counts, some hundred in a transaction: what is interrupted stays whole."""
    iterator = iter(shares.items())
    while batch := list(islice(iterator, BATCH)):
        with store.transaction():
            store.share((digest, *share(r, weight)) for digest, r in batch)


def share(responsibility: float, weight: int) -> tuple[int, int]:
    """Return what an unlabelled message with a responsibility adds to spam and to ham, of a weight.

    Examples
    --------
    >>> from suffice.spam.unlabeled import share
    >>> [share(r, weight=1024) for r in (0.999, 0.7, 0.001)]
    [(1024, 0), (0, 0), (0, 1024)]
    """
    return weight * (responsibility >= CLEAR), weight * (responsibility <= 1.0 - CLEAR)
