"""The rule that tells text from categories."""

from __future__ import annotations

import itertools
import re
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
_WITH_LETTER = re.compile(r"[^\W\d_]\S*")


def reads_as_text(cells: Sequence[Any]) -> bool:
    """Return whether cells are text rather than categories.

    At least half of those that are not missing must be distinct, and at least half must have four words or more; a word
    has a letter. So a single odd cell changes nothing; names of cities, telephone numbers, answers to be ticked, and
    long labels that repeat are categories.

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
    return statistics.median(map(words_in, words)) >= SEVERAL


def words_in(cell: str) -> int:
    """Return how many of the parts between blanks have a letter, up to the number that the rule needs.

    Examples
    --------
    >>> words_in("+49 30 1234 5678"), words_in("room 12, 2nd floor"), words_in("I was here, and you")
    (0, 3, 4)
    """
    return sum(1 for _ in itertools.islice(_WITH_LETTER.finditer(cell), SEVERAL))


def places(n_rows: int) -> range:
    """Return the rows that the rule looks at: all of a small column, and rows at equal distances of a large one."""
    return range(0, n_rows, max(n_rows // LOOKED_AT, 1))


def is_token_list(cell: Any) -> bool:
    """Return whether a cell is a list of words."""
    return isinstance(cell, (list, np.ndarray)) and all(isinstance(word, str) for word in cell)
