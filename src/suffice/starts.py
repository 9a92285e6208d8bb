"""Where EM begins: rows to begin with, and a first guess of who belongs to which component."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray, issparse
from suffice.engines import Engine, Rows
from suffice.families import Distributions
from suffice.families.categorical import Codes
from suffice.responsibilities import Labels, PartialLabels, Responsibilities, SoftLabels

#: rounds of Lloyd's algorithm after k-means++ has chosen the centres, for one start after the other: many rounds come
#: to few and good partitions, one round keeps them different
LLOYD = (10, 1)


def some_rows(engine: Engine, n_rows: int, n_wanted: int, rng: np.random.Generator) -> Rows:
    """Return that many rows drawn at random, in their order; all of them where there are no more."""
    drawn = rng.choice(n_rows, size=n_wanted, replace=False) if n_rows > n_wanted else np.arange(n_rows)
    chosen = np.sort(drawn)
    parts = []
    for rows in engine.batches():
        here = chosen[(chosen >= rows.start) & (chosen < rows.start + len(rows))] - rows.start
        if len(here) == len(rows):
            parts.append(rows)
        elif len(here):
            known = rows.responsibilities
            assert isinstance(known, PartialLabels)
            parts.append(Rows(tuple(_picked(block, here) for block in rows.blocks), known[here]))
    return parts[0] if len(parts) == 1 else _joined(parts)


def _picked(block: Any, rows: IntArray) -> Any:
    return Codes(block.codes[rows], block.sizes) if isinstance(block, Codes) else block[rows]


def _joined(parts: Sequence[Rows]) -> Rows:
    blocks = tuple(_stacked([part.blocks[i] for part in parts]) for i in range(len(parts[0].blocks)))
    known = [part.responsibilities for part in parts]
    first = known[0]
    assert isinstance(first, PartialLabels)
    codes, weight = (
        None if getattr(first, name) is None else np.concatenate([getattr(part, name) for part in known])
        for name in ("codes", "weight")
    )
    return Rows(blocks, PartialLabels(codes, weight, first.n_classes, sum(len(part) for part in parts)))


def _stacked(blocks: Sequence[Any]) -> Any:
    if isinstance(blocks[0], Codes):
        return Codes(np.concatenate([block.codes for block in blocks]), blocks[0].sizes)
    if issparse(blocks[0]):
        from scipy import sparse

        return sparse.vstack(blocks, format="csr")
    return np.concatenate(blocks)


def random_responsibilities(n_rows: int, k: int, weight: FloatArray | None, rng: np.random.Generator) -> SoftLabels:
    """Return shares drawn uniformly from all that sum to 1."""
    shares = rng.dirichlet(np.ones(k), size=n_rows)
    return SoftLabels(shares if weight is None else shares * weight[:, None])


def nearest_of_k_means(
    rows: Rows,
    overall: Sequence[Distributions],
    k: int,
    weight: FloatArray | None,
    rng: np.random.Generator,
    rounds: int = LLOYD[0],
) -> Responsibilities:
    """Return the clusters of a few rounds of k-means from k-means++ centres, in units of the overall distributions.

    Clusters that stay empty, for want of distinct rows, get a row at random.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    blocks = rows.chunk(0, len(rows)).blocks
    points = _side_by_side([d.standardised(block) for d, block in zip(overall, blocks, strict=True)])
    seed = int(rng.integers(2**31))
    n = points.shape[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters: seen to below
        labels = (
            KMeans(min(k, n), n_init=1, max_iter=rounds, random_state=seed).fit(points, sample_weight=weight).labels_
        )
    codes = labels.astype(np.intp)
    empty = np.setdiff1d(np.arange(k), codes)
    if len(empty):
        shares = np.zeros((n, k))
        shares[np.arange(n), codes] = 1.0
        lucky = rng.choice(n, size=len(empty), replace=n < len(empty))
        shares[lucky, empty] = 1.0
        shares /= shares.sum(1, keepdims=True)
        return SoftLabels(shares if weight is None else shares * weight[:, None])
    return Labels(codes, weight, k)


def _side_by_side(points: Sequence[Any]) -> Any:
    if any(issparse(block) for block in points):
        from scipy import sparse

        return sparse.hstack(points, format="csr")
    return np.hstack(points)
