"""The trade-off of a threshold: false positives, false negatives and their cost at every T, for any classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray, to_numpy
from suffice.models.decisions import cost_matrix
from suffice.tables.labels import as_column, check_weight, class_list, sorted_order
from suffice.tables.results import library_of, result_frame


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """The errors of deciding for a class where its probability reaches T, at every T.

    Errors only change at the probabilities that occur: entry i holds for all T above ``threshold[i - 1]``, up to and
    including ``threshold[i]``. With weights, rows count by their weight.

    Attributes
    ----------
    positive : label
        The class that is predicted where p ≥ T; all others are negative.
    threshold : array of shape (m,)
        The distinct probabilities, in increasing order, and at the end a T above all of them, unless one of them is 1.
    false_positives, false_negatives, true_positives, true_negatives : arrays of shape (m,)
        The number of rows, by true class and decision.
    cost : array of shape (m,)
        The total cost at each T; the number of errors if no costs were given.
    library : str or None
        The library of the data frame of the rows.
    """

    positive: Any
    threshold: FloatArray
    false_positives: NDArray[Any]
    false_negatives: NDArray[Any]
    true_positives: NDArray[Any]
    true_negatives: NDArray[Any]
    cost: FloatArray
    library: str | None = None

    def __len__(self) -> int:
        return len(self.threshold)

    @property
    def best(self) -> float:
        """The T of least cost; of several, the one that holds over the widest range of T."""
        width = np.diff(self.threshold, prepend=0.0)
        return float(self.threshold[np.argmax(np.where(self.cost == self.cost.min(), width, -1.0))])

    def at(self, threshold: float) -> dict[str, Any]:
        """Return the numbers of errors and the cost at any T between 0 and 1.

        Parameters
        ----------
        threshold : float
            The threshold T.
        """
        if not 0.0 <= threshold <= 1.0:
            raise ValueError(f"a threshold is a probability between 0 and 1, not {threshold!r}")
        place = min(int(np.searchsorted(self.threshold, threshold)), len(self) - 1)
        return {"threshold": float(threshold)} | {name: getattr(self, name)[place].item() for name in _COLUMNS[1:]}

    def to_frame(self, library: str | None = None) -> Any:
        """Return the curve as a data frame, one row per threshold.

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of X, or one that is installed.
        """
        return result_frame({name: getattr(self, name) for name in _COLUMNS}, library, known=self.library)

    def plot(self, ax: Any = None) -> Any:
        """Draw false positives, false negatives and cost against T, with the best T marked; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        from suffice.plot.threshold import draw

        return draw(self, ax)

    def __repr__(self) -> str:
        least = self.at(self.best)
        return (
            f"<ThresholdCurve of {self.positive!r} with {len(self)} thresholds: least cost {least['cost']:g} at "
            f"T = {self.best:.4g}, with {least['false_positives']:g} false positives and "
            f"{least['false_negatives']:g} false negatives>"
        )


_COLUMNS = ("threshold", "false_positives", "false_negatives", "true_positives", "true_negatives", "cost")


def threshold_curve(
    model: Any, X: Any = None, y: Any = None, *, positive: Any = None, cost: Any = None, sample_weight: Any = None
) -> ThresholdCurve:
    """Return the false positives, false negatives and cost of a classifier at every threshold of one class.

    A row is positive if the probability of the class `positive` is at least T. The rows should not be those that the
    model has learned from.

    Parameters
    ----------
    model : fitted classifier with `predict_proba`, or array of shape (n,) or (n, k)
        Any classifier of this library or of scikit-learn. Or the probabilities themselves, such as those of
        `cross_val_predict`, of the class `positive`, or of all classes in sorted order: ``threshold_curve(p, y)``.
    X : array, sparse array or data frame
        The rows; left out if probabilities are given.
    y : array of shape (n,)
        The classes of the rows.
    positive : label, optional
        The class with the threshold; by default the second of two classes, as `threshold` of the classifiers.
    cost : array of shape (2, 2), optional
        ``cost[i, j]`` is the cost of predicting class j when class i is true, as `cost` of the classifiers, in the
        order of the classes; with more than two classes in the order (any other, positive). By default an error costs
        1.
    sample_weight : array of shape (n,), optional
        The weight of each row.

    Returns
    -------
    ThresholdCurve
        The curve, its best threshold, a frame and a plot.

    Examples
    --------
    >>> from suffice import threshold_curve
    >>> p, spam = [0.1, 0.2, 0.7, 0.7, 0.95], ["ham", "spam", "ham", "spam", "spam"]
    >>> curve = threshold_curve(p, spam, cost=[[0, 10], [1, 0]])
    >>> curve.threshold.round(3).tolist(), curve.false_positives.tolist(), curve.false_negatives.tolist()
    ([0.1, 0.2, 0.7, 0.95, 0.975], [2, 1, 1, 0, 0], [0, 0, 1, 2, 3])
    >>> curve.best, curve.at(0.8)["cost"]
    (0.95, 2.0)
    """
    of_model = hasattr(model, "predict_proba")
    if not of_model and y is None:
        y = X
    if y is None:
        raise ValueError("a trade-off needs the classes of the rows; pass y, as in threshold_curve(model, X, y)")
    if of_model:
        check_is_fitted(model)
        classes = to_numpy(model.classes_)
        labels = class_list(as_column(y))
        matrix = to_numpy(model.predict_proba(X)).astype(np.float64, copy=False)
    else:
        matrix, labels = _probabilities(model), class_list(as_column(y))
        classes = _classes_of(labels, positive)
    names = class_list(classes)
    _require_labels(labels, names)
    place = _place(names, positive)
    p = matrix if matrix.ndim == 1 else _column(matrix, names, place)
    if len(p) != len(labels):
        raise ValueError(f"there must be one label per row, but there are {len(p)} rows and {len(labels)} labels")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        row = int(np.flatnonzero(~((p >= 0.0) & (p <= 1.0)))[0])
        raise ValueError(f"probabilities must be between 0 and 1, but row {row} has {p[row]:g}")
    is_positive = np.fromiter((label == names[place] for label in labels), dtype=bool, count=len(labels))
    curve = _curve(p, is_positive, names[place], _costs(cost, names, place), check_weight(sample_weight, len(p)))
    return replace(curve, library=library_of(X if of_model else model))


