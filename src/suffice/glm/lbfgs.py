"""L-BFGS, for linear models with too many parameters for a Hessian: gradients alone, scaled by the curvature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice._arrays import FloatArray
from suffice.engines import Engine
from suffice.glm.objective import Found, Objective, Start
from suffice.glm.sums import NewtonSums

#: iterations of L-BFGS, which are cheap, per iteration of Newton's method
ITERATIONS_PER_STEP = 50
#: gaps to the minimum below float64 precision, relative to the objective: the target, and the largest that converges
_AIM, _INVISIBLE = 1e-14, 1e-12
#: pairs of steps and gradients that L-BFGS keeps
_MEMORY = 20


def without_hessian(
    objective: Objective,
    engine: Engine,
    starts: Sequence[Start],
    max_iter: int,
    tol: float,
    *,
    determined: bool = False,
    keep: bool = False,
) -> Found | None:
    """Return the minimum by L-BFGS in u = D^½ θ, with D the Hessian's diagonal at the start; None if no start is valid.

    In these units the scale of a column does not matter, and half of the squared gradient, ½ gᵀD⁻¹g, is the Newton
    decrement if columns are uncorrelated: it must fall to `tol` units of log-likelihood. Unless a penalty makes the
    minimum `determined`, columns that fit every row perfectly are reported as lost. With `keep`, Ctrl-C returns the
    best point so far.
    """
    start = next((t for t in (find(engine) for find in starts) if np.isfinite(objective.value(t, engine))), None)
    if start is None:
        return None
    assert objective.diagonal is not None
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = objective.diagonal(start, engine)
    if not np.isfinite(diagonal).all():
        return None
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    best = _Lowest(objective, engine, root)
    converged = interrupted = False
    try:
        theta, n_iter, converged = _descend(best, start, ITERATIONS_PER_STEP * max_iter, tol)
        sums = objective.sums(theta, False, engine)
    except KeyboardInterrupt:
        if not keep or best.sums is None:
            raise
        theta, sums, n_iter, interrupted = best.theta, best.sums, best.n_evaluated, True
    q, share = len(start), np.abs(theta * root)
    separated = not determined and sums.half_deviance < objective.perfect and share.any()
    lost = share / share.max() if separated else np.zeros(q)
    return Found(
        theta, sums.half_deviance, sums.pearson, None, diagonal, None, np.ones(q, dtype=bool), lost, n_iter,
        converged, interrupted, stuck=not (converged or interrupted) and n_iter < ITERATIONS_PER_STEP * max_iter,
        method="L-BFGS",
    )  # fmt: skip


class _Lowest:
    """The objective as a function of u = D^½ θ, which remembers the lowest point evaluated."""

    def __init__(self, objective: Objective, engine: Engine, root: FloatArray) -> None:
        self.objective, self.engine, self.root = objective, engine, root
        self.n_evaluated = 0
        self.theta: FloatArray = np.empty(0)
        self.sums: NewtonSums | None = None
        self._value = np.inf

    def __call__(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective at u = D^½ θ, and its gradient."""
        theta = u / self.root
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self.objective.sums(theta, False, self.engine)
            pull = self.objective.penalty(theta)
            value = sums.half_deviance + 0.5 * float(theta @ pull)
        if not np.isfinite(value):
            return np.finfo(np.float64).max ** 0.5, np.zeros_like(u)
        self.n_evaluated += 1
        if value < self._value:
            self._value, self.theta, self.sums = value, theta, sums
        return value, (sums.gradient + pull) / self.root


def _descend(evaluate: _Lowest, start: FloatArray, most: int, tol: float) -> tuple[FloatArray, int, bool]:
    """Return θ, the number of iterations, and whether the gradient, scaled by the curvature, is small enough."""
    from scipy.optimize import minimize

    objective, root = evaluate.objective, evaluate.root
    u, n_iter = start * root, 0
    while True:
        # the dispersion, the unit of tol, is known at the current point only, so the first tolerance may be too loose
        value, gradient = evaluate(u)
        scale = objective.scale(objective.sums(u / root, False, evaluate.engine))
        aim, gap = max(tol * scale, _AIM * abs(value)), 0.5 * float(gradient @ gradient)
        if gap <= aim or n_iter >= most:
            break
        options = {
            "maxiter": most - n_iter, "maxfun": 2 * (most - n_iter) + 20, "ftol": 0.0,
            "gtol": np.sqrt(2.0 * aim / len(u)), "maxcor": _MEMORY,
        }  # fmt: skip
        found = minimize(evaluate, u, jac=True, method="L-BFGS-B", options=options)
        if found.nit == 0:
            break
        u, n_iter = found.x, n_iter + int(found.nit)
    return u / root, n_iter, gap <= max(tol * scale, _INVISIBLE * abs(value))
