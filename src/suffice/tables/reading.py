"""How the words of a document are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InvalidCellError
from suffice.tables.factorize import shown

_WORD = re.compile(r"\w\w+")


class NotWordsError(TypeError):
    """A document is neither text nor a list of words."""

    def __init__(self, document: Any) -> None:
        super().__init__(f"a document must be text or a list of words, but is {shown(document)}")
        self.document = document

    def in_row(self, row: int) -> InvalidCellError:
        """Return the error for the document of a row of a table."""
        return InvalidCellError(
            "documents must be text or lists of words",
            found=shown(self.document),
            row=row,
            column=0,
            remedy="clean it, or read it as another kind of column",
        )


@dataclass(frozen=True)
class Reading:
    """How the words of a document are found.

    Words are runs of two or more letters, digits and underscores, as Unicode defines them.

    Parameters
    ----------
    lowercase : bool, default True
        Whether capital letters are read as small ones.
    ngrams : tuple of int, default (1, 1)
        The smallest and the largest number of neighbouring words that are counted as one.
    tokens : callable or None, default None
        A function that returns the words of a document, instead of the rule above.
    buckets : int or None, default None
        The number of buckets in which words are counted, instead of a dictionary, so that memory is bounded: all words
        with the same `suffice.tables.buckets.word_buckets` are counted together.
    """

    lowercase: bool = True
    ngrams: tuple[int, int] = (1, 1)
    tokens: Callable[[str], Iterable[str]] | None = None
    buckets: int | None = None

    def __post_init__(self) -> None:
        least, most = self.ngrams
        if not 1 <= least <= most:
            raise ValueError(
                f"ngrams must be the smallest and the largest number of words, such as (1, 2), not {self.ngrams!r}"
            )
        if self.buckets is not None and not 1 <= self.buckets < 2**31:
            raise ValueError(f"buckets must be None or from 1 to 2**31 - 1, such as 2**18, not {self.buckets!r}")

    def words(self, document: Any) -> list[str]:
        """Return the words of a document, and its n-grams, each after the word that it ends in.

        Examples
        --------
        >>> Reading(ngrams=(1, 2)).words("Buy now, cheap!")
        ['buy', 'now', 'buy now', 'cheap', 'now cheap']
        """
        found = self.single_words(document)
        least, most = self.ngrams
        if most == 1:
            return found
        return [
            " ".join(found[end - n : end]) for end in range(1, len(found) + 1) for n in range(least, min(most, end) + 1)
        ]

    def single_words(self, document: Any) -> list[str]:
        """Return the words of a document without n-grams; a list of words is taken as it is."""
        if isinstance(document, str):
            text = self.lowered(document)
            return _WORD.findall(text) if self.tokens is None else _strings(self.tokens(text))
        if not isinstance(document, (list, tuple, np.ndarray)):
            raise NotWordsError(document)
        return _strings(document)

    def lowered(self, document: str) -> str:
        """Return the document in small letters, or as it is."""
        return document.lower() if self.lowercase else document


def _strings(words: Any) -> list[str]:
    """Return words as a list, if all are strings."""
    found: list[Any] = words.tolist() if isinstance(words, np.ndarray) else list(words)
    if not all(issubclass(kind, str) for kind in set(map(type, found))):
        raise NotWordsError(found)
    return found
