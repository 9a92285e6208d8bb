"""k folds in one pass: the sums of each fold are kept apart, and a model is estimated from those of the other folds.

The sums of the other folds are added up, and not subtracted from those of all rows: that loses no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.engines.base import Chunk, Rows
from suffice.models.joint import JointModel, learn, log_posterior
from suffice.models.schema import Schema
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels


@dataclass(frozen=True, eq=False)
class Folds:
    """Which fold each row belongs to.

    Parameters
    ----------
    n_folds : int
    of_rows : array of shape (n,), optional
        The number of the fold of each row; None deals the rows out in turn.
    """

    n_folds: int
    of_rows: IntArray | None = None

    @classmethod
    def of(cls, folds: Any, n_rows: int | None) -> Folds:
        """Return the folds that a user gives: their number, or the number of the fold of each row."""
        if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
            if folds < 2 or (n_rows is not None and folds > n_rows):
                most = "" if n_rows is None else f" and at most {n_rows}, the number of rows"
                raise ValueError(f"folds must be at least 2{most}, but is {folds}")
            return cls(int(folds))
        given = np.asarray(folds)
        if given.ndim != 1 or given.dtype.kind not in "iu" or (n_rows is not None and len(given) != n_rows):
            rows = "" if n_rows is None else f", {n_rows} of them"
            raise ValueError(
                f"folds must be a number, or one whole number per row{rows}, but is {type(folds).__name__} of shape "
                f"{given.shape} and type {given.dtype}"
            )
        numbers, of_rows = np.unique(given, return_inverse=True)
        if len(numbers) < 2:
            raise ValueError(f"folds must name at least 2 folds, but every row is in fold {numbers.tolist()}")
        return cls(len(numbers), of_rows.ravel().astype(np.intp))

    def of_chunk(self, chunk: Chunk) -> IntArray:
        """Return the number of the fold of each row of a chunk."""
        numbers = np.arange(chunk.start, chunk.start + len(chunk))
        return numbers % self.n_folds if self.of_rows is None else self.of_rows[numbers]


@dataclass(frozen=True, eq=False)
class FoldStatistics:
    """The sums of each fold; None for a fold without rows."""

    parts: tuple[JointStatistics | None, ...]

    def __add__(self, other: FoldStatistics) -> FoldStatistics:
        return FoldStatistics(tuple(_sum(a, b) for a, b in zip(self.parts, other.parts, strict=True)))

    def without_each(self) -> list[JointStatistics | None]:
        """Return the sums of all other folds, for each fold: sums from the left, and from the right."""
        before: list[JointStatistics | None] = [None]
        after: list[JointStatistics | None] = [None]
        for part in self.parts[:-1]:
            before.append(_sum(before[-1], part))
        for part in self.parts[:0:-1]:
            after.append(_sum(part, after[-1]))
        return [_sum(left, right) for left, right in zip(before, reversed(after), strict=True)]


def _sum(a: JointStatistics | None, b: JointStatistics | None) -> JointStatistics | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def learn_folds(chunk: Chunk, params: tuple[Schema, Folds]) -> FoldStatistics:
    """Kernel: the sums of the labelled rows of each fold."""
    schema, folds = params
    known = chunk.responsibilities
    assert isinstance(known, PartialLabels)
    numbers = folds.of_chunk(chunk)
    parts: list[JointStatistics | None] = []
    for fold in range(folds.n_folds):
        rows = np.flatnonzero(numbers == fold)
        part = _part(chunk, rows) if len(rows) else None
        parts.append(None if part is None else learn(replace(part, responsibilities=_labelled(known[rows])), schema))
    return FoldStatistics(tuple(parts))


def fold_log_posterior(chunk: Chunk, params: tuple[Sequence[JointModel], Folds]) -> FloatArray:
    """Kernel: log p(c | x_i) of each row by the model of the other folds, n×k."""
    models, folds = params
    numbers = folds.of_chunk(chunk)
    found = np.empty((len(chunk), models[0].n_classes))
    for fold, model in enumerate(models):
        rows = np.flatnonzero(numbers == fold)
        if len(rows):
            found[rows] = log_posterior(_part(chunk, rows), model)
    return found


def _part(chunk: Chunk, rows: IntArray) -> Chunk:
    return Chunk(Rows(chunk.blocks).taken(rows).blocks, start=chunk.start)


def _labelled(known: PartialLabels) -> Responsibilities:
    """Return the known labels; rows without one have no weight."""
    if known.codes is None:
        return SoftLabels(known.shares())
    missing = known.codes < 0
    if not missing.any():
        return Labels(known.codes, known.weight, known.n_classes)
    weight = np.ones(len(known)) if known.weight is None else known.weight
    return Labels(np.where(missing, 0, known.codes), np.where(missing, 0.0, weight), known.n_classes)
