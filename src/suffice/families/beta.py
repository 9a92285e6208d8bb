"""Beta: fractions between 0 and 1, in columns that are independent given the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln, digamma, logit

from suffice._arrays import Array, FloatArray, IntArray, namespace
from suffice.families.cells import dense_rows, scaled_rows
from suffice.families.columnwise import ColumnwiseFamily, PseudoRows, refuse_cells
from suffice.families.columnwise_distributions import LARGE_TERMS, ColumnwiseDistributions
from suffice.families.concentration import concentrations, dirichlet_spread, trigamma
from suffice.families.gamma import log_of_ratio, peak
from suffice.families.products import require_rows
from suffice.families.spread import require_spread, share_of_components, spread_rows, without_rounding
from suffice.families.usual import POSITIVE, Domain
from suffice.priors import PriorSpec
from suffice.statistics.sums import Sums

#: the least weight of a class as a share of the prior's rows; a smaller weight is raised to it
LEAST_SHARE = 1e-6
#: the spread to assume if there is none: that of a uniform distribution is 1 − log 2
UNIT_SPREAD = 0.3


class Beta(ColumnwiseFamily):
    """p(x | a, b) = x^(a−1) (1 − x)^(b−1) / B(a, b) for 0 < x < 1, each column with its own a and b.

    φ(x) = (log x, log(1 − x)), η = (a − 1, b − 1), A(η) = log B(a, b), h(x) = 1. Newton's method finds the a and b that
    have the mean logarithms of the rows. A prior of r rows concerns only the total T = a + b: its log-density is
    r (½ log T − s T), with s the spread −log(e^(mean log x) + e^(mean log(1 − x))) within the classes.

    Examples
    --------
    >>> from suffice import Beta
    >>> shares = Beta().fit([0.2, 0.4, 0.5, 0.3])
    >>> shares
    <Beta with a 6.137, b 11.41>
    >>> shares.mean().round(4)
    array([0.3497])
    """

    name: ClassVar[str] = "beta"
    usual: ClassVar[Mapping[str, Domain]] = {"a": POSITIVE, "b": POSITIVE}
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    parts: ClassVar[int] = 2
    neutral: ClassVar[float] = 0.5

    def require_support(self, x: Array) -> None:
        """Raise if a cell is not between 0 and 1."""
        refuse_cells(
            x,
            lambda cells: (cells <= 0) | (cells >= 1),
            "a Beta cell must lie between 0 and 1, and be neither",
            "divide percentages by 100, move exact zeros and ones inside, as by (x (n − 1) + ½) / n for n rows, or "
            "choose another family, such as Gaussian",
        )

    def phi(self, x: Array) -> tuple[Array, Array]:
        """Return log x and log(1 − x)."""
        xp = namespace(x)
        return xp.log(x), xp.log1p(-x)

    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return log B(a, b)."""
        return np.asarray(betaln(eta[0] + 1.0, eta[1] + 1.0))

    def from_natural_parts(self, *eta: FloatArray) -> BetaDistributions:
        """Return a = η₁ + 1 and b = η₂ + 1."""
        return BetaDistributions(self, eta[0] + 1.0, eta[1] + 1.0)

    def from_moment_parts(self, *moments: FloatArray) -> BetaDistributions:
        """Return the a and b with these E log x and E log(1 − x)."""
        return self._solved(*moments, rows=np.zeros(moments[0].shape), spread=np.zeros(moments[0].shape))

    def with_parameters(self, arrays: Mapping[str, Any]) -> BetaDistributions:
        """Return the distributions with these parameter arrays."""
        return BetaDistributions(self, **arrays)

    def _solved(self, *means: FloatArray, rows: FloatArray, spread: FloatArray) -> BetaDistributions:
        k, d = means[0].shape
        pairs = np.stack(means, axis=-1).reshape(k * d, 2)
        found = concentrations(pairs, rows.ravel(), spread.ravel()).reshape(k, d, 2)
        return BetaDistributions(self, found[..., 0], found[..., 1])

    def spread(self, *means: FloatArray) -> FloatArray:
        """Return −log(e^(mean log x) + e^(mean log(1 − x)))."""
        size = 1.0 + np.maximum(np.abs(means[0]), np.abs(means[1]))
        return without_rounding(dirichlet_spread(np.stack(means, axis=-1)), size)

    def estimate(self, statistics: Sums, prior: PriorSpec = "auto") -> BetaDistributions:
        """Return the posterior mode; without a prior, the a and b whose mean logarithms are those of the rows."""
        prior_rows = self.prior_as_rows(statistics, prior)
        means, count = self.means(statistics), statistics.count
        if prior_rows is None:
            require_rows(count)
            require_spread(self.spread(*means))
            return self.from_moment_parts(*means)
        return self._solved(
            *means,
            rows=rows_for_each(prior_rows.amount, count),
            spread=np.broadcast_to(prior_rows.value, count.shape),
        )

    def pseudo_rows(self, statistics: Sums, amount: float) -> PseudoRows:
        """Return the prior's rows, which have the spread within the classes."""
        overall = self.overall(self.split(statistics.total), statistics.count.sum(0))
        within = np.where(statistics.count > 0, self.spread(*self.means(statistics)), 0.0)
        return spread_rows(statistics.count, within, self.spread(*overall), _unit_spread(overall[0]), amount)

    def rows_of_components(self, rows: PseudoRows, overall: Sums, k: int) -> PseudoRows:
        """Return rows with a hundredth of the spread of all rows."""
        means = self.overall(self.split(overall.total), overall.count.sum(0))
        return share_of_components(rows, self.spread(*means), _unit_spread(means[0]), k)

    def log_prior(self, distributions: BetaDistributions, statistics: Sums, prior: PriorSpec) -> float:
        """Return r Σ (½ log T − s T): a Gamma prior for the total."""
        rows = self.prior_as_rows(statistics, prior)
        if rows is None:
            return 0.0
        total = distributions.a + distributions.b
        amount = np.where(np.isinf(rows.amount), 0.0, rows.amount)
        return float((amount * (0.5 * np.log(total) - rows.value * total)).sum())


