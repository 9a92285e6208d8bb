"""In how many spams and in how many hams each token is: a sum over messages."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

from suffice.spam.scan import compiled
from suffice.spam.shares import Label

#: so many tokens are one text of `Counts.packed`: some megabytes at most, SQLite allows a thousand
PACK_LIMIT = 20_000


class Counts(NamedTuple):
    """How many messages of each class there are, and how many of them hold each token, in a form quick to pickle.

    Attributes
    ----------
    messages : dict
        By class.
    tokens : str
        One a line, sorted.
    spam, ham : array
        How many messages of the class hold each of them.
    """

    messages: dict[Label, int]
    tokens: str
    spam: array[int]
    ham: array[int]

    def rows(self) -> Iterator[tuple[str, int, int]]:
        """Return every token with its counts in spam and in ham, sorted."""
        tokens = self.tokens.split("\n") if self.spam else []
        return zip(tokens, self.spam, self.ham, strict=True)

    def packed(self, most: int = PACK_LIMIT) -> tuple[list[str], list[tuple[str, int, int]]]:
        """Return the rows as JSON, objects of token: spam · 2³² + ham, and apart the rows whose tokens need escapes.

        SQLite takes such a text in a third of the time of as many rows.
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
    """Count the tokens of messages, each given by its class and its distinct tokens, one a line."""
    number: Counter[Label] = Counter()

    def each() -> Iterator[tuple[bool, str]]:
        for label, lines in messages:
            number[label] += 1
            yield label == "ham", lines

    tokens, *columns = (_count if compiled is None else compiled.count)(each())
    spam, ham = (array("I", column) for column in columns)
    return Counts(dict(number), tokens, spam, ham)


def _count(messages: Iterable[tuple[bool, str]]) -> tuple[str, bytes, bytes]:
    """Do what `_scan.count` does."""
    spam, ham = held = Counter[str](), Counter[str]()
    for is_ham, lines in messages:
        if lines:
            held[is_ham].update(lines.split("\n"))
    # tokens of a message are sorted, so that these are in sorted runs, which Python's sort makes use of
    names = sorted({**spam, **ham} if spam and ham else spam or ham)
    in_spam, in_ham = (array("I", map(counts.get, names, repeat(0))).tobytes() for counts in held)
    return "\n".join(names), in_spam, in_ham
