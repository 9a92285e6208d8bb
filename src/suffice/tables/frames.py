"""Data frames of pandas, polars and Arrow, read through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.tables.columns import ColumnTable
from suffice.tables.factorize import (
    Factorized,
    factorize_series,
)
from suffice.tables.table import Kind
from suffice.tables.text import places, reads_as_text


def as_frame_table(X: Any) -> FrameTable | None:
    """Return a data frame as a table; None if `X` is not a data frame."""
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
    return FrameTable(_with_plain_strings(frame) if frame.implementation.is_pyarrow() else frame)


def _with_plain_strings(frame: Any) -> Any:
    """Return a frame of Arrow without string views, for which Arrow lacks functions; polars hands them over."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    table = frame.to_native()
    if not any(str(column.type) == "string_view" for column in table.schema):
        return frame
    columns = [
        column.with_type(pa.large_string()) if str(column.type) == "string_view" else column for column in table.schema
    ]
    return nw.from_native(table.cast(pa.schema(columns)), eager_only=True)


def _require_unique_names(X: Any) -> None:
    """Raise ValueError if column names repeat, which pandas and Arrow allow.

    Other frames are not asked: polars forbids it, and a lazy frame has to do work to know its names.
    """
    pandas = hasattr(X, "iloc") and hasattr(X, "columns")  # a series has no columns
    column_labels = X.columns.tolist() if pandas else list(getattr(X, "column_names", ()))
    if len(set(column_labels)) < len(column_labels):
        repeated = ", ".join(repr(label) for label in dict.fromkeys(column_labels) if column_labels.count(label) > 1)
        raise ValueError(f"column names must be unique, but {repeated} occurs more than once; rename the columns")


class FrameTable(ColumnTable):
    """A data frame of pandas, polars, Arrow or any other library that narwhals reads eagerly."""

    def __init__(self, frame: Any) -> None:
        pandas = frame.implementation.is_pandas_like()
        column_labels = frame.to_native().columns.tolist() if pandas else list(frame.columns)
        strings = sum(isinstance(label, str) for label in column_labels)
        if 0 < strings < len(column_labels):
            # scikit-learn's rule, in its own wording
            raise TypeError(
                "Feature names are only supported if all input features have string names, but your input has "
                f"{sorted({type(label).__name__ for label in column_labels})} as feature name / column name types; "
                "convert them with X.columns = X.columns.astype(str)"
            )
        self.frame = frame
        self._column_labels = column_labels
        self.names = tuple(column_labels) if strings == len(column_labels) and column_labels else None
        self.library = str(frame.implementation)

    def __len__(self) -> int:
        return int(self.frame.shape[0])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.frame.shape[1])

    @property
    def column_labels(self) -> Sequence[Any]:
        """The names of the columns, which may be any objects in pandas."""
        return self._column_labels

    def rows(self, start: int, stop: int) -> FrameTable:
        """Return some of the rows."""
        part = object.__new__(FrameTable)
        part.__dict__.update(self.__dict__, frame=self.frame[start:stop], offset=self.offset + start)
        return part

    def select(self, columns: Sequence[int]) -> FrameTable:
        """Return some of the columns, in the order given."""
        column_labels = [self._column_labels[column] for column in columns]
        names = None if self.names is None else tuple(column_labels)
        part = object.__new__(FrameTable)
        part.__dict__.update(
            self.__dict__, frame=self.frame[:, list(columns)], _column_labels=column_labels, names=names
        )
        part.__dict__.pop("_dtypes", None)  # it belongs to all columns
        return part

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return these columns as floats: all at once if the library stores them side by side."""
        native, implementation = self.frame.to_native(), self.frame.implementation
        whole = list(columns) == list(range(self.n_columns))
        if implementation.is_pandas():
            part = native if whole else native.iloc[:, list(columns)]
            kinds = {dtype.kind if isinstance(dtype, np.dtype) else "" for dtype in set(part.dtypes.tolist())}
            if kinds <= {"i", "u", "f"} or kinds == {"b"}:
                return np.ascontiguousarray(part.to_numpy(dtype=np.float64))
        elif implementation.is_polars():
            part = native if whole else native.select([self._column_labels[j] for j in columns])
            dtypes = set(part.dtypes)
            if all(dtype.is_float() or dtype.is_integer() for dtype in dtypes):
                one = all(str(dtype) == "Float64" for dtype in dtypes)
                return np.asarray((part if one else part.cast(float)).to_numpy(order="c"), dtype=np.float64)
        return super().numbers(columns)

    @cached_property
    def _dtypes(self) -> list[Any]:
        """The type of each column, translated by narwhals once per type instead of once per column."""
        native, implementation = self.frame.to_native(), self.frame.implementation
        if not (implementation.is_pandas() or implementation.is_polars()):
            return list(self.frame.schema.values())
        known: dict[Any, Any] = {}
        found = []
        for column, dtype in enumerate(list(native.dtypes)):
            # NumPy's type object may mean text in one column and anything in the next
            key = column if getattr(dtype, "kind", "") == "O" else dtype
            if key not in known:
                known[key] = self.series(column).dtype
            found.append(known[key])
        return found

    def series(self, column: int) -> Any:
        """Return a column by its label, since access by position makes narwhals list the names of all columns first."""
        return self.frame.get_column(self._column_labels[column])

    def kind(self, column: int) -> Kind:
        """Return the kind given by the type of the column, or by its cells if the type is 'object'."""
        import narwhals.stable.v2 as nw

        dtype = self._dtypes[column]
        if dtype.is_numeric():
            return Kind.NUMBER
        if dtype == nw.Boolean:
            return Kind.BOOLEAN
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            return Kind.CATEGORY
        series = self.series(column)
        if isinstance(dtype, nw.String):
            some = series[list(places(len(series)))].to_list()
            return Kind.TEXT if reads_as_text(some) else Kind.CATEGORY
        if isinstance(dtype, (nw.List, nw.Array)) and isinstance(
            dtype.inner, (nw.String, type(nw.String), nw.Categorical)
        ):
            return Kind.TOKENS
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

    def _cells(self, column: int) -> list[Any]:
        cells: list[Any] = self.series(column).to_list()
        return cells

    def values(self, column: int) -> Factorized:
        """Return a column's distinct values, by the library's own hashing if it has one."""
        series = self.series(column)
        if series.dtype.is_nested():
            raise ValueError(
                f"column {self.label(column)!r} holds {series.dtype}, which no family reads; spread it over several "
                f"columns, or leave it out"
            )
        return self._factorized(column, factorize_series, series)
