"""The clusters that starts of EM begin from: a sample of the rows, and a first guess of their responsibilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray, issparse
from suffice.engines import Engine, Rows
from suffice.families import Distributions
from suffice.families.codes import Codes
from suffice.families.gaussian import GaussianDistributions
from suffice.mixtures.kmeans import planned_k_means
from suffice.statistics.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels

#: the maximum number of rows on which starts are tried; fewer if there are many columns and components
START_ROWS = 2_000
#: the maximum number of multiplications per iteration over these rows, and the minimum rows per component and column
_PRODUCTS, _LEAST_ROWS = 4_000_000, 5
#: a sample of n / _SMALL_PART rows is cheap compared with an iteration over all rows, but _MANY_ROWS rows per component
#: and column are enough
_SMALL_PART, _MANY_ROWS = 20, 40
#: the maximum number of rows merged into clusters: time and memory are quadratic in it
MOST_MERGED = 1_000
#: the units of k-means and the maximum iterations of Lloyd's algorithm, one pair per start: which units show the
#: clusters depends on the data; many iterations lead to few but good partitions, a single one keeps them diverse
K_MEANS_OF_STARTS = (("scaled", 10), ("scaled", 1), ("own", 100), ("whitened", 10), ("own", 100), ("whitened", 1))


def start_rows(k: int, d: int, n_rows: int) -> int:
    """Return the number of rows on which to try starts with k components and d columns."""
    affordable = min(START_ROWS, _PRODUCTS // (k * d * d))
    cheap = min(n_rows // _SMALL_PART, _MANY_ROWS * k * d)
    return max(affordable, 50 * k, _LEAST_ROWS * k * d, cheap)


def generator(seed: Any) -> np.random.Generator:
    """Return a Generator made from `seed`, which may be anything that scikit-learn takes as `random_state`."""
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31))
    return np.random.default_rng(seed)


def some_rows(engine: Engine, n_rows: int, n_wanted: int, rng: np.random.Generator) -> Rows:
    """Return `n_wanted` rows with positive weight, drawn at random, in their order; all rows if there are no more."""
    drawn = rng.choice(n_rows, size=n_wanted, replace=False) if n_rows > n_wanted else np.arange(n_rows)
    chosen = np.sort(drawn)
    parts = []
    for rows in engine.batches():
        if n_rows > n_wanted and _partial(rows).weight is not None:
            return _lowest_keys(engine, n_wanted, rng, by_class=False)[0].rows
        here = chosen[(chosen >= rows.start) & (chosen < rows.start + len(rows))] - rows.start
        if len(here) == len(rows):
            parts.append(rows)
        elif len(here):
            parts.append(picked(rows, here))
    return parts[0] if len(parts) == 1 else Rows.joined(parts)


def rows_of_each_class(engine: Engine, n_rows: int, n_wanted: int, rng: np.random.Generator) -> Rows:
    """Return about `n_wanted` rows drawn at random, an equal number of each class and of the unlabelled rows.

    The rows of larger classes get larger weights, so that the shares of the classes stay the same. All rows are
    returned if there are no more than `n_wanted`.
    """
    if n_rows <= n_wanted:
        return some_rows(engine, n_rows, n_wanted, rng)
    drawn, n_of_group = _lowest_keys(engine, n_wanted, rng, by_class=True)
    known, groups = _partial(drawn.rows), drawn.groups
    more = n_of_group[groups] / n_of_group.sum() * len(groups) / np.bincount(groups)[groups]
    return Rows(drawn.rows.blocks, replace(known, weight=more if known.weight is None else more * known.weight))


def _lowest_keys(
    engine: Engine, n_wanted: int, rng: np.random.Generator, *, by_class: bool
) -> tuple[_Drawn, FloatArray]:
    """Draw rows with positive weight, over all or an equal number per class; also return the row count per class."""
    drawn: _Drawn | None = None
    n_of_group: FloatArray = np.zeros(1)
    for rows in engine.batches():
        known, keys = _partial(rows), rng.random(len(rows))
        if known.weight is not None and not (known.weight > 0).all():
            there = np.flatnonzero(known.weight > 0)
            if not len(there):
                continue
            rows, keys = picked(rows, there), keys[there]
            known = _partial(rows)
        groups, n_groups = np.zeros(len(rows), dtype=np.intp), 1
        if by_class:
            n_groups, likely = known.n_classes + 1, known.most_probable()
            groups = np.where(likely < 0, known.n_classes, likely)
        n_of_group = n_of_group + np.bincount(groups, minlength=n_groups)
        quota = n_wanted // n_groups + by_class
        batch = _Drawn(rows, groups, keys).lowest(quota)
        drawn = batch if drawn is None else drawn.and_also(batch).lowest(quota)
    assert drawn is not None, "some row has a weight"
    return drawn, n_of_group


@dataclass(frozen=True)
class _Drawn:
    """Rows with random keys; the lowest keys of each group are drawn, so the batches do not affect the sample."""

    rows: Rows
    groups: IntArray
    keys: FloatArray

    def lowest(self, quota: int) -> _Drawn:
        """Return the `quota` rows with the lowest keys of each group, in row order."""
        order = np.lexsort((self.keys, self.groups))
        place = np.arange(len(order)) - np.searchsorted(self.groups[order], self.groups[order])
        kept = np.sort(order[place < quota])
        return _Drawn(picked(self.rows, kept), self.groups[kept], self.keys[kept])

    def and_also(self, more: _Drawn) -> _Drawn:
        """Return the rows of both samples."""
        groups, keys = np.concatenate([self.groups, more.groups]), np.concatenate([self.keys, more.keys])
        return _Drawn(Rows.joined([self.rows, more.rows]), groups, keys)


def _partial(rows: Rows) -> PartialLabels:
    assert isinstance(rows.responsibilities, PartialLabels)
    return rows.responsibilities


def picked(rows: Rows, places: IntArray) -> Rows:
    """Return the selected rows with their known labels."""
    return Rows(tuple(_picked(block, places) for block in rows.blocks), _partial(rows)[places])


def _picked(block: Any, rows: IntArray) -> Any:
    return Codes(block.codes[rows], block.sizes) if isinstance(block, Codes) else block[rows]


def random_responsibilities(n_rows: int, k: int, weight: FloatArray | None, rng: np.random.Generator) -> SoftLabels:
    """Return responsibilities drawn uniformly from the simplex, times the row weights."""
    shares = rng.dirichlet(np.ones(k), size=n_rows)
    return SoftLabels(shares if weight is None else shares * weight[:, None])


def with_every_component(codes: IntArray, k: int, weight: FloatArray | None, seed: int) -> Responsibilities:
    """Return clusters as responsibilities; a cluster left empty, for lack of distinct rows, shares a random row."""
    n = len(codes)
    empty = np.flatnonzero(np.bincount(codes, minlength=k) == 0)
    if not len(empty):
        return Labels(codes, weight, k)
    shares = np.zeros((n, k))
    shares[np.arange(n), codes] = 1.0
    lucky = np.random.default_rng(seed).choice(n, size=len(empty), replace=n < len(empty))
    shares[lucky, empty] = 1.0
    shares /= shares.sum(1, keepdims=True)
    return SoftLabels(shares if weight is None else shares * weight[:, None])


class Points:
    """Rows as points among which k-means finds clusters.

    Parameters
    ----------
    rows : Rows
    overall : list of Distributions
        The distribution of all rows, one per block.
    weight : array of shape (n,) or None
    """

    def __init__(self, rows: Rows, overall: Sequence[Distributions], weight: FloatArray | None) -> None:
        self._rows, self._overall, self.weight = rows, overall, weight
        self._made: dict[str, Any] = {}

    def planned_clusters(
        self, k: int, start: int, rng: np.random.Generator, n_jobs: int | None = None
    ) -> Callable[[], IntArray]:
        """Return a function that finds the clusters, (n,), of start number `start`; random numbers are drawn now.

        Starts differ in their units or their number of iterations; see `K_MEANS_OF_STARTS`. Some clusters stay empty if
        there are fewer than k distinct rows.
        """
        units, max_iter = K_MEANS_OF_STARTS[start % len(K_MEANS_OF_STARTS)]
        points = self._in(units)
        return planned_k_means(points, min(k, points.shape[0]), rng, self.weight, max_iter=max_iter, n_jobs=n_jobs)

    def merged(self, k: int, start: int, rng: np.random.Generator) -> IntArray:
        """Return clusters by agglomeration, (n,): ellipsoids in even starts, spheres of equal size in odd ones.

        If there are more than MOST_MERGED rows, a sample is merged, and the others join the nearest cluster.
        """
        from suffice.mixtures.agglomeration import merge_tree

        points, weight = self._in("scaled"), self.weight
        if issparse(points):
            raise ValueError("init='agglomerative' needs rows that are not sparse; use 'k-means++'")
        there = np.arange(len(points)) if weight is None else np.flatnonzero(weight > 0)
        if len(there) > MOST_MERGED:
            there = np.sort(rng.choice(there, MOST_MERGED, replace=False))
        some = points[there]
        tree = merge_tree(some, ("VVV", "EII")[start % 2], weight=None if weight is None else weight[there])
        labels = tree.labels(min(k, len(some)))
        if len(some) == len(points):
            return labels
        centers = np.stack([some[labels == c].mean(0) for c in range(labels.max() + 1)])
        nearest = np.argmin(np.square(centers).sum(1) - 2.0 * points @ centers.T, axis=1)
        nearest[there] = labels
        return nearest

    def _in(self, units: str) -> Any:
        if units not in self._made:
            self._made[units] = self._points(units)
        return self._made[units]

    def _points(self, units: str) -> Any:
        """Return the rows in the given units; "whitened" replaces the others unless all cells are finite numbers."""
        blocks, only = self._rows.chunk(0, len(self._rows)).blocks, self._overall[0]
        if units == "whitened":
            return _side_by_side([found.standardised(rows) for found, rows in zip(self._overall, blocks, strict=True)])
        if len(blocks) == 1 and isinstance(only, GaussianDistributions) and isinstance(blocks[0], np.ndarray):
            rows = blocks[0] - only.means[0]
            if np.isfinite(np.add.reduce(rows, axis=None)):
                return rows if units == "own" else rows / np.sqrt(only.variance()[0])
        return self._in("whitened")


def _side_by_side(points: Sequence[Any]) -> Any:
    if not any(block.shape[1] for block in points):  # documents without any word
        return np.zeros((points[0].shape[0], 1))
    if any(issparse(block) for block in points):
        from scipy import sparse

        return sparse.hstack(points, format="csr")
    return np.ascontiguousarray(np.hstack(points))
