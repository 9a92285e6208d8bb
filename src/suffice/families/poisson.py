"""Poisson: counts of events, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, to_float64
from suffice.families.cells import (
    require_not_negative,
)
from suffice.families.columnwise import ColumnwiseFamily
from suffice.families.columnwise_distributions import ColumnwiseDistributions
from suffice.families.products import log_of
from suffice.families.usual import POSITIVE, Domain

#: from this rate on, four terms of the entropy's series in 1/λ are exact to rounding error
_LARGE_RATE = 1e4


class Poisson(ColumnwiseFamily):
    """p(x | λ) = λ^x e^−λ / x!, each column with its own rate λ.

    φ(x) = x, η = log λ, A(η) = e^η, h(x) = 1/x!. A prior of α rows holds the smoothed mean of all classes: a Gamma
    prior.

    Examples
    --------
    >>> from suffice import Poisson
    >>> Poisson().fit([0, 3, 1, 2], sample_weight=[1, 1, 0, 0]).rate
    array([1.5])
    """

    name: ClassVar[str] = "poisson"
    usual: ClassVar[Mapping[str, Domain]] = {"rate": POSITIVE}
    takes_zero: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    neutral: ClassVar[float] = 0.0
    cells: ClassVar[str] = "Poisson counts"

    @property
    def mode_offset(self) -> tuple[float, float]:
        """That of the density of λ: λ^(αm − 1) e^(−αλ)."""
        return 0.0, 1.0

    def require_support(self, x: Array) -> None:
        """Raise if a cell is negative."""
        require_not_negative(x, "a Poisson count must not be negative")

    def phi(self, x: Array) -> tuple[Array]:
        """Return x."""
        return (x,)

    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return e^η."""
        return np.exp(eta[0])

    def cell_base(self, x: FloatArray) -> FloatArray:
        """Return −log x!."""
        return -np.asarray(gammaln(x + 1.0))

    def from_natural_parts(self, *eta: FloatArray) -> PoissonDistributions:
        """Return λ = e^η."""
        return PoissonDistributions(self, np.exp(eta[0]))

    def from_moment_parts(self, *moments: FloatArray) -> PoissonDistributions:
        """Return λ = E x."""
        return PoissonDistributions(self, np.asarray(moments[0]))

    def with_parameters(self, arrays: Mapping[str, Any]) -> PoissonDistributions:
        """Return the distributions with these parameter arrays."""
        return PoissonDistributions(self, **arrays)


@dataclass(frozen=True, eq=False)
class PoissonDistributions(ColumnwiseDistributions):
    """Poisson columns with their rates, k×d."""

    family: Poisson
    rate: FloatArray

    def natural_parts(self) -> tuple[FloatArray]:
        """Return log λ; −∞ if every count was 0."""
        return (log_of(self.rate),)

    def moment_parts(self) -> tuple[FloatArray]:
        """Return λ."""
        return (self.rate,)

    def covariance_parts(self) -> list[list[FloatArray]]:
        """Return λ."""
        return [[self.rate]]

    def mean(self) -> FloatArray:
        """Return λ, k×d."""
        return self.rate

    def variance(self) -> FloatArray:
        """Return λ, k×d."""
        return self.rate

    def entropy(self) -> FloatArray:
        """Return the sums of the entropies of the columns, (k,)."""
        return _poisson_entropy(self.rate).sum(1)

    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return counts."""
        return rng.poisson(self.rate[classes]).astype(np.float64)


def _poisson_entropy(rate: FloatArray) -> FloatArray:
    """Return −Σ p log p over all counts that matter; for large λ the series ½ log 2πeλ − 1/12λ − 1/24λ² − 19/360λ³."""
    entropy = np.empty(rate.shape)
    for place, mean in np.ndenumerate(rate):
        if mean >= _LARGE_RATE:
            series = (1.0 + (0.5 + 19.0 / (30.0 * mean)) / mean) / (12.0 * mean)
            entropy[place] = 0.5 * np.log(2.0 * np.pi * np.e * mean) - series
        else:
            counts = np.arange(mean + 12.0 * np.sqrt(mean) + 40.0)
            logs = xlogy(counts, mean) - mean - gammaln(counts + 1.0)
            p = np.exp(logs)
            entropy[place] = -(p[p > 0] @ logs[p > 0])
    return entropy


def log_factorials(x: Array) -> Array:
    """Return −Σ_j log x_j!, (n,); a missing cell adds nothing."""
    if issparse(x):
        logs = x.copy()
        logs.data = gammaln(x.data + 1.0)
        return -np.asarray(logs.sum(axis=1)).ravel()
    return -as_like(np.nansum(gammaln(to_float64(x) + 1.0), axis=1), x)
