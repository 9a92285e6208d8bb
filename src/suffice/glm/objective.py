"""The objective of a linear model, by the sums that a pass over the rows gives, and what a fit finds of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.engines import Engine
from suffice.glm.solve import Penalty, Solver
from suffice.glm.sums import NewtonSums
from suffice.optimize.newton import Local

#: what is left of half a deviance, per row, where columns tell every row's class
PERFECT = 1e-6


@dataclass(frozen=True, eq=False)
class Evaluated(Local):
    """An objective about a point θ, with the sums that it was made of."""

    sums: NewtonSums | None = None
    theta: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Objective:
    """The penalised negative log-likelihood.

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
    observed : callable or None
        θ and the engine → the observed Hessian of the sums, where it is not the expected one.
    diagonal : callable or None
        θ and the engine → the diagonal of the Hessian, that of the penalty with it, where the Hessian is too large.
    perfect : float
        Half the deviance below which classes are separated; 0 where an estimate may well fit every row.
    """

    sums: Callable[[FloatArray, bool, Engine], NewtonSums]
    penalty: Penalty
    scale: Callable[[NewtonSums], float]
    correction: Callable[[FloatArray, NewtonSums, Solver, Engine], tuple[float, FloatArray]] | None = None
    observed: Callable[[FloatArray, Engine], FloatArray] | None = None
    diagonal: Callable[[FloatArray, Engine], FloatArray] | None = None
    perfect: float = 0.0

    def evaluate(
        self, theta: FloatArray, engine: Engine, solver: Solver | None = None, guard: FloatArray | None = None
    ) -> Evaluated:
        """Return the objective about θ."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not valid
            sums = self.sums(theta, True, engine)
            pull = self.penalty(theta)
            if guard is not None:
                pull = pull + guard * theta
            value, gradient = sums.half_deviance + 0.5 * float(theta @ pull), sums.gradient + pull
            if self.correction is not None and solver is not None and np.isfinite(value):
                more, add = self.correction(theta, sums, solver, engine)
                value, gradient = value + more, gradient + add
            hessian = self._with_penalty(sums.hessian, guard)
        return Evaluated(value, gradient, hessian, self.scale(sums), sums, theta)

    def value(self, theta: FloatArray, engine: Engine) -> float:
        """Return the objective at θ alone."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.sums(theta, False, engine).half_deviance + 0.5 * float(theta @ self.penalty(theta))

    def observed_hessian(self, here: Evaluated, engine: Engine, guard: FloatArray | None = None) -> FloatArray | None:
        """Return the observed Hessian about a point; None where it is the expected one."""
        if self.observed is None or here.theta is None:
            return None
        return self._with_penalty(self.observed(here.theta, engine), guard)

    def _with_penalty(self, hessian: FloatArray, guard: FloatArray | None) -> FloatArray:
        whole = hessian + self.penalty(np.eye(len(hessian)))
        return whole if guard is None else whole + np.diag(guard)


@dataclass(frozen=True, eq=False)
class Found:
    """What a fit found.

    Attributes
    ----------
    theta : array of shape (q,)
    half_deviance, pearson : float
    hessian : array of shape (q, q), or None where there were too many parameters for it
        The expected one.
    diagonal : array of shape (q,)
        Of the Hessian at the start.
    kept : array of bool of shape (q,)
        The parameters that were not left out.
    lost : array of shape (q,)
        How much each belongs to directions without a maximum; 0 for all where there is one.
    stuck : bool
        Whether no step lowered the objective, though there seems to be something to gain.
    at_edge : bool
        Whether the last step had to be cut, as it led to means that there are not.
    method : str
        What found it, for warnings.
    """

    theta: FloatArray
    half_deviance: float
    pearson: float
    hessian: FloatArray | None
    diagonal: FloatArray
    solver: Solver | None
    kept: Any
    lost: FloatArray
    n_iter: int
    converged: bool
    interrupted: bool = False
    stuck: bool = False
    at_edge: bool = False
    method: str = "Newton's method"


#: gives a point to begin with, for the rows of an engine
Start = Callable[[Engine], FloatArray]
