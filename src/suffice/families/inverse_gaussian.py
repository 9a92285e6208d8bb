"""InverseGaussian: positive numbers with a long tail, such as first passage times, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import exp1

from suffice._arrays import Array, FloatArray, IntArray
from suffice.families.cells import dense_rows, scaled_rows
from suffice.families.columnwise import refuse_positive
from suffice.families.columnwise_distributions import LARGE_TERMS, ColumnwiseDistributions
from suffice.families.spread import SpreadFamily, without_rounding
from suffice.families.usual import POSITIVE, Domain

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class InverseGaussian(SpreadFamily):
    """p(x | μ, λ) = √(λ / 2πx³) exp(−λ (x − μ)² / (2μ²x)) for x > 0, each column with its own mean μ and shape λ.

    φ(x) = (x, 1/x), η = (−λ/(2μ²), −λ/2), A(η) = −λ/μ − ½ log λ, log h(x) = −½ log 2π − 3/2 log x. The estimate has the
    mean of the rows, and 1/λ = mean 1/x − 1/mean x. A prior of a rows averages 1/λ with that of all classes.

    Examples
    --------
    >>> from suffice import InverseGaussian
    >>> InverseGaussian().fit([1.0, 2.0, 4.0, 5.0])
    <InverseGaussian with location 3, shape 6.486>
    """

    name: ClassVar[str] = "inverse_gaussian"
    usual: ClassVar[Mapping[str, Domain]] = {"location": POSITIVE, "shape": POSITIVE}
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    parts: ClassVar[int] = 2

    def require_support(self, x: Array) -> None:
        """Raise if a cell is not positive."""
        refuse_positive(x, "an InverseGaussian")

    def phi(self, x: Array) -> tuple[Array, Array]:
        """Return x and 1/x."""
        return x, 1.0 / x

    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return −2 √(η₁η₂) − ½ log(−2η₂)."""
        return np.asarray(-2.0 * np.sqrt(eta[0] * eta[1]) - 0.5 * np.log(-2.0 * eta[1]))

    def cell_base(self, x: FloatArray) -> FloatArray:
        """Return −½ log 2π − 3/2 log x."""
        return -_HALF_LOG_2PI - 1.5 * np.log(x)

    def from_natural_parts(self, *eta: FloatArray) -> InverseGaussianDistributions:
        """Return μ = √(η₂/η₁) and λ = −2η₂."""
        return InverseGaussianDistributions(self, np.sqrt(eta[1] / eta[0]), -2.0 * eta[1])

    def with_parameters(self, arrays: Mapping[str, Any]) -> InverseGaussianDistributions:
        """Return the distributions with these parameter arrays."""
        return InverseGaussianDistributions(self, **arrays)

    def location(self, *means: FloatArray) -> FloatArray:
        """Return the mean of x."""
        return means[0]

    def spread(self, *means: FloatArray) -> FloatArray:
        """Return mean 1/x − 1 / mean x."""
        return without_rounding(means[1] - 1.0 / means[0], means[1])

    def from_spread(self, location: FloatArray, spread: FloatArray) -> InverseGaussianDistributions:
        """Return μ and λ = 1 / spread."""
        return InverseGaussianDistributions(self, location, 1.0 / spread)

    def unit_spread(self, location: FloatArray) -> FloatArray:
        """Return 1 / mean x: the variance is the square of the mean."""
        return 1.0 / location

    def spread_normalizer(self, distributions: InverseGaussianDistributions, spread: FloatArray) -> FloatArray:
        """Return ½ log λ − ½ λ s."""
        return 0.5 * (np.log(distributions.shape) - distributions.shape * spread)


@dataclass(frozen=True, eq=False)
class InverseGaussianDistributions(ColumnwiseDistributions):
    """Inverse Gaussian columns with their means and shapes, k×d."""

    family: InverseGaussian
    location: FloatArray
    shape: FloatArray

    def natural_parts(self) -> tuple[FloatArray, FloatArray]:
        """Return −λ/(2μ²) and −λ/2."""
        return -0.5 * self.shape / self.location**2, -0.5 * self.shape

    def moment_parts(self) -> tuple[FloatArray, FloatArray]:
        """Return E x = μ and E 1/x = 1/μ + 1/λ."""
        return self.location, 1.0 / self.location + 1.0 / self.shape

    def covariance_parts(self) -> list[list[FloatArray]]:
        """Return the variance of x, μ³/λ, its covariance with 1/x, −μ/λ, and the variance of 1/x, 1/(μλ) + 2/λ²."""
        mean, shape = self.location, self.shape
        return [[mean**3 / shape, -mean / shape], [-mean / shape, 1.0 / (mean * shape) + 2.0 / shape**2]]

    def mean(self) -> FloatArray:
        """Return μ, k×d."""
        return self.location

    def variance(self) -> FloatArray:
        """Return μ³/λ, k×d."""
        return self.location**3 / self.shape

    def expected_log_base(self) -> FloatArray:
        """Return −½ log 2π − 3/2 E log x, with E log x = log μ − e^z E₁(z) for z = 2λ/μ, (k,)."""
        mean_log = np.log(self.location) - _scaled_exponential_integral(2.0 * self.shape / self.location)
        return np.asarray((-_HALF_LOG_2PI - 1.5 * mean_log).sum(1))

    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return positive numbers."""
        return rng.wald(self.location[classes], self.shape[classes])

    def cancels(self) -> bool:
        """Return whether λ/μ is so large that the scores would cancel."""
        return bool((self.shape / self.location).max(initial=0.0) > LARGE_TERMS)

    def centred(self, x: FloatArray, c: int | IntArray) -> FloatArray:
        """Return ½ log(λ / 2πx³) − λ (x − μ)² / (2μ²x)."""
        off = (x - self.location[c]) / self.location[c]
        return np.asarray(0.5 * np.log(self.shape[c]) + self.family.cell_base(x) - 0.5 * self.shape[c] * off**2 / x)

    def standardised(self, x: Array) -> Array:
        """Return log (x/μ) divided by roughly its standard deviation."""
        mean = self.location[:1]
        return scaled_rows(np.log(dense_rows(x)), np.log(mean), np.sqrt(np.log1p(mean / self.shape[:1])))


def _scaled_exponential_integral(z: FloatArray) -> FloatArray:
    """Return e^z E₁(z), by its asymptotic series where e^z is too large."""
    near = np.minimum(z, 500.0)
    far = np.maximum(z, 500.0)
    series = (1.0 - (1.0 - 2.0 * (1.0 - 3.0 * (1.0 - 4.0 / far) / far) / far) / far) / far
    return np.where(z < 500.0, np.exp(near) * exp1(near), series)
