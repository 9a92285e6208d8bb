"""Newton's method for the smooth convex functions of a few variables to which some structures reduce."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from suffice._arrays import FloatArray

#: the value of a function at a point, with its gradient and Hessian
Expansion = tuple[float, FloatArray, FloatArray]

_MAX_ITERATIONS = 100
#: limit on the change of a variable, the logarithm of a volume, in one step
_LONGEST_STEP = 4.0
#: the iteration ends if a step promises a decrease of less than this share of `weight`
_PROMISE = 1e-17
#: limit on steps whose promised decrease is below the rounding error of the value, in search of a smaller gradient
_MOST_BLIND = 3
_EPSILON = float(np.finfo(np.float64).eps)


def minimise(expand: Callable[[FloatArray], Expansion], x: FloatArray, weight: float) -> FloatArray:
    """Return the minimiser of a convex function whose value does not change if one number is added to all variables.

    Parameters
    ----------
    expand : callable
        Returns the value (which may be ∞), gradient and Hessian at a point.
    x : array of shape (k,)
        The starting point.
    weight : float
        The size of the function's curvature: the weight of the rows.
    """
    value, gradient, hessian = expand(x)
    blind = 0
    for _ in range(_MAX_ITERATIONS):
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):  # a volume vanishes
            break
        step = _newton_step(gradient, hessian)
        promised = -float(gradient @ step)
        if promised <= 0.0:
            break
        share = 1.0
        while True:
            tried = x + share * step
            result = expand(tried)
            # the value has a rounding error relative to its terms, and these cancel
            if result[0] <= value - 1e-4 * share * promised + 1e-14 * (abs(value) + weight):
                break
            share *= 0.5
            if share < 1e-9:
                return x
        x, (value, gradient, hessian) = tried, result
        blind += promised <= _EPSILON * (abs(value) + weight)
        if promised <= _PROMISE * weight or blind == _MOST_BLIND:
            break
    return x


def _newton_step(gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Return −H⁻¹g, regularised along the direction in which the value does not change."""
    k = len(gradient)
    size = max(float(np.trace(hessian)) / k, np.finfo(float).tiny)
    regular = hessian + size / k + 1e-13 * size * np.eye(k)
    step = np.linalg.solve(regular, -gradient)
    step -= step.mean()
    return np.asarray(step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300)))
