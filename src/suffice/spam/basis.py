"""What a verdict needs besides the counts of tokens: totals, score settings and thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from suffice.spam.scoring import Scoring, evidence, logistic
from suffice.spam.shares import Row
from suffice.spam.store import Store
from suffice.spam.tokenizing import ATTACHED
from suffice.spam.verdict import Thresholds, Verdict

_SCORING = Scoring()


@dataclass(frozen=True)
class Basis:
    """Total weights of spam and ham, score settings in the unit of these weights, and thresholds.

    Examples
    --------
    >>> from suffice.spam.basis import Basis
    >>> from suffice.spam.scoring import Scoring
    >>> from suffice.spam.verdict import Thresholds
    >>> basis = Basis(8, 8, Scoring(), Thresholds())
    >>> basis.verdict(["money", "unheard"], {"money": ("money", 6, 1)}).evidence[0][0]
    'money'
    """

    spam: int
    ham: int
    scoring: Scoring
    thresholds: Thresholds

    @classmethod
    def of(cls, store: Store, today: int) -> Self:
        """Return the basis of a store, for messages of today."""
        # Totals and counts are in units of `scale`, the weight of a message of today. In w(t) only α, m and κ are
        # compared with them, so these three are scaled instead of dividing every count.
        scale = store.forgetting.scale(today)
        slope, intercept = store.get("link", (_SCORING.slope, _SCORING.intercept))
        scoring = replace(
            _SCORING,
            pseudo_count=_SCORING.pseudo_count * scale,
            common=_SCORING.common * scale,
            doubt=_SCORING.doubt * scale,
            slope=slope,
            intercept=intercept,
        )
        return cls(*store.totals(), scoring, Thresholds(*store.get("thresholds", ())))

    @property
    def message(self) -> float:
        """The weight of a message of today, which counts once."""
        return self.scoring.common / _SCORING.common

    def verdict(self, names: Iterable[str], rows: Mapping[str, Row]) -> Verdict:
        """Return the verdict on a message, given its tokens and the rows of the known tokens."""
        if self.spam <= 0 or self.ham <= 0:
            return Verdict(0.5, "unsure", 0.0, [])
        known = [row for row in map(rows.get, names) if row is not None]  # unknown tokens add nothing
        seen, in_spam, in_ham = zip(*known, strict=True) if known else ((), (), ())
        parts = evidence(seen, in_spam, in_ham, self.spam, self.ham, self.scoring)
        return self.concluded("\n".join(seen), parts, math.fsum(parts))

    def concluded(self, seen: str, parts: Sequence[float], log_odds: float) -> Verdict:
        """Return the verdict, given the tokens, one per line, what each adds to the log-odds, and the sum of that."""
        if self.spam <= 0 or self.ham <= 0:
            return Verdict(0.5, "unsure", 0.0, [])
        probability = logistic(self.scoring.slope * log_odds + self.scoring.intercept)
        return Verdict.of(probability, self.thresholds.label(probability), log_odds, seen, parts)

    def learned(self, rows: dict[str, Row], spam: int, ham: int, names: Iterable[str]) -> Self:
        """Return the basis after learning a message with these weights, and add its tokens to `rows` in place."""
        for name in names:
            for each in (name, ATTACHED + name):  # as in `Store.rows`
                if each == name or each in rows:
                    _, in_spam, in_ham = rows.get(each, (each, 0, 0))
                    rows[each] = each, in_spam + spam, in_ham + ham
        return replace(self, spam=self.spam + spam, ham=self.ham + ham)
