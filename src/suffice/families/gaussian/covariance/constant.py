"""Columns that hold a single value: every estimate leaves them out, so that they say nothing about the class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray
from suffice.families.gaussian.covariance.data_scaled_prior import given_scatter, prior_mean
from suffice.families.gaussian.covariance.structure import Covariance
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments

#: the variance of a constant column in every class: its value then has density 1, whose logarithm is 0
NEUTRAL_VARIANCE = 1.0 / (2.0 * np.pi)
_TWO_EPSILON = 2.0 * float(np.finfo(np.float64).eps)
#: reciprocals of variances below this overflow
_SMALLEST_VARIANCE = 1e-290


@dataclass(frozen=True)
class FixedPrior(NormalInverseWishart):
    """A prior whose data-dependent parts are fixed to numbers, including which columns are constant."""

    #: which columns were constant in all rows, (d,); None if there are none
    still: NDArray[np.bool_] | None = None


def constant(moments: Moments) -> NDArray[np.bool_]:
    """Return which columns hold a single value, up to rounding error, (d,)."""
    rounding = _TWO_EPSILON * np.abs(moments.total_mean())
    return moments.total_variance() <= np.maximum(rounding * rounding, _SMALLEST_VARIANCE)


def columns_left_out(
    structure: Covariance, moments: Moments, prior: NormalInverseWishart | None
) -> NDArray[np.bool_] | None:
    """Return which columns an estimate leaves out, (d,); None if there are none.

    Without a prior none is left out: a constant column then has no variance, which the estimate reports.
    """
    if prior is None or structure.prior_rows(prior, moments.n_columns) == 0.0:
        return None
    if isinstance(prior, FixedPrior):  # the column may vary in later rows
        return None if prior.still is None else _if_any(prior.still & constant(moments))
    return _if_any(constant(moments))


def _if_any(columns: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return columns if columns.any() else None


def of_columns(values: FloatArray, columns: IntArray, *, matrix: bool) -> FloatArray:
    """Return variances, …×d, or covariances, …×d×d, of some of the columns."""
    return values[..., columns[:, None], columns] if matrix else values[..., columns]


def with_constants(values: FloatArray, columns: IntArray, n_columns: int, *, matrix: bool) -> FloatArray:
    """Return variances, …×m, or covariances, …×m×m, of some columns, extended to all columns.

    A constant column gets the same variance in every class, and no covariances.
    """
    leading = values.shape[: values.ndim - 1 - matrix]
    if matrix:
        whole = np.broadcast_to(NEUTRAL_VARIANCE * np.eye(n_columns), (*leading, n_columns, n_columns)).copy()
        whole[..., columns[:, None], columns] = values
    else:
        whole = np.full((*leading, n_columns), NEUTRAL_VARIANCE)
        whole[..., columns] = values
    return whole


def prior_of_columns(prior: NormalInverseWishart, columns: IntArray, n_columns: int) -> NormalInverseWishart:
    """Return the prior of some of the columns, given the prior of all `n_columns`."""
    scatter, mean = given_scatter(prior, n_columns), prior.mean
    if scatter is not None:
        scatter = of_columns(scatter, columns, matrix=True)
    if mean is not None and np.ndim(mean) > 0:
        mean = np.asarray(mean, dtype=np.float64)[columns]
    return replace(prior, scatter=scatter, mean=mean)


def resolved(structure: Covariance, moments: Moments, prior: NormalInverseWishart) -> FixedPrior:
    """Return the prior with its data-dependent parts as numbers; constant columns do not count."""
    if isinstance(prior, FixedPrior):
        return prior
    still = columns_left_out(structure, moments, prior)
    if still is None:
        return FixedPrior(**vars(structure.resolve(moments, prior)))
    columns, d = np.flatnonzero(~still), len(still)
    rows, scatter = 1.0, np.full(d, NEUTRAL_VARIANCE)
    if len(columns):
        part = structure.resolve(moments.of_columns(columns), prior_of_columns(prior, columns, d))
        rows, prior_covariance = float(part.scatter_count), np.asarray(part.scatter)
        scatter = with_constants(prior_covariance, columns, d, matrix=prior_covariance.ndim == 2)
    numbers = {"scatter_count": rows, "scatter": scatter, "mean": prior_mean(moments, prior)}
    return FixedPrior(**{**vars(prior), **numbers}, still=still)


@dataclass(frozen=True, eq=False)
class ConstantColumns:
    """Columns that hold a single value: a mixture is fitted without them, and they are put back afterwards."""

    #: whether each column is constant, (d,); None if none is
    constant: NDArray[np.bool_] | None
    #: their values, at the positions of the columns
    values: FloatArray

    @classmethod
    def of(cls, prior: Any, rows: FloatArray) -> Self:
        """Return the columns that are constant in these rows and in all rows that the prior was made for."""
        still = prior.still if isinstance(prior, FixedPrior) else None
        if still is not None:
            still = still & (rows == rows[0]).all(0)
        return cls(still if still is not None and still.any() else None, rows[0])

    @property
    def n_varying(self) -> int:
        """The number of columns that are not constant."""
        return len(self.values) - (0 if self.constant is None else int(self.constant.sum()))

    @cached_property
    def _varying(self) -> IntArray:
        assert self.constant is not None
        return np.flatnonzero(~self.constant)

    def varying(self, values: FloatArray, *, matrix: bool = False) -> FloatArray:
        """Return the columns of an array that are not constant, or the rows and columns of its matrices."""
        return values if self.constant is None else of_columns(values, self._varying, matrix=matrix)

    def covariances(self, values: FloatArray, *, matrix: bool) -> FloatArray:
        """Return the covariances of all columns, given those of the columns that are not constant."""
        if self.constant is None:
            return values
        return with_constants(values, self._varying, len(self.values), matrix=matrix)

    def means(self, values: FloatArray) -> FloatArray:
        """Return the means or centres of all columns."""
        return values if self.constant is None else self._placed(values, np.tile(self.values, (len(values), 1)))

    def sums(self, values: FloatArray, *, matrix: bool = False) -> FloatArray:
        """Return the moments of all columns about their means, 0 for constant columns."""
        if self.constant is None:
            return values
        d = len(self.values)
        nothing = np.zeros((*values.shape[: values.ndim - 1 - matrix], *((d, d) if matrix else (d,))))
        return self._placed(values, nothing, matrix=matrix)

    def _placed(self, values: FloatArray, whole: FloatArray, *, matrix: bool = False) -> FloatArray:
        if matrix:
            whole[..., self._varying[:, None], self._varying] = values
        else:
            whole[..., self._varying] = values
        return whole

    def log_prior(self, prior: Any, n_covariances: int) -> float:
        """Return what the constant columns add to the log-density of the prior."""
        if self.constant is None:
            return 0.0
        assert isinstance(prior, NormalInverseWishart)
        prior_covariance = given_scatter(prior, len(self.values))
        assert prior_covariance is not None
        rows = float(prior.scatter_count)
        terms = np.log(NEUTRAL_VARIANCE) + np.diagonal(prior_covariance)[self.constant] / NEUTRAL_VARIANCE
        return -0.5 * rows * n_covariances * float(terms.sum())
