"""Threads that are kept between calls: how many there are, and work that they share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Part = TypeVar("Part")


def threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`: all cores for None and -1; negative numbers are as in scikit-learn."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None, a positive number of threads, or negative as in joblib, not {n_jobs!r}")
    return max(1, cores + 1 + int(n_jobs)) if n_jobs < 0 else int(n_jobs)


_POOLS: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_POOLS.clear)


def pool(n_threads: int) -> ThreadPoolExecutor:
    """Return a pool of threads that is kept between passes: starting them can take longer than a small pass."""
    kept = _POOLS.get(n_threads)
    if kept is None:
        starter = _Starter(n_threads)
        starter.start()
        starter.join()
        kept = _POOLS.setdefault(n_threads, starter.pool)
    return kept


class _Starter(threading.Thread):
    """A thread that starts the threads of a pool: Ctrl-C only reaches the main thread, so no pool is half started."""

    def __init__(self, n_threads: int) -> None:
        super().__init__()
        self.pool = ThreadPoolExecutor(n_threads, thread_name_prefix="suffice")
        self._n_threads = n_threads

    def run(self) -> None:
        """Start all threads by giving each a task at the same time; threads that the system refuses are left out."""
        together = threading.Event()
        with suppress(RuntimeError):
            for _ in range(self._n_threads):
                self.pool.submit(together.wait)
        together.set()


def run_each(work: Callable[[Part], T], parts: Sequence[Part], n_threads: int) -> list[T]:
    """Return the result of `work` for each part, using up to `n_threads` threads; `work` must not wait for threads.

    The calling thread takes every part that no other thread has begun, so nothing waits for a thread to wake up.
    """
    if len(parts) == 1 or n_threads == 1:
        return [work(part) for part in parts]
    executor = pool(n_threads - 1)
    others = [executor.submit(work, part) for part in parts[1:]]
    try:
        own = {0: work(parts[0])}
        own |= {i: work(parts[i]) for i, other in enumerate(others, 1) if other.cancel()}
        return [own[i] if i in own else others[i - 1].result() for i in range(len(parts))]
    finally:  # after an error or an interrupt: cancel parts that have not begun, and wait for the others
        wait([other for other in others if not other.cancel()])
