"""Class moments, covariances and whitening transforms for discriminant analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from suffice._arrays import Array, FloatArray
from suffice.engines import MemoryEngine, Rows
from suffice.engines.base import Chunk
from suffice.errors import InvalidCellError
from suffice.families import Gaussian
from suffice.models.joint import learn
from suffice.models.schema import Block, Schema
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import FullMoments, Moments
from suffice.statistics.responsibilities import Labels, Responsibilities
from suffice.tables.arrays import ArrayTable

_EPSILON = float(np.finfo(np.float64).eps)
#: if a correlation matrix has a smaller eigenvalue than this, float32 products are too coarse: sum again in float64
_DELICATE = 1e-3


@dataclass(frozen=True)
class Labelled:
    """Rows with their classes, as passes over the data need them."""

    X: NDArray[Any]
    labels: Labels
    classes: NDArray[Any]

    def reduce(self, kernel: Callable[[Chunk, Any], Any], params: Any, *, in_double: bool = False) -> Any:
        """Return the sum of the kernel over all rows."""
        block = InDouble(self.X) if in_double else numbers_of(self.X)
        return MemoryEngine(Rows((block,), self.labels)).reduce(kernel, params)

    def groups(self) -> list[NDArray[Any]]:
        """Return the rows of each class, in the order of `classes`."""
        return [self.X[self.labels.codes == c] for c in range(len(self.classes))]


class InDouble:
    """Rows that are converted to float64 chunk by chunk."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self.shape = array.shape

    def __getitem__(self, rows: slice) -> FloatArray:
        return self._array[rows].astype(np.float64)


