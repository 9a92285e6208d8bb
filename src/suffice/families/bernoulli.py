"""Bernoulli: binary columns, independent given the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr, expit, logit, rel_entr

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.families.cells import dense_rows, in_double
from suffice.families.columnwise import ColumnwiseFamily, PseudoRows, refuse_cells
from suffice.families.columnwise_distributions import ColumnwiseDistributions
from suffice.families.products import Factor, LogParameters, log_of, log_product, product
from suffice.families.usual import SHARE, Domain
from suffice.priors import CountAtMode, PriorSpec
from suffice.statistics.sums import Sums


class Bernoulli(ColumnwiseFamily):
    """p(x | p) = p^x (1 − p)^(1−x) for x in {0, 1}, each column with its own p.

    φ(x) = x, η = log p/(1 − p), A(η) = log(1 + e^η), h(x) = 1. A prior of α adds 2α rows of value ½: a Beta prior, p =
    (ones + α) / (count + 2α).

    Examples
    --------
    >>> from suffice import Bernoulli
    >>> Bernoulli().fit([1, 1, 0, 1]).probability
    array([0.75])
    """

    name: ClassVar[str] = "bernoulli"
    usual: ClassVar[Mapping[str, Domain]] = {"probability": SHARE}
    takes_zero: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    neutral: ClassVar[float] = 0.0

    @property
    def mode_offset(self) -> tuple[float, float]:
        """That of the density of p: p^(α − 1) (1 − p)^(α − 1)."""
        return 2.0, 1.0

    def require_support(self, x: Array) -> None:
        """Raise if a cell is neither 0 nor 1."""
        refuse_cells(
            x,
            lambda cells: (cells != 0) & (cells != 1) & ~namespace(cells).isnan(cells),
            "a Bernoulli cell must be 0 or 1",
            "binarise the column, or choose another family such as Gaussian or Categorical",
        )

    def prepare(self, x: Array) -> tuple[tuple[Array, ...], Array | None]:
        """Return the cells, 0 where missing, and the mask of observed cells; sparse rows of ones skip the checks."""
        if issparse(x) and compiled.inspect(x.data) == 0:
            return (in_double(x),), None
        return super().prepare(x)

    def phi(self, x: Array) -> tuple[Array]:
        """Return x."""
        return (x,)

    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return log(1 + e^η)."""
        return np.logaddexp(0.0, eta[0])

    def from_natural_parts(self, *eta: FloatArray) -> BernoulliDistributions:
        """Return p = 1 / (1 + e^−η)."""
        return BernoulliDistributions(self, np.asarray(expit(eta[0])))

    def from_moment_parts(self, *moments: FloatArray) -> BernoulliDistributions:
        """Return p = E x, at most 1: sums of shares may exceed their count by rounding error."""
        return BernoulliDistributions(self, np.minimum(moments[0], 1.0))

    def with_parameters(self, arrays: Mapping[str, Any]) -> BernoulliDistributions:
        """Return the distributions with these parameter arrays."""
        return BernoulliDistributions(self, **arrays)

    def pseudo_rows(self, statistics: Sums, amount: float) -> PseudoRows:
        """Return 2α rows, half of them 1."""
        shape = statistics.count.shape[1:]
        return PseudoRows(np.full(shape, 2.0 * amount), np.full(shape, 0.5))

    def log_prior(self, distributions: BernoulliDistributions, statistics: Sums, prior: PriorSpec) -> float:
        """Return α Σ log p(1 − p)."""
        rows, p = self.prior_as_rows(statistics, prior), distributions.probability
        if rows is None or not rows.count.any():
            return 0.0
        return float((0.5 * rows.count * (log_of(p) + log_of(1.0 - p))).sum())

    def mode_prior(self, statistics: Sums, prior: PriorSpec) -> PriorSpec:
        """Return the prior's rows less one of each value; raise ValueError if a pseudo-count is less than 1."""
        rows = super().mode_prior(statistics, prior)
        if rows is not None and rows.count.size:
            CountAtMode(0.5 * float(rows.count.min()))  # raises
        return rows


