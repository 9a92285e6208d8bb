"""The start of EM for a mixture: the best of a few starts, each tried for a few iterations on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray, as_doubles, issparse
from suffice._threads import run_each, threads
from suffice.compiled import em_loop
from suffice.engines import Engine, MemoryEngine, Rows
from suffice.errors import EstimateError
from suffice.families import Gaussian
from suffice.mixtures.compiled_loop import Climbs, GaussianClimb
from suffice.mixtures.components import Components
from suffice.mixtures.start_clusters import Points, random_responsibilities, some_rows, start_rows, with_every_component
from suffice.models.joint import JointModel
from suffice.models.schema import Schema
from suffice.optimize import em
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels
from suffice.tables.labels import as_column

Problem = em.Problem[JointModel, JointStatistics]

#: how many starts a mixture tries by default
N_STARTS = 5
#: the stages of the comparison of starts: iterations that each start makes, and how many starts are kept
RACE = ((2, 2), (5, 1))
_RACE_ITERATIONS = sum(iterations for iterations, _ in RACE)
#: starts whose bounds differ by a smaller fraction are assumed to lead to the same optimum
_SETTLED = 1e-4
#: the maximum number of multiplications per iteration for which all starts are tried in one compiled call
_SMALL = 500_000
#: the maximum number of iterations on a sample of the rows, and the factor by which the tolerance is larger there
_MOST_ON_SAMPLE, _LOOSER = 200, 10.0


class Start:
    """A first model that EM improves a few iterations at a time.

    Parameters
    ----------
    problem : Problem
    first : JointModel, or a GaussianClimb that starts there
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
        """The model after the iterations so far."""
        return self._model if self._climb is None else self._climb.reached()[0]

    def settled(self) -> bool:
        """Return whether the last iteration gained almost nothing."""
        return self.converged or (len(self.bounds) > 1 and _nearly_equal(self.bounds[-1], self.bounds[-2]))

    def climb(self, goal: int, tol: float) -> None:
        """Continue to at most `goal` iterations, by compiled calls only, as far as these get; safe in any thread."""
        climb = self._climb
        while climb is not None and not (climb.converged or climb.stopped) and len(climb.bounds) < goal:
            climb.advance(goal - len(climb.bounds), tol)

    def advance(self, goal: int, tol: float) -> None:
        """Continue to `goal` iterations in total, or fewer if the bound stops rising."""
        self.climb(goal, tol)
        if not self.converged and len(self.bounds) < goal:
            self._run(goal, tol)

    def finish(self, max_iter: int, tol: float, **options: Any) -> em.Outcome[JointModel, JointStatistics]:
        """Continue until the bound stops rising; the options are those of `em.run`."""
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


def best_of(starts: Iterable[Callable[[], Start]], tol: float, most: int = 500, n_threads: int = 1) -> Start:
    """Return the best of several starts after a few iterations.

    Starts without an estimate are skipped; if all of them have none, the last EstimateError is raised.

    Parameters
    ----------
    starts : iterable of callables
        Each returns a start. Random numbers are drawn when the iterable is advanced.
    tol : float
    most : int
        The maximum number of iterations of a start.
    n_threads : int
        How many starts to try at the same time; more than one only if the starts use compiled calls.
    """
    waiting, running = iter(starts), list[Start]()
    failed: EstimateError | None = None
    (iterations, kept), (more, _) = RACE
    first = list(islice(waiting, max(n_threads, 2)))
    if len(first) == 1:
        return first[0]()
    while first:
        for start in run_each(partial(_begun, goal=min(iterations, most), tol=tol), first, n_threads):
            try:
                if isinstance(start, EstimateError):
                    raise start
                start.advance(min(iterations, most), tol)
            except EstimateError as error:
                failed = error
                continue
            if start.settled() and any(
                other.settled() and _nearly_equal(start.bounds[-1], other.bounds[-1]) for other in running
            ):
                return start
            running.append(start)
        first = list(islice(waiting, n_threads))
    if not running:
        assert failed is not None
        raise failed
    running = sorted(running, key=lambda start: -start.bounds[-1])[:kept]
    if len(running) > 1:
        goals = [min(len(start.bounds) + more, most) for start in running]
        run_each(lambda pair: pair[0].climb(pair[1], tol), list(zip(running, goals, strict=True)), n_threads)
        for start, goal in zip(running, goals, strict=True):
            start.advance(goal, tol)
    return max(running, key=lambda start: start.bounds[-1])


