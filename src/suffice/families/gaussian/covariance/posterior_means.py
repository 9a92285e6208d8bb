"""The six structures whose estimate is a plain average: scatter / count, or posterior means under the prior."""

from __future__ import annotations

from abc import abstractmethod

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.data_scaled_prior import (
    freedom,
    given_scatter,
    over_columns,
    prior_variance,
    pull_to_prior_mean,
    ratio,
    with_ridge,
)
from suffice.families.gaussian.covariance.shrinkage import shrunk_tied, tied_target
from suffice.families.gaussian.covariance.structure import Covariance
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import DiagonalMoments, FullMoments, Moments, TiedMoments


class PosteriorMean(Covariance):
    """A structure whose covariances are averages of scatters."""

    def estimate(
        self, moments: Moments, prior: NormalInverseWishart | None, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the covariances: maximum likelihood, or the posterior mean under the prior."""
        moments = moments.to_layout(self.layout)
        if prior is None:
            return self._weighted_mean(moments, moments.scatter, moments.count)
        scatter = moments.scatter + pull_to_prior_mean(moments, prior)
        return self._posterior_mean(moments, scatter, prior)

    @abstractmethod
    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        """Return scatter / count, averaged over what the structure shares."""

    @abstractmethod
    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        """Return (a·V + S) / (a + degrees of freedom)."""


class Diagonal(PosteriorMean):
    """Each class has its own variances, and no covariances."""

    name = "diagonal"
    code = "VVI"
    layout = DiagonalMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return TIED_DIAGONAL

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return ratio(scatter, count)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self.prior_rows(prior, moments.n_columns)
        return ratio(a * self._prior_covariance(moments, prior) + scatter, a + freedom(moments.count, prior))

    def _prior_covariance(self, moments: Moments, prior: NormalInverseWishart) -> FloatArray:
        return prior_variance(moments, prior)


class TiedDiagonal(Diagonal):
    """All classes share their variances, and there are no covariances."""

    name = "tied-diagonal"
    code = "EEI"

    @property
    def shared(self) -> Covariance:
        """The structure itself, which is shared already."""
        return self

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return ratio(scatter.sum(0, keepdims=True), count.sum(0, keepdims=True))

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self.prior_rows(prior, moments.n_columns)
        rows = freedom(moments.count, prior).sum(0, keepdims=True)
        pooled = scatter.sum(0, keepdims=True)
        return ratio(a * self._prior_covariance(moments, prior) + pooled, a + rows)


class Spherical(Diagonal):
    """Each class has one variance for all its columns."""

    name = "spherical"
    code = "VII"
    one_variance = True

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return TIED_SPHERICAL

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return over_columns(ratio(scatter.sum(1, keepdims=True), count.sum(1, keepdims=True)), moments)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        rows = freedom(moments.count, prior).sum(1, keepdims=True)
        return self._shared_by_columns(moments, prior, scatter.sum(1, keepdims=True), rows)

    def _shared_by_columns(
        self, moments: Moments, prior: NormalInverseWishart, pooled: FloatArray, rows: FloatArray
    ) -> FloatArray:
        """Return one variance for all columns."""
        a = self.prior_rows(prior, moments.n_columns)
        variance = ratio(a * self._prior_covariance(moments, prior).sum() + pooled, a * moments.n_columns + rows)
        return over_columns(variance, moments)


class TiedSpherical(Spherical):
    """All classes and columns share one variance."""

    name = "tied-spherical"
    code = "EII"

    @property
    def shared(self) -> Covariance:
        """The structure itself, which is shared already."""
        return self

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return over_columns(ratio(scatter.sum(keepdims=True), count.sum(keepdims=True)), moments)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        rows = freedom(moments.count, prior).sum(keepdims=True)
        return self._shared_by_columns(moments, prior, scatter.sum(keepdims=True), rows)


class Tied(PosteriorMean):
    """All classes share one full covariance: linear discriminant analysis."""

    name = "tied"
    code = "EEE"
    layout = TiedMoments

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return ratio(scatter[None], count.sum()[None, None, None])

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        return shrunk_tied(moments, scatter, prior, self.prior_rows(prior, moments.n_columns))[None]

    def _prior_covariance(self, moments: Moments, prior: NormalInverseWishart) -> FloatArray:
        return tied_target(moments, prior)


class Full(PosteriorMean):
    """Each class has its own full covariance: quadratic discriminant analysis."""

    name = "full"
    code = "VVV"
    layout = FullMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return TIED

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return ratio(scatter, count[:, :, None])

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self.prior_rows(prior, moments.n_columns)
        rows = freedom(moments.count, prior)[:, :, None]
        if a == 0.0:
            return ratio(scatter, rows)
        prior_covariance = self._prior_covariance(moments, prior)
        return with_ridge(ratio(a * prior_covariance + scatter, a + rows))

    def _prior_covariance(self, moments: Moments, prior: NormalInverseWishart) -> FloatArray:
        return towards_tied(moments, prior, self.prior_rows(prior, moments.n_columns))


def towards_tied(moments: Moments, prior: NormalInverseWishart, a: float) -> FloatArray:
    """Return the prior covariance of one class: the scatter given, or else the covariance that the classes share."""
    given = given_scatter(prior, moments.n_columns)
    if given is not None:
        return given
    pooled = (moments.scatter + pull_to_prior_mean(moments, prior)).sum(0)
    return shrunk_tied(moments, pooled, prior, a)


FULL, TIED = Full(), Tied()
DIAGONAL, TIED_DIAGONAL = Diagonal(), TiedDiagonal()
SPHERICAL, TIED_SPHERICAL = Spherical(), TiedSpherical()
