"""Counts of the values of categorical columns, one row per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.statistics.value_counts import ValueCounts


@dataclass(frozen=True, eq=False)
class CategoryCounts(ValueCounts):
    """The weight of each value of each column, with the columns side by side, one entry per value.

    Parameters
    ----------
    total : array of shape (k, sum of sizes)
    sizes : array of shape (d,)
        The number of values of each column. Values are only ever appended, so counts over fewer values still add.
    """

    total: FloatArray
    sizes: IntArray
    kind: ClassVar[str] = "categories"
    class_fields: ClassVar[tuple[str, ...]] = ("total",)
    value_fields: ClassVar[tuple[str, ...]] = ("total",)
    sorts_values: ClassVar[bool] = True

    @classmethod
    def empty(cls, n_classes: int, sizes: IntArray) -> CategoryCounts:
        """Return the identity of ``+``, the counts of no rows."""
        return cls(np.zeros((n_classes, int(np.sum(sizes)))), np.asarray(sizes))

    @property
    def weight(self) -> FloatArray:
        """The weight of the rows that have each value, (sum of sizes,)."""
        return np.asarray(self.total.sum(0))

    @property
    def observed(self) -> FloatArray:
        """The weight of the rows in which each column is not missing, (d,)."""
        return np.array([self.total[:, values].sum() for values in self.columns()])
