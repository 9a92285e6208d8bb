"""k-means: the compiled passes over rows of doubles."""

from __future__ import annotations

import numpy as np

from suffice import compiled
from suffice._arrays import FloatArray, IntArray

#: candidates for one seed, at most
MOST_TRIALS = 16


def knows_k_means() -> bool:
    """Return whether the kernels of k-means are compiled."""
    return compiled.library is not None and compiled.library.has("k_means", "double")


def k_means(
    x: FloatArray,
    k: int,
    origin: FloatArray,
    weight: FloatArray | None,
    first: int,
    uniforms: FloatArray,
    rounds: int,
    tol: float,
) -> IntArray:
    """Return the clusters of all rows, (n,): k-means++ and up to `rounds` of Lloyd's algorithm in one call.

    The first seed is the row `first`; each of the others is the best of the rows that a row of `uniforms`
    ((k − 1)×trials) draws, in proportion to the squared distance from the seeds before.
    """
    rows, _, stride = _found(x)
    (n, d), trials = rows.shape, uniforms.shape[1]
    labels, centers = np.empty(n, dtype=np.int64), np.empty((k, d))
    work = np.empty(2 * compiled._LANES * d + n + (trials + 2 * k) * d + 2 * k)
    assert compiled.library is not None
    compiled.library(
        "k_means", "double", rows, stride, n, d, k, origin, weight, first, uniforms, trials, rounds, np.array([tol]),
        work, labels, centers,
    )  # fmt: skip
    return labels


def seed_potentials(
    x: FloatArray, origin: FloatArray, candidates: FloatArray, weight: FloatArray | None, closest: FloatArray
) -> FloatArray:
    """Return Σ weight · min(closest, squared distance) for each candidate, (trials,)."""
    rows, _, stride = _found(x)
    (n, d), trials = rows.shape, len(candidates)
    block, potentials = np.empty(2 * compiled._LANES * d), np.empty(trials)
    assert compiled.library is not None
    compiled.library(
        "seed_potentials", "double", rows, stride, n, d, origin, candidates, trials, weight, closest, block, potentials
    )
    return potentials


def seed_take(x: FloatArray, origin: FloatArray, center: FloatArray, closest: FloatArray) -> None:
    """Lower the squared distances to that from a further center."""
    rows, _, stride = _found(x)
    n, d = rows.shape
    assert compiled.library is not None
    compiled.library(
        "seed_take", "double", rows, stride, n, d, origin, center, np.empty(2 * compiled._LANES * d), closest
    )


def seed_places(closest: FloatArray, weight: FloatArray | None, values: FloatArray) -> tuple[IntArray, float]:
    """Return the rows at which the sum of weight · closest reaches each of some values, and the whole sum."""
    places, total = np.empty(len(values), dtype=np.int64), np.empty(1)
    assert compiled.library is not None
    compiled.library("seed_places", "double", closest, weight, len(closest), values, len(values), places, total)
    return places, float(total[0])


def lloyd_pass(
    x: FloatArray, origin: FloatArray, centers: FloatArray, weight: FloatArray | None, labels: IntArray
) -> tuple[FloatArray, FloatArray, int]:
    """Put each row to the nearest center: write the labels, and return sums, k×d, weights, (k,), and labels changed."""
    rows, _, stride = _found(x)
    (n, d), k = rows.shape, len(centers)
    linear, half = np.ascontiguousarray(centers.T), -0.5 * np.einsum("ij,ij->i", centers, centers)
    sums, count, changed = np.zeros((k, d)), np.zeros(k), np.zeros(1, dtype=np.int64)
    assert compiled.library is not None
    compiled.library(
        "lloyd_pass", "double", rows, stride, n, d, k, origin, linear, half, weight,
        np.empty(2 * compiled._LANES * d), labels, sums, count, changed,
    )  # fmt: skip
    return sums, count, int(changed[0])


def lloyd_centers(
    x: FloatArray,
    origin: FloatArray,
    weight: FloatArray | None,
    labels: IntArray,
    sums: FloatArray,
    count: FloatArray,
    centers: FloatArray,
) -> float:
    """Write the next centers, with empty clusters filled, and return the squared way that they went."""
    rows, _, stride = _found(x)
    (n, d), k, shift = rows.shape, len(centers), np.empty(1)
    distance = np.empty(n if not count.all() else 0)
    assert compiled.library is not None
    compiled.library(
        "lloyd_centers", "double", rows, stride, n, d, k, origin, weight, labels, distance, sums, count, centers, shift
    )
    return float(shift[0])


def _found(x: FloatArray) -> tuple[FloatArray, str, int]:
    found = compiled._rows(x)
    assert found is not None
    return found
