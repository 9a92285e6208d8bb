"""Cells as the families read them: which are missing, which are invalid, and how much weight each column has."""

from __future__ import annotations

import numpy as np

from suffice import compiled
from suffice._arrays import (
    Array,
    FloatArray,
    IntArray,
    is_float,
    issparse,
    namespace,
    to_float64,
)
from suffice.errors import InvalidCellError
from suffice.statistics.responsibilities import Responsibilities

#: number of first rows of a chunk that are checked for missing cells before all rows are
_FIRST_ROWS = 32


def observed_cells(x: Array, *, what: str = "numbers") -> Array | None:
    """Return the mask of observed cells, None if all are observed; raise InvalidCellError if one is infinite."""
    if issparse(x):
        flags = compiled.inspect(x.data)
        if not np.isfinite(x.data).all() if flags is None else flags & compiled.NOT_FINITE:
            coordinates = x.tocoo()
            first = int(np.flatnonzero(~np.isfinite(coordinates.data))[0])
            raise InvalidCellError(
                "a sparse table must hold finite numbers (no NaN, no inf)",
                found=coordinates.data[first],
                row=int(coordinates.row[first]),
                column=int(coordinates.col[first]),
                remedy="clean that cell, or pass a dense table, in which NaN marks a missing cell",
            )
        return None
    xp = namespace(x)
    if xp is np and np.isfinite(x).all():
        return None
    infinite = xp.isinf(x)
    if bool(xp.any(infinite)):
        raise invalid_cell(x, infinite, f"{what} must be finite", "clean that cell, or write NaN for a missing one")
    observed = ~xp.isnan(x)
    return None if bool(xp.all(observed)) else observed


def shows_missing(x: Array) -> bool:
    """Return whether the first or last rows of a dense NumPy chunk have missing cells: a quick sign for the others."""
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return False
    return bool(np.isnan(x[:_FIRST_ROWS]).any() or np.isnan(x[-1:]).any())


def invalid_cell(x: Array, bad: Array, requirement: str, remedy: str) -> InvalidCellError:
    """Return the error that points at the first bad cell of a dense chunk."""
    row, column = (int(i) for i in np.argwhere(to_float64(bad) > 0)[0])
    return InvalidCellError(requirement, found=float(x[row, column]), row=row, column=column, remedy=remedy)


def require_not_negative(x: Array, requirement: str) -> None:
    """Raise if any cell is negative."""
    values = x.data if issparse(x) else x
    flags = compiled.inspect(values) if issparse(x) else None
    if bool(namespace(values).any(values < 0)) if flags is None else flags & compiled.NEGATIVE:
        dense = x.toarray() if issparse(x) else x
        raise invalid_cell(
            dense,
            dense < 0,
            requirement,
            "clean that cell, or choose a family that takes negative numbers, such as Gaussian",
        )


def in_double(x: Array) -> Array:
    """Return a chunk of counts in float64: their sums are compared with counts of rows, so they must be exact."""
    if issparse(x) or is_float(x, "float64"):
        return x
    xp = namespace(x)
    return xp.astype(x, xp.float64)


def weighted_counts(x: Array, observed: Array | None, responsibilities: Responsibilities) -> FloatArray:
    """Return the weight of the observed cells, k×d."""
    if observed is None:
        totals = responsibilities.totals()
        return np.broadcast_to(totals[:, None], (len(totals), x.shape[1]))
    return responsibilities.sums(namespace(x).astype(observed, x.dtype))


def without_duplicates(x: Array) -> Array:
    """Return a sparse chunk with every cell stored once: SciPy allows duplicates, whose squares do not add up."""
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return x


def missing_as_zero(x: Array, observed: Array | None) -> Array:
    """Return `x` with 0 in the missing cells."""
    if observed is None:
        return x
    xp = namespace(x)
    return xp.where(observed, x, xp.zeros_like(x))


def dense_rows(x: Array) -> FloatArray:
    """Return rows of any library, dense or sparse, as a NumPy array."""
    return to_float64(x.toarray() if issparse(x) else x)


def other_columns(columns: IntArray, n_columns: int) -> IntArray:
    """Return the columns that are not among the given ones, in order."""
    return np.setdiff1d(np.arange(n_columns), columns)


def scaled_rows(x: Array, mean: FloatArray, deviation: FloatArray) -> Array:
    """Return (x − mean) / deviation with 0 for missing cells; sparse rows are only divided, and so stay sparse."""
    divisor = np.where(deviation > 0, deviation, 1.0)
    if issparse(x):
        return x.multiply(1.0 / divisor).tocsr()
    rows = (to_float64(x) - mean) / divisor
    return np.where(np.isnan(rows), 0.0, rows)
