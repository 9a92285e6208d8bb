"""Leave-one-out of categorical columns: the count of the row's own value is one less."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice._arrays import FloatArray, IntArray, to_numpy
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.families.codes import UNSEEN, Codes
from suffice.families.left_out import Own, OwnClass
from suffice.families.products import log_of
from suffice.statistics.base import NotContainedError
from suffice.statistics.category_counts import CategoryCounts


@dataclass(frozen=True, eq=False)
class CategoricalLeftOut(OwnClass):
    """p(v | own class) = (count of v + α_v − w) / (count + Σα − w), for a row of weight w with the value v.

    Parameters
    ----------
    statistics : CategoryCounts
    distributions : CategoricalDistributions
    before : array of shape (k, p)
        α, the weight of each value without rows.
    """

    statistics: CategoryCounts
    distributions: CategoricalDistributions
    before: FloatArray

    @cached_property
    def _starts(self) -> IntArray:
        sizes = np.asarray(self.statistics.sizes, dtype=np.intp)
        return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)

    @cached_property
    def _whole(self) -> tuple[FloatArray, FloatArray]:
        """The counts and Σα of each column, k×d."""
        parts = list(self.statistics.columns())
        total, before = self.statistics.total, self.before
        counts = np.stack([total[:, part].sum(1) for part in parts], axis=1)
        return counts, np.stack([before[:, part].sum(1) for part in parts], axis=1)

    @cached_property
    def _of_one(self) -> FloatArray:
        """The log-probability of each value without a row of weight 1, k×p; NaN where there is no such row."""
        counts, before = (np.repeat(part, self.statistics.sizes, axis=1) for part in self._whole)
        total = self.statistics.total
        found = _log_share(total - 1.0, counts - 1.0, total, counts, self.before, before)
        return np.where(total >= 1.0 - 1e-9, found, np.nan)

    def own_cells(self, x: Codes, own: Own) -> FloatArray:
        """Return the log-probability of each cell's value in its class without the row; 0 for a missing cell."""
        codes = np.asarray(to_numpy(self.distributions._known(x)), dtype=np.intp)
        if codes.shape[1] == 0 or self.statistics.total.shape[1] == 0:
            return np.zeros(codes.shape)
        classes, width = own.codes[:, None], self.statistics.total.shape[1]
        there = codes >= 0
        places = np.where(there, self._starts + codes, 0) + classes * width
        if (own.weight == 1.0).all():
            cells = self._of_one.take(places)
            bad = np.isnan(cells)
        else:
            w, (counts, whole) = own.weight[:, None], (part[own.codes] for part in self._whole)
            total = self.statistics.total.take(places)
            bad = total - w < -1e-9 * (total + w)
            cells = _log_share(total - w, counts - w, total, counts, self.before.take(places), whole)
        bad = (bad & there) | (codes == UNSEEN)
        if bad.any():
            raise NotContainedError(int(np.argwhere(bad)[0, 0]), -1.0)
        return np.where(there, cells, 0.0)


def _log_share(
    left: FloatArray,
    rows_left: FloatArray,
    total: FloatArray,
    counts: FloatArray,
    before: FloatArray,
    whole: FloatArray,
) -> FloatArray:
    """Return log (left + α) / (rows left + Σα), with sums that are only rounding error taken as 0; −∞ without any."""
    left = np.where(left > 1e-9 * total, left, 0.0) + before
    rows = np.where(rows_left > 1e-9 * counts, rows_left, 0.0) + whole
    return log_of(np.divide(left, rows, out=np.zeros(np.broadcast(left, rows).shape), where=rows > 0))
