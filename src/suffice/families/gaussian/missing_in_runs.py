"""Gaussian rows whose missing cells form few patterns: the matrices of a pattern are computed once for all its rows.

Consecutive rows with the same missing cells are a run. The observed cells (o) are scored and summed as complete rows
of fewer columns, and the expected moments of the missing cells (m) follow from these sums: with
W = −Σ_mo Σ_oo⁻¹,

    Σ r E[z_m] = −W Σ r z_o,   Σ r E[z_m] z_oᵀ = −W S,   Σ r E[z_m z_mᵀ] = W S Wᵀ + n Cov[z_m | z_o],   S = Σ r z_o z_oᵀ

(about the mean), so that a run of any length costs a few products of small matrices besides the pass over its rows.
The compiled kernel does that; rows outside runs are left to `missing_by_row`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.families.gaussian.quadratic import MOST_PAIRED

#: the shortest run that pays for its matrices: at least this many rows, and one row per this many columns
_FEWEST_ROWS, _COLUMNS_A_ROW = 4, 5
#: the share of rows that must be in runs for sorting all rows to pay off
_WORTH_ORDER = 0.1
#: number of rows examined before a chunk is sorted, and the largest ratio of patterns to rows for which it is sorted
_LOOKED_AT, _FEW = 512, 0.75
#: the tolerated error of the product form in a log-density
_TOLERATED = 1e-10


def shortest_run(d: int) -> int:
    """Return the number of rows of d columns from which rows with the same missing cells are processed together."""
    return max(_FEWEST_ROWS, d // _COLUMNS_A_ROW)


def _patterns(x: NDArray[Any]) -> NDArray[np.uint16]:
    """Return which cells of each row are missing, one bit per column: n×⌈d / 16⌉ numbers, 0 for complete rows."""
    packed = np.packbits(np.isnan(x), axis=1)
    words = np.zeros((len(x), -(-packed.shape[1] // 2) * 2), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint16)


def _sorted_by(patterns: NDArray[np.uint16]) -> IntArray:
    return np.lexsort(patterns.T)  # 16-bit integers are sorted in time linear in their number


def order_by_pattern(x: Array) -> IntArray | None:
    """Return an order that puts rows with the same missing cells together, complete rows first.

    None if nothing is missing, if too few rows share a pattern, or if no compiled kernel can use the order.
    """
    if compiled.library is None or not isinstance(x, np.ndarray) or x.shape[1] > MOST_PAIRED:
        return None
    patterns = _patterns(x)
    order = _sorted_by(patterns)
    ordered = patterns[order]
    begins = np.flatnonzero((ordered[1:] != ordered[:-1]).any(axis=1)) + 1
    lengths = np.diff(np.concatenate([[0], begins, [len(x)]]))
    if len(lengths) == 1 or lengths[lengths >= shortest_run(x.shape[1])].sum() < _WORTH_ORDER * len(x):
        return None
    return order


def _has_few_patterns(x: NDArray[Any]) -> bool:
    """Return whether enough rows share a pattern of missing cells for sorting to pay off."""
    return len(np.unique(_patterns(x), axis=0)) <= _FEW * len(x)


@dataclass(frozen=True, eq=False)
class Marginals:
    """Gaussians prepared for runs of rows with missing cells: precisions, and means relative to a common origin.

    Parameters
    ----------
    origin : array of shape (d,)
    means : array of shape (k, d)
        Relative to the origin.
    precision : array of shape (k, d, d), or (1, d, d) if the classes share it
    log_determinants : array of shape (k,)
        log |Σ_c|.
    """

    origin: FloatArray
    means: FloatArray
    precision: FloatArray
    log_determinants: FloatArray

    @classmethod
    def of(cls, means: FloatArray, precision: FloatArray, log_determinants: FloatArray) -> Self | None:
        """Return the marginals; None if a class is so far from the others that the product form would cancel."""
        origin = means.mean(axis=0)
        m = means - origin
        squared = np.einsum("ki,kij,kj->k", m, np.broadcast_to(precision, (len(m), *precision.shape[1:])), m)
        if squared.max() * float(np.finfo(np.float64).eps) > _TOLERATED:
            return None
        return cls(origin, m, precision, log_determinants)

    def expect(self, x: Array, weight: FloatArray | None, log_shares: FloatArray) -> compiled.PatternSums | None:
        """Return the log-likelihood and the moments weighted by the posteriors, without the rows outside runs."""
        return self._in_runs(x, log_shares, weight=weight)

    def moments(self, x: Array, shares: FloatArray) -> compiled.PatternSums | None:
        """Return the expected moments of rows weighted by `shares`, n×k, without the rows outside runs."""
        return self._in_runs(x, np.zeros(len(self.means)), given=shares)

    def scores(self, x: Array) -> compiled.PatternSums | None:
        """Return the log-densities of the observed cells of each row, k×n, without the rows outside runs."""
        return self._in_runs(x, np.zeros(len(self.means)), scores=True)

    def _in_runs(
        self,
        x: Array,
        log_shares: FloatArray,
        *,
        weight: FloatArray | None = None,
        given: FloatArray | None = None,
        scores: bool = False,
    ) -> compiled.PatternSums | None:
        """Process the rows in their order; if many are outside runs, sort those and process them once more."""
        constant = log_shares - 0.5 * self.log_determinants
        form = (self.origin, self.means, self.precision, constant, shortest_run(len(self.origin)))
        found = compiled.patterns_pass(x, *form, weight=weight, given=given, scores=scores)
        if found is None or 2 * len(found.rest) <= len(x) or not _has_few_patterns(x[found.rest[:_LOOKED_AT]]):
            return found
        rest = found.rest[_sorted_by(_patterns(np.take(x, found.rest, axis=0)))]
        weight, given = (None if part is None else part[rest] for part in (weight, given))
        more = compiled.patterns_pass(np.take(x, rest, axis=0), *form, weight=weight, given=given, scores=scores)
        if more is None:
            return None
        if scores:
            found.scores[:, rest] = more.scores
        return replace(
            found,
            log_likelihood=found.log_likelihood + more.log_likelihood,
            count=found.count + more.count,
            first=found.first + more.first,
            second=found.second + more.second,
            rest=rest[more.rest],
        )
