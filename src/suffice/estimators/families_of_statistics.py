"""The families to estimate from existing statistics."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from suffice.errors import NotKeptError
from suffice.families import Categorical, Family, Gaussian
from suffice.models.schema import Schema, families_by_column


def families_of_statistics(
    schema: Schema, families: Any, covariance: Any, unseen: Any, wanted: Collection[str]
) -> list[Family]:
    """Return one family per block: the existing ones, except those that `families` and the settings `wanted` change."""
    given = families_by_column(schema, families)
    found: list[Family] = []
    for block in schema.blocks:
        asked = {given[column] for column in block.columns if column in given}
        if len(asked) > 1 or (asked and not all(column in given for column in block.columns)):
            names = [schema.column_labels[column] for column in block.columns]
            raise NotKeptError(f"the columns {names} were learned together, so they can only change family together")
        family = asked.pop() if asked else block.family
        if not family.shares_statistics(block.family):
            raise NotKeptError(
                f"the statistics were taken for {block.family!r}, from which {family!r} cannot be estimated; refit"
            )
        if block.columns[0] not in given:
            if isinstance(family, Gaussian) and "covariance" in wanted:
                family = Gaussian(covariance)
            elif isinstance(family, Categorical) and "unseen" in wanted:
                family = Categorical(unseen)
        found.append(family)
    return found
