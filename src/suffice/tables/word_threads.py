"""Counts of words by compiled kernels, with a table of words per thread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice._threads import run_each
from suffice.compiled.words import WordTable
from suffice.tables.buckets import buckets_of_hashes
from suffice.tables.documents import batches, encoded
from suffice.tables.reading import Reading

#: words of a table after which it begins anew, so that its memory is bounded
_MOST_WORDS = 2**18
#: cells that a CSR matrix with indices of 32 bits can have
_MOST_CELLS = 2**31 - 1


def count_in_threads(
    documents: Sequence[Any], reading: Reading, numbers: dict[str, int], grow: bool, n_threads: int
) -> tuple[NDArray[Any], ...]:
    """Return the bags of documents in the form of a CSR matrix, the counts of unknown words, and what is missing.

    Batches are read by all threads at once, and their new words numbered in the order of the batches, so that the
    result does not depend on the number of threads.

    Returns
    -------
    counts, indices, indptr : arrays
        The parts of the CSR matrix.
    unknown, missing : arrays
        As in `suffice.tables.words.Bags`.
    """
    n = len(documents)
    indptr, unknown, missing = np.zeros(n + 1, dtype=np.int32), np.empty(n), np.empty(n, dtype=bool)
    indices, counts = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    n_threads = n_threads if reading.tokens is None else 1  # a function of the user may not be made for threads
    cut = batches(documents, n_threads, reading.ngrams[1])
    tables = [NumberedTable(reading) for _ in range(min(n_threads, len(cut)))]
    used = 0
    for begin in range(0, len(cut), len(tables)):
        at_once = list(zip(tables, cut[begin : begin + len(tables)], strict=False))
        run_each(lambda pair: pair[0].read(documents, *pair[1]), at_once, n_threads)
        for table, _ in at_once:
            table.number(numbers, grow)
        found = run_each(lambda pair: pair[0].bags(), at_once, n_threads)
        for (table, (start, stop)), bags in zip(at_once, found, strict=True):
            size = len(bags[1])
            if used + size > _MOST_CELLS:
                raise ValueError(
                    f"documents that are counted together must have at most {_MOST_CELLS:,} different words, summed "
                    f"over the documents, but there are more up to row {stop}; pass fewer at a time"
                )
            if used + size > len(indices):
                for cells in (indices, counts):  # moves pages instead of copying them
                    cells.resize(max(used + size, len(cells) + len(cells) // 8), refcheck=False)
            indptr[start + 1 : stop + 1] = bags[0][1:] + used
            indices[used : used + size], counts[used : used + size] = bags[1], bags[2]
            unknown[start:stop], missing[start:stop] = bags[3], table.missing
            used += size
    for cells in (indices, counts):
        cells.resize(used, refcheck=False)
    return counts, indices, indptr, unknown, missing


class NumberedTable:
    """A table of words with their numbers in the dictionary, or their buckets."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._clear()

    def _clear(self) -> None:
        least, most = self._reading.ngrams
        self._table = WordTable(least, most, self._reading.lowercase)
        self._mapping = np.empty(0, dtype=np.int32)
        self._texts: list[str] = []
        self._may_hold_nul = False

    def read(self, documents: Sequence[Any], start: int, stop: int) -> None:
        """Count the words of documents `start` to `stop`."""
        if self._table.n_words > _MOST_WORDS:
            self._clear()
        text = encoded(documents, start, stop, self._reading)
        self.missing = text.missing
        self._may_hold_nul |= text.may_hold_nul
        self._table.read(text.text, text.ends, text.separators, text.letters)

    def number(self, numbers: dict[str, int], grow: bool) -> None:
        """Look up the words that were read for the first time, in the order in which they were read."""
        first, buckets = len(self._mapping), self._reading.buckets
        if buckets is not None:
            found = buckets_of_hashes(self._table.hashes(first), buckets)
        else:
            found = np.full(self._table.n_words - first, -1, dtype=np.int32)
            words, counted = self._words(first)
            if grow:
                of_words = [numbers.setdefault(word, len(numbers)) for word in words]
            else:
                of_words = list(map(numbers.get, words, repeat(-1)))
            found[counted] = of_words
        self._mapping = np.concatenate([self._mapping, found])

    def _words(self, first: int) -> tuple[list[str], NDArray[np.bool_]]:
        """Return the words and n-grams to be counted from number `first` on, and which these are."""
        text, entries = self._table.words(first)
        lengths = entries["length"]
        if self._may_hold_nul:
            ends = np.cumsum(lengths[lengths >= 0].astype(np.int64) + 1).tolist()
            parts = [text[start : end - 1] for start, end in zip([0, *ends], ends, strict=False)]
            words = [part.decode("utf-8", "surrogatepass") for part in parts]
        else:
            words = text.decode("utf-8", "surrogatepass").split("\0")[:-1]
        least, most = self._reading.ngrams
        if most == 1:
            return words, np.ones(len(words), dtype=bool)
        texts, single, found = self._texts, iter(words), []
        for length, head in zip(lengths.tolist(), entries["head"].tolist(), strict=True):
            word = next(single) if length >= 0 else f"{texts[head >> 32]} {texts[head & 0xFFFFFFFF]}"
            texts.append(word if length > -most else "")  # the longest n-grams are no part of others
            if length <= -least or least == 1:
                found.append(word)
        return found, (lengths <= -least) | (least == 1)

    def bags(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], FloatArray]:
        """Return the bags of the documents that were read last, and the number of unknown words of each."""
        return self._table.bags(self._mapping)
