"""Covariance structures: what the classes share, and which of the covariances are free.

A structure says which moments it needs and turns them into covariances, by maximum likelihood or with a
prior. What it returns is compact: variances (k, d) or covariances (k, d, d), with 1 in place of k where all classes
share them. Scoring looks at that shape only, so a new structure is one class here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from suffice._arrays import FloatArray
from suffice.priors import NormalInverseWishart
from suffice.statistics import DiagonalMoments, FullMoments, Moments, TiedMoments

#: how many rows of the overall variance the data-scaled prior adds to the variance within the classes
_OVERALL_ROWS = 1e-3
#: the least share of its own variance by which a column is told from a combination of others
_LEAST_RIDGE = 1e-10
#: below this, reciprocals overflow
_SMALLEST_VARIANCE = 1e-290


class Covariance(ABC):
    """One structure; all are singletons in `STRUCTURES`."""

    name: ClassVar[str]
    layout: ClassVar[type[Moments]]
    #: whether the columns of a block share a variance, so that it matters which columns make a block
    one_variance: ClassVar[bool] = False

    @property
    def diagonal(self) -> bool:
        """Whether the columns are independent given the class."""
        return self.layout is DiagonalMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return self

    @property
    def tied(self) -> bool:
        """Whether all classes share their covariance."""
        return self.shared is self

    def estimate(self, moments: Moments, prior: NormalInverseWishart | None) -> FloatArray:
        """Return the covariances: maximum likelihood, or the posterior mean under the prior."""
        moments = moments.to_layout(self.layout)
        if prior is None:
            return self._weighted_mean(moments, moments.scatter, moments.count)
        scatter = moments.scatter + _pull_to_prior_mean(moments, prior)
        return self._posterior_mean(moments, scatter, prior)

    @abstractmethod
    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        """Return scatter / count, averaged over what the structure shares."""

    @abstractmethod
    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        """Return (a·V + S) / (a + degrees of freedom)."""

    def _rows(self, prior: NormalInverseWishart, n_columns: int) -> float:
        automatic = 1.0 if self.diagonal else float(n_columns)
        return automatic if isinstance(prior.scatter_count, str) else float(prior.scatter_count)


class Diagonal(Covariance):
    """Each class has its own variances, and no covariances."""

    name = "diagonal"
    layout = DiagonalMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return STRUCTURES[TiedDiagonal.name]

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _ratio(scatter, count)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        variance = _ratio(a * _prior_variance(moments, prior) + scatter, a + _freedom(moments.count))
        return _neutral_where_constant(variance, moments) if a > 0 else variance


class TiedDiagonal(Diagonal):
    """All classes share their variances, and there are no covariances."""

    name = "tied-diagonal"

    @property
    def shared(self) -> Covariance:
        """It is shared already."""
        return self

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _ratio(scatter.sum(0, keepdims=True), count.sum(0, keepdims=True))

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        freedom = _freedom(moments.count).sum(0, keepdims=True)
        pooled = scatter.sum(0, keepdims=True)
        variance = _ratio(a * _prior_variance(moments, prior) + pooled, a + freedom)
        return _neutral_where_constant(variance, moments) if a > 0 else variance


class Spherical(Diagonal):
    """Each class has one variance for all its columns."""

    name = "spherical"
    one_variance = True

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return STRUCTURES[TiedSpherical.name]

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _over_columns(_ratio(scatter.sum(1, keepdims=True), count.sum(1, keepdims=True)), moments)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        freedom = _freedom(moments.count).sum(1, keepdims=True)
        return self._shared_by_columns(a, moments, prior, scatter.sum(1, keepdims=True), freedom)

    def _shared_by_columns(
        self, a: float, moments: Moments, prior: NormalInverseWishart, pooled: FloatArray, freedom: FloatArray
    ) -> FloatArray:
        """Return one variance for all columns; constant ones add nothing, unless all are."""
        constant = _constant(moments)
        believed = np.where(constant, 0.0, _prior_variance(moments, prior)).sum()
        variance = _ratio(a * believed + pooled, a * moments.n_columns + freedom)
        return _over_columns(np.ones_like(variance) if constant.all() and a > 0 else variance, moments)


class TiedSpherical(Spherical):
    """All classes and columns share one variance."""

    name = "tied-spherical"

    @property
    def shared(self) -> Covariance:
        """It is shared already."""
        return self

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _over_columns(_ratio(scatter.sum(keepdims=True), count.sum(keepdims=True)), moments)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        freedom = _freedom(moments.count).sum(keepdims=True)
        return self._shared_by_columns(a, moments, prior, scatter.sum(keepdims=True), freedom)


class Tied(Covariance):
    """All classes share one full covariance: linear discriminant analysis."""

    name = "tied"
    layout = TiedMoments

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _ratio(scatter[None], count.sum()[None, None, None])

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        return _shrunk_tied(moments, scatter, prior, self._rows(prior, moments.n_columns))[None]


class Full(Covariance):
    """Each class has its own full covariance: quadratic discriminant analysis."""

    name = "full"
    layout = FullMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return STRUCTURES[Tied.name]

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _ratio(scatter, count[:, :, None])

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        freedom = _freedom(moments.count)[:, :, None]
        if a == 0.0:
            return _ratio(scatter, freedom)
        believed = _given_scatter(prior, moments.n_columns)
        if believed is None:
            believed = _shrunk_tied(moments, scatter.sum(0), prior, a)
        return _with_ridge(_neutral_where_constant(_ratio(a * believed + scatter, a + freedom), moments))


STRUCTURES: dict[str, Covariance] = {
    structure.name: structure
    for structure in (Full(), Tied(), Diagonal(), TiedDiagonal(), Spherical(), TiedSpherical())
}


def as_structure(spec: str | Covariance) -> Covariance:
    """Return the structure of that name."""
    if isinstance(spec, Covariance):
        return spec
    if isinstance(spec, str) and spec in STRUCTURES:
        return STRUCTURES[spec]
    raise ValueError(f"covariance must be one of {', '.join(map(repr, STRUCTURES))}, not {spec!r}")


# -- the pieces of the data-scaled prior ------------------------------------------------------------------------


def _freedom(count: FloatArray) -> FloatArray:
    """Return n − 1: estimating the mean costs one row."""
    return np.maximum(count - 1.0, 0.0)


def _prior_variance(moments: Moments, prior: NormalInverseWishart) -> FloatArray:
    """Return the prior variance of each column: given, or the one within the classes kept off zero, (d,)."""
    given = _given_scatter(prior, moments.n_columns)
    if given is not None:
        return np.diagonal(given)
    within = moments.pooled()
    within = np.diagonal(within) if within.ndim == 2 else within
    freedom = np.broadcast_to(_freedom(moments.count), moments.center.shape).sum(0)
    overall = moments.total_variance()
    variance = np.minimum((within + _OVERALL_ROWS * overall) / (freedom + _OVERALL_ROWS), overall)
    return np.where(_constant(moments), 1.0, variance)


def _shrunk_tied(moments: Moments, pooled: FloatArray, prior: NormalInverseWishart, a: float) -> FloatArray:
    """Return the covariance that the classes share, drawn towards its own diagonal, (d, d)."""
    freedom = np.asarray(_freedom(moments.count).sum())[None, None]
    if a == 0.0:
        return _ratio(pooled, freedom)
    believed = _given_scatter(prior, moments.n_columns)
    if believed is None:
        believed = np.diag(_prior_variance(moments, prior))
    return _with_ridge(_neutral_where_constant(_ratio(a * believed + pooled, a + freedom), moments))


def _given_scatter(prior: NormalInverseWishart, n_columns: int) -> FloatArray | None:
    if prior.scatter is None:
        return None
    scatter = np.asarray(prior.scatter, dtype=np.float64)
    scatter = np.diag(scatter) if scatter.ndim == 1 else scatter
    if scatter.shape != (n_columns, n_columns):
        raise ValueError(
            f"the prior scatter must be of shape ({n_columns},) or ({n_columns}, {n_columns}) for {n_columns} "
            f"columns, not {np.shape(prior.scatter)}"
        )
    return scatter


def _pull_to_prior_mean(moments: Moments, prior: NormalInverseWishart) -> FloatArray:
    """Return κn/(κ + n) (x̄ − m)(x̄ − m)ᵀ in the layout of the scatter: what a mean off the prior's costs."""
    kappa = prior.mean_count
    if kappa == 0.0:
        return np.zeros(())
    weight = kappa * moments.count / (kappa + moments.count)
    delta = moments.mean - prior_mean(moments, prior)
    nothing = np.zeros_like(moments.second)
    return type(moments)(weight, moments.center, np.zeros_like(delta), nothing)._moved(delta)


