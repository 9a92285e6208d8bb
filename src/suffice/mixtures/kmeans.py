"""k-means: hard clusters of rows in memory, from which mixtures start."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from suffice._arrays import FloatArray, IntArray, issparse
from suffice._threads import run_each, threads
from suffice.compiled import cluster

T = TypeVar("T")
#: multiplications above which the rows are divided among threads, and the rows per slice
_MANY_PRODUCTS, _SLICE_ROWS = 8_000_000, 131_072


def k_means(
    points: FloatArray,
    k: int,
    rng: np.random.RandomState | np.random.Generator,
    weight: FloatArray | None = None,
    *,
    max_iter: int = 300,
    tol: float = 1e-4,
    n_jobs: int | None = None,
) -> IntArray:
    """Return the clusters of the rows, (n,), by k-means++ and Lloyd's algorithm.

    With a RandomState it draws the same random numbers as scikit-learn's `KMeans(k, n_init=1)`, stops at the same
    iteration and so finds the same clusters, except for ties: rows that are equally near to two centers, and seeds that
    are equally good. Some clusters stay empty if there are fewer than k distinct rows.

    Parameters
    ----------
    points : array of shape (n, d), of finite float64
    k : int
        The number of clusters, at most n.
    rng : RandomState or Generator
    weight : array of shape (n,) or None
    max_iter : int
        The maximum number of iterations of Lloyd's algorithm.
    tol : float
        It ends when the centers move by at most this fraction of the mean variance of the columns.
    n_jobs : int or None
        The number of threads, used only if there are many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.mixtures.kmeans import k_means
    >>> k_means(np.array([[0.0], [1.0], [9.0], [8.0]]), 2, np.random.RandomState(0)).tolist()
    [1, 1, 0, 0]
    """
    return planned_k_means(points, k, rng, weight, max_iter=max_iter, tol=tol, n_jobs=n_jobs)()


def planned_k_means(
    points: Any,
    k: int,
    rng: np.random.RandomState | np.random.Generator,
    weight: FloatArray | None = None,
    *,
    max_iter: int = 300,
    tol: float = 1e-4,
    n_jobs: int | None = None,
) -> Callable[[], IntArray]:
    """Draw the random numbers of `k_means`, and return a function that finds its clusters in any thread.

    The points may also be sparse.
    """
    if issparse(points) or not cluster.knows_k_means():
        seed = np.random.RandomState(int(rng.integers(2**31))) if isinstance(rng, np.random.Generator) else rng
        return partial(_scikit_learns_k_means, points, k, seed, weight, max_iter, tol)
    points = np.ascontiguousarray(points)  # the rounding of sums depends on the memory layout
    n, d = points.shape
    trials = min(2 + int(math.log(k)), cluster.MOST_TRIALS)
    if weight is None and isinstance(rng, np.random.Generator):
        first = int(rng.integers(n))
    else:
        first = int(rng.choice(n, p=np.full(n, 1.0 / n) if weight is None else weight / weight.sum()))
    uniforms = rng.uniform(size=(k - 1, trials))
    origin = np.add.reduce(points, axis=0) / n
    tol = tol * _sum_of_squares(points, origin) / (n * d)
    if n * k * d < _MANY_PRODUCTS:
        return partial(cluster.k_means, points, k, origin, weight, first, uniforms, max_iter, tol)
    n_threads = threads(n_jobs)
    return lambda: _Sliced(points, origin, weight, n_threads).clusters(k, first, uniforms, max_iter, tol)


def _sum_of_squares(points: FloatArray, origin: FloatArray) -> float:
    """Return the sum of squared differences from an origin."""
    total = 0.0
    for start in range(0, len(points), _SLICE_ROWS):
        centred = points[start : start + _SLICE_ROWS] - origin
        total += float(np.vdot(centred, centred))
    return total


class _Sliced:
    """k-means over slices of the rows, in threads; partial sums are added in the order of the slices."""

    def __init__(self, points: FloatArray, origin: FloatArray, weight: FloatArray | None, n_threads: int) -> None:
        n, d = points.shape
        self.n, self.n_threads, self.weight = n, n_threads, weight
        self.blocks = cluster.empty_blocks(n, d)
        self.slices = [slice(start, min(start + _SLICE_ROWS, n)) for start in range(0, n, _SLICE_ROWS)]
        self._each(lambda here: cluster.to_blocks(points[here], origin, self._blocks(here)))

    def _each(self, work: Callable[[slice], T]) -> list[T]:
        """Return the results of `work`, one per slice of the rows."""
        return run_each(work, self.slices, self.n_threads)

    def _blocks(self, here: slice) -> FloatArray:
        return self.blocks[here.start // cluster.BLOCK_ROWS : -(-here.stop // cluster.BLOCK_ROWS)]

    def _weight(self, here: slice) -> FloatArray | None:
        return None if self.weight is None else self.weight[here]

    def _row(self, places: IntArray | int) -> FloatArray:
        return self.blocks[places // cluster.BLOCK_ROWS, :, places % cluster.BLOCK_ROWS]

    def clusters(self, k: int, first: int, uniforms: FloatArray, max_iter: int, tol: float) -> IntArray:
        centers, labels = self._seeds(k, first, uniforms), np.full(self.n, -1, dtype=np.int64)
        d, parts = centers.shape[1], len(self.slices)
        sums, count, fresh = np.empty((parts, k, d)), np.empty((parts, k)), True
        for number in range(max_iter + 1):
            if fresh:
                sums[:], count[:] = 0.0, 0.0
            linear, half = np.ascontiguousarray(centers.T), -0.5 * np.einsum("ij,ij->i", centers, centers)

            def assign(here: slice, linear: FloatArray = linear, half: FloatArray = half, fresh: bool = fresh) -> int:
                own, weight, part = self._blocks(here), self._weight(here), here.start // _SLICE_ROWS
                return cluster.lloyd_pass(own, linear, half, weight, labels[here], sums[part], count[part], fresh=fresh)

            if not sum(self._each(assign)) or number == max_iter:
                break
            all_sums, all_count = np.add.reduce(sums), np.add.reduce(count)
            shift = cluster.lloyd_centers(self.blocks, self.weight, labels, all_sums, all_count, centers)
            fresh = self.weight is not None  # adding and subtracting weights leaves rounding errors
            if shift <= tol:
                max_iter = number + 1
        return labels

    def _seeds(self, k: int, first: int, uniforms: FloatArray) -> FloatArray:
        """Return the centers that k-means++ chooses, relative to the origin, k×d."""
        centers, closest = np.empty((k, self.blocks.shape[1])), np.full(self.n, np.inf)
        centers[0] = self._row(first)
        for c in range(1, k):

            def take(here: slice, near: FloatArray = centers[c - 1]) -> float:
                cluster.seed_take(self._blocks(here), near, closest[here])
                return cluster.seed_places(closest[here], self._weight(here), np.empty(0))[1]

            totals = np.cumsum(self._each(take))
            candidates = self._row(self._places(closest, totals, uniforms[c - 1] * totals[-1]))

            def rate(here: slice, tried: FloatArray = candidates) -> FloatArray:
                return cluster.seed_potentials(self._blocks(here), tried, self._weight(here), closest[here])

            centers[c] = candidates[np.argmin(sum(self._each(rate)))]
        return centers

    def _places(self, closest: FloatArray, totals: FloatArray, values: FloatArray) -> IntArray:
        """Return the rows at which the cumulative sum of weight · closest reaches each of the values."""
        places = np.empty(len(values), dtype=np.int64)
        for i, value in enumerate(values):
            number = min(int(np.searchsorted(totals, value)), len(totals) - 1)
            here, left = self.slices[number], value - (totals[number - 1] if number else 0.0)
            places[i] = here.start + cluster.seed_places(closest[here], self._weight(here), np.array([left]))[0][0]
        return places


def _scikit_learns_k_means(
    points: Any, k: int, seed: np.random.RandomState, weight: FloatArray | None, max_iter: int, tol: float
) -> IntArray:
    """Return the clusters that scikit-learn finds, (n,)."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        found = KMeans(k, n_init=1, max_iter=max_iter, tol=tol, random_state=seed).fit(points, sample_weight=weight)
    return found.labels_.astype(np.int64)
