"""What many messages at once are made into: lessons to learn, and weights of tokens that are looked up once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, filterfalse
from typing import NamedTuple

from suffice.spam.counting import Counts, counted
from suffice.spam.message import digest
from suffice.spam.reading import Reading, names_of, pack
from suffice.spam.scoring import Scoring, field_of, weighed
from suffice.spam.shares import Label
from suffice.spam.store import Store
from suffice.spam.workers import Chunk, checked

#: so many tokens are kept between chunks, about 30 MB
KNOWN_LIMIT = 150_000
#: what a token weighs, and its field
Weight = tuple[float, int]


class Lesson(NamedTuple):
    """Messages to learn with their classes, and what they add to the counts."""

    messages: list[tuple[Reading, Label]]
    counts: Counts


def lesson(chunk: Chunk) -> Lesson:
    """Read messages, each given with its class."""
    messages: list[tuple[Reading, Label]] = []

    def read() -> Iterator[tuple[Label, list[str]]]:
        for given, label in chunk:
            raw = checked(given)
            names = names_of(raw)
            messages.append((Reading(bytes.fromhex(digest(raw)), pack(names)), label))
            yield label, names

    counts = counted(read())
    return Lesson(messages, counts)


def names_of_chunk(chunk: Chunk) -> list[list[str]]:
    """Return the tokens of messages."""
    return [names_of(raw) for raw, _ in chunk]


class KnownWeights:
    """What tokens weigh, kept between messages for as long as the store stays as it was."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._state: object = None
        self._weights: dict[str, Weight | None] = {}

    def prepare(self, messages: list[list[str]], spam: int, ham: int, scoring: Scoring) -> None:
        """Look up the tokens of messages that are not known yet; within a snapshot that has these totals."""
        state = self._store.version(), spam, ham, scoring
        if state != self._state or len(self._weights) > KNOWN_LIMIT:
            self._state, self._weights, self._weight_of = state, {}, _WeightOfCounts(spam, ham, scoring)
        # the tokens of a message are sorted, so that these are in sorted runs, which Python's sort makes use of
        new = sorted(dict.fromkeys(filterfalse(self._weights.__contains__, chain.from_iterable(messages))))
        counts = zip(*self._store.counts(new), map(field_of, new), strict=True)
        self._weights.update(zip(new, map(self._weight_of.__getitem__, counts), strict=True))

    def of(self, names: list[str]) -> tuple[list[str], list[Weight]]:
        """Return which tokens of a message, which was prepared, any message learned holds, and what they weigh."""
        weights = list(map(self._weights.__getitem__, names))
        if None in weights:
            names = [name for name, weight in zip(names, weights, strict=True) if weight is not None]
        return names, [weight for weight in weights if weight is not None]


class _WeightOfCounts(dict[tuple[str, str, int], "Weight | None"]):
    """By counts, in digits, and field: most tokens are in one message or two, so that few weights differ."""

    def __init__(self, spam: int, ham: int, scoring: Scoring) -> None:
        self._totals = spam, ham, scoring

    def __missing__(self, key: tuple[str, str, int]) -> Weight | None:
        in_spam, in_ham, field = key
        self[key] = None
        if in_spam != "-":
            [(weight, _)] = weighed([""], [int(in_spam)], [int(in_ham)], *self._totals)
            self[key] = weight, field
        return self[key]
