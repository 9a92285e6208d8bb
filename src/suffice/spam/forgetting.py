"""Weights of messages by day: new weights grow exponentially, so that old ones never need an update.

With a half-life of τ days a message of day d counts 2^(−(today − d)/τ). Dividing by 2^(−today/τ) gives weights that do
not depend on today,

    weight(d) = ⌊2²⁰ · 2^((d − origin)/τ)⌉,   2²⁰ without a half-life,

so the statistics stay plain sums. The weights are integers, and so are shares of them (`suffice.spam.unlabeled`): sums
do not depend on their order, and subtraction undoes addition exactly. Divided by the weight of today they are counts
again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DAY = 86_400
#: weight of a message of the day `origin`, or of any message without a half-life; about 20 half-lives before
#: `origin` the weight is 0
UNIT = 2**20
#: weight above which sums over millions of messages could overflow 64-bit integers
LIMIT = 2**40


@dataclass(frozen=True)
class Forgetting:
    """A half-life, and the origin of the weights.

    Attributes
    ----------
    half_life : float or None
        In days; if None, nothing is forgotten and every message weighs `UNIT`.
    origin : int
        The day (since 1970) whose messages weigh `UNIT`.

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
        """Return the weight that a message of a day adds to the counts."""
        return UNIT if self.half_life is None else round(self.scale(day))

    def scale(self, today: int) -> float:
        """Return the weight of a message of today, not rounded; counts are divided by it."""
        if self.half_life is None:
            return float(UNIT)
        return UNIT * 2.0 ** max(-900.0, min((today - self.origin) / self.half_life, 900.0))

    def is_due(self, day: int) -> bool:
        """Return whether the weights of this day are so large that a later origin is needed."""
        return self.scale(day) > LIMIT
