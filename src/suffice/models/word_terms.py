"""Explanations of text columns: what each word adds to the log-odds; words add up to the term of their column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice._arrays import FloatArray
from suffice.engines.base import Chunk
from suffice.families.text import WordDistributions
from suffice.models import passes
from suffice.models.joint import ClassPairs, log_joint_scores

#: absent words that are named one by one in an explanation; the others are added up
ABSENT_NAMED = 10
OTHER_ABSENT = "(other absent words)"


@dataclass(frozen=True, eq=False)
class WordTerms:
    """The documents of one text column, and what each of their words adds to the log-odds of their rows.

    Attributes
    ----------
    place : int
        The position of the column.
    values : sequence of str
        The words in the order of their numbers; empty if they are numbered by a hash.
    bags : Bags
        The documents.
    distributions : WordDistributions
    shares : array of shape (n, m)
        The factor of each component's log-density in the log-odds of each row: their sum is 1 − 1.
    """

    place: int
    values: Sequence[str]
    bags: Any
    distributions: WordDistributions
    shares: FloatArray

    def of(self, row: int) -> list[tuple[str, float]]:
        """Return the words of a document with their contributions, those with the largest absolute value first.

        Under the Bernoulli model there are absent words too: the largest, and the sum of the others.
        """
        row = range(len(self.bags))[row]
        bag = self.bags[row : row + 1]
        if bag.missing[0]:
            return []
        used = np.flatnonzero(self.shares[row])
        share = self.shares[row, used]
        numbers, terms = self.distributions.present_words(bag, used)
        found = [
            (self._name(int(j)), value) for j, value in zip(numbers, _combined(share, terms).tolist(), strict=True)
        ]
        absent = self.distributions.absent_words(used)
        if absent is not None:
            found += self._absent(_combined(share, absent), numbers)
        return sorted(found, key=lambda entry: -abs(entry[1]))

    def _absent(self, terms: FloatArray, present: Any) -> list[tuple[str, float]]:
        terms = terms.copy()
        terms[present] = 0.0
        named = np.argsort(-np.abs(terms), kind="stable")[:ABSENT_NAMED]
        named = named[terms[named] != 0.0]
        found = [(f"no {self._name(int(j))!r}", float(terms[j])) for j in named]
        rest = np.delete(terms, named)
        return [*found, (OTHER_ABSENT, float(rest.sum()))] if rest.any() else found

    def _name(self, number: int) -> str:
        return self.values[number] if len(self.values) else f"bucket {number}"


def _combined(share: FloatArray, terms: FloatArray) -> FloatArray:
    """Return Σ_m share_m · terms_m, 0 for words that are impossible on both sides."""
    with np.errstate(invalid="ignore"):
        total = share @ terms if np.isfinite(terms).all() else (share[:, None] * terms).sum(0)
    return np.where(np.isnan(total), 0.0, total)


def word_terms(X: Any, pairs: ClassPairs, *, estimator: str, n_jobs: int | None = None) -> list[WordTerms]:
    """Return the words of each text column of a model, for the classes that are compared in each row."""
    model, schema = pairs.model, pairs.model.schema
    texts = [
        (block.columns[0], found)
        for block, found in zip(schema.blocks, model.distributions, strict=True)
        if isinstance(found, WordDistributions)
    ]
    if not texts:
        return []
    bags = passes.bags(X, schema, [column for column, _ in texts])
    shares = passes.score(X, schema, _shares, pairs, estimator=estimator, n_jobs=n_jobs)
    known = {column: schema.categories[column].values if column in schema.categories else () for column, _ in texts}
    return [WordTerms(column, known[column], bags[column], found, shares) for column, found in texts]


def _shares(chunk: Chunk, pairs: ClassPairs) -> FloatArray:
    """Kernel: p(m | x, target) − p(m | x, against) for each component m, n×m; 1 and −1 if classes have one each."""
    model, here = pairs.model, slice(chunk.start, chunk.start + len(chunk))
    a, b = pairs.target[here, None], pairs.against[here, None]
    class_of = np.arange(len(model.log_prior)) if model.class_of is None else model.class_of
    within = np.ones((len(chunk), len(class_of)))
    if model.class_of is not None:
        within = np.exp(model.given_class(log_joint_scores(chunk, model, common=False)))
    return within * ((class_of == a).astype(np.float64) - (class_of == b))