def _begun(begin: Callable[[], Start], goal: int, tol: float) -> Start | EstimateError:
    """Return a start after its first iterations, as far as compiled calls get, or the error if it has no estimate."""
    try:
        start = begin()
        start.climb(goal, tol)
    except EstimateError as error:
        return error
    return start


@dataclass(frozen=True)
class Starts:
    """The settings of a mixture that determine where EM starts; see `Mixture`."""

    init: Any
    n_init: int
    #: the number of components
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
        """Return the model to start from, or the best start over all rows, whose first iterations are done."""
        rows = self._rows(components, engine, n_rows, rng)
        problem = components.problem(MemoryEngine(rows, self.n_jobs))
        compiled = isinstance(problem.climb, Climbs) and isinstance(self.init, str)
        n_threads = threads(self.n_jobs) if compiled else 1  # one start per thread
        guesses = self._guesses(rows, components, overall, rng, 1 if n_threads > 1 else self.n_jobs)
        first = _smoothed(components, overall, self.size) if isinstance(self.init, str) else components

        def begin(guess: Callable[[], Responsibilities]) -> Start:
            members = guess()
            climb = problem.climb.begin(members) if isinstance(problem.climb, Climbs) else None
            belong = MemoryEngine(Rows(rows.blocks, members, rows.start), self.n_jobs)
            return Start(problem, first.begin(belong) if climb is None else climb)

        on_all = len(rows) == n_rows and isinstance(engine, MemoryEngine)
        most, best = self.max_iter if on_all else 500, None
        if compiled and self._is_small(rows, most):
            members = [guess() for guess in guesses]
            best = self._race_at_once(problem, members)
            guesses = (partial(_same, member) for member in members)
        if best is None:
            best = best_of((partial(begin, guess) for guess in guesses), self.tol, most, n_threads)
        if on_all:
            return best
        best.advance(len(best.bounds) + _MOST_ON_SAMPLE, _LOOSER * self.tol)
        return best.model

    def _is_small(self, rows: Rows, most: int) -> bool:
        """Return whether a start takes less time than its interpreter overhead, so that one call tries all of them."""
        n, d = rows.blocks[0].shape
        few = 1 < self._n_starts <= em_loop.MOST_STARTS
        return few and n * self.size * d * (d + 3) <= _SMALL and most >= _RACE_ITERATIONS

    def _race_at_once(self, problem: Problem, members: Sequence[Responsibilities]) -> Start | None:
        """Return the same start as `best_of` by one compiled call; None if it has to be found in Python."""
        (iterations, kept), (more, _) = RACE
        labels = [member.codes for member in members if isinstance(member, Labels)]
        if len(labels) < len(members) or not isinstance(problem.climb, Climbs):
            return None
        climb = problem.climb.race(labels, self.tol, iterations, more, kept)
        return None if climb is None else Start(problem, climb)

    @property
    def _n_starts(self) -> int:
        return self.n_init if self.size > 1 else 1

    def _rows(self, components: Components, engine: Engine, n_rows: int, rng: np.random.Generator) -> Rows:
        if isinstance(self.init, str):
            return some_rows(engine, n_rows, start_rows(self.size, components.schema.n_columns, n_rows), rng)
        if not isinstance(engine, MemoryEngine):
            raise ValueError("labels or responsibilities to begin with need rows in memory; give a fitted Mixture")
        return engine.rows

    def _guesses(
        self,
        rows: Rows,
        components: Components,
        overall: JointStatistics,
        rng: np.random.Generator,
        n_jobs: int | None,
    ) -> Iterator[Callable[[], Responsibilities]]:
        """Yield one function per start that returns its first responsibilities; random numbers are drawn beforehand."""
        known, k = rows.responsibilities, self.size
        assert isinstance(known, PartialLabels)
        weight = known.weight
        if not isinstance(self.init, str):
            for start in _given(self.init, len(rows)):
                yield partial(_same, _members(start, known, k))
        elif self.init == "random":
            for _ in range(self._n_starts):
                yield partial(_same, random_responsibilities(len(rows), k, weight, rng))
        elif self.init not in ("k-means++", "agglomerative"):
            raise _no_start(self.init)
        elif k == 1:
            yield partial(_same, Labels(np.zeros(len(rows), dtype=np.intp), weight, 1))
        else:
            pairs = zip(components.schema.blocks, overall.blocks, strict=True)
            points = Points(rows, [block.family.of_all_rows(sums) for block, sums in pairs], weight)
            if self.init == "agglomerative":
                for number in range(min(self._n_starts, 2)):
                    codes = points.merged(k, number, rng)
                    yield partial(with_every_component, codes, k, weight, int(rng.integers(2**63)))
                return
            for number in range(self._n_starts):
                find = points.planned_clusters(k, number, rng, n_jobs)
                yield partial(_clusters, find, k, weight, int(rng.integers(2**63)))


