"""Documents as encoded text, a batch at a time."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.compiled.words import PAST_BYTES
from suffice.tables.factorize import is_missing
from suffice.tables.reading import NotWordsError, Reading

#: characters per batch: enough to make the overhead of Python negligible, and little memory
_BATCH = 4_000_000
#: characters per batch below which another thread does not pay
_LEAST = 100_000
#: what a document costs beside its characters, and a given word, in characters
_DOCUMENT, _WORD = 32, 8
#: a byte that UTF-8 does not use, and one that words hardly contain
_NEVER, _NUL = b"\xff", "\0"


def batches(documents: Sequence[Any], n_threads: int, most: int) -> list[tuple[int, int]]:
    """Return where batches of about the same size begin and end, as many as there are threads or a multiple of it.

    Batches are smaller if n-grams of up to `most` words are counted, since more of them are distinct.
    """
    if set(map(type, documents)) <= {str}:
        sizes = np.fromiter(map(len, documents), np.int64, len(documents)) + _DOCUMENT
    else:
        sizes = np.fromiter(map(_size, documents), np.int64, len(documents))
    ends = np.cumsum(sizes)
    total = int(sizes.sum())
    rounds = -(-total * (2 * most - 1) // (n_threads * _BATCH))
    count = n_threads * rounds if rounds > 1 else max(1, min(n_threads, total // _LEAST))
    cuts = np.searchsorted(ends, np.arange(1, count) * (total / count))
    bounds = [0, *cuts.tolist(), len(documents)]
    return list(itertools.pairwise(bounds))


def _size(document: Any) -> int:
    if isinstance(document, (list, tuple, np.ndarray)):
        return _WORD * len(document) + _DOCUMENT
    return (len(document) if isinstance(document, str) else 0) + _DOCUMENT


@dataclass(frozen=True)
class EncodedDocuments:
    """Documents in UTF-8, as `suffice.compiled.words.WordTable.read` takes them.

    Parameters
    ----------
    text, ends, separators, letters : arrays
        The arguments of `read`.
    missing : array of bool
        Whether there is no document.
    may_hold_nul : bool
        Whether words may contain NUL.
    """

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    separators: NDArray[np.int32]
    letters: NDArray[np.uint8] | None
    missing: NDArray[np.bool_]
    may_hold_nul: bool


def encoded(documents: Sequence[Any], start: int, stop: int, reading: Reading) -> EncodedDocuments:
    """Return documents `start` to `stop` in UTF-8; those with letters beyond ASCII are lowered first."""
    part = documents[start:stop]
    separators = np.full(len(part), -1, dtype=np.int32)
    missing = np.zeros(len(part), dtype=bool)
    encode = functools.partial(_encoded, reading=reading)
    found: list[bytes] = []
    if reading.tokens is None and set(map(type, part)) <= {str}:
        found = [document.encode() if document.isascii() else encode(document) for document in part]
    else:
        for row, document in enumerate(part):
            if reading.tokens is None and isinstance(document, str):
                found.append(encode(document))
            elif is_missing(document):
                missing[row] = True
                found.append(b"")
            else:
                words, separators[row] = _joined(document, reading, start + row)
                found.append(words)
    ends = np.cumsum(np.fromiter(map(len, found), np.int64, len(found)) + 1) - 1
    text = b"\n".join([*found, bytes(PAST_BYTES)])
    letters = None if text.isascii() else word_characters()
    return EncodedDocuments(
        np.frombuffer(text, np.uint8), ends, separators, letters, missing, bool((separators == _NEVER[0]).any())
    )


def _encoded(document: str, reading: Reading) -> bytes:
    return reading.lowered(document).encode("utf-8", "surrogatepass")


def _joined(document: Any, reading: Reading, row: int) -> tuple[bytes, int]:
    """Return given words in UTF-8, each ended by the same byte, and that byte."""
    try:
        words = reading.single_words(document)
    except NotWordsError as error:
        raise error.in_row(row) from None
    text = _NUL.join([*words, ""])
    if text.count(_NUL) == len(words):
        return text.encode("utf-8", "surrogatepass"), 0
    return b"".join(word.encode("utf-8", "surrogatepass") + _NEVER for word in words), _NEVER[0]


@functools.cache
def word_characters() -> NDArray[np.uint8]:
    """Return one bit per character of Unicode: whether Python's regular expressions count it as part of a word."""
    everything = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    bits = np.zeros(0x110000, dtype=bool)
    for run in re.finditer(r"\w+", everything):
        bits[run.start() : run.end()] = True
    return np.packbits(bits, bitorder="little")
