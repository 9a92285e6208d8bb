"""Work on a message that ends in time, since it is done by a process that can be ended.

No limit inside a process is a hard one: a loop in compiled code may look at neither the clock nor signals.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from suffice.spam.workers import Worker, WorkerError, end_after

#: seconds that reading or scoring one message may take; the slowest known takes two
BUDGET = 20.0
#: seconds that a process may take to start
START = 60.0

T = TypeVar("T")
G = TypeVar("G")


class Bounded:
    """A process that is asked, and that is ended and replaced when an answer takes too long.

    Parameters
    ----------
    seconds : float
        How long an answer may take.
    """

    def __init__(self, seconds: float = BUDGET) -> None:
        self.seconds = seconds
        self._worker: Worker | None = None
        self._ended = threading.Event()

    def start(self, ready: Callable[[None], object] = bool) -> None:
        """Start the process, if there is none, and wait until it answers; no message is charged for that time.

        Parameters
        ----------
        ready : callable
            Called there with None: its module is loaded then.
        """
        if self._worker is not None and self._worker.is_broken:  # the system may have ended it for want of memory
            self.close()
        if self._ended.is_set():
            raise WorkerError("the process was ended")
        if self._worker is None:
            self._worker = Worker()
            if self._ended.is_set():  # meanwhile, by another thread
                self._worker.end()
            self._ask(ready, None, START)

    def ask(self, work: Callable[[G], T], given: G, seconds: float | None = None) -> T:
        """Return what a function, which is pickled, makes of something there, or raise what it raises.

        Raises
        ------
        TimeoutError
            If it takes longer; the process is ended then.
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
        """End the process, also from another thread, and start none again."""
        self._ended.set()
        worker = self._worker
        if worker is not None:
            worker.end()

    def close(self) -> None:
        """End the process; the next question starts another."""
        if self._worker is not None:
            self._worker.end()
            self._worker.close()
            self._worker = None


def forked(work: Callable[[], bytes], seconds: float) -> bytes:
    """Return what a function returns, which is called in a copy of this process; TimeoutError if it takes too long.

    For a process that has just begun, without threads and open stores, a copy is the quickest. Where there are no such
    copies, as on Windows, the function is called here, and no time limits it.
    """
    if not hasattr(os, "fork"):
        return work()
    import warnings

    source, sink = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which whoever calls this has none of
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
    """Write the answer, and end this process, which is the copy, without anything that the original would do."""
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
    raise TimeoutError(f"it was not judged within {seconds:g} seconds")
