"""Lomax: waiting times whose rate has a Gamma posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray, as_like, issparse, to_float64
from suffice.families.base import Family
from suffice.families.cells import dense_rows, require_not_negative
from suffice.posteriors.predictive import Predictive


@dataclass(frozen=True, eq=False)
class LomaxDistributions(Predictive):
    """p(x) = (a/b) (1 + x/b)^(−a−1) for x ≥ 0 and λ ~ Gamma(a, b), each column by itself.

    Parameters
    ----------
    shape, rate : arrays of shape (k, d)
        a and b.
    """

    family: Family
    shape: FloatArray
    rate: FloatArray
    title: ClassVar[str] = "Lomax"

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.shape)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: one rate per column and class."""
        return self.shape.size

    def mean(self) -> FloatArray:
        """Return b / (a − 1), infinite for a ≤ 1, k×d."""
        more = np.maximum(self.shape - 1.0, 0.0)
        return np.divide(self.rate, more, out=np.full(self.rate.shape, np.inf), where=more > 0)

    def variance(self) -> FloatArray:
        """Return b² a / ((a − 1)² (a − 2)), infinite for a ≤ 2, k×d."""
        a = np.where(self.shape > 2.0, self.shape, np.inf)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(a), np.inf, self.mean() ** 2 * (self.shape / (a - 2.0)))

    def _terms(self, rows: FloatArray, c: int | IntArray | slice) -> FloatArray:
        a, b = self.shape[c], self.rate[c]
        return np.where(np.isnan(rows), 0.0, np.log(a) - np.log(b) - (a + 1.0) * np.log1p(rows / b))

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log p(x | c) of the observed cells, n×k."""
        require_not_negative(x, "a waiting time must not be negative")
        rows = to_float64(x.toarray() if issparse(x) else x)
        return as_like(np.stack([self._terms(rows, c).sum(1) for c in range(self.n_classes)], axis=1), x)

    @property
    def by_column(self) -> bool:
        """True: columns are independent given the class."""
        return True

    def cell_scores(self, x: Array, classes: IntArray | slice) -> FloatArray:
        """Return log p(x_j) of each cell under one class per row."""
        rows = dense_rows(x)
        return self._terms(rows, classes)

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return waiting times."""
        rate = rng.standard_gamma(self.shape[classes]) / self.rate[classes]
        return rng.standard_exponential(rate.shape) / rate

    def marginal(self, columns: IntArray) -> LomaxDistributions:
        """Return the distributions of some of the columns."""
        return LomaxDistributions(self.family, self.shape[:, columns], self.rate[:, columns])

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x_j | a) / p(x_j | b)."""
        rows = to_float64(x.toarray() if issparse(x) else x)
        terms = np.zeros_like(rows)
        for c in np.union1d(a, b):
            terms += self._terms(rows, c) * ((a == c).astype(float) - (b == c))[:, None]
        return terms, np.zeros(len(rows))
