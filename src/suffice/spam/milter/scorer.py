"""Scoring off the event loop: a few threads with filters of their own, and a time after which nobody waits for them."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from suffice.spam.filter import SpamFilter
from suffice.spam.milter.stores import Stores
from suffice.spam.verdict import Verdict

#: how many stores a thread keeps open; each may cache 32 MB of its file
OPEN_STORES = 8


@dataclass
class _Job:
    raw: bytes
    recipient: bytes
    deadline: float
    answer: asyncio.Future[Verdict]


class Scorer:
    """Scores messages in threads.

    Parameters
    ----------
    stores : Stores
        Which store to use. One that is not there is not made.
    workers : int
        How many threads there are.
    """

    def __init__(self, stores: Stores, workers: int = 2) -> None:
        self._stores = stores
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # daemons, so that one that hangs does not keep the process from ending
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    async def score(self, raw: bytes, recipient: bytes = b"", *, timeout: float) -> Verdict:
        """Return the verdict about a message, or raise what kept it from being scored, TimeoutError included."""
        answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        job = _Job(raw, recipient, time.monotonic() + timeout, answer)
        self._jobs.put(job)
        try:
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            raise TimeoutError(f"a message was not scored within {timeout:g} seconds") from None
        finally:
            job.raw = b""  # it may still be in the queue, behind one that hangs

    def close(self) -> None:
        """Let the threads end, and wait a moment for them."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(1.0)

    def _work(self) -> None:
        filters = _Filters()
        while (job := self._jobs.get()) is not None:
            raw = job.raw
            if time.monotonic() >= job.deadline:
                continue  # nobody waits any more
            verdict, error = None, None
            try:
                verdict = filters.score(self._stores.of(job.recipient), raw)
            except Exception as caught:  # whatever it is, the thread must go on
                error = caught
            try:
                job.answer.get_loop().call_soon_threadsafe(_settle, job.answer, verdict, error)
            except RuntimeError:  # the loop is closed
                break
        filters.close()


def _settle(answer: asyncio.Future[Verdict], verdict: Verdict | None, error: Exception | None) -> None:
    if answer.done():
        return
    if verdict is not None:
        answer.set_result(verdict)
    else:
        answer.set_exception(error or RuntimeError("the filter gave no verdict"))


class _Filters:
    """The open filters of one thread, the one used last at the end."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, tuple[tuple[int, int], SpamFilter]] = OrderedDict()

    def score(self, path: Path, raw: bytes) -> Verdict:
        try:
            return self._filter(path).score(raw)
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
        spam_filter = SpamFilter.open(path)
        self._open[path] = file, spam_filter
        if len(self._open) > OPEN_STORES:
            self._drop(next(iter(self._open)))
        return spam_filter

    def _drop(self, path: Path) -> None:
        if path in self._open:
            self._open.pop(path)[1].close()
