"""Counts and scores of categories and of sparse rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.compiled.boundary import OutOfRangeError, aligned


def count_codes(
    codes: Array, sizes: IntArray, labels: IntArray, weight: FloatArray | None, k: int
) -> FloatArray | None:
    """Return the weight of each value of each column in each class, k×p."""
    if compiled.library is None or not isinstance(codes, np.ndarray) or codes.dtype not in compiled._CODES:
        return None
    n, d = codes.shape
    sizes, labels, weight = compiled._integers(sizes), compiled._integers(labels), compiled._reals_or_none(weight)
    width = int(sizes.sum())
    total = np.zeros((k, width))
    kind = compiled._CODES[codes.dtype]
    compiled.library("count_codes", kind, _cells(codes), n, d, k, sizes, labels, weight, width, total)
    return total


def _cells(codes: NDArray[Any]) -> NDArray[Any]:
    """Return codes that can be read cell by cell, in any memory order."""
    whole = codes.flags.aligned and not any(step % codes.itemsize for step in codes.strides)
    return codes if whole else compiled._contiguous(codes)


def whole_registers(table: FloatArray) -> FloatArray:
    """Return a copy whose rows are padded with zeros to whole registers, aligned to cache lines."""
    rows, k = table.shape
    filled = aligned((rows, compiled._whole(k)), np.float64)
    filled[:, :k] = table
    filled[:, k:] = 0.0
    return filled


def score_codes(codes: Array, sizes: IntArray, tables: FloatArray, k: int) -> FloatArray | None:
    """Return Σ_j table_j[code], n×k.

    Each column's table has one row per value, one for unseen and one for missing values; the tables are concatenated,
    with rows padded to whole registers.
    """
    if compiled.library is None or not isinstance(codes, np.ndarray) or codes.dtype not in compiled._CODES:
        return None
    (n, d), (height, width) = codes.shape, tables.shape
    out = np.empty((n, k))
    kind, sizes = compiled._CODES[codes.dtype], compiled._integers(sizes)
    compiled.library("score_codes", kind, _cells(codes), n, d, k, width, height, sizes, tables, out)
    return out


def _sparse(name: str, x: Array, k: int, *values: Any) -> bool:
    """Call a kernel over the rows of a CSR chunk; return False if there is none for it."""
    if compiled.library is None or x.format != "csr" or x.dtype not in compiled._REALS or x.nnz >= 2**31:
        return False
    (n, d), size = x.shape, min(len(x.indices), len(x.data))
    try:
        if x.indptr.shape != (n + 1,):
            raise OutOfRangeError(f"indptr has {x.indptr.shape} entries")
        indices = compiled._contiguous(x.indices)[:size]
        wide = indices.dtype == np.int64 and sys.byteorder == "little"
        indices = indices.view(np.int32) if wide else _short(indices)
        parts = _short(x.indptr), int(wide), indices, compiled._contiguous(x.data)[:size]
        compiled.library(name, compiled._REALS[x.dtype], *parts, size, n, d, k, *values)
    except OutOfRangeError as error:
        raise ValueError(
            f"a CSR matrix of {d} columns must have column indices from 0 to {d - 1}, and indptr must rise from 0 to "
            f"at most {size}, its number of stored cells, but one does not; check it by X.check_format()"
        ) from error
    return True


def _short(indices: IntArray) -> NDArray[np.int32]:
    """Return indices in 32 bits, which SciPy also uses if they suffice."""
    if indices.dtype.itemsize > 4 and indices.size and not 0 <= indices.min() <= indices.max() < 2**31:
        raise OutOfRangeError("an index needs more than 31 bits")
    return compiled._contiguous(indices, np.int32)


def inspect(data: NDArray[Any]) -> int | None:
    """Return the flags of the cells of a sparse chunk: a sum of NOT_FINITE, NEGATIVE and NOT_BINARY."""
    if compiled.library is None or data.dtype not in compiled._REALS:
        return None
    return compiled.library("inspect", compiled._REALS[data.dtype], compiled._contiguous(data), len(data))


def sparse_sums(x: Array, codes: IntArray, weight: FloatArray | None, k: int) -> FloatArray | None:
    """Return Rᵀ x of a CSR chunk with hard labels, k×d."""
    total = np.zeros((k, x.shape[1]))
    done = _sparse("sparse_sums", x, k, compiled._integers(codes), compiled._reals_or_none(weight), total)
    return total if done else None


def sparse_scores(x: Array, table: FloatArray, k: int, constant: FloatArray | None = None) -> FloatArray | None:
    """Return x · table + constant of a CSR chunk, n×k; the table is d×k, padded to whole registers."""
    out = np.empty((x.shape[0], k))
    constant = np.zeros(k) if constant is None else compiled._reals(constant)
    return out if _sparse("sparse_scores", x, k, table.shape[1], table, constant, out) else None
