"""Labels and weights: from the user's y and sample_weight to responsibilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, as_doubles, issparse, to_numpy
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels
from suffice.tables.arrays import ArrayTable
from suffice.tables.conversion import as_table
from suffice.tables.factorize import Factorized, NestedCellError, factorize, factorize_series, shown
from suffice.tables.frames import FrameTable

#: default of `missing_label`: missing labels are an error
REFUSED = object()


class LabelCoder:
    """A coder that numbers the classes in the order in which they occur, and turns labels into responsibilities.

    Parameters
    ----------
    classes : sequence or None
        The classes known so far, in the order of their numbers.
    declared : bool
        Whether no other classes may occur, as when the user listed them.
    missing_label : label, None or "auto"
        What marks a row without a label, besides None and NaN: a label; nothing else (None); or −1 among integers with
        at least two other values ("auto"). By default missing labels are an error.
    again : bool
        Whether these rows were read before, and found to have these classes: a row with another label then has no
        weight, and its class does not matter.
    """

    def __init__(
        self,
        classes: Sequence[Any] | NDArray[Any] | None = None,
        *,
        declared: bool = False,
        missing_label: Any = REFUSED,
        again: bool = False,
    ) -> None:
        known = () if classes is None else class_list(as_objects_if_mixed(classes))
        self._numbers: dict[Any, int] = {value: number for number, value in enumerate(known)}
        self._declared = declared
        self._missing_label = missing_label
        self._again = again
        #: rows seen so far, how many of them had no label, and how many of these had a label that marks it as missing
        self.n_rows = 0
        self.n_missing = 0
        self.n_marked = 0
        #: whether the last labels were categories with an order of their own, which is that of the numbers then
        self.categorical = False
        self._dtype: np.dtype[Any] | None = None if classes is None else as_objects_if_mixed(classes).dtype

    @property
    def needs_labels(self) -> bool:
        """Whether a table without any labels is an error: it is not if the user has listed the classes."""
        return self._missing_label is REFUSED or not self._declared

    def encode(self, y: Any, sample_weight: Any, n_rows: int, start: int = 0) -> Responsibilities:
        """Return the responsibilities; errors name the row. Rows without a label get weight 0."""
        weight = check_weight(sample_weight, n_rows, start)
        self.n_rows += n_rows
        soft = _soft_labels(y)
        if soft is not None:
            matrix = np.nan_to_num(self._soft(*soft, n_rows, start))
            return SoftLabels(matrix if weight is None else matrix * weight[:, None])
        codes = self._codes(y, n_rows, start)
        missing = codes < 0 if n_rows and codes.min() < 0 else None
        if missing is not None:
            self.n_missing += int(missing.sum())
            codes = np.where(missing, 0, codes)
            weight = np.where(missing, 0.0, 1.0 if weight is None else weight)
        return Labels(codes, weight, max(len(self._numbers), 1))

    def partial(
        self, y: Any, sample_weight: Any, n_rows: int, start: int = 0, *, unlabeled_weight: float = 1.0
    ) -> PartialLabels:
        """Return the known classes of the rows; rows without a label count `unlabeled_weight` times."""
        weight = check_weight(sample_weight, n_rows, start)
        soft = _soft_labels(y)
        given = None if soft is None else self._soft(*soft, n_rows, start)
        codes = None if given is not None else self._codes(y, n_rows, start)
        if unlabeled_weight != 1.0:
            missing = np.isnan(given[:, 0]) if given is not None else codes < 0  # type: ignore[operator]
            weight = np.where(missing, unlabeled_weight, 1.0) * (1.0 if weight is None else weight)
        return PartialLabels(codes, weight, len(self._numbers), n_rows, given)

    def _codes(self, y: Any, n_rows: int, start: int) -> NDArray[np.intp]:
        """Return the number of each row's class, −1 if it is missing."""
        if y is None and not self.needs_labels:
            return np.full(n_rows, -1, dtype=np.intp)
        series = _as_series(y)
        try:
            if series is not None:
                found, n_labels = factorize_series(series), len(series)
                self._remember(np.dtype(object) if found.values and isinstance(found.values[0], str) else None)
            else:
                labels = _one_dimensional(y)
                found, n_labels = factorize(labels), len(labels)
                self._remember(labels.dtype)
        except NestedCellError as error:
            raise ValueError(
                f"labels must be words, booleans or whole numbers, but y holds {shown(error.cell)}, in row "
                f"{start + error.row}; pass one label per row"
            ) from None
        _require_classes(found.values)
        self.categorical = found.declared
        if n_labels != n_rows:
            raise ValueError(f"there must be one label per row, but X has {n_rows} rows and y has {n_labels} labels")
        if self._missing_label is REFUSED and n_rows and found.codes.min() < 0:
            unlabelled = np.flatnonzero(found.codes < 0)
            raise ValueError(
                f"every row needs a label, but y is missing (NaN or None) in {len(unlabelled)} of {n_rows} rows "
                f"(first: row {start + int(unlabelled[0])}); drop these rows"
            )
        counts = np.bincount(found.codes, minlength=len(found.values)) if found.declared else np.ones(len(found.values))
        absent = self._missing_value(found)
        numbers = [
            self._number(value, found.codes, i, start) if counts[i] and i != absent else -1
            for i, value in enumerate(found.values)
        ]
        if numbers == list(range(len(numbers))):
            return found.codes
        return np.array([*numbers, -1], dtype=np.intp)[found.codes]  # the code −1 selects the last entry

    def _missing_value(self, found: Factorized) -> int | None:
        """Return the position of the value that marks a missing label; None if there is none."""
        label = self._missing_label
        if label is REFUSED or label is None:
            return None
        if self._automatic:
            others = {value for value in (*found.values, *self._numbers) if value != -1}
            label = -1
            if len(others) < 2 or -1 in self._numbers or not _all_numbers(found.values):
                return None
        if label not in found.values:
            return None
        place = found.values.index(label)
        self.n_marked += int((found.codes == place).sum())
        return place

    @property
    def _automatic(self) -> bool:
        return isinstance(self._missing_label, str) and self._missing_label == "auto"

    @property
    def marked_late(self) -> bool:
        """Whether −1 was read as a class before batches with other labels showed that it marks missing labels."""
        late = self._automatic and not self._declared and -1 in self._numbers and len(self._numbers) > 2
        return late and _all_numbers(self._numbers)

    def _number(self, value: Any, codes: NDArray[np.intp], place: int, start: int) -> int:
        number = self._numbers.get(value)
        if number is None:
            if self._again:
                return 0
            if self._declared:
                row = start + int(np.flatnonzero(codes == place)[0])
                raise ValueError(
                    f"y holds the label {value!r} in row {row}, which is not among the classes "
                    f"{_shown(list(self._numbers))}; list it in classes= at the first call of partial_fit"
                )
            number = self._numbers.setdefault(value, len(self._numbers))
        return number

    def _soft(self, matrix: FloatArray, names: Sequence[Any] | None, n_rows: int, start: int) -> FloatArray:
        """Return class probabilities in the order of the classes; a row of NaN is a missing label."""
        if len(matrix) != n_rows:
            raise ValueError(f"there must be one label per row, but X has {n_rows} rows and y has {len(matrix)} rows")
        missing = np.isnan(matrix).all(1) & (self._missing_label is not REFUSED)
        self.n_missing += int(missing.sum())
        with np.errstate(invalid="ignore"):
            bad = ~(np.isfinite(matrix) & (matrix >= 0)).all(1)
            bad |= ~np.isclose(matrix.sum(1), 1.0, atol=1e-6)
        bad &= ~missing
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"soft labels must be probabilities that sum to 1 in every row, but row {start + row} of y is "
                f"{_shown(matrix[row].tolist())}; normalise it, or pass one label per row if these are labels"
            )
        columns = list(range(matrix.shape[1])) if names is None else list(names)
        self._remember(None if names is None else np.dtype(object))
        if not self._numbers:
            self._numbers = {value: number for number, value in enumerate(columns)}
            self._declared = True
        if set(columns) != set(self._numbers):
            raise ValueError(
                f"soft labels must have one column per class, but the columns are {_shown(columns)} and the classes "
                f"{_shown(list(self._numbers))}"
            )
        ordered = np.empty_like(matrix)
        ordered[:, [self._numbers[value] for value in columns]] = matrix
        return ordered

    def _remember(self, dtype: np.dtype[Any] | None) -> None:
        if dtype is not None and (self._dtype is None or self._dtype.kind == dtype.kind):
            self._dtype = dtype

    @property
    def declared(self) -> bool:
        """Whether the classes were listed rather than found in the labels."""
        return self._declared

    def classes(self) -> NDArray[Any]:
        """Return the classes in the order of their numbers."""
        return as_class_array(list(self._numbers), self._dtype)


