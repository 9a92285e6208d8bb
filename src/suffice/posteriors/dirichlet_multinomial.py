"""Dirichlet–multinomial: bags of counts whose probabilities have a Dirichlet posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray, as_like, to_float64
from suffice.families.cells import dense_rows, in_double
from suffice.families.multinomial import Multinomial
from suffice.posteriors.predictive import Predictive, gamma_ratio, log_rising, log_rising_cells


@dataclass(frozen=True, eq=False)
class DirichletMultinomialDistributions(Predictive):
    """p(x | α) = N!/Πx_j! · Γ(A)/Γ(A + N) · Π Γ(α_j + x_j)/Γ(α_j), A = Σα, N = Σx.

    A word that has occurred is more likely to occur again: bags vary more than those of a Multinomial.

    Parameters
    ----------
    alpha : array of shape (k, d)
    mean_size : array of shape (k,)
        The mean size of a bag, which scores do not need.
    """

    family: Multinomial
    alpha: FloatArray
    mean_size: FloatArray
    title: ClassVar[str] = "Dirichlet–multinomial"

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.alpha)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: the probabilities of a class sum to 1."""
        return len(self.alpha) * (self.alpha.shape[1] - 1)

    @property
    def probability(self) -> FloatArray:
        """The mean probabilities, k×d."""
        return self.alpha / self.alpha.sum(1, keepdims=True)

    def mean(self) -> FloatArray:
        """Return the mean bag, k×d."""
        return self.probability * self.mean_size[:, None]

    def variance(self) -> FloatArray:
        """Return N p (1 − p) (A + N) / (A + 1) for bags of the mean size N, k×d."""
        size, whole = self.mean_size[:, None], self.alpha.sum(1, keepdims=True)
        return size * self.probability * (1.0 - self.probability) * (whole + size) / (whole + 1.0)

    def covariance(self) -> FloatArray:
        """Return N (diag p − p pᵀ) (A + N) / (A + 1) for bags of the mean size N, k×d×d."""
        p, size, whole = self.probability, self.mean_size, self.alpha.sum(1)
        of_one_draw = np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :]
        return np.asarray(of_one_draw * (size * (whole + size) / (whole + 1.0))[:, None, None])

    def _of_totals(self, x: Array) -> FloatArray:
        """Return log Γ(A)/Γ(A + N), n×k."""
        whole, totals = self.alpha.sum(1), np.asarray(to_float64(x.sum(axis=1))).ravel()
        return -gamma_ratio(whole, totals[:, None])

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log p(x | c), with the multinomial coefficient, which all classes share, if `common`."""
        x = in_double(x)
        self.family._check(x)
        scores = as_like(self._of_totals(x) + log_rising(x, self.alpha), x)
        return scores + self.family.log_base_measure(x)[:, None] if common else scores

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return bags whose sizes are Poisson with the mean size of their class."""
        drawn = rng.standard_gamma(self.alpha[classes])
        whole = drawn.sum(1, keepdims=True)
        p = np.where(whole > 0, drawn / np.where(whole > 0, whole, 1.0), self.probability[classes])
        return rng.multinomial(rng.poisson(self.mean_size[classes]), p).astype(np.float64)

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return the rows unchanged, once checked: no count may be missing."""
        self.family._check(x)
        return dense_rows(x)

    def sampled_rows(self, x: Array, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the rows unchanged, once checked: no count may be missing."""
        return self.expected_rows(x, np.empty(0))

    def marginal(self, columns: IntArray) -> DirichletMultinomialDistributions:
        """Return the distributions with their columns reordered; a subset of the columns has no given total."""
        if len(columns) != self.n_columns:
            raise ValueError(
                f"the counts of a Multinomial share their total, so they cannot be split, but {len(columns)} of "
                f"{self.n_columns} columns were asked for; take all of them or none"
            )
        return DirichletMultinomialDistributions(self.family, self.alpha[:, columns], self.mean_size)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the difference of log Γ(α_j + x_j)/Γ(α_j), and as the rest what the size of the bag adds."""
        dense = dense_rows(x)
        rows, columns = np.nonzero(dense)
        cells = log_rising_cells(dense[rows, columns], self.alpha, columns)
        each = np.arange(len(rows))
        terms = np.zeros_like(dense)
        terms[rows, columns] = cells[a[rows], each] - cells[b[rows], each]
        totals, here = self._of_totals(dense), np.arange(len(dense))
        return terms, totals[here, a] - totals[here, b]
