"""Computations that need y alone: its totals, the null model (without columns), and the saturated model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice._arrays import FloatArray
from suffice.engines import Engine
from suffice.engines.base import Chunk
from suffice.glm.fitting import minimise
from suffice.glm.objective import Objective, Start
from suffice.glm.pairs import Pair
from suffice.glm.rows import Target
from suffice.glm.solve import ridge
from suffice.glm.sums import Curvature, NewtonSums, Point, newton_sums, observed_hessian


@dataclass(frozen=True)
class Totals:
    """Sums over rows: the number with a positive weight, the weight, and weight times y, y² and the offset (if any)."""

    n_rows: int
    weight: float
    y: float
    square: float
    has_offset: bool
    offset: float = 0.0

    @property
    def constant(self) -> bool:
        """Whether y is the same in every row with a weight, up to rounding."""
        mean = self.y / self.weight
        return abs(self.square / self.weight - mean * mean) <= 1e-12 * mean * mean

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.n_rows + other.n_rows,
            self.weight + other.weight,
            self.y + other.y,
            self.square + other.square,
            self.has_offset or other.has_offset,
            self.offset + other.offset,
        )


def totals(chunk: Chunk, _: None) -> Totals:
    """Kernel: the totals of some rows."""
    target: Target = chunk.target
    has_offset = target.offset is not None and bool(target.offset.any())
    with np.errstate(over="ignore"):  # the caller that needs the squares checks for overflow
        square = float(target.weights @ (target.y * target.y))
    shift = 0.0 if target.offset is None else float(target.weights @ target.offset)
    if target.weight is None:
        return Totals(len(target), float(len(target)), float(target.y.sum()), square, has_offset, shift)
    rows = int((target.weight > 0.0).sum())
    return Totals(rows, float(target.weight.sum()), float(target.weight @ target.y), square, has_offset, shift)


@dataclass(frozen=True)
class Ends:
    """The deviance of the null model (without columns), and the log-likelihood of the saturated model."""

    null_deviance: float
    saturated: float

    def __add__(self, other: Ends) -> Ends:
        return Ends(self.null_deviance + other.null_deviance, self.saturated + other.saturated)


@dataclass(frozen=True)
class NullModel:
    """The model η = intercept + offset, and the dispersion for the log-likelihood."""

    pair: Pair
    intercept: float
    dispersion: float


def ends(chunk: Chunk, model: NullModel) -> Ends:
    """Kernel: the deviance of the null model and the saturated log-likelihood."""
    target: Target = chunk.target
    eta = np.full(len(target), model.intercept)
    if target.offset is not None:
        eta += target.offset
    work = model.pair.working(eta, target.y, target.weight)
    deviance = np.inf if work is None else 2.0 * work.half_deviance
    return Ends(deviance, model.pair.response.saturated(target.y, target.weights, model.dispersion))


def _without_columns(chunk: Chunk, at: Point) -> NewtonSums:
    """Kernel: the sums of a model that has an intercept and no column."""
    return newton_sums(replace(chunk, blocks=(np.empty((len(chunk), 0)),)), at)


def _observed_without_columns(chunk: Chunk, at: Point) -> Curvature:
    """Kernel: the observed Hessian of a model that has an intercept and no column."""
    return observed_hessian(replace(chunk, blocks=(np.empty((len(chunk), 0)),)), at)


def null_intercept(pair: Pair, targets: Engine, met: Totals, *, intercept: bool) -> float:
    """Return the intercept of the null model: g(ȳ), or by iteration if there are offsets; 0 without an intercept."""
    if not intercept:
        return 0.0
    mean, weight = np.array([met.y / met.weight]), np.array([met.weight])
    with np.errstate(divide="ignore", invalid="ignore"):
        start = float(pair.link.link(mean)[0])
    if not np.isfinite(start):  # all y are 0, or all are 1
        start = float(pair.link.link(pair.response.initial_mean(mean, weight))[0])
    if not met.has_offset:
        return start

    def sums(theta: FloatArray, _: bool, engine: Engine) -> NewtonSums:
        return engine.reduce(_without_columns, Point(pair, np.zeros(0), theta))

    def observed(theta: FloatArray, engine: Engine) -> FloatArray:
        return engine.reduce(_observed_without_columns, Point(pair, np.zeros(0), theta)).values

    objective = Objective(
        sums, ridge(np.zeros(1)), lambda _: met.weight / met.n_rows, observed=observed if pair.observes else None
    )
    starts: list[Start] = [lambda _: np.array([start - met.offset / met.weight]), lambda _: np.array([start])]
    found = minimise(objective, targets, starts, n_parameters=1, sample=None, max_iter=100, tol=1e-12)
    return start if found is None else float(found.theta[0])
