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


class Covariance(ABC):
    """One structure; all are singletons in `STRUCTURES`."""

    name: ClassVar[str]
    layout: ClassVar[type[Moments]]
    tied: ClassVar[bool]

    @property
    def diagonal(self) -> bool:
        """Whether the columns are independent given the class."""
        return self.layout is DiagonalMoments

    @property
    def shared(self) -> Covariance:
        """The same structure with one covariance for all classes."""
        return self if self.tied else STRUCTURES["tied" if self.name == "full" else f"tied-{self.name}"]

    def estimate(self, moments: Moments, prior: NormalInverseWishart | None) -> FloatArray:
        """Return the covariances: maximum likelihood, or the posterior mean under the prior."""
        moments = moments.to_layout(self.layout)
        if prior is None:
            return self._weighted_mean(moments, moments.scatter, moments.count)
        scatter = moments.scatter + _pull_to_prior_mean(moments, prior)
        return self._posterior_mean(moments, scatter, prior)

    @abstractmethod
    def n_parameters(self, n_classes: int, n_columns: int) -> int:
        """Return how many numbers are free in the covariances."""

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
    tied = False

    def n_parameters(self, n_classes: int, n_columns: int) -> int:
        """Return k·d."""
        return n_classes * n_columns

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _ratio(scatter, count)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        variance = _ratio(a * _prior_variance(moments, prior) + scatter, a + _freedom(moments.count))
        return _neutral_where_constant(variance, moments) if a > 0 else variance


class TiedDiagonal(Diagonal):
    """All classes share their variances, and there are no covariances."""

    name = "tied-diagonal"
    tied = True

    def n_parameters(self, n_classes: int, n_columns: int) -> int:
        """Return d."""
        return n_columns

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

    def n_parameters(self, n_classes: int, n_columns: int) -> int:
        """Return k."""
        return n_classes

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _over_columns(_ratio(scatter.sum(1, keepdims=True), count.sum(1, keepdims=True)), moments)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        d = moments.n_columns
        believed = a * _prior_variance(moments, prior).sum()
        freedom = _freedom(moments.count).sum(1, keepdims=True)
        return _over_columns(_ratio(believed + scatter.sum(1, keepdims=True), a * d + freedom), moments)


class TiedSpherical(Spherical):
    """All classes and columns share one variance."""

    name = "tied-spherical"
    tied = True

    def n_parameters(self, n_classes: int, n_columns: int) -> int:
        """Return 1."""
        return 1

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _over_columns(_ratio(scatter.sum(keepdims=True), count.sum(keepdims=True)), moments)

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        a = self._rows(prior, moments.n_columns)
        believed = a * _prior_variance(moments, prior).sum()
        freedom = _freedom(moments.count).sum(keepdims=True)
        pooled = scatter.sum(keepdims=True)
        return _over_columns(_ratio(believed + pooled, a * moments.n_columns + freedom), moments)


class Tied(Covariance):
    """All classes share one full covariance: linear discriminant analysis."""

    name = "tied"
    layout = TiedMoments
    tied = True

    def n_parameters(self, n_classes: int, n_columns: int) -> int:
        """Return d(d + 1)/2."""
        return n_columns * (n_columns + 1) // 2

    def _weighted_mean(self, moments: Moments, scatter: FloatArray, count: FloatArray) -> FloatArray:
        return _ratio(scatter[None], count.sum()[None, None, None])

    def _posterior_mean(self, moments: Moments, scatter: FloatArray, prior: NormalInverseWishart) -> FloatArray:
        return _shrunk_tied(moments, scatter, prior, self._rows(prior, moments.n_columns))[None]


class Full(Covariance):
    """Each class has its own full covariance: quadratic discriminant analysis."""

    name = "full"
    layout = FullMoments
    tied = False

    def n_parameters(self, n_classes: int, n_columns: int) -> int:
        """Return k·d(d + 1)/2."""
        return n_classes * n_columns * (n_columns + 1) // 2

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
        return _neutral_where_constant(_ratio(a * believed + scatter, a + freedom), moments)


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
    variance = (within + _OVERALL_ROWS * overall) / (freedom + _OVERALL_ROWS)
    return np.where(_constant(moments), 1.0, variance)


def _shrunk_tied(moments: Moments, pooled: FloatArray, prior: NormalInverseWishart, a: float) -> FloatArray:
    """Return the covariance that the classes share, drawn towards its own diagonal, (d, d)."""
    freedom = np.asarray(_freedom(moments.count).sum())[None, None]
    if a == 0.0:
        return _ratio(pooled, freedom)
    believed = _given_scatter(prior, moments.n_columns)
    if believed is None:
        believed = np.diag(_prior_variance(moments, prior))
    return _neutral_where_constant(_ratio(a * believed + pooled, a + freedom), moments)


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
    rounding = 8.0 * np.finfo(np.float64).eps * np.abs(moments.total_mean())
    return moments.total_variance() <= rounding**2


def _neutral_where_constant(covariance: FloatArray, moments: Moments) -> FloatArray:
    """Give a constant column variance 1 in every class, so that it says nothing about the class."""
    constant = _constant(moments)
    if not constant.any():
        return covariance
    neutral = covariance.copy()
    if covariance.shape[-2:] == (moments.n_columns, moments.n_columns) and not isinstance(moments, DiagonalMoments):
        neutral[..., constant, :] = 0.0
        neutral[..., :, constant] = 0.0
        neutral[..., constant, constant] = 1.0
    else:
        neutral[..., constant] = 1.0
    return neutral


def _over_columns(variance: FloatArray, moments: Moments) -> FloatArray:
    return np.repeat(variance, moments.n_columns, axis=1)


def _ratio(scatter: FloatArray, count: FloatArray) -> FloatArray:
    """Return scatter / count, with 0 where there is nothing to divide by (found out when it is factorised)."""
    count = np.broadcast_to(count, np.shape(scatter))
    return np.divide(scatter, count, out=np.zeros(np.shape(scatter)), where=count > 0)
