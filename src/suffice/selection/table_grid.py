"""Mixtures that a search compares, over any table."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing

from suffice._arrays import FloatArray, issparse, to_float64
from suffice.errors import EstimateError
from suffice.estimators.mixture import Mixture
from suffice.families import Gaussian
from suffice.families.gaussian.covariance.constant import constant
from suffice.mixtures.agglomeration import merge_tree
from suffice.selection.grids import MOST_SAMPLED, Grid, figures_of, folds
from suffice.selection.mixture_trials import MixtureTrial
from suffice.selection.trials import Start
from suffice.statistics.moments import Moments
from suffice.tables.arrays import ArrayTable
from suffice.tables.labels import check_weight

if TYPE_CHECKING:
    from suffice.selection.mixture_search import MixtureSearch


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
        table = self._overall[0].schema.as_table(X)
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
        figures = figures_of(run.log_likelihood, float(certain @ weight), mixture.n_parameters_, float(weight.sum()))
        return {**figures, "converged": run.converged, "prior": run.penalised}

    def mixture(self, run: MixtureTrial, k: int, structure: Any) -> Mixture:
        """Return the mixture that a run has found."""
        return run.fitted()

    def held_out(self, k: int, stop: Event) -> list[float]:
        """Return the mean log-likelihood of held-out rows, one per structure."""
        return [self._held_out(k, structure) for structure in self.structures]

    def _held_out(self, k: int, structure: Any) -> float:
        n, total = len(self._overall[0].schema.as_table(self.X)), 0.0
        weight = check_weight(self.sample_weight, n)
        weight = np.ones(n) if weight is None else weight
        for train, test in folds(self.search.cv, n):
            mixture = self.search._mixture(k, structure, prior=self.search.prior)
            try:
                mixture.fit(_safe_indexing(self.X, train), sample_weight=weight[train])
            except EstimateError:
                return float("nan")
            total += float(mixture.score_samples(_safe_indexing(self.X, test)) @ weight[test])
        return total / float(weight.sum())
