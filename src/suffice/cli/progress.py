"""Progress on a terminal, while rows go by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from suffice.tables.sources import Read, Source


class Meter:
    """Counts the rows that went by, and shows them where there is a bar."""

    def __init__(self, bar: Progress | None) -> None:
        self.rows = 0
        self._bar = bar
        self._task = None if bar is None else bar.add_task("reading", total=None)

    def start(self, what: str, total: int) -> None:
        """Say what is going on, and how many rows there are."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=what, total=total, completed=0)

    def advance(self, rows: int) -> None:
        """Count some more rows."""
        self.rows += rows
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=rows)


@contextmanager
def meter(*, show: bool = True) -> Iterator[Meter]:
    """Give a meter, with a bar on standard error if that is a terminal; the bar goes when the work is done."""
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
    """A source whose rows and missing cells are counted as they go by for the first time."""

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
                self.missing_cells += count_missing(native(table))
            yield table, labels, weight
            if first:
                self._meter.advance(len(table))


def native(table: Any) -> Any:
    """Return the Arrow table inside a batch of a file."""
    return table.frame.to_native()


def count_missing(table: Any) -> int:
    """Return how many cells of an Arrow table are null or NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = sum(column.null_count for column in table.columns)
    numbers = (column for column in table.columns if pa.types.is_floating(column.type))
    return int(missing + sum(pc.sum(pc.is_nan(column)).as_py() or 0 for column in numbers))
