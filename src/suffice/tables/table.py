"""Tables of any library, read the same way: columns with names and kinds, numbers and values.

NumPy, SciPy sparse and array-API arrays stay what they are; pandas, polars and Arrow tables are read through
narwhals. Nothing is copied but the rows that are asked for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, IntArray, is_float, issparse, namespace, plain_csr, to_numpy
from suffice.tables.factorize import (
    Factorized,
    NestedCellError,
    factorize,
    factorize_series,
    is_missing,
    is_nested,
    shown,
)

#: whole numbers below this are used as numbers of values as they are
_MOST_RAW_VALUES = 4096


class Kind(Enum):
    """What the cells of a column are."""

    NUMBER = "numbers"
    BOOLEAN = "booleans"
    CATEGORY = "categories"


class Table(ABC):
    """Rows and columns of any library."""

    names: tuple[str, ...] | None
    library: str | None = None
    #: how many rows came before the first of these, for error messages
    offset: int = 0
    #: whether who reads it can be told of families, for error messages
    has_families: bool = True
    #: what to do about a column of words instead, for error messages
    advice: str | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns there are."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> Table:
        """Return some of the rows."""

    def select(self, columns: Sequence[int]) -> Table:
        """Return some of the columns, in the order given, of a table whose columns have names."""
        raise NotImplementedError

    @abstractmethod
    def kind(self, column: int) -> Kind:
        """Return what the cells of a column are."""

    @abstractmethod
    def numbers(self, columns: Sequence[int]) -> Array:
        """Return these columns as numbers, NaN where a cell is missing."""

    @abstractmethod
    def values(self, column: int) -> Factorized:
        """Return a column as numbers of its distinct values."""

    @property
    def labels(self) -> Sequence[Any]:
        """What the user calls the columns: their names, or else their places."""
        return range(self.n_columns) if self.names is None else self.names

    def label(self, column: int) -> Any:
        """Return what the user calls a column."""
        return self.labels[column]


def as_table(X: Any) -> Table:
    """Return any table as a `Table`, or say what a table is.

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
        frame = _frame(X)
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
        array = np.asarray(X, dtype=object)  # a list of numbers and words is not a list of words
    array = _two_dimensional(array)
    if array.dtype.kind in "OUST":
        return ObjectTable(array)
    return ArrayTable(_real(array))


