"""Start values of Newton's method: a user's coefficients, or estimates from means near y."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice._arrays import FloatArray, issparse, to_float64
from suffice.engines import Engine
from suffice.engines.base import Chunk
from suffice.glm.rows import Target
from suffice.glm.solve import Solver
from suffice.glm.sums import NewtonSums, Point, blocks
from suffice.optimize.newton import Local


def working_sums(chunk: Chunk, at: Point) -> NewtonSums:
    """Kernel: the sums of weighted least squares for g(μ₀) + (y − μ₀)/μ′ with μ₀ near y, the start of IRLS in R."""
    x, target = chunk.blocks[0], chunk.target
    q = len(at.theta)
    gradient, hessian = np.zeros(q), np.zeros((q, q))
    with np.errstate(all="ignore"):  # the caller checks for non-finite results
        _add_working_sums(x, target, at, gradient, hessian)
    return NewtonSums(0.0, gradient, hessian)


def _add_working_sums(x: Any, target: Target, at: Point, gradient: FloatArray, hessian: FloatArray) -> None:
    for rows, z in blocks(to_float64(x.toarray() if issparse(x) else x), at.center):
        part, model = target[rows], at.pair
        mu = model.response.initial_mean(part.y, part.weights)
        eta = model.link.link(mu)
        slope = model.link.derivative(eta)
        curvature = part.weights * slope**2 / model.response.variance(mu)
        response = eta + (part.y - mu) / slope
        if part.offset is not None:
            response -= part.offset
        gradient -= (curvature * response) @ z
        z *= np.sqrt(curvature)[:, None]
        hessian += z.T @ z


def data_start(engine: Engine, at: Point, keep: slice) -> FloatArray:
    """Return the weighted least-squares estimate for μ₀ near y; NaN if the sums are not finite."""
    sums = engine.reduce(working_sums, at)
    if not (np.isfinite(sums.hessian).all() and np.isfinite(sums.gradient).all()):
        return np.full(len(sums.gradient[keep]), np.nan)
    local = Local(0.0, sums.gradient[keep], sums.hessian[keep, keep])
    return Solver(local).direction(local)


def as_finite(start: Any, name: str = "start") -> FloatArray:
    """Return a user's start as float64; raise ValueError if it cannot be converted."""
    try:
        return np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be an array of the intercept and the coefficients, or a model with coef_ and intercept_, not "
            f"{start!r}"
        ) from error


def as_start(start: Any, p: int, intercept: bool, center: FloatArray) -> FloatArray | None:
    """Return a user's start for centred columns: the intercept, if there is one, and the coefficients."""
    if start is None:
        return None
    if hasattr(start, "coef_"):
        first = np.ravel(getattr(start, "intercept_", 0.0))[: int(intercept)]
        values = np.concatenate([first, np.ravel(start.coef_)])
    else:
        values = np.ravel(as_finite(start))
    if len(values) != p + intercept or not np.isfinite(values).all():
        raise ValueError(
            f"start must be {p + intercept} finite numbers, {'the intercept and ' if intercept else ''}one for each of "
            f"{p} columns, but has {len(values)}"
        )
    theta = np.array(values, dtype=np.float64)
    if intercept:
        theta[0] += center @ theta[1:]
    return theta
