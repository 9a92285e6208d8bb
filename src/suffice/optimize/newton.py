"""Newton's method: a loop that knows neither families nor engines.

A round takes the objective with its gradient and Hessian at the point at hand, in one pass over the rows, and moves by
δ = −H⁻¹ g, halved until the objective falls by a share of what its slope promises (Armijo's rule). Half of the Newton
decrement gᵀ H⁻¹ g is what the objective is above its minimum, as far as a parabola can tell; the loop ends when that is
next to nothing, with a last step that needs no further pass. What is left then is its square where H is the Hessian, a
share of it where H is expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from suffice._arrays import FloatArray
from suffice.optimize.interrupts import Interrupted
from suffice.optimize.iteration import Iteration

#: a rise of the objective that is no more than rounding, as a share of its size
_ROUNDING = 1e-12
#: a gap that no sum of float64 can show, as a share of the objective
_INVISIBLE = 1e-16
#: the share of what the slope promises that a step must gain (Armijo)
_SUFFICIENT = 1e-4
_MOST_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Local:
    """An objective about a point: its value there, gradient and Hessian; `scale` is what counts as one unit of it."""

    value: float
    gradient: FloatArray
    hessian: FloatArray
    scale: float = 1.0

    @property
    def valid(self) -> bool:
        """Whether the point is one where the objective is defined."""
        return bool(np.isfinite(self.value) and np.isfinite(self.gradient).all() and np.isfinite(self.hessian).all())


@dataclass(frozen=True)
class Problem:
    """What Newton's method needs to know of an objective."""

    #: the objective about a point; its value is not finite where the objective is not defined
    evaluate: Callable[[FloatArray], Local]
    #: −H⁻¹ g, or another direction in which the objective falls
    direction: Callable[[Local], FloatArray]
    #: whether there is no minimum to be found this way
    hopeless: Callable[[Local], bool] = lambda _: False


@dataclass
class Outcome:
    """A point, the objective about it, and how the loop got there.

    Attributes
    ----------
    point : array of shape (p,)
        Where the loop ended, one step past the point of `local` if it converged.
    local : Local
        The objective about the last point that was evaluated.
    step : array of shape (p,)
        From the point of `local` to `point`.
    values : list of float
        The objective of each round.
    converged, interrupted : bool
        Whether the decrement became next to nothing, and whether Ctrl-C ended the loop.
    stuck : bool
        Whether no step lowered the objective, though the decrement says that there is something to gain.
    at_edge : bool
        Whether the last step led to where the objective is not defined, and was cut.
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
    """Move from `start` to the minimum.

    Parameters
    ----------
    start : array of shape (p,)
        A point where the objective is defined.
    max_iter : int
        Points at which the objective is evaluated at most, halved steps not counted.
    tol : float
        What the objective may be above its minimum before the last step, in units of ``Local.scale``.
    local : Local, optional
        The objective about `start`, where it is known already.
    watch : callable, optional
        Is told of every round.

    Raises
    ------
    Interrupted
        After Ctrl-C, with the outcome so far; plain KeyboardInterrupt before the first round is done.

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
            if found is None:  # rounding is all that is left, or a direction that does not descend
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
    """Return the first of point + step, point + step/2, … where the objective is low enough, None if there is none.

    With it, whether one of those before was where the objective is not defined.
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
