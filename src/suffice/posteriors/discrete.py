"""Finitely many hypotheses: the posterior probabilities of given parameters, and the predictive as a sum over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from suffice._arrays import Array, FloatArray, IntArray, as_like, to_float64
from suffice.families.base import Distributions, Family
from suffice.families.bernoulli import Bernoulli, BernoulliDistributions
from suffice.families.categorical import Categorical
from suffice.families.columnwise import ColumnwiseFamily
from suffice.families.columnwise_distributions import ColumnwiseDistributions
from suffice.families.distribution import Distribution
from suffice.families.exponential import Exponential
from suffice.families.gaussian import GaussianDistributions
from suffice.families.multinomial import Multinomial
from suffice.families.negative_binomial import NegativeBinomial
from suffice.families.poisson import Poisson
from suffice.families.products import log_of
from suffice.families.transformed import TransformedDistributions, TransformedFamily
from suffice.posteriors.base import Interval, Posterior, base_measure, tails
from suffice.posteriors.predictive import Predictive
from suffice.priors import DiscretePrior, Prior
from suffice.statistics.moments import DiagonalMoments, Moments, TiedMoments
from suffice.tables.results import result_frame


class DiscretePosterior(Posterior):
    """p(θ_h | rows) ∝ p(θ_h) p(rows | θ_h) for hypotheses h about the parameters of all columns of a class.

    Examples
    --------
    Is the coin fair, or does it show heads in three of four throws? After three heads in four throws:

    >>> from suffice import Bernoulli, DiscretePrior
    >>> coin = Bernoulli().posterior([1, 1, 0, 1], DiscretePrior([0.5, 0.75], [0.9, 0.1]))
    >>> coin.weights.round(3)  # in proportion to 0.9 · 0.5⁴ and 0.1 · 0.75³ · 0.25
    array([[0.842, 0.158]])
    >>> coin.mean().round(3), coin.predictive().mean().round(3)  # 0.842 · 0.5 + 0.158 · 0.75
    (array([[0.539]]), array([0.539]))
    >>> coin.map()[0]
    <Bernoulli with probability 0.5>
    """

    priors: ClassVar[tuple[type[Prior], ...]] = (DiscretePrior,)

    def _require_prior(self) -> None:
        self._log_joint  # noqa: B018

    @property
    def _given(self) -> DiscretePrior:
        given = self.prior if isinstance(self.prior, (list, tuple)) else [self.prior]
        return next(prior for prior in given if isinstance(prior, DiscretePrior))

    @cached_property
    def hypotheses(self) -> Distributions:
        """The distributions under each hypothesis."""
        return distributions_of(self.family, self._given.values)

    @cached_property
    def _log_joint(self) -> FloatArray:
        """Log p(θ_h) + log p(rows | θ_h), k×h, without log h(x) of the rows."""
        with np.errstate(divide="ignore"):
            return np.log(self._given.probabilities) + log_likelihood(self.statistics, self.hypotheses)

    @cached_property
    def weights(self) -> FloatArray:
        """The posterior probabilities of the hypotheses, k×h."""
        total = logsumexp(self._log_joint, axis=1, keepdims=True)
        if np.isneginf(total).any():
            c = int(np.argmax(np.isneginf(total)))
            raise ValueError(
                f"every hypothesis gives the rows of class number {c} the probability 0; add one that allows them"
            )
        return np.asarray(np.exp(self._log_joint - total))

    @cached_property
    def _values(self) -> FloatArray:
        """The parameter of each hypothesis, h×p; E x for hypotheses given as distributions."""
        if any(isinstance(value, Distribution) for value in self._given.values):
            return self.hypotheses.mean()
        values = np.array([np.asarray(value, dtype=np.float64) for value in self._given.values])
        return values.reshape(len(values), -1)

    def mean(self) -> FloatArray:
        """Return Σ_h p(θ_h | rows) θ_h, k×p; E x in place of θ for hypotheses given as distributions."""
        return np.asarray(self.weights @ self._values)

    def map(self) -> Distributions:
        """Return the distributions under the most probable hypothesis of each class."""
        found = self.hypotheses.natural_parameters()[np.argmax(self._log_joint, axis=1)]
        return self.hypotheses.family.from_natural(found)

    def interval(self, level: float = 0.95) -> Interval:
        """Return the quantiles of θ at the ends of equal-tailed intervals, which are values of hypotheses, k×p each."""
        low, high = tails(level)
        order = np.argsort(self._values, axis=0, kind="stable")
        ends = []
        for tail in (low, high):
            found = np.empty((self.n_classes, self._values.shape[1]))
            for j, ordered in enumerate(order.T):
                cumulated = np.cumsum(self.weights[:, ordered], axis=1)
                place = np.minimum((cumulated < tail - 1e-12).sum(1), len(ordered) - 1)
                found[:, j] = self._values[ordered[place], j]
            ends.append(found)
        return Interval(*ends)

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> FloatArray:
        """Return draws of θ, n×k×p."""
        rng = np.random.default_rng(random_state)
        return np.stack([self._values[_drawn(np.tile(w, (n, 1)), rng)] for w in self.weights], axis=1)

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return log Σ_h p(θ_h) p(rows | θ_h), (k,); Σ log h(x) is added if the rows `x` are given."""
        evidence, k = np.asarray(logsumexp(self._log_joint, axis=1)), self.n_classes
        if isinstance(self.family, TransformedFamily) and x is not None:
            jacobian = self.family.log_jacobian(self.family.encode(x))
            return evidence + float(jacobian.sum())
        return evidence if isinstance(self.statistics, Moments) else evidence + base_measure(self.family, x, k)

    def predictives(self) -> Distributions:
        """Return Σ_h p(θ_h | rows) p(x | θ_h)."""
        return SumOfHypotheses(self.family, self.hypotheses, self.weights)

    def to_frame(self, level: float = 0.95, library: str | None = None) -> Any:
        """Return a data frame with one row per class and hypothesis.

        Its columns are "class", "hypothesis" (its number), "value" (its parameter as text), "prior" and "posterior".

        Parameters
        ----------
        level : float, default 0.95
            Not used: the frame has all probabilities.
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default one that is installed.
        """
        k, h = self.weights.shape
        shown = [", ".join(f"{number:.6g}" for number in row) for row in self._values]
        columns: dict[str, Any] = {
            "class": np.repeat(np.arange(k), h),
            "hypothesis": np.tile(np.arange(h), k),
            "value": shown * k,
            "prior": np.tile(self._given.probabilities, k),
            "posterior": self.weights.ravel(),
        }
        return result_frame(columns, library)


