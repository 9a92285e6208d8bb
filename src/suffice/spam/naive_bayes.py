"""Plain naive Bayes on the sums of a filter, to see what the rule of the filter adds.

Every token of the dictionary is a Bernoulli variable, seen in s of the S spams and in h of the H hams, with Laplace's
rule:

    log-odds = log S/H + Σ over tokens of the message  log p/q  +  Σ over all others  log (1 − p)/(1 − q),
    p = (s + 1)/(S + 2),  q = (h + 1)/(H + 2),

so the share of spam counts, absent tokens count, and every token counts in full. The filter leaves out the first two,
and averages the tokens of a field (`suffice.spam.scoring`). Tokens of attachments are left out here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

from suffice.spam.arrival import DAY_PREFIX
from suffice.spam.basis import Basis
from suffice.spam.leave_one_out import Measure, filter_rule, rows_without
from suffice.spam.shares import Row
from suffice.spam.store import Store
from suffice.spam.tokenizing import ATTACHED

#: prefixes of tokens that are no part of the dictionary
_NO_WORDS = (ATTACHED, DAY_PREFIX)


class PlainNaiveBayes:
    """The log-odds of messages by plain naive Bayes; make it and call it within a snapshot of the store."""

    def __init__(self, store: Store, basis: Basis) -> None:
        self._alike = store.numbers_of_tokens(_NO_WORDS)
        self._one = basis.message
        self._of_no_tokens: dict[tuple[int, int], float] = {}

    def __call__(
        self,
        own: Iterable[str],
        others: Iterable[str],
        rows: dict[str, Row],
        weights: tuple[int, int],
        basis: Basis,
    ) -> float:
        """Return the log-odds of a message after subtracting its weights; arguments as in `rows_without`."""
        spam, ham = basis.spam - weights[0], basis.ham - weights[1]
        if spam <= 0 or ham <= 0:
            return 0.0
        own, others = list(own), list(others)
        terms = [math.log(spam / ham), self._without_tokens(spam, ham)]
        for name in chain(own, others):  # as if these were absent, with the sums that `_without_tokens` has
            row = rows.get(name)
            if row is not None and not name.startswith(_NO_WORDS):
                terms.append(-self._absent(row[1], row[2], spam, ham))
        for name, in_spam, in_ham in rows_without(own, others, rows, weights):
            if not name.startswith(_NO_WORDS):
                terms.append(self._log(in_spam, spam) - self._log(in_ham, ham))
        return math.fsum(terms)

    def _without_tokens(self, spam: int, ham: int) -> float:
        """Return the sum over the dictionary of log (1 − p)/(1 − q)."""
        if (spam, ham) not in self._of_no_tokens:
            self._of_no_tokens[spam, ham] = math.fsum(
                number * self._absent(in_spam, in_ham, spam, ham) for in_spam, in_ham, number in self._alike
            )
        return self._of_no_tokens[spam, ham]

    def _absent(self, in_spam: int, in_ham: int, spam: int, ham: int) -> float:
        return self._log(spam - in_spam, spam) - self._log(ham - in_ham, ham)

    def _log(self, count: float, total: float) -> float:
        """Return log (count + 1)/(total + 2), in units of a message."""
        # a token of the message itself may be in more messages than are left; its term is added and subtracted
        return math.log(max(count + self._one, 1e-300) / (total + 2.0 * self._one))


def plain_rule(store: Store, basis: Basis) -> Measure:
    """Return the score of plain naive Bayes."""
    return PlainNaiveBayes(store, basis)


#: the rules by which a filter may be evaluated
RULES = {"filter": filter_rule, "naive-bayes": plain_rule}
