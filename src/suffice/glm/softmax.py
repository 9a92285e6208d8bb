"""Softmax regression: log p(c | x) = η_c − log Σ_e e^η_e with η_0 = 0, fitted by the Newton loop of the other GLMs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, issparse, to_float64
from suffice.compiled import linear
from suffice.engines import Engine
from suffice.engines.base import Chunk
from suffice.glm.fitting import minimise
from suffice.glm.objective import PERFECT, Found, Objective, Start
from suffice.glm.regression import TOO_SMALL, Settings
from suffice.glm.rows import Data, Target
from suffice.glm.starting import as_finite
from suffice.glm.sums import BLOCK_ROWS, Curvature, NewtonSums, centred
from suffice.optimize.iteration import Iteration


@dataclass(frozen=True, eq=False)
class SoftmaxPoint:
    """The point where sums are evaluated: the centre of the columns, and θ without the first class, (k − 1)×(1 + p)."""

    center: FloatArray
    theta: FloatArray
    hessian: bool = True


def log_shares(x: Any, at: SoftmaxPoint) -> FloatArray:
    """Return log p(c | x) of each row and class, n×k."""
    if issparse(x):
        scores = np.asarray(x @ at.theta[:, 1:].T) + at.theta[:, 0]
    else:
        scores = (to_float64(x) - at.center) @ at.theta[:, 1:].T + at.theta[:, 0]
    every = np.concatenate([np.zeros((len(scores), 1)), scores], axis=1)
    every -= every.max(axis=1, keepdims=True)
    every -= np.log(np.exp(every).sum(axis=1, keepdims=True))
    return every


def softmax_predictor(chunk: Chunk, at: SoftmaxPoint) -> FloatArray:
    """Kernel: log p(c | x), n×k."""
    return log_shares(chunk.blocks[0], at)


def softmax_sums(chunk: Chunk, at: SoftmaxPoint) -> NewtonSums:
    """Kernel: −Σ log p(y | x), its gradient Σ (p_c − [y = c]) z and Hessian Σ p_c ([c = e] − p_e) z zᵀ."""
    x, target = chunk.blocks[0], chunk.target
    total: NewtonSums | None = None
    dense = x if issparse(x) else to_float64(x)
    for start in range(0, dense.shape[0], BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, dense.shape[0]))
        part = _block_sums(dense[rows], target[rows], at)
        total = part if total is None else total + part
    assert total is not None
    return total


def _block_sums(x: Any, target: Target, at: SoftmaxPoint) -> NewtonSums:
    codes = target.y.astype(np.intp)
    logs = log_shares(x, at)
    own = logs[np.arange(len(codes)), codes]
    shares = np.exp(logs[:, 1:])
    residual = shares.copy()
    residual[codes > 0, codes[codes > 0] - 1] -= 1.0
    if target.weight is not None:
        residual *= target.weight[:, None]
    loss = -float(own.sum() if target.weight is None else target.weight @ own)
    others, q = at.theta.shape
    if issparse(x):
        x = x.toarray()  # at most BLOCK_ROWS rows
    z = centred(x, at.center)
    gradient = residual.T @ z
    hessian = np.zeros((others, q, others, q) if at.hessian else (0, 0, 0, 0))
    nothing = np.zeros(len(codes))
    for c in range(others if at.hessian else 0):
        for e in range(c, others):
            weight = shares[:, c] * ((1.0 - shares[:, c]) if c == e else shares[:, e])
            if target.weight is not None:
                weight *= target.weight
            found = linear.weighted_sums(x, at.center, nothing, weight, hessian=True)
            block = (z * weight[:, None]).T @ z if found is None else found[1]
            hessian[c, :, e, :] = hessian[e, :, c, :] = block if c == e else -block
    size = others * q if at.hessian else 0
    return NewtonSums(loss, gradient.ravel(), hessian.reshape(size, size))


def softmax_diagonal(chunk: Chunk, at: SoftmaxPoint) -> Curvature:
    """Kernel: the diagonal of the Hessian, Σ p_c (1 − p_c) z², without the first class, ((k − 1)(1 + p),)."""
    x, target = chunk.blocks[0], chunk.target
    with np.errstate(over="ignore"):  # the caller checks for non-finite results
        shares = np.exp(log_shares(x, at)[:, 1:])
        weight = shares * (1.0 - shares) * target.weights[:, None]
        squares = x.multiply(x).T if issparse(x) else (to_float64(x) - at.center).T ** 2
        return Curvature(np.column_stack([weight.sum(axis=0), (squares @ weight).T]).ravel())


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """The weight of each class, (k,), and the number of rows with a positive weight."""

    weight: FloatArray
    n_rows: int

    def __add__(self, other: ClassWeights) -> ClassWeights:
        return ClassWeights(self.weight + other.weight, self.n_rows + other.n_rows)


def class_weights(chunk: Chunk, n_classes: int) -> ClassWeights:
    """Kernel: the weight of each class."""
    target: Target = chunk.target
    weight = np.bincount(target.y.astype(np.intp), target.weight, n_classes).astype(np.float64)
    return ClassWeights(weight, len(target) if target.weight is None else int((target.weight > 0.0).sum()))


def symmetric(theta: FloatArray) -> FloatArray:
    """Return the parameters of all classes, k×(1 + p), with sum 0 over classes, from those relative to the first."""
    every = np.concatenate([np.zeros((1, theta.shape[1])), theta])
    return every - every.mean(axis=0)


def fit_softmax(
    data: Data,
    weight: FloatArray,
    settings: Settings,
    start: Any = None,
    watch: Callable[[Iteration], None] | None = None,
) -> Found:
    """Return the minimum; θ holds (k − 1)×(1 + p) numbers, or (k − 1)×p if there are no intercepts.

    The penalty ½ α Σ coef² is over the symmetric coefficients of all k classes; in terms of the coefficients b_c
    relative to the first class it is ½ α (Σ_c b_c² − (Σ_c b_c)² / k).
    """
    k, p = len(weight), len(data.center)
    center = data.center if settings.intercept else np.zeros(p)
    first = 0 if settings.intercept else 1
    shape = (k - 1, p + 1 - first)

    def whole(theta: FloatArray) -> FloatArray:
        return np.pad(theta.reshape(shape), ((0, 0), (first, 0)))

    def sums(theta: FloatArray, hessian: bool, engine: Engine) -> NewtonSums:
        found = engine.reduce(softmax_sums, SoftmaxPoint(center, whole(theta), hessian))
        if not first:
            return found
        kept = np.tile(np.arange(p + 1) > 0, k - 1)
        matrix = found.hessian[np.ix_(kept, kept)] if hessian else found.hessian
        return NewtonSums(found.half_deviance, found.gradient[kept], matrix)

    pulled = np.append(0.0, np.full(p, float(settings.alpha)))[first:]

    def penalty(theta: FloatArray) -> FloatArray:
        each = theta.reshape(*shape, -1)
        pull = pulled[:, None] * (each - each.sum(axis=0) / k)
        return pull.reshape(theta.shape)

    def diagonal(theta: FloatArray, engine: Engine) -> FloatArray:
        found = engine.reduce(softmax_diagonal, SoftmaxPoint(center, whole(theta), False)).values
        return (found.reshape(k - 1, p + 1)[:, first:] + pulled * (1.0 - 1.0 / k)).ravel()

    null = np.zeros(shape)
    if settings.intercept:
        null[:, 0] = np.log(np.maximum(weight[1:], 1e-3) / max(weight[0], 1e-3))
    origin = null.ravel()
    given = _as_start(start, k, p, settings.intercept, center)
    starts: list[Start] = [lambda _: origin] if given is None else [lambda _: given, lambda _: origin]
    unit = min(1.0, float(np.sum(weight)))
    perfect = PERFECT * float(np.sum(weight))
    found = minimise(
        Objective(sums, penalty, lambda _: unit, diagonal=diagonal, perfect=perfect), data.engine, starts,
        n_parameters=len(origin),
        sample=data.sample if given is None else None, max_iter=settings.max_iter, tol=settings.tol, watch=watch,
        determined=settings.determined, keep=True,
    )  # fmt: skip
    if found is None:
        data.design.complain(data.tables())
    if found is None or ((found.diagonal < TOO_SMALL).any() and not settings.determined):
        data.design.complain_of_scale(data.tables(), center)
    if found is None:
        raise ValueError("the columns are too large for sums of float64; scale them")
    return found


def _as_start(start: Any, k: int, p: int, intercept: bool, center: FloatArray) -> FloatArray | None:
    """Return a user's start relative to the first class, for centred columns."""
    if start is None:
        return None
    if hasattr(start, "coef_"):
        first = np.reshape(getattr(start, "intercept_", np.zeros(k)), (-1, 1)) if intercept else np.zeros((k, 0))
        values = np.concatenate([first, np.asarray(start.coef_, dtype=np.float64)], axis=1)
    else:
        values = as_finite(start)
    if values.shape != (k, p + intercept) or not np.isfinite(values).all():
        raise ValueError(
            f"start must have {k} rows, one per class, of {p + intercept} finite numbers, "
            f"{'the intercept and ' if intercept else ''}one for each of {p} columns, but has shape {values.shape}"
        )
    theta = values[1:] - values[0]
    if intercept:
        theta[:, 0] += theta[:, 1:] @ center
    return theta.ravel()