@dataclass(frozen=True, eq=False)
class SumOfHypotheses(Predictive):
    """p(x | c) = Σ_h w_ch p(x | θ_h), over all columns of the block together."""

    family: Family
    hypotheses: Distributions
    weights: FloatArray
    title: ClassVar[str] = "sum over hypotheses"

    def shown(self) -> dict[str, Any]:
        """Return the weights of the hypotheses."""
        return {"weight": self.weights}

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.weights)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.hypotheses.n_columns

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: the weights of a class sum to 1."""
        return len(self.weights) * (self.weights.shape[1] - 1)

    def mean(self) -> FloatArray:
        """Return Σ w E x, k×d."""
        return np.asarray(self.weights @ self.hypotheses.mean())

    def variance(self) -> FloatArray:
        """Return Σ w (Var x + (E x)²) − (Σ w E x)², k×d."""
        means = self.hypotheses.mean()
        center = self.mean()
        apart = (means[None] - center[:, None]) ** 2
        return np.einsum("kh,khd->kd", self.weights, self.hypotheses.variance()[None] + apart)

    def covariance(self) -> FloatArray:
        """Return Σ w (Cov x + E x E xᵀ) − (Σ w E x)(Σ w E x)ᵀ, k×d×d: the columns share their hypothesis."""
        apart = self.hypotheses.mean()[None] - self.mean()[:, None]
        within = np.tensordot(self.weights, self.hypotheses.covariance(), axes=1)
        return np.asarray(within + np.einsum("kh,khi,khj->kij", self.weights, apart, apart))

    def expected_rows(self, x: Any, shares: FloatArray) -> FloatArray:
        """Return the rows with missing cells replaced by their expectation given the others."""
        return self.hypotheses.expected_rows(x, np.einsum("nk,nkh->nh", shares, self._given(x)))

    def sampled_rows(self, x: Any, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the rows with missing cells drawn, under a hypothesis drawn for each given its other cells."""
        given = self._given(x)[np.arange(len(classes)), classes]
        return self.hypotheses.sampled_rows(x, _drawn(given, rng), rng)

    def _given(self, x: Any) -> FloatArray:
        """Return p(h | the observed cells of x, c), n×k×h; the weights if no hypothesis allows the row."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights) + to_float64(self.hypotheses.score(x, True))[:, None, :]
        highest = logs.max(axis=2, keepdims=True)
        shares = np.where(np.isneginf(highest), self.weights, np.exp(logs - np.maximum(highest, -1e308)))
        return np.asarray(shares / shares.sum(axis=2, keepdims=True))

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log Σ_h w_h p(x | θ_h), n×k."""
        scores = to_float64(self.hypotheses.score(x, True))
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        found = np.stack([logsumexp(scores + row, axis=1) for row in logs], axis=1)
        return found if not hasattr(x, "dtype") else as_like(found, x)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one row per entry of `classes`, under a hypothesis drawn for it."""
        return self.hypotheses.sample(_drawn(self.weights[classes], rng), rng)

    def marginal(self, columns: IntArray) -> SumOfHypotheses:
        """Return the distributions of some of the columns."""
        return SumOfHypotheses(self.family, self.hypotheses.marginal(columns), self.weights)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-ratio of a single column; several share their hypotheses, so it belongs to none of them."""
        scores, rows = to_float64(self.score(x)), np.arange(len(a))
        with np.errstate(invalid="ignore"):
            ratio = scores[rows, a] - scores[rows, b]
        if self.n_columns == 1:
            return ratio[:, None], np.zeros(len(a))
        return np.zeros((len(a), self.n_columns)), ratio


