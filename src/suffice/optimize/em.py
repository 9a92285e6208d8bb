"""Expectation–maximisation: a loop that knows neither families nor engines.

A round takes the expected statistics under the model at hand, and with them the bound: Q plus the entropy of the
posterior, which at the expectation step is the log-likelihood, plus the log-density of the prior. Then it improves the
model. The bound never falls. Where asked to, the loop leaps ahead every few rounds, and goes back where a leap did not
pay.
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
    """What the expectation step gives."""

    @property
    def statistics(self) -> Taken:
        """The expected sufficient statistics."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the model they were taken under."""

    @property
    def weight(self) -> float:
        """The sum of the weights of the rows, of which an ordinary row has 1."""


class Climb(Protocol[Found, Taken]):
    """Many iterations of EM at a time, which give what one after the other does."""

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising."""

    @property
    def stopped(self) -> bool:
        """Whether the next iteration cannot be made this way."""

    @property
    def bounds(self) -> list[float]:
        """The bound of each iteration so far."""

    def accelerate(self) -> None:
        """Leap ahead from now on."""

    def advance(self, max_iter: int, tol: float) -> None:
        """Make the next iterations, for a few hundredths of a second; an interrupt keeps those that were made."""

    def reached(self) -> tuple[Found, Taken | None]:
        """Return the model, and the statistics that it was estimated from; None for these before any iteration.

        Raises where the statistics of the last iteration give no model.
        """


@dataclass(frozen=True)
class Problem(Generic[Model, Sums]):
    """What EM needs to know of a model."""

    #: the expected statistics under a model, and its log-likelihood
    expect: Callable[[Model], Expected[Sums]]
    #: the model that the statistics give, at least as good as the one before
    improve: Callable[[Sums, Model], Model]
    #: the log-density of the prior at a model
    log_prior: Callable[[Model, Sums], float]
    #: the model that a weighted sum of statistics gives, beginning with another one; None where it gives none
    extrapolate: Callable[[Sequence[Sums], Sequence[float], Model], Model | None]
    #: many iterations at a time from a model; None where they can only be made one by one
    climb: Callable[[Model], Climb[Model, Sums] | None] | None = None


@dataclass
class Outcome(Generic[Model, Sums]):
    """A model, the statistics it was estimated from, and how the bound rose on the way.

    Attributes
    ----------
    bounds : list of float
        The bound of each round; that of `model` itself is at least the last one. A leap that was taken back is a round
        in which the bound stays as it was.
    converged : bool
        Whether the bound stopped rising before the rounds were used up.
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
    """Improve `start` until the bound rises by no more than `tol` of itself.

    Parameters
    ----------
    max_iter : int
        The most rounds; every pass over the rows is one, those of leaps included.
    accelerate : bool
        Whether to leap ahead by `Squarem`. A leap has to end no lower than it began, and only rounds without one can
        end the loop.
    watch : callable, optional
        Is told of every round.
    climb : Climb, optional
        Iterations that are under way, in place of `start`; those made so far count among `max_iter`.
    before : list of float
        The bounds of iterations that have led to `start`, which count too.

    Raises
    ------
    Interrupted
        After Ctrl-C, with the outcome so far; plain KeyboardInterrupt before the first round is done.
    """
    begun = time.perf_counter()
    outcome: Outcome[Model, Sums] | None = None
    model: Model = start  # type: ignore[assignment]  # a climb has a model of its own
    bounds = list(before)
    leaps = Squarem(problem.extrapolate) if accelerate else None
    leap: Model | None = None
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
            tried = model if leap is None else leap
            expected = problem.expect(tried)
            statistics = expected.statistics
            bound = expected.log_likelihood + problem.log_prior(tried, statistics)
            change = bound - bounds[-1] if bounds else float("inf")
            if leaps is not None and leap is not None and not change >= 0.0:  # or not a number
                leap, change = None, 0.0
                leaps.take_back()
                bounds.append(bounds[-1])
            else:
                model = problem.improve(statistics, tried)
                bounds.append(bound)
                # where the rows weigh less than one together, so does what the bound may still rise by
                converged = leap is None and change <= tol * (min(1.0, expected.weight) + abs(bound))
                outcome = Outcome(model, statistics, bounds, converged)
                leap = None if leaps is None else leaps.after(statistics, bound, model)
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


def _reached(climb: Climb[Model, Sums]) -> Outcome[Model, Sums] | None:
    """Return what the iterations of a climb came to; None where there was none."""
    model, statistics = climb.reached()
    return None if statistics is None else Outcome(model, statistics, list(climb.bounds), climb.converged)
