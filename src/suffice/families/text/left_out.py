"""Leave-one-out of the presence of words: the number of documents changes for all words, present or absent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice._arrays import Array, FloatArray
from suffice.families.left_out import LeftOut, Own, OwnClass
from suffice.families.products import log_of
from suffice.families.text.cells import presence
from suffice.families.text.distributions import PresenceDistributions
from suffice.families.words_left_out import Words, taken_from
from suffice.statistics.word_counts import WordCounts
from suffice.tables.words import Bags

#: sums below this share of what they were are rounding error
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PresenceLeftOut(OwnClass):
    """p_w = (documents with the word + α − w [present]) / (documents + 2α − w).

    Parameters
    ----------
    statistics : WordCounts
    amount : float
        α.
    distributions : PresenceDistributions
    refitted : LeftOut
        The scores of rows that their own class rules out without them, which happens without smoothing.
    """

    statistics: WordCounts
    amount: float
    distributions: PresenceDistributions
    refitted: LeftOut

    def own_cells(self, x: Bags, own: Own) -> FloatArray:
        """Return log p of each document in its class without it, n×1; 0 for a missing document."""
        x = self.distributions._known(x)
        found, kept = Words.of(presence(x)), self.distributions.word_weight > 0
        alpha, count, documents = self.amount, self.statistics.count[:, 0], self.statistics.documents
        weight = np.where(x.missing, 0.0, own.weight)
        every = np.arange(found.n)
        left = taken_from(count[own.codes], weight, every)
        # by maximum likelihood a word that all other documents have is certain: its absence is impossible
        absent, certain = np.zeros(found.n), np.zeros(found.n)
        pairs, which = np.unique(np.stack([own.codes, left], axis=1), axis=0, return_inverse=True)
        for i, (c, n) in enumerate(pairs):
            rest = self._without_word(documents[int(c), kept], n)
            members = which.ravel() == i
            absent[members], certain[members] = np.log(rest[rest > 0]).sum(), (rest <= 0).sum()
        words, of_row = found.words, found.rows
        with_word = documents[own.codes[of_row], words]
        rest = self._without_word(with_word, left[of_row])
        present = log_of(taken_from(with_word, weight[of_row], of_row) + alpha)
        finite = np.where(rest > 0, np.log(np.where(rest > 0, rest, 1.0)), 0.0)
        read = kept[words]
        scores = absent + found.sums(np.where(read, present - finite, 0.0))
        certain -= found.sums(np.where(read, rest <= 0, 0.0))
        scores = scores - kept.sum() * log_of(left + 2.0 * alpha)
        ruled_out = (certain > 0.5) | (left + 2.0 * alpha <= 0)
        return np.where(x.missing, 0.0, np.where(ruled_out, -np.inf, scores))[:, None]

    def _without_word(self, documents: FloatArray, n: Array) -> FloatArray:
        """Return the number of documents without a word, and α."""
        rest = n - documents
        return np.where(rest > _ROUNDING * documents, rest, 0.0) + self.amount

    def _scores_of_lost(self, x: Bags, own: Own) -> FloatArray:
        return self.refitted.scores(x, own)
