"""Progress on a terminal while rows are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from suffice.tables.sources import Read, Source


class Meter:
    """Counts the rows read so far, and shows the count if there is a progress bar."""

    def __init__(self, bar: Progress | None) -> None:
        self.rows = 0
        self._bar = bar
        self._task = None if bar is None else bar.add_task("reading", total=None)

    def start(self, what: str, total: int) -> None:
        """Set the description of the work and the total number of rows."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=what, total=total, completed=0)

    def advance(self, rows: int) -> None:
        """Add to the number of rows."""
        self.rows += rows
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=rows)


@contextmanager
def meter(*, show: bool = True) -> Iterator[Meter]:
    """Yield a meter, with a bar on standard error if that is a terminal; the bar is removed at the end."""
    console = Console(stderr=True)
    if not (show and console.is_terminal):
        yield Meter(None)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield Meter(bar)


class Watched(Source):
    """A source whose rows and missing cells are counted during the first pass."""

    def __init__(self, source: Source, meter: Meter) -> None:
        self._source = source
        self._meter = meter
        self.missing_cells = 0
        self._counted = False

    def read(self) -> Iterator[Read]:
        """Yield the batches of the source."""
        first, self._counted = not self._counted, True
        for table, labels, weight in self._source.read():
            if first:
                self.missing_cells += _count_missing(native(table))
            yield table, labels, weight
            if first:
                self._meter.advance(len(table))


def native(table: Any) -> Any:
    """Return the Arrow table of a batch."""
    return table.frame.to_native()


def _count_missing(table: Any) -> int:
    """Return the number of cells of an Arrow table that are null or NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = sum(column.null_count for column in table.columns)
    numbers = (column for column in table.columns if pa.types.is_floating(column.type))
    return int(missing + sum(pc.sum(pc.is_nan(column)).as_py() or 0 for column in numbers))
