"""One iteration of EM or of Newton's method, as callbacks see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Iteration:
    """How far a loop has come.

    Attributes
    ----------
    number : int
        Counted from 1.
    bound : float
        What the loop raises.
    change : float
        The last gain, or what is still to be gained.
    seconds : float
        Since the loop began.
    """

    number: int
    bound: float
    change: float
    seconds: float
