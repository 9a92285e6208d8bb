"""Scoring outside the event loop: a few processes, each with its own filters, and a time limit per message."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from suffice.spam.bounded import START
from suffice.spam.connected import StoreError
from suffice.spam.serving.process import Done, Process, settling
from suffice.spam.serving.scoring import Judged, Lesson, Request, judge, learn, ready
from suffice.spam.serving.stores import Stores
from suffice.spam.verdict import Verdict

#: fraction of the time limit that scoring itself may take, so that messages that waited for a slow one are still in
#: time
SHARE = 0.5
#: seconds for which a user's own store is not used after it took too long
REST = 60.0
#: seconds between attempts to start a process, when the system is out of memory or processes
_AGAIN = 1.0


class _Job:
    """A job for a message: the function, the request, the time limit, and the callback."""

    def __init__(self, work: Callable[[Request], Any], request: Request, timeout: float, done: Done) -> None:
        self.work, self.request, self.timeout = work, request, timeout
        self.deadline = time.monotonic() + timeout
        self.timer: asyncio.TimerHandle | None = None
        self._done: Done | None = done

    def settle(self, result: Any, error: Exception | None) -> None:
        """Call the callback, once."""
        done, self._done = self._done, None
        if self.timer is not None:
            self.timer.cancel()
        if done is not None:
            done(result, error)


class Scorer:
    """A pool of processes that score and learn messages; a process that takes too long is killed and replaced.

    Messages wait in order of arrival. A user's own store is untrusted, since the user may have put anything there. So
    each is used by one process at a time, and if scoring with it takes too long, it is not used for a minute.

    Parameters
    ----------
    stores : Stores
        Finds the store for a message. A store that does not exist is not created.
    workers : int
        Number of processes.
    patience : float
        How many seconds a process waits for a locked store.
    """

    def __init__(self, stores: Stores, workers: int = 2, *, patience: float = 5.0) -> None:
        self.stores, self.workers, self.patience = stores, workers, patience
        self._shared, self._trusted = str(stores.shared), str(stores.trusted)
        self._waiting: deque[_Job] = deque()
        self._busy: set[str] = set()
        self._resting: dict[str, float] = {}
        self._processes: set[Process] = set()
        self._idle: list[Process] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def start(self) -> None:
        """Start the processes, and wait until all of them answer."""
        await asyncio.gather(*(self._add() for _ in range(self.workers)))

    async def score(self, raw: bytes, recipient: bytes = b"", *, timeout: float, reasons: int = 20) -> Verdict:
        """Return the verdict on a message, or raise the error that prevented it, such as TimeoutError.

        Parameters
        ----------
        raw, recipient : bytes
            The message, and its recipient.
        timeout : float
            How many seconds to wait.
        reasons : int
            Number of strongest tokens in the verdict's evidence.
        """
        answer: asyncio.Future[Judged] = asyncio.get_running_loop().create_future()
        self.judge(raw, recipient, timeout=timeout, reasons=reasons, done=settling(answer))
        return (await answer).verdict

    def judge(self, raw: bytes, recipient: bytes, *, timeout: float, reasons: int, done: Done) -> None:
        """Pass the verdict and the points of a message to the callback `done`; parameters as in `score`."""
        self._submit(_Job(judge, self._request(raw, recipient, reasons=reasons), timeout, done))

    async def learn(self, raw: bytes, lesson: Lesson, recipient: bytes = b"", *, timeout: float) -> bool:
        """Learn or forget a message, and return whether anything changed; parameters as in `score`."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._submit(_Job(learn, self._request(raw, recipient, lesson=lesson), timeout, settling(answer)))
        return await answer

    async def reload(self) -> None:
        """Replace the processes one by one, each after its current answer, so that stores are opened again."""
        for process in [*self._processes]:
            await self._add(instead=process)

    async def close(self) -> None:
        """End the processes."""
        self._is_closed = True
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for job in [*self._waiting]:
            self._give_up(job)
        for process in self._processes:
            process.end()
        while any(process.is_connected for process in self._processes):
            await asyncio.sleep(0)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _request(self, raw: bytes, recipient: bytes, *, reasons: int = 0, lesson: Lesson | None = None) -> Request:
        own = self.stores.own(recipient)
        return Request(
            raw, self._shared, None if own is None else str(own), self._trusted, reasons=reasons, lesson=lesson
        )

    def _submit(self, job: _Job) -> None:
        self._waiting.append(job)
        self._dispatch()
        if job in self._waiting:
            job.timer = asyncio.get_running_loop().call_later(job.timeout, self._give_up, job)

    def _give_up(self, job: _Job) -> None:
        """Cancel a job that waited too long."""
        if job in self._waiting:
            self._waiting.remove(job)
        job.settle(None, _late(job))

    def _dispatch(self) -> None:
        """Give jobs to idle processes, but for each user's own store only one at a time."""
        while self._idle and (job := self._next()) is not None:
            own = job.request.own
            if own is not None:
                self._busy.add(own)
            self._begin(self._idle.pop(), job)

    def _next(self) -> _Job | None:
        for place, job in enumerate(self._waiting):
            if job.request.own is None or job.request.own not in self._busy:
                del self._waiting[place]
                return job
        return None

    def _begin(self, process: Process, job: _Job) -> None:
        begun, own = time.monotonic(), job.request.own
        done = partial(self._finished, process, job, begun)
        left = min(job.deadline - begun, SHARE * job.timeout)
        if left <= 0.0:
            done(None, TimeoutError("a message waited too long to be scored"))
            return
        if own is not None and begun < self._resting.get(own, -math.inf):
            done(None, StoreError(f"the store {own!r} took too long, and is not used for {REST:g} seconds"))
            return
        # shorter than the time limit, so that a locked store gives an error before the process must be killed
        request = job.request._replace(patience=min(self.patience, 0.8 * left))
        process.ask(job.work, request, left, done)

    def _finished(self, process: Process, job: _Job, begun: float, result: Any, error: Exception | None) -> None:
        own = job.request.own
        if own is not None:
            self._busy.discard(own)
            # a job that started late because others were slow is not the store's fault
            if error is not None and time.monotonic() - begun >= 0.5 * SHARE * job.timeout:
                self._resting[own] = time.monotonic() + REST
        if process not in self._processes:  # it has been replaced
            process.end()
        elif process.is_running:
            self._idle.append(process)
        job.settle(result, _late(job) if isinstance(error, TimeoutError) else error)
        self._dispatch()

    async def _add(self, instead: Process | None = None) -> None:
        """Start a process, retrying until it succeeds; end it at once if it is no longer needed."""
        while not self._is_closed:
            process = Process(self._ended)
            with suppress(OSError, TimeoutError):
                await process.start(ready, START)
                if instead in self._processes:
                    self._processes.discard(instead)
                    if instead in self._idle:
                        self._idle.remove(instead)
                        instead.end()
                if len(self._processes) >= self.workers:
                    process.end()
                    return
                self._processes.add(process)
                self._idle.append(process)
                self._dispatch()
                return
            await asyncio.sleep(_AGAIN)

    def _ended(self, process: Process) -> None:
        """Replace a process that has ended."""
        if process in self._idle:
            self._idle.remove(process)
        if process in self._processes and not self._is_closed:
            self._processes.discard(process)
            self._keep(self._add())

    def _keep(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _late(job: _Job) -> TimeoutError:
    share = f"{job.timeout:g} seconds in all, of which scoring may take {SHARE:.0%}"
    return TimeoutError(f"a message was not scored in time: {share}")
