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
    """A document is neither text nor a list of words, or the user's function does not return its words."""

    def __init__(
        self, document: Any, requirement: str = "documents must be text or lists of words", remedy: str | None = None
    ) -> None:
        super().__init__(f"{requirement}, but found {shown(document)}")
        self.document, self.requirement = document, requirement
        of_bytes = "decode it first, as by document.decode()"
        otherwise = of_bytes if isinstance(document, bytes) else "clean it, or read it as another kind of column"
        self.remedy = remedy or otherwise

    def in_row(self, row: int) -> InvalidCellError:
        """Return the error for the document of a row of a table."""
        return InvalidCellError(self.requirement, found=shown(self.document), row=row, column=0, remedy=self.remedy)


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
            return _WORD.findall(text) if self.tokens is None else _returned(self.tokens(text), document)
        words = _strings(document) if isinstance(document, (list, tuple, np.ndarray)) else None
        if words is None:
            raise NotWordsError(document)
        return words

    def lowered(self, document: str) -> str:
        """Return the document in small letters, or as it is."""
        return document.lower() if self.lowercase else document


def _strings(words: Any) -> list[str] | None:
    """Return words as a list; None if some are no strings."""
    found: list[Any] = words.tolist() if isinstance(words, np.ndarray) else list(words)
    return found if all(issubclass(kind, str) for kind in set(map(type, found))) else None


def _returned(found: Any, document: str) -> list[str]:
    """Return what the user's function returned as a list, if it is words."""
    # the letters of a text could pass for words, but were hardly meant: list(text) says so
    words = _strings(found) if isinstance(found, Iterable) and not isinstance(found, str) else None
    if words is None:
        what = repr(found) if found is None else shown(found)
        requirement = f"tokens must return a list of its words, and returned {what}"
        raise NotWordsError(document, requirement, "change the function")
    return words
