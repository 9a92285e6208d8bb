"""Labels and weights: from what the user gives as y and sample_weight to responsibilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.factorize import factorize, factorize_series
from suffice.responsibilities import Labels, Responsibilities, SoftLabels
from suffice.tables import FrameTable, as_table


class LabelCoder:
    """Numbers the classes as they come, and turns labels into responsibilities.

    Parameters
    ----------
    classes : sequence or None
        The classes known so far, in the order of their numbers.
    declared : bool
        Whether they are all there may be, as when the user listed them.
    """

    def __init__(self, classes: Sequence[Any] | NDArray[Any] | None = None, *, declared: bool = False) -> None:
        known = () if classes is None else class_list(as_objects_if_mixed(classes))
        self._numbers: dict[Any, int] = {value: number for number, value in enumerate(known)}
        self._declared = declared
        #: rows seen so far
        self.n_rows = 0
        self._dtype: np.dtype[Any] | None = None if classes is None else as_objects_if_mixed(classes).dtype

    def encode(self, y: Any, sample_weight: Any, n_rows: int, start: int = 0) -> Responsibilities:
        """Return who belongs to which class; every complaint names the row."""
        weight = check_weight(sample_weight, n_rows, start)
        self.n_rows += n_rows
        soft = _soft_labels(y)
        if soft is not None:
            return self._encode_soft(*soft, weight, n_rows, start)
        series = _as_series(y)
        if series is not None:
            found, n_labels = factorize_series(series), len(series)
            self._remember(np.dtype(object) if found.values and isinstance(found.values[0], str) else None)
        else:
            labels = _one_dimensional(y)
            found, n_labels = factorize(labels), len(labels)
            self._remember(labels.dtype)
        _require_classes(found.values)
        if n_labels != n_rows:
            raise ValueError(f"there must be one label a row, but X has {n_rows} rows and y has {n_labels} labels")
        if n_rows and found.codes.min() < 0:
            holes = np.flatnonzero(found.codes < 0)
            raise ValueError(
                f"every row needs a label, but y is missing (NaN or None) in {len(holes)} of {n_rows} rows (first: row "
                f"{start + int(holes[0])}); drop these rows"
            )
        counts = np.bincount(found.codes, minlength=len(found.values)) if found.declared else np.ones(len(found.values))
        numbers = [
            self._number(value, found.codes, i, start) if counts[i] else -1 for i, value in enumerate(found.values)
        ]
        in_order = numbers == list(range(len(numbers)))
        codes = found.codes if in_order else np.array(numbers, dtype=np.intp)[found.codes]
        return Labels(codes, weight, len(self._numbers))

    def _number(self, value: Any, codes: NDArray[np.intp], place: int, start: int) -> int:
        number = self._numbers.get(value)
        if number is None:
            if self._declared:
                row = start + int(np.flatnonzero(codes == place)[0])
                raise ValueError(
                    f"y holds the label {value!r} in row {row}, which is not among the classes "
                    f"{_shown(list(self._numbers))}; list it in classes= at the first call of partial_fit"
                )
            number = self._numbers.setdefault(value, len(self._numbers))
        return number

    def _encode_soft(
        self,
        matrix: FloatArray,
        names: Sequence[Any] | None,
        weight: FloatArray | None,
        n_rows: int,
        start: int,
    ) -> SoftLabels:
        if len(matrix) != n_rows:
            raise ValueError(f"there must be one label a row, but X has {n_rows} rows and y has {len(matrix)} rows")
        bad = ~(np.isfinite(matrix) & (matrix >= 0)).all(1)
        bad |= ~np.isclose(matrix.sum(1), 1.0, atol=1e-6)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"soft labels must be probabilities that sum to 1 in every row, but row {start + row} is "
                f"{_shown(matrix[row].tolist())}; normalise it"
            )
        columns = list(range(matrix.shape[1])) if names is None else list(names)
        self._remember(None if names is None else np.dtype(object))
        if not self._numbers:
            self._numbers = {value: number for number, value in enumerate(columns)}
            self._declared = True
        if set(columns) != set(self._numbers):
            raise ValueError(
                f"soft labels must have one column a class, but the columns are {_shown(columns)} and the classes "
                f"{_shown(list(self._numbers))}"
            )
        ordered = np.empty_like(matrix)
        ordered[:, [self._numbers[value] for value in columns]] = matrix
        return SoftLabels(ordered if weight is None else ordered * weight[:, None])

    def _remember(self, dtype: np.dtype[Any] | None) -> None:
        if dtype is not None and (self._dtype is None or self._dtype.kind == dtype.kind):
            self._dtype = dtype

    @property
    def declared(self) -> bool:
        """Whether the classes were listed rather than met."""
        return self._declared

    def classes(self) -> NDArray[Any]:
        """Return the classes in the order of their numbers."""
        return as_class_array(list(self._numbers), self._dtype)


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
    """Return the order of class labels: sorted, and by type and text where they do not compare."""
    try:
        return sorted(range(len(values)), key=lambda i: values[i])
    except TypeError:
        return sorted(range(len(values)), key=lambda i: (type(values[i]).__name__, str(values[i])))


def check_weight(sample_weight: Any, n_rows: int, start: int = 0) -> FloatArray | None:
    """Return the weights as floats, or say which one cannot be."""
    if sample_weight is None:
        return None
    series = _as_series(sample_weight)
    values = series.to_numpy() if series is not None else sample_weight
    weight = np.asarray(values, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight needs one number a row, but X has {n_rows} rows and sample_weight has shape {weight.shape}"
        )
    bad = ~(weight >= 0) | np.isinf(weight)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"weights must be finite and not negative, but sample_weight is {weight[row]:g} in row {start + row}; "
            f"to take rows out of a model, subtract their statistics"
        )
    return weight


def _soft_labels(y: Any) -> tuple[FloatArray, Sequence[Any] | None] | None:
    """Return the matrix of probabilities and its class names, if y is one."""
    if y is None or (isinstance(y, (list, tuple)) and (not y or not isinstance(y[0], (list, tuple, np.ndarray)))):
        return None
    if not isinstance(y, (list, tuple)) and len(getattr(y, "shape", ())) != 2:
        return None
    table = as_table(y)
    if table.n_columns < 2:
        return None
    matrix = np.asarray(table.numbers(range(table.n_columns))[:], dtype=np.float64)
    return matrix, table.labels if isinstance(table, FrameTable) else None


def _as_series(values: Any) -> Any:
    """Return a narwhals series if that is what it is (or a data frame of one column)."""
    if isinstance(values, (np.ndarray, list, tuple)):
        return None
    import narwhals.stable.v2 as nw

    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return native
    if isinstance(native, nw.DataFrame) and native.shape[1] == 1:
        return native[:, 0]
    return None


def _one_dimensional(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("a classifier requires y to be passed, but the target y is None; pass one label a row")
    labels = as_objects_if_mixed(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        import warnings

        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it was read as one label a row. "
            "Pass y.ravel() to say so.",
            DataConversionWarning,
            stacklevel=2,
        )
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(
            f"y should be a 1d array of labels, or one column of probabilities a class, not of shape {labels.shape}"
        )
    return labels


def _require_classes(values: Sequence[Any]) -> None:
    """Refuse a target that is plainly a measured number."""
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
    """Return values as an array that changes none of them: numbers beside words stay numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray) and not all(isinstance(v, str) for v in values):
        array = np.asarray(values, dtype=object)
    return array


def class_list(values: NDArray[Any]) -> list[Any]:
    """Return class labels as a list of values that hash and compare; times stay times."""
    return list(values) if values.dtype.kind in "mM" else list(values.tolist())


def _shown(values: Sequence[Any], most: int = 6) -> str:
    text = ", ".join(f"{value:g}" if isinstance(value, float) else repr(value) for value in values[:most])
    return f"[{text}{', …' if len(values) > most else ''}]"
