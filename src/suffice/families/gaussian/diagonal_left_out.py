"""Leave-one-out of Gaussian columns without covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.families.cells import dense_rows
from suffice.families.gaussian.leaving import PlugIn, Scatters, what_is_left
from suffice.families.gaussian.quadratic import LOG_2PI
from suffice.families.left_out import LeftOut, Own, OwnClass, dense_parts

#: the least share of a scatter that may be left for products of sixteen shares not to underflow
LEAST_SHARE = 1e-13


def has_nan(x: FloatArray) -> bool:
    """Return whether some number is NaN: one product finds out, faster than looking at each."""
    flat = x.ravel(order="K")
    return bool(np.isnan(np.dot(flat, flat)))


def weight_of_cells(x: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weight of each cell, 1×1 if all are the same."""
    if has_nan(x):
        return np.where(np.isnan(x), 0.0, weight[:, None])
    return weight[:1, None] if (weight == weight[0]).all() else weight[:, None]


@dataclass(frozen=True, eq=False)
class DiagonalLeftOut(OwnClass):
    """Columns without covariances, whose variances belong to one class.

    Parameters
    ----------
    scatters : Scatters
    distributions : Distributions
    one_variance : bool
        Whether the columns share their variance.
    """

    scatters: Scatters
    distributions: Any
    one_variance: bool = False

    def own_cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each cell, or of the row, in its class without the row."""
        rows = dense_rows(x)
        cells = np.empty((len(rows), rows.shape[1] if self.by_column else 1))
        for c, members in own.classes():
            part = rows[members]
            cells[members] = self._cells(part, c, weight_of_cells(part, own.weight[members]))
        return cells

    def own_scores(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each row in its class without the row, (n,)."""
        scores = np.empty(len(own))
        for part in dense_parts(x):
            rows, here, found = dense_rows(x[part]), own[part], scores[part]
            summed = self._sums(rows, here)
            if summed is None:
                for c, members in here.classes():
                    of_class = np.take(rows, members, axis=0)
                    cells = self._cells(of_class, c, weight_of_cells(of_class, here.weight[members]))
                    found[members] = cells @ np.ones(cells.shape[1])
            else:
                found[:] = summed
        return scores

    def _sums(self, x: FloatArray, own: Own) -> FloatArray | None:
        """Return log p of complete rows of one weight with few logarithms, (n,); None if that is not what they are.

        With s_j = ρ z²/Λ of column j it is a constant − ½ Σ (log (1 − s_j) + ν N/(w (N − w)) s_j/(1 − s_j)).
        """
        s, weight = self.scatters, own.weight[:1, None]
        if self.one_variance or s.known or not isinstance(s.density, PlugIn) or not (own.weight == weight[0]).all():
            return None
        left = s.count - weight
        used = np.bincount(own.codes, minlength=len(left)) > 0
        if weight[0, 0] == 0 or not (left[used] > 1e-9 * s.count[used]).all():
            return None
        left = np.where(used[:, None], left, 1.0)
        nu = s.rows - np.maximum(s.count - s.freedom, 0.0) + np.maximum(left - s.freedom, 0.0)
        factor = (s.count + s.kappa) / (left + s.kappa)
        shares = weight * factor / s.scatter
        factors = nu * factor / weight
        constant = np.where(used[:, None], LOG_2PI + np.log(s.scatter / np.where(nu > 0, nu, 1.0)), 0.0).sum(1)
        found = compiled.diagonal_left_out(x, own.codes, s.location, shares, factors, constant, LEAST_SHARE)
        if found is None:
            found = _left_out_scores(x, own, s.location, shares, factors, constant)
        return found if np.isfinite(found).all() else None

    def _cells(self, x: FloatArray, c: int, weight: FloatArray) -> FloatArray:
        leaving = self.scatters.leave(x, c, weight)
        scatter, nu = remaining(self.scatters, leaving.z, leaving.rho, leaving.rows, c, one_variance=self.one_variance)
        apart = self.scatters.apart(x, leaving)
        return columns_log(self.scatters, apart, scatter, nu, leaving.count, by_column=self.by_column)


def _left_out_scores(
    x: FloatArray, own: Own, means: FloatArray, shares: FloatArray, factors: FloatArray, constant: FloatArray
) -> FloatArray:
    """Return the scores as the compiled kernel does."""
    found = np.empty(len(x))
    for c, members in own.classes():
        share = np.take(x, members, axis=0) - means[c]
        share *= share
        share *= shares[c]
        left = 1.0 - share
        if not left.min(initial=1.0) > LEAST_SHARE:
            found[members] = np.nan
            continue
        share /= left
        found[members] = -0.5 * (share @ factors[c] + log_products(left) + constant[c])
    return found


