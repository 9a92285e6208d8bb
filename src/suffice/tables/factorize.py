"""Columns as integer codes of their distinct values, by the hashing of the library that they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import IntArray

#: the code of a missing cell
MISSING = -1


class NestedCellError(ValueError):
    """A cell is a list or another container, which cannot be a value of a column."""

    def __init__(self, row: int, cell: Any) -> None:
        super().__init__(f"a cell must be a number, a word or a boolean, but row {row} holds {shown(cell)}")
        self.row, self.cell = row, cell


def is_nested(cell: Any) -> bool:
    """Return whether a cell is a container that no family reads."""
    return isinstance(cell, (list, set, dict, np.ndarray))


def beginning(cell: Any) -> str:
    """Return the beginning of a cell as text."""
    text = repr(cell)
    return text if len(text) <= 60 else text[:60] + "…"


def shown(cell: Any) -> str:
    """Return the type of a cell, and the beginning of its text."""
    return f"a {type(cell).__name__}, {beginning(cell)}"


class Factorized:
    """A column as integer codes of its distinct values; `declared` values belong to its type, seen or not."""

    def __init__(self, codes: IntArray, values: list[Any], declared: bool = False) -> None:
        self.codes = codes
        self.values = values
        self.declared = declared


def is_missing(value: Any) -> bool:
    """Return whether a cell is None, NaN, NaT or another library's null."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return type(value).__name__ in ("NAType", "NaTType")


def factorize(values: NDArray[Any]) -> Factorized:
    """Return the codes and distinct values of a NumPy column, the values in the order of their codes.

    Examples
    --------
    >>> found = factorize(np.array(["b", "a", None, "b"], dtype=object))
    >>> found.codes.tolist(), found.values
    ([0, 1, -1, 0], ['b', 'a'])
    """
    kind = values.dtype.kind
    if kind in "biu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < max(1024, 2 * len(values)):
            offsets = np.ascontiguousarray(values, dtype=np.intp)
            offsets = offsets - low if low else offsets
            present = np.bincount(offsets, minlength=high - low + 1) > 0
            distinct = (np.flatnonzero(present) + low).astype(values.dtype)
            codes = offsets if present.all() else (np.cumsum(present) - 1)[offsets]
            return Factorized(codes, distinct.tolist())
    if kind == "f":
        there = ~np.isnan(values)
        distinct, inverse = np.unique(values[there], return_inverse=True)
        codes = np.full(len(values), MISSING, dtype=np.intp)
        codes[there] = inverse
        return Factorized(codes, distinct.tolist())
    if kind in "mM":
        there = ~np.isnat(values)
        distinct, inverse = np.unique(values[there], return_inverse=True)
        codes = np.full(len(values), MISSING, dtype=np.intp)
        codes[there] = inverse
        return Factorized(codes, list(distinct))
    if kind in "biuUS":
        distinct, inverse = np.unique(values, return_inverse=True)
        return Factorized(inverse.astype(np.intp), distinct.tolist())
    return _factorize_list(values.tolist())


def _factorize_list(values: list[Any]) -> Factorized:
    numbers: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        if is_missing(value):
            codes[row] = MISSING
        else:
            try:
                codes[row] = numbers.setdefault(value, len(numbers))
            except TypeError:  # a value that cannot be hashed
                raise NestedCellError(row, value) from None
    return Factorized(codes, list(numbers))


def factorize_series(series: Any) -> Factorized:
    """Return the distinct values of a narwhals series, by its library's own hashing.

    The categories of pandas and the enums of polars are declared. Arrow's dictionaries and polars' categoricals are
    not: they are a storage format for text, and contain only what occurs in a batch.
    """
    import narwhals.stable.v2 as nw

    native, implementation = series.to_native(), series.implementation
    if series.dtype.is_float():  # NaN is a missing cell, whatever the library calls it
        return factorize(np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
    if isinstance(series.dtype, nw.Object):
        return _factorize_list(series.to_list())
    if implementation.is_pandas():
        import pandas as pd

        if isinstance(native.dtype, pd.CategoricalDtype):
            return Factorized(native.cat.codes.to_numpy().astype(np.intp), native.cat.categories.tolist(), True)
        codes, values = pd.factorize(native, use_na_sentinel=True)
        return Factorized(codes.astype(np.intp), list(values.tolist()))
    if implementation.is_pyarrow():
        import pyarrow as pa

        if pa.types.is_null(native.type):
            return Factorized(np.full(len(native), MISSING, dtype=np.intp), [])
        encoded = native if pa.types.is_dictionary(native.type) else native.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], native.type).dictionary_encode()
        codes = encoded.indices.cast(pa.int64()).fill_null(MISSING).to_numpy(zero_copy_only=False)
        return Factorized(codes.astype(np.intp), encoded.dictionary.to_pylist())
    if implementation.is_polars():
        if isinstance(series.dtype, nw.Enum):
            codes = native.to_physical().cast(int).fill_null(MISSING).to_numpy()
            return Factorized(codes.astype(np.intp), list(series.dtype.categories), True)
        text = native.cast(str) if isinstance(series.dtype, nw.Categorical) else native
        codes = (text.rank("dense").cast(int) - 1).fill_null(MISSING).to_numpy()
        return Factorized(codes.astype(np.intp), text.drop_nulls().unique().sort().to_list())
    return _factorize_list(series.to_list())
