"""Families whose columns are independent given the class: a new one gives only its formulas for one cell.

φ of a cell has one or more *parts*; a family's φ(x), η and E φ have the columns of the first part, then those of the
second. All formulas work on arrays of cells, k×d for parameters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import Array, FloatArray, as_like, issparse, namespace
from suffice.errors import EstimateError
from suffice.families.base import Family
from suffice.families.cells import dense_rows, in_double, invalid_cell, observed_cells, weighted_counts
from suffice.families.left_out import LeftOut, Stacked
from suffice.families.products import require_rows
from suffice.priors import Prior, PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.responsibilities import Responsibilities
from suffice.statistics.sums import SignedSums, Sums

#: if no class has any spread, the prior's is that of this fraction of a row with the spread of all rows
SHARE_OF_A_ROW = 1e-3
#: the spread (or the mean) of the prior of a mixture, as a share of that of all rows
SHARE_OF_ALL = 0.01
#: the logarithm of the smallest positive number, in place of −∞
_LEAST_LOG = -745.0


@dataclass(frozen=True, eq=False)
class PseudoRows(Prior):
    """A resolved prior: the number of rows added to every class, and the value that they hold, per column, (d,).

    The posterior mode takes `offset`, a number of rows and a sum, off what is added; see `mode_offset`.
    """

    amount: FloatArray
    value: FloatArray
    offset: tuple[float, float] = (0.0, 0.0)

    @property
    def count(self) -> FloatArray:
        """The rows that are added, (d,)."""
        return self.amount - self.offset[0]

    @property
    def total(self) -> FloatArray:
        """The sum that is added, (d,)."""
        return self.amount * self.value - self.offset[1]


class ColumnwiseFamily(Family):
    """A family for columns that are independent given the class."""

    #: the number of parts of φ of a cell
    parts: ClassVar[int] = 1
    #: whether 0 is a possible cell, so that sparse rows make sense
    takes_zero: ClassVar[bool] = False
    #: whether φ may be negative
    signed: ClassVar[bool] = True
    #: the value put into a missing cell before φ is computed
    neutral: ClassVar[float] = 1.0
    #: the name of the cells in error messages; by default "<Family> cells"
    cells: ClassVar[str | None] = None

    @property
    def mode_offset(self) -> tuple[float, float]:
        """The rows and the sum by which the posterior mode of the usual parameter differs from its mean.

        The mean of E x, (Σx + αm) / (n + α), is the mode of the density of η; that of another parameter has the
        Jacobian as a factor, which is of the same form as some rows.
        """
        return 0.0, 0.0

    # -- the formulas of each family -----------------------------------------------------------------------------

    @abstractmethod
    def require_support(self, x: Array) -> None:
        """Raise if some cell is outside the support; NaN is accepted."""

    @abstractmethod
    def phi(self, x: Array) -> tuple[Array, ...]:
        """Return the parts of φ of each cell, in the library of `x`."""

    @abstractmethod
    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return A of each cell, given the parts of η."""

    def cell_base(self, x: FloatArray) -> FloatArray | None:
        """Return log h of each cell; None if it is 0 everywhere."""
        return None

    @abstractmethod
    def from_natural_parts(self, *eta: FloatArray) -> Any:
        """Return the distributions with these parts of η, each k×d."""

    @abstractmethod
    def from_moment_parts(self, *moments: FloatArray) -> Any:
        """Return the distributions with these parts of E φ, each k×d."""

    # -- the exponential family ------------------------------------------------------------------------------------

    def split(self, values: FloatArray) -> list[FloatArray]:
        """Return the parts that lie side by side in the last axis."""
        return list(np.split(np.asarray(values, dtype=np.float64), self.parts, axis=-1))

    def sufficient_statistics(self, x: ArrayLike) -> FloatArray:
        """Return φ(x), n×p."""
        return np.hstack(self.phi(dense_rows(self.encode(x))))

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return A(η), summed over the columns."""
        return np.asarray(self.cell_normalizer(*self.split(eta)).sum(-1))

    def log_base_measure(self, x: Array) -> Array:
        """Return log h(x), over the observed cells."""
        base = self.cell_base(x.data if issparse(x) else dense_rows(x))
        if base is None:
            return as_like(np.zeros(x.shape[0]), x)
        if issparse(x):  # log h(0) = 0 where 0 is a possible cell
            logs = x.copy()
            logs.data = base
            return np.asarray(logs.sum(axis=1)).ravel()
        return as_like(np.nansum(base, axis=1), x)

    def from_natural(self, eta: FloatArray) -> Any:
        """Return the distributions with these natural parameters, k×p."""
        return self.from_natural_parts(*self.split(eta))

    def from_moments(self, moments: FloatArray) -> Any:
        """Return the distributions with these E φ(x), k×p."""
        return self.from_moment_parts(*self.split(moments))

    # -- learning ----------------------------------------------------------------------------------------------------

    def prepare(self, x: Array) -> tuple[tuple[Array, ...], Array | None]:
        """Return the parts of φ, 0 in missing cells, and the mask of observed cells (None if all are observed)."""
        x = in_double(x if self.takes_zero or not issparse(x) else x.toarray())
        observed = observed_cells(x, what=self.cells or f"{type(self).__name__} cells")
        self.require_support(x)
        if observed is None:
            return self.phi(x), None
        xp = namespace(x)
        parts = self.phi(xp.where(observed, x, xp.full_like(x, self.neutral)))
        return tuple(xp.where(observed, part, xp.zeros_like(part)) for part in parts), observed

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Sums:
        """Return the sums of φ, and the weight of the observed cells."""
        parts, observed = self.prepare(x)
        count = weighted_counts(parts[0], observed, responsibilities)
        total = np.hstack([responsibilities.sums(part) for part in parts])
        return self._kind(count, total)

    @property
    def _kind(self) -> type[Sums]:
        return SignedSums if self.signed else Sums

    def empty(self, n_classes: int, n_columns: int) -> Sums:
        """Return the statistics of zero rows."""
        return self._kind.empty(n_classes, n_columns, n_columns * self.parts)

    def means(self, statistics: Sums) -> list[FloatArray]:
        """Return the mean of each part of φ per class; that of all rows if a class has no cells."""
        count = statistics.count
        total = self.split(statistics.total)
        everything = count.sum(0)
        return [
            np.divide(part, count, out=np.broadcast_to(overall, count.shape).copy(), where=count > 0)
            for part, overall in zip(total, self.overall(total, everything), strict=True)
        ]

    def overall(self, total: Sequence[FloatArray], everything: FloatArray) -> list[FloatArray]:
        """Return the mean of each part of φ over all classes, (d,); φ of `neutral` if there is no cell."""
        nothing = self.phi(np.full(everything.shape, self.neutral))
        return [
            np.divide(part.sum(0), everything, out=np.array(empty, dtype=np.float64), where=everything > 0)
            for part, empty in zip(total, nothing, strict=True)
        ]

    # -- one parameter: the prior is rows that hold a mean -------------------------------------------------------------

    def estimate(self, statistics: Sums, prior: PriorSpec = "auto") -> Any:
        """Return the distributions with E φ = (Σφ + α m) / (count + α); α = 0 is maximum likelihood."""
        rows = self.prior_as_rows(statistics, prior)
        if rows is None:
            require_rows(statistics.count)
            return self.from_moment_parts(statistics.total / statistics.count)
        total, count = statistics.total + rows.total, statistics.count + rows.count
        if rows.offset == (0.0, 0.0):
            return self.from_moment_parts(total / count)
        # a mode at the end of the range, or none
        mean = np.broadcast_to(rows.value, count.shape).copy()
        return self.from_moment_parts(np.divide(np.maximum(total, 0.0), count, out=mean, where=count > 0))

    def mode_prior(self, statistics: Sums, prior: PriorSpec) -> PriorSpec:
        """Return the prior's rows less those by which the mode differs from the mean."""
        rows = self.prior_as_rows(statistics, prior)
        return None if rows is None else replace(rows, offset=self.mode_offset)

    def prior_as_rows(self, statistics: Sums, prior: PriorSpec) -> PseudoRows | None:
        """Return the prior as rows; None without a prior."""
        if isinstance(prior, PseudoRows):
            return prior
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(1.0))
        return None if pseudo is None else self.pseudo_rows(statistics, pseudo.amount)

    def pseudo_rows(self, statistics: Sums, amount: float) -> PseudoRows:
        """Return rows that hold the smoothed mean of all classes."""
        mean = smoothed_mean(statistics)
        return PseudoRows(np.full(mean.shape, amount), mean)

    def rows_of_components(self, rows: PseudoRows, overall: Sums, k: int) -> PseudoRows:
        """Return the prior's rows for k components of a mixture, given those for all rows as one class."""
        return rows

    def fixed_prior(self, statistics: Sums, prior: PriorSpec, everything: Sums | None = None) -> PriorSpec:
        """Return the prior with the parts that it takes from the data fixed."""
        return self.prior_as_rows(statistics, prior)

    def prior_of_components(self, overall: Sums, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the prior of k components, given the statistics of all rows as one class."""
        rows = self.prior_as_rows(overall, prior)
        return None if rows is None else self.rows_of_components(rows, overall, k)

    def left_out(self, statistics: Sums, prior: PriorSpec, distributions: Any) -> LeftOut:
        """Return the scores of rows by the estimates without each of them: those of their classes, all at once."""
        fixed = self.fixed_prior(statistics, prior)
        return Stacked(
            self,
            statistics,
            distributions,
            lambda left, codes: self.estimate(left, fixed),
            self.neutral_phi(statistics.count.shape[1]),
            certain=fixed is not None,
        )

    def neutral_phi(self, n_columns: int) -> FloatArray:
        """Return φ of a row of neutral cells, (p,), the location if there are no rows."""
        return np.hstack(self.phi(np.full(n_columns, self.neutral)))

    def log_prior(self, distributions: Any, statistics: Sums, prior: PriorSpec) -> float:
        """Return Σ α (η m − A(η)), the log-likelihood of α more rows with φ = m; at the mode, less the offset."""
        rows = self.prior_as_rows(statistics, prior)
        if rows is None:
            return 0.0
        eta = np.maximum(distributions.natural_parts()[0], _LEAST_LOG)
        return float((eta * rows.total - rows.count * self.cell_normalizer(eta)).sum())


def smoothed_mean(statistics: Sums) -> FloatArray:
    """Return the mean of each column over all classes, with one more row of ½, (d,)."""
    return (statistics.total.sum(0) + 0.5) / (statistics.count.sum(0) + 1.0)


def require_finite(values: FloatArray, said: str) -> None:
    """Raise if some parameter, k×d, is not finite; `said` is the template of an EstimateError."""
    bad = ~np.isfinite(values)
    if bad.any():
        c, column = (int(i) for i in np.argwhere(bad)[0])
        raise EstimateError(said, "use prior='auto'", c=c, column=column)


def refuse_cells(x: Array, bad: Callable[[Any], Any], requirement: str, remedy: str) -> None:
    """Raise an error that names the first bad cell of a dense or sparse chunk, if there is one."""
    values = x.data if issparse(x) else x
    if bool(namespace(values).any(bad(values))):
        dense = x.toarray() if issparse(x) else x
        raise invalid_cell(dense, bad(dense), requirement, remedy)


def refuse_positive(x: Array, whose: str) -> None:
    """Raise if a cell is 0 or negative."""
    refuse_cells(
        x,
        lambda cells: cells <= 0,
        f"{whose} cell must be positive",
        "clean that cell (NaN is a missing one), or choose another family, such as Exponential for zeros or Gaussian "
        "for negative numbers",
    )
