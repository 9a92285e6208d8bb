"""Leave-one-out: the score of each row by the estimate from all rows but this one.

Sums subtract, so the estimate without row i is that from S − w_i φ(x_i). Only the sums of the row's own class change.
If each class is estimated from its own sums, the scores for all other classes are the ordinary ones.

What an estimate takes from the data besides the sums of a class stays as it is for all rows: the data-scaled parts of
the prior, the values of categories and the words, and which columns are constant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, IntArray, issparse, to_float64
from suffice.errors import EstimateError
from suffice.families.base import Distributions, Family
from suffice.statistics.base import NotContainedError
from suffice.statistics.responsibilities import EachRow, Labels
from suffice.statistics.sums import Sums

#: the weight of a class without rows, whose location is that of the other classes
_NOTHING = 1e-200
#: limit on the cells of sparse rows that are made dense at a time
_DENSE_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class Own:
    """The class of each row, with the weight that leaves its sums together with the row.

    Parameters
    ----------
    codes : array of int, of shape (n,)
        The number of the class; any number for rows without a label.
    weight : array of shape (n,)
        The weight of the row; 0 if it is in no sums.
    """

    codes: IntArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | IntArray) -> Own:
        return Own(self.codes[rows], self.weight[rows])

    def classes(self) -> Iterator[tuple[int, IntArray]]:
        """Yield each class with the numbers of its rows."""
        order = np.argsort(self.codes, kind="stable")
        ordered = self.codes[order]
        bounds = np.flatnonzero(np.diff(ordered, prepend=-1, append=-1))
        for start, stop in pairwise(bounds):
            yield int(ordered[start]), order[start:stop]


def dense_parts(x: Array) -> list[slice]:
    """Return the parts in which to process the rows of a chunk: a few at a time if sparse rows are made dense."""
    n, d = x.shape
    few = max(1, _DENSE_CELLS // max(d, 1)) if issparse(x) else max(n, 1)
    return [slice(start, start + few) for start in range(0, max(n, 1), few)]


class LeftOut(ABC):
    """log p(x_i | c) for every class c, by the estimate without row i."""

    #: those estimated from all rows
    distributions: Any

    @property
    def by_column(self) -> bool:
        """Whether the cells of a row have log-densities of their own, which add up to that of the row."""
        return bool(self.distributions.by_column)

    @abstractmethod
    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each column under each class, n×d×k, or of all columns together, n×1×k."""

    def scores(self, x: Array, own: Own) -> FloatArray:
        """Return log p(x_i | c), n×k, up to terms that are the same for all classes.

        A cell with probability 0 in every class adds nothing, as in `Distributions.score`.
        """
        return without_impossible(self.cells(x, own)).sum(1)


def without_impossible(cells: FloatArray) -> FloatArray:
    """Return log-densities of cells, n×d×k, with 0 for cells that have probability 0 in every class."""
    flat = cells.ravel()
    if np.isfinite(np.dot(flat, flat)):  # one product finds out, faster than looking at each
        return cells
    nowhere = np.isneginf(cells).all(2, keepdims=True)
    return np.where(nowhere, 0.0, cells) if nowhere.any() else cells


