"""Gaussian mixtures that a search compares, over complete rows of numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from threading import Event, local
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from suffice import compiled
from suffice._arrays import FloatArray, issparse, to_float64
from suffice.compiled import em_loop
from suffice.engines import MemoryEngine
from suffice.estimators.mixture import Mixture
from suffice.families import Gaussian
from suffice.families.gaussian.covariance import Covariance, as_structure
from suffice.families.gaussian.covariance.constant import constant
from suffice.families.gaussian.moments import full_moments
from suffice.mixtures.agglomeration import MergeTree, merge_tree
from suffice.mixtures.compiled_loop import is_simple
from suffice.mixtures.kmeans import k_means
from suffice.mixtures.numpy_loop import PlainLoop
from suffice.mixtures.start_clusters import generator
from suffice.models import passes
from suffice.priors import NormalInverseWishart
from suffice.selection.collapse import GaussianRows, Penalty
from suffice.selection.gaussian_trials import GaussianTrial
from suffice.selection.grids import MOST_SAMPLED, Grid, figures_of, folds
from suffice.selection.table_grid import TableGrid
from suffice.selection.trials import Start
from suffice.statistics.moments import Moments
from suffice.statistics.responsibilities import Labels, PartialLabels
from suffice.tables.conversion import as_table
from suffice.tables.labels import check_weight

if TYPE_CHECKING:
    from suffice.selection.mixture_search import MixtureSearch

#: the number of rows whose densities are computed at a time
_CHUNK = 20_000
#: the maximum number of cells of a sparse array that is converted to a dense one
_MOST_CELLS = 20_000_000


class NumericGrid(Grid):
    """Gaussian mixtures over complete rows of numbers in memory, by the compiled loop or its NumPy fallback.

    Constant columns carry no information: they are left out of runs and figures.
    """

    gaussian = True

    def __init__(
        self, search: MixtureSearch, structures: Sequence[Any], X: Any, sample_weight: Any, rows: GaussianRows
    ) -> None:
        super().__init__(search, structures, X, sample_weight)
        self.threaded = compiled.library is not None
        self.rows, self.sample = rows, rows
        #: the loops from which the runs of one size are copied, per thread
        self._of_thread = local()
        self._priors: dict[tuple[type[Moments], int, bool], tuple[NormalInverseWishart, Penalty]] = {}
        if len(rows) > MOST_SAMPLED:
            drawn = generator(search.random_state).choice(len(rows), MOST_SAMPLED, replace=False)
            self.sample = rows.taken(np.sort(drawn))
        self.n_distinct = len(np.unique(self.sample.x, axis=0))
        self.trees: list[MergeTree] = [
            merge_tree(self.sample.x, shape, weight=self.sample.weight) for shape in ("VVV", "EII")[: search.n_init]
        ]

    @classmethod
    def of(cls, search: MixtureSearch, structures: Sequence[Any], X: Any, sample_weight: Any) -> NumericGrid | None:
        """Return the grid; None if the table or the settings need `TableGrid`."""
        shapes = [as_structure(structure) for structure in structures]
        probe = search._mixture(1, "full", prior=None)
        overall, _, missing = probe._survey(X, sample_weight)
        schema = overall.schema
        family = schema.blocks[0].family
        if search.acceleration is not None or missing or len(schema.blocks) != 1 or type(family) is not Gaussian:
            return None
        if family.structure is not as_structure("full"):  # the families already fix a structure
            return None

        def known(_: Any, weight: Any, n: int, start: int) -> PartialLabels:
            return PartialLabels(None, check_weight(weight, n, start), 1, n)

        engine = passes.engine(X, None, sample_weight, schema, known, n_jobs=search.n_jobs)
        if not isinstance(engine, MemoryEngine):
            return None
        responsibilities = engine.rows.responsibilities
        assert isinstance(responsibilities, PartialLabels)
        (block,) = engine.rows.chunk(0, len(engine.rows)).blocks
        if issparse(block):
            if block.shape[0] * block.shape[1] > _MOST_CELLS:
                return None
            block = block.toarray()
        rows = _numeric(np.ascontiguousarray(to_float64(block)), responsibilities.weight)
        if rows is None or (search.prior is None and rows.x.shape[1] < schema.n_columns):
            return None
        if not all(em_loop.knows(shape.code, rows.x.shape[1]) for shape in shapes):
            return None
        if search.prior is not None and not is_simple(family.prior_of_components(rows.overall, search.prior, 2)):
            return None
        return cls(search, structures, X, sample_weight, rows)

    def _prior(self, structure: Covariance, k: int, prior: Any) -> tuple[NormalInverseWishart, Penalty]:
        """Return the prior of k components as numbers, and its log-density."""
        key = structure.layout, k, isinstance(prior, str)
        if key not in self._priors:
            overall = self.rows.overall.to_layout(structure.layout)
            fixed = Gaussian(structure).prior_of_components(overall, prior, k)
            assert isinstance(fixed, NormalInverseWishart)
            self._priors[key] = fixed, Penalty(fixed)
        return self._priors[key]

    def _starts(self, k: int) -> list[Start]:
        if k > self.n_distinct:
            return []
        merged = [tree.labels(k) for tree in self.trees]
        more = self.search.n_init - len(self.trees) if k > 1 else 0
        return merged + _k_means_starts(self.sample.x, self.sample.weight, k, more, self.search.random_state)

    def _trial(self, k: int, structure: Any, start: Start, prior: Any, stop: Event) -> GaussianTrial:
        rows = self.rows if isinstance(start, GaussianTrial) else self.sample
        shape, penalised = as_structure(structure), prior is not None
        given, penalty = self._prior(shape, k, prior if penalised else "auto")
        key = shape.name, penalised, rows is self.sample
        loops: dict[Any, em_loop.EMLoop | PlainLoop] = self._of_thread.loops
        if key not in loops:
            loops[key] = _loop(rows, shape, k, given if penalised else None)
        return GaussianTrial(rows, shape, loops[key].another(), start, penalised, penalty, self.search.tol, stop)

    def of_one_size(self, k: int, stop: Event) -> list[GaussianTrial | None]:
        """Return the best run of each structure with k components, on all rows."""
        self._of_thread.loops = {}
        found: list[GaussianTrial | None] = super().of_one_size(k, stop)
        if self.sample is not self.rows:
            pairs = zip(found, self.structures, strict=True)
            found = [None if run is None else self._on_all_rows(run, k, structure, stop) for run, structure in pairs]
        for run in found:
            if run is not None:
                run.release()
        del self._of_thread.loops
        return found

    def _on_all_rows(self, run: GaussianTrial, k: int, structure: Any, stop: Event) -> GaussianTrial | None:
        """Return a run over all rows that starts from the result of a run over the sample."""
        again = ["auto"] if isinstance(self.search.prior, str) else []
        for prior in [*([] if run.penalised else [None]), *(again if again else [self.search.prior])]:
            whole = self._trial(k, structure, run, prior, stop)
            whole.advance(self.search.max_iter)
            if whole.found:
                return whole
        return None

    def measured(self, run: GaussianTrial) -> dict[str, Any]:
        """Return the figures of a mixture, and whether it converged and has a prior."""
        certain = 0.0
        for begin in range(0, len(self.rows), _CHUNK):
            here = slice(begin, begin + _CHUNK)
            joint = run.log_joint(self.rows.x[here])
            top = joint.max(1)
            logs = -np.log(np.exp(joint - top[:, None]).sum(1))
            certain += float(logs.sum() if self.rows.weight is None else logs @ self.rows.weight[here])
        figures = figures_of(run.log_likelihood, certain, run.n_parameters, self.rows.total)
        return {**figures, "converged": run.converged, "prior": run.penalised}

    def mixture(self, run: GaussianTrial, k: int, structure: Any) -> Mixture:
        """Return the mixture that a run has found."""
        penalised = "auto" if isinstance(self.search.prior, str) else self.search.prior
        mixture = self.search._mixture(k, structure, prior=penalised if run.penalised else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", ".*components were left without rows", UserWarning)
            overall, n_rows, missing = mixture._survey(self.X, self.sample_weight)
            if run.loop.means.shape[1] < overall.schema.n_columns:
                return self._with_constant_columns(mixture, run)
            blocks = zip(overall.schema.blocks, overall.joint.blocks, strict=True)
            priors = [block.family.prior_of_components(sums, mixture.prior, k) for block, sums in blocks]
            components = mixture._components(overall.schema, priors, missing)
            return mixture._adopt(components, run.outcome(components), n_rows)

    def _with_constant_columns(self, mixture: Mixture, run: GaussianTrial) -> Mixture:
        """Return a mixture of all columns with the clusters of a run without constant columns; it needs a prior."""
        init, prior, shares = mixture.init, mixture.prior, run.shares()
        weight = check_weight(self.sample_weight, len(as_table(self.X)))
        if weight is not None:  # the run only has the rows with positive weight
            own, shares = shares, np.full((len(weight), shares.shape[1]), 1.0 / shares.shape[1])
            shares[weight > 0] = own
        mixture.set_params(init=shares, prior="auto" if prior is None else prior)
        return mixture.fit(self.X, sample_weight=self.sample_weight).set_params(init=init)

    def held_out(self, k: int, stop: Event) -> list[float]:
        """Return the mean log-likelihood of held-out rows, one per structure."""
        total = np.zeros(len(self.structures))
        for train, test in folds(self.search.cv, len(self.rows.x)):
            rows = _numeric(self.rows.x[train], None if self.rows.weight is None else self.rows.weight[train])
            if rows is None or rows.x.shape[1] < self.rows.x.shape[1]:  # a column is constant in this fold
                return TableGrid(self.search, self.structures, self.X, self.sample_weight).held_out(k, stop)
            grid = NumericGrid(self.search, self.structures, None, None, rows)
            weight = np.ones(len(test)) if self.rows.weight is None else self.rows.weight[test]
            for i, run in enumerate(grid.of_one_size(k, stop)):
                total[i] += np.nan if run is None else weight @ _log_sum(run.log_joint(self.rows.x[test]))
        return list(total / self.rows.total)


def _loop(
    rows: GaussianRows, structure: Covariance, k: int, prior: NormalInverseWishart | None
) -> em_loop.EMLoop | PlainLoop:
    """Return an EM loop over the rows that has not started; without a prior it is maximum likelihood."""
    if compiled.library is None:
        return PlainLoop(rows.x, structure, k, weight=rows.weight, prior=prior)
    strength, prior_covariance = (
        (0.0, None) if prior is None else (float(prior.scatter_count), np.asarray(prior.scatter))
    )
    return em_loop.EMLoop(
        rows.x, structure.code, k, weight=rows.weight, strength=strength, prior_covariance=prior_covariance
    )


def _log_sum(joint: FloatArray) -> FloatArray:
    top = joint.max(1)
    return np.asarray(top + np.log(np.exp(joint - top[:, None]).sum(1)))


def _numeric(x: FloatArray, weight: FloatArray | None) -> GaussianRows | None:
    """Return the rows with positive weight and the columns that vary; None if there are none, or missing values."""
    if weight is not None and not (weight > 0).all():
        x, weight = x[weight > 0], weight[weight > 0]
    if not len(x) or not np.isfinite(x).all():
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # too large squares raise an error in the prior
        overall = full_moments(x, Labels(np.zeros(len(x), dtype=np.intp), weight, 1))
        varies = ~constant(overall)
    if not varies.any():
        return None
    if not varies.all():
        return _numeric(np.ascontiguousarray(x[:, varies]), weight)
    return GaussianRows(x, weight, overall)


def _k_means_starts(rows: FloatArray, weight: FloatArray | None, k: int, n: int, seed: Any) -> list[Start]:
    """Return `n` clusterings by k-means on standardised rows; those with empty clusters are left out."""
    deviation = rows.std(0)
    points = (rows - rows.mean(0)) / np.where(deviation > 0, deviation, 1.0)
    rng = generator(seed)
    found = [k_means(np.ascontiguousarray(points), k, rng, weight) for _ in range(n)]
    return [labels for labels in found if len(np.unique(labels)) == k]
