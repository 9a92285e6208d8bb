"""Leave-one-out of bags of words: only the sums of the words that a row has change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from suffice._arrays import Array, FloatArray, IntArray, issparse, to_float64
from suffice.families.left_out import LeftOut, Own, OwnClass
from suffice.families.products import log_of
from suffice.statistics.base import NotContainedError

#: sums below this share of what they were are rounding error
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Words:
    """The words of some rows, one entry per word of a row.

    Parameters
    ----------
    n : int
        The number of rows.
    rows, words : arrays of int, of shape (m,)
        The number of the row and of the word.
    amounts : array of shape (m,)
        How often it occurs there, or another function of that.
    """

    n: int
    rows: IntArray
    words: IntArray
    amounts: FloatArray

    @classmethod
    def of(cls, x: Array) -> Words:
        """Return the words of sparse or dense rows."""
        cells = x if issparse(x) else csr_array(to_float64(x))
        rows = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        return cls(cells.shape[0], rows, cells.indices.astype(np.intp, copy=False), to_float64(cells.data))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum over the words of each row, (n,)."""
        summed = np.bincount(self.rows, weights=values, minlength=self.n)
        return summed.astype(np.float64, copy=False)  # whole numbers without any word


def taken_from(before: FloatArray, part: FloatArray, rows: IntArray) -> FloatArray:
    """Return before − part, 0 for rounding error; raise NotContainedError, with the row, if it is negative."""
    left = before - part
    bad = left < -_ROUNDING * (before + part)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise NotContainedError(int(rows[first]), float(left[first]))
    return np.where(left > _ROUNDING * before, left, 0.0)


@dataclass(frozen=True, eq=False)
class PositionsLeftOut(OwnClass):
    """p_w = (T_w + α − w x) / (Σ (T + α) − w Σx): a word per position, or draws of a multinomial.

    Parameters
    ----------
    total : array of shape (k, V)
        T, the sums of each class.
    before : array of shape (V,)
        α, the weight of each word without rows; 0 for words that are left out.
    word_weight : array of shape (V,)
        The factor of each word's amounts; 0 for words that are left out.
    distributions : Distributions
    words_of : callable
        Returns the amounts of the words of rows, sparse or dense.
    base : callable or None
        Returns log h(x) of rows; None if it is 0.
    refitted : LeftOut
        The scores of rows that hold a word which no other row of the class has, without smoothing.
    """

    total: FloatArray
    before: FloatArray
    word_weight: FloatArray
    distributions: Any
    words_of: Callable[[Array], Array]
    base: Callable[[Array], Array] | None
    refitted: LeftOut

    @cached_property
    def _whole(self) -> FloatArray:
        """Σ (T + α) of each class, in weighted amounts, (k,)."""
        return np.asarray(self.total @ self.word_weight + self.before.sum())

    def own_scores(self, x: Array, own: Own) -> FloatArray:
        """Return Σ x log p_w of each row in its class without the row, (n,)."""
        found = Words.of(self.words_of(x))
        return scores_without(found, own.codes, own.weight, self.total, self.before, self.word_weight, self._whole)

    def own_cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each row in its class without the row, n×1."""
        scores = self.own_scores(x, own)
        return (scores if self.base is None else scores + to_float64(self.base(x)))[:, None]

    def ordinary(self, x: Array) -> FloatArray:
        """Return the scores under the estimate from all rows, without log h(x)."""
        return to_float64(self.distributions.score(x, common=False))

    def _scores_of_lost(self, x: Array, own: Own) -> FloatArray:
        return self.refitted.scores(x, own)


def scores_without(
    found: Words,
    codes: IntArray,
    weight: FloatArray,
    total: FloatArray,
    before: FloatArray,
    word_weight: FloatArray,
    whole: FloatArray,
) -> FloatArray:
    """Return Σ_w x_w log p_w of each row, with the row taken out of the sums of one class, (n,)."""
    words, of_row = found.words, found.rows
    factor = word_weight.take(words)
    sums = total.take(codes[of_row] * total.shape[1] + words)
    left = taken_from(sums, weight[of_row] * found.amounts, of_row) * factor + before.take(words)
    weighted = found.amounts * factor
    size = found.sums(weighted)
    rest = whole[codes] - weight * size
    rest = np.where(rest > _ROUNDING * whole[codes], rest, 0.0)
    with np.errstate(invalid="ignore"):
        scores = found.sums(np.where(weighted > 0, weighted * log_of(left), 0.0))
        scores -= np.where(size > 0, size * log_of(rest), 0.0)
    return np.where(np.isnan(scores) | ((size > 0) & (rest <= 0)), -np.inf, scores)


@dataclass(frozen=True, eq=False)
class ComplementLeftOut(LeftOut):
    """Complement naive Bayes: a row leaves the sums of the words of all classes but its own.

    Parameters
    ----------
    total : array of shape (k, V)
        The sums of all other classes.
    before, word_weight, distributions, words_of
        As for `PositionsLeftOut`.
    """

    total: FloatArray
    before: FloatArray
    word_weight: FloatArray
    distributions: Any
    words_of: Callable[[Array], Array]

    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return the scores of the block, which are no log-densities, n×1×k."""
        scores = np.array(to_float64(self.distributions.score(x, common=False)))
        found = Words.of(self.words_of(x))
        whole = np.asarray(self.total @ self.word_weight + self.before.sum())
        for c in range(len(self.total)):
            weight = np.where(own.codes == c, 0.0, own.weight)
            codes = np.full(found.n, c)
            parts = (self.total, self.before, self.word_weight, whole)
            scores[:, c] = -scores_without(found, codes, weight, *parts)
        return scores[:, None, :]
