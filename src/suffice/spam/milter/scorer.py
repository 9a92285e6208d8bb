"""Scoring off the event loop: a few threads with filters of their own, and a time after which none goes on."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections import OrderedDict
from pathlib import Path

from suffice.spam.connected import StoreError
from suffice.spam.filter import SpamFilter
from suffice.spam.milter.jobs import Job, Jobs
from suffice.spam.milter.stores import Stores
from suffice.spam.verdict import Verdict

#: how many stores a thread keeps open; each may cache 32 MB of its file
OPEN_STORES = 8
#: seconds for which a user's own store is left alone after it took too long
REST = 60.0
#: seconds between attempts to interrupt a thread: one that falls between two queries ends neither
_AGAIN = 0.05


class Scorer:
    """Scores messages in threads.

    A store that is someone's own may be anything that this user made of it. So each has one thread at a time, which is
    interrupted when the time for a verdict is over, and then the store is left alone for a minute.

    Parameters
    ----------
    stores : Stores
        Which store to use. One that is not there is not made.
    workers : int
        How many threads there are.
    patience : float
        How many seconds a thread waits for a store that is locked.
    """

    def __init__(self, stores: Stores, workers: int = 2, *, patience: float = 5.0) -> None:
        self._stores = stores
        self._patience = patience
        self._jobs = Jobs()
        self._resting: dict[Path, float] = {}
        # daemons, so that one that hangs does not keep the process from ending
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    async def score(self, raw: bytes, recipient: bytes = b"", *, timeout: float) -> Verdict:
        """Return the verdict about a message, or raise what kept it from being scored, TimeoutError included."""
        answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        job = Job(raw, recipient, self._stores.own(recipient), timeout, answer)
        self._jobs.put(job)
        try:
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            raise TimeoutError(f"a message was not scored within {timeout:g} seconds") from None
        finally:
            self._jobs.give_up(job)
            self._interrupt(job)

    def close(self) -> None:
        """Let the threads end, and wait a moment for them."""
        self._jobs.close()
        for thread in self._threads:
            thread.join(1.0)

    def _interrupt(self, job: Job) -> None:
        """End a job that nobody waits for, however often that takes."""
        if not job.has_ended:
            job.interrupt()
            job.answer.get_loop().call_later(_AGAIN, self._interrupt, job)

    def _work(self) -> None:
        filters = _Filters(self._patience)
        while (job := self._jobs.take()) is not None:
            verdict, error = None, None
            try:
                verdict = self._score(filters, job)
            except Exception as caught:  # whatever it is, the thread must go on
                error = caught
            self._jobs.end(job)
            try:
                job.answer.get_loop().call_soon_threadsafe(_settle, job.answer, verdict, error)
            except RuntimeError:  # the loop is closed
                break
        filters.close()

    def _score(self, filters: _Filters, job: Job) -> Verdict:
        begun = time.monotonic()
        path = self._stores.of(job.recipient)
        if path != job.own:
            return filters.score(path, job)
        if begun < self._resting.get(path, -math.inf):
            raise StoreError(f"the store {str(path)!r} took too long, and is left alone for {REST:g} seconds")
        try:
            return filters.score(path, job)
        finally:
            # one that was begun too late, because others were slow, is not to blame
            if job.is_late and time.monotonic() - begun >= 0.5 * job.timeout:
                self._resting[path] = time.monotonic() + REST


def _settle(answer: asyncio.Future[Verdict], verdict: Verdict | None, error: Exception | None) -> None:
    if answer.done():
        return
    if verdict is not None:
        answer.set_result(verdict)
    else:
        answer.set_exception(error or RuntimeError("the filter gave no verdict"))


class _Filters:
    """The open filters of one thread, the one used last at the end; each waits so many seconds for a lock."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._open: OrderedDict[Path, tuple[tuple[int, int], SpamFilter]] = OrderedDict()

    def score(self, path: Path, job: Job) -> Verdict:
        try:
            return job.score(self._filter(path))
        except Exception:
            self._drop(path)  # the next message opens it anew, which may help
            raise

    def close(self) -> None:
        for path in list(self._open):
            self._drop(path)

    def _filter(self, path: Path) -> SpamFilter:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no store {str(path)!r} yet; `suffice spam train` makes it") from None
        file = status.st_dev, status.st_ino
        if path in self._open:
            found, spam_filter = self._open[path]
            if found == file:
                self._open.move_to_end(path)
                return spam_filter
            self._drop(path)  # another file was put in its place
        spam_filter = SpamFilter.open(path, patience=self._patience)
        self._open[path] = file, spam_filter
        if len(self._open) > OPEN_STORES:
            self._drop(next(iter(self._open)))
        return spam_filter

    def _drop(self, path: Path) -> None:
        if path in self._open:
            self._open.pop(path)[1].close()
