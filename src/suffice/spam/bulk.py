"""What many messages at once are made into: lessons to learn, and weights of tokens that are looked up once."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from suffice.spam.counting import Counts, counted_lines
from suffice.spam.isolation import Unread, isolated
from suffice.spam.message import digest
from suffice.spam.reading import Reading, Servers, lines_of, pack
from suffice.spam.scan import compiled
from suffice.spam.scoring import ALLOWED, FIELD_NAMES, FIELDS, MAJORITY, Scoring, field_of, tempered, weighed
from suffice.spam.shares import Label
from suffice.spam.store import Store
from suffice.spam.workers import Chunk, checked

if TYPE_CHECKING:
    from suffice.spam.basis import Basis

#: weights of at most so many tokens are kept between messages: compiled, about 50 MB
KNOWN_LIMIT = 150_000 if compiled is None else 1_000_000
_FIELD_OF_PREFIX = {prefix: number for number, (_, prefixes, _) in enumerate(FIELDS) for prefix in prefixes}
_WORDS, _PAIRS = FIELD_NAMES.index("words"), FIELD_NAMES.index("pairs")
FIELD_WEIGHTS = [weight for _, _, weight in FIELDS]


class Lesson(NamedTuple):
    """Messages to learn with their classes, what they add to the counts, and the numbers of those not read, and why."""

    messages: list[tuple[Reading, Label]]
    counts: Counts
    skipped: list[tuple[int, str]]


def lesson(servers: Servers, chunk: Chunk) -> Lesson:
    """Read messages, each given with its class; `servers` as of `lines_of`."""
    messages: list[tuple[Reading, Label]] = []
    skipped: list[tuple[int, str]] = []

    def read() -> Iterator[tuple[Label, str]]:
        for number, (given, label) in enumerate(chunk):
            found = isolated(partial(_identity_and_lines, servers), checked(given))
            if isinstance(found, Unread):
                skipped.append((number, found.reason))
                continue
            identity, lines = found
            messages.append((Reading(identity, pack(lines)), label))
            yield label, lines

    counts = counted_lines(read())
    return Lesson(messages, counts, skipped)


def _identity_and_lines(servers: Servers, raw: bytes) -> tuple[bytes, str]:
    return bytes.fromhex(digest(raw)), lines_of(raw, keep_day=True, servers=servers)


def lines_of_chunk(servers: Servers, chunk: Chunk) -> list[str | Unread]:
    """Return the tokens of messages, one a line; `servers` as of `lines_of`."""
    return [isolated(partial(lines_of, servers=servers), raw) for raw, _ in chunk]


class KnownWeights:
    """What tokens weigh, kept between messages for as long as the store stays as it was."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._basis: Basis | None = None
        self._weights = no_weights()

    def __len__(self) -> int:
        return len(self._weights)

    def has(self, message: str, basis: Basis) -> bool:
        """Return whether the tokens of a message are known, as they weigh on this basis."""
        return basis is self._basis and self._weights.add([message])[1] == 0

    def prepare(self, messages: list[str], basis: Basis) -> None:
        """Look up the tokens of messages that are not known yet; within a snapshot, of which this is the basis."""
        if basis is not self._basis or len(self._weights) > KNOWN_LIMIT:
            self._weights = no_weights()
            self._weight_of, self._temper = WeightOfCounts(basis.spam, basis.ham, basis.scoring), basis.scoring.temper
        self._basis = None  # should the look-up fail
        new, count = self._weights.add(messages)
        counts = zip(*self._store.counts(new), strict=True) if count else ()
        self._weights.fill(array("d", map(self._weight_of.__getitem__, counts)))
        self._basis = basis

    def evidence(self, lines: str) -> tuple[str, array[float]]:
        """Return which tokens of a message, which was prepared, any message learned holds, and what they add."""
        seen, parts = self._weights.evidence(lines, self._temper, MAJORITY, ALLOWED, FIELD_WEIGHTS)
        return seen, array("d", parts)


class _Weights:
    """The twin of `_scan.Weights`."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, int]] = {}
        self._new: list[str] = []

    def __len__(self) -> int:
        return len(self._known)

    def add(self, messages: Iterable[str]) -> tuple[str, int]:
        """Return the tokens that are not known yet, sorted, in JSON, and how many there are."""
        found = dict.fromkeys(name for lines in messages if lines for name in lines.split("\n"))
        # the tokens of a message are sorted, so that these are in sorted runs, which Python's sort makes use of
        self._new = sorted(name for name in found if name not in self._known)
        return json.dumps(self._new, ensure_ascii=False), len(self._new)

    def fill(self, weights: array[float]) -> None:
        """Say what the new tokens weigh, NaN for those that nobody knows."""
        self._known.update(zip(self._new, zip(weights, map(field_of, self._new), strict=True), strict=True))

    def evidence(self, lines: str, temper: float, *_: object) -> tuple[str, bytes]:
        """Return the tokens of a message that are known, and what each adds to the log-odds."""
        found = [(name, self._known[name]) for name in (lines.split("\n") if lines else ())]
        found = [(name, known) for name, known in found if not math.isnan(known[0])]
        parts = tempered([known for _, known in found], Scoring(temper=temper))
        return "\n".join([name for name, _ in found]), array("d", parts).tobytes()


def no_weights() -> _Weights:
    """Return what keeps the weights of tokens, with none yet."""
    return _Weights() if compiled is None else compiled.Weights(_FIELD_OF_PREFIX, _WORDS, _PAIRS)


class WeightOfCounts(dict[tuple[int | str, int | str], float]):
    """By counts, whole or in digits: most tokens are in one message or two, so that few weights differ."""

    def __init__(self, spam: int, ham: int, scoring: Scoring) -> None:
        self._totals = spam, ham, scoring

    def __missing__(self, key: tuple[int | str, int | str]) -> float:
        in_spam, in_ham = key
        weight = math.nan
        if in_spam != "-":
            [(weight, _)] = weighed([""], [int(in_spam)], [int(in_ham)], *self._totals)
        self[key] = weight
        return weight
