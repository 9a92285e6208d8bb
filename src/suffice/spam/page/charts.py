"""The charts of the page as numbers; templates turn them into SVG without inline styles, which the policy forbids."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suffice.spam.plain import one_line
from suffice.spam.scoring import FIELD_NAMES, field_of
from suffice.spam.verdict import Thresholds, Verdict

if TYPE_CHECKING:
    from suffice.spam.evaluation import Evaluation

TOKENS_SHOWN = 24
#: smaller values would be shown as 0.00
LEAST = 0.005
#: the axis of thresholds is on the log-odds scale, since most messages are near 0 and 1; it ends at ± this value
ODDS = 9.2
_MARKS = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
_STEPS = 400


@dataclass(frozen=True)
class Bar:
    """A contribution to the log-odds, drawn from the middle (0) to the right for spam, to the left for ham.

    `start` and `length` are in hundredths of half of the width.
    """

    name: str
    value: float
    start: float
    length: float

    @property
    def side(self) -> str:
        """The class that it is evidence for."""
        return "spam" if self.value > 0 else "ham"


@dataclass(frozen=True)
class Evidence:
    """The strongest tokens, the number and the sum of the other ones, and the sums per field."""

    tokens: list[Bar]
    others: int
    others_sum: float
    fields: list[Bar]


def evidence_of(verdict: Verdict) -> Evidence:
    """Return the evidence of a verdict, the strongest first.

    Examples
    --------
    >>> from suffice.spam import Verdict
    >>> from suffice.spam.page.charts import evidence_of
    >>> evidence_of(Verdict(0.9, "spam", 1.5, [("money", 2.0), ("subject:lunch", -0.5)])).fields
    [Bar(name='words', value=2.0, start=0.0, length=100.0), Bar(name='subject', value=-0.5, start=-25.0, length=25.0)]
    """
    known = [(token, value) for token, value in verdict.evidence if value != 0.0]
    shown = [(token, value) for token, value in known[:TOKENS_SHOWN] if abs(value) >= LEAST]
    others = known[len(shown) :]
    sums = dict.fromkeys(FIELD_NAMES, 0.0)
    for token, value in known:
        sums[FIELD_NAMES[field_of(token)]] += value
    fields = [(name, value) for name, value in sums.items() if abs(value) >= LEAST]
    fields.sort(key=lambda pair: -abs(pair[1]))
    return Evidence(_bars(shown), len(others), math.fsum(value for _, value in others), _bars(fields))


def _bars(pairs: Sequence[tuple[str, float]]) -> list[Bar]:
    largest = max((abs(value) for _, value in pairs), default=1.0)
    return [
        Bar(one_line(name, 80), value, round(min(0.0, value) / largest * 100, 1), round(abs(value) / largest * 100, 1))
        for name, value in pairs
    ]


@dataclass(frozen=True)
class Area:
    """A rectangle in the units of the picture."""

    left: float
    top: float
    right: float
    bottom: float

    def x(self, share: float) -> float:
        """Return the x coordinate of a fraction of the width."""
        return round(self.left + (self.right - self.left) * share, 1)

    def y(self, share: float) -> float:
        """Return the y coordinate of a fraction of the height, from the bottom up."""
        return round(self.bottom - (self.bottom - self.top) * share, 1)

    def overlaps(self, other: Area) -> bool:
        """Return whether two rectangles overlap."""
        apart_x = self.right < other.left or other.right < self.left
        return not (apart_x or self.bottom < other.top or other.bottom < self.top)


CURVE = Area(44, 10, 628, 310)
PLOT = Area(46, 28, 306, 268)


def _share_of(threshold: float) -> float:
    """Return the position of a threshold on its log-odds axis, from 0 at the left end to 1 at the right end."""
    if threshold <= 0.0 or threshold >= 1.0:
        return float(threshold >= 1.0)
    log_odds = math.log(threshold / (1.0 - threshold))
    return (min(max(log_odds, -ODDS), ODDS) + ODDS) / (2 * ODDS)


@dataclass(frozen=True)
class TradeOff:
    """The curves of both errors over the spam threshold T, and the chosen thresholds."""

    area: Area
    false_positives: str
    not_caught: str
    ham: float
    spam: float
    x_marks: list[tuple[float, str]]
    y_marks: list[tuple[float, str]]


def trade_off_of(evaluation: Evaluation, thresholds: Thresholds) -> TradeOff:
    """Return the trade-off, with counts on the scale log(1 + n)."""
    pairs = list(zip(evaluation.probabilities, evaluation.is_spam, strict=True))
    hams, spams = (sorted(p for p, is_spam in pairs if is_spam == kind) for kind in (False, True))
    top = math.log1p(max(len(hams), len(spams), 1))
    shares = [step / _STEPS for step in range(_STEPS + 1)]
    edges = [1.0 / (1.0 + math.exp(ODDS - 2 * ODDS * share)) for share in shares]

    def path(counts: list[int]) -> str:
        points = [(CURVE.x(share), CURVE.y(math.log1p(n) / top)) for share, n in zip(shares, counts, strict=True)]
        return _steps(points)

    return TradeOff(
        CURVE,
        path([len(hams) - bisect_left(hams, edge) for edge in edges]),
        path([bisect_left(spams, edge) for edge in edges]),
        CURVE.x(_share_of(thresholds.ham)),
        CURVE.x(_share_of(thresholds.spam)),
        [(CURVE.x(_share_of(mark)), f"{mark:g}") for mark in _MARKS],
        [(CURVE.y(math.log1p(n) / top), f"{n:,}") for n in (0, 1, 10, 100, 1_000, 10_000) if math.log1p(n) <= top],
    )


def _steps(points: list[tuple[float, float]]) -> str:
    """Return the SVG path of a step function; consecutive equal heights are one line."""
    x, y = points[0]
    commands = [f"M{x} {y}"]
    for x, height in points[1:]:
        if height != y:
            commands.append(f"H{x}V{height}")
            y = height
    return "".join([*commands, f"H{points[-1][0]}"])


@dataclass(frozen=True)
class Dot:
    """A bin of the calibration plot: predicted and observed fraction with interval, count, and place of its label."""

    x: float
    y: float
    low: float
    high: float
    radius: float
    said: float
    was: float
    count: int
    label_x: float
    label_y: float


def calibration_of(evaluation: Evaluation) -> list[Dot]:
    """Return the fraction of spam per bin of probabilities, with its 95 % Wilson interval."""
    bins = evaluation.reliability()
    most = max((item.count for item in bins), default=1)
    circles = [
        (PLOT.x(item.probability), PLOT.y(item.spam), round(3.0 + 6.0 * math.sqrt(item.count / most), 1))
        for item in bins
    ]
    taken = [Area(x - radius, y - radius, x + radius, y + radius) for x, y, radius in circles]
    dots = []
    for item, circle in zip(bins, circles, strict=True):
        low, high = _wilson(item.spam, item.count)
        label = _beside(*circle, 7.0 * len(f"{item.count:,}"), taken)
        taken.append(label)
        place = (label.left + label.right) / 2, (label.top + label.bottom) / 2
        x, y, radius = circle
        dots.append(Dot(x, y, PLOT.y(low), PLOT.y(high), radius, item.probability, item.spam, item.count, *place))
    return dots


def _beside(x: float, y: float, radius: float, width: float, taken: Sequence[Area]) -> Area:
    """Return the area of a label beside a dot: the first side, then the least distance, that is free."""
    toward = 1.0 if x < (PLOT.left + PLOT.right) / 2 else -1.0  # towards the middle of the plot
    half, height = width / 2, 7.0
    options = [
        (x + side * (radius + 5 + half), y + rows * 2 * height)
        for rows in (0, 1, -1, 2, -2, 3, -3)
        for side in (toward, -toward)
    ]
    places = [Area(a - half, b - height, a + half, b + height) for a, b in options]
    inside = [place for place in places if place.left > PLOT.left and place.right < PLOT.right + 14]
    free = (place for place in inside if not any(place.overlaps(other) for other in taken))
    return next(free, places[0])


def _wilson(share: float, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson interval of a probability, given the fraction of successes and the number of trials.

    Examples
    --------
    >>> from suffice.spam.page.charts import _wilson
    >>> [round(bound, 3) for bound in _wilson(0.5, 10)]
    [0.237, 0.763]
    """
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)
