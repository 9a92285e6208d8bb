"""Leave-one-out of predictives: the posterior of a class without one of its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice._arrays import Array, FloatArray, to_float64
from suffice.families.cells import in_double
from suffice.families.gaussian.leaving import Density
from suffice.families.left_out import Own, OwnClass
from suffice.families.words_left_out import Words, taken_from
from suffice.posteriors.dirichlet_multinomial import DirichletMultinomialDistributions
from suffice.posteriors.predictive import gamma_ratio


class Averaged(Density):
    """Student's t: the Gaussian with its mean and covariance integrated out."""

    def widening(self, count: FloatArray) -> FloatArray | float:
        """Return 1 + 1/κ_n."""
        return 1.0 + 1.0 / count

    def log(
        self,
        squared: FloatArray,
        log_determinant: FloatArray,
        rows: FloatArray,
        d: FloatArray | float,
        less: float = 0.0,
    ) -> FloatArray:
        """Return log Γ((ν + d)/2)/Γ(ν/2) − d/2 log π − ½ log |Λ| − (ν + d)/2 log(1 + q); −∞ for ν ≤ 0."""
        dof = rows - less
        proper = dof > 0
        dof = np.where(proper, dof, 1.0)
        heights = gamma_ratio(0.5 * dof, np.asarray(0.5 * d)) - 0.5 * d * np.log(np.pi)
        found = heights - 0.5 * (log_determinant + (dof + d) * np.log1p(squared))
        return found if proper.all() else np.where(proper, found, -np.inf)


@dataclass(frozen=True, eq=False)
class DirichletMultinomialLeftOut(OwnClass):
    """Bags whose probabilities have a Dirichlet posterior: log Γ(A − wN)/Γ(A − wN + N) + Σ log Γ(α + x)/Γ(α).

    Parameters
    ----------
    total, before : arrays of shape (k, d)
        The sums, and the α of the prior.
    distributions : DirichletMultinomialDistributions
    """

    total: FloatArray
    before: FloatArray
    distributions: DirichletMultinomialDistributions

    def own_scores(self, x: Array, own: Own) -> FloatArray:
        """Return the log-density of each bag in its class without it, but for the multinomial coefficient, (n,)."""
        found = Words.of(in_double(x))
        of_row, places = found.rows, own.codes[found.rows] * self.total.shape[1] + found.words
        left = taken_from(self.total.take(places), own.weight[of_row] * found.amounts, of_row)
        terms = found.sums(gamma_ratio(left + self.before.take(places), found.amounts))
        size = found.sums(found.amounts)
        whole = np.maximum(self.total.sum(1)[own.codes] - own.weight * size, 0.0) + self.before.sum(1)[own.codes]
        return np.asarray(terms - gamma_ratio(whole, size))

    def own_cells(self, x: Array, own: Own) -> FloatArray:
        """Return the log-density of each bag in its class without it, n×1."""
        base = to_float64(self.distributions.family.log_base_measure(in_double(x)))
        return (self.own_scores(x, own) + base)[:, None]

    def ordinary(self, x: Array) -> FloatArray:
        """Return the scores of the posterior of all rows, without the multinomial coefficient."""
        return to_float64(self.distributions.score(x, common=False))
