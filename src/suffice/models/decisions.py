"""From probabilities to decisions: the most probable class, thresholds, or the least expected cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray


def decide(posterior: FloatArray, classes: NDArray[Any], threshold: Any, cost: Any) -> IntArray:
    """Return the number of the class to predict for each row.

    With a cost matrix, ``cost[i, j]`` is the cost of predicting class j when class i is true, and the class with the
    least expected cost is chosen. With thresholds t_c, the class with the largest p_c / t_c is chosen: with two classes
    and a threshold for one of them, that one if its probability reaches its threshold.
    """
    if threshold is not None and cost is not None:
        raise ValueError("give either a threshold or a cost matrix, not both")
    if cost is not None:
        return np.argmin(posterior @ cost_matrix(cost, len(classes)), axis=1)
    if threshold is not None:
        limits, named = _thresholds(threshold, classes)
        if len(classes) == 2 and named is not None:  # p ≥ T itself, so that no rounding decides where p = T
            return np.where(posterior[:, named] >= limits[named], named, 1 - named)
        ratios = posterior / limits
        return len(classes) - 1 - np.argmax(ratios[:, ::-1], axis=1)  # ties, p = t, go to the later class
    return np.argmax(posterior, axis=1)


def cost_matrix(cost: Any, k: int) -> FloatArray:
    """Return the costs as a k×k matrix; raise ValueError if they are none."""
    matrix = np.asarray(cost, dtype=np.float64)
    if matrix.shape != (k, k) or not np.isfinite(matrix).all():
        raise ValueError(
            f"cost must be a finite {k}×{k} matrix (row: the true class, column: the predicted one, in the order of "
            f"classes_), but has shape {matrix.shape}"
        )
    return matrix


def _thresholds(threshold: Any, classes: NDArray[Any]) -> tuple[FloatArray, int | None]:
    """Return the threshold of each class, and the number of the class that was named, if it is one."""
    labels = classes.tolist()
    if not isinstance(threshold, Mapping):
        if np.ndim(threshold) == 0:
            if len(labels) != 2:
                raise ValueError(
                    f"one threshold decides between two classes, but there are {len(labels)}; pass a mapping of class "
                    f"to threshold"
                )
            threshold = {labels[1]: float(threshold)}
        else:
            values = np.asarray(threshold).tolist()
            if len(values) != len(labels):
                raise ValueError(f"there must be one threshold per class, {labels}, but there are {len(values)}")
            threshold = dict(zip(labels, values, strict=True))
    unknown = [label for label in threshold if label not in labels]
    if unknown:
        raise ValueError(f"threshold names the class {unknown[0]!r}, but the classes are {labels}")
    left = 1.0 - sum(threshold.values())
    others = [label for label in labels if label not in threshold]
    limits = np.array([threshold.get(label, left / max(len(others), 1)) for label in labels], dtype=np.float64)
    named = labels.index(next(iter(threshold))) if len(threshold) == 1 else None
    if not ((limits > 0).all() or (len(labels) == 2 and named is not None and limits[named] == 1.0)):
        raise ValueError(
            f"thresholds must be positive, and leave something for the classes they do not name; they come to "
            f"{dict(zip(labels, limits.tolist(), strict=True))}"
        )
    return limits, named
