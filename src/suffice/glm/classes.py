"""The classes of a logistic regression: labels of any type as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.glm.design import Design
from suffice.glm.rows import Target
from suffice.statistics.responsibilities import Labels
from suffice.tables.labels import LabelCoder, as_class_array, check_weight, class_list, sorted_order
from suffice.tables.table import Table


class Classes:
    """An encoder of labels that first collects the classes, and then numbers them in sorted order.

    Parameters
    ----------
    known : array of shape (k,), optional
        The classes of a fitted model: others are an error then.
    """

    def __init__(self, known: NDArray[Any] | None = None) -> None:
        self._known = known
        self._coder = LabelCoder()
        self._whole: Any = None
        self._ranks: NDArray[np.intp] | None = None

    def meet(self, y: Any) -> None:
        """Collect the classes of some labels."""
        given = y
        if y is None:
            raise ValueError("a classifier requires y to be passed, but the target y is None; pass one label per row")
        if np.isscalar(y):
            raise ValueError(f"y needs one label per row, but is the single value {y!r}")
        if not hasattr(y, "__len__"):
            y = np.asarray(y)
        found = self._coder.encode(y, None, len(y))
        if not isinstance(found, Labels):
            raise ValueError(
                "logistic regression needs one label per row, but y has several columns; for class probabilities there "
                "is GenerativeClassifier"
            )
        self._whole = (given, found.codes)

    def classes(self) -> NDArray[Any]:
        """Return the classes in sorted order."""
        if self._known is not None:
            return self._known
        known = self._coder.classes()
        met = class_list(known)
        return as_class_array([met[i] for i in sorted_order(met)], known.dtype)

    def _places(self) -> NDArray[np.intp]:
        """Return the place of each class that was met among the classes."""
        place = {label: number for number, label in enumerate(class_list(self.classes()))}
        met = class_list(self._coder.classes())
        unknown = [label for label in met if label not in place]
        if unknown:
            raise ValueError(
                f"y holds {', '.join(map(repr, unknown[:6]))}, which was not there in training; the classes are "
                f"{', '.join(map(repr, list(place)[:8]))}. Drop the rows, or train on them"
            )
        return np.array([place[label] for label in met], dtype=np.intp)

    def target(self, y: Any, sample_weight: Any, table: Table, design: Design, start: int) -> Target:
        """Return the class number and the weight of each row."""
        n = len(table)
        weight = check_weight(sample_weight, n, start)
        if self._ranks is None:
            self._ranks = self._places()
        if self._whole is not None and self._whole[0] is y and len(self._whole[1]) == n:
            codes = self._whole[1]
        else:
            found = self._coder.encode(y, None, n, start)
            assert isinstance(found, Labels)
            codes = found.codes
        if len(codes) != n:
            raise ValueError(f"there must be one label per row, but X has {n} rows and y has {len(codes)} labels")
        return Target(self._ranks[codes].astype(np.float64), weight)
