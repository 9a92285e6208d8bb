"""The functions of word counts that are summed and scored, as sparse rows of float64."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from suffice._arrays import Array, FloatArray
from suffice.tables.words import Bags

#: the length of a document whose counts are scaled: it counts like this number of words of average weight 1
LENGTH = 15.0


def occurrences(x: Bags) -> Array:
    """Return how often each word occurs."""
    return _with_data(x.counts, x.counts.data.astype(np.float64))


def presence(x: Bags) -> Array:
    """Return 1 for each word that occurs."""
    return _with_data(x.counts, np.ones(x.nnz))


def scaled_logs(x: Bags) -> Array:
    """Return log (1 + count), scaled so that they sum to LENGTH in every document; unknown words count as well."""
    logs = np.log1p(x.counts.data, dtype=np.float64)
    rows = np.repeat(np.arange(len(x)), np.diff(x.counts.indptr))
    length = np.bincount(rows, weights=logs, minlength=len(x)) + np.log(2.0) * x.unknown
    scale = np.divide(LENGTH, length, out=np.zeros(len(x)), where=length > 0)
    return _with_data(x.counts, logs * scale[rows])


def _with_data(like: Array, data: FloatArray) -> Array:
    """Return other values of the same cells, without the checks and copies of SciPy's constructor."""
    made = csr_array(like.shape, dtype=np.float64)
    short = np.int32 if max(like.nnz, like.shape[1]) < 2**31 else np.int64
    made.data = data
    made.indices, made.indptr = (part.astype(short, copy=False) for part in (like.indices, like.indptr))
    return made
