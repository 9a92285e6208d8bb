"""Mail per day and its fraction of spam, as numbers for the chart of the overview."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from suffice.spam.page.charts import Area
from suffice.spam.page.index import Entry

#: number of days drawn, and window in days of the fraction of spam
DAYS, SPAN = 30, 7
BARS, SHARES = Area(44, 14, 628, 200), Area(52, 14, 308, 200)
_KINDS = ("ham", "unsure", "spam")


@dataclass(frozen=True)
class Day:
    """A day: the number of messages per verdict, and its bar from the bottom up: kind, top and height."""

    day: date
    counts: dict[str, int]
    x: float
    width: float
    parts: list[tuple[str, float, float]]

    @property
    def total(self) -> int:
        """The number of messages."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Daily:
    """The days, oldest first; the line of the fraction of spam over a week; and the marks of the axes."""

    days: list[Day]
    shares: list[str]
    marks: list[tuple[float, str]]
    dates: list[tuple[float, str]]
    bars: Area = BARS
    share_area: Area = SHARES


def daily_of(entries: Iterable[Entry], today: date) -> Daily | None:
    """Return the days up to the newest message, at most up to today; None if no message has a date."""
    counted: dict[date, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        if entry.arrival is not None and entry.arrival.date() <= today and entry.label in _KINDS:
            counted[entry.arrival.date()][entry.label] += 1
    if not counted:
        return None
    end = max(counted)
    days = [end - timedelta(days=DAYS - 1 - i) for i in range(DAYS) if (end - date.min).days >= DAYS]
    most = max((counted[day].total() for day in days if day in counted), default=1)
    top = _rounded_up(most)
    step = (BARS.right - BARS.left) / DAYS
    drawn = [_day(day, counted.get(day, Counter()), BARS.left + i * step, step, top) for i, day in enumerate(days)]
    marks = [(BARS.y(share), f"{top * share:,.0f}") for share in ((0, 0.5, 1) if top % 2 == 0 else (0, 1))]
    dates = [(round(drawn[i].x + drawn[i].width / 2, 1), f"{days[i].day} {days[i]:%b}") for i in (0, 7, 14, 21, 29)]
    return Daily(drawn, _shares(days, counted), marks, dates)


def _day(day: date, counts: Counter[str], x: float, step: float, top: int) -> Day:
    below = 0
    parts = []
    for kind in _KINDS:
        if counts[kind]:
            parts.append((kind, BARS.y((below + counts[kind]) / top), _height(counts[kind] / top)))
            below += counts[kind]
    known = {kind: counts[kind] for kind in _KINDS}
    return Day(day, known, round(x + step * 0.12, 1), round(step * 0.76, 1), parts)


def _height(share: float) -> float:
    return round((BARS.bottom - BARS.top) * share, 1)


def _shares(days: list[date], counted: dict[date, Counter[str]]) -> list[str]:
    """Return the lines of the fraction of spam over `SPAN` days, interrupted where no mail came for that long."""
    lines: list[list[str]] = [[]]
    for i, day in enumerate(days):
        week = [counted[past] for past in (day - timedelta(days=j) for j in range(SPAN)) if past in counted]
        total = sum(counts.total() for counts in week)
        if not total:
            lines.append([])
            continue
        share = sum(counts["spam"] for counts in week) / total
        lines[-1].append(f"{'L' if lines[-1] else 'M'}{SHARES.x((i + 0.5) / DAYS)} {SHARES.y(share)}")
    # a single point is drawn as a short line
    return ["".join(line) if len(line) > 1 else f"{line[0]}h2" for line in lines if line]


def _rounded_up(count: int) -> int:
    """Return the count rounded up to one significant digit.

    Examples
    --------
    >>> from suffice.spam.page.daily import _rounded_up
    >>> [_rounded_up(n) for n in (1, 7, 10, 23, 481)]
    [1, 7, 10, 30, 500]
    """
    unit = 10 ** (len(str(count)) - 1)
    return -(-count // unit) * unit
