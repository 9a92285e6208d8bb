"""Formulas that many tests of the course use, written out in NumPy; nothing here calls the library."""

import math

import numpy as np


def log_normal(x, mean, covariance):
    """Return log N(x; μ, Σ) = −½ (x − μ)ᵀ Σ⁻¹ (x − μ) − ½ log |Σ| − d/2 log 2π of each row."""
    x, mean, covariance = np.atleast_2d(x), np.asarray(mean, float), np.asarray(covariance, float)
    away = x - mean
    squared = np.array([row @ np.linalg.inv(covariance) @ row for row in away])
    return -0.5 * squared - 0.5 * np.log(np.linalg.det(covariance)) - 0.5 * len(mean) * np.log(2 * np.pi)


def sigmoid(z):
    """Return σ(z) = 1 / (1 + e^−z)."""
    return 1.0 / (1.0 + np.exp(-np.asarray(z)))


def phi(z):
    """Return the distribution function of the standard normal, (1 + erf(z/√2)) / 2."""
    return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))


def softmax(scores):
    """Return e^s_c / Σ e^s of each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def weighted_gaussian(rows, weight):
    """Return Σ_i w_i x_i / Σ w and Σ_i w_i (x_i − μ)(x_i − μ)ᵀ / Σ w."""
    mean = weight @ rows / weight.sum()
    away = rows - mean
    return mean, (weight[:, None] * away).T @ away / weight.sum()


def gradient(function, at, step=1e-5):
    """Return the gradient of a function of an array by central differences."""
    at = np.asarray(at, float)
    found = np.zeros(at.shape)
    for index in np.ndindex(at.shape):
        move = np.zeros(at.shape)
        move[index] = step
        found[index] = (function(at + move) - function(at - move)) / (2 * step)
    return found


def integral(values, points):
    """Return ∫ f by the trapezoidal rule, for f that vanishes smoothly at both ends or fine points."""
    return float(np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(points)))
