"""The quadratic form of diagonal covariances: one variance per column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace
from suffice.errors import EstimateError
from suffice.families.cells import without_duplicates
from suffice.families.gaussian.quadratic import LOG_2PI, MixturePass, QuadraticForm, cancels_for, is_single, origin_for

#: limit on the cells of sparse rows that are made dense at a time
_DENSE_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class DiagonalForm(QuadraticForm):
    """Independent columns: variances (k, d), or (1, d) if all classes share them."""

    means: FloatArray
    variance: FloatArray
    origin: FloatArray

    @classmethod
    def of(cls, means: FloatArray, compact: FloatArray) -> Self:
        """Return the form; raise EstimateError if a variance is not positive."""
        if not (compact > 0).all():
            c, j = (int(i) for i in np.argwhere(~(compact > 0))[0])
            raise EstimateError(
                "the variance of column {of_column} in {noun} {of_class} is not positive, so it has no density",
                "use prior='auto', or more rows",
                c=c,
                column=j,
            )
        return cls(means, compact, means.mean(0))

    def whitener_of(self, c: int) -> FloatArray:
        """Return the diagonal matrix of the reciprocal standard deviations of class c, d×d."""
        return np.diag(1.0 / np.sqrt(np.broadcast_to(self.variance, self.means.shape)[c]))

    def _normaliser(self) -> FloatArray:
        """Return −½ log 2πσ² of each column, (k or 1)×d."""
        return -0.5 * (LOG_2PI + np.log(self.variance))

    def _constants(self) -> FloatArray:
        """Return −½ log |2πΣ| of each class, (k,)."""
        return np.repeat(self._normaliser().sum(1), len(self.means) // len(self.variance))

    def score(self, x: Array, common: bool) -> Array:
        """Return z·(m/σ²) − ½ z²·(1/σ²) − ½ m²/σ² …, with z = x − origin and m = μ − origin."""
        by_difference = compiled.diagonal_scores(x, self.means, self.variance, self._constants())
        if by_difference is not None:
            return by_difference
        origin = np.zeros_like(self.origin) if issparse(x) else origin_for(self.origin, x)
        m = self.means - origin
        with np.errstate(over="ignore"):
            squares = m**2 / self.variance
        constant = (self._normaliser() - 0.5 * squares).sum(1)
        if cancels_for(float(squares.sum(1).max()), x):
            return self._score_sparse_by_class(x) if issparse(x) else self._score_by_class(x)
        if issparse(x):
            x = without_duplicates(x)
            squares = x.multiply(x).tocsr()
            return x @ (m / self.variance).T + squares @ (-0.5 / self.variance).T + constant
        z = x - as_like(origin, x)
        scores = z @ as_like(m / self.variance, x).T
        if common or len(self.variance) > 1 or len(self.means) == 1:
            scores = scores + (z * z) @ as_like(-0.5 / self.variance, x).T
        return scores + as_like(constant, x)

    def mixture_pass(self, x: Array, weight: FloatArray | None, log_shares: FloatArray) -> MixturePass | None:
        """Return one EM iteration over the rows of a chunk; None if the compiled kernels do not apply."""
        if compiled.library is None or issparse(x):
            return None
        origin, constants = origin_for(self.origin, x), self._constants() + log_shares
        m = self.means - origin
        squares = m**2 / self.variance
        single, halves = is_single(x), 0.5 * squares.sum(1)
        if (self.variance == self.variance[:, :1]).all() and not cancels_for(float(halves.max()), x):
            factor = np.broadcast_to(-0.5 / self.variance[:, 0], len(m))
            found = compiled.spherical_pass(
                x, weight, origin, m / self.variance, factor, constants - halves, single=single
            )
        else:
            single = single and not cancels_for(float(squares.max()), x)
            found = compiled.diagonal_pass(x, weight, origin, self.means, self.variance, constants, single=single)
        return None if found is None else MixturePass(found[0], origin, *found[1:])

    def _score_sparse_by_class(self, x: Array) -> Array:
        """Return the log-densities of sparse rows, made dense a few at a time: all of them could be a large array."""
        few = max(1, _DENSE_CELLS // x.shape[1])
        starts = range(0, x.shape[0], few)
        return np.concatenate([self._score_by_class(x[start : start + few].toarray()) for start in starts])

    def _score_by_class(self, x: Array, observed: Array | None = None) -> Array:
        xp = namespace(x)
        variance = np.broadcast_to(self.variance, self.means.shape)
        normaliser = np.broadcast_to(self._normaliser(), self.means.shape)
        columns = []
        for c, mean in enumerate(self.means):
            center = origin_for(mean, x)
            z = (x - as_like(center, x)) - as_like(mean - center, x)
            with np.errstate(over="ignore"):
                terms = as_like(normaliser[c], x) - 0.5 * z**2 / as_like(variance[c], x)
            if observed is not None:
                terms = xp.where(observed, terms, xp.zeros_like(terms))
            columns.append(xp.sum(terms, axis=1))
        return xp.stack(columns, axis=1)

    def score_observed(self, x: Array, observed: Array) -> Array:
        """Return the log-densities of the observed cells: matrix products with the mask replace the sums."""
        xp = namespace(x)
        origin = origin_for(self.origin, x)
        m = self.means - origin
        if cancels_for(float((m**2 / self.variance).sum(1).max()), x):
            return self._score_by_class(x, observed)
        z = xp.where(observed, x - as_like(origin, x), xp.zeros_like(x))
        constants = self._normaliser() - 0.5 * m**2 / self.variance
        return (
            z @ as_like(m / self.variance, x).T
            + (z * z) @ as_like(-0.5 / self.variance, x).T
            + xp.astype(observed, x.dtype) @ as_like(constants, x).T
        )

    def squared_distance(self, rows: FloatArray, observed: Array | None) -> FloatArray:
        """Return Σ_j (x_j − μ_cj)² / σ²_cj."""
        there = 1.0 if observed is None else observed
        variance = np.broadcast_to(self.variance, self.means.shape)
        pairs = zip(self.means, variance, strict=True)
        return np.stack([((rows - mean) ** 2 / spread * there).sum(1) for mean, spread in pairs], axis=1)

    def colour(self, z: FloatArray, classes: IntArray) -> FloatArray:
        """Return σ z."""
        return np.sqrt(np.broadcast_to(self.variance, self.means.shape)[classes]) * z

    def log_ratio(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-ratio of the densities of each column; the rest is 0."""
        if len(self.variance) == 1:  # linear in x, without squares that would cancel
            w = (self.means[a] - self.means[b]) / self.variance
            return w * (0.5 * (rows - self.means[a]) + 0.5 * (rows - self.means[b])), np.zeros(len(rows))
        variance, normaliser = np.broadcast_arrays(self.variance, self._normaliser(), self.means)[:2]
        own, other = (normaliser[c] - 0.5 * (rows - self.means[c]) ** 2 / variance[c] for c in (a, b))
        return own - other, np.zeros(len(rows))
