"""Model-based agglomerative clustering, which gives starting points of EM for every number of components at once.

At first every row is a cluster. The two clusters whose union costs least in the classification likelihood of Gaussian
clusters are merged, until one is left (Banfield and Raftery 1993; Fraley 1998). The cost of a cluster with n rows and
scatter matrix W is

    EII   tr W                           spheres of one size: Ward's method
    VII   n log((tr W + α) / n)          spheres of any size
    VVV   n log(|W / n| + (tr W + α) / n)   ellipsoids; the determinant enters where n > d

where α, the variance of all rows averaged over the columns, keeps the cost of small clusters finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import compiled
from suffice._arrays import FloatArray, IntArray

#: the covariance structures of clusters that can be merged, with their numbers in compiled/merge.c
_CRITERIA = {"EII": 0, "VII": 1, "VVV": 2}
#: singular values below this fraction of the largest are rounding error
_RANK = 1e-12


@dataclass(frozen=True, eq=False)
class MergeTree:
    """The sequence of mergers from n rows to one cluster, which gives clusterings of every size.

    Attributes
    ----------
    merged : array of shape (n − 1, 2)
        The two clusters of each merger, each identified by one of its rows; the union keeps the row of the first.
    """

    merged: IntArray

    def labels(self, k: int) -> IntArray:
        """Return the clusters 0, …, k − 1 of all rows, (n,), in the order in which they first appear."""
        n = len(self.merged) + 1
        if not 1 <= k <= n:
            raise ValueError(f"{n} rows make between 1 and {n} clusters, not {k}")
        into = np.arange(n)
        for first, second in self.merged[: n - k].tolist():
            into[second] = first
        while not np.array_equal(into, into[into]):  # follow chains of mergers
            into = into[into]
        _, first, codes = np.unique(into, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[codes]


def merge_tree(X: Any, structure: str = "VVV", *, weight: FloatArray | None = None) -> MergeTree:
    """Merge rows into Gaussian clusters, until one cluster is left.

    Columns are standardised and rotated to their principal axes, each divided by the square root of its singular value,
    so that the result depends neither on units nor on the overall correlations; constant columns have no influence.
    Time and memory are quadratic in the number of rows: pass a sample if there are more than a few thousand.

    Parameters
    ----------
    X : array of shape (n, d)
        Finite numbers.
    structure : "VVV", "VII" or "EII"
        The shape of the clusters: ellipsoids, spheres, or spheres of equal size (Ward's method).
    weight : array of shape (n,), optional
        Positive weights: how many observations each row represents.

    Returns
    -------
    MergeTree

    Examples
    --------
    >>> from suffice.mixtures.agglomeration import merge_tree
    >>> tree = merge_tree([[0.0], [0.1], [5.0], [5.2], [9.0]])
    >>> tree.labels(2).tolist(), tree.labels(3).tolist()
    ([0, 0, 1, 1, 1], [0, 0, 1, 1, 2])
    """
    if structure not in _CRITERIA:
        raise ValueError(f"structure must be one of {', '.join(map(repr, _CRITERIA))}, not {structure!r}")
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
        raise ValueError(f"rows to merge must be finite numbers of shape (n, d), not of shape {rows.shape}")
    counts = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=np.float64)
    if counts.shape != rows.shape[:1] or not (np.isfinite(counts) & (counts > 0)).all():
        raise ValueError(f"weight must be {len(rows)} positive numbers")
    points = _principal(rows, counts)
    alpha = float(counts @ (points**2).sum(1)) / (counts.sum() * max(points.shape[1], 1))
    alpha = max(alpha, float(np.finfo(np.float64).eps))
    merged = compiled.merge_clusters(counts, points, _CRITERIA[structure], alpha)
    if merged is None:
        merged = _merge_clusters(counts, points, _CRITERIA[structure], alpha)
    return MergeTree(merged)


def _principal(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the centred and standardised rows along their principal axes, each divided by √(singular value)."""
    total = weight.sum()
    centred = rows - weight @ rows / total
    centred -= weight @ centred / total  # remove the rounding error of the first centring
    largest = np.abs(centred).max(0, initial=0.0)
    varies = largest > 1e-13 * np.abs(rows).max(0, initial=0.0)
    centred = centred[:, varies] / largest[varies]  # so that no square overflows
    scaled = centred / np.sqrt(weight @ centred**2 / max(total - 1.0, 0.5 * total))
    _, singular, axes = np.linalg.svd(np.sqrt(weight)[:, None] * scaled, full_matrices=False)
    kept = singular > _RANK * singular.max(initial=0.0)
    return np.asarray(scaled @ axes[kept].T / np.sqrt(singular[kept]))


def _merge_clusters(count: FloatArray, means: FloatArray, criterion: int, alpha: float) -> IntArray:
    """Return the mergers; the NumPy fallback of the kernel: gains are compared in float32, ties take the last pair."""
    (n, d), count, means = means.shape, count.copy(), means.copy()
    scatter, name = np.zeros((n, d, d)), np.arange(n)
    cost = np.zeros(n) if criterion == 0 else count * np.log(alpha / count)
    gain = np.full((n, n), np.inf, dtype=np.float32)  # entry (r, c) is for the pair c < r

    def union(i: int, others: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        together = count[i] + count[others]
        delta = means[others] - means[i]
        between = (count[i] * count[others] / together)[:, None, None] * delta[:, :, None] * delta[:, None, :]
        return together, delta, scatter[i] + scatter[others] + between

    def costs(rows: FloatArray, scatters: FloatArray) -> FloatArray:
        trace = np.trace(scatters, axis1=1, axis2=2)
        if criterion == 0:
            return trace
        inside = np.zeros(len(rows))
        if criterion == 2:
            inside = np.where(rows > d, np.maximum(np.linalg.det(scatters / rows[:, None, None]), 0.0), 0.0)
        return np.asarray(rows * np.log(inside + (trace + alpha) / rows))

    merged = np.empty((n - 1, 2), dtype=np.int64)
    for r in range(1, n):
        together, _, scatters = union(r, slice(r))
        gain[r, :r] = costs(together, scatters) - cost[r] - cost[:r]
    for step in range(n - 1):
        last = n - step - 1
        here = gain[: last + 1, : last + 1]
        high, low = divmod(here.size - 1 - int(here[::-1, ::-1].argmin()), last + 1)
        merged[step] = name[low], name[high]
        together, delta, scatters = union(low, slice(high, high + 1))
        cost[low] = costs(together, scatters)[0]
        means[low] += delta[0] * count[high] / together[0]
        scatter[low], count[low] = scatters[0], together[0]
        for array in (means, scatter, count, cost, name):
            array[high] = array[last]
        gain[high, :high] = gain[last, :high]
        gain[high + 1 : last, high] = gain[last, high + 1 : last]
        together, _, scatters = union(low, slice(last))
        renewed = costs(together, scatters) - cost[low] - cost[:last]
        gain[low, :low], gain[low + 1 : last, low] = renewed[:low], renewed[low + 1 :]
    return merged
