"""k-means: hard clusters of rows in memory, where mixtures begin."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.compiled import cluster
from suffice.engines.base import run_slices, threads

T = TypeVar("T")
#: products beyond which the rows are shared among threads, and rows of a slice of them
_MANY_PRODUCTS, _SLICE_ROWS = 400_000, 32_768


def k_means(
    points: FloatArray,
    k: int,
    rng: np.random.RandomState | np.random.Generator,
    weight: FloatArray | None = None,
    *,
    rounds: int = 300,
    tol: float = 1e-4,
    n_jobs: int | None = None,
) -> IntArray:
    """Return the clusters of the rows, (n,), by k-means++ and Lloyd's algorithm.

    With a RandomState it draws as scikit-learn's `KMeans(k, n_init=1)` does, stops when that stops and so finds the
    same clusters, but for ties: rows that are equally near to two centers, and seeds that are equally good. Some of the
    k stay empty where there are fewer distinct rows.

    Parameters
    ----------
    points : array of shape (n, d), of finite float64
    k : int
        At most n.
    rng : RandomState or Generator
    weight : array of shape (n,) or None
    rounds : int
        Iterations of Lloyd's algorithm at most.
    tol : float
        It ends when the centers move by no more than this share of the mean variance of the columns.
    n_jobs : int or None
        Threads, where the rows are many.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.kmeans import k_means
    >>> k_means(np.array([[0.0], [1.0], [9.0], [8.0]]), 2, np.random.RandomState(0)).tolist()
    [1, 1, 0, 0]
    """
    if not cluster.knows_k_means():
        return scikit_learns_k_means(points, k, rng, weight, rounds, tol)
    n, d = points.shape
    trials = min(2 + int(math.log(k)), cluster.MOST_TRIALS)
    if weight is None and isinstance(rng, np.random.Generator):
        first = int(rng.integers(n))
    else:
        first = int(rng.choice(n, p=np.full(n, 1.0 / n) if weight is None else weight / weight.sum()))
    uniforms = rng.uniform(size=(k - 1, trials))
    origin = np.add.reduce(points, axis=0) / n
    tol = tol * max(float(np.vdot(points, points)) / n - float(origin @ origin), 0.0) / d
    if n * k * d < _MANY_PRODUCTS:
        return cluster.k_means(points, k, origin, weight, first, uniforms, rounds, tol)
    return _Sliced(points, origin, weight, threads(n_jobs)).clusters(k, first, uniforms, rounds, tol)


class _Sliced:
    """k-means over slices of the rows, in threads; sums are added in the order of the slices."""

    def __init__(self, points: FloatArray, origin: FloatArray, weight: FloatArray | None, n_threads: int) -> None:
        self.points, self.origin, self.weight, self.n_threads = points, origin, weight, n_threads

    def _each(self, work: Callable[[slice, FloatArray, FloatArray | None], T]) -> Iterator[T]:
        """Yield what `work` returns for each slice of the rows and their weights, in order."""

        def run(here: slice) -> T:
            return work(here, self.points[here], None if self.weight is None else self.weight[here])

        starts = range(0, len(self.points), _SLICE_ROWS)
        return run_slices(run, [slice(start, start + _SLICE_ROWS) for start in starts], self.n_threads)

    def clusters(self, k: int, first: int, uniforms: FloatArray, rounds: int, tol: float) -> IntArray:
        centers = self._seeds(k, first, uniforms)
        labels = np.full(len(self.points), -1, dtype=np.int64)
        for _ in range(rounds):
            sums, count, changed = self._assign(centers, labels)
            if not changed:
                return labels
            if cluster.lloyd_centers(self.points, self.origin, self.weight, labels, sums, count, centers) <= tol:
                break
        self._assign(centers, labels)
        return labels

    def _assign(self, centers: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray, int]:
        parts = self._each(lambda here, rows, w: cluster.lloyd_pass(rows, self.origin, centers, w, labels[here]))
        sums, count, changed = next(parts)
        for more, weight, moved in parts:
            sums, count, changed = sums + more, count + weight, changed + moved
        return sums, count, changed

    def _seeds(self, k: int, first: int, uniforms: FloatArray) -> FloatArray:
        """Return the centers that k-means++ chooses, about the origin, k×d."""
        centers = np.empty((k, self.points.shape[1]))
        closest = np.full(len(self.points), np.inf)
        centers[0] = self.points[first] - self.origin
        for c in range(1, k):
            near = centers[c - 1]

            def take(here: slice, rows: FloatArray, w: FloatArray | None, near: FloatArray = near) -> float:
                cluster.seed_take(rows, self.origin, near, closest[here])
                return cluster.seed_places(closest[here], w, np.empty(0))[1]

            totals = np.cumsum(list(self._each(take)))
            candidates = self.points[self._places(closest, totals, uniforms[c - 1] * totals[-1])] - self.origin

            def rate(here: slice, rows: FloatArray, w: FloatArray | None, tried: FloatArray = candidates) -> FloatArray:
                return cluster.seed_potentials(rows, self.origin, tried, w, closest[here])

            centers[c] = candidates[np.argmin(sum(self._each(rate)))]
        return centers

    def _places(self, closest: FloatArray, totals: FloatArray, values: FloatArray) -> IntArray:
        """Return the rows at which the sum of weight · closest reaches each of some values."""
        places = np.empty(len(values), dtype=np.int64)
        for i, value in enumerate(values):
            number = min(int(np.searchsorted(totals, value)), len(totals) - 1)
            here = slice(number * _SLICE_ROWS, (number + 1) * _SLICE_ROWS)
            left = value - (totals[number - 1] if number else 0.0)
            weight = None if self.weight is None else self.weight[here]
            places[i] = here.start + cluster.seed_places(closest[here], weight, np.array([left]))[0][0]
        return places


def scikit_learns_k_means(
    points: Any,
    k: int,
    rng: np.random.RandomState | np.random.Generator,
    weight: FloatArray | None,
    rounds: int,
    tol: float = 1e-4,
) -> IntArray:
    """Return the clusters that scikit-learn finds, (n,); the points may be sparse."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    seed = np.random.RandomState(int(rng.integers(2**31))) if isinstance(rng, np.random.Generator) else rng
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        found = KMeans(k, n_init=1, max_iter=rounds, tol=tol, random_state=seed).fit(points, sample_weight=weight)
    return found.labels_.astype(np.int64)
