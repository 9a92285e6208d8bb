"""Documents that are not yet a table: lists, arrays and Series."""

from __future__ import annotations

from collections.abc import Sequence, ValuesView
from typing import Any

import numpy as np

from suffice.tables.columns import ObjectTable
from suffice.tables.conversion import as_table
from suffice.tables.frames import FrameTable, as_frame_table
from suffice.tables.table import Table


def as_document_table(X: Any) -> Table:
    """Return documents as a table of one column; tables are returned as `as_table` reads them.

    Documents are a list, a 1-D array, a Series or another sequence of texts, of lists of words, or of missing values; a
    single text is one document. A list of lists holds the words of one document per inner list, also if all are equally
    long, unless each holds a single text of several words: then it is a table of one column.

    Examples
    --------
    >>> as_document_table(["see you", "buy now"]).documents(0), as_document_table([["see", "you"]]).documents(0)
    (['see you', 'buy now'], [['see', 'you']])
    """
    if isinstance(X, (str, bytes)):
        X = [X]
    if isinstance(X, (list, tuple)) and not _is_table_of_one_column(X):
        return _column_of(X)
    if isinstance(X, (list, tuple, Table)):
        return as_table(X)
    if not isinstance(X, np.ndarray):
        table: Table | None = as_frame_table(X)
        if table is None:
            table = _of_series(X)
        if table is not None:
            return table
    if _is_one_dimensional(X):
        return _column_of(X.tolist() if hasattr(X, "tolist") else list(X))
    return as_table(X)


def as_documents(X: Any) -> Sequence[Any]:
    """Return the documents of one column; raise ValueError if there are several columns."""
    table = as_document_table(X)
    if table.n_columns != 1:
        raise ValueError(f"documents must be one column, but X has {table.n_columns}; pass one of them")
    return table.documents(0)


def _is_table_of_one_column(X: Sequence[Any]) -> bool:
    """Return whether each row is a list of one cell, and some of them are texts of several words."""
    if not X or not all(isinstance(row, (list, tuple)) and len(row) == 1 for row in X):
        return False
    return any(isinstance(row[0], str) and len(row[0].split()) > 1 for row in X)


def _is_one_dimensional(X: Any) -> bool:
    """Return whether X is a sequence of cells: a 1-D array of NumPy, pandas or Arrow, a deque, the values of a dict."""
    if isinstance(X, (Sequence, ValuesView)) or getattr(X, "ndim", None) == 1:
        return getattr(getattr(X, "dtype", None), "names", None) is None  # not the records of a structured array
    return hasattr(X, "to_pylist") and not hasattr(X, "columns")  # an array of Arrow, but not a table


def _column_of(documents: Sequence[Any]) -> ObjectTable:
    return ObjectTable(np.fromiter(documents, dtype=object, count=len(documents))[:, None])


def _of_series(X: Any) -> Table | None:
    """Return a Series as a table of one column, with its name; None if `X` is not a Series."""
    import narwhals.stable.v2 as nw

    series = nw.from_native(X, allow_series=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    return FrameTable(series.to_frame()) if series.name not in (None, "") else _column_of(series.to_list())
