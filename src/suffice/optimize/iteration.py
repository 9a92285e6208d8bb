"""One iteration of EM or of Newton's method, as passed to callbacks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Iteration:
    """The state of an iterative fit after one iteration.

    Attributes
    ----------
    number : int
        The number of the iteration, counted from 1.
    bound : float
        The quantity that the loop maximises.
    change : float
        The last increase of the bound (EM), or an estimate of the increase still possible (Newton).
    seconds : float
        The time since the loop began.
    """

    number: int
    bound: float
    change: float
    seconds: float
