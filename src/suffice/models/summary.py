"""A fitted model as a table: the shares of the classes, and what is typical of each column in each class."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.families import Bernoulli, Categorical, Multinomial, Text
from suffice.families.gaussian import GaussianDistributions
from suffice.models.joint import JointModel
from suffice.models.one_line import in_one_line
from suffice.models.parameters import mean_of_columns, variance_of_columns
from suffice.models.top_words import top_words
from suffice.statistics.category_counts import CategoryCounts
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import DiagonalMoments, Moments
from suffice.statistics.value_counts import ValueCounts
from suffice.tables.results import result_frame

#: the largest numbers of classes, columns, and values of a category that are shown
_CLASSES, _COLUMNS, _VALUES = 6, 20, 3
#: the width of the printed table, which may show fewer classes
_WIDTH = 120


@dataclass(frozen=True, eq=False)
class ModelSummary:
    """What a fitted classifier or mixture has learned; printed, it is a table in plain words.

    Attributes
    ----------
    title : str
        The name of the estimator.
    noun : str
        "class" or "component".
    labels : list
        The classes or components.
    weight : array of shape (k,), or None
        The weight of the rows of each class; None if the model was not learned from rows.
    share : array of shape (k,)
        The probability of each class.
    missing : list of float or None
        The weight of the rows in which a column is missing, per column; None if it is not known, because EM has filled
        in the cells of covariances.
    model : JointModel
        The parameters.
    """

    title: str
    noun: str
    labels: Sequence[Any]
    weight: FloatArray | None
    share: FloatArray
    missing: Sequence[float | None]
    model: JointModel = field(repr=False)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row per class and column.

        Its columns are "class" (or "component"), "rows" (their weight), "share", "column", "family", "missing", "mean",
        "deviation" (the standard deviation) and "typical" (what is printed).

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.
        """
        schema, k = self.model.schema, len(self.labels)
        everything = range(schema.n_columns)
        labels = [label for label in self.labels for _ in everything]
        weight = np.full(k, np.nan) if self.weight is None else self.weight
        texts = [self.typical(column) for column in everything]
        columns: dict[str, Any] = {
            self.noun: labels,
            "rows": np.repeat(weight, len(everything)),
            "share": np.repeat(self.share, len(everything)),
            "column": [str(label) for label in schema.column_labels] * k,
            "family": [self.family(column) for column in everything] * k,
            "missing": list(self.missing) * k,
            "mean": self._mean.ravel(),
            "deviation": self._deviation.ravel(),
            "typical": [texts[column][c] for c in range(k) for column in everything],
        }
        return result_frame(columns, library, known=schema.library)

    # -- what is typical of a column ------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        """The number of the block of each column, and its position there."""
        return {
            column: (number, j)
            for number, block in enumerate(self.model.schema.blocks)
            for j, column in enumerate(block.columns)
        }

    @cached_property
    def _mean(self) -> FloatArray:
        return mean_of_columns(self.model)

    @cached_property
    def _deviation(self) -> FloatArray:
        deviation = np.sqrt(variance_of_columns(self.model))
        for block, found in zip(self.model.schema.blocks, self.model.distributions, strict=True):
            if isinstance(found, GaussianDistributions) and found.constant is not None:
                deviation[:, np.array(block.columns)[found.constant]] = 0.0
        return deviation

    def family(self, column: int) -> str:
        """Return the name of the family of a column.

        Parameters
        ----------
        column : int
            The position of the column.
        """
        return self.model.schema.blocks[self._places[column][0]].family.name

    def typical(self, column: int) -> list[str]:
        """Return what is typical of a column in each class, in words.

        Parameters
        ----------
        column : int
            The position of the column.
        """
        number, j = self._places[column]
        family, found = self.model.schema.blocks[number].family, self.model.distributions[number]
        if isinstance(family, Categorical):
            counts = CategoryCounts(found.mean(), self.model.schema.sizes(self.model.schema.blocks[number]))
            where, values = list(counts.columns())[j], self.model.schema.categories[column].values
            return [_most_probable(row[where], values) for row in found.mean()]
        if isinstance(family, Text):
            return self._telling(column, family)
        if isinstance(family, Multinomial):
            whole = found.mean().sum(1)
            return [_percent(share) for share in found.mean()[:, j] / np.where(whole > 0, whole, 1.0)]
        if isinstance(family, Bernoulli):
            return [_percent(share) for share in found.mean()[:, j]]
        if isinstance(found, GaussianDistributions) and found.constant is not None and found.constant[j]:
            return [f"always {value:.6g}" for value in found.means[:, j]]
        mean, deviation = self._mean[:, column], self._deviation[:, column]
        if np.isfinite(mean).all() and np.isfinite(deviation).all():
            return [_with_deviation(m, s) for m, s in zip(mean, deviation, strict=True)]
        name, values = next(iter(found.shown().items()))  # a heavy tail has no mean or no deviation
        return [f"{name} {value:.4g}" for value in np.asarray(values)[:, j]]

    def _telling(self, column: int, family: Text) -> list[str]:
        """Return the words that speak most for each class, or "…" for a complement model."""
        if family.complement:
            return ["…"] * len(self.labels)
        name = self.model.schema.column_labels[column]
        told = top_words(self.model.components, None, list(range(len(self.labels))), _VALUES, name)
        return [", ".join(in_one_line(word, 30) for word, _ in told[c]) or "…" for c in told]

    # -- the table ------------------------------------------------------------------------------------------------

    def _heading(self) -> str:
        columns = self.model.schema.n_columns
        parts = [_counted(len(self.labels), self.noun), _counted(columns, "column")]
        if self.weight is not None:
            parts.insert(0, f"{self.weight.sum():,.6g} rows")
        return f"{self.title}: {', '.join(parts)}"

    def _rows(self, n_classes: int) -> Iterator[list[str]]:
        """Yield the rows of the table for the first classes, the heads of its columns first."""
        yield ["", "family", "missing", *(str(label) for label in self.labels[:n_classes])]
        if self.weight is not None:
            yield ["rows", "", "", *(f"{weight:,.6g}" for weight in self.weight[:n_classes])]
        yield ["share", "", "", *(_percent(share) for share in self.share[:n_classes])]
        for column in range(min(self.model.schema.n_columns, _COLUMNS)):
            missing = self.missing[column]
            known = "" if self.weight is None else "?" if missing is None else f"{missing:,.6g}"
            label, family = str(self.model.schema.column_labels[column]), self.family(column).replace("_", " ")
            yield [label, family, known, *self.typical(column)[:n_classes]]

    def _notes(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """Return what a reader needs to know about the cells of the table, one sentence per line."""
        words = {
            "bernoulli": "bernoulli: the share of ones",
            "categorical": "categorical: the most probable values",
            "multinomial": "multinomial: the share of the draws",
            "text": "text: the words that speak most for the class",
        }
        told = [words[family] for family in dict.fromkeys(row[1] for row in rows) if family in words]
        if any(" ± " in row[3] and row[1] != "categorical" for row in rows):
            told.insert(0, "numbers: mean ± standard deviation")
        notes = ["; ".join(told)] if told else []
        if any(row[2] == "?" for row in rows):
            notes.append("?: missing cells were filled in by EM and not counted")
        left_out = (self.model.schema.n_columns - _COLUMNS, "column"), (len(self.labels) - len(rows[0]) + 3, self.noun)
        more = [_counted(count, noun) for count, noun in left_out if count > 0]
        if more:
            notes.append(f"and {' and '.join(more)} more: to_frame() has all")
        return notes

    def __str__(self) -> str:
        n_classes = min(len(self.labels), _CLASSES)
        rows = [[in_one_line(cell) for cell in row] for row in self._rows(n_classes)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        while len(widths) > 4 and sum(widths) + 2 * (len(widths) - 1) > _WIDTH:
            widths.pop()
        rows = [row[: len(widths)] for row in rows]
        lines = []
        for row in rows:
            pairs = list(enumerate(zip(row, widths, strict=True)))
            lines.append("  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in pairs).rstrip())
        return "\n".join([self._heading(), "", *lines, "", *self._notes(rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as HTML that takes its colours from the page, so that it is readable in light and dark."""
        table = list(self._rows(min(len(self.labels), _CLASSES)))
        line = "border:0;border-bottom:1px solid rgba(128,128,128,0.35);padding:0.25em 0.7em"

        def cells(row: Sequence[str], tag: str) -> str:
            sides = ["left", "left", *["right"] * (len(row) - 2)]
            made = zip(row, sides, strict=True)
            return "".join(f'<{tag} style="{line};text-align:{s}">{html.escape(cell)}</{tag}>' for cell, s in made)

        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in table[1:])
        notes = "<br>".join(html.escape(note) for note in self._notes(table))
        return (
            '<div style="overflow-x:auto;color:inherit;margin:0.5em 0">'
            '<table style="border-collapse:collapse;background:transparent;color:inherit;font-size:0.95em">'
            f'<caption style="text-align:left;caption-side:top;color:inherit;padding:0.3em 0">'
            f"<b>{html.escape(self._heading())}</b></caption>"
            f"<thead><tr>{cells(table[0], 'th')}</tr></thead><tbody>{body}</tbody></table>"
            f'<div style="font-size:0.85em;opacity:0.75;padding:0.3em 0">{notes}</div></div>'
        )


def missing_cells(model: JointModel, joint: JointStatistics, filled_in: bool) -> list[float | None]:
    """Return the weight of the rows in which each column is missing, from the statistics; None if it is not known.

    Parameters
    ----------
    model : JointModel
    joint : JointStatistics
    filled_in : bool
        Whether EM may have filled in missing cells of covariances, so that the statistics do not show them.
    """
    weight, missing = float(joint.class_count.sum()), dict[int, float | None]()
    for block, sums in zip(model.schema.blocks, joint.blocks, strict=True):
        if isinstance(sums, ValueCounts):
            observed = sums.observed
        elif isinstance(sums, Moments) and not isinstance(sums, DiagonalMoments):
            whole = not filled_in and abs(weight - sums.count.sum()) <= 1e-9 * weight
            missing.update(dict.fromkeys(block.columns, 0.0 if whole else None))
            continue
        else:
            count: FloatArray = getattr(sums, "count", joint.class_count[:, None])
            observed = np.broadcast_to(count.sum(0), len(block.columns))
        lost = np.where(weight - observed > 1e-9 * weight, weight - observed, 0.0)
        missing.update(zip(block.columns, lost.tolist(), strict=True))
    return [missing[column] for column in range(model.schema.n_columns)]


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}{'es' if noun.endswith('s') else 's'}"


def _most_probable(probability: FloatArray, values: Sequence[Any]) -> str:
    order: IntArray = np.argsort(-probability, kind="stable")[:_VALUES]
    more = ", …" if len(values) > _VALUES else ""
    return ", ".join(f"{in_one_line(str(values[v]), 30)} {_percent(probability[v])}" for v in order) + more


def _percent(share: float) -> str:
    """Return a probability in percent, with two digits where it is small.

    Examples
    --------
    >>> _percent(0.5), _percent(0.00123), _percent(0.9996)
    ('50 %', '0.12 %', '99.960 %')
    """
    if not 0.0 < share < 1.0:
        return f"{100 * share:g} %"
    small = min(share, 1.0 - share)
    decimals = 0 if small >= 0.0995 else min(max(1 - int(np.floor(np.log10(100 * small))), 1), 6)
    return f"{100 * share:.{decimals}f} %"


def _with_deviation(mean: float, deviation: float) -> str:
    """Return mean ± deviation, with two digits of the deviation.

    Examples
    --------
    >>> _with_deviation(5.0061, 0.3521), _with_deviation(81234.5, 1234.0), _with_deviation(1e-9, 2.5e-12)
    ('5.01 ± 0.35', '81,234 ± 1,234', '1e-09 ± 2.5e-12')
    """
    size = max(abs(mean), deviation)
    if deviation > 0 and 1e-4 <= size < 1e9 and deviation >= 1e-6:
        decimals = max(1 - int(np.floor(np.log10(deviation))), 0)
        mean = round(mean, decimals) + 0.0  # −0.00 becomes 0.00
        return f"{mean:,.{decimals}f} ± {deviation:,.{decimals}f}"
    return f"{mean:.6g} ± {deviation:.2g}"
