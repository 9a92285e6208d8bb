"""scikit-learn's naive Bayes classes over Suffice's engine: the same answers from one pass of sums.

Each class takes scikit-learn's constructor, parameter constraints and tags, and replaces what it computes: the raw
statistics are kept, smoothing enters the estimate only, and the families score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import sklearn.naive_bayes as theirs
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, issparse, namespace, to_float64, to_numpy
from suffice.dropin._common import (
    DensityMixin,
    StatisticsMixin,
    class_scores,
    in_kind,
    log_shares,
    narrowed,
    number_table,
    one_block,
)
from suffice.errors import InvalidCellError
from suffice.families import Bernoulli, Categorical, Gaussian, Multinomial
from suffice.families.base import Factor, LogParameters, invalid_cell, log_of, observed_cells, without_holes
from suffice.families.bernoulli import BernoulliDistributions
from suffice.families.categorical import MISSING, CategoricalDistributions
from suffice.families.gaussian import GaussianDistributions
from suffice.families.multinomial import MultinomialDistributions
from suffice.joint import JointModel, log_joint, log_posterior, posterior
from suffice.labels import LabelCoder
from suffice.model_statistics import ModelStatistics
from suffice.responsibilities import Responsibilities
from suffice.schema import Categories, Schema
from suffice.sources import Source
from suffice.statistics import CategoryCounts, DiagonalMoments, Sums
from suffice.tables import ArrayTable, Kind, Table, as_table

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

_FLOAT32_CERTAIN = float(np.finfo(np.float32).epsneg) / 2


class _NaiveBayes(StatisticsMixin):
    """What all five classes do: validate the parameters, take the statistics, estimate."""

    _validate_params: Any
    class_count_: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled rows, in one pass.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
        y : array of shape (n,); none where a scan or a stream brings its own
        sample_weight : array of shape (n,), optional
        """
        self._validate_params()
        self._learn(X, y, sample_weight)
        self._model = self._estimate()
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; any batches give what `fit` gives on all rows together.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array of shape (k,)
            All classes there may be; needed at the first call.
        """
        if not hasattr(self, "statistics_"):
            self._validate_params()
        self._learn_more(X, y, classes, sample_weight)
        self._model = self._estimate()
        return self

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log p(c) + log p(x | c), n×k, less what all classes share."""
        return self._answer(self._score(class_scores, X), X)


# -- Gaussian ---------------------------------------------------------------------------------------------------


class GaussianNB(_NaiveBayes, DensityMixin, theirs.GaussianNB):  # type: ignore[misc]
    """scikit-learn's `GaussianNB`: each column normal given the class, columns independent.

    Beyond it: NaN is a missing cell, sparse rows stay sparse, `partial_fit` is exact (the variance that
    `var_smoothing` scales is that of all rows so far, by their weights), `score_samples` and `explain`.

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

    def _schema(self, table: Table) -> Schema:
        return one_block(table, Gaussian("diagonal"))

    def _table(self, X: Any) -> Table | Source:
        table = number_table(X)
        if isinstance(table, ArrayTable) and issparse(table.array) and not table.array.has_canonical_format:
            cells = table.array.copy()
            cells.sum_duplicates()  # squares need each cell once
            return ArrayTable(cells)
        return table

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_priors(None)
        super()._learn(X, y, sample_weight)

    def _keep(self, statistics: Any, X: Any, *, first: bool) -> None:
        super()._keep(statistics, X, first=first)
        if first:
            self._like = _example(X)

    def _estimate(self) -> JointModel:
        statistics = self.statistics_
        (moments,) = statistics.joint.blocks
        assert isinstance(moments, DiagonalMoments)
        prior = self._check_priors(len(self.classes_))
        if prior is None:
            prior = statistics.class_count / statistics.class_count.sum()
        self.epsilon_ = self.var_smoothing * moments.total_variance().max()
        mean, count = moments.mean, moments.count
        variance = np.divide(moments.scatter, count, out=np.zeros_like(mean), where=count > 0) + self.epsilon_
        self.theta_, self.var_ = in_kind(mean, self._like), in_kind(variance, self._like)
        self.class_count_ = in_kind(statistics.class_count.copy(), self._like)
        self.class_prior_ = in_kind(prior, self._like)
        # a column that is constant in a class, without smoothing: certain, rather than undefined
        positive = np.maximum(variance, np.finfo(np.float64).tiny)
        distributions = GaussianDistributions(Gaussian("diagonal"), mean, positive)
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
            logs[logs > -_FLOAT32_CERTAIN] = 0.0  # the logarithm of what predict_proba rounds to 1
        return self._answer(logs, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _example(X: Any) -> Any:
    """Return no rows of X: enough to remember its library, device and float type."""
    return X[:0] if hasattr(X, "dtype") and len(getattr(X, "shape", ())) == 2 and not issparse(X) else None


# -- discrete ---------------------------------------------------------------------------------------------------


class _Discrete(_NaiveBayes):
    """What the discrete classes share: additive smoothing and the prior of the classes."""

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


class _Counting(_Discrete):
    """The discrete classes whose statistics are one sum a class and column."""

    feature_count_: FloatArray

    def _sums(self) -> Sums:
        """Return the sums, and show them under scikit-learn's names."""
        (sums,) = self.statistics_.joint.blocks
        assert isinstance(sums, Sums)
        self.class_count_ = self.statistics_.class_count.copy()
        self.feature_count_ = sums.total
        return sums


