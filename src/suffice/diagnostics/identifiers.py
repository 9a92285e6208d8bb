"""Detection of columns that look like identifiers: names, keys and row numbers, which do not help to predict new rows.

A column is reported only if it is almost certainly an identifier, to avoid false alarms:

- Categories: at least 50 cells, of which at least 90 % are distinct.
- Numbers: at least 50 cells, all of them whole and distinct, within a range of four times their number, as row
  numbers are. Whole measurements in such a narrow range have duplicates; measurements without duplicates spread over
  a wider range or are not whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, issparse, to_float64
from suffice.errors import IdentifierWarning, TextColumnWarning, warn_user
from suffice.families import Bernoulli, Beta, Categorical, Dirichlet, Multinomial, Text
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Schema
from suffice.statistics.category_counts import CategoryCounts
from suffice.statistics.moments import Moments
from suffice.tables.arrays import ArrayTable
from suffice.tables.sources import Source
from suffice.tables.table import Table
from suffice.tables.text import DISTINCT, SEVERAL, places, words_in

_FEWEST_ROWS = 50
_DISTINCT = 0.9
_SPREAD = 4
#: the number of cells checked first
_FIRST = 64
#: families whose cells cannot be row numbers
_OTHERS = (Bernoulli, Beta, Categorical, Dirichlet, Multinomial, Text)
#: the largest number of columns named in the warning
_NAMED = 5


def warn_of_identifiers(statistics: ModelStatistics, X: Any, n_rows: int, *, weighted: bool) -> None:
    """Warn once of columns that look like identifiers; numbers of a source are not checked, as it has been read.

    Parameters
    ----------
    statistics : ModelStatistics
        The statistics of the training rows.
    X : table, scan or stream
    n_rows : int
        The number of training rows.
    weighted : bool
        Whether the rows have weights.
    """
    texts = dict(sentences(statistics, n_rows))
    if texts:
        label, reason = next(iter(texts.items()))
        also = f"; so do {', '.join(map(repr, list(texts)[1:_NAMED]))}" if len(texts) > 1 else ""
        warn_user(
            f"column {label!r} holds sentences ({reason}), but was read as categories, which say nothing about rows "
            f"with other sentences; pass families={{{label!r}: 'text'}} to read its words{also}",
            TextColumnWarning,
        )
    found = [entry for entry in unique_values(statistics, n_rows) if entry[0] not in texts]
    if not isinstance(X, Source) and n_rows >= _FEWEST_ROWS:
        found += row_numbers(statistics.schema.as_table(X), statistics.schema, None if weighted else statistics)
    if found:
        warn_user(identifiers_sentence(found), IdentifierWarning)


def identifiers_sentence(found: Sequence[tuple[Any, str]]) -> str:
    """Return a sentence that names the columns that look like identifiers, with reasons."""
    named = "; ".join(f"{label!r} ({reason})" for label, reason in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    if len(found) == 1:
        return f"column {named} looks like an identifier, which carries no information about other rows; leave it out"
    return f"columns {named}{more} look like identifiers, which carry no information about other rows; leave them out"


def unique_values(statistics: ModelStatistics, n_rows: int) -> Iterator[tuple[Any, str]]:
    """Yield the categorical columns whose values are almost all distinct, with the reason."""
    for column, n_values, n_cells in _distinct(statistics, n_rows, _DISTINCT):
        label, reason = statistics.schema.column_labels[column], f"{n_values:,} distinct values in {n_cells:,} rows"
        if _words_per_value(statistics.schema, column) >= 2:
            reason += f"; if its cells are text, pass families={{{label!r}: 'text'}}"
        yield label, reason


def sentences(statistics: ModelStatistics, n_rows: int) -> Iterator[tuple[Any, str]]:
    """Yield the categorical columns that hold sentences, by the rule for kinds of columns, with the reason."""
    for column, n_values, n_cells in _distinct(statistics, n_rows, DISTINCT):
        if _words_per_value(statistics.schema, column) >= SEVERAL:
            yield statistics.schema.column_labels[column], f"{n_values:,} different ones in {n_cells:,} rows"


def _distinct(statistics: ModelStatistics, n_rows: int, share: float) -> Iterator[tuple[int, int, int]]:
    """Yield the categorical columns with many distinct values, with the numbers of values and of cells."""
    weight = float(statistics.class_count.sum())
    for block, sums in zip(statistics.schema.blocks, statistics.joint.blocks, strict=True):
        if not isinstance(sums, CategoryCounts) or sums.total.shape[1] < share * _FEWEST_ROWS:
            continue
        counts = sums.weight
        for column, values in zip(block.columns, sums.columns(), strict=True):
            n_cells = round(n_rows * float(counts[values].sum()) / weight)
            n_values = int((counts[values] > 0).sum())
            if n_cells >= _FEWEST_ROWS and n_values >= share * n_cells:
                yield column, n_values, n_cells


def _words_per_value(schema: Schema, column: int) -> float:
    """Return the median number of words of the values of a column, at most `SEVERAL`, 0 if they are not text."""
    values = schema.categories[column].values
    some = [values[place] for place in places(len(values))]
    return median(words_in(value) if isinstance(value, str) else 0 for value in some)


def row_numbers(table: Table, schema: Schema, statistics: ModelStatistics | None) -> Iterator[tuple[Any, str]]:
    """Yield the numeric columns that look like row numbers, with the reason.

    With statistics of unweighted rows, most columns are ruled out by their variance without a look at the cells.
    """
    n_rows = len(table)
    if n_rows < _FEWEST_ROWS or (isinstance(table, ArrayTable) and issparse(table.array)):
        return
    table = schema.arranged(table)
    for number, block in enumerate(schema.blocks):
        if isinstance(block.family, _OTHERS):
            continue
        columns = np.array(block.columns)
        if statistics is not None:
            sums = statistics.joint.blocks[number]
            columns = columns[_as_wide_as_row_numbers(sums)] if isinstance(sums, Moments) else columns
        for first in (_FIRST, int(16.0 * n_rows**0.5)):  # that many random draws from 4n values have duplicates
            if len(columns):
                columns = columns[_whole(_cells(table.rows(0, min(first, n_rows)), columns.tolist()))]
        for column in columns.tolist():
            if _are_row_numbers(_cells(table, [column])[:, 0]):
                yield schema.column_labels[column], "whole numbers that are all distinct, like row numbers"


def _as_wide_as_row_numbers(moments: Moments) -> Any:
    """Return which columns have the variance of n distinct whole numbers in a range of 4n: (n² − 1)/12 to 4n²."""
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported elsewhere
        n, variance = moments.count.sum(0), moments.total_variance()
    return np.flatnonzero((variance >= 0.99 * (n * n - 1.0) / 12.0) & (variance <= 1.01 * (0.5 * _SPREAD * n) ** 2))


def _whole(cells: FloatArray) -> Any:
    """Return which columns hold distinct whole numbers, apart from missing cells."""
    whole = (np.isnan(cells) | (np.floor(cells) == cells)).all(axis=0)
    ordered = np.sort(cells, axis=0)
    return whole & (np.diff(ordered, axis=0) != 0.0).all(axis=0)


def _are_row_numbers(column: FloatArray) -> bool:
    cells = column[~np.isnan(column)]
    n = len(cells)
    if n < _FEWEST_ROWS:
        return False
    low, high = float(cells.min()), float(cells.max())
    if not high - low < _SPREAD * n:
        return False
    places = cells - low
    return bool((np.floor(places) == places).all()) and int(np.bincount(places.astype(np.intp)).max()) == 1


def _cells(table: Table, columns: Sequence[int]) -> FloatArray:
    """Return some columns as floats, n×m."""
    block = table.numbers(columns)
    return to_float64(block[0 : block.shape[0]])


__all__ = ["identifiers_sentence", "row_numbers", "sentences", "unique_values", "warn_of_identifiers"]
