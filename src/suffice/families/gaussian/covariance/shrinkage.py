"""Shrinkage of a tied covariance towards a diagonal one, which the data-scaled prior amounts to."""

from __future__ import annotations

import numpy as np

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.data_scaled_prior import (
    freedom,
    given_scatter,
    prior_variance,
    ratio,
    with_ridge,
)
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments


def tied_target(moments: Moments, prior: NormalInverseWishart) -> FloatArray:
    """Return the matrix that a tied covariance is shrunk towards, (d, d): the given scatter, or a diagonal one."""
    given = given_scatter(prior, moments.n_columns)
    return np.diag(prior_variance(moments, prior)) if given is None else given


def shrunk_tied(moments: Moments, pooled: FloatArray, prior: NormalInverseWishart, a: float) -> FloatArray:
    """Return the covariance that the classes share, shrunk towards its own diagonal, (d, d)."""
    rows = np.asarray(freedom(moments.count, prior).sum())[None, None]
    if a == 0.0:
        return ratio(pooled, rows)
    return with_ridge(ratio(a * tied_target(moments, prior) + pooled, a + rows))