def _two_dimensional(array: Array) -> Array:
    if array.ndim != 2:
        shape = tuple(array.shape)
        raise ValueError(
            f"a table must be a 2D array, but X has shape {shape}. Reshape your data with X.reshape(-1, 1) if it "
            f"is one column, or X.reshape(1, -1) if it is one row"
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


class ArrayTable(Table):
    """A 2-D array of numbers: NumPy, SciPy sparse (CSR), or any array-API library."""

    def __init__(self, array: Array, names: tuple[str, ...] | None = None) -> None:
        self.array = array
        self.names = names

    def __len__(self) -> int:
        return int(self.array.shape[0])

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
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
        """Return the columns, cut and converted a chunk at a time."""
        whole = len(columns) == self.n_columns and list(columns) == list(range(self.n_columns))
        if whole and is_float(self.array, "float64") and not issparse(self.array):
            return self.array
        if issparse(self.array):
            part = self.array if whole else self.array[:, list(columns)]
            return SparseRows(part if part.dtype.kind == "f" else part.astype(np.float64))
        return LazyColumns(self.array, None if whole else list(columns))

    def raw_codes(self, columns: Sequence[int]) -> NDArray[Any] | None:
        """Return whole numbers from 0 that can be read as numbers of values, as they are; None if they are not that."""
        array = self.array
        if not isinstance(array, np.ndarray) or array.dtype not in (np.int64, np.int32) or not len(array):
            return None
        codes = array if list(columns) == list(range(self.n_columns)) else array[:, list(columns)]
        # read as unsigned, a negative number is a very large one
        return codes if codes.view(codes.dtype.str.replace("i", "u")).max() < _MOST_RAW_VALUES else None

    def values(self, column: int) -> Factorized:
        """Return a column's distinct numbers."""
        if issparse(self.array):
            return factorize(self.array[:, [column]].toarray().ravel())
        return factorize(to_numpy(self.array[:, column]))


class SparseRows:
    """The rows of a CSR array; a slice of them shares its memory, where SciPy's own would copy."""

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
        # set and not given: SciPy copies what it is given where that is less than half of an array
        part.data, part.indices = self._array.data[cells], self._array.indices[cells]
        part.indptr = indptr - indptr[0]
        return part


class LazyColumns:
    """Columns of an array, as floats, made only for the rows that are asked for."""

    def __init__(self, array: Array, columns: list[int] | None) -> None:
        self._array = array
        self._columns = columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
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


class _ColumnTable(Table):
    """A table that is read column by column."""

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return these columns as floats, or say which cell is not a number."""
        block = np.empty((len(self), len(columns)))
        for j, column in enumerate(columns):
            block[:, j] = self._as_numbers(column)
        return block

    @abstractmethod
    def _as_numbers(self, column: int) -> NDArray[Any]: ...

    def _parse(self, column: int, cells: Iterable[Any]) -> FloatArray:
        """Read numbers out of cells of mixed types, and say which ones are none."""
        numbers, text = [], []
        for row, cell in enumerate(cells):
            try:
                numbers.append(math.nan if is_missing(cell) else float(cell))
            except (TypeError, ValueError):
                numbers.append(math.nan)
                text.append((row, cell))
        if text:
            row, cell = text[0]
            label = self.label(column)
            rows = "1 row" if len(text) == 1 else f"{len(text)} rows"
            raise ValueError(
                f"column {label!r} must hold numbers, but holds {_what(cell)} in {rows} (first: {cell!r} in row "
                f"{row + self.offset}); {self._advice(label)} or clean it"
            )
        return np.array(numbers, dtype=np.float64)

    def _advice(self, label: Any) -> str:
        """Return how a column comes to be read as categories."""
        if self.advice is not None:
            return self.advice
        return (
            f"pass families={{{label!r}: Categorical()}}" if self.has_families else "turn all of its cells into words"
        )

    def _nested(self, column: int, row: int, cell: Any) -> ValueError:
        """Return the error for a cell that is a list or another container."""
        return ValueError(
            f"column {self.label(column)!r} holds {shown(cell)}, in row {row + self.offset}, which no family reads; "
            f"spread it over several columns, or leave it out"
        )

    def _factorized(self, column: int, read: Callable[[Any], Factorized], cells: Any) -> Factorized:
        """Return the distinct values of a column, or say that some are none."""
        try:
            return read(cells)
        except NestedCellError as error:
            raise self._nested(column, error.row, error.cell) from None

    def _kind_of_objects(self, column: int, cells: Iterable[Any]) -> Kind:
        """Look at the cells themselves where the type of the column says nothing."""
        numbers = booleans = 0
        text: tuple[int, Any] | None = None
        for row, cell in enumerate(cells):
            if is_missing(cell):
                continue
            if isinstance(cell, (bool, np.bool_)):
                booleans += 1
            elif isinstance(cell, (int, float, np.number)):
                numbers += 1
            elif is_nested(cell):
                raise self._nested(column, row, cell)
            elif text is None:
                text = (row, cell)
        if text is not None and numbers:
            label = self.label(column)
            raise ValueError(
                f"column {label!r} mixes numbers with {_what(text[1])} (first: {text[1]!r} in row "
                f"{text[0] + self.offset}); {self._advice(label)} to read all as categories, or clean it"
            )
        if text is not None:
            return Kind.CATEGORY
        return Kind.BOOLEAN if booleans and not numbers else Kind.NUMBER


class ObjectTable(_ColumnTable):
    """A 2-D NumPy array of Python objects or strings."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.names = None

    def __len__(self) -> int:
        return len(self.array)

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.array.shape[1])

    def rows(self, start: int, stop: int) -> ObjectTable:
        """Return a view of some of the rows."""
        part = ObjectTable(self.array[start:stop])
        part.offset = self.offset + start
        return part

    def kind(self, column: int) -> Kind:
        """Return what the objects of a column are."""
        if self.array.dtype.kind in "UST":
            return Kind.CATEGORY
        return self._kind_of_objects(column, self.array[:, column].tolist())

    def _as_numbers(self, column: int) -> NDArray[Any]:
        return self._parse(column, self.array[:, column].tolist())

    def values(self, column: int) -> Factorized:
        """Return a column's distinct values."""
        return self._factorized(column, factorize, self.array[:, column])


def _frame(X: Any) -> FrameTable | None:
    import narwhals.stable.v2 as nw

    _require_unique_names(X)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
            raise TypeError(
                f"X is a lazy frame ({type(X).__module__}); collect it first, or write it to Parquet and pass "
                f"suffice.scan(...)"
            ) from None
        return None
    if not isinstance(frame, nw.DataFrame):
        return None
    return FrameTable(frame)


def _require_unique_names(X: Any) -> None:
    """Refuse what pandas and Arrow allow; polars does not, and asking a lazy frame for its names is work."""
    pandas = hasattr(X, "iloc") and hasattr(X, "columns")  # a series has no columns
    labels = X.columns.tolist() if pandas else list(getattr(X, "column_names", ()))
    if len(set(labels)) < len(labels):
        repeated = ", ".join(repr(label) for label in dict.fromkeys(labels) if labels.count(label) > 1)
        raise ValueError(f"column names must be unique, but {repeated} occurs more than once; rename the columns")


