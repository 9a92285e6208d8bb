"""A personal spam filter that is trained on messages and returns verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Self

from suffice.spam.buckets.access import checked_bucket
from suffice.spam.bulk import Lesson, lesson
from suffice.spam.filter_scores import FilterScores
from suffice.spam.isolation import Skips, Unread, UnreadableError, isolated, readable
from suffice.spam.labels import checked_label, labelled
from suffice.spam.learning import learn
from suffice.spam.message import identity
from suffice.spam.reading import Servers, readings
from suffice.spam.shares import Known, Label, MessageState
from suffice.spam.store_file import PATIENCE
from suffice.spam.unlabeled import Unlabeled, learn_unlabeled
from suffice.spam.verdict import Training
from suffice.spam.workers import checked, spread

#: limit of messages that `train_many` learns in one transaction
BATCH = 1024


class NotTrainedError(LookupError):
    """The message to untrain or retrain was never trained."""


class SpamFilter(FilterScores):
    r"""A spam filter with its own store.

    Several processes may score while one trains. A filter belongs to the thread and the process that opened it; only
    `interrupt` may be called from other threads.

    Parameters
    ----------
    path : str or path, optional
        File of the store, one per user, created if it does not exist; in memory if None.
    clock : callable, optional
        Function that returns the time in seconds since 1970.
    patience : float
        How many seconds to wait for another process that writes to the store, before raising StoreError.
    budget : float, optional
        Time limit in seconds for reading one message in `score`, `score_many`, `train` and `retrain`. Messages are then
        read in a separate process, which is killed if one takes longer; that message counts as unreadable. If None,
        messages are read in this process, or in several processes, without a time limit.

    Examples
    --------
    >>> from suffice.spam import SpamFilter
    >>> with SpamFilter() as spam_filter:
    ...     training = spam_filter.train_many([b"\nwin money now", b"\nlunch at noon?"], ["spam", "ham"])
    ...     verdict = spam_filter.score(b"\nmoney, now!")
    >>> training.learned, verdict.log_odds > 0, verdict.evidence[0][0]
    (2, True, 'money')
    """

    @classmethod
    def open(cls, path: str | os.PathLike[str], patience: float = PATIENCE, budget: float | None = None) -> Self:
        """Open the store at `path`, creating it if it does not exist.

        Parameters
        ----------
        path : str or path
            The store.
        patience : float, default 60.0
            The seconds to wait for another process that writes.
        budget : float or None, default None
            As in `SpamFilter`.

        Returns
        -------
        SpamFilter
            The filter, to be closed after use; it is a context manager.
        """
        return cls(path, patience=patience, budget=budget)

    def train(
        self,
        raw: bytes,
        label: Label,
        *,
        bucket: str | None = None,
        only_errors: bool = False,
        at: float | None = None,
    ) -> bool:
        """Learn a message, and return whether anything changed.

        A message already learned with this class is left unchanged; one learned with the other class is moved.

        Parameters
        ----------
        raw : bytes
            The message as received.
        label : "spam" or "ham"
            Its class.
        bucket : str, optional
            For ham, the bucket that it belongs to, created if it does not exist; "" to remove it from its bucket; None
            to leave it in its bucket. A message that becomes spam leaves its bucket.
        only_errors : bool
            Learn it only if it was learned with the other class, or its verdict is not `label` (unsure is an error).
        at : float, optional
            Arrival time in seconds since 1970, used if there is a half-life; now by default, and for a known message
            the time when it arrived.

        Raises
        ------
        UnreadableError
            If the message cannot be read.
        """
        bucket = checked_bucket(bucket, label, only_errors)
        message = self._lesson(raw, label)
        with self._store.transaction():
            return self._learn(message, only_errors, at, bucket).changed

    def train_many(
        self,
        raws: Iterable[bytes],
        labels: Label | Iterable[Label],
        *,
        bucket: str | None = None,
        only_errors: bool = False,
        at: float | None = None,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
        skipped: Callable[[int, str], object] | None = None,
    ) -> Training:
        """Learn many messages, in transactions of about a thousand; an interruption or error keeps the committed ones.

        Parameters
        ----------
        raws : iterable of bytes
            The messages; a few thousand of them are in memory at a time.
        labels : "spam", "ham" or an iterable of them
            One class for all messages, or one per message.
        bucket, only_errors, at : str, bool, float, optional
            As in `train`; with `only_errors` the order matters, and with a bucket all messages must be ham.
        processes : int, optional
            Number of processes that read messages; all cores by default.
        progress : callable, optional
            Called with the number of messages done after each transaction; the first transactions are smaller.
        skipped : callable, optional
            Called with the number (from 0) and the reason for each message that cannot be read.

        Returns
        -------
        Training
            How many were learned, moved, already known or already right, and how many could not be read.
        """
        bucket = checked_bucket(bucket, labels, only_errors)
        total, done, skips = Training(), 0, Skips(skipped)
        for batch in spread(partial(lesson, self.servers), labelled(raws, labels), processes, most=BATCH):
            with self._store.transaction():
                total += self._learn(batch, only_errors, at, bucket)
            for number, reason in batch.skipped:
                skips.skip(done + number, reason)
            done += len(batch.messages) + len(batch.skipped)
            if progress is not None:
                progress(done)
        return replace(total, skipped=skips.count)

    def train_unlabeled(
        self,
        raws: Iterable[bytes],
        *,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
        skipped: Callable[[int, str], object] | None = None,
    ) -> Unlabeled:
        """Learn from unlabelled messages by EM; parameters as in `train_many`.

        The messages stay in the store, and the classes of those given earlier are estimated again. A label that one of
        them gets later, by `train`, replaces the estimate. An interruption leaves a consistent store.

        Parameters
        ----------
        raws : iterable of bytes
            The messages.
        processes : int, optional
            The number of processes that read messages; all cores by default.
        progress : callable, optional
            Called with the number of messages done.
        skipped : callable, optional
            Called with the number (from 0) and the reason for each message that cannot be read.

        Returns
        -------
        Unlabeled
            How many were new and already known, the expected number of spams among the new ones, and the number of
            iterations.

        Raises
        ------
        ValueError
            If fewer than 25 labelled spams or 25 labelled hams were learned.
        """
        skips = Skips(skipped)
        read = skips.left(readings(raws, processes, self.servers))
        found = learn_unlabeled(self._store, self._basis, read, self._day(None), progress)
        return replace(found, skipped=skips.count)

    def untrain(self, raw: bytes) -> Known:
        """Undo the training of a message exactly, and return its class, "unlabeled" if it had none.

        Parameters
        ----------
        raw : bytes
            The message.

        Raises
        ------
        NotTrainedError
            If it was never trained.
        """
        found = readable(identity, checked(raw))
        with self._store.transaction():
            label = self._known(found)
            self._store.remove([found])
        return label

    def retrain(self, raw: bytes, label: Label) -> bool:
        """Move a trained message to a class, and return whether this changed its class.

        Parameters
        ----------
        raw : bytes
            The message.
        label : "spam" or "ham"
            Its class from now on.

        Raises
        ------
        NotTrainedError
            If it was never trained.
        """
        message = self._lesson(raw, label)
        with self._store.transaction():
            self._known(message.messages[0][0].digest)
            return self._learn(message).changed

    def state_of(self, raw: bytes) -> MessageState:
        r"""Return all that the store holds of a message, to restore it later by `restore_states`.

        Parameters
        ----------
        raw : bytes
            The message.

        Raises
        ------
        UnreadableError
            If the message cannot be read.

        Examples
        --------
        >>> from suffice.spam import SpamFilter
        >>> with SpamFilter() as spam_filter:
        ...     before = spam_filter.state_of(b"\nlunch at noon?")
        ...     changed = spam_filter.train(b"\nlunch at noon?", "spam")
        ...     spam_filter.restore_states([before])
        ...     spam_filter.stats()
        Size(spam=0, ham=0, tokens=0, unlabeled=0)
        """
        found = readable(identity, checked(raw))
        with self._store.snapshot():
            return self._store.state(found)

    def restore_states(self, states: Iterable[MessageState]) -> None:
        """Undo what was done to messages since `state_of`, exactly: class, day, shares and bucket; all or nothing.

        Parameters
        ----------
        states : iterable of MessageState
            What `state_of` returned.
        """
        with self._store.transaction():
            for state in states:
                self._store.restore(state)

    def label_of(self, raw: bytes) -> Label | None:
        """Return the class that a message was trained as; None if it has none.

        Parameters
        ----------
        raw : bytes
            The message.
        """
        found = isolated(identity, checked(raw))
        if isinstance(found, Unread):
            return None  # an unreadable message cannot have been learned
        with self._store.snapshot():
            label = self._store.labels([found]).get(found)
        return None if label == "unlabeled" else label

    def interrupt(self) -> None:
        """Interrupt the running operation on the store, from any thread; it and all later ones raise StoreError.

        Committed changes stay, the rest is undone. To continue, close the filter and open it again. Waiting for another
        process is not interrupted, but ends after `patience` seconds.
        """
        self._store.interrupt()

    def _lesson(self, raw: bytes, label: Label) -> Lesson:
        """Read one message to learn; raise UnreadableError if that fails."""
        return readable(self._in_time(partial(_lesson_of, self.servers, checked_label(label))), checked(raw))

    def _learn(
        self, batch: Lesson, only_errors: bool = False, at: float | None = None, bucket: str | None = None
    ) -> Training:
        judge = self._basis if only_errors else None
        return learn(self._store, batch, self._day(at), is_dated=at is not None, judge=judge, bucket=bucket)

    def _known(self, found: bytes) -> Known:
        label = self._store.labels([found]).get(found)
        if label is None:
            raise NotTrainedError(
                f"the message with digest {found.hex()} was never trained, so there is nothing to undo; train it"
            )
        return label


def _lesson_of(servers: Servers, label: Label, raw: bytes) -> Lesson:
    """Read one message; raise UnreadableError if that fails."""
    read = lesson(servers, [(raw, label)])
    if read.skipped:
        raise UnreadableError(read.skipped[0][1])
    return read
