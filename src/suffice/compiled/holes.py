"""Rows with missing cells: one by one, and in runs with the same holes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.compiled.discrete import whole_registers
from suffice.compiled.mixture import STEP_BYTES, room


def _padded_precision(precision: FloatArray) -> FloatArray:
    """Return k×d×d matrices with rows filled up to whole registers, k×d×D."""
    k, d, _ = precision.shape
    return whole_registers(precision.reshape(k * d, d)).reshape(k, d, -1)


def holes_scores(
    x: FloatArray, means: FloatArray, precision: FloatArray, log_determinant: FloatArray
) -> FloatArray | None:
    """Return −½ (log |Σ_oo| + z_oᵀ Σ_oo⁻¹ z_o) of rows with holes (NaN), over the cells that are there, n×k."""
    if compiled.library is None:
        return None
    rows, padded = np.ascontiguousarray(x, dtype=np.float64), _padded_precision(precision)
    (n, d), k, width = rows.shape, len(means), padded.shape[2]
    out, work, missing = np.empty((n, k)), np.empty(2 * width + d * d + d), np.empty(d + 1, dtype=np.int64)
    means, log_determinant = np.ascontiguousarray(means), np.ascontiguousarray(log_determinant)
    compiled.library("holes_scores", "double", rows, n, d, k, width, means, padded, log_determinant, work, missing, out)
    return out


def holes_moments(
    x: FloatArray, means: FloatArray, precision: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the expected first and second moments about the means of rows with holes (NaN), k×d and k×d×d."""
    if compiled.library is None:
        return None
    rows, padded = np.ascontiguousarray(x, dtype=np.float64), _padded_precision(precision)
    (n, d), k, width = rows.shape, len(means), padded.shape[2]
    work, missing = np.empty(2 * width + 2 * d * d + d), np.empty(d + 1, dtype=np.int64)
    first, second = np.zeros((k, width)), np.zeros((k, d, width))
    means, weights = np.ascontiguousarray(means), np.ascontiguousarray(weights)
    sums = (first, second)
    compiled.library("holes_moments", "double", rows, n, d, k, width, means, padded, weights, work, missing, *sums)
    return first[:, :d], second[:, :, :d]


def knows_patterns() -> bool:
    """Say whether there is a kernel for runs of rows with the same holes."""
    return compiled.library is not None and compiled.library.has("patterns_pass", "double")


@dataclass(frozen=True)
class PatternSums:
    """What a pass over runs of rows with the same holes gives.

    The log-likelihood; count (k,), first (k, d) and second moments ((k, d, d), or (d, d) of all classes together where
    they share a precision) about the origin; or else the scores, k×n. `rest` are the rows in no run.
    """

    log_likelihood: float
    count: FloatArray
    first: FloatArray
    second: FloatArray
    scores: FloatArray
    rest: IntArray


def patterns_pass(
    x: Array,
    origin: FloatArray,
    means: FloatArray,
    precision: FloatArray,
    constant: FloatArray,
    least: int,
    *,
    weight: FloatArray | None = None,
    given: FloatArray | None = None,
    scores: bool = False,
) -> PatternSums | None:
    """Return what one round of EM takes from rows with holes (NaN), for those in runs of at least `least` alike.

    The means, k×d, are about the origin; the precisions are k×d×d, or 1×d×d where they are shared; the constant is
    −½ log |Σ| and what else adds to a score. Rows are shared by softmax, or as `given`, n×k. With `scores` only these
    are taken, and those of other rows are left as they are. None where anything is not finite.
    """
    found = compiled._rows(x)
    if found is None or compiled.library is None or not knows_patterns():
        return None
    rows, kind, stride = found
    (n, d), k, forms = rows.shape, len(means), len(precision)
    products, pairs = (d + 1) * (d + 2) // 2, d * (d + 1) // 2
    weight, given = (None if part is None else np.ascontiguousarray(part, dtype=np.float64) for part in (weight, given))
    parameters = [np.ascontiguousarray(part, dtype=np.float64) for part in (origin, means, precision, constant)]
    scratch, wide = compiled._aligned(2 * d + k + 1, STEP_BYTES // 8, np.float64), np.empty(2 * compiled._LANES * d)
    sums, sums_of_all, moments = np.empty(room(k, products)), np.empty(room(d, d)), np.empty(k * products)
    work = np.empty((3 * forms + 3) * d * d + (k + 2) * d + forms + k + k * pairs)
    places, rest = np.empty(2 * d + 2 * products + 16, dtype=np.int64), np.empty(n, dtype=np.int64)
    out, total = np.empty((k, n)) if scores else None, np.zeros(1)
    count, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((forms, d, d))
    n_rest = compiled.library(
        "patterns_pass", "double", rows, kind == "float", stride, n, d, k, forms, least, weight, given, *parameters,
        scratch, wide, sums, sums_of_all, moments, work, places, out, count, first, second, total, rest,
    )  # fmt: skip
    if not (np.isfinite(total[0]) and np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    shared = second[0] if forms < k else second
    return PatternSums(float(total[0]), count, first, shared, np.empty((k, 0)) if out is None else out, rest[:n_rest])
