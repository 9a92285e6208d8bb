"""What a table is: rows and columns of any library, with names and kinds, numbers and values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any

from suffice._arrays import Array
from suffice.tables.factorize import (
    Factorized,
)


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
    def column_labels(self) -> Sequence[Any]:
        """What the user calls the columns: their names, or else their places."""
        return range(self.n_columns) if self.names is None else self.names

    def label(self, column: int) -> Any:
        """Return what the user calls a column."""
        return self.column_labels[column]
