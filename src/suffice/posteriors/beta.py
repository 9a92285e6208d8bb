"""Beta: the posterior of the probabilities of Bernoulli columns, and their predictive, the Beta–binomial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln, gammaln

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, to_float64
from suffice.families.base import Distributions
from suffice.families.bernoulli import Bernoulli, BernoulliDistributions
from suffice.families.distribution import Distribution
from suffice.families.left_out import LeftOut, Stacked
from suffice.posteriors.base import Interval, Posterior, of_shape, tails
from suffice.posteriors.predictive import Predictive
from suffice.priors import BetaPrior, Prior, PseudoCount, find_prior


class BetaPosterior(Posterior):
    """p ~ Beta(a + ones, b + zeros), each column of each class by itself, k×d.

    Examples
    --------
    The uniform prior on a coin gives (heads + 1) / (n + 2), Laplace's rule.

    >>> from suffice import Bernoulli, BetaPrior
    >>> coin = Bernoulli().posterior([1, 1, 1, 0, 1], BetaPrior(1, 1))
    >>> coin.mean().item() == (4 + 1) / (5 + 2)
    True
    >>> coin.interval(0.95).low.round(2), coin.interval(0.95).high.round(2)
    (array([[0.36]]), array([[0.96]]))
    >>> (coin + [0, 0]).mean().item() == (4 + 1) / (7 + 2)
    True
    """

    priors: ClassVar[tuple[type[Prior], ...]] = (BetaPrior, PseudoCount)
    parameter: ClassVar[str] = "probability"

    def _require_prior(self) -> None:
        self._before  # noqa: B018

    @cached_property
    def _before(self) -> tuple[FloatArray, FloatArray]:
        prior = find_prior(self.prior, self.priors, PseudoCount(1.0))
        a, b = (prior.amount, prior.amount) if isinstance(prior, PseudoCount) else (prior.a, prior.b)  # type: ignore[attr-defined]
        shape = self.statistics.total.shape
        return of_shape(a, shape, "a of the BetaPrior"), of_shape(b, shape, "b of the BetaPrior")

    @cached_property
    def a(self) -> FloatArray:
        """The prior's a plus the number of ones, k×d."""
        return np.asarray(self._before[0] + self.statistics.total)

    @cached_property
    def b(self) -> FloatArray:
        """The prior's b plus the number of zeros, k×d."""
        return np.asarray(self._before[1] + np.maximum(self.statistics.count - self.statistics.total, 0.0))

    def mean(self) -> FloatArray:
        """Return a / (a + b), k×d."""
        return self.a / (self.a + self.b)

    def map(self) -> BernoulliDistributions:
        """Return p = (a − 1) / (a + b − 2), or an end of the range if the mode is there."""
        yes, no = np.maximum(self.a - 1.0, 0.0), np.maximum(self.b - 1.0, 0.0)
        flat = yes + no == 0.0  # no inner mode: both ends, or all values, are equally probable
        return BernoulliDistributions(Bernoulli(), np.where(flat, self.mean(), yes / np.where(flat, 1.0, yes + no)))

    def interval(self, level: float = 0.95) -> Interval:
        """Return equal-tailed intervals of p, k×d each."""
        return Interval(*(betaincinv(self.a, self.b, tail) for tail in tails(level)))

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> FloatArray:
        """Return draws of p, n×k×d."""
        return np.random.default_rng(random_state).beta(self.a, self.b, size=(n, *self.a.shape))

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return Σ_j log B(a_n, b_n) − log B(a, b), (k,), for the zeros and ones in their order."""
        return np.asarray((betaln(self.a, self.b) - betaln(*self._before)).sum(1))

    def left_out(self, predictives: Distributions) -> LeftOut:
        """Return the scores of rows by the predictives without each of them: those of their classes, all at once."""
        a, b = self._before
        nothing = np.zeros(a.shape[1])

        def estimate(left: Any, codes: IntArray) -> Distributions:
            return BetaPosterior(self.family, left, BetaPrior(a[codes], b[codes])).predictives()

        return Stacked(self.family, self.statistics, predictives, estimate, nothing, certain=True)

    def predictive(self, draws: int = 1) -> Distribution:
        """Return the distribution of one more row, or of the ones in `draws` rows, if there is one class."""
        return self._only(self.predictives(draws))

    def predictives(self, draws: int = 1) -> Distributions:
        """Return the distributions of one more row, or of the number of ones in `draws` rows: Beta–binomial."""
        if draws == 1:  # one row has no second draw to be correlated with
            return BernoulliDistributions(Bernoulli(), self.mean())
        return BetaBinomialDistributions(cast(Bernoulli, self.family), self.a, self.b, draws)


@dataclass(frozen=True, eq=False)
class BetaBinomialDistributions(Predictive):
    """p(x) = C(n, x) B(a + x, b + n − x) / B(a, b): the number of ones among n draws, each column by itself."""

    family: Bernoulli
    a: FloatArray
    b: FloatArray
    draws: int
    title: ClassVar[str] = "Beta–binomial"

    def shown(self) -> dict[str, Any]:
        """Return a, b, and the number of draws."""
        return {"a": self.a, "b": self.b, "draws": np.full(self.n_classes, self.draws)}

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.a)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one probability per column and class."""
        return self.a.size

    def mean(self) -> FloatArray:
        """Return n a / (a + b), k×d."""
        return self.draws * self.a / (self.a + self.b)

    def variance(self) -> FloatArray:
        """Return n a b (a + b + n) / ((a + b)² (a + b + 1)), k×d."""
        whole = self.a + self.b
        return self.draws * self.a * self.b * (whole + self.draws) / (whole**2 * (whole + 1.0))

    def _terms(self, rows: FloatArray, c: int) -> FloatArray:
        ways = gammaln(self.draws + 1.0) - gammaln(rows + 1.0) - gammaln(self.draws - rows + 1.0)
        found = ways + betaln(self.a[c] + rows, self.b[c] + self.draws - rows) - betaln(self.a[c], self.b[c])
        whole = (rows >= 0) & (rows <= self.draws) & (rows % 1.0 == 0.0)
        return np.where(np.isnan(rows), 0.0, np.where(whole, found, -np.inf))

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log p(x | c), n×k."""
        rows = to_float64(x.toarray() if issparse(x) else x)
        with np.errstate(invalid="ignore"):
            scores = np.stack([self._terms(rows, c).sum(1) for c in range(self.n_classes)], axis=1)
        return as_like(scores, x)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return numbers of ones."""
        return rng.binomial(self.draws, rng.beta(self.a[classes], self.b[classes])).astype(np.float64)

    def marginal(self, columns: IntArray) -> BetaBinomialDistributions:
        """Return the distributions of some of the columns."""
        return BetaBinomialDistributions(self.family, self.a[:, columns], self.b[:, columns], self.draws)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x_j | a) / p(x_j | b)."""
        rows = to_float64(x.toarray() if issparse(x) else x)
        terms = np.zeros_like(rows)
        for c in np.union1d(a, b):
            terms += self._terms(rows, c) * ((a == c).astype(float) - (b == c))[:, None]
        return terms, np.zeros(len(rows))
