"""Gaussian rows with missing values: the marginal of observed cells, the conditional expectation of missing ones.

With Λ = Σ⁻¹ and z the deviations from the mean, 0 where a cell is missing (m) and known elsewhere (o),

    A = Λ_mm,   g = (Λ z)_m,   E[z_m | z_o] = −A⁻¹ g,   Cov[z_m | z_o] = A⁻¹
    z_oᵀ Σ_oo⁻¹ z_o = zᵀ Λ z − gᵀ A⁻¹ g,   log |Σ_oo| = log |Σ| + log |A|

so a row costs a product with Λ and an inverse whose size is the number of its missing cells, and rows with equally many
missing cells are processed together, whatever their patterns. That loses digits if Σ is nearly singular; then the rows
of one pattern at a time are processed with the Cholesky factor of Σ_oo. The compiled kernels do the former, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray
from suffice.families.gaussian.quadratic import LOG_2PI
from suffice.statistics.moments import FullMoments

#: condition number of the correlations above which Λ is unreliable
_ILL_CONDITIONED = 1e7
#: from this many rows per pattern on, one factor per pattern costs less than one per row
_ROWS_A_PATTERN = 50
#: inverses up to this size are computed for all rows at once
_SMALL = 8


@dataclass(frozen=True)
class Group:
    """Rows with equally many missing cells: the row numbers, and the columns that each row misses, n×m."""

    rows: IntArray
    missing: IntArray


@dataclass(frozen=True)
class Pattern:
    """Rows with the same missing cells: the row numbers, the observed columns and the missing columns."""

    rows: IntArray
    there: IntArray
    missing: IntArray


def _groups_of(there: NDArray[np.bool_]) -> list[Group]:
    """Return the rows grouped by their number of missing cells; complete rows are left out."""
    n_missing = (~there).sum(1)
    order = np.argsort(there, axis=1, kind="stable")  # missing columns first, in order
    return [
        Group(rows, order[rows, :m])
        for m in np.unique(n_missing[n_missing > 0]).tolist()
        for rows in [np.flatnonzero(n_missing == m)]
    ]


def patterns_of(there: NDArray[np.bool_]) -> list[Pattern]:
    """Return the rows grouped by their pattern of missing cells; complete rows are a pattern too."""
    packed = np.packbits(there, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(len(first) + 1))
    return [
        Pattern(order[bounds[i] : bounds[i + 1]], np.flatnonzero(there[row]), np.flatnonzero(~there[row]))
        for i, row in enumerate(first)
    ]


@dataclass(frozen=True)
class Conditioned:
    """One Gaussian conditioned on the observed cells of each row.

    `deviation` is E[x | x_o] − μ, n×d; `squared` and `log_determinant` are those of the marginal, (n,); an item of
    `spread` has rows that miss the same columns, or equally many, with these columns and the conditional covariance.
    """

    deviation: FloatArray
    squared: FloatArray
    log_determinant: FloatArray
    spread: list[tuple[IntArray, IntArray, FloatArray]]

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return x − μ with the missing cells drawn at random, n×d."""
        drawn = self.deviation.copy()
        for rows, columns, covariance in self.spread:
            z = rng.standard_normal((len(rows), columns.shape[1], 1))
            drawn[rows[:, None], columns] += (_roots(covariance) @ z)[:, :, 0]
        return drawn


