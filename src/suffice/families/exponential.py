"""Exponential: waiting times, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray
from suffice.families.columnwise import SHARE_OF_ALL, ColumnwiseFamily, PseudoRows, refuse_cells, require_finite
from suffice.families.columnwise_distributions import ColumnwiseDistributions
from suffice.families.usual import POSITIVE, Domain
from suffice.statistics.sums import Sums


class Exponential(ColumnwiseFamily):
    """p(x | λ) = λ e^(−λx) for x ≥ 0, each column with its own rate λ.

    φ(x) = x, η = −λ, A(η) = −log(−η), h(x) = 1. A prior of α rows adds α to the weight of a class and α m to its sum,
    with 1/m the mean of the classes' rates: a Gamma prior.

    Examples
    --------
    >>> from suffice import Exponential
    >>> waits = Exponential().fit([0.5, 2.0, 3.5])
    >>> waits
    <Exponential with rate 0.5>
    >>> round(waits.entropy(), 4)   # 1 − log λ
    1.6931
    """

    name: ClassVar[str] = "exponential"
    usual: ClassVar[Mapping[str, Domain]] = {"rate": POSITIVE}
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    takes_zero: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    neutral: ClassVar[float] = 0.0

    @property
    def mode_offset(self) -> tuple[float, float]:
        """That of the density of λ: λ^(α − 1) e^(−αmλ)."""
        return 1.0, 0.0

    def require_support(self, x: Array) -> None:
        """Raise if a cell is negative."""
        refuse_cells(
            x,
            lambda cells: cells < 0,
            "an Exponential cell must not be negative",
            "clean that cell, or choose a family that takes negative numbers, such as Gaussian",
        )

    def phi(self, x: Array) -> tuple[Array]:
        """Return x."""
        return (x,)

    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return −log(−η)."""
        (minus_rate,) = eta
        return -np.log(-minus_rate)

    def from_natural_parts(self, *eta: FloatArray) -> ExponentialDistributions:
        """Return λ = −η."""
        return ExponentialDistributions(self, -eta[0])

    def from_moment_parts(self, *moments: FloatArray) -> ExponentialDistributions:
        """Return λ = 1 / E x; infinite if every x was 0."""
        with np.errstate(divide="ignore"):
            return ExponentialDistributions(self, 1.0 / moments[0])

    def with_parameters(self, arrays: Mapping[str, Any]) -> ExponentialDistributions:
        """Return the distributions with these parameter arrays."""
        return ExponentialDistributions(self, **arrays)

    def estimate(self, statistics: Sums, prior: Any = "auto") -> ExponentialDistributions:
        """Return λ = (count + α) / (Σx + α m); α = 0 is maximum likelihood."""
        found: ExponentialDistributions = super().estimate(statistics, prior)
        require_finite(
            found.rate, "every cell of column {of_column} is 0 in {noun} {of_class}, so that its rate is infinite"
        )
        return found

    def pseudo_rows(self, statistics: Sums, amount: float) -> PseudoRows:
        """Return rows whose mean is 1 over the mean rate, so that no class with long times dominates the others."""
        count, total = statistics.count, statistics.total
        everything = np.where(total.sum(0) > 0, total.sum(0) / np.maximum(count.sum(0), 1e-300), 1.0)
        some = total > 0
        rates = np.divide(count**2, total, out=np.zeros(total.shape), where=some).sum(0)
        weight = np.where(some, count, 0.0).sum(0)
        mean = np.divide(weight, rates, out=everything, where=rates > 0)
        return PseudoRows(np.full(mean.shape, amount), mean)

    def rows_of_components(self, rows: PseudoRows, overall: Sums, k: int) -> PseudoRows:
        """Return rows with a hundredth of the mean: enough to keep a component from collapsing, without blurring it."""
        return replace(rows, value=SHARE_OF_ALL * rows.value)


@dataclass(frozen=True, eq=False)
class ExponentialDistributions(ColumnwiseDistributions):
    """Exponential columns with their rates, k×d."""

    family: Exponential
    rate: FloatArray

    def natural_parts(self) -> tuple[FloatArray]:
        """Return −λ."""
        return (-self.rate,)

    def moment_parts(self) -> tuple[FloatArray]:
        """Return 1/λ."""
        return (1.0 / self.rate,)

    def covariance_parts(self) -> list[list[FloatArray]]:
        """Return 1/λ²."""
        return [[self.rate**-2.0]]

    def mean(self) -> FloatArray:
        """Return 1/λ, k×d."""
        return 1.0 / self.rate

    def variance(self) -> FloatArray:
        """Return 1/λ², k×d."""
        return self.rate**-2.0

    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return waiting times."""
        return rng.standard_exponential((len(classes), self.rate.shape[1])) / self.rate[classes]
