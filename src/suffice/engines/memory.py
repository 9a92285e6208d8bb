"""The engine for rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator

from suffice.engines.base import Engine, Rows


class MemoryEngine(Engine):
    """An engine that computes sums over arrays in memory, in chunks that fit the cache."""

    def __init__(self, rows: Rows, n_jobs: int | None = None, progress: Callable[[int], None] | None = None) -> None:
        super().__init__(n_jobs, progress)
        self.rows = rows

    def batches(self) -> Generator[Rows]:
        """Yield all rows at once."""
        if len(self.rows):
            yield self.rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)
