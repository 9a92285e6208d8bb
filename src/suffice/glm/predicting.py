"""Answers of a linear model for every row of a table or a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, to_float64
from suffice.engines import MemoryEngine, Rows, StreamEngine
from suffice.glm.design import Design
from suffice.glm.links import Link, Log
from suffice.glm.rows import Target
from suffice.glm.targets import as_numbers
from suffice.sources import MemorySource, ParquetScan, Source
from suffice.tables import Table


def offsets(table: Table, design: Design, link: Link, offset: Any, exposure: Any, start: int) -> FloatArray | None:
    """Return offset + log(exposure) of some rows: as given, or from the columns that the design names; None if none."""
    n = len(table)
    given = [
        ("offset", None if isinstance(offset, str) else offset, design.offset),
        ("exposure", None if isinstance(exposure, str) else exposure, design.exposure),
    ]
    total: FloatArray | None = None
    for name, values, column in given:
        if values is None and column is None:
            continue
        if values is None:
            assert column is not None
            values = to_float64(table.numbers([column])[0:n])[:, 0]
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
    """Return a kernel's answer for every row, one below the other; a missing cell is an error that says where."""
    source = X if isinstance(X, Source) else MemorySource(X)
    if isinstance(source, ParquetScan):
        source = source.without_target()

    def encoded(table: Table, start: int) -> Rows:
        design.schema.check(table, estimator)
        table.offset = start
        shift = offset_of(table, start)
        rows = design.encode(table)
        belongs = () if shift is None else (Target(shift, None, shift),)
        return Rows((rows, *belongs), None, start)

    def batches() -> Iterator[Rows]:
        start = 0
        for table, _, _ in source.batches():
            if len(table):
                yield encoded(table, start)
            start += len(table)

    if isinstance(source, MemorySource):
        if len(source.table) == 0:
            raise ValueError(
                f"there are no rows to predict for: 0 sample(s) (shape=(0, {source.table.n_columns})) while a minimum "
                f"of 1 is required"
            )
        found = MemoryEngine(encoded(source.table, 0), n_jobs).map(kernel, at)
    else:
        found = StreamEngine(batches, n_jobs).map(kernel, at)
    if not np.isfinite(found.sum()):
        design.complain([source.table] if isinstance(source, MemorySource) else (b[0] for b in source.batches()))
    return found
