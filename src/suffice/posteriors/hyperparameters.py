"""From moments and a prior to the four hyperparameters of a normal–inverse-Wishart posterior.

With a rows of the prior covariance V, κ rows of the prior mean m, and f the rows that estimating the mean costs,

    κ_n = κ + n,   m_n = (κ m + n x̄) / κ_n,   Λ = a V + S + κ n/κ_n (x̄ − m)(x̄ − m)ᵀ,   ν = a + n − f

so that Σ⁻¹ ~ Wishart(ν, Λ⁻¹), whose mean is the inverse of Λ/ν, the covariance that `Gaussian.estimate` gives. This is
Jeffreys's prior |Σ|^(−(d+1)/2) together with a rows of V. Structures that share more sum over what they share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance import Covariance, prior_mean
from suffice.families.gaussian.covariance.constant import (
    NEUTRAL_VARIANCE,
    columns_left_out,
    prior_of_columns,
    with_constants,
)
from suffice.families.gaussian.covariance.data_scaled_prior import freedom, given_scatter, pull_to_prior_mean
from suffice.families.gaussian.leaving import shared_rows
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """The hyperparameters of a normal–inverse-Wishart distribution, or of its diagonal form.

    Parameters
    ----------
    location : array of shape (k, d)
        m_n.
    count : array of shape (k, 1) or (k, d)
        κ_n.
    scatter : array of shape (k, d, d), or (k, d) for variances, (k, 1) if columns share one
        Λ, with 1 for k if the classes share it.
    dof : array of shape (k,), or (k, d), (k, 1) for variances
        ν, likewise.
    varies : array of shape (d,)
        False for columns whose rows all hold the same value, under a prior that is scaled to the data.
    """

    location: FloatArray
    count: FloatArray
    scatter: FloatArray
    dof: FloatArray
    varies: NDArray[np.bool_]
    #: those of the columns that vary, if some do not
    part: Hyperparameters | None = None

    @property
    def of_varying(self) -> Hyperparameters | None:
        """The hyperparameters of the columns that vary; None if there are none."""
        return self if self.varies.all() else self.part


def hyperparameters(structure: Covariance, moments: Moments, prior: NormalInverseWishart) -> Hyperparameters:
    """Return the posterior's hyperparameters; a V from the data is that of `Gaussian.estimate`, ridge included."""
    moments = moments.to_layout(structure.layout)
    still = columns_left_out(structure, moments, prior) if prior.scatter is None else None
    if still is not None:
        return _with_constants(structure, moments, prior, ~still)
    d, a, kappa = moments.n_columns, structure.prior_rows(prior, moments.n_columns), prior.mean_count
    center, n = prior_mean(moments, prior), moments.count
    share = np.divide(kappa, kappa + n, out=np.ones_like(n), where=kappa + n > 0)
    location = moments.mean + share * (center - moments.mean)
    # under a flat prior κ_n is at least 1, as after one row
    count = np.maximum(n, 1.0) if kappa == 0.0 else kappa + n
    rows = freedom(n, prior) if kappa == 0.0 or prior.scatter is None else n - prior.freedom
    dof = shared_rows(structure, rows, a, d)
    given = given_scatter(prior, d)
    if a > 0 and given is None:
        estimate = structure.estimate(moments, prior)
        scatter = (estimate[:, :1] if structure.one_variance else estimate) * _like(dof, estimate)
    else:
        prior_covariance = np.zeros((d, d)) if given is None else given
        prior_covariance = np.diagonal(prior_covariance) if structure.diagonal else prior_covariance
        scatter = _pooled(structure, moments.scatter + pull_to_prior_mean(moments, prior), a * prior_covariance)
    return Hyperparameters(np.asarray(location), count, scatter, dof, np.ones(d, dtype=bool))


def _with_constants(
    structure: Covariance, moments: Moments, prior: NormalInverseWishart, varies: NDArray[np.bool_]
) -> Hyperparameters:
    """Return the hyperparameters of the columns that vary, with the constant ones added: one value, one variance.

    If m of d columns are constant, an inverse Wishart with ν + m degrees of freedom is one with ν for the others.
    """
    (k, d), columns, n = moments.center.shape, np.flatnonzero(varies), moments.count
    location = np.tile(moments.total_mean(), (k, 1))
    count = np.maximum(n, 1.0) if prior.mean_count == 0.0 else prior.mean_count + n
    shared = 1 if structure.tied else k
    part = None
    if len(columns):
        part = hyperparameters(structure, moments.of_columns(columns), prior_of_columns(prior, columns, d))
        location[:, columns] = part.location
    if structure.one_variance:
        scatter, dof = (
            (np.full((shared, 1), NEUTRAL_VARIANCE), np.ones((shared, 1))) if part is None else (part.scatter, part.dof)
        )
    elif structure.diagonal:
        scatter, dof = np.full((shared, d), NEUTRAL_VARIANCE), np.ones((shared, d))
        if part is not None:
            scatter[:, columns], dof[:, columns] = part.scatter, part.dof
    else:
        dof = np.full(shared, float(d)) if part is None else part.dof + (d - len(columns))
        estimate = np.empty((shared, 0, 0)) if part is None else part.scatter / dof[:, None, None]
        scatter = with_constants(estimate, columns, d, matrix=True) * dof[:, None, None]
    return Hyperparameters(location, count, scatter, dof, varies, part)


def degrees_before(structure: Covariance, prior: NormalInverseWishart, k: int, d: int) -> FloatArray:
    """Return the ν of the prior itself, in the shape of `Hyperparameters.dof`."""
    nothing = np.full((k, d if structure.diagonal else 1), -prior.freedom)
    return shared_rows(structure, nothing, structure.prior_rows(prior, d), d)


def _pooled(structure: Covariance, scatter: FloatArray, prior_scatter: FloatArray) -> FloatArray:
    """Return a V + S, summed over the classes and columns that share a variance."""
    if not structure.diagonal:
        return np.asarray(prior_scatter + (scatter[None] if scatter.ndim == 2 else scatter))
    if structure.tied:
        scatter = scatter.sum(0, keepdims=True)
    if structure.one_variance:
        return np.asarray(prior_scatter.sum() + scatter.sum(1, keepdims=True))
    return np.asarray(prior_scatter + scatter)


def _like(dof: FloatArray, covariance: FloatArray) -> FloatArray:
    return dof[:, None, None] if covariance.ndim == 3 else dof
