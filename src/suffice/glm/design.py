"""The design matrix: the columns of a table as numeric columns, one per coefficient."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice._arrays import Array, FloatArray, issparse, to_float64
from suffice.errors import TextColumnWarning, warn_user
from suffice.models.schema import Schema, find_column, listed
from suffice.tables.arrays import ArrayTable
from suffice.tables.factorize import beginning
from suffice.tables.labels import sorted_order
from suffice.tables.table import Kind, Table

#: numbers in this range have weighted sums of squares well within the range of float64
SMALLEST, LARGEST = 1e-140, 1e140


@dataclass(frozen=True)
class Term:
    """A column of the table: numbers as they are, or one dummy column (0 or 1) per level except the baseline."""

    column: int
    label: Any
    #: the values of a categorical column, the baseline first; None if the column holds numbers
    levels: tuple[Any, ...] | None = None
    #: whether the first level has a column too, because no intercept represents it
    keep_first: bool = False

    def __repr__(self) -> str:
        levels = "" if self.levels is None else f", levels=({listed(self.levels)})"
        return f"Term({self.label!r}{levels})"

    @property
    def shown(self) -> tuple[Any, ...]:
        """The levels that have a column."""
        assert self.levels is not None
        return self.levels if self.keep_first else self.levels[1:]

    @property
    def names(self) -> list[str]:
        """The names of the columns of the design."""
        name = self.label if isinstance(self.label, str) else f"x{self.label}"
        return [name] if self.levels is None else [f"{name}[{level}]" for level in self.shown]


@dataclass(frozen=True)
class Design:
    """The mapping from rows of a table to rows of the design matrix.

    Parameters
    ----------
    schema : Schema
        The names and the number of the columns of the table.
    terms : tuple of Term
    offset, exposure : int or None
        The columns that enter the linear predictor without a coefficient.
    groups : int or None
        The column with the groups of clustered standard errors.
    """

    schema: Schema
    terms: tuple[Term, ...]
    offset: int | None = None
    exposure: int | None = None
    groups: int | None = None

    def __repr__(self) -> str:
        return f"<Design of {self.schema.n_columns:,} columns: {listed(self.terms)}>"

    @property
    def names(self) -> list[str]:
        """The names of the columns of the design."""
        return [name for term in self.terms for name in term.names]

    def without(self, *names: str) -> Design:
        """Return the design without the columns of "offset", "exposure" or "groups", for tables that lack them."""
        out = [getattr(self, name) for name in names if getattr(self, name) is not None]
        if not out:
            return self
        kept = [column for column in range(self.schema.n_columns) if column not in out]
        place: dict[int | None, int] = {column: number for number, column in enumerate(kept)}
        schema = self.schema.with_columns(kept, ())
        terms = [
            replace(term, column=place[term.column], label=schema.column_labels[place[term.column]])
            for term in self.terms
        ]
        return replace(
            self,
            schema=schema,
            terms=tuple(terms),
            offset=place.get(self.offset),
            exposure=place.get(self.exposure),
            groups=place.get(self.groups),
        )

    def own_offset(self, table: Table) -> FloatArray | None:
        """Return an offset that belongs to the design, (n,); None if there is none."""
        return None

    def encode(self, table: Table) -> Array:
        """Return the design matrix of some rows, n×p; NaN where a cell is missing."""
        table = self.schema.arranged(table)
        if all(term.levels is None for term in self.terms):
            return table.numbers([term.column for term in self.terms])
        parts = [self._numbers(table, term) if term.levels is None else _dummies(table, term) for term in self.terms]
        return np.concatenate(parts, axis=1)

    @staticmethod
    def _numbers(table: Table, term: Term) -> FloatArray:
        cells = table.numbers([term.column])[0 : len(table)]
        return to_float64(cells.toarray() if issparse(cells) else cells)

    def complain(self, tables: Iterable[Table]) -> None:
        """Raise ValueError if cells are missing or infinite, naming the first such column, its count and first row."""
        found: dict[Any, list[Any]] = {}
        start = 0
        for table in map(self.schema.arranged, tables):
            for term in self.terms:
                cells = self._numbers(table, term)[:, 0] if term.levels is None else level_codes(table, term)
                bad = np.flatnonzero(~np.isfinite(cells))
                if len(bad):
                    what = "missing (NaN)" if np.isnan(cells[bad[0]]) else "infinite (inf)"
                    found.setdefault(term.label, [0, start + int(bad[0]), what])[0] += len(bad)
            start += len(table)
        if found:
            label, (count, row, what) = next(iter(found.items()))
            cells_are = "1 cell is" if count == 1 else f"{count} cells are"
            more = f"; {len(found) - 1} more columns have such cells" if len(found) > 1 else ""
            raise ValueError(
                f"a linear model needs every cell, but in column {label!r} {cells_are} {what} (first: row {row}){more}"
                f". Drop these rows, or fill the cells in with suffice.Mixture(...).fit(X).impute(X)"
            )

    def complain_of_scale(self, tables: Iterable[Table], center: FloatArray) -> None:
        """Raise ValueError naming the first column whose centred cells are too small or too large to square, if any.

        A constant column is accepted: scaling would not change it.
        """
        places = np.cumsum([0, *(len(term.names) for term in self.terms)])
        numeric = [(term, center[place]) for term, place in zip(self.terms, places, strict=False)]
        furthest = np.zeros(len(numeric))
        for table in map(self.schema.arranged, tables):
            for j, (term, middle) in enumerate(numeric):
                with np.errstate(over="ignore"):
                    cells = np.abs(self._numbers(table, term)[:, 0] - middle) if term.levels is None else np.zeros(1)
                furthest[j] = max(furthest[j], float(cells.max(initial=0.0)))
        for (term, _), most in zip(numeric, furthest, strict=True):
            if 0.0 < most < SMALLEST or most > LARGEST:
                raise ValueError(
                    f"column {term.label!r} holds numbers that are too {'small' if most < 1.0 else 'large'} to square "
                    f"(up to {most:.3g} from their mean); scale it, for example by its standard deviation"
                )


def level_codes(table: Table, term: Term) -> FloatArray:
    """Return the code of each cell's level, NaN where the cell is missing; raise ValueError for an unknown level."""
    found = table.values(term.column)
    assert term.levels is not None
    known = {value: float(number) for number, value in enumerate(term.levels)}
    numbers = [known.get(value, -1.0) for value in found.values]
    codes = np.array([*numbers, np.nan])[found.codes]  # code −1 (missing) picks the last entry, NaN
    unseen = np.flatnonzero(codes == -1.0)
    if len(unseen):
        row = int(unseen[0])
        shown = ", ".join(map(beginning, term.levels[:8])) + (", …" if len(term.levels) > 8 else "")
        cell = beginning(found.values[found.codes[row]])
        raise ValueError(
            f"column {term.label!r} holds {cell} in row {row + table.offset}, which was not there in training, so "
            f"it has no coefficient; the levels are {shown}. Drop the rows, or train on them"
        )
    return codes


