"""The parts of the data-scaled prior, for columns that are not constant."""

from __future__ import annotations

import numpy as np

from suffice._arrays import FloatArray
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments

#: relative ridge that keeps the covariance of collinear columns nonsingular
_LEAST_RIDGE = 1e-10
#: relative ridge that is added to each column of `overall_covariance`
_OVERALL_RIDGE = 1e-6


def freedom(count: FloatArray, prior: NormalInverseWishart) -> FloatArray:
    """Return n minus the rows that estimating the mean costs (`prior.freedom`), at least 0."""
    return np.maximum(count - prior.freedom, 0.0)


def prior_variance(moments: Moments, prior: NormalInverseWishart) -> FloatArray:
    """Return the prior variance of each column, (d,): given, or the one within the classes, kept away from zero."""
    given = given_scatter(prior, moments.n_columns)
    if given is not None:
        return np.diagonal(given)
    rows = np.broadcast_to(freedom(moments.count, prior), moments.center.shape).sum(0)
    overall = moments.total_variance()
    more = prior.overall_count
    return np.minimum((moments.within() + more * overall) / (rows + more), overall)


def overall_covariance(moments: Moments) -> FloatArray:
    """Return the covariance of all rows of one class, (d, d), or the variances if only these are kept, (d,).

    A millionth of its variance is added to each column, so that collinear columns have a density.
    """
    scatter = moments.pooled()
    covariance = ratio(scatter, moments.count[0])
    if scatter.ndim == 1:
        return covariance
    diagonal = np.arange(len(covariance))
    covariance[diagonal, diagonal] *= 1.0 + _OVERALL_RIDGE
    return covariance


def given_scatter(prior: NormalInverseWishart, n_columns: int) -> FloatArray | None:
    """Return the covariance of the prior, (d, d); None if the prior gives none."""
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
    """Return κn/(κ + n) (x̄ − m)(x̄ − m)ᵀ in the layout of the scatter: the cost of a mean away from the prior's."""
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


def with_ridge(covariance: FloatArray) -> FloatArray:
    """Return the covariance with a ridge that keeps correlations a little below 1, however weak the prior."""
    ridged = covariance.copy()
    diagonal = np.arange(covariance.shape[-1])
    ridged[..., diagonal, diagonal] *= 1.0 + _LEAST_RIDGE
    return ridged


def over_columns(variance: FloatArray, moments: Moments) -> FloatArray:
    """Return the same variance for every column."""
    return np.repeat(variance, moments.n_columns, axis=1)


def ratio(scatter: FloatArray, count: FloatArray) -> FloatArray:
    """Return scatter / count, with 0 where the count is 0 (factorising it then raises the error)."""
    count = np.broadcast_to(count, np.shape(scatter))
    return np.divide(scatter, count, out=np.zeros(np.shape(scatter)), where=count > 0)


def automatic_rows(n_columns: int, *, diagonal: bool) -> float:
    """Return how many rows the automatic prior covariance is worth: 1 for variances, d for d×d covariances."""
    return 1.0 if diagonal else float(n_columns)
