"""Gamma: positive numbers such as durations and amounts, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from suffice._arrays import Array, FloatArray, IntArray, namespace
from suffice.families.cells import dense_rows, scaled_rows
from suffice.families.columnwise import refuse_positive
from suffice.families.columnwise_distributions import LARGE_TERMS, ColumnwiseDistributions
from suffice.families.concentration import gamma_shape, log_less_digamma, trigamma
from suffice.families.spread import SpreadFamily, without_rounding
from suffice.families.usual import POSITIVE, Domain


class Gamma(SpreadFamily):
    """p(x | α, β) = β^α x^(α−1) e^(−βx) / Γ(α) for x > 0, each column with its own shape α and rate β.

    φ(x) = (log x, x), η = (α − 1, −β), A(η) = log Γ(α) − α log β, h(x) = 1. The estimate has the mean α/β of the rows,
    and log α − ψ(α) = log mean x − mean log x, which Newton's method solves. A prior of a rows averages the right side
    with that of all classes.

    Examples
    --------
    >>> from suffice import Gamma
    >>> rain = Gamma().fit([1.0, 2.0, 4.0, 5.0])
    >>> rain
    <Gamma with shape 2.991, rate 0.997>
    >>> rain.mean(), rain.variance().round(3)
    (array([3.]), array([3.009]))
    """

    name: ClassVar[str] = "gamma"
    usual: ClassVar[Mapping[str, Domain]] = {"shape": POSITIVE, "rate": POSITIVE}
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    parts: ClassVar[int] = 2

    def require_support(self, x: Array) -> None:
        """Raise if a cell is not positive."""
        refuse_positive(x, "a Gamma")

    def phi(self, x: Array) -> tuple[Array, Array]:
        """Return log x and x."""
        return namespace(x).log(x), x

    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return log Γ(α) − α log β."""
        shape, rate = eta[0] + 1.0, -eta[1]
        return np.asarray(gammaln(shape) - shape * np.log(rate))

    def from_natural_parts(self, *eta: FloatArray) -> GammaDistributions:
        """Return α = η₁ + 1 and β = −η₂."""
        return GammaDistributions(self, eta[0] + 1.0, -eta[1])

    def with_parameters(self, arrays: Mapping[str, Any]) -> GammaDistributions:
        """Return the distributions with these parameter arrays."""
        return GammaDistributions(self, **arrays)

    def location(self, *means: FloatArray) -> FloatArray:
        """Return the mean of x."""
        return means[1]

    def spread(self, *means: FloatArray) -> FloatArray:
        """Return log mean x − mean log x, about half the squared coefficient of variation."""
        return without_rounding(np.log(means[1]) - means[0], 1.0 + np.abs(means[0]))

    def from_spread(self, location: FloatArray, spread: FloatArray) -> GammaDistributions:
        """Return log α − ψ(α) = spread, and β = α / mean."""
        shape = gamma_shape(spread)
        return GammaDistributions(self, shape, shape / location)

    def unit_spread(self, location: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(location)

    def spread_normalizer(self, distributions: GammaDistributions, spread: FloatArray) -> FloatArray:
        """Return α log α − log Γ(α) − α − α s."""
        return peak(distributions.shape) - distributions.shape * spread


@dataclass(frozen=True, eq=False)
class GammaDistributions(ColumnwiseDistributions):
    """Gamma columns with their shapes and rates, k×d."""

    family: Gamma
    shape: FloatArray
    rate: FloatArray

    def natural_parts(self) -> tuple[FloatArray, FloatArray]:
        """Return α − 1 and −β."""
        return self.shape - 1.0, -self.rate

    def moment_parts(self) -> tuple[FloatArray, FloatArray]:
        """Return ψ(α) − log β, as log α/β − (log α − ψ(α)), and α/β."""
        mean = self.mean()
        return np.log(mean) - log_less_digamma(self.shape), mean

    def covariance_parts(self) -> list[list[FloatArray]]:
        """Return the variance of log x, ψ′(α), its covariance with x, 1/β, and the variance of x, α/β²."""
        return [[trigamma(self.shape), 1.0 / self.rate], [1.0 / self.rate, self.variance()]]

    def mean(self) -> FloatArray:
        """Return α/β, k×d."""
        return self.shape / self.rate

    def variance(self) -> FloatArray:
        """Return α/β², k×d."""
        return self.shape / self.rate**2

    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return positive numbers; those that underflow to 0 for tiny shapes become the smallest positive float."""
        drawn = rng.standard_gamma(self.shape[classes]) / self.rate[classes]
        return np.maximum(drawn, np.finfo(float).tiny)

    def cancels(self) -> bool:
        """Return whether the shapes are so large that the scores would cancel."""
        return bool(self.shape.max(initial=0.0) > LARGE_TERMS)

    def centred(self, x: FloatArray, c: int | IntArray) -> FloatArray:
        """Return α (log t − t + 1) + (α log α − α − log Γ(α)) − log x, with t = x / mean."""
        shape = self.shape[c]
        mean = self.mean()[c]
        off = (x - mean) / mean
        return np.asarray(shape * (log_of_ratio(off, x / mean) - off) + peak(shape) - np.log(x))

    def standardised(self, x: Array) -> Array:
        """Return (log x − E log x) / √Var log x."""
        mean = digamma(self.shape[:1]) - np.log(self.rate[:1])
        return scaled_rows(np.log(dense_rows(x)), mean, np.sqrt(trigamma(self.shape[:1])))


def log_of_ratio(off: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return log t from t − 1, which is more accurate for t near 1, or from t, which is more accurate elsewhere."""
    near = np.abs(off) < 0.5
    return np.where(near, np.log1p(np.where(near, off, 0.0)), np.log(ratio))


def peak(shape: FloatArray) -> FloatArray:
    """Return α log α − α − log Γ(α), about ½ log(α/2π), by Stirling's series where α is large."""
    large, small = np.maximum(shape, 100.0), np.minimum(shape, 100.0)
    series = 0.5 * np.log(large / (2.0 * np.pi)) - (1.0 - (1.0 - 2.0 / (7.0 * large**2)) / (30.0 * large**2)) / (
        12.0 * large
    )
    return np.where(shape > 100.0, series, xlogy(small, small) - small - gammaln(small))
