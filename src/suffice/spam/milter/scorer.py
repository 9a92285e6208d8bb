"""Scoring off the event loop: a few processes with filters of their own, and a time after which none goes on."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from contextlib import suppress
from pathlib import Path

from suffice.spam.bounded import START, Bounded
from suffice.spam.connected import StoreError
from suffice.spam.milter.jobs import Job, Jobs
from suffice.spam.milter.scoring import Request, ready, score
from suffice.spam.milter.stores import Stores
from suffice.spam.verdict import Verdict

#: the share of the time for a verdict that a process may take for it: messages that waited for a slow one are in time
SHARE = 0.5
#: seconds for which a user's own store is left alone after it took too long
REST = 60.0


class Scorer:
    """Scores messages in processes, each of which is ended and replaced when a verdict takes too long.

    A store that is someone's own may be anything that this user made of it. So each has one process at a time, and when
    the time for a verdict is over, the store is left alone for a minute.

    Parameters
    ----------
    stores : Stores
        Which store to use. One that is not there is not made.
    workers : int
        How many processes there are.
    patience : float
        How many seconds a process waits for a store that is locked.
    """

    def __init__(self, stores: Stores, workers: int = 2, *, patience: float = 5.0) -> None:
        self._stores = stores
        self._patience = patience
        self._jobs = Jobs()
        self._resting: dict[Path, float] = {}
        # daemons, so that one that hangs does not keep the process from ending
        self._ready = [threading.Event() for _ in range(workers)]
        self._threads = [threading.Thread(target=self._work, args=(event,), daemon=True) for event in self._ready]
        for thread in self._threads:
            thread.start()

    def wait(self, seconds: float = START) -> bool:
        """Wait until all processes have started, and return whether they have."""
        return all(event.wait(seconds) for event in self._ready)

    async def score(self, raw: bytes, recipient: bytes = b"", *, timeout: float) -> Verdict:
        """Return the verdict about a message, or raise what kept it from being scored, TimeoutError included."""
        answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        job = Job(raw, recipient, self._stores.own(recipient), timeout, answer)
        self._jobs.put(job)
        try:
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            raise TimeoutError(
                f"a message was not scored in time: {timeout:g} seconds in all, of which scoring may take {SHARE:.0%}"
            ) from None
        finally:
            self._jobs.give_up(job)

    def close(self) -> None:
        """Let the processes end, and wait a moment for them."""
        self._jobs.close()
        for thread in self._threads:
            thread.join(2.0)

    def _work(self, is_ready: threading.Event) -> None:
        """Ask a process about one message after the other."""
        process = Bounded()
        # messages wait in the queue while a process starts, so that the start of one is never taken for a slow message
        while self._started(process, is_ready) and (job := self._jobs.take()) is not None:
            verdict, error = None, None
            try:
                verdict = self._score(process, job)
            except Exception as caught:  # whatever it is, the thread must go on
                error = caught
            self._jobs.end(job)
            try:
                job.answer.get_loop().call_soon_threadsafe(_settle, job.answer, verdict, error)
            except RuntimeError:  # the loop is closed
                break
        process.close()

    def _started(self, process: Bounded, is_ready: threading.Event) -> bool:
        """Start a process if there is none, however often that takes; return whether messages may be taken."""
        while not self._jobs.is_closed:
            with suppress(OSError):
                process.start(ready)
                is_ready.set()
                return True
            time.sleep(1.0)  # a system without memory or processes
        return True

    def _score(self, process: Bounded, job: Job) -> Verdict:
        begun = time.monotonic()
        if job.is_late:
            raise TimeoutError("a message waited too long for its turn")
        path = self._stores.of(job.recipient)
        trusted = self._stores.trusted if path == job.own else None
        left = min(job.deadline - begun, SHARE * job.timeout)
        # a store that is locked is told by an error before the process has to be ended
        request = Request(job.raw, path, trusted, min(self._patience, 0.8 * left))
        if path != job.own:
            return process.ask(score, request, left)
        if begun < self._resting.get(path, -math.inf):
            raise StoreError(f"the store {str(path)!r} took too long, and is left alone for {REST:g} seconds")
        try:
            return process.ask(score, request, left)
        except Exception:
            # one that was begun too late, because others were slow, is not to blame
            if time.monotonic() - begun >= 0.5 * SHARE * job.timeout:
                self._resting[path] = time.monotonic() + REST
            raise


def _settle(answer: asyncio.Future[Verdict], verdict: Verdict | None, error: Exception | None) -> None:
    if answer.done():
        return
    if verdict is not None:
        answer.set_result(verdict)
    else:
        answer.set_exception(error or RuntimeError("the filter gave no verdict"))
