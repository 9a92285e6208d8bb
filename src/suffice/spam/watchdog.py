"""Deadlines watched by one thread for the whole process: a thread per request would cost as much as the answer."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

#: seconds that the thread sleeps while nothing is watched
_IDLE = 3600.0
_numbers = count()
_changed = threading.Condition()
#: per operation: its deadline, a number, and the function to call then, None once it has ended
_watched: list[list[Any]] = []
_thread: threading.Thread | None = None
#: the time when the thread wakes up
_wakes = 0.0


@contextmanager
def watching(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Call a function, in another thread, if the `with` block takes longer; never after the block has ended.

    Examples
    --------
    >>> import time
    >>> from suffice.spam.watchdog import watching
    >>> late = []
    >>> with watching(0.01, lambda: late.append("late")):
    ...     time.sleep(0.2)
    >>> with watching(60.0, lambda: late.append("never")):
    ...     pass
    >>> late
    ['late']
    """
    global _thread
    entry: list[Any] = [time.monotonic() + max(0.0, seconds), next(_numbers), act]
    with _changed:
        heapq.heappush(_watched, entry)
        if _thread is None or not _thread.is_alive():  # on first use, or in a forked process
            _thread = threading.Thread(target=_watch, daemon=True, name="watchdog")
            _thread.start()
        elif entry[0] < _wakes:
            _changed.notify()
    try:
        yield
    finally:
        with _changed:  # waits for a running call
            entry[2] = None
            while _watched and _watched[0][2] is None:
                heapq.heappop(_watched)


def _watch() -> None:
    global _wakes
    with _changed:
        while True:
            now = time.monotonic()
            while _watched and (_watched[0][0] <= now or _watched[0][2] is None):
                act = heapq.heappop(_watched)[2]
                if act is not None:
                    act()
            _wakes = _watched[0][0] if _watched else now + _IDLE
            _changed.wait(_wakes - now)
