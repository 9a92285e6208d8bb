"""Two-valued responses: which value of y counts as a success."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice._arrays import FloatArray, as_doubles
from suffice.glm.responses import BinomialResponse, Response
from suffice.statistics.responsibilities import Labels
from suffice.tables.labels import LabelCoder, as_column, class_list, sorted_order

#: the value that counts as a failure, and the one that counts as a success
Levels = tuple[Any, Any]
_UNKNOWN = object()


class Successes:
    """Collects the values of y from one or several batches, to decide which of them counts as a success.

    Numbers and booleans are used as they are, unless the user names the value of a success.

    Parameters
    ----------
    response : Response
    positive : value of y, or None
        The value of a success as the user gave it; by default the last of the two, in the order of the categories or
        else sorted.
    known : (failure, success) or None, optional
        What a fitted model found; its rows are not collected again.
    """

    def __init__(self, response: Response, positive: Any = None, known: Any = _UNKNOWN) -> None:
        if positive is not None and not isinstance(response, BinomialResponse):
            raise ValueError(
                f"positive={positive!r} says which of two values of y is a success, but a {response} response has "
                f"none; leave it out, or pass family='bernoulli'"
            )
        self._two_valued = isinstance(response, BinomialResponse) and known is _UNKNOWN
        self._known = known
        self._positive = positive
        self._coder = LabelCoder()
        self._met = self._booleans = False

    def meet(self, y: Any) -> None:
        """Take the values of more rows into account."""
        if not self._two_valued or y is None or np.isscalar(y):
            return
        if _is_counts(y):
            if self._positive is not None:
                raise ValueError(
                    f"y has two columns, successes and failures, so that positive={self._positive!r} has no meaning; "
                    f"leave it out"
                )
            return
        column = as_column(y)
        self._booleans = column.dtype.kind == "b"
        if self._positive is None and _is_numeric(column):
            return
        self._met = True
        self._coder.encode(y, None, len(column), self._coder.n_rows)

    def levels(self) -> Levels | None:
        """Return the values of a failure and of a success; None if y holds numbers."""
        if self._known is not _UNKNOWN:
            levels: Levels | None = self._known
            return levels
        if not self._met:
            return (False, True) if self._booleans else None
        known = class_list(self._coder.classes())
        values = known if self._coder.categorical else [known[i] for i in sorted_order(known)]
        shown = ", ".join(map(repr, values[:6])) + (", …" if len(values) > 6 else "")
        positive = self._positive
        if len(values) > 2:
            raise ValueError(
                f"a binomial response has two values, but y has {len(values)}: {shown}; for more classes there is "
                f"LogisticRegression"
            )
        if positive is None:
            if len(values) < 2:
                raise ValueError(
                    f"y holds {shown} in every row, so it is not known whether that is a success; pass positive="
                )
            return values[0], values[1]
        others = [value for value in values if value != positive]
        if len(others) == 2:
            raise ValueError(f"positive={positive!r} is not a value of y, whose values are {shown}; pass one of them")
        return (others[0] if others else None), positive


def as_successes(y: Any, levels: Levels, n_rows: int, start: int) -> FloatArray:
    """Return 1 where y is a success and 0 where it is a failure; every error names the row."""
    coder = LabelCoder()
    found = coder.encode(y, None, n_rows, start)
    assert isinstance(found, Labels)
    numbers = np.array([_number(value, levels) for value in class_list(coder.classes())])
    codes = numbers[found.codes]
    unknown = np.flatnonzero(np.isnan(codes))
    if len(unknown):
        value = class_list(coder.classes())[found.codes[unknown[0]]]
        raise ValueError(
            f"y holds {value!r} in row {start + int(unknown[0])}, but in training its values were "
            f"{levels[0]!r} and {levels[1]!r}; drop such rows"
        )
    return codes


def _number(value: Any, levels: Levels) -> float:
    return 1.0 if value == levels[1] else 0.0 if value == levels[0] else np.nan


def _is_counts(y: Any) -> bool:
    return len(np.shape(y)) == 2 and np.shape(y)[1] == 2


def _is_numeric(column: Any) -> bool:
    """Return whether a column holds numbers or booleans, or words that are numbers."""
    if column.dtype.kind in "biufcmMV":
        return True
    try:
        as_doubles(column)
    except (TypeError, ValueError):
        return False
    return True
