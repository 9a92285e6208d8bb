"""The kernels of a generalised linear model: one pass over the rows gives everything that a Newton step needs.

Columns are centred at a point c near their means, η = a + (x − c)·b + offset, so that a column far from 0 loses no
precision. Centring does not change b; the intercept of the original columns is a − c·b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, issparse, to_float64
from suffice.compiled import linear
from suffice.engines.base import Chunk
from suffice.glm.pairs import Pair
from suffice.glm.rows import Target

#: rows per block, so that a block stays in a core's cache while it is centred, weighted and multiplied
BLOCK_ROWS = 2048


@dataclass(frozen=True, eq=False)
class NewtonSums:
    """Sums over rows: half of the deviance, its gradient and expected Hessian in (a, b), and Pearson's statistic.

    Attributes
    ----------
    half_deviance, pearson : float
        Σ d(y, μ) / 2 and Σ (y − μ)² / V(μ), weighted; the latter is 0 if the dispersion is known.
    gradient : array of shape (q,)
    hessian : array of shape (q, q), or (0, 0) if it was not requested
    """

    half_deviance: float
    gradient: FloatArray
    hessian: FloatArray
    pearson: float = 0.0

    def __add__(self, other: NewtonSums) -> NewtonSums:
        return NewtonSums(
            self.half_deviance + other.half_deviance,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
            self.pearson + other.pearson,
        )


@dataclass(frozen=True, eq=False)
class Point:
    """The point at which the sums are evaluated: a pair, the centre of the columns, and θ = (a, b)."""

    pair: Pair
    center: FloatArray
    theta: FloatArray
    hessian: bool = True
    #: F with F Fᵀ = H⁻¹, for leverages
    factor: FloatArray | None = None


def centred(x: FloatArray, center: FloatArray) -> FloatArray:
    """Return (1, x − c), n×(p + 1)."""
    z = np.empty((x.shape[0], x.shape[1] + 1))
    z[:, 0] = 1.0
    np.subtract(x, center, out=z[:, 1:])
    return z


def blocks(x: FloatArray, center: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of a dense chunk: the slice of rows, and (1, x − c), m×(p + 1)."""
    for start in range(0, len(x), BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(x)))
        yield rows, centred(x[rows], center)


def newton_sums(chunk: Chunk, at: Point) -> NewtonSums:
    """Kernel: the objective, its gradient Σ −score (1, x − c) and Hessian Σ curvature (1, x − c)(1, x − c)ᵀ."""
    x, target = chunk.blocks[0], chunk.target
    with np.errstate(all="ignore"):  # the caller checks for non-finite results
        return _sparse_sums(x, target, at) if issparse(x) else _dense_sums(x, target, at)


def _dense_sums(x: Any, target: Target, at: Point) -> NewtonSums:
    """Return the sums of a dense chunk: in one compiled pass, or block by block."""
    rows = to_float64(x)
    if at.pair.compiled is not None:
        found = linear.newton_pass(
            rows, at.center, at.theta, target.y, target.weight, target.offset, at.pair.compiled, hessian=at.hessian
        )
        if found is not None:
            loss, gradient, hessian = found
            return NewtonSums(loss - at.pair.least_loss(target.y, target.weight), gradient, hessian)
    total: NewtonSums | None = None
    for start in range(0, len(rows), BLOCK_ROWS):
        some = slice(start, min(start + BLOCK_ROWS, len(rows)))
        part = _block_sums(rows[some], target[some], at)
        total = part if total is None else total + part
    assert total is not None
    return total


def _block_sums(x: FloatArray, target: Target, at: Point) -> NewtonSums:
    """Return the sums of some dense rows, from η, the score and the curvature of each row."""
    q = len(at.theta)
    eta, z = linear.linear_predictor(x, at.center, at.theta), None
    if eta is None:
        z = centred(x, at.center)
        eta = z @ at.theta
    work = at.pair.working(_with_offset(eta, target), target.y, target.weight)
    if work is None:
        return NewtonSums(np.inf, np.zeros(q), np.zeros((q, q) if at.hessian else (0, 0)))
    if z is None:
        found = linear.weighted_sums(x, at.center, work.score, work.curvature, hessian=at.hessian)
        assert found is not None
        return NewtonSums(work.half_deviance, *found, work.pearson)
    gradient, hessian = -(work.score @ z), np.zeros((0, 0))
    if at.hessian:
        z *= np.sqrt(work.curvature)[:, None]
        hessian = z.T @ z
    return NewtonSums(work.half_deviance, gradient, hessian, work.pearson)


