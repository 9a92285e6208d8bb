"""The objective of a linear model, computed from the sums of a pass over the rows, and the result of a fit."""

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

#: half the deviance per row below which the columns separate the classes perfectly
PERFECT = 1e-6


@dataclass(frozen=True, eq=False)
class Evaluated(Local):
    """An objective expanded about a point θ, with the sums that it was computed from."""

    sums: NewtonSums | None = None
    theta: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Objective:
    """The penalised negative log-likelihood.

    Parameters
    ----------
    sums : callable
        Maps θ, whether the Hessian is needed, and the engine to the sums.
    penalty : callable
        Maps θ to Qθ, for the penalty ½ θᵀQθ.
    scale : callable
        Maps the sums to the unit of log-likelihood: the dispersion.
    correction : callable or None
        Maps θ, the sums, the solver and the engine to terms of value and gradient (Firth's correction).
    observed : callable or None
        Maps θ and the engine to the observed Hessian of the sums, if it is not the expected one.
    diagonal : callable or None
        Maps θ and the engine to the diagonal of the Hessian, including the penalty, for when the Hessian is too large.
    perfect : float
        Half the deviance below which classes are separated; 0 if a finite estimate may fit every row.
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
        """Return the objective with its gradient and Hessian at θ."""
        with np.errstate(over="ignore", invalid="ignore"):  # a non-finite objective is not `valid`
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
        """Return the value of the objective at θ."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.sums(theta, False, engine).half_deviance + 0.5 * float(theta @ self.penalty(theta))

    def observed_hessian(self, here: Evaluated, engine: Engine, guard: FloatArray | None = None) -> FloatArray | None:
        """Return the observed Hessian at a point; None if it is the expected one."""
        if self.observed is None or here.theta is None:
            return None
        return self._with_penalty(self.observed(here.theta, engine), guard)

    def _with_penalty(self, hessian: FloatArray, guard: FloatArray | None) -> FloatArray:
        whole = hessian + self.penalty(np.eye(len(hessian)))
        return whole if guard is None else whole + np.diag(guard)


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a fit.

    Attributes
    ----------
    theta : array of shape (q,)
    half_deviance, pearson : float
    hessian : array of shape (q, q), or None if there were too many parameters
        The expected Hessian.
    diagonal : array of shape (q,)
        The diagonal of the Hessian at the start.
    kept : array of bool of shape (q,)
        The parameters that are estimated; the others belong to collinear columns.
    lost : array of shape (q,)
        The share of each parameter in directions without a maximum; all 0 if there is a maximum.
    stuck : bool
        Whether no step lowered the objective, although its gradient is not 0.
    at_edge : bool
        Whether the last step had to be shortened, because it led to means that the response cannot have.
    method : str
        The name of the optimiser, for warnings.
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


#: returns a start value for the rows of an engine
Start = Callable[[Engine], FloatArray]
