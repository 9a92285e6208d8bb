"""Missing cells filled in from p(missing | observed) = Σ_c p(c | observed) p(missing | observed, c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.engines.base import Chunk
from suffice.errors import InvalidCellError
from suffice.families import Bernoulli, Categorical, Codes, Family, Poisson, Text
from suffice.models import impossible
from suffice.models.joint import JointModel, posterior
from suffice.models.missing import never_seen
from suffice.models.schema import Schema
from suffice.tables.arrays import ArrayTable
from suffice.tables.columns import ObjectTable
from suffice.tables.factorize import MISSING, is_missing
from suffice.tables.frames import FrameTable
from suffice.tables.sources import Source
from suffice.tables.table import Table
from suffice.tables.words import Bags


def impute(estimator: Any, X: Any, model: JointModel, random_state: Any, sample: bool) -> Any:
    """Return a table of the type of X with its missing cells filled in by expected values or random draws."""
    if isinstance(X, Source):
        raise TypeError(
            "impute gives back the table that it is given, so it needs one in memory, but X is a stream or a scan; "
            "call it on one batch after the other"
        )
    table = model.schema.as_table(X)
    name = type(estimator).__name__
    if isinstance(table, ArrayTable) and issparse(table.array):  # it has no missing cells
        model.schema.check(table, name, extra=True)
        return X
    filling = Filling(model, _never_seen(estimator, model.schema), _seed(random_state) if sample else None)
    noun = "class" if hasattr(estimator, "classes_") else "component"
    found = impossible.score(
        table, model, fill, filling, estimator=name, n_jobs=estimator.n_jobs, marked=True, noun=noun
    )
    return _filled(table, Filled(model.schema, found, sample))


def _never_seen(estimator: Any, schema: Schema) -> frozenset[int]:
    """Return the columns without any value in training, as far as known: the estimator may not have been trained."""
    texts = {column for block in schema.blocks if isinstance(block.family, Text) for column in block.columns}
    without_values = frozenset(column for column, known in schema.categories.items() if not known.values)
    statistics = getattr(estimator, "statistics_", None)
    counted = frozenset() if statistics is None else never_seen(statistics.schema, statistics.joint)
    never: frozenset[int] = without_values | counted | getattr(estimator, "_never_seen", frozenset())
    return never - texts  # a missing document stays missing


def _seed(random_state: Any) -> int:
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(np.random.default_rng(random_state).integers(2**63))


# -- the kernel -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Filling:
    """Parameters of the kernel `fill`: the model, the columns without any training value, and the random seed."""

    model: JointModel
    never_seen: frozenset[int]
    #: None fills in expected values
    seed: int | None


def fill(chunk: Chunk, filling: Filling) -> FloatArray:
    """Kernel: the value for each missing cell, n×d, NaN for the observed cells.

    Categories are given by their codes. Random draws depend on the seed and on the position of the chunk, not on the
    thread.
    """
    model = filling.model
    filled = np.full((len(chunk), model.schema.n_columns), np.nan)
    missing = np.zeros(filled.shape, dtype=bool)
    for block, rows in zip(model.schema.blocks, chunk.blocks, strict=True):
        missing[:, list(block.columns)] = _missing_of(rows)
    _require_seen(missing, filling)
    some = np.flatnonzero(missing.any(axis=1))
    if not len(some):
        return filled
    part = Chunk(tuple(_at(rows, some) for rows in chunk.blocks))
    try:
        blocks = _expected(part, model) if filling.seed is None else _sampled(part, model, [filling.seed, chunk.start])
    except InvalidCellError as error:
        raise error.below(int(some[error.row]) - error.row) from None
    for block, cells in zip(model.schema.blocks, blocks, strict=True):
        filled[some[:, None], list(block.columns)] = cells
    filled[~missing] = np.nan
    return filled


def _expected(rows: Chunk, model: JointModel) -> list[FloatArray]:
    shares = posterior(rows, model.components)
    return [distributions.expected_rows(part, shares) for _, distributions, part in model.parts(rows)]


def _sampled(rows: Chunk, model: JointModel, seed: list[int]) -> list[FloatArray]:
    rng = np.random.default_rng(seed)
    classes = _draw(posterior(rows, model.components), rng)
    return [distributions.sampled_rows(part, classes, rng) for _, distributions, part in model.parts(rows)]


def _missing_of(rows: Any) -> NDArray[np.bool_]:
    if isinstance(rows, Codes):
        return np.asarray(to_float64(rows.codes) == MISSING)
    if isinstance(rows, Bags):
        return rows.missing[:, None]
    return np.isnan(to_float64(rows))


def _at(rows: Any, places: IntArray) -> Any:
    """Return some rows of a block as NumPy arrays."""
    if isinstance(rows, Codes):
        return Codes(np.asarray(rows.codes)[places], rows.sizes)
    if isinstance(rows, Bags):
        return rows[places]
    return to_float64(rows)[places]


def _draw(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a class for each row with the probabilities `shares`."""
    cumulated = np.cumsum(shares, axis=1)
    drawn = rng.random(len(shares))[:, None] * cumulated[:, -1:]
    return (drawn >= cumulated).sum(1)


