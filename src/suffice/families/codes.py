"""Categorical cells as integer codes of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice._arrays import Array, IntArray, namespace

UNSEEN = -2


@dataclass(frozen=True)
class Codes:
    """Rows of categorical columns as codes of values, `MISSING` or `UNSEEN`, with the number of values per column."""

    codes: Array
    sizes: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and the number of columns."""
        return (int(self.codes.shape[0]), int(self.codes.shape[1]))

    @classmethod
    def stacked(cls, parts: Sequence[Codes]) -> Codes:
        """Return the rows of several parts, one after the other; later parts may have more values."""
        codes = [part.codes for part in parts]
        return cls(namespace(codes[0]).concat(codes), np.max([part.sizes for part in parts], axis=0))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> Codes:
        return Codes(self.codes[rows], self.sizes)
