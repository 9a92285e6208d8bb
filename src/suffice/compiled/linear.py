"""The compiled passes of generalised linear models over dense rows; None if they cannot do the job."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray
from suffice.compiled.signatures import CONSTANTS

#: mode of a pass: a logistic or a log-linear model, only η, or given score and curvature
LOGISTIC, LOG_LINEAR, _PREDICTOR, _GIVEN = (
    CONSTANTS[name] for name in ("LOGISTIC", "LOG_LINEAR", "PREDICTOR", "GIVEN")
)
_BLOCK_BYTES = 150_000  # a block of rows is centred, weighted and multiplied while it is in a core's own cache


def newton_pass(
    x: Array,
    center: FloatArray,
    theta: FloatArray,
    y: FloatArray,
    weight: FloatArray | None,
    offset: FloatArray | None,
    mode: int,
    *,
    hessian: bool,
) -> tuple[float, FloatArray, FloatArray] | None:
    """Return the loss of all rows, its gradient and Hessian in θ, for η = (1, x − c)·θ + offset.

    The loss is infinite if a mean overflows. The Hessian is 0×0 if it is not requested.
    """
    return _run(x, center, theta, (y, weight, offset), mode, hessian=hessian)


def linear_predictor(x: Array, center: FloatArray, theta: FloatArray) -> FloatArray | None:
    """Return η = (1, x − c)·θ of each row, (n,)."""
    eta = np.empty(len(x))
    found = _run(x, center, theta, (None, None, None), _PREDICTOR, predictor=eta, hessian=False)
    return None if found is None else eta


def weighted_sums(
    x: Array, center: FloatArray, score: FloatArray, curvature: FloatArray, *, hessian: bool
) -> tuple[FloatArray, FloatArray] | None:
    """Return −Σ score (1, x − c) and Σ curvature (1, x − c)(1, x − c)ᵀ."""
    theta = np.zeros(len(center) + 1)
    found = _run(x, center, theta, (None, None, None), _GIVEN, given=(score, curvature), hessian=hessian)
    return None if found is None else found[1:]


def _run(
    x: Array,
    center: FloatArray,
    theta: FloatArray,
    target: tuple[FloatArray | None, ...],
    mode: int,
    *,
    predictor: FloatArray | None = None,
    given: tuple[FloatArray | None, ...] = (None, None),
    hessian: bool,
) -> Any:
    found = compiled._rows(x)
    if compiled.library is None or found is None or found[1] != "double":
        return None
    rows, kind = found
    n, d = rows.shape
    q, width = d + 1, compiled._whole(d + 1)
    size = compiled._whole(min(max(_BLOCK_BYTES // (8 * width), 64), max(n, 1)))
    padded = np.zeros(width)
    padded[:q] = theta
    total, gradient = np.zeros(1), np.zeros(width)
    second = np.zeros((width, width)) if hessian else None
    target, given = (tuple(compiled._reals_or_none(part) for part in parts) for parts in (target, given))
    failed = compiled.library(
        "linear_pass", kind, rows, n, d, compiled._reals(center), padded, *target, mode, width, size, predictor, *given,
        total, gradient, second,
    )  # fmt: skip
    if second is None:
        full = np.zeros((0, 0))
    else:
        full = np.triu(second[:q, :q])
        full += np.triu(full, 1).T
    return (np.inf if failed else float(total[0])), gradient[:q], full
