"""Results as data frames, in the library of the training table or one that is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

#: the libraries that results can be returned in, in the order of preference
LIBRARIES = ("pandas", "polars", "pyarrow")


def result_frame(columns: Mapping[str, Iterable[Any]], library: str | None = None, *, known: str | None = None) -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping of name to the cells of a column, an array or a list
        All of the same length. None is a missing cell. A column that mixes words with numbers becomes text.
    library : "pandas", "polars" or "pyarrow", optional
        The library that the user asks for.
    known : str or None, default None
        The library of the training table, if it is known; by default, or if it is not installed, the first that is.

    Raises
    ------
    ImportError
        If the library that is asked for is not installed, or none is.

    Examples
    --------
    >>> result_frame({"name": ["a", "b"], "share": [0.25, 0.75]}, "pandas")
      name  share
    0    a   0.25
    1    b   0.75
    """
    if library is not None and library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(map(repr, LIBRARIES))}, not {library!r}")
    cells = {name: _of_one_type(values) for name, values in columns.items()}
    candidates = [library] if library is not None else [*([known] if known else []), *LIBRARIES]
    for candidate in candidates:
        frame = frame_in(candidate, cells)
        if frame is not None:
            return frame
    wanted = "pandas, polars or pyarrow, and none of them is" if library is None else f"{library}, which is not"
    raise ImportError(f"to return a data frame takes {wanted} installed; pip install {library or 'pandas'}")


def frame_in(library: str, columns: Mapping[str, Iterable[Any]]) -> Any:
    """Return a data frame of the given library; None if it is not installed."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, library)).to_native()
    except ImportError:
        return None


def library_of(x: Any) -> str | None:
    """Return the library of a data frame or a series; None if `x` is neither."""
    import narwhals.stable.v2 as nw

    found = nw.from_native(x, allow_series=True, pass_through=True)
    return str(found.implementation) if isinstance(found, (nw.DataFrame, nw.Series)) else None


def _of_one_type(values: Iterable[Any]) -> list[Any]:
    """Return the cells as a list whose cells are all numbers, all booleans, all of one other type, or all text."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufU":
        return cast(list[Any], values.tolist())
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) < 2:
        return cells
    kind = float if kinds == {int, float} else str
    return [None if cell is None else kind(cell) for cell in cells]
