"""Moments of a chunk of numbers, about the mean of each class in it: the learning kernels of the Gaussian."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, as_like, is_float, issparse, namespace, to_float64
from suffice.families.cells import missing_as_zero, observed_cells, shows_missing, weighted_counts, without_duplicates
from suffice.statistics.moments import DiagonalMoments, FullMoments, TiedMoments
from suffice.statistics.responsibilities import Labels, Responsibilities


def _means(x: Array, responsibilities: Responsibilities) -> FloatArray | None:
    """Return the mean of each class; None if some cell is not finite (one product finds out both)."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = responsibilities.sums(x)
    if not np.isfinite(sums).all():
        return None
    totals = responsibilities.totals()[:, None]
    return _centers(np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0), x)


def _centers(means: FloatArray, x: Array) -> FloatArray:
    """Return centres that the rows' float type can represent, so that subtracting them is exact."""
    return means.astype(np.float32).astype(np.float64) if is_float(x, "float32") else means


def _complete_rows(x: Array, responsibilities: Responsibilities) -> tuple[Array, Responsibilities, FloatArray]:
    """Return the complete rows, with their responsibilities and class means.

    Covariances need both cells of a pair, so a row with a missing cell adds nothing here; its class count falls short
    by that row, which tells the estimator to report it.
    """
    means = _means(x, responsibilities)
    if means is not None:
        return x, responsibilities, means
    observed = observed_cells(x)
    if observed is None:
        raise ValueError("the numbers are too large to be summed in float64; rescale the columns")
    complete = namespace(x).all(observed, axis=1)
    rows, members = x[complete], responsibilities[to_float64(complete) > 0]
    means = _means(rows, members)
    assert means is not None
    return rows, members, means


def _centred(x: Array, centers: FloatArray, responsibilities: Responsibilities) -> tuple[FloatArray, Array]:
    """Return the centres, one per class, and the rows relative to the centre of their class."""
    of_rows = responsibilities.rows_of(centers, x)
    if of_rows is not None:
        return centers, x - of_rows
    totals = responsibilities.totals()
    common = _centers((totals @ centers) / max(totals.sum(), np.finfo(float).tiny), x)
    return np.repeat(common[None], len(centers), axis=0), x - as_like(common, x)


def diagonal_moments(x: Array, responsibilities: Responsibilities) -> DiagonalMoments:
    """Return the moments of each column alone; missing cells add nothing."""
    if issparse(x):
        return _sparse_moments(x, responsibilities)
    if isinstance(responsibilities, Labels):
        moments = _compiled_diagonal_moments(x, responsibilities)
        if moments is not None:
            return moments
    observed = None
    means = _means(x, responsibilities)
    if means is None:
        observed = observed_cells(x)
        if observed is None:
            raise ValueError("the numbers are too large to be summed in float64; rescale the columns")
        x = missing_as_zero(x, observed)
    count = weighted_counts(x, observed, responsibilities)
    if means is None:
        sums = responsibilities.sums(x)
        means = _centers(np.divide(sums, count, out=np.zeros_like(sums), where=count > 0), x)
    center, z = _centred(x, means, responsibilities)
    z = missing_as_zero(z, observed)
    first, second = responsibilities.sums(z), responsibilities.sums(z * z)
    moments = DiagonalMoments(count, center, first, second)
    if responsibilities.rows_of(means, x) is None and moments.cancels():
        return _diagonal_moments_by_class(x, observed, means, count, responsibilities)
    return moments


def _compiled_diagonal_moments(x: Array, labels: Labels) -> DiagonalMoments | None:
    """Return the moments by the compiled kernel; None if it is not available or some cell is not finite."""
    if not shows_missing(x):
        found = compiled.diagonal_moments(x, labels.codes, labels.weight, labels.n_classes)
        if found is None:
            return None
        if np.isfinite(found[3]).all():
            count, center, first, second = found
            return DiagonalMoments(np.repeat(count[:, None], x.shape[1], axis=1), center, first, second)
    found = compiled.observed_moments(x, labels.codes, labels.weight, labels.n_classes)
    return None if found is None or not np.isfinite(found[3]).all() else DiagonalMoments(*found)