class OwnClass(LeftOut):
    """Families that estimate each class from its own sums: only the score for a row's own class changes."""

    @abstractmethod
    def own_cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each column under the row's own class without the row, n×d, or of the block, n×1."""

    def own_scores(self, x: Array, own: Own) -> FloatArray:
        """Return the score of each row for its own class without the row, (n,)."""
        return np.concatenate([self.own_cells(x[part], own[part]).sum(1) for part in dense_parts(x)])

    def ordinary(self, x: Array) -> FloatArray:
        """Return the scores under the estimate from all rows, n×k, with the same common terms as `own_scores`."""
        return to_float64(self.distributions.score(x))

    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each column, or of the block, under each class."""
        cells = np.array(self.distributions.evidence(x))
        rows = np.flatnonzero(own.weight > 0)
        if len(rows):
            cells[rows, :, own.codes[rows]] = self.own_cells(x[rows], own[rows])
        return cells

    def scores(self, x: Array, own: Own) -> FloatArray:
        """Return log p(x_i | c), n×k, up to common terms."""
        scores = np.array(self.ordinary(x))
        rows = np.flatnonzero(own.weight > 0)
        if len(rows) == len(own):
            scores[rows, own.codes] = self.own_scores(x, own)
        elif len(rows):
            scores[rows, own.codes[rows]] = self.own_scores(x[rows], own[rows])
        lost = np.flatnonzero(np.isneginf(scores[np.arange(len(own)), own.codes]))
        if len(lost):  # a value that only this row has is impossible without it, maybe in every class
            scores[lost] = self._scores_of_lost(x[lost], own[lost])
        return scores

    def _scores_of_lost(self, x: Array, own: Own) -> FloatArray:
        """Return the scores of rows that their own class rules out without them."""
        return without_impossible(self.cells(x, own)).sum(1)


@dataclass(frozen=True, eq=False)
class Stacked(OwnClass):
    """Plain sums: those of each row's class without the row are estimated as n classes at once.

    Parameters
    ----------
    family : Family
    statistics : Sums
    distributions : Distributions
    estimate : callable
        Returns the distributions of n classes, given their sums and the class that each of them was.
    nothing : array of shape (p,)
        The location of a class if no row at all has the cell.
    certain : bool
        Whether there is an estimate for every class, as with a prior. Without one, a class that has no estimate
        without the row rules the row out: by maximum likelihood its density there tends to 0.
    """

    family: Family
    statistics: Sums
    distributions: Distributions
    estimate: Callable[[Sums, IntArray], Distributions]
    nothing: FloatArray
    certain: bool

    def own_cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each column under the row's own class without the row."""
        row = self.family.statistics(x, EachRow(own.weight))
        assert isinstance(row, Sums)
        left = self.statistics.only(own.codes) - row
        found, impossible = self._estimated(self._with_locations(left, row), own.codes, left.count <= 0)
        cells = found.cell_scores(x, slice(None))
        if impossible.any():
            cells = np.where(impossible & (row.count > 0), -np.inf, cells)
        return cells

    def _with_locations(self, left: Sums, row: Sums) -> Sums:
        """Return the sums with the mean of all other rows, almost without weight, where a class has no cells left."""
        empty = left.count <= 0
        if not empty.any():
            return left
        parts = row.total.shape[1] // row.count.shape[1]
        others = self.statistics.count.sum(0) - row.count
        count = np.tile(np.where(others > 1e-9 * row.count, others, 0.0), (1, parts))
        mean = np.broadcast_to(self.nothing, row.total.shape).copy()
        np.divide(self.statistics.total.sum(0) - row.total, count, out=mean, where=count > 0)
        total = np.where(np.tile(empty, (1, parts)), _NOTHING * mean, left.total)
        return type(left)(np.where(empty, _NOTHING, left.count), total)

    def _estimated(self, left: Sums, codes: IntArray, empty: NDArray[np.bool_]) -> tuple[Distributions, Any]:
        """Return the estimates, and which cells have none; these get that of all rows."""
        if self.certain:
            return self.estimate(left, codes), np.zeros((1, 1), dtype=bool)
        impossible = np.array(empty)
        parts = left.total.shape[1] // left.count.shape[1]
        while True:
            count = np.where(impossible, self.statistics.count[codes], left.count)
            total = np.where(np.tile(impossible, (1, parts)), self.statistics.total[codes], left.total)
            try:
                return self.estimate(type(left)(count, total), codes), impossible
            except EstimateError as error:
                column = slice(None) if error.column is None else error.column
                if np.all(impossible[error.c, column]):
                    raise
                impossible[error.c, column] = True


@dataclass(frozen=True, eq=False)
class Refitted(LeftOut):
    """Estimates that classes share in no closed form: one estimate per row, from the sums without it.

    It is exact for every family, and as slow as that.

    Parameters
    ----------
    family : Family
    statistics : Statistics
    distributions : Distributions
    estimate : callable
        Returns the distributions, given the sums.
    """

    family: Family
    statistics: Any
    distributions: Distributions
    estimate: Callable[[Any], Distributions]

    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each column, or of the block, under each class."""
        found = [self._without(x, own, row, self._evidence) for row in range(len(own))]
        return np.concatenate(found)

    def scores(self, x: Array, own: Own) -> FloatArray:
        """Return log p(x_i | c), n×k, without cells that have probability 0 in every class."""
        found = [self._without(x, own, row, self._score) for row in range(len(own))]
        return np.concatenate(found)

    def _without(
        self, x: Array, own: Own, row: int, answer: Callable[[Distributions, Array], FloatArray]
    ) -> FloatArray:
        some = slice(row, row + 1)
        if own.weight[row] == 0:
            return answer(self.distributions, x[some])
        labels = Labels(own.codes[some], own.weight[some], self.statistics.n_classes)
        try:
            left = self.statistics - self.family.statistics(x[some], labels)
        except NotContainedError as error:
            raise NotContainedError(row, error.left) from None
        try:
            return answer(self.estimate(left), x[some])
        except EstimateError:  # by maximum likelihood the density of the row tends to 0 where there is no estimate
            lost = np.array(answer(self.distributions, x[some]))
            lost[..., own.codes[row]] = -np.inf
            return lost

    @staticmethod
    def _evidence(found: Distributions, x: Array) -> FloatArray:
        return found.evidence(x)

    @staticmethod
    def _score(found: Distributions, x: Array) -> FloatArray:
        # without what is common to the classes of one model, which is not common to the models of two rows
        return to_float64(found.score(x, common=False))
