"""Seconds, memory and the limits of the machine."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


class PeakMemory:
    """Watches how far the resident memory rises above where it was."""

    def __enter__(self) -> PeakMemory:
        self._base = self._peak = resident_megabytes()
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.001):
            self._peak = max(self._peak, resident_megabytes())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._watcher.join()
        self.megabytes = max(self._peak, resident_megabytes()) - self._base


def median_seconds(call: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """Return the median time of a call, the peak of its memory in MB, and what it returned last."""
    call()  # the first call pays for imports and page faults
    times, peaks, result = [], [], None
    for _ in range(repeats):
        result = None
        with PeakMemory() as peak:
            start = time.perf_counter()
            result = call()
            times.append(time.perf_counter() - start)
        peaks.append(peak.megabytes)
    return statistics.median(times), statistics.median(peaks), result


def gemm_rate(size: int = 1500, repeats: int = 5) -> float:
    """Return how many floating-point operations a second a large matrix product makes, all cores together."""
    a = np.random.default_rng(0).normal(size=(size, size))
    seconds, _, _ = median_seconds(lambda: a @ a, repeats)
    return 2.0 * size**3 / seconds


def read_bandwidth(megabytes: int = 400, repeats: int = 5) -> float:
    """Return how many bytes a second are read when an array is summed, one thread a core."""
    from concurrent.futures import ThreadPoolExecutor

    from suffice.engines.base import threads

    parts = np.array_split(np.ones(megabytes * 125_000), threads(None))
    with ThreadPoolExecutor(len(parts)) as pool:
        seconds, _, _ = median_seconds(lambda: sum(pool.map(np.sum, parts)), repeats)
    return sum(part.nbytes for part in parts) / seconds
