"""The volumes of classes, for structures whose classes share a shape, or share the volume itself.

Classes that share a shape have σ²_cj = λ_c b_j or Σ_c = λ_c C. With the best b or C for given volumes, the function
left to minimise is convex in x_c = −log λ_c: a sum of log Σ_c exp(x_c) s_cj, or log |Σ_c exp(x_c) W_c|. So Newton's
method finds the only optimum from any start.
"""

from __future__ import annotations

import numpy as np

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.convex import Expansion, minimise
from suffice.families.gaussian.covariance.data_scaled_prior import ratio


def shared_shape(scatter: FloatArray, count: FloatArray, log_volume: FloatArray | None = None) -> FloatArray:
    """Return the maximum-likelihood variances λ_c b_j, (k, d).

    Parameters
    ----------
    scatter, count : arrays of shape (k, d)
    log_volume : array of shape (k,) or None
        The starting point.
    """
    classes, columns = scatter.sum(1) > 0, scatter.sum(0) > 0
    variance = np.zeros(scatter.shape)
    if not classes.any():
        return variance
    s, n = scatter[np.ix_(classes, columns)], count[np.ix_(classes, columns)]
    of_class, of_column = n.sum(1), n.sum(0)

    def expand(x: FloatArray) -> Expansion:
        top = x.max()
        scaled = s * np.exp(x - top)[:, None]
        total = scaled.sum(0)
        share = scaled / total
        value = float(of_column @ (np.log(total) + top) - of_class @ x)
        weighted = share * of_column
        return value, weighted.sum(1) - of_class, np.diag(weighted.sum(1)) - weighted @ share.T

    begin = _log_volumes(s / s.sum(0), of_class) if log_volume is None else log_volume[classes]
    x = minimise(expand, -begin, float(of_class.sum()))
    x -= x.mean()
    shape = (np.exp(x) @ s) / of_column
    variance[np.ix_(classes, columns)] = np.exp(-x)[:, None] * shape
    return variance


def shared_matrix(scatter: FloatArray, count: FloatArray, log_volume: FloatArray | None = None) -> FloatArray:
    """Return the maximum-likelihood covariances λ_c C, (k, d, d).

    Parameters
    ----------
    scatter : array of shape (k, d, d)
    count : array of shape (k,)
    log_volume : array of shape (k,) or None
        The starting point.
    """
    d = scatter.shape[1]
    classes = np.trace(scatter, axis1=1, axis2=2) > 0
    covariance = np.zeros(scatter.shape)
    pooled = scatter.sum(0)
    try:
        factor = np.linalg.cholesky(pooled)
    except np.linalg.LinAlgError:  # singular: factorising it raises the error
        covariance[:] = ratio(pooled, count.sum())
        return covariance
    white = np.linalg.solve(factor, np.linalg.solve(factor, scatter[classes]).transpose(0, 2, 1))
    n = count[classes]
    rows = float(n.sum())

    def expand(x: FloatArray) -> Expansion:
        top = x.max()
        scaled = white * np.exp(x - top)[:, None, None]
        total = scaled.sum(0)
        sign, log_determinant = np.linalg.slogdet(total)
        with np.errstate(over="ignore", invalid="ignore"):  # singular up to rounding error
            share = np.linalg.inv(total) @ scaled if sign > 0 else np.full_like(scaled, np.inf)
        if not np.isfinite(share).all():
            return np.inf, np.zeros(len(x)), np.eye(len(x))
        trace = np.trace(share, axis1=1, axis2=2)
        products = share.reshape(len(x), -1) @ share.transpose(0, 2, 1).reshape(len(x), -1).T
        value = rows * (float(log_determinant) + d * top) - d * float(n @ x)
        return value, rows * trace - d * n, rows * (np.diag(trace) - products)

    traces = np.trace(white, axis1=1, axis2=2)
    begin = _log_volumes(traces[:, None], d * n) if log_volume is None else log_volume[classes]
    x = minimise(expand, -begin, rows * d)
    x -= x.mean()
    common = factor @ np.tensordot(np.exp(x), white, 1) @ factor.T / rows
    covariance[classes] = np.exp(-x)[:, None, None] * (0.5 * (common + common.T))
    return covariance


def equal_volume(scatter: FloatArray, count: FloatArray) -> FloatArray:
    """Return the maximum-likelihood variances whose product over the columns is the same for all classes, (k, d).

    If every column of a class has the same number of rows they are λ s_cj / (Π_j s_cj)^(1/d), where λ is the average of
    the geometric means. With missing values they are found by iteration.
    """
    if not (scatter > 0).all():
        return ratio(scatter, count)
    log_scatter = np.log(scatter)
    if (count == count[:, :1]).all():
        mean = log_scatter.mean(1, keepdims=True)
        return np.exp(log_scatter - mean) * equal_scale(mean[:, 0], count[:, 0])
    return _equal_volume_with_missing(scatter, count)


def equal_scale(log_volume: FloatArray, count: FloatArray) -> float:
    """Return the average over all rows of the volumes of the scatters, given by their logarithms."""
    top = log_volume.max()
    return float(np.exp(top) * np.exp(log_volume - top).sum() / count.sum())


def _equal_volume_with_missing(scatter: FloatArray, count: FloatArray) -> FloatArray:
    """Return s_cj / (n_cj − ν_c), with Σ ν_c = 0 and ν such that all classes have the same volume.

    ν are the Lagrange multipliers of that condition; the dual function is concave in them.
    """

    def rows(multiplier: FloatArray) -> FloatArray:
        return np.asarray(count - (multiplier - multiplier.mean())[:, None])

    def expand(multiplier: FloatArray) -> Expansion:
        left = rows(multiplier)
        if not (left > 0).all():
            return np.inf, np.zeros(len(left)), np.eye(len(left))
        log_variance = np.log(scatter / left)
        gradient = log_variance.sum(1)
        curvature = np.diag((1.0 / left).sum(1))
        centring = np.eye(len(left)) - 1.0 / len(left)
        value = -float((left * (log_variance + 1.0)).sum())
        return value, gradient - gradient.mean(), centring @ curvature @ centring

    return scatter / rows(minimise(expand, np.zeros(len(count)), float(count.sum())))


def _log_volumes(scatter: FloatArray, count: FloatArray) -> FloatArray:
    return np.log(scatter.sum(1) / count)
