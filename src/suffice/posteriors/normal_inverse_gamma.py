"""Normal–inverse-Gamma: the posterior of the means and variances of Gaussian columns without covariances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from suffice._arrays import FloatArray
from suffice.errors import EstimateError
from suffice.families.base import Distributions
from suffice.families.gaussian import Gaussian, GaussianDistributions
from suffice.posteriors.normal_inverse_wishart import GaussianPosterior, Intervals, marginal_intervals
from suffice.posteriors.student import StudentDistributions
from suffice.posteriors.student_columns import StudentColumns


class MeanAndVariance(NamedTuple):
    """Means and variances, …×k×d (one variance for all classes if they share it)."""

    mean: FloatArray
    variance: FloatArray


class NormalInverseGammaPosterior(GaussianPosterior):
    """σ² ~ InverseGamma(ν/2, Λ/2), μ | σ² ~ N(m_n, σ²/κ_n), for the diagonal and spherical structures.

    Examples
    --------
    >>> from suffice import Gaussian, NormalInverseWishart
    >>> prior = NormalInverseWishart.textbook(mean=[0.0], mean_count=1.0, dof=1.0, scale=[1.0])
    >>> posterior = Gaussian().posterior([1.0, 2.0, 3.0], prior)
    >>> posterior.dof, posterior.scatter, posterior.mean().variance  # Λ/(ν − 2)
    (array([[4.]]), array([[6.]]), array([[3.]]))
    >>> posterior.interval(0.9).mean.low.round(3), posterior.interval(0.9).mean.high.round(3)
    (array([[0.195]]), array([[2.805]]))
    """

    def _over_columns(self, values: FloatArray) -> FloatArray:
        """Return one number per column, also if all columns share it."""
        return np.broadcast_to(values, (len(values), self.location.shape[1]))

    def mean(self) -> MeanAndVariance:
        """Return m_n and Λ/(ν − 2), NaN if ν is too small for a mean."""
        left = np.where(self.dof > 2.0, self.dof - 2.0, np.nan)
        return MeanAndVariance(self.location, self._over_columns(self.scatter / left))

    def map(self) -> GaussianDistributions:
        """Return the mode of the joint density: m_n and Λ/(ν + 2 + m), where m means share the variance."""
        hyper = self._hyper.of_varying
        if hyper is None:
            return self._at_mode(None)
        columns = hyper.location.shape[1]
        sharing = self.n_classes // len(hyper.dof) * (columns if self.family.structure.one_variance else 1)
        variance = hyper.scatter / (hyper.dof + 2.0 + sharing)
        return self._at_mode(np.broadcast_to(variance, (len(variance), columns)))

    def interval(self, level: float = 0.95) -> Intervals:
        """Return equal-tailed intervals of each mean (a t with ν degrees of freedom) and each variance."""
        return marginal_intervals(self.location, self.count, self.scatter, self.dof, level)

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> MeanAndVariance:
        """Return draws of μ, n×k×d, and σ², n×k×d (n×1×d if the classes share them)."""
        rng = np.random.default_rng(random_state)
        drawn = self.scatter / rng.chisquare(self.dof, size=(n, *self.dof.shape))
        variance = np.broadcast_to(drawn, (n, drawn.shape[1], self.location.shape[1]))
        z = rng.standard_normal((n, *self.location.shape))
        return MeanAndVariance(self.location + z * np.sqrt(variance / self.count), variance)

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return the log-density of all rows, (k,), or (1,) for all classes together if they share variances.

        Σ −½n log π + log Γ(ν/2) − log Γ(ν₀/2) + ½ν₀ log Λ₀ − ½ν log Λ + ½ log κ/κ_n, one term per variance.
        """
        before, scatter = self._proper(0.0)
        scatter = np.diagonal(scatter) if scatter.ndim == 2 else scatter
        scatter = scatter.sum(keepdims=True) if self.family.structure.one_variance else scatter
        gammas = gammaln(0.5 * self.dof) - gammaln(0.5 * before)
        logs = 0.5 * (before * np.log(scatter) - self.dof * np.log(self.scatter))
        evidence = (gammas + logs - 0.5 * np.log(np.pi) * (self.dof - before)).sum(1)
        counts = self._log_counts()
        return np.asarray(evidence + (counts if len(evidence) == len(counts) else counts.sum(keepdims=True)))

    def predictives(self) -> Distributions:
        """Return the distributions of one more row: one t per column with ν degrees of freedom.

        Its squared scale is Λ/ν · (1 + 1/κ_n). Columns that share a variance have one joint t.
        """
        if not (self.dof > 0).all():
            c, column = (int(i) for i in np.argwhere(~(self.dof > 0))[0])
            raise EstimateError(
                "averaging over the variance of column {of_column} in {noun} {of_class} needs rows, of the {noun} or "
                "of the prior, but there are none",
                "raise scatter_count, or use prior='auto'",
                c=c,
                column=column,
            )
        hyper = self._hyper.of_varying
        if hyper is None:
            return self._with_constants(None)
        k = self.n_classes
        squared_scale = hyper.scatter / hyper.dof * (1.0 + 1.0 / hyper.count)
        # raises EstimateError if a variance is 0, which has no density
        gaussian = GaussianDistributions(Gaussian("diagonal"), hyper.location, squared_scale)
        if self.family.structure.one_variance:
            dof = np.broadcast_to(hyper.dof[:, 0], k)
            return self._with_constants(StudentDistributions(self.family, gaussian, dof, np.ones(k)))
        dof = np.broadcast_to(hyper.dof, hyper.location.shape)
        return self._with_constants(StudentColumns(self.family, hyper.location, squared_scale, dof))
