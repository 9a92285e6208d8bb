"""The probabilities of the classes, from the setting of the user and the weights of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.priors import PseudoCount


def log_prior_of_classes(given: Any, count: FloatArray, classes: list[Any]) -> FloatArray:
    """Return log p(c), (k,), or n×k for n×k weights: empirical, equal, smoothed or given; see `class_prior`."""
    if isinstance(given, PseudoCount):
        share = (count + given.amount) / (count + given.amount).sum(-1, keepdims=True)
    elif isinstance(given, str) and given in ("empirical", "uniform"):
        share = (
            count / count.sum(-1, keepdims=True) if given == "empirical" else np.full(count.shape, 1.0 / len(classes))
        )
    elif isinstance(given, str) or given is None:
        raise ValueError(
            f"class_prior must be 'empirical', 'uniform', a PseudoCount, a mapping or an array, not {given!r}"
        )
    else:
        if isinstance(given, Mapping):
            if set(given) != set(classes):
                raise ValueError(f"class_prior must name every class, {classes}, but names {list(given)}")
            given = [given[label] for label in classes]
        share = np.asarray(given, dtype=np.float64)
        if share.shape != (len(classes),) or not (share >= 0).all() or not np.isclose(share.sum(), 1.0):
            raise ValueError(
                f"class_prior must be {len(classes)} probabilities that sum to 1, in the order of {classes}, "
                f"but is {share.tolist()}"
            )
    with np.errstate(divide="ignore"):
        return np.broadcast_to(np.log(share), count.shape)
