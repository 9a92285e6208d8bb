"""Rows with missing cells: one by one, and in runs with the same missing cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.compiled.discrete import whole_registers


def _padded_precision(precision: FloatArray) -> FloatArray:
    """Return k×d×d matrices with rows padded to whole registers, k×d×D."""
    k, d, _ = precision.shape
    return whole_registers(precision.reshape(k * d, d)).reshape(k, d, -1)


def missing_scores(
    x: FloatArray, means: FloatArray, precision: FloatArray, log_determinant: FloatArray
) -> FloatArray | None:
    """Return −½ (log |Σ_oo| + z_oᵀ Σ_oo⁻¹ z_o) over the observed cells of rows with missing ones (NaN), n×k."""
    if compiled.library is None:
        return None
    rows, padded = compiled._reals(x), _padded_precision(precision)
    (n, d), k, width = rows.shape, len(means), padded.shape[2]
    out = np.empty((n, k))
    means, log_determinant = compiled._reals(means), compiled._reals(log_determinant)
    compiled.library("missing_scores", "double", rows, n, d, k, width, means, padded, log_determinant, out)
    return out


def missing_moments(
    x: FloatArray, means: FloatArray, precision: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the expected first and second moments about the means of rows with missing cells (NaN), k×d and k×d×d."""
    if compiled.library is None:
        return None
    rows, padded = compiled._reals(x), _padded_precision(precision)
    (n, d), k, width = rows.shape, len(means), padded.shape[2]
    first, second = np.zeros((k, width)), np.zeros((k, d, width))
    means, weights = compiled._reals(means), compiled._reals(weights)
    compiled.library("missing_moments", "double", rows, n, d, k, width, means, padded, weights, first, second)
    return first[:, :d], second[:, :, :d]


@dataclass(frozen=True)
class PatternSums:
    """The result of a pass over runs of rows with the same missing cells.

    The log-likelihood; count (k,), first (k, d) and second moments ((k, d, d), or (d, d) of all classes together if
    they share a precision) about the origin; or else the scores, k×n. `rest` are the rows outside runs.
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
    """Return the sums of one EM iteration over rows with missing cells (NaN), for runs of at least `least` rows.

    The means, k×d, are relative to the origin; the precisions are k×d×d, or 1×d×d if they are shared; the constant is
    −½ log |Σ| plus any other term of a score. Responsibilities are the softmax of the scores, or `given`, n×k. With
    `scores` only scores are computed, and those of rows outside runs are left unset. None if anything is not finite.
    """
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, _ = found
    (n, d), k, forms = rows.shape, len(means), len(precision)
    weight, given = compiled._reals_or_none(weight), compiled._reals_or_none(given)
    parameters = [compiled._reals(part) for part in (origin, means, precision, constant)]
    out, total, rest = np.empty((k, n)) if scores else None, np.zeros(1), np.empty(n, dtype=np.int64)
    sums = count, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((forms, d, d))
    n_rest = compiled.library(
        "patterns_pass", "double", rows, n, d, k, forms, least, weight, given, *parameters, out, *sums, total, rest
    )
    if not (np.isfinite(total[0]) and np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    shared = second[0] if forms < k else second
    return PatternSums(float(total[0]), count, first, shared, np.empty((k, 0)) if out is None else out, rest[:n_rest])
