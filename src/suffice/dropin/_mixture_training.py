"""The training rows of GaussianMixture: scikit-learn's start values of EM, and one expectation step."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from suffice._arrays import FloatArray, IntArray
from suffice.compiled.em_loop import EMLoop
from suffice.dropin._common import log_shares
from suffice.dropin._mixture_parameters import _STRUCTURES, Maximisation, Parameters, _schema
from suffice.engines import MemoryEngine, Rows
from suffice.families import Gaussian
from suffice.mixtures.compiled_loop import is_small
from suffice.mixtures.kmeans import k_means
from suffice.models.joint import Expectation, expect, learn
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import TiedMoments
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels

#: rows per batch of random responsibilities
_DRAWN = 65_536

#: the largest ratio of a column's sum of squares to its scatter; above it, the column is centred
_FAR = 1e10

#: a component with fewer rows than this is affected by the pseudo-count `trace`
_FEW_ROWS = 1e-3

_CODES = {"full": "VVV", "tied": "EEE", "diag": "VVI", "spherical": "VII"}

_FEWER_CLUSTERS = (
    "Number of distinct clusters ({}) found smaller than n_clusters ({}). Possibly due to duplicate points in X."
)


@dataclass
class Trial:
    """The result of EM from one start."""

    parameters: Parameters
    lower_bounds: list[float]
    converged: bool

    @property
    def lower_bound(self) -> float:
        """The mean log-likelihood at the last expectation step."""
        return self.lower_bounds[-1] if self.lower_bounds else -np.inf


class Training:
    """The rows of a fit with their weights, and the passes over them."""

    def __init__(self, X: NDArray[Any], weight: FloatArray | None, n_components: int, kind: str) -> None:
        self.X, self.weight, self.k = X, weight, n_components
        self.total = float(len(X)) if weight is None else float(weight.sum())
        self.schema = _schema(Gaussian(_STRUCTURES[kind]), X.shape[1])
        self._engine = MemoryEngine(Rows((X,), PartialLabels(None, weight, n_components, len(X))))

    def expect(self, parameters: Parameters) -> Expectation:
        """Return the expected statistics under these parameters, and their log-likelihood."""
        return self._engine.reduce(expect, parameters.model())

    def begin(self, how: str, rng: Any) -> JointStatistics:
        """Return the statistics of scikit-learn's initial responsibilities, with the same random draws."""
        if how == "kmeans":
            return self.of_clusters(self.clusters(rng))
        if how == "k-means++":
            return self._one_each(kmeans_plusplus(self.X, self.k, sample_weight=self.weight, random_state=rng)[1])
        if how == "random_from_data":
            chances = None if self.weight is None else self.weight / self.total
            return self._one_each(rng.choice(len(self.X), size=self.k, replace=False, p=chances))
        starts = range(0, len(self.X), _DRAWN)
        total = self._at_random(slice(0, _DRAWN), rng)
        for start in starts[1:]:
            total = total + self._at_random(slice(start, start + _DRAWN), rng)
        return total

    def of_clusters(self, labels: IntArray) -> JointStatistics:
        """Return the statistics of rows with given components."""
        return self._learn(self.X, Labels(labels, self.weight, self.k))

    def clusters(self, rng: Any) -> IntArray:
        """Return the clusters that scikit-learn's k-means finds, (n,)."""
        if self.X.dtype != np.float64:  # k-means in float32 rounds differently from ours
            found = KMeans(n_clusters=self.k, n_init=1, random_state=rng).fit(self.X, sample_weight=self.weight)
            return found.labels_.astype(np.intp)
        labels = k_means(self.X, self.k, rng, self.weight)
        distinct = np.count_nonzero(np.bincount(labels, minlength=self.k))
        if distinct < self.k:
            warnings.warn(_FEWER_CLUSTERS.format(distinct, self.k), ConvergenceWarning, stacklevel=7)
        return labels

    def has_loop(self, step: Maximisation) -> bool:
        """Return whether to use the compiled EM loop: for few rows, where the interpreter dominates an iteration."""
        n, d = self.X.shape
        return not step.single and is_small(n, d, self.k, _CODES[step.kind])

    def loop(self, step: Maximisation, start: Parameters | IntArray) -> EMLoop:
        """Return the compiled EM loop, started at parameters or from the clusters of the rows."""
        loop = EMLoop(
            self.X,
            _CODES[step.kind],
            self.k,
            weight=self.weight,
            ridge=step.reg_covar,
            absolute=True,
            least=_FEW_ROWS,
        )
        if isinstance(start, Parameters):
            compact = start.covariances if step.kind != "spherical" else start.covariances[:, None]
            loop.begin_at(log_shares(start.weights), start.means, compact)
        else:
            loop.begin_with_labels(start)
        return loop

    def _one_each(self, chosen: IntArray) -> JointStatistics:
        """Return the statistics of one row per component."""
        weight = None if self.weight is None else self.weight[chosen]
        statistics = self._learn(self.X[chosen], Labels(np.arange(self.k), weight, self.k))
        (moments,) = statistics.blocks
        if isinstance(moments, TiedMoments):
            return JointStatistics(statistics.class_count, (self._spread_of_all(moments),))
        return statistics

    def _spread_of_all(self, chosen: TiedMoments) -> TiedMoments:
        """Return moments with scikit-learn's initial tied covariance: Σ x xᵀ of all rows, less that of the chosen ones.

        It is not invariant to an offset of the columns. Columns so far from 0 that their variance would be lost to
        rounding are centred at their mean.
        """
        (whole,) = self._learn(self.X, Labels(np.zeros(len(self.X), dtype=np.intp), self.weight, 1)).blocks
        assert isinstance(whole, TiedMoments)
        mean, scatter = whole.mean[0], whole.scatter
        spread = np.diagonal(scatter)
        lost = (spread > 0) & (self.total * mean**2 > _FAR * spread)
        origin = np.where(lost, mean, 0.0)
        own = chosen.mean - origin
        second = scatter + self.total * np.outer(mean - origin, mean - origin) - (chosen.count * own).T @ own
        return TiedMoments(chosen.count, chosen.mean, np.zeros_like(own), second)

    def _at_random(self, here: slice, rng: Any) -> JointStatistics:
        """Draw random responsibilities of some rows; a generator gives the same numbers in batches as all at once."""
        rows = self.X[here]
        shares = rng.uniform(size=(len(rows), self.k)).astype(self.X.dtype, copy=False)
        shares /= shares.sum(axis=1)[:, None]
        shares = shares.astype(np.float64, copy=False)
        if self.weight is not None:
            shares *= self.weight[here, None]
        return self._learn(rows, SoftLabels(shares))

    def _learn(self, rows: NDArray[Any], members: Responsibilities) -> JointStatistics:
        return MemoryEngine(Rows((rows,), members)).reduce(learn, self.schema)
