"""Processing of many messages in order, distributed over processes if there are enough messages.

A worker is a fresh interpreter that gets chunks of messages and returns one result per chunk. It inherits nothing: no
lock, no thread, no open store (SQLite forbids that). It exits when its input ends, so that none is left behind when
this process is killed, and it may be killed at any time, since it changes nothing.
"""

from __future__ import annotations

import os
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import subprocess
    from concurrent.futures import Future

    from suffice.spam.bounded import Bounded

#: number of messages from which starting processes pays off
PARALLEL_FROM = 400
#: messages per first chunk, messages per chunk, and bytes per chunk (approximate); small at first, so that all
#: processes get some
FIRST_MESSAGES, CHUNK_MESSAGES, CHUNK_BYTES = 64, 512, 8_000_000
#: chunks sent ahead per process, so that the processes keep working during a transaction
AHEAD = 3
#: time limit of a chunk in seconds; usually it takes one or two
CHUNK_SECONDS = 120.0

Result = TypeVar("Result")
#: the length of an answer, which is sent before it
LENGTH = struct.Struct("<Q")
#: messages, each with additional data
Chunk = list[tuple[bytes, Any]]


class WorkerError(OSError):
    """A worker process has ended unexpectedly."""


def spread(
    work: Callable[[Chunk], Result],
    items: Iterable[tuple[object, Any]],
    processes: int | None = None,
    *,
    here: Callable[[Chunk], Result] | None = None,
    most: int = CHUNK_MESSAGES,
) -> Iterator[Result]:
    """Yield the results of chunks of messages, in order, with only a few chunks in memory.

    Parameters
    ----------
    work : callable
        Function from a chunk to a result; it is pickled.
    items : iterable of (bytes, object)
        The messages, each with additional data for `work`.
    processes : int, optional
        Number of processes, all cores by default; with 1, or for few messages, only this process works.
    here : callable, optional
        Used instead of `work` in this process.
    most : int
        Limit of messages per chunk.
    """
    if processes is not None and processes < 1:
        raise ValueError(f"processes must be at least 1, or None for all cores, but it is {processes!r}")
    failures: list[Exception] = []
    iterator = _until_failure(items, failures)
    first = list(islice(iterator, PARALLEL_FROM))
    count = processes or _cores()
    chunks = _chunks(chain(first, iterator), most, count)
    if len(first) < PARALLEL_FROM or count == 1:
        yield from map(here or work, chunks)
    else:
        yield from _parallel(work, chunks, count)
    if failures:
        raise failures[0]


def _until_failure(items: Iterable[tuple[object, Any]], failures: list[Exception]) -> Iterator[tuple[bytes, Any]]:
    """Yield messages; an error of their source is kept in `failures`, so that all messages before it are processed."""
    try:
        for raw, known in items:
            yield checked(raw), known
    except Exception as error:
        failures.append(error)


def _parallel(work: Callable[[Chunk], Result], chunks: Iterator[Chunk], count: int) -> Iterator[Result]:
    from concurrent.futures import ThreadPoolExecutor  # slow to import, as is what workers need

    from suffice.spam.bounded import Bounded

    processes = [Bounded(CHUNK_SECONDS) for _ in range(count)]
    free = deque(processes)

    def answer(chunk: Chunk) -> Result:
        process = free.popleft()  # there are as many threads as processes
        try:
            return process.ask(work, chunk)
        except (WorkerError, TimeoutError):
            # one message may be the cause: process the others without it
            return process.ask(work, _without_spoiled(process, chunk))
        finally:
            free.append(process)

    threads = ThreadPoolExecutor(count)
    try:
        waiting: deque[Future[Result]] = deque(threads.submit(answer, chunk) for chunk in islice(chunks, AHEAD * count))
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(threads.submit(answer, chunk) for chunk in islice(chunks, 1))
            yield result
    finally:
        for process in processes:
            process.end()
        threads.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            process.close()


def _without_spoiled(process: Bounded, chunk: Chunk) -> Chunk:
    """Return a chunk in which messages that crash the process, or take too long, are marked as spoiled."""
    from suffice.spam.bounded import BUDGET
    from suffice.spam.isolation import Spoiled

    kept: Chunk = []
    for raw, known in chunk:
        try:
            process.ask(_try, raw, BUDGET)
            kept.append((raw, known))
        except (WorkerError, TimeoutError) as error:
            kept.append((Spoiled.by(raw, error), known))
    return kept


def _try(raw: bytes) -> None:
    """Read a message only to see whether that finishes; exceptions are handled when it is read for its result."""
    from suffice.spam.reading import reading

    with suppress(Exception):
        reading(raw)


