"""scikit-learn's `GaussianNB`."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.naive_bayes as theirs
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, issparse, to_float64
from suffice.dropin._common import (
    DensityMixin,
    documented,
    in_kind,
    log_shares,
    narrowed,
    one_block,
)
from suffice.dropin._naive_bayes import FLOAT32_CERTAIN, NaiveBayesBase
from suffice.families import Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.covariance.constant import constant
from suffice.models.joint import JointModel, log_joint, log_posterior, posterior
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Block, Schema
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import DiagonalMoments, Moments
from suffice.statistics.responsibilities import Labels, Responsibilities
from suffice.tables.labels import LabelCoder
from suffice.tables.sources import Source
from suffice.tables.table import Table


@documented
class GaussianNB(NaiveBayesBase, DensityMixin, theirs.GaussianNB):  # type: ignore[misc]
    """scikit-learn's `GaussianNB`: columns are normal and independent given the class.

    Beyond it: NaN is a missing cell, sparse rows stay sparse, `partial_fit` is exact (`var_smoothing` multiplies the
    variance of all rows so far), `score_samples` and `explain`. As in scikit-learn, that variance ignores the weights:
    every row counts once.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice.dropin import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> float(GaussianNB().fit(X, y).score(X, y))
    0.96
    """

    priors: Any
    var_smoothing: float
    #: the unweighted moments of all rows so far and of the last batch; `var_smoothing` multiplies the variance of the
    #: former
    _unweighted: DiagonalMoments
    _unweighted_batch: DiagonalMoments

    def _schema(self, table: Table) -> Schema:
        return one_block(table, Gaussian("diagonal"))

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_priors(None)
        super()._learn(X, y, sample_weight)

    def _gather(self, X: Any, y: Any, sample_weight: Any, coder: LabelCoder, schema: Schema | None) -> ModelStatistics:
        if sample_weight is None and not isinstance(X, Source):
            found = super()._gather(X, y, sample_weight, coder, schema)
            self._unweighted_batch = _moments(found)
            return found

        def with_unweighted(table: Table) -> Schema:
            one = self._schema(table) if schema is None else schema
            return one.with_blocks([*one.blocks, Block(_Unweighted(), one.blocks[0].columns)])

        found = self._gathered(X, y, sample_weight, coder, with_unweighted)
        weighted, unweighted = found.joint.blocks
        assert isinstance(unweighted, DiagonalMoments)
        self._unweighted_batch = unweighted
        return ModelStatistics(
            found.classes,
            found.schema.with_blocks(found.schema.blocks[:1]),
            JointStatistics(found.joint.class_count, (weighted,)),
            found.declared,
        )

    def _keep(self, statistics: Any, X: Any, *, first: bool) -> None:
        if first:
            self._like, self._unweighted = _example(X), self._unweighted_batch
        else:
            self._unweighted = self._unweighted + self._unweighted_batch
        del self._unweighted_batch
        super()._keep(statistics, X, first=first)

    def _estimate(self) -> JointModel:
        statistics = self.statistics_
        moments = _moments(statistics)
        prior = self._check_priors(len(self.classes_))
        if prior is None:
            prior = statistics.class_count / statistics.class_count.sum()
        self.epsilon_ = self.var_smoothing * self._unweighted.total_variance().max()
        mean, count = moments.mean, moments.count
        variance = np.divide(moments.scatter, count, out=np.zeros_like(mean), where=count > 0) + self.epsilon_
        self.theta_, self.var_ = in_kind(mean, self._like), in_kind(variance, self._like)
        self.class_count_ = in_kind(statistics.class_count.copy(), self._like)
        self.class_prior_ = in_kind(prior, self._like)
        distributions = GaussianDistributions(Gaussian("diagonal"), mean, _positive(variance, moments))
        return JointModel(statistics.schema, log_shares(prior), (distributions,))

    def _check_priors(self, n_classes: int | None) -> FloatArray | None:
        if self.priors is None:
            return None
        prior = to_float64(self.priors)
        if n_classes is not None and len(prior) != n_classes:
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(prior.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if (prior < 0).any():
            raise ValueError("Priors must be non-negative.")
        return prior

    def _answer(self, values: NDArray[Any], X: Any) -> Any:
        return in_kind(values, X)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log p(x, c), n×k."""
        return self._answer(self._score(log_joint, X), X)

    def predict_proba(self, X: Any) -> Any:
        """Return p(c | x), n×k, columns in the order of `classes_`, in the float type of X."""
        if isinstance(X, np.ndarray) and X.dtype == np.float32:
            return self._score(narrowed, X, (posterior, self._joint()))
        return super().predict_proba(X)

    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(c | x), n×k, in the float type of X."""
        logs = self._score(log_posterior, X)
        if "float32" in str(getattr(X, "dtype", "")):
            logs[logs > -FLOAT32_CERTAIN] = 0.0  # predict_proba rounds these to 1
        return self._answer(logs, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _example(X: Any) -> Any:
    """Return an empty slice of X, to remember its library, device and float type."""
    return X[:0] if hasattr(X, "dtype") and len(getattr(X, "shape", ())) == 2 and not issparse(X) else None


def _positive(variance: FloatArray, moments: DiagonalMoments) -> FloatArray:
    """Return positive variances, so that a column that is constant in a class still has a density.

    A column that is constant in the whole table gets a variance much larger than the rounding error of the class means.
    """
    rounding = 1e4 * np.finfo(np.float64).eps * np.abs(moments.mean)
    least = np.where(constant(moments), rounding**2, 0.0)
    return np.maximum(np.maximum(variance, least), np.finfo(np.float64).tiny)


def _moments(statistics: ModelStatistics) -> DiagonalMoments:
    (moments,) = statistics.joint.blocks
    assert isinstance(moments, DiagonalMoments)
    return moments


class _Unweighted(Gaussian):
    """A family whose statistics are those of all rows as one class, without weights."""

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the unweighted moments of all rows, as those of the first class."""
        labels = Labels(np.zeros(x.shape[0], dtype=np.intp), None, responsibilities.n_classes)
        return super().statistics(x, labels)
