"""Batches of messages: counts to learn from, and token weights that are looked up once per batch."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from suffice.spam.counting import Counts, counted_lines
from suffice.spam.isolation import Unread, isolated
from suffice.spam.message import identity
from suffice.spam.reading import Reading, Servers, lines_of, pack
from suffice.spam.scan import compiled
from suffice.spam.scoring import ALLOWED, FIELD_NAMES, FIELDS, MAJORITY, Scoring, field_of, tempered, weighed
from suffice.spam.shares import Label
from suffice.spam.store import Store
from suffice.spam.workers import Chunk, checked

if TYPE_CHECKING:
    from suffice.spam.basis import Basis
    from suffice.spam.verdict import Verdict

#: limit of token weights kept between messages; about 50 MB with compiled code
KNOWN_LIMIT = 150_000 if compiled is None else 1_000_000
_FIELD_OF_PREFIX = {prefix: number for number, (_, prefixes, _) in enumerate(FIELDS) for prefix in prefixes}
_WORDS, _PAIRS = FIELD_NAMES.index("words"), FIELD_NAMES.index("pairs")
FIELD_WEIGHTS = [weight for _, _, weight in FIELDS]


class Lesson(NamedTuple):
    """Messages to learn with their classes, their token counts, and (number, reason) of each unreadable message."""

    messages: list[tuple[Reading, Label]]
    counts: Counts
    skipped: list[tuple[int, str]]


def lesson(servers: Servers, chunk: Chunk) -> Lesson:
    """Read messages, each given with its class; `servers` as in `lines_of`."""
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
    return identity(raw), lines_of(raw, keep_day=True, servers=servers)


def lines_of_chunk(servers: Servers, chunk: Chunk) -> list[str | Unread]:
    """Return the tokens of each message, one per line; `servers` as in `lines_of`."""
    return [isolated(partial(lines_of, servers=servers), raw) for raw, _ in chunk]


class KnownWeights:
    """A cache of token weights, valid as long as the store does not change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._basis: Basis | None = None
        self._weights = no_weights()

    def __len__(self) -> int:
        return len(self._weights)

    def verdict(self, lines: str, basis: Basis) -> Verdict | None:
        """Return the verdict on a message, given its tokens, one per line; None if one is not cached on this basis."""
        if basis is not self._basis:
            return None
        found = self._weights.evidence(lines, self._temper, MAJORITY, ALLOWED, FIELD_WEIGHTS)
        if found is None:
            return None
        seen, parts, total = found
        return basis.concluded(seen, array("d", parts), certain_sum(parts, total))

    def prepared_verdict(self, lines: str, basis: Basis) -> Verdict:
        """Return the verdict on a message that was prepared on this basis."""
        verdict = self.verdict(lines, basis)
        assert verdict is not None
        return verdict

    def prepare(self, messages: list[str], basis: Basis) -> None:
        """Look up the tokens of messages that are not cached yet; call within a snapshot that `basis` was read in."""
        if basis is not self._basis or len(self._weights) > KNOWN_LIMIT:
            self._weights = no_weights()
            self._weight_of, self._temper = WeightOfCounts(basis.spam, basis.ham, basis.scoring), basis.scoring.temper
        self._basis = None  # in case the look-up fails
        new, count = self._weights.add(messages)
        counts = zip(*self._store.counts(new), strict=True) if count else ()
        self._weights.fill(array("d", map(self._weight_of.__getitem__, counts)))
        self._basis = basis


class _Weights:
    """The Python fallback of `_scan.Weights`."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, int]] = {}
        self._new: list[str] = []

    def __len__(self) -> int:
        return len(self._known)

    def add(self, messages: Iterable[str]) -> tuple[str, int]:
        """Return the tokens that are not cached yet, sorted, as JSON, and their number."""
        found = dict.fromkeys(name for lines in messages if lines for name in lines.split("\n"))
        # the tokens of each message are sorted, so the input consists of sorted runs, which Timsort exploits
        self._new = sorted(name for name in found if name not in self._known)
        return json.dumps(self._new, ensure_ascii=False), len(self._new)

    def fill(self, weights: array[float]) -> None:
        """Set the weights of the new tokens, NaN for unknown ones."""
        self._known.update(zip(self._new, zip(weights, map(field_of, self._new), strict=True), strict=True))

    def evidence(self, lines: str, temper: float, *_: object) -> tuple[str, bytes, float] | None:
        """Return the learned tokens of a message, what each adds to the log-odds, and the sum; None if one is new."""
        names = lines.split("\n") if lines else []
        if any(name not in self._known for name in names):
            return None
        found = [(name, known) for name in names if not math.isnan((known := self._known[name])[0])]
        parts = tempered([known for _, known in found], Scoring(temper=temper))
        return "\n".join([name for name, _ in found]), array("d", parts).tobytes(), math.fsum(parts)


def no_weights() -> _Weights:
    """Return an empty cache of token weights, compiled if possible."""
    return _Weights() if compiled is None else compiled.Weights(_FIELD_OF_PREFIX, _WORDS, _PAIRS)


def certain_sum(parts: bytes, total: float) -> float:
    """Return the sum of doubles, correctly rounded; `total` is NaN or already this sum."""
    return math.fsum(array("d", parts)) if math.isnan(total) else total


class WeightOfCounts(dict[tuple[int | str, int | str], float]):
    """Weights by (spam, ham) counts, as int or digits; most tokens are in one or two messages, so few differ."""

    def __init__(self, spam: int, ham: int, scoring: Scoring) -> None:
        self._totals = spam, ham, scoring

    def __missing__(self, key: tuple[int | str, int | str]) -> float:
        in_spam, in_ham = key
        weight = math.nan
        if in_spam != "-":
            [(weight, _)] = weighed([""], [int(in_spam)], [int(in_ham)], *self._totals)
        self[key] = weight
        return weight
