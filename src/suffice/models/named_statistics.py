"""The statistics of a fitted model, with the names of its classes, columns and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray, IntArray
from suffice.errors import NotKeptError
from suffice.families import Dirichlet, Family, Gaussian
from suffice.models.schema import Block, Categories, Schema
from suffice.statistics.base import Statistics
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import Moments
from suffice.statistics.value_counts import ValueCounts
from suffice.tables.labels import as_class_array, class_list, sorted_order


@dataclass(frozen=True, eq=False)
class ModelStatistics:
    """All that a model keeps of its training rows: sums, and the names of their classes, columns and categories.

    ``a + b`` equals the statistics of training on the rows of both: classes, categories and named columns are matched
    by name, and columns that only `b` has are left out.
    ``a - b`` removes the rows of `b`, for example those of a person who asked to be forgotten. `suffice.save` writes
    statistics to a file, and every estimator has `from_statistics`.

    Parameters
    ----------
    classes : array of shape (k,)
        The names of the classes.
    schema : Schema
        The columns, their families and categories.
    joint : JointStatistics
        The sums of all blocks.
    declared : bool, default False
        Whether the classes were listed by the user.
    class_of : array of shape (m,), or None, default None
        The number of the class of each component, if classes have several.

    Examples
    --------
    >>> import numpy as np, suffice
    >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    >>> everyone = suffice.NaiveBayes().fit(X, y).statistics_
    >>> one = suffice.NaiveBayes().partial_fit(X[:1], y[:1], classes=[0, 1]).statistics_
    >>> (everyone - one).class_count
    array([1., 2.])
    """

    classes: NDArray[Any]
    schema: Schema
    joint: JointStatistics
    #: whether the classes were listed by the user; such classes are kept even if no row has them
    declared: bool = False
    #: the class number of each component if classes have several; `joint` then holds the sums of the components
    class_of: IntArray | None = None

    def __post_init__(self) -> None:
        for array in (self.classes, self.joint.class_count):
            array.flags.writeable = False

    @property
    def class_count(self) -> FloatArray:
        """The weight of each class."""
        if self.class_of is None:
            return self.joint.class_count
        return sums_by_class(self.joint.class_count, self.class_of)

    def __radd__(self, nothing: object) -> ModelStatistics:
        """Return self for ``0 + self``, so that ``sum`` works."""
        if nothing != 0:
            return NotImplemented
        return self

    def __add__(self, other: ModelStatistics) -> ModelStatistics:
        a, b = self._aligned(other)
        return _tidy(a.classes, a.schema, a.joint + b.joint, a.declared)

    def __sub__(self, other: ModelStatistics) -> ModelStatistics:
        a, b = self._aligned(other)
        return _tidy(a.classes, a.schema, a.joint - b.joint, a.declared)

    def _aligned(self, other: ModelStatistics) -> tuple[ModelStatistics, ModelStatistics]:
        if not isinstance(other, ModelStatistics):
            raise TypeError(f"only the statistics of another model can be added or subtracted, not {other!r}")
        for side in (self, other):
            side.require_classes()
        other = other._with_columns_of(self.schema)
        self._require_same_columns(other)
        classes = list(class_list(self.classes))
        classes += [label for label in class_list(other.classes) if label not in classes]
        array = as_class_array(classes, self.classes.dtype if self.classes.dtype == other.classes.dtype else None)
        categories = {
            column: _union(mine, other.schema.categories[column]) for column, mine in self.schema.categories.items()
        }
        schema = self.schema.with_categories(categories)
        declared = self.declared or other.declared
        return self._onto(array, schema, declared), other._onto(array, schema, declared)

    def require_classes(self) -> None:
        """Raise NotKeptError if the sums are those of components, which do not correspond between models."""
        if self.class_of is not None:
            raise NotKeptError(
                "the statistics are those of the components that EM found in the classes (n_components > 1), and not "
                "of the classes: they cannot be merged, reduced or estimated again; fit on the rows"
            )

    def _with_columns_of(self, schema: Schema) -> ModelStatistics:
        """Return the sums of the columns of another schema, in its order; self unchanged if some are absent."""
        mine = self.schema
        if mine.names is None or schema.names is None or mine.names == schema.names:
            return self
        own = {name: column for column, name in enumerate(mine.names)}
        if not own.keys() >= set(schema.names):
            return self
        blocks, sums = [], []
        for wanted in schema.blocks:
            columns = [own[schema.names[column]] for column in wanted.columns]
            block, found = next(
                pair for pair in zip(mine.blocks, self.joint.blocks, strict=True) if columns[0] in pair[0].columns
            )
            if not set(columns) <= set(block.columns):
                raise _families_differ(schema, mine)
            if isinstance(block.family, Dirichlet) and len(columns) < len(block.columns):
                raise ValueError(
                    f"the parts of a whole cannot be combined with fewer of them: {block.family!r} reads "
                    f"{[mine.names[column] for column in block.columns]} on one side and "
                    f"{[schema.names[column] for column in wanted.columns]} on the other"
                )
            places = np.array([block.columns.index(column) for column in columns], dtype=np.intp)
            blocks.append(Block(block.family, wanted.columns))
            sums.append(found.with_columns(places, len(block.columns)))
        categories = {
            column: mine.categories[own[name]]
            for column, name in enumerate(schema.names)
            if own[name] in mine.categories
        }
        moved = Schema(schema.names, schema.n_columns, tuple(blocks), categories, mine.library)
        joint = JointStatistics(self.joint.class_count, tuple(sums))
        return ModelStatistics(self.classes, moved, joint, self.declared, self.class_of)

    def _require_same_columns(self, other: ModelStatistics) -> None:
        mine, theirs = self.schema, other.schema
        if mine.n_columns != theirs.n_columns or mine.names != theirs.names:
            raise ValueError(
                f"statistics can only be combined over the same columns, but one side has "
                f"{list(mine.column_labels)[:6]} and the other {list(theirs.column_labels)[:6]}"
            )
        if mine.blocks != theirs.blocks:
            raise _families_differ(mine, theirs)

    def _onto(self, classes: NDArray[Any], schema: Schema, declared: bool) -> ModelStatistics:
        """Return the same sums over more classes and categories."""
        before, after = class_list(self.classes), class_list(classes)
        if before == after and not schema.categories:
            return ModelStatistics(classes, schema, self.joint, declared)
        places = {label: i for i, label in enumerate(after)}
        positions = np.array([places[label] for label in before], dtype=np.intp)
        joint = self.joint.with_classes(positions, len(classes))
        blocks = [
            _onto_values(block, statistics, self.schema, schema)
            for block, statistics in zip(schema.blocks, joint.blocks, strict=True)
        ]
        return ModelStatistics(classes, schema, JointStatistics(joint.class_count, tuple(blocks)), declared)

    def for_families(self, families: Sequence[Family]) -> ModelStatistics:
        """Return the statistics converted for other families; raise NotKeptError if the sums do not determine them.

        Parameters
        ----------
        families : sequence of Family
            The families, one per block.
        """
        blocks, statistics = [], []
        for block, sums, family in zip(self.schema.blocks, self.joint.blocks, families, strict=True):
            if isinstance(sums, Moments) and isinstance(family, Gaussian):
                sums = sums.to_layout(family.structure.layout)
            blocks.append(Block(family, block.columns))
            statistics.append(sums)
        joint = JointStatistics(self.joint.class_count, tuple(statistics))
        return ModelStatistics(self.classes, self.schema.with_blocks(blocks), joint, self.declared, self.class_of)

    def __repr__(self) -> str:
        return (
            f"<ModelStatistics of {self.class_count.sum():g} rows, {len(self.classes)} classes, "
            f"{self.schema.n_columns} columns>"
        )


def _families_differ(mine: Schema, theirs: Schema) -> ValueError:
    return ValueError(
        f"statistics can only be combined for the same families, but one side has "
        f"{[block.family for block in mine.blocks]} and the other {[block.family for block in theirs.blocks]}"
    )


def sums_by_class(count: FloatArray, class_of: IntArray) -> FloatArray:
    """Return the weight of each class, (k,), from the weights of its components, (m,)."""
    return np.bincount(class_of, weights=count).astype(np.float64)


def collect(
    classes: NDArray[Any], schema: Schema, joint: JointStatistics, *, declared: bool, keep_values: bool = False
) -> ModelStatistics:
    """Return the sums of a pass over the rows with their names, in the order of the classes.

    Values that occur only in rows with weight 0 are dropped unless `keep_values` is true.
    """
    k = len(classes)
    joint = joint.with_classes(np.arange(len(joint.class_count)), k)
    blocks = []
    for block, sums in zip(schema.blocks, joint.blocks, strict=True):
        if isinstance(sums, ValueCounts):  # values first seen after the last chunk was encoded
            sums = sums.with_values([np.arange(size) for size in sums.sizes], schema.sizes(block))
        blocks.append(sums)
    if keep_values:
        schema = schema.with_categories({c: replace(known, declared=True) for c, known in schema.categories.items()})
    return _tidy(classes, schema, JointStatistics(joint.class_count, tuple(blocks)), declared)


def _tidy(classes: NDArray[Any], schema: Schema, joint: JointStatistics, declared: bool) -> ModelStatistics:
    """Sort the classes, and drop classes and categories without any weight left (unless they were declared)."""
    weight = joint.class_count
    kept = np.arange(len(classes)) if declared else np.flatnonzero(weight > 0)
    if len(kept) < len(classes):
        classes, joint = classes[kept], joint.only(kept)
    order = sorted_order(class_list(classes))
    if order != list(range(len(order))):
        positions = np.argsort(order)
        classes, joint = classes[order], joint.with_classes(positions, len(order))
    if not schema.categories:
        return ModelStatistics(classes, schema, joint, declared)
    categories = dict(schema.categories)
    blocks: list[Statistics] = []
    for block, sums in zip(schema.blocks, joint.blocks, strict=True):
        blocks.append(_tidy_values(block, sums, categories) if isinstance(sums, ValueCounts) else sums)
    schema = schema.with_categories(categories)
    return ModelStatistics(classes, schema, JointStatistics(joint.class_count, tuple(blocks)), declared)


def _tidy_values(block: Block, sums: ValueCounts, categories: dict[int, Categories]) -> ValueCounts:
    """Keep the values that some row has, sorted if that is their order; update `categories` in place."""
    kept, weight = [], sums.weight
    for column, where in zip(block.columns, sums.columns(), strict=True):
        known = categories.get(column)
        if known is None or known.declared:
            kept.append(np.arange(where.stop - where.start))
            continue
        present = weight[where] > 0
        if sums.sorts_values:
            kept.append(np.array([v for v in sorted_order(known.values) if present[v]], dtype=np.intp))
        else:
            kept.append(np.flatnonzero(present))
            if len(kept[-1]) == len(known.values):
                continue
        categories[column] = Categories(tuple(known.values[v] for v in kept[-1].tolist()))
    return sums.only_values(kept)


def _union(mine: Categories, theirs: Categories) -> Categories:
    known = set(mine.values)
    return Categories(
        (*mine.values, *(value for value in theirs.values if value not in known)),
        mine.declared or theirs.declared,
    )


def _onto_values(block: Block, statistics: Statistics, old: Schema, new: Schema) -> Statistics:
    if not isinstance(statistics, ValueCounts) or block.columns[0] not in new.categories:
        return statistics
    positions = []
    for column in block.columns:
        places = new.categories[column].numbers
        known = old.categories[column].values
        positions.append(np.fromiter((places[value] for value in known), dtype=np.intp, count=len(known)))
    return statistics.with_values(positions, new.sizes(block))
