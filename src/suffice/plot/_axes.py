"""Helpers of all figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice._axes import axes, plain
from suffice.tables.conversion import as_table

__all__ = ["arranged", "axes", "colours", "numbers", "plain"]


def colours(k: int) -> list[Any]:
    """Return one colour per class."""
    from matplotlib import colormaps

    palette = colormaps["tab10" if k <= 10 else "tab20"]
    return [palette(c % palette.N) for c in range(k)]


def arranged(model: Any, X: Any) -> Any:
    """Return X with the model's columns in the model's order, or X itself for a model of another library."""
    table, schema = as_table(X), getattr(model, "schema_", None)
    if schema is None:
        return X
    schema.check(table, type(model).__name__, extra=True)
    found = schema.arranged(table)
    return X if found is table else found.frame.to_native()


def numbers(X: Any) -> FloatArray:
    """Return the cells of a table of numbers, n×d."""
    table = as_table(X)
    cells = table.numbers(list(range(table.n_columns)))
    return np.asarray(cells[0 : len(table)], dtype=np.float64)
