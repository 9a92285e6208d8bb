"""The options --threshold and --cost of `suffice fit` and `suffice predict`: which class is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.models.decisions import decide


def parse_decisions(threshold: Sequence[str], cost: Sequence[str], classes: NDArray[Any]) -> tuple[Any, Any]:
    """Return `threshold` and `cost` of a classifier for the texts of the options; both None if there are none.

    Examples
    --------
    >>> classes = np.array(["ham", "spam"])
    >>> parse_decisions(["0.9"], [], classes), parse_decisions(["ham=0.2"], [], classes)
    ((0.9, None), ({'ham': 0.2}, None))
    >>> parse_decisions([], ["ham:spam=100"], classes)
    (None, [[0.0, 100.0], [1.0, 0.0]])
    """
    if threshold and cost:
        raise ValueError("give either --threshold or --cost, not both")
    names = {str(label): label for label in classes.tolist()}
    known = _thresholds(threshold, names) if threshold else None
    costs = _costs(cost, list(names)) if cost else None
    if known is not None:
        k = len(names)
        decide(np.full((1, k), 1.0 / k), classes, known, None)  # raises an error if they are none
    return known, costs


def described(threshold: Any, cost: Any, classes: NDArray[Any]) -> str:
    """Return in words how a model decides; empty if it predicts the most probable class."""
    if cost is not None:
        labels = classes.tolist()
        named = [
            f"{labels[i]} called {labels[j]} {value:g}" for (i, j), value in np.ndenumerate(np.array(cost)) if value
        ]
        return f"least expected cost: {', '.join(named[:6])}{', …' if len(named) > 6 else ''}"
    if threshold is None:
        return ""
    limits = threshold if isinstance(threshold, dict) else {classes.tolist()[-1]: threshold}
    return ", ".join(f"{label} from a probability of {value:g}" for label, value in limits.items())


def _thresholds(texts: Sequence[str], names: dict[str, Any]) -> Any:
    limits: dict[Any, float] = {}
    for text in texts:
        label, equals, number = text.rpartition("=")
        value = _number(number, text, "--threshold must be a number, or CLASS=NUMBER such as spam=0.9")
        if not 0.0 < value <= 1.0:
            raise ValueError(f"--threshold is a probability, more than 0 and at most 1, not {text!r}")
        if not equals:
            if len(texts) > 1:
                raise ValueError(f"of several thresholds each names its class, such as spam=0.9, but one is {text!r}")
            return value
        limits[_known(label, names, "--threshold")] = value
    return limits


def _costs(texts: Sequence[str], names: list[str]) -> list[list[float]]:
    """Return the cost matrix: 0 for right predictions and 1 for the errors that are not named."""
    costs = 1.0 - np.eye(len(names))
    wanted = "--cost must be TRUE:PREDICTED=COST, such as ham:spam=100"
    for text in texts:
        pair, _, number = text.rpartition("=")
        value = _number(number, text, wanted)
        places = [at for at, sign in enumerate(pair) if sign == ":"]
        splits = [(pair[:at], pair[at + 1 :]) for at in places]  # a class may have a colon in its name
        if not splits:
            raise ValueError(f"{wanted}, not {text!r}")
        true, predicted = next((split for split in splits if set(split) <= set(names)), splits[0])
        for label in (true, predicted):
            _known(label, dict.fromkeys(names), "--cost")
        costs[names.index(true), names.index(predicted)] = value
    return costs.tolist()


def _known(label: str, names: dict[str, Any], option: str) -> Any:
    if label not in names:
        raise ValueError(f"{option} names the class {label!r}, but the classes are {', '.join(map(repr, names))}")
    return names[label]


def _number(number: str, text: str, wanted: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(f"{wanted}, not {text!r}")
    return value
