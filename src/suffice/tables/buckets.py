"""Words in a fixed number of buckets, instead of a dictionary that grows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BASIS, _PRIME = 0xCBF29CE484222325, 0x100000001B3
_LOWER = 2**64 - 1


def word_buckets(words: Iterable[str], n_buckets: int) -> NDArray[np.int32]:
    """Return the bucket of each word, the same on every machine and in every version.

    It is the 64-bit FNV-1a hash of the word in UTF-8 (surrogates as three bytes), mixed as at the end of MurmurHash3,
    modulo the number of buckets. The words of an n-gram are joined by spaces.

    Parameters
    ----------
    words : iterable of str
        The words.
    n_buckets : int
        The number of buckets.

    Returns
    -------
    array of int32
        The buckets, from 0 to n_buckets - 1.

    Examples
    --------
    >>> word_buckets(["cheap", "now", "cheap"], 1000)
    array([341, 707, 341], dtype=int32)
    """
    hashes = [fnv1a(word) for word in words]
    return buckets_of_hashes(np.array(hashes, dtype=np.uint64), n_buckets)


def fnv1a(word: str) -> int:
    """Return the 64-bit FNV-1a hash of a word in UTF-8, h ← (h xor byte) · prime for each byte."""
    state = _BASIS
    for byte in word.encode("utf-8", "surrogatepass"):
        state = (state ^ byte) * _PRIME & _LOWER
    return state


def buckets_of_hashes(hashes: NDArray[np.uint64], n_buckets: int) -> NDArray[Any]:
    """Return the buckets of words with these hashes, which are mixed first: the lower bits of FNV-1a are poor."""
    mixed = hashes ^ (hashes >> np.uint64(33))
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xC4CEB9FE1A85EC53)
    mixed ^= mixed >> np.uint64(33)
    return (mixed % np.uint64(n_buckets)).astype(np.int32)
