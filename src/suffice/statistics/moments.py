"""Means and second moments about a centre: of each column, of pairs of columns, and shared by all classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.errors import NotKeptError
from suffice.statistics.base import Statistics, taken_out


@dataclass(frozen=True, eq=False)
class Moments(Statistics):
    """First and second moments of each class about a centre near its mean.

    With z = x − centre of the row's class: ``first = Σ r z`` and ``second = Σ r z zᵀ`` (or the part that the layout
    keeps). Two moments about different centres merge exactly, by moving the lighter one:
    Σ (z + δ)(z + δ)ᵀ = second + first δᵀ + δ firstᵀ + count δ δᵀ. No raw squares are ever summed, so an offset of the
    data costs no precision.

    Parameters
    ----------
    count : array of shape (k, d) or (k, 1)
        The weight of the rows, per column if cells may be missing.
    center, first : arrays of shape (k, d)
    second : array
        (k, d), (k, d, d) or (d, d), as the layout keeps it.
    """

    count: FloatArray
    center: FloatArray
    first: FloatArray
    second: FloatArray
    class_fields: ClassVar[tuple[str, ...]] = ("count", "center", "first", "second")
    fixed_fields: ClassVar[tuple[str, ...]] = ("center",)
    description: ClassVar[str]

    @classmethod
    @abstractmethod
    def empty(cls, n_classes: int, n_columns: int) -> Moments:
        """Return the identity of ``+``, the moments of no rows."""

    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the moments of some of the columns."""
        return self.of_columns(places)

    @property
    def n_columns(self) -> int:
        """The number of columns of the block."""
        return self.center.shape[1]

    @property
    def mean(self) -> FloatArray:
        """The mean of each class, k×d; the centre if a class has no rows."""
        return self.center + _over(self.first, self.count)

    @property
    @abstractmethod
    def scatter(self) -> FloatArray:
        """Σ r (x − mean)(x − mean)ᵀ in the layout of `second`."""

    @abstractmethod
    def pooled(self) -> FloatArray:
        """Return the scatter summed over the classes, each about its own mean: (d,) or (d, d)."""

    @abstractmethod
    def _moved(self, delta: FloatArray) -> FloatArray:
        """Return the change of `second` if every centre moves by −delta."""

    def total_mean(self) -> FloatArray:
        """Return the mean over all classes, (d,)."""
        return self._total[0]

    def total_variance(self) -> FloatArray:
        """Return the variance of each column over all classes, dividing by the weight, (d,)."""
        return self._total[1]

    @cached_property
    def _total(self) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance over all classes, cached because priors, limits and checks use them repeatedly."""
        heaviest, weight, means = self.center[np.argmax(self.count[:, 0])], self.count.sum(0), self.mean
        mean = np.asarray(heaviest + _over(((means - heaviest) * self.count).sum(0), weight))
        between = (self.count * (means - mean) ** 2).sum(0)
        variance = _over(self.within() + between, weight)
        for values in (mean, variance):
            values.flags.writeable = False
        return mean, variance

    def within(self) -> FloatArray:
        """Return the sum of squares of each column about the means of the classes, (d,)."""
        squares = self._squares(self.second)
        squares = squares.sum(0) if squares.ndim == 2 else squares
        return np.maximum(squares - (self.first * _over(self.first, self.count)).sum(0), 0.0)

    def of_columns(self, columns: IntArray) -> Self:
        """Return the moments of some of the columns."""
        count = self.count if self.count.shape[1] == 1 else self.count[:, columns]
        second = self._second_of(columns)
        return type(self)(count, self.center[:, columns], self.first[:, columns], second)

    def _second_of(self, columns: IntArray) -> FloatArray:
        """Return the second moments of some of the columns."""
        return self.second[..., columns[:, None], columns]

    def cancels(self) -> bool:
        """Return whether the centre is so far from some class that its variance has lost half its digits."""
        return bool((self._squares(self.scatter) < 1e-7 * self._squares(self.second)).any())

    def _squares(self, second: FloatArray) -> FloatArray:
        """Return the sums of squares among second moments."""
        return np.diagonal(second, axis1=-2, axis2=-1)

    def to_layout(self, layout: type[Moments]) -> Moments:
        """Return the part of these moments that `layout` keeps; raise NotKeptError if it was never kept."""
        if isinstance(self, layout):
            return self
        raise NotKeptError(
            f"{layout.description} were asked for, but only {self.description} were kept; "
            f"fit again with the covariance that needs them"
        )

    def _plus(self, other: Self, sign: float) -> Self:
        if self.center is other.center or np.array_equal(self.center, other.center):
            center, delta_self, delta_other = self.center, None, None
        else:
            center = np.where(self.count >= other.count, self.center, other.center)
            delta_self, delta_other = self.center - center, other.center - center
        count = self.count + other.count if sign > 0 else taken_out(self.count, other.count)
        a, b = self._about(center, delta_self), other._about(center, delta_other)
        return type(self)(count, center, a.first + sign * b.first, a.second + sign * b.second)

    @classmethod
    def combined(cls, parts: Sequence[Self], weights: Sequence[float]) -> Self:
        """Return Σ_i weights[i] · parts[i], all about the centres of the last."""
        center = parts[-1].center
        return super().combined([part._about(center, part.center - center) for part in parts], weights)

    def _about(self, center: FloatArray, delta: FloatArray | None) -> Self:
        if delta is None or not delta.any():
            return self
        return type(self)(self.count, center, self.first + self.count * delta, self.second + self._moved(delta))


def _over(numerator: FloatArray, count: FloatArray) -> FloatArray:
    """Return numerator / count, with 0 where the count is 0."""
    return np.divide(numerator, count, out=np.zeros(np.shape(numerator)), where=count > 0)


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, :, None] * b[:, None, :]


@dataclass(frozen=True, eq=False)
class DiagonalMoments(Moments):
    """Moments of each column alone; cells may be missing, so each column has its own count."""

    kind: ClassVar[str] = "diagonal moments"
    description: ClassVar[str] = "the variances of each column"

    @classmethod
    def empty(cls, n_classes: int, n_columns: int) -> DiagonalMoments:
        """Return the identity of ``+``, the moments of no rows."""
        nothing = np.zeros((n_classes, n_columns))
        return cls(nothing, nothing, nothing, nothing)

    def _squares(self, second: FloatArray) -> FloatArray:
        return second

    def _second_of(self, columns: IntArray) -> FloatArray:
        return self.second[:, columns]

    def lifted(self, count: FloatArray, layout: type[Moments]) -> Moments:
        """Return moments in a layout of pairs of columns, as if all were uncorrelated and `count` rows complete.

        It is the starting point if rows have missing cells.
        """
        variance = _over(self.scatter, self.count)
        second = np.eye(self.n_columns) * (variance * count[:, None])[:, None, :]
        full = FullMoments(count[:, None], self.mean, np.zeros_like(self.center), second)
        return full.to_layout(layout)

    @property
    def scatter(self) -> FloatArray:
        """Σ r (x − mean)², k×d."""
        return np.maximum(self.second - self.first * _over(self.first, self.count), 0.0)

    def pooled(self) -> FloatArray:
        """Return the scatter summed over the classes, (d,)."""
        return np.asarray(self.scatter.sum(0))

    def _moved(self, delta: FloatArray) -> FloatArray:
        return 2.0 * self.first * delta + self.count * delta**2


@dataclass(frozen=True, eq=False)
class FullMoments(Moments):
    """Moments of all pairs of columns, per class; they contain what every other layout needs."""

    kind: ClassVar[str] = "full moments"
    description: ClassVar[str] = "the covariances of each class"

    @classmethod
    def empty(cls, n_classes: int, n_columns: int) -> FullMoments:
        """Return the identity of ``+``, the moments of no rows."""
        nothing = np.zeros((n_classes, n_columns))
        return cls(np.zeros((n_classes, 1)), nothing, nothing, np.zeros((n_classes, n_columns, n_columns)))

    @property
    def scatter(self) -> FloatArray:
        """Σ r (x − mean)(x − mean)ᵀ, k×d×d."""
        return self.second - _outer(_over(self.first, self.count), self.first)

    def pooled(self) -> FloatArray:
        """Return the scatter summed over the classes, d×d."""
        return np.asarray(self.scatter.sum(0))

    def to_layout(self, layout: type[Moments]) -> Moments:
        """Return the part of these moments that `layout` keeps."""
        if layout is TiedMoments:
            return TiedMoments(self.count, self.center, self.first, self.second.sum(0))
        if layout is DiagonalMoments:
            count = np.broadcast_to(self.count, self.center.shape)
            return DiagonalMoments(count, self.center, self.first, np.diagonal(self.second, axis1=1, axis2=2))
        return super().to_layout(layout)

    def _moved(self, delta: FloatArray) -> FloatArray:
        cross = _outer(self.first + 0.5 * self.count * delta, delta)
        return np.asarray(cross + cross.transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class TiedMoments(Moments):
    """First moments of each class, and the second moments of all classes summed, each about its own centre."""

    kind: ClassVar[str] = "tied moments"
    description: ClassVar[str] = "the covariance that the classes share"
    class_fields: ClassVar[tuple[str, ...]] = ("count", "center", "first")

    @classmethod
    def empty(cls, n_classes: int, n_columns: int) -> TiedMoments:
        """Return the identity of ``+``, the moments of no rows."""
        nothing = np.zeros((n_classes, n_columns))
        return cls(np.zeros((n_classes, 1)), nothing, nothing, np.zeros((n_columns, n_columns)))

    @property
    def scatter(self) -> FloatArray:
        """Σ r (x − mean of its class)(x − mean of its class)ᵀ over all classes, d×d."""
        return np.asarray(self.second - _over(self.first, self.count).T @ self.first)

    def pooled(self) -> FloatArray:
        """Return the scatter, which is summed over the classes already, d×d."""
        return self.scatter

    def _moved(self, delta: FloatArray) -> FloatArray:
        cross = (self.first + 0.5 * self.count * delta).T @ delta
        return np.asarray(cross + cross.T)
