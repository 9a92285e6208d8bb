"""The quadratic form of one covariance shared by all classes: differences between classes are linear in x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace
from suffice.families.gaussian.quadratic import (
    LOG_2PI,
    MixturePass,
    QuadraticForm,
    cancels_for,
    is_single,
    origin_for,
    pair_coefficients,
    whitened_squares,
    whiteners,
)


@dataclass(frozen=True, eq=False)
class SharedForm(QuadraticForm):
    """One covariance for all classes: the log-odds are linear in x."""

    means: FloatArray
    covariance: FloatArray
    origin: FloatArray
    whitener: FloatArray
    log_determinant: float

    @classmethod
    def of(cls, means: FloatArray, compact: FloatArray) -> Self:
        """Return the form; raise EstimateError if the covariance is singular."""
        (whitener,), (log_determinant,) = whiteners(compact)
        return cls(means, compact[0], means.mean(0), whitener, float(log_determinant))

    def precision(self) -> FloatArray:
        """Return Σ⁻¹, 1×d×d."""
        return (self.whitener.T @ self.whitener)[None]

    def whitener_of(self, c: int) -> FloatArray:
        """Return the whitener that all classes share."""
        return self.whitener

    def directions(self, origin: FloatArray | None = None) -> FloatArray:
        """Return Σ⁻¹(μ_c − origin), k×d."""
        return ((self.means - (self.origin if origin is None else origin)) @ self.whitener.T) @ self.whitener

    def _constant(self) -> float:
        return -0.5 * (len(self.origin) * LOG_2PI + self.log_determinant)

    def score(self, x: Array, common: bool) -> Array:
        """Return z·w_c − ½ m_c·w_c, plus −½ zᵀΣ⁻¹z, which all classes share, if `common`."""
        x = x.toarray() if issparse(x) else x
        xp = namespace(x)
        origin = origin_for(self.origin, x)
        m, w = self.means - origin, self.directions(origin)
        halves = 0.5 * (m * w).sum(1)
        if cancels_for(float(halves.max()), x):
            return self._score_by_class(x)
        constant = self._constant() - halves
        if not common:
            linear = compiled.linear_scores(x, origin, w, constant)
            if linear is not None:
                return linear
        z = x - as_like(origin, x)
        scores = z @ as_like(w, x).T + as_like(constant, x)
        if not common:
            return scores
        white = z @ as_like(self.whitener, x).T
        return scores - 0.5 * xp.sum(white * white, axis=1)[:, None]

    def mixture_pass(self, x: Array, weight: FloatArray | None, log_shares: FloatArray) -> MixturePass | None:
        """Return one EM iteration over the rows of a chunk; None if the compiled kernel does not apply."""
        origin = origin_for(self.origin, x)
        w = self.directions(origin)
        halves = 0.5 * ((self.means - origin) * w).sum(1)
        if issparse(x) or cancels_for(float(halves.max()), x):
            return None
        pairs = pair_coefficients(self.precision())[0]
        constants = self._constant() - halves + log_shares
        found = compiled.tied_pass(x, weight, origin, w, pairs, constants, single=is_single(x))
        return None if found is None else MixturePass(found[0], origin, *found[1:])

    def _score_by_class(self, x: Array) -> Array:
        whiteners = np.broadcast_to(self.whitener, (len(self.means), *self.whitener.shape))
        return self._constant() - 0.5 * whitened_squares(x, self.means, whiteners)

    def squared_distance(self, rows: FloatArray, observed: Array | None) -> FloatArray:
        """Return ‖L⁻¹(x − μ_c)‖²."""
        whiteners = np.broadcast_to(self.whitener, (len(self.means), *self.whitener.shape))
        return np.asarray(whitened_squares(rows, self.means, whiteners))

    def colour(self, z: FloatArray, classes: IntArray) -> FloatArray:
        """Return L z."""
        return np.asarray(solve_triangular(self.whitener, z.T, lower=True).T)

    def log_ratio(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return w_j (x_j − ½(μ_a + μ_b)_j) with w = Σ⁻¹(μ_a − μ_b), the linear log-odds; the rest is 0."""
        w = ((self.means[a] - self.means[b]) @ self.whitener.T) @ self.whitener
        return w * (0.5 * (rows - self.means[a]) + 0.5 * (rows - self.means[b])), np.zeros(len(rows))
