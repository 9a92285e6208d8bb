"""Rows drawn from a model, in the table type of its training data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import IntArray
from suffice.families import Bernoulli, Categorical, Distributions, Text
from suffice.models.schema import Schema
from suffice.tables.results import frame_in


def sample_table(
    schema: Schema, distributions: Sequence[Distributions], classes: IntArray, rng: np.random.Generator
) -> Any:
    """Return one row per entry of `classes`: a data frame of the library of training, or an array."""
    columns: dict[int, NDArray[Any]] = {}
    words = False
    for block, drawn_from in zip(schema.blocks, distributions, strict=True):
        drawn = drawn_from.sample(classes, rng)
        for j, column in enumerate(block.columns):
            columns[column] = drawn[:, j]
            if isinstance(block.family, Categorical):
                columns[column] = _values(schema, column, drawn[:, j])
                words |= columns[column].dtype == object
            elif isinstance(block.family, Text):
                documents = block.family.words_of(drawn[:, j], schema.categories[column].values)
                columns[column], words = np.array(documents, dtype=object), True
            elif isinstance(block.family, Bernoulli) and schema.library is not None:
                columns[column] = drawn[:, j].astype(bool)
    ordered = [columns[column] for column in range(schema.n_columns)]
    if schema.library is not None and schema.names is not None:
        frame = frame_in(schema.library, {name: c.tolist() for name, c in zip(schema.names, ordered, strict=True)})
        if frame is not None:
            return frame
    return np.column_stack([column.astype(object) for column in ordered]) if words else np.column_stack(ordered)


def _values(schema: Schema, column: int, codes: NDArray[Any]) -> NDArray[Any]:
    """Return the values of the codes, as a numeric array if all values of the column are numbers."""
    values = schema.categories[column].values
    numeric = values and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    known = np.array([*values, None] if not numeric else [*values, np.nan], dtype=None if numeric else object)
    return known[codes.astype(np.intp)]