def distributions_of(family: Family, values: Any) -> Distributions:
    """Return the distributions of a family with these parameters, one row per hypothesis.

    Parameters
    ----------
    family : Family
    values : list of numbers, of arrays with one number per column (or category), or of Distributions of the family
        Numbers are the probability of a Bernoulli, NegativeBinomial or Geometric, the rate of a Poisson or Exponential,
        and the probabilities of a Categorical column or a Multinomial.
    """
    if all(isinstance(value, Distribution) for value in values):
        other = next((value for value in values if type(value.family).name != family.name), None)
        if other is not None:
            raise ValueError(f"the hypotheses must be distributions of {family!r}, but one is {other!r}")
        return values[0].family.from_natural(np.stack([value.natural_parameters() for value in values]))
    numbers = np.array([np.asarray(value, dtype=np.float64) for value in values])
    numbers = numbers.reshape(len(numbers), -1)
    if isinstance(family, (Bernoulli, Categorical, Multinomial, NegativeBinomial)):
        _require((numbers >= 0) & (numbers <= 1), numbers, "probabilities between 0 and 1")
        if isinstance(family, (Categorical, Multinomial)):
            _require(np.isclose(numbers.sum(1), 1.0)[:, None], numbers, "probabilities that sum to 1")
            return family.from_moments(numbers)
        if isinstance(family, NegativeBinomial):
            _require(numbers > 0, numbers, "probabilities above 0")
            return family.from_moments(family.shape * (1.0 - numbers) / numbers)
        return family.from_moments(numbers)
    if isinstance(family, (Poisson, Exponential)):
        _require(np.isfinite(numbers) & (numbers > 0), numbers, "positive rates")
        return family.from_moments(numbers if isinstance(family, Poisson) else 1.0 / numbers)
    raise ValueError(
        f"the hypotheses about {family!r} must be distributions, because it has several parameters; give a "
        f"DiscretePrior a list of them"
    )


