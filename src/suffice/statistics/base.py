"""Sufficient statistics: weighted sums that add, subtract and save.

Every statistic has one row per class. An empty one is the identity of ``+``. Statistics over fewer classes (or
categories) than the other operand count as zero for the rest, so that sums taken before a class was first seen still
add. All are immutable NumPy float64, whatever library the rows were in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray

_REGISTRY: dict[str, type[Statistics]] = {}


class NotContainedError(ValueError):
    """An error because sums that only grow would become negative: what is subtracted was never added.

    Parameters
    ----------
    c : int
        The number of the class.
    left : float
        What would be left of a sum.
    """

    def __init__(self, c: int, left: float) -> None:
        self.c = c
        self.left = left
        super().__init__(
            f"statistics can only be subtracted from sums that contain them: class number {c} would be left with "
            f"{left:g}; subtract only rows that were added before"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.c, self.left)


@dataclass(frozen=True, eq=False)
class Statistics(ABC):
    """Weighted sums over the rows of one block of columns, one row per class.

    ``a + b`` are the sums over the rows of both, ``a - b`` removes the rows of `b` again.
    """

    kind: ClassVar[str]
    #: the fields whose first axis is the class
    class_fields: ClassVar[tuple[str, ...]]
    #: the fields that are not sums but describe what the others are sums of
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
        """The number of classes in the sums."""
        return len(getattr(self, self.class_fields[0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the statistic, from which `from_arrays` rebuilds it."""
        return {name: getattr(self, name) for name in _names(type(self))}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild a statistic from the arrays that `arrays` returned.

        Parameters
        ----------
        arrays : mapping of str to array
            The arrays by their names.

        Returns
        -------
        Statistics
            The same sums.
        """
        return cls(**{field.name: np.array(arrays[field.name]) for field in fields(cls)})

    def with_classes(self, positions: IntArray, n_classes: int) -> Self:
        """Return the same sums with class i moved to ``positions[i]`` of `n_classes`; the others are empty.

        Parameters
        ----------
        positions : array of int, of shape (k,)
            The new number of each class.
        n_classes : int
            The new number of classes.
        """
        if is_in_place(positions, self.n_classes, n_classes):
            return self
        moved = dict(self.arrays())
        for name in self.class_fields:
            values = moved[name]
            moved[name] = np.zeros((n_classes, *values.shape[1:]))
            moved[name][positions] = values
        return type(self)(**moved)

    def only(self, kept: IntArray) -> Self:
        """Return the sums of some of the classes.

        Parameters
        ----------
        kept : array of int
            The numbers of the classes.
        """
        arrays = self.arrays()
        return type(self)(
            **{name: arrays[name][kept] if name in self.class_fields else arrays[name] for name in arrays}
        )

    @abstractmethod
    def with_columns(self, places: IntArray, n_columns: int) -> Self:
        """Return the sums of some of the `n_columns` columns of the block, in the order of `places`.

        Parameters
        ----------
        places : array of int
            The positions of the columns to keep.
        n_columns : int
            The number of columns that there were.
        """

    def times(self, factor: float) -> Self:
        """Return the sums of the same rows with `factor` times their weight.

        Parameters
        ----------
        factor : float
            The factor of every sum.
        """
        arrays = self.arrays()
        arrays.update({name: arrays[name] * factor for name in arrays if name not in self.fixed_fields})
        return type(self)(**arrays)

    @classmethod
    def combined(cls, parts: Sequence[Self], weights: Sequence[float]) -> Self:
        """Return Σ_i weights[i] · parts[i], over the same classes.

        A weight may be negative, and so may be the result: it need not be the sums of any rows.

        Parameters
        ----------
        parts : sequence of Statistics
            The sums to combine.
        weights : sequence of float
            The weight of each.
        """
        arrays = parts[-1].arrays()
        for name in arrays.keys() - set(cls.fixed_fields):
            arrays[name] = weighted_sum([getattr(part, name) for part in parts], weights)
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
        """Return the sums of both, with those of `other` times `sign`; both have the same classes."""


def statistics_from_arrays(kind: str, arrays: Mapping[str, NDArray[Any]]) -> Statistics:
    """Rebuild the statistic of this kind from its arrays."""
    return _REGISTRY[kind].from_arrays(arrays)


@cache
def _names(kind: type[Statistics]) -> tuple[str, ...]:
    """Return the names of the fields of a statistic."""
    return tuple(field.name for field in fields(kind))


def is_in_place(positions: IntArray, n_before: int, n_after: int) -> bool:
    """Return whether every class keeps its position."""
    return n_before == n_after == len(positions) and bool((positions == np.arange(n_after)).all())


def added(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a + b; counts that are broadcast from one number per class stay so."""
    if a.shape[1:] and a.strides[1] == b.strides[1] == 0:
        return np.broadcast_to(a[:, :1] + b[:, :1], a.shape)
    return a + b


def weighted_sum(arrays: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
    """Return Σ_i weights[i] · arrays[i]."""
    return np.asarray(sum(weight * values for weight, values in zip(weights, arrays, strict=True)))


def taken_out(before: FloatArray, part: FloatArray) -> FloatArray:
    """Return before − part for sums that only grow, 0 for rounding error; raise ValueError if it is negative."""
    left = before - part
    rounding = 1e-9 * np.abs(before)
    if (left < -rounding - 1e-9 * np.abs(part)).any():
        worst = np.unravel_index(np.argmin(left), left.shape)
        raise NotContainedError(int(worst[0]), float(left[worst]))
    return np.where(left <= rounding, 0.0, left)
