"""Negative binomial: counts whose rate has a Gamma posterior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, to_float64
from suffice.families.cells import dense_rows, in_double, observed_cells, require_not_negative
from suffice.families.poisson import Poisson
from suffice.posteriors.predictive import Predictive, gamma_ratio, log_rising, log_rising_cells


@dataclass(frozen=True, eq=False)
class NegativeBinomialDistributions(Predictive):
    """p(x) = Γ(a + x)/(Γ(a) x!) · (b/(b + 1))^a · (b + 1)^−x for λ ~ Gamma(a, b), each column by itself.

    Parameters
    ----------
    shape, rate : arrays of shape (k, d)
        a and b.
    """

    family: Poisson
    shape: FloatArray
    rate: FloatArray
    title: ClassVar[str] = "NegativeBinomial"

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.shape)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one rate per column and class."""
        return self.shape.size

    def mean(self) -> FloatArray:
        """Return a / b, k×d."""
        return self.shape / self.rate

    def variance(self) -> FloatArray:
        """Return (a / b) (1 + 1/b), k×d."""
        return self.mean() * (1.0 + 1.0 / self.rate)

    @cached_property
    def _log_none(self) -> FloatArray:
        """Log p(0) = −a log(1 + 1/b), k×d."""
        return -self.shape * np.log1p(1.0 / self.rate)

    @property
    def _log_more(self) -> FloatArray:
        return np.log1p(self.rate)

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log p(x | c) of the observed cells, with −log x!, which all classes share, if `common`."""
        x = in_double(x)
        require_not_negative(x, "a Poisson count must not be negative")
        observed = observed_cells(x, what="Poisson counts")
        scores = log_rising(x, self.shape, self._log_more)
        if observed is None:
            scores += self._log_none.sum(1)
        else:
            scores += to_float64(observed) @ self._log_none.T
        in_library = as_like(scores, x)
        return in_library + self.family.log_base_measure(x)[:, None] if common else in_library

    @property
    def by_column(self) -> bool:
        """True: columns are independent given the class."""
        return True

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return log p(x_j) of each cell under one class per row."""
        rows = dense_rows(in_double(x))
        there = np.where(np.isnan(rows), 0.0, rows)
        terms = gamma_ratio(self.shape[classes], there) - there * self._log_more[classes] + self._log_none[classes]
        return np.where(np.isnan(rows), 0.0, terms + self.family.cell_base(there))

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return counts."""
        return rng.poisson(rng.standard_gamma(self.shape[classes]) / self.rate[classes]).astype(np.float64)

    def marginal(self, columns: IntArray) -> NegativeBinomialDistributions:
        """Return the distributions of some of the columns."""
        return NegativeBinomialDistributions(self.family, self.shape[:, columns], self.rate[:, columns])

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x_j | a) / p(x_j | b)."""
        dense = dense_rows(x) if issparse(x) else to_float64(x)
        terms = self._log_none[a] - self._log_none[b]
        rows, columns = np.nonzero(dense)
        cells = log_rising_cells(dense[rows, columns], self.shape, columns, self._log_more)
        each = np.arange(len(rows))
        terms[rows, columns] += cells[a[rows], each] - cells[b[rows], each]
        return np.where(np.isnan(dense), 0.0, terms), np.zeros(len(dense))
