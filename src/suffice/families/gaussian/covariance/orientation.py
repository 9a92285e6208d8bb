"""The axes that all classes share: orthogonal D for which the matrices Dᵀ W_c D are as diagonal as possible.

As a function of the logarithms of q_cj = (Dᵀ W_c D)_jj, the criterion has derivatives v_c that do not depend on j: the
rows of the class if volumes are free. A rotation D exp(A), with A skew, changes it by Σ_{i<j} G_ij A_ij,
G_ij = 2 Σ_c v_c (Dᵀ W_c D)_ij (1/q_cj − 1/q_ci). Where the matrices are diagonal the second derivatives are
H_ij = 2 Σ_c v_c (q_ci − q_cj)² / (q_ci q_cj), without terms between pairs; they precondition a quasi-Newton method
(L-BFGS) in the angles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from suffice._arrays import FloatArray, IntArray

#: log q, k×d → the criterion to be minimised, and its derivatives v, one per class
Criterion = Callable[[FloatArray], tuple[float, FloatArray]]

_MAX_ITERATIONS = 200
#: limit on the iterations from the axes of the last estimate: the next estimate continues from there
MAX_FURTHER_ITERATIONS = 50
#: number of steps that the quasi-Newton method remembers
_MEMORY = 12
#: limit on the angles of one step
_LARGEST_ANGLE = 0.5
#: the least second derivative of the preconditioner, as a share of the rows
_LEAST_CURVATURE = 1e-3
#: derivatives smaller than this, as a share of the rows, are rounding error
_SMALLEST_GRADIENT = 1e-11
#: keeps reciprocals finite if a scatter is singular
_LEAST_SHARE = 1e-30
_EPSILON = 4.0 * float(np.finfo(np.float64).eps)


def free_volumes(count: FloatArray) -> Criterion:
    """Return the criterion Σ_cj n_c log q_cj: every class has its own volume and shape."""

    def criterion(log_q: FloatArray) -> tuple[float, FloatArray]:
        return float(count @ log_q.sum(1)), count

    return criterion


def equal_volumes(count: FloatArray) -> Criterion:
    """Return the criterion n d log Σ_c (Π_j q_cj)^(1/d): all classes have the same volume."""

    def criterion(log_q: FloatArray) -> tuple[float, FloatArray]:
        mean = log_q.mean(1)
        share = np.exp(mean - mean.max())
        value = count.sum() * log_q.shape[1] * (mean.max() + np.log(share.sum()))
        return float(value), count.sum() * share / share.sum()

    return criterion


def common_axes(
    scatter: FloatArray, criterion: Criterion, candidates: list[FloatArray], max_iter: int = _MAX_ITERATIONS
) -> FloatArray:
    """Return the axes at a local minimum of the criterion, from the best of the candidates, (d, d)."""
    at = min((_expand(scatter, criterion, axes) for axes in candidates), key=lambda point: point.value)
    steps: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=_MEMORY)
    for _ in range(max_iter):
        if at.stationary:
            break
        step = _direction(at, steps)
        if float(step @ at.gradient) >= 0:
            steps.clear()
            step = _direction(at, steps)
        step *= min(1.0, _LARGEST_ANGLE / float(np.abs(step).max()))
        after, share = _line_search(scatter, criterion, at, step)
        if after is None:
            break
        change = after.gradient - at.gradient
        if float(change @ step) > 0:
            steps.append((share * step, change))
        at = after
    return at.axes


def axes_of(covariance: FloatArray) -> FloatArray:
    """Return the axes that these covariances share, (d, d).

    Eigenvalues that are equal in one class may differ in others, so the axes are the eigenvectors of a sum with uneven
    weights, refined on the covariances themselves.
    """
    k = len(covariance)
    size = np.trace(covariance, axis1=1, axis2=2)
    weights = 1.0 + np.modf(np.arange(1, k + 1) * 0.6180339887498949)[0]
    scaled = covariance / size[:, None, None]
    axes = np.linalg.eigh(np.tensordot(weights, scaled, 1))[1]
    return common_axes(scaled, free_volumes(np.ones(k)), [axes])


@dataclass(frozen=True, eq=False)
class _Point:
    """The criterion at some axes, with its derivatives in the angles of all pairs i < j."""

    axes: FloatArray
    value: float
    gradient: FloatArray
    curvature: FloatArray
    rows: float
    #: bound on the rounding error of value and gradient
    rounding: float

    @property
    def stationary(self) -> bool:
        least = max(_SMALLEST_GRADIENT * self.rows, self.rounding)
        return len(self.gradient) == 0 or float(np.abs(self.gradient).max()) <= least


@lru_cache(maxsize=64)
def _pairs(d: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of columns i < j."""
    return np.triu_indices(d, 1)


def _expand(scatter: FloatArray, criterion: Criterion, axes: FloatArray) -> _Point:
    rotated = axes.T @ (scatter @ axes)
    q = np.diagonal(rotated, axis1=1, axis2=2)
    q = np.maximum(q, _LEAST_SHARE * q.max(1, keepdims=True, initial=0.0) + 1e-280)
    value, v = criterion(np.log(q))
    i, j = _pairs(len(axes))
    half = (rotated * (v[:, None] / q)[:, None, :]).sum(0)
    gradient = 2.0 * (half - half.T)
    ratios = (v[:, None] * q).T @ (1.0 / q)
    curvature = 2.0 * (ratios + ratios.T - 2.0 * v.sum())
    rows = float(v.sum())
    rounding = _EPSILON * float(v @ (q.max(1, keepdims=True) / q).sum(1))
    steady = np.maximum(curvature[i, j], _LEAST_CURVATURE * rows)
    return _Point(axes, value, gradient[i, j], steady, rows, rounding)


def _direction(at: _Point, steps: deque[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Return −H⁻¹g by the two-loop recursion of L-BFGS."""
    direction = -at.gradient
    shares = []
    for step, change in reversed(steps):
        share = float(step @ direction) / float(step @ change)
        shares.append(share)
        direction = direction - share * change
    direction = direction / at.curvature
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        direction = direction + (share - float(change @ direction) / float(step @ change)) * step
    return direction


def _line_search(
    scatter: FloatArray, criterion: Criterion, at: _Point, step: FloatArray
) -> tuple[_Point | None, float]:
    """Return the next point and the share of the step that leads to it; None if only rounding error is left."""
    slope = float(step @ at.gradient)
    rounding = at.rounding + _EPSILON * abs(at.value)
    share = 1.0
    for _ in range(30):
        after = _expand(scatter, criterion, at.axes @ _rotation(share * step, len(at.axes)))
        if after.value <= at.value + 1e-4 * share * slope:
            return after, share
        if -share * slope <= rounding:  # below the rounding error of the value, so compare gradients
            flatter = np.abs(after.gradient).max() < 0.8 * np.abs(at.gradient).max()
            return (after, share) if after.value <= at.value + rounding and flatter else (None, 0.0)
        share *= 0.5
    return None, 0.0


def _rotation(angles: FloatArray, d: int) -> FloatArray:
    """Return the Cayley transform (I − A/2)⁻¹ (I + A/2), which is orthogonal and exp(A) up to third order."""
    half = np.zeros((d, d))
    half[_pairs(d)] = 0.5 * angles
    half -= half.T
    return np.asarray(np.linalg.solve(np.eye(d) - half, np.eye(d) + half))
