"""Marginal and conditional distributions of a mixture over some of its columns.

Both are mixtures again: p(a) = Σ_c π_c p(a | c) and p(a | b) = Σ_c p(c | b) p(a | b, c), with p(c | b) ∝ π_c p(b | c).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from suffice._arrays import FloatArray, IntArray, to_float64
from suffice.errors import InvalidCellError
from suffice.families import Categorical, Codes, Distributions, Multinomial, Text
from suffice.families.cells import other_columns
from suffice.models.joint import JointModel
from suffice.models.schema import Block, Encoder, Schema, find_column
from suffice.tables.factorize import is_missing


def marginal_model(model: JointModel, columns: Any) -> JointModel:
    """Return the marginal model of the given columns, by name or position, in the given order."""
    schema = model.schema
    names = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    if not names:
        raise ValueError("a marginal needs at least one column, but none is named; name the columns to keep")
    kept = _places(schema, names, "`columns`")
    blocks, parts = [], []
    for block, found in zip(schema.blocks, model.distributions, strict=True):
        here = _positions(schema, block, kept)
        if len(here):
            part = found if len(here) == len(block.columns) else found.marginal(here)
            blocks.append(_moved(block, here, kept, part))
            parts.append(part)
    return JointModel(schema.with_columns(kept, blocks), model.log_prior, tuple(parts))


def conditional_model(model: JointModel, given: Mapping[Any, Any]) -> JointModel:
    """Return the conditional model of the other columns, given the values of some."""
    if not isinstance(given, Mapping):
        raise TypeError(f"`given` must map columns to their values, like {{'height': 1.8}}, but is {given!r}")
    schema = model.schema
    cells = dict(zip(_places(schema, list(given), "`given`"), given.values(), strict=True))
    rest = [column for column in range(schema.n_columns) if column not in cells]
    if not rest:
        raise ValueError(
            f"at least one column must be left over, but all {schema.n_columns} are given; leave one out, or call "
            f"score_samples for the density of a row"
        )
    log_shares, blocks, parts = model.log_prior, [], []
    for block, found in zip(schema.blocks, model.distributions, strict=True):
        here, part = _positions(schema, block, list(cells)), found
        there = other_columns(here, len(block.columns))
        if len(here):
            row = _row(schema, block, here, cells)
            log_shares = log_shares + _log_density(schema, block, found.marginal(here), here, row)
            part = found.conditioned(here, row) if len(there) else found
        if len(there):
            blocks.append(_moved(block, there, rest, part))
            parts.append(part)
    evidence = logsumexp(log_shares)
    if np.isneginf(evidence):
        raise ValueError(
            "the given values must be possible under some component, but have probability 0 under every one; give "
            "others, or fit with prior='auto', under which nothing is impossible"
        )
    return JointModel(schema.with_columns(rest, blocks), log_shares - evidence, tuple(parts))


def _places(schema: Schema, names: Sequence[Any], where: str) -> list[int]:
    """Return the positions of columns; raise ValueError if one is named twice."""
    places: list[int] = []
    for name in names:
        place = find_column(schema, name, where)
        if place in places:
            raise ValueError(f"{where} names column {schema.column_labels[place]!r} twice; name it once")
        places.append(place)
    return places


def _positions(schema: Schema, block: Block, columns: Sequence[int]) -> IntArray:
    """Return the positions of the columns in the block; raise ValueError if only a part of a Multinomial is named."""
    here = np.array([j for j, column in enumerate(block.columns) if column in columns], dtype=np.intp)
    if isinstance(block.family, Multinomial) and 0 < len(here) < len(block.columns):
        inside = schema.column_labels[block.columns[int(here[0])]]
        outside = schema.column_labels[block.columns[int(other_columns(here, len(block.columns))[0])]]
        raise ValueError(
            f"the counts of a Multinomial share their total, so they cannot be split, but column {inside!r} is named "
            f"and {outside!r} is not; name all {len(block.columns)} columns of the bag, or none"
        )
    return here


def _moved(block: Block, positions: IntArray, kept: Sequence[int], part: Distributions) -> Block:
    """Return the remaining columns of a block, renumbered by their positions in `kept`."""
    family = block.family if part.family == block.family else part.family
    return Block(family, tuple(kept.index(block.columns[j]) for j in positions.tolist()))


def _row(schema: Schema, block: Block, positions: IntArray, cells: Mapping[int, Any]) -> Any:
    """Return the given cells of a block as a row in the format of its family."""
    columns = [block.columns[j] for j in positions.tolist()]
    for column in columns:
        if is_missing(cells[column]):
            raise ValueError(
                f"`given` must hold a value for column {schema.column_labels[column]!r}, but holds {cells[column]!r}; "
                f"leave it out, or call marginal for the columns without it"
            )
    if isinstance(block.family, Categorical):
        codes = [_number_of_value(schema, column, cells[column]) for column in columns]
        return Codes(np.array([codes], dtype=np.intp), schema.sizes(Block(block.family, tuple(columns))))
    if isinstance(block.family, Text):
        return Encoder(schema, grow=False).bags([cells[columns[0]]], block.family, columns[0])
    return np.array([[_number(schema, column, cells[column]) for column in columns]])


def _number_of_value(schema: Schema, column: int, value: Any) -> int:
    values = schema.categories[column].values
    if value not in values:
        known = ", ".join(map(repr, values[:8])) + (", …" if len(values) > 8 else "")
        raise ValueError(
            f"`given` must hold a value that training saw of column {schema.column_labels[column]!r}, but holds "
            f"{value!r}; the values are {known or 'none'}"
        )
    return values.index(value)


def _number(schema: Schema, column: int, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"`given` must hold a number for column {schema.column_labels[column]!r}, but holds {value!r}; give "
            "the number"
        ) from None


def _log_density(schema: Schema, block: Block, part: Distributions, positions: IntArray, row: Any) -> FloatArray:
    """Return log p(given cells | c) of one block, (k,)."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            return to_float64(part.score(row))[0]
    except InvalidCellError as error:
        label = schema.column_labels[block.columns[int(positions[error.column])]]
        raise ValueError(
            f"`given` holds {error.found} for column {label!r}, but {error.requirement}; give another value"
        ) from None
