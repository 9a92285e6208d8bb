"""Explanations: the contribution of each column to the log-odds of a prediction; contributions add up exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray
from suffice.models.one_line import in_one_line
from suffice.models.word_terms import WordTerms
from suffice.tables.labels import class_list
from suffice.tables.results import result_frame
from suffice.tables.table import Table

#: the name of what belongs to no column, in text, frames and figures
BASELINE = "(baseline)"
#: characters of a word that are printed
_LONGEST = 40


@dataclass(frozen=True, eq=False)
class Explanation:
    """The log-odds of one class against another, split over the columns, for each row.

    ``baseline + contributions.sum(axis=1) == log_odds``, exactly. The baseline holds the class prior and, for full
    covariances, the part of the normaliser that cannot be attributed to a single column.

    Attributes
    ----------
    columns : list of str or int
        The names of the columns, or their positions if they have no names.
    contributions : array of shape (n, d)
        The contribution of each column to the log-odds of each row.
    baseline, log_odds : arrays of shape (n,)
        The part of the log-odds that belongs to no column, and the log-odds.
    target, against : arrays of shape (n,)
        The two classes compared in each row.
    texts : list of WordTerms
        The words of the text columns; see `words`.
    table : Table or None
        The rows that are explained, with the columns of training; None if they were read from a stream.
    library : str or None
        The data-frame library of the training table.
    """

    columns: Sequence[str | int]
    contributions: FloatArray
    baseline: FloatArray
    target: NDArray[Any]
    against: NDArray[Any]
    texts: Sequence[WordTerms] = ()
    table: Table | None = field(default=None, repr=False)
    library: str | None = None

    @property
    def log_odds(self) -> FloatArray:
        """The log-odds log(p(target | x) / p(against | x)), (n,); NaN if both have probability 0."""
        with np.errstate(invalid="ignore"):  # NaN if some columns rule out one class and others the other class
            return np.asarray(self.baseline + self.contributions.sum(axis=1))

    def __len__(self) -> int:
        return len(self.baseline)

    def top(self, row: int = 0, n: int = 5) -> list[tuple[str | int, float]]:
        """Return up to `n` columns with their contributions to a row, those with the largest absolute value first.

        A column of text is represented by its words, as ``"body: cheap"``.

        Parameters
        ----------
        row : int, default 0
            The number of the row.
        n : int, default 5
            The maximum number of columns and words.
        """
        values, texts = self.contributions[row], {text.place for text in self.texts}
        terms = [(self.columns[j], float(values[j])) for j in self._order(row) if j not in texts]
        if texts:
            terms += [(f"{column}: {word}", value) for column, word, value in self.words(row)]
            terms.sort(key=lambda term: -abs(term[1]))
        return [term for term in terms[:n] if term[1] != 0.0]

    def words(self, row: int = 0, n: int | None = None) -> list[tuple[str | int, str, float]]:
        """Return the words of a row's text columns with their contributions, the largest absolute values first.

        They add up to the contribution of the column. Under the Bernoulli model the absence of a word counts too: the
        ten absent words that matter most are named ``"no 'cheap'"``, and the others are added up.

        Parameters
        ----------
        row : int, default 0
            The number of the row.
        n : int or None, default None
            The maximum number of words; None is all of them.

        Returns
        -------
        list of (column, word, contribution)
            The words, each with the name of its column.
        """
        found = [(self.columns[text.place], word, value) for text in self.texts for word, value in text.of(row)]
        return sorted(found, key=lambda entry: -abs(entry[2]))[:n]

    def _order(self, row: int) -> IntArray:
        """Return the columns in the order of their absolute contributions, largest first."""
        return np.argsort(-np.abs(self.contributions[row]), kind="stable")

    def __repr__(self) -> str:
        return f"<Explanation of {len(self)} rows by {len(self.columns)} columns>"

    def __str__(self) -> str:
        return "\n\n".join(self.text(row) for row in range(min(len(self), 3)))

    def text(self, row: int = 0, n: int = 5) -> str:
        """Return the explanation of a row as text.

        Parameters
        ----------
        row : int, default 0
            The number of the row.
        n : int, default 5
            The maximum number of columns, and of words of each column of text.
        """
        values, texts = self.contributions[row], {text.place: text for text in self.texts}
        # words may cancel each other
        shown = [int(j) for j in self._order(row)[:n] if values[j] != 0.0 or (j in texts and texts[int(j)].of(row))]
        entries = [(BASELINE, float(self.baseline[row]))]
        for j in shown:
            entries.append((in_one_line(str(self.columns[j])), float(values[j])))
            words = texts[j].of(row) if j in texts else []
            entries += [(f"  {in_one_line(word, _LONGEST) or repr(word)}", value) for word, value in words[:n]]
            if len(words) > n:
                entries.append((f"  (other words, {len(words) - n:,})", sum(value for _, value in words[n:])))
        if len(values) > len(shown):
            entries.append(("(the rest)", float(np.delete(values, shown).sum())))
        width = max(10, *(len(name) for name, _ in entries))
        lines = [f"{self.target[row]} rather than {self.against[row]}: log-odds {self.log_odds[row]:+.2f}"]
        return "\n".join([*lines, *(f"  {name:<{width}} {value:+8.2f}" for name, value in entries)])

    def cells(self, row: int) -> list[Any]:
        """Return the cells of a row, in the order of the columns; None for missing ones.

        Parameters
        ----------
        row : int
            The number of the row.
        """
        if self.table is None:
            return [None] * len(self.columns)
        row = range(len(self))[row]
        only = self.table.rows(row, row + 1)
        return [only.cells(column)[0] for column in range(len(self.columns))]

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row per explained row and column: what the column adds to the log-odds.

        Its columns are "row", "target", "against", "column", "value" and "contribution". Each row begins with the
        baseline, so that the contributions of a row sum to its log-odds. Values are text if some are not numbers.

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the training table, or one that is installed.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import NaiveBayes
        >>> table = pd.DataFrame({"sky": ["sun", "rain", "rain", "sun"], "wind": [3.0, 20.0, 24.0, 5.0]})
        >>> model = NaiveBayes().fit(table, ["play", "stay", "stay", "play"])
        >>> model.explain(table[:1]).to_frame().round(2)
           row target against      column value  contribution
        0    0   play    stay  (baseline)   NaN          0.00
        1    0   play    stay         sky   sun          1.10
        2    0   play    stay        wind   3.0         27.85
        """
        n, names = len(self), [BASELINE, *map(str, self.columns)]
        shown = np.hstack([self.baseline[:, None], self.contributions])
        cells: list[list[Any]] = [[None] * n for _ in self.columns]
        if self.table is not None:
            cells = [self.table.cells(column) for column in range(len(self.columns))]
        return result_frame(
            {
                "row": np.repeat(np.arange(n), len(names)),
                "target": np.repeat(self.target, len(names)),
                "against": np.repeat(self.against, len(names)),
                "column": names * n,
                "value": [cell for row in zip([None] * n, *cells, strict=True) for cell in row],
                "contribution": shown.ravel(),
            },
            library,
            known=self.library,
        )

    def plot(self, row: int = 0, n: int = 10, ax: Any = None) -> Any:
        """Plot the log-odds of a row as a waterfall: the baseline, what each column adds, and the sum; return the axes.

        Bars to the right speak for `target`, bars to the left for `against`. It needs Matplotlib.

        Parameters
        ----------
        row : int, default 0
            The number of the row.
        n : int, default 10
            The maximum number of columns, at least 1; the others are summed up.
        ax : matplotlib Axes, optional
            The axes to plot on; by default new ones.
        """
        from suffice.models.waterfall import draw

        return draw(self, row, n, ax)


