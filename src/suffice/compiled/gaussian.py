"""Moments and scores of Gaussian columns."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.compiled.signatures import CONSTANTS

_BLOCK_BYTES = 150_000  # a block of rows is centred and multiplied while it is in a core's own cache
_PACKED = CONSTANTS["PACKED_COLUMNS"]  # columns whose products with all others `quadratic_scores` sums at once


def diagonal_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre, first and second moments of each class, in one pass over the rows."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    n, d = rows.shape
    count, center, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    codes, weight = compiled._integers(codes), compiled._reals_or_none(weight)
    compiled.library("diagonal_moments", kind, rows, n, d, k, codes, weight, count, center, first, second)
    return count, center, first, second


def complete_rows(x: Array) -> IntArray | None:
    """Return the positions of the rows without missing cells (NaN); None also if a cell is infinite."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    n, d = rows.shape
    complete = np.empty(n + 1, dtype=np.int64)
    size = compiled.library("complete_rows", kind, rows, n, d, complete)
    return None if size == CONSTANTS["INFINITE"] else complete[:size]


def observed_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre, first and second moments of the observed cells (not NaN), each k×d."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    n, d = rows.shape
    count, center, first, second = np.zeros((k, d)), np.full((k, d), np.nan), np.zeros((k, d)), np.zeros((k, d))
    codes, weight = compiled._integers(codes), compiled._reals_or_none(weight)
    compiled.library("observed_moments", kind, rows, n, d, k, codes, weight, count, center, first, second)
    return count, np.where(count > 0, center, 0.0), first, second


def tied_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre and first moments of each class, and the second moments of all classes together, d×d."""
    return _dense_moments(x, codes, weight, k, grouped=False)


def full_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre, first and second moments of each class, the last k×d×d."""
    return _dense_moments(x, codes, weight, k, grouped=True)


def _dense_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int, *, grouped: bool
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return the moments: rows are centred in blocks that fit the cache, and each block, or class in it, is squared."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    n, d = rows.shape
    width = compiled._whole(d, CONSTANTS["LINE_BYTES"] // rows.itemsize)
    count, center, first = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    second = np.zeros((k if grouped else 1, width, width))
    block = _BLOCK_BYTES * (min(k, 6) if grouped else 1)
    size = min(max(block // (rows.itemsize * width), 64), max(n, 1))
    codes, weight = compiled._integers(codes), compiled._reals_or_none(weight)
    sums = (count, center, first, second)
    compiled.library("dense_moments", kind, rows, n, d, k, grouped, codes, weight, width, size, *sums)
    second = np.ascontiguousarray(second[:, :d, :d])
    return count, center, first, second if grouped else second[0]


def diagonal_scores(x: Array, means: FloatArray, variance: FloatArray, constant: FloatArray) -> FloatArray | None:
    """Return constant_c − ½ Σ_j (x_j − μ_cj)² / σ²_cj, n×k; it does not cancel, wherever the classes are."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    n, d = rows.shape
    k = len(means)
    origin = 0.5 * (means.min(axis=0) + means.max(axis=0))
    factor = np.broadcast_to(np.sqrt(0.5 / variance), means.shape)
    centred = (means - origin) * factor
    scaled = bool((np.abs(centred) < compiled._NEAR).all())
    if not scaled:
        origin, centred, factor = np.zeros(d), means, -(factor**2)
    out = np.empty((k, n))
    parameters = (compiled._reals(part) for part in (origin, centred, factor, constant))
    compiled.library("diagonal_scores", kind, rows, n, d, k, scaled, *parameters, out)
    return out.T


def diagonal_left_out(
    x: Array,
    codes: IntArray,
    means: FloatArray,
    shares: FloatArray,
    factors: FloatArray,
    constant: FloatArray,
    least: float,
) -> FloatArray | None:
    """Return −½ (constant_c + Σ_j log (1 − s_j) + factor_cj s_j/(1 − s_j)), (n,), with s_j = share_cj (x_j − μ_cj)².

    c is the class of the row. It is NaN in rows with missing cells, or where some 1 − s_j is not above `least`.
    """
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    (n, d), k = rows.shape, len(means)
    out = np.empty(n)
    parameters = (compiled._reals(part) for part in (means, shares, factors, constant, np.array([least])))
    compiled.library("diagonal_left_out", kind, rows, n, d, k, np.ascontiguousarray(codes, np.int64), *parameters, out)
    return out


def linear_scores(x: Array, origin: FloatArray, linear: FloatArray, constant: FloatArray) -> FloatArray | None:
    """Return constant_c + z·linear_c with z = x − origin, n×k."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    (n, d), k = rows.shape, len(linear)
    out = np.empty((k, n))
    parameters = (compiled._reals(part) for part in (origin, linear.T, constant))
    compiled.library("linear_scores", kind, rows, n, d, k, *parameters, out)
    return out.T


def quadratic_scores(
    x: Array, origin: FloatArray, linear: FloatArray, pairs: FloatArray, constant: FloatArray
) -> FloatArray | None:
    """Return constant_c + z·linear_c + Σ_{i≤j} z_i z_j pairs_cij with z = x − origin, n×k."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    (n, d), k = rows.shape, len(linear)
    packed = compiled._reals(np.hstack([linear, pairs, np.zeros((k, 1))])[:, _packing(d)])
    out = np.empty((k, n))
    origin, constant = compiled._reals(origin), compiled._reals(constant)
    compiled.library("quadratic_scores", kind, rows, n, d, k, origin, packed, packed.shape[1], constant, out)
    return out.T


@lru_cache(maxsize=32)
def _packing(d: int) -> IntArray:
    """Return the order in which the kernel reads the d linear coefficients, the pairs i ≤ j and a 0."""
    place = np.full((d + _PACKED, d), d + d * (d + 1) // 2)  # the position of the 0
    i, j = np.triu_indices(d)
    place[i, j] = d + np.arange(len(i))
    order: list[IntArray] = []
    for first in range(0, d, _PACKED):
        columns = np.arange(first, first + _PACKED)
        order += [np.where(columns < d, columns, place[-1, -1]), place[columns, first:].T.ravel()]
    return np.concatenate(order)
