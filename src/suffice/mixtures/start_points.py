"""Where EM begins: rows to begin with, and a first guess of who belongs to which component."""

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

#: rows that starts are tried on at most; fewer where they have many columns and components
START_ROWS = 2_000
#: products of an iteration over these rows, and rows per component and column that there should be at least
_PRODUCTS, _LEAST_ROWS = 4_000_000, 5
#: one row in this many is cheap beside an iteration over all rows; rows per component and column that are many
_SMALL_PART, _MANY_ROWS = 20, 40
#: rows that are merged to clusters at most, for the time and memory goes by their square
MOST_MERGED = 1_000
#: the units of k-means and the iterations of Lloyd's algorithm, for one start after the other: which units show the
#: clusters depends on the data, many iterations come to few and good partitions, and one keeps them different
UNITS = (("scaled", 10), ("scaled", 1), ("own", 100), ("whitened", 10), ("own", 100), ("whitened", 1))


def start_rows(k: int, d: int, n_rows: int) -> int:
    """Return how many of the rows to try starts of k components of d columns on."""
    affordable = min(START_ROWS, _PRODUCTS // (k * d * d))
    cheap = min(n_rows // _SMALL_PART, _MANY_ROWS * k * d)
    return max(affordable, 50 * k, _LEAST_ROWS * k * d, cheap)


def generator(seed: Any) -> np.random.Generator:
    """Return a generator of what scikit-learn takes as `random_state`."""
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31))
    return np.random.default_rng(seed)


def some_rows(engine: Engine, n_rows: int, n_wanted: int, rng: np.random.Generator) -> Rows:
    """Return so many rows with a weight, drawn at random, in their order; all rows where there are no more."""
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
    return parts[0] if len(parts) == 1 else _joined(parts)


def rows_of_each_class(engine: Engine, n_rows: int, n_wanted: int, rng: np.random.Generator) -> Rows:
    """Return about that many rows drawn at random, an equal number of each class and of those without a label.

    Where a class has more rows than are drawn of it these weigh more, so that the shares of the classes stay. All rows
    come back where there are no more.
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
    """Draw rows that have a weight, an equal number of each class or of all; return how many each class has, too."""
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
    """Rows with random keys; the lowest keys of each group are drawn, so that batches do not matter."""

    rows: Rows
    groups: IntArray
    keys: FloatArray

    def lowest(self, quota: int) -> _Drawn:
        """Return the rows with the lowest keys of each group, in order."""
        order = np.lexsort((self.keys, self.groups))
        place = np.arange(len(order)) - np.searchsorted(self.groups[order], self.groups[order])
        kept = np.sort(order[place < quota])
        return _Drawn(picked(self.rows, kept), self.groups[kept], self.keys[kept])

    def and_also(self, more: _Drawn) -> _Drawn:
        """Return the rows of both."""
        groups, keys = np.concatenate([self.groups, more.groups]), np.concatenate([self.keys, more.keys])
        return _Drawn(_joined([self.rows, more.rows]), groups, keys)


def _partial(rows: Rows) -> PartialLabels:
    assert isinstance(rows.responsibilities, PartialLabels)
    return rows.responsibilities


def picked(rows: Rows, places: IntArray) -> Rows:
    """Return some of the rows, with what is known of their classes."""
    return Rows(tuple(_picked(block, places) for block in rows.blocks), _partial(rows)[places])


def _picked(block: Any, rows: IntArray) -> Any:
    return Codes(block.codes[rows], block.sizes) if isinstance(block, Codes) else block[rows]


def _joined(parts: Sequence[Rows]) -> Rows:
    blocks = tuple(_stacked([part.blocks[i] for part in parts]) for i in range(len(parts[0].blocks)))
    known = [part.responsibilities for part in parts]
    first = known[0]
    assert isinstance(first, PartialLabels)
    codes, weight, given = (
        None if getattr(first, name) is None else np.concatenate([getattr(part, name) for part in known])
        for name in ("codes", "weight", "given")
    )
    return Rows(blocks, PartialLabels(codes, weight, first.n_classes, sum(len(part) for part in parts), given))


def _stacked(blocks: Sequence[Any]) -> Any:
    if isinstance(blocks[0], Codes):
        return Codes(np.concatenate([block.codes for block in blocks]), blocks[0].sizes)
    rows = [block[0 : block.shape[0]] for block in blocks]  # some are converted or cut only when they are read
    if issparse(rows[0]):
        from scipy import sparse

        return sparse.vstack(rows, format="csr")
    return np.concatenate(rows)


def random_responsibilities(n_rows: int, k: int, weight: FloatArray | None, rng: np.random.Generator) -> SoftLabels:
    """Return shares drawn uniformly from all that sum to 1."""
    shares = rng.dirichlet(np.ones(k), size=n_rows)
    return SoftLabels(shares if weight is None else shares * weight[:, None])


def with_every_component(codes: IntArray, k: int, weight: FloatArray | None, seed: int) -> Responsibilities:
    """Return clusters as responsibilities; those that are empty, for want of distinct rows, get a row at random."""
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
        The distribution of all rows, for each block.
    weight : array of shape (n,) or None
    """

    def __init__(self, rows: Rows, overall: Sequence[Distributions], weight: FloatArray | None) -> None:
        self._rows, self._overall, self.weight = rows, overall, weight
        self._made: dict[str, Any] = {}

    def planned_clusters(
        self, k: int, start: int, rng: np.random.Generator, n_jobs: int | None = None
    ) -> Callable[[], IntArray]:
        """Return a function that finds the clusters of one of several starts, (n,); all that is random is drawn now.

        Each start has other units or other iterations. Some of the k stay empty where there are fewer distinct rows.
        """
        units, rounds = UNITS[start % len(UNITS)]
        points = self._in(units)
        return planned_k_means(points, min(k, points.shape[0]), rng, self.weight, rounds=rounds, n_jobs=n_jobs)

    def merged(self, k: int, start: int, rng: np.random.Generator) -> IntArray:
        """Return clusters of merged rows, (n,): of ellipsoids, and at every other start of spheres of one size.

        Of more than MOST_MERGED rows some are merged, and the others go to the nearest cluster.
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
        """Return the rows in some units: their own and scaled ones are for numbers without missing values only."""
        blocks, only = self._rows.chunk(0, len(self._rows)).blocks, self._overall[0]
        if units == "whitened":
            return _side_by_side([found.standardised(rows) for found, rows in zip(self._overall, blocks, strict=True)])
        if len(blocks) == 1 and isinstance(only, GaussianDistributions) and isinstance(blocks[0], np.ndarray):
            rows = blocks[0] - only.means[0]
            if np.isfinite(np.add.reduce(rows, axis=None)):
                return rows if units == "own" else rows / np.sqrt(only.variance[0])
        return self._in("whitened")


def _side_by_side(points: Sequence[Any]) -> Any:
    if any(issparse(block) for block in points):
        from scipy import sparse

        return sparse.hstack(points, format="csr")
    return np.ascontiguousarray(np.hstack(points))
