"""The pieces of the data-scaled prior, and what it does with columns that do not vary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.priors import NormalInverseWishart
from suffice.statistics import DiagonalMoments, Moments

#: the least share of its own variance by which a column is told from a combination of others
_LEAST_RIDGE = 1e-10
#: share of its own variance that is added to each column of `overall_covariance`
_OVERALL_RIDGE = 1e-6
_TWO_EPSILON = 2.0 * float(np.finfo(np.float64).eps)
#: below this, reciprocals overflow
_SMALLEST_VARIANCE = 1e-290


def freedom(count: FloatArray, prior: NormalInverseWishart) -> FloatArray:
    """Return n − 1, or what else estimating the mean costs; never less than 0."""
    return np.maximum(count - prior.freedom, 0.0)


def prior_variance(moments: Moments, prior: NormalInverseWishart) -> FloatArray:
    """Return the prior variance of each column: given, or the one within the classes kept off zero, (d,)."""
    given = given_scatter(prior, moments.n_columns)
    if given is not None:
        return np.diagonal(given)
    within = moments.pooled()
    within = np.diagonal(within) if within.ndim == 2 else within
    rows = np.broadcast_to(freedom(moments.count, prior), moments.center.shape).sum(0)
    overall = moments.total_variance()
    more = prior.overall_count
    variance = np.minimum((within + more * overall) / (rows + more), overall)
    return np.where(constant(moments), 1.0, variance)


def overall_covariance(moments: Moments) -> FloatArray:
    """Return the covariance of all rows of one class, (d, d), or the variances where only these are kept, (d,).

    Each column gets a millionth of its variance more, so that collinear columns have a density; a constant one has
    the variance 1 and no covariances.
    """
    scatter = moments.pooled()
    covariance = ratio(scatter, moments.count[0])
    variance = covariance.diagonal() if scatter.ndim == 2 else covariance
    unvarying = _one_value(variance, moments.mean[0])
    if scatter.ndim == 1:
        return np.where(unvarying, 1.0, variance)
    diagonal = np.arange(len(variance))
    covariance[diagonal, diagonal] *= 1.0 + _OVERALL_RIDGE
    if unvarying.any():
        covariance[unvarying, :] = covariance[:, unvarying] = 0.0
        covariance[unvarying, unvarying] = 1.0
    return covariance


def shrunk_tied(moments: Moments, pooled: FloatArray, prior: NormalInverseWishart, a: float) -> FloatArray:
    """Return the covariance that the classes share, drawn towards its own diagonal, (d, d)."""
    rows = np.asarray(freedom(moments.count, prior).sum())[None, None]
    if a == 0.0:
        return ratio(pooled, rows)
    believed = given_scatter(prior, moments.n_columns)
    if believed is None:
        believed = np.diag(prior_variance(moments, prior))
    return with_ridge(neutral_where_constant(ratio(a * believed + pooled, a + rows), moments))


def given_scatter(prior: NormalInverseWishart, n_columns: int) -> FloatArray | None:
    """Return the prior covariance if the prior has one, (d, d)."""
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


def pull_to_prior_mean(moments: Moments, prior: NormalInverseWishart) -> FloatArray:
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


def constant(moments: Moments) -> NDArray[np.bool_]:
    """Return which columns hold one value only, but for rounding, (d,)."""
    return _one_value(moments.total_variance(), moments.total_mean())


def _one_value(variance: FloatArray, mean: FloatArray) -> NDArray[np.bool_]:
    rounding = _TWO_EPSILON * np.abs(mean)
    return variance <= np.maximum(rounding * rounding, _SMALLEST_VARIANCE)


def neutral_where_constant(covariance: FloatArray, moments: Moments) -> FloatArray:
    """Give a constant column the same variance in every class, so large that it says nothing about the class."""
    unvarying = constant(moments)
    if not unvarying.any():
        return covariance
    spread = (moments.mean - moments.total_mean())[:, unvarying]
    variance = np.maximum(1.0, 1e12 * (spread**2).max(0))
    neutral = covariance.copy()
    if isinstance(moments, DiagonalMoments):
        neutral[..., unvarying] = variance
    else:
        neutral[..., unvarying, :] = 0.0
        neutral[..., :, unvarying] = 0.0
        neutral[..., unvarying, unvarying] = variance
    return neutral


def with_ridge(covariance: FloatArray) -> FloatArray:
    """Keep correlations a little below 1, however many rows outweigh the prior."""
    ridged = covariance.copy()
    diagonal = np.arange(covariance.shape[-1])
    ridged[..., diagonal, diagonal] *= 1.0 + _LEAST_RIDGE
    return ridged


def over_columns(variance: FloatArray, moments: Moments) -> FloatArray:
    """Return one variance for each column, all the same."""
    return np.repeat(variance, moments.n_columns, axis=1)


def ratio(scatter: FloatArray, count: FloatArray) -> FloatArray:
    """Return scatter / count, with 0 where there is nothing to divide by (found out when it is factorised)."""
    count = np.broadcast_to(count, np.shape(scatter))
    return np.divide(scatter, count, out=np.zeros(np.shape(scatter)), where=count > 0)
