"""k-means: the compiled passes over rows of doubles."""

from __future__ import annotations

import numpy as np

from suffice import compiled
from suffice._arrays import FloatArray, IntArray
from suffice.compiled.signatures import CONSTANTS

#: candidates for one seed, at most
MOST_TRIALS = CONSTANTS["MOST_TRIALS"]


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
    rounds: int,
    tol: float,
) -> IntArray:
    """Return the clusters of all rows, (n,): k-means++ and up to `rounds` of Lloyd's algorithm in one call.

    The first seed is the row `first`; each of the others is the best of the rows that a row of `uniforms`
    ((k − 1)×trials) draws, in proportion to the squared distance from the seeds before.
    """
    rows = _rows(x)
    (n, d), trials = rows.shape, uniforms.shape[1]
    labels, centers = np.empty(n, dtype=np.int64), np.empty((k, d))
    origin, weight, uniforms = compiled._reals(origin), compiled._reals_or_none(weight), compiled._reals(uniforms)
    assert compiled.library is not None
    compiled.library(
        "k_means", "double", rows, n, d, k, origin, weight, first, uniforms, trials, rounds, np.array([tol]), labels,
        centers,
    )  # fmt: skip
    return labels


def seed_potentials(
    x: FloatArray, origin: FloatArray, candidates: FloatArray, weight: FloatArray | None, closest: FloatArray
) -> FloatArray:
    """Return Σ weight · min(closest, squared distance) for each candidate, (trials,)."""
    rows = _rows(x)
    (n, d), trials = rows.shape, len(candidates)
    potentials, origin, candidates = np.empty(trials), compiled._reals(origin), compiled._reals(candidates)
    assert compiled.library is not None
    compiled.library(
        "seed_potentials", "double", rows, n, d, origin, candidates, trials, compiled._reals_or_none(weight), closest,
        potentials,
    )  # fmt: skip
    return potentials


def seed_take(x: FloatArray, origin: FloatArray, center: FloatArray, closest: FloatArray) -> None:
    """Lower the squared distances to that from a further center."""
    rows = _rows(x)
    n, d = rows.shape
    assert compiled.library is not None
    compiled.library("seed_take", "double", rows, n, d, compiled._reals(origin), compiled._reals(center), closest)


def seed_places(closest: FloatArray, weight: FloatArray | None, values: FloatArray) -> tuple[IntArray, float]:
    """Return the rows at which the sum of weight · closest reaches each of some values, and the whole sum."""
    places, total = np.empty(len(values), dtype=np.int64), np.empty(1)
    assert compiled.library is not None
    weight, values = compiled._reals_or_none(weight), compiled._reals(values)
    compiled.library("seed_places", "double", closest, weight, len(closest), values, len(values), places, total)
    return places, float(total[0])


def lloyd_pass(
    x: FloatArray, origin: FloatArray, centers: FloatArray, weight: FloatArray | None, labels: IntArray
) -> tuple[FloatArray, FloatArray, int]:
    """Put each row to the nearest center: write the labels, and return sums, k×d, weights, (k,), and labels changed."""
    rows = _rows(x)
    (n, d), k = rows.shape, len(centers)
    linear, half = compiled._reals(centers.T), -0.5 * np.einsum("ij,ij->i", centers, centers)
    sums, count, changed = np.zeros((k, d)), np.zeros(k), np.zeros(1, dtype=np.int64)
    assert compiled.library is not None
    compiled.library(
        "lloyd_pass", "double", rows, n, d, k, compiled._reals(origin), linear, half,
        compiled._reals_or_none(weight), labels, sums, count, changed,
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
    rows = _rows(x)
    (n, d), k, shift = rows.shape, len(centers), np.empty(1)
    assert compiled.library is not None
    compiled.library(
        "lloyd_centers", "double", rows, n, d, k, compiled._reals(origin), compiled._reals_or_none(weight), labels,
        sums, count, centers, shift,
    )  # fmt: skip
    return float(shift[0])


def _rows(x: FloatArray) -> FloatArray:
    found = compiled._rows(x)
    assert found is not None, "the kernels are there"
    return found[0]
