"""Work on a message with a hard time limit: it runs in a process that can be killed.

No limit inside a process is hard: a loop in compiled code may check neither the clock nor signals.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from suffice.spam.workers import Worker, WorkerError, end_after

#: limit in seconds for reading or scoring one message; the slowest known message takes two
BUDGET = 20.0
#: limit in seconds for a process to start
START = 60.0

T = TypeVar("T")
G = TypeVar("G")


class Bounded:
    """A worker process that answers requests, and is killed and replaced if an answer takes too long.

    Parameters
    ----------
    seconds : float
        Time limit of an answer.
    """

    def __init__(self, seconds: float = BUDGET) -> None:
        self.seconds = seconds
        self._worker: Worker | None = None
        self._ended = threading.Event()

    def start(self, ready: Callable[[None], object] = bool) -> None:
        """Start the process if there is none, and wait until it answers; this time does not count for any message.

        Parameters
        ----------
        ready : callable
            Called in the process with None, so that its module is imported there.
        """
        if self._worker is not None and self._worker.is_broken:  # the system may have killed it when memory ran out
            self.close()
        if self._ended.is_set():
            raise WorkerError("the process was stopped")
        if self._worker is None:
            self._worker = Worker()
            if self._ended.is_set():  # another thread called `end` meanwhile
                self._worker.end()
            self._ask(ready, None, START)

    def ask(self, work: Callable[[G], T], given: G, seconds: float | None = None) -> T:
        """Return the result of a pickled function, called in the process, or raise what it raises.

        Raises
        ------
        TimeoutError
            If it takes longer than the limit; the process is then killed.
        WorkerError
            If the process ends on its own.
        """
        self.start()
        return self._ask(work, given, self.seconds if seconds is None else seconds)

    def _ask(self, work: Callable[[G], T], given: G, seconds: float) -> T:
        assert self._worker is not None
        try:
            answer: T = self._worker.ask(work, given, seconds)
        except BaseException:
            if self._worker.is_broken:
                self.close()
            raise
        return answer

    def end(self) -> None:
        """End the process, also from another thread, and never start another."""
        self._ended.set()
        worker = self._worker
        if worker is not None:
            worker.end()

    def close(self) -> None:
        """End the process; the next request starts another."""
        if self._worker is not None:
            self._worker.end()
            self._worker.close()
            self._worker = None


def forked(work: Callable[[], bytes], seconds: float) -> bytes:
    """Return the result of a function called in a fork of this process; raise TimeoutError if it takes too long.

    For a process that has just started, without threads and open stores, a fork is fastest. Where there is no fork, as
    on Windows, the function is called in this process, without a time limit.
    """
    if not hasattr(os, "fork"):
        return work()
    import warnings

    source, sink = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads: callers of this function have none
        child = os.fork()
    if child == 0:
        _answer(work, sink, seconds)
    os.close(sink)
    try:
        return _received(source, seconds)
    except BaseException:
        os.kill(child, 9)
        raise
    finally:
        os.close(source)
        os.waitpid(child, 0)


def _answer(work: Callable[[], bytes], sink: int, seconds: float) -> Any:
    """Write the answer and exit this forked process at once, without the parent's clean-up."""
    try:
        end_after(seconds)
        answer = work()
        while answer:
            answer = answer[os.write(sink, answer) :]
    finally:
        os._exit(0)


def _received(source: int, seconds: float) -> bytes:
    import select
    import time

    deadline = time.monotonic() + seconds
    pieces: list[bytes] = []
    while select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(source, 1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    raise TimeoutError(f"it was not classified within {seconds:g} seconds")
