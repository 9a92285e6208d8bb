"""Counts of the spams and hams that hold each token: a sum over messages."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

from suffice.spam.scan import compiled
from suffice.spam.shares import Label

#: tokens per text of `Counts.packed`: a few megabytes at most, where SQLite allows a thousand
PACK_LIMIT = 20_000


class Counts(NamedTuple):
    """The number of messages of each class, and of those that hold each token, in a form that pickles quickly.

    Attributes
    ----------
    messages : dict
        Number of messages per class.
    tokens : str
        The tokens, one per line, sorted.
    spam, ham : array
        Number of messages of the class that hold each token.
    """

    messages: dict[Label, int]
    tokens: str
    spam: array[int]
    ham: array[int]

    def rows(self) -> Iterator[tuple[str, int, int]]:
        """Return (token, count in spam, count in ham) of every token, sorted."""
        tokens = self.tokens.split("\n") if self.spam else []
        return zip(tokens, self.spam, self.ham, strict=True)

    def packed(self, most: int = PACK_LIMIT) -> tuple[list[str], list[tuple[str, int, int]]]:
        """Return the rows as JSON objects {token: spam · 2³² + ham}, and separately the rows whose tokens need escapes.

        SQLite reads such a text in a third of the time that the single rows take.
        """
        if compiled is not None:
            result: tuple[list[str], list[tuple[str, int, int]]]
            result = compiled.json_rows(self.tokens, self.spam, self.ham, most)
            return result
        rows = [(json.dumps(row[0], ensure_ascii=False), row) for row in self.rows()]
        plain = [f"{text}:{row[1] << 32 | row[2]}" for text, row in rows if len(text) == len(row[0]) + 2]
        texts = ["{" + ",".join(plain[start : start + most]) + "}" for start in range(0, len(plain), most)]
        return texts, [row for text, row in rows if len(text) != len(row[0]) + 2]


def counted(messages: Iterable[tuple[Label, Iterable[str]]]) -> Counts:
    """Count the tokens of messages, each given by its class and its distinct tokens.

    Examples
    --------
    >>> from suffice.spam.counting import counted
    >>> counts = counted([("spam", ["money", "now"]), ("ham", ["now"])])
    >>> list(counts.rows()), counts.messages
    ([('money', 1, 0), ('now', 1, 1)], {'spam': 1, 'ham': 1})
    """
    return counted_lines((label, "\n".join(tokens)) for label, tokens in messages)


def counted_lines(messages: Iterable[tuple[Label, str]]) -> Counts:
    """Count the tokens of messages, each given by its class and its distinct tokens, one per line."""
    number: Counter[Label] = Counter()

    def each() -> Iterator[tuple[bool, str]]:
        for label, lines in messages:
            number[label] += 1
            yield label == "ham", lines

    tokens, *columns = (_count if compiled is None else compiled.count)(each())
    spam, ham = (array("I", column) for column in columns)
    return Counts(dict(number), tokens, spam, ham)


def _count(messages: Iterable[tuple[bool, str]]) -> tuple[str, bytes, bytes]:
    """Count tokens as `_scan.count` does (its Python fallback)."""
    spam, ham = held = Counter[str](), Counter[str]()
    for is_ham, lines in messages:
        if lines:
            held[is_ham].update(lines.split("\n"))
    # the tokens of each message are sorted, so the input consists of sorted runs, which Timsort exploits
    names = sorted({**spam, **ham} if spam and ham else spam or ham)
    in_spam, in_ham = (array("I", map(counts.get, names, repeat(0))).tobytes() for counts in held)
    return "\n".join(names), in_spam, in_ham
