"""Weights of words: which of them a model reads, and how rare they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice._arrays import FloatArray
from suffice.priors import Prior
from suffice.statistics.word_counts import WordCounts


@dataclass(frozen=True, eq=False)
class FixedWords(Prior):
    """A pseudo-count per word with the weights of the words, taken from all documents before EM begins.

    Parameters
    ----------
    amount : float
        The pseudo-count; 0 for maximum likelihood.
    weight : array of shape (V,)
        The factor of each word's counts; 0 leaves the word out.
    """

    amount: float
    weight: FloatArray


def frequent_words(statistics: WordCounts, min_count: float, max_words: int | None) -> FloatArray:
    """Return 1 for each word in at least `min_count` documents and among the `max_words` most frequent, else 0.

    Words that occur as often as the last of the most frequent ones are kept, so that the order of rows does not matter.
    """
    kept = np.ones(int(statistics.sizes[0]))
    if min_count > 1:
        kept = np.where(statistics.weight >= min_count - 1e-9 * min_count, kept, 0.0)
    if max_words is not None and np.count_nonzero(kept) > max_words:
        frequency = np.where(kept > 0, statistics.total.sum(0), -1.0)
        least = np.partition(frequency, -max_words)[-max_words]
        kept = np.where(frequency >= least - 1e-9 * abs(least), kept, 0.0)
    return kept


def rarity(statistics: WordCounts, *, complement: bool) -> FloatArray:
    """Return l² for each word, with l = log (n / documents with the word), or 1 + l in complement models.

    Both were chosen on the training part of 20 Newsgroups (docs/text.md). l² is 0 for words of every document, and so
    small for other common words that they need not be left out by a list.
    """
    documents, n = statistics.weight, float(statistics.observed[0])
    share = np.divide(documents, n, out=np.ones_like(documents), where=documents > 0)
    logs = -np.log(np.minimum(share, 1.0))
    return np.where(documents > 0, 1.0 + logs if complement else logs**2, 0.0)


def scaled(weight: FloatArray, statistics: WordCounts) -> FloatArray:
    """Return the weights of words times a factor, so that their mean over all sums is 1."""
    whole, weighted = float(statistics.total.sum()), float((statistics.total @ weight).sum())
    return weight * (whole / weighted) if weighted > 0 else weight
