"""Plain sums of φ(x), one row per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.statistics.base import Statistics, added, taken_out


@dataclass(frozen=True, eq=False)
class Sums(Statistics):
    """Plain sums of φ(x): ``total[c] = Σ r_ic φ(x_i)``, with the weight of the observed cells.

    Parameters
    ----------
    count : array of shape (k, d)
        The weight of the observed cells of each column.
    total : array of shape (k, p)
        The sums.
    """

    count: FloatArray
    total: FloatArray
    kind: ClassVar[str] = "sums"
    class_fields: ClassVar[tuple[str, ...]] = ("count", "total")

    @classmethod
    def empty(cls, n_classes: int, n_columns: int, n_statistics: int | None = None) -> Sums:
        """Return the identity of ``+``, the sums of no rows."""
        return cls(np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_statistics or n_columns)))

    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the sums of some of the columns; a count that all columns share stays as it is."""
        k = len(self.total)
        count = self.count[:, places] if self.count.shape[1] == n_columns else self.count
        return type(self)(count, self.total.reshape(k, -1, n_columns)[:, :, places].reshape(k, -1))

    def _plus(self, other: Self, sign: float) -> Self:
        if sign > 0:
            return type(self)(added(self.count, other.count), self.total + other.total)
        return type(self)(taken_out(self.count, other.count), taken_out(self.total, other.total))


@dataclass(frozen=True, eq=False)
class SignedSums(Sums):
    """Sums of a φ(x) that may be negative, like log x, so that only the weights show whether rows can be removed.

    If φ of a cell has several parts, `total` has the columns of the first part, then those of the second, and so on.
    """

    kind: ClassVar[str] = "signed sums"

    def _plus(self, other: Self, sign: float) -> Self:
        if sign > 0:
            return super()._plus(other, sign)
        count = taken_out(self.count, other.count)
        left = np.tile(count > 0, (1, self.total.shape[1] // count.shape[1]))
        return type(self)(count, np.where(left, self.total - other.total, 0.0))