class FrameTable(_ColumnTable):
    """A data frame of pandas, polars, Arrow or any other library that narwhals reads eagerly."""

    def __init__(self, frame: Any) -> None:
        pandas = frame.implementation.is_pandas_like()
        labels = frame.to_native().columns.tolist() if pandas else list(frame.columns)
        strings = sum(isinstance(label, str) for label in labels)
        if 0 < strings < len(labels):
            # scikit-learn's rule, in its words
            raise TypeError(
                "Feature names are only supported if all input features have string names, but your input has "
                f"{sorted({type(label).__name__ for label in labels})} as feature name / column name types; "
                "convert them with X.columns = X.columns.astype(str)"
            )
        self.frame = frame
        self._labels = labels
        self.names = tuple(labels) if strings == len(labels) and labels else None
        self.library = str(frame.implementation)

    def __len__(self) -> int:
        return int(self.frame.shape[0])

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.frame.shape[1])

    @property
    def labels(self) -> Sequence[Any]:
        """The names of the columns, which in pandas may be anything."""
        return self._labels

    def rows(self, start: int, stop: int) -> FrameTable:
        """Return some of the rows."""
        part = object.__new__(FrameTable)
        part.__dict__.update(self.__dict__, frame=self.frame[start:stop], offset=self.offset + start)
        return part

    def select(self, columns: Sequence[int]) -> FrameTable:
        """Return some of the columns, in the order given."""
        labels = [self._labels[column] for column in columns]
        names = None if self.names is None else tuple(labels)
        part = object.__new__(FrameTable)
        part.__dict__.update(self.__dict__, frame=self.frame[:, list(columns)], _labels=labels, names=names)
        part.__dict__.pop("_dtypes", None)  # which is of all columns
        return part

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return these columns as floats: all at once where the library has them side by side."""
        native, implementation = self.frame.to_native(), self.frame.implementation
        whole = list(columns) == list(range(self.n_columns))
        if implementation.is_pandas():
            part = native if whole else native.iloc[:, list(columns)]
            kinds = {dtype.kind if isinstance(dtype, np.dtype) else "" for dtype in set(part.dtypes.tolist())}
            if kinds <= {"i", "u", "f"} or kinds == {"b"}:
                return np.ascontiguousarray(part.to_numpy(dtype=np.float64))
        elif implementation.is_polars():
            part = native if whole else native.select([self._labels[j] for j in columns])
            dtypes = set(part.dtypes)
            if all(dtype.is_float() or dtype.is_integer() for dtype in dtypes):
                one = all(str(dtype) == "Float64" for dtype in dtypes)
                return np.asarray((part if one else part.cast(float)).to_numpy(order="c"), dtype=np.float64)
        return super().numbers(columns)

    @cached_property
    def _dtypes(self) -> list[Any]:
        """The type of each column, translated by narwhals once per type and not once per column."""
        native, implementation = self.frame.to_native(), self.frame.implementation
        if not (implementation.is_pandas() or implementation.is_polars()):
            return list(self.frame.schema.values())
        known: dict[Any, Any] = {}
        found = []
        for column, dtype in enumerate(list(native.dtypes)):
            # what NumPy calls an object can be a word in one column and anything in the next
            key = column if getattr(dtype, "kind", "") == "O" else dtype
            if key not in known:
                known[key] = self.series(column).dtype
            found.append(known[key])
        return found

    def series(self, column: int) -> Any:
        """Return a column; by its label, since by its place narwhals lists the names of all columns first."""
        return self.frame.get_column(self._labels[column])

    def kind(self, column: int) -> Kind:
        """Return what the type of the column says, and look at the cells where it is 'object'."""
        import narwhals.stable.v2 as nw

        dtype = self._dtypes[column]
        if dtype.is_numeric():
            return Kind.NUMBER
        if dtype == nw.Boolean:
            return Kind.BOOLEAN
        if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
            return Kind.CATEGORY
        series = self.series(column)
        if "complex" in str(getattr(series.to_native(), "dtype", "")):
            raise ValueError("Complex data not supported: a table must hold real numbers, words or booleans")
        if isinstance(dtype, (nw.Object, nw.Unknown)):
            return self._kind_of_objects(column, series.to_list())
        raise ValueError(
            f"column {self.label(column)!r} holds {dtype}, which no family reads; convert it to numbers or words, or "
            f"leave it out"
        )

    def _as_numbers(self, column: int) -> NDArray[Any]:
        import narwhals.stable.v2 as nw

        series = self.series(column)
        dtype = series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if dtype.is_temporal():
            raise ValueError(
                f"column {self.label(column)!r} must hold numbers, but holds {dtype}; convert it to numbers first"
            )
        return self._parse(column, series.to_list())

    def values(self, column: int) -> Factorized:
        """Return a column's distinct values, by the library's own hashing where it has it."""
        series = self.series(column)
        if series.dtype.is_nested():
            raise ValueError(
                f"column {self.label(column)!r} holds {series.dtype}, which no family reads; spread it over several "
                f"columns, or leave it out"
            )
        return self._factorized(column, factorize_series, series)


def _what(cell: Any) -> str:
    return "text" if isinstance(cell, str) else f"a {type(cell).__name__}"
