"""Shapes and concentrations from mean logarithms by Newton's method, shared by Gamma, Beta and Dirichlet."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, logsumexp, polygamma

from suffice._arrays import FloatArray

#: Newton's method converges quadratically: after a step smaller than this only rounding error is left
_SMALL_STEP = 1e-7
_MOST_STEPS = 60
#: above this the asymptotic series is more accurate than the difference that it replaces
_LARGE = 100.0


def trigamma(x: FloatArray) -> FloatArray:
    """Return ψ′(x)."""
    return np.asarray(polygamma(1, x))


def log_less_digamma(x: FloatArray) -> FloatArray:
    """Return log x − ψ(x), about 1/(2x), without cancellation."""
    large = np.maximum(x, _LARGE)
    small = np.minimum(x, _LARGE)
    series = 1.0 / (2.0 * large) + 1.0 / (12.0 * large**2) - 1.0 / (120.0 * large**4) + 1.0 / (252.0 * large**6)
    return np.where(x > _LARGE, series, np.log(small) - digamma(small))


def _trigamma_less_reciprocal(x: FloatArray) -> FloatArray:
    """Return x ψ′(x) − 1, about 1/(2x), without cancellation."""
    large = np.maximum(x, _LARGE)
    small = np.minimum(x, _LARGE)
    series = 1.0 / (2.0 * large) + 1.0 / (6.0 * large**2) - 1.0 / (30.0 * large**4) + 1.0 / (42.0 * large**6)
    return np.where(x > _LARGE, series, small * trigamma(small) - 1.0)


def gamma_shape(spread: FloatArray, most_steps: int = _MOST_STEPS) -> FloatArray:
    """Return α with log α − ψ(α) = s, for s = log E x − E log x > 0 of a Gamma distribution.

    Newton's method on log α, from a start that is within 2% of the solution.
    """
    s = np.asarray(spread, dtype=np.float64)
    shape = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    for _ in range(most_steps):
        step = (log_less_digamma(shape) - s) / _trigamma_less_reciprocal(shape)
        shape = shape * np.exp(step)
        if np.abs(step).max(initial=0.0) < _SMALL_STEP:
            break
    return shape


def dirichlet_spread(mean_logs: FloatArray) -> FloatArray:
    """Return s = −log Σ e^(E log x_i): 0 where x never varies, about (K − 1)/(2T) for a large total T = Σα."""
    return np.maximum(-np.asarray(logsumexp(mean_logs, axis=-1)), 0.0)


def concentrations(
    mean_logs: FloatArray,
    rows: FloatArray | float = 0.0,
    spread: FloatArray | float = 0.0,
    most_steps: int = _MOST_STEPS,
) -> FloatArray:
    """Return the α of Dirichlet distributions with these E log x, m×K, or the posterior mode under a prior.

    They maximise Σ(α_i − 1) E log x_i + log Γ(T) − Σ log Γ(α_i) + r (c log T − s T), with T = Σα and c = (K − 1)/2. The
    last term is the prior of T, worth r rows per row of data, with its mode at c/s; it does not depend on where on the
    simplex the rows are. The derivative is 0 where ψ(α_i) − ψ(T) − r (c/T − s) = E log x_i. In log α its Jacobian is a
    diagonal minus a rank-one matrix, so that a step of Newton's method costs O(K).

    Parameters
    ----------
    mean_logs : array of shape (m, K)
    rows, spread : arrays of shape (m,)
        The prior's r and s.
    """
    m, n_parts = mean_logs.shape
    if n_parts == 1:  # the only part is always 1, and says nothing
        return np.ones((m, 1))
    r, s = (np.broadcast_to(np.asarray(value, dtype=np.float64), (m,)) for value in (rows, spread))
    c = 0.5 * (n_parts - 1)
    alpha = _start(mean_logs, r, s, c)
    for _ in range(most_steps):
        total = alpha.sum(1)
        residual = digamma(alpha) - _level(total, r, s, c)[:, None] - mean_logs
        diagonal = alpha * trigamma(alpha)
        weight = trigamma(total) - r * c / total**2
        scaled = residual / diagonal
        # Sherman–Morrison formula for (D − w 1 αᵀ)⁻¹
        share = weight * (alpha * scaled).sum(1) / (1.0 - weight * (alpha / diagonal).sum(1))
        step = np.clip(scaled + share[:, None] / diagonal, -3.0, 3.0)
        alpha = alpha * np.exp(-step)
        if np.abs(step).max(initial=0.0) < _SMALL_STEP:
            break
    return np.asarray(alpha)


def _level(total: FloatArray, r: FloatArray, s: FloatArray, c: float) -> FloatArray:
    return np.asarray(digamma(total) + r * (c / total - s))


def _start(mean_logs: FloatArray, r: FloatArray, s: FloatArray, c: float) -> FloatArray:
    """Return a start for α from the better of two totals: one suits large totals, the other small ones."""
    n_parts = mean_logs.shape[1]
    blended = (dirichlet_spread(mean_logs) + r * s) / (1.0 + r)
    large = (n_parts - np.exp(-blended)) / (-2.0 * np.expm1(-blended))
    # where α is small, ψ(α) ≈ −1/α, and for two parts the equation is 1/T² = E log x₁ · E log x₂
    two = np.sort(-mean_logs, axis=1)[:, :2]
    small = (n_parts - 1) / np.sqrt(np.maximum(two.prod(1), np.finfo(float).tiny))

    def from_total(total: FloatArray) -> FloatArray:
        return _roughly_inverse_digamma(mean_logs + _level(total, r, s, c)[:, None])

    def gap(total: FloatArray) -> FloatArray:
        return np.abs(np.log(from_total(total).sum(1) / total))

    return from_total(np.where(gap(small) < gap(large), small, large))


def _roughly_inverse_digamma(y: FloatArray) -> FloatArray:
    """Return x with ψ(x) ≈ y (T. Minka, Estimating a Dirichlet distribution, 2000)."""
    return np.where(y >= -2.22, np.exp(np.minimum(y, 600.0)) + 0.5, -1.0 / (np.minimum(y, -2.22) - digamma(1.0)))
