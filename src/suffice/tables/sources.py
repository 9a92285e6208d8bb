"""Sources of tables: memory, a stream of chunks, Parquet files."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suffice.tables.arrays import ArrayTable
from suffice.tables.labels import as_objects_if_mixed
from suffice.tables.reading import as_table
from suffice.tables.table import Table

#: limit on the rows that are encoded at a time, if encoding is needed
BATCH_ROWS = 65_536
#: limit on the cells that are encoded at a time, for wide rows
BATCH_CELLS = 1_000_000


class Batch(NamedTuple):
    """Some rows of a source, with their labels, their weights, and the number of rows before them."""

    table: Table
    labels: Any = None
    weight: Any = None
    start: int = 0


#: a table, its labels and its weights
Read = tuple[Table, Any, Any]


class Source(ABC):
    """Rows, labels and weights that come batch by batch."""

    def batches(self) -> Iterator[Batch]:
        """Yield the nonempty batches, each with the number of rows before it; a fresh iterator at each call."""
        start = 0
        for table, labels, weight in self.read():
            if len(table):
                table.offset = start
                yield Batch(table, labels, weight, start)
            start += len(table)

    @abstractmethod
    def read(self) -> Iterator[Read]:
        """Yield tables with their labels and weights; a fresh iterator at each call."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if only reading them can tell."""
        return None


