"""Agglomerative clustering by the likelihood of Gaussian clusters."""

from __future__ import annotations

import numpy as np

from suffice import compiled
from suffice._arrays import FloatArray, IntArray


def merge_clusters(count: FloatArray, means: FloatArray, criterion: int, alpha: float) -> IntArray | None:
    """Return the two clusters of each merge, in order, (n − 1)×2; see `suffice.mixtures.agglomeration`."""
    if compiled.library is None:
        return None
    n, d = means.shape
    merged = np.empty((max(n - 1, 0), 2), dtype=np.int64)
    count, means = compiled._reals(count), compiled._reals(means)
    compiled.library("merge_clusters", "double", count, means, n, d, criterion, np.array([alpha]), merged)
    return merged
