"""Trials of a search: the interface of a run of EM from one start, and the comparison of two runs."""

from __future__ import annotations

from typing import Any, Protocol

from suffice._arrays import FloatArray

#: if the log-density of the weak prior is below this, a component may have collapsed
NARROW = -20.0

#: component numbers, (n,), responsibilities, n×k, or another value that `Mixture` takes as `init`
Start = Any


class StoppedError(Exception):
    """Raised in a thread of a search that was interrupted."""


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
        """The log-likelihood of all rows; −∞ if there is no estimate."""

    @property
    def objective(self) -> float:
        """The log-likelihood plus the log-density of a prior.

        The prior is that of the run, or for maximum likelihood the weak prior of `Mixture`, under which a component
        that collapses on a few rows gains nothing.
        """

    @property
    def penalised(self) -> bool:
        """Whether the run has a prior."""

    def advance(self, iterations: int, *, extrapolate: bool = False) -> None:
        """Make the next `iterations` iterations, with extrapolation or without, or fewer if the bound stops rising."""

    def shares(self) -> FloatArray | None:
        """Return the responsibilities, n×k; None if some components have no rows."""


def beats(new: Trial, old: Trial) -> bool:
    """Return whether a run is better than another run of the same model.

    Under maximum likelihood both the likelihood and the penalised likelihood must be higher: the likelihood alone
    prefers components that collapse on a few rows.
    """
    if not (new.found and old.found):
        return new.found
    return new.objective > old.objective and (new.penalised or new.log_likelihood > old.log_likelihood)