def _sparse_sums(x: Any, target: Target, at: Point) -> NewtonSums:
    """Return the sums of a sparse chunk, which is not centred."""
    q = len(at.theta)
    work = at.pair.working(_with_offset(x @ at.theta[1:] + at.theta[0], target), target.y, target.weight)
    if work is None:
        return NewtonSums(np.inf, np.zeros(q), np.zeros((q, q) if at.hessian else (0, 0)))
    gradient = -np.concatenate([[work.score.sum()], x.T @ work.score])
    hessian = np.zeros((0, 0))
    if at.hessian:
        weighted = x.multiply(work.curvature[:, None]).tocsr()
        hessian = np.empty((q, q))
        hessian[0, 0] = work.curvature.sum()
        hessian[0, 1:] = hessian[1:, 0] = np.asarray(weighted.sum(axis=0)).ravel()
        hessian[1:, 1:] = (x.T @ weighted).toarray()
    return NewtonSums(work.half_deviance, gradient, hessian, work.pearson)


@dataclass(frozen=True, eq=False)
class Curvature:
    """A Hessian, or its diagonal, that can be added to another."""

    values: FloatArray

    def __add__(self, other: Curvature) -> Curvature:
        return Curvature(self.values + other.values)


def observed_hessian(chunk: Chunk, at: Point) -> Curvature:
    """Kernel: the observed Hessian, Σ −d²ℓ/dη² (1, x − c)(1, x − c)ᵀ, whose terms can be negative."""
    x, target = chunk.blocks[0], chunk.target
    total = np.zeros((len(at.theta), len(at.theta)))
    dense = to_float64(x.toarray() if issparse(x) else x)
    with np.errstate(all="ignore"):  # the caller does not use a non-finite Hessian
        for rows, z in blocks(dense, at.center):
            part = target[rows]
            curvature = at.pair.observed_curvature(_with_offset(z @ at.theta, part), part.y, part.weight)
            total += (z * curvature[:, None]).T @ z
    return Curvature(total)


def hessian_diagonal(chunk: Chunk, at: Point) -> Curvature:
    """Kernel: the diagonal of the expected Hessian, Σ curvature (1, x − c)², (p + 1,)."""
    x, target = chunk.blocks[0], chunk.target
    with np.errstate(all="ignore"):  # the caller checks for non-finite results
        work = at.pair.working(predictor(chunk, at), target.y, target.weight)
        if work is None:
            return Curvature(np.full(len(at.theta), np.inf))
        squares = x.multiply(x).T if issparse(x) else (to_float64(x) - at.center).T ** 2
        return Curvature(np.append(work.curvature.sum(), squares @ work.curvature))


@dataclass(frozen=True, eq=False)
class Gradient:
    """A gradient that can be added to another."""

    gradient: FloatArray

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(self.gradient + other.gradient)


def firth_gradient(chunk: Chunk, at: Point) -> Gradient:
    """Kernel: Firth's correction of the gradient, −½ Σ h (μ″/μ′)(1, x − c), with h the leverage of a row."""
    x, target = chunk.blocks[0], chunk.target
    assert at.factor is not None
    gradient = np.zeros(len(at.theta))
    dense = to_float64(x.toarray() if issparse(x) else x)
    for rows, z in blocks(dense, at.center):
        part = target[rows]
        eta = _with_offset(z @ at.theta, part)
        work = at.pair.working(eta, part.y, part.weight)
        assert work is not None
        spread = z @ at.factor
        leverage = work.curvature * np.einsum("ij,ij->i", spread, spread)
        gradient -= 0.5 * (leverage * at.pair.bend(eta)) @ z
    return Gradient(gradient)


def predictor(chunk: Chunk, at: Point) -> FloatArray:
    """Kernel: η of each row, (n,)."""
    x = chunk.blocks[0]
    target: Target | None = chunk.target
    if issparse(x):
        eta = np.asarray(x @ at.theta[1:]) + at.theta[0]
    else:
        eta = (to_float64(x) - at.center) @ at.theta[1:] + at.theta[0]
    return eta if target is None else _with_offset(eta, target)


def predictor_variance(chunk: Chunk, at: Point) -> FloatArray:
    """Kernel: the variance of η of each row, ‖Fᵀ (1, x − c)‖² with F Fᵀ the covariance of (a, b), (n,)."""
    x = chunk.blocks[0]
    assert at.factor is not None
    dense = to_float64(x.toarray() if issparse(x) else x)
    found = np.empty(len(dense))
    for rows, z in blocks(dense, at.center):
        spread = z @ at.factor
        found[rows] = np.einsum("ij,ij->i", spread, spread)
    return found


def _with_offset(eta: FloatArray, target: Target) -> FloatArray:
    return eta if target.offset is None else eta + target.offset