class MemorySource(Source):
    """A table in memory with its labels and weights, whole or cut into batches."""

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        self.table = as_table(X)
        self.y = y
        self.sample_weight = sample_weight

    @property
    def is_array(self) -> bool:
        """Whether the rows are an array, which needs no encoding except for categories."""
        return isinstance(self.table, ArrayTable)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.table)

    def whole(self) -> Batch:
        """Return all rows at once."""
        return Batch(self.table, self.y, self.sample_weight)

    def read(self) -> Iterator[Read]:
        """Yield the rows in batches, so that only a few are encoded at a time."""
        n = len(self.table)
        y, weight = _sliceable(self.y, n, "y"), _sliceable(self.sample_weight, n, "sample_weight")
        size = min(BATCH_ROWS, max(BATCH_CELLS // self.table.n_columns, 1024))
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            yield self.table.rows(rows.start, rows.stop), y and y(rows), weight and weight(rows)


def _sliceable(values: Any, n_rows: int, name: str) -> Callable[[slice], Any] | None:
    """Return a function that slices labels or weights into batches; None if there are none."""
    if values is None:
        return None
    if isinstance(values, (list, tuple)):
        values = as_objects_if_mixed(values)
    if np.ndim(values) == 0 and not hasattr(values, "__len__"):
        return lambda rows: np.full(rows.stop - rows.start, values)
    if len(values) != n_rows:
        raise ValueError(
            f"there must be one label and one weight a row, but X has {n_rows} rows and {name} has {len(values)}"
        )
    by_place = getattr(values, "iloc", values)  # pandas slices by label unless told otherwise
    return lambda rows: by_place[rows]


class Stream(Source):
    """Chunks of rows from any iterable: see `suffice.stream`."""

    def __init__(self, chunks: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self._chunks = chunks
        self._read = False

    def read(self) -> Iterator[Read]:
        """Yield the chunks as tables."""
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if self._read and not callable(self._chunks) and iter(chunks) is chunks:
            raise ValueError(
                "this stream was read already, and a generator can be read only once; pass suffice.stream a function "
                "that returns a fresh generator, or a list"
            )
        self._read = True
        for number, chunk in enumerate(chunks):
            if isinstance(chunk, tuple) and len(chunk) in (2, 3):
                X, y, weight = (*chunk, None)[:3]
                yield as_table(X), y, weight
            elif isinstance(chunk, tuple):
                raise ValueError(
                    f"a chunk must be a table, (X, y) or (X, y, sample_weight), but chunk {number} is a tuple of "
                    f"{len(chunk)}"
                )
            else:
                yield as_table(chunk), None, None


def stream(chunks: Iterable[Any] | Callable[[], Iterable[Any]]) -> Stream:
    """Return chunks of rows as a source to fit or predict on.

    Parameters
    ----------
    chunks : iterable, or a function that returns one
        Each chunk is a table, ``(X, y)`` or ``(X, y, sample_weight)``. Models that need several passes need the
        function (or a list), because a generator can be read only once.

    Examples
    --------
    >>> import numpy as np, suffice
    >>> halves = [(np.array([[0.0], [0.2]]), ["a", "a"]), (np.array([[5.0], [5.5]]), ["b", "b"])]
    >>> model = suffice.NaiveBayes().fit(suffice.stream(halves))
    >>> model.predict([[4.0]]).tolist()
    ['b']
    """
    return Stream(chunks)


class ParquetScan(Source):
    """Parquet files, read a batch at a time: see `suffice.scan`."""

    def __init__(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.files = _find(path)
        self.target = target
        self.weight = weight
        self.batch_rows = batch_rows
        self._columns = self._features(columns)

    def _features(self, columns: Sequence[str] | None) -> list[str]:
        names = _parquet(self.files[0]).schema_arrow.names
        for name in (self.target, self.weight, *(columns or ())):
            if name is not None and name not in names:
                raise ValueError(
                    f"there is no column {name!r} in {self.files[0]}; its columns are "
                    f"{', '.join(map(repr, names[:12]))}{', …' if len(names) > 12 else ''}"
                )
        special = {self.target, self.weight}
        self._types = self._types_of_empty_columns()
        return [name for name in (names if columns is None else columns) if name not in special]

    def _types_of_empty_columns(self) -> dict[str, Any]:
        """Return the types that columns have in other files, if the first file has only nulls in them."""
        import pyarrow as pa

        empty = {field.name for field in _parquet(self.files[0]).schema_arrow if pa.types.is_null(field.type)}
        types: dict[str, Any] = {}
        for file in self.files[1:] if empty else ():
            for field in _parquet(file).schema_arrow:
                if field.name in empty and not pa.types.is_null(field.type):
                    types.setdefault(field.name, field.type)
        return types

    def without_target(self) -> ParquetScan:
        """Return the same rows for prediction, for which the files need not have the target or the weight."""
        same = object.__new__(ParquetScan)
        same.__dict__.update(self.__dict__, target=None, weight=None)
        return same

    def read(self) -> Iterator[Read]:
        """Yield record batches as tables, with their target and weight columns."""
        wanted = [*self._columns, *(name for name in (self.target, self.weight) if name is not None)]
        for file in self.files:
            parquet = _parquet(file)
            absent = [name for name in wanted if name not in parquet.schema_arrow.names]
            if absent:
                raise ValueError(
                    f"all files must have the same columns, but {file} lacks {', '.join(map(repr, absent))}, which "
                    f"{self.files[0]} has"
                )
            for batch in parquet.iter_batches(self.batch_rows, columns=wanted):
                table = _as_arrow_table(batch, self._types)
                yield (
                    as_table(table.select(self._columns)),
                    None if self.target is None else table.column(self.target),
                    None if self.weight is None else table.column(self.weight),
                )


def scan(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> ParquetScan:
    """Return Parquet files as a source to fit or predict on, without reading them into memory.

    Parameters
    ----------
    path : path, pattern or list of paths
        A file, a folder of ``.parquet`` files, a pattern such as ``"data/*.parquet"``, or a list of them.
    target, weight : str, optional
        The columns that hold the label and the weight of a row.
    columns : list of str, optional
        The columns to learn from; all others by default.
    batch_rows : int
        Number of rows to read at a time.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, suffice
    >>> folder = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"x": [0.0, 0.3, 5.0, 5.1], "y": ["a", "a", "b", "b"]}), folder + "/part.parquet")
    >>> model = suffice.NaiveBayes().fit(suffice.scan(folder + "/*.parquet", target="y"))
    >>> model.predict(pa.table({"x": [4.8]})).tolist()
    ['b']
    """
    return ParquetScan(path, target, weight, columns, batch_rows)


def _find(path: Any) -> list[Path]:
    if isinstance(path, (list, tuple)):
        return [file for part in path for file in _find(part)]
    text = os.fspath(path)
    if os.path.isdir(text):
        files = sorted(Path(text).rglob("*.parquet"))
    elif os.path.exists(text):
        files = [Path(text)]
    else:
        files = sorted(Path(found) for found in glob.glob(text, recursive=True))
    if not files:
        raise FileNotFoundError(f"there is no Parquet file at {text!r}; give a file, a folder or a pattern")
    return files


def _parquet(file: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow; install it with: pip install 'suffice[parquet]'") from error
    try:
        return pyarrow.parquet.ParquetFile(file)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{file} is not a Parquet file, or is damaged: {error}") from error


def _as_arrow_table(batch: Any, types: dict[str, Any]) -> Any:
    """Return a batch as a table, with the types of other files for its empty columns."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    for place, field in enumerate(table.schema):
        if pa.types.is_null(field.type) and field.name in types:
            table = table.set_column(place, field.name, table.column(place).cast(types[field.name]))
    return table