def _require_seen(missing: NDArray[np.bool_], filling: Filling) -> None:
    for column in sorted(filling.never_seen):
        if missing[:, column].any():
            raise InvalidCellError(
                "training saw no value of that column to fill it in with",
                found="a missing cell",
                row=int(np.argmax(missing[:, column])),
                column=column,
                remedy="leave the column out, or fit on rows that have it",
                column_name=filling.model.schema.column_labels[column],
            )


# -- back into the table ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Filled:
    """The values that the kernel has found, by column."""

    schema: Schema
    cells: FloatArray
    sampled: bool

    def columns(self) -> list[int]:
        """Return the columns with missing cells."""
        return np.flatnonzero(~np.isnan(self.cells).all(axis=0)).tolist()

    def of(self, column: int) -> tuple[IntArray, NDArray[Any]]:
        """Return the rows in which a column is missing, and the values for them: numbers, or categories of training."""
        rows = np.flatnonzero(~np.isnan(self.cells[:, column]))
        cells = self.cells[rows, column]
        if not isinstance(self._family(column), Categorical):
            return rows, cells
        values = self.schema.categories[column].values
        known = np.empty(len(values), dtype=object)
        known[:] = values
        return rows, known[cells.astype(np.intp)]

    def _family(self, column: int) -> Family:
        return next(block.family for block in self.schema.blocks if column in block.columns)

    def whole(self, column: int) -> bool:
        """Return whether the filled-in values have the type of the observed ones, so that integers stay integers."""
        return isinstance(self._family(column), (Bernoulli, Categorical)) or self._is_drawn_count(column)

    def _is_drawn_count(self, column: int) -> bool:
        return self.sampled and isinstance(self._family(column), Poisson)

    def objects(self, column: int, there: list[Any]) -> NDArray[Any]:
        """Return the values for a column of Python objects; booleans and counts get the type of the observed cells."""
        _, cells = self.of(column)
        objects = np.array(cells, dtype=object)
        binary = isinstance(self._family(column), Bernoulli)
        if binary or self._is_drawn_count(column):
            kind = next((type(cell) for cell in there if not is_missing(cell)), bool if binary else float)
            objects[:] = [kind(int(cell)) for cell in cells]
        return objects


def _filled(table: Table, found: Filled) -> Any:
    if isinstance(table, FrameTable):
        return _filled_frame(table, found)
    if isinstance(table, ObjectTable):
        return _filled_objects(table.array, found)
    assert isinstance(table, ArrayTable)
    return _filled_array(table.array, found)


def _filled_array(array: Array, found: Filled) -> Array:
    """Return a filled copy of a numeric array of any array library."""
    xp = namespace(array)
    out = xp.asarray(array, copy=True)
    columns = found.columns()
    if not columns:
        return out
    dense = np.zeros(found.cells.shape)
    for column in columns:
        rows, cells = found.of(column)
        dense[rows, column] = _numbers(cells, column, array.dtype)
    return xp.where(xp.isnan(array), as_like(dense, array), out)


def _filled_objects(array: NDArray[Any], found: Filled) -> NDArray[Any]:
    out = array.copy()
    for column in found.columns():
        rows, _ = found.of(column)
        out[rows, column] = found.objects(column, array[:, column].tolist())
    return out