class MultinomialNB(_Counting, DensityMixin, theirs.MultinomialNB):  # type: ignore[misc]
    """scikit-learn's `MultinomialNB`: rows are bags of counts, such as the words of a text.

    Beyond it: `score_samples` and `explain`, and `alpha=0` without NaN.

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
        distributions = MultinomialDistributions(_shares(sums.total + alpha), mean_size)
        return JointModel(self.statistics_.schema, self.class_log_prior_, (distributions,))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The logarithm of the probability of each column given the class, k×d."""
        return _fitted(self, "feature_log_prob_").natural_parameters()


class ComplementNB(_Counting, theirs.ComplementNB):  # type: ignore[misc]
    """scikit-learn's `ComplementNB`: each class scored by how unlike the rows are to all other classes.

    Beyond it: `explain`, and `alpha=0` without NaN.

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
        complement = _shares(self.feature_all_ + alpha - sums.total)
        weights = -np.log(np.maximum(complement, np.finfo(np.float64).tiny))
        if self.norm:
            weights = _shares(weights)
        distributions = ComplementDistributions(complement, np.ones(len(complement)), weights=weights)
        only = len(self.classes_) == 1
        log_prior = self.class_log_prior_ if only else np.zeros(len(self.classes_))
        return JointModel(self.statistics_.schema, log_prior, (distributions,))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The weight of each column for the class, k×d."""
        return np.asarray(_fitted(self, "feature_log_prob_").weights)


@dataclass(frozen=True, eq=False)
class ComplementDistributions(MultinomialDistributions):
    """Bags of the other classes, k×d; a class is scored by x·w, w being −log p or what `norm` makes of it."""

    weights: FloatArray = field(kw_only=True)

    @cached_property
    def _logs(self) -> LogParameters:
        return LogParameters(Factor(self.weights), None)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return x_j (w_aj − w_bj)."""
        dense = to_float64(x.toarray() if issparse(x) else x)
        return dense * (self.weights[a] - self.weights[b]), np.zeros(len(dense))


# -- Bernoulli --------------------------------------------------------------------------------------------------


class BernoulliNB(_Counting, DensityMixin, theirs.BernoulliNB):  # type: ignore[misc]
    """scikit-learn's `BernoulliNB`: each column yes or no, as it is above `binarize`.

    Beyond it: NaN is a missing cell, an `alpha` a column, `score_samples` and `explain`. With ``binarize=None``, cells
    that are neither 0 nor 1 are refused.

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
        probability = _ratio(sums.total + alpha, sums.count + 2.0 * np.asarray(alpha), 0.5)
        (block,) = self.statistics_.schema.blocks
        assert isinstance(block.family, Bernoulli)
        distributions = block.family.from_moments(probability)
        return JointModel(self.statistics_.schema, self.class_log_prior_, (distributions,))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The logarithm of the probability that a column is above the threshold given the class, k×d."""
        return log_of(_fitted(self, "feature_log_prob_").probability)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class Binarized(Bernoulli):
    """Whether numbers are above a threshold (not below 0): Bernoulli cells made of any numbers."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Sums:
        """Return the weight of the cells above the threshold, and of the cells that are there."""
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
        """Return which binarised cells are there; they are 0 and 1 otherwise."""
        if issparse(x):
            return None
        xp = namespace(x)
        return None if bool(xp.isfinite(xp.sum(x))) else ~xp.isnan(x)


