"""The quadratic forms of Gaussian log-densities, and how to evaluate them for many rows and all classes.

The fast way is the product form L = Φ ηᵀ − A with the rows taken about a point between the classes. It cancels when
classes are tight and far apart, ‖μ_c − point‖² / σ² being near 1/ε: then every row is whitened about each class,
with a Cholesky factor (DESIGN: no inverse is formed; triangular solves of the identity are the whiteners).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, is_float, issparse, namespace
from suffice.errors import EstimateError
from suffice.families.cells import without_duplicates

_LOG_2PI = float(np.log(2.0 * np.pi))
#: the error that the product form may have in a log-density, in units of the rows' float type
_TOLERATED = {"float64": 1e-10, "float32": 1e-4}
_ROUNDING = {kind: float(np.finfo(kind).eps) for kind in _TOLERATED}


#: with more columns than this, whitening the rows beats multiplying out the pairs of columns
MOST_PAIRED = 100
#: the smallest pivot of a correlation matrix that is not taken to be singular
_SMALLEST_PIVOT = 1e-7
_REMEDY = "use prior='auto', or leave out columns that depend on others"
#: cells of sparse rows that are filled in at a time
_DENSE_CELLS = 1_000_000


def _is_single(x: Array) -> bool:
    return is_float(x, "float32")


def _pair_coefficients(precision: FloatArray) -> FloatArray:
    """Return −½ zᵀ Λ z as coefficients of z_i z_j for i ≤ j, k×p."""
    i, j = np.triu_indices(precision.shape[1])
    return np.asarray(precision[:, i, j] * np.where(i == j, -0.5, -1.0))


def _cancels(largest: float, x: Array) -> bool:
    """Whether terms as large as that would cancel to fewer digits than tolerated."""
    kind = "float32" if _is_single(x) else "float64"
    return not largest * _ROUNDING[kind] <= _TOLERATED[kind]  # or not a number, where variances are next to nothing


def _origin(origin: FloatArray, x: Array) -> FloatArray:
    """Return the point about which to take the rows; one that float32 can hold, where that is what they are."""
    return origin.astype(np.float32).astype(np.float64) if _is_single(x) else origin


@dataclass(frozen=True)
class MixturePass:
    """What one round of EM takes from a chunk: the log-likelihood, and moments of each class about a common origin."""

    log_likelihood: float
    origin: FloatArray
    count: FloatArray
    first: FloatArray
    second: FloatArray


class QuadraticForm(ABC):
    """−½ (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c) − ½ log |2πΣ_c| for all classes c."""

    @classmethod
    @abstractmethod
    def of(cls, means: FloatArray, compact: FloatArray) -> Self:
        """Return the form of these means and covariances, or say that a covariance is singular."""

    @abstractmethod
    def score(self, x: Array, common: bool) -> Array:
        """Return the log-densities, n×k."""

    @abstractmethod
    def squared_distance(self, rows: FloatArray, observed: Array | None) -> FloatArray:
        """Return the squared Mahalanobis distances, n×k."""

    @abstractmethod
    def colour(self, z: FloatArray, classes: IntArray) -> FloatArray:
        """Return standard normal rows with the covariance of their class."""

    @abstractmethod
    def log_ratio(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x | a) / p(x | b) split over the columns, n×d, and what is left, (n,)."""

    @abstractmethod
    def whitener_of(self, c: int) -> FloatArray:
        """Return L⁻¹ with L Lᵀ = Σ_c, d×d."""

    def mixture_pass(self, x: Array, weight: FloatArray | None, log_shares: FloatArray) -> MixturePass | None:
        """Return one round of EM over the rows of a chunk, by the compiled kernels; None where they do not apply.

        The posteriors never leave the registers, and the moments are taken about the origin of the form.
        """
        return None

    def score_observed(self, x: Array, observed: Array) -> Array:
        """Return the log-densities of the cells that are there, where columns are independent."""
        raise TypeError("only columns that are independent given the class can be left out one by one")

    def precision(self) -> FloatArray:
        """Return Σ⁻¹, for showing and for laws, not for computing."""
        raise TypeError("a diagonal form has no precision matrix to show")


