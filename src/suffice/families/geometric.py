"""Geometric: failures before the first success, each column by itself."""

from __future__ import annotations

from typing import Any, ClassVar

from suffice.families.negative_binomial import NegativeBinomial


class Geometric(NegativeBinomial):
    """p(x | p) = p (1 − p)^x for x = 0, 1, 2, …: the number of failures before the first success.

    x starts at 0; subtract 1 from a number of trials, which starts at 1. φ(x) = x, η = log(1 − p),
    A(η) = −log(1 − e^η), h(x) = 1: a `NegativeBinomial` with shape 1.

    Examples
    --------
    >>> from suffice import Geometric
    >>> Geometric().fit([0, 2, 1, 5])
    <Geometric with probability 0.3333>
    """

    name: ClassVar[str] = "geometric"

    def __init__(self) -> None:
        super().__init__(1.0)

    def config(self) -> dict[str, Any]:
        """Return no constructor arguments."""
        return {}
