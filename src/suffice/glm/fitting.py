"""From rows to a minimum: where to begin, which columns to leave out, and what to do when there is no maximum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import newton
from suffice._arrays import FloatArray
from suffice.em import Round
from suffice.engines import Engine
from suffice.engines.base import ONE_BLAS_THREAD
from suffice.glm.solve import Penalty, Solver
from suffice.glm.sums import NewtonSums
from suffice.newton import Local, Problem

#: parameters up to which the Hessian is formed; beyond, L-BFGS needs the gradient alone
MOST_PARAMETERS = 1500
#: what is added to the curvature where there is none, as a share of that at the start
GUARD = 1e-10
#: rounds after which it is worth looking whether there is a maximum at all
_PATIENCE = 12


@dataclass(frozen=True, eq=False)
class Evaluated(Local):
    """An objective about a point, with the sums that it was made of."""

    sums: NewtonSums | None = None


@dataclass(frozen=True, eq=False)
class Objective:
    """The penalised negative log-likelihood, by the sums that a pass over the rows gives.

    Parameters
    ----------
    sums : callable
        θ, whether the Hessian is wanted, and the engine → the sums.
    penalty : callable
        Qθ, for ½ θᵀQθ.
    scale : callable
        The sums → what counts as one unit of log-likelihood: the dispersion.
    correction : callable or None
        Of θ, the sums and the solver: what is added to value and gradient (Firth's correction).
    """

    sums: Callable[[FloatArray, bool, Engine], NewtonSums]
    penalty: Penalty
    scale: Callable[[NewtonSums], float]
    correction: Callable[[FloatArray, NewtonSums, Solver, Engine], tuple[float, FloatArray]] | None = None

    def evaluate(
        self, theta: FloatArray, engine: Engine, solver: Solver | None = None, guard: FloatArray | None = None
    ) -> Evaluated:
        """Return the objective about θ."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not valid
            sums = self.sums(theta, True, engine)
            pull = self.penalty(theta)
            hessian = sums.hessian + self.penalty(np.eye(len(theta)))
            if guard is not None:
                pull = pull + guard * theta
                hessian = hessian + np.diag(guard)
            value, gradient = sums.half_deviance + 0.5 * float(theta @ pull), sums.gradient + pull
            if self.correction is not None and solver is not None and np.isfinite(value):
                more, add = self.correction(theta, sums, solver, engine)
                value, gradient = value + more, gradient + add
        return Evaluated(value, gradient, hessian, self.scale(sums), sums)


@dataclass(frozen=True, eq=False)
class Found:
    """What a fit found.

    Attributes
    ----------
    theta : array of shape (q,)
    half_deviance, pearson : float
    hessian : array of shape (q, q), or None where there were too many parameters for it
    kept : array of bool of shape (q,)
        The parameters that were not left out.
    lost : array of shape (q,)
        How much each belongs to directions without a maximum; 0 for all where there is one.
    """

    theta: FloatArray
    half_deviance: float
    pearson: float
    hessian: FloatArray | None
    solver: Solver | None
    kept: Any
    lost: FloatArray
    n_iter: int
    converged: bool
    interrupted: bool = False


#: gives a point to begin with, for the rows of an engine
Start = Callable[[Engine], FloatArray]


@ONE_BLAS_THREAD  # threads that wait for each other cost more than factors of this size gain
def minimise(
    objective: Objective,
    engine: Engine,
    starts: Sequence[Start],
    *,
    n_parameters: int,
    sample: Engine | None,
    max_iter: int,
    tol: float,
    watch: Callable[[Round], None] | None = None,
    determined: bool = False,
) -> Found | None:
    """Return the minimum of an objective; None where it is not defined at any of the starts.

    Parameters
    ----------
    starts : sequence of callables
        Each gives a θ for the rows of an engine; the first where the objective is defined is begun with.
    sample : Engine or None
        Some of the rows, to come near the minimum with before all of them are asked.
    determined : bool
        Whether a penalty or correction makes the minimum unique and finite.
    """
    if n_parameters > MOST_PARAMETERS:
        return _without_hessian(objective, engine, starts, max_iter, tol)
    if sample is not None:
        near = minimise(
            objective, sample, starts, n_parameters=n_parameters, sample=None, max_iter=10, tol=1e-3,
            determined=determined,
        )  # fmt: skip
        if near is not None and near.converged and not near.lost.any():
            nearby = near.theta
            starts = [lambda _: nearby, *starts]
    for find in starts:
        start = find(engine)
        first = objective.evaluate(start, engine)
        if first.valid:
            break
    else:
        return None
    solver = Solver(first, keep_all=determined)
    if objective.correction is not None:
        first = objective.evaluate(start, engine, solver)
    outcome = _loop(objective, engine, solver, start, first, max_iter, tol, watch, None, determined)
    rounds = len(outcome.values)
    lost = np.zeros(len(start)) if determined else solver.lost(outcome.local.hessian)
    if lost.any() and not outcome.interrupted:
        guard = GUARD * np.where(solver.kept, np.diag(first.hessian), 0.0)
        begin = objective.evaluate(start, engine, None, guard)
        outcome = _loop(objective, engine, solver, start, begin, max_iter, tol, watch, guard, True)
        rounds += len(outcome.values)
    local = outcome.local
    assert isinstance(local, Evaluated)
    assert local.sums is not None
    return Found(
        outcome.point,
        local.sums.half_deviance
        + float(outcome.step @ (local.sums.gradient + 0.5 * local.sums.hessian @ outcome.step)),
        local.sums.pearson,
        local.hessian,
        solver,
        solver.kept,
        lost,
        rounds,
        outcome.converged,
        outcome.interrupted,
    )


def _loop(
    objective: Objective,
    engine: Engine,
    solver: Solver,
    start: FloatArray,
    first: Local,
    max_iter: int,
    tol: float,
    watch: Callable[[Round], None] | None,
    guard: FloatArray | None,
    determined: bool,
) -> newton.Outcome:
    met = [0]

    def evaluate(theta: FloatArray) -> Local:
        met[0] += 1
        return objective.evaluate(theta, engine, solver, guard)

    def hopeless(here: Local) -> bool:
        return not determined and met[0] > _PATIENCE and bool(solver.lost(here.hessian).any())

    problem = Problem(evaluate, solver.direction, hopeless)
    return newton.run(problem, start, max_iter=max_iter, tol=tol, local=first, watch=watch)


def _without_hessian(
    objective: Objective, engine: Engine, starts: Sequence[Start], max_iter: int, tol: float
) -> Found | None:
    """Return the minimum by L-BFGS, on gradients alone."""
    from scipy.optimize import minimize

    if objective.correction is not None:
        raise ValueError(
            f"Firth's correction needs the Hessian, which is formed for up to {MOST_PARAMETERS} parameters, but there "
            f"are more; leave columns out, or pass firth=False"
        )

    def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = objective.sums(theta, False, engine)
            pull = objective.penalty(theta)
            value = sums.half_deviance + 0.5 * float(theta @ pull)
        if not np.isfinite(value):
            return np.finfo(np.float64).max ** 0.5, np.zeros_like(theta)
        return value, sums.gradient + pull

    points = (find(engine) for find in starts)
    start = next((theta for theta in points if np.isfinite(objective.sums(theta, False, engine).half_deviance)), None)
    if start is None:
        return None
    most = {"maxiter": 50 * max_iter, "maxfun": 100 * max_iter, "ftol": max(tol, 1e-14), "gtol": 1e-9, "maxcor": 20}
    found = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=most)
    sums = objective.sums(found.x, False, engine)
    everything = np.ones(len(start), dtype=bool)
    return Found(
        found.x,
        sums.half_deviance,
        sums.pearson,
        None,
        None,
        everything,
        np.zeros(len(start)),
        int(found.nit),
        bool(found.success),
    )
