"""Sufficient statistics: weighted sums that add, subtract and save.

Every statistic has one row a class. An empty one is the identity of ``+``; statistics over fewer classes (or
categories) than the other side are read as zero for the rest, so that sums taken before a class was first
seen still add. All are immutable NumPy float64, whatever library the rows were in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray
from suffice.errors import NotKeptError

_REGISTRY: dict[str, type[Statistics]] = {}


@dataclass(frozen=True, eq=False)
class Statistics(ABC):
    """Weighted sums over the rows of one block of columns, one row a class.

    ``a + b`` are the sums over the rows of both, ``a - b`` takes the rows of `b` out again.
    """

    kind: ClassVar[str]
    #: the fields whose first axis is the class
    class_fields: ClassVar[tuple[str, ...]]
    #: the fields that are no sums, but say what the others are sums of
    fixed_fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            _REGISTRY[cls.kind] = cls

    def __post_init__(self) -> None:
        for name in _names(type(self)):
            values = getattr(self, name)
            if values.flags.writeable:
                values = values.view()
                values.flags.writeable = False
                object.__setattr__(self, name, values)

    @property
    def n_classes(self) -> int:
        """How many classes the sums are kept for."""
        return len(getattr(self, self.class_fields[0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the plain arrays that make up the statistic; `from_arrays` is the way back."""
        return {name: getattr(self, name) for name in _names(type(self))}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild a statistic from what `arrays` gave."""
        return cls(**{field.name: np.array(arrays[field.name]) for field in fields(cls)})

    def with_classes(self, positions: IntArray, n_classes: int) -> Self:
        """Return the same sums with class i moved to ``positions[i]`` of `n_classes`; the others are empty."""
        if _in_place(positions, self.n_classes, n_classes):
            return self
        moved = dict(self.arrays())
        for name in self.class_fields:
            values = moved[name]
            moved[name] = np.zeros((n_classes, *values.shape[1:]))
            moved[name][positions] = values
        return type(self)(**moved)

    def only(self, kept: IntArray) -> Self:
        """Return the sums of some of the classes."""
        arrays = self.arrays()
        return type(self)(
            **{name: arrays[name][kept] if name in self.class_fields else arrays[name] for name in arrays}
        )

    @abstractmethod
    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the sums of some of the `n_columns` columns of the block, in the order of their places."""

    def times(self, factor: float) -> Self:
        """Return the sums of the same rows with `factor` times their weight."""
        arrays = self.arrays()
        arrays.update({name: arrays[name] * factor for name in arrays if name not in self.fixed_fields})
        return type(self)(**arrays)

    @classmethod
    def combined(cls, parts: Sequence[Self], weights: Sequence[float]) -> Self:
        """Return Σ_i weights[i] · parts[i], over the same classes.

        A weight may be negative, and so may be what comes out: it need not be the sums of any rows.
        """
        arrays = parts[-1].arrays()
        for name in arrays.keys() - set(cls.fixed_fields):
            arrays[name] = _weighted_sum([getattr(part, name) for part in parts], weights)
        return cls(**arrays)

    def __add__(self, other: Self) -> Self:
        if type(self) is not type(other):
            return NotImplemented
        a, b = self._aligned(other)
        return a._plus(b, 1.0)

    def __sub__(self, other: Self) -> Self:
        if type(self) is not type(other):
            return NotImplemented
        a, b = self._aligned(other)
        return a._plus(b, -1.0)

    def _aligned(self, other: Self) -> tuple[Self, Self]:
        k = max(self.n_classes, other.n_classes)
        if k == min(self.n_classes, other.n_classes):
            return self, other
        return (
            self.with_classes(np.arange(self.n_classes), k),
            other.with_classes(np.arange(other.n_classes), k),
        )

    @abstractmethod
    def _plus(self, other: Self, sign: float) -> Self:
        """Return the sums of both, those of `other` times `sign`; both have the same classes."""


