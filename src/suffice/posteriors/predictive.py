"""The common base of predictive distributions: averages over an exponential family, which are not one themselves."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln

from suffice._arrays import Array, FloatArray, issparse, to_float64
from suffice.families.base import Distributions
from suffice.families.cells import scaled_rows

#: up to this count, summing a few logarithms costs less than log Γ
_SMALL_COUNT = 12


class Predictive(Distributions):
    """p(x | statistics) = ∫ p(x | θ) p(θ | statistics) dθ, one distribution per class."""

    def natural_parameters(self) -> FloatArray:
        """Raise TypeError: an average over an exponential family is not an exponential family."""
        raise TypeError(f"{type(self).__name__} is not an exponential family, so it has no natural parameters")

    def moment_parameters(self) -> FloatArray:
        """Raise TypeError: an average over an exponential family is not an exponential family."""
        raise TypeError(f"{type(self).__name__} is not an exponential family, so it has no moment parameters")

    def statistic_covariance(self) -> FloatArray:
        """Raise TypeError: an average over an exponential family is not an exponential family."""
        raise TypeError(f"{type(self).__name__} is not an exponential family, so it has no sufficient statistics")

    def standardised(self, x: Array) -> Array:
        """Return (x − mean) / standard deviation of the first class, divided by 1 where that is not finite."""
        deviation = np.sqrt(self.variance()[:1])
        return scaled_rows(x, self.mean()[:1], np.where(np.isfinite(deviation), deviation, 1.0))


def log_rising(x: Array, a: FloatArray, rate: FloatArray | None = None) -> FloatArray:
    """Return Σ_j log Γ(a_cj + x_j)/Γ(a_cj) − x_j rate_cj, n×k, over the observed cells; zeros add nothing."""
    if issparse(x):
        cells = x.tocoo()
        rows, columns, values = cells.row, cells.col, to_float64(cells.data)
    else:
        dense = to_float64(x)
        rows, columns = np.nonzero(dense)  # NaN counts as nonzero
        values = dense[rows, columns]
    terms = log_rising_cells(values, a, columns, rate)
    terms[:, np.isnan(values)] = 0.0
    # without any cell, bincount returns whole numbers
    sums = [np.bincount(rows, weights=of_class, minlength=x.shape[0]) for of_class in terms]
    return np.stack(sums, axis=1).astype(np.float64, copy=False)


def log_rising_cells(values: FloatArray, a: FloatArray, columns: Array, rate: FloatArray | None = None) -> FloatArray:
    """Return log Γ(a_cj + x)/Γ(a_cj) − x rate_cj for each cell x of column j, k×cells."""
    terms = np.empty((len(a), len(values)))
    others = np.flatnonzero((values > _SMALL_COUNT) | (values % 1.0 != 0.0))  # fractions, NaN
    terms[:, others] = gamma_ratio(a[:, columns[others]], values[others])
    for count in range(1, _SMALL_COUNT + 1):  # Γ(a + x)/Γ(a) = a (a + 1) … (a + x − 1)
        cells = np.flatnonzero(values == count)
        if len(cells):
            own = a[:, columns[cells]]
            terms[:, cells] = sum(np.log(own + step) for step in range(count))
    return terms if rate is None else terms - values * rate[:, columns]


def gamma_ratio(a: FloatArray, x: FloatArray) -> FloatArray:
    """Return log Γ(a + x)/Γ(a) for x ≥ 0, by the Beta function: the two log Γ of a large a would cancel."""
    there = np.where(x == 0, 1.0, x)
    return np.where(x == 0, 0.0, gammaln(there) - betaln(a, there))
