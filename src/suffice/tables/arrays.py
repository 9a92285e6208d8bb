"""Tables of numbers: NumPy, SciPy sparse and array-API arrays, which are not converted to another library.

Only the requested rows are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, IntArray, is_float, issparse, namespace, to_numpy
from suffice.tables.factorize import (
    Factorized,
    factorize,
)
from suffice.tables.table import Kind, Table

#: integers below this are used unchanged as codes of values
_MOST_RAW_VALUES = 4096


class ArrayTable(Table):
    """A 2-D array of numbers: NumPy, SciPy sparse (CSR), or any array-API library."""

    def __init__(self, array: Array, names: tuple[str, ...] | None = None) -> None:
        self.array = array
        self.names = names

    def __len__(self) -> int:
        return int(self.array.shape[0])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    def rows(self, start: int, stop: int) -> ArrayTable:
        """Return a view of some of the rows."""
        return ArrayTable(self.array[start:stop], self.names)

    def kind(self, column: int) -> Kind:
        """Return BOOLEAN for an array of booleans, else NUMBER."""
        dtype = self.array.dtype
        boolean = dtype.kind == "b" if isinstance(dtype, np.dtype) else "bool" in str(dtype)
        return Kind.BOOLEAN if boolean else Kind.NUMBER

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return the columns, which are selected and converted chunk by chunk."""
        whole = len(columns) == self.n_columns and list(columns) == list(range(self.n_columns))
        if whole and is_float(self.array, "float64") and not issparse(self.array):
            return self.array
        if issparse(self.array):
            part = self.array if whole else self.array[:, list(columns)]
            return SparseRows(part if part.dtype.kind == "f" else part.astype(np.float64))
        return LazyColumns(self.array, None if whole else list(columns))

    def raw_codes(self, columns: Sequence[int]) -> NDArray[Any] | None:
        """Return nonnegative integers unchanged if they can serve as codes of values; else None."""
        array = self.array
        if not isinstance(array, np.ndarray) or array.dtype not in (np.int64, np.int32) or not len(array):
            return None
        codes = array if list(columns) == list(range(self.n_columns)) else array[:, list(columns)]
        # viewed as unsigned, a negative number is a very large one
        return codes if codes.view(codes.dtype.str.replace("i", "u")).max() < _MOST_RAW_VALUES else None

    def values(self, column: int) -> Factorized:
        """Return a column's distinct numbers."""
        if issparse(self.array):
            return factorize(self.array[:, [column]].toarray().ravel())
        return factorize(to_numpy(self.array[:, column]))


class SparseRows:
    """The rows of a CSR array; a slice of them shares its memory, where a slice by SciPy is a copy."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self.shape = array.shape
        self.nnz = array.nnz

    def __getitem__(self, rows: slice | IntArray) -> Array:
        if not isinstance(rows, slice):
            return self._array[rows]
        start, stop, _ = rows.indices(self.shape[0])
        if (start, stop) == (0, self.shape[0]):
            return self._array
        indptr = self._array.indptr[start : stop + 1]
        cells = slice(indptr[0], indptr[-1])
        part = type(self._array)((stop - start, self.shape[1]), dtype=self._array.dtype)
        # assigned after construction: SciPy's constructor copies arrays that are less than half of their base
        part.data, part.indices = self._array.data[cells], self._array.indices[cells]
        part.indptr = indptr - indptr[0]
        return part


class LazyColumns:
    """Columns of an array as floats, converted only for the requested rows."""

    def __init__(self, array: Array, columns: list[int] | None) -> None:
        self._array = array
        self._columns = columns

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and the number of columns."""
        width = self._array.shape[1] if self._columns is None else len(self._columns)
        return (int(self._array.shape[0]), int(width))

    def __getitem__(self, rows: slice | IntArray) -> Array:
        part = self._array[rows]
        if self._columns is not None:
            part = part[:, self._columns]
        if is_float(part, "float32"):
            return part
        xp = namespace(part)
        return xp.astype(part, xp.float64)