def statistics_from_arrays(kind: str, arrays: Mapping[str, NDArray[Any]]) -> Statistics:
    """Rebuild the statistic of that kind from its plain arrays."""
    return _REGISTRY[kind].from_arrays(arrays)


@dataclass(frozen=True, eq=False)
class Sums(Statistics):
    """Plain sums of φ(x): ``total[c] = Σ r_ic φ(x_i)``, with the weight of the cells that were there.

    Parameters
    ----------
    count : array of shape (k, d)
        The weight of the observed cells of each column.
    total : array of shape (k, p)
        The sums.
    """

    count: FloatArray
    total: FloatArray
    kind: ClassVar[str] = "sums"
    class_fields: ClassVar[tuple[str, ...]] = ("count", "total")

    @classmethod
    def empty(cls, n_classes: int, n_columns: int, n_statistics: int | None = None) -> Sums:
        """Return the identity of ``+``: no rows at all."""
        return cls(np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_statistics or n_columns)))

    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the sums of some of the columns; a count that is one for all of them stays."""
        k = len(self.total)
        count = self.count[:, places] if self.count.shape[1] == n_columns else self.count
        return type(self)(count, self.total.reshape(k, -1, n_columns)[:, :, places].reshape(k, -1))

    def _plus(self, other: Self, sign: float) -> Self:
        if sign > 0:
            return type(self)(_added(self.count, other.count), self.total + other.total)
        return type(self)(_taken_out(self.count, other.count), _taken_out(self.total, other.total))


@dataclass(frozen=True, eq=False)
class SignedSums(Sums):
    """Sums of a φ(x) that may be negative, like log x, so that only the weights tell whether rows can be taken out.

    Where φ of a cell has several parts, `total` has the columns of the first part, then those of the second, and so on.
    """

    kind: ClassVar[str] = "signed sums"

    def _plus(self, other: Self, sign: float) -> Self:
        if sign > 0:
            return super()._plus(other, sign)
        count = _taken_out(self.count, other.count)
        left = np.tile(count > 0, (1, self.total.shape[1] // count.shape[1]))
        return type(self)(count, np.where(left, self.total - other.total, 0.0))


@dataclass(frozen=True, eq=False)
class CategoryCounts(Statistics):
    """How often each value of each column was seen: the columns side by side, each as wide as it has values.

    Parameters
    ----------
    total : array of shape (k, sum of sizes)
    sizes : array of shape (d,)
        How many values each column has. Values are only ever appended, so counts over fewer values still add.
    """

    total: FloatArray
    sizes: IntArray
    kind: ClassVar[str] = "categories"
    class_fields: ClassVar[tuple[str, ...]] = ("total",)
    fixed_fields: ClassVar[tuple[str, ...]] = ("sizes",)

    @classmethod
    def empty(cls, n_classes: int, sizes: IntArray) -> CategoryCounts:
        """Return the identity of ``+``: no rows at all."""
        return cls(np.zeros((n_classes, int(np.sum(sizes)))), np.asarray(sizes))

    def columns(self) -> Iterator[slice]:
        """Yield where each column's values lie in `total`."""
        stops = np.cumsum(self.sizes)
        return (slice(int(stop - size), int(stop)) for stop, size in zip(stops, self.sizes, strict=True))

    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the counts of some of the columns."""
        columns = list(self.columns())
        return type(self)(np.concatenate([self.total[:, columns[j]] for j in places], axis=1), self.sizes[places])

    def with_values(self, positions: list[IntArray], sizes: IntArray) -> CategoryCounts:
        """Return the same counts with value v of column j moved to ``positions[j][v]`` of ``sizes[j]``."""
        moved = CategoryCounts.empty(self.n_classes, sizes)
        total = np.array(moved.total)
        for source, target, where in zip(self.columns(), moved.columns(), positions, strict=True):
            total[:, target.start + where] = self.total[:, source]
        return CategoryCounts(total, moved.sizes)

    def _plus(self, other: Self, sign: float) -> Self:
        a: CategoryCounts = self
        b: CategoryCounts = other
        if not np.array_equal(a.sizes, b.sizes):
            sizes = np.maximum(a.sizes, b.sizes)
            a = a.with_values([np.arange(size) for size in a.sizes], sizes)
            b = b.with_values([np.arange(size) for size in b.sizes], sizes)
        return type(self)(a.total + b.total if sign > 0 else _taken_out(a.total, b.total), a.sizes)


@dataclass(frozen=True, eq=False)
class Moments(Statistics):
    """First and second moments of each class about a centre near its mean.

    With z = x − centre of the row's class: ``first = Σ r z`` and ``second = Σ r z zᵀ`` (or what the layout keeps
    of it). Two moments about different centres merge exactly, by moving the lighter one:
    Σ (z + δ)(z + δ)ᵀ = second + first δᵀ + δ firstᵀ + count δ δᵀ. No sum of raw squares is ever taken, so an
    offset of the data costs no digits.

    Parameters
    ----------
    count : array of shape (k, d) or (k, 1)
        The weight of the rows, for each column where cells may be missing.
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
        """Return the identity of ``+``: no rows at all."""

    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the moments of some of the columns."""
        return self.of_columns(places)

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.center.shape[1]

    @property
    def mean(self) -> FloatArray:
        """The mean of each class, k×d; the centre where a class has no rows."""
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
        """Return what `second` gains when every centre moves by −delta."""

    def total_mean(self) -> FloatArray:
        """Return the mean over all classes, (d,)."""
        return self._total[0]

    def total_variance(self) -> FloatArray:
        """Return the variance of each column over all classes, dividing by the weight, (d,)."""
        return self._total[1]

    @cached_property
    def _total(self) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance over all classes, which priors, limits and checks ask for again and again."""
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
        """Whether the centre is so far from some class that its variance has lost half its digits."""
        return bool((self._squares(self.scatter) < 1e-7 * self._squares(self.second)).any())

    def _squares(self, second: FloatArray) -> FloatArray:
        """Return the sums of squares among second moments."""
        return np.diagonal(second, axis1=-2, axis2=-1)

    def to_layout(self, layout: type[Moments]) -> Moments:
        """Return what `layout` keeps of these moments, or say that it was never kept."""
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
        count = self.count + other.count if sign > 0 else _taken_out(self.count, other.count)
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


