"""The interface of every covariance structure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np

from suffice._arrays import FloatArray
from suffice.families.gaussian.covariance.data_scaled_prior import automatic_rows, given_scatter, prior_mean
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import DiagonalMoments, Moments


class Covariance(ABC):
    """One structure; those that are estimated are singletons in `STRUCTURES`."""

    name: ClassVar[str]
    #: how volume, shape and orientation vary over the classes: E(qual), V(ariable) or I(dentity)
    code: ClassVar[str]
    layout: ClassVar[type[Moments]]
    #: whether the columns of a block share a variance, so that it matters which columns make a block
    one_variance: ClassVar[bool] = False
    #: whether the order of the columns of a block matters, as each has a parameter of its own that is given
    ordered: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Covariance) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return repr(self.name)

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
        return self.shared == self

    def n_parameters(self, k: int, d: int) -> int:
        """Return the number of free covariance parameters.

        Parameters
        ----------
        k, d : int
            The number of classes and of columns.
        """
        classes = {"I": 0, "E": 1, "V": k}
        volume, shape, orientation = (classes[letter] for letter in self.code)
        return volume + shape * (d - 1) + orientation * (d * (d - 1) // 2)

    @abstractmethod
    def estimate(
        self, moments: Moments, prior: NormalInverseWishart | None, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the covariances: maximum likelihood, or with the prior as additional rows.

        Parameters
        ----------
        moments : Moments
            The moments of the classes.
        prior : NormalInverseWishart or None
            None is maximum likelihood.
        start : array or None
            The covariances of the previous iteration, of this structure, for structures that are found by iteration:
            the result has an expected log-likelihood that is no lower, however early the iteration stops.
        """

    def resolve(self, moments: Moments, prior: NormalInverseWishart) -> NormalInverseWishart:
        """Return the prior with its data-dependent parts as numbers, so that it no longer changes.

        Parameters
        ----------
        moments : Moments
            The moments from which the prior takes them.
        prior : NormalInverseWishart
            The prior.
        """
        moments = moments.to_layout(self.layout)
        a = self.prior_rows(prior, moments.n_columns)
        prior_covariance = self._prior_covariance(moments, prior) if a > 0 else np.zeros(moments.n_columns)
        return replace(prior, scatter_count=a, scatter=prior_covariance, mean=prior_mean(moments, prior))

    def log_prior(
        self,
        compact: FloatArray,
        prior: NormalInverseWishart | None,
        k: int,
        d: int,
        means: FloatArray | None = None,
    ) -> float:
        """Return the penalty that `estimate` maximises together with the expected log-likelihood.

        It is Σ −½(a − f) log|Σ_c| − ½ tr(Σ_c⁻¹ aV) over the covariances, up to constants, with f the rows that
        estimating the means of the classes that share a covariance costs. With `means`, −½κ (μ_c − m)ᵀ Σ_c⁻¹ (μ_c − m)
        is added. It holds if every class has at least `prior.freedom` rows.

        Parameters
        ----------
        compact : array
            The covariances, as `estimate` returns them.
        prior : NormalInverseWishart or None
            As `resolve` returns it; None is no penalty.
        k, d : int
            The number of classes and of columns.
        means : array of shape (k, d) or None
            The means as estimated under the prior; only needed if `prior.mean_count` is not 0.
        """
        if prior is None:
            return 0.0
        a = self.prior_rows(prior, d)
        prior_covariance = given_scatter(prior, d) if a > 0 else np.zeros((d, d))
        if prior_covariance is None:
            raise ValueError("the prior still takes its scatter from the data; pass what `resolve` returns")
        scatter = np.repeat(a * prior_covariance[None], len(compact), axis=0)
        if prior.mean_count > 0 and means is not None:
            scatter = scatter + self._pull(means, prior, len(compact))
        rows = np.full((len(compact), 1), a - prior.freedom * k / len(compact))
        if compact.ndim == 2:
            scatter = np.diagonal(scatter, axis1=1, axis2=2)
        return expected_log_likelihood(compact, scatter, rows)

    @abstractmethod
    def _prior_covariance(self, moments: Moments, prior: NormalInverseWishart) -> FloatArray:
        """Return the prior covariance V of a row, (d,) or (d, d)."""

    @staticmethod
    def _pull(means: FloatArray, prior: NormalInverseWishart, n_covariances: int) -> FloatArray:
        """Return κ (μ − m)(μ − m)ᵀ for each covariance, summed over the classes that share it."""
        if prior.mean is None:
            raise ValueError("the prior still takes its mean from the data; pass what `resolve` returns")
        delta = means - np.asarray(prior.mean, dtype=np.float64)
        pull = prior.mean_count * delta[:, :, None] * delta[:, None, :]
        return pull if len(pull) == n_covariances else pull.sum(0, keepdims=True)

    def prior_rows(self, prior: NormalInverseWishart, n_columns: int) -> float:
        """Return the number of rows that the prior covariance is worth.

        Parameters
        ----------
        prior : NormalInverseWishart
            The prior.
        n_columns : int
            The number of columns, for an automatic prior.
        """
        if isinstance(prior.scatter_count, str):
            return automatic_rows(n_columns, diagonal=self.diagonal)
        return float(prior.scatter_count)


def expected_log_likelihood(compact: FloatArray, scatter: FloatArray | None, count: FloatArray) -> float:
    """Return Σ_c −½ n_c log|Σ_c| − ½ tr(Σ_c⁻¹ S_c), and −∞ if a covariance is not positive definite.

    Parameters
    ----------
    compact, scatter : arrays of shape (k, d) or (k, d, d)
        Covariances, with 1 for k if the classes share them, and the scatter of each class. A scatter of None stands for
        maximum-likelihood covariances, one per class: the traces then sum to n d, which rounding error would spoil if
        one is almost singular.
    count : array of shape (k, 1) or, for variances, (k, d)
    """
    d = compact.shape[1]
    if compact.ndim == 2:
        if not (compact > 0).all():
            return -np.inf
        traces = np.broadcast_to(count, compact.shape) if scatter is None else scatter / compact
        return -0.5 * float(np.sum(count * np.log(compact) + traces))
    try:
        factor = np.linalg.cholesky(compact)
        traces = d * count if scatter is None else np.trace(np.linalg.solve(compact, scatter), axis1=1, axis2=2)
    except np.linalg.LinAlgError:
        return -np.inf
    log_determinant = 2.0 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(1)
    return -0.5 * float(np.sum(count[:, 0] * log_determinant) + np.sum(traces))
