"""Minimisation of the objective: start values, collinear columns, and a likelihood without a maximum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from suffice._arrays import FloatArray
from suffice.engines import Engine
from suffice.engines.base import ONE_BLAS_THREAD
from suffice.glm.lbfgs import without_hessian
from suffice.glm.objective import Evaluated, Found, Objective, Start
from suffice.glm.solve import Solver
from suffice.optimize import newton
from suffice.optimize.interrupts import Interrupted
from suffice.optimize.iteration import Iteration
from suffice.optimize.newton import Local, Problem

#: the largest number of parameters for which the Hessian is formed; L-BFGS is used for more
MOST_PARAMETERS = 1500
#: the ridge added if the likelihood has no maximum, as a share of the curvature at the start
GUARD = 1e-10
#: iterations before checking whether the likelihood has a maximum at all
_PATIENCE = 12
#: if an iteration leaves more than this share of the Newton decrement, the next steps try the observed Hessian
_SLOW = 0.1
#: largest ratio of the decrements by observed and expected Hessian; above it, the objective is nearly flat here
_FLAT = 100.0


@ONE_BLAS_THREAD  # matrices of this size are too small to gain from BLAS threads, which wait for each other
def minimise(
    objective: Objective,
    engine: Engine,
    starts: Sequence[Start],
    *,
    n_parameters: int,
    sample: Engine | None,
    max_iter: int,
    tol: float,
    watch: Callable[[Iteration], None] | None = None,
    determined: bool = False,
    compare: bool = False,
    keep: bool = False,
) -> Found | None:
    """Return the minimum of an objective; None if it is not defined at any of the starts.

    Parameters
    ----------
    starts : sequence of callables
        Each returns a θ for the rows of an engine; the first at which the objective is defined is used.
    sample : Engine or None
        Some of the rows, to come near the minimum before passes over all rows.
    determined : bool
        Whether a penalty or correction makes the minimum unique and finite.
    compare : bool
        Whether to use the last of the starts instead if the objective is lower there.
    keep : bool
        Whether to return the best point so far after Ctrl-C; the caller then calls `interrupts.end_early`.
    """
    if n_parameters > MOST_PARAMETERS:
        if objective.correction is not None:
            raise ValueError(
                f"Firth's correction needs the Hessian, which is formed for up to {MOST_PARAMETERS} parameters, but "
                f"there are {n_parameters}; leave columns out, or pass firth=False"
            )
        return without_hessian(objective, engine, starts, max_iter, tol, determined=determined, keep=keep)
    if sample is not None:
        near = minimise(
            objective, sample, starts, n_parameters=n_parameters, sample=None, max_iter=10, tol=1e-3,
            determined=determined, compare=compare,
        )  # fmt: skip
        if near is not None and near.converged and not near.lost.any():
            nearby = near.theta
            starts = [lambda _: nearby, *starts]
    first = _first(objective, engine, starts, compare)
    if first is None:
        return None
    start = first.theta
    assert start is not None
    solver = Solver(first, keep_all=determined)
    if objective.correction is not None:
        first = objective.evaluate(start, engine, solver)
    outcome = _loop(objective, engine, solver, start, first, max_iter, tol, watch, None, determined, keep)
    n_iter = len(outcome.values)
    settled = determined or outcome.interrupted
    lost = np.zeros(len(start)) if settled else solver.lost(outcome.local.hessian)
    if lost.any():
        guard = GUARD * np.where(solver.kept, np.diag(first.hessian), 0.0)
        begin = objective.evaluate(outcome.point, engine, None, guard)
        outcome = _loop(objective, engine, solver, outcome.point, begin, max_iter, tol, watch, guard, True, keep)
        n_iter += len(outcome.values)
    local = outcome.local
    assert isinstance(local, Evaluated)
    assert local.sums is not None
    return Found(
        outcome.point,
        local.sums.half_deviance
        + float(outcome.step @ (local.sums.gradient + 0.5 * local.sums.hessian @ outcome.step)),
        local.sums.pearson,
        local.hessian,
        np.diag(solver.first),
        solver,
        solver.kept,
        lost,
        n_iter,
        outcome.converged,
        outcome.interrupted,
        outcome.stuck,
        outcome.at_edge,
    )


def _first(objective: Objective, engine: Engine, starts: Sequence[Start], compare: bool) -> Evaluated | None:
    """Return the objective at the first start where it is defined; with `compare`, at the last if it is lower there."""
    for number, find in enumerate(starts):
        first = objective.evaluate(find(engine), engine)
        if first.valid:
            if compare and number < len(starts) - 1:
                last = starts[-1](engine)
                if objective.value(last, engine) < first.value:
                    other = objective.evaluate(last, engine)
                    return other if other.valid else first
            return first
    return None


def _loop(
    objective: Objective,
    engine: Engine,
    solver: Solver,
    start: FloatArray,
    first: Local,
    max_iter: int,
    tol: float,
    watch: Callable[[Iteration], None] | None,
    guard: FloatArray | None,
    determined: bool,
    keep: bool,
) -> newton.Outcome:
    met = [0]
    gaps = [np.inf]
    slow = [False]

    def evaluate(theta: FloatArray) -> Local:
        met[0] += 1
        return objective.evaluate(theta, engine, solver, guard)

    def direction(here: Local) -> FloatArray:
        """Return the step by the expected Hessian, or by the observed one if gains are small and it is convex."""
        assert isinstance(here, Evaluated)
        step = solver.direction(here)
        gaps.append(-float(here.gradient @ step))
        # the objective cannot fall below 0, so a step that predicts a larger decrease than its value is unreliable
        slow[0] = slow[0] or gaps[-1] > _SLOW * gaps[-2] or 0.5 * gaps[-1] > here.value
        observed = objective.observed_hessian(here, engine, guard) if slow[0] else None
        if observed is not None and solver.definite(observed):
            other = solver.direction(replace(here, hessian=observed))
            if -float(here.gradient @ other) <= _FLAT * gaps[-1]:
                return other
        return step

    def hopeless(here: Local) -> bool:
        return not determined and met[0] > _PATIENCE and bool(solver.lost(here.hessian).any())

    problem = Problem(evaluate, direction, hopeless)
    try:
        return newton.run(problem, start, max_iter=max_iter, tol=tol, local=first, watch=watch)
    except Interrupted as stop:
        if not keep:
            raise
        outcome: newton.Outcome = stop.outcome
        return outcome