def validated(
    estimator: Any, X: Any, y: Any, *, reset: bool = True, least_rows: int = 1
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows and labels as arrays, with scikit-learn's errors; the kernels check the cells."""
    if reset and _plain(X, least_rows) and type(y) is np.ndarray and y.ndim == 1 and len(y) == len(X):
        # equivalent to scikit-learn's validation of plain arrays, which takes longer than a small fit
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        return X, y
    X, y = validate_data(estimator, X, y, reset=reset, ensure_min_samples=least_rows, ensure_all_finite=False)
    return np.asarray(X), np.asarray(y)


def validated_rows(estimator: Any, X: Any) -> NDArray[Any]:
    if _plain(X) and X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_"):
        return X
    return np.asarray(validate_data(estimator, X, reset=False, ensure_all_finite=False))


def _plain(X: Any, least_rows: int = 1) -> bool:
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiub" and len(X) >= least_rows and X.shape[1] > 0


def numbers_of(X: NDArray[Any]) -> Array:
    return X if X.dtype == np.float64 else ArrayTable(X).numbers(range(X.shape[1]))


def class_moments(rows: Labelled, family: Gaussian, estimator: str, *, in_double: bool) -> Moments:
    """Return the moments of each class; raise scikit-learn's error if a cell is not finite."""
    schema = Schema(None, rows.X.shape[1], (Block(family, tuple(range(rows.X.shape[1]))),))
    try:
        joint: JointStatistics = rows.reduce(learn, schema, in_double=in_double)
    except InvalidCellError:
        assert_all_finite(rows.X, estimator_name=estimator, input_name="X")
        raise
    (moments,) = joint.blocks
    assert isinstance(moments, Moments)
    if moments.count.sum() < (1.0 - 1e-9) * joint.class_count.sum():  # the kernels skip rows with missing cells
        assert_all_finite(rows.X, estimator_name=estimator, input_name="X")
    if not np.isfinite(moments.second).all():
        raise ValueError("the squares of the numbers are too large for float64; rescale the columns")
    if rows.X.dtype == np.float32 and not in_double and _delicate(moments):
        return class_moments(rows, family, estimator, in_double=True)
    return moments


def _delicate(moments: Moments) -> bool:
    """Return whether a covariance is too close to singular for sums of float32 products."""
    scatter = moments.scatter
    scale = np.sqrt(np.maximum(np.diagonal(scatter, axis1=-2, axis2=-1), np.finfo(float).tiny))
    with np.errstate(over="ignore", invalid="ignore"):
        correlation = scatter / (scale[..., :, None] * scale[..., None, :])
    return not np.isfinite(correlation).all() or bool((np.linalg.eigvalsh(correlation) < _DELICATE).any())


def _fourth_moments(chunk: Chunk, scales: tuple[FloatArray, FloatArray, FloatArray, FloatArray]) -> FloatArray:
    """Kernel: Σ r ‖(x − m)/s‖⁴ of each class with its own mean and scale, and last of all rows, (k + 1,)."""
    means, deviations, mean, deviation = scales
    assert isinstance(chunk.responsibilities, Responsibilities)
    total = np.zeros(len(means) + 1)
    for c, rows, weight in chunk.responsibilities.groups(chunk.blocks[0]):
        for place, center, scale in ((c, means[c], deviations[c]), (-1, mean, deviation)):
            squared = (((rows - center) / scale) ** 2).sum(1) ** 2
            total[place] += squared.sum() if weight is None else weight @ squared
    return total


# -- covariances ------------------------------------------------------------------------------------------------


def shrunk(covariance: FloatArray, shrinkage: float) -> FloatArray:
    """Return (1 − s) Σ + s tr(Σ)/d I, for one covariance or a stack of them."""
    d = covariance.shape[-1]
    mean = np.trace(covariance, axis1=-2, axis2=-1) / d
    return (1.0 - shrinkage) * covariance + shrinkage * np.multiply.outer(mean, np.eye(d))


def _ledoit_wolf(covariance: FloatArray, deviation: FloatArray, count: float, fourth: float) -> FloatArray:
    """Return the covariance shrunk by Ledoit and Wolf's rule for standardised columns.

    With C the covariance of the n standardised rows z, μ = tr C / d, δ = ‖C − μI‖²/d and
    β = (Σ‖z‖⁴/n − ‖C‖²)/(n d), the shrinkage is min(β, δ)/δ.
    """
    scale = np.outer(deviation, deviation)
    standard, d = covariance / scale, len(covariance)
    if d == 1:
        return covariance
    mu, squares = float(np.trace(standard)) / d, float((standard**2).sum())
    delta = (squares - d * mu**2) / d
    beta = min((fourth / count - squares) / (count * d), delta)
    return shrunk(standard, beta / delta if beta > 0 else 0.0) * scale


def deviations(variance: FloatArray, mean: FloatArray) -> FloatArray:
    """Return standard deviations, 1 where a column is constant up to rounding."""
    deviation = np.sqrt(np.maximum(variance, 0.0))
    deviation[deviation <= 4.0 * _EPSILON * np.abs(mean)] = 1.0
    return deviation


def between(moments: Moments) -> FloatArray:
    """Return the covariance of the class means, each weighted by its class, d×d."""
    offset = moments.mean - moments.total_mean()
    count = moments.count
    return (count * offset).T @ offset / count.sum()


def whitening_of(covariance: FloatArray, deviation: FloatArray, least: float = 0.0) -> tuple[FloatArray, float]:
    """Return A, d×r, with AᵀΣA = I, and log |Σ|, over the r directions with variance, the largest first.

    A direction counts if its eigenvalue of the correlation matrix is above `least` and above rounding error.
    """
    values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
    floor = max(least, len(values) * _EPSILON * max(float(values[-1]), 1e-290))
    kept = np.flatnonzero(values > floor)[::-1]
    log_determinant = float(np.log(values[kept]).sum() + 2.0 * np.log(deviation).sum())
    return vectors[:, kept] / deviation[:, None] / np.sqrt(values[kept]), log_determinant


def same_sign(directions: FloatArray) -> FloatArray:
    """Return directions with a positive largest coefficient, so that signs do not depend on rounding."""
    if directions.size == 0:
        return directions
    # among coefficients that are equal up to rounding, the first decides
    size = np.abs(directions)
    first = np.argmax(size >= (1.0 - 1e-6) * size.max(0), axis=0)
    return directions * np.where(directions[first, np.arange(directions.shape[1])] < 0, -1.0, 1.0)


def _estimated(estimator: Any, X: NDArray[Any]) -> FloatArray:
    """Return the covariance of these rows by the user's estimator."""
    estimator.fit(X)
    if not hasattr(estimator, "covariance_"):
        raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
    return np.atleast_2d(estimator.covariance_)


def class_covariances(
    moments: FullMoments, shrinkage: Any, estimator: Any, rows: Labelled | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return the covariance of each class, k×d×d, and that of all rows if shrinkage or an estimator gives its own."""
    if estimator is not None:
        assert rows is not None
        return np.stack([_estimated(estimator, group) for group in rows.groups()]), _estimated(estimator, rows.X)
    count = moments.count[:, :, None]
    covariance = np.divide(moments.scatter, count, out=np.zeros(moments.second.shape), where=count > 0)
    if shrinkage is None:
        return covariance, None
    if not isinstance(shrinkage, str):
        return shrunk(covariance, float(shrinkage)), None
    assert rows is not None
    means, mean = moments.mean, moments.total_mean()
    total = moments.pooled() / moments.count.sum() + between(moments)
    variances = np.diagonal(covariance, axis1=1, axis2=2)
    scales = np.stack([deviations(v, m) for v, m in zip(variances, means, strict=True)])
    deviation = deviations(np.diagonal(total), mean)
    fourth = rows.reduce(_fourth_moments, (means, scales, mean, deviation))
    parts = zip(covariance, scales, moments.count[:, 0], fourth[:-1], strict=True)
    own = np.stack([_ledoit_wolf(*part) if part[2] > 0 else part[0] for part in parts])
    return own, _ledoit_wolf(total, deviation, float(moments.count.sum()), float(fourth[-1]))
