"""The base of all engines: where the rows are stored, and how sums over them are computed, without any mathematics."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ContextDecorator, closing
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import IntArray, issparse, namespace, row_slice
from suffice._threads import pool, threads
from suffice.errors import InvalidCellError
from suffice.statistics.responsibilities import PartialLabels, Responsibilities

#: bytes per chunk: compiled kernels stream through a chunk, so it only has to be large enough to make the overhead of
#: Python negligible; with NumPy, temporary arrays should fit in the cache of a core
CHUNK_BYTES = 2_000_000 if compiled.library is None else 8_000_000
#: chunks that one task adds up in order; fixed, so that the sums do not depend on the number of threads
CHUNKS_PER_TASK = 2
#: the maximum number of rows per chunk; up to four times as many when few classes are learned
MOST_ROWS = 32_768
#: the minimum number of chunks to distribute over the threads, unless chunks would have fewer than FEWEST_ROWS rows
FEW_CHUNKS, FEWEST_ROWS = 8, 4096


@dataclass(frozen=True)
class Chunk:
    """The rows that a kernel processes at a time: one array per block, responsibilities, and the number of rows before.

    `target` holds the targets of a regression, with weights and offsets; it is None for other models.
    If `out` is given, the result will be copied there; a kernel may write into it directly and return `out` itself.
    """

    blocks: tuple[Any, ...]
    responsibilities: Responsibilities | PartialLabels | None = None
    start: int = 0
    out: NDArray[Any] | None = None
    target: Any = None

    def __len__(self) -> int:
        return int((self.blocks[0] if self.blocks else self.target).shape[0])


@dataclass(frozen=True)
class Rows:
    """Many rows, to be split into chunks; `start` is the number of rows before them, for error messages."""

    blocks: tuple[Any, ...]
    responsibilities: Responsibilities | PartialLabels | None = None
    start: int = 0
    target: Any = None

    def __len__(self) -> int:
        return int((self.blocks[0] if self.blocks else self.target).shape[0])

    def chunk(self, start: int, stop: int, out: NDArray[Any] | None = None) -> Chunk:
        """Return rows `start` to `stop`."""
        return Chunk(
            tuple(row_slice(block, start, stop) for block in self.blocks),
            None if self.responsibilities is None else self.responsibilities[start:stop],
            self.start + start,
            out,
            None if self.target is None else self.target[start:stop],
        )

    def taken(self, order: IntArray) -> Rows:
        """Return a copy of the rows in another order."""
        known = None if self.responsibilities is None else self.responsibilities[order]
        target = None if self.target is None else self.target[order]
        return Rows(tuple(_taken(block, order) for block in self.blocks), known, self.start, target)

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return consecutive rows, which have labels, as one."""
        first = parts[0]
        assert first.responsibilities is not None
        blocks = tuple(stacked([part.blocks[i] for part in parts]) for i in range(len(first.blocks)))
        known: Any = first.responsibilities
        return cls(blocks, known.joined([part.responsibilities for part in parts]), first.start)

    def chunk_rows(self) -> int:
        """Return the number of rows per chunk, so that a chunk fits the cache and there are enough chunks for threads.

        Merging the sums of many classes would cost more than summing a few rows, so a chunk of sparse rows takes at
        least four times the memory of its sums.
        """
        parts = self.blocks if self.target is None else (*self.blocks, self.target)
        width = sum(_bytes_a_row(part) for part in parts)
        share = max(len(self) // FEW_CHUNKS, FEWEST_ROWS)
        n_classes = 1 if self.responsibilities is None else self.responsibilities.n_classes
        most = MOST_ROWS
        if self.responsibilities is not None and compiled.library is not None:  # no n×k scores are returned
            most = min(max(CHUNK_BYTES // (8 * n_classes), MOST_ROWS), 4 * MOST_ROWS)
        rows = min(max(int(min(CHUNK_BYTES // max(width, 1), share)), 256), most)
        heavy = [
            4 * n_classes * 8.0 * block.shape[1] / _bytes_a_row(block) for block in self.blocks if _is_sparse(block)
        ]
        return max(rows, 4 * n_classes, *(int(least) for least in heavy))


def fill_sums(parts: Sequence[Rows]) -> bool:
    """Return whether sparse rows take at least the memory of their sums, so that adding these up costs little."""
    last = parts[-1]
    if last.responsibilities is None or last.target is not None:
        return True
    for i, block in enumerate(last.blocks):
        memory = sum(len(part) * _bytes_a_row(part.blocks[i]) for part in parts) if _is_sparse(block) else np.inf
        if memory < 8.0 * last.responsibilities.n_classes * block.shape[1]:
            return False
    return True


def stacked(blocks: Sequence[Any]) -> Any:
    """Return the rows of several blocks of one kind, one after the other."""
    if hasattr(blocks[0], "stacked"):
        return type(blocks[0]).stacked(blocks)
    rows = [block[0 : block.shape[0]] for block in blocks]  # some blocks are converted or sliced only when read
    if issparse(rows[0]):
        from scipy import sparse

        return sparse.vstack(rows, format="csr")
    return namespace(rows[0]).concat(rows)


def _taken(block: Any, order: IntArray) -> Any:
    return np.take(block, order, axis=0) if isinstance(block, np.ndarray) else block[order]


def _is_sparse(block: Any) -> bool:
    return hasattr(block, "nnz")


def _bytes_a_row(block: Any) -> float:
    if _is_sparse(block):
        return max(12.0 * block.nnz / max(block.shape[0], 1), 1.0)
    return 8.0 * float(block.shape[1])


class Summable(Protocol):
    """Statistics that can be added."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Summable)
T = TypeVar("T")
Part = TypeVar("Part")
Kernel = Callable[[Chunk, Any], S]


class Engine(ABC):
    """The base class of engines, which run a pure kernel over all rows, chunk by chunk, with one thread per core.

    The chunks, the order in which their sums are merged and hence the result depend only on the data, not on the number
    of threads or their timing.
    """

    def __init__(self, n_jobs: int | None = None, progress: Callable[[int], None] | None = None) -> None:
        self.n_threads = threads(n_jobs)
        self.progress = progress

    @abstractmethod
    def batches(self) -> Generator[Rows]:
        """Yield the rows in order."""

    def reduce(self, kernel: Kernel[S], params: Any) -> S:
        """Return the sum of ``kernel(chunk, params)`` over all chunks, merged as a balanced tree."""
        tree: list[tuple[int, S]] = []
        for part in self._run(_sum_chunks, kernel, params):
            tree.append((0, part))
            while len(tree) > 1 and tree[-1][0] == tree[-2][0]:
                (height, left), (_, right) = tree[-2:]
                tree[-2:] = [(height + 1, left + right)]
        if not tree:
            raise ValueError("there are no rows to learn from")
        total = tree.pop()[1]
        while tree:
            total = tree.pop()[1] + total
        return total

    def map(self, kernel: Callable[[Chunk, Any], NDArray[Any]], params: Any) -> NDArray[Any]:
        """Return the rows of ``kernel(chunk, params)`` for all chunks, stacked in one array."""
        if self.n_rows is None:
            return concatenate(self._run(_stack_chunks, kernel, params))
        out = _Output(self.n_rows)
        for _ in self._run(_write_chunks, (kernel, out), params):
            pass
        return out.rows

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if it is not known before they are read."""
        return None

    def _run(self, work: Callable[..., Any], kernel: Any, params: Any) -> Iterator[Any]:
        """Yield the results of all tasks in order, with only a few tasks queued at any time."""
        tasks = self._tasks()
        first = next(tasks, None)
        if first is None:
            return
        second = next(tasks, None)
        if second is None:  # a single task does not need a pool
            yield self._done(first, work(first, kernel, params))
            return
        executor = pool(self.n_threads)
        with ONE_BLAS_THREAD:
            waiting: deque[tuple[Task, Future[Any]]] = deque()
            try:
                for task in _chain(first, second, tasks):
                    waiting.append((task, executor.submit(work, task, kernel, params)))
                    if len(waiting) > self.n_threads + 1:
                        task, future = waiting.popleft()
                        yield self._done(task, future.result())
                while waiting:
                    task, future = waiting.popleft()
                    yield self._done(task, future.result())
            finally:  # after an error or an interrupt: cancel tasks that have not begun, and wait for the others
                wait([future for _, future in waiting if not future.cancel()])
                tasks.close()

    def _done(self, task: Task, result: Any) -> Any:
        if self.progress is not None:
            self.progress(task.bounds[-1][1] - task.bounds[0][0])
        return result

    def _tasks(self) -> Generator[Task]:
        with closing(self.batches()) as batches:  # else a stored traceback keeps the reader alive
            for rows in batches:
                size, n = rows.chunk_rows(), len(rows)
                step = size * CHUNKS_PER_TASK if size <= 4 * MOST_ROWS else size
                for start in range(0, n, step):
                    stop = min(start + step, n)
                    yield Task(rows, [(s, min(s + size, stop)) for s in range(start, stop, size)])


@dataclass(frozen=True)
class Task:
    """A few consecutive chunks."""

    rows: Rows
    bounds: list[tuple[int, int]]

    def run(self, kernel: Any, params: Any, out: _Output | None = None) -> Iterator[Any]:
        """Yield the result of the kernel for each chunk; errors name the row of the table."""
        for start, stop in self.bounds:
            place = None if out is None else out.place(self.rows.start + start, stop - start)
            chunk = self.rows.chunk(start, stop, place)
            try:
                yield kernel(chunk, params)
            except InvalidCellError as error:
                raise error.below(chunk.start) from None


def _sum_chunks(task: Task, kernel: Any, params: Any) -> Any:
    total = None
    for part in task.run(kernel, params):
        total = part if total is None else total + part
    return total


class _Output:
    """The array of results, allocated when the first of them are known, and written in place by all threads."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._lock = threading.Lock()
        self.rows: NDArray[Any] = np.empty(0)

    def place(self, start: int, n_rows: int) -> NDArray[Any] | None:
        """Return the part of the array for some rows; None if it is not allocated yet."""
        return self.rows[start : start + n_rows] if len(self.rows) else None

    def write(self, start: int, part: NDArray[Any]) -> None:
        """Copy `part` to its place in the array, unless it is there already."""
        if part.base is self.rows:
            return
        if len(part) == self._n_rows:
            self.rows = np.ascontiguousarray(part)
            return
        with self._lock:
            if len(self.rows) == 0:
                self.rows = np.empty((self._n_rows, *part.shape[1:]), dtype=part.dtype)
        self.rows[start : start + len(part)] = part


def _write_chunks(task: Task, kernel: tuple[Any, _Output], params: Any) -> None:
    compute, out = kernel
    starts = (task.rows.start + start for start, _ in task.bounds)
    for start, part in zip(starts, task.run(compute, params, out), strict=True):
        out.write(start, part)


def _stack_chunks(task: Task, kernel: Any, params: Any) -> NDArray[Any]:
    return concatenate(task.run(kernel, params))


def concatenate(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the arrays concatenated along the rows; a single array is returned itself."""
    listed = list(parts)
    if not listed:
        raise ValueError("there are no rows to predict for")
    return listed[0] if len(listed) == 1 else np.concatenate(listed)


def _chain(first: T, second: T | None, rest: Iterator[T]) -> Iterator[T]:
    yield first
    if second is not None:
        yield second
    yield from rest


class _OneBlasThread(ContextDecorator):
    """A context that limits BLAS to one thread while any engine runs, in any thread of the process.

    The first engine to enter sets the limit and the last to leave restores it. Overlapping engines share one limit,
    because separate limits would be restored in the wrong order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                if self._controller is None:  # finding the BLAS libraries takes longer than a small fit
                    from threadpoolctl import ThreadpoolController

                    self._controller = ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


ONE_BLAS_THREAD = _OneBlasThread()
