"""A table of estimates: with rich on a terminal, as plain text without it, as HTML in notebooks."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.tables.results import result_frame


@dataclass(frozen=True, eq=False)
class Summary:
    """The estimates of a generalised linear model, with standard errors, tests and intervals.

    Attributes
    ----------
    title : str
    terms : list of str
    estimates, std_errors, statistics, p_values : arrays of shape (q,)
    intervals : array of shape (q, 2)
    statistic : "z" or "t"
        The distribution that the p-values use; t if the dispersion is estimated.
    level : float
        The probability of the intervals.
    notes : list of (str, str)
        Deviances, information criteria, and so on.
    library : str or None
        The data-frame library of the training table.
    """

    title: str
    terms: list[str]
    estimates: FloatArray
    std_errors: FloatArray
    statistics: FloatArray
    p_values: FloatArray
    intervals: FloatArray
    statistic: str
    level: float
    notes: list[tuple[str, str]]
    library: str | None = None

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row per parameter.

        Its columns are "term", "estimate", "std_error", "z" (or "t"), "p_value", "low" and "high".

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.

        Examples
        --------
        >>> from suffice import GLM
        >>> model = GLM("poisson").fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 4, 9])
        >>> model.summary().to_frame("pandas").round(2)
                  term  estimate  std_error     z  p_value   low  high
        0  (intercept)     -0.06       0.69 -0.09     0.93 -1.41  1.29
        1           x0      0.75       0.28  2.70     0.01  0.21  1.29
        """
        columns: dict[str, Any] = {
            "term": list(self.terms),
            "estimate": self.estimates,
            "std_error": self.std_errors,
            self.statistic: self.statistics,
            "p_value": self.p_values,
            "low": self.intervals[:, 0],
            "high": self.intervals[:, 1],
        }
        return result_frame(columns, library, known=self.library)

    def _head(self) -> list[str]:
        share = f"{100 * self.level:g} %"
        name = self.statistic
        return ["", "estimate", "std. error", name, f"p > |{name}|", f"{share} from", "to"]

    def _rows(self) -> list[list[str]]:
        numbers = zip(self.estimates, self.std_errors, self.statistics, self.p_values, self.intervals, strict=True)
        return [
            [term, _number(estimate), _number(error), _short(statistic), _p(p), _number(low), _number(high)]
            for term, (estimate, error, statistic, p, (low, high)) in zip(self.terms, numbers, strict=True)
        ]

    def __str__(self) -> str:
        head, rows = self._head(), self._rows()
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines = [self.title, ""]
        for row in [head, *rows]:
            cells = [
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, "", *_wrapped(self.notes)])

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=self.title,
            caption="\n".join(_wrapped(self.notes)),
            box=box.SIMPLE_HEAD,
            title_justify="left",
            caption_justify="left",
            padding=(0, 1, 0, 0),
        )
        table.add_column("", no_wrap=True)
        for i, name in enumerate(self._head()[1:]):
            table.add_column(Text(name), justify="right", style="" if i else "bold", no_wrap=True)
        for row, p in zip(self._rows(), self.p_values, strict=True):
            table.add_row(*map(Text, row), style="" if p < 0.05 else "dim")
        return table

    def _repr_html_(self) -> str:
        cells = "".join(f"<th>{html.escape(name)}</th>" for name in self._head())
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows()
        )
        notes = "<br>".join(html.escape(line) for line in _wrapped(self.notes))
        return f"<table><caption>{html.escape(self.title)}</caption><tr>{cells}</tr>{rows}</table><p>{notes}</p>"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.5g}"


def _short(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _p(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _wrapped(notes: list[tuple[str, str]], width: int = 78) -> list[str]:
    """Return the notes as lines of at most `width` characters, several notes per line."""
    lines, line = [], ""
    for name, value in notes:
        note = f"{name} {value}"
        if line and len(line) + len(note) + 3 > width:
            lines.append(line)
            line = ""
        line = f"{line} · {note}" if line else note
    return [*lines, line] if line else lines
