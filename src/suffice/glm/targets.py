"""Conversion of a user's y, weights and offsets to one number per row; every error names the row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from suffice._arrays import FloatArray, as_doubles
from suffice.glm.pairs import Pair
from suffice.glm.responses import BinomialResponse
from suffice.glm.rows import Target
from suffice.glm.successes import Levels, as_successes
from suffice.tables.conversion import as_table
from suffice.tables.labels import as_column, check_weight


def as_target(
    model: Pair,
    y: Any,
    sample_weight: Any,
    n_rows: int,
    start: int,
    offset: FloatArray | None,
    levels: Levels | None = None,
) -> Target:
    """Return y, weights and offsets of some rows; every error names the row.

    Parameters
    ----------
    levels : (failure, success), optional
        The two values of y, if they are not 0 and 1.
    """
    if y is None:
        raise ValueError("a GLM requires y to be passed, but the target y is None; pass one number per row")
    if np.isscalar(y):
        raise ValueError(f"y needs one number per row, but is the single value {y!r}")
    weight = check_weight(sample_weight, n_rows, start)
    numbers = None
    if isinstance(model.response, BinomialResponse) and len(np.shape(y)) == 2 and np.shape(y)[1] == 2:
        try:
            table = as_table(y)
            cells = table.numbers([0, 1])[0 : len(table)]
        except ValueError as error:
            raise ValueError(
                "y of two columns must hold numbers, successes and failures, but they are not numbers; convert them"
            ) from error
        yes, no = (as_numbers(cells[:, i], n_rows, "y", start) for i in (0, 1))
        trials = yes + no
        if (np.minimum(yes, no) < 0).any():
            row = int(np.flatnonzero(np.minimum(yes, no) < 0)[0])
            raise ValueError(f"successes and failures must not be negative, but one is in row {start + row} of y")
        numbers = np.divide(yes, trials, out=np.zeros(n_rows), where=trials > 0)
        weight = trials if weight is None else trials * weight
    elif levels is not None and levels != (False, True):
        return Target(as_successes(y, levels, n_rows, start), weight, offset)
    else:
        numbers = as_numbers(y, n_rows, "y", start)
    bad = model.response.invalid(numbers)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"for a {model.response} response {model.response.requirement}, but it is {numbers[row]:g} in row "
            f"{start + row}; clean it, or choose another family"
        )
    return Target(numbers, weight, offset)


def as_numbers(values: Any, n_rows: int, name: str, start: int = 0) -> FloatArray:
    """Return one finite number per row; raise ValueError if there is a value that is not a finite number."""
    try:
        array = as_column(values)
        numbers = None if array.dtype.kind == "c" else as_doubles(array)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, but its values are not numbers ({error}); convert them") from error
    if numbers is None:
        raise ValueError("Complex data not supported: a table must hold real numbers")
    if numbers.ndim == 0:
        raise ValueError(f"{name} needs one number per row, but is the single number {float(numbers):g}")
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        if name == "y":
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; it was read as one number per row. Pass "
                "y.ravel() to avoid this warning.",
                DataConversionWarning,
                stacklevel=2,
            )
        numbers = numbers.ravel()
    if numbers.shape != (n_rows,):
        raise ValueError(
            f"{name} needs one number per row, but X has {n_rows} rows and {name} has shape {numbers.shape}"
        )
    if not np.isfinite(numbers.sum()) and not np.isfinite(numbers).all():
        bad = np.flatnonzero(~np.isfinite(numbers))
        raise ValueError(
            f"{name} must be finite, but holds {numbers[bad[0]]:g} (NaN or inf) in {len(bad)} of {n_rows} rows (first: "
            f"row {start + int(bad[0])}); drop these rows"
        )
    return numbers
