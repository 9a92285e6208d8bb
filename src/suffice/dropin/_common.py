"""The common base of the drop-in classes: fits in one pass, scores by a joint model, scikit-learn's error messages."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import cleandoc
from textwrap import indent
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from suffice._arrays import FloatArray, as_like, on_device_of, to_numpy
from suffice.engines.base import Chunk
from suffice.errors import InvalidCellError
from suffice.families import Family
from suffice.models import impossible, passes
from suffice.models.explanations import Explanation, compared_classes
from suffice.models.joint import (
    ClassPairs,
    JointModel,
    log_evidence,
    log_joint_scores,
    log_odds_terms,
    log_posterior,
    most_probable,
    posterior,
)
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Block, Schema
from suffice.tables.arrays import ArrayTable
from suffice.tables.columns import ObjectTable
from suffice.tables.conversion import as_table
from suffice.tables.labels import LabelCoder
from suffice.tables.sources import Source
from suffice.tables.table import Table

Class = TypeVar("Class")


def documented(cls: type[Class]) -> type[Class]:
    """Put the documentation of scikit-learn's parameters, of the installed version, into the docstring of its class."""
    theirs = next(base for base in cls.__mro__[1:] if base.__name__ == cls.__name__)
    section = re.search(r"Parameters\n-+\n(.*?)\n\n\w+\n---", cleandoc(theirs.__doc__ or ""), flags=re.S)
    if cls.__doc__ and section:
        cls.__doc__ = cls.__doc__.replace("    {parameters}", indent(section.group(1), "    "))
    return cls


class ListedClasses(LabelCoder):
    """Classes as in scikit-learn: those listed or seen are kept even if the weights of their rows are 0."""

    @property
    def declared(self) -> bool:
        """True: no class is ever dropped."""
        return True

    def _number(self, value: Any, codes: NDArray[np.intp], place: int, start: int) -> int:
        if self._declared and value not in self._numbers:
            raise ValueError(
                f"The target label(s) [{value!r}] in y do not exist in the initial classes {self.classes()}; list all "
                f"classes at the first call of partial_fit"
            )
        return super()._number(value, codes, place, start)


