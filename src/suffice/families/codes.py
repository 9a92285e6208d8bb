"""Cells of categorical columns as the numbers of their values."""

from __future__ import annotations

from dataclasses import dataclass

from suffice._arrays import Array, IntArray

UNSEEN = -2


@dataclass(frozen=True)
class Codes:
    """Rows of categorical columns: the number of each cell's value, `MISSING` or `UNSEEN`, and how many values."""

    codes: Array
    sizes: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (int(self.codes.shape[0]), int(self.codes.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> Codes:
        return Codes(self.codes[rows], self.sizes)