def compared_classes(logs: FloatArray, classes: NDArray[Any], target: Any, against: Any) -> tuple[IntArray, IntArray]:
    """Return the numbers of the two classes to compare for each row.

    Parameters
    ----------
    logs : array of shape (n, k)
        log p(c | x).
    classes : array of shape (k,)
    target, against : class label, one per row, or None
        None is the most probable class, and the most probable other one.
    """
    if len(classes) < 2:
        raise ValueError("an explanation compares two classes, and this model has seen one")
    rows = np.arange(len(logs))
    chosen = np.argmax(logs, axis=1) if target is None else _numbers(target, classes, len(logs))
    if against is None:
        others = logs.copy()
        others[rows, chosen] = -np.inf
        other = np.argmax(others, axis=1)
        # if all other classes are impossible too, argmax may return the target itself
        other = np.where(other == chosen, (chosen + 1) % len(classes), other)
    else:
        other = _numbers(against, classes, len(logs))
    if (chosen == other).any():
        raise ValueError(f"an explanation compares two different classes, but both are {target!r}")
    return chosen, other


def _numbers(labels: Any, classes: NDArray[Any], n_rows: int) -> IntArray:
    """Return the numbers of class labels, one per row."""
    numbers = {label: number for number, label in enumerate(class_list(classes))}
    wanted = np.asarray(labels).tolist() if np.ndim(labels) == 1 else [labels] * n_rows
    if len(wanted) != n_rows:
        raise ValueError(
            f"one class per row must be given, but X has {n_rows} rows and there are {len(wanted)} classes"
        )
    unknown = next((label for label in wanted if label not in numbers), None)
    if unknown is not None:
        raise ValueError(f"there is no class {unknown!r}; the classes are {class_list(classes)}")
    return np.array([numbers[label] for label in wanted], dtype=np.intp)