def class_scores(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: log p(c) + log p(x | c) without terms common to all classes, n×k: scikit-learn's joint log-likelihood."""
    return log_joint_scores(chunk, model, common=False)


def narrowed(chunk: Chunk, params: tuple[Any, Any]) -> NDArray[Any]:
    """Kernel: the result of another kernel, in float32."""
    kernel, inner = params
    return np.asarray(kernel(chunk, inner).astype(np.float32))


def _number_table(X: Any) -> Table | Source:
    """Return rows of numbers; objects are converted here, so that a non-numeric value raises NumPy's error."""
    if isinstance(X, Source):
        return X
    table = as_table(X)
    return ArrayTable(table.array.astype(np.float64)) if isinstance(table, ObjectTable) else table


def one_block(table: Table, family: Family) -> Schema:
    """Return the schema of a table with one family for all columns."""
    if table.n_columns == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required.")
    return Schema(table.names, table.n_columns, (Block(family, tuple(range(table.n_columns))),), {}, table.library)


def _check_names(estimator: Any, X: Any) -> None:
    """Compare the column names with those of training, as scikit-learn does; skip arrays, which have none."""
    if isinstance(X, Source) or (isinstance(X, np.ndarray) and not hasattr(estimator, "feature_names_in_")):
        return
    _check_feature_names(estimator, X, reset=False)


def in_their_words(error: InvalidCellError, estimator: str) -> ValueError:
    """Return the error with scikit-learn's message for it in front."""
    found = float(error.found) if isinstance(error.found, (int, float, np.number)) else 0.0
    if np.isnan(found):
        return ValueError(f"Input X contains NaN.\n{estimator} does not accept missing values here: {error}")
    if np.isinf(found):
        return ValueError(f"Input X contains infinity or a value too large for dtype('float64'): {error}")
    if found < 0 and "negative" in error.requirement:
        return ValueError(f"Negative values in data passed to {estimator} (input X): {error}")
    return error


def log_shares(prior: Any) -> FloatArray:
    """Return log p with log 0 = −∞ and no warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.asarray(prior, dtype=np.float64)))


class GenerativeMixin(ABC):
    """Prediction and explanation by a joint model p(x, y), which `_estimate` makes from the statistics."""

    classes_: NDArray[Any]
    #: the estimated model; None if the last estimate failed
    _model: JointModel | None

    @abstractmethod
    def _estimate(self) -> JointModel:
        """Return the estimated model, and set scikit-learn's attributes."""

    def _table(self, X: Any) -> Table | Source:
        """Return X as a table or source for the model's families."""
        return _number_table(X)

    def _answer(self, values: NDArray[Any], X: Any) -> Any:
        """Return a result in the array library and float type that scikit-learn would return for X."""
        return values

    def _joint(self) -> JointModel:
        model = getattr(self, "_model", None)
        if model is None:
            check_is_fitted(self)
            model = self._model = self._estimate()
        return model

    def _score(self, kernel: Any, X: Any, params: Any = None) -> NDArray[Any]:
        model = self._joint()
        name = type(self).__name__
        _check_names(self, X)
        try:
            return impossible.score(self._table(X), model, kernel, params, estimator=name)
        except InvalidCellError as error:
            raise in_their_words(error, name) from None

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        numbers = self._score(most_probable, X)
        return self._answer(self.classes_[numbers], X)

    def predict_proba(self, X: Any) -> Any:
        """Return p(c | x), n×k, columns in the order of `classes_`.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._answer(self._score(posterior, X), X)

    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(c | x), n×k.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._answer(self._score(log_posterior, X), X)

    def explain(self, X: Any, target: Any = None, against: Any = None) -> Explanation:
        """Return the contribution of each column to the log-odds of one class against another, for each row.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        target : class label or one per row, optional
            The class to explain; the most probable one by default.
        against : class label or one per row, optional
            The class to compare with; the most probable other one by default.
        """
        chosen, other = compared_classes(self._score(log_posterior, X), self.classes_, target, against)
        model = self._joint()
        split = self._score(log_odds_terms, X, ClassPairs(model, chosen, other))
        columns = list(model.schema.column_labels)
        return Explanation(columns, split[:, 1:], split[:, 0], self.classes_[chosen], self.classes_[other])


class DensityMixin(GenerativeMixin):
    """A joint model whose densities p(x) are meaningful, with `score_samples`."""

    def score_samples(self, X: Any) -> Any:
        """Return log p(x) of each row, (n,): small for outliers.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows, with the columns of training.
        """
        return self._answer(self._score(log_evidence, X), X)


class StatisticsMixin(GenerativeMixin):
    """Learning in one pass over the rows, into statistics that later calls add to.

    The statistics are raw sums: `partial_fit` over any batches gives the result of `fit` on all rows together.

    Attributes
    ----------
    statistics_ : ModelStatistics
        The only thing kept of the training rows.
    """

    statistics_: ModelStatistics
    n_features_in_: int

    @abstractmethod
    def _schema(self, table: Table) -> Schema:
        """Return which family reads which columns."""

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Replace the statistics by those of the rows."""
        self._keep(self._gather(X, y, sample_weight, ListedClasses(), None), X, first=True)

    def _learn_more(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        """Add the statistics of the rows to the earlier ones."""
        known = getattr(self, "statistics_", None)
        listed = None if classes is None else unique_labels(classes)
        if known is None:
            if listed is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            coder = ListedClasses(listed, declared=True)
            self._keep(self._gather(X, y, sample_weight, coder, None), X, first=True)
            return
        if listed is not None and not np.array_equal(known.classes, listed):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known.classes!r}"
            )
        _check_names(self, X)
        coder = ListedClasses(known.classes, declared=True)
        if sample_weight is not None and not np.any(to_numpy(sample_weight)):
            return  # rows of weight 0 add nothing
        self._keep(known + self._gather(X, y, sample_weight, coder, known.schema), X, first=False)

    def _gather(self, X: Any, y: Any, sample_weight: Any, coder: LabelCoder, schema: Schema | None) -> ModelStatistics:
        """Return the statistics of the rows, with the given schema or the one of the first table."""
        return self._gathered(X, y, sample_weight, coder, self._schema if schema is None else lambda _: schema)

    def _gathered(
        self, X: Any, y: Any, sample_weight: Any, coder: LabelCoder, first_schema: Callable[[Table], Schema]
    ) -> ModelStatistics:
        known: list[Schema] = []
        name = type(self).__name__

        def schema_of(table: Table) -> Schema:
            if not known:
                known.append(first_schema(table))
            known[0].check(table, name)
            return known[0]

        try:
            return passes.gather(self._table(X), y, sample_weight, schema_of=schema_of, coder=coder)
        except InvalidCellError as error:
            raise in_their_words(error, name) from None

    def _keep(self, statistics: ModelStatistics, X: Any, *, first: bool) -> None:
        self._model = None
        self.statistics_ = statistics
        self.classes_ = statistics.classes.copy()
        self.n_features_in_ = statistics.schema.n_columns
        if first:
            self.__dict__.pop("feature_names_in_", None)
            if statistics.schema.names is not None:
                self.feature_names_in_ = np.array(statistics.schema.names, dtype=object)


def in_kind(values: NDArray[Any], X: Any) -> Any:
    """Return a result in the float type of X and, if scikit-learn dispatches on array libraries, in its library."""
    dtype = getattr(X, "dtype", None)
    if values.dtype.kind == "f" and dtype == np.float32:
        return values.astype(np.float32, copy=False)
    if isinstance(X, np.ndarray) or dtype is None:
        return values
    if not hasattr(X, "device") or values.dtype.kind not in "fiub":
        return values
    from sklearn import get_config

    if not get_config()["array_api_dispatch"]:
        return values
    return as_like(values, X) if values.dtype.kind == "f" else on_device_of(values, X)