@dataclass(frozen=True, eq=False)
class BernoulliDistributions(ColumnwiseDistributions):
    """Bernoulli columns with their probabilities, k×d; p may be 0 or 1, where η is infinite."""

    family: Bernoulli
    probability: FloatArray

    def natural_parts(self) -> tuple[FloatArray]:
        """Return the log-odds."""
        return (np.asarray(logit(self.probability)),)

    def moment_parts(self) -> tuple[FloatArray]:
        """Return p."""
        return (self.probability,)

    def covariance_parts(self) -> list[list[FloatArray]]:
        """Return p(1 − p)."""
        return [[self.variance()]]

    def mean(self) -> FloatArray:
        """Return p, k×d."""
        return self.probability

    def variance(self) -> FloatArray:
        """Return p(1 − p), k×d."""
        return self.probability * (1.0 - self.probability)

    def entropy(self) -> FloatArray:
        """Return −Σ (p log p + (1 − p) log(1 − p)), where p may be 0 or 1."""
        return np.asarray((entr(self.probability) + entr(1.0 - self.probability)).sum(1))

    def divergence(self, c: int, other: BernoulliDistributions, against: int) -> float:
        """Return Σ (p log p/q + (1 − p) log (1 − p)/(1 − q)), where p may be 0 or 1."""
        p, q = self.probability[c], other.probability[against]
        return float((rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)).sum())

    @cached_property
    def _logs(self) -> tuple[FloatArray, FloatArray]:
        return log_of(self.probability), log_of(1.0 - self.probability)

    @cached_property
    def _linear(self) -> tuple[Factor, FloatArray] | None:
        """The log-odds and the normaliser; None if some are infinite."""
        log_yes, log_no = self._logs
        finite = np.isfinite(log_yes).all() and np.isfinite(log_no).all()
        return (Factor(log_yes - log_no), log_no.sum(1)) if finite else None

    @cached_property
    def _apart(self) -> tuple[LogParameters, LogParameters]:
        """The logarithms of p and 1 − p, with −∞ stored separately."""
        return LogParameters.of(self.probability), LogParameters.of(1.0 - self.probability)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return x·η − A(η), with the normaliser of the observed columns only."""
        if self._linear is None:
            yes, no = self._yes_and_no(x)
            return log_product(yes, self._apart[0], common) + log_product(no, self._apart[1], common)
        log_odds, normaliser = self._linear
        (ones,), observed = self.family.prepare(x)
        if observed is None:
            return product(ones, log_odds, normaliser)
        there, (_, log_no) = namespace(ones).astype(observed, ones.dtype), self._logs
        return product(ones, log_odds) + there @ as_like(log_no, ones).T

    def _yes_and_no(self, x: Array) -> tuple[Array, Array]:
        """Return indicators of the cells that are 1, and of the observed cells that are 0."""
        (ones,), observed = self.family.prepare(x)
        dense = ones.toarray() if issparse(ones) else ones
        xp = namespace(dense)
        there = xp.ones_like(dense) if observed is None else xp.astype(observed, dense.dtype)
        return dense, there - dense

    @property
    def rules_out(self) -> bool:
        """Whether some class has only zeros or only ones in some column."""
        return self._linear is None

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return the number of cells per row whose value has probability 0 in every class."""
        yes, no = self._yes_and_no(x)
        return self._apart[0].n_nowhere(yes) + self._apart[1].n_nowhere(no)

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return log p where the cell is 1, log (1 − p) where it is 0."""
        log_yes, log_no = self._logs
        rows = dense_rows(x)
        terms = np.where(rows == 1.0, log_yes[classes], log_no[classes])
        return np.where(np.isnan(rows), 0.0, terms)

    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return zeros and ones."""
        p = self.probability[classes]
        return (rng.random(p.shape) < p).astype(np.float64)

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return rows with the more probable value in their missing cells."""
        rows = dense_rows(x)
        return np.where(np.isnan(rows), shares @ self.probability > 0.5, rows)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x_j | a) / p(x_j | b)."""
        log_yes, log_no = self._logs
        dense = to_float64(x.toarray() if issparse(x) else x)
        terms = np.where(dense == 1.0, log_yes[a] - log_yes[b], log_no[a] - log_no[b])
        return np.where(np.isnan(dense), 0.0, terms), np.zeros(len(dense))
