"""LogNormal: positive numbers whose logarithms are Gaussian, such as incomes and sizes, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, namespace
from suffice.families.columnwise import refuse_positive
from suffice.families.gaussian import Gaussian, GaussianDistributions
from suffice.families.transformed import TransformedDistributions, TransformedFamily
from suffice.families.usual import NUMBER, POSITIVE, Domain

_LOWEST, _HIGHEST = np.log(np.finfo(np.float64).tiny), np.log(np.finfo(np.float64).max)


class LogNormal(TransformedFamily):
    """p(x | μ, σ) = exp(−(log x − μ)² / 2σ²) / (x σ √2π) for x > 0, each column with its own location μ and scale σ.

    φ(x) = (log x, log² x), η = (μ/σ², −1/(2σ²)), A(η) = ½ μ²/σ² + log σ, h(x) = 1 / (x √2π): log x is `Gaussian`, with
    the same statistics, priors and posteriors.

    Examples
    --------
    >>> from suffice import LogNormal
    >>> incomes = LogNormal().fit([1.0, 2.0, 4.0, 8.0])
    >>> incomes
    <LogNormal with location 1.04, scale 0.775>
    >>> incomes.mean().round(3)   # exp(μ + σ²/2)
    array([3.819])
    """

    name: ClassVar[str] = "lognormal"
    usual: ClassVar[Mapping[str, Domain]] = {"location": NUMBER, "scale": POSITIVE}
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    inner: ClassVar[Gaussian] = Gaussian("diagonal")

    def require_support(self, x: Array) -> None:
        """Raise if a cell is not positive."""
        refuse_positive(x, "a LogNormal")

    def forward(self, x: Array) -> Array:
        """Return log x."""
        return namespace(x).log(x)

    def backward(self, y: FloatArray) -> FloatArray:
        """Return e^y; numbers beyond the range of floats become its ends."""
        return np.exp(np.clip(y, _LOWEST, _HIGHEST))

    def log_slope(self, x: Array) -> Array:
        """Return −log x, for d log x / dx = 1/x."""
        return -namespace(x).log(x)

    def mean_and_variance(self, of_y: GaussianDistributions) -> tuple[FloatArray, FloatArray]:
        """Return exp(μ + σ²/2) and (exp σ² − 1) exp(2μ + σ²), infinite if they are too large for a float."""
        with np.errstate(over="ignore"):
            mean = np.exp(of_y.means + 0.5 * of_y.variance())
            return mean, np.expm1(of_y.variance()) * mean**2

    def expected_log_slope(self, of_y: GaussianDistributions) -> FloatArray:
        """Return −μ."""
        return -of_y.means

    def _from_rows(self, rows: dict[str, FloatArray]) -> TransformedDistributions:
        return self.of(GaussianDistributions(self.inner, rows["location"], rows["scale"] ** 2))

    def shown(self, of_y: GaussianDistributions) -> dict[str, Any]:
        """Return the location μ and the scale σ."""
        return {"location": of_y.means, "scale": np.sqrt(of_y.variance())}
