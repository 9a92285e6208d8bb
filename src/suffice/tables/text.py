"""The rule that tells text from categories."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

#: cells that the rule looks at, spread evenly over the column
LOOKED_AT = 1000
#: the number of words that half of the cells must have at least
SEVERAL = 4
#: the share of the cells that must be distinct
DISTINCT = 0.5


def reads_as_text(cells: Sequence[Any]) -> bool:
    """Return whether cells are text rather than categories.

    At least half of those that are not missing must be distinct, and at least half must have four words or more. So a
    single odd cell changes nothing; names of cities, answers to be ticked, and long labels that repeat are categories.

    Examples
    --------
    >>> reads_as_text(["see you at noon then", "buy cheap pills right now", None])
    True
    >>> reads_as_text(["New York", "Rio de Janeiro", "Paris"]), reads_as_text(["I agree with this statement"] * 9)
    (False, False)
    """
    words = [cell for cell in cells if isinstance(cell, str) and not cell.isspace() and cell]
    if not words or len(set(words)) < DISTINCT * len(words):
        return False
    return statistics.median(len(cell.split(maxsplit=SEVERAL)) for cell in words) >= SEVERAL


def places(n_rows: int) -> range:
    """Return the rows that the rule looks at: all of a small column, and rows at equal distances of a large one."""
    return range(0, n_rows, max(n_rows // LOOKED_AT, 1))


def is_token_list(cell: Any) -> bool:
    """Return whether a cell is a list of words."""
    return isinstance(cell, (list, np.ndarray)) and all(isinstance(word, str) for word in cell)
