"""Gaussians of all classes: densities, explanations, marginals and conditionals."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.families.base import Distributions
from suffice.families.cells import (
    dense_rows,
    missing_as_zero,
    observed_cells,
    other_columns,
    scaled_rows,
    shows_missing,
)
from suffice.families.gaussian.covariance.constant import (
    NEUTRAL_VARIANCE,
)
from suffice.families.gaussian.dense_form import DenseForm
from suffice.families.gaussian.diagonal_form import DiagonalForm
from suffice.families.gaussian.missing_by_row import patterns_of
from suffice.families.gaussian.missing_cells import IncompleteRows, moments_about
from suffice.families.gaussian.quadratic import LOG_2PI, QuadraticForm
from suffice.families.gaussian.shared_form import SharedForm
from suffice.statistics.moments import Moments
from suffice.statistics.responsibilities import Responsibilities

if TYPE_CHECKING:
    from suffice.families.gaussian.family import Gaussian

#: factor that makes the squares of the largest numbers finite
SHRINKING = 1e-160
_LARGEST_SCORE = 1e300
#: squares beyond which differences between classes lose digits
_LARGE_SQUARES = 1e8


@dataclass(frozen=True, eq=False)
class GaussianDistributions(Distributions):
    """Gaussians with their means, k×d, and covariances in the compact form of their structure."""

    family: Gaussian
    means: FloatArray
    compact: FloatArray
    #: which columns held a single value and so are the same in all classes, (d,); None if there is no such column
    constant: NDArray[np.bool_] | None = None
    form: QuadraticForm = field(init=False, repr=False)

    def __post_init__(self) -> None:
        form: type[QuadraticForm] = DiagonalForm
        if not self.family.structure.diagonal:
            form = SharedForm if len(self.compact) == 1 and len(self.means) > 1 else DenseForm
        object.__setattr__(self, "form", form.of(self.means, self.compact))

    @cached_property
    def incomplete(self) -> IncompleteRows:
        """The scores and expected statistics of rows with missing cells, for structures with covariances."""
        return IncompleteRows(self.means, self.compact, self.form, self.family.structure.layout, self.family.statistics)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.means)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: means, covariances under the structure, and one value per constant column."""
        (k, d), still = self.means.shape, 0 if self.constant is None else int(self.constant.sum())
        covariances = self.family.structure.n_parameters(k, d - still) if d > still else 0
        return k * (d - still) + covariances + still

    def parameters(self) -> dict[str, Any]:
        """Return the parameter arrays of these distributions, without those that are None."""
        return {name: array for name, array in super().parameters().items() if array is not None}

    def variance(self) -> FloatArray:
        """Return the variance of each column, k×d."""
        compact = self.compact if self.family.structure.diagonal else np.diagonal(self.compact, axis1=1, axis2=2)
        return np.broadcast_to(compact, self.means.shape)

    def covariance(self) -> FloatArray:
        """Return the covariances, k×d×d."""
        k, d = self.means.shape
        if self.family.structure.diagonal:
            return np.eye(d) * self.variance()[:, None, :]
        return np.broadcast_to(self.compact, (k, d, d))

    def mean(self) -> FloatArray:
        """Return μ, k×d."""
        return self.means

    def statistic_covariance(self) -> FloatArray:
        """Return Cov φ, k×p×p: with z = x − μ, that of x and of z_i z_j + μ_i z_j + μ_j z_i."""
        (k, d), mean, sigma = self.means.shape, self.means, self.covariance()
        i, j = (np.arange(d), np.arange(d)) if self.family.structure.diagonal else np.triu_indices(d)
        # the part of x_i x_j that is linear in z, and that of z_i z_j, whose covariance is Σ_ik Σ_jl + Σ_il Σ_jk
        linear = np.zeros((k, len(i), d))
        pairs = np.arange(len(i))
        linear[:, pairs, i] += mean[:, j]
        linear[:, pairs, j] += mean[:, i]
        squares = sigma[:, i[:, None], i] * sigma[:, j[:, None], j] + sigma[:, i[:, None], j] * sigma[:, j[:, None], i]
        cross = sigma @ linear.transpose(0, 2, 1)
        return np.block([[sigma, cross], [cross.transpose(0, 2, 1), squares + linear @ cross]])

    def entropy(self) -> FloatArray:
        """Return ½ log |2πeΣ|, (k,)."""
        if self.family.structure.diagonal:
            return 0.5 * (1.0 + LOG_2PI + np.log(self.variance())).sum(1)
        return 0.5 * ((1.0 + LOG_2PI) * self.means.shape[1] + np.linalg.slogdet(self.covariance())[1])

    def divergence(self, c: int, other: GaussianDistributions, against: int) -> float:
        """Return ½ (tr Σ_q⁻¹Σ_p − d + (μ_p − μ_q)ᵀ Σ_q⁻¹ (μ_p − μ_q) + log |Σ_q| / |Σ_p|)."""
        apart = self.means[c] - other.means[against]
        white = np.linalg.solve(np.linalg.cholesky(other.covariance()[against]), np.eye(len(apart)))
        whitened = white @ self.covariance()[c] @ white.T
        log_ratio = np.linalg.slogdet(whitened)[1]
        return max(0.5 * float(np.trace(whitened) - len(apart) + ((white @ apart) ** 2).sum() - log_ratio), 0.0)

    def shown(self) -> dict[str, Any]:
        """Return the means, and the variances or covariances."""
        diagonal = self.family.structure.diagonal
        return {
            "mean": self.means,
            **({"variance": self.variance()} if diagonal else {"covariance": self.covariance()}),
        }

    def natural_parameters(self) -> FloatArray:
        """Return (Σ⁻¹μ, −½Σ⁻¹), with −Σ⁻¹ for the pairs i < j, k×p."""
        if self.family.structure.diagonal:
            return np.hstack([self.means / self.variance(), -0.5 / self.variance()])
        precision = self.form.precision()
        first = np.einsum("kij,kj->ki", np.broadcast_to(precision, self.covariance().shape), self.means)
        i, j = np.triu_indices(self.means.shape[1])
        second = np.broadcast_to(precision, self.covariance().shape)[:, i, j] * np.where(i == j, -0.5, -1.0)
        return np.hstack([first, second])

    def moment_parameters(self) -> FloatArray:
        """Return (E x, E xxᵀ), k×p."""
        if self.family.structure.diagonal:
            return np.hstack([self.means, self.variance() + self.means**2])
        i, j = np.triu_indices(self.means.shape[1])
        return np.hstack([self.means, self.covariance()[:, i, j] + self.means[:, i] * self.means[:, j]])

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log N(x; μ_c, Σ_c), n×k; rows with missing cells are scored by the marginal of the observed ones."""
        if self.constant is not None:
            return self._score_with_constants(x, common)
        if not self.family.columnwise and shows_missing(x):
            in_runs = self.incomplete.score_in_runs(x)
            if in_runs is not None:
                return in_runs if common else self._with_limits(x, in_runs)
        scores = self.form.score(x, common)
        xp = namespace(scores)
        linear = self.family.structure.tied and not common
        if bool(xp.all(scores > -_LARGE_SQUARES if linear else xp.isfinite(scores))):
            return scores
        observed = observed_cells(x)
        if observed is not None:
            in_runs = None if self.family.columnwise else self.incomplete.score_in_runs(x)
            if in_runs is not None:
                return in_runs if common else self._with_limits(x, in_runs)
            by_row = self.form.score_observed if self.family.columnwise else self.incomplete.score_by_row
            scores = by_row(x, observed)
        # NaN here means a row so far from a class that its squares overflow
        scores = xp.where(xp.isnan(scores), -xp.inf, scores)
        return scores if common else self._with_limits(x, scores)

    @property
    def by_column(self) -> bool:
        """Whether there are no covariances."""
        return self.family.structure.diagonal

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return −½ (log 2πσ² + (x_j − μ_j)²/σ²) of each cell under one class per row; that of the row if full."""
        if not self.by_column:
            return super().cell_scores(x, classes)
        rows, variance = dense_rows(x), self.variance()[classes]
        terms = -0.5 * (LOG_2PI + np.log(variance) + (rows - self.means[classes]) ** 2 / variance)
        return np.where(np.isnan(rows), 0.0, terms)

    def _with_limits(self, x: Array, scores: Array) -> Array:
        """Return the scores with their limits for rows whose squares overflow for every class.

        For such a row the class with the smallest distance is infinitely more probable than all others. If classes
        share their covariance, the differences are linear in x: they neither overflow nor lose digits to the squares.
        """
        found, tied = to_float64(scores), self.family.structure.tied
        far = np.flatnonzero(found.max(axis=1) < (-_LARGE_SQUARES if tied else -_LARGEST_SCORE))
        if not len(far):
            return scores
        found, rows, k = found.copy(), dense_rows(x[far]), self.n_classes
        if tied:
            first = np.zeros(len(far), dtype=np.intp)
            terms = [self.log_ratio(rows, np.full(len(far), c), first) for c in range(k)]
            limits = np.stack([columns.sum(1) + left for columns, left in terms], axis=1)
            found[far] = np.clip(limits, -_LARGEST_SCORE, _LARGEST_SCORE)
        else:
            distance = self.shrunk().mahalanobis(rows * SHRINKING)
            found[far] = np.where(distance <= (1.0 + 1e-9) * distance.min(axis=1, keepdims=True), 0.0, -np.inf)
        return as_like(found, x)

    def shrunk(self) -> GaussianDistributions:
        """Return the distributions with means times SHRINKING, for distances of rows times SHRINKING."""
        return GaussianDistributions(self.family, self.means * SHRINKING, self.compact)

    @cached_property
    def _varying(self) -> tuple[IntArray, GaussianDistributions | None]:
        """The columns that are not constant, and their distributions; None if there are no such columns."""
        columns = np.arange(self.n_columns) if self.constant is None else np.flatnonzero(~self.constant)
        return columns, self.marginal(columns) if len(columns) else None

    def _score_with_constants(self, x: Array, common: bool) -> Array:
        """Score the varying columns; constant ones are the same for all classes and, kept apart, cost no precision."""
        columns, varying = self._varying
        if varying is not None:
            scores = varying.score(x[:, columns], common)
        else:
            scores = as_like(np.zeros((x.shape[0], self.n_classes)), x)
        if not common:
            return scores
        still = np.setdiff1d(np.arange(self.n_columns), columns)
        z = dense_rows(x[:, still]) - self.means[0, still]
        observed_cells(z)
        return scores - as_like(0.5 * np.nansum(z * z, axis=1) / NEUTRAL_VARIANCE, scores)[:, None]

    def expected_statistics(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the moments of the rows, with the conditional expectations of missing cells and of their squares."""
        if self.family.columnwise or issparse(x):
            return self.family.statistics(x, responsibilities)
        x = self._with_constants(x)
        if not shows_missing(x) and observed_cells(x) is None:
            return self.family.statistics(x, responsibilities)
        return self.incomplete.statistics(x, responsibilities)

    def _with_constants(self, x: Array) -> Array:
        """Return rows with missing cells of constant columns set to the constant, so that the columns stay constant."""
        if self.constant is None:
            return x
        xp = namespace(x)
        missing = xp.isnan(x) & (as_like(self.constant.astype(np.float64), x) > 0)
        return xp.where(missing, as_like(self.means[0], x), x) if bool(xp.any(missing)) else x

    def mixture_pass(
        self, x: Array, weight: FloatArray | None, log_shares: FloatArray
    ) -> tuple[FloatArray, Moments, float] | None:
        """Return the weights of the classes, their moments and the log-likelihood in one pass over the rows.

        None if the kernels are not built, or if a class is so far from the others that its covariance about their
        common origin would lose digits.
        """
        if self.constant is not None:
            return None
        dense = isinstance(x, np.ndarray) and not self.family.columnwise
        if dense and shows_missing(x):
            return self.incomplete.mixture_pass(x, weight, log_shares)
        found = self.form.mixture_pass(x, weight, log_shares)
        if found is None:
            return self.incomplete.mixture_pass(x, weight, log_shares) if dense and np.isnan(x).any() else None
        layout = self.family.structure.layout
        moments = moments_about(found.origin, found.count, found.first, found.second, layout)
        return None if moments is None else (found.count, moments, found.log_likelihood)

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return rows with missing cells replaced by their mean over the classes, weighted by `shares`, n×k."""
        if self.family.columnwise:
            return super().expected_rows(x, shares)
        return self.incomplete.filled(dense_rows(x), shares)

    def sampled_rows(self, x: Array, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows with missing cells drawn: the conditional mean plus noise with the conditional covariance."""
        if self.family.columnwise:
            return super().sampled_rows(x, classes, rng)
        return self.incomplete.drawn(dense_rows(self._with_constants(x)), classes, rng)

    def marginal(self, columns: IntArray) -> GaussianDistributions:
        """Return the distributions of some of the columns: their means and covariances."""
        if self.family.structure.diagonal:
            compact = np.broadcast_to(self.compact, (len(self.compact), self.n_columns))[:, columns]
        else:
            compact = self.compact[:, columns[:, None], columns[None, :]]
        still = None if self.constant is None or not self.constant[columns].any() else self.constant[columns]
        return GaussianDistributions(self.family.of_part, self.means[:, columns], compact, still)

    def conditioned(self, columns: IntArray, cells: FloatArray) -> GaussianDistributions:
        """Return the distributions of the other columns (r) given the cells of `columns` (g), 1×m.

        With L Lᵀ = Σ, the given columns first, E[x_r | x_g] = μ_r + L_rg L_gg⁻¹ (x_g − μ_g) and
        Cov[x_r | x_g] = L_rr L_rrᵀ, which involves no subtraction.
        """
        m, k = len(columns), self.n_classes
        rest = other_columns(columns, self.n_columns)
        if self.family.columnwise:
            return self.marginal(rest)
        order = np.concatenate([columns, rest])
        factor = np.linalg.cholesky(self.compact[:, order[:, None], order[None, :]])
        white = np.linalg.solve(factor[:, :m, :m], (cells - self.means[:, columns])[:, :, None])
        means = self.means[:, rest] + (factor[:, m:, :m] @ white)[:, :, 0]
        covariance = factor[:, m:, m:] @ factor[:, m:, m:].transpose(0, 2, 1)
        return GaussianDistributions(
            type(self.family)("full"), means, np.broadcast_to(covariance, (k, *covariance.shape[1:]))
        )

    def mahalanobis(self, x: Array) -> FloatArray:
        """Return (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c) over the observed cells, n×k."""
        rows = to_float64(x.toarray() if issparse(x) else x)
        observed = observed_cells(rows)
        if observed is None or self.family.columnwise:
            return self.form.squared_distance(missing_as_zero(rows, observed), observed)
        return self.incomplete.squared_distance(rows, to_float64(observed) > 0)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return μ + L z with L the Cholesky factor and z standard normal."""
        z = rng.standard_normal((len(classes), self.means.shape[1]))
        rows = self.means[classes] + self.form.colour(z, classes)
        if self.constant is not None:
            rows[:, self.constant] = self.means[0, self.constant]
        return rows

    def standardised(self, x: Array) -> Array:
        """Return L⁻¹(x − μ)."""
        if issparse(x):
            return scaled_rows(x, self.means[:1], np.sqrt(self.variance()[:1]))
        rows = to_float64(x) - self.means[0]
        return np.where(np.isnan(rows), 0.0, rows) @ self.form.whitener_of(0).T

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column adds to the log-ratio, and the rest; see the quadratic form for how it is split."""
        if self.constant is not None:
            columns, varying = self._varying
            terms, left = np.zeros(x.shape), np.zeros(x.shape[0])
            if varying is not None:
                terms[:, columns], left = varying.log_ratio(x[:, columns], a, b)
            return terms, left
        rows = to_float64(x.toarray() if issparse(x) else x)
        observed = observed_cells(rows)
        if observed is None or self.family.columnwise:
            terms, left = self.form.log_ratio(missing_as_zero(rows, observed), a, b)
            return (terms if observed is None else np.where(observed, terms, 0.0)), left
        terms, left = np.zeros_like(rows), np.zeros(len(rows))
        for pattern in patterns_of(to_float64(observed) > 0):
            members, columns = pattern.rows, pattern.there
            if len(columns):
                part = self.marginal(columns).form.log_ratio(rows[np.ix_(members, columns)], a[members], b[members])
                terms[np.ix_(members, columns)], left[members] = part
        return terms, left
