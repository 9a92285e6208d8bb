"""Tables that are read column by column: arrays of objects."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.tables.factorize import (
    Factorized,
    NestedCellError,
    beginning,
    factorize,
    is_missing,
    is_nested,
    shown,
)
from suffice.tables.table import Kind, Table
from suffice.tables.text import is_token_list, places, reads_as_text


class ColumnTable(Table):
    """A table that is read column by column."""

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return these columns as floats; raise ValueError for the first cell that is not a number."""
        block = np.empty((len(self), len(columns)))
        for j, column in enumerate(columns):
            block[:, j] = self._as_numbers(column)
        return block

    @abstractmethod
    def _as_numbers(self, column: int) -> NDArray[Any]: ...

    def _parse(self, column: int, cells: Iterable[Any]) -> FloatArray:
        """Return numbers from cells of mixed types; raise ValueError if some are not numbers."""
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
                f"column {label!r} must hold numbers, but holds {_what(cell)} in {rows} (first: {beginning(cell)} in "
                f"row {row + self.offset}); {self._advice(label)} or clean it"
            )
        return np.array(numbers, dtype=np.float64)

    def _advice(self, label: Any) -> str:
        """Return the advice on how to read a column as categories."""
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
        """Return the distinct values of a column; raise ValueError if a cell is a container."""
        try:
            return read(cells)
        except NestedCellError as error:
            raise self._nested(column, error.row, error.cell) from None

    def _kind_of_objects(self, column: int, cells: Sequence[Any]) -> Kind:
        """Return the kind of a column from its cells, for columns whose type does not tell."""
        numbers = booleans = 0
        lists = [cell for cell in cells if is_nested(cell)]
        of_lists = bool(lists) and all(is_nested(cell) or is_missing(cell) for cell in cells)
        if of_lists and all(is_token_list(cell) for cell in lists):
            return Kind.TOKENS
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
                f"column {label!r} mixes numbers with {_what(text[1])} (first: {beginning(text[1])} in row "
                f"{text[0] + self.offset}); {self._advice(label)} to read all as categories, or clean it"
            )
        if text is not None:
            return self._kind_of_words(cells)
        return Kind.BOOLEAN if booleans and not numbers else Kind.NUMBER

    def _kind_of_words(self, cells: Any) -> Kind:
        """Return TEXT for most cells of several words each, CATEGORY otherwise."""
        return Kind.TEXT if reads_as_text([cells[row] for row in places(len(cells))]) else Kind.CATEGORY

    def cells(self, column: int) -> list[Any]:
        """Return the cells of a column as Python objects, None for missing ones."""
        return [None if is_missing(cell) else cell for cell in self._cells(column)]

    def documents(self, column: int) -> list[Any]:
        """Return a column as texts, lists of words, and missing values."""
        return self._cells(column)

    @abstractmethod
    def _cells(self, column: int) -> list[Any]:
        """Return the cells of a column as Python objects."""


class ObjectTable(ColumnTable):
    """A 2-D NumPy array of Python objects or strings."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.names = None

    def __len__(self) -> int:
        return len(self.array)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    def rows(self, start: int, stop: int) -> ObjectTable:
        """Return a view of some of the rows."""
        part = ObjectTable(self.array[start:stop])
        part.offset = self.offset + start
        return part

    def kind(self, column: int) -> Kind:
        """Return the kind of the objects in a column."""
        if self.array.dtype.kind in "UST":
            return self._kind_of_words(self.array[:, column])
        return self._kind_of_objects(column, self._cells(column))

    def _cells(self, column: int) -> list[Any]:
        cells: list[Any] = self.array[:, column].tolist()
        return cells

    def _as_numbers(self, column: int) -> NDArray[Any]:
        return self._parse(column, self.array[:, column].tolist())

    def values(self, column: int) -> Factorized:
        """Return a column's distinct values."""
        return self._factorized(column, factorize, self.array[:, column])


def _what(cell: Any) -> str:
    return "text" if isinstance(cell, str) else f"a {type(cell).__name__}"
