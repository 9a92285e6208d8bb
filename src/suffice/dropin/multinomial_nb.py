"""scikit-learn's `MultinomialNB` and `ComplementNB`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sklearn.naive_bayes as theirs

from suffice._arrays import Array, FloatArray, IntArray, issparse, to_float64
from suffice.dropin._common import (
    DensityMixin,
    documented,
    one_block,
)
from suffice.dropin._naive_bayes import Counting, fitted, shares
from suffice.families import Multinomial
from suffice.families.multinomial import MultinomialDistributions
from suffice.families.products import Factor, LogParameters
from suffice.models.joint import JointModel
from suffice.models.schema import Schema
from suffice.tables.table import Table


@documented
class MultinomialNB(Counting, DensityMixin, theirs.MultinomialNB):  # type: ignore[misc]
    """scikit-learn's `MultinomialNB`: rows are counts, such as the word counts of a text.

    Beyond it: `score_samples` and `explain`, and `alpha=0` without NaN.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from suffice.dropin import MultinomialNB
    >>> MultinomialNB().fit([[3, 0, 1], [0, 2, 2]], ["a", "b"]).predict([[1, 0, 0]])
    array(['a'], dtype='<U1')
    """

    def _schema(self, table: Table) -> Schema:
        return one_block(table, Multinomial())

    def _estimate(self) -> JointModel:
        sums, alpha = self._sums(), self._check_alpha()
        self.class_log_prior_ = self._class_log_prior()
        size = sums.total.sum(1)
        mean_size = size / np.maximum(sums.count[:, 0], np.finfo(np.float64).tiny)
        distributions = MultinomialDistributions(shares(sums.total + alpha), mean_size)
        return JointModel(self.statistics_.schema, self.class_log_prior_, (distributions,))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The logarithm of the probability of each column given the class, k×d."""
        return fitted(self, "feature_log_prob_").natural_parameters()


@documented
class ComplementNB(Counting, theirs.ComplementNB):  # type: ignore[misc]
    """scikit-learn's `ComplementNB`: a class is scored by how little a row resembles all other classes.

    Beyond it: `explain`, and `alpha=0` without NaN.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from suffice.dropin import ComplementNB
    >>> ComplementNB().fit([[3, 0, 1], [0, 2, 2]], ["a", "b"]).predict([[1, 0, 0]])
    array(['a'], dtype='<U1')
    """

    norm: bool

    def _schema(self, table: Table) -> Schema:
        return one_block(table, Multinomial())

    def _estimate(self) -> JointModel:
        sums, alpha = self._sums(), self._check_alpha()
        self.class_log_prior_ = self._class_log_prior()
        self.feature_all_ = sums.total.sum(0)
        complement = shares(self.feature_all_ + alpha - sums.total)
        weights = -np.log(np.maximum(complement, np.finfo(np.float64).tiny))
        if self.norm:
            weights = shares(weights)
        distributions = ComplementDistributions(complement, np.ones(len(complement)), weights=weights)
        only = len(self.classes_) == 1
        log_prior = self.class_log_prior_ if only else np.zeros(len(self.classes_))
        return JointModel(self.statistics_.schema, log_prior, (distributions,))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The weight of each column for the class, k×d."""
        return np.asarray(fitted(self, "feature_log_prob_").weights)


@dataclass(frozen=True, eq=False)
class ComplementDistributions(MultinomialDistributions):
    """The multinomial of all other classes, k×d; a class is scored by x·w, with w = −log p, normalised if `norm`."""

    weights: FloatArray = field(kw_only=True)

    @cached_property
    def _logs(self) -> LogParameters:
        return LogParameters(Factor(self.weights), None)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return x_j (w_aj − w_bj)."""
        dense = to_float64(x.toarray() if issparse(x) else x)
        return dense * (self.weights[a] - self.weights[b]), np.zeros(len(dense))
