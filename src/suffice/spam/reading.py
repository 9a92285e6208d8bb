"""Many messages made into tokens, on all cores when there are enough of them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from suffice.spam.message import digest, read
from suffice.spam.tokens import tokens

if TYPE_CHECKING:
    from concurrent.futures import Future

#: from so many messages on it pays to start processes
PARALLEL_FROM = 400
#: how many messages, and about how many bytes of them, a process is given at a time
CHUNK_MESSAGES, CHUNK_BYTES = 64, 1_000_000
#: how many such chunks are given out ahead, so that processes go on reading while a transaction is under way
AHEAD = 24


class Reading(NamedTuple):
    """A message as it is learned: its identity (32 bytes), and its distinct tokens, compressed."""

    digest: bytes
    packed: bytes

    @property
    def tokens(self) -> list[str]:
        """The distinct tokens."""
        return unpack(self.packed)


def reading(raw: object) -> Reading:
    r"""Read one message.

    Examples
    --------
    >>> from suffice.spam.reading import reading
    >>> reading(b"\nfree money").tokens[:3]
    ['free', 'free money', 'header:no date']
    """
    if not isinstance(raw, (bytes, bytearray, memoryview)):
        hint = "; encode the text, e.g. text.encode()" if isinstance(raw, str) else ""
        raise TypeError(f"a message must be given as bytes, as it was received, but it is {type(raw).__name__}{hint}")
    raw = bytes(raw)
    # in one order in every process, so that sums are the same to the last bit
    return Reading(bytes.fromhex(digest(raw)), pack(sorted(tokens(read(raw)))))


def pack(names: list[str]) -> bytes:
    """Return distinct tokens as compressed lines of UTF-8."""
    text = "\n".join(names)
    if text.count("\n") >= max(1, len(names)):  # a token with a line end is two
        text = "\n".join(dict.fromkeys(text.split("\n")))
    return zlib.compress(text.encode("utf-8", "replace"), 1)


def unpack(packed: bytes) -> list[str]:
    """Return the tokens that `pack` was given."""
    text = zlib.decompress(packed).decode("utf-8")
    return text.split("\n") if text else []


def readings(raws: Iterable[bytes], processes: int | None = None) -> Iterator[Reading]:
    """Read messages, in their order, holding only few of them in memory.

    Parameters
    ----------
    raws : iterable of bytes
        The messages.
    processes : int, optional
        How many processes read; all cores by default, and none but this one for few messages or with 1.
    """
    if processes is not None and processes < 1:
        raise ValueError(f"processes must be at least 1, or None for all cores, but it is {processes!r}")
    iterator = iter(raws)
    first = list(islice(iterator, PARALLEL_FROM))
    count = processes or len(_cores())
    if len(first) < PARALLEL_FROM or count == 1:
        yield from map(reading, chain(first, iterator))
        return
    yield from _parallel(chain(first, iterator), count)


def _cores() -> range | set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


def _parallel(raws: Iterator[bytes], count: int) -> Iterator[Reading]:
    import multiprocessing  # these take long to load
    from concurrent.futures import ProcessPoolExecutor

    # A forked process only reads messages and never touches what it has inherited, such as the store. Where other
    # threads run, whose locks it would inherit as well, it is started afresh.
    fork = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if fork else "spawn")
    waiting: deque[Future[list[Reading]]] = deque()
    with warnings.catch_warnings():
        # threads of linear algebra, which no process here uses, are counted too
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        pool = ProcessPoolExecutor(count, context, _ignore_interrupts)
        chunks = _chunks(raws)
        waiting.extend(pool.submit(_read_chunk, chunk) for chunk in islice(chunks, AHEAD))
    try:
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(pool.submit(_read_chunk, chunk) for chunk in islice(chunks, 1))
            yield from done
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _chunks(raws: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for raw in raws:
        chunk.append(raw)
        size += len(raw)
        if len(chunk) == CHUNK_MESSAGES or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _read_chunk(chunk: list[bytes]) -> list[Reading]:
    return [reading(raw) for raw in chunk]


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for the readings ends them
