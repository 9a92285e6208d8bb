"""Rows that come batch by batch: from files, from a generator, from a table that is encoded as it goes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from queue import Empty, Full, Queue
from typing import Any, TypeVar

from suffice.engines.base import Engine, Rows

T = TypeVar("T")
#: seconds that an error or Ctrl-C waits for a batch that is being read; the thread then ends when the batch is there
_PATIENCE = 0.5


class StreamEngine(Engine):
    """Takes sums over batches of rows, with one thread reading ahead; memory is bounded by a few batches.

    Parameters
    ----------
    open_batches : callable
        Returns a fresh iterator over the batches, for each pass.
    n_rows : int or None
        How many rows there are in all, where that is known beforehand.
    """

    def __init__(
        self,
        open_batches: Callable[[], Iterable[Rows]],
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
        n_rows: int | None = None,
    ) -> None:
        super().__init__(n_jobs, progress)
        self._open = open_batches
        self._n_rows = n_rows

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, where that is known beforehand."""
        return self._n_rows

    def batches(self) -> Generator[Rows]:
        """Yield the batches in order, the next one being read meanwhile."""
        with closing(read_ahead(self._open())) as read:
            yield from (rows for rows in read if len(rows))


def read_ahead(items: Iterable[T], depth: int = 1) -> Generator[T]:
    """Yield the items while one thread reads up to `depth` of them ahead; its errors are raised here."""
    queue: Queue[tuple[str, Any]] = Queue(maxsize=depth)
    stop = threading.Event()

    def put(message: tuple[str, Any]) -> bool:
        while not stop.is_set():
            try:
                queue.put(message, timeout=0.1)
                return True
            except Full:
                continue
        return False

    def read() -> None:
        try:
            for item in items:
                if not put(("item", item)):
                    return
            put(("end", None))
        except BaseException as error:  # whatever it is, it belongs to the thread that asked
            put(("error", error))

    reader = threading.Thread(target=read, name="suffice-reader", daemon=True)
    try:
        reader.start()  # Ctrl-C may come while it waits for the thread
        while True:
            try:
                kind, value = queue.get(timeout=0.1)
            except Empty:
                continue
            if kind == "item":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        stop.set()
        if reader.is_alive():
            reader.join(_PATIENCE)
