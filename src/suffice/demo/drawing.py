"""Tables, bars and panels of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import box
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.demo.contest import EDGES, Bin, Contest, over_splits
from suffice.models.explanations import Explanation

#: the largest width of the output in characters; it also fits 80
WIDTH = 100
#: the number of columns that an explanation names
COLUMNS = 6
_OURS, _THEIRS, _FOR, _AGAINST = "bold cyan", "magenta", "green", "red"


def scores(contests: Sequence[Contest], width: int) -> Table:
    """Draw the accuracy, log-loss and calibration error of all models over several splits, the best means marked."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, width=width)
    table.add_column("model", no_wrap=True)
    table.add_column("preparation", ratio=1)
    for name in ("accuracy ↑", "log-loss ↓", "ECE ↓"):
        table.add_column(name, justify="right", no_wrap=True)
    measured = over_splits(contests)
    means = np.array([mean for mean, _ in measured])
    best = [means[:, 0].max(), means[:, 1].min(), means[:, 2].min()]
    for entry, (mean, deviation) in zip(contests[0].entries, measured, strict=True):
        cells = [
            Text(("★ " if _shown(j, mean[j]) == _shown(j, best[j]) else "") + _with_spread(j, mean[j], deviation[j]))
            for j in range(3)
        ]
        style = _OURS if entry is contests[0].entries[0] else ""
        table.add_row(Text(entry.name, style=style), entry.preparation, *cells, style=style and "bold")
    return table


def _shown(place: int, value: float) -> str:
    return f"{value:.1%}" if place != 1 else f"{value:.3f}"


def _with_spread(place: int, mean: float, deviation: float) -> str:
    return f"{_shown(place, mean)} ± {deviation * 100:.1f}" if place != 1 else f"{mean:.3f} ± {deviation:.3f}"


def reliability(contest: Contest, other: int, width: int) -> Table:
    """Draw the calibration of our model and of another one: probabilities and accuracy per bin."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("probability", no_wrap=True)
    chosen = (contest.entries[0], contest.entries[other])
    for entry, style in zip(chosen, (_OURS, _THEIRS), strict=True):
        for name in ("rows", "predicted", "right"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column(Text(entry.name.split()[0], style=style), no_wrap=True)
    for place, pair in enumerate(zip(*(contest.reliability(entry) for entry in chosen), strict=True)):
        cells: list[str | Text] = [f"{EDGES[place] * 100:.0f}–{EDGES[place + 1] * 100:.0f} %"]
        for one, style in zip(pair, (_OURS, _THEIRS), strict=True):
            cells += [
                str(one.rows),
                _percent(one.said),
                _percent(one.right),
                _gauge(one, style, 20 if width >= WIDTH else 10),
            ]
        table.add_row(*cells)
    return table


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{share * 100:.0f}%"


def _gauge(one: Bin, style: str, width: int) -> Text:
    """Draw a bar for the accuracy, with a mark at the mean probability."""
    if not one.rows:
        return Text("·" * width, style="dim")
    filled, mark = round(one.right * width), min(round(one.said * width), width - 1)
    gauge = Text("".join("█" if i < filled else "·" for i in range(width)), style=style)
    gauge.stylize("dim", filled)
    return Text.assemble(gauge[:mark], ("┃", "bold yellow"), gauge[mark + 1 :])


def reasons(title: str, explanation: Explanation, row: int, cells: dict[str, Any], width: int) -> Panel:
    """Draw each column's contribution to a row's log-odds: to the right for the prediction, to the left against."""
    target, against = explanation.target[row], explanation.against[row]
    total = round(float(explanation.log_odds[row]), 2)
    terms = _terms(explanation, row, cells, total)
    half = 20 if width >= WIDTH else 12
    scale = max(abs(value) for _, _, value in terms) or 1.0
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("", no_wrap=True, min_width=22)
    table.add_column("", no_wrap=True, min_width=10)
    table.add_column("", justify="right", no_wrap=True, min_width=7)
    heading = Text.assemble((f"◀ {against} ".rjust(half), _AGAINST), " ", (f" {target} ▶".ljust(half), _FOR))
    table.add_column(heading, no_wrap=True)
    for name, cell, value in terms:
        table.add_row(
            name,
            Text(cell, style="dim" if "missing" in cell else ""),
            f"{value:+.2f}",
            bar(value / scale, half, _AGAINST, _FOR),
        )
    table.add_row("", "", "───────", "")
    share = 1.0 / (1.0 + np.exp(-total))
    table.add_row("sum = log-odds", "", f"{total:+.2f}", "", style="bold")
    return Panel(
        table,
        title=Text(title),
        title_align="left",
        subtitle=Text(f"p({target}) = 1/(1 + e^{-total:.2f}) = {share:.{4 if share < 0.9995 else 7}f}"),
        subtitle_align="right",
        width=width,
    )


def _terms(explanation: Explanation, row: int, cells: dict[str, Any], total: float) -> list[tuple[str, str, float]]:
    """Return the printed terms of the log-odds: the class prior, the largest contributions, and the sum of the rest."""
    top = explanation.top(row, COLUMNS)
    terms = [("class prior", "", round(float(explanation.baseline[row]), 2))]
    terms += [(str(name), _cell(cells[str(name)]), round(value, 2)) for name, value in top]
    others = set(map(str, explanation.columns)) - {str(name) for name, _ in top}
    missing = sum(cells[name] is None for name in others)
    # the rest includes the rounding, so that the printed numbers add up
    rest = round(total - sum(value for _, _, value in terms), 2) + 0.0
    terms.append((f"the other {len(others)} columns", f"{missing} missing" if missing else "", rest))
    return terms


def bar(share: float, half: int, against: str, in_favour: str) -> Text:
    """Draw a number between −1 and 1 as a bar to the left or to the right of a line, in two styles."""
    length = round(abs(share) * half)
    left = ("█" * length if share < 0 else "").rjust(half)
    right = ("█" * length if share > 0 else "").ljust(half)
    return Text.assemble((left, against), "│", (right, in_favour))


def _cell(value: Any) -> str:
    if value is None:
        return "(missing)"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def columns_of(kinds: Sequence[str]) -> str:
    """Return a text with the number of columns of each type."""
    names = {"double": "numbers", "bool": "booleans", "string": "words"}
    return ", ".join(f"{kinds.count(kind)} {name}" for kind, name in names.items() if kind in kinds)
