"""Counts and scores of categories, and of sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray


def count_codes(
    codes: Array, sizes: IntArray, labels: IntArray, weight: FloatArray | None, k: int
) -> FloatArray | None:
    """Return how often each value of each column occurs in each class, k×p."""
    if compiled.library is None or not isinstance(codes, np.ndarray) or codes.dtype not in compiled._CODES:
        return None
    n, d = codes.shape
    width = int(sizes.sum())
    total = np.zeros((k, width))
    steps = (step // codes.itemsize for step in codes.strides)
    sizes = np.ascontiguousarray(sizes, dtype=np.int64)
    compiled.library(
        "count_codes", compiled._CODES[codes.dtype], codes, *steps, n, d, sizes, labels, weight, width, total
    )
    return total


def whole_registers(table: FloatArray) -> FloatArray:
    """Return a copy whose rows are filled up with zeros to whole registers, each row on cache lines of its own."""
    rows, k = table.shape
    filled = compiled._aligned(rows, -(-k // compiled._LANES) * compiled._LANES, np.float64)
    filled[:, :k] = table
    filled[:, k:] = 0.0
    return filled


def score_codes(codes: Array, sizes: IntArray, tables: FloatArray, k: int) -> FloatArray | None:
    """Return Σ_j table_j[code], n×k.

    Each column's table has a row a value, one for unseen and one for missing values; they lie one below the other, in
    whole registers.
    """
    if compiled.library is None or not isinstance(codes, np.ndarray) or codes.dtype not in compiled._CODES:
        return None
    n, d = codes.shape
    width = tables.shape[1]
    out, sums = np.empty((n, k)), np.empty(width)
    steps = (step // codes.itemsize for step in codes.strides)
    sizes = np.ascontiguousarray(sizes, dtype=np.int64)
    compiled.library(
        "score_codes", compiled._CODES[codes.dtype], codes, *steps, n, d, k, width, sizes, tables, sums, out
    )
    return out


def _sparse(x: Array) -> tuple[IntArray, IntArray, NDArray[Any], str] | None:
    if compiled.library is None or x.format != "csr" or x.dtype not in compiled._REALS or x.nnz >= 2**31:
        return None
    # SciPy uses 32 bits wherever they suffice
    indptr, indices = (np.ascontiguousarray(part, dtype=np.int32) for part in (x.indptr, x.indices))
    return indptr, indices, x.data, compiled._REALS[x.dtype]  # type: ignore[return-value]


def inspect(data: NDArray[Any]) -> int | None:
    """Return what is wrong with the cells of a sparse chunk: a sum of NOT_FINITE, NEGATIVE and NOT_BINARY."""
    if compiled.library is None or data.dtype not in compiled._REALS:
        return None
    return compiled.library("inspect", compiled._REALS[data.dtype], np.ascontiguousarray(data), len(data))


def sparse_sums(x: Array, codes: IntArray, weight: FloatArray | None, k: int) -> FloatArray | None:
    """Return Rᵀ x of a CSR chunk with hard labels, k×d."""
    found = _sparse(x)
    if found is None or compiled.library is None:
        return None
    indptr, indices, data, kind = found
    total = np.zeros((k, x.shape[1]))
    compiled.library("sparse_sums", kind, indptr, indices, data, x.shape[0], x.shape[1], codes, weight, total)
    return total


def sparse_scores(x: Array, table: FloatArray, k: int, constant: FloatArray | None = None) -> FloatArray | None:
    """Return x · table + constant of a CSR chunk, n×k; the table is d×k in whole registers."""
    found = _sparse(x)
    if found is None or compiled.library is None:
        return None
    indptr, indices, data, kind = found
    n, width = x.shape[0], table.shape[1]
    out, sums = np.empty((n, k)), np.empty(width)
    constant = np.zeros(k) if constant is None else np.ascontiguousarray(constant)
    compiled.library("sparse_scores", kind, indptr, indices, data, n, k, width, table, constant, sums, out)
    return out
