"""Bernoulli: yes or no, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, expit, logit, rel_entr

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.families.base import Distributions, Family
from suffice.families.cells import (
    dense_rows,
    in_double,
    invalid_cell,
    observed_cells,
    scaled_rows,
    weighted_counts,
    without_holes,
)
from suffice.families.products import Factor, LogParameters, log_of, log_product, product, require_rows
from suffice.priors import PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.responsibilities import Responsibilities
from suffice.statistics.sums import Sums


class Bernoulli(Family):
    """p(x | p) = p^x (1 − p)^(1−x) for x in {0, 1}, each column with its own p.

    φ(x) = x, η = log p/(1 − p), A(η) = log(1 + e^η), h(x) = 1.

    Examples
    --------
    >>> from suffice import Bernoulli
    >>> Bernoulli().fit([1, 1, 0, 1]).probability
    array([0.75])
    """

    name: ClassVar[str] = "bernoulli"

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return x, n×d."""
        return np.asarray(self.encode(x))

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return Σ log(1 + e^η)."""
        return np.logaddexp(0.0, eta).sum(-1)

    def log_base_measure(self, x: Array) -> Array:
        """Return 0 for every row."""
        return namespace(x).zeros(x.shape[0], dtype=x.dtype)

    def from_natural(self, eta: FloatArray) -> BernoulliDistributions:
        """Return p = 1 / (1 + e^−η)."""
        return BernoulliDistributions(expit(eta))

    def from_moments(self, moments: FloatArray) -> BernoulliDistributions:
        """Return p = E x."""
        return BernoulliDistributions(np.asarray(moments))

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Sums:
        """Return the weight of the ones, and of the cells that are there."""
        x = in_double(x)
        observed = self._check(x)
        count = weighted_counts(x, observed, responsibilities)
        return Sums(count, responsibilities.sums(without_holes(x, observed)))

    def _check(self, x: Array) -> Array | None:
        flags = compiled.inspect(x.data) if issparse(x) else None
        if flags == 0:
            return None
        observed = observed_cells(x, what="Bernoulli cells")
        values = x.data if issparse(x) else without_holes(x, observed)
        other = values * values != values
        if bool(namespace(values).any(other)):
            dense = x.toarray() if issparse(x) else values
            raise invalid_cell(
                dense,
                dense * dense != dense,
                "a Bernoulli cell must be 0 or 1",
                "binarise the column, or choose another family such as Gaussian or Categorical",
            )
        return observed

    def empty(self, n_classes: int, n_columns: int) -> Sums:
        """Return the statistics of no rows."""
        return Sums.empty(n_classes, n_columns)

    def estimate(self, statistics: Sums, prior: PriorSpec = "auto") -> BernoulliDistributions:
        """Return p = (ones + α) / (count + 2α); α = 0 is maximum likelihood."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        alpha = 0.0 if pseudo is None else pseudo.amount
        if pseudo is None:
            require_rows(statistics.count)
        ones = np.minimum(statistics.total, statistics.count)  # sums of shares may exceed their count by rounding
        return BernoulliDistributions((ones + alpha) / (statistics.count + 2.0 * alpha))

    def with_parameters(self, arrays: Mapping[str, Any]) -> BernoulliDistributions:
        """Return the distributions that are made of these arrays."""
        return BernoulliDistributions(**arrays)

    def log_prior(self, distributions: BernoulliDistributions, statistics: Sums, prior: PriorSpec) -> float:
        """Return α Σ log p(1 − p): a Beta prior."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        p = distributions.probability
        return 0.0 if pseudo is None else pseudo.amount * float((log_of(p) + log_of(1.0 - p)).sum())


@dataclass(frozen=True, eq=False)
class BernoulliDistributions(Distributions):
    """Bernoulli columns with their probabilities, k×d."""

    probability: FloatArray
    family: Bernoulli = field(default_factory=Bernoulli, init=False)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.probability)

    def natural_parameters(self) -> FloatArray:
        """Return the log-odds, k×d."""
        return np.asarray(logit(self.probability))

    def moment_parameters(self) -> FloatArray:
        """Return p, k×d."""
        return self.probability

    def mean(self) -> FloatArray:
        """Return p, k×d."""
        return self.probability

    def variances(self) -> FloatArray:
        """Return p(1 − p), k×d."""
        return self.probability * (1.0 - self.probability)

    def statistic_covariance(self) -> FloatArray:
        """Return the variances on a diagonal, k×d×d."""
        return self.covariances()

    def entropies(self) -> FloatArray:
        """Return −Σ (p log p + (1 − p) log(1 − p)), where p may be 0 or 1."""
        return np.asarray((entr(self.probability) + entr(1.0 - self.probability)).sum(1))

    def divergence(self, c: int, other: BernoulliDistributions, against: int) -> float:
        """Return Σ (p log p/q + (1 − p) log (1 − p)/(1 − q)), where p may be 0 or 1."""
        p, q = self.probability[c], other.probability[against]
        return float((rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)).sum())

    @property
    def n_parameters(self) -> int:
        """One probability a column and class."""
        return self.probability.size

    @cached_property
    def _logs(self) -> tuple[FloatArray, FloatArray]:
        return log_of(self.probability), log_of(1.0 - self.probability)

    @cached_property
    def _linear(self) -> tuple[Factor, FloatArray] | None:
        """The log-odds and the normaliser; None where some are infinite."""
        log_yes, log_no = self._logs
        finite = np.isfinite(log_yes).all() and np.isfinite(log_no).all()
        return (Factor(log_yes - log_no), log_no.sum(1)) if finite else None

    @cached_property
    def _apart(self) -> tuple[LogParameters, LogParameters]:
        """The logarithms of p and 1 − p, −∞ set apart."""
        return LogParameters.of(self.probability), LogParameters.of(1.0 - self.probability)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return x·η − A(η), with the normaliser of the observed columns only."""
        if self._linear is None:
            yes, no = self._yes_and_no(x)
            return log_product(yes, self._apart[0], common) + log_product(no, self._apart[1], common)
        x = in_double(x)
        log_odds, normaliser = self._linear
        observed = self.family._check(x)
        if observed is None:
            return product(x, log_odds, normaliser)
        xp, (_, log_no) = namespace(x), self._logs
        return product(without_holes(x, observed), log_odds) + xp.astype(observed, x.dtype) @ as_like(log_no, x).T

    def _yes_and_no(self, x: Array) -> tuple[Array, Array]:
        """Return the cells that are 1, and those that are 0 and there, both as indicators."""
        x = in_double(x)
        observed = self.family._check(x)
        dense = x.toarray() if issparse(x) else without_holes(x, observed)
        xp = namespace(dense)
        there = xp.ones_like(dense) if observed is None else xp.astype(observed, dense.dtype)
        return dense, there - dense

    @property
    def rules_out(self) -> bool:
        """Whether some class has only zeros or only ones in some column."""
        return self._linear is None

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return how many cells of each row are what no class ever has."""
        yes, no = self._yes_and_no(x)
        return self._apart[0].n_nowhere(yes) + self._apart[1].n_nowhere(no)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return zeros and ones."""
        p = self.probability[classes]
        return (rng.random(p.shape) < p).astype(np.float64)

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return rows with the more probable value in their missing cells."""
        rows = dense_rows(x)
        return np.where(np.isnan(rows), shares @ self.probability > 0.5, rows)

    def marginal(self, columns: IntArray) -> BernoulliDistributions:
        """Return the distributions of some of the columns."""
        return BernoulliDistributions(self.probability[:, columns])

    def standardised(self, x: Array) -> Array:
        """Return (x − p) / √(p(1 − p))."""
        p = self.probability[:1]
        return scaled_rows(x, p, np.sqrt(p * (1.0 - p)))

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x_j | a) / p(x_j | b)."""
        log_yes, log_no = self._logs
        dense = to_float64(x.toarray() if issparse(x) else x)
        terms = np.where(dense == 1.0, log_yes[a] - log_yes[b], log_no[a] - log_no[b])
        return np.where(np.isnan(dense), 0.0, terms), np.zeros(len(dense))