def _unit_spread(means: FloatArray) -> FloatArray:
    """Return roughly the spread of a uniform distribution between 0 and 1."""
    return np.full(means.shape, UNIT_SPREAD)


def rows_for_each(amount: FloatArray, count: FloatArray) -> FloatArray:
    """Return the prior's rows per row of a class, k×d; 1 / `LEAST_SHARE` if the prior has infinitely many."""
    certain = np.isinf(amount)
    finite = np.where(certain, 1.0, amount)
    return np.where(certain, 1.0 / LEAST_SHARE, finite / np.maximum(count, LEAST_SHARE * finite))


@dataclass(frozen=True, eq=False)
class BetaDistributions(ColumnwiseDistributions):
    """Beta columns with their a and b, k×d."""

    family: Beta
    a: FloatArray
    b: FloatArray

    def natural_parts(self) -> tuple[FloatArray, FloatArray]:
        """Return a − 1 and b − 1."""
        return self.a - 1.0, self.b - 1.0

    def moment_parts(self) -> tuple[FloatArray, FloatArray]:
        """Return ψ(a) − ψ(a + b) and ψ(b) − ψ(a + b)."""
        total = digamma(self.a + self.b)
        return np.asarray(digamma(self.a) - total), np.asarray(digamma(self.b) - total)

    def covariance_parts(self) -> list[list[FloatArray]]:
        """Return ψ′(a) − ψ′(a + b), −ψ′(a + b) and ψ′(b) − ψ′(a + b)."""
        total = trigamma(self.a + self.b)
        return [[trigamma(self.a) - total, -total], [-total, trigamma(self.b) - total]]

    def mean(self) -> FloatArray:
        """Return a / (a + b), k×d."""
        return self.a / (self.a + self.b)

    def variance(self) -> FloatArray:
        """Return m (1 − m) / (a + b + 1) for the mean m, k×d."""
        total = self.a + self.b
        return self.a * self.b / (total**2 * (total + 1.0))

    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return values between 0 and 1, no nearer to 0 or 1 than floating point can represent."""
        drawn = rng.beta(self.a[classes], self.b[classes])
        return np.clip(drawn, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)

    def cancels(self) -> bool:
        """Return whether a + b is so large that the scores would cancel."""
        return bool((self.a + self.b).max(initial=0.0) > LARGE_TERMS)

    def centred(self, x: FloatArray, c: int | IntArray) -> FloatArray:
        """Return a log x/m + b log (1 − x)/(1 − m) − log x(1 − x) + the remainder of log B(a, b), with m the mean."""
        a, b = self.a[c], self.b[c]
        total, mean = a + b, self.mean()[c]
        apart = x - mean
        level = a * log_of_ratio(apart / mean, x / mean) + b * log_of_ratio(-apart * total / b, (1.0 - x) * total / b)
        # log Γ(T) − log Γ(a) − log Γ(b), each by its distance from α log α − α
        return np.asarray(level + peak(a) + peak(b) - peak(total) - np.log(x) - np.log1p(-x))

    def standardised(self, x: Array) -> Array:
        """Return the log-odds of x minus their mean, ψ(a) − ψ(b), divided by their deviation, √(ψ′(a) + ψ′(b))."""
        a, b = self.a[:1], self.b[:1]
        return scaled_rows(logit(dense_rows(x)), digamma(a) - digamma(b), np.sqrt(trigamma(a) + trigamma(b)))
