"""How much a message of some day counts: weights that grow, so that nothing old need be touched.

With a half-life of τ days a message of day d counts 2^(−(today − d)/τ). Dividing by 2^(−today/τ) gives weights that
never change once they are written,

    weight(d) = ⌊2²⁰ · 2^((d − origin)/τ)⌉,   2²⁰ without a half-life,

and what is learned stays a sum. The weights are whole numbers, and so is a share of one (`suffice.spam.unlabeled`), so
that sums do not depend on their order and subtraction undoes addition exactly. Divided by the weight of today they are
counts again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DAY = 86_400
#: the weight of a message of the day `origin`, or of any without a half-life; 20 half-lives before it counts nothing
UNIT = 2**20
#: a weight that is too large for the sums of millions of messages to stay whole numbers of 64 bits
LIMIT = 2**40


@dataclass(frozen=True)
class Forgetting:
    """A half-life, and the day from which weights are counted.

    Attributes
    ----------
    half_life : float or None
        In days; without one nothing is forgotten and every message weighs `UNIT`.
    origin : int
        A day since 1970, whose messages weigh `UNIT`.

    Examples
    --------
    >>> from suffice.spam.forgetting import Forgetting
    >>> forgetting = Forgetting(half_life=30.0, origin=1000)
    >>> forgetting.weight(970) / forgetting.weight(1000), forgetting.weight(1030) / forgetting.weight(1000)
    (0.5, 2.0)
    """

    half_life: float | None = None
    origin: int = 0

    def __post_init__(self) -> None:
        if self.half_life is not None and not 0 < self.half_life < math.inf:
            raise ValueError(
                f"half_life must be a positive number of days, or None to forget nothing, but it is {self.half_life!r}"
            )

    def weight(self, day: int) -> int:
        """Return what a message of a day adds to the counts."""
        return UNIT if self.half_life is None else round(self.scale(day))

    def scale(self, today: int) -> float:
        """Return what a message of today adds to the counts, by which counts are divided; not rounded."""
        if self.half_life is None:
            return float(UNIT)
        return UNIT * 2.0 ** max(-900.0, min((today - self.origin) / self.half_life, 900.0))

    def is_due(self, day: int) -> bool:
        """Return whether the weights of this day have grown so large that they must be counted from a later day."""
        return self.scale(day) > LIMIT
