"""Gamma: the posterior of rates, from counts of events or from waiting times."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv, gammaln

from suffice._arrays import FloatArray, IntArray
from suffice.families.base import Distributions
from suffice.families.columnwise import smoothed_mean
from suffice.families.left_out import LeftOut, Stacked
from suffice.families.poisson import Poisson
from suffice.posteriors.base import Interval, Posterior, base_measure, of_shape, tails
from suffice.posteriors.lomax import LomaxDistributions
from suffice.posteriors.negative_binomial import NegativeBinomialDistributions
from suffice.priors import GammaPrior, Prior, PseudoCount, find_prior


class GammaPosterior(Posterior):
    """λ ~ Gamma(shape + Σx, rate + n) for Poisson columns, each column of each class by itself, k×d.

    Examples
    --------
    >>> from suffice import GammaPrior, Poisson
    >>> calls = Poisson().posterior([2, 0, 3], GammaPrior(1.0, 1.0))
    >>> calls.shape, calls.rate, calls.mean()
    (array([[6.]]), array([[4.]]), array([[1.5]]))
    >>> calls.predictive().log_prob([1]).round(4)  # negative binomial
    array([-1.1565])
    """

    priors: ClassVar[tuple[type[Prior], ...]] = (GammaPrior, PseudoCount)
    parameter: ClassVar[str] = "rate"

    def _require_prior(self) -> None:
        self._before  # noqa: B018

    @property
    def _events(self) -> FloatArray:
        """The number of events, k×d."""
        return np.asarray(self.statistics.total)

    @property
    def _time(self) -> FloatArray:
        """The time that they took, k×d."""
        return np.asarray(self.statistics.count)

    @cached_property
    def _before(self) -> tuple[FloatArray, FloatArray]:
        prior = find_prior(self.prior, self.priors, PseudoCount(1.0))
        of = self._of_rows(prior.amount) if isinstance(prior, PseudoCount) else (prior.shape, prior.rate)  # type: ignore[attr-defined]
        needed = self._events.shape
        return of_shape(of[0], needed, "shape of the GammaPrior"), of_shape(of[1], needed, "rate of the GammaPrior")

    def _of_rows(self, amount: float) -> tuple[FloatArray, FloatArray]:
        """Return the prior that is worth `amount` rows of the overall mean."""
        return amount * smoothed_mean(self.statistics), np.asarray(amount)

    @cached_property
    def shape(self) -> FloatArray:
        """The shape, k×d."""
        return np.asarray(self._before[0] + self._events)

    @cached_property
    def rate(self) -> FloatArray:
        """The rate, k×d."""
        return np.asarray(self._before[1] + self._time)

    def mean(self) -> FloatArray:
        """Return the mean of λ, shape / rate, k×d."""
        return self.shape / self.rate

    def map(self) -> Distributions:
        """Return the distributions with λ = (shape − 1) / rate, 0 where the shape is below 1."""
        return self._distributions(np.maximum(self.shape - 1.0, 0.0) / self.rate)

    def _distributions(self, rate: FloatArray) -> Distributions:
        return self.family.from_moments(rate)

    def interval(self, level: float = 0.95) -> Interval:
        """Return equal-tailed intervals of λ, k×d each."""
        return Interval(*(gammaincinv(self.shape, tail) / self.rate for tail in tails(level)))

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> FloatArray:
        """Return draws of λ, n×k×d."""
        rng = np.random.default_rng(random_state)
        return rng.standard_gamma(self.shape, size=(n, *self.shape.shape)) / self.rate

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return Σ a log b − log Γ(a) + log Γ(a_n) − a_n log b_n, (k,), minus Σ log x! if the counts are given."""
        a, b = self._before
        terms = a * np.log(b) - gammaln(a) + gammaln(self.shape) - self.shape * np.log(self.rate)
        return np.asarray(terms.sum(1) + base_measure(self.family, x, self.n_classes))

    def left_out(self, predictives: Distributions) -> LeftOut:
        """Return the scores of rows by the predictives without each of them: those of their classes, all at once."""
        shape, rate = self._before
        nothing, kind = np.zeros(shape.shape[1]), type(self)

        def estimate(left: Any, codes: IntArray) -> Distributions:
            return kind(self.family, left, GammaPrior(shape[codes], rate[codes])).predictives()

        return Stacked(self.family, self.statistics, predictives, estimate, nothing, certain=True)

    def predictives(self) -> Distributions:
        """Return the distributions of one more row: negative binomial."""
        return NegativeBinomialDistributions(cast(Poisson, self.family), self.shape, self.rate)


class WaitingTimePosterior(GammaPosterior):
    """λ ~ Gamma(shape + n, rate + Σx) for exponential columns, p(x | λ) = λ e^(−λx)."""

    @property
    def _events(self) -> FloatArray:
        return np.asarray(self.statistics.count)

    @property
    def _time(self) -> FloatArray:
        return np.asarray(self.statistics.total)

    def _of_rows(self, amount: float) -> tuple[FloatArray, FloatArray]:
        count, total = self.statistics.count.sum(0), self.statistics.total.sum(0)
        mean = np.divide(total, count, out=np.ones_like(total), where=(count > 0) & (total > 0))
        return np.asarray(amount), amount * mean

    def _distributions(self, rate: FloatArray) -> Distributions:
        with np.errstate(divide="ignore"):
            return self.family.from_moments(1.0 / rate)

    def predictives(self) -> Distributions:
        """Return the distributions of one more row: Lomax."""
        return LomaxDistributions(self.family, self.shape, self.rate)
