"""Passes over the data of the user, in any format: each runs on the engine for its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeGuard

from numpy.typing import NDArray

from suffice.engines import Engine, MemoryEngine, Rows, StreamEngine
from suffice.families import Text
from suffice.models.joint import learn
from suffice.models.named_statistics import ModelStatistics, collect
from suffice.models.schema import Encoder, Schema
from suffice.statistics.responsibilities import PartialLabels
from suffice.tables.labels import LabelCoder
from suffice.tables.parquet import ParquetScan
from suffice.tables.sources import BATCH_ROWS, Batch, MemorySource, Source
from suffice.tables.table import Table
from suffice.tables.words import Bags


class NoLabelsError(ValueError):
    """An error because no row has a label."""


#: the remedy in the error about text in a column that was learned from numbers
_AS_LEARNED = "give it the type that it had in training"
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
    documents: bool = False,
) -> ModelStatistics:
    """Return the statistics of the rows, with their classes and categories named.

    Parameters
    ----------
    schema_of : callable
        Returns the schema of the first table, and checks every further one.
    coder : LabelCoder
        Translates labels to class numbers, and adds new classes.
    documents : bool
        Whether X may be documents that are not in a table.
    """
    source, schema, batches = _open(X, y, sample_weight, schema_of, coder.needs_labels, documents)
    encoder = Encoder(schema, grow=True)

    def encoded(batch: Batch) -> Rows:
        schema_of(batch.table)
        responsibilities = coder.encode(batch.labels, batch.weight, len(batch.table), batch.start)
        return Rows(encoder.encode(batch.table), responsibilities, batch.start)

    engine: Engine
    if _fits(source, schema):
        engine = MemoryEngine(encoded(source.whole()), n_jobs, progress)
    else:
        engine = StreamEngine(lambda: map(encoded, batches), n_jobs, progress)
    joint = engine.reduce(learn, schema)
    if coder.n_missing == coder.n_rows > 0:
        raise NoLabelsError(
            "every label is missing; pass the number of classes (classes=3), or their names, to find them as the "
            "components of a mixture"
        )
    if joint.class_count.sum() == 0:
        raise ValueError("at least one row must have a positive weight, but all weights are zero")
    keep = coder.n_missing > 0
    return collect(coder.classes(), encoder.learned_schema(), joint, declared=coder.declared, keep_values=keep)


def _open(
    X: Any, y: Any, sample_weight: Any, schema_of: Callable[[Table], Schema], needs_labels: bool, documents: bool
) -> tuple[Source, Schema, Iterator[Batch]]:
    """Return the source of the rows, their schema, and an iterator over batches with labels and weights."""
    if not isinstance(X, Source):
        source = MemorySource(X, y, sample_weight, documents=documents)
        _require_rows(len(source.table), source.table.n_columns)
        return source, schema_of(source.table), source.batches()
    require_alone(X, y, sample_weight)
    if needs_labels and isinstance(X, ParquetScan) and X.target is None:
        raise ValueError("a classifier needs labels: name their column in suffice.scan(..., target=...)")
    X = X.of_documents() if documents else X
    batches = X.batches()
    first = next(batches, None)
    if first is None:
        _require_rows(0, 0)
    assert first is not None
    return X, schema_of(first.table), chain([first], batches)


def require_alone(X: Any, y: Any, sample_weight: Any) -> None:
    """Raise ValueError if labels or weights stand beside a stream or a scan."""
    if isinstance(X, Source) and not (y is None and sample_weight is None):
        raise ValueError(
            "a stream or a scan brings its own labels and weights; pass y and sample_weight inside it "
            "(suffice.scan(..., target=..., weight=...)) and not beside it"
        )


def _fits(source: Source, schema: Schema) -> TypeGuard[MemorySource]:
    """Return whether to process all rows as one batch: they are few, or an array that needs no encoding."""
    if not isinstance(source, MemorySource):
        return False
    return len(source.table) <= BATCH_ROWS or (source.is_array and not schema.categories)


def engine(
    X: Any,
    y: Any,
    sample_weight: Any,
    schema: Schema,
    known: Callable[[Any, Any, int, int], PartialLabels],
    *,
    n_jobs: int | None = None,
    estimator: str | None = None,
) -> Engine:
    """Return an engine for many passes over the rows, under a schema that an earlier pass has learned.

    Tables in memory are encoded once; streams and files are read again in every pass.

    Parameters
    ----------
    known : callable
        Returns the known labels of a batch, given its labels, its weights, its number of rows, and the number of rows
        before it.
    estimator : str or None
        The name of the estimator, if the rows are not those of training, and their columns have to be checked.
    """
    encoder = Encoder(schema, grow=False)

    def encoded(batch: Batch) -> Rows:
        if estimator is not None:
            schema.check(batch.table, estimator, extra=True)
            _require_rows(len(batch.table), batch.table.n_columns)
            batch.table.advice = _AS_LEARNED
        labels = known(batch.labels, batch.weight, len(batch.table), batch.start)
        return Rows(encoder.encode(batch.table), labels, batch.start)

    if not isinstance(X, Source):
        whole = MemorySource(X, y, sample_weight, documents=schema.of_documents).whole()
        return MemoryEngine(encoded(whole), n_jobs)
    require_alone(X, y, sample_weight)
    source = X.of_documents() if schema.of_documents else X
    return StreamEngine(lambda: map(encoded, source.batches()), n_jobs)


def _require_rows(n_rows: int, n_columns: int) -> None:
    if n_rows == 0:
        raise ValueError(
            f"a model needs rows, but the table has none: 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is "
            f"required"
        )


def bags(X: Any, schema: Schema, columns: Sequence[int]) -> dict[int, Bags]:
    """Return the documents of some text columns of rows as bags of words, by column."""
    encoder = Encoder(schema, grow=False)
    source = X if isinstance(X, Source) else MemorySource(X, documents=schema.of_documents)
    families = {block.columns[0]: block.family for block in schema.blocks}
    found: dict[int, list[Bags]] = {column: [] for column in columns}
    for batch in (source.of_documents() if schema.of_documents else source).batches():
        table = schema.arranged(batch.table)
        for column, parts in found.items():
            family = families[column]
            assert isinstance(family, Text)
            parts.append(encoder.bags(table.documents(column), family, column))
    return {column: Bags.stacked(parts) for column, parts in found.items()}


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
    """Return the results of a kernel for all rows, stacked in one array."""
    encoder = Encoder(schema, grow=False)
    source = X if isinstance(X, Source) else MemorySource(X, documents=schema.of_documents)
    if isinstance(source, ParquetScan):
        source = source.without_target()
    if schema.of_documents:
        source = source.of_documents()

    def encoded(batch: Batch) -> Rows:
        schema.check(batch.table, estimator, extra=True)
        _require_rows(len(batch.table), batch.table.n_columns)
        batch.table.advice = _AS_LEARNED
        return Rows(encoder.encode(batch.table), None, batch.start)

    if _fits(source, schema):
        return MemoryEngine(encoded(source.whole()), n_jobs, progress).map(kernel, params)
    return StreamEngine(lambda: map(encoded, source.batches()), n_jobs, progress, source.n_rows).map(kernel, params)
