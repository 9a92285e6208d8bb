"""Gaussian: numbers, with any covariance structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice._arrays import Array, FloatArray, IntArray, issparse, namespace
from suffice.families.base import Family
from suffice.families.gaussian.covariance import (
    Covariance,
    Given,
    GivenSphere,
    as_structure,
    overall_covariance,
    prior_mean,
)
from suffice.families.gaussian.covariance.constant import (
    NEUTRAL_VARIANCE,
    FixedPrior,
    columns_left_out,
    constant,
    of_columns,
    prior_of_columns,
    resolved,
    with_constants,
)
from suffice.families.gaussian.covariance.posterior_means import PosteriorMean
from suffice.families.gaussian.distributions import GaussianDistributions
from suffice.families.gaussian.leaving import PlugIn, Scatters, shared_rows
from suffice.families.gaussian.left_out import BesideConstants, left_out_of
from suffice.families.gaussian.missing_in_runs import order_by_pattern
from suffice.families.gaussian.moments import diagonal_moments, full_moments, tied_moments
from suffice.families.gaussian.quadratic import LOG_2PI
from suffice.families.left_out import LeftOut
from suffice.families.products import require_rows
from suffice.families.usual import NUMBER, POSITIVE, Domain, as_row, as_rows, require_names
from suffice.priors import NormalInverseWishart, PriorSpec, require_positive_definite, resolve_prior
from suffice.statistics.moments import DiagonalMoments, Moments, TiedMoments
from suffice.statistics.responsibilities import Responsibilities

#: number of rows that the automatic prior of a mixture component is worth
_ROWS_OF_COMPONENT = 0.01


class Gaussian(Family):
    """p(x | μ, Σ) = exp(−½ (x − μ)ᵀ Σ⁻¹ (x − μ)) / √|2πΣ|.

    φ(x) = (x, x xᵀ), η = (Σ⁻¹μ, −½Σ⁻¹), A(η) = ½ μᵀΣ⁻¹μ + ½ log|Σ|, h(x) = (2π)^(−d/2).

    Parameters
    ----------
    covariance : str or Covariance
        "full", "tied" (all classes share it), "diagonal", "tied-diagonal", "spherical", "tied-spherical", or three
        letters for volume, shape and orientation as in mclust, like "VVE"; see `suffice.families.gaussian.covariance`.
        `GivenSphere`, `GivenDiagonal` and `GivenCovariance` are covariances that are given and not estimated.

    Examples
    --------
    >>> from suffice import Gaussian
    >>> heights = Gaussian().fit([1.7, 1.8, 1.6, 1.7])
    >>> heights.mean(), heights.variance().round(4)   # maximum likelihood: divided by n
    (array([1.7]), array([0.005]))
    """

    name: ClassVar[str] = "gaussian"
    usual: ClassVar[Mapping[str, Domain]] = {"mean": NUMBER, "variance": POSITIVE}

    def __init__(self, covariance: str | Covariance = "diagonal") -> None:
        self.structure = as_structure(covariance)

    def config(self) -> dict[str, Any]:
        """Return the constructor arguments of this family."""
        return {"covariance": self.structure.name}

    def __repr__(self) -> str:
        return f"Gaussian(covariance={self.structure!r})"

    @property
    def columnwise(self) -> bool:
        """Whether there are no covariances, so that a missing cell just drops out."""
        return self.structure.diagonal

    @property
    def of_part(self) -> Gaussian:
        """The family of a subset of the columns: volumes or shapes equal over all columns may differ on a subset."""
        if isinstance(self.structure, Given) and not isinstance(self.structure, GivenSphere):
            return Gaussian("tied-diagonal" if self.structure.diagonal else "tied")
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
        """Return −½ log 2π per observed cell, summed over each row."""
        observed = namespace(x).astype(~namespace(x).isnan(x), x.dtype)
        return -0.5 * LOG_2PI * namespace(x).sum(observed, axis=1)

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
        """Return an order that puts rows with the same missing cells together; None if it is not needed."""
        return None if self.columnwise else order_by_pattern(x)

    def empty(self, n_classes: int, n_columns: int) -> Moments:
        """Return the statistics of zero rows."""
        return self.structure.layout.empty(n_classes, n_columns)

    def estimate(self, statistics: Moments, prior: PriorSpec = "auto") -> GaussianDistributions:
        """Return means and covariances: Σ(x)/n and S/n for ``prior=None``, else the posterior means."""
        return self.improve(statistics, prior, None)

    def improve(
        self, statistics: Moments, prior: PriorSpec, start: GaussianDistributions | None
    ) -> GaussianDistributions:
        """Return means and covariances; structures without a closed form start from the covariances of `start`."""
        conjugate = self._conjugate_prior(prior)
        _require_squares(statistics)
        still = columns_left_out(self.structure, statistics, conjugate)
        if still is None:
            begin = None if start is None else start.compact
            return GaussianDistributions(self, *self._estimated(statistics, conjugate, begin))
        assert conjugate is not None
        (k, d), columns = statistics.center.shape, np.flatnonzero(~still)
        means = np.tile(statistics.total_mean(), (k, 1))
        compact = np.empty((1 if self.structure.tied else k, *((0,) if self.structure.diagonal else (0, 0))))
        if len(columns):
            begin = None if start is None else of_columns(start.compact, columns, matrix=not self.structure.diagonal)
            part = prior_of_columns(conjugate, columns, d)
            means[:, columns], compact = self._estimated(statistics.of_columns(columns), part, begin)
        compact = with_constants(compact, columns, d, matrix=not self.structure.diagonal)
        return GaussianDistributions(self, means, compact, still)

    def _estimated(
        self, statistics: Moments, conjugate: NormalInverseWishart | None, start: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return means and covariances of columns that are not constant."""
        mean, count = statistics.mean, statistics.count
        if conjugate is None:
            require_rows(count)
        else:
            center = prior_mean(statistics, conjugate)
            kappa = conjugate.mean_count
            share = np.divide(kappa, kappa + count, out=np.ones_like(count), where=kappa + count > 0)
            mean = mean + share * (center - mean)
        return mean, self.structure.estimate(statistics, conjugate, start)

    def left_out(self, statistics: Moments, prior: PriorSpec, distributions: GaussianDistributions) -> LeftOut:
        """Return the scores of rows by the estimates without each of them.

        Structures whose covariances are averages are downdated. For the others one estimate per row is made.
        """
        structure, conjugate = self.structure, self._conjugate_prior(prior)
        if not isinstance(structure, (PosteriorMean, Given)):
            return super().left_out(statistics, prior, distributions)
        still = distributions.constant
        varying = np.arange(statistics.n_columns) if still is None else np.flatnonzero(~still)
        inner = None
        if len(varying):
            part = distributions if still is None else distributions.marginal(varying)
            inner = left_out_of(self, self._scatters(statistics, conjugate, part.compact, part.means, varying), part)
        if still is None:
            assert inner is not None
            return inner
        return BesideConstants(varying, inner, distributions, distributions.means[0])

    def _scatters(
        self,
        statistics: Moments,
        conjugate: NormalInverseWishart | None,
        compact: FloatArray,
        means: FloatArray,
        varying: IntArray,
    ) -> Scatters:
        """Return the scatters Λ = νΣ of the columns that vary, which includes the rows of the prior."""
        structure, moments = self.structure, statistics.of_columns(varying).to_layout(self.structure.layout)
        if conjugate is None:
            center, kappa, a, lost = moments.total_mean(), 0.0, 0.0, 0.0
        else:
            center, kappa = (
                np.broadcast_to(prior_mean(statistics, conjugate), (statistics.n_columns,))[varying],
                conjugate.mean_count,
            )
            a, lost = structure.prior_rows(conjugate, len(varying)), conjugate.freedom
        if isinstance(structure, Given):
            nu = np.ones((1, 1) if structure.diagonal else 1)
        else:
            nu = shared_rows(structure, np.maximum(moments.count - lost, 0.0), a, len(varying))
        scatter = (compact[:, :1] if structure.one_variance else compact) * (nu[:, None, None] if nu.ndim == 1 else nu)
        known = isinstance(structure, Given)
        return Scatters(moments.count, kappa, means, center, scatter, nu, lost, PlugIn(), known=known)

    def _conjugate_prior(self, prior: PriorSpec) -> NormalInverseWishart | None:
        return resolve_prior(prior, NormalInverseWishart, NormalInverseWishart())

    def fixed_prior(self, statistics: Moments, prior: PriorSpec, everything: Moments | None = None) -> PriorSpec:
        """Return the prior with its automatic parts set to numbers.

        A column that is constant in `statistics` but not in `everything` gets its variance from `everything`.
        """
        conjugate = self._conjugate_prior(prior)
        if conjugate is None:
            return None
        fixed = resolved(self.structure, statistics, conjugate)
        if everything is None or conjugate.scatter is not None or fixed.still is None:
            return fixed
        still, scatter = fixed.still & constant(everything), np.array(fixed.scatter)
        woken = np.flatnonzero(fixed.still & ~still)
        scatter[(woken,) * scatter.ndim] = everything.total_variance()[woken]
        rows = self.structure.prior_rows(conjugate, max(int((~still).sum()), 1))
        return replace(fixed, scatter=scatter, scatter_count=rows, still=still if still.any() else None)

    def mode_prior(self, statistics: Moments, prior: PriorSpec) -> PriorSpec:
        """Return the prior whose covariances are the mode of the joint density of means and covariances.

        Under the posterior with ν = a + n − f degrees of freedom, it is (aV + S) / (ν + d + 2) for one class, and the
        denominator is ν + d + 1 + k if k classes share the covariance; with variances in place of covariances it is
        ν + 2 + m for a variance shared by m means. Structures without a closed form are estimated as without this.
        """
        fixed = prior if isinstance(prior, FixedPrior) else self.fixed_prior(statistics, prior)
        if fixed is None or not isinstance(self.structure, PosteriorMean):
            return fixed
        k = statistics.n_classes if self.structure.tied else 1
        d = statistics.n_columns - (0 if fixed.still is None else int(fixed.still.sum()))
        if not self.structure.diagonal:
            more = (d + 1.0) / k + 1.0
        else:
            more = 2.0 / (k * max(d, 1) if self.structure.one_variance else k) + 1.0
        return replace(fixed, freedom=fixed.freedom - more)

    def prior_of_components(self, overall: Moments, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the prior of k components about which only the covariance of all rows together is known.

        It is worth a hundredth of a row (or `scatter_count` rows, if given) with the covariance of all rows divided by
        k^(2/d), which shares their volume among k components: enough to keep a component from collapsing, and too
        little to blur tight clusters. The estimate is the posterior mode, so that the bound of EM cannot fall.
        """
        _require_squares(overall)
        conjugate = self._conjugate_prior(prior)
        if conjugate is None:
            return None
        rows = _ROWS_OF_COMPONENT if conjugate.scatter_count == "auto" else conjugate.scatter_count
        still, scatter = columns_left_out(self.structure, overall, conjugate), conjugate.scatter
        if scatter is None:
            n_varying = overall.n_columns if still is None else int((~still).sum())
            scatter = _overall_covariance(overall, still) / k ** (2.0 / max(n_varying, 1))
        numbers = {"scatter_count": rows, "scatter": scatter, "mean": prior_mean(overall, conjugate), "freedom": 0.0}
        return FixedPrior(**{**vars(conjugate), **numbers}, still=still)

    def of_all_rows(self, statistics: Moments) -> GaussianDistributions:
        """Return the distribution of all rows as one class; it gives the units of the columns."""
        still = constant(statistics)
        covariance = _overall_covariance(statistics, still if still.any() else None)
        family = Gaussian("diagonal" if covariance.ndim == 1 else "full")
        return GaussianDistributions(family, statistics.mean[:1], covariance[None])

    def prior_within_classes(
        self, statistics: Moments, prior: PriorSpec, k: float, everything: Moments | None = None
    ) -> PriorSpec:
        """Return the prior of the classes, with the volume of a class shared among k components; the mode is taken."""
        conjugate, fixed = self._conjugate_prior(prior), self.fixed_prior(statistics, prior, everything)
        if conjugate is None or conjugate.scatter is not None:
            return None if fixed is None else replace(fixed, freedom=0.0)
        varying = statistics.n_columns - (0 if fixed.still is None else int(fixed.still.sum()))
        return replace(fixed, scatter=np.asarray(fixed.scatter) / k ** (2.0 / max(varying, 1)), freedom=0.0)

    def with_parameters(self, arrays: Mapping[str, Any]) -> GaussianDistributions:
        """Return the distributions with these parameter arrays."""
        return GaussianDistributions(self, **arrays)

    @classmethod
    def _of_usual(cls, given: dict[str, Any]) -> GaussianDistributions:
        spread = "covariance" if given.get("covariance") is not None else "variance"
        require_names("Gaussian", {k: v for k, v in given.items() if v is not None}, ["mean", spread])
        mean = as_row("Gaussian", "mean", given["mean"])
        if spread == "variance" or np.ndim(given["covariance"]) < 2:
            rows = as_rows("Gaussian", cls.usual, {"mean": mean, "variance": given[spread]})
            return GaussianDistributions(cls("diagonal"), rows["mean"], rows["variance"])
        covariance = np.asarray(given["covariance"], dtype=np.float64)
        require_positive_definite(covariance, "the covariance of a Gaussian")
        if len(mean) not in (1, len(covariance)):
            raise ValueError(
                f"the mean of a Gaussian has {len(mean)} columns, but its covariance has {len(covariance)}; give one "
                f"mean per column"
            )
        return GaussianDistributions(
            cls("full"), np.broadcast_to(mean, (1, len(covariance))).copy(), covariance.copy()[None]
        )

    def log_prior(self, distributions: GaussianDistributions, statistics: Moments, prior: PriorSpec) -> float:
        """Return the log-density of the normal–inverse-Wishart prior."""
        k, d = distributions.means.shape
        return self.structure.log_prior(distributions.compact, self._conjugate_prior(prior), k, d, distributions.means)


def _require_squares(statistics: Moments) -> None:
    if not np.isfinite(statistics.second).all():
        raise ValueError("the squares of the numbers are too large for float64; rescale the columns")


def _overall_covariance(overall: Moments, still: NDArray[np.bool_] | None) -> FloatArray:
    """Return the covariance (or variances) of all rows as one class, with `NEUTRAL_VARIANCE` for constant columns."""
    if still is None:
        return overall_covariance(overall)
    columns = np.flatnonzero(~still)
    if not len(columns):
        return np.full(len(still), NEUTRAL_VARIANCE)
    part = overall_covariance(overall.of_columns(columns))
    return with_constants(part, columns, len(still), matrix=part.ndim == 2)