def log_products(values: FloatArray) -> FloatArray:
    """Return Σ_j log v_ij of values between `LEAST_SHARE` and 1, by the logarithms of products of sixteen."""
    for _ in range(4):
        half = values.shape[1] // 2
        if half == 0:
            break
        products = values[:, :half] * values[:, half : 2 * half]
        if values.shape[1] % 2:
            products = np.concatenate([products, values[:, -1:]], axis=1)
        values = products
    return np.asarray(np.log(values) @ np.ones(values.shape[1]))


def remaining(
    scatters: Scatters, z: FloatArray, rho: FloatArray, lost: FloatArray, c: int | IntArray, *, one_variance: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the scatter without each row and its rows, for variances."""
    scatter, nu = scatters.of_class(scatters.scatter, c), scatters.of_class(scatters.rows, c)
    if scatters.known:
        return scatter, nu
    change = z * z
    change *= rho
    if one_variance:
        there = ~np.isnan(change)
        lost = np.where(there, lost, 0.0).sum(1, keepdims=True)
        change = np.where(there, change, 0.0).sum(1, keepdims=True)
    change /= scatter
    left = what_is_left(change)
    left *= scatter
    return left, nu - lost


def columns_log(
    scatters: Scatters, apart: FloatArray, scatter: FloatArray, nu: FloatArray, count: FloatArray, *, by_column: bool
) -> FloatArray:
    """Return log p of each cell, n×d, or of the observed cells of each row, n×1; −∞ where no scatter is left."""
    wide = scatter * scatters.density.widening(count)
    squared = apart * apart
    with np.errstate(divide="ignore", invalid="ignore"):
        squared /= wide
        logs = np.log(wide)
        if by_column:
            cells = scatters.density.log(squared, logs, nu, 1.0)
        else:
            there = ~np.isnan(squared)
            summed = np.where(there, squared, 0.0).sum(1, keepdims=True)
            cells = scatters.density.log(
                summed, np.where(there, logs, 0.0).sum(1, keepdims=True), nu, there.sum(1, keepdims=True)
            )
    if not np.isfinite(np.dot(cells.ravel(), cells.ravel())):
        observed = ~np.isnan(apart) if by_column else np.ones_like(cells, dtype=bool)
        cells = np.where(observed, np.where(scatter > 0, cells, -np.inf), 0.0)
    return cells


@dataclass(frozen=True, eq=False)
class SharedDiagonalLeftOut(LeftOut):
    """Columns without covariances, whose variances all classes share: the score for every class changes."""

    scatters: Scatters
    distributions: Any
    one_variance: bool = False

    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each cell, or of the row, under each class."""
        return np.stack(self._by_class(dense_rows(x), own), axis=2)

    def scores(self, x: Array, own: Own) -> FloatArray:
        """Return log p(x_i | c), n×k."""
        parts = [self._sums(dense_rows(x[part]), own[part]) for part in dense_parts(x)]
        found = np.concatenate(parts)
        return found if np.isfinite(found).all() else super().scores(x, own)

    def _sums(self, x: FloatArray, own: Own) -> FloatArray:
        """Return the scores; complete rows of `PlugIn` have the same scatters for every class."""
        s = self.scatters
        if self.one_variance or not isinstance(s.density, PlugIn) or has_nan(x):
            return np.stack([cells.sum(1) for cells in self._by_class(x, own)], axis=1)
        leaving = s.leave(x, own.codes, own.weight[:, None])
        scatter, nu = remaining(s, leaving.z, leaving.rho, leaving.rows, 0, one_variance=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = nu / scatter
            logs = np.log(inverse) @ np.ones(x.shape[1])
            squared = np.empty((len(x), len(s.location)))
            for c, mean in enumerate(s.location):
                delta = x - mean
                squared[:, c] = np.einsum("ij,ij,ij->i", delta, delta, inverse)
            apart = s.apart(x, leaving)
            squared[np.arange(len(x)), own.codes] = np.einsum("ij,ij,ij->i", apart, apart, inverse)
        return -0.5 * (squared + (x.shape[1] * LOG_2PI - logs)[:, None])

    def _by_class(self, x: FloatArray, own: Own) -> list[FloatArray]:
        s = self.scatters
        weight = np.where(np.isnan(x), 0.0, own.weight[:, None])
        leaving = s.leave(x, own.codes, weight)
        scatter, nu = remaining(s, leaving.z, leaving.rho, leaving.rows, 0, one_variance=self.one_variance)
        own_apart = s.apart(x, leaving)
        found = []
        for c in range(len(s.location)):
            mine = (own.codes == c)[:, None]
            apart = np.where(mine, own_apart, x - s.location[c])
            usual = s.count[c] + s.kappa if s.kappa > 0 else np.maximum(s.count[c], 1.0)
            count = np.where(mine, leaving.count, usual)
            found.append(columns_log(s, apart, scatter, nu, count, by_column=self.by_column))
        return found
