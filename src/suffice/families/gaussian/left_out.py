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
from suffice.families.gaussian.diagonal_left_out import DiagonalLeftOut, SharedDiagonalLeftOut, has_nan, weight_of_cells
from suffice.families.gaussian.leaving import Scatters, what_is_left
from suffice.families.gaussian.quadratic import whiteners
from suffice.families.left_out import LeftOut, Own, OwnClass

#: squared distances between whitened means above which their differences are computed one class at a time
_FAR = 1e5


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
        leaving = s.leave(x, c, weight_of_cells(x, weight))
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
        # k×n: a few classes side by side would be short rows
        squared = self._to_means(white, norm, codes, rho, left, means)
        own_squared = factor**2 * norm / np.where(left > 0, left, 1.0)
        alone = np.flatnonzero(factor == 0)
        if len(alone):
            away = (x[alone] - s.center) @ whitener.T
            own_squared[alone] = (away * away).sum(1)
        places, every = codes * n + np.arange(n), s.count[:, 0]
        squared.ravel()[places] = own_squared
        wide = s.density.widening(every + s.kappa if s.kappa > 0 else np.maximum(every, 1.0))
        logs = (log_determinant + np.log(np.where(left > 0, left, 1.0)))[None]
        if not isinstance(wide, float):
            of_rows = np.repeat(wide[:, None], n, axis=1)
            of_rows.ravel()[places] = s.density.widening(leaving.count[:, 0])
            squared, logs = squared / of_rows, logs + d * np.log(of_rows)
        found = s.density.log(squared, logs, s.rows[0] - leaving.rows[:, 0], float(d), d - 1.0)
        return found.T if left.all() else np.where(left[:, None] > 0, found.T, -np.inf)

    @staticmethod
    def _to_means(
        white: FloatArray, norm: FloatArray, codes: IntArray, rho: FloatArray, left: FloatArray, means: FloatArray
    ) -> FloatArray:
        """Return δᵀΛ'⁻¹δ of each class and row, k×n, with the mean of its own class as it is with the row."""
        k, n = len(means), len(codes)
        between = ((means[:, None, :] - means[None, :, :]) ** 2).sum(2)
        if between.max() < _FAR:
            products = means @ white.T
            along = products.ravel()[codes * n + np.arange(n)] - products
            along += norm
            squared = 2.0 * along
            squared -= norm
            squared += np.take(between, codes, axis=1)
        else:
            squared, along = np.empty((k, n)), np.empty((k, n))
            for c, mean in enumerate(means):
                delta = white + (means[codes] - mean)
                squared[c] = np.einsum("ij,ij->i", delta, delta)
                along[c] = np.einsum("ij,ij->i", white, delta)
        along *= along
        along *= rho / np.where(left > 0, left, 1.0)
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
