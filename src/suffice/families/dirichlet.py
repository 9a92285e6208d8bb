"""Dirichlet: proportions that sum to 1 over all columns of the block, such as the ingredients of a mixture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, namespace, to_float64
from suffice.errors import InvalidCellError
from suffice.families.base import Distributions, Family
from suffice.families.beta import UNIT_SPREAD, rows_for_each
from suffice.families.cells import dense_rows, in_double, invalid_cell, observed_cells
from suffice.families.columnwise import PseudoRows, refuse_cells, require_finite
from suffice.families.concentration import concentrations, dirichlet_spread, trigamma
from suffice.families.left_out import LeftOut, Stacked
from suffice.families.products import require_rows
from suffice.families.spread import share_of_components, spread_rows, without_rounding
from suffice.families.usual import POSITIVE, Domain
from suffice.priors import PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.responsibilities import Responsibilities
from suffice.statistics.sums import SignedSums

#: tolerance for rounding in the sum of the cells of a row, which should be 1
_ROUNDING = 1e-6
_UNIT_SPREAD = np.array([UNIT_SPREAD])


class Dirichlet(Family):
    """p(x | α) = Γ(Σα) / ΠΓ(α_j) · Π x_j^(α_j − 1) for positive x_j that sum to 1.

    φ(x) = log x, η = α − 1, A(η) = Σ log Γ(α_j) − log Γ(Σα), h(x) = 1. Newton's method finds the α with the mean
    logarithms of the rows. A prior of r rows concerns only the total T = Σα: its log-density is
    r (½ (d − 1) log T − s T), with s the spread −log Σ e^(mean log x_j) within the classes.

    Examples
    --------
    >>> from suffice import Dirichlet
    >>> rock = Dirichlet().fit([[0.2, 0.3, 0.5], [0.25, 0.35, 0.4], [0.1, 0.4, 0.5]])
    >>> rock.mean().round(3)
    array([0.178, 0.353, 0.469])
    """

    name: ClassVar[str] = "dirichlet"
    usual: ClassVar[Mapping[str, Domain]] = {"alpha": POSITIVE}

    @property
    def columnwise(self) -> bool:
        """False: the cells of a row sum to 1, so none may be missing."""
        return False

    # -- the exponential family ------------------------------------------------------------------------------------

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return log x, n×d."""
        return np.log(dense_rows(self.encode(x)))

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return Σ log Γ(α) − log Γ(Σα)."""
        alpha = np.asarray(eta) + 1.0
        return np.asarray(gammaln(alpha).sum(-1) - gammaln(alpha.sum(-1)))

    def log_base_measure(self, x: Array) -> Array:
        """Return 0 for every row."""
        return namespace(x).zeros(x.shape[0], dtype=x.dtype)

    def from_natural(self, eta: FloatArray) -> DirichletDistributions:
        """Return α = η + 1."""
        return DirichletDistributions(self, np.asarray(eta) + 1.0)

    def from_moments(self, moments: FloatArray) -> DirichletDistributions:
        """Return the α with these E log x."""
        return DirichletDistributions(self, concentrations(np.asarray(moments)))

    def with_parameters(self, arrays: Mapping[str, Any]) -> DirichletDistributions:
        """Return the distributions with these parameter arrays."""
        return DirichletDistributions(self, **arrays)

    # -- learning ----------------------------------------------------------------------------------------------------

    def logarithms(self, x: Array) -> Array:
        """Return log x; raise InvalidCellError if a row is incomplete, not positive or does not sum to 1."""
        x = in_double(x.toarray() if issparse(x) else x)
        observed = observed_cells(x, what="Dirichlet cells")
        if observed is not None:
            raise invalid_cell(
                x,
                ~observed,
                "the parts of a whole must not be missing",
                "fill in 1 minus the other parts, or drop the row",
            )
        refuse_cells(
            x,
            lambda cells: cells <= 0,
            "the cells of Dirichlet columns must be positive",
            "replace zeros by the smallest share that can be measured, and divide each row by its sum",
        )
        xp = namespace(x)
        off = xp.abs(xp.sum(x, axis=1) - 1.0) > _ROUNDING
        if bool(xp.any(off)):
            row = int(np.flatnonzero(to_float64(off))[0])
            cells = to_float64(x[row])
            raise InvalidCellError(
                "the cells of Dirichlet columns must sum to 1 in every row",
                found=f"{cells[0]:g} (its row sums to {cells.sum():g})",
                row=row,
                column=0,
                remedy="divide each row by its sum, or leave out a column that is not part of the whole",
            )
        return xp.log(x)

    def statistics(self, x: Array, responsibilities: Responsibilities) -> SignedSums:
        """Return the sums of the logarithms, and the weight of the rows."""
        logs = self.logarithms(x)
        return SignedSums(responsibilities.totals()[:, None], responsibilities.sums(logs))

    def empty(self, n_classes: int, n_columns: int) -> SignedSums:
        """Return the statistics of zero rows."""
        return SignedSums(np.zeros((n_classes, 1)), np.zeros((n_classes, n_columns)))

    def _means(self, statistics: SignedSums) -> FloatArray:
        """Return the mean logarithms per class, k×d; those of all rows if a class has none."""
        total, count = statistics.total, statistics.count
        weight, d = float(count.sum()), total.shape[1]
        overall = total.sum(0) / weight if weight > 0 else np.full(d, -np.log(d))
        return np.divide(total, count, out=np.broadcast_to(overall, total.shape).copy(), where=count > 0)

    def spread(self, means: FloatArray) -> FloatArray:
        """Return −log Σ e^(mean log x), k×1."""
        spread = dirichlet_spread(means)
        return without_rounding(spread, 1.0 + np.abs(means).max(-1))[..., None]

    def estimate(self, statistics: SignedSums, prior: PriorSpec = "auto") -> DirichletDistributions:
        """Return the posterior mode; without a prior, the α whose mean logarithms are those of the rows."""
        prior_rows = self.prior_as_rows(statistics, prior)
        means, count = self._means(statistics), statistics.count
        if prior_rows is None:
            require_rows(count)
            if means.shape[1] > 1:
                require_finite(
                    np.where(self.spread(means) > 0, 0.0, np.inf),
                    "maximum likelihood needs two different rows, but {noun} {of_class} has only one",
                )
            return self.from_moments(means)
        rows = rows_for_each(prior_rows.amount, count)[:, 0]
        return DirichletDistributions(self, concentrations(means, rows, np.broadcast_to(prior_rows.value, rows.shape)))

    def prior_as_rows(self, statistics: SignedSums, prior: PriorSpec) -> PseudoRows | None:
        """Return the prior's rows and their spread, (1,); None without a prior."""
        if isinstance(prior, PseudoRows):
            return prior
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        if pseudo is None:
            return None
        within = np.where(statistics.count > 0, self.spread(self._means(statistics)), 0.0)
        return spread_rows(statistics.count, within, self._overall_spread(statistics), _UNIT_SPREAD, pseudo.amount)

    def left_out(self, statistics: SignedSums, prior: PriorSpec, distributions: DirichletDistributions) -> LeftOut:
        """Return the scores of rows by the estimates without each of them: those of their classes, all at once."""
        fixed, d = self.prior_as_rows(statistics, prior), statistics.total.shape[1]
        nothing = np.full(d, -np.log(d))
        return Stacked(
            self,
            statistics,
            distributions,
            lambda left, codes: self.estimate(left, fixed),  # type: ignore[arg-type]
            nothing,
            certain=fixed is not None,
        )

    def _overall_spread(self, statistics: SignedSums) -> FloatArray:
        everything = SignedSums(statistics.count.sum(0, keepdims=True), statistics.total.sum(0, keepdims=True))
        return self.spread(self._means(everything))[0]

    def fixed_prior(self, statistics: SignedSums, prior: PriorSpec, everything: SignedSums | None = None) -> PriorSpec:
        """Return the prior with the parts that it takes from the data fixed."""
        return self.prior_as_rows(statistics, prior)

    def prior_of_components(self, overall: SignedSums, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the prior of k components, given the statistics of all rows as one class."""
        rows = self.prior_as_rows(overall, prior)
        return None if rows is None else share_of_components(rows, self._overall_spread(overall), _UNIT_SPREAD, k)

    def log_prior(self, distributions: DirichletDistributions, statistics: SignedSums, prior: PriorSpec) -> float:
        """Return r Σ (½ (d − 1) log T − s T): a Gamma prior for the total."""
        rows = self.prior_as_rows(statistics, prior)
        if rows is None or np.isinf(rows.amount).any():
            return 0.0
        total = distributions.alpha.sum(1)
        freedom = 0.5 * (distributions.alpha.shape[1] - 1)
        return float((rows.amount * (freedom * np.log(total) - rows.value * total)).sum())


@dataclass(frozen=True, eq=False)
class DirichletDistributions(Distributions):
    """Dirichlet distributions with their α, k×d."""

    family: Dirichlet
    alpha: FloatArray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.alpha)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one per column and class; 0 for a single column, which is always 1."""
        return self.alpha.size if self.alpha.shape[1] > 1 else 0

    def natural_parameters(self) -> FloatArray:
        """Return α − 1, k×d."""
        return self.alpha - 1.0

    def moment_parameters(self) -> FloatArray:
        """Return ψ(α) − ψ(Σα), k×d."""
        return np.asarray(digamma(self.alpha) - digamma(self.alpha.sum(1, keepdims=True)))

    def statistic_covariance(self) -> FloatArray:
        """Return diag ψ′(α) − ψ′(Σα), k×d×d."""
        d = self.alpha.shape[1]
        return np.eye(d) * trigamma(self.alpha)[:, None, :] - trigamma(self.alpha.sum(1))[:, None, None]

    def mean(self) -> FloatArray:
        """Return α / Σα, k×d."""
        return self.alpha / self.alpha.sum(1, keepdims=True)

    def variance(self) -> FloatArray:
        """Return m (1 − m) / (Σα + 1) for the mean m, k×d."""
        mean = self.mean()
        return mean * (1.0 - mean) / (self.alpha.sum(1, keepdims=True) + 1.0)

    def covariance(self) -> FloatArray:
        """Return (diag m − m mᵀ) / (Σα + 1), k×d×d."""
        mean = self.mean()
        spread = np.eye(mean.shape[1]) * mean[:, None, :] - mean[:, :, None] * mean[:, None, :]
        return np.asarray(spread / (self.alpha.sum(1)[:, None, None] + 1.0))

    def score(self, x: Array, common: bool = True) -> Array:
        """Return (α − 1)·log x − A."""
        logs = self.family.logarithms(x)
        scores = logs @ as_like(self.alpha - 1.0, logs).T
        return scores - as_like(self.family.log_normalizer(self.alpha - 1.0), scores)

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return log p of each row under one class per row, n×1."""
        eta = self.alpha - 1.0
        terms = to_float64(self.family.logarithms(x)) * eta[classes]
        return np.asarray(terms.sum(1) - self.family.log_normalizer(eta)[classes])[:, None]

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows that sum to 1; parts that underflow to 0 become a tiny positive number."""
        drawn = np.maximum(rng.standard_gamma(self.alpha[classes]), 1e-300)
        return drawn / drawn.sum(1, keepdims=True)

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return the rows unchanged, once checked: no cell may be missing."""
        self.family.logarithms(x)
        return dense_rows(x)

    def sampled_rows(self, x: Array, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the rows unchanged, once checked: no cell may be missing."""
        self.family.logarithms(x)
        return dense_rows(x)

    def marginal(self, columns: IntArray) -> DirichletDistributions:
        """Return the distributions with their columns reordered; a subset of the columns would not sum to 1."""
        if len(columns) != self.n_columns:
            raise ValueError(
                f"the parts of a Dirichlet sum to 1, so they cannot be split, but {len(columns)} of {self.n_columns} "
                f"columns were asked for; take all of them or none"
            )
        return DirichletDistributions(self.family, self.alpha[:, columns])

    def standardised(self, x: Array) -> FloatArray:
        """Return log x minus its mean over the columns and over the rows, divided by its standard deviation."""
        logs = np.log(dense_rows(x))
        center = self.moment_parameters()[0]
        rows = (logs - logs.mean(1, keepdims=True)) - (center - center.mean())
        return np.asarray(rows / np.sqrt(trigamma(self.alpha[:1])))

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log x_j (α_aj − α_bj); the normalisers belong to no column."""
        normalizer = self.family.log_normalizer(self.alpha - 1.0)
        return np.log(dense_rows(x)) * (self.alpha[a] - self.alpha[b]), -(normalizer[a] - normalizer[b])
