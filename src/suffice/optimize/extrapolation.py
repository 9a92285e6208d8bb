"""Extrapolation steps of EM: parameters beyond the next iteration, predicted from the last few."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Model = TypeVar("Model")
Sums = TypeVar("Sums")

#: extrapolation begins when the relative gain of an iteration is at most this: before, EM has not settled on an optimum
_SETTLED = 1e-4
#: the maximum length of the first extrapolation step, and the factor by which the maximum grows or shrinks
_FIRST, _LONGER = 4.0, 4.0
#: a shorter extrapolation step is not worth its pass over the rows
_SHORTEST = 1.2


def accelerates(acceleration: str | None) -> bool:
    """Return whether the parameter `acceleration` asks for extrapolation; raise ValueError if it is not valid."""
    if acceleration not in (None, "squarem"):
        raise ValueError(f"acceleration must be None or 'squarem', not {acceleration!r}")
    return acceleration is not None


class Squarem(Generic[Model, Sums]):
    """Squared extrapolation of EM (Varadhan and Roland 2008), in the space of the expected statistics.

    Three iterations give statistics S₀, S₁ and S₂. If each step were λ times the previous one, they would converge to
    S₀ + a (S₁ − S₀) with a = 1 / (1 − λ). An extrapolation step applies this twice, from S₀ and from S₁:

        S = (1 − a)² S₀ + 2a (1 − a) S₁ + a² S₂

    which is S₂ for a = 1. Statistics are sums, so this works in the same way for every family. The gains of the bound
    shrink by λ² per iteration, so λ is estimated from them and does not depend on the units of the columns.

    Parameters
    ----------
    extrapolate : callable
        Returns the model estimated from a weighted sum of statistics, starting from the given model; None if there is
        no estimate.

    Examples
    --------
    >>> halves = Squarem(lambda parts, weights, start: sum(w * s for w, s in zip(weights, parts)))
    >>> for s in (8.0, 4.0, 2.0):  # towards 0, where −s² has its maximum
    ...     candidate = halves.after(s, -1e-6 * s**2, s / 2)
    >>> candidate
    0.0
    """

    def __init__(self, extrapolate: Callable[[Sequence[Sums], Sequence[float], Model], Model | None]) -> None:
        self._extrapolate = extrapolate
        self._statistics: list[Sums] = []
        self._bounds: list[float] = []
        self._longest = _FIRST
        #: the length of the current extrapolation step; 0 if there is none
        self._length = 0.0

    def after(self, statistics: Sums, bound: float, model: Model) -> Model | None:
        """Return the extrapolated model after an iteration that did not lower the bound; None to go on with `model`."""
        if self._length:
            self._longest *= _LONGER if self._length == self._longest else 1.0
            self._begin([], [])
        self._statistics.append(statistics)
        self._bounds.append(bound)
        if len(self._bounds) < 3:
            return None
        candidate = self._candidate(model) if self._settled() else None
        if candidate is None:
            self._begin(self._statistics[-1:], self._bounds[-1:])
        return candidate

    def take_back(self) -> None:
        """Discard an extrapolation step that lowered the bound, and reduce the maximum length, but not below _FIRST."""
        self._longest = max(_FIRST, self._longest / _LONGER)
        self._begin(self._statistics[-1:], self._bounds[-1:])

    def _begin(self, statistics: list[Sums], bounds: list[float]) -> None:
        self._statistics, self._bounds, self._length = statistics, bounds, 0.0

    def _settled(self) -> bool:
        return self._bounds[-1] - self._bounds[-2] <= _SETTLED * (1.0 + abs(self._bounds[-1]))

    def _candidate(self, model: Model) -> Model | None:
        """Return the model of the longest step that has an estimate; a step without one is halved towards S₂."""
        a = min(self._ideal(), self._longest)
        while a >= _SHORTEST:
            self._length = a
            candidate = self._extrapolate(self._statistics, ((1.0 - a) ** 2, 2.0 * a * (1.0 - a), a * a), model)
            if candidate is not None:
                return candidate
            a = 0.5 * (1.0 + a)
        return None

    def _ideal(self) -> float:
        """Return 1 / (1 − λ), with λ² the ratio of the last two gains of the bound."""
        first, second = self._bounds[-2] - self._bounds[-3], self._bounds[-1] - self._bounds[-2]
        if first <= 0.0 or second <= 0.0:  # only rounding error is left
            return 1.0
        return math.inf if second >= first else 1.0 / (1.0 - math.sqrt(second / first))
