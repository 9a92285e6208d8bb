"""The posterior of the parameters of log-normal columns: that of the Gaussian logarithms."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import FloatArray
from suffice.families.base import Distributions
from suffice.families.gaussian import GaussianDistributions
from suffice.families.left_out import LeftOut
from suffice.families.lognormal import LogNormal
from suffice.families.transformed import TransformedDistributions, TransformedLeftOut
from suffice.posteriors.base import Interval, Posterior, base_measure
from suffice.posteriors.normal import NormalPosterior
from suffice.posteriors.normal_inverse_gamma import NormalInverseGammaPosterior
from suffice.priors import KnownVariance, Prior, holds_prior


class LogNormalPosterior(Posterior):
    """The posterior of μ and σ² of log x, normal–inverse-Gamma, or of μ if the variance is known.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import LogNormal, NormalInverseWishart
    >>> prior = NormalInverseWishart.textbook(mean=[0.0], mean_count=1.0, dof=1.0, scale=[1.0])
    >>> posterior = LogNormal().posterior(np.exp([1.0, 2.0, 3.0]), prior)
    >>> posterior.mean().variance  # as for Gaussian().posterior([1.0, 2.0, 3.0], prior)
    array([[3.]])
    >>> posterior.predictive().log_prob([4.0]).round(4)
    array([-2.6857])
    """

    family: LogNormal
    priors: ClassVar[tuple[type[Prior], ...]] = NormalInverseGammaPosterior.priors

    def _require_prior(self) -> None:
        self.of_logs  # noqa: B018

    @cached_property
    def of_logs(self) -> Any:
        """The posterior of the parameters of log x."""
        kind = NormalPosterior if holds_prior(self.prior, (KnownVariance,)) else NormalInverseGammaPosterior
        return kind(self.family.inner, self.statistics, self.prior)

    def mean(self) -> Any:
        """Return the posterior mean of μ and σ², the parameters of log x."""
        return self.of_logs.mean()

    def map(self) -> Distributions:
        """Return the distributions at the mode of the posterior density."""
        return self.family.of(self.of_logs.map())

    def interval(self, level: float = 0.95) -> Any:
        """Return equal-tailed intervals of μ and σ²."""
        return self.of_logs.interval(level)

    def _estimates(self, level: float) -> list[tuple[str, FloatArray, Interval]]:
        of_logs = self.of_logs._estimates(level)
        return [(f"{name} of log x", mean, interval) for name, mean, interval in of_logs]

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Any:
        """Return draws of μ and σ², n×k×d each."""
        return self.of_logs.sample(n, random_state)

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return the log-density of all log x, (k,), minus Σ log x if the rows are given: then it is that of x."""
        evidence = np.asarray(self.of_logs.log_evidence())
        if x is None:
            return evidence
        logs = self.family.prepare(self.family.encode(x))
        k = self.n_classes
        return evidence + base_measure(self.family, x, k) - base_measure(self.family.inner, logs, k)

    def left_out(self, predictives: Any) -> LeftOut:
        """Return the scores of rows by the predictives of log x without each of them."""
        return TransformedLeftOut(self.family, self.of_logs.left_out(predictives.of_y), predictives)

    def predictives(self) -> Distributions:
        """Return the distributions of one more row: log x has one t per column, or a Gaussian if σ² is known."""
        found = self.of_logs.predictives()
        if isinstance(found, GaussianDistributions):
            return self.family.of(found)
        return LogStudentColumns(self.family, found)


class LogStudentColumns(TransformedDistributions):
    """Columns whose logarithms have one t each: a density without a mean."""

    title: ClassVar[str] = "Student's t of log x"

    def shown(self) -> dict[str, Any]:
        """Return the location, the scale and the degrees of freedom of log x."""
        return dict(self.of_y.shown())

    def mean(self) -> FloatArray:
        """Return infinity, k×d."""
        return np.full((self.n_classes, self.n_columns), np.inf)

    def variance(self) -> FloatArray:
        """Return infinity, k×d."""
        return self.mean()
