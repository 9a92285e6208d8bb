"""Work on many messages, in their order, spread over processes when there are enough of them.

A process is a fresh interpreter that is given chunks of messages and answers each with a result. It inherits nothing:
no lock, no thread, no open store (SQLite forbids to take one along). It ends when its input does, so that none is
left behind when this process is killed, and it may be ended at any time, since it changes nothing.
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

#: from so many messages on it pays to start processes
PARALLEL_FROM = 400
#: how many messages, and about how many bytes of them, are one chunk: few at first, so that all processes get some
FIRST_MESSAGES, CHUNK_MESSAGES, CHUNK_BYTES = 64, 512, 8_000_000
#: how many chunks for each process are given out ahead, so that they go on while a transaction is under way
AHEAD = 3
#: seconds after which a chunk is taken for one that never ends; it takes one or two
CHUNK_SECONDS = 120.0

Result = TypeVar("Result")
#: the length of an answer, which comes before it
LENGTH = struct.Struct("<Q")
#: messages, and with each what is known of it
Chunk = list[tuple[bytes, Any]]


class WorkerError(OSError):
    """A process that was at work on messages has ended."""


def spread(
    work: Callable[[Chunk], Result],
    items: Iterable[tuple[object, Any]],
    processes: int | None = None,
    *,
    here: Callable[[Chunk], Result] | None = None,
    most: int = CHUNK_MESSAGES,
) -> Iterator[Result]:
    """Yield the results of chunks of messages, in their order, with only some chunks in memory.

    Parameters
    ----------
    work : callable
        Makes a result of a chunk; pickled.
    items : iterable of (bytes, object)
        The messages, each with what `work` is to know of it.
    processes : int, optional
        How many processes work; all cores by default, and none but this one for few messages or with 1.
    here : callable, optional
        In the place of `work` in this process.
    most : int
        At most so many messages are a chunk.
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
    """Yield messages; an error of their source waits in `failures`, so that nothing that came before it is lost."""
    try:
        for raw, known in items:
            yield checked(raw), known
    except Exception as error:
        failures.append(error)


def _parallel(work: Callable[[Chunk], Result], chunks: Iterator[Chunk], count: int) -> Iterator[Result]:
    from concurrent.futures import ThreadPoolExecutor  # these, and what workers need, take long to load

    from suffice.spam.bounded import Bounded

    processes = [Bounded(CHUNK_SECONDS) for _ in range(count)]
    free = deque(processes)

    def answer(chunk: Chunk) -> Result:
        process = free.popleft()  # there are as many threads as processes
        try:
            return process.ask(work, chunk)
        except (WorkerError, TimeoutError):
            # one message may be why: the others are not lost for it
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
    """Return a chunk in which messages that end the process that reads them, or take too long, are marked."""
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
    """Read a message, for nothing but to see whether that ends; what it raises is caught where it is read."""
    from suffice.spam.reading import reading

    with suppress(Exception):
        reading(raw)


def checked(raw: object) -> bytes:
    """Return a message, which must be bytes."""
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
        # twice as many after each process had its chunk
        if len(chunk) >= min(most, FIRST_MESSAGES << min(number // processes, 16)) or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
            number += 1
    if chunk:
        yield chunk


def start_serving(requests: Any, answers: Any) -> subprocess.Popen[bytes]:
    """Start a process that runs `serve` with these as standard input and output."""
    return start_python("from suffice.spam.workers import serve; serve()", stdin=requests, stdout=answers)


def start_python(code: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start an interpreter that imports what this one imports, and runs a line of code; options as of Popen."""
    import subprocess

    # in a group of its own an interruption from the keyboard does not reach it: the process that waits ends it
    if os.name == "posix":
        options["process_group"] = 0
    start = f"import sys; sys.path[:] = {sys.path!r}; {code}"
    return subprocess.Popen([sys.executable, "-c", start], **options)


class Worker:
    """A process of its own, which answers."""

    def __init__(self) -> None:
        import subprocess

        self._is_late = self._is_asked = False
        self._process = start_serving(subprocess.PIPE, subprocess.PIPE)

    @property
    def is_broken(self) -> bool:
        """Whether the process is gone or about to be, or an answer that nobody waits for may be on its way."""
        return self._is_late or self._is_asked or self._process.poll() is not None

    def ask(self, work: Callable[[Any], Any], given: Any, seconds: float | None = None) -> Any:
        """Return what `work` makes of something there, or raise what it raises.

        With a number of seconds the process is ended when it takes longer, and that is a TimeoutError.
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
                f"a process that read messages has ended (exit code {self._process.wait()}), perhaps for want of "
                "memory; what was learned before is kept; do the same again to go on from there, if need be after "
                "making memory free, or in Python with fewer processes"
            ) from error
        if not success:
            raise result
        return result

    def end(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()

    def close(self) -> None:
        """Wait until it has ended, and close the pipes."""
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was to be written to a process that has ended
                pipe.close()


def serve() -> None:
    """Answer requests from standard input on standard output until there are no more."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    quieten()
    _answer(requests, answers)
    os._exit(0)  # at once: an answer that is left over has nobody to go to


def quieten() -> None:
    """Let neither the keyboard nor the garbage collector interrupt this process, which does nothing but answer."""
    import gc
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(50_000)  # there are no cycles to speak of


def end_after(seconds: float | None) -> None:
    """Let the system end this process a few seconds after a time, should the one that waits for it be gone by then.

    None takes that back.
    """
    import signal

    if hasattr(signal, "setitimer"):  # the default action of the signal needs nothing of the interpreter
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0.0 if seconds is None else seconds + 5.0)


def _answer(requests: IO[bytes], answers: IO[bytes]) -> None:
    import pickle

    while True:
        try:
            work, chunk, seconds = pickle.load(requests)
        except (EOFError, pickle.UnpicklingError):
            return  # the process that asked has closed the pipe, or has ended within a request
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
