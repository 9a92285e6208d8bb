"""In how many spams and in how many hams each token is: a sum over messages."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

from suffice.spam.shares import Label


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


def counted(messages: Iterable[tuple[Label, Iterable[str]]]) -> Counts:
    """Count the tokens of messages, each given by its class and its distinct tokens.

    Examples
    --------
    >>> from suffice.spam.counting import counted
    >>> counts = counted([("spam", ["money", "now"]), ("ham", ["now"])])
    >>> list(counts.rows()), counts.messages
    ([('money', 1, 0), ('now', 1, 1)], {'spam': 1, 'ham': 1})
    """
    held: dict[Label, Counter[str]] = {"spam": Counter(), "ham": Counter()}
    number: Counter[Label] = Counter()
    for label, tokens in messages:
        held[label].update(tokens)
        number[label] += 1
    spam, ham = held["spam"], held["ham"]
    # tokens of a message are sorted, so that these are in sorted runs, which Python's sort makes use of
    names = sorted({**spam, **ham} if spam and ham else spam or ham)
    columns = (array("L", map(counts.get, names, repeat(0))) for counts in (spam, ham))
    return Counts(dict(number), "\n".join(names), *columns)