@dataclass(frozen=True, eq=False)
class DiagonalForm(QuadraticForm):
    """Independent columns: variances (k, d), or (1, d) where all classes share them."""

    means: FloatArray
    variance: FloatArray
    origin: FloatArray

    @classmethod
    def of(cls, means: FloatArray, compact: FloatArray) -> Self:
        """Return the form, or say which column has no variance."""
        if not (compact > 0).all():
            c, j = (int(i) for i in np.argwhere(~(compact > 0))[0])
            raise EstimateError(
                "the variance of column {of_column} in class {of_class} is not positive, so it has no density; use "
                "prior='auto', or more rows",
                c=c,
                column=j,
            )
        return cls(means, compact, means.mean(0))

    def whitener_of(self, c: int) -> FloatArray:
        """Return the reciprocal standard deviations of a class on a diagonal."""
        return np.diag(1.0 / np.sqrt(np.broadcast_to(self.variance, self.means.shape)[c]))

    def _normaliser(self) -> FloatArray:
        """Return −½ log 2πσ² of each column, (k or 1)×d."""
        return -0.5 * (_LOG_2PI + np.log(self.variance))

    def _constants(self) -> FloatArray:
        """Return −½ log |2πΣ| of each class, (k,)."""
        return np.repeat(self._normaliser().sum(1), len(self.means) // len(self.variance))

    def score(self, x: Array, common: bool) -> Array:
        """Return z·(m/σ²) − ½ z²·(1/σ²) − ½ m²/σ² …, with z = x − origin and m = μ − origin."""
        by_difference = compiled.diagonal_scores(x, self.means, self.variance, self._constants())
        if by_difference is not None:
            return by_difference
        origin = np.zeros_like(self.origin) if issparse(x) else _origin(self.origin, x)
        m = self.means - origin
        with np.errstate(over="ignore"):
            squares = m**2 / self.variance
        constant = (self._normaliser() - 0.5 * squares).sum(1)
        if _cancels(float(squares.sum(1).max()), x):
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
        """Return one round of EM over the rows of a chunk."""
        if compiled.library is None or issparse(x):
            return None
        origin, constants = _origin(self.origin, x), self._constants() + log_shares
        m = self.means - origin
        squares = m**2 / self.variance
        single, halves = _is_single(x), 0.5 * squares.sum(1)
        if (self.variance == self.variance[:, :1]).all() and not _cancels(float(halves.max()), x):
            factor = np.broadcast_to(-0.5 / self.variance[:, 0], len(m))
            found = compiled.spherical_pass(
                x, weight, origin, m / self.variance, factor, constants - halves, single=single
            )
        else:
            single = single and not _cancels(float(squares.max()), x)
            found = compiled.diagonal_pass(x, weight, origin, self.means, self.variance, constants, single=single)
        return None if found is None else MixturePass(found[0], origin, *found[1:])

    def _score_sparse_by_class(self, x: Array) -> Array:
        """Fill in the zeros of a few rows at a time: many columns would make many rows a large array."""
        few = max(1, _DENSE_CELLS // x.shape[1])
        starts = range(0, x.shape[0], few)
        return np.concatenate([self._score_by_class(x[start : start + few].toarray()) for start in starts])

    def _score_by_class(self, x: Array, observed: Array | None = None) -> Array:
        xp = namespace(x)
        variance = np.broadcast_to(self.variance, self.means.shape)
        normaliser = np.broadcast_to(self._normaliser(), self.means.shape)
        columns = []
        for c, mean in enumerate(self.means):
            center = _origin(mean, x)
            z = (x - as_like(center, x)) - as_like(mean - center, x)
            with np.errstate(over="ignore"):
                terms = as_like(normaliser[c], x) - 0.5 * z**2 / as_like(variance[c], x)
            if observed is not None:
                terms = xp.where(observed, terms, xp.zeros_like(terms))
            columns.append(xp.sum(terms, axis=1))
        return xp.stack(columns, axis=1)

    def score_observed(self, x: Array, observed: Array) -> Array:
        """Return the log-densities of the cells that are there: products with the mask in place of sums."""
        xp = namespace(x)
        origin = _origin(self.origin, x)
        m = self.means - origin
        if _cancels(float((m**2 / self.variance).sum(1).max()), x):
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
        """Return the log-ratio of the densities of each column; nothing is left over."""
        if len(self.variance) == 1:  # linear in x, without squares that would cancel
            w = (self.means[a] - self.means[b]) / self.variance
            return w * (0.5 * (rows - self.means[a]) + 0.5 * (rows - self.means[b])), np.zeros(len(rows))
        variance, normaliser = np.broadcast_arrays(self.variance, self._normaliser(), self.means)[:2]
        own, other = (normaliser[c] - 0.5 * (rows - self.means[c]) ** 2 / variance[c] for c in (a, b))
        return own - other, np.zeros(len(rows))


def whiteners(covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L⁻¹, k×d×d, and log |Σ|, (k,), of covariances L Lᵀ, or say which of them is singular."""
    variance = np.diagonal(covariances, axis1=1, axis2=2)
    regular = (variance > 0) & np.isfinite(covariances).all(axis=2)  # rounding may even leave a negative variance
    if not regular.all():
        c, j = (int(i) for i in np.argwhere(~regular)[0])
        raise EstimateError(
            "the covariance of class {of_class} is singular: column {of_column} is constant; " + _REMEDY,
            c=c,
            column=j,
        )
    scale = np.sqrt(variance)
    correlations = covariances / scale[:, :, None] / scale[:, None, :]  # one by one: their product may be 0
    try:
        factors = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        raise _singular(correlations) from None
    pivots = np.diagonal(factors, axis1=1, axis2=2)
    if pivots.min() < _SMALLEST_PIVOT:
        raise _singular(correlations)
    inverse = np.linalg.solve(factors, np.eye(scale.shape[1]) / scale[:, None, :])
    return np.tril(inverse), 2.0 * (np.log(pivots) + np.log(scale)).sum(1)


def _singular(correlations: FloatArray) -> EstimateError:
    """Return the error that names the covariance that is most nearly singular."""
    c = int(np.argmin(np.linalg.eigvalsh(correlations)[:, 0]))
    rank, d = np.linalg.matrix_rank(correlations[c], tol=1e-12), correlations.shape[1]
    return EstimateError(f"the covariance of class {{of_class}} is singular: it has rank {rank} of {d}; {_REMEDY}", c=c)


def _whitened_squares(x: Array, means: FloatArray, whiteners: FloatArray) -> Array:
    """Return ‖L_c⁻¹(x − μ_c)‖², n×k: each row about each class itself, exact wherever the classes are."""
    xp = namespace(x)
    columns = []
    for mean, whitener in zip(means, whiteners, strict=True):
        center = _origin(mean, x)  # what float32 cannot hold of the mean is taken off once whitened
        white = (x - as_like(center, x)) @ as_like(whitener, x).T - as_like((mean - center) @ whitener.T, x)
        columns.append(xp.sum(white * white, axis=1))
    return xp.stack(columns, axis=1)


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
        """Return the form, or say that the covariance is singular."""
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
        return -0.5 * (len(self.origin) * _LOG_2PI + self.log_determinant)

    def score(self, x: Array, common: bool) -> Array:
        """Return z·w_c − ½ m_c·w_c, and −½ zᵀΣ⁻¹z if asked for what all classes share."""
        x = x.toarray() if issparse(x) else x
        xp = namespace(x)
        origin = _origin(self.origin, x)
        m, w = self.means - origin, self.directions(origin)
        halves = 0.5 * (m * w).sum(1)
        if _cancels(float(halves.max()), x):
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
        """Return one round of EM over the rows of a chunk."""
        origin = _origin(self.origin, x)
        w = self.directions(origin)
        halves = 0.5 * ((self.means - origin) * w).sum(1)
        if issparse(x) or _cancels(float(halves.max()), x):
            return None
        pairs = _pair_coefficients(self.precision())[0]
        constants = self._constant() - halves + log_shares
        found = compiled.tied_pass(x, weight, origin, w, pairs, constants, single=_is_single(x))
        return None if found is None else MixturePass(found[0], origin, *found[1:])

    def _score_by_class(self, x: Array) -> Array:
        whiteners = np.broadcast_to(self.whitener, (len(self.means), *self.whitener.shape))
        return self._constant() - 0.5 * _whitened_squares(x, self.means, whiteners)

    def squared_distance(self, rows: FloatArray, observed: Array | None) -> FloatArray:
        """Return ‖L⁻¹(x − μ_c)‖²."""
        whiteners = np.broadcast_to(self.whitener, (len(self.means), *self.whitener.shape))
        return np.asarray(_whitened_squares(rows, self.means, whiteners))

    def colour(self, z: FloatArray, classes: IntArray) -> FloatArray:
        """Return L z."""
        return np.asarray(solve_triangular(self.whitener, z.T, lower=True).T)

    def log_ratio(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return w_j (x_j − ½(μ_a + μ_b)_j) with w = Σ⁻¹(μ_a − μ_b), the linear log-odds; nothing is left over."""
        w = ((self.means[a] - self.means[b]) @ self.whitener.T) @ self.whitener
        return w * (0.5 * (rows - self.means[a]) + 0.5 * (rows - self.means[b])), np.zeros(len(rows))


@dataclass(frozen=True, eq=False)
class DenseForm(QuadraticForm):
    """A full covariance for each class."""

    means: FloatArray
    covariance: FloatArray
    origin: FloatArray
    whiteners: FloatArray
    log_determinants: FloatArray

    @classmethod
    def of(cls, means: FloatArray, compact: FloatArray) -> Self:
        """Return the form, or say which covariance is singular."""
        covariance = np.broadcast_to(compact, (len(means), *compact.shape[1:]))
        return cls(means, covariance, means.mean(0), *whiteners(covariance))

    def precision(self) -> FloatArray:
        """Return Σ⁻¹, k×d×d."""
        return self.whiteners.transpose(0, 2, 1) @ self.whiteners

    def whitener_of(self, c: int) -> FloatArray:
        """Return the whitener of a class."""
        return np.asarray(self.whiteners[c])

    def _constants(self) -> FloatArray:
        return -0.5 * (self.means.shape[1] * _LOG_2PI + self.log_determinants)

    def score(self, x: Array, common: bool) -> Array:
        """Return the log-densities: products with the pairs z_i z_j, or whitened rows where these would cancel."""
        x = x.toarray() if issparse(x) else x
        form = self._product_for(x)
        if x.shape[1] <= MOST_PAIRED and not _cancels(form.largest, x):
            scores = compiled.quadratic_scores(x, form.origin, form.linear, form.pairs, form.constants)
            if scores is not None:
                return scores
            if x.shape[1] <= 2 * len(self.means):  # the pairs of many columns are a large temporary for NumPy
                return form.score(x)
        return as_like(self._constants(), x) - 0.5 * _whitened_squares(x, self.means, self.whiteners)

    def mixture_pass(self, x: Array, weight: FloatArray | None, log_shares: FloatArray) -> MixturePass | None:
        """Return one round of EM over the rows of a chunk."""
        form = self._product_for(x)
        if issparse(x) or x.shape[1] > MOST_PAIRED or _cancels(form.largest, x):
            return None
        constants, single = form.constants + log_shares, _is_single(x)
        found = compiled.full_pass(x, weight, form.origin, form.linear, form.pairs, constants, single=single)
        return None if found is None else MixturePass(found[0], form.origin, *found[1:])

    def _product_for(self, x: Array) -> _ProductForm:
        return self._narrow_product if _is_single(x) else self._wide_product

    @cached_property
    def _wide_product(self) -> _ProductForm:
        return _ProductForm.of(self, self.origin)

    @cached_property
    def _narrow_product(self) -> _ProductForm:
        """The same about a point that float32 can hold."""
        return _ProductForm.of(self, self.origin.astype(np.float32).astype(np.float64))

    def squared_distance(self, rows: FloatArray, observed: Array | None) -> FloatArray:
        """Return ‖L_c⁻¹(x − μ_c)‖²."""
        return np.asarray(_whitened_squares(rows, self.means, self.whiteners))

    def colour(self, z: FloatArray, classes: IntArray) -> FloatArray:
        """Return L_c z."""
        coloured = np.empty_like(z)
        for c in np.unique(classes):
            members = classes == c
            coloured[members] = solve_triangular(self.whiteners[c], z[members].T, lower=True).T
        return coloured

    def log_ratio(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the difference of −½ z_j (Σ_c⁻¹ z)_j − ½ log σ²_cj, z = x − μ_c; the correlations are left over.

        A quadratic form is the sum of z_j (Σ⁻¹ z)_j, which shares the term of a pair equally between its columns. What
        no column can claim is the difference of ½ log |correlations|.
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
    """Log-densities as constant + z·linear + Σ_{i≤j} z_i z_j pairs, z = x − origin; one row a class."""

    origin: FloatArray
    linear: FloatArray
    pairs: FloatArray
    constants: FloatArray
    #: the size of the terms that cancel at a class mean
    largest: float

    @classmethod
    def of(cls, form: DenseForm, origin: FloatArray) -> Self:
        """Multiply the quadratic forms out about `origin`."""
        with np.errstate(over="ignore"):  # then `largest` says that the terms cannot be used
            m, precision = form.means - origin, form.precision()
            squared = (np.einsum("kij,kj->ki", form.whiteners, m) ** 2).sum(1)
            pairs = _pair_coefficients(precision)
            linear = np.einsum("kij,kj->ki", precision, m)
        # kernels read all classes of a pair together, so that is how they lie
        by_pair, by_column = np.asfortranarray(pairs), np.asfortranarray(linear)
        return cls(origin, by_column, by_pair, form._constants() - 0.5 * squared, float(squared.max()))

    def score(self, x: Array) -> Array:
        """Return the log-densities with all pairs of columns side by side, n×k."""
        xp = namespace(x)
        z = x - as_like(self.origin, x)
        pairs = xp.concat([z[:, a : a + 1] * z[:, a:] for a in range(x.shape[1])], axis=1)
        linear = z @ as_like(self.linear, x).T
        return linear + pairs @ as_like(self.pairs, x).T + as_like(self.constants, x)
