"""The softmax of scores, and the most probable class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray


def posterior(scores: Array, log_prior: FloatArray, out: NDArray[Any] | None = None) -> FloatArray | None:
    """Return softmax(scores + log_prior) over the classes, n×k; None if some row has no finite maximum.

    The result is written to `out` if that is an array of its shape and type.
    """
    return _of_scores("posterior", scores, log_prior, scores.shape, np.float64, out)


def most_probable(scores: Array, log_prior: FloatArray, out: NDArray[Any] | None = None) -> IntArray | None:
    """Return the class with the largest scores + log_prior, (n,); `out` and None as in `posterior`."""
    return _of_scores("most_probable", scores, log_prior, scores.shape[:1], np.int64, out)


def _of_scores(name: str, scores: Array, log_prior: FloatArray, shape: Any, dtype: Any, out: Any) -> Any:
    if compiled.library is None or not isinstance(scores, np.ndarray) or scores.dtype != np.float64:
        return None
    n, k = scores.shape
    if out is None or out.shape != shape or out.dtype != dtype or not (out.flags.carray and out.flags.writeable):
        out = np.empty(shape, dtype=dtype)
    if not scores.flags.aligned or any(step % 8 for step in scores.strides):
        scores = compiled._contiguous(scores)
    return None if compiled.library(name, "double", scores, n, k, compiled._reals(log_prior), out) else out
