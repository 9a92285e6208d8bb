"""Families of transformed numbers: y = g(x) has a known family, and the density of x has the Jacobian of g.

With q the density of y, p(x) = q(g(x)) |dg/dx|. The statistics, estimates and priors of x are those of y.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, to_float64
from suffice.families.base import Distributions, Family
from suffice.families.cells import dense_rows, in_double
from suffice.families.left_out import LeftOut, Own
from suffice.priors import PriorSpec
from suffice.statistics.base import Statistics
from suffice.statistics.responsibilities import Responsibilities


class TransformedFamily(Family):
    """A family of numbers x, each column by itself, for which g(x) has the family `inner`."""

    #: the family of g(x), whose columns are independent
    inner: ClassVar[Any]

    # -- the formulas of each family -----------------------------------------------------------------------------

    @abstractmethod
    def require_support(self, x: Array) -> None:
        """Raise if some cell is outside the support; NaN is accepted."""

    @abstractmethod
    def forward(self, x: Array) -> Array:
        """Return g(x) of each cell, in the library of `x`."""

    @abstractmethod
    def backward(self, y: FloatArray) -> FloatArray:
        """Return the x for which g(x) = y, of each cell."""

    @abstractmethod
    def log_slope(self, x: Array) -> Array:
        """Return log |dg/dx| of each cell, in the library of `x`."""

    @abstractmethod
    def mean_and_variance(self, of_y: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance of x, each k×d, given the distributions of g(x)."""

    @abstractmethod
    def expected_log_slope(self, of_y: Any) -> FloatArray:
        """Return E log |dg/dx| of each cell, k×d."""

    @abstractmethod
    def shown(self, of_y: Any) -> dict[str, Any]:
        """Return the parameters to show, given the distributions of g(x); they are attributes of a distribution."""

    # -- the exponential family ------------------------------------------------------------------------------------

    def prepare(self, x: Array) -> Array:
        """Return g(x) of a chunk in float64; raise if a cell is outside the support."""
        x = in_double(x.toarray() if issparse(x) else x)
        self.require_support(x)
        return self.forward(x)

    def log_jacobian(self, x: Array) -> FloatArray:
        """Return Σ log |dg/dx| of each row, over the observed cells, (n,)."""
        return np.nansum(self.log_slope(dense_rows(x)), axis=1)

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return φ(g(x)), n×p."""
        return np.asarray(self.inner.sufficient_statistics(to_float64(self.prepare(self.encode(x)))))

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return A(η) of g(x)."""
        return np.asarray(self.inner.log_normalizer(eta))

    def log_base_measure(self, x: Array) -> Array:
        """Return log h(g(x)) + log |dg/dx|, summed over each row."""
        base = self.inner.log_base_measure(self.prepare(x))
        return base + as_like(self.log_jacobian(x), base)

    def of(self, of_y: Distributions) -> TransformedDistributions:
        """Return the distributions of x, given those of g(x)."""
        return TransformedDistributions(self, of_y)

    def from_natural(self, eta: FloatArray) -> TransformedDistributions:
        """Return the distributions with these natural parameters, k×p."""
        return self.of(self.inner.from_natural(eta))

    def from_moments(self, moments: FloatArray) -> TransformedDistributions:
        """Return the distributions with these E φ(g(x)), k×p."""
        return self.of(self.inner.from_moments(moments))

    def with_parameters(self, arrays: Mapping[str, Any]) -> TransformedDistributions:
        """Return the distributions with these parameter arrays of g(x)."""
        return self.of(self.inner.with_parameters(arrays))

    # -- learning ----------------------------------------------------------------------------------------------------

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Statistics:
        """Return the statistics of g(x)."""
        return self.inner.statistics(self.prepare(x), responsibilities)

    def empty(self, n_classes: int, n_columns: int) -> Statistics:
        """Return the statistics of zero rows."""
        return self.inner.empty(n_classes, n_columns)

    def estimate(self, statistics: Any, prior: PriorSpec = "auto") -> TransformedDistributions:
        """Return the distributions estimated from the sums and the prior of g(x)."""
        return self.of(self.inner.estimate(statistics, prior))

    def improve(self, statistics: Any, prior: PriorSpec, start: Any) -> TransformedDistributions:
        """Return distributions at least as good as `start`."""
        return self.of(self.inner.improve(statistics, prior, None if start is None else start.of_y))

    def left_out(self, statistics: Any, prior: PriorSpec, distributions: TransformedDistributions) -> LeftOut:
        """Return the scores of rows by the estimates of g(x) without each of them."""
        return TransformedLeftOut(self, self.inner.left_out(statistics, prior, distributions.of_y), distributions)

    def fixed_prior(self, statistics: Any, prior: PriorSpec, everything: Any = None) -> PriorSpec:
        """Return the prior with the parts that it takes from the data fixed."""
        return self.inner.fixed_prior(statistics, prior, everything)

    def mode_prior(self, statistics: Any, prior: PriorSpec) -> PriorSpec:
        """Return the prior under which `estimate` is the mode of the density of the parameters of g(x)."""
        return self.inner.mode_prior(statistics, prior)

    def prior_of_components(self, overall: Any, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the prior of k components of a mixture, given the statistics of all rows as one class."""
        return self.inner.prior_of_components(overall, prior, k)

    def prior_within_classes(self, statistics: Any, prior: PriorSpec, k: float, everything: Any = None) -> PriorSpec:
        """Return the prior of components, k per class on average, given the statistics of the classes."""
        return self.inner.prior_within_classes(statistics, prior, k, everything)

    def of_all_rows(self, statistics: Any) -> TransformedDistributions:
        """Return the distribution of all rows, given their statistics as one class."""
        return self.of(self.inner.of_all_rows(statistics))

    def log_prior(self, distributions: TransformedDistributions, statistics: Any, prior: PriorSpec) -> float:
        """Return the log-density of the prior of the parameters of g(x)."""
        return float(self.inner.log_prior(distributions.of_y, statistics, prior))


@dataclass(frozen=True, eq=False)
class TransformedDistributions(Distributions):
    """Distributions of x, one per class, made of the distributions of g(x)."""

    family: TransformedFamily
    of_y: Any

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.of_y.n_classes)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.of_y.n_columns)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        return int(self.of_y.n_parameters)

    def parameters(self) -> dict[str, Any]:
        """Return the parameter arrays of g(x)."""
        return dict(self.of_y.parameters())

    def shown(self) -> dict[str, Any]:
        """Return the parameters to show, each with one row per class."""
        return self.family.shown(self.of_y)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "of_y":
            raise AttributeError(name)
        try:
            return self.shown()[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} of {self.family!r} has no attribute {name!r}") from None

    def natural_parameters(self) -> FloatArray:
        """Return η, k×p."""
        return np.asarray(self.of_y.natural_parameters())

    def moment_parameters(self) -> FloatArray:
        """Return E φ(g(x)), k×p."""
        return np.asarray(self.of_y.moment_parameters())

    def statistic_covariance(self) -> FloatArray:
        """Return Cov φ(g(x)), k×p×p."""
        return np.asarray(self.of_y.statistic_covariance())

    def mean(self) -> FloatArray:
        """Return E x, k×d."""
        return self.family.mean_and_variance(self.of_y)[0]

    def variance(self) -> FloatArray:
        """Return Var x of each column, k×d."""
        return self.family.mean_and_variance(self.of_y)[1]

    def entropy(self) -> FloatArray:
        """Return −E log q(g(x)) − E log |dg/dx|, (k,)."""
        return np.asarray(self.of_y.entropy() - self.family.expected_log_slope(self.of_y).sum(1))

    def divergence(self, c: int, other: TransformedDistributions, against: int) -> float:
        """Return KL(p ‖ q) of g(x): the Jacobian cancels."""
        return float(self.of_y.divergence(c, other.of_y, against))

    @property
    def by_column(self) -> bool:
        """Whether the columns of g(x) have log-densities of their own."""
        return bool(self.of_y.by_column)

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return log q(g(x_j)) + log |dg/dx_j| of each cell under one class per row."""
        slopes = np.nan_to_num(self.family.log_slope(dense_rows(x)))
        slopes = slopes if self.by_column else slopes.sum(1, keepdims=True)
        return np.asarray(self.of_y.cell_scores(self.family.prepare(x), classes)) + slopes

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log q(g(x) | c), plus the logarithm of the Jacobian, which all classes share, if `common`."""
        scores = self.of_y.score(self.family.prepare(x), common)
        return scores + as_like(self.family.log_jacobian(x), scores)[:, None] if common else scores

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-ratios of g(x): the Jacobian cancels."""
        terms, rest = self.of_y.log_ratio(self.family.prepare(x), a, b)
        return terms, rest

    def mixture_pass(
        self, x: Any, weight: FloatArray | None, log_shares: FloatArray
    ) -> tuple[FloatArray, Any, float] | None:
        """Return one EM iteration over rows of this block alone: that of g(x), with the Jacobian in the likelihood."""
        found = self.of_y.mixture_pass(self.family.prepare(x), weight, log_shares)
        if found is None:
            return None
        jacobian = self.family.log_jacobian(x)
        return found[0], found[1], found[2] + float(jacobian.sum() if weight is None else weight @ jacobian)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one row per entry of `classes`, drawn from that class."""
        return self.family.backward(self.of_y.sample(classes, rng))

    def expected_rows(self, x: Any, shares: FloatArray) -> FloatArray:
        """Return rows with missing cells filled in by their mean, or g⁻¹(E g(x)) if a class has none that is finite."""
        rows, mean = dense_rows(x), self.mean()
        typical = np.where(np.isfinite(mean).all(0), mean, self.family.backward(self.of_y.mean()))
        return np.where(np.isnan(rows), shares @ typical, rows)

    def standardised(self, x: Array) -> Array:
        """Return g(x), scaled so that all columns of the first class count equally in distances."""
        return self.of_y.standardised(self.family.prepare(x))

    def marginal(self, columns: IntArray) -> Self:
        """Return the distributions of some of the columns."""
        return replace(self, of_y=self.of_y.marginal(columns))


@dataclass(frozen=True, eq=False)
class TransformedLeftOut(LeftOut):
    """The scores of g(x) without each row: the Jacobian does not change.

    Parameters
    ----------
    family : TransformedFamily
    of_y : LeftOut
        That of g(x).
    distributions : TransformedDistributions
    """

    family: TransformedFamily
    of_y: LeftOut
    distributions: Any

    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each column under each class."""
        slopes = np.nan_to_num(self.family.log_slope(dense_rows(x)))
        slopes = slopes if self.by_column else slopes.sum(1, keepdims=True)
        return self.of_y.cells(self.family.prepare(x), own) + slopes[:, :, None]

    def scores(self, x: Array, own: Own) -> FloatArray:
        """Return log q(g(x_i) | c), n×k."""
        return self.of_y.scores(self.family.prepare(x), own)
