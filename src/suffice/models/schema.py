"""The schema: which family reads which columns, and how the rows of a table become blocks for the kernels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from suffice._arrays import IntArray, on_device_of
from suffice.errors import InvalidCellError
from suffice.families import Bernoulli, Categorical, Family, Gaussian, Text, as_family
from suffice.families.codes import UNSEEN, Codes
from suffice.tables.arrays import ArrayTable
from suffice.tables.conversion import as_table
from suffice.tables.document_tables import as_document_table
from suffice.tables.factorize import MISSING, Factorized
from suffice.tables.table import Kind, Table
from suffice.tables.words import Bags, count_words


def listed(values: Sequence[Any], most: int = 4) -> str:
    """Return the first few values as text, followed by the number of values if there are more.

    Examples
    --------
    >>> listed(range(3)), listed("abcdefg")
    ('0, 1, 2', "'a', 'b', 'c', 'd', … (7)")
    """
    first = ", ".join(map(repr, values[:most]))
    return first if len(values) <= most else f"{first}, … ({len(values):,})"


@dataclass(frozen=True)
class Block:
    """Columns that one family reads, independent of the other blocks given the class."""

    family: Family
    columns: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Block({self.family!r}, columns=({listed(self.columns)}))"


@dataclass(frozen=True)
class Categories:
    """The values of a column in the order of their codes: categories, or the words of a text column.

    `declared` values are kept even if not seen.
    """

    values: tuple[Any, ...] = ()
    declared: bool = False

    @classmethod
    def of(cls, numbers: dict[Any, int], declared: bool) -> Categories:
        """Return the values of a dictionary, in the order of their numbers."""
        found = cls(tuple(numbers), declared)
        found.__dict__["numbers"] = dict(numbers)  # copying it is much faster than making it again
        return found

    @cached_property
    def numbers(self) -> dict[Any, int]:
        """The number of each value; not to be changed."""
        return {value: number for number, value in enumerate(self.values)}

    def __repr__(self) -> str:
        return f"Categories(({listed(self.values)}), declared={self.declared})"


@dataclass(frozen=True)
class Schema:
    """The columns of a table as a model reads them.

    Parameters
    ----------
    names : tuple of str or None
        The names of the columns; None if the table has none.
    n_columns : int
    blocks : tuple of Block
    categories : mapping of column to Categories
    library : str or None
        The data-frame library of the training table, so that samples can be returned in the same type.
    read_as_text : tuple of int
        The columns that became text by the rule for kinds of columns, and not by the user's choice.
    """

    names: tuple[str, ...] | None
    n_columns: int
    blocks: tuple[Block, ...]
    categories: Mapping[int, Categories] = field(default_factory=dict)
    library: str | None = None
    read_as_text: tuple[int, ...] = ()

    def __repr__(self) -> str:
        families = [
            f"{block.family!r} of {listed([self.column_labels[c] for c in block.columns])}" for block in self.blocks
        ]
        return f"<Schema of {self.n_columns:,} columns: {'; '.join(families[:6])}{'; …' * (len(families) > 6)}>"

    @property
    def column_labels(self) -> Sequence[str | int]:
        """The names of the columns, or their positions if they have no names."""
        return self.names if self.names is not None else range(self.n_columns)

    def sizes(self, block: Block) -> IntArray:
        """Return the number of values of each column of a block of categories or text."""
        if isinstance(block.family, Text) and block.family.buckets is not None:
            return np.array([block.family.buckets], dtype=np.intp)
        return np.array([len(self.categories[column].values) for column in block.columns], dtype=np.intp)

    def with_categories(self, categories: Mapping[int, Categories]) -> Schema:
        """Return the same schema with other values for its categorical columns."""
        return replace(self, categories=dict(categories))

    def with_blocks(self, blocks: Sequence[Block]) -> Schema:
        """Return the same schema with other families."""
        return replace(self, blocks=tuple(blocks))

    def with_columns(self, columns: Sequence[int], blocks: Sequence[Block]) -> Schema:
        """Return the schema of some columns, in the given order; `blocks` already uses their new positions."""
        return replace(
            self,
            names=None if self.names is None else tuple(self.names[column] for column in columns),
            n_columns=len(columns),
            blocks=tuple(blocks),
            categories={
                place: self.categories[column] for place, column in enumerate(columns) if column in self.categories
            },
            read_as_text=(),
        )

    @property
    def of_documents(self) -> bool:
        """Whether the table has one column, of text, so that documents need not be in a table."""
        return self.n_columns == 1 and isinstance(self.blocks[0].family, Text)

    def as_table(self, X: Any) -> Table:
        """Return rows as a table; documents that are not in a table are read if the model reads one column of text."""
        return as_document_table(X) if self.of_documents else as_table(X)

    def families(self) -> dict[tuple[str | int, ...], Family]:
        """Return the family of each block, in the format that `make_schema` takes."""
        return {tuple(self.column_labels[column] for column in block.columns): block.family for block in self.blocks}

    def check(self, table: Table, estimator: str, *, extra: bool = False) -> None:
        """Raise ValueError unless `table` has the columns of training, in any order if they have names.

        Parameters
        ----------
        extra : bool
            Whether it may have additional columns, which are ignored.
        """
        if self.names is not None and table.names is not None:
            given = set(table.names)
            if table.names != self.names and not (given >= set(self.names) if extra else given == set(self.names)):
                raise ValueError(_names_differ(self.names, table.names))
            return
        if table.n_columns != self.n_columns:
            raise ValueError(
                f"X has {table.n_columns} features, but {estimator} is expecting {self.n_columns} features as input; "
                f"pass the same columns as in training"
            )

    def arranged(self, table: Table) -> Table:
        """Return a checked table with its columns in the order of training."""
        if self.names is None or table.names is None or table.names == self.names:
            return table
        places = {name: place for place, name in enumerate(table.names)}
        return table.select([places[name] for name in self.names])


def _names_differ(fitted: tuple[str, ...], given: tuple[str, ...]) -> str:
    """Return an error message on how the names differ, in the words of scikit-learn."""
    message = "The feature names should match those that were passed during fit.\n"
    unexpected = sorted(set(given) - set(fitted))
    missing = sorted(set(fitted) - set(given))
    if unexpected:
        message += "Feature names unseen at fit time:\n" + _some(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _some(missing)
    return message


def _some(names: Sequence[str]) -> str:
    shown = "".join(f"- {name}\n" for name in names[:5])
    return shown + ("- ...\n" if len(names) > 5 else "")


#: one family for all columns, by its name, class or instance, or a mapping of columns to families; "auto" chooses by
#: the types of the columns
FamilySpec = str | Family | type[Family] | Mapping[Any, "str | Family | type[Family]"]


def make_schema(table: Table, families: FamilySpec, covariance: Any, unseen: str) -> Schema:
    """Return the schema of a table: families as given by the user, and by column type for the other columns."""
    if table.n_columns == 0:
        # the message that scikit-learn's estimator checks look for
        raise ValueError(f"Found array with 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required.")
    groups = _groups(table, families)
    given = {column for columns, _ in groups for column in columns}
    automatic = {Kind.NUMBER: Gaussian(covariance), Kind.BOOLEAN: Bernoulli(), Kind.CATEGORY: Categorical(unseen)}
    of_kind: dict[Kind, list[int]] = {}
    for column in range(table.n_columns):
        if column not in given:
            of_kind.setdefault(table.kind(column), []).append(column)
    texts, tokens = (of_kind.pop(kind, []) for kind in (Kind.TEXT, Kind.TOKENS))
    blocks: dict[Family, list[int]] = {automatic[kind]: columns for kind, columns in of_kind.items()}
    separate = [Block(Text(), (column,)) for column in [*texts, *tokens]]
    for columns, family in groups:
        # independent columns share one block: the same model, but faster
        if isinstance(family, Text):  # each column has a dictionary of its own
            separate += [Block(family, (column,)) for column in columns]
        elif family.columnwise and not _shares_columns(family):
            blocks.setdefault(family, []).extend(columns)
        else:
            separate.append(Block(family, tuple(columns)))
    merged = [Block(family, tuple(sorted(columns))) for family, columns in blocks.items()]
    ordered = tuple(sorted([*merged, *separate], key=lambda block: block.columns))
    categories = {column: Categories() for block in ordered if _has_values(block.family) for column in block.columns}
    return Schema(table.names, table.n_columns, ordered, categories, table.library, tuple(texts))


def _has_values(family: Family) -> bool:
    """Return whether the values of the columns of a family are numbered by a dictionary."""
    return isinstance(family, Categorical) or (isinstance(family, Text) and family.buckets is None)


def _shares_columns(family: Family) -> bool:
    """Return whether the grouping of columns by the user matters: they share a parameter, or each has a given one."""
    return isinstance(family, Gaussian) and (family.structure.one_variance or family.structure.ordered)


def families_by_column(schema: Schema, families: FamilySpec) -> dict[int, Family]:
    """Return the families given by the user as a mapping from the columns of an existing schema."""
    groups = _groups(schema, families)
    return {column: family for columns, family in groups for column in columns}


def _groups(table: Table | Schema, families: FamilySpec) -> list[tuple[list[int], Family]]:
    if isinstance(families, str) and families == "auto":
        return []
    if not isinstance(families, Mapping):
        return [(list(range(table.n_columns)), as_family(families))]
    groups, taken = [], set()
    places = {label: place for place, label in enumerate(table.column_labels)}
    for key, spec in families.items():
        keys = list(key) if isinstance(key, (tuple, list, frozenset)) else [key]
        columns = [places[name] if name in places else find_column(table, name, "`families`") for name in keys]
        for name, column in zip(keys, columns, strict=True):
            if column in taken:
                raise ValueError(f"column {name!r} is given two families; name it once in `families`")
            taken.add(column)
        groups.append((columns, as_family(spec)))
    return groups


def find_column(table: Table | Schema, name: Any, where: str) -> int:
    """Return the position of a column given by name or position; `where` names the parameter in the error message."""
    column_labels = list(table.column_labels)
    if name in column_labels:
        return column_labels.index(name)
    if (
        isinstance(name, (int, np.integer))
        and not isinstance(name, bool)
        and -table.n_columns <= name < table.n_columns
    ):
        return int(name) % table.n_columns
    known = ", ".join(map(repr, column_labels[:8]))
    raise ValueError(
        f"{where} names column {name!r}, which the table does not have; its columns are {known}"
        + (", …" if table.n_columns > 8 else "")
    )


class Encoder:
    """An encoder of table rows into blocks; with `grow`, its dictionaries of values grow while it encodes."""

    def __init__(self, schema: Schema, *, grow: bool) -> None:
        self.schema = schema
        self._grow = grow
        self._numbers = {
            column: dict(known.numbers) if grow else known.numbers for column, known in schema.categories.items()
        }
        self._declared = {column: known.declared for column, known in schema.categories.items()}

    def encode(self, table: Table) -> tuple[Any, ...]:
        """Return the rows as one array per block of the schema, copied only where necessary."""
        table = self.schema.arranged(table)
        return tuple(self._block(table, block) for block in self.schema.blocks)

    def _block(self, table: Table, block: Block) -> Any:
        if isinstance(block.family, Categorical):
            return self._codes(table, block.columns)
        if isinstance(block.family, Text):
            column = block.columns[0]
            return self.bags(table.documents(column), block.family, column, table.offset)
        return table.numbers(block.columns)

    def bags(self, documents: Sequence[Any], family: Text, column: int, start: int = 0) -> Bags:
        """Return the documents of a column as bags of words; `start` is the number of rows before them, for errors."""
        try:
            return count_words(documents, family.reading, self._numbers.get(column, {}), grow=self._grow)
        except InvalidCellError as error:
            raise error.below(start).named((column,), self.schema.column_labels) from None

    def _codes(self, table: Table, columns: tuple[int, ...]) -> Codes:
        raw = self._raw_codes(table, columns)
        if raw is not None:
            return raw
        codes = np.empty((len(table), len(columns)), dtype=np.intp, order="F")
        for j, column in enumerate(columns):
            codes[:, j] = self._lookup(column, table.values(column))
        sizes = np.array([len(self._numbers[column]) for column in columns], dtype=np.intp)
        return Codes(on_device_of(codes, table.array) if isinstance(table, ArrayTable) else codes, sizes)

    def _raw_codes(self, table: Table, columns: tuple[int, ...]) -> Codes | None:
        """Return integer columns without a copy if each value is its own code; None otherwise."""
        codes = table.raw_codes(columns) if isinstance(table, ArrayTable) else None
        if codes is None or not all(self._numbered_by_itself(column) for column in columns):
            return None
        met = codes.max(axis=0).astype(np.intp) + 1
        if self._grow:
            for column, size in zip(columns, met.tolist(), strict=True):
                numbers = self._numbers[column]
                numbers.update((value, value) for value in range(len(numbers), size))
        known = np.array([len(self._numbers[column]) for column in columns], dtype=np.intp)
        return Codes(codes, np.maximum(met, known))

    def _numbered_by_itself(self, column: int) -> bool:
        numbers = self._numbers[column]
        return all(value == number and type(value) is int for value, number in numbers.items())

    def _lookup(self, column: int, found: Factorized) -> IntArray:
        numbers = self._numbers[column]
        if self._grow:
            self._declared[column] |= found.declared
            translated = [numbers.setdefault(value, len(numbers)) for value in found.values]
        else:
            translated = [numbers.get(value, UNSEEN) for value in found.values]
            if found.values and all(number == UNSEEN for number in translated):
                self._warn_of_other_type(column, found.values[0])
        # code -1 (missing) selects the last entry
        return np.array([*translated, MISSING], dtype=np.intp)[found.codes]

    def _warn_of_other_type(self, column: int, value: Any) -> None:
        """Warn if text became numbers, or the other way round, so that every value is unseen."""
        known = next(iter(self._numbers[column]), value)
        if isinstance(known, str) != isinstance(value, str):
            warnings.warn(
                f"column {self.schema.column_labels[column]!r} was learned from values like {known!r}, but holds "
                f"values like {value!r} here, so all of them count as unseen; convert the column to the type of "
                "training",
                UserWarning,
                stacklevel=2,
            )

    def learned_schema(self) -> Schema:
        """Return the schema with the values seen so far."""
        return self.schema.with_categories(
            {column: Categories.of(numbers, self._declared[column]) for column, numbers in self._numbers.items()}
        )


__all__ = ["Block", "Categories", "Encoder", "Schema", "find_column", "make_schema"]
