"""Expectation–maximisation: a loop that is independent of families and engines.

Each iteration computes the expected statistics under the current model, and with them the bound: Q plus the entropy of
the posterior, which at the expectation step is the log-likelihood, plus the log-density of the prior. Then it updates
the model. The bound never falls. With acceleration, the loop takes an extrapolation step every few iterations, and
takes it back if the bound falls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from suffice.optimize.extrapolation import Squarem
from suffice.optimize.interrupts import Interrupted
from suffice.optimize.iteration import Iteration

Model = TypeVar("Model")
Sums = TypeVar("Sums")
Taken = TypeVar("Taken", covariant=True)
Found = TypeVar("Found", covariant=True)


class Expected(Protocol[Taken]):
    """The result of the expectation step."""

    @property
    def statistics(self) -> Taken:
        """The expected sufficient statistics."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the model under which the statistics were computed."""

    @property
    def weight(self) -> float:
        """The sum of the row weights; a row without a weight counts 1."""


class Climb(Protocol[Found, Taken]):
    """EM iterations made many at a time, with the same results as one by one."""

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising."""

    @property
    def stopped(self) -> bool:
        """Whether the next iteration cannot be made by this object, and the ordinary loop has to make it."""

    @property
    def bounds(self) -> list[float]:
        """The bound of each iteration so far."""

    def accelerate(self) -> None:
        """Take extrapolation steps from now on."""

    def advance(self, max_iter: int, tol: float) -> None:
        """Make the next iterations, for a few hundredths of a second; an interrupt keeps the finished ones."""

    def reached(self) -> tuple[Found, Taken | None]:
        """Return the model and the statistics that it was estimated from, which are None before the first iteration.

        Raises an error if no model can be estimated from the statistics of the last iteration.
        """


@dataclass(frozen=True)
class Problem(Generic[Model, Sums]):
    """The functions of a model that EM calls."""

    #: the expected statistics under a model, and its log-likelihood
    expect: Callable[[Model], Expected[Sums]]
    #: the model estimated from the statistics, at least as good as the previous one
    improve: Callable[[Sums, Model], Model]
    #: the log-density of the prior at a model
    log_prior: Callable[[Model, Sums], float]
    #: the model estimated from a weighted sum of statistics, starting from a given model; None if there is no estimate
    extrapolate: Callable[[Sequence[Sums], Sequence[float], Model], Model | None]
    #: makes many iterations at a time from a model; None if they can only be made one by one
    climb: Callable[[Model], Climb[Model, Sums] | None] | None = None


@dataclass
class Outcome(Generic[Model, Sums]):
    """A model, the statistics it was estimated from, and the bound of each iteration.

    Attributes
    ----------
    bounds : list of float
        The bound of each iteration; the bound of `model` itself is at least the last one. An extrapolation step that
        was taken back counts as an iteration with an unchanged bound.
    converged : bool
        Whether the bound stopped rising before `max_iter` was reached.
    interrupted : bool
        Whether Ctrl-C ended the loop.
    """

    model: Model
    statistics: Sums
    bounds: list[float] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False


def run(
    problem: Problem[Model, Sums],
    start: Model | None,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = False,
    watch: Callable[[Iteration], None] | None = None,
    climb: Climb[Model, Sums] | None = None,
    before: Sequence[float] = (),
) -> Outcome[Model, Sums]:
    """Run EM from `start` until the relative increase of the bound is at most `tol`.

    Parameters
    ----------
    max_iter : int
        The maximum number of iterations. Every pass over the rows counts as one, including extrapolation steps.
    accelerate : bool
        Whether to take extrapolation steps by `Squarem`. A step that lowers the bound is taken back, and only an
        ordinary iteration can end the loop.
    watch : callable, optional
        Called after every iteration.
    climb : Climb, optional
        Iterations in progress, in place of `start`; those made so far count towards `max_iter`.
    before : list of float
        The bounds of the iterations that have led to `start`; they count towards `max_iter` too.

    Raises
    ------
    Interrupted
        After Ctrl-C, with the outcome so far; a plain KeyboardInterrupt if no iteration is finished.
    """
    begun = time.perf_counter()
    outcome: Outcome[Model, Sums] | None = None
    model: Model = start  # type: ignore[assignment]  # a climb has a model of its own
    bounds = list(before)
    squarem = Squarem(problem.extrapolate) if accelerate else None
    candidate: Model | None = None
    if climb is None and problem.climb is not None:
        climb = problem.climb(model)
    if climb is not None and accelerate:
        climb.accelerate()
    converged = False
    try:
        while climb is not None and not (climb.converged or climb.stopped) and len(climb.bounds) < max_iter:
            done = len(climb.bounds)
            climb.advance(max_iter - done, tol)
            if watch is not None:
                for number in range(done, len(climb.bounds)):
                    change = climb.bounds[number] - climb.bounds[number - 1] if number else float("inf")
                    watch(Iteration(number + 1, climb.bounds[number], change, time.perf_counter() - begun))
        if climb is not None:
            model, taken = climb.reached()
            bounds, converged = climb.bounds, climb.converged
            outcome = None if taken is None else Outcome(model, taken, bounds, converged)
        for number in range(len(bounds) + 1, 1 + (len(bounds) if converged else max_iter)):
            tried = model if candidate is None else candidate
            expected = problem.expect(tried)
            statistics = expected.statistics
            bound = expected.log_likelihood + problem.log_prior(tried, statistics)
            change = bound - bounds[-1] if bounds else float("inf")
            if squarem is not None and candidate is not None and not change >= 0.0:  # true for NaN as well
                candidate, change = None, 0.0
                squarem.take_back()
                bounds.append(bounds[-1])
            else:
                model = problem.improve(statistics, tried)
                bounds.append(bound)
                converged = candidate is None and settled(bound, change, expected.weight, tol)
                outcome = Outcome(model, statistics, bounds, converged)
                candidate = None if squarem is None else squarem.after(statistics, bound, model)
            if watch is not None:
                watch(Iteration(number, bounds[-1], change, time.perf_counter() - begun))
            if converged:
                break
    except KeyboardInterrupt:
        outcome = outcome if climb is None or outcome is not None else _reached(climb)
        if outcome is None:
            raise
        outcome.interrupted, outcome.converged = True, False
        raise Interrupted(outcome) from None
    assert outcome is not None, "max_iter is at least 1"
    return outcome


def settled(bound: float, change: float, weight: float, tol: float) -> bool:
    """Return whether the bound has stopped rising; `weight` is the sum of the row weights."""
    # the absolute part of the tolerance is the total weight if that is below 1; compiled/em_loop.c has the same rule
    return change <= tol * (min(1.0, weight) + abs(bound))


def _reached(climb: Climb[Model, Sums]) -> Outcome[Model, Sums] | None:
    """Return the outcome of the iterations of a climb; None if there was none."""
    model, statistics = climb.reached()
    return None if statistics is None else Outcome(model, statistics, list(climb.bounds), climb.converged)
