"""The bucket of a message: the filter's own score, applied to each kind of ham against all other ham.

The kinds are the buckets, and the ham in none of them. The log-odds s(k) of a kind are the score of
`suffice.spam.scoring` with that kind in the role of spam and all other ham in the role of ham, with the same smoothing
and tempering. With K kinds, and their fractions π(k) of the learned ham,

    p(k) ∝ π(k) exp (v (K − 1)/K · s(k)),

where v = ½ is the default slope of the filter; for K = 2 this is the filter's own link. It was chosen by the
leave-one-out log-loss on mailing lists and newsgroups.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Self

from suffice.spam.basis import Basis
from suffice.spam.buckets.tables import by_number
from suffice.spam.bulk import FIELD_WEIGHTS, KNOWN_LIMIT, WeightOfCounts, certain_sum, no_weights
from suffice.spam.scoring import ALLOWED, MAJORITY, Scoring, evidence
from suffice.spam.store import Store

_SLOPE = Scoring().slope
#: limit of messages times kinds that are looked up together, which bounds the memory
_TOGETHER = 1_000


@dataclass(frozen=True)
class Kinds:
    """The kinds of ham that were learned, with their weights.

    Attributes
    ----------
    names, numbers : tuple
        Names and numbers of the buckets; "" and 0 for ham in none of them.
    weights : tuple of int
        Total weights of their messages.
    scoring : Scoring
        The score settings, in the unit of the weights.
    unit : float
        The weight of one message of today.
    imported : dict
        The weight of each token in imported ham counts, which belong to no kind.
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    weights: tuple[int, ...]
    scoring: Scoring
    unit: float
    imported: dict[str, int]

    @classmethod
    def of(cls, store: Store, today: int) -> Self:
        """Return the kinds of a store, for messages of today; call within a snapshot."""
        buckets = store.buckets.all()
        imported, by_token = store.buckets.imported()
        rest = store.totals()[1] - imported - sum(bucket.weight for bucket in buckets)
        kinds = [("", 0, rest), *((bucket.name, bucket.number, bucket.weight) for bucket in buckets)]
        names, numbers, weights = zip(*kinds, strict=True)
        return cls(
            names, numbers, weights, Basis.of(store, today).scoring, store.forgetting.scale(today), by_token
        )._with_messages()

    def _with_messages(self) -> Self:
        """Return the kinds that have messages; none if there are fewer than two, since nothing can be compared."""
        kept = [place for place, weight in enumerate(self.weights) if weight > 0]
        names, numbers, weights = (
            tuple(values[place] for place in (kept if len(kept) > 1 else ()))
            for values in (self.names, self.numbers, self.weights)
        )
        return replace(self, names=names, numbers=numbers, weights=weights)  # type: ignore[arg-type]

    def without(self, name: str, weight: int) -> Self:
        """Return the kinds without one message of a kind, given its weight."""
        less = (each - weight * (kind == name) for kind, each in zip(self.names, self.weights, strict=True))
        return replace(self, weights=tuple(less))._with_messages()

    def split(self, ham: int, text: str) -> list[int]:
        """Return the weight of a token in each kind, given its weight in all ham except imports, and in the buckets."""
        inside = by_number(text)
        rest = ham - sum(inside.values())
        return [inside.get(number, 0) if number else rest for number in self.numbers]

    def evidence(self, tokens: Sequence[str], columns: Sequence[Sequence[int]], place: int) -> list[float]:
        """Return each token's contribution to the log-odds of the kind at index `place`, given its weights per kind."""
        total, own = sum(self.weights), self.weights[place]
        inside = [column[place] for column in columns]
        outside = [sum(column) - column[place] for column in columns]
        return evidence(tokens, inside, outside, own, total - own, self.scoring)

    def log_odds(self, tokens: Sequence[str], columns: Sequence[Sequence[int]]) -> list[float]:
        """Return the log-odds of each kind against all others; arguments as in `evidence`."""
        return [math.fsum(self.evidence(tokens, columns, place)) for place in range(len(self.names))]

    def probabilities(self, log_odds: Sequence[float]) -> dict[str, float]:
        """Return the probability of each kind, given its log-odds.

        Examples
        --------
        >>> from suffice.spam.buckets.kinds import Kinds
        >>> from suffice.spam.scoring import Scoring
        >>> kinds = Kinds(("", "work"), (0, 1), (9, 9), Scoring(), 1.0, {})
        >>> {name: round(p, 3) for name, p in kinds.probabilities([-4.0, 4.0]).items()}
        {'': 0.119, 'work': 0.881}
        """
        if not self.names:
            return {}
        slope = _SLOPE * (len(self.names) - 1) / len(self.names)
        logs = [
            slope * odds + math.log(weight + self.unit) for odds, weight in zip(log_odds, self.weights, strict=True)
        ]
        largest = max(logs)
        parts = [math.exp(value - largest) for value in logs]
        total = math.fsum(parts)
        return {name: part / total for name, part in zip(self.names, parts, strict=True)}


