"""Newton's method: a loop that is independent of families and engines.

Each iteration evaluates the objective, its gradient and its Hessian at the current point, in one pass over the rows,
and moves by δ = −H⁻¹ g, halved until the objective falls by a fraction of what its slope predicts (Armijo's rule). Half
of the Newton decrement, ½ gᵀ H⁻¹ g, estimates how far the objective is above its minimum (exactly if it is quadratic).
The loop ends when this gap is negligible, with a last step that needs no further pass. The gap that remains after it is
of the order of the square of the previous one if H is the Hessian, and a fraction of it if H is the expected Hessian.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from suffice._arrays import FloatArray
from suffice.optimize.interrupts import Interrupted
from suffice.optimize.iteration import Iteration

#: relative rise of the objective that may be rounding error
_ROUNDING = 1e-12
#: relative gap that is below the precision of float64 sums
_INVISIBLE = 1e-16
#: the fraction of the decrease predicted by the slope that a step must achieve (Armijo)
_SUFFICIENT = 1e-4
_MOST_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Local:
    """The value, gradient and Hessian of an objective at a point; `scale` is the unit of its tolerance."""

    value: float
    gradient: FloatArray
    hessian: FloatArray
    scale: float = 1.0

    @property
    def valid(self) -> bool:
        """Whether the objective is defined at the point."""
        return bool(np.isfinite(self.value) and np.isfinite(self.gradient).all() and np.isfinite(self.hessian).all())


@dataclass(frozen=True)
class Problem:
    """The functions of an objective that Newton's method calls."""

    #: the objective and its derivatives at a point; the value is not finite where the objective is not defined
    evaluate: Callable[[FloatArray], Local]
    #: −H⁻¹ g, or another direction in which the objective falls
    direction: Callable[[Local], FloatArray]
    #: whether to give up, because there is no minimum that Newton's method can find
    hopeless: Callable[[Local], bool] = lambda _: False


@dataclass
class Outcome:
    """A point, the objective at it, and the course of the iterations.

    Attributes
    ----------
    point : array of shape (p,)
        Where the loop ended, one step past the point of `local` if it converged.
    local : Local
        The objective and its derivatives at the last point that was evaluated.
    step : array of shape (p,)
        The step from the point of `local` to `point`.
    values : list of float
        The objective in each iteration.
    converged, interrupted : bool
        Whether the decrement became negligible, and whether Ctrl-C ended the loop.
    stuck : bool
        Whether no step lowered the objective, although the decrement shows that the minimum is not reached.
    at_edge : bool
        Whether the last step led to a point where the objective is not defined, and was shortened.
    """

    point: FloatArray
    local: Local
    step: FloatArray
    values: list[float] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False
    stuck: bool = False
    at_edge: bool = False


def run(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    local: Local | None = None,
    watch: Callable[[Iteration], None] | None = None,
) -> Outcome:
    """Minimise the objective from `start` by Newton's method.

    Parameters
    ----------
    start : array of shape (p,)
        A point where the objective is defined.
    max_iter : int
        The maximum number of points at which the objective is evaluated, not counting halved steps.
    tol : float
        How far the objective may be above its minimum before the last step, in units of ``Local.scale``.
    local : Local, optional
        The objective and its derivatives at `start`, if they are known already.
    watch : callable, optional
        Called in every iteration.

    Raises
    ------
    Interrupted
        After Ctrl-C, with the outcome so far; a plain KeyboardInterrupt if no iteration is finished.

    Examples
    --------
    >>> def evaluate(x):  # the minimum of Σ cosh(x − 2) is at 2
    ...     return Local(float(np.cosh(x - 2).sum()), np.sinh(x - 2), np.diag(np.cosh(x - 2)))
    >>> problem = Problem(evaluate, lambda here: -np.linalg.solve(here.hessian, here.gradient))
    >>> run(problem, np.zeros(1), max_iter=50, tol=1e-12).point.round(12)
    array([2.])
    """
    begun = time.perf_counter()
    here = problem.evaluate(start) if local is None else local
    if not here.valid:
        raise ValueError("Newton's method must start where the objective and its derivatives are finite")
    outcome = Outcome(start, here, np.zeros_like(start))
    try:
        for number in range(1, max_iter + 1):
            step = problem.direction(here)
            gap = 0.5 * max(0.0, -float(here.gradient @ step))
            outcome.values.append(here.value)
            if watch is not None:
                watch(Iteration(number, -here.value, gap, time.perf_counter() - begun))
            if gap <= tol * here.scale or gap <= _INVISIBLE * abs(here.value):
                outcome.point, outcome.step, outcome.converged = outcome.point + step, step, True
                break
            if number == max_iter or problem.hopeless(here):
                break
            found, outcome.at_edge = _downhill(problem, outcome.point, here, step)
            if found is None:  # only rounding error is left, or the direction does not descend
                outcome.converged = gap <= 1e-9 * abs(here.value)
                outcome.stuck = not outcome.converged
                break
            outcome.point, outcome.local = found
            here = outcome.local
    except KeyboardInterrupt:
        if not outcome.values:
            raise
        outcome.interrupted, outcome.converged = True, False
        raise Interrupted(outcome) from None
    return outcome


def _downhill(
    problem: Problem, point: FloatArray, here: Local, step: FloatArray
) -> tuple[tuple[FloatArray, Local] | None, bool]:
    """Return the first of point + step, point + step/2, … where the objective is low enough, or None.

    The second value is whether the objective was not defined at one of the points tried before.
    """
    at_edge = False
    rounding = _ROUNDING * (abs(here.value) + here.scale)
    for _ in range(_MOST_HALVINGS):
        there = problem.evaluate(point + step)
        promised = min(float(here.gradient @ step), 0.0)
        if there.valid and there.value <= here.value + _SUFFICIENT * promised + rounding:
            return (point + step, there), at_edge
        at_edge = at_edge or not there.valid
        step = 0.5 * step
    return None, at_edge
