"""Conversion of any table that a user passes to a `Table`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice._arrays import Array, issparse, plain_csr
from suffice.tables.arrays import ArrayTable
from suffice.tables.columns import ObjectTable
from suffice.tables.frames import as_frame_table
from suffice.tables.table import Table


def as_table(X: Any) -> Table:
    """Return any table as a `Table`; raise an error that says what a table is if `X` is not one.

    Examples
    --------
    >>> as_table([[1.0, 2.0], [3.0, 4.0]]).n_columns
    2
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64 if X.dtype.kind in "biuf" else object), np.nan)
    if issparse(X):
        return ArrayTable(plain_csr(_real(_two_dimensional(X))))
    if not isinstance(X, (np.ndarray, list, tuple)):
        frame = as_frame_table(X)
        if frame is not None:
            return frame
        if _is_array(X):
            return ArrayTable(_two_dimensional(X))
    return _from_array_like(X)


def _from_array_like(X: Any) -> Table:
    if isinstance(X, str) or X is None or isinstance(X, dict):
        raise TypeError(
            f"a table must be an array, a sparse array or a data frame, but X is {type(X).__name__}; to read files, "
            f"pass suffice.scan(...)"
        )
    if isinstance(X, Iterator):
        raise TypeError(
            f"a table must be in memory, but X is a {type(X).__name__}, which can be read only once; pass list(X), or "
            f"suffice.stream(...) of batches"
        )
    try:
        array = np.asarray(X)
    except ValueError as error:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in X]
        odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
        if odd is None:
            raise
        raise ValueError(
            f"all rows must have the same length, but row 0 has {lengths[0]} cells and row {odd} has "
            f"{lengths[odd]}; complete the row, with NaN or None for missing cells"
        ) from error
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        array = np.asarray(X, dtype=object)  # a list of numbers and words must not become a list of words
    array = _two_dimensional(array)
    if array.dtype.kind in "OUST":
        return ObjectTable(array)
    return ArrayTable(_real(array))


#: advice in the error about a list or Series of text
_OF_DOCUMENTS = "; documents need no table if all columns are text, as in NaiveBayes('text')"


def _two_dimensional(array: Array) -> Array:
    if array.ndim != 2:
        shape = tuple(array.shape)
        more = _OF_DOCUMENTS if getattr(array.dtype, "kind", "") in ("O", "U", "T") else ""
        raise ValueError(
            f"a table must be a 2D array, but X has shape {shape}. Reshape your data with X.reshape(-1, 1) if it "
            f"is one column, or X.reshape(1, -1) if it is one row{more}"
        )
    return array


def _real(array: Array) -> Array:
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: a table must hold real numbers, words or booleans")
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"a column must hold numbers, booleans or words, but X has dtype {array.dtype}; convert dates to numbers"
        )
    return array


def _is_array(X: Any) -> bool:
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(X))