def _all_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


class NoLabels(LabelCoder):
    """The coder of models without classes: all rows belong to one class."""

    def __init__(self) -> None:
        super().__init__(np.zeros(1, dtype=np.intp), declared=True, missing_label=None)

    def encode(self, y: Any, sample_weight: Any, n_rows: int, start: int = 0) -> Labels:
        """Return the weights of the rows."""
        self.n_rows += n_rows
        return Labels(np.zeros(n_rows, dtype=np.intp), check_weight(sample_weight, n_rows, start), 1)


def as_class_array(values: Sequence[Any], dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Return class labels as an array that gives each of them back unchanged."""
    if dtype is not None and dtype.kind in "biufmM":
        return np.array(values, dtype=dtype)
    if dtype is not None and dtype.kind in "US":
        return np.array(values)
    if dtype is None and values and len({type(value) for value in values}) == 1 and not isinstance(values[0], str):
        array = np.array(values)
        if array.ndim == 1 and array.dtype.kind in "biuf":
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def sorted_order(values: Sequence[Any]) -> list[int]:
    """Return the order of class labels: sorted, or by type and text if they cannot be compared."""
    try:
        return sorted(range(len(values)), key=lambda i: values[i])
    except TypeError:
        return sorted(range(len(values)), key=lambda i: (type(values[i]).__name__, str(values[i])))


def as_column(values: Any) -> NDArray[Any]:
    """Return a column of any library, or a data frame of one column, as a NumPy array of one dimension.

    Arrays keep their dimensions.
    """
    series = _as_series(values)
    return to_numpy(values if series is None else series.to_numpy())


def check_weight(sample_weight: Any, n_rows: int, start: int = 0) -> FloatArray | None:
    """Return the weights as contiguous floats; raise ValueError naming the first invalid one."""
    if sample_weight is None:
        return None
    try:
        weight = as_doubles(as_column(sample_weight))
    except (TypeError, ValueError) as error:
        found = f"it is {sample_weight!r}" if isinstance(sample_weight, str) else f"holds something else ({error})"
        raise ValueError(f"sample_weight needs one number per row, but {found}; pass an array of numbers") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight needs one number per row, but X has {n_rows} rows and sample_weight has shape "
            f"{weight.shape}"
        )
    bad = ~(weight >= 0) | np.isinf(weight)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"weights must be finite and not negative, but sample_weight is {weight[row]:g} in row {start + row}; "
            f"to take rows out of a model, subtract their statistics"
        )
    return weight


def row_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Return the weight of each row, 1 if none are given."""
    weight = check_weight(sample_weight, n_rows)
    return np.ones(n_rows) if weight is None else weight


def _soft_labels(y: Any) -> tuple[FloatArray, Sequence[Any] | None] | None:
    """Return the matrix of probabilities and its class names; None if y is not such a matrix."""
    if issparse(y):
        raise ValueError("labels must be dense, but y is a sparse array; pass y.toarray().ravel()")
    if y is None or (isinstance(y, (list, tuple)) and (not y or not isinstance(y[0], (list, tuple, np.ndarray)))):
        return None
    if not isinstance(y, (list, tuple)) and len(getattr(y, "shape", ())) != 2:
        return None
    try:
        table = as_table(y)
    except ValueError as error:
        raise ValueError(f"y must hold one label per row, or one probability for each class: {error}") from error
    if table.n_columns < 2:
        return None
    if not isinstance(table, ArrayTable):
        words = next((column for column in range(table.n_columns) if table.kind(column).of_words), None)
        if words is not None:
            raise ValueError(
                f"y must hold one label per row, or one probability for each class, but it has {table.n_columns} "
                f"columns and holds words in column {table.label(words)!r} of y; pass one of the columns as y"
            )
    matrix = as_doubles(table.numbers(range(table.n_columns))[:])
    return matrix, table.column_labels if isinstance(table, FrameTable) else None


def _as_series(values: Any) -> Any:
    """Return a narwhals series if `values` is a series or a data frame of one column; else None."""
    if isinstance(values, (np.ndarray, list, tuple)):
        return None
    import narwhals.stable.v2 as nw

    if hasattr(values, "categories") and hasattr(values, "codes"):  # a Categorical of pandas is no Series
        import pandas as pd

        values = pd.Series(values)
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return native
    if isinstance(native, nw.DataFrame) and native.shape[1] == 1:
        return native[:, 0]
    return None


def _one_dimensional(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("a classifier requires y to be passed, but the target y is None; pass one label per row")
    labels = as_objects_if_mixed(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it was read as one label per row. "
            "Pass y.ravel() to avoid this warning.",
            DataConversionWarning,
            stacklevel=2,
        )
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(
            f"y should be a 1d array of labels, or one column of probabilities per class, not of shape {labels.shape}"
        )
    return labels


def _require_classes(values: Sequence[Any]) -> None:
    """Raise ValueError if the target is clearly continuous."""
    for value in values:
        if isinstance(value, complex):
            raise ValueError("Complex data not supported: labels must be words, booleans or whole numbers")
        if isinstance(value, float):
            if np.isinf(value):
                raise ValueError("labels must not be infinite, but y holds infinity; clean it")
            if value != np.floor(value):
                raise ValueError(
                    f"Unknown label type: continuous. Labels must be classes, but y holds {value:g}; bin it, or use a "
                    f"regression model"
                )


def as_objects_if_mixed(values: Any) -> NDArray[Any]:
    """Return values as an array that changes none of them: numbers among words stay numbers."""
    array = to_numpy(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray) and not all(isinstance(v, str) for v in values):
        array = np.asarray(values, dtype=object)
    return array


def class_list(values: NDArray[Any]) -> list[Any]:
    """Return class labels as a list of values that hash and compare; datetimes stay datetimes."""
    return list(values) if values.dtype.kind in "mM" else list(values.tolist())


def _shown(values: Sequence[Any], most: int = 6) -> str:
    text = ", ".join(f"{value:g}" if isinstance(value, float) else repr(value) for value in values[:most])
    return f"[{text}{', …' if len(values) > most else ''}]"