@dataclass(frozen=True, eq=False)
class BinarizedDistributions(BernoulliDistributions):
    """Bernoulli columns, scored for numbers that are above a threshold or not."""

    family: Binarized = field(kw_only=True)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return Σ_j log p of whether the cells are above the threshold."""
        return super().score(self.family.above(x), common)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x_j | a) / p(x_j | b) of whether the cells are above the threshold."""
        return super().log_ratio(self.family.above(x), a, b)


# -- categorical ------------------------------------------------------------------------------------------------


class CategoricalNB(_Discrete, DensityMixin, theirs.CategoricalNB):  # type: ignore[misc]
    """scikit-learn's `CategoricalNB`: each column one of several values.

    Beyond it: words, pandas categories and mixed tables as they are; NaN is a missing cell; a value that training
    never saw gets the smoothed mass of a value without rows (and nothing with ``alpha=0``) where scikit-learn raises
    IndexError; `score_samples` and `explain`.

    Attributes
    ----------
    categories_ : list of arrays
        The values of each column, in the order of `category_count_`.

    Examples
    --------
    >>> from suffice.dropin import CategoricalNB
    >>> CategoricalNB().fit([["red"], ["red"], ["blue"]], [0, 0, 1]).predict([["blue"], ["green"]])
    array([1, 0])
    """

    min_categories: Any
    n_categories_: NDArray[np.int64]
    category_count_: list[FloatArray]
    categories_: list[NDArray[Any]]
    #: whether cells are the numbers of their categories, as scikit-learn has it
    _numbered: bool

    def _gather(self, X: Any, y: Any, sample_weight: Any, coder: LabelCoder, schema: Schema | None) -> ModelStatistics:
        if schema is None:
            self._numbered = _all_numbers(X)
        return super()._gather(X, y, sample_weight, coder, schema)

    def _table(self, X: Any) -> Table | Source:
        if isinstance(X, Source):
            return X
        if issparse(X):
            raise TypeError("Sparse data was passed for X, but dense data is required; use X.toarray().")
        table = as_table(X)
        if not self._numbered:
            return table
        cells = table.array if isinstance(table, ArrayTable) else table.numbers(range(table.n_columns))
        return CodeTable(to_numpy(cells), table.names)

    def _schema(self, table: Table) -> Schema:
        schema = one_block(table, Categorical())
        self._at_least(np.zeros(table.n_columns, dtype=np.int64))
        # of numbers, all below the largest are categories, seen or not
        categories = Categories((), declared=self._numbered)
        return schema.with_categories(dict.fromkeys(range(table.n_columns), categories))

    def _at_least(self, sizes: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many categories each column has, no fewer than `min_categories`."""
        if self.min_categories is None:
            return sizes.astype(np.int64)
        least = np.array(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim > 0 and least.shape != sizes.shape:
            raise ValueError(
                f"'min_categories' should have shape ({len(sizes)},) when an array-like is provided. Got "
                f"{least.shape} instead."
            )
        return np.maximum(sizes, least, dtype=np.int64)

    def _estimate(self) -> JointModel:
        statistics = self.statistics_
        (counts,) = statistics.joint.blocks
        assert isinstance(counts, CategoryCounts)
        alpha = self._check_alpha()
        sizes = self._at_least(counts.sizes)
        if not np.array_equal(sizes, counts.sizes):
            counts = counts.with_values([np.arange(size) for size in counts.sizes], sizes)
        columns = list(counts.columns())
        self.n_categories_ = sizes
        self.category_count_ = [counts.total[:, column] for column in columns]
        self.categories_ = [np.array(statistics.schema.categories[j].values) for j in range(len(columns))]
        self.class_count_ = statistics.class_count.copy()
        self.class_log_prior_ = self._class_log_prior()
        smoothed = counts.total + alpha
        probability, unseen_mass = np.empty_like(smoothed), np.zeros((len(smoothed), len(columns)))
        for j, column in enumerate(columns):
            mass = smoothed[:, column].sum(axis=1)
            probability[:, column] = _shares(smoothed[:, column])
            np.divide(alpha, mass, out=unseen_mass[:, j], where=mass > 0)
        distributions = CategoricalDistributions(probability, sizes, unseen_mass, Categorical().of_sizes(sizes))
        return JointModel(statistics.schema, self.class_log_prior_, (distributions,))

    @property
    def feature_log_prob_(self) -> list[FloatArray]:
        """The logarithm of the probability of each value given the class, for each column k×values."""
        logs = _fitted(self, "feature_log_prob_").natural_parameters()
        return np.split(logs, np.cumsum(self.n_categories_)[:-1], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class CodeTable(ArrayTable):
    """Numbers that are the numbers of their categories, whole ones being made of others; NaN is a missing cell."""

    def rows(self, start: int, stop: int) -> CodeTable:
        """Return a view of some of the rows."""
        return CodeTable(self.array[start:stop], self.names)

    def raw_codes(self, columns: Sequence[int]) -> NDArray[Any]:
        """Return the cells as codes, without a copy where they are; negative and infinite ones are refused."""
        try:
            return self._codes()
        except InvalidCellError as error:
            raise error.named(columns, self.labels).below(self.offset) from None

    def _codes(self) -> NDArray[Any]:
        cells = self.array
        missing = None
        if cells.dtype.kind == "f":
            observed = observed_cells(cells)
            if observed is not None:
                missing, cells = ~observed, without_holes(cells, observed)
        codes = cells if cells.dtype in (np.int64, np.int32) else cells.astype(np.int64)
        if codes.min() < 0:
            raise invalid_cell(
                codes,
                codes < 0,
                "the number of a category must not be negative",
                "number the categories from 0, for example with OrdinalEncoder, or pass them as words",
            )
        return codes if missing is None else np.where(missing, MISSING, codes)


def _all_numbers(X: Any) -> bool:
    """Whether all columns of a table hold numbers, so that they are numbers of categories."""
    if isinstance(X, Source):
        return False
    table = as_table(X)
    try:
        return all(table.kind(column) is not Kind.CATEGORY for column in range(table.n_columns))
    except ValueError:  # numbers beside words: all of them are values
        return False


def _fitted(estimator: Any, attribute: str) -> Any:
    """Return the distributions of a fitted model; before, the attribute is not there."""
    model = getattr(estimator, "_model", None)
    if model is None:
        raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {attribute!r} before it is fitted")
    return model.distributions[0]


def _shares(weights: FloatArray) -> FloatArray:
    """Return each row in proportion to its sum; equal shares where a row has nothing."""
    return _ratio(weights, weights.sum(axis=1, keepdims=True), 1.0 / max(weights.shape[1], 1))


def _ratio(part: FloatArray, whole: FloatArray, otherwise: float) -> FloatArray:
    """Return part / whole, and something else where the whole is nothing."""
    if (whole > 0).all():
        return np.asarray(part / whole)
    return np.divide(part, whole, out=np.full(part.shape, otherwise), where=whole > 0)