def _dummies(table: Table, term: Term) -> FloatArray:
    codes = level_codes(table, term)
    assert term.levels is not None
    first = 0 if term.keep_first else 1
    columns = (codes[:, None] == np.arange(first, len(term.levels))).astype(np.float64)
    columns[np.isnan(codes)] = np.nan
    return columns


class Survey:
    """Collects the columns, their kinds and the levels of the categorical ones from one or several tables."""

    def __init__(self, *, intercept: bool, offset: Any = None, exposure: Any = None, groups: Any = None) -> None:
        self._intercept = intercept
        self._named = {"offset": offset, "exposure": exposure, "groups": groups}
        self._places: dict[str, int | None] = {}
        self._schema: Schema | None = None
        self._kinds: list[Kind] = []
        self._library: Any = None
        self._levels: dict[int, dict[Any, None]] = {}
        self._declared: dict[int, list[Any]] = {}
        #: the sum of each numeric column over the rows so far
        self._sums: FloatArray = np.zeros(0)
        self._n_rows = 0

    def add(self, table: Table, estimator: str, *, sums: bool) -> None:
        """Take more rows into account; with `sums`, also add up the numeric columns, for their means."""
        if self._schema is None:
            if table.n_columns == 0:
                # scikit-learn's message, which its estimator checks match
                raise ValueError(
                    f"Found array with 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required."
                )
            self._schema = Schema(table.names, table.n_columns, (), library=table.library)
            for name, given in self._named.items():
                self._places[name] = None if given is None else find_column(table, given, f"`{name}`")
            if isinstance(table, ArrayTable):
                self._kinds = [table.kind(0)] * table.n_columns
            else:
                self._kinds = [table.kind(column) for column in range(table.n_columns)]
            self._sums = np.zeros(table.n_columns)
        self._schema.check(table, estimator)
        table = self._schema.arranged(table)
        for column, kind in enumerate(self._kinds):
            if kind.of_words and column not in self._places.values():
                found = table.values(column)
                present = np.bincount(found.codes[found.codes >= 0], minlength=len(found.values)) > 0
                met = [value for value, there in zip(found.values, present, strict=True) if there]
                self._levels.setdefault(column, {}).update(dict.fromkeys(met))
                if found.declared:
                    self._declared[column] = list(found.values)
        if sums:
            numeric = [column for column, kind in enumerate(self._kinds) if not kind.of_words]
            cells = table.numbers(numeric)[0 : len(table)]
            self._sums[numeric] += to_float64(cells.sum(axis=0)).ravel()
        self._n_rows += len(table)

    def design(self) -> Design:
        """Return the design of the tables so far."""
        assert self._schema is not None
        self._warn_of_text(self._schema)
        terms, kept = [], self._intercept
        for column, kind in enumerate(self._kinds):
            if column in self._places.values():
                continue
            levels = None
            if kind.of_words:
                levels = self._ordered(column)
            terms.append(Term(column, self._schema.column_labels[column], levels, levels is not None and not kept))
            kept = kept or levels is not None
        return Design(self._schema, tuple(terms), **self._places)

    def _warn_of_text(self, schema: Schema) -> None:
        """Warn once of columns of sentences, each of which becomes a column of its own."""
        texts = [
            repr(schema.column_labels[column])
            for column, kind in enumerate(self._kinds)
            if kind is Kind.TEXT and column not in self._places.values()
        ]
        if texts:
            warn_user(
                f"the cells of column {', '.join(texts)} are sentences, but a linear model reads each different one as "
                f"a category, which says nothing about rows with other sentences; leave it out, or use NaiveBayes, "
                f"which reads words",
                TextColumnWarning,
            )

    def center(self, design: Design) -> FloatArray:
        """Return the means of the numeric columns, and 0 for dummy columns, (p,)."""
        means = self._sums / max(self._n_rows, 1)
        return np.array(
            [means[term.column] if term.levels is None else 0.0 for term in design.terms for _ in term.names]
        )

    def _ordered(self, column: int) -> tuple[Any, ...]:
        met = self._levels[column]
        if column in self._declared:
            declared = [value for value in self._declared[column] if value in met]
            return tuple(declared) + tuple(value for value in met if value not in declared)
        values = list(met)
        return tuple(values[i] for i in sorted_order(values))
