"""Normal: the posterior of the means of Gaussian columns whose variance is known."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from suffice._arrays import FloatArray
from suffice.errors import EstimateError
from suffice.families.gaussian import Gaussian, GaussianDistributions
from suffice.families.gaussian.covariance import Given
from suffice.families.gaussian.diagonal_left_out import DiagonalLeftOut
from suffice.families.gaussian.leaving import Scatters, Widened
from suffice.families.gaussian.left_out import FullLeftOut
from suffice.families.left_out import LeftOut
from suffice.posteriors.base import Interval, Posterior, of_shape, tails
from suffice.priors import KnownVariance, Prior, find_prior


class NormalPosterior(Posterior):
    """μ ~ N(m_n, Σ/κ_n), κ_n = κ + n, m_n = (κ m + n x̄)/κ_n, for a known variance Σ.

    Examples
    --------
    >>> from suffice import Gaussian, KnownVariance
    >>> posterior = Gaussian().posterior([1.0, 2.0, 3.0], KnownVariance(4.0, mean=0.0, count=1.0))
    >>> posterior.mean(), posterior.count
    (array([[1.5]]), array([[4.]]))
    >>> posterior.predictive().variance()  # 4 (1 + 1/4)
    array([5.])
    """

    family: Gaussian
    priors: ClassVar[tuple[type[Prior], ...]] = (KnownVariance,)

    def _require_prior(self) -> None:
        self.variance, self._center  # noqa: B018

    @cached_property
    def _known(self) -> KnownVariance:
        structure = self.family.structure
        variance = structure.compact(self.statistics.n_columns) if isinstance(structure, Given) else 1.0
        known = find_prior(self.prior, self.priors, KnownVariance(variance))
        assert isinstance(known, KnownVariance)
        return known

    @cached_property
    def variance(self) -> FloatArray:
        """The variances, (d,), or the covariance, d×d."""
        d = self.statistics.n_columns
        variance = np.asarray(self._known.variance, dtype=np.float64)
        if variance.ndim == 2 and self.family.structure.diagonal:
            raise ValueError(
                f"the known variance is a matrix, but {self.family!r} has no covariances; use Gaussian('full')"
            )
        if variance.ndim == 2 and variance.shape != (d, d):
            raise ValueError(f"the known variance must be of shape ({d}, {d}), not {variance.shape}")
        return variance if variance.ndim == 2 else of_shape(variance, (d,), "variance of the KnownVariance")

    @cached_property
    def count(self) -> FloatArray:
        """κ_n, k×1 or k×d."""
        count = self._known.count + self.statistics.count
        if not (count > 0).all():
            c = int(np.argwhere(~(count > 0))[0, 0])
            raise EstimateError("{noun} {of_class} has no rows, and the prior counts as none", "give it a count", c=c)
        return np.asarray(count)

    @property
    def _center(self) -> FloatArray:
        mean = self._known.mean
        if mean is None:
            return np.asarray(self.statistics.total_mean())
        return of_shape(mean, (self.statistics.n_columns,), "mean of the KnownVariance")

    def mean(self) -> FloatArray:
        """Return m_n, k×d."""
        mean = self.statistics.mean
        return np.asarray(mean + self._known.count / self.count * (self._center - mean))

    @property
    def _variances(self) -> FloatArray:
        return np.diagonal(self.variance) if self.variance.ndim == 2 else self.variance

    def _gaussian(self, spread: FloatArray) -> GaussianDistributions:
        """Return Gaussians with the posterior means and `spread` times the variance."""
        if self.variance.ndim == 2:
            covariance = self.variance * spread[:, :1, None]
            return GaussianDistributions(Gaussian("full"), self.mean(), covariance)
        variance = np.broadcast_to(self.variance * spread, self.mean().shape)
        return GaussianDistributions(Gaussian("diagonal"), self.mean(), variance)

    def map(self) -> GaussianDistributions:
        """Return the Gaussians with μ = m_n."""
        return self._gaussian(np.ones_like(self.count))

    def interval(self, level: float = 0.95) -> Interval:
        """Return intervals of each mean, k×d each."""
        half = ndtri(tails(level)[1]) * np.sqrt(self._variances / self.count)
        return Interval(self.mean() - half, self.mean() + half)

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> FloatArray:
        """Return draws of μ, n×k×d."""
        rng = np.random.default_rng(random_state)
        k = self.n_classes
        drawn = self._gaussian(1.0 / self.count).sample(np.tile(np.arange(k), n), rng)
        return drawn.reshape(n, k, drawn.shape[1])

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return the log-density of all rows, (k,), or (1,) if only a pooled scatter was kept.

        −½nd log 2π − ½n log|Σ| − ½ tr Σ⁻¹(S + κn/κ_n (x̄ − m)(x̄ − m)ᵀ) + ½d log κ/κ_n.
        """
        kappa = self._known.count
        if kappa <= 0:
            raise ValueError(
                f"the evidence needs a proper prior, with a count above 0, but it is {self._known!r}; give it "
                f"a mean and a count"
            )
        moments, k = self.statistics, self.n_classes
        n, off = moments.count, moments.mean - self._center
        pull = kappa * n / self.count
        scatter, shape = moments.scatter, moments.mean.shape
        if self.variance.ndim == 2:
            precise = np.linalg.solve(self.variance, np.eye(shape[1]))
            squared = np.einsum("...ij,ij->...", scatter, precise)
            off_squared = pull[:, 0] * np.einsum("ki,ij,kj->k", off, precise, off)
            logs = -0.5 * n[:, 0] * (shape[1] * np.log(2 * np.pi) + np.linalg.slogdet(self.variance)[1])
        else:
            spread = scatter if moments.second.shape == shape else np.diagonal(scatter, axis1=-2, axis2=-1)
            squared = (spread / self.variance).sum(-1)
            off_squared = (pull * off**2 / self.variance).sum(1)
            logs = -0.5 * np.broadcast_to(n * np.log(2 * np.pi * self.variance), shape).sum(1)
        logs = logs - 0.5 * off_squared + 0.5 * np.broadcast_to(np.log(kappa / self.count), shape).sum(1)
        pooled = np.ndim(squared) == 0
        return np.asarray(logs.sum(keepdims=True) if pooled and k > 1 else logs) - 0.5 * squared

    def left_out(self, predictives: GaussianDistributions) -> LeftOut:
        """Return the scores of rows by the predictives without each of them: only their means change."""
        scatters = Scatters(
            count=self.statistics.count,
            kappa=self._known.count,
            location=self.mean(),
            center=self._center,
            scatter=self.variance[None],
            rows=np.ones((1, 1) if self.variance.ndim == 1 else 1),
            freedom=0.0,
            density=Widened(),
            known=True,
        )
        return (DiagonalLeftOut if self.variance.ndim == 1 else FullLeftOut)(scatters, predictives)

    def predictives(self) -> GaussianDistributions:
        """Return the distributions of one more row: N(m_n, Σ (1 + 1/κ_n))."""
        return self._gaussian(1.0 + 1.0 / self.count)
