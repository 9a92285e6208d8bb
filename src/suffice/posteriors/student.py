"""Student's t: the predictive of Gaussian columns whose means and variances have a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray, as_like, namespace, to_float64
from suffice.families.cells import dense_rows, observed_cells
from suffice.families.gaussian.distributions import SHRINKING, GaussianDistributions
from suffice.families.gaussian.family import Gaussian
from suffice.families.gaussian.missing_by_row import patterns_of
from suffice.families.gaussian.quadratic import LOG_2PI
from suffice.posteriors.predictive import Predictive, gamma_ratio

#: squared distances beyond which the logarithm of a density keeps few digits of its other terms
_LARGE_SQUARES = 1e6


def log_heights(dof: FloatArray, d: FloatArray | float) -> FloatArray:
    """Return log Γ((ν + d)/2) − log Γ(ν/2) − d/2 log νπ."""
    return gamma_ratio(0.5 * dof, np.asarray(0.5 * d)) - 0.5 * d * np.log(dof * np.pi)


@dataclass(frozen=True, eq=False)
class StudentDistributions(Predictive):
    """Multivariate t: p(x) ∝ (1 + q/(ν s))^(−(ν + d)/2), q = (x − μ)ᵀ Σ⁻¹ (x − μ).

    The quadratic form is that of a Gaussian, which is the limit as ν grows and s tends to 1. The marginal of some
    columns is a t with the same ν, by which rows with missing cells are scored.

    Parameters
    ----------
    gaussian : GaussianDistributions
        With μ and Σ.
    dof : array of shape (k,)
        ν.
    spread : array of shape (k,)
        s, so that s Σ is the scale matrix.
    """

    family: Gaussian
    gaussian: GaussianDistributions
    dof: FloatArray
    spread: FloatArray
    title: ClassVar[str] = "Student's t"

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.gaussian.n_classes

    @property
    def n_parameters(self) -> int:
        """The number of free parameters, which is that of the Gaussian."""
        return self.gaussian.n_parameters

    def mean(self) -> FloatArray:
        """Return μ, k×d."""
        return self.gaussian.means

    def shown(self) -> dict[str, Any]:
        """Return the location, the scale matrix and the degrees of freedom."""
        scale = self.gaussian.covariance() * self.spread[:, None, None]
        return {"location": self.gaussian.means, "scale": scale, "dof": self.dof}

    @property
    def _widening(self) -> FloatArray:
        """The factor s ν/(ν − 2), infinite for ν ≤ 2, (k,)."""
        ratio = np.full(self.dof.shape, np.inf)
        np.divide(self.dof, self.dof - 2.0, out=ratio, where=self.dof > 2.0)
        return np.asarray(self.spread * ratio)

    def variance(self) -> FloatArray:
        """Return s σ² ν/(ν − 2), infinite for ν ≤ 2, k×d."""
        return self.gaussian.variance() * self._widening[:, None]

    def covariance(self) -> FloatArray:
        """Return s Σ ν/(ν − 2), NaN between columns and infinite on the diagonal for ν ≤ 2, k×d×d."""
        finite = np.where(np.isfinite(self._widening), self._widening, np.nan)[:, None, None]
        apart = np.eye(self.n_columns, dtype=bool)
        return np.where(apart, self.variance()[:, None, :], self.gaussian.covariance() * finite)

    # -- densities ----------------------------------------------------------------------------------------------

    @cached_property
    def _log_determinants(self) -> FloatArray:
        if self.gaussian.family.structure.diagonal:
            return np.asarray(np.log(self.gaussian.variance()).sum(1))
        return self.gaussian.incomplete.log_determinants

    def score(self, x: Array, common: bool = True) -> Array:
        """Return log p(x | c), n×k, from the logarithm of the quadratic forms of the Gaussian."""
        with np.errstate(invalid="ignore", over="ignore"):
            densities = self.gaussian.form.score(x, True)
        xp = namespace(densities)
        if not bool(xp.all(xp.isfinite(densities))):
            return self._score_incomplete(x)
        d, log_determinants = self.n_columns, self._log_determinants
        squared = -2.0 * densities - as_like(d * LOG_2PI + log_determinants, densities)
        squared = xp.where(squared > 0, squared, xp.zeros_like(squared))  # rounding error may leave it below 0
        constants = log_heights(self.dof, d) - 0.5 * (log_determinants + d * np.log(self.spread))
        bent = xp.log1p(squared * as_like(1.0 / (self.dof * self.spread), densities))
        return as_like(constants, densities) - as_like(0.5 * (self.dof + d), densities) * bent

    def _score_incomplete(self, x: Array) -> Array:
        """Return the scores of rows of which some have missing cells, by the t of the observed columns."""
        rows = dense_rows(x)
        there = np.asarray(np.isfinite(rows).sum(1, keepdims=True), dtype=np.float64)
        densities, squared = to_float64(self.gaussian.score(rows)), self.gaussian.mahalanobis(rows)
        with np.errstate(invalid="ignore", over="ignore"):
            # the log-density without the quadratic form and 2π terms is −½ log|Σ| of the observed columns
            halves = densities + 0.5 * (squared + there * LOG_2PI)
            bent = np.log1p(squared / (self.dof * self.spread))
            far = np.flatnonzero(~(squared < _LARGE_SQUARES).all(axis=1))
            if len(far):  # the squares leave few or no digits of the other terms
                for c, mean in enumerate(self.gaussian.means):
                    at_mean = self.gaussian.score(np.where(np.isnan(rows[far]), np.nan, mean))
                    halves[far, c] = to_float64(at_mean)[:, c] + 0.5 * there[far, 0] * LOG_2PI
            overflow = np.flatnonzero(~np.isfinite(squared).all(axis=1))
            if len(overflow):
                logs = np.log(self.gaussian.shrunk().mahalanobis(rows[overflow] * SHRINKING))
                bent[overflow] = logs - 2.0 * np.log(SHRINKING) - np.log(self.dof * self.spread)
            scores = log_heights(self.dof, there) - 0.5 * there * np.log(self.spread) + halves
            scores = scores - 0.5 * (self.dof + there) * bent
        return as_like(np.where(np.isnan(scores), -np.inf, scores), x)

    def mahalanobis(self, x: Array) -> FloatArray:
        """Return the squared distances in units of the scale matrix, n×k, over the observed cells."""
        return self.gaussian.mahalanobis(x) / self.spread

    # -- rows ---------------------------------------------------------------------------------------------------

    def sample(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return μ + √(s ν/χ²_ν) L z."""
        z = self.gaussian.sample(classes, rng) - self.gaussian.means[classes]
        return self.gaussian.means[classes] + z * self._widths(self.dof[classes], self.spread[classes], rng)

    @staticmethod
    def _widths(dof: FloatArray, spread: FloatArray, rng: np.random.Generator) -> FloatArray:
        return np.sqrt(spread * dof / rng.chisquare(dof))[:, None]

    def expected_rows(self, x: Array, shares: FloatArray) -> FloatArray:
        """Return rows with missing cells filled in; the conditional mean is that of the Gaussian."""
        return self.gaussian.expected_rows(x, shares)

    def sampled_rows(self, x: Array, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows with missing cells drawn: given m cells, a t with ν + m, wider the farther these are off."""
        rows = dense_rows(x)
        m = (~np.isnan(rows)).sum(1)
        squared = self.gaussian.mahalanobis(rows)[np.arange(len(rows)), classes]
        expected = self.gaussian.expected_rows(rows, np.eye(self.n_classes)[classes])
        noise = self.gaussian.sampled_rows(rows, classes, rng) - expected
        dof = self.dof[classes] + m
        spread = (self.dof[classes] * self.spread[classes] + squared) / dof
        return np.where(np.isnan(rows), expected + noise * self._widths(dof, spread, rng), rows)

    def marginal(self, columns: IntArray) -> StudentDistributions:
        """Return the distributions of some of the columns, with the same ν and s."""
        part = self.gaussian.marginal(columns)
        return StudentDistributions(self.family.of_part, part, self.dof, self.spread)

    def conditioned(self, columns: IntArray, cells: FloatArray) -> StudentDistributions:
        """Return the other columns given the cells of `columns`, 1×m: a t with ν + m, and s (ν + q/s)/(ν + m)."""
        squared = self.gaussian.marginal(columns).mahalanobis(cells)[0]
        dof = self.dof + len(columns)
        rest = self.gaussian.conditioned(columns, cells)
        return StudentDistributions(rest.family, rest, dof, (self.dof * self.spread + squared) / dof)

    def log_ratio(self, x: Array, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what each column adds to the log-ratio, and the rest that belongs to no column.

        −(ν + d)/2 log(1 + q/(ν s)) is split among the columns in proportion to the terms of q = Σ_j z_j (Σ⁻¹ z)_j,
        z = x − μ, and −½ log(s σ²_j) is the column's own; the remainder of the normaliser is the rest.
        """
        rows = dense_rows(x)
        observed = observed_cells(rows)
        if observed is None:
            return self._split(rows, a, b)
        terms, left = np.zeros_like(rows), np.zeros(len(rows))
        for pattern in patterns_of(to_float64(observed) > 0):
            members, columns = pattern.rows, pattern.there
            if len(columns):
                part = self.marginal(columns)._split(rows[np.ix_(members, columns)], a[members], b[members])
                terms[np.ix_(members, columns)], left[members] = part
        return terms, left

    def _split(self, rows: FloatArray, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        d = rows.shape[1]
        scales = self.gaussian.variance() * self.spread[:, None]
        terms = np.zeros_like(rows)
        for c in np.union1d(a, b):
            z = rows - self.gaussian.means[c]
            if self.gaussian.family.structure.diagonal:
                each = z * z / self.gaussian.variance()[c]
            else:
                whitener = self.gaussian.form.whitener_of(int(c))
                each = z * ((z @ whitener.T) @ whitener)
            squared = np.maximum(each.sum(1, keepdims=True), 0.0)
            over = self.dof[c] * self.spread[c]
            slope = np.divide(
                np.log1p(squared / over), squared, out=np.full(squared.shape, 1.0 / over), where=squared > 0
            )
            own = -0.5 * ((self.dof[c] + d) * slope * each + np.log(scales[c]))
            terms += own * ((a == c).astype(float) - (b == c))[:, None]
        determinants = self._log_determinants + d * np.log(self.spread)
        left = log_heights(self.dof, d) - 0.5 * (determinants - np.log(scales).sum(1))
        return terms, left[a] - left[b]
