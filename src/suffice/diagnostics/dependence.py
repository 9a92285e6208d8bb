"""The dependence between columns given the class, for numbers and categories.

Every column is turned into residuals with mean 0 in a class: (x − μ)/σ for numbers, and (1[x = v] − p_v)/√p_v per value
v of a categorical column. The squared mean products, summed over the residuals of two columns, are φ²: the squared
correlation of two numeric columns, χ²/n of two categorical ones, the correlation ratio of one of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from suffice._arrays import FloatArray, IntArray

#: the largest number of distinct values of a categorical column; rarer ones are merged into one
_MOST_VALUES = 20


@dataclass(frozen=True)
class Residuals:
    """The residuals of one class: the columns of `values`, 0 where missing; the i-th belongs to column `column[i]`."""

    values: FloatArray
    column: IntArray
    observed: FloatArray
    freedom: FloatArray


def residuals(columns: list[FloatArray | IntArray]) -> Residuals:
    """Return the residuals of the rows of a class; floats are numbers, integers are codes (negative if missing)."""
    parts, owner, observed, freedom = [], [], [], []
    for j, cells in enumerate(columns):
        if cells.dtype.kind == "f":
            there = ~np.isnan(cells)
            part = _standardised(np.asarray(cells, dtype=np.float64), there)[:, None]
        else:
            there = cells >= 0
            part = _indicators(np.asarray(cells, dtype=np.intp), there)
        parts.append(part)
        owner += [j] * part.shape[1]
        observed.append(there.astype(np.float64))
        freedom.append(1.0 if cells.dtype.kind == "f" else max(part.shape[1] - 1.0, 0.0))
    return Residuals(
        np.concatenate(parts, axis=1), np.array(owner, dtype=np.intp), np.stack(observed, axis=1), np.array(freedom)
    )


def _standardised(cells: FloatArray, there: NDArray[np.bool_]) -> FloatArray:
    values = cells[there]
    scale = values.std() if len(values) else 0.0
    if scale <= 1e-12 * np.abs(values).max(initial=0.0):
        return np.zeros(len(cells))
    return np.where(there, (cells - values.mean()) / scale, 0.0)


def _indicators(codes: IntArray, there: NDArray[np.bool_]) -> FloatArray:
    counts = np.bincount(codes[there]) if there.any() else np.zeros(1)
    common = np.argsort(-counts, kind="stable")[:_MOST_VALUES]
    common = common[counts[common] > 0]
    place = np.full(len(counts), len(common))
    place[common] = np.arange(len(common))
    merged = np.where(there, place[np.where(there, codes, 0)], -1)
    k = int(merged.max(initial=0)) + 1
    ones = (merged[:, None] == np.arange(k)).astype(np.float64)
    p = ones.sum(0) / max(there.sum(), 1)
    return np.where(there[:, None], (ones - p) / np.sqrt(np.maximum(p, 1e-300)), 0.0)


@dataclass(frozen=True)
class Dependence:
    """The dependence of all pairs of columns within the classes, each array d×d."""

    #: φ² less its expectation by chance, over the degrees of freedom, in 0 … 1: squared correlation or Cramér's V²
    strength: FloatArray
    #: the mutual information in nats, −½ m log(1 − V²)
    nats: FloatArray
    p: FloatArray
    #: the correlation if both columns are numeric, else NaN
    correlation: FloatArray


def _by_column(products: FloatArray, column: IntArray) -> FloatArray:
    """Return the sums over the residuals of each pair of columns, d×d; the residuals of a column are adjacent."""
    first = np.flatnonzero(np.diff(column, prepend=-1))
    if len(first) == len(column):
        return products
    return np.asarray(np.add.reduceat(np.add.reduceat(products, first, axis=0), first, axis=1))


def dependence(classes: list[Residuals], numbers: list[bool]) -> Dependence:
    """Return the dependence of all pairs of columns within the classes, averaged over the rows."""
    d = len(numbers)
    statistic, freedom, rows = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    excess, smaller, signed = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    for one in classes:
        n = one.observed.T @ one.observed
        each = n[np.ix_(one.column, one.column)]
        products = np.divide(one.values.T @ one.values, each, out=np.zeros_like(each), where=each > 0)
        phi = _by_column(products**2, one.column)
        pair = np.outer(one.freedom, one.freedom)
        statistic += n * phi
        freedom += pair
        rows += n
        excess += np.maximum(n * phi - pair, 0.0)
        smaller += n * np.minimum(one.freedom[:, None], one.freedom[None, :])
        signed += n * _by_column(products, one.column)
    least = np.divide(smaller, rows, out=np.ones((d, d)), where=rows > 0)
    strength = np.divide(excess, smaller, out=np.zeros((d, d)), where=smaller > 0)
    both = np.outer(numbers, numbers)
    correlation = np.where(both, np.divide(signed, rows, out=np.zeros((d, d)), where=rows > 0), np.nan)
    nats = -0.5 * least * np.log1p(-np.minimum(strength, 1.0 - 1e-12))
    return Dependence(np.minimum(strength, 1.0), nats, stats.chi2.sf(statistic, np.maximum(freedom, 1.0)), correlation)
