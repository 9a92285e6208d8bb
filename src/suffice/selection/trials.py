"""Trials of a search: what a run of EM from one start has to offer, and which of two is better."""

from __future__ import annotations

from typing import Any, Protocol

from suffice._arrays import FloatArray

#: the log-density of the weak prior below which a component may have collapsed
NARROW = -20.0

#: numbers of components, (n,), responsibilities, n×k, or what `Mixture` takes as `init`
Start = Any


class StoppedError(Exception):
    """The search was interrupted while this thread was at work."""


class Trial(Protocol):
    """A run of EM from one start."""

    @property
    def found(self) -> bool:
        """Whether there is an estimate."""

    @property
    def converged(self) -> bool:
        """Whether the bound stopped rising."""

    @property
    def log_likelihood(self) -> float:
        """That of all rows; −∞ where there is no estimate."""

    @property
    def objective(self) -> float:
        """The log-likelihood plus the log-density of a prior.

        That is the prior of the run, or for maximum likelihood the weak prior of `Mixture`, under which a component
        that collapses on a few rows is no gain.
        """

    @property
    def penalised(self) -> bool:
        """Whether the run has a prior."""

    def advance(self, iterations: int, *, leaps: bool = False) -> None:
        """Make so many iterations more, or fewer where the bound stops rising; with leaps where that is quicker."""

    def shares(self) -> FloatArray | None:
        """Return the responsibilities, n×k; None where components were left without rows."""


def beats(new: Trial, old: Trial) -> bool:
    """Return whether a run is to be preferred to another of the same model.

    Under maximum likelihood both the likelihood and the penalised one must be higher: the likelihood alone prefers
    components that collapse on a few rows.
    """
    if not (new.found and old.found):
        return new.found
    return new.objective > old.objective and (new.penalised or new.log_likelihood > old.log_likelihood)
