"""Rows with missing cells under Gaussians with covariances: their marginals, and the expectations of missing cells.

Consecutive rows with the same missing cells are processed together (`missing_in_runs`), the others one by one
(`missing_by_row`); scores never use imputed values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, as_like, to_float64
from suffice.families.gaussian.missing_by_row import Conditioned, MissingByRow, expected_moments, ill_conditioned
from suffice.families.gaussian.missing_in_runs import Marginals
from suffice.families.gaussian.quadratic import LOG_2PI, MOST_PAIRED, QuadraticForm
from suffice.statistics.moments import DiagonalMoments, FullMoments, Moments, TiedMoments
from suffice.statistics.responsibilities import PartialLabels, Responsibilities, SoftLabels


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """Scores and expected moments of rows with missing cells.

    Parameters
    ----------
    means : array of shape (k, d)
    compact : array of shape (k, d, d), or (1, d, d) if the classes share it
    form : QuadraticForm
    layout : type of Moments
        The moments to return.
    complete : callable
        Returns the moments of rows without missing cells.
    """

    means: FloatArray
    compact: FloatArray
    form: QuadraticForm
    layout: type[Moments]
    complete: Callable[[Array, Responsibilities], Moments]

    def score_in_runs(self, x: Array) -> Array | None:
        """Return the log-densities, n×k, of rows with the same missing cells together; None if some are not finite."""
        found = None if self._marginals is None else self._marginals.scores(x)
        if found is None:
            return None
        if len(found.rest):
            rows = x[found.rest]
            found.scores[:, found.rest] = self.score_by_row(rows, ~np.isnan(rows)).T
        return as_like(found.scores.T, x) if np.isfinite(found.scores).all() else None

    def score_by_row(self, x: Array, observed: Array) -> Array:
        """Return the log-densities, n×k: each row by the marginal of its observed cells, never by imputed values."""
        rows, there = to_float64(x), to_float64(observed) > 0
        if self._precision is not None:
            scores = compiled.missing_scores(rows, self.means, self._precision, self.log_determinants)
            if scores is not None:
                return as_like(scores - 0.5 * LOG_2PI * there.sum(1, keepdims=True), x)
        by_row = MissingByRow(rows, there)
        by_class = [by_row.log_density(self._conditioned(by_row, c)) for c in range(len(self.means))]
        return as_like(np.stack(by_class, axis=1), x)

    def squared_distance(self, rows: FloatArray, there: NDArray[np.bool_]) -> FloatArray:
        """Return (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c) over the observed cells, n×k."""
        cells = MissingByRow(rows, there)
        return np.stack([self._conditioned(cells, c).squared for c in range(len(self.means))], axis=1)

    def statistics(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the moments of the rows, with the conditional expectations of missing cells and of their squares."""
        in_runs = self._statistics_in_runs(x, responsibilities)
        return self._statistics_by_row(x, responsibilities) if in_runs is None else in_runs

    def mixture_pass(
        self, x: Array, weight: FloatArray | None, log_shares: FloatArray
    ) -> tuple[FloatArray, Moments, float] | None:
        """Return weights, moments and log-likelihood: rows with the same missing cells together, others one by one."""
        if self._marginals is None:
            return None
        found = self._marginals.expect(x, weight, log_shares)
        if found is None:
            return None
        count, log_likelihood = found.count, found.log_likelihood
        moments = moments_about(self._marginals.origin, count, found.first, found.second, self.layout)
        if moments is None:
            return None
        if len(found.rest):
            rows, own = x[found.rest], None if weight is None else weight[found.rest]
            known = PartialLabels(None, own, len(self.means), len(rows))
            posterior, of_rest = known.expect(to_float64(self.score_by_row(rows, ~np.isnan(rows))) + log_shares)
            moments += self._statistics_by_row(rows, posterior)
            count, log_likelihood = count + posterior.totals(), log_likelihood + of_rest
        return count, moments, log_likelihood

    def filled(self, rows: FloatArray, shares: FloatArray) -> FloatArray:
        """Return rows with missing cells replaced by their mean over the classes, weighted by `shares`, n×k."""
        there = ~np.isnan(rows)
        filled, some = rows.copy(), np.flatnonzero(~there.all(1))
        cells = MissingByRow(rows[some], there[some])
        expected = np.zeros((len(some), rows.shape[1]))
        for c in range(len(self.means)):
            expected += shares[some, c, None] * (self.means[c] + self._conditioned(cells, c).deviation)
        filled[some] = np.where(there[some], rows[some], expected)
        return filled

    def drawn(self, rows: FloatArray, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows with missing cells drawn: the conditional mean plus noise with the conditional covariance."""
        there = ~np.isnan(rows)
        incomplete = ~there.all(1)
        filled = rows.copy()
        for c in np.unique(classes[incomplete]).tolist():
            some = np.flatnonzero(incomplete & (classes == c))
            drawn = self.means[c] + self._conditioned(MissingByRow(rows[some], there[some]), c).draw(rng)
            filled[some] = np.where(there[some], rows[some], drawn)
        return filled

    def _statistics_in_runs(self, x: Array, responsibilities: Responsibilities) -> Moments | None:
        """Return the expected moments, of rows with the same missing cells together; None if they would lose digits."""
        if self._marginals is None:
            return None
        weights = to_float64(responsibilities.matrix(np.empty(0)))
        found = self._marginals.moments(x, weights)
        if found is None:
            return None
        moments = moments_about(self._marginals.origin, found.count, found.first, found.second, self.layout)
        if moments is not None and len(found.rest):
            moments += self._statistics_by_row(x[found.rest], SoftLabels(weights[found.rest]))
        return moments

    def _statistics_by_row(self, x: Array, responsibilities: Responsibilities) -> Moments:
        """Return the expected moments of rows with missing cells, one by one, plus the moments of complete rows."""
        there = np.asarray(~np.isnan(to_float64(x)))
        complete = np.asarray(there.all(axis=1))
        total = self.complete(x[complete], responsibilities[complete])
        rows, weights = to_float64(x)[~complete], to_float64(responsibilities[~complete].matrix(np.empty(0)))
        if self._precision is not None:
            found = compiled.missing_moments(rows, self.means, self._precision, weights)
            if found is not None:
                expected = FullMoments(weights.sum(0)[:, None], self.means, *found)
                return total + expected.to_layout(self.layout)
        by_row = MissingByRow(rows, there[~complete])
        parts = [
            expected_moments(self._conditioned(by_row, c), weights[:, c], self.means[c]) for c in range(len(self.means))
        ]
        arrays = [part.arrays() for part in parts]
        expected = FullMoments(**{name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]})
        return total + expected.to_layout(self.layout)

    @cached_property
    def _precision(self) -> FloatArray | None:
        """The inverse covariances, k×d×d; None if a covariance is too ill-conditioned for them to be reliable."""
        if any(ill_conditioned(covariance) for covariance in self.compact):
            return None
        return np.ascontiguousarray(np.broadcast_to(self.form.precision(), (*self.means.shape, self.means.shape[1])))

    @cached_property
    def log_determinants(self) -> FloatArray:
        """Log |Σ_c|, (k,)."""
        logs = [-2.0 * np.log(np.diagonal(self.form.whitener_of(c))).sum() for c in range(len(self.means))]
        return np.array(logs)

    @cached_property
    def _marginals(self) -> Marginals | None:
        """The marginals for runs of rows with the same missing cells; None if precisions are unreliable or cancel."""
        if self.means.shape[1] > MOST_PAIRED or self._precision is None:
            return None
        return Marginals.of(self.means, self._precision[: len(self.compact)], self.log_determinants)

    def _conditioned(self, by_row: MissingByRow, c: int) -> Conditioned:
        return by_row.condition(self.means[c], self.compact[min(c, len(self.compact) - 1)], self.form.whitener_of(c))


def moments_about(
    origin: FloatArray, count: FloatArray, first: FloatArray, second: FloatArray, layout: type[Moments]
) -> Moments | None:
    """Return the moments about a common origin in the given layout; None if they lose digits there."""
    center = np.broadcast_to(origin, first.shape)
    if layout is DiagonalMoments:
        moments: Moments = DiagonalMoments(np.broadcast_to(count[:, None], first.shape), center, first, second)
    elif second.ndim == 2:
        moments = TiedMoments(count[:, None], center, first, second)
    else:
        moments = FullMoments(count[:, None], center, first, second).to_layout(layout)
    return None if moments.cancels() else moments
