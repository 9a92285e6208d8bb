"""Dirichlet: the posterior of the probabilities of Categorical columns and Multinomial bags."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaln

from suffice._arrays import FloatArray
from suffice.families.base import Distributions
from suffice.families.categorical import Categorical
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.families.categorical_left_out import CategoricalLeftOut
from suffice.families.left_out import LeftOut
from suffice.families.multinomial import Multinomial, MultinomialDistributions
from suffice.posteriors.base import Interval, Posterior, base_measure, of_shape, tails
from suffice.posteriors.dirichlet_multinomial import DirichletMultinomialDistributions
from suffice.posteriors.left_out import DirichletMultinomialLeftOut
from suffice.priors import DirichletPrior, Prior, PseudoCount, find_prior
from suffice.statistics.category_counts import CategoryCounts


class DirichletPosterior(Posterior):
    """p ~ Dirichlet(α + counts), each column of each class by itself, or one for a bag; k×p.

    Examples
    --------
    >>> from suffice import Categorical, DirichletPrior
    >>> dice = Categorical().posterior([0, 2, 2, 1], DirichletPrior(1.0))
    >>> dice.mean().round(4)
    array([[0.2857, 0.2857, 0.4286]])
    >>> dice.predictive().log_prob([2]).round(4)
    array([-0.8473])

    Values that are not integers are learned from the rows, and new ones are added with more rows.

    >>> sky = Categorical().posterior(["sun", "rain", "sun"], DirichletPrior(1.0)) + ["fog"]
    >>> sky.values, sky.mean().round(4)
    ([['rain', 'sun', 'fog']], array([[0.2857, 0.4286, 0.2857]]))
    """

    priors: ClassVar[tuple[type[Prior], ...]] = (DirichletPrior, PseudoCount)
    parameter: ClassVar[str] = "probability"

    def _require_prior(self) -> None:
        self._before  # noqa: B018

    @cached_property
    def _before(self) -> FloatArray:
        prior = find_prior(self.prior, self.priors, PseudoCount(1.0))
        alpha = prior.amount if isinstance(prior, PseudoCount) else prior.alpha  # type: ignore[attr-defined]
        return of_shape(alpha, self.statistics.total.shape, "alpha of the DirichletPrior")

    @property
    def values(self) -> list[list[Any]]:
        """The values of each column, in the order of their probabilities; a bag is one column."""
        known = getattr(self.family, "_values", None)
        return [list(range(c.stop - c.start)) for c in self._columns()] if known is None else [list(v) for v in known]

    def _labels(self, n_parameters: int) -> list[tuple[int, Any]]:
        if isinstance(self.statistics, CategoryCounts):
            return [(column, value) for column, values in enumerate(self.values) for value in values]
        return super()._labels(n_parameters)

    @cached_property
    def alpha(self) -> FloatArray:
        """α + counts, k×p."""
        return np.asarray(self._before + self.statistics.total)

    def _columns(self) -> Iterator[slice]:
        """Yield the slice of the values of each column; a bag is one column."""
        if isinstance(self.statistics, CategoryCounts):
            return self.statistics.columns()
        return iter([slice(0, self.statistics.total.shape[1])])

    def _whole(self, alpha: FloatArray) -> FloatArray:
        """Return Σα of the column that each value belongs to, k×p."""
        whole = np.empty_like(alpha)
        for column in self._columns():
            whole[:, column] = alpha[:, column].sum(1, keepdims=True)
        return whole

    def mean(self) -> FloatArray:
        """Return α / Σα, k×p."""
        return self.alpha / self._whole(self.alpha)

    def map(self) -> Distributions:
        """Return p = (α − 1) / Σ(α − 1), 0 where α is below 1."""
        less = np.maximum(self.alpha - 1.0, 0.0)
        weights = np.where(self._whole(less) > 0, less, self.alpha)  # the mean if the density has no mode
        if isinstance(self.family, Categorical):
            without_rows = np.maximum(self._before - 1.0, 0.0)
            return CategoricalDistributions.of_weights(self.family, self.statistics.sizes, weights, without_rows)
        return MultinomialDistributions(weights / self._whole(weights), self._mean_size())

    def _mean_size(self) -> FloatArray:
        rows = np.maximum(self.statistics.count[:, 0], np.finfo(float).tiny)
        return np.asarray(self.statistics.total.sum(1) / rows)

    def interval(self, level: float = 0.95) -> Interval:
        """Return equal-tailed intervals of each probability alone, k×p each: p_v ~ Beta(α_v, Σα − α_v)."""
        rest = np.maximum(self._whole(self.alpha) - self.alpha, np.finfo(float).tiny)
        return Interval(*(betaincinv(self.alpha, rest, tail) for tail in tails(level)))

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> FloatArray:
        """Return draws of p, n×k×p."""
        drawn = np.random.default_rng(random_state).standard_gamma(self.alpha, size=(n, *self.alpha.shape))
        for column in self._columns():
            drawn[:, :, column] /= drawn[:, :, column].sum(2, keepdims=True)
        return drawn

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return Σ log Γ(Σα)/Γ(Σα + n) + Σ log Γ(α + count)/Γ(α), (k,), for the values in their order.

        For bags the multinomial coefficients are added if the rows `x` are given.
        """
        evidence = (gammaln(self.alpha) - gammaln(self._before)).sum(1)
        for column in self._columns():
            if column.stop > column.start:
                evidence += gammaln(self._before[:, column].sum(1)) - gammaln(self.alpha[:, column].sum(1))
        return np.asarray(evidence + base_measure(self.family, x, self.n_classes))

    def left_out(self, predictives: Any) -> LeftOut:
        """Return the scores of rows by the predictives without each of them."""
        if isinstance(predictives, DirichletMultinomialDistributions):
            return DirichletMultinomialLeftOut(self.statistics.total, self._before, predictives)
        return CategoricalLeftOut(self.statistics, predictives, self._before)

    def predictives(self) -> Distributions:
        """Return the distributions of one more row: Categorical with the mean, or Dirichlet–multinomial."""
        if isinstance(self.family, Multinomial):
            return DirichletMultinomialDistributions(self.family, self.alpha, self._mean_size())
        assert isinstance(self.family, Categorical)
        return CategoricalDistributions.of_weights(self.family, self.statistics.sizes, self.alpha, self._before)
