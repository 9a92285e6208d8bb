"""Counts of the words of a text column, one row per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.statistics.value_counts import ValueCounts


@dataclass(frozen=True, eq=False)
class WordCounts(ValueCounts):
    """How often each word of a dictionary occurs, and in how many documents.

    Parameters
    ----------
    count : array of shape (k, 1)
        The weight of the documents that are not missing.
    total : array of shape (k, V)
        The occurrences of each word, or the sums of other functions of its counts per document.
    documents : array of shape (k, V)
        The weight of the documents with each word.
    sizes : array of shape (1,)
        The number V of words. Words are only ever appended, so counts over fewer words still add.
    """

    count: FloatArray
    total: FloatArray
    documents: FloatArray
    sizes: IntArray
    kind: ClassVar[str] = "words"
    class_fields: ClassVar[tuple[str, ...]] = ("count", "total", "documents")
    value_fields: ClassVar[tuple[str, ...]] = ("total", "documents")
    sorts_values: ClassVar[bool] = False

    @classmethod
    def empty(cls, n_classes: int, size: int) -> WordCounts:
        """Return the identity of ``+``, the counts of no documents."""
        sums = np.zeros((n_classes, size))
        return cls(np.zeros((n_classes, 1)), sums, sums, np.array([size], dtype=np.intp))

    @property
    def weight(self) -> FloatArray:
        """The weight of the documents that have each word, (V,)."""
        return np.asarray(self.documents.sum(0))

    @property
    def observed(self) -> FloatArray:
        """The weight of the documents that are not missing, (1,)."""
        return np.asarray(self.count.sum(0))
