"""scikit-learn's `BernoulliNB`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn.naive_bayes as theirs

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, issparse, namespace
from suffice.dropin._common import (
    DensityMixin,
    documented,
    one_block,
)
from suffice.dropin._naive_bayes import Counting, fitted, ratio
from suffice.families import Bernoulli
from suffice.families.bernoulli import BernoulliDistributions
from suffice.families.cells import observed_cells
from suffice.families.products import log_of
from suffice.models.joint import JointModel
from suffice.models.schema import Schema
from suffice.statistics.responsibilities import Responsibilities
from suffice.statistics.sums import Sums
from suffice.tables.table import Table


@documented
class BernoulliNB(Counting, DensityMixin, theirs.BernoulliNB):  # type: ignore[misc]
    """scikit-learn's `BernoulliNB`: each column is binary, whether it is above `binarize`.

    Beyond it: NaN is a missing cell, `alpha` may differ by column, `score_samples` and `explain`. With
    ``binarize=None``, cells that are neither 0 nor 1 raise an error.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from suffice.dropin import BernoulliNB
    >>> BernoulliNB().fit([[3, 0, 1], [0, 2, 2]], ["a", "b"]).predict([[1, 0, float("nan")]])
    array(['a'], dtype='<U1')
    """

    binarize: float | None

    def _schema(self, table: Table) -> Schema:
        return one_block(table, Bernoulli() if self.binarize is None else Binarized(float(self.binarize)))

    def _estimate(self) -> JointModel:
        sums, alpha = self._sums(), self._check_alpha()
        self.class_log_prior_ = self._class_log_prior()
        probability = ratio(sums.total + alpha, sums.count + 2.0 * np.asarray(alpha), 0.5)
        (block,) = self.statistics_.schema.blocks
        assert isinstance(block.family, Bernoulli)
        distributions = block.family.from_moments(probability)
        return JointModel(self.statistics_.schema, self.class_log_prior_, (distributions,))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The logarithm of the probability that a column is above the threshold given the class, k×d."""
        return log_of(fitted(self, "feature_log_prob_").probability)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class Binarized(Bernoulli):
    """Bernoulli family for numbers, binarised at a threshold of at least 0."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Sums:
        """Return the weight of the cells above the threshold, and of the cells that are not missing."""
        return super().statistics(self.above(x), responsibilities)

    def from_moments(self, moments: FloatArray) -> BernoulliDistributions:
        """Return p = E x of the binarised cells."""
        return BinarizedDistributions(moments, family=self)

    def above(self, x: Array) -> Array:
        """Return 1 where a cell is above the threshold, 0 where it is not, NaN where it is missing."""
        if issparse(x):
            if compiled.inspect(x.data) == 0 and self.threshold < 1:
                return x
            observed_cells(x)
            ones = (x.data > self.threshold).astype(np.float64)
            return type(x)((ones, x.indices, x.indptr), shape=x.shape, copy=False)
        xp = namespace(x)
        ones = xp.astype(x > self.threshold, xp.float64)
        if bool(xp.isfinite(xp.sum(x))):
            return ones
        observed = observed_cells(x)
        return ones if observed is None else xp.where(observed, ones, xp.nan)

    def _check(self, x: Array) -> Array | None:
        """Return which binarised cells are not missing, or None if all are there; they need no other check."""
        if issparse(x):
            return None
        xp = namespace(x)
        return None if bool(xp.isfinite(xp.sum(x))) else ~xp.isnan(x)


@dataclass(frozen=True, eq=False)
class BinarizedDistributions(BernoulliDistributions):
    """Bernoulli distributions that score numbers by whether they are above a threshold."""

    family: Binarized = field(kw_only=True)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return Σ_j log p(x_j) of the binarised cells."""
        return super().score(self.family.above(x), common)

    def impossible_cells(self, x: Array) -> FloatArray | float:
        """Return the number of cells of each row whose binarised value has probability 0 in every class."""
        return super().impossible_cells(self.family.above(x))

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x_j | a) / p(x_j | b) of the binarised cells."""
        return super().log_ratio(self.family.above(x), a, b)
