"""The eight structures that share some of volume, shape and orientation, and whose estimate is no plain average.

All are maximum likelihood, given a scatter and a number of rows per class. A prior adds a rows of V to every class:
W_c = S_c + a·V and n_c = a + n_c − the rows that estimating the mean costs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.data_scaled_prior import (
    freedom,
    prior_variance,
    pull_to_prior_mean,
    ratio,
    with_ridge,
)
from suffice.families.gaussian.covariance.orientation import (
    MAX_FURTHER_ITERATIONS,
    axes_of,
    common_axes,
    equal_volumes,
    free_volumes,
)
from suffice.families.gaussian.covariance.posterior_means import TIED, TIED_DIAGONAL, towards_tied
from suffice.families.gaussian.covariance.structure import Covariance, expected_log_likelihood
from suffice.families.gaussian.covariance.volumes import equal_scale, equal_volume, shared_matrix, shared_shape
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import DiagonalMoments, FullMoments, Moments

_TINY = float(np.finfo(np.float64).tiny)
#: the error of the log-likelihood per row that rounding may cause if covariances are almost singular
_SPOILT = 1e-6
#: variances below this share of the largest are lost to rounding in an eigendecomposition
_LEAST_EIGENVALUE = 1e-13


class Constrained(Covariance):
    """A structure that is estimated by maximum likelihood from scatters and counts."""

    #: whether the estimate is iterative
    iterative: ClassVar[bool] = False

    def estimate(
        self, moments: Moments, prior: NormalInverseWishart | None, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the maximum-likelihood covariances, with the rows of the prior added to those of each class."""
        moments = moments.to_layout(self.layout)
        if prior is None:
            return self._no_worse(moments.scatter, moments.count, start)
        scatter = moments.scatter + pull_to_prior_mean(moments, prior)
        a = self.prior_rows(prior, moments.n_columns)
        count = np.maximum(a + freedom(moments.count, prior), _TINY)
        if a == 0.0:
            return self._no_worse(scatter, count, start)
        return self._no_worse(scatter + a * self._prior_covariance(moments, prior), count, start, penalised=True)

    def _no_worse(
        self, scatter: FloatArray, count: FloatArray, start: FloatArray | None, *, penalised: bool = False
    ) -> FloatArray:
        """Return the best covariances found, or the start if the iteration stopped before it improved on it.

        If maximum likelihood leads to singular covariances, there is no estimate: these are returned, and factorising
        them raises the error. With a prior there is an estimate, which rounding error then hides.
        """
        found = self._fit(self._ridged(scatter) if penalised and not self.diagonal else scatter, count, start)
        if start is None or not self.iterative:
            return found
        before, after = (expected_log_likelihood(compact, scatter, count) for compact in (start, found))
        if not before > after:
            return found
        attained = -np.inf if penalised else expected_log_likelihood(found, None, count)
        singular = not penalised and (attained == -np.inf or attained > before + _SPOILT * float(count.sum()))
        return found if singular else start

    def _ridged(self, scatter: FloatArray) -> FloatArray:
        """Return the scatter with a ridge that keeps correlations a little below 1, however weak the prior."""
        return with_ridge(scatter)

    @abstractmethod
    def _fit(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        """Return the maximum-likelihood covariances, one per class."""


# -- without covariances ------------------------------------------------------------------------------------------


class ConstrainedVariances(Constrained):
    """Structures with variances alone."""

    layout = DiagonalMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return TIED_DIAGONAL

    def _prior_covariance(self, moments: Moments, prior: NormalInverseWishart) -> FloatArray:
        return prior_variance(moments, prior)


class VEI(ConstrainedVariances):
    """All classes share the shape of their variances, and each has its own volume."""

    name = code = "VEI"
    iterative = True

    def _fit(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        return shared_shape(scatter, count, None if start is None else np.log(start).mean(1))


class EVI(ConstrainedVariances):
    """Each class has its own variances, but all have the same volume."""

    name = code = "EVI"

    def _fit(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        return equal_volume(scatter, count)


# -- with covariances ---------------------------------------------------------------------------------------------


class ConstrainedMatrices(Constrained):
    """Structures with full covariances."""

    layout = FullMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return TIED

    def _prior_covariance(self, moments: Moments, prior: NormalInverseWishart) -> FloatArray:
        return towards_tied(moments, prior, self.prior_rows(prior, moments.n_columns))


class VEE(ConstrainedMatrices):
    """All covariances are multiples of one matrix."""

    name = code = "VEE"
    iterative = True

    def _fit(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        return shared_matrix(scatter, count[:, 0], _log_volume(start))


class EVV(ConstrainedMatrices):
    """Each class has its own covariance, but all have the same volume."""

    name = code = "EVV"

    def _fit(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        sign, log_determinant = np.linalg.slogdet(scatter)
        if not (sign > 0).all():  # singular: factorising it raises the error
            return ratio(scatter, count[:, :, None])
        log_volume = log_determinant / scatter.shape[1]
        scale = equal_scale(log_volume, count[:, 0])
        return np.asarray(scatter * np.exp(np.log(scale) - log_volume)[:, None, None])


class Rotated(ConstrainedMatrices):
    """Variances along axes that are not the columns."""

    def _ridged(self, scatter: FloatArray) -> FloatArray:
        ridged = with_ridge(scatter)
        diagonal = np.arange(scatter.shape[1])
        least = _LEAST_EIGENVALUE * np.trace(scatter, axis1=1, axis2=2)
        ridged[:, diagonal, diagonal] += least[:, None]
        return ridged


class OwnAxes(Rotated):
    """Each class has its own axes: those of its scatter, ordered by length."""

    def _fit(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        variance, axes = np.linalg.eigh(scatter)
        along = np.maximum(variance, 0.0)
        return _along(self._variances(along, np.broadcast_to(count, along.shape), start), axes)

    @abstractmethod
    def _variances(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        """Return the variances along the axes, k×d."""


class EEV(OwnAxes):
    """The classes differ in orientation only."""

    name = code = "EEV"

    def _variances(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        return np.broadcast_to(ratio(scatter.sum(0), count.sum(0)), scatter.shape)


class VEV(OwnAxes):
    """The classes differ in volume and orientation, not in shape."""

    name = code = "VEV"
    iterative = True

    def _variances(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        return shared_shape(scatter, count, _log_volume(start))


class CommonAxes(Rotated):
    """All classes share their axes."""

    iterative = True
    equal: ClassVar[bool]

    def _fit(self, scatter: FloatArray, count: FloatArray, start: FloatArray | None) -> FloatArray:
        if not 1e-50 < count.sum() < 1e50:  # products of weights must not overflow
            scatter, count = scatter / count.sum(), count / count.sum()
        criterion = (equal_volumes if self.equal else free_volumes)(count[:, 0])
        if start is None:
            axes = common_axes(scatter, criterion, self._axes(scatter, count))
        else:
            axes = common_axes(scatter, criterion, [axes_of(start)], MAX_FURTHER_ITERATIONS)
        along = np.maximum((axes * (scatter @ axes)).sum(1), 0.0)
        rows = np.broadcast_to(count, along.shape)
        return _along(equal_volume(along, rows) if self.equal else ratio(along, rows), axes)

    def _axes(self, scatter: FloatArray, count: FloatArray) -> list[FloatArray]:
        """Return axes to start from: those of all classes together, and of the largest classes."""
        largest = np.argsort(-count[:, 0], kind="stable")[:3]
        together = shared_matrix(scatter, count[:, 0])[:1]
        return list(np.linalg.eigh(np.concatenate([scatter.sum(0, keepdims=True), together, scatter[largest]]))[1])


class EVE(CommonAxes):
    """The classes share volume and axes, and differ in shape only."""

    name = code = "EVE"
    equal = True


class VVE(CommonAxes):
    """The classes share their axes: common principal components."""

    name = code = "VVE"
    equal = False


def _along(variance: FloatArray, axes: FloatArray) -> FloatArray:
    """Return D diag(variance) Dᵀ for each class."""
    half = axes * np.sqrt(variance)[:, None, :]
    return np.asarray(half @ half.transpose(0, 2, 1))


def _log_volume(covariance: FloatArray | None) -> FloatArray | None:
    """Return log |Σ_c| / d, (k,)."""
    return None if covariance is None else np.linalg.slogdet(covariance)[1] / covariance.shape[1]
