"""Predictions of a linear model for every row of a table or a source."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, issparse, to_float64
from suffice.engines import MemoryEngine, Rows, StreamEngine
from suffice.glm.baseline import null_intercept, totals
from suffice.glm.design import Design
from suffice.glm.links import Link, Log
from suffice.glm.pairs import Pair
from suffice.glm.responses import GaussianResponse
from suffice.glm.rows import Target
from suffice.glm.targets import as_numbers
from suffice.models.schema import find_column
from suffice.tables.parquet import ParquetScan
from suffice.tables.sources import Batch, MemorySource, Source
from suffice.tables.table import Table


def warn_outside(link: Link, eta: FloatArray, *, stacklevel: int) -> None:
    """Warn if η is outside the link's range in some rows: in how many, and what is predicted there."""
    outside = np.flatnonzero(link.outside(eta))
    if len(outside):
        row = int(outside[0])
        warnings.warn(
            f"the {link} link has a mean for η > 0 alone, but η is not positive in {len(outside)} of {len(eta)} rows "
            f"(first: {eta[row]:g} in row {row}): the limit {link.mean(eta[row : row + 1])[0]:g} is predicted there. "
            f"Choose another link, such as 'log', for means everywhere",
            UserWarning,
            stacklevel=stacklevel,
        )


def explained(model: Pair, eta: FloatArray, target: Target, n_jobs: int | None) -> float:
    """Return 1 − deviance / null deviance; the null model has the best intercept and the same offset."""
    targets = MemoryEngine(Rows((), target=target), n_jobs)
    met = targets.reduce(totals, None)
    if met.weight == 0:
        raise ValueError("at least one row must have a positive weight, but all sample_weight are zero")
    counts = target.weights > 0.0
    weight, y = target.weights[counts], target.y[counts]
    deviance = float(weight @ model.deviance(eta[counts], y))
    shift = None if target.offset is None else target.offset[counts]
    if (y == y[0]).all() and (shift is None or (shift == shift[0]).all() or y[0] in model.response.edges):
        null = 0.0
    else:
        start = null_intercept(model, targets, met, intercept=True)
        null = float(weight @ model.deviance(start + (np.zeros(len(y)) if shift is None else shift), y))
    size = met.square if isinstance(model.response, GaussianResponse) else met.weight
    if null <= 1e-24 * size:  # only rounding error is left
        return float(deviance <= 1e-24 * size)
    return 1.0 - deviance / null


def is_column(value: Any) -> bool:
    """Return whether an offset or exposure is given as a column: by its name, or by its index."""
    return isinstance(value, str) or (isinstance(value, (int, np.integer)) and not isinstance(value, bool))


def offsets(table: Table, design: Design, link: Link, offset: Any, exposure: Any, start: int) -> FloatArray | None:
    """Return offset + log(exposure) of some rows: as given, or from a column named here or in training.

    The result is None if there is neither.
    """
    n = len(table)
    total = design.own_offset(table)
    if total is not None:
        total = as_numbers(total, n, "the offset of the formula", start)
    for name, values, column in (("offset", offset, design.offset), ("exposure", exposure, design.exposure)):
        read = design.schema.arranged(table)
        if is_column(values):  # a column of the given table, which may have columns that training did not have
            read, column, values = table, find_column(table, values, f"`{name}`"), None
        if values is None and column is None:
            continue
        if values is None:
            assert column is not None
            cells = read.numbers([column])[0:n]
            values = to_float64(cells.toarray() if issparse(cells) else cells)[:, 0]
        elif np.isscalar(values):
            raise ValueError(
                f"{name} must hold one number per row, or be a column's name or place, but is {values!r}; for the same "
                f"number in every row pass np.full(n, {values!r})"
            )
        numbers = as_numbers(values, n, name, start)
        if name == "exposure":
            if not isinstance(link, Log):
                raise ValueError(
                    f"exposure multiplies the mean, as a log link can express it, but the link is {link}; pass offset="
                )
            if not (numbers > 0).all():
                row = int(np.flatnonzero(~(numbers > 0))[0])
                raise ValueError(
                    f"exposure must be positive, but is {numbers[row]:g} in row {start + row}; drop these rows"
                )
            numbers = np.log(numbers)
        total = numbers if total is None else total + numbers
    return total


def answer(
    X: Any,
    design: Design,
    kernel: Callable[..., NDArray[Any]],
    at: Any,
    *,
    offset_of: Callable[[Table, int], FloatArray | None],
    estimator: str,
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Return a kernel's results for all rows, concatenated; raise ValueError that locates the first missing cell."""
    source = X if isinstance(X, Source) else MemorySource(X)
    if isinstance(source, ParquetScan):
        source = source.without_target()

    def encoded(batch: Batch) -> Rows:
        design.schema.check(batch.table, estimator, extra=True)
        batch.table.has_families = False
        shift = offset_of(batch.table, batch.start)
        target = None if shift is None else Target(shift, None, shift)
        return Rows((design.encode(batch.table),), None, batch.start, target)

    if isinstance(source, MemorySource):
        if len(source.table) == 0:
            raise ValueError(
                f"there are no rows to predict for: 0 sample(s) (shape=(0, {source.table.n_columns})) while a minimum "
                f"of 1 is required"
            )
        found = MemoryEngine(encoded(source.whole()), n_jobs).map(kernel, at)
    else:
        found = StreamEngine(lambda: map(encoded, source.batches()), n_jobs).map(kernel, at)
    if not np.isfinite(found.sum()):
        design.complain(
            [source.table] if isinstance(source, MemorySource) else (batch.table for batch in source.batches())
        )
    return found
