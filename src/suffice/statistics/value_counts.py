"""Counts of the values of columns whose values have numbers, which are given in the order of their first appearance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.statistics.base import Statistics, taken_out


class ValueCounts(Statistics):
    """Sums for each value of each column, with the columns side by side, one entry per value.

    Values are only ever appended, so sums over fewer values still add. `value_fields` names the sums with one entry per
    value; other sums have one entry per column. `sizes` holds the number of values of each column.
    """

    fixed_fields: ClassVar[tuple[str, ...]] = ("sizes",)
    value_fields: ClassVar[tuple[str, ...]]
    #: whether the values of a column are kept in sorted order, and not in the order in which they were first seen
    sorts_values: ClassVar[bool]
    #: a field of the subclasses
    sizes: IntArray

    @property
    @abstractmethod
    def weight(self) -> FloatArray:
        """The weight of the rows that have each value, (sum of sizes,)."""

    @property
    @abstractmethod
    def observed(self) -> FloatArray:
        """The weight of the rows in which each column is not missing, (d,)."""

    def columns(self) -> Iterator[slice]:
        """Yield the slice of each column's values."""
        stops = np.cumsum(self.sizes)
        return (slice(int(stop - size), int(stop)) for stop, size in zip(stops, self.sizes, strict=True))

    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the sums of some of the columns."""
        columns, moved = list(self.columns()), self.arrays()
        for name in self.class_fields:
            sums = moved[name]
            if name in self.value_fields:
                moved[name] = np.concatenate([sums[:, columns[j]] for j in places], axis=1)
            else:
                moved[name] = sums[:, places]
        return type(self)(**{**moved, "sizes": self.sizes[places]})

    def with_values(self, positions: Sequence[IntArray], sizes: IntArray) -> Self:
        """Return the same sums with value v of column j moved to ``positions[j][v]`` of ``sizes[j]``."""
        if np.array_equal(sizes, self.sizes) and all(_in_place(where) for where in positions):
            return self
        stops = np.cumsum(sizes)
        places = np.concatenate(
            [stop - size + where for stop, size, where in zip(stops, sizes, positions, strict=True)]
        )
        moved = self.arrays()
        for name in self.value_fields:
            sums = np.zeros((self.n_classes, int(np.sum(sizes))))
            if _in_place(places):
                sums[:, : len(places)] = moved[name]
            else:
                sums[:, places] = moved[name]
            moved[name] = sums
        return type(self)(**{**moved, "sizes": np.asarray(sizes)})

    def only_values(self, kept: Sequence[IntArray]) -> Self:
        """Return the sums of some values of each column, in the order of `kept`."""
        if all(len(where) == size and _in_place(where) for where, size in zip(kept, self.sizes, strict=True)):
            return self
        places = np.concatenate([column.start + where for column, where in zip(self.columns(), kept, strict=True)])
        left = self.arrays()
        left.update({name: left[name][:, places] for name in self.value_fields})
        return type(self)(**{**left, "sizes": np.array([len(where) for where in kept], dtype=np.intp)})

    def _plus(self, other: Self, sign: float) -> Self:
        a, b = self, other
        if not np.array_equal(a.sizes, b.sizes):
            sizes = np.maximum(a.sizes, b.sizes)
            a = a.with_values([np.arange(size) for size in a.sizes], sizes)
            b = b.with_values([np.arange(size) for size in b.sizes], sizes)
        sums = a.arrays()
        for name in self.class_fields:
            mine, theirs = getattr(a, name), getattr(b, name)
            sums[name] = mine + theirs if sign > 0 else taken_out(mine, theirs)
        return type(self)(**sums)


def _in_place(positions: IntArray) -> bool:
    return bool((positions == np.arange(len(positions))).all())
