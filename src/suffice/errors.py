"""Errors that say what was required, what was found and where, and what to do."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Sequence

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the line of the user's own code that led to it, however deep in this package it is found."""
    level, frame = 2, sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class IdentifierWarning(UserWarning):
    """A column looks like an identifier, such as a name or a row number, which tells nothing about other rows."""


class MissingLabelsWarning(UserWarning):
    """Some rows have no label, and are learned from by EM.

    Whoever sets `missing_label`, to None or to a label, means them to be missing, and is not told.

    Examples
    --------
    >>> import warnings
    >>> import suffice
    >>> warnings.simplefilter("ignore", suffice.MissingLabelsWarning)  # doctest: +SKIP
    """


class InvalidCellError(ValueError):
    """A cell of the table is not what its family asks for.

    A kernel knows the column's place in its block and the row's place in its chunk; the engine adds where
    the chunk began and the estimator what the column is called, so that the message names the cell.

    Parameters
    ----------
    requirement : str
        What must hold, for example ``"counts must not be negative"``.
    found : object
        The value that does not hold it.
    row, column : int
        Where it is, counted from the chunk's first row and the block's first column.
    remedy : str
        What the user can do about it.
    """

    def __init__(
        self,
        requirement: str,
        *,
        found: object,
        row: int,
        column: int,
        remedy: str,
        column_name: object = None,
    ) -> None:
        self.requirement = requirement
        self.found = found
        self.row = row
        self.column = column
        self.remedy = remedy
        self.column_name = column_name
        super().__init__(self._message())

    def _message(self) -> str:
        name = self.column if self.column_name is None else self.column_name
        return f"column {name!r} holds {self.found} in row {self.row}, but {self.requirement}; {self.remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        return (
            _rebuild,
            (self.requirement, self.found, self.row, self.column, self.remedy, self.column_name),
        )

    def below(self, start: int) -> InvalidCellError:
        """Return the same error with its row counted from `start` rows further up."""
        return _rebuild(self.requirement, self.found, self.row + start, self.column, self.remedy, self.column_name)

    def named(self, columns: Sequence[int], names: Sequence[object]) -> InvalidCellError:
        """Return the same error with the column of a block called by its name in the table."""
        if self.column_name is not None:
            return self
        name = names[columns[self.column]]
        return _rebuild(self.requirement, self.found, self.row, self.column, self.remedy, name)


def _rebuild(
    requirement: str, found: object, row: int, column: int, remedy: str, column_name: object
) -> InvalidCellError:
    return InvalidCellError(requirement, found=found, row=row, column=column, remedy=remedy, column_name=column_name)


class NotKeptError(ValueError):
    """The statistics do not hold what was asked of them."""


class ModelFileError(ValueError):
    """A file is not a model that this version of Suffice can read."""


class EstimateError(ValueError):
    """The sums do not determine a parameter; says for which class and column.

    `template` may hold ``{of_class}`` and ``{of_column}``, which become names where these are known.
    """

    def __init__(self, template: str, *, c: int, column: int | None = None) -> None:
        self.template = template
        self.c = c
        self.column = column
        super().__init__(self._message(f"number {c}", f"number {column}"))

    def _message(self, of_class: str, of_column: str) -> str:
        return self.template.format(of_class=of_class, of_column=of_column)

    def named(
        self, classes: Sequence[object], columns: Sequence[int], names: Sequence[object], noun: str = "class"
    ) -> EstimateError:
        """Return the error with the names of the class and the column, and the class called what it is."""
        of_column = "" if self.column is None else repr(names[columns[self.column]])
        template = re.sub(r"\bclass\b", noun, self.template)
        named = EstimateError(template, c=self.c, column=self.column)
        named.args = (named._message(repr(classes[self.c]), of_column),)
        return named
