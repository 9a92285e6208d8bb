"""Poisson: counts of events, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.families.base import Distributions, Family
from suffice.families.cells import (
    in_double,
    observed_cells,
    require_not_negative,
    scaled_rows,
    weighted_counts,
    without_holes,
)
from suffice.families.products import LogParameters, log_of, log_product, require_rows
from suffice.priors import PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.responsibilities import Responsibilities
from suffice.statistics.sums import Sums

#: from this rate on, four terms of the entropy's series in 1/λ are exact
_LARGE_RATE = 1e4


class Poisson(Family):
    """p(x | λ) = λ^x e^−λ / x!, each column with its own rate λ.

    φ(x) = x, η = log λ, A(η) = e^η, h(x) = 1/x!.

    Examples
    --------
    >>> from suffice import Poisson
    >>> Poisson().fit([0, 3, 1, 2], sample_weight=[1, 1, 0, 0]).rate
    array([1.5])
    """

    name: ClassVar[str] = "poisson"

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return x, n×d."""
        return np.asarray(self.encode(x))

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return Σ e^η."""
        return np.exp(eta).sum(-1)

    def log_base_measure(self, x: Array) -> Array:
        """Return −Σ log x!, over the cells that are there."""
        return log_factorials(x)

    def from_natural(self, eta: FloatArray) -> PoissonDistributions:
        """Return λ = e^η."""
        return PoissonDistributions(np.exp(eta))

    def from_moments(self, moments: FloatArray) -> PoissonDistributions:
        """Return λ = E x."""
        return PoissonDistributions(np.asarray(moments))

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Sums:
        """Return the sum of the counts, and the weight of the cells that are there."""
        x = in_double(x)
        observed = observed_cells(x, what="Poisson counts")
        require_not_negative(x, "a Poisson count must not be negative")
        count = weighted_counts(x, observed, responsibilities)
        return Sums(count, responsibilities.sums(without_holes(x, observed)))

    def empty(self, n_classes: int, n_columns: int) -> Sums:
        """Return the statistics of no rows."""
        return Sums.empty(n_classes, n_columns)

    def estimate(self, statistics: Sums, prior: PriorSpec = "auto") -> PoissonDistributions:
        """Return λ = (Σx + α m) / (count + α), m the smoothed mean of all classes; α = 0 is maximum likelihood."""
        count, total = statistics.count, statistics.total
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        if pseudo is None:
            require_rows(count)
            return PoissonDistributions(total / count)
        return PoissonDistributions((total + pseudo.amount * overall_rate(statistics)) / (count + pseudo.amount))

    def with_parameters(self, arrays: Mapping[str, Any]) -> PoissonDistributions:
        """Return the distributions that are made of these arrays."""
        return PoissonDistributions(**arrays)

    def log_prior(self, distributions: PoissonDistributions, statistics: Sums, prior: PriorSpec) -> float:
        """Return α Σ (m log λ − λ): a Gamma prior."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        rate = distributions.rate
        return 0.0 if pseudo is None else pseudo.amount * float((overall_rate(statistics) * log_of(rate) - rate).sum())


def overall_rate(statistics: Sums) -> FloatArray:
    """Return the smoothed mean of each column over all classes."""
    return (statistics.total.sum(0) + 0.5) / (statistics.count.sum(0) + 1.0)


@dataclass(frozen=True, eq=False)
class PoissonDistributions(Distributions):
    """Poisson columns with their rates, k×d."""

    rate: FloatArray
    family: Poisson = field(default_factory=Poisson, init=False)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.rate)

    @property
    def n_parameters(self) -> int:
        """One rate a column and class."""
        return self.rate.size

    @cached_property
    def _logs(self) -> LogParameters:
        return LogParameters.of(self.rate)

    def natural_parameters(self) -> FloatArray:
        """Return log λ, k×d."""
        return log_of(self.rate)

    def moment_parameters(self) -> FloatArray:
        """Return λ, k×d."""
        return self.rate

    def mean(self) -> FloatArray:
        """Return λ, k×d."""
        return self.rate

    def variances(self) -> FloatArray:
        """Return λ, k×d."""
        return self.rate

    def statistic_covariance(self) -> FloatArray:
        """Return λ on a diagonal, k×d×d."""
        return self.covariances()

    def entropies(self) -> FloatArray:
        """Return the sums of the entropies of the columns, (k,)."""
        return poisson_entropy(self.rate).sum(1)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return x·log λ − λ, and −log x! if asked for what all classes share."""
        x = in_double(x)
        require_not_negative(x, "a Poisson count must not be negative")
        xp = namespace(x)
        observed = observed_cells(x, what="Poisson counts")
        filled = without_holes(x, observed)
        scores = log_product(filled, self._logs, common)
        if observed is None:
            scores = scores - as_like(self.rate.sum(1), scores)
        else:
            scores = scores - xp.astype(observed, x.dtype) @ as_like(self.rate, x).T
        return scores + self.family.log_base_measure(x)[:, None] if common else scores

    @property
    def rules_out(self) -> bool:
        """Whether the counts of some class are always 0."""
        return self._logs.impossible is not None

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return the counts of each row in columns that are always 0."""
        x = in_double(x)
        return self._logs.n_nowhere(without_holes(x, observed_cells(x, what="Poisson counts")))

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return counts."""
        return rng.poisson(self.rate[classes]).astype(np.float64)

    def marginal(self, columns: IntArray) -> PoissonDistributions:
        """Return the distributions of some of the columns."""
        return PoissonDistributions(self.rate[:, columns])

    def standardised(self, x: Array) -> Array:
        """Return (x − λ) / √λ."""
        return scaled_rows(x, self.rate[:1], np.sqrt(self.rate[:1]))

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return x_j (log λ_aj − log λ_bj) − (λ_aj − λ_bj)."""
        dense = to_float64(x.toarray() if issparse(x) else x)
        log_rate = log_of(self.rate)
        with np.errstate(invalid="ignore"):
            terms = np.where(dense > 0, dense * (log_rate[a] - log_rate[b]), 0.0) - (self.rate[a] - self.rate[b])
        return np.where(np.isnan(dense), 0.0, terms), np.zeros(len(dense))


def poisson_entropy(rate: FloatArray) -> FloatArray:
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
