"""What every posterior of parameters offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice._arrays import FloatArray
from suffice.families.base import Distributions, Family
from suffice.priors import PriorSpec
from suffice.responsibilities import Labels
from suffice.statistics import Statistics


class Interval(NamedTuple):
    """The lower and the upper end of intervals, each of the shape of the parameters."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Posterior(ABC):
    """p(θ | statistics) for the parameters of one block of columns, one row a class.

    It is a function of the statistics and the prior, so that ``posterior + more`` is the posterior of all the rows.
    A prior that is scaled to the data, such as "auto", is scaled to all of them again.
    """

    family: Family
    statistics: Any
    prior: PriorSpec

    def update(self, statistics: Any) -> Self:
        """Return the posterior after more rows: their statistics, or the rows themselves where there is one class."""
        more = as_statistics(self.family, statistics)
        return type(self)(self.family, self.statistics + more, self.prior)

    def __add__(self, statistics: Any) -> Self:
        return self.update(statistics)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.statistics.n_classes)

    @abstractmethod
    def mean(self) -> Any:
        """Return the posterior mean of the parameters."""

    @abstractmethod
    def map(self) -> Distributions:
        """Return the distributions at the mode of the posterior density."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> Any:
        """Return intervals that hold each parameter with probability `level`, as much being left out at either end."""

    @abstractmethod
    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Any:
        """Return `n` draws of the parameters, n×k×…."""

    @abstractmethod
    def log_evidence(self, x: ArrayLike | None = None) -> FloatArray:
        """Return log p(rows), the parameters integrated out, (k,).

        Parameters
        ----------
        x : array, optional
            The rows themselves, where there is one class. Only Poisson and Multinomial need them, for Σ log h(x), which
            the statistics do not hold: without `x` it is left out. It is the same for every prior.
        """

    @abstractmethod
    def predictive(self) -> Distributions:
        """Return p(x | statistics) of one more row, the parameters integrated out."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.family!r}, {self.n_classes} classes>"


def as_statistics(family: Family, rows: Any) -> Any:
    """Return statistics as they are, and rows as the statistics of one class."""
    if isinstance(rows, Statistics):
        return rows
    values = family.encode(rows)
    return family.statistics(values, Labels(np.zeros(values.shape[0], dtype=np.intp), None, 1))


def tails(level: float) -> tuple[float, float]:
    """Return the probabilities at the two ends of an equal-tailed interval."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level of an interval must be between 0 and 1, such as 0.95, but is {level!r}")
    return 0.5 * (1.0 - level), 0.5 * (1.0 + level)


def base_measure(family: Family, x: ArrayLike | None, n_classes: int) -> float:
    """Return Σ log h(x) over the rows, 0 without rows."""
    if x is None:
        return 0.0
    if n_classes != 1:
        raise ValueError(f"the rows can be given where there is one class, but there are {n_classes}; leave out x")
    return float(np.sum(family.log_base_measure(family.encode(x))))
