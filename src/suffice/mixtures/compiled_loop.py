"""EM for a mixture whose columns are one Gaussian block in memory: many iterations in one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray, to_float64
from suffice.compiled import em_loop
from suffice.engines import Engine, MemoryEngine, Rows
from suffice.families import Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.covariance import Covariance, GivenSphere
from suffice.families.gaussian.covariance.constant import ConstantColumns
from suffice.families.gaussian.covariance.data_scaled_prior import given_scatter
from suffice.models.joint import JointModel
from suffice.optimize import em
from suffice.priors import NormalInverseWishart, PriorSpec
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import DiagonalMoments, FullMoments, Moments, TiedMoments
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels

if TYPE_CHECKING:
    from suffice.mixtures.components import Components
    from suffice.mixtures.numpy_loop import PlainLoop

#: multiplications per iteration above which several threads gain more than the overhead of the interpreter (about two
#: milliseconds), and the cost of one exponential in multiplications
_MOST_PRODUCTS, _EXPONENTIAL = 6_000_000, 8


def is_small(n: int, d: int, k: int, structure: str) -> bool:
    """Return whether the compiled loop supports the structure and is faster than passes in several threads."""
    work = n * k * (em_loop.products(structure, d) + _EXPONENTIAL)
    return 0 < work <= _MOST_PRODUCTS and em_loop.available(structure, d)


def climbs(
    components: Components, engine: Engine
) -> Callable[[JointModel], em.Climb[JointModel, JointStatistics] | None] | None:
    """Return a factory of compiled EM runs over the rows of an engine; None if the Python loop has to be used.

    Compiled runs require a single Gaussian block, few enough rows in memory without missing values, no known component
    labels, and a fixed prior without a mean.
    """
    from suffice.mixtures.components import equal_shares, shares

    if not isinstance(engine, MemoryEngine) or engine.progress is not None or components.class_of is not None:
        return None
    if len(components.schema.blocks) != 1 or components.log_shares not in (shares, equal_shares):
        return None
    (block,), (prior,), (rows,) = components.schema.blocks, components.priors, engine.rows.blocks
    known, family = engine.rows.responsibilities, block.family
    if type(family) is not Gaussian or not isinstance(known, PartialLabels) or not known.unknown:
        return None
    (n, d), k, code = rows.shape, known.n_classes, _code(family.structure)
    if not is_small(n, d, k, code) or not (prior is None or is_simple(prior)):
        return None
    rows = rows[:n]  # some tables convert their columns only when they are read
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f":
        return None
    rows = np.asarray(rows, dtype=np.float64)
    if not np.isfinite(rows).all():
        return None
    columns = ConstantColumns.of(prior, rows)
    if columns.n_varying == 0:
        return None
    return Climbs(components, rows, known.weight, k, prior, components.log_shares is equal_shares, columns)


def _code(structure: Covariance) -> str:
    return em_loop.GIVEN_SPHERE if isinstance(structure, GivenSphere) else structure.code


def is_simple(prior: PriorSpec) -> bool:
    """Return whether the prior is a given covariance with a fixed weight, without a prior mean, at the mode."""
    return (
        isinstance(prior, NormalInverseWishart)
        and not isinstance(prior.scatter_count, str)
        and (prior.scatter is not None or prior.scatter_count == 0.0)
        and prior.mean_count == 0.0
        and prior.freedom == 0.0
    )


@dataclass(frozen=True)
class Climbs:
    """A factory of compiled EM runs over the same rows with the same prior."""

    components: Components
    rows: FloatArray
    weight: FloatArray | None
    k: int
    prior: PriorSpec
    equal_shares: bool
    columns: ConstantColumns

    def __call__(self, start: JointModel) -> GaussianClimb | None:
        """Return the EM run that starts from a model; None if the model is of another kind."""
        (distributions,) = start.distributions
        if type(distributions) is not GaussianDistributions or distributions.family is not self._family:
            return None
        if not _same(distributions.constant, self.columns.constant):
            return None
        loop, matrix = self._loop(), not self._family.structure.diagonal
        compact = self.columns.varying(distributions.compact, matrix=matrix)
        loop.begin_at(start.log_prior, self.columns.varying(distributions.means), compact)
        return GaussianClimb(self.components, loop, lambda: start, self.columns)

    def begin(self, members: Responsibilities) -> GaussianClimb | None:
        """Return the EM run that starts from the estimates for given responsibilities."""
        loop = self._loop()
        if isinstance(members, Labels):
            loop.begin_with_labels(members.codes)
        elif isinstance(members, SoftLabels):
            loop.begin_with_shares(to_float64(members.weights))
        else:
            return None
        belong = MemoryEngine(Rows((self.rows,), members))
        return GaussianClimb(self.components, loop, lambda: self.components.begin(belong), self.columns)

    def race(
        self, labels: Sequence[IntArray], tol: float, iterations: int, more: int, kept: int
    ) -> GaussianClimb | None:
        """Return the best of several starts after its first iterations (see `EMLoop.race`); None if all fail."""
        loop = self._loop()
        if not loop.race(np.stack(labels), tol, iterations, more, kept):
            return None
        return GaussianClimb(self.components, loop, _has_begun, self.columns)

    def _loop(self) -> em_loop.EMLoop:
        structure, prior, strength, prior_covariance = self._family.structure, self.prior, 0.0, None
        if isinstance(prior, NormalInverseWishart) and not isinstance(structure, GivenSphere):
            strength = float(prior.scatter_count)
            prior_covariance = None if strength == 0.0 else given_scatter(prior, self.rows.shape[1])
        return em_loop.EMLoop(
            self._rows,
            _code(structure),
            self.k,
            weight=self.weight,
            strength=strength,
            prior_covariance=None if prior_covariance is None else self.columns.varying(prior_covariance, matrix=True),
            variance=structure.variance if isinstance(structure, GivenSphere) else 0.0,
            equal_shares=self.equal_shares,
            offset=self.columns.log_prior(prior, 1 if structure.tied else self.k),
        )

    @cached_property
    def _rows(self) -> FloatArray:
        """The columns that are not constant, as a contiguous array."""
        return np.ascontiguousarray(self.columns.varying(self.rows))

    @property
    def _family(self) -> Gaussian:
        family = self.components.schema.blocks[0].family
        assert isinstance(family, Gaussian)
        return family


def _has_begun() -> JointModel:
    raise AssertionError("the best of a race has made its first iteration")


class GaussianClimb:
    """A run of EM from one starting model; see `em.Climb`."""

    def __init__(
        self,
        components: Components,
        loop: em_loop.EMLoop | PlainLoop,
        start: Callable[[], JointModel],
        columns: ConstantColumns | None = None,
    ) -> None:
        self._components, self._loop, self._start = components, loop, start
        self._columns = ConstantColumns(None, np.empty(components.schema.n_columns)) if columns is None else columns

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising."""
        return self._loop.status == em_loop.CONVERGED

    @property
    def stopped(self) -> bool:
        """Whether the next iteration has to be made in Python."""
        return self._loop.status not in (em_loop.CONVERGED, em_loop.CONTINUES)

    @property
    def bounds(self) -> list[float]:
        """The bound of each iteration so far."""
        return self._loop.bounds

    def accelerate(self) -> None:
        """Take extrapolation steps from now on."""
        self._loop.accelerate()

    def advance(self, max_iter: int, tol: float) -> None:
        """Make the next iterations, for a few hundredths of a second."""
        self._loop.advance(max_iter, tol)

    def reached(self) -> tuple[JointModel, JointStatistics | None]:
        """Return the model, and the statistics that it was estimated from."""
        loop, (block,) = self._loop, self._components.schema.blocks
        if not loop.bounds:
            return self._start(), None
        assert isinstance(block.family, Gaussian)
        columns, structure = self._columns, block.family.structure
        compact = columns.covariances(loop.covariance, matrix=not structure.diagonal)
        distributions = GaussianDistributions(block.family, columns.means(loop.means), compact, columns.constant)
        model = JointModel(self._components.schema, loop.log_shares, (distributions,))
        statistics = JointStatistics(loop.count, (_moments(loop, columns, structure.layout),))
        if loop.status == em_loop.NO_ESTIMATE:  # raises an error with the reason
            model = self._components.estimate(statistics, model)
        return model, statistics


def _moments(loop: em_loop.EMLoop | PlainLoop, columns: ConstantColumns, layout: type[Moments]) -> Moments:
    count, center, first = loop.count[:, None], columns.means(loop.center), columns.sums(loop.first)
    second = columns.sums(loop.second, matrix=layout is not DiagonalMoments)
    if layout is DiagonalMoments:
        return DiagonalMoments(np.broadcast_to(count, first.shape), center, first, second)
    return (TiedMoments if layout is TiedMoments else FullMoments)(count, center, first, second)


def _same(one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
