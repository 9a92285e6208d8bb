"""Errors and warnings that state the requirement, the value found, its place, and the remedy."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line of the user's code, from any depth inside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class IdentifierWarning(UserWarning):
    """A warning that a column looks like an identifier, such as a name or a row number, and so does not generalise."""


class TextColumnWarning(UserWarning):
    """A warning that a column was read as text, that one of text was read as categories, or that no word of it is read.

    The first is not issued if the user names the family of the column, or if its type says what it is.

    Examples
    --------
    >>> import warnings
    >>> import suffice
    >>> warnings.simplefilter("ignore", suffice.TextColumnWarning)  # doctest: +SKIP
    """


class MissingLabelsWarning(UserWarning):
    """A warning that some rows have no label, so that the model learns from them by EM.

    It is not issued if the user sets `missing_label`, to None or to a label: then missing labels are intended.

    Examples
    --------
    >>> import warnings
    >>> import suffice
    >>> warnings.simplefilter("ignore", suffice.MissingLabelsWarning)  # doctest: +SKIP
    """


class InvalidCellError(ValueError):
    """An error because a cell of the table does not meet the requirement of its family.

    A kernel knows the position of the column in its block and of the row in its chunk; the engine adds the start of the
    chunk, and the estimator the name of the column, so that the message names the cell.

    Parameters
    ----------
    requirement : str
        The condition that must hold, for example ``"counts must not be negative"``.
    found : object
        The value that violates it.
    row, column : int
        The position of the cell, counted from the first row of the chunk and the first column of the block.
    remedy : str
        What the user can do about it.
    column_name : object, optional
        The name of the column; None if it is not known yet.
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
        """Return the same error with `start` added to its row number.

        Parameters
        ----------
        start : int
            The number of the first row of the chunk.
        """
        return _rebuild(self.requirement, self.found, self.row + start, self.column, self.remedy, self.column_name)

    def named(self, columns: Sequence[int], names: Sequence[object]) -> InvalidCellError:
        """Return the same error with the name that the column has in the table.

        Parameters
        ----------
        columns : sequence of int
            The columns of the block.
        names : sequence
            The names of all columns of the table.
        """
        if self.column_name is not None:
            return self
        name = names[columns[self.column]]
        return _rebuild(self.requirement, self.found, self.row, self.column, self.remedy, name)


def _rebuild(
    requirement: str, found: object, row: int, column: int, remedy: str, column_name: object
) -> InvalidCellError:
    return InvalidCellError(requirement, found=found, row=row, column=column, remedy=remedy, column_name=column_name)


class NotKeptError(ValueError):
    """An error because the statistics do not contain what was requested."""


class ModelFileError(ValueError):
    """An error because a file is not a model that this version of Suffice can read."""


class NotLinearError(AttributeError):
    """An error because the log-odds of a model are not linear, so that it has no coefficients.

    Parameters
    ----------
    reason : str
        What is not linear.
    remedy : str, default ""
        What the user can do about it.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{reason}, so there is no coef_{_behind(remedy)}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.remedy)

    def as_value_error(self) -> ValueError:
        """Return the error for a method, where no attribute is missing."""
        return ValueError(f"{self.reason}{_behind(self.remedy)}")


class EstimateError(ValueError):
    """An error because the statistics do not determine a parameter; the message names the class and the column.

    Parameters
    ----------
    template : str
        The problem. ``{of_class}`` and ``{of_column}`` stand for the names of the class and the column, and ``{noun}``
        for what has parameters of its own: "class", "component" or "component of class".
    remedy : str
        What the user can do about it.
    c, column : int
        The number of the class, and of the column in its block; None if the problem concerns no single column.
    noun, class_name, column_name : str
        What stands for the placeholders; by default "class" and the numbers.
    """

    def __init__(
        self,
        template: str,
        remedy: str,
        *,
        c: int,
        column: int | None = None,
        noun: str = "class",
        class_name: str | None = None,
        column_name: str | None = None,
    ) -> None:
        self.template = template
        self.remedy = remedy
        self.c = c
        self.column = column
        self.noun = noun
        self.class_name = f"number {c}" if class_name is None else class_name
        self.column_name = f"number {column}" if column_name is None else column_name
        super().__init__(f"{self.problem}{_behind(remedy)}")

    @property
    def problem(self) -> str:
        """The message without the remedy."""
        return self.template.format(noun=self.noun, of_class=self.class_name, of_column=self.column_name)

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.template, self.remedy, self.c, self.column, self.noun, self.class_name, self.column_name)
        return _rebuild_estimate, fields

    def named(
        self, classes: Sequence[object], columns: Sequence[int], names: Sequence[object], noun: str = "class"
    ) -> EstimateError:
        """Return the error with the names of the class and the column, and `noun` for what has the parameters."""
        of_column = "" if self.column is None else repr(names[columns[self.column]])
        return _rebuild_estimate(
            self.template, self.remedy, self.c, self.column, noun, repr(classes[self.c]), of_column
        )


def _rebuild_estimate(
    template: str, remedy: str, c: int, column: int | None, noun: str, class_name: str, column_name: str
) -> EstimateError:
    names = {"noun": noun, "class_name": class_name, "column_name": column_name}
    return EstimateError(template, remedy, c=c, column=column, **names)


def _behind(remedy: str) -> str:
    return f"; {remedy}" if remedy else ""
