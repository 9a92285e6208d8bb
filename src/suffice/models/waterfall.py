"""The log-odds of one row as a waterfall: the baseline, what each column adds, and the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice._arrays import FloatArray
from suffice._axes import axes, plain
from suffice.models.one_line import in_one_line

if TYPE_CHECKING:
    from suffice.models.explanations import Explanation

#: for and against the target: they differ for every kind of colour blindness, and from white and black
FOR, AGAINST, NEUTRAL = "#3a8ac4", "#e07b39", "#8c8c8c"
#: the largest number of characters of a label
_LONGEST = 32


def draw(explanation: Explanation, row: int, n: int, ax: Any) -> Any:
    """Draw one bar for the baseline, one per column with the largest contributions, and one for the sum."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, but is {n!r}")
    rows = range(len(explanation))
    if not isinstance(row, (int, np.integer)) or not -len(rows) <= row < len(rows):
        raise IndexError(f"row must be one of the {len(rows)} explained rows, from 0 on, but is {row!r}")
    names, steps = _steps(explanation, rows[row], n)
    shown = _finite(steps)
    ends = np.cumsum(shown)
    begins = np.concatenate([[0.0], ends[:-1]])
    ax = axes(ax, (6.4, 1.2 + 0.36 * (len(names) + 1)))
    places = np.arange(len(names) + 1)
    colours = [NEUTRAL, *(FOR if step >= 0 else AGAINST for step in shown[1:])]
    ax.barh(places[:-1], shown, left=begins, color=colours, height=0.66)
    total = float(ends[-1])
    ax.barh(places[-1], total, color=FOR if total >= 0 else AGAINST, height=0.66)
    for place in places[:-1]:
        ax.plot([ends[place]] * 2, [place - 0.33, place + 1.33], color=NEUTRAL, linewidth=0.8)
    ax.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    said = explanation.log_odds[row]
    for place, begin, end, value in zip(places, [*begins, 0.0], [*ends, total], [*steps, said], strict=True):
        # beside the bar and beyond the line to the next one
        right = max(begin, end, ends[place] if place < len(ends) else end)
        ax.annotate(_signed(value), (right, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9)
    target, against = explanation.target[row], explanation.against[row]
    ax.set_yticks(places, [*names, "log-odds"])
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.invert_yaxis()
    ax.use_sticky_edges = False
    ax.margins(x=0.12)
    if not np.isfinite(steps).all():  # the lengths of infinite bars mean nothing
        ax.set_xticks([])
    ax.set_xlabel(f"log-odds of {_short(str(target))} (right) against {_short(str(against))} (left)")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _steps(explanation: Explanation, row: int, n: int) -> tuple[list[str], FloatArray]:
    """Return the names and the contributions in order: the baseline, the `n` largest, and the sum of the others."""
    top = [place for place in explanation._order(row)[:n] if explanation.contributions[row, place] != 0.0]
    cells = explanation.cells(row)
    names = ["baseline", *(_named(explanation.columns[place], cells[place]) for place in top)]
    steps = [explanation.baseline[row], *explanation.contributions[row, top]]
    rest = np.delete(explanation.contributions[row], top)
    if len(rest) and (rest != 0.0).any():
        names.append(f"{len(rest):,} other {'column' if len(rest) == 1 else 'columns'}")
        steps.append(rest.sum())
    return names, np.array(steps, dtype=np.float64)


def _named(column: Any, cell: Any) -> str:
    """Return "column = value", or the column alone if the value is missing or not known."""
    if cell is None:
        return _short(str(column))
    shown = f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return f"{_short(str(column))} = {_short(shown)}"


def _short(text: str) -> str:
    return plain(in_one_line(text, _LONGEST))


def _finite(steps: FloatArray) -> FloatArray:
    """Return the steps with a length for those that are infinite, because a value has probability 0 in a class."""
    finite = np.isfinite(steps)
    longest = 1.0 + float(np.abs(steps[finite]).sum())
    return np.where(finite, steps, np.where(np.isnan(steps), 0.0, np.sign(steps) * longest))


def _signed(value: float) -> str:
    if np.isinf(value):
        return "+∞" if value > 0 else "−∞"
    return "undefined" if np.isnan(value) else f"{value:+.2f}".replace("-", "−")
