"""Where EM of a mixture begins: the best of a few starts, each tried for a few iterations on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import em
from suffice._arrays import as_doubles
from suffice.compiled import em_loop
from suffice.components import Components
from suffice.engines import Engine, MemoryEngine, Rows
from suffice.errors import EstimateError
from suffice.joint import JointModel
from suffice.labels import as_column
from suffice.mixture_loop import Climbs, GaussianClimb
from suffice.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels
from suffice.schema import Schema
from suffice.starts import Points, random_responsibilities, some_rows, start_rows, with_every_component
from suffice.statistics import JointStatistics

Problem = em.Problem[JointModel, JointStatistics]

#: iterations that all starts make before they are compared, and how many of them go on
RACE = ((2, 2), (5, 1))
#: starts whose bounds differ by less than this share are taken to lead to the same end
_SETTLED = 1e-4
#: cells times components up to which all starts are tried in one call
_SMALL = 100_000
#: iterations on a sample of the rows, at most, and how much larger the tolerance may be there
_MOST_ON_SAMPLE, _LOOSER = 200, 10.0


class Start:
    """A first model that EM improves a few iterations at a time.

    Parameters
    ----------
    problem : Problem
    first : JointModel, or a climb that begins there
    """

    def __init__(self, problem: Problem, first: JointModel | GaussianClimb) -> None:
        self._problem = problem
        self._outcome: em.Outcome[JointModel, JointStatistics] | None = None
        self._climb: em.Climb[JointModel, JointStatistics] | None
        if isinstance(first, JointModel):
            self._model, self._climb = first, None if problem.climb is None else problem.climb(first)
        else:
            self._climb = first

    @property
    def bounds(self) -> list[float]:
        """The bound of each iteration so far."""
        done = self._outcome if self._climb is None else self._climb
        return [] if done is None else done.bounds

    @property
    def converged(self) -> bool:
        """Whether the bound has stopped rising."""
        done = self._outcome if self._climb is None else self._climb
        return done is not None and done.converged

    @property
    def model(self) -> JointModel:
        """The model that the iterations so far have led to."""
        return self._model if self._climb is None else self._climb.reached()[0]

    def settled(self) -> bool:
        """Return whether the last iteration gained almost nothing."""
        return self.converged or (len(self.bounds) > 1 and _nearly_equal(self.bounds[-1], self.bounds[-2]))

    def advance(self, rounds: int, tol: float) -> None:
        """Make so many iterations more, or fewer where the bound stops rising."""
        goal = len(self.bounds) + rounds
        while self._climb is not None and not self.converged and len(self.bounds) < goal:
            if self._climb.stopped:  # the next iteration is for Python
                self._run(goal, tol)
            else:
                self._climb.advance(goal - len(self.bounds), tol)
        if self._climb is None and not self.converged and len(self.bounds) < goal:
            self._run(goal, tol)

    def finish(self, max_iter: int, tol: float, **options: Any) -> em.Outcome[JointModel, JointStatistics]:
        """Go on until the bound stops rising; the options are those of `em.run`."""
        if self._outcome is None or not (self.converged or len(self.bounds) >= max_iter):
            self._run(max_iter, tol, **options)
        assert self._outcome is not None
        return self._outcome

    def _run(self, max_iter: int, tol: float, **options: Any) -> None:
        problem, climb = replace(self._problem, climb=None), self._climb
        first = None if climb is not None else self._model
        self._outcome = em.run(problem, first, max_iter=max_iter, tol=tol, climb=climb, before=self.bounds, **options)
        self._model, self._climb = self._outcome.model, None


def _nearly_equal(bound: float, other: float) -> bool:
    return abs(bound - other) <= _SETTLED * (1.0 + abs(bound))


def best_of(starts: Sequence[Callable[[], Start]], tol: float, most: int = 500) -> Start:
    """Return the best of some starts after a few iterations; some may have no estimate, but not all.

    Parameters
    ----------
    starts : sequence of callables
    tol : float
    most : int
        Iterations of a start at most.
    """
    if len(starts) == 1:
        return starts[0]()
    failed: EstimateError | None = None
    running: list[Start] = []
    rounds, kept = RACE[0]
    for begin in starts:
        try:
            start = begin()
            start.advance(min(rounds, most), tol)
        except EstimateError as error:
            failed = error
            continue
        if start.settled() and any(
            other.settled() and _nearly_equal(start.bounds[-1], other.bounds[-1]) for other in running
        ):
            return start
        running.append(start)
    for more, fewer in RACE[1:]:
        running, kept = sorted(running, key=lambda start: -start.bounds[-1])[:kept], fewer
        if len(running) > 1:
            for start in running:
                start.advance(min(more, most - len(start.bounds)), tol)
    if not running:
        assert failed is not None
        raise failed
    return max(running, key=lambda start: start.bounds[-1])


@dataclass(frozen=True)
class Starts:
    """The settings of a mixture that say where to begin; see `Mixture`."""

    init: Any
    n_init: int
    #: how many components there are
    size: int
    max_iter: int
    tol: float
    n_jobs: int | None

    def begin(
        self,
        components: Components,
        engine: Engine,
        overall: JointStatistics,
        n_rows: int,
        rng: np.random.Generator,
    ) -> JointModel | Start:
        """Return the model to begin with, or the best start over all rows, which has made its first iterations."""
        rows = self._rows(components, engine, n_rows, rng)
        guesses = self._guesses(rows, components, overall, rng)
        problem = components.problem(MemoryEngine(rows, self.n_jobs))

        def begin(guess: Callable[[], Responsibilities]) -> Start:
            members = guess()
            climb = problem.climb.begin(members) if isinstance(problem.climb, Climbs) else None
            belong = MemoryEngine(Rows(rows.blocks, members, rows.start), self.n_jobs)
            return Start(problem, components.begin(belong) if climb is None else climb)

        on_all = len(rows) == n_rows and isinstance(engine, MemoryEngine)
        most = self.max_iter if on_all else 500
        best = self._race_at_once(problem, guesses, rows, most)
        if best is None:
            best = best_of([partial(begin, guess) for guess in guesses], self.tol, most)
        if on_all:
            return best
        best.advance(_MOST_ON_SAMPLE, _LOOSER * self.tol)
        return best.model

    def _race_at_once(
        self, problem: Problem, guesses: Sequence[Callable[[], Responsibilities]], rows: Rows, most: int
    ) -> Start | None:
        """Return what `best_of` does by one compiled call, where a start takes less time than the interpreter."""
        small = len(rows) * self.size * rows.blocks[0].shape[1] <= _SMALL and len(guesses) <= em_loop.MOST_STARTS
        (rounds, kept), (more, _) = RACE
        if not small or len(guesses) == 1 or most < rounds + more or not isinstance(problem.climb, Climbs):
            return None
        members = [guess() for guess in guesses]
        if not all(isinstance(member, Labels) for member in members):
            return None
        climb = problem.climb.race([member.codes for member in members], self.tol, rounds, more, kept)  # type: ignore[attr-defined]
        return None if climb is None else Start(problem, climb)

    def _rows(self, components: Components, engine: Engine, n_rows: int, rng: np.random.Generator) -> Rows:
        if isinstance(self.init, str):
            return some_rows(engine, n_rows, start_rows(self.size, components.schema.n_columns), rng)
        if not isinstance(engine, MemoryEngine):
            raise ValueError("labels or responsibilities to begin with need rows in memory; give a fitted Mixture")
        return engine.rows

    def _guesses(
        self, rows: Rows, components: Components, overall: JointStatistics, rng: np.random.Generator
    ) -> Sequence[Callable[[], Responsibilities]]:
        """Return functions that say who belongs to which component, one per start."""
        known, k = rows.responsibilities, self.size
        assert isinstance(known, PartialLabels)
        weight, n_init = known.weight, self.n_init if k > 1 else 1
        if not isinstance(self.init, str):
            several = isinstance(self.init, (list, tuple)) and np.ndim(self.init[0]) > 0 and len(self.init) != len(rows)
            given = [_members(as_column(start), known, k) for start in (self.init if several else [self.init])]
            return [lambda start=start: start for start in given]  # type: ignore[misc]
        if self.init == "random":
            return [partial(random_responsibilities, len(rows), k, weight, rng)] * n_init
        if self.init == "k-means++":
            if k == 1:
                return [lambda: Labels(np.zeros(len(rows), dtype=np.intp), weight, 1)]
            pairs = zip(components.schema.blocks, overall.blocks, strict=True)
            points = Points(rows, [block.family.of_all_rows(sums) for block, sums in pairs], weight)
            return [partial(_clusters, points, k, start, rng, self.n_jobs) for start in range(n_init)]
        raise ValueError(
            f"init must be 'k-means++', 'random', labels, responsibilities or a fitted Mixture, not {self.init!r}"
        )


def _clusters(points: Points, k: int, start: int, rng: np.random.Generator, n_jobs: int | None) -> Responsibilities:
    return with_every_component(points.clusters(k, start, rng, n_jobs), k, points.weight, rng)


def _members(given: NDArray[Any], known: PartialLabels, k: int) -> Responsibilities:
    if len(given) != len(known) or given.ndim not in (1, 2):
        raise ValueError(f"init must have one label or one row of shares for each of {len(known)} rows")
    if given.ndim == 2:
        matrix = as_doubles(given)
        if matrix.shape[1] != k or not (np.isfinite(matrix) & (matrix >= 0)).all():
            raise ValueError(f"responsibilities to begin with must be {k} shares a row, finite and not negative")
        return SoftLabels(matrix if known.weight is None else matrix * known.weight[:, None])
    values, codes = np.unique(given, return_inverse=True)
    if len(values) != k:
        raise ValueError(f"labels to begin with must name {k} components, but name {len(values)}")
    return Labels(codes.astype(np.intp), known.weight, k)


def compatible(model: JointModel, schema: Schema, k: int) -> JointModel:
    """Return the parameters of another mixture for rows of this schema, or say why they do not fit."""
    if len(model.log_prior) != k or model.schema.n_columns != schema.n_columns:
        raise ValueError(
            f"the mixture to begin with has {len(model.log_prior)} components of {model.schema.n_columns} columns, but "
            f"{k} of {schema.n_columns} are asked for"
        )
    if model.schema.names is not None and schema.names is not None and model.schema.names != schema.names:
        raise ValueError(
            f"the mixture to begin with has the columns {list(model.schema.names)[:6]}, but the rows "
            f"{list(schema.names)[:6]}; select the same columns in the same order"
        )
    return JointModel(schema, model.log_prior, model.distributions)
