"""The first statistics of rows with missing values, before EM fills in expectations.

A row with a missing cell is left out of the sums of a full or tied covariance. If that happens, the first model is
estimated from sums that treat the columns as uncorrelated, which use every observed cell; EM then starts from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from suffice.engines.base import Chunk
from suffice.families import Gaussian
from suffice.models.joint import learn
from suffice.models.schema import Block, Schema
from suffice.statistics.base import Statistics
from suffice.statistics.joint import JointStatistics
from suffice.statistics.moments import DiagonalMoments, Moments
from suffice.statistics.responsibilities import Labels, PartialLabels, SoftLabels
from suffice.statistics.sums import Sums
from suffice.statistics.value_counts import ValueCounts


@dataclass(frozen=True)
class FirstSums:
    """The sums from which the first model is estimated, in the layout of the schema.

    Attributes
    ----------
    statistics : JointStatistics
    missing : bool
        Whether rows with missing cells were left out of some covariance, so that `statistics` treats columns as
        uncorrelated.
    never_seen : frozenset of int
        The columns without any observed cell.
    """

    statistics: JointStatistics
    missing: bool
    never_seen: frozenset[int] = frozenset()


def first_sums(schema: Schema, statistics: JointStatistics, again: Callable[[Schema], JointStatistics]) -> FirstSums:
    """Return sums that use every observed cell: the given ones, or those of a second pass if they skip incomplete rows.

    Parameters
    ----------
    again : callable
        Returns the sums of the same rows under another schema.
    """
    if not has_missing_cells(statistics):
        return FirstSums(statistics, missing=False)
    simple = again(uncorrelated(schema))
    return FirstSums(lifted(simple, schema), missing=True, never_seen=never_seen(schema, simple))


def has_missing_cells(statistics: JointStatistics) -> bool:
    """Return whether rows with missing cells were left out of some covariance."""
    weight = statistics.class_count.sum()
    pairs = [
        block for block in statistics.blocks if isinstance(block, Moments) and not isinstance(block, DiagonalMoments)
    ]
    return any(weight - block.count.sum() > 1e-9 * weight for block in pairs)


def never_seen(schema: Schema, statistics: JointStatistics) -> frozenset[int]:
    """Return the columns without any observed cell, except in covariance blocks, which do not count cells by column."""
    columns: list[int] = []
    for block, sums in zip(schema.blocks, statistics.blocks, strict=True):
        if isinstance(sums, ValueCounts):
            weight = sums.observed
        elif isinstance(sums, (Sums, Moments)) and sums.count.shape[1] == len(block.columns):
            weight = sums.count.sum(axis=0)
        else:
            continue
        columns += [block.columns[j] for j in np.flatnonzero(weight <= 0).tolist()]
    return frozenset(columns)


def learn_as_one(chunk: Chunk, schema: Schema) -> JointStatistics:
    """Kernel: the sums of all rows as a single class, whatever their labels."""
    known = chunk.responsibilities
    assert isinstance(known, PartialLabels)
    one = Labels(np.zeros(len(chunk), dtype=np.intp), known.weight, 1)
    return learn(replace(chunk, responsibilities=one), schema)


def learn_known(chunk: Chunk, schema: Schema) -> JointStatistics:
    """Kernel: the sums of the labelled rows, by class."""
    known = chunk.responsibilities
    assert isinstance(known, PartialLabels)
    return learn(replace(chunk, responsibilities=SoftLabels(known.shares())), schema)


def uncorrelated(schema: Schema) -> Schema:
    """Return the schema with diagonal covariances in place of others: their statistics use every observed cell."""
    simple = Gaussian("diagonal")
    return schema.with_blocks(
        [
            block if block.family.columnwise or not isinstance(block.family, Gaussian) else Block(simple, block.columns)
            for block in schema.blocks
        ]
    )


def lifted(statistics: JointStatistics, schema: Schema) -> JointStatistics:
    """Return statistics of uncorrelated columns in the layout of a schema with covariances."""
    blocks: list[Statistics] = []
    for block, sums in zip(schema.blocks, statistics.blocks, strict=True):
        if isinstance(block.family, Gaussian) and isinstance(sums, DiagonalMoments) and not block.family.columnwise:
            blocks.append(sums.lifted(statistics.class_count, block.family.structure.layout))
        else:
            blocks.append(sums)
    return JointStatistics(statistics.class_count, tuple(blocks))