def rows_of(store: Store, kinds: Kinds, tokens: Iterable[str]) -> tuple[list[str], list[list[int]]]:
    """Return the tokens that any ham holds, and the weights of each in the kinds; call within a snapshot."""
    names, columns = [], []
    for token, ham, text in store.buckets.rows(json.dumps(list(tokens), ensure_ascii=False)):
        column = kinds.split(ham - kinds.imported.get(token, 0), text)
        if any(column):
            names.append(token)
            columns.append(column)
    return names, columns


class _WeightsOfRow(dict[tuple[int, str], tuple[float, ...]]):
    """A token's score weight per kind, by its weight in ham and in buckets; NaN if no ham holds it."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        total = sum(kinds.weights)
        self._of_kinds = [WeightOfCounts(weight, total - weight, kinds.scoring) for weight in kinds.weights]

    def __missing__(self, row: tuple[int, str]) -> tuple[float, ...]:
        column = self._kinds.split(*row)
        total = sum(column)
        weights = tuple(
            of_kind[own, total - own] if total else math.nan
            for own, of_kind in zip(column, self._of_kinds, strict=True)
        )
        self[row] = weights
        return weights


class Sorting:
    """The probabilities of kinds, with a cache of token weights that is valid as long as the store does not change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._state: object = None

    def probabilities(self, messages: Sequence[str], today: int) -> list[dict[str, float]]:
        """Return the probabilities of messages, each given as its tokens, one per line; call within a snapshot."""
        self._begin(today)
        if not self._kinds.names:
            return [{} for _ in messages]
        found = []
        together = max(1, _TOGETHER // len(self._kinds.names))
        for start in range(0, len(messages), together):
            chunk = messages[start : start + together]
            self._look_up(chunk)
            found += [self._kinds.probabilities(self._log_odds(lines)) for lines in chunk]
        return found

    def _begin(self, today: int) -> None:
        state = self._store.version(), today
        if state != self._state:
            self._kinds = Kinds.of(self._store, today)
            self._weights_of = _WeightsOfRow(self._kinds)
            self._known = [no_weights() for _ in self._kinds.names]
            self._state = state

    def _look_up(self, messages: Sequence[str]) -> None:
        kinds = self._kinds
        if len(self._known[0]) > KNOWN_LIMIT // len(kinds.names):
            self._known = [no_weights() for _ in kinds.names]
        state, self._state = self._state, None  # in case of an error
        new, *_ = [known.add(list(messages))[0] for known in self._known]  # the same for all
        imported, weights_of = kinds.imported, self._weights_of
        if imported:
            rows = [
                weights_of[ham - imported.get(token, 0), text] for token, ham, text in self._store.buckets.rows(new)
            ]
        else:
            rows = [weights_of[ham, text] for _, ham, text in self._store.buckets.rows(new)]
        for known, weights in zip(self._known, zip(*rows, strict=True) if rows else repeat(()), strict=False):
            known.fill(array("d", weights))
        self._state = state

    def _log_odds(self, lines: str) -> list[float]:
        """Return the log-odds of each bucket for a message whose tokens have been looked up."""
        log_odds = []
        for known in self._known:
            found = known.evidence(lines, self._kinds.scoring.temper, MAJORITY, ALLOWED, FIELD_WEIGHTS)
            assert found is not None
            log_odds.append(certain_sum(*found[1:]))
        return log_odds
