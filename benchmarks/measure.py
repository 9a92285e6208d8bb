"""Seconds, memory and the limits of the machine."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np


def median_seconds(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the median time of a call, and what it returned last."""
    call()  # the first call pays for imports and page faults
    times, result = [], None
    for _ in range(repeats):
        result = None
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def peak_megabytes(call: Callable[[], Any]) -> float:
    """Return the most memory that a call holds at any time, its result included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def gemm_rate(size: int = 1500, repeats: int = 5) -> float:
    """Return how many floating-point operations a second a large matrix product makes, all cores together."""
    a = np.random.default_rng(0).normal(size=(size, size))
    return 2.0 * size**3 / min(median_seconds(lambda: a @ a, 1)[0] for _ in range(repeats))


def read_bandwidth(megabytes: int = 400, repeats: int = 5) -> float:
    """Return how many bytes per second are read when an array is summed, one thread a core."""
    from concurrent.futures import ThreadPoolExecutor

    from suffice._threads import threads

    parts = np.array_split(np.ones(megabytes * 125_000), threads(None))
    with ThreadPoolExecutor(len(parts)) as pool:
        seconds = min(median_seconds(lambda: sum(pool.map(np.sum, parts)), 1)[0] for _ in range(repeats))
    return sum(part.nbytes for part in parts) / seconds
