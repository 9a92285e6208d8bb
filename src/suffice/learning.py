"""From whatever the user gives as data to the sums of a model: one pass, on the engine that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.engines import Engine, MemoryEngine, Rows, StreamEngine
from suffice.joint import learn
from suffice.labels import LabelCoder
from suffice.model_statistics import ModelStatistics, collect
from suffice.schema import Encoder, Schema
from suffice.sources import BATCH_ROWS, Batch, MemorySource, ParquetScan, Source
from suffice.tables import Table

Progress = Callable[[int], None] | None


def gather(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    schema_of: Callable[[Table], Schema],
    coder: LabelCoder,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> ModelStatistics:
    """Return the statistics of the rows, with their classes and categories named.

    Parameters
    ----------
    schema_of : callable
        Gives the schema for the first table, and checks every further one.
    coder : LabelCoder
        Numbers the classes; it learns new ones.
    """
    batches = _labelled(X, y, sample_weight)
    first = next(batches, None)
    if first is None or not len(first[0]):
        shape = (0, 0) if first is None else (0, first[0].n_columns)
        raise ValueError(
            f"a model needs rows to learn from, but found 0 sample(s) (shape={shape}) while a minimum of 1 is required"
        )
    schema = schema_of(first[0])
    encoder = Encoder(schema, grow=True)

    def encoded() -> Iterator[Rows]:
        start = 0
        for table, labels, weight in chain([first], batches):
            if table is not first[0]:
                schema_of(table)
            responsibilities = coder.encode(labels, weight, len(table), start)
            yield Rows(encoder.encode(table), responsibilities, start)
            start += len(table)

    engine: Engine
    if isinstance(X, Source) or len(first[0]) == BATCH_ROWS:
        engine = StreamEngine(encoded, n_jobs, progress)
    else:
        engine = MemoryEngine(next(encoded()), n_jobs, progress)
    joint = engine.reduce(learn, schema)
    if joint.class_count.sum() == 0:
        raise ValueError("at least one row must have a positive weight, but all weights are zero")
    return collect(coder.classes(), encoder.learned_schema(), joint, declared=coder.declared)


def _labelled(X: Any, y: Any, sample_weight: Any) -> Iterator[Batch]:
    """Yield the rows with their labels and weights, an array as one batch."""
    if isinstance(X, Source):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "a stream or a scan brings its own labels and weights; pass y and sample_weight inside it "
                "(suffice.scan(..., target=..., weight=...)) and not beside it"
            )
        if isinstance(X, ParquetScan) and X.target is None:
            raise ValueError("a classifier needs labels: name their column in suffice.scan(..., target=...)")
        yield from X.batches()
        return
    source = MemorySource(X)
    n = len(source.table)
    if source.is_array or n <= BATCH_ROWS:
        yield source.table, y, sample_weight
        return
    start = 0
    y, sample_weight = sliceable(y, n, "y"), sliceable(sample_weight, n, "sample_weight")
    for table, _, _ in source.batches():
        rows = slice(start, start + len(table))
        yield table, None if y is None else y[rows], None if sample_weight is None else sample_weight[rows]
        start += len(table)


def sliceable(values: Any, n_rows: int, name: str) -> Any:
    """Return labels or weights as something that can be cut into batches, of the right length."""
    if values is None or (np.ndim(values) == 0 and not hasattr(values, "__len__")):
        return None if values is None else np.full(n_rows, values)
    if isinstance(values, (list, tuple)):
        values = np.asarray(values)
    if len(values) != n_rows:
        raise ValueError(
            f"there must be one label and one weight a row, but X has {n_rows} rows and {name} has {len(values)}"
        )
    if hasattr(values, "iloc"):  # pandas slices by label unless told otherwise
        return values.iloc
    return values


def score(
    X: Any,
    schema: Schema,
    kernel: Callable[..., NDArray[Any]],
    params: Any,
    *,
    estimator: str,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> NDArray[Any]:
    """Return a kernel's answer for every row, one below the other."""
    encoder = Encoder(schema, grow=False)
    engine: Engine
    if isinstance(X, Source) or (not (source := MemorySource(X)).is_array and len(source.table) > BATCH_ROWS):
        batches = X if isinstance(X, Source) else source

        def encoded() -> Iterator[Rows]:
            start = 0
            feed = batches.without_target() if isinstance(batches, ParquetScan) else batches
            for table, _, _ in feed.batches():
                schema.check(table, estimator)
                yield Rows(encoder.encode(table), None, start)
                start += len(table)

        engine = StreamEngine(encoded, n_jobs, progress)
    else:
        schema.check(source.table, estimator)
        if not len(source.table):
            raise ValueError(
                f"there must be rows to predict for, but found array with 0 sample(s) (shape=(0, "
                f"{source.table.n_columns})) while a minimum of 1 is required"
            )
        engine = MemoryEngine(Rows(encoder.encode(source.table)), n_jobs, progress)
    return engine.map(kernel, params)
