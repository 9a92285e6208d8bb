"""Families with a location and a spread of their own: the prior concerns the spread alone.

A prior row at the mean of all classes would widen every class that lies elsewhere: ten rows tightly around 1 and one
prior row at 1000 are not tight. So the prior's rows lie at each class's own mean, and contribute only a spread.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.families.columnwise import SHARE_OF_A_ROW, SHARE_OF_ALL, ColumnwiseFamily, PseudoRows, require_finite
from suffice.families.products import require_rows
from suffice.priors import PriorSpec
from suffice.statistics.sums import Sums

#: a spread below this, relative to the size of the numbers, is rounding error of the sums
_NO_SPREAD = 1e-12


def spread_rows(
    count: FloatArray, within: FloatArray, overall: FloatArray, unit: FloatArray, amount: float
) -> PseudoRows:
    """Return rows with the spread within the classes: its geometric mean, so that no class dominates the others.

    If no class has any spread, it is that of a thousandth of a row with the spread of all rows. A column that never
    varies gets the spread `unit` in every class, whatever its rows, so that it says nothing about the class.

    Parameters
    ----------
    count, within : arrays of shape (k, d)
        The weight of each class and the spread in it.
    overall, unit : arrays of shape (d,)
        The spread of all rows, and the spread to use if there is none.
    """
    some = within > 0
    weight = np.where(some, count, 0.0).sum(0)
    logs = (count * np.log(np.where(some, within, 1.0))).sum(0)
    geometric = np.exp(np.divide(logs, weight, out=np.zeros(len(overall)), where=weight > 0))
    base = np.where(weight > 0, geometric, SHARE_OF_A_ROW * overall / (count.sum(0) + SHARE_OF_A_ROW))
    constant = overall <= 0
    return PseudoRows(np.where(constant, np.inf, amount), np.where(constant, unit, base))


def share_of_components(rows: PseudoRows, overall: FloatArray, unit: FloatArray, k: int) -> PseudoRows:
    """Return the rows for k components: a hundredth of the spread of all rows, at most of `unit`, over k^(2/d)."""
    share = SHARE_OF_ALL * np.minimum(overall, unit) / k ** (2.0 / len(overall))
    return replace(rows, value=np.where(overall > 0, share, rows.value))


def blended(spread: FloatArray, count: FloatArray, rows: PseudoRows) -> FloatArray:
    """Return (n s + a s₀) / (n + a), or s₀ if the prior has infinitely many rows."""
    certain = np.isinf(rows.amount)
    amount = np.where(certain, 1.0, rows.amount)
    return np.where(certain, rows.value, (count * spread + amount * rows.value) / (count + amount))


def without_rounding(spread: FloatArray, size: FloatArray) -> FloatArray:
    """Return the spread, a difference of numbers of this size, with 0 if it is no more than rounding error."""
    return np.where(spread > _NO_SPREAD * size, spread, 0.0)


def require_spread(spread: FloatArray) -> None:
    """Raise if all values of a class are the same, which leaves maximum likelihood no spread to estimate."""
    require_finite(
        np.where(spread > 0, 0.0, np.inf),
        "maximum likelihood needs two different values in each {noun}, further apart than the rounding of numbers of "
        "their size, but column {of_column} has none in {noun} {of_class}",
    )


class SpreadFamily(ColumnwiseFamily):
    """A columnwise family with a location, which is estimated by the mean whatever the spread, and a spread."""

    @abstractmethod
    def location(self, *means: FloatArray) -> FloatArray:
        """Return the mean of the cells, given the means of the parts of φ."""

    @abstractmethod
    def spread(self, *means: FloatArray) -> FloatArray:
        """Return the variation of the cells about their mean, 0 if they do not vary."""

    @abstractmethod
    def from_spread(self, location: FloatArray, spread: FloatArray) -> Any:
        """Return the distributions with this mean and spread, each k×d."""

    @abstractmethod
    def unit_spread(self, location: FloatArray) -> FloatArray:
        """Return a spread for cells that do not vary, in the units of the column."""

    @abstractmethod
    def spread_normalizer(self, distributions: Any, spread: FloatArray) -> FloatArray:
        """Return the log-density, up to constants, of one row at the mean that contributes this spread, k×d."""

    def from_moment_parts(self, *moments: FloatArray) -> Any:
        """Return the distributions with these E φ."""
        return self.from_spread(self.location(*moments), self.spread(*moments))

    def estimate(self, statistics: Sums, prior: PriorSpec = "auto") -> Any:
        """Return the mean of each class, and the spread (n s + a s₀) / (n + a); a = 0 is maximum likelihood."""
        rows = self.prior_as_rows(statistics, prior)
        means = self.means(statistics)
        spread = self.spread(*means)
        if rows is None:
            require_rows(statistics.count)
            require_spread(spread)
        else:
            spread = blended(spread, statistics.count, rows)
        return self.from_spread(self.location(*means), spread)

    def pseudo_rows(self, statistics: Sums, amount: float) -> PseudoRows:
        """Return the prior's rows, which have the spread within the classes."""
        overall = self.overall(self.split(statistics.total), statistics.count.sum(0))
        unit = self.unit_spread(self.location(*overall))
        within = np.where(statistics.count > 0, self.spread(*self.means(statistics)), 0.0)
        return spread_rows(statistics.count, within, self.spread(*overall), unit, amount)

    def rows_of_components(self, rows: PseudoRows, overall: Sums, k: int) -> PseudoRows:
        """Return rows with a hundredth of the spread of all rows."""
        means = self.overall(self.split(overall.total), overall.count.sum(0))
        return share_of_components(rows, self.spread(*means), self.unit_spread(self.location(*means)), k)

    def log_prior(self, distributions: Any, statistics: Sums, prior: PriorSpec) -> float:
        """Return the log-density of the prior's rows, which lie at the mean of each class and contribute a spread."""
        rows = self.prior_as_rows(statistics, prior)
        if rows is None:
            return 0.0
        amount = np.where(np.isinf(rows.amount), 0.0, rows.amount)  # a certain prior is the same in every iteration
        return float((amount * self.spread_normalizer(distributions, rows.value)).sum())
