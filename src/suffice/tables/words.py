"""Documents as bags of words: how often each word of a dictionary occurs in each document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from suffice._arrays import FloatArray, IntArray, row_slice
from suffice.tables.factorize import is_missing

_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True)
class Reading:
    """How the words of a document are found.

    Words are runs of two or more letters, digits and underscores, as Unicode defines them.

    Parameters
    ----------
    lowercase : bool, default True
        Whether capital letters are read as small ones.
    ngrams : tuple of int, default (1, 1)
        The smallest and the largest number of neighbouring words that are counted as one.
    tokens : callable or None, default None
        A function that returns the words of a document, instead of the rule above.
    """

    lowercase: bool = True
    ngrams: tuple[int, int] = (1, 1)
    tokens: Callable[[str], Iterable[str]] | None = None

    def words(self, document: Any) -> list[str]:
        """Return the words of a document in their order, n-grams included; a list of words is taken as it is."""
        if isinstance(document, str):
            text = document.lower() if self.lowercase else document
            found = _WORD.findall(text) if self.tokens is None else list(self.tokens(text))
        else:
            found = list(document)
        least, most = self.ngrams
        if most == 1:
            return found
        return [
            " ".join(found[start : start + n]) for n in range(least, most + 1) for start in range(len(found) - n + 1)
        ]


@dataclass(frozen=True)
class Bags:
    """The rows of a text column as counts of the words of its dictionary, in the form of a CSR matrix.

    Parameters
    ----------
    counts : sparse array of shape (n, n_words)
        How often each word occurs, in sorted order of the words' numbers per row.
    unknown : array of shape (n,)
        The number of words of each document that are not in the dictionary.
    missing : array of bool, of shape (n,)
        Whether there is no document, which is not the same as one without words.
    """

    counts: csr_array
    unknown: FloatArray
    missing: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and the number of words in the dictionary."""
        return (int(self.counts.shape[0]), int(self.counts.shape[1]))

    @property
    def nnz(self) -> int:
        """The number of different words, summed over the documents."""
        return int(self.counts.nnz)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> Bags:
        if isinstance(rows, slice) and rows.step in (None, 1):
            counts = row_slice(self.counts, *rows.indices(len(self))[:2])
        else:
            counts = self.counts[rows]
        return Bags(counts, self.unknown[rows], self.missing[rows])

    @classmethod
    def stacked(cls, parts: Sequence[Bags]) -> Bags:
        """Return the documents of several parts, one after the other; later parts may have more words."""
        width = max(part.shape[1] for part in parts)
        ends = np.cumsum([0, *(part.nnz for part in parts)])
        indptr = [part.counts.indptr[1:] + end for part, end in zip(parts, ends, strict=False)]
        cells = [np.concatenate([getattr(part.counts, name) for part in parts]) for name in ("data", "indices")]
        counts = csr_array((*cells, np.concatenate([[0], *indptr])), shape=(sum(map(len, parts)), width))
        unknown, missing = (np.concatenate([getattr(part, name) for part in parts]) for name in ("unknown", "missing"))
        return cls(counts, unknown, missing)


def count_words(
    documents: Sequence[Any], reading: Reading, numbers: dict[str, int], *, grow: bool, n_jobs: int | None = None
) -> Bags:
    """Return the bags of words of documents.

    Parameters
    ----------
    documents : sequence of str, list of str, or a missing value
        The documents; lists hold words that are taken as they are.
    reading : Reading
        How words are found.
    numbers : dict
        The dictionary: the number of each word. It is changed only if `grow` is true.
    grow : bool
        Whether new words are added to the dictionary, in the order in which they are first read; otherwise they are
        counted as unknown.
    n_jobs : int or None, default None
        The number of threads; None is one per core.

    Examples
    --------
    >>> numbers = {}
    >>> bags = count_words(["Buy now, buy cheap!", None, "see you"], Reading(), numbers, grow=True)
    >>> numbers, bags.missing.tolist()
    ({'buy': 0, 'now': 1, 'cheap': 2, 'see': 3, 'you': 4}, [False, True, False])
    >>> bags.counts.toarray().tolist()
    [[2, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    """
    return _count_in_python(documents, reading, numbers, grow)


def _count_in_python(documents: Sequence[Any], reading: Reading, numbers: dict[str, int], grow: bool) -> Bags:
    """Return the bags of words without compiled kernels."""
    n = len(documents)
    indptr, indices, counts = np.zeros(n + 1, dtype=np.int64), [], []
    unknown, missing = np.zeros(n), np.zeros(n, dtype=bool)
    for row, document in enumerate(documents):
        bag: dict[int, int] = {}
        if is_missing(document):
            missing[row] = True
        else:
            for word in reading.words(document):
                number = numbers.setdefault(word, len(numbers)) if grow else numbers.get(word, -1)
                if number < 0:
                    unknown[row] += 1
                else:
                    bag[number] = bag.get(number, 0) + 1
        for number in sorted(bag):
            indices.append(number)
            counts.append(bag[number])
        indptr[row + 1] = len(indices)
    parts = (np.array(counts, dtype=np.int32), np.array(indices, dtype=np.int32), indptr)
    return Bags(csr_array(parts, shape=(n, len(numbers))), unknown, missing)
