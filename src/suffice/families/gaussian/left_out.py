"""Leave-one-out of Gaussian columns, for every structure whose covariances are averages of scatters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, IntArray, to_float64
from suffice.families.cells import dense_rows
from suffice.families.gaussian.covariance.constant import NEUTRAL_VARIANCE
from suffice.families.gaussian.leaving import PlugIn, Scatters, what_is_left
from suffice.families.gaussian.quadratic import LOG_2PI, whiteners
from suffice.families.left_out import LeftOut, Own, OwnClass, dense_parts

#: squared distances between whitened means above which their differences are computed one class at a time
_FAR = 1e5
#: the least share of a scatter that may be left for products of sixteen shares not to underflow
LEAST_SHARE = 1e-13


def has_nan(x: FloatArray) -> bool:
    """Return whether some number is NaN: one product finds out, faster than looking at each."""
    flat = x.ravel(order="K")
    return bool(np.isnan(np.dot(flat, flat)))


def _weights(x: FloatArray, weight: FloatArray) -> FloatArray:
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
            cells[members] = self._cells(part, c, _weights(part, own.weight[members]))
        return cells

    def own_scores(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each row in its class without the row, (n,)."""
        scores = np.empty(len(own))
        for part in dense_parts(x):
            rows, here = dense_rows(x[part]), own[part]
            found = scores[part]
            for c, members in here.classes():
                of_class = np.take(rows, members, axis=0)
                weight = _weights(of_class, here.weight[members])
                summed = self._sums(of_class, c, weight)
                if summed is None:
                    cells = self._cells(of_class, c, weight)
                    summed = cells @ np.ones(cells.shape[1])
                found[members] = summed
        return scores

    def _sums(self, x: FloatArray, c: int, weight: FloatArray) -> FloatArray | None:
        """Return log p of complete rows of one weight with few logarithms; None if that is not what they are.

        With s_j = ρ z²/Λ of column j it is a constant − ½ Σ (log (1 − s_j) + ν N/(w (N − w)) s_j/(1 − s_j)).
        """
        scatters = self.scatters
        if len(weight) > 1 or self.one_variance or scatters.known or not isinstance(scatters.density, PlugIn):
            return None
        leaving = scatters.leave(x, c, weight)
        if weight[0, 0] == 0 or not (leaving.factor > 0).all():
            return None
        scatter, nu = scatters.scatter[c], scatters.rows[c] - leaving.rows
        share = leaving.z
        share *= share
        share *= leaving.rho / scatter
        left = 1.0 - share
        if not left.min(initial=1.0) > LEAST_SHARE:
            return None
        share /= left
        found = share @ (nu * leaving.factor / weight)[0]
        found += log_products(left)
        found += float(np.sum(LOG_2PI + np.log(scatter / nu)))
        found *= -0.5
        return found

    def _cells(self, x: FloatArray, c: int, weight: FloatArray) -> FloatArray:
        leaving = self.scatters.leave(x, c, weight)
        scatter, nu = remaining(self.scatters, leaving.z, leaving.rho, leaving.rows, c, one_variance=self.one_variance)
        apart = self.scatters.apart(x, leaving)
        return columns_log(self.scatters, apart, scatter, nu, leaving.count, by_column=self.by_column)


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
        parts = [self._by_class(dense_rows(x[part]), own[part]) for part in dense_parts(x)]
        summed = [np.stack([cells.sum(1) for cells in part], axis=1) for part in parts]
        found = np.concatenate(summed)
        if np.isneginf(found).any():
            return super().scores(x, own)
        return found

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


