"""Where tables come from, batch by batch: memory, or a stream of chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from suffice.tables.arrays import ArrayTable
from suffice.tables.conversion import as_table
from suffice.tables.document_tables import as_document_table
from suffice.tables.labels import as_objects_if_mixed
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

    def of_documents(self) -> Source:
        """Return the source with lists and Series of documents read as tables of one column."""
        return self


class MemorySource(Source):
    """A table in memory with its labels and weights, whole or cut into batches."""

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None, *, documents: bool = False) -> None:
        self.table = as_document_table(X) if documents else as_table(X)
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
            f"there must be one label and one weight per row, but X has {n_rows} rows and {name} has {len(values)}"
        )
    by_place = getattr(values, "iloc", values)  # pandas slices by label unless told otherwise
    return lambda rows: by_place[rows]


class Stream(Source):
    """Chunks of rows from any iterable: see `suffice.stream`."""

    def __init__(self, chunks: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self._chunks = chunks
        self._read = False

    def of_documents(self) -> Source:
        """Return the stream with lists and Series of documents read as tables of one column."""
        return _DocumentStream(self)

    def read(self) -> Iterator[Read]:
        """Yield the chunks as tables."""
        return self.tables(as_table)

    def tables(self, convert: Callable[[Any], Table]) -> Iterator[Read]:
        """Yield the chunks as tables that `convert` makes of them."""
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
                yield convert(X), y, weight
            elif isinstance(chunk, tuple):
                raise ValueError(
                    f"a chunk must be a table, (X, y) or (X, y, sample_weight), but chunk {number} is a tuple of "
                    f"{len(chunk)}"
                )
            else:
                yield convert(chunk), None, None


class _DocumentStream(Source):
    """A stream whose chunks are documents."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def read(self) -> Iterator[Read]:
        """Yield the chunks as tables of documents."""
        return self._stream.tables(as_document_table)


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
