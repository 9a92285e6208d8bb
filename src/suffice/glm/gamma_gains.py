"""log Γ(y + θ) − log Γ(θ) and its derivatives in θ, without cancellation for large θ."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from suffice._arrays import FloatArray

#: from this θ on, the first terms of Stirling's series are exact to float64
_LARGE = 1e3


def log_gamma_gain(y: FloatArray, theta: float) -> FloatArray:
    """Return log Γ(y + θ) − log Γ(θ).

    Examples
    --------
    >>> log_gamma_gain(np.array([2.0]), 1e12) == np.log(1e12 * (1e12 + 1.0))
    array([ True])
    """
    if theta < _LARGE:
        return np.asarray(gammaln(y + theta) - gammaln(theta))
    a, b, d = _reciprocals(y, theta)
    return (
        (theta - 0.5) * np.log1p(y / theta) + y * np.log(y + theta) - y + d / 12.0 - d * (a * a + a * b + b * b) / 360
    )


def digamma_gain(y: FloatArray, theta: float) -> FloatArray:
    """Return ψ(y + θ) − ψ(θ), the first derivative."""
    if theta < _LARGE:
        return np.asarray(digamma(y + theta) - digamma(theta))
    a, b, d = _reciprocals(y, theta)
    return np.log1p(y / theta) - 0.5 * d - d * (a + b) / 12.0 + d * (a + b) * (a * a + b * b) / 120.0


def trigamma_gain(y: FloatArray, theta: float) -> FloatArray:
    """Return ψ′(y + θ) − ψ′(θ), the second derivative."""
    if theta < _LARGE:
        return np.asarray(polygamma(1, y + theta) - polygamma(1, theta))
    a, b, d = _reciprocals(y, theta)
    return d + 0.5 * d * (a + b) + d * (a * a + a * b + b * b) / 6.0


def _reciprocals(y: FloatArray, theta: float) -> tuple[FloatArray, float, FloatArray]:
    """Return 1/(y + θ), 1/θ, and their difference."""
    return 1.0 / (y + theta), 1.0 / theta, -y / (theta * (y + theta))
