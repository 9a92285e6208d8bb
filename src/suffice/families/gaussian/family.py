"""Gaussian: numbers, with any covariance structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.families.base import Distributions, Family
from suffice.families.cells import dense_rows, observed_cells, other_columns, scaled_rows, shows_holes, without_holes
from suffice.families.gaussian.covariance import Covariance, as_structure, overall_covariance, prior_mean
from suffice.families.gaussian.covariance.constant import (
    NEUTRAL_VARIANCE,
    FixedPrior,
    beside_constants,
    columns_left_out,
    constant,
    of_columns,
    prior_of_columns,
    resolved,
)
from suffice.families.gaussian.missing_patterns import Marginals, order_by_pattern
from suffice.families.gaussian.missing_values import Conditioned, Holes, expected_moments, ill_conditioned, patterns_of
from suffice.families.gaussian.moments import diagonal_moments, full_moments, tied_moments
from suffice.families.gaussian.quadratic import MOST_PAIRED, DenseForm, DiagonalForm, QuadraticForm, SharedForm
from suffice.families.products import require_rows
from suffice.priors import NormalInverseWishart, PriorSpec, resolve_prior
from suffice.statistics.moments import DiagonalMoments, FullMoments, Moments, TiedMoments
from suffice.statistics.responsibilities import PartialLabels, Responsibilities, SoftLabels

_LOG_2PI = float(np.log(2.0 * np.pi))
#: what makes the squares of the largest numbers finite
SHRINKING = 1e-160
_LARGEST_SCORE = 1e300
#: squares from which on differences between classes lose digits
_LARGE_SQUARES = 1e8
#: how many rows the automatic prior of a component of a mixture is worth
_ROWS_OF_COMPONENT = 0.01


class Gaussian(Family):
    """p(x | μ, Σ) = exp(−½ (x − μ)ᵀ Σ⁻¹ (x − μ)) / √|2πΣ|.

    φ(x) = (x, x xᵀ), η = (Σ⁻¹μ, −½Σ⁻¹), A(η) = ½ μᵀΣ⁻¹μ + ½ log|Σ|, h(x) = (2π)^(−d/2).

    Parameters
    ----------
    covariance : str
        "full", "tied" (all classes share it), "diagonal", "tied-diagonal", "spherical", "tied-spherical", or three
        letters for volume, shape and orientation as in mclust, like "VVE"; see `suffice.families.gaussian.covariance`.

    Examples
    --------
    >>> from suffice import Gaussian
    >>> heights = Gaussian().fit([1.7, 1.8, 1.6, 1.7])
    >>> heights.mean(), heights.variance().round(4)   # maximum likelihood: divided by n
    (array([1.7]), array([0.005]))
    """

    name: ClassVar[str] = "gaussian"

    def __init__(self, covariance: str | Covariance = "diagonal") -> None:
        self.structure = as_structure(covariance)

    def config(self) -> dict[str, Any]:
        """Return the arguments that make this family again."""
        return {"covariance": self.structure.name}

    @property
    def columnwise(self) -> bool:
        """Whether there are no covariances, so that a missing cell just drops out."""
        return self.structure.diagonal

    @property
    def of_part(self) -> Gaussian:
        """The family of some of the columns: volumes or shapes that are the same for all need not be so for a part."""
        if self.structure.tied or self.structure.name in ("full", "diagonal", "spherical"):
            return self
        return Gaussian("diagonal" if self.structure.diagonal else "full")

    # -- the exponential family ---------------------------------------------------------------------------------

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return (x, x²) for diagonal structures, else (x, x_i x_j for i ≤ j)."""
        rows = np.asarray(self.encode(x))
        if self.structure.diagonal:
            return np.hstack([rows, rows**2])
        i, j = np.triu_indices(rows.shape[1])
        return np.hstack([rows, rows[:, i] * rows[:, j]])

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return ½ μᵀΣ⁻¹μ + ½ log|Σ|, as a function of the natural parameters."""
        first, precision = self._split(eta)
        if self.structure.diagonal:
            return 0.5 * (first**2 / precision - np.log(precision)).sum(-1)
        solved = np.linalg.solve(precision, first[..., None])[..., 0]
        return 0.5 * ((first * solved).sum(-1) - np.linalg.slogdet(precision)[1])

    def log_base_measure(self, x: Array) -> Array:
        """Return −½ log 2π for every observed cell."""
        observed = namespace(x).astype(~namespace(x).isnan(x), x.dtype)
        return -0.5 * _LOG_2PI * namespace(x).sum(observed, axis=1)

    def _split(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Σ⁻¹μ and Σ⁻¹ (its diagonal, for diagonal structures)."""
        if self.structure.diagonal:
            d = eta.shape[-1] // 2
            return eta[..., :d], -2.0 * eta[..., d:]
        d = int((np.sqrt(9 + 8 * eta.shape[-1]) - 3) / 2)
        precision = np.zeros((*eta.shape[:-1], d, d))
        i, j = np.triu_indices(d)
        precision[..., i, j] = -eta[..., d:]
        precision[..., j, i] = -eta[..., d:]
        precision[..., np.arange(d), np.arange(d)] *= 2.0
        return eta[..., :d], precision

    def from_natural(self, eta: FloatArray) -> GaussianDistributions:
        """Return μ = Σ η₁ and Σ = (−2η₂)⁻¹."""
        first, precision = self._split(eta)
        if self.structure.diagonal:
            return GaussianDistributions(self, first / precision, 1.0 / precision)
        covariance = np.linalg.solve(precision, np.broadcast_to(np.eye(first.shape[-1]), precision.shape))
        mean = np.linalg.solve(precision, first[..., None])[..., 0]
        return GaussianDistributions(self, np.asarray(mean, np.float64), np.asarray(covariance, np.float64))

    def from_moments(self, moments: FloatArray) -> GaussianDistributions:
        """Return μ = E x and Σ = E xxᵀ − μμᵀ."""
        if self.structure.diagonal:
            d = moments.shape[1] // 2
            mean = moments[:, :d]
            return GaussianDistributions(self, mean, moments[:, d:] - mean**2)
        d = int((np.sqrt(9 + 8 * moments.shape[1]) - 3) / 2)
        mean, second = moments[:, :d], np.zeros((len(moments), d, d))
        i, j = np.triu_indices(d)
        second[:, i, j] = second[:, j, i] = moments[:, d:]
        return GaussianDistributions(self, mean, second - mean[:, :, None] * mean[:, None, :])

    # -- learning -----------------------------------------------------------------------------------------------

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the moments of each class about its own mean in this chunk."""
        if self.structure.layout is DiagonalMoments:
            return diagonal_moments(x, responsibilities)
        if issparse(x):
            x = x.toarray()
        if self.structure.layout is TiedMoments:
            return tied_moments(x, responsibilities)
        return full_moments(x, responsibilities)

    def row_order(self, x: Array) -> IntArray | None:
        """Return an order in which rows with the same holes follow each other, where covariances need it."""
        return None if self.columnwise else order_by_pattern(x)

    def empty(self, n_classes: int, n_columns: int) -> Moments:
        """Return the statistics of no rows."""
        return self.structure.layout.empty(n_classes, n_columns)

    def estimate(self, statistics: Moments, prior: PriorSpec = "auto") -> GaussianDistributions:
        """Return means and covariances: Σ(x)/n and S/n for ``prior=None``, else the posterior means."""
        return self.improve(statistics, prior, None)

    def improve(
        self, statistics: Moments, prior: PriorSpec, start: GaussianDistributions | None
    ) -> GaussianDistributions:
        """Return means and covariances; structures without a closed form go on from the covariances of `start`."""
        belief = self._belief(prior)
        _require_squares(statistics)
        still = columns_left_out(self.structure, statistics, belief)
        if still is None:
            begin = None if start is None else start.compact
            return GaussianDistributions(self, *self._estimated(statistics, belief, begin))
        assert belief is not None
        (k, d), columns = statistics.center.shape, np.flatnonzero(~still)
        means = np.tile(statistics.total_mean(), (k, 1))
        compact = np.empty((1 if self.structure.tied else k, *((0,) if self.structure.diagonal else (0, 0))))
        if len(columns):
            begin = None if start is None else of_columns(start.compact, columns, matrix=not self.structure.diagonal)
            part = prior_of_columns(belief, columns, d)
            means[:, columns], compact = self._estimated(statistics.of_columns(columns), part, begin)
        compact = beside_constants(compact, columns, d, matrix=not self.structure.diagonal)
        return GaussianDistributions(self, means, compact, still)

    def _estimated(
        self, statistics: Moments, belief: NormalInverseWishart | None, start: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return means and covariances of columns that vary."""
        mean, count = statistics.mean, statistics.count
        if belief is None:
            require_rows(count)
        else:
            center = prior_mean(statistics, belief)
            kappa = belief.mean_count
            share = np.divide(kappa, kappa + count, out=np.ones_like(count), where=kappa + count > 0)
            mean = mean + share * (center - mean)
        return mean, self.structure.estimate(statistics, belief, start)

    def _belief(self, prior: PriorSpec) -> NormalInverseWishart | None:
        return resolve_prior(prior, NormalInverseWishart, NormalInverseWishart())

    def fixed_prior(self, statistics: Moments, prior: PriorSpec, everything: Moments | None = None) -> PriorSpec:
        """Return the prior with its automatic parts as numbers.

        A column that is constant in `statistics` but not in `everything` has the variance that it has there.
        """
        belief = self._belief(prior)
        if belief is None:
            return None
        fixed = resolved(self.structure, statistics, belief)
        if everything is None or belief.scatter is not None or fixed.still is None:
            return fixed
        still, scatter = fixed.still & constant(everything), np.array(fixed.scatter)
        woken = np.flatnonzero(fixed.still & ~still)
        scatter[(woken,) * scatter.ndim] = everything.total_variance()[woken]
        rows = self.structure.prior_rows(belief, max(int((~still).sum()), 1))
        return replace(fixed, scatter=scatter, scatter_count=rows, still=still if still.any() else None)

    def prior_of_components(self, overall: Moments, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the prior of k components of which nothing is known but the covariance of all rows together.

        It is a hundredth of a row (or `scatter_count` rows, where these are given) with the covariance of all rows
        over k^(2/d), which is their volume shared among k: enough to keep a component from collapsing, and too
        little to blur tight clusters. The mode of the posterior is taken, so that the bound of EM cannot fall.
        """
        _require_squares(overall)
        belief = self._belief(prior)
        if belief is None:
            return None
        rows = _ROWS_OF_COMPONENT if belief.scatter_count == "auto" else belief.scatter_count
        still, scatter = columns_left_out(self.structure, overall, belief), belief.scatter
        if scatter is None:
            n_varying = overall.n_columns if still is None else int((~still).sum())
            scatter = _overall_covariance(overall, still) / k ** (2.0 / max(n_varying, 1))
        numbers = {"scatter_count": rows, "scatter": scatter, "mean": prior_mean(overall, belief), "freedom": 0.0}
        return FixedPrior(**{**vars(belief), **numbers}, still=still)

    def of_all_rows(self, statistics: Moments) -> GaussianDistributions:
        """Return the distribution of all rows, for the units of their columns."""
        still = constant(statistics)
        covariance = _overall_covariance(statistics, still if still.any() else None)
        family = Gaussian("diagonal" if covariance.ndim == 1 else "full")
        return GaussianDistributions(family, statistics.mean[:1], covariance[None])

    def prior_within_classes(
        self, statistics: Moments, prior: PriorSpec, k: float, everything: Moments | None = None
    ) -> PriorSpec:
        """Return the prior of the classes, with the volume of a class shared among k components; the mode is taken."""
        belief, fixed = self._belief(prior), self.fixed_prior(statistics, prior, everything)
        if belief is None or belief.scatter is not None:
            return None if fixed is None else replace(fixed, freedom=0.0)
        varying = statistics.n_columns - (0 if fixed.still is None else int(fixed.still.sum()))
        return replace(fixed, scatter=np.asarray(fixed.scatter) / k ** (2.0 / max(varying, 1)), freedom=0.0)

    def with_parameters(self, arrays: Mapping[str, Any]) -> GaussianDistributions:
        """Return the distributions that are made of these arrays."""
        return GaussianDistributions(self, **arrays)

    def log_prior(self, distributions: GaussianDistributions, statistics: Moments, prior: PriorSpec) -> float:
        """Return the log-density of the normal–inverse-Wishart prior."""
        k, d = distributions.means.shape
        return self.structure.log_prior(distributions.compact, self._belief(prior), k, d, distributions.means)


def _require_squares(statistics: Moments) -> None:
    if not np.isfinite(statistics.second).all():
        raise ValueError("the squares of the numbers are too large for float64; rescale the columns")


def _overall_covariance(overall: Moments, still: NDArray[np.bool_] | None) -> FloatArray:
    """Return the covariance of all rows of one class, or their variances; constant columns beside the others."""
    if still is None:
        return overall_covariance(overall)
    columns = np.flatnonzero(~still)
    if not len(columns):
        return np.full(len(still), NEUTRAL_VARIANCE)
    part = overall_covariance(overall.of_columns(columns))
    return beside_constants(part, columns, len(still), matrix=part.ndim == 2)


@dataclass(frozen=True, eq=False)
class GaussianDistributions(Distributions):
    """Gaussians with their means, k×d, and covariances as their structure keeps them."""

    family: Gaussian
    means: FloatArray
    compact: FloatArray
    #: which columns held one value only and so are the same in all classes, (d,); None if it is none
    constant: NDArray[np.bool_] | None = None
    form: QuadraticForm = field(init=False, repr=False)

    def __post_init__(self) -> None:
        form: type[QuadraticForm] = DiagonalForm
        if not self.family.structure.diagonal:
            form = SharedForm if len(self.compact) == 1 and len(self.means) > 1 else DenseForm
        object.__setattr__(self, "form", form.of(self.means, self.compact))

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.means)

    @property
    def n_parameters(self) -> int:
        """The means, and what the structure leaves free of the covariances; of a constant column its value."""
        (k, d), still = self.means.shape, 0 if self.constant is None else int(self.constant.sum())
        covariances = self.family.structure.n_parameters(k, d - still) if d > still else 0
        return k * (d - still) + covariances + still

    def parameters(self) -> dict[str, Any]:
        """Return the plain arrays that these distributions are made of."""
        return {name: array for name, array in super().parameters().items() if array is not None}

    @property
    def variance(self) -> FloatArray:
        """The variance of each column, k×d."""
        compact = self.compact if self.family.structure.diagonal else np.diagonal(self.compact, axis1=1, axis2=2)
        return np.broadcast_to(compact, self.means.shape)

    @property
    def covariance(self) -> FloatArray:
        """The covariances, k×d×d."""
        k, d = self.means.shape
        if self.family.structure.diagonal:
            return np.eye(d) * self.variance[:, None, :]
        return np.broadcast_to(self.compact, (k, d, d))

    def mean(self) -> FloatArray:
        """Return μ, k×d."""
        return self.means

    def variances(self) -> FloatArray:
        """Return the variance of each column, k×d."""
        return self.variance

    def covariances(self) -> FloatArray:
        """Return the covariances, k×d×d."""
        return self.covariance

    def statistic_covariance(self) -> FloatArray:
        """Return Cov φ, k×p×p: with z = x − μ, that of x and of z_i z_j + μ_i z_j + μ_j z_i."""
        (k, d), mean, sigma = self.means.shape, self.means, self.covariance
        i, j = (np.arange(d), np.arange(d)) if self.family.structure.diagonal else np.triu_indices(d)
        # the part of x_i x_j that is linear in z, and that of z_i z_j, whose covariance is Σ_ik Σ_jl + Σ_il Σ_jk
        linear = np.zeros((k, len(i), d))
        pairs = np.arange(len(i))
        linear[:, pairs, i] += mean[:, j]
        linear[:, pairs, j] += mean[:, i]
        squares = sigma[:, i[:, None], i] * sigma[:, j[:, None], j] + sigma[:, i[:, None], j] * sigma[:, j[:, None], i]
        cross = sigma @ linear.transpose(0, 2, 1)
        return np.block([[sigma, cross], [cross.transpose(0, 2, 1), squares + linear @ cross]])

    def entropies(self) -> FloatArray:
        """Return ½ log |2πeΣ|, (k,)."""
        if self.family.structure.diagonal:
            return 0.5 * (1.0 + _LOG_2PI + np.log(self.variance)).sum(1)
        return 0.5 * ((1.0 + _LOG_2PI) * self.means.shape[1] + np.linalg.slogdet(self.covariance)[1])

    def divergence(self, c: int, other: GaussianDistributions, against: int) -> float:
        """Return ½ (tr Σ_q⁻¹Σ_p − d + (μ_p − μ_q)ᵀ Σ_q⁻¹ (μ_p − μ_q) + log |Σ_q| / |Σ_p|)."""
        apart = self.means[c] - other.means[against]
        white = np.linalg.solve(np.linalg.cholesky(other.covariance[against]), np.eye(len(apart)))
        whitened = white @ self.covariance[c] @ white.T
        log_ratio = np.linalg.slogdet(whitened)[1]
        return max(0.5 * float(np.trace(whitened) - len(apart) + ((white @ apart) ** 2).sum() - log_ratio), 0.0)

    def shown(self) -> dict[str, Any]:
        """Return the means, and the variances or covariances."""
        diagonal = self.family.structure.diagonal
        return {"mean": self.means, **({"variance": self.variance} if diagonal else {"covariance": self.covariance})}

    def natural_parameters(self) -> FloatArray:
        """Return (Σ⁻¹μ, −½Σ⁻¹), with −Σ⁻¹ for the pairs i < j, k×p."""
        if self.family.structure.diagonal:
            return np.hstack([self.means / self.variance, -0.5 / self.variance])
        precision = self.form.precision()
        first = np.einsum("kij,kj->ki", np.broadcast_to(precision, self.covariance.shape), self.means)
        i, j = np.triu_indices(self.means.shape[1])
        second = np.broadcast_to(precision, self.covariance.shape)[:, i, j] * np.where(i == j, -0.5, -1.0)
        return np.hstack([first, second])

    def moment_parameters(self) -> FloatArray:
        """Return (E x, E xxᵀ), k×p."""
        if self.family.structure.diagonal:
            return np.hstack([self.means, self.variance + self.means**2])
        i, j = np.triu_indices(self.means.shape[1])
        return np.hstack([self.means, self.covariance[:, i, j] + self.means[:, i] * self.means[:, j]])

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log N(x; μ_c, Σ_c); rows with holes by the marginal of what they have."""
        if self.constant is not None:
            return self._score_beside_constants(x, common)
        if not self.family.columnwise and shows_holes(x):
            in_runs = self._score_in_runs(x)
            if in_runs is not None:
                return in_runs if common else self._with_limits(x, in_runs)
        scores = self.form.score(x, common)
        xp = namespace(scores)
        linear = self.family.structure.tied and not common
        if bool(xp.all(scores > -_LARGE_SQUARES if linear else xp.isfinite(scores))):
            return scores
        observed = observed_cells(x)
        if observed is not None:
            in_runs = None if self.family.columnwise else self._score_in_runs(x)
            if in_runs is not None:
                return in_runs if common else self._with_limits(x, in_runs)
            by_row = self.form.score_observed if self.family.columnwise else self._score_by_row
            scores = by_row(x, observed)
        # so far from a class that the squares overflow
        scores = xp.where(xp.isnan(scores), -xp.inf, scores)
        return scores if common else self._with_limits(x, scores)

    def _with_limits(self, x: Array, scores: Array) -> Array:
        """Return the scores with what they tend to for rows whose squares overflow for every class.

        There the class with the smallest distance is infinitely more probable than all others. Where classes share
        their covariance the differences are linear: they do not overflow, nor lose their digits to the squares.
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
        """Return the same distributions with other means: distances to them are those of rows times SHRINKING."""
        return GaussianDistributions(self.family, self.means * SHRINKING, self.compact)

    @cached_property
    def _varying(self) -> tuple[IntArray, GaussianDistributions | None]:
        """The columns that are not constant, and their distributions; None if there are no such columns."""
        columns = np.arange(self.n_columns) if self.constant is None else np.flatnonzero(~self.constant)
        return columns, self.marginal(columns) if len(columns) else None

    def _score_beside_constants(self, x: Array, common: bool) -> Array:
        """Score the columns that vary; the others are the same for all classes, and cost no digits that way."""
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

    def _score_in_runs(self, x: Array) -> Array | None:
        """Score rows with holes, those with the same ones together; None where anything is not finite."""
        found = None if self._marginals is None else self._marginals.scores(x)
        if found is None:
            return None
        if len(found.rest):
            rows = x[found.rest]
            found.scores[:, found.rest] = self._score_by_row(rows, ~np.isnan(rows)).T
        return as_like(found.scores.T, x) if np.isfinite(found.scores).all() else None

    def _score_by_row(self, x: Array, observed: Array) -> Array:
        """Score rows with holes: each row by the marginal Gaussian of what it has, never an imputed value."""
        rows, there = to_float64(x), to_float64(observed) > 0
        if self._precision is not None:
            scores = compiled.holes_scores(rows, self.means, self._precision, self._log_determinants)
            if scores is not None:
                return as_like(scores - 0.5 * _LOG_2PI * there.sum(1, keepdims=True), x)
        holes = Holes(rows, there)
        by_class = [holes.log_density(self._conditioned(holes, c)) for c in range(self.n_classes)]
        return as_like(np.stack(by_class, axis=1), x)

    @cached_property
    def _precision(self) -> FloatArray | None:
        """The inverse covariances, k×d×d; None where they cannot be trusted with the cells of a row."""
        if any(ill_conditioned(covariance) for covariance in self.compact):
            return None
        return np.ascontiguousarray(np.broadcast_to(self.form.precision(), self.covariance.shape))

    @cached_property
    def _log_determinants(self) -> FloatArray:
        logs = [-2.0 * np.log(np.diagonal(self.form.whitener_of(c))).sum() for c in range(self.n_classes)]
        return np.array(logs)

    @cached_property
    def _marginals(self) -> Marginals | None:
        """What runs of rows with the same holes need; None where the precisions cannot be trusted, or would cancel."""
        if self.means.shape[1] > MOST_PAIRED or self._precision is None:
            return None
        return Marginals.of(self.means, self._precision[: len(self.compact)], self._log_determinants)

    def _conditioned(self, holes: Holes, c: int) -> Conditioned:
        return holes.condition(self.means[c], self.compact[min(c, len(self.compact) - 1)], self.form.whitener_of(c))

    def expected_statistics(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the moments of the rows, with the conditional expectation of missing cells and of their squares."""
        if self.family.columnwise or issparse(x):
            return self.family.statistics(x, responsibilities)
        x = self._with_constants(x)
        if not shows_holes(x) and observed_cells(x) is None:
            return self.family.statistics(x, responsibilities)
        in_runs = self._statistics_in_runs(x, responsibilities)
        return self._statistics_by_row(x, responsibilities) if in_runs is None else in_runs

    def _with_constants(self, x: Array) -> Array:
        """Return rows with the value of constant columns in their missing cells, so that these stay constant."""
        if self.constant is None:
            return x
        xp = namespace(x)
        missing = xp.isnan(x) & (as_like(self.constant.astype(np.float64), x) > 0)
        return xp.where(missing, as_like(self.means[0], x), x) if bool(xp.any(missing)) else x

    def _statistics_in_runs(self, x: Array, responsibilities: Responsibilities) -> Moments | None:
        """Return the expected moments, of rows with the same holes together; None where they would lose digits."""
        if self._marginals is None:
            return None
        weights = to_float64(responsibilities.matrix(np.empty(0)))
        found = self._marginals.moments(x, weights)
        if found is None:
            return None
        moments = self._about(self._marginals.origin, found.count, found.first, found.second)
        if moments is not None and len(found.rest):
            moments += self._statistics_by_row(x[found.rest], SoftLabels(weights[found.rest]))
        return moments

    def _statistics_by_row(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the expected moments of rows with holes, one after the other, and of complete ones."""
        there = np.asarray(~np.isnan(to_float64(x)))
        complete = np.asarray(there.all(axis=1))
        total = self.family.statistics(x[complete], responsibilities[complete])
        rows, weights = to_float64(x)[~complete], to_float64(responsibilities[~complete].matrix(np.empty(0)))
        if self._precision is not None:
            found = compiled.holes_moments(rows, self.means, self._precision, weights)
            if found is not None:
                expected = FullMoments(weights.sum(0)[:, None], self.means, *found)
                return total + expected.to_layout(self.family.structure.layout)
        holes = Holes(rows, there[~complete])
        parts = [
            expected_moments(self._conditioned(holes, c), weights[:, c], self.means[c]) for c in range(self.n_classes)
        ]
        arrays = [part.arrays() for part in parts]
        expected = FullMoments(**{name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]})
        return total + expected.to_layout(self.family.structure.layout)

    def mixture_pass(
        self, x: Array, weight: FloatArray | None, log_shares: FloatArray
    ) -> tuple[FloatArray, Moments, float] | None:
        """Return the weights of the classes, their moments and the log-likelihood in one pass over the rows.

        None where the kernels are not built, or where a class is so far from the others that its covariance about their
        common origin would lose digits.
        """
        if self.constant is not None:
            return None
        dense = isinstance(x, np.ndarray) and not self.family.columnwise
        if dense and shows_holes(x):
            return self._pass_in_runs(x, weight, log_shares)
        found = self.form.mixture_pass(x, weight, log_shares)
        if found is None:
            return self._pass_in_runs(x, weight, log_shares) if dense and np.isnan(x).any() else None
        moments = self._about(found.origin, found.count, found.first, found.second)
        return None if moments is None else (found.count, moments, found.log_likelihood)

    def _pass_in_runs(
        self, x: Array, weight: FloatArray | None, log_shares: FloatArray
    ) -> tuple[FloatArray, Moments, float] | None:
        """Return what `mixture_pass` does for rows with holes: those with the same ones together, others one by one."""
        if self._marginals is None:
            return None
        found = self._marginals.expect(x, weight, log_shares)
        if found is None:
            return None
        count, log_likelihood = found.count, found.log_likelihood
        moments = self._about(self._marginals.origin, count, found.first, found.second)
        if moments is None:
            return None
        if len(found.rest):
            rows, own = x[found.rest], None if weight is None else weight[found.rest]
            known = PartialLabels(None, own, self.n_classes, len(rows))
            posterior, of_rest = known.expect(to_float64(self._score_by_row(rows, ~np.isnan(rows))) + log_shares)
            moments += self._statistics_by_row(rows, posterior)
            count, log_likelihood = count + posterior.totals(), log_likelihood + of_rest
        return count, moments, log_likelihood

    def _about(self, origin: FloatArray, count: FloatArray, first: FloatArray, second: FloatArray) -> Moments | None:
        """Return moments about a common origin in the layout of the structure; None where they lose digits there."""
        k, d = self.means.shape
        center = np.broadcast_to(origin, (k, d))
        layout = self.family.structure.layout
        if layout is DiagonalMoments:
            moments: Moments = DiagonalMoments(np.broadcast_to(count[:, None], (k, d)), center, first, second)
        elif second.ndim == 2:
            moments = TiedMoments(count[:, None], center, first, second)
        else:
            moments = FullMoments(count[:, None], center, first, second).to_layout(layout)
        return None if moments.cancels() else moments

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return rows with their missing cells filled in: the mean over the classes, by their shares, n×k."""
        if self.family.columnwise:
            return super().expected_rows(x, shares)
        rows = dense_rows(x)
        there = ~np.isnan(rows)
        filled, some = rows.copy(), np.flatnonzero(~there.all(1))
        holes = Holes(rows[some], there[some])
        expected = np.zeros((len(some), rows.shape[1]))
        for c in range(self.n_classes):
            expected += shares[some, c, None] * (self.means[c] + self._conditioned(holes, c).deviation)
        filled[some] = np.where(there[some], rows[some], expected)
        return filled

    def sampled_rows(self, x: Array, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows with their missing cells drawn: the conditional mean, and noise of the conditional covariance."""
        if self.family.columnwise:
            return super().sampled_rows(x, classes, rng)
        rows = dense_rows(self._with_constants(x))
        there = ~np.isnan(rows)
        incomplete = ~there.all(1)
        filled = rows.copy()
        for c in np.unique(classes[incomplete]).tolist():
            some = np.flatnonzero(incomplete & (classes == c))
            drawn = self.means[c] + self._conditioned(Holes(rows[some], there[some]), c).draw(rng)
            filled[some] = np.where(there[some], rows[some], drawn)
        return filled

    def marginal(self, columns: IntArray) -> GaussianDistributions:
        """Return the distribution of some of the columns: their means and covariances."""
        if self.family.structure.diagonal:
            compact = np.broadcast_to(self.compact, (len(self.compact), self.n_columns))[:, columns]
        else:
            compact = self.compact[:, columns[:, None], columns[None, :]]
        still = None if self.constant is None or not self.constant[columns].any() else self.constant[columns]
        return GaussianDistributions(self.family.of_part, self.means[:, columns], compact, still)

    def conditioned(self, columns: IntArray, cells: FloatArray) -> GaussianDistributions:
        """Return the other columns (r) given the cells of some (g), 1×m.

        With L Lᵀ = Σ, the given columns first, E[x_r | x_g] = μ_r + L_rg L_gg⁻¹ (x_g − μ_g) and
        Cov[x_r | x_g] = L_rr L_rrᵀ, from which nothing was subtracted.
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
        return GaussianDistributions(Gaussian("full"), means, np.broadcast_to(covariance, (k, *covariance.shape[1:])))

    def mahalanobis(self, x: Array) -> FloatArray:
        """Return (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c), n×k, over the cells that are there."""
        rows = to_float64(x.toarray() if issparse(x) else x)
        observed = observed_cells(rows)
        if observed is None or self.family.columnwise:
            return self.form.squared_distance(without_holes(rows, observed), observed)
        holes = Holes(rows, to_float64(observed) > 0)
        return np.stack([self._conditioned(holes, c).squared for c in range(self.n_classes)], axis=1)

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
            return scaled_rows(x, self.means[:1], np.sqrt(self.variance[:1]))
        rows = to_float64(x) - self.means[0]
        return np.where(np.isnan(rows), 0.0, rows) @ self.form.whitener_of(0).T

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column adds to the log-ratio; see the quadratic form for how it is split."""
        if self.constant is not None:
            columns, varying = self._varying
            terms, left = np.zeros(x.shape), np.zeros(x.shape[0])
            if varying is not None:
                terms[:, columns], left = varying.log_ratio(x[:, columns], a, b)
            return terms, left
        rows = to_float64(x.toarray() if issparse(x) else x)
        observed = observed_cells(rows)
        if observed is None or self.family.columnwise:
            terms, left = self.form.log_ratio(without_holes(rows, observed), a, b)
            return (terms if observed is None else np.where(observed, terms, 0.0)), left
        terms, left = np.zeros_like(rows), np.zeros(len(rows))
        for pattern in patterns_of(to_float64(observed) > 0):
            members, columns = pattern.rows, pattern.there
            if len(columns):
                part = self.marginal(columns).form.log_ratio(rows[np.ix_(members, columns)], a[members], b[members])
                terms[np.ix_(members, columns)], left[members] = part
        return terms, left