def _require(right: Any, numbers: FloatArray, what: str) -> None:
    if not right.all():
        wrong = numbers[np.argmin(np.broadcast_to(right, numbers.shape).all(1))]
        raise ValueError(f"the hypotheses must be {what}, but one is {wrong.tolist()}")


def log_likelihood(statistics: Any, hypotheses: Distributions) -> FloatArray:
    """Return log p(rows of class c | θ_h) = ⟨η_h, Σφ⟩ − n A(η_h), k×h, without Σ log h(x) of other than Gaussians."""
    if isinstance(hypotheses, TransformedDistributions):
        return log_likelihood(statistics, hypotheses.of_y)
    if isinstance(statistics, Moments):
        assert isinstance(hypotheses, GaussianDistributions)
        return _of_moments(statistics, hypotheses)
    wanted, found = hypotheses.moment_parameters().shape[1], statistics.total.shape[1]
    if wanted != found:
        raise ValueError(
            f"each hypothesis must have one parameter per column (or category), {found} in total, but has {wanted}"
        )
    if isinstance(hypotheses, BernoulliDistributions):  # η and A are infinite at the ends
        p, count = hypotheses.probability, statistics.count
        return _products(statistics.total, log_of(p)) + _products(count - statistics.total, log_of(1.0 - p))
    eta = hypotheses.natural_parameters()
    linear = _products(statistics.total, eta)
    if isinstance(hypotheses, ColumnwiseDistributions):
        assert isinstance(hypotheses.family, ColumnwiseFamily)
        return linear - statistics.count @ hypotheses.family.cell_normalizer(*hypotheses.natural_parts()).T
    if isinstance(hypotheses.family, (Categorical, Multinomial)):  # log p is normalised
        return linear
    return linear - statistics.count * hypotheses.family.log_normalizer(eta)


def _products(total: FloatArray, eta: FloatArray) -> FloatArray:
    """Return ⟨η_h, S_c⟩, k×h, with 0 · (−∞) = 0."""
    finite = np.where(np.isfinite(eta), eta, 0.0)
    found = total @ finite.T
    for sign in (-np.inf, np.inf):
        met = (total != 0).astype(float) @ (eta == sign).astype(float).T > 0
        found = np.where(met, sign, found)
    return np.asarray(found)


def _of_moments(moments: Moments, hypotheses: GaussianDistributions) -> FloatArray:
    """Return −½ n log |2πΣ| − ½ tr Σ⁻¹(S + n (x̄ − μ)(x̄ − μ)ᵀ), k×h."""
    if isinstance(moments, TiedMoments):
        raise ValueError(
            "hypotheses need the scatter of each class, but only the pooled one was kept; use Gaussian('full')"
        )
    if hypotheses.means.shape[1] != moments.n_columns:
        raise ValueError(
            f"each hypothesis must be about {moments.n_columns} columns, but has {hypotheses.means.shape[1]}"
        )
    apart = moments.mean[:, None, :] - hypotheses.means
    if isinstance(moments, DiagonalMoments):
        if not hypotheses.family.structure.diagonal:
            raise ValueError(
                "the statistics have variances only, but the hypotheses have covariances; use Gaussian('full')"
            )
        variance = hypotheses.variance()
        count = moments.count[:, None, :]
        terms = count * (np.log(2 * np.pi * variance) + apart**2 / variance) + moments.scatter[:, None, :] / variance
        return np.asarray(-0.5 * terms.sum(-1))
    covariance = hypotheses.covariance()
    precision = np.linalg.inv(covariance)
    n = moments.count[:, :1]
    squares = np.einsum("kij,hij->kh", moments.scatter, precision)
    squares = squares + n * np.einsum("khi,hij,khj->kh", apart, precision, apart)
    d = moments.n_columns
    return np.asarray(-0.5 * (n * (d * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1]) + squares))


def _drawn(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return one hypothesis per row of weights, drawn with these probabilities."""
    cumulated = np.cumsum(weights, axis=1)
    return np.asarray((rng.random(len(weights))[:, None] * cumulated[:, -1:] >= cumulated).sum(1))
