"""Groups of columns that are independent of each other, each group with its own distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray
from suffice.families.base import Distributions, Family
from suffice.families.gaussian import GaussianDistributions
from suffice.posteriors.predictive import Predictive
from suffice.posteriors.student import StudentDistributions
from suffice.posteriors.student_columns import StudentColumns

Part = tuple[IntArray, GaussianDistributions | StudentColumns | StudentDistributions]


@dataclass(frozen=True, eq=False)
class SideBySide(Predictive):
    """p(x | c) = Π p(columns of a part | c), for numbers.

    Columns that never varied need it: they have one distribution for all classes and so say nothing about the class,
    which they would if they widened the t of the other columns.

    Parameters
    ----------
    parts : list of (columns, distributions)
        Every column is in one of them.
    """

    family: Family
    parts: list[Part]
    title: ClassVar[str] = "Student's t beside columns that never varied"

    def shown(self) -> dict[str, Any]:
        """Return the means and the variances."""
        return {"mean": self.mean(), "variance": self.variance()}

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.parts[0][1].n_classes

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of all parts together."""
        return sum(part.n_parameters for _, part in self.parts)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return sum(len(columns) for columns, _ in self.parts)

    def _together(self, n: int, values: Callable[[IntArray, Any], FloatArray]) -> FloatArray:
        """Return n rows assembled from the values of the parts for their columns."""
        rows = np.empty((n, self.n_columns))
        for columns, part in self.parts:
            rows[:, columns] = values(columns, part)
        return rows

    def mean(self) -> FloatArray:
        """Return E x, k×d."""
        return self._together(self.n_classes, lambda columns, part: part.mean())

    def variance(self) -> FloatArray:
        """Return the variance of each column, k×d."""
        return self._together(
            self.n_classes,
            lambda columns, part: part.variance(),
        )

    def covariance(self) -> FloatArray:
        """Return the covariances, 0 between parts, k×d×d."""
        whole = np.zeros((self.n_classes, self.n_columns, self.n_columns))
        for columns, part in self.parts:
            whole[:, columns[:, None], columns] = part.covariance()
        return whole

    def score(self, x: Array, common: bool = True) -> Array:
        """Return Σ log p of the parts, n×k."""
        scores: Array = None
        for columns, part in self.parts:
            found = part.score(x[:, columns], common)
            scores = found if scores is None else scores + found
        return scores

    def mahalanobis(self, x: Array) -> FloatArray:
        """Return the squared distances, n×k."""
        return np.sum([part.mahalanobis(x[:, columns]) for columns, part in self.parts], axis=0)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one row per entry of `classes`, drawn from that class."""
        return self._together(len(classes), lambda columns, part: part.sample(classes, rng))

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return rows with their missing cells filled in."""
        return self._together(x.shape[0], lambda columns, part: part.expected_rows(x[:, columns], shares))

    def sampled_rows(self, x: Array, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows with their missing cells drawn."""
        return self._together(x.shape[0], lambda columns, part: part.sampled_rows(x[:, columns], classes, rng))

    def marginal(self, columns: IntArray) -> Distributions:
        """Return the distributions of some of the columns."""
        parts: list[Part] = []
        for here, part in self.parts:
            places = np.flatnonzero(np.isin(columns, here))
            if len(places):
                parts.append((places, part.marginal(np.searchsorted(here, columns[places]))))
        return SideBySide(self.family, parts)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column adds to the log-ratio, and the rest."""
        terms, left = np.zeros(x.shape), np.zeros(x.shape[0])
        for columns, part in self.parts:
            terms[:, columns], more = part.log_ratio(x[:, columns], a, b)
            left += more
        return terms, left
