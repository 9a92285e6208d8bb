"""The shape θ of a negative binomial regression, estimated with its coefficients by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.engines.base import Chunk
from suffice.glm.baseline import Totals, null_intercept
from suffice.glm.gamma_gains import digamma_gain, trigamma_gain
from suffice.glm.objective import Found
from suffice.glm.pairs import Pair, pair
from suffice.glm.regression import Settings, fit_pair
from suffice.glm.responses import NegativeBinomialResponse
from suffice.glm.rows import Data
from suffice.glm.sums import Point, predictor
from suffice.optimize.iteration import Iteration

#: the longest step of log θ, and the largest θ that is told from a Poisson regression
_LONGEST, _LARGEST = 3.0, 1e12
#: the tolerance of the coefficients at first, and as a share of the last gain by the shape
_ROUGH, _SHARE = 1e-2, 1e-2


@dataclass(frozen=True)
class ShapeSums:
    """The derivatives of the log-likelihood in θ, and the excess of the variance over that of Poisson counts.

    Attributes
    ----------
    slope, bend : float
        dℓ/dθ and d²ℓ/dθ².
    excess, square : float
        Σ weight [(y − μ)² − y] and Σ weight μ²: their ratio estimates 1/θ.
    """

    slope: float
    bend: float
    excess: float
    square: float

    def __add__(self, other: ShapeSums) -> ShapeSums:
        return ShapeSums(
            self.slope + other.slope, self.bend + other.bend, self.excess + other.excess, self.square + other.square
        )


def shape_sums(chunk: Chunk, at: Point) -> ShapeSums:
    """Kernel: the derivatives in θ, for a response with the shape θ and given coefficients."""
    response, target = at.pair.response, chunk.target
    assert isinstance(response, NegativeBinomialResponse)
    theta, y, weight = response.shape, target.y, target.weights
    with np.errstate(over="ignore"):
        mu = at.pair.link.inverse(predictor(chunk, at))
        excess, square = float(weight @ ((y - mu) ** 2 - y)), float(weight @ (mu * mu))
    if np.isinf(theta):
        return ShapeSums(0.0, 0.0, excess, square)
    slope = digamma_gain(y, theta) - np.log1p(mu / theta) + (mu - y) / (mu + theta)
    bend = trigamma_gain(y, theta) + mu / (theta * (mu + theta)) + (y - mu) / (mu + theta) ** 2
    return ShapeSums(float(weight @ slope), float(weight @ bend), excess, square)


@dataclass(frozen=True, eq=False)
class ShapeFound:
    """A response with the estimated shape, the standard error of the shape, and the fit and null model for it."""

    model: Pair
    std_error: float
    found: Found
    null: float


def fit_shape(
    model: Pair,
    data: Data,
    met: Totals,
    settings: Settings,
    start: Any = None,
    watch: Callable[[Iteration], None] | None = None,
) -> ShapeFound:
    """Return the joint maximum over coefficients and shape, by turns.

    The expected information of shape and coefficients is block diagonal, so that a Newton step of log θ between
    two fits of the coefficients converges in a few turns. It begins with the Poisson regression, θ = ∞.
    """
    response = model.response
    assert isinstance(response, NegativeBinomialResponse)

    def with_shape(shape: float) -> Pair:
        return pair(replace(response, shape=shape), model.link)

    def at(current: Pair, found: Found) -> Point:
        theta = found.theta if settings.intercept else np.append(0.0, found.theta)
        return Point(current, data.center if settings.intercept else np.zeros(len(theta) - 1), theta)

    current = with_shape(np.inf)
    found, null = fit_pair(current, data, met, settings, start, watch)
    n_iter = found.n_iter
    sums = data.engine.reduce(shape_sums, at(current, found))
    # a smaller variance than that of Poisson counts: 1/θ is 0; and counts of 0 alone tell nothing of θ
    if found.interrupted or met.y == 0.0 or not sums.excess > 0.0:
        return ShapeFound(current, np.nan, found, null)
    search = _Search(float(np.log(sums.square / sums.excess)))
    converged, gain = False, np.inf
    tol = settings.tol * min(1.0, met.weight)
    while not (converged or found.interrupted or search.log > np.log(_LARGEST)):
        current = with_shape(search.shape)
        # coefficients need to be no more exact than the shape is
        left = max(settings.max_iter - n_iter, 1)
        nearly = replace(settings, tol=max(settings.tol, min(_SHARE * gain, _ROUGH)), max_iter=left)
        found, _ = fit_pair(current, data, met, nearly, None, watch, near=found.theta, null=null)
        n_iter += found.n_iter
        sums = data.engine.reduce(shape_sums, at(current, found))
        gain = search.step(sums)
        converged = gain <= tol and nearly.tol <= settings.tol and found.converged
        if n_iter >= settings.max_iter:
            break
    if search.log > np.log(_LARGEST):
        current = with_shape(np.inf)
        found, _ = fit_pair(current, data, met, settings, None, watch, near=found.theta, null=null)
        return ShapeFound(current, np.nan, replace(found, n_iter=n_iter), null)
    if met.has_offset and not found.interrupted:
        null = null_intercept(current, data.targets, met, intercept=settings.intercept)
    error = 1.0 / np.sqrt(-sums.bend) if sums.bend < 0.0 else np.nan
    found = replace(found, n_iter=n_iter, converged=found.converged and converged)
    return ShapeFound(current, float(error), found, null)


class _Search:
    """Newton's method for log θ between bounds, which are where the slope was known to have either sign."""

    def __init__(self, log: float) -> None:
        self.log = log
        self._low, self._high = -np.inf, np.inf

    @property
    def shape(self) -> float:
        """The current θ."""
        return float(np.exp(self.log))

    def step(self, sums: ShapeSums) -> float:
        """Move log θ by a step; return the gain of log-likelihood that it predicts."""
        slope = self.shape * sums.slope
        bend = slope + self.shape**2 * sums.bend
        if slope > 0.0:
            self._low = max(self._low, self.log)
        else:
            self._high = min(self._high, self.log)
        newton = -slope / bend if bend < 0.0 else np.sign(slope)
        gain = 0.5 * slope * newton if bend < 0.0 else np.inf
        there = self.log + float(np.clip(newton, -_LONGEST, _LONGEST))
        if self._low < self._high and not self._low <= there <= self._high:
            there = 0.5 * (self._low + self._high)
        self.log = there
        return float(gain)
