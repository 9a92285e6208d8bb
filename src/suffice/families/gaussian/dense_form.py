"""Quadratic forms with one full covariance per class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace
from suffice.families.gaussian.quadratic import (
    LOG_2PI,
    MOST_PAIRED,
    MixturePass,
    QuadraticForm,
    cancels_for,
    is_single,
    pair_coefficients,
    whitened_squares,
    whiteners,
)


@dataclass(frozen=True, eq=False)
class DenseForm(QuadraticForm):
    """The log-densities of Gaussians with one full covariance per class."""

    means: FloatArray
    covariance: FloatArray
    origin: FloatArray
    whiteners: FloatArray
    log_determinants: FloatArray

    @classmethod
    def of(cls, means: FloatArray, compact: FloatArray) -> Self:
        """Return the form; raise EstimateError if a covariance is singular."""
        covariance = np.broadcast_to(compact, (len(means), *compact.shape[1:]))
        return cls(means, covariance, means.mean(0), *whiteners(covariance))

    def precision(self) -> FloatArray:
        """Return Σ⁻¹, k×d×d."""
        return self.whiteners.transpose(0, 2, 1) @ self.whiteners

    def whitener_of(self, c: int) -> FloatArray:
        """Return L⁻¹ of class c, d×d."""
        return np.asarray(self.whiteners[c])

    def _constants(self) -> FloatArray:
        return -0.5 * (self.means.shape[1] * LOG_2PI + self.log_determinants)

    def score(self, x: Array, common: bool) -> Array:
        """Return the log-densities, n×k: products with pairs z_i z_j, or whitened rows if the products would cancel."""
        x = x.toarray() if issparse(x) else x
        form = self._product_for(x)
        if x.shape[1] <= MOST_PAIRED and not cancels_for(form.largest, x):
            scores = compiled.quadratic_scores(x, form.origin, form.linear, form.pairs, form.constants)
            if scores is not None:
                return scores
            if x.shape[1] <= 2 * len(self.means):  # for many columns the pairs are a large temporary array in NumPy
                return form.score(x)
        return as_like(self._constants(), x) - 0.5 * whitened_squares(x, self.means, self.whiteners)

    def mixture_pass(self, x: Array, weight: FloatArray | None, log_shares: FloatArray) -> MixturePass | None:
        """Return one EM iteration over the rows of a chunk; None if the compiled kernel does not apply."""
        form = self._product_for(x)
        if issparse(x) or x.shape[1] > MOST_PAIRED or cancels_for(form.largest, x):
            return None
        constants, single = form.constants + log_shares, is_single(x)
        found = compiled.full_pass(x, weight, form.origin, form.linear, form.pairs, constants, single=single)
        return None if found is None else MixturePass(found[0], form.origin, *found[1:])

    def _product_for(self, x: Array) -> _ProductForm:
        return self._narrow_product if is_single(x) else self._wide_product

    @cached_property
    def _wide_product(self) -> _ProductForm:
        return _ProductForm.of(self, self.origin)

    @cached_property
    def _narrow_product(self) -> _ProductForm:
        """The product form about an origin that float32 represents exactly."""
        return _ProductForm.of(self, self.origin.astype(np.float32).astype(np.float64))

    def squared_distance(self, rows: FloatArray, observed: Array | None) -> FloatArray:
        """Return ‖L_c⁻¹(x − μ_c)‖²."""
        return np.asarray(whitened_squares(rows, self.means, self.whiteners))

    def colour(self, z: FloatArray, classes: IntArray) -> FloatArray:
        """Return L_c z."""
        coloured = np.empty_like(z)
        for c in np.unique(classes):
            members = classes == c
            coloured[members] = solve_triangular(self.whiteners[c], z[members].T, lower=True).T
        return coloured

    def log_ratio(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the difference of −½ z_j (Σ_c⁻¹ z)_j − ½ log σ²_cj between the classes, z = x − μ_c, and the rest.

        The quadratic form is the sum of z_j (Σ⁻¹ z)_j, which splits the term of a pair of columns equally between them.
        The rest, which belongs to no single column, is the difference of −½ log |correlations|.
        """
        variance = np.diagonal(self.covariance, axis1=1, axis2=2)
        terms = np.zeros_like(rows)
        for c in np.union1d(a, b):
            white = (rows - self.means[c]) @ self.whiteners[c].T
            own = -0.5 * ((rows - self.means[c]) * (white @ self.whiteners[c]) + np.log(variance[c]))
            terms += own * ((a == c).astype(float) - (b == c))[:, None]
        left = -0.5 * (self.log_determinants - np.log(variance).sum(1))
        return terms, left[a] - left[b]


@dataclass(frozen=True, eq=False)
class _ProductForm:
    """Log-densities as constant + z·linear + Σ_{i≤j} z_i z_j pairs, z = x − origin; one row per class."""

    origin: FloatArray
    linear: FloatArray
    pairs: FloatArray
    constants: FloatArray
    #: the largest size of the terms that cancel each other at a class mean
    largest: float

    @classmethod
    def of(cls, form: DenseForm, origin: FloatArray) -> Self:
        """Return the quadratic forms multiplied out about `origin`."""
        with np.errstate(over="ignore"):  # an infinite `largest` then rules this form out
            m, precision = form.means - origin, form.precision()
            squared = (np.einsum("kij,kj->ki", form.whiteners, m) ** 2).sum(1)
            pairs = pair_coefficients(precision)
            linear = np.einsum("kij,kj->ki", precision, m)
        # kernels read all classes of a pair together, so these are contiguous in memory
        by_pair, by_column = np.asfortranarray(pairs), np.asfortranarray(linear)
        return cls(origin, by_column, by_pair, form._constants() - 0.5 * squared, float(squared.max()))

    def score(self, x: Array) -> Array:
        """Return the log-densities with all pairs of columns side by side, n×k."""
        xp = namespace(x)
        z = x - as_like(self.origin, x)
        pairs = xp.concat([z[:, a : a + 1] * z[:, a:] for a in range(x.shape[1])], axis=1)
        linear = z @ as_like(self.linear, x).T
        return linear + pairs @ as_like(self.pairs, x).T + as_like(self.constants, x)
