"""The engine for rows that come batch by batch: from files, from a generator, or from a table encoded on the fly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from queue import Empty, Full, Queue
from typing import Any, TypeVar

from suffice.engines.base import Engine, Rows, fill_sums

T = TypeVar("T")
#: seconds to wait, after an error or Ctrl-C, for the batch being read; later the thread ends when the batch is read
_PATIENCE = 0.5


class StreamEngine(Engine):
    """An engine that computes sums over batches of rows, with one thread reading ahead; it holds only a few batches.

    Parameters
    ----------
    open_batches : callable
        Returns a new iterator over the batches for each pass.
    n_rows : int or None
        The total number of rows, if it is known beforehand.
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
        """The total number of rows; None if it is not known beforehand."""
        return self._n_rows

    def batches(self) -> Generator[Rows]:
        """Yield the batches in order, while the next one is being read."""
        with closing(read_ahead(self._open())) as read:
            yield from _joined(rows for rows in read if len(rows))


def _joined(batches: Iterable[Rows]) -> Iterator[Rows]:
    """Yield the batches; small ones of sparse rows are joined, whose sums would take much more memory than the rows."""
    held: list[Rows] = []
    for rows in batches:
        held.append(rows)
        if fill_sums(held):
            yield held[0] if len(held) == 1 else Rows.joined(held)
            held = []
    if held:
        yield Rows.joined(held)


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
        except BaseException as error:  # any error is raised in the consuming thread
            put(("error", error))

    reader = threading.Thread(target=read, name="suffice-reader", daemon=True)
    try:
        reader.start()  # inside the try: Ctrl-C may come while start waits
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
