"""The mixtures that a search compares, over a numeric array or over any table."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from threading import Event, local
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from suffice import compiled
from suffice._arrays import FloatArray, IntArray, issparse, to_float64
from suffice.compiled import em_loop
from suffice.engines import MemoryEngine
from suffice.errors import EstimateError
from suffice.estimators.mixture import Mixture
from suffice.families import Gaussian
from suffice.families.gaussian.covariance import Covariance, as_structure
from suffice.families.gaussian.covariance.constant import constant
from suffice.families.gaussian.moments import full_moments
from suffice.mixtures.agglomeration import MergeTree, merge_tree
from suffice.mixtures.compiled_loop import is_simple
from suffice.mixtures.kmeans import k_means
from suffice.mixtures.numpy_loop import PlainLoop
from suffice.mixtures.start_points import generator
from suffice.models import passes
from suffice.priors import NormalInverseWishart
from suffice.selection.collapse import GaussianRows, Penalty
from suffice.selection.gaussian_trials import GaussianTrial
from suffice.selection.mixture_trials import MixtureTrial
from suffice.selection.strategy import best_of_one_size
from suffice.selection.trials import Start, Trial
from suffice.statistics.moments import Moments
from suffice.statistics.responsibilities import Labels, PartialLabels
from suffice.tables.arrays import ArrayTable
from suffice.tables.conversion import as_table
from suffice.tables.labels import check_weight

if TYPE_CHECKING:
    from suffice.selection.mixture_search import MixtureSearch

#: the maximum number of rows in which clusters are found; of more rows a sample is used, and EM then goes on with all
MOST_SAMPLED = 2000
#: the number of rows whose densities are computed at a time
_CHUNK = 20_000
#: the maximum number of cells of a sparse array that is converted to a dense one
_MOST_CELLS = 20_000_000
#: the figures reported for each mixture
FIGURES = ("log_likelihood", "n_parameters", "bic", "aic", "icl")


class Grid(ABC):
    """The mixtures of a search over one table.

    Parameters
    ----------
    search : MixtureSearch
        The settings of the search.
    structures : sequence
        The covariance structures.
    X, sample_weight : table, array of shape (n,) or None
        The rows and their weights.
    """

    #: whether several sizes can be searched at the same time, in threads
    threaded: bool
    #: whether all columns are Gaussian and not constant; otherwise maximum likelihood gives values probability 0, or
    #: has no estimate
    gaussian: bool

    def __init__(self, search: MixtureSearch, structures: Sequence[Any], X: Any, sample_weight: Any) -> None:
        self.search, self.structures, self.X, self.sample_weight = search, structures, X, sample_weight

    def of_one_size(self, k: int, stop: Event) -> list[Any]:
        """Return the best run of each structure with k components, None if it has no estimate.

        The prior "auto" means maximum likelihood, and the weak prior of `Mixture` if that has no estimate.
        """
        starts, prior = self._starts(k), self.search.prior
        if not starts:
            return [None] * len(self.structures)
        automatic = self.gaussian and isinstance(prior, str)
        found = self._best(k, self.structures, starts, None if automatic else prior, stop)
        failed = [i for i, run in enumerate(found) if not run.found] if automatic else []
        if failed:
            shares = (run.shares() for run in found if run.found)
            starts = [*starts, *(start for start in shares if start is not None)]
            again = self._best(k, [self.structures[i] for i in failed], starts, "auto", stop)
            for i, run in zip(failed, again, strict=True):
                found[i] = run
        return [run if run.found else None for run in found]

    def _best(self, k: int, structures: Sequence[Any], starts: Sequence[Start], prior: Any, stop: Event) -> list[Trial]:
        def begin(structure: Any, start: Start) -> Trial:
            return self._trial(k, structure, start, prior, stop)

        return best_of_one_size(begin, structures, starts, self.search.max_iter)

    @abstractmethod
    def _starts(self, k: int) -> list[Start]:
        """Return the starts of all structures; an empty list if there are too few rows."""

    @abstractmethod
    def _trial(self, k: int, structure: Any, start: Start, prior: Any, stop: Event) -> Trial:
        """Return a run of EM that has not started."""

    @abstractmethod
    def measured(self, run: Any) -> dict[str, Any]:
        """Return the figures of a mixture, and whether it converged and has a prior."""

    @abstractmethod
    def mixture(self, run: Any, k: int, structure: Any) -> Mixture:
        """Return the mixture that a run has found."""

    @abstractmethod
    def held_out(self, k: int, stop: Event) -> list[float]:
        """Return the mean log-likelihood of held-out rows, one per structure."""


def _figures(log_likelihood: float, certain: float, p: int, total: float) -> dict[str, Any]:
    """Return the criteria; `certain` is Σ log max_c p(c | x)."""
    bic = -2.0 * log_likelihood + p * float(np.log(total))
    aic, icl = -2.0 * log_likelihood + 2.0 * p, bic - 2.0 * certain
    return dict(zip(FIGURES, (log_likelihood, p, bic, aic, icl), strict=True))


def _k_means_starts(rows: FloatArray, weight: FloatArray | None, k: int, n: int, seed: Any) -> list[Start]:
    """Return `n` clusterings by k-means on standardised rows; those with empty clusters are left out."""
    deviation = rows.std(0)
    points = (rows - rows.mean(0)) / np.where(deviation > 0, deviation, 1.0)
    rng = generator(seed)
    found = [k_means(np.ascontiguousarray(points), k, rng, weight) for _ in range(n)]
    return [labels for labels in found if len(np.unique(labels)) == k]


# -- plain numbers ------------------------------------------------------------------------------------------------


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
        figures = _figures(run.log_likelihood, certain, run.n_parameters, self.rows.total)
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
        for train, test in _folds(self.search.cv, len(self.rows.x)):
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


# -- any table ----------------------------------------------------------------------------------------------------


class TableGrid(Grid):
    """Mixtures over any table in memory, fitted one after the other."""

    threaded = False

    def __init__(self, search: MixtureSearch, structures: Sequence[Any], X: Any, sample_weight: Any) -> None:
        super().__init__(search, structures, X, sample_weight)
        mixtures = [search._mixture(1, structure, prior=None) for structure in structures]
        self._overall = {i: mixture._survey(X, sample_weight)[0] for i, mixture in enumerate(mixtures)}
        numeric = all(isinstance(block.family, Gaussian) for block in self._overall[0].schema.blocks)
        varying = (isinstance(sums, Moments) and not constant(sums).any() for sums in self._overall[0].joint.blocks)
        self.gaussian = numeric and all(varying)
        table = as_table(X)
        self.n_distinct, self.tree = len(table), None
        self.x: FloatArray | None = None
        if numeric and isinstance(table, ArrayTable) and len(table) <= MOST_SAMPLED and not issparse(table.array):
            rows = to_float64(table.numbers(range(table.n_columns))[:])
            self.n_distinct = len(np.unique(rows, axis=0))
            if np.isfinite(rows).all():
                self.tree, self.x = merge_tree(rows), rows if self.gaussian else None

    def _starts(self, k: int) -> list[Start]:
        if k > self.n_distinct:
            return []
        return ["k-means++"] if self.tree is None or k == 1 else [self.tree.labels(k), "k-means++"]

    def _trial(self, k: int, structure: Any, start: Start, prior: Any, stop: Event) -> MixtureTrial:
        overall = self._overall[self.structures.index(structure)]
        pairs = zip(overall.schema.blocks, overall.joint.blocks, strict=True)
        weak = [block.family.prior_of_components(sums, "auto", k) for block, sums in pairs]
        mixture = self.search._mixture(k, structure, prior=prior)
        return MixtureTrial(mixture, start, self.X, self.sample_weight, weak, self.x)

    def measured(self, run: MixtureTrial) -> dict[str, Any]:
        """Return the figures of a mixture, and whether it converged and has a prior."""
        mixture = run.fitted()
        certain = mixture.predict_log_proba(self.X).max(axis=1)
        weight = check_weight(self.sample_weight, len(certain))
        weight = np.ones(len(certain)) if weight is None else weight
        figures = _figures(run.log_likelihood, float(certain @ weight), mixture.n_parameters_, float(weight.sum()))
        return {**figures, "converged": run.converged, "prior": run.penalised}

    def mixture(self, run: MixtureTrial, k: int, structure: Any) -> Mixture:
        """Return the mixture that a run has found."""
        return run.fitted()

    def held_out(self, k: int, stop: Event) -> list[float]:
        """Return the mean log-likelihood of held-out rows, one per structure."""
        return [self._held_out(k, structure) for structure in self.structures]

    def _held_out(self, k: int, structure: Any) -> float:
        n, total = len(as_table(self.X)), 0.0
        weight = check_weight(self.sample_weight, n)
        weight = np.ones(n) if weight is None else weight
        for train, test in _folds(self.search.cv, n):
            mixture = self.search._mixture(k, structure, prior=self.search.prior)
            try:
                mixture.fit(_safe_indexing(self.X, train), sample_weight=weight[train])
            except EstimateError:
                return float("nan")
            total += float(mixture.score_samples(_safe_indexing(self.X, test)) @ weight[test])
        return total / float(weight.sum())


def _folds(n_folds: int, n_rows: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows to fit and the rows to hold out."""
    from sklearn.model_selection import KFold  # a slow import

    yield from KFold(n_folds, shuffle=True, random_state=0).split(np.arange(n_rows))
