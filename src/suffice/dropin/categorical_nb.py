"""scikit-learn's `CategoricalNB`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn.naive_bayes as theirs
from numpy.typing import NDArray

from suffice._arrays import FloatArray, issparse, to_numpy
from suffice.dropin._common import (
    DensityMixin,
    documented,
    one_block,
)
from suffice.dropin._naive_bayes import Discrete, fitted
from suffice.errors import InvalidCellError
from suffice.families import Categorical
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.families.cells import invalid_cell, missing_as_zero, observed_cells
from suffice.models.joint import JointModel
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Categories, Schema
from suffice.statistics.category_counts import CategoryCounts
from suffice.tables.arrays import ArrayTable
from suffice.tables.conversion import as_table
from suffice.tables.factorize import MISSING
from suffice.tables.labels import LabelCoder
from suffice.tables.sources import Source
from suffice.tables.table import Table


@documented
class CategoricalNB(Discrete, DensityMixin, theirs.CategoricalNB):  # type: ignore[misc]
    """scikit-learn's `CategoricalNB`: each column is categorical.

    Beyond it: strings, pandas categories and mixed tables need no encoding; NaN is a missing cell; a value that was not
    in training gets the smoothed probability of a value without rows (0 with ``alpha=0``), where scikit-learn raises
    IndexError; `score_samples` and `explain`.

    Parameters
    ----------
    {parameters}

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
    #: whether the cells are category codes, as in scikit-learn
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
        # for codes, every number below the largest is a category, whether seen or not
        categories = Categories((), declared=self._numbered)
        return schema.with_categories(dict.fromkeys(range(table.n_columns), categories))

    def _at_least(self, sizes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of categories of each column, at least `min_categories`."""
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
        distributions = CategoricalDistributions.of_weights(Categorical(), sizes, counts.total + alpha, alpha)
        return JointModel(statistics.schema, self.class_log_prior_, (distributions,))

    @property
    def feature_log_prob_(self) -> list[FloatArray]:
        """The logarithm of the probability of each value given the class: one k×values array per column."""
        logs = fitted(self, "feature_log_prob_").natural_parameters()
        return np.split(logs, np.cumsum(self.n_categories_)[:-1], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class CodeTable(ArrayTable):
    """A table of category codes; other numbers are truncated to integers, and NaN is a missing cell."""

    def rows(self, start: int, stop: int) -> CodeTable:
        """Return a view of some of the rows."""
        return CodeTable(self.array[start:stop], self.names)

    def raw_codes(self, columns: Sequence[int]) -> NDArray[Any]:
        """Return the cells as codes, without a copy if they are integers; raise if one is negative or infinite."""
        try:
            return self._codes()
        except InvalidCellError as error:
            raise error.named(columns, self.column_labels).below(self.offset) from None

    def _codes(self) -> NDArray[Any]:
        cells = self.array
        missing = None
        if cells.dtype.kind == "f":
            observed = observed_cells(cells)
            if observed is not None:
                missing, cells = ~observed, missing_as_zero(cells, observed)
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
    """Return whether all columns of a table hold numbers, which are then read as category codes."""
    if isinstance(X, Source):
        return False
    table = as_table(X)
    try:
        return all(not table.kind(column).of_words for column in range(table.n_columns))
    except ValueError:  # a column mixes numbers and strings: read all columns as values
        return False
