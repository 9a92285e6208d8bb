"""Normal–inverse-Wishart: the posterior of the means and the full covariances of Gaussian columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, multigammaln, stdtrit

from suffice._arrays import FloatArray
from suffice.errors import EstimateError
from suffice.families.base import Distributions
from suffice.families.gaussian import Gaussian, GaussianDistributions
from suffice.families.gaussian.covariance.constant import NEUTRAL_VARIANCE, with_constants
from suffice.families.gaussian.covariance.data_scaled_prior import given_scatter, prior_mean
from suffice.families.gaussian.leaving import Scatters
from suffice.families.gaussian.left_out import BesideConstants, left_out_of
from suffice.families.left_out import LeftOut
from suffice.posteriors.base import Interval, Posterior, of_shape, tails
from suffice.posteriors.hyperparameters import Hyperparameters, degrees_before, hyperparameters
from suffice.posteriors.left_out import Averaged
from suffice.posteriors.side_by_side import Part, SideBySide
from suffice.posteriors.student import StudentDistributions
from suffice.priors import KnownVariance, NormalInverseWishart, Prior, find_prior

#: the default prior: that of `Gaussian.estimate`, but with one whole row of the overall variance
AUTOMATIC = NormalInverseWishart(overall_count=1.0)


class MeanAndCovariance(NamedTuple):
    """Means, …×k×d, and covariances, …×k×d×d (one for all classes if they share it)."""

    mean: FloatArray
    covariance: FloatArray


class Intervals(NamedTuple):
    """Intervals of the means and of the variances, k×d each."""

    mean: Interval
    variance: Interval


class GaussianPosterior(Posterior):
    """The common base of the posteriors of Gaussian parameters: μ | Σ ~ N(m_n, Σ/κ_n)."""

    family: Gaussian
    priors: ClassVar[tuple[type[Prior], ...]] = (NormalInverseWishart, KnownVariance)

    def _require_prior(self) -> None:
        d = self.statistics.n_columns
        given_scatter(self._conjugate_prior, d)
        if self._conjugate_prior.mean is not None:
            of_shape(self._conjugate_prior.mean, (d,), "mean of the NormalInverseWishart")

    @cached_property
    def _conjugate_prior(self) -> NormalInverseWishart:
        prior = find_prior(self.prior, self.priors, AUTOMATIC)
        assert isinstance(prior, NormalInverseWishart)
        return prior

    @cached_property
    def _hyper(self) -> Hyperparameters:
        return hyperparameters(self.family.structure, self.statistics, self._conjugate_prior)

    @property
    def location(self) -> FloatArray:
        """m_n, k×d."""
        return self._hyper.location

    @property
    def count(self) -> FloatArray:
        """κ_n, k×1 or k×d."""
        return self._hyper.count

    @property
    def scatter(self) -> FloatArray:
        """Λ, the scale of the inverse Wishart (or Gamma)."""
        return self._hyper.scatter

    @property
    def dof(self) -> FloatArray:
        """ν, the degrees of freedom."""
        return self._hyper.dof

    def _estimates(self, level: float) -> list[tuple[str, FloatArray, Interval]]:
        (mean, spread), intervals = self.mean(), self.interval(level)
        variance = np.diagonal(spread, axis1=1, axis2=2) if spread.ndim == 3 else spread
        return [("mean", mean, intervals.mean), ("variance", variance, intervals.variance)]

    def _at_mode(self, compact: FloatArray | None) -> GaussianDistributions:
        """Return the distributions with these covariances of the columns that vary, and the posterior means."""
        varies, matrix = self._hyper.varies, not self.family.structure.diagonal
        if varies.all() and compact is not None:
            return GaussianDistributions(self.family, self.location, compact)
        columns, d = np.flatnonzero(varies), len(varies)
        if compact is None:
            compact = np.empty((len(self.dof), *((0, 0) if matrix else (0,))))
        whole = with_constants(compact, columns, d, matrix=matrix)
        return GaussianDistributions(self.family, self.location, whole, ~varies)

    def _with_constants(self, part: Distributions | None) -> Distributions:
        """Return the distributions of the columns that vary, with those of the constant columns added."""
        varies = self._hyper.varies
        if varies.all() and part is not None:
            return part
        still = np.flatnonzero(~varies)
        variance = np.full((1, len(still)), NEUTRAL_VARIANCE)
        all_constant = np.ones(len(still), dtype=bool)
        constants = GaussianDistributions(Gaussian("tied-diagonal"), self.location[:, still], variance, all_constant)
        parts: list[Part] = [(still, constants)]
        if part is not None:
            parts.append((np.flatnonzero(varies), part))  # type: ignore[arg-type]
        return SideBySide(self.family, parts)

    def left_out(self, predictives: Any) -> LeftOut:
        """Return the scores of rows by the predictives without each of them: downdates of rank one."""
        hyper, prior, d = self._hyper.of_varying, self._conjugate_prior, self.location.shape[1]
        varying = np.flatnonzero(self._hyper.varies)
        inner = None
        if hyper is not None:
            moments = self.statistics.to_layout(self.family.structure.layout).of_columns(varying)
            # with a proper prior a class may have less than the rows that its mean costs
            freedom = prior.freedom if prior.mean_count == 0.0 or prior.scatter is None else 0.0
            scatters = Scatters(
                count=moments.count,
                kappa=prior.mean_count,
                location=hyper.location,
                center=np.broadcast_to(prior_mean(self.statistics, prior), (d,))[varying],
                scatter=hyper.scatter,
                rows=hyper.dof,
                freedom=freedom,
                density=Averaged(),
            )
            part = predictives.parts[1][1] if isinstance(predictives, SideBySide) else predictives
            inner = left_out_of(self.family, scatters, part)
        if inner is not None and len(varying) == d:
            return inner
        return BesideConstants(varying, inner, predictives, self.location[0])

    def _proper(self, least: float) -> tuple[FloatArray, FloatArray]:
        """Return the ν of the prior and its scatter a·V; raise ValueError if the prior is improper."""
        prior, (k, d) = self._conjugate_prior, self.location.shape
        before = degrees_before(self.family.structure, prior, k, d)
        if prior.scatter is None or prior.mean_count <= 0 or not (before > least).all():
            raise ValueError(
                f"the evidence needs a proper prior with scatter, mean_count > 0 and scatter_count − freedom > "
                f"{least:g}, but it is {prior!r}; give NormalInverseWishart.textbook(mean, mean_count, dof, scale)"
            )
        scatter = np.asarray(prior.scatter, dtype=np.float64)
        return before, self.family.structure.prior_rows(prior, d) * scatter

    def _log_counts(self) -> FloatArray:
        """Return ½ Σ_j log κ/κ_n, (k,)."""
        ratio = np.log(self._conjugate_prior.mean_count / self.count)
        return 0.5 * np.broadcast_to(ratio, self.location.shape).sum(1)


class NormalInverseWishartPosterior(GaussianPosterior):
    """Σ ~ InverseWishart(ν, Λ), μ | Σ ~ N(m_n, Σ/κ_n), for "full" and "tied" covariances.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Gaussian, NormalInverseWishart
    >>> rows = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]])
    >>> prior = NormalInverseWishart.textbook(mean=[0.0, 0.0], mean_count=1.0, dof=4.0, scale=np.eye(2))
    >>> posterior = Gaussian("full").posterior(rows, prior)
    >>> posterior.dof, posterior.location
    (array([8.]), array([[2. , 2.4]]))
    >>> posterior.log_evidence().round(4)
    array([-20.5627])
    """

    def mean(self) -> MeanAndCovariance:
        """Return m_n and Λ/(ν − d − 1), NaN if ν is too small for a mean."""
        d = self.location.shape[1]
        left = np.where(self.dof > d + 1, self.dof - d - 1, np.nan)
        return MeanAndCovariance(self.location, self.scatter / left[:, None, None])

    def map(self) -> GaussianDistributions:
        """Return the mode of the joint density: m_n and Λ/(ν + d + 2), or d + 1 + k for k classes that share Σ."""
        hyper = self._hyper.of_varying
        if hyper is None:
            return self._at_mode(None)
        k, d = hyper.location.shape
        return self._at_mode(hyper.scatter / (hyper.dof + d + 1 + k // len(hyper.dof))[:, None, None])

    def _left(self, hyper: Hyperparameters) -> FloatArray:
        """Return ν − d + 1, the degrees of freedom of one row; raise EstimateError if they are not positive."""
        d = hyper.location.shape[1]
        left = hyper.dof - d + 1.0
        if (left <= 0).any():
            raise EstimateError(
                f"averaging over the covariance of {{noun}} {{of_class}} needs more than {d - 1} rows, of the {{noun}} "
                f"and of the prior together, but there are {hyper.dof.min():g}",
                "raise scatter_count, or use prior='auto'",
                c=int(np.argmin(left)),
            )
        return left

    def interval(self, level: float = 0.95) -> Intervals:
        """Return equal-tailed intervals of each mean and each variance alone.

        μ_j has a t distribution with ν − d + 1 degrees of freedom, and Λ_jj/σ²_j is χ² with as many.
        """
        left = self._left(self._hyper)[:, None]
        scatter = np.diagonal(self.scatter, axis1=1, axis2=2)
        return marginal_intervals(self.location, self.count, scatter, left, level)

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> MeanAndCovariance:
        """Return draws of μ, n×k×d, and Σ, n×k×d×d (n×1×d×d if the classes share it)."""
        rng = np.random.default_rng(random_state)
        k, d = self.location.shape
        self._left(self._hyper)
        # Bartlett: A Aᵀ ~ Wishart(ν, I) for A lower triangular with √χ² on its diagonal; then Σ = L (A Aᵀ)⁻¹ Lᵀ
        bartlett = np.tril(rng.standard_normal((n, len(self.dof), d, d)), -1)
        diagonal = np.arange(d)
        bartlett[..., diagonal, diagonal] = np.sqrt(rng.chisquare(self.dof[:, None] - diagonal, (n, len(self.dof), d)))
        factor = np.linalg.cholesky(self.scatter)
        roots = factor @ np.linalg.inv(bartlett).swapaxes(-1, -2)
        z = rng.standard_normal((n, k, d, 1)) / np.sqrt(self.count)[:, :1, None]
        return MeanAndCovariance(self.location + (roots @ z)[..., 0], roots @ roots.swapaxes(-1, -2))

    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return the log-density of all rows, (k,), or (1,) for all classes together if they share Σ.

        −½nd log π + log Γ_d(ν/2) − log Γ_d(ν₀/2) + ½ν₀ log|Λ₀| − ½ν log|Λ| + ½d log κ/κ_n.
        """
        d = self.location.shape[1]
        before, scatter = self._proper(d - 1.0)
        scatter = np.diag(scatter) if scatter.ndim == 1 else scatter
        gammas = np.array(
            [multigammaln(0.5 * v, d) - multigammaln(0.5 * w, d) for v, w in zip(self.dof, before, strict=True)]
        )
        determinants = before * np.linalg.slogdet(scatter)[1] - self.dof * np.linalg.slogdet(self.scatter)[1]
        counts = self._log_counts() if len(self.dof) == self.n_classes else self._log_counts().sum(keepdims=True)
        return gammas + 0.5 * determinants + counts - 0.5 * d * np.log(np.pi) * (self.dof - before)

    def predictives(self) -> Distributions:
        """Return the distributions of one more row: a t with ν − d + 1 degrees of freedom.

        Its scale matrix is Λ/(ν − d + 1) · (1 + 1/κ_n).
        """
        hyper = self._hyper.of_varying
        if hyper is None:
            return self._with_constants(None)
        left = self._left(hyper)
        gaussian = GaussianDistributions(self.family, hyper.location, hyper.scatter / hyper.dof[:, None, None])
        spread = hyper.dof / left * (1.0 + 1.0 / hyper.count[:, 0])
        return self._with_constants(
            StudentDistributions(self.family, gaussian, np.broadcast_to(left, spread.shape), spread)
        )


def marginal_intervals(
    location: FloatArray, count: FloatArray, scatter: FloatArray, dof: FloatArray, level: float
) -> Intervals:
    """Return intervals of μ ~ t(dof, m_n, Λ/(κ_n dof)) and of σ² ~ Λ/χ²(dof), k×d each."""
    low, high = tails(level)
    dof, scatter = (np.broadcast_to(values, location.shape) for values in (dof, scatter))
    half = stdtrit(dof, high) * np.sqrt(scatter / (dof * count))
    variance = Interval(scatter / chdtri(dof, low), scatter / chdtri(dof, high))
    return Intervals(Interval(location - half, location + half), variance)
