"""The interface of a table: rows and columns of any library, with names and kinds, numbers and values."""

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
    """The kind of the cells of a column."""

    NUMBER = "numbers"
    BOOLEAN = "booleans"
    CATEGORY = "categories"
    TEXT = "text"
    TOKENS = "lists of words"

    @property
    def of_words(self) -> bool:
        """Whether the cells are words: categories, or text, which models without text columns read as categories."""
        return self in (Kind.CATEGORY, Kind.TEXT, Kind.TOKENS)


class Table(ABC):
    """Rows and columns of any library."""

    names: tuple[str, ...] | None
    library: str | None = None
    #: number of rows before the first of these, for error messages
    offset: int = 0
    #: whether the reader of the table takes `families`, for error messages
    has_families: bool = True
    #: other advice for a column of words, for error messages
    advice: str | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> Table:
        """Return some of the rows."""

    def select(self, columns: Sequence[int]) -> Table:
        """Return some of the columns, in the order given, of a table whose columns have names."""
        raise NotImplementedError

    @abstractmethod
    def kind(self, column: int) -> Kind:
        """Return the kind of the cells of a column."""

    @abstractmethod
    def numbers(self, columns: Sequence[int]) -> Array:
        """Return these columns as numbers, NaN for missing cells."""

    @abstractmethod
    def values(self, column: int) -> Factorized:
        """Return a column as integer codes of its distinct values."""

    def cells(self, column: int) -> list[Any]:
        """Return the cells of a column as Python objects, None for missing ones."""
        found = self.values(column)
        return [None if code < 0 else found.values[code] for code in found.codes.tolist()]

    def documents(self, column: int) -> list[Any]:
        """Return a column as texts, lists of words, and missing values."""
        raise ValueError(
            f"column {self.label(column)!r} holds numbers, but the family Text reads documents; choose another family "
            f"for it"
        )

    @property
    def column_labels(self) -> Sequence[Any]:
        """The user's labels of the columns: their names, or else their positions."""
        return range(self.n_columns) if self.names is None else self.names

    def label(self, column: int) -> Any:
        """Return the user's label of a column."""
        return self.column_labels[column]
