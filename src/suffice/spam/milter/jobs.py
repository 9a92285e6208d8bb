"""Messages that wait for a verdict: in their order, but of each user's own store one at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from pathlib import Path

from suffice.spam.verdict import Verdict


class Job:
    """A message to be scored.

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

    @property
    def is_late(self) -> bool:
        """Whether nobody waits any more."""
        return time.monotonic() >= self.deadline


class Jobs:
    """The queue, from which threads take."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._busy: set[Path] = set()
        self._is_closed = False
        self._changed = threading.Condition()

    @property
    def is_closed(self) -> bool:
        """Whether no more messages will come."""
        return self._is_closed

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
            if job.own is not None:
                self._busy.discard(job.own)
            self._changed.notify()

    def give_up(self, job: Job) -> None:
        """Say that nobody waits for a job: it is not begun any more."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)

    def close(self) -> None:
        """Let the threads end when all is done."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