def _curve(
    p: FloatArray, is_positive: NDArray[np.bool_], positive: Any, cost: FloatArray, weight: FloatArray | None
) -> ThresholdCurve:
    """Return the curve: rows in the order of their probabilities, with sums of each class below each distinct one."""
    order = np.argsort(p, kind="stable")
    values, first = np.unique(p[order], return_index=True)
    if values[-1] < 1.0:  # above all probabilities, nothing is positive
        values = np.append(values, max(0.5 * (values[-1] + 1.0), np.nextafter(values[-1], 1.0)))
        first = np.append(first, len(p))
    counts = np.ones(len(p), dtype=np.int64) if weight is None else weight
    below = [np.concatenate([[0], np.cumsum(np.where(own, counts, 0)[order])]) for own in (is_positive, ~is_positive)]
    false_negatives, true_negatives = (total[first] for total in below)
    true_positives, false_positives = (total[-1] - total[first] for total in below)
    total_cost = (
        cost[0, 0] * true_negatives
        + cost[0, 1] * false_positives
        + cost[1, 0] * false_negatives
        + cost[1, 1] * true_positives
    )
    return ThresholdCurve(
        positive, values, false_positives, false_negatives, true_positives, true_negatives, total_cost
    )


def _probabilities(given: Any) -> FloatArray:
    """Return given probabilities as an array of one or two dimensions."""
    try:
        matrix = as_column(given).astype(np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(())
    if matrix.ndim not in (1, 2) or not len(matrix):
        raise TypeError(
            f"a trade-off needs a fitted classifier with predict_proba, or an array of probabilities, not "
            f"{type(given).__name__} {given!r:.60}"
        )
    return matrix


def _classes_of(labels: list[Any], positive: Any) -> NDArray[Any]:
    """Return the classes of given labels, sorted, with the positive one even if no row has it."""
    known = list(dict.fromkeys(labels if positive is None else [*labels, positive]))
    _require_labels(known, known)
    classes = np.empty(len(known), dtype=object)
    classes[:] = [known[i] for i in sorted_order(known)]
    return classes


def _require_labels(labels: list[Any], names: list[Any]) -> None:
    known = set(names)
    for row, label in enumerate(labels):
        if label is None or label != label:
            raise ValueError(f"every row needs a class, but y is missing (NaN or None) in row {row}; drop such rows")
        if label not in known:
            raise ValueError(f"y holds {label!r} in row {row}, but the classes are {names}")


def _place(names: list[Any], positive: Any) -> int:
    if positive is None:
        if len(names) != 2:
            raise ValueError(
                f"one threshold decides between two classes, but there are {len(names)}: {names[:6]}; choose one as "
                f"positive=…, against all others"
            )
        return 1
    if positive not in names:
        raise ValueError(f"there is no class {positive!r}; the classes are {names}")
    return names.index(positive)


def _column(matrix: FloatArray, names: list[Any], place: int) -> FloatArray:
    if matrix.shape[1] != len(names):
        raise ValueError(
            f"there must be one column of probabilities per class, but there are {matrix.shape[1]} columns and "
            f"{len(names)} classes: {names[:6]}; or pass those of one class, as an array of one dimension"
        )
    return np.ascontiguousarray(matrix[:, place])


def _costs(cost: Any, names: list[Any], place: int) -> FloatArray:
    """Return the costs in the order (negative, positive)."""
    if cost is None:
        return 1.0 - np.eye(2)
    matrix = cost_matrix(cost, 2)
    return matrix[::-1, ::-1] if len(names) == 2 and place == 0 else matrix