def _numbers(cells: NDArray[Any], column: Any, holds: Any) -> NDArray[Any]:
    """Return the filled-in values as numbers; raise ValueError if training saw text in this numeric column."""
    words = _words(cells)
    if words:
        raise ValueError(
            f"column {column!r} was learned from values like {words[0]!r}, but holds {holds} here, which cannot take "
            f"them; convert the column to the type of training"
        )
    return cells.astype(np.float64)


def _words(cells: NDArray[Any]) -> list[str]:
    return [cell for cell in cells if isinstance(cell, str)] if cells.dtype == object else []


def _filled_frame(table: FrameTable, found: Filled) -> Any:
    """Return the frame with its incomplete columns filled in; other columns, names, order and index are unchanged."""
    read = found.schema.arranged(table)
    assert isinstance(read, FrameTable)
    filled = {read.label(column): _filled_series(read, column, found) for column in found.columns()}
    native = table.frame.to_native()
    if not table.frame.implementation.is_pandas():
        return table.frame.with_columns(*filled.values()).to_native() if filled else native
    out = native.copy()
    for label, series in filled.items():
        out.isetitem(list(table.column_labels).index(label), series.to_native().array)  # by position, not by index
    return out


def _filled_series(table: FrameTable, column: int, found: Filled) -> Any:
    """Return a filled column of the same type, except that expected values of integers become floats."""
    import narwhals.stable.v2 as nw

    series = table.series(column)
    rows, cells = found.of(column)
    dtype, library = series.dtype, series.implementation
    categories = isinstance(dtype, (nw.Categorical, nw.Enum))
    empty = len(rows) == len(table)  # then the column itself does not show its type
    if library.is_pandas() and (categories or str(series.to_native().dtype) == "object"):
        filled = _filled_pandas(series.to_native(), rows, found.objects(column, series.to_list()))
        return nw.from_native(filled, series_only=True)
    if (dtype.is_numeric() or dtype == nw.Boolean) and not (empty and _words(cells)):
        numbers = _numbers(cells, table.label(column), dtype)
        if dtype.is_float():
            return _scattered(series, rows, numbers.tolist())
        if not found.whole(column) or (numbers % 1.0).any():
            return _scattered(series.cast(nw.Float64), rows, numbers.tolist())
        kind = bool if dtype == nw.Boolean else int
        return _scattered(series, rows, [kind(cell) for cell in numbers])
    if isinstance(dtype, nw.String):
        return _scattered(series, rows, [str(cell) for cell in cells])
    if categories:
        return _filled_categories(series, rows, [str(cell) for cell in cells])
    everything = np.array(series.to_list(), dtype=object)
    everything[rows] = found.objects(column, series.to_list())
    return nw.new_series(series.name, everything.tolist(), backend=library)


def _scattered(series: Any, rows: IntArray, values: list[Any]) -> Any:
    import narwhals.stable.v2 as nw

    cells = nw.new_series("", values, series.dtype, backend=series.implementation)
    if series.implementation.is_pyarrow():  # narwhals has one type of text, Arrow has several
        cells = nw.from_native(cells.to_native().cast(series.to_native().type), series_only=True)
    return series.scatter(rows.tolist(), cells)


def _filled_categories(series: Any, rows: IntArray, words: list[str]) -> Any:
    """Return a filled categorical column of text, for Arrow and polars."""
    import narwhals.stable.v2 as nw

    if series.implementation.is_pyarrow():
        filled = _scattered(series.cast(nw.String), rows, words).to_native()
        return nw.from_native(filled.dictionary_encode(), series_only=True).alias(series.name)
    if isinstance(series.dtype, nw.Enum):
        return _scattered(series if set(words) <= set(series.dtype.categories) else series.cast(nw.String), rows, words)
    # as text: polars, in older releases, cannot write a category that the column does not have
    return _scattered(series.cast(nw.String), rows, words).cast(series.dtype)


def _filled_pandas(column: Any, rows: IntArray, values: NDArray[Any]) -> Any:
    """Return a filled pandas column of objects or categories; categories of training are added where needed."""
    filled = column.copy()
    if hasattr(filled, "cat"):
        known = set(filled.cat.categories)
        filled = filled.cat.add_categories([value for value in dict.fromkeys(values.tolist()) if value not in known])
    filled.iloc[rows] = values
    return filled
