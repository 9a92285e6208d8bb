"""Agglomerative clustering by the likelihood of Gaussian clusters."""

from __future__ import annotations

import numpy as np

from suffice import compiled
from suffice._arrays import FloatArray, IntArray

_GROUP = 8  # clusters whose mergers are computed side by side, as in kernels_merge.h


def merge_clusters(count: FloatArray, means: FloatArray, criterion: int, alpha: float) -> IntArray | None:
    """Return which two clusters become one, merger by merger, (n − 1)×2; see `suffice.agglomeration`."""
    if compiled.library is None:
        return None
    n, d = means.shape
    pairs = d * (d + 1) // 2
    work = np.empty(3 * n + (d + pairs) * (n + _GROUP))
    gain, least = np.empty(n * (n - 1) // 2, dtype=np.float32), np.empty(n, dtype=np.float32)
    places, merged = np.empty(2 * n, dtype=np.int64), np.empty((max(n - 1, 0), 2), dtype=np.int64)
    count, means = (np.ascontiguousarray(array, dtype=np.float64) for array in (count, means))
    compiled.library(
        "merge_clusters", "double", count, means, n, d, criterion, np.array([alpha]), work, gain, least, places, merged,
    )  # fmt: skip
    return merged
