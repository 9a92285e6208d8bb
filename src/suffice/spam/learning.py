"""Learning of a batch of messages: which of them are new, moved, known or already right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from suffice.spam.basis import Basis
from suffice.spam.bulk import Lesson
from suffice.spam.reading import Reading
from suffice.spam.shares import KnownMessage, Label
from suffice.spam.store import Store
from suffice.spam.verdict import Training


def learn(
    store: Store,
    batch: Lesson,
    day: int,
    *,
    is_dated: bool = False,
    judge: Callable[[], Basis] | None = None,
    bucket: str | None = None,
) -> Training:
    """Learn messages, and put them into a bucket unless it is None; call within a transaction.

    Parameters
    ----------
    store : Store
        Where they are learned.
    batch : Lesson
        The messages with their classes.
    day : int
        The day on which new messages arrived.
    is_dated : bool
        Whether moved messages arrived on that day, too; else they keep their days.
    judge : callable, optional
        If given, only messages whose verdict is not their class are learned, on the basis that it returns.
    bucket : str, optional
        The bucket, "" for none of them; None to leave messages where they are.
    """
    if bucket is None:
        return _learn_labels(store, batch, day, is_dated, judge)
    identities = [reading.digest for reading, _ in batch.messages]
    before = store.labels(identities)
    training = _learn_labels(store, batch, day, is_dated, judge)
    changed = store.buckets.file(identities, bucket)
    moved = sum(before.get(identity) == "ham" for identity in changed)
    return replace(training, moved=training.moved + moved, known=training.known - moved)


def _learn_labels(store: Store, batch: Lesson, day: int, is_dated: bool, judge: Callable[[], Basis] | None) -> Training:
    labels = store.labels([reading.digest for reading, _ in batch.messages])
    trial = None if judge is None else _Trial(store, judge, batch.messages, day)
    wanted: dict[bytes, KnownMessage] = {}
    learned = moved = known = right = 0
    for reading, label in batch.messages:
        identity = reading.digest
        found = labels.get(identity)
        if found == label:
            known += 1
            continue
        if found is None or found == "unlabeled":  # a label replaces an estimate
            if trial is not None and trial.label(reading) == label:
                right += 1
                continue
            learned += 1
        else:
            moved += 1
        old = wanted.pop(identity, None)
        if old is None and found is not None:
            old = store.take(identity)
        new = KnownMessage(identity, label, day if old is None or is_dated else old.day, reading.packed)
        if trial is not None:
            trial.replace(old, new)
        labels[identity] = label
        wanted[identity] = new
    messages = list(wanted.values())
    # else `counts` covers more messages than are learned, or several days
    is_whole = len(messages) == len(batch.messages) and all(message.day == day for message in messages)
    store.add(messages, batch.counts if is_whole else None)
    return Training(learned, moved, known, right)


class _Trial:
    """Verdicts on the messages of a batch, each after learning those before it."""

    def __init__(
        self, store: Store, judge: Callable[[], Basis], messages: list[tuple[Reading, Label]], day: int
    ) -> None:
        store.renew(day)
        self._forgetting, self._basis = store.forgetting, judge()
        names = sorted(set(chain.from_iterable(reading.tokens for reading, _ in messages)))
        self._rows = store.rows(names)  # updated in place as messages are learned

    def label(self, reading: Reading) -> str:
        """Return the verdict on a message."""
        return self._basis.verdict(reading.tokens, self._rows).label

    def replace(self, old: KnownMessage | None, new: KnownMessage) -> None:
        """Learn a message in place of its earlier state."""
        for message, sign in ((old, -1), (new, 1)):
            if message is not None:
                spam, ham = message.weights(self._forgetting)
                self._basis = self._basis.learned(self._rows, sign * spam, sign * ham, message.tokens)
