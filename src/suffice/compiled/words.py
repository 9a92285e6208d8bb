"""Documents as counts of words, by a table that numbers the words that it reads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import FloatArray
from suffice.compiled.signatures import CONSTANTS

#: bytes that are read past the end of a text
PAST_BYTES = CONSTANTS["PAST_BYTES"]
#: who does not know these numbers cannot write words of which many have the same hash
_SECRET = np.frombuffer(os.urandom(16), dtype=np.int64) | 1
_ENTRY = np.dtype([("head", "u8"), ("hash", "u8"), ("begin", "i8"), ("length", "i4"), ("place", "i4")])
_FEWEST_WORDS = 1024
_MOST = 2**31 - 1


class WordTable:
    """The distinct words of the texts read so far, and the bags of the documents of the last one.

    Words have numbers in the order in which they first occur; an n-gram has one behind those of its parts.

    Parameters
    ----------
    least, most : int
        The smallest and the largest number of neighbouring words that are counted as one.
    lowercase : bool
        Whether capital letters of ASCII are read as small ones.
    """

    def __init__(self, least: int, most: int, lowercase: bool) -> None:
        self.least, self.most, self.lowercase = least, most, lowercase
        self.n_words = 0
        self._stored = 0
        self._entries = np.empty((_FEWEST_WORDS, 4), dtype=np.int64)
        self._slots = np.zeros(2 * _FEWEST_WORDS, dtype=np.int64)
        self._store = np.empty(16 * _FEWEST_WORDS, dtype=np.uint8)
        self._indices, self._counts = (np.empty(_FEWEST_WORDS, dtype=np.int32) for _ in range(2))
        self._indptr = np.zeros(1, dtype=np.int64)
        self._hashes = np.empty(0, dtype=np.int64)

    def read(
        self,
        text: NDArray[np.uint8],
        ends: NDArray[np.int64],
        separators: NDArray[np.int32],
        letters: NDArray[np.uint8] | None,
    ) -> None:
        """Count the words of documents.

        Parameters
        ----------
        text : array of uint8
            The documents in UTF-8, each followed by a byte that is no letter, and `PAST_BYTES` more at the end.
        ends : array of shape (n,)
            Where each document ends, without that byte.
        separators : array of shape (n,)
            The byte that ends each word of a document; negative if words are to be found in it.
        letters : array of uint8 or None
            One bit per character of Unicode: whether words consist of it. Not needed if the text is ASCII.
        """
        assert compiled.library is not None
        n, state = len(ends), np.array([0, 0, 0, 0, self.n_words, self._stored])
        self._indptr = np.zeros(n + 1, dtype=np.int64)
        grams = np.zeros(self.most, dtype=np.int32)
        full = -1
        while full:
            full = compiled.library(
                "count_words", "double", text, len(text) - PAST_BYTES, ends, separators, n, int(self.lowercase),
                self.least, self.most, letters, _SECRET, self._entries, len(self._entries), self._slots,
                len(self._slots), self._store, len(self._store), self._indptr, self._indices, self._counts,
                len(self._indices), grams, state,
            )  # fmt: skip
            self.n_words, self._stored = int(state[4]), int(state[5])
            if full & CONSTANTS["WORDS_FULL"]:
                self._entries = _longer(self._entries)
                self._slots = np.zeros(2 * len(self._slots), dtype=np.int64)
                parts = self._entries, len(self._entries), self.n_words, self._slots, len(self._slots)
                compiled.library("enter_words", "double", *parts)
            if full & CONSTANTS["STORE_FULL"]:
                self._store = _longer(self._store)
            if full & CONSTANTS["BAGS_FULL"]:
                self._indices, self._counts = _longer(self._indices), _longer(self._counts)

    def words(self, first: int) -> tuple[bytes, NDArray[Any]]:
        """Return the text of the words from number `first` on, with a NUL behind each word, and their entries.

        An entry has the length of a word in bytes. That of an n-gram is −n, and the upper and lower half of its head
        are the numbers of the (n-1)-gram and the word that it consists of.
        """
        entries = self._entries[first : self.n_words].view(_ENTRY)[:, 0]
        single = entries["length"] >= 0
        begin = int(entries["begin"][single.argmax()]) if single.any() else self._stored
        return self._store[begin : self._stored].tobytes(), entries

    def hashes(self, first: int) -> NDArray[np.uint64]:
        """Return FNV-1a of the words from number `first` on; it must have been called for all before."""
        assert compiled.library is not None
        self._hashes = np.concatenate([self._hashes[:first], np.empty(self.n_words - first, dtype=np.int64)])
        parts = first, self.n_words, self._store, len(self._store), self._hashes
        compiled.library("hash_words", "double", self._entries, len(self._entries), *parts)
        return self._hashes[first:].view(np.uint64)

    def bags(self, mapping: NDArray[np.int32]) -> tuple[NDArray[np.int64], Any, Any, FloatArray]:
        """Return the bags of the documents read last, with the number mapping[i] for word i, sorted by it.

        Returns
        -------
        indptr, indices, counts : arrays
            The bags in the form of a CSR matrix; they are valid until more is read.
        unknown : array of shape (n,)
            How many words of each document have a negative number; they are not in its bag.
        """
        assert compiled.library is not None
        n, size = len(self._indptr) - 1, int(self._indptr[-1])
        unknown = np.empty(n)
        longest = int(np.diff(self._indptr).max(initial=0))
        cells = self._indices[:size], self._counts[:size]
        used = compiled.library(
            "sort_bags", "double", self._indptr, n, *cells, size, mapping, len(mapping), longest, unknown
        )
        return self._indptr, cells[0][:used], cells[1][:used], unknown


def _longer(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array of twice the length that begins with the same values."""
    size = len(values) if values.dtype == np.uint8 else min(len(values), _MOST - len(values))
    if not size:
        raise ValueError(f"documents read together must have fewer than {_MOST:,} words; pass fewer at a time")
    longer = np.empty((len(values) + size, *values.shape[1:]), dtype=values.dtype)
    longer[: len(values)] = values
    return longer
