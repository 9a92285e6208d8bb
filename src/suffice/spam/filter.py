"""A spam filter that one person teaches: messages in, verdicts out."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from types import TracebackType
from typing import TYPE_CHECKING, Self

from suffice.spam.evaluation import Evaluation
from suffice.spam.forgetting import DAY, Forgetting
from suffice.spam.labels import checked_label, labelled
from suffice.spam.leave_one_out import sample_of
from suffice.spam.message import digest
from suffice.spam.reading import Reading, reading, readings
from suffice.spam.scoring import Scoring, evidence, logistic
from suffice.spam.shares import Known, Label
from suffice.spam.store import Row, Store
from suffice.spam.tuning import Tuning, checked_cost, tuned
from suffice.spam.unlabeled import Unlabeled, learn_unlabeled
from suffice.spam.verdict import Size, Thresholds, Training, Verdict

if TYPE_CHECKING:  # only `days` needs it
    from datetime import date

#: how many messages are learned in one transaction, and scored on one snapshot, by `train_many` and `score_many`
BATCH = 1024
#: messages older than so many half-lives, which count a thousandth, are removed by `expire`
OLD = 10.0
_SCORING = Scoring()
#: the first of January 1970 as `date` counts days
_EPOCH = 719_163


@dataclass(frozen=True)
class _Basis:
    """What a verdict is made of beside the rows of tokens: total weights, settings in their unit, thresholds."""

    spam: int
    ham: int
    scoring: Scoring
    thresholds: Thresholds

    def verdict(self, names: list[str], rows: dict[str, Row]) -> Verdict:
        if self.spam <= 0 or self.ham <= 0:
            return Verdict(0.5, "unsure", 0.0, [])
        known = [rows[name] for name in names if name in rows]  # others add nothing
        seen, in_spam, in_ham = zip(*known, strict=True) if known else ((), (), ())
        parts = evidence(seen, in_spam, in_ham, self.spam, self.ham, self.scoring)
        log_odds = math.fsum(parts)
        probability = logistic(self.scoring.slope * log_odds + self.scoring.intercept)
        strength = list(map(abs, parts))
        order = sorted(range(len(parts)), key=strength.__getitem__, reverse=True)
        return Verdict(probability, self.thresholds.label(probability), log_odds, [(seen[i], parts[i]) for i in order])


class NotTrainedError(LookupError):
    """A message was to be untrained or moved that was never trained."""


class SpamFilter:
    r"""A filter with a store of its own.

    Several processes may score while one trains. A filter belongs to the thread and the process that opened it.

    Parameters
    ----------
    path : str or path, optional
        The store, one file a user, which is made if there is none; in memory without.
    clock : callable, optional
        Returns the time in seconds since 1970.

    Examples
    --------
    >>> from suffice.spam import SpamFilter
    >>> with SpamFilter() as spam_filter:
    ...     training = spam_filter.train_many([b"\nwin money now", b"\nlunch at noon?"], ["spam", "ham"])
    ...     verdict = spam_filter.score(b"\nmoney, now!")
    >>> training.learned, verdict.log_odds > 0, verdict.evidence[0][0]
    (2, True, 'money')
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._store = Store(path)
        self._clock = clock

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open the store at `path`, or make it."""
        return cls(path)

    def train(self, raw: bytes, label: Label, *, only_errors: bool = False, at: float | None = None) -> bool:
        """Learn a message, and return whether anything changed.

        A message that is known as of this class is left as it is, one that is known as of the other class is moved.

        Parameters
        ----------
        raw : bytes
            The message, as it was received.
        label : "spam" or "ham"
            Its class.
        only_errors : bool
            Learn it only if it is known as of the other class, or its verdict is not `label` yet (unsure is an error).
        at : float, optional
            When it arrived, in seconds since 1970, which matters with a half-life; now by default.
        """
        checked = [(reading(raw), checked_label(label))]
        with self._store.transaction():
            return self._learn(checked, only_errors, self._day(at)).changed

    def train_many(
        self,
        raws: Iterable[bytes],
        labels: Label | Iterable[Label],
        *,
        only_errors: bool = False,
        at: float | None = None,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Training:
        """Learn many messages, in transactions of a thousand each: an interruption or error leaves what is committed.

        Parameters
        ----------
        raws : iterable of bytes
            The messages; some thousand of them are in memory at a time.
        labels : "spam", "ham" or an iterable of them
            One class for all, or one for each.
        only_errors, at
            As of `train`; with `only_errors` the order matters.
        processes : int, optional
            How many processes read messages; all cores by default.
        progress : callable, optional
            Called with the number of messages done, after each transaction.

        Returns
        -------
        Training
            How many were learned, moved, known and right.
        """
        day = self._day(at)
        total, done = Training(), 0
        pairs = labelled(raws, labels, processes)
        while batch := list(islice(pairs, BATCH)):
            with self._store.transaction():
                total += self._learn(batch, only_errors, day)
            done += len(batch)
            if progress is not None:
                progress(done)
        return total

    def train_unlabeled(
        self, raws: Iterable[bytes], *, processes: int | None = None, progress: Callable[[int], object] | None = None
    ) -> Unlabeled:
        """Learn from messages whose class is not known, by EM; parameters as of `train_many`.

        The messages stay in the store, and those given earlier are estimated anew. A label that one of them gets later,
        by `train`, replaces what was guessed. An interruption leaves a whole store.

        Returns
        -------
        Unlabeled
            How many were new and known, how many of the new ones are spam, by expectation, and how many rounds it took.

        Raises
        ------
        ValueError
            If fewer than 25 spams or 25 hams with a label are learned.
        """
        return learn_unlabeled(self._store, self._basis, readings(raws, processes), self._day(None), progress)

    def untrain(self, raw: bytes) -> Known:
        """Undo the training of a message exactly, and return the class it had, "unlabeled" if none.

        Raises
        ------
        NotTrainedError
            If it was never trained.
        """
        identity = reading(raw).digest
        with self._store.transaction():
            label = self._known(identity)
            self._store.remove([identity])
        return label

    def retrain(self, raw: bytes, label: Label) -> bool:
        """Move a message that was trained to a class, and return whether it was of the other.

        Raises
        ------
        NotTrainedError
            If it was never trained.
        """
        checked = reading(raw), checked_label(label)
        with self._store.transaction():
            self._known(checked[0].digest)
            return self._learn([checked], False, self._day(None)).changed

    def score(self, raw: bytes) -> Verdict:
        """Return the verdict about a message."""
        names = reading(raw).tokens
        with self._store.snapshot():
            return self._basis().verdict(names, self._store.rows(names))

    def score_many(self, raws: Iterable[bytes], *, processes: int | None = None) -> Iterator[Verdict]:
        """Yield the verdicts about many messages, in their order; parameters as of `train_many`."""
        iterator = readings(raws, processes)
        while batch := [item.tokens for item in islice(iterator, BATCH)]:
            with self._store.snapshot():
                rows = self._store.rows(sorted(set(chain.from_iterable(batch))))
                basis = self._basis()
            for names in batch:
                yield basis.verdict(names, rows)

    def label_of(self, raw: bytes) -> Label | None:
        """Return the class that a message was trained as, None if it has none."""
        identity = bytes.fromhex(digest(raw))
        with self._store.snapshot():
            label = self._store.labels([identity]).get(identity)
        return None if label == "unlabeled" else label

    def evaluate(
        self,
        raws: Iterable[bytes] | None = None,
        labels: Label | Iterable[Label] | None = None,
        *,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Evaluation:
        """Return how good the filter is on messages whose class is known; nothing is learned.

        Without messages it is all those that were learned, each scored without its own counts (leave-one-out), from the
        store alone. That is exact for the messages there are, and optimistic about those to come: near-copies of a
        message are still counted, spam changes, and a link that was tuned on these messages knows them.

        Parameters
        ----------
        raws, labels, processes
            Messages and their classes, as of `train_many`. Those that were learned are scored without their own counts
            too; `left_out` says how many.
        progress : callable, optional
            Called with the number of messages done.
        """
        sample = sample_of(self._store, self._basis, raws, labels, processes, progress)
        basis = self._basis()
        return sample.evaluation(basis.scoring.slope, basis.scoring.intercept, basis.thresholds)

    def tune(
        self,
        cost: float = 100.0,
        *,
        raws: Iterable[bytes] | None = None,
        labels: Label | Iterable[Label] | None = None,
        write: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> Tuning:
        """Fit the logistic link and the thresholds to the messages that were learned, or to others.

        Parameters
        ----------
        cost : float
            Of a ham that is called spam, in spams that are not caught.
        raws, labels, progress
            As of `evaluate`.
        write : bool
            Keep link and thresholds in the store, and use them from now on.

        Raises
        ------
        ValueError
            If there are fewer than twenty spams or twenty hams.
        """
        cost = checked_cost(cost)
        sample = sample_of(self._store, self._basis, raws, labels, None, progress)
        basis = self._basis()
        result = tuned(sample, cost, basis.scoring.slope, basis.scoring.intercept, basis.thresholds)
        if write:
            with self._store.transaction():
                self._store.put("link", [result.slope, result.intercept])
                self.thresholds = result.thresholds
        return result

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store to a file, while others may use it: the copy is whole, or not there at all.

        An older backup is replaced; a file that is none is refused.
        """
        from suffice.spam.backup import back_up  # rarely needed

        back_up(self._store, path)

    @classmethod
    def restore(cls, path: str | os.PathLike[str], backup: str | os.PathLike[str]) -> None:
        """Replace the store at `path`, or make it, by a checked copy of a backup, in one transaction.

        Processes that have the store open see it as it was or as it is then. A damaged backup is refused.
        """
        from suffice.spam.backup import restore

        restore(path, backup)

    @property
    def thresholds(self) -> Thresholds:
        """The probabilities up to which a message is ham and from which on it is spam, kept in the store."""
        return Thresholds(*self._store.get("thresholds", ()))

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds) -> None:
        with self._store.transaction():
            self._store.put("thresholds", [thresholds.ham, thresholds.spam])

    @property
    def half_life(self) -> float | None:
        """After how many days a message counts half, kept in the store; None, the default, to forget nothing."""
        return self._store.forgetting.half_life

    @half_life.setter
    def half_life(self, days: float | None) -> None:
        forgetting = Forgetting(days, self._day(None))
        with self._store.transaction():
            if days != self.half_life:
                self._store.recount(forgetting)

    def expire(self, days: float | None = None) -> int:
        """Remove messages that are older than so many days, by default ten half-lives, and return how many."""
        if days is None:
            half_life = self.half_life
            if half_life is None:
                raise ValueError("expire needs a number of days, since the filter has no half_life; give one of them")
            days = OLD * half_life
        with self._store.transaction():
            return self._store.expire(math.ceil(self._day(None) - days))

    def stats(self) -> Size:
        """Return how many spams, hams and tokens the store holds."""
        with self._store.snapshot():
            return Size(*self._store.size())

    def days(self) -> tuple[date, date] | None:
        """Return the first and the last day on which messages were learned; None without any."""
        from datetime import date

        with self._store.snapshot():
            days = self._store.days()
        if days is None:
            return None
        first, last = (date.fromordinal(_EPOCH + day) for day in days)
        return first, last

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _learn(self, batch: list[tuple[Reading, Label]], only_errors: bool, day: int) -> Training:
        if only_errors and len(batch) > 1:  # each verdict depends on what was learned before
            return sum((self._learn([item], True, day) for item in batch), Training())
        before = self._store.labels([item.digest for item, _ in batch])
        labels = dict(before)
        wanted: dict[bytes, tuple[Reading, Label]] = {}
        learned = moved = known = 0
        for item, label in batch:
            found = labels.get(item.digest)
            if found == label:
                known += 1
                continue
            if found == "unlabeled":  # a guess gives way to a label
                found = None
            if only_errors and found is None:
                names = item.tokens
                if self._basis().verdict(names, self._store.rows(names)).label == label:
                    return Training(right=1)
            learned += found is None
            moved += found is not None
            labels[item.digest] = label
            wanted[item.digest] = (item, label)
        self._store.remove(identity for identity in wanted if identity in before)
        if wanted:
            self._store.add(list(wanted.values()), day)
        return Training(learned, moved, known)

    def _basis(self) -> _Basis:
        """Return what verdicts need beside the rows of tokens."""
        # Totals and counts are in units of `scale`, what a message of today adds. In w(t) only α, m and κ are compared
        # with them, so that these are put into the same unit, instead of dividing every count.
        scale = self._store.forgetting.scale(self._day(None))
        slope, intercept = self._store.get("link", (_SCORING.slope, _SCORING.intercept))
        scoring = replace(
            _SCORING,
            pseudo_count=_SCORING.pseudo_count * scale,
            common=_SCORING.common * scale,
            doubt=_SCORING.doubt * scale,
            slope=slope,
            intercept=intercept,
        )
        return _Basis(*self._store.totals(), scoring, self.thresholds)

    def _known(self, identity: bytes) -> Known:
        label = self._store.labels([identity]).get(identity)
        if label is None:
            raise NotTrainedError(
                f"the message with digest {identity.hex()} was never trained, so there is nothing to undo; train it"
            )
        return label

    def _day(self, at: float | None) -> int:
        """Return the day of a time; what comes from the future is of today."""
        now = self._clock()
        return int(min(now, now if at is None else at) // DAY)
