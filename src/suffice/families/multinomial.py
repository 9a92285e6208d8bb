"""Multinomial: a bag of counts over all the columns of the block, such as the word counts of a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, to_float64
from suffice.families.base import Distributions, Family
from suffice.families.cells import dense_rows, in_double, invalid_cell, observed_cells, require_not_negative
from suffice.families.left_out import LeftOut, Refitted
from suffice.families.poisson import log_factorials
from suffice.families.products import LogParameters, log_of, log_product, require_rows
from suffice.families.usual import NOT_NEGATIVE, SHARE, Domain, as_row, require_names, require_sum_of_1
from suffice.families.words_left_out import PositionsLeftOut
from suffice.priors import CountAtMode, PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.responsibilities import Responsibilities
from suffice.statistics.sums import Sums


class Multinomial(Family):
    """p(x | p) = N! / Πx_j! · Π p_j^x_j: N draws with probabilities p, the total N being given.

    φ(x) = x, η = log p, h(x) = N!/Πx_j!; A(η) = log Σ e^η for one draw, and N times that for a bag of N.

    Entropy, divergence, natural and moment parameters are those of one draw. Mean, variance and covariance are those of
    a bag of the mean size N, taken as given: N p, N p (1 − p). `sample` draws the size of each bag too, from a Poisson
    distribution with mean N, so that its counts vary more, by N p.

    Examples
    --------
    >>> from suffice import Multinomial
    >>> Multinomial().fit([[2, 1, 1], [0, 3, 1]]).probability
    array([0.25, 0.5 , 0.25])
    """

    name: ClassVar[str] = "multinomial"
    usual: ClassVar[Mapping[str, Domain]] = {"probability": SHARE}

    @property
    def columnwise(self) -> bool:
        """False: the counts of a bag share its total, so none may be missing."""
        return False

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return x, n×d."""
        return np.asarray(self.encode(x))

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return log Σ e^η, the normaliser of one draw."""
        return np.asarray(logsumexp(eta, axis=-1))

    def log_base_measure(self, x: Array) -> Array:
        """Return log N! − Σ log x!."""
        return as_like(gammaln(_totals(x) + 1.0), x) + log_factorials(x)

    def from_natural(self, eta: FloatArray) -> MultinomialDistributions:
        """Return p = softmax(η)."""
        p = np.exp(eta - logsumexp(eta, axis=1, keepdims=True))
        return MultinomialDistributions(p, np.ones(len(p)))

    def from_moments(self, moments: FloatArray) -> MultinomialDistributions:
        """Return p in proportion to E x."""
        totals = moments.sum(1)
        return MultinomialDistributions(moments / totals[:, None], totals)

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Sums:
        """Return the sum of the bags, and the weight of the rows."""
        x = in_double(x)
        self._check(x)
        return Sums(responsibilities.totals()[:, None], responsibilities.sums(x))

    def _check(self, x: Array) -> None:
        flags = compiled.inspect(x.data) if issparse(x) else None
        if flags is not None and not flags & (compiled.NOT_FINITE | compiled.NEGATIVE):
            return
        observed = observed_cells(x, what="the counts of a bag")
        if observed is not None:
            raise invalid_cell(
                x,
                ~observed,
                "the counts of a bag must not be missing",
                "write 0 for a word that does not occur, or drop the row",
            )
        require_not_negative(x, "the counts of a Multinomial must not be negative")

    def empty(self, n_classes: int, n_columns: int) -> Sums:
        """Return the statistics of zero rows."""
        return Sums.empty(n_classes, 1, n_columns)

    def estimate(self, statistics: Sums, prior: PriorSpec = "auto") -> MultinomialDistributions:
        """Return p_j = (Σx_j + α) / Σ(Σx + α); α = 0 is maximum likelihood."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        total = statistics.total
        if pseudo is None:
            require_rows(total.sum(1, keepdims=True))
        smoothed = total + (0.0 if pseudo is None else pseudo.amount)
        smoothed = np.where(smoothed.sum(1, keepdims=True) > 0, smoothed, 1.0)  # no words, and none from the prior
        rows = np.maximum(statistics.count[:, 0], np.finfo(float).tiny)
        return MultinomialDistributions(smoothed / smoothed.sum(1, keepdims=True), total.sum(1) / rows)

    def left_out(self, statistics: Sums, prior: PriorSpec, distributions: MultinomialDistributions) -> LeftOut:
        """Return the scores of rows by the estimates without each of them."""
        pseudo, total = resolve_prior(prior, PseudoCount, PseudoCount(1.0)), statistics.total
        ones = np.ones(total.shape[1])
        before = ones * (0.0 if pseudo is None else pseudo.amount)
        refitted = Refitted(self, statistics, distributions, lambda left: self.estimate(left, prior))
        return PositionsLeftOut(total, before, ones, distributions, in_double, self.log_base_measure, refitted)

    def with_parameters(self, arrays: Mapping[str, Any]) -> MultinomialDistributions:
        """Return the distributions with these parameter arrays."""
        return MultinomialDistributions(**arrays)

    @classmethod
    def _of_usual(cls, given: dict[str, Any]) -> MultinomialDistributions:
        require_names(cls.__name__, given, ["probability"], ["mean_size"])
        p = as_row(cls.__name__, "probability", given["probability"], SHARE)
        require_sum_of_1(p, f"the probabilities of a {cls.__name__}")
        size = as_row(cls.__name__, "mean_size", given.get("mean_size", 1.0), NOT_NEGATIVE)
        if len(size) != 1:
            raise ValueError(f"the mean_size of a {cls.__name__} must be a number, but is {given['mean_size']!r}")
        return MultinomialDistributions(p[None], size)

    def log_prior(self, distributions: MultinomialDistributions, statistics: Sums, prior: PriorSpec) -> float:
        """Return α Σ log p: a Dirichlet prior."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        if pseudo is None or pseudo.amount == 0.0:
            return 0.0
        return pseudo.amount * float(log_of(distributions.probability).sum())

    def mode_prior(self, statistics: Sums, prior: PriorSpec) -> PriorSpec:
        """Return one observation less of every value; raise ValueError if the pseudo-count is less than 1."""
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        return None if pseudo is None else CountAtMode(pseudo.amount - 1.0)


@dataclass(frozen=True, eq=False)
class MultinomialDistributions(Distributions):
    """Multinomials with their probabilities, k×d, and the mean size of a bag, (k,), which scores do not need."""

    probability: FloatArray
    mean_size: FloatArray
    family: Multinomial = field(default_factory=Multinomial, init=False)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.probability)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: the probabilities of a class sum to 1."""
        return len(self.probability) * (self.probability.shape[1] - 1)

    @cached_property
    def _logs(self) -> LogParameters:
        return LogParameters.of(self.probability)

    def natural_parameters(self) -> FloatArray:
        """Return log p, k×d."""
        return log_of(self.probability)

    def moment_parameters(self) -> FloatArray:
        """Return p, the mean of one draw, k×d."""
        return self.probability

    def mean(self) -> FloatArray:
        """Return the mean bag, k×d."""
        return self.probability * self.mean_size[:, None]

    def variance(self) -> FloatArray:
        """Return N p (1 − p) for a bag of the mean size N, k×d."""
        return self.mean() * (1.0 - self.probability)

    def covariance(self) -> FloatArray:
        """Return N (diag p − p pᵀ) for a bag of the mean size N, k×d×d."""
        return self.statistic_covariance() * self.mean_size[:, None, None]

    def statistic_covariance(self) -> FloatArray:
        """Return diag p − p pᵀ, that of one draw, k×d×d."""
        p = self.probability
        return np.asarray(np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :])

    def score(self, x: Array, common: bool = True) -> Array:
        """Return x·log p, plus the log of the multinomial coefficient, which all classes share, if `common`."""
        x = in_double(x)
        self.family._check(x)
        scores = log_product(x, self._logs, common)
        return scores + self.family.log_base_measure(x)[:, None] if common else scores

    @property
    def rules_out(self) -> bool:
        """Whether some word has probability 0 in some class."""
        return self._logs.impossible is not None

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return the number of words per bag that have probability 0 in every class."""
        return self._logs.n_nowhere(in_double(x))

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return bags whose sizes are Poisson with the mean size of their class."""
        sizes = rng.poisson(self.mean_size[classes])
        return rng.multinomial(sizes, self.probability[classes]).astype(np.float64)

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return the rows unchanged, once checked: no count may be missing."""
        self.family._check(x)
        return dense_rows(x)

    def sampled_rows(self, x: Array, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the rows unchanged, once checked: no count may be missing."""
        self.family._check(x)
        return dense_rows(x)

    def marginal(self, columns: IntArray) -> MultinomialDistributions:
        """Return the distributions with their columns reordered; a subset of the columns has no given total."""
        if len(columns) != self.n_columns:
            raise ValueError(
                f"the counts of a Multinomial share their total, so they cannot be split, but {len(columns)} of "
                f"{self.n_columns} columns were asked for; take all of them or none"
            )
        return MultinomialDistributions(self.probability[:, columns], self.mean_size)

    def standardised(self, x: Array) -> Array:
        """Return the bags scaled to length 1, x / ‖x‖."""
        squares = x.multiply(x).sum(axis=1) if issparse(x) else (to_float64(x) ** 2).sum(1)
        length = np.sqrt(np.maximum(np.asarray(squares).ravel(), np.finfo(float).tiny))
        return x.multiply(1.0 / length[:, None]).tocsr() if issparse(x) else to_float64(x) / length[:, None]

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return x_j (log p_aj − log p_bj)."""
        dense = to_float64(x.toarray() if issparse(x) else x)
        log_p = log_of(self.probability)
        with np.errstate(invalid="ignore"):
            return np.where(dense > 0, dense * (log_p[a] - log_p[b]), 0.0), np.zeros(len(dense))


def _totals(x: Array) -> FloatArray:
    if issparse(x):
        return np.asarray(x.sum(axis=1), dtype=np.float64).ravel()
    return to_float64(x).sum(axis=1)
