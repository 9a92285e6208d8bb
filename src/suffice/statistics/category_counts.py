"""Counts of the values of categorical columns, one row per class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.statistics.base import Statistics, taken_out


@dataclass(frozen=True, eq=False)
class CategoryCounts(Statistics):
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
    fixed_fields: ClassVar[tuple[str, ...]] = ("sizes",)

    @classmethod
    def empty(cls, n_classes: int, sizes: IntArray) -> CategoryCounts:
        """Return the identity of ``+``, the counts of no rows."""
        return cls(np.zeros((n_classes, int(np.sum(sizes)))), np.asarray(sizes))

    def columns(self) -> Iterator[slice]:
        """Yield the slice of each column's values in `total`."""
        stops = np.cumsum(self.sizes)
        return (slice(int(stop - size), int(stop)) for stop, size in zip(stops, self.sizes, strict=True))

    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the counts of some of the columns."""
        columns = list(self.columns())
        return type(self)(np.concatenate([self.total[:, columns[j]] for j in places], axis=1), self.sizes[places])

    def with_values(self, positions: list[IntArray], sizes: IntArray) -> CategoryCounts:
        """Return the same counts with value v of column j moved to ``positions[j][v]`` of ``sizes[j]``."""
        moved = CategoryCounts.empty(self.n_classes, sizes)
        total = np.array(moved.total)
        for source, target, where in zip(self.columns(), moved.columns(), positions, strict=True):
            total[:, target.start + where] = self.total[:, source]
        return CategoryCounts(total, moved.sizes)

    def _plus(self, other: Self, sign: float) -> Self:
        a: CategoryCounts = self
        b: CategoryCounts = other
        if not np.array_equal(a.sizes, b.sizes):
            sizes = np.maximum(a.sizes, b.sizes)
            a = a.with_values([np.arange(size) for size in a.sizes], sizes)
            b = b.with_values([np.arange(size) for size in b.sizes], sizes)
        return type(self)(a.total + b.total if sign > 0 else taken_out(a.total, b.total), a.sizes)
