"""The objective of a generalised linear model with one response and one link, and its minimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.engines import Engine
from suffice.glm.baseline import Totals, null_intercept
from suffice.glm.fitting import MOST_PARAMETERS, minimise
from suffice.glm.objective import PERFECT, Found, Objective, Start
from suffice.glm.pairs import Pair
from suffice.glm.responses import BernoulliResponse, BinomialResponse, GaussianResponse
from suffice.glm.rows import Data
from suffice.glm.solve import Solver, ridge
from suffice.glm.starting import as_start, data_start
from suffice.glm.sums import NewtonSums, Point, firth_gradient, hessian_diagonal, newton_sums, observed_hessian
from suffice.optimize.iteration import Iteration

#: a column with less curvature than this may be so small that its squares underflow
TOO_SMALL = 1e-280


@dataclass(frozen=True)
class Settings:
    """The user's settings of a fit."""

    intercept: bool
    alpha: float
    firth: bool
    max_iter: int
    tol: float

    def __post_init__(self) -> None:
        max_iter: Any = self.max_iter
        numbers: dict[str, Any] = {"alpha": self.alpha, "tol": self.tol}
        if not (isinstance(max_iter, Integral) and int(max_iter) >= 1):
            raise ValueError(f"max_iter must be a whole number of at least 1, not {max_iter!r}")
        for name, value in numbers.items():
            if not (isinstance(value, Real) and 0.0 <= float(value) < np.inf):
                raise ValueError(f"{name} must be a number that is not negative, not {value!r}")

    @property
    def determined(self) -> bool:
        """Whether the minimum is finite and unique for any columns."""
        return self.alpha > 0 or self.firth


@dataclass(frozen=True, eq=False)
class DerivativeSums:
    """Computes the sums of a pair at θ = (a, b), or at θ = b if there is no intercept."""

    pair: Pair
    center: FloatArray
    intercept: bool

    @property
    def keep(self) -> slice:
        """The slice of (a, b) that is estimated: all of it, or b alone if there is no intercept."""
        return slice(0 if self.intercept else 1, None)

    def point(self, theta: FloatArray, **more: Any) -> Point:
        """Return the Point of θ, with a = 0 if there is no intercept."""
        return Point(self.pair, self.center, theta if self.intercept else np.append(0.0, theta), **more)

    def __call__(self, theta: FloatArray, hessian: bool, engine: Engine) -> NewtonSums:
        """Return the sums over the rows of an engine."""
        found = engine.reduce(newton_sums, self.point(theta, hessian=hessian))
        matrix = found.hessian[self.keep, self.keep] if hessian else found.hessian
        return NewtonSums(found.half_deviance, found.gradient[self.keep], matrix, found.pearson)

    def observed(self, theta: FloatArray, engine: Engine) -> FloatArray:
        """Return the observed Hessian."""
        return engine.reduce(observed_hessian, self.point(theta)).values[self.keep, self.keep]

    def firth(self, theta: FloatArray, sums: NewtonSums, solver: Solver, engine: Engine) -> tuple[float, FloatArray]:
        """Return the term of Jeffreys' prior in the objective, −½ log |H|, and in its gradient."""
        q = len(self.center) + 1
        factor = np.zeros((q, q))
        factor[self.keep, self.keep] = solver.root_of_inverse(sums.hessian)
        more = engine.reduce(firth_gradient, self.point(theta, factor=factor))
        return -0.5 * solver.log_determinant(sums.hessian), more.gradient[self.keep]


def fit_pair(
    pair: Pair,
    data: Data,
    met: Totals,
    settings: Settings,
    start: Any = None,
    watch: Callable[[Iteration], None] | None = None,
    *,
    near: FloatArray | None = None,
    null: float | None = None,
) -> tuple[Found, float]:
    """Return the minimum of a generalised linear model, and the intercept of the null model.

    Parameters
    ----------
    near : array of shape (q,), optional
        The minimum of a similar model, of the same centred columns, to begin with.
    null : float, optional
        The intercept of the null model, if it is known.
    """
    if not np.isfinite(met.square) and isinstance(pair.response, GaussianResponse):
        raise ValueError("the numbers of y are too large to square; scale y, for example by its largest number")
    if settings.firth and not pair.bends:
        raise ValueError(
            f"Firth's correction is for logistic and log-linear models, not for {pair.response} with the link "
            f"{pair.link}; pass firth=False"
        )
    p = len(data.center)
    sums = DerivativeSums(pair, data.center if settings.intercept else np.zeros(p), settings.intercept)

    # a perfect fit leaves only rounding error, which is relative to y² for the Gaussian
    least = 1e-16 * (met.square if isinstance(pair.response, GaussianResponse) else met.weight)
    least = max(least, np.finfo(np.float64).tiny)

    def scale(found: NewtonSums) -> float:
        if pair.response.dispersion_known:
            return min(1.0, met.weight)
        return max(2.0 * found.half_deviance / met.n_rows, least)

    pull = np.append(0.0, np.full(p, float(settings.alpha)))[sums.keep]

    def diagonal(theta: FloatArray, engine: Engine) -> FloatArray:
        return engine.reduce(hessian_diagonal, sums.point(theta)).values[sums.keep] + pull

    objective = Objective(
        sums, ridge(pull), scale, sums.firth if settings.firth else None,
        sums.observed if pair.observes and not settings.firth else None, diagonal,
        PERFECT * met.weight if isinstance(pair.response, BernoulliResponse) else 0.0,
    )  # fmt: skip
    if null is None:
        null = null_intercept(pair, data.targets, met, intercept=settings.intercept)
    origin = np.append(null, np.zeros(p))[sums.keep]
    given = as_start(start, p, settings.intercept, sums.center) if near is None else near
    starts: list[Start] = [] if given is None else [lambda _: given]
    if len(origin) <= MOST_PARAMETERS:
        starts.append(lambda engine: data_start(engine, sums.point(origin), sums.keep))
    starts.append(lambda _: origin)
    # the Hessian omits that of Firth's term, so convergence is linear, not quadratic, and needs a smaller tolerance
    tol = 1e-4 * settings.tol if settings.firth else settings.tol
    found = minimise(
        objective, data.engine, starts, n_parameters=len(origin),
        sample=None if given is not None or settings.firth else data.sample,
        max_iter=settings.max_iter, tol=tol, watch=watch, determined=settings.determined,
        compare=given is None and pair.compiled is None and not isinstance(pair.response, BinomialResponse), keep=True,
    )  # fmt: skip
    if found is None:
        data.design.complain(data.tables())
        data.design.complain_of_scale(data.tables(), sums.center)
        raise ValueError(
            f"no coefficients were found for which the {pair.link} link gives means that a {pair.response} response "
            f"can have; pass start=, or another link such as 'log'"
        )
    if (found.diagonal < TOO_SMALL).any() and not settings.determined:
        data.design.complain_of_scale(data.tables(), sums.center)
    return found, null
