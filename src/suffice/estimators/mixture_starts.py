"""Where EM of a mixture begins: the best of a few starts, each tried for a few rounds on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import em
from suffice.components import Components
from suffice.engines import Engine, MemoryEngine, Rows
from suffice.errors import EstimateError
from suffice.joint import JointModel
from suffice.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels
from suffice.schema import Schema
from suffice.starts import LLOYD, START_ROUNDS, START_ROWS, nearest_of_k_means, random_responsibilities, some_rows
from suffice.statistics import JointStatistics

Problem = em.Problem[JointModel, JointStatistics]


def best_of(starts: Iterable[Callable[[], tuple[Problem, JointModel]]], tol: float) -> JointModel:
    """Return what a few rounds make of the best start; some may have no estimate, but not all."""
    best: em.Outcome[JointModel, JointStatistics] | None = None
    failed: EstimateError | None = None
    for start in starts:
        try:
            problem, first = start()
            outcome = em.run(problem, first, max_iter=START_ROUNDS, tol=tol)
        except EstimateError as error:
            failed = error
            continue
        if best is None or outcome.bounds[-1] > best.bounds[-1]:
            best = outcome
    if best is None:
        assert failed is not None
        raise failed
    return best.model


@dataclass(frozen=True)
class Starts:
    """The settings of a mixture that say where to begin; see `Mixture`."""

    init: Any
    n_init: int
    #: how many components there are
    size: int
    tol: float
    n_jobs: int | None

    def begin(
        self,
        components: Components,
        engine: Engine,
        overall: JointStatistics,
        n_rows: int,
        rng: np.random.Generator,
    ) -> JointModel:
        """Return the model to begin with."""
        rows = self._rows(engine, n_rows, rng)
        guesses = self._guesses(rows, components, overall, rng)

        def first(guess: Callable[[], Responsibilities]) -> JointModel:
            return components.begin(MemoryEngine(Rows(rows.blocks, guess(), rows.start), self.n_jobs))

        if len(guesses) == 1:
            return first(guesses[0])
        problem = components.problem(MemoryEngine(rows, self.n_jobs))
        return best_of((lambda guess=guess: (problem, first(guess)) for guess in guesses), self.tol)  # type: ignore[misc]

    def _rows(self, engine: Engine, n_rows: int, rng: np.random.Generator) -> Rows:
        if isinstance(self.init, str):
            return some_rows(engine, n_rows, max(START_ROWS, 50 * self.size), rng)
        if not isinstance(engine, MemoryEngine):
            raise ValueError("labels or responsibilities to begin with need rows in memory; give a fitted Mixture")
        return engine.rows

    def _guesses(
        self, rows: Rows, components: Components, overall: JointStatistics, rng: np.random.Generator
    ) -> list[Callable[[], Responsibilities]]:
        """Return functions that say who belongs to which component, one a start."""
        known, k = rows.responsibilities, self.size
        assert isinstance(known, PartialLabels)
        weight, n_init = known.weight, self.n_init if k > 1 else 1
        if not isinstance(self.init, str):
            several = isinstance(self.init, (list, tuple)) and np.ndim(self.init[0]) > 0 and len(self.init) != len(rows)
            given = [_members(np.asarray(start), known, k) for start in (self.init if several else [self.init])]
            return [lambda start=start: start for start in given]  # type: ignore[misc]
        if self.init == "random":
            return [partial(random_responsibilities, len(rows), k, weight, rng)] * n_init
        if self.init == "k-means++":
            pairs = zip(components.schema.blocks, overall.blocks, strict=True)
            all_rows = [block.family.estimate(sums, "auto") for block, sums in pairs]
            return [
                partial(nearest_of_k_means, rows, all_rows, k, weight, rng, LLOYD[start % len(LLOYD)])
                for start in range(n_init)
            ]
        raise ValueError(
            f"init must be 'k-means++', 'random', labels, responsibilities or a fitted Mixture, not {self.init!r}"
        )


def _members(given: NDArray[Any], known: PartialLabels, k: int) -> Responsibilities:
    if len(given) != len(known) or given.ndim not in (1, 2):
        raise ValueError(f"init must have one label or one row of shares for each of {len(known)} rows")
    if given.ndim == 2:
        matrix = np.asarray(given, dtype=np.float64)
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
    return JointModel(schema, model.log_prior, model.distributions)
