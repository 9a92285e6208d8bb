"""python -m benchmarks.spam_rules: the rule of the spam filter beside plain naive Bayes on the same counts.

A filter learns one half of the SpamAssassin corpus and is evaluated on the other, by its own rule, by plain naive
Bayes, and by naive Bayes without one of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from benchmarks.spam_corpus import corpus, folds
from suffice.spam import SpamFilter
from suffice.spam.naive_bayes import RULES, PlainNaiveBayes


class _PresentOnly(PlainNaiveBayes):
    """Tokens that a message does not have do not count."""

    def _absent(self, *_: Any) -> float:
        return 0.0


class _NoPrior(PlainNaiveBayes):
    """The share of spam does not count."""

    def __call__(self, own: Any, others: Any, rows: Any, weights: Any, basis: Any) -> float:
        odds = (basis.spam - weights[0]) / (basis.ham - weights[1])
        return super().__call__(own, others, rows, weights, basis) - math.log(odds)


def outcomes() -> Iterator[tuple[str, Any]]:
    """Yield the name and the evaluation of each rule."""
    raws, y = corpus()
    labels = ["spam" if spam else "ham" for spam in y]
    learned = folds(y) < 5
    parts: dict[bool, tuple[list[bytes], list[Any]]] = {True: ([], []), False: ([], [])}
    for raw, label, part in zip(raws, labels, learned.tolist(), strict=True):
        parts[part][0].append(raw)
        parts[part][1].append(label)
    with SpamFilter() as spam_filter:
        spam_filter.train_many(*parts[True])
        yield "the filter", spam_filter.evaluate(*parts[False])
        for name, rule in (
            ("naive Bayes", PlainNaiveBayes),
            ("without prior odds", _NoPrior),
            ("without absent words", _PresentOnly),
        ):
            with patch.dict(RULES, {"naive-bayes": rule}):
                yield name, spam_filter.evaluate(*parts[False], rule="naive-bayes")


if __name__ == "__main__":
    print(f"{'':22} ham lost  spam missed  unsure  (1 - AUC) %  log-loss  least cost")
    for name, found in outcomes():
        errors = found.errors()
        cost = min(100 * point.false_positives + point.not_caught for point in found.trade_off())
        unsure = errors.unsure_spam + errors.unsure_ham
        print(
            f"{name:22} {errors.false_positives:8} {errors.missed:12} {unsure:7} {found.one_minus_auc:12.4f} "
            f"{found.log_loss:9.4f} {cost:11}"
        )