def checked(raw: object) -> bytes:
    """Return a message; raise TypeError if it is not bytes."""
    if isinstance(raw, bytes):
        return raw
    if isinstance(raw, (bytearray, memoryview)):
        return bytes(raw)
    hint = "; encode the text, e.g. text.encode()" if isinstance(raw, str) else ""
    raise TypeError(f"a message must be given as bytes, as it was received, but it is {type(raw).__name__}{hint}")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _chunks(items: Iterable[tuple[bytes, Any]], most: int, processes: int) -> Iterator[Chunk]:
    chunk: Chunk = []
    size = number = 0
    for raw, known in items:
        chunk.append((raw, known))
        size += len(raw)
        # chunks double in size after each process has had one
        if len(chunk) >= min(most, FIRST_MESSAGES << min(number // processes, 16)) or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
            number += 1
    if chunk:
        yield chunk


def start_serving(requests: Any, answers: Any) -> subprocess.Popen[bytes]:
    """Start a process that runs `serve` with `requests` and `answers` as standard input and output."""
    return start_python("from suffice.spam.workers import serve; serve()", stdin=requests, stdout=answers)


def start_python(code: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start an interpreter with the import path of this one that runs a line of code; options as of Popen."""
    import subprocess

    # in its own process group, so that a keyboard interrupt does not reach it: the waiting process ends it
    if os.name == "posix":
        options["process_group"] = 0
    start = f"import sys; sys.path[:] = {sys.path!r}; {code}"
    return subprocess.Popen([sys.executable, "-c", start], **options)


class Worker:
    """A worker process that answers requests."""

    def __init__(self) -> None:
        import subprocess

        self._is_late = self._is_asked = False
        self._process = start_serving(subprocess.PIPE, subprocess.PIPE)

    @property
    def is_broken(self) -> bool:
        """Whether the process has ended or is ending, or may still send an answer that nobody waits for."""
        return self._is_late or self._is_asked or self._process.poll() is not None

    def ask(self, work: Callable[[Any], Any], given: Any, seconds: float | None = None) -> Any:
        """Return the result of `work(given)` in the process, or raise what it raises.

        With a time limit in seconds, the process is killed if it takes longer, and TimeoutError is raised.
        """
        if seconds is None:
            return self._answer(work, given, None)
        from suffice.spam.watchdog import watching

        with watching(seconds, self._end_late):
            try:
                return self._answer(work, given, seconds)
            except WorkerError:
                if self._is_late:
                    raise TimeoutError(f"it took more than {seconds:.3g} seconds") from None
                raise

    def _end_late(self) -> None:
        self._is_late = True
        self.end()

    def _answer(self, work: Callable[[Any], Any], given: Any, seconds: float | None) -> Any:
        import pickle

        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            self._is_asked = True
            pickle.dump((work, given, seconds), requests, pickle.HIGHEST_PROTOCOL)
            requests.flush()
            success, result = pickle.loads(answers.read(LENGTH.unpack(answers.read(LENGTH.size))[0]))
            self._is_asked = False
        except (EOFError, OSError, ValueError, struct.error, pickle.UnpicklingError) as error:
            raise WorkerError(
                f"a process that read messages has ended (exit code {self._process.wait()}), perhaps because it "
                "ran out of memory; what was learned before is kept; run the same again to continue, after freeing "
                "memory, or in Python with fewer processes"
            ) from error
        if not success:
            raise result
        return result

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        """Wait until the process has ended, and close the pipes."""
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # flushing data to a process that has ended
                pipe.close()


def serve() -> None:
    """Answer requests from standard input on standard output until the input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text goes to stderr, not among the answers
    quieten()
    _answer(requests, answers)
    os._exit(0)  # at once: nobody reads a pending answer


def quieten() -> None:
    """Keep keyboard interrupts and frequent garbage collection from this process, which only answers requests."""
    import gc
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(50_000)  # there are hardly any reference cycles


def end_after(seconds: float | None) -> None:
    """Let the system end this process a few seconds after a time limit, in case the waiting process is gone by then.

    None cancels this.
    """
    import signal

    if hasattr(signal, "setitimer"):  # the default action of the signal does not need the interpreter
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0.0 if seconds is None else seconds + 5.0)


def _answer(requests: IO[bytes], answers: IO[bytes]) -> None:
    import pickle

    while True:
        try:
            work, chunk, seconds = pickle.load(requests)
        except (EOFError, pickle.UnpicklingError):
            return  # the parent has closed the pipe, or has ended during a request
        end_after(seconds)
        try:
            reply = True, work(chunk)
        except Exception as error:
            reply = False, error
        end_after(None)
        try:
            written = pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
            answers.write(LENGTH.pack(len(written)))
            answers.write(written)
            answers.flush()
        except (BrokenPipeError, ConnectionResetError):
            return
