"""Messages that wait for a verdict: in their order, but of each user's own store one at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from pathlib import Path

from suffice.spam.filter import SpamFilter
from suffice.spam.verdict import Verdict


class Job:
    """A message to be scored by a thread, which another one may interrupt.

    Parameters
    ----------
    raw, recipient : bytes
        The message, and for whom it is.
    own : path, optional
        Where the recipient's own store would be.
    timeout : float
        For how many seconds someone waits for the answer.
    answer : future
        Of the verdict.
    """

    def __init__(
        self, raw: bytes, recipient: bytes, own: Path | None, timeout: float, answer: asyncio.Future[Verdict]
    ) -> None:
        self.raw, self.recipient, self.own, self.timeout, self.answer = raw, recipient, own, timeout, answer
        self.deadline = time.monotonic() + timeout
        self.has_ended = False
        self._lock = threading.Lock()
        self._filter: SpamFilter | None = None

    @property
    def is_late(self) -> bool:
        """Whether nobody waits any more."""
        return time.monotonic() >= self.deadline

    def score(self, spam_filter: SpamFilter) -> Verdict:
        """Return the verdict of a filter that belongs to this thread."""
        with self._lock:
            self._filter = spam_filter
        try:
            if self.is_late:
                raise TimeoutError("the store was opened too late for a message")
            return spam_filter.score(self.raw)
        finally:
            with self._lock:
                self._filter = None  # the next message must not be interrupted in its place

    def interrupt(self) -> None:
        """End what the filter does now, if anything."""
        with self._lock:
            if self._filter is not None:
                self._filter.interrupt()


class Jobs:
    """The queue, from which threads take."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._busy: set[Path] = set()
        self._is_closed = False
        self._changed = threading.Condition()

    def put(self, job: Job) -> None:
        """Add a job at the end."""
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()

    def take(self) -> Job | None:
        """Wait for a job whose own store no other thread is at, and return it; None when all is done and closed."""
        with self._changed:
            while True:
                for job in self._waiting:
                    if job.own is None or job.own not in self._busy:
                        self._waiting.remove(job)
                        if job.own is not None:
                            self._busy.add(job.own)
                        return job
                if self._is_closed:
                    return None
                self._changed.wait()

    def end(self, job: Job) -> None:
        """Say that a job that was taken is done."""
        with self._changed:
            job.has_ended = True
            if job.own is not None:
                self._busy.discard(job.own)
            self._changed.notify()

    def give_up(self, job: Job) -> None:
        """Say that nobody waits for a job: it is not begun any more."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                job.has_ended = True

    def close(self) -> None:
        """Let the threads end when all is done."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
