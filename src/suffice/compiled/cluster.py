"""k-means: the compiled passes over rows of doubles."""

from __future__ import annotations

import numpy as np

from suffice import compiled
from suffice._arrays import FloatArray, IntArray
from suffice.compiled.signatures import CONSTANTS

#: limit on the candidates for one seed; rows per block
MOST_TRIALS, BLOCK_ROWS = CONSTANTS["MOST_TRIALS"], CONSTANTS["BLOCK_ROWS"]


def knows_k_means() -> bool:
    """Return whether the kernels of k-means are compiled."""
    return compiled.library is not None


def k_means(
    x: FloatArray,
    k: int,
    origin: FloatArray,
    weight: FloatArray | None,
    first: int,
    uniforms: FloatArray,
    max_iter: int,
    tol: float,
) -> IntArray:
    """Return the clusters of all rows, (n,): k-means++ and at most `max_iter` Lloyd iterations in one call.

    The first seed is the row `first`; each further seed is the best of the candidates that a row of `uniforms`
    ((k − 1)×trials) draws in proportion to the squared distance from the seeds so far.
    """
    rows = _rows(x)
    (n, d), trials = rows.shape, uniforms.shape[1]
    labels, centers = np.empty(n, dtype=np.int64), np.empty((k, d))
    origin, weight, uniforms = compiled._reals(origin), compiled._reals_or_none(weight), compiled._reals(uniforms)
    assert compiled.library is not None
    compiled.library(
        "k_means", "double", rows, n, d, k, origin, weight, first, uniforms, trials, max_iter, np.array([tol]), labels,
        centers,
    )  # fmt: skip
    return labels


def empty_blocks(n: int, d: int) -> FloatArray:
    """Return memory for n rows stored transposed, BLOCK_ROWS at a time."""
    return np.empty((-(-n // BLOCK_ROWS), d, BLOCK_ROWS))


def to_blocks(x: FloatArray, origin: FloatArray, blocks: FloatArray) -> None:
    """Write the rows relative to an origin into blocks."""
    rows = _rows(x)
    assert compiled.library is not None
    compiled.library("to_blocks", "double", rows, *rows.shape, compiled._reals(origin), blocks)


def seed_potentials(
    blocks: FloatArray, candidates: FloatArray, weight: FloatArray | None, closest: FloatArray
) -> FloatArray:
    """Return Σ weight · min(closest, squared distance) for each candidate, (trials,)."""
    (trials, d), candidates = candidates.shape, compiled._reals(candidates)
    potentials = np.empty(trials)
    assert compiled.library is not None
    compiled.library(
        "seed_potentials", "double", blocks, len(closest), d, candidates, trials, compiled._reals_or_none(weight),
        closest, potentials,
    )  # fmt: skip
    return potentials


def seed_take(blocks: FloatArray, center: FloatArray, closest: FloatArray) -> None:
    """Lower the squared distances in `closest` where a new center is closer."""
    assert compiled.library is not None
    compiled.library("seed_take", "double", blocks, len(closest), len(center), compiled._reals(center), closest)


def seed_places(closest: FloatArray, weight: FloatArray | None, values: FloatArray) -> tuple[IntArray, float]:
    """Return the rows at which the cumulative sum of weight · closest reaches each value, and the total sum."""
    places, total = np.empty(len(values), dtype=np.int64), np.empty(1)
    assert compiled.library is not None
    weight, values = compiled._reals_or_none(weight), compiled._reals(values)
    compiled.library("seed_places", "double", closest, weight, len(closest), values, len(values), places, total)
    return places, float(total[0])


def lloyd_pass(
    blocks: FloatArray,
    linear: FloatArray,
    half: FloatArray,
    weight: FloatArray | None,
    labels: IntArray,
    sums: FloatArray,
    count: FloatArray,
    *,
    fresh: bool,
) -> int:
    """Assign each row to the nearest center, and return the number of labels that changed.

    Parameters
    ----------
    blocks : array
    linear, half : arrays of shape (d, k) and (k,)
        The centers, and −½ of their squared lengths.
    weight : array of shape (n,) or None
    labels : array of shape (n,)
        Overwritten.
    sums, count : arrays of shape (k, d) and (k,)
        Updated from the previous labels to the new ones by the rows that change; if `fresh`, all rows are added to
        them.
    """
    changed = np.zeros(1, dtype=np.int64)
    assert compiled.library is not None
    compiled.library(
        "lloyd_pass", "double", blocks, len(labels), *linear.shape, linear, half, compiled._reals_or_none(weight),
        fresh, labels, sums, count, changed,
    )  # fmt: skip
    return int(changed[0])


def lloyd_centers(
    blocks: FloatArray,
    weight: FloatArray | None,
    labels: IntArray,
    sums: FloatArray,
    count: FloatArray,
    centers: FloatArray,
) -> float:
    """Write the next centers, with empty clusters filled, and return the squared distance that they moved.

    Filling clusters changes `sums` and `count` too.
    """
    shift = np.empty(1)
    assert compiled.library is not None
    compiled.library(
        "lloyd_centers", "double", blocks, len(labels), centers.shape[1], len(centers),
        compiled._reals_or_none(weight), labels, sums, count, centers, shift,
    )  # fmt: skip
    return float(shift[0])


def _rows(x: FloatArray) -> FloatArray:
    found = compiled._rows(x)
    assert found is not None, "the kernels are there"
    return found[0]