class MissingByRow:
    """The rows of a chunk with missing cells, on which one Gaussian after the other is conditioned."""

    def __init__(self, x: FloatArray, there: NDArray[np.bool_]) -> None:
        self.x = x
        self.there = there
        self.n_there = there.sum(1)
        self._patterns: list[Pattern] | None = None
        self._groups: list[Group] | None = None

    @property
    def patterns(self) -> list[Pattern]:
        """The rows grouped by their pattern of missing cells."""
        if self._patterns is None:
            self._patterns = patterns_of(self.there)
        return self._patterns

    @property
    def groups(self) -> list[Group]:
        """The rows grouped by their number of missing cells."""
        if self._groups is None:
            self._groups = _groups_of(self.there)
        return self._groups

    def condition(self, mean: FloatArray, covariance: FloatArray, whitener: FloatArray) -> Conditioned:
        """Return the Gaussian with this mean, covariance and L⁻¹, conditioned on the observed cells of each row."""
        z = np.where(self.there, self.x - mean, 0.0)
        if len(self.patterns) * _ROWS_A_PATTERN <= len(self.x) or ill_conditioned(covariance):
            return self._by_pattern(z, covariance)
        return self._by_count(z, whitener)

    def _by_count(self, z: FloatArray, whitener: FloatArray) -> Conditioned:
        precision = whitener.T @ whitener
        product = z @ precision
        squared = np.einsum("ij,ij->i", z, product)
        log_determinant = np.full(len(z), -2.0 * float(np.log(np.diagonal(whitener)).sum()))
        spread = []
        for group in self.groups:
            rows, columns = group.rows, group.missing
            inverse, log_pivots = _inverses(precision[columns[:, :, None], columns[:, None, :]])
            g = product[rows[:, None], columns]
            expected = -np.einsum("nij,nj->ni", inverse, g)
            squared[rows] += (g * expected).sum(1)
            log_determinant[rows] += log_pivots
            z[rows[:, None], columns] = expected
            spread.append((rows, columns, inverse))
        return Conditioned(z, np.maximum(squared, 0.0), log_determinant, spread)

    def _by_pattern(self, z: FloatArray, covariance: FloatArray) -> Conditioned:
        squared, log_determinant = np.zeros(len(z)), np.zeros(len(z))
        spread = []
        for pattern in self.patterns:
            rows, there, missing = pattern.rows, pattern.there, pattern.missing
            if len(there):
                factor = np.linalg.cholesky(covariance[np.ix_(there, there)])
                whitener = np.linalg.solve(factor, np.eye(len(there)))
                white = z[np.ix_(rows, there)] @ whitener.T
                squared[rows] = (white * white).sum(1)
                log_determinant[rows] = 2.0 * np.log(np.diagonal(factor)).sum()
                across = covariance[np.ix_(missing, there)] @ whitener.T
                z[np.ix_(rows, missing)] = white @ across.T
                left = covariance[np.ix_(missing, missing)] - across @ across.T
            else:
                left = covariance
            if len(missing):
                spread.append((rows, np.broadcast_to(missing, (1, len(missing))), left[None]))
        return Conditioned(z, squared, log_determinant, spread)

    def log_density(self, found: Conditioned) -> FloatArray:
        """Return the log-density of the observed cells of each row, (n,)."""
        return -0.5 * (self.n_there * LOG_2PI + found.log_determinant + found.squared)


def expected_moments(found: Conditioned, weight: FloatArray, mean: FloatArray) -> FullMoments:
    """Return the expected moments of weighted rows about the mean, for one class."""
    z = found.deviation
    weighted = z * weight[:, None]
    second = weighted.T @ z
    d = z.shape[1]
    for rows, columns, covariance in found.spread:
        if len(covariance) == 1:  # the same for all rows
            second[np.ix_(columns[0], columns[0])] += weight[rows].sum() * covariance[0]
            continue
        places = (columns[:, :, None] * d + columns[:, None, :]).ravel()
        amounts = (covariance * weight[rows, None, None]).ravel()
        second += np.bincount(places, weights=amounts, minlength=d * d).reshape(d, d)
    return FullMoments(np.array([[weight.sum()]]), mean[None], weighted.sum(0)[None], second[None])


def _roots(matrices: FloatArray) -> FloatArray:
    """Return L with L Lᵀ = Σ, n×m×m; by eigenvalues if rounding error leaves a matrix without a Cholesky factor."""
    try:
        return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrices)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :], dtype=np.float64)


def ill_conditioned(covariance: FloatArray) -> bool:
    """Return whether the correlation matrix is so close to singular that its inverse is unreliable."""
    scale = np.sqrt(np.diagonal(covariance))
    correlation = covariance / np.outer(scale, scale)
    return bool(np.linalg.cond(correlation) > _ILL_CONDITIONED)


def _inverses(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverses of positive definite matrices, n×m×m, and the logarithms of their determinants."""
    m = matrices.shape[1]
    if m > _SMALL:
        inverse = np.asarray(np.linalg.inv(matrices), dtype=np.float64)
        return inverse, np.asarray(np.linalg.slogdet(matrices)[1], dtype=np.float64)
    work = np.ascontiguousarray(np.moveaxis(matrices, 0, 2))
    logs = np.zeros(len(matrices))
    for i in _sweeps(work):
        logs += np.log(i)
    return np.moveaxis(work, 2, 0), logs


def _sweeps(work: FloatArray) -> Iterator[FloatArray]:
    """Invert matrices m×m×n in place by Gauss–Jordan elimination, all n at once, and yield the pivots."""
    m = len(work)
    for p in range(m):
        pivot = work[p, p].copy()
        yield pivot
        row = work[p] / pivot
        column = work[:, p].copy()
        for i in range(m):
            if i != p:
                work[i] -= column[i] * row
                work[i, p] = -column[i] / pivot
        work[p] = row
        work[p, p] = 1.0 / pivot