def prior_mean(moments: Moments, prior: NormalInverseWishart) -> FloatArray:
    """Return the prior mean of a class, (d,)."""
    return moments.total_mean() if prior.mean is None else np.asarray(prior.mean, dtype=np.float64)


def _constant(moments: Moments) -> np.ndarray:
    """Return which columns hold one value only, but for rounding, (d,)."""
    rounding = 2.0 * np.finfo(np.float64).eps * np.abs(moments.total_mean())
    return moments.total_variance() <= np.maximum(rounding**2, _SMALLEST_VARIANCE)


def _neutral_where_constant(covariance: FloatArray, moments: Moments) -> FloatArray:
    """Give a constant column the same variance in every class, so large that it says nothing about the class."""
    constant = _constant(moments)
    if not constant.any():
        return covariance
    spread = (moments.mean - moments.total_mean())[:, constant]
    variance = np.maximum(1.0, 1e12 * (spread**2).max(0))
    neutral = covariance.copy()
    if isinstance(moments, DiagonalMoments):
        neutral[..., constant] = variance
    else:
        neutral[..., constant, :] = 0.0
        neutral[..., :, constant] = 0.0
        neutral[..., constant, constant] = variance
    return neutral


def _with_ridge(covariance: FloatArray) -> FloatArray:
    """Keep correlations a little below 1, however many rows outweigh the prior."""
    ridged = covariance.copy()
    diagonal = np.arange(covariance.shape[-1])
    ridged[..., diagonal, diagonal] *= 1.0 + _LEAST_RIDGE
    return ridged


def _over_columns(variance: FloatArray, moments: Moments) -> FloatArray:
    return np.repeat(variance, moments.n_columns, axis=1)


def _ratio(scatter: FloatArray, count: FloatArray) -> FloatArray:
    """Return scatter / count, with 0 where there is nothing to divide by (found out when it is factorised)."""
    count = np.broadcast_to(count, np.shape(scatter))
    return np.divide(scatter, count, out=np.zeros(np.shape(scatter)), where=count > 0)
