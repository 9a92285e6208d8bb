"""The quadratic forms of Gaussian log-densities: the code shared by `diagonal_form`, `shared_form` and `dense_form`.

The fast way is the product form L = Φ ηᵀ − A with the rows relative to a point between the classes. It loses digits to
cancellation if classes are tight and far apart, ‖μ_c − point‖² / σ² near 1/ε: then every row is whitened about each
class mean with a Cholesky factor (no inverse is formed; the whiteners are triangular solves of the identity).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray, as_like, is_float, namespace
from suffice.errors import EstimateError

LOG_2PI = float(np.log(2.0 * np.pi))

#: the tolerated error of the product form in a log-density, per float type of the rows
_TOLERATED = {"float64": 1e-10, "float32": 1e-4}

_ROUNDING = {kind: float(np.finfo(kind).eps) for kind in _TOLERATED}

#: with more columns than this, whitening the rows is faster than multiplying out the pairs of columns
MOST_PAIRED = 100

#: the smallest pivot of a correlation matrix that counts as nonsingular
_SMALLEST_PIVOT = 1e-7

_REMEDY = "use prior='auto', or leave out columns that depend on others"


def is_single(x: Array) -> bool:
    """Return whether the rows are float32."""
    return is_float(x, "float32")


def pair_coefficients(precision: FloatArray) -> FloatArray:
    """Return −½ zᵀ Λ z as coefficients of z_i z_j for i ≤ j, k×p."""
    i, j = np.triu_indices(precision.shape[1])
    return np.asarray(precision[:, i, j] * np.where(i == j, -0.5, -1.0))


def cancels_for(largest: float, x: Array) -> bool:
    """Return whether terms of size `largest` lose more digits to cancellation than tolerated."""
    kind = "float32" if is_single(x) else "float64"
    return not largest * _ROUNDING[kind] <= _TOLERATED[kind]  # also True for NaN, from variances near 0


def origin_for(origin: FloatArray, x: Array) -> FloatArray:
    """Return the origin to subtract from the rows, rounded to float32 if the rows are float32."""
    return origin.astype(np.float32).astype(np.float64) if is_single(x) else origin


@dataclass(frozen=True)
class MixturePass:
    """The sums of one EM iteration over a chunk: the log-likelihood, and each class's moments about a common origin."""

    log_likelihood: float
    origin: FloatArray
    count: FloatArray
    first: FloatArray
    second: FloatArray


class QuadraticForm(ABC):
    """−½ (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c) − ½ log |2πΣ_c| for all classes c."""

    @classmethod
    @abstractmethod
    def of(cls, means: FloatArray, compact: FloatArray) -> Self:
        """Return the form of these means and covariances; raise EstimateError if a covariance is singular."""

    @abstractmethod
    def score(self, x: Array, common: bool) -> Array:
        """Return the log-densities, n×k."""

    @abstractmethod
    def squared_distance(self, rows: FloatArray, observed: Array | None) -> FloatArray:
        """Return the squared Mahalanobis distances, n×k."""

    @abstractmethod
    def colour(self, z: FloatArray, classes: IntArray) -> FloatArray:
        """Transform standard normal rows so that each has the covariance of its class, n×d."""

    @abstractmethod
    def log_ratio(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x | a) / p(x | b) split over the columns, n×d, and the rest that belongs to no column, (n,)."""

    @abstractmethod
    def whitener_of(self, c: int) -> FloatArray:
        """Return L⁻¹ with L Lᵀ = Σ_c, d×d."""

    def mixture_pass(self, x: Array, weight: FloatArray | None, log_shares: FloatArray) -> MixturePass | None:
        """Return one EM iteration over the rows of a chunk by the compiled kernels; None if they do not apply.

        The posteriors stay in registers, and the moments are taken about the origin of the form.
        """
        return None

    def score_observed(self, x: Array, observed: Array) -> Array:
        """Return the log-densities of the observed cells, n×k; only for columns independent given the class."""
        raise TypeError("only columns that are independent given the class can be left out one by one")

    def precision(self) -> FloatArray:
        """Return Σ⁻¹, (k or 1)×d×d."""
        raise TypeError("a diagonal form has no precision matrix to show")


def whiteners(covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L⁻¹, k×d×d, and log |Σ|, (k,), of covariances L Lᵀ; raise EstimateError if one is singular."""
    variance = np.diagonal(covariances, axis1=1, axis2=2)
    regular = (variance > 0) & np.isfinite(covariances).all(axis=2)  # rounding error can make a variance negative
    if not regular.all():
        c, j = (int(i) for i in np.argwhere(~regular)[0])
        raise EstimateError(
            "the covariance of {noun} {of_class} is singular: column {of_column} is constant",
            _REMEDY,
            c=c,
            column=j,
        )
    scale = np.sqrt(variance)
    correlations = covariances / scale[:, :, None] / scale[:, None, :]  # divide twice: their product may underflow to 0
    try:
        factors = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        raise _singular(correlations) from None
    pivots = np.diagonal(factors, axis1=1, axis2=2)
    if pivots.min() < _SMALLEST_PIVOT:
        raise _singular(correlations)
    inverse = np.linalg.solve(factors, np.eye(scale.shape[1]) / scale[:, None, :])
    return np.tril(inverse), 2.0 * (np.log(pivots) + np.log(scale)).sum(1)


def _singular(correlations: FloatArray) -> EstimateError:
    """Return the error that names the covariance closest to singular."""
    c = int(np.argmin(np.linalg.eigvalsh(correlations)[:, 0]))
    rank, d = np.linalg.matrix_rank(correlations[c], tol=1e-12), correlations.shape[1]
    return EstimateError(
        f"the covariance of {{noun}} {{of_class}} is singular: it has rank {rank} of {d}", _REMEDY, c=c
    )


def whitened_squares(x: Array, means: FloatArray, whiteners: FloatArray) -> Array:
    """Return ‖L_c⁻¹(x − μ_c)‖², n×k: rows are centred on each class, so it is accurate wherever the classes are."""
    xp = namespace(x)
    columns = []
    for mean, whitener in zip(means, whiteners, strict=True):
        center = origin_for(mean, x)  # the part of the mean that float32 cannot represent is subtracted after whitening
        white = (x - as_like(center, x)) @ as_like(whitener, x).T - as_like((mean - center) @ whitener.T, x)
        columns.append(xp.sum(white * white, axis=1))
    return xp.stack(columns, axis=1)
