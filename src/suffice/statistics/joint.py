"""The statistics of a joint model: the weight of each class, and the sums of each block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.statistics.base import Statistics, is_in_place, taken_out, weighted_sum


@dataclass(frozen=True, eq=False)
class JointStatistics:
    """The sums of a whole model of p(x, y): the weight of each class, and each block's statistics.

    A learning kernel returns it for its chunk, and an engine adds up those of all chunks.
    """

    class_count: FloatArray
    blocks: tuple[Statistics, ...]

    def __add__(self, other: JointStatistics) -> JointStatistics:
        return self._combine(other, 1.0)

    def __sub__(self, other: JointStatistics) -> JointStatistics:
        return self._combine(other, -1.0)

    def _combine(self, other: JointStatistics, sign: float) -> JointStatistics:
        k = max(len(self.class_count), len(other.class_count))
        mine, theirs = self.class_count, other.class_count
        if len(mine) != len(theirs):
            mine, theirs = (np.pad(count, (0, k - len(count))) for count in (mine, theirs))
        pairs = zip(self.blocks, other.blocks, strict=True)
        if sign > 0:
            return JointStatistics(mine + theirs, tuple(a + b for a, b in pairs))
        return JointStatistics(taken_out(mine, theirs), tuple(a - b for a, b in pairs))

    def with_classes(self, positions: IntArray, n_classes: int) -> JointStatistics:
        """Return the same sums with class i moved to ``positions[i]`` of `n_classes`."""
        if is_in_place(positions, len(self.class_count), n_classes):
            return self
        class_count = np.zeros(n_classes)
        class_count[positions] = self.class_count
        return JointStatistics(class_count, tuple(block.with_classes(positions, n_classes) for block in self.blocks))

    def only(self, kept: IntArray) -> JointStatistics:
        """Return the sums of some of the classes."""
        return JointStatistics(self.class_count[kept], tuple(block.only(kept) for block in self.blocks))

    def times(self, factor: float) -> JointStatistics:
        """Return the sums of the same rows with `factor` times their weight."""
        return JointStatistics(self.class_count * factor, tuple(block.times(factor) for block in self.blocks))

    @classmethod
    def combined(cls, parts: Sequence[JointStatistics], weights: Sequence[float]) -> JointStatistics:
        """Return Σ_i weights[i] · parts[i], which with negative weights need not be the sums of any rows."""
        blocks = zip(*(part.blocks for part in parts), strict=True)
        return cls(
            weighted_sum([part.class_count for part in parts], weights),
            tuple(type(same[-1]).combined(same, weights) for same in blocks),
        )