@cache
def _names(kind: type[Statistics]) -> tuple[str, ...]:
    """Return the names of the fields of a statistic."""
    return tuple(field.name for field in fields(kind))


def _in_place(positions: IntArray, n_before: int, n_after: int) -> bool:
    """Whether every class stays where it is."""
    return n_before == n_after == len(positions) and bool((positions == np.arange(n_after)).all())


def _added(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a + b; counts that are one number for all columns stay one."""
    if a.shape[1:] and a.strides[1] == b.strides[1] == 0:
        return np.broadcast_to(a[:, :1] + b[:, :1], a.shape)
    return a + b


def _weighted_sum(arrays: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
    """Return Σ_i weights[i] · arrays[i]."""
    return np.asarray(sum(weight * values for weight, values in zip(weights, arrays, strict=True)))


def _taken_out(before: FloatArray, part: FloatArray) -> FloatArray:
    """Return before − part for sums that only grow, with what rounding left set to 0; refuse to go below it."""
    left = before - part
    rounding = 1e-9 * np.abs(before)
    if (left < -rounding - 1e-9 * np.abs(part)).any():
        worst = np.unravel_index(np.argmin(left), left.shape)
        raise ValueError(
            f"statistics can only be subtracted from sums that contain them: class number {worst[0]} would be left "
            f"with {left[worst]:g}; subtract only rows that were added before"
        )
    return np.where(left <= rounding, 0.0, left)


def _over(numerator: FloatArray, count: FloatArray) -> FloatArray:
    """Return numerator / count, and 0 where nothing was counted."""
    return np.divide(numerator, count, out=np.zeros(np.shape(numerator)), where=count > 0)


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, :, None] * b[:, None, :]


@dataclass(frozen=True, eq=False)
class DiagonalMoments(Moments):
    """Moments of each column alone; cells may be missing, each column with its own count."""

    kind: ClassVar[str] = "diagonal moments"
    description: ClassVar[str] = "the variances of each column"

    @classmethod
    def empty(cls, n_classes: int, n_columns: int) -> DiagonalMoments:
        """Return the identity of ``+``: no rows at all."""
        nothing = np.zeros((n_classes, n_columns))
        return cls(nothing, nothing, nothing, nothing)

    def _squares(self, second: FloatArray) -> FloatArray:
        return second

    def _second_of(self, columns: IntArray) -> FloatArray:
        return self.second[:, columns]

    def lifted(self, count: FloatArray, layout: type[Moments]) -> Moments:
        """Return moments in a layout of pairs of columns, as if all were uncorrelated and `count` rows complete.

        It is where to begin when rows have holes.
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
    """Moments of all pairs of columns, for each class; they hold what every other layout needs."""

    kind: ClassVar[str] = "full moments"
    description: ClassVar[str] = "the covariances of each class"

    @classmethod
    def empty(cls, n_classes: int, n_columns: int) -> FullMoments:
        """Return the identity of ``+``: no rows at all."""
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
        """Return what `layout` keeps of these moments."""
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
        """Return the identity of ``+``: no rows at all."""
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


@dataclass(frozen=True, eq=False)
class JointStatistics:
    """The sums of a whole model of p(x, y): the weight of each class, and each block's statistics.

    It is what a learning kernel returns for its chunk and what an engine adds up.
    """

    class_count: FloatArray
    blocks: tuple[Statistics, ...]

    def __add__(self, other: JointStatistics) -> JointStatistics:
        return self._combine(other, 1.0)

    def __sub__(self, other: JointStatistics) -> JointStatistics:
        return self._combine(other, -1.0)

    def _combine(self, other: JointStatistics, sign: float) -> JointStatistics:
        k = max(len(self.class_count), len(other.class_count))
        mine, theirs = self.class_count, other.class_count
        if len(mine) != len(theirs):
            mine, theirs = (np.pad(count, (0, k - len(count))) for count in (mine, theirs))
        pairs = zip(self.blocks, other.blocks, strict=True)
        if sign > 0:
            return JointStatistics(mine + theirs, tuple(a + b for a, b in pairs))
        return JointStatistics(_taken_out(mine, theirs), tuple(a - b for a, b in pairs))

    def with_classes(self, positions: IntArray, n_classes: int) -> JointStatistics:
        """Return the same sums with class i moved to ``positions[i]`` of `n_classes`."""
        if _in_place(positions, len(self.class_count), n_classes):
            return self
        class_count = np.zeros(n_classes)
        class_count[positions] = self.class_count
        return JointStatistics(class_count, tuple(block.with_classes(positions, n_classes) for block in self.blocks))

    def only(self, kept: IntArray) -> JointStatistics:
        """Return the sums of some of the classes."""
        return JointStatistics(self.class_count[kept], tuple(block.only(kept) for block in self.blocks))

    def times(self, factor: float) -> JointStatistics:
        """Return the sums of the same rows with `factor` times their weight."""
        return JointStatistics(self.class_count * factor, tuple(block.times(factor) for block in self.blocks))

    @classmethod
    def combined(cls, parts: Sequence[JointStatistics], weights: Sequence[float]) -> JointStatistics:
        """Return Σ_i weights[i] · parts[i], which with negative weights need not be the sums of any rows."""
        blocks = zip(*(part.blocks for part in parts), strict=True)
        return cls(
            _weighted_sum([part.class_count for part in parts], weights),
            tuple(type(same[-1]).combined(same, weights) for same in blocks),
        )