@dataclass(frozen=True, eq=False)
class FullLeftOut(OwnClass):
    """Columns with a covariance of each class, or with a given one."""

    scatters: Scatters
    distributions: Any

    @cached_property
    def _whiteners(self) -> tuple[FloatArray, FloatArray]:
        return whiteners(self.scatters.scatter)

    def own_cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each row in its class without the row, n×1; incomplete rows are in no covariance."""
        rows = dense_rows(x)
        complete: NDArray[np.bool_] = np.asarray(~np.isnan(rows).any(1)) if has_nan(rows) else np.ones(len(rows), bool)
        found = np.empty(len(rows))
        for c, members in own.classes():
            there = members[complete[members]]
            if len(there):
                found[there] = self._scores(np.take(rows, there, axis=0), c, own.weight[there])
        if not complete.all():
            incomplete = np.flatnonzero(~complete)
            scores = to_float64(self.distributions.score(rows[incomplete]))
            found[incomplete] = scores[np.arange(len(incomplete)), own.codes[incomplete]]
        return found[:, None]

    def _scores(self, x: FloatArray, c: int, weight: FloatArray) -> FloatArray:
        s, d = self.scatters, x.shape[1]
        leaving = s.leave(x, c, _weights(x, weight))
        factor, rho, count = (values[:, 0] for values in (leaving.factor, leaving.rho, leaving.count))
        whitener, log_determinant = (s.of_class(part, c) for part in self._whiteners)
        white = leaving.z @ whitener.T
        norm = np.einsum("ij,ij->i", white, white)
        left = what_is_left(rho * norm)
        squared = factor**2 * norm
        alone = np.broadcast_to(factor == 0, norm.shape)
        if alone.any():
            away = (x[alone] - s.center) @ whitener.T
            squared = np.where(alone, 0.0, squared)
            squared[alone] = (away * away).sum(1)
        wide = s.density.widening(count)
        nu = s.of_class(s.rows, c) - leaving.rows[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = log_determinant + np.log(left) + d * np.log(wide)
            found = s.density.log(squared / (left * wide), logs, nu, float(d), d - 1.0)
        return np.where(left > 0, found, -np.inf)


@dataclass(frozen=True, eq=False)
class TiedLeftOut(LeftOut):
    """Columns with one covariance for all classes: the score for every class changes.

    For another class c, with δ = x − m_c, δᵀΛ'⁻¹δ = δᵀΛ⁻¹δ + ρ (zᵀΛ⁻¹δ)² / (1 − s).
    """

    scatters: Scatters
    distributions: Any

    @cached_property
    def _white(self) -> tuple[FloatArray, float, FloatArray]:
        """The whitener of Λ, its log-determinant, and the whitened means, k×d."""
        (whitener,), (log_determinant,) = whiteners(self.scatters.scatter)
        location = self.scatters.location
        return whitener, float(log_determinant), (location - location.mean(0)) @ whitener.T

    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each row under each class, n×1×k."""
        rows = dense_rows(x)
        if not has_nan(rows):
            return self._scores(rows, own)[:, None, :]
        complete = ~np.isnan(rows).any(1)
        found = np.array(to_float64(self.distributions.score(rows)))  # incomplete rows are in no covariance
        there = np.flatnonzero(complete)
        if len(there):
            found[there] = self._scores(rows[there], own[there])
        return found[:, None, :]

    def _scores(self, x: FloatArray, own: Own) -> FloatArray:
        s, (n, d), codes = self.scatters, x.shape, own.codes
        whitener, log_determinant, means = self._white
        leaving = s.leave(x, codes, own.weight[:, None])
        factor, rho = leaving.factor[:, 0], leaving.rho[:, 0]
        white = leaving.z @ whitener.T
        norm = np.einsum("ij,ij->i", white, white)
        left = what_is_left(rho * norm)
        squared = self._to_means(white, norm, codes, rho, left, means)
        own_squared = factor**2 * norm / np.where(left > 0, left, 1.0)
        alone = np.flatnonzero(factor == 0)
        if len(alone):
            away = (x[alone] - s.center) @ whitener.T
            own_squared[alone] = (away * away).sum(1)
        rows, every = np.arange(n), s.count[:, 0]
        squared[rows, codes] = own_squared
        wide = s.density.widening(every + s.kappa if s.kappa > 0 else np.maximum(every, 1.0))
        logs = (log_determinant + np.log(np.where(left > 0, left, 1.0)))[:, None]
        if not isinstance(wide, float):
            of_rows = np.repeat(wide[None], n, axis=0)
            of_rows[rows, codes] = s.density.widening(leaving.count[:, 0])
            squared, logs = squared / of_rows, logs + d * np.log(of_rows)
        found = s.density.log(squared, logs, s.rows[0] - leaving.rows, float(d), d - 1.0)
        return found if left.all() else np.where(left[:, None] > 0, found, -np.inf)

    @staticmethod
    def _to_means(
        white: FloatArray, norm: FloatArray, codes: IntArray, rho: FloatArray, left: FloatArray, means: FloatArray
    ) -> FloatArray:
        """Return δᵀΛ'⁻¹δ of each row and class, n×k, with the mean of its own class as it is with the row."""
        between = ((means[:, None, :] - means[None, :, :]) ** 2).sum(2)
        if between.max() < _FAR:
            products = white @ means.T
            along = np.take(products.ravel(), np.arange(len(codes)) * len(means) + codes)[:, None] - products
            along += norm[:, None]
            squared = 2.0 * along
            squared -= norm[:, None]
            squared += np.take(between, codes, axis=0)
        else:
            squared, along = np.empty((len(codes), len(means))), np.empty((len(codes), len(means)))
            for c, mean in enumerate(means):
                delta = white + (means[codes] - mean)
                squared[:, c] = np.einsum("ij,ij->i", delta, delta)
                along[:, c] = np.einsum("ij,ij->i", white, delta)
        along *= along
        along *= (rho / np.where(left > 0, left, 1.0))[:, None]
        squared += along
        return squared


