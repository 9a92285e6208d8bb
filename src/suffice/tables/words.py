"""Documents as bags of words: how often each word of a dictionary occurs in each document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from suffice import compiled
from suffice._arrays import FloatArray, IntArray, row_slice
from suffice._threads import threads
from suffice.tables.buckets import word_buckets
from suffice.tables.factorize import is_missing
from suffice.tables.reading import NotWordsError, Reading
from suffice.tables.word_threads import count_in_threads

__all__ = ["Bags", "Reading", "count_words", "word_buckets"]


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
        starts = np.concatenate([[0], *indptr]).astype(np.int32 if ends[-1] < 2**31 else np.int64)
        counts = csr_array((*cells, starts), shape=(sum(map(len, parts)), width))
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
        The dictionary: the number of each word. It is changed only if `grow` is true, and not if an error is raised; if
        words are counted in buckets, it is not used.
    grow : bool
        Whether new words are added to the dictionary, in the order in which they are first read; otherwise they are
        counted as unknown.
    n_jobs : int or None, default None
        The number of threads; None is one per core. The result does not depend on it.

    Raises
    ------
    InvalidCellError
        If a document is neither text nor a list of words nor missing.

    Examples
    --------
    >>> numbers = {}
    >>> bags = count_words(["Buy now, buy cheap!", None, "see you"], Reading(), numbers, grow=True)
    >>> numbers, bags.missing.tolist()
    ({'buy': 0, 'now': 1, 'cheap': 2, 'see': 3, 'you': 4}, [False, True, False])
    >>> bags.counts.toarray().tolist()
    [[2, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    """
    listed, n_threads, known = _listed(documents), threads(n_jobs), len(numbers)
    try:
        if compiled.library is None:
            *parts, unknown, missing = _count_in_python(listed, reading, numbers, grow)
        else:
            *parts, unknown, missing = count_in_threads(listed, reading, numbers, grow, n_threads)
    except BaseException:
        while len(numbers) > known:  # the new words are the last ones
            numbers.popitem()
        raise
    n_words = len(numbers) if reading.buckets is None else reading.buckets
    return Bags(csr_array(tuple(parts), shape=(len(listed), n_words)), unknown, missing)


def _listed(documents: Any) -> Sequence[Any]:
    """Return documents as a list or tuple."""
    if isinstance(documents, (list, tuple)):
        return documents
    if isinstance(documents, (str, bytes)):
        raise TypeError("documents must be a sequence of texts, not a single text; pass [text]")
    for method in ("tolist", "to_list", "to_pylist"):  # of NumPy and pandas, of polars, of Arrow
        if hasattr(documents, method):
            found: list[Any] = getattr(documents, method)()
            return found
    return list(documents)


def _count_in_python(
    documents: Sequence[Any], reading: Reading, numbers: dict[str, int], grow: bool
) -> tuple[NDArray[Any], ...]:
    """Return what `count_in_threads` returns, without compiled kernels."""
    n, buckets = len(documents), reading.buckets
    indptr, indices, counts = np.zeros(n + 1, dtype=np.int32), [], []
    unknown, missing = np.zeros(n), np.zeros(n, dtype=bool)
    for row, document in enumerate(documents):
        bag: dict[int, int] = {}
        words: list[str] = []
        if not is_missing(document):
            try:
                words = reading.words(document)
            except NotWordsError as error:
                raise error.in_row(row) from None
        else:
            missing[row] = True
        if buckets is not None:
            found = word_buckets(words, buckets).tolist()
        elif grow:
            found = [numbers.setdefault(word, len(numbers)) for word in words]
        else:
            found = [numbers.get(word, -1) for word in words]
        for number in found:
            bag[number] = bag.get(number, 0) + 1
        unknown[row] = bag.pop(-1, 0)
        for number in sorted(bag):
            indices.append(number)
            counts.append(bag[number])
        indptr[row + 1] = len(indices)
    return np.array(counts, dtype=np.int32), np.array(indices, dtype=np.int32), indptr, unknown, missing