def _smoothed(components: Components, overall: JointStatistics, k: int) -> Components:
    """Return the components with the automatic prior for each family without one, except the Gaussian.

    A probability that is 0 at the start stays 0 in EM, so maximum likelihood would stay at starting clusters that
    coincide with the values of one column.
    """
    parts = zip(components.schema.blocks, overall.blocks, components.priors, strict=True)
    priors = [
        block.family.prior_of_components(sums, "auto", k)
        if prior is None and not isinstance(block.family, Gaussian)
        else prior
        for block, sums, prior in parts
    ]
    return replace(components, priors=priors)


def _same(members: Responsibilities) -> Responsibilities:
    return members


def _clusters(find: Callable[[], IntArray], k: int, weight: FloatArray | None, seed: int) -> Responsibilities:
    return with_every_component(find(), k, weight, seed)


def _no_start(init: Any) -> ValueError:
    return ValueError(
        f"init must be 'k-means++', 'agglomerative', 'random', labels, responsibilities or a fitted Mixture, not "
        f"{init!r:.80}"
    )


def _given(init: Any, n_rows: int) -> list[NDArray[Any]]:
    """Return the labels or responsibilities of one or several starts; a list with one item per row is one start."""
    if init is None or isinstance(init, (dict, set, frozenset)):
        raise _no_start(init)
    init = init.toarray() if issparse(init) else init
    several = isinstance(init, (list, tuple)) and len(init) not in (0, n_rows) and np.ndim(init[0]) > 0
    starts = [as_column(start) for start in (init if several else [init])]
    if any(start.ndim == 0 or not len(start) for start in starts):
        raise _no_start(init)
    return starts


def _members(given: NDArray[Any], known: PartialLabels, k: int) -> Responsibilities:
    if len(given) != len(known) or given.ndim not in (1, 2):
        raise ValueError(f"init must have one label or one row of shares for each of {len(known)} rows")
    if given.ndim == 2:
        matrix = as_doubles(given)
        if matrix.shape[1] != k or not (np.isfinite(matrix) & (matrix >= 0)).all():
            raise ValueError(f"responsibilities to begin with must be {k} shares per row, finite and not negative")
        matrix = matrix if known.weight is None else matrix * known.weight[:, None]
        if not matrix.any(axis=0).all():
            raise ValueError("responsibilities to begin with must give every component a share of some row with weight")
        return SoftLabels(matrix)
    absent = [label is None or label != label for label in given.tolist()]
    if any(absent):
        raise ValueError(
            f"labels to begin with must name the component of every row, but row {absent.index(True)} has none; give "
            f"responsibilities (shares of the components) for rows that may belong to any"
        )
    values, codes = np.unique(given, return_inverse=True)
    if len(values) != k:
        raise ValueError(f"labels to begin with must name {k} components, but name {len(values)}")
    return Labels(codes.astype(np.intp), known.weight, k)


def compatible(model: JointModel, schema: Schema, k: int) -> JointModel:
    """Return the parameters of another mixture for rows of this schema; raise ValueError if they do not match."""
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
