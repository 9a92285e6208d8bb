"""The common base of the drop-in naive Bayes classes: scikit-learn's results from sums over one pass.

Each class inherits scikit-learn's constructor, parameter constraints and tags, and replaces the computations: the raw
statistics are kept, smoothing enters the estimate only, and the families compute the scores.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from suffice._arrays import FloatArray
from suffice.dropin._common import (
    StatisticsMixin,
    class_scores,
    log_shares,
)
from suffice.statistics.sums import Sums

FLOAT32_CERTAIN = float(np.finfo(np.float32).epsneg) / 2


class NaiveBayesBase(StatisticsMixin):
    """The base of all five classes: validates the parameters, gathers the statistics, estimates."""

    _validate_params: Any
    class_count_: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled rows, in one pass.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows.
        y : array of shape (n,), or None
            The labels; None if a scan or a stream brings its own.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        self._validate_params()
        self._learn(X, y, sample_weight)
        self._model = self._estimate()
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the result for any batches equals that of `fit` on all rows together.

        Parameters
        ----------
        X, y, sample_weight : array, array, array or None
            The rows, their labels and weights, as in `fit`.
        classes : array of shape (k,)
            All classes that may occur; required at the first call.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        if not hasattr(self, "statistics_"):
            self._validate_params()
        self._learn_more(X, y, classes, sample_weight)
        self._model = self._estimate()
        return self

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log p(c) + log p(x | c) without terms common to all classes, n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._answer(self._score(class_scores, X), X)


# -- discrete classes -------------------------------------------------------------------------------------------


class Discrete(NaiveBayesBase):
    """The base of the discrete classes: additive smoothing and the class prior."""

    alpha: Any
    fit_prior: bool
    class_prior: Any
    _check_alpha: Any
    class_log_prior_: FloatArray

    def _class_log_prior(self) -> FloatArray:
        count, k = self.statistics_.class_count, len(self.classes_)
        if self.class_prior is not None:
            if len(self.class_prior) != k:
                raise ValueError("Number of priors must match number of classes.")
            return log_shares(self.class_prior)
        if self.fit_prior:
            return log_shares(count / count.sum())
        return np.full(k, -np.log(k))


class Counting(Discrete):
    """The base of the discrete classes whose statistics are one sum per class and column."""

    feature_count_: FloatArray

    def _sums(self) -> Sums:
        """Return the sums, and set scikit-learn's attributes for them."""
        (sums,) = self.statistics_.joint.blocks
        assert isinstance(sums, Sums)
        self.class_count_ = self.statistics_.class_count.copy()
        self.feature_count_ = sums.total
        return sums


def fitted(estimator: Any, attribute: str) -> Any:
    """Return the distributions of a fitted model; raise AttributeError before the fit."""
    model = getattr(estimator, "_model", None)
    if model is None:
        raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {attribute!r} before it is fitted")
    return model.distributions[0]


def shares(weights: FloatArray) -> FloatArray:
    """Return each row divided by its sum; equal shares where the sum is 0."""
    return ratio(weights, weights.sum(axis=1, keepdims=True), 1.0 / max(weights.shape[1], 1))


def ratio(part: FloatArray, whole: FloatArray, otherwise: float) -> FloatArray:
    """Return part / whole, or `otherwise` where the whole is 0."""
    if (whole > 0).all():
        return np.asarray(part / whole)
    return np.divide(part, whole, out=np.full(part.shape, otherwise), where=whole > 0)
