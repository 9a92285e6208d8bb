"""Rows for a linear model: a design with y, weights and offsets, in memory or batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray, issparse, to_float64
from suffice.engines import Engine, MemoryEngine, Rows, StreamEngine
from suffice.glm.design import Design, Survey
from suffice.tables.arrays import SparseRows
from suffice.tables.parquet import ParquetScan
from suffice.tables.sources import Batch, MemorySource, Source
from suffice.tables.table import Table

#: rows of the sample on which a fit in memory starts, if there are several times as many rows
SAMPLE_ROWS = 16_384


@dataclass(frozen=True, eq=False)
class Target:
    """The targets of the rows of a design: y, or the code of its class, and weights, offsets and groups, if any."""

    y: FloatArray
    weight: FloatArray | None = None
    offset: FloatArray | None = None
    #: the number of the group of each row, for clustered standard errors
    group: IntArray | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of numbers per row."""
        return (len(self.y), 1 + sum(part is not None for part in (self.weight, self.offset, self.group)))

    def __getitem__(self, rows: slice | IntArray) -> Target:
        return Target(
            self.y[rows],
            None if self.weight is None else self.weight[rows],
            None if self.offset is None else self.offset[rows],
            None if self.group is None else self.group[rows],
        )

    @property
    def weights(self) -> FloatArray:
        """The weights, all 1 if none are given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight


#: maps y, weights, a table, its design and the index of its first row to the targets of its rows
MakeTarget = Callable[[Any, Any, Table, Design, int], Target]


@dataclass(frozen=True, eq=False)
class Data:
    """The rows that a linear model is fitted to.

    Attributes
    ----------
    engine : Engine
        Over the design and the targets.
    targets : Engine
        Over the targets alone.
    center : array of shape (p,)
        Near the means of the columns; zeros if the rows are sparse.
    sample : Engine or None
        Over a sample of the rows, if they are many and in memory.
    tables : callable
        Returns an iterator over the tables again, to locate invalid cells.
    """

    design: Design
    engine: Engine
    targets: Engine
    center: FloatArray
    sample: Engine | None
    tables: Callable[[], Iterator[Table]]


def open_rows(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    survey: Survey,
    meet: Callable[[Any], None] | None,
    target: MakeTarget,
    estimator: str,
    n_jobs: int | None,
) -> Data:
    """Return the rows of a table in memory, or of a source, which is read once for the design and once per iteration.

    Parameters
    ----------
    survey : Survey
        Finds the design.
    meet : callable or None
        Called with the labels before the targets are made, to learn which classes there are.
    target : callable
        Makes the targets of the rows.
    """
    if isinstance(X, Source):
        return _from_source(X, y, sample_weight, survey, meet, target, estimator, n_jobs)
    table = MemorySource(X).table
    table.has_families = False
    if len(table) == 0:
        raise ValueError(
            f"a model needs rows, but the table has none: 0 sample(s) (shape=(0, {table.n_columns})) while a minimum "
            f"of 1 is required"
        )
    survey.add(table, estimator, sums=False)
    design = survey.design()
    if meet is not None:
        meet(y)
    belongs = target(y, sample_weight, table, design, 0)
    rows = design.encode(table)
    n = len(table)
    step = n // SAMPLE_ROWS
    sampled = _spread(n, step) if step > 1 else None
    some = rows if sampled is None else _taken(rows, sampled)
    sparse = issparse(some[0:1]) if not isinstance(some, np.ndarray) else False
    center = np.zeros(rows.shape[1])
    if not sparse:
        weight = belongs.weight if sampled is None or belongs.weight is None else belongs.weight[sampled]
        center = _mean(to_float64(some[0 : some.shape[0]]), weight)
        if not np.isfinite(center).all():
            design.complain([table])
    sample = None
    if sampled is not None and step >= 4 and rows.shape[1] * 20 <= SAMPLE_ROWS:
        sample = MemoryEngine(Rows((some,), target=belongs[sampled]), n_jobs)
    return Data(
        design,
        MemoryEngine(Rows((rows,), target=belongs), n_jobs),
        MemoryEngine(Rows((), target=belongs), n_jobs),
        center,
        sample,
        lambda: iter([table]),
    )


def _mean(rows: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the mean of the columns, weighted if there are weights."""
    with np.errstate(invalid="ignore", over="ignore"):
        if weight is None or not weight.any():
            return np.asarray(rows.mean(axis=0))
        return weight @ rows / weight.sum()


def _spread(n_rows: int, step: int) -> IntArray:
    """Return one random row index per `step` rows (fixed seed), so that a periodic pattern does not bias the sample."""
    begins = np.arange(n_rows // step) * step
    return begins + np.random.default_rng(0).integers(step, size=len(begins))


def _taken(rows: Any, order: IntArray) -> Any:
    """Return a copy of some of the rows."""
    if isinstance(rows, SparseRows):
        return SparseRows(rows._array[order])
    return np.take(rows, order, axis=0) if isinstance(rows, np.ndarray) else rows[order]


def _from_source(
    X: Source,
    y: Any,
    sample_weight: Any,
    survey: Survey,
    meet: Callable[[Any], None] | None,
    target: MakeTarget,
    estimator: str,
    n_jobs: int | None,
) -> Data:
    if y is not None or sample_weight is not None:
        raise ValueError(
            "a stream or a scan brings its own y and weights; pass y and sample_weight inside it "
            "(suffice.scan(..., target=..., weight=...)) and not beside it"
        )
    if isinstance(X, ParquetScan) and X.target is None:
        raise ValueError("a linear model needs y: name its column in suffice.scan(..., target=...)")
    met = False
    for batch in X.batches():
        met, batch.table.has_families = True, False
        survey.add(batch.table, estimator, sums=True)
        if meet is not None:
            meet(batch.labels)
    if not met:
        raise ValueError("a model needs rows, but the source has none: 0 sample(s) while a minimum of 1 is required")
    design = survey.design()

    def target_of(batch: Batch) -> Rows:
        batch.table.has_families = False
        belongs = target(batch.labels, batch.weight, batch.table, design, batch.start)
        return Rows((), None, batch.start, belongs)

    def encoded(batch: Batch) -> Rows:
        return replace(target_of(batch), blocks=(design.encode(batch.table),))

    return Data(
        design,
        StreamEngine(lambda: map(encoded, X.batches()), n_jobs),
        StreamEngine(lambda: map(target_of, X.batches()), n_jobs),
        survey.center(design),
        None,
        lambda: (batch.table for batch in X.batches()),
    )