def left_out_of(family: Any, scatters: Scatters, distributions: Any) -> LeftOut:
    """Return the scores without each row of columns that vary, for a structure whose covariances are averages."""
    structure = family.structure
    own = structure.name not in ("tied", "tied-diagonal", "tied-spherical")
    if not structure.diagonal:
        return FullLeftOut(scatters, distributions) if own else TiedLeftOut(scatters, distributions)
    kind = DiagonalLeftOut if own else SharedDiagonalLeftOut
    return kind(scatters, distributions, structure.one_variance)


@dataclass(frozen=True, eq=False)
class BesideConstants(LeftOut):
    """Columns that vary, beside columns that hold one value, which say nothing about the class.

    Parameters
    ----------
    varying : array of int
        The columns that vary.
    inner : LeftOut or None
        That of these columns; None if there are none.
    distributions : Distributions
        Those of all columns.
    values : array of shape (d,)
        The values of the constant columns, at their places.
    """

    varying: IntArray
    inner: LeftOut | None
    distributions: Any
    values: FloatArray

    @property
    def by_column(self) -> bool:
        """Whether the columns that vary have log-densities of their own."""
        return self.inner is None or self.inner.by_column

    def scores(self, x: Array, own: Own) -> FloatArray:
        """Return the scores of the columns that vary, n×k."""
        if self.inner is None:
            return np.zeros((x.shape[0], self.distributions.n_classes))
        return self.inner.scores(x[:, self.varying], own)

    def cells(self, x: Array, own: Own) -> FloatArray:
        """Return log p of each column, or of all of them, under each class."""
        n, d, k = x.shape[0], x.shape[1], self.distributions.n_classes
        still = np.setdiff1d(np.arange(d), self.varying)
        off = dense_rows(x[:, still]) - self.values[still]
        terms = np.where(np.isnan(off), 0.0, -0.5 * off * off / NEUTRAL_VARIANCE)
        inner = None if self.inner is None else self.inner.cells(x[:, self.varying], own)
        if not self.by_column:
            assert inner is not None
            return inner + terms.sum(1)[:, None, None]
        cells = np.empty((n, d, k))
        cells[:, still] = terms[:, :, None]
        if inner is not None:
            cells[:, self.varying] = inner
        return cells