def _diagonal_moments_by_class(
    x: Array, observed: Array | None, means: FloatArray, count: FloatArray, responsibilities: Responsibilities
) -> DiagonalMoments:
    first, second = np.zeros_like(means), np.zeros_like(means)
    for c, rows, weight in responsibilities.groups(x):
        z = missing_as_zero(rows - as_like(means[c], x), observed)
        first[c] = to_float64(weight @ z)
        second[c] = to_float64(weight @ (z * z))
    return DiagonalMoments(count, means, first, second)


def _sparse_moments(x: Array, responsibilities: Responsibilities) -> DiagonalMoments:
    """Return the moments of a sparse chunk without making it dense.

    About a centre m, the zeros of a column add (weight of all rows − weight of the stored cells) · m².
    """
    observed_cells(x)
    x = without_duplicates(x)
    count = weighted_counts(x, None, responsibilities)
    means = np.divide(responsibilities.sums(x), count, out=np.zeros_like(count), where=count > 0)
    present = x.copy()
    present.data = np.ones_like(x.data)
    absent = count - responsibilities.sums(present)
    first, second = -absent * means, absent * means**2
    k, d = means.shape
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    if isinstance(responsibilities, Labels):
        groups = [
            (responsibilities.codes[rows], None if responsibilities.weight is None else responsibilities.weight[rows])
        ]
    else:
        matrix = responsibilities.matrix(x)
        groups = [(np.full(len(rows), c), matrix[rows, c]) for c in range(k)]
    for classes, weight in groups:
        z = x.data - means[classes, x.indices]
        cells = classes * d + x.indices
        weighted = z if weight is None else weight * z
        first += np.bincount(cells, weights=weighted, minlength=k * d).reshape(k, d)
        second += np.bincount(cells, weights=weighted * z, minlength=k * d).reshape(k, d)
    return DiagonalMoments(count, means, first, second)


_Found = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _compiled_moments(kernel: Callable[..., _Found | None], x: Array, labels: Labels) -> _Found | None:
    """Return the moments of complete rows by a compiled kernel; None if it is unavailable or they are not finite."""
    if not shows_missing(x):
        found = kernel(x, labels.codes, labels.weight, labels.n_classes)
        if found is None or np.isfinite(found[3]).all():
            return found
    complete = compiled.complete_rows(x)
    if complete is None:
        return None
    own = labels[complete]
    found = kernel(np.take(x, complete, axis=0), own.codes, own.weight, own.n_classes)
    return found if found is not None and np.isfinite(found[3]).all() else None


def tied_moments(x: Array, responsibilities: Responsibilities) -> TiedMoments:
    """Return the moments of each class, second moments summed over the classes; incomplete rows add nothing."""
    if isinstance(responsibilities, Labels):
        found = _compiled_moments(compiled.tied_moments, x, responsibilities)
        if found is not None:
            count, center, first, second = found
            return TiedMoments(count[:, None], center, first, second)
    x, responsibilities, means = _complete_rows(x, responsibilities)
    of_rows = responsibilities.rows_of(means, x)
    if of_rows is None:
        full = full_moments(x, responsibilities)
        return full.to_layout(TiedMoments)  # type: ignore[return-value]
    z = x - of_rows
    weight = responsibilities.row_weight(x)
    second = to_float64((z if weight is None else z * weight[:, None]).T @ z)
    return TiedMoments(responsibilities.totals()[:, None], means, responsibilities.sums(z), second)


def full_moments(x: Array, responsibilities: Responsibilities) -> FullMoments:
    """Return the moments of all pairs of columns, per class; rows with missing cells add nothing."""
    if isinstance(responsibilities, Labels):
        found = _compiled_moments(compiled.full_moments, x, responsibilities)
        if found is not None:
            count, center, first, second = found
            return FullMoments(count[:, None], center, first, second)
    x, responsibilities, means = _complete_rows(x, responsibilities)
    k, d = means.shape
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    for c, rows, weight in responsibilities.groups(x):
        z = rows - as_like(means[c], x)
        weighted = z if weight is None else z * weight[:, None]
        first[c] = to_float64(namespace(x).sum(weighted, axis=0))
        second[c] = to_float64(weighted.T @ z)
    return FullMoments(responsibilities.totals()[:, None], means, first, second)
