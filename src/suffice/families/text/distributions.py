"""Distributions of documents: a word per position, the presence of each word, and the weights of other classes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray, to_float64
from suffice.families.base import Distributions
from suffice.families.products import Factor, log_of, product
from suffice.families.text.cells import presence
from suffice.tables.words import Bags

if TYPE_CHECKING:
    from suffice.families.text.family import Text


#: words whose weights are computed at a time, so that no second array of all words and classes is needed
_WORDS_AT_A_TIME = 2048


@dataclass(frozen=True, eq=False)
class WordDistributions(Distributions):
    """Documents of one text column: scores are sums over words, plus a constant per class.

    Parameters
    ----------
    family : Text
    probability : array of shape (k, V)
        The probabilities of the words.
    word_weight : array of shape (V,)
        The factor of each word's counts: 0 for words that are left out, and else 1 or the rarity of the word.
    mean_size : array of shape (k,)
        The mean number of words in a document, for `sample`.
    """

    family: Text
    probability: FloatArray
    word_weight: FloatArray
    mean_size: FloatArray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.probability)

    @property
    def title(self) -> str:
        """The name of one of the distributions."""
        return repr(self.family) if self.family.config() else "Text"

    @property
    def n_columns(self) -> int:
        """The number of columns: one, of documents."""
        return 1

    @property
    def n_words(self) -> int:
        """The number of words that are not left out."""
        return int(np.count_nonzero(self.word_weight))

    def log_prob(self, x: ArrayLike) -> FloatArray:
        """Return log p(x | c) of documents, n×k."""
        return to_float64(self.score(self.family.encode(x)))

    # -- scores -------------------------------------------------------------------------------------------------

    @abstractmethod
    def cells(self, x: Bags) -> Array:
        """Return the function of the counts that scores are linear in, as sparse rows."""

    @abstractmethod
    def logs(self, probability: FloatArray) -> FloatArray:
        """Return the change of the score by a unit of a word's cell, before weights; −∞ if impossible."""

    @cached_property
    def _factor(self) -> tuple[Factor, Factor | None, Factor | None]:
        """The weights of words, finite, and 1 where they are infinite: in any class, and not in all of them."""
        k, kept = self.n_classes, self.word_weight > 0
        table = compiled.whole_registers(np.broadcast_to(0.0, (len(kept), k)))
        infinite: FloatArray | None = None
        for start in range(0, len(kept), _WORDS_AT_A_TIME):
            some = slice(start, start + _WORDS_AT_A_TIME)
            logs = self.logs(self.probability[:, some])
            impossible = np.isneginf(logs) & kept[some]
            if impossible.any():
                infinite = np.zeros((k, len(kept))) if infinite is None else infinite
                infinite[:, some] = impossible
            if impossible.any() or not kept[some].all():
                logs = np.where(kept[some] & ~impossible, logs, 0.0)
            np.multiply(logs.T, self.word_weight[some, None], out=table[some, :k])
        finite = _of_table(table, k)
        if infinite is None:
            return finite, None, None
        decisive = infinite * ~infinite.all(0)
        return finite, Factor(infinite), Factor(decisive) if decisive.any() else None

    def score(self, x: Bags, common: bool = True) -> Array:
        """Return Σ_words cell · weight + constant, n×k; 0 for a missing document."""
        x = self._known(x)
        cells = self.cells(x)
        finite, infinite, decisive = self._factor
        scores = product(cells, finite)
        ruled_out = infinite if common else decisive
        if ruled_out is not None:
            scores = np.where(product(cells, ruled_out) > 0, -np.inf, scores)
        return scores

    def _known(self, x: Bags) -> Bags:
        """Return the bags without words that are not among those of training."""
        V = self.probability.shape[1]
        if x.counts.shape[1] <= V:
            if x.counts.shape[1] < V:
                counts = x.counts.copy()
                counts.resize((len(x), V))
                return Bags(counts, x.unknown, x.missing)
            return x
        return Bags(x.counts[:, :V], x.unknown + np.asarray(x.counts[:, V:].sum(axis=1)).ravel(), x.missing)

    @property
    def rules_out(self) -> bool:
        """Whether some word has probability 0 in some class."""
        return self._factor[1] is not None

    def impossible_cells(self, x: Bags) -> FloatArray | float:
        """Return a number per row: positive if some word has probability 0 in every class."""
        nowhere = (self.probability <= 0.0).all(0) & (self.word_weight > 0)
        return np.asarray(self._known(x).counts @ nowhere.astype(np.float64))

    def log_ratio(self, x: Bags, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what the document adds to log p(x | a) / p(x | b), n×1."""
        scores, rows = self.score(x, common=False), np.arange(len(x))
        return (scores[rows, a] - scores[rows, b])[:, None], np.zeros(len(x))

    def present_words(self, x: Bags, classes: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the numbers of the words of one document, (m,), and what each adds to the scores of some classes."""
        cells = self.cells(self._known(x))
        kept = self.word_weight[cells.indices] > 0
        words = cells.indices[kept]
        terms = self._if_present(self.probability[np.ix_(classes, words)])
        return words, terms * (cells.data[kept] * self.word_weight[words])

    def _if_present(self, probability: FloatArray) -> FloatArray:
        """Return what a unit of each word adds to the score where it occurs."""
        return self.logs(probability)

    def absent_words(self, classes: IntArray) -> FloatArray | None:
        """Return what the absence of each word adds to the scores of some classes; None if it adds nothing."""
        return None

    # -- moments ------------------------------------------------------------------------------------------------

    def natural_parameters(self) -> FloatArray:
        """Return log p, k×V."""
        return log_of(self.probability)

    def moment_parameters(self) -> FloatArray:
        """Return p, k×V."""
        return self.probability

    def shown(self) -> dict[str, Any]:
        """Return the probabilities."""
        return {"probability": self.probability}

    # -- documents ----------------------------------------------------------------------------------------------

    def sample(self, classes: IntArray, rng: np.random.Generator) -> Any:
        """Return the numbers of the words of one document per entry of `classes`, as an n×1 array of arrays."""
        self.family.require_documents()
        drawn = np.empty((len(classes), 1), dtype=object)
        for row, c in enumerate(classes):
            drawn[row, 0] = self._draw(int(c), rng)
        return drawn

    @abstractmethod
    def _draw(self, c: int, rng: np.random.Generator) -> IntArray:
        """Return the numbers of the words of a random document of class c."""

    def expected_rows(self, x: Bags, shares: FloatArray) -> FloatArray:
        """Return NaN: a missing document stays missing."""
        return np.full((len(x), 1), np.nan)

    def sampled_rows(self, x: Bags, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return NaN: a missing document stays missing."""
        return np.full((len(x), 1), np.nan)

    def marginal(self, columns: IntArray) -> WordDistributions:
        """Return these distributions: there is one column."""
        return self

    def standardised(self, x: Bags) -> Array:
        """Return the weighted counts of words, scaled to length 1."""
        x = self._known(x)
        rows = self.cells(x)
        rows.data = rows.data * self.word_weight[rows.indices]
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        length = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
        rows.data = rows.data / np.repeat(length, np.diff(rows.indptr))
        return rows


class PositionDistributions(WordDistributions):
    """A word per position: p(x | c) = Π_w p_cw^count, the number of words being given; k×V probabilities."""

    def cells(self, x: Bags) -> Array:
        """Return the counts, or their scaled logarithms."""
        return self.family.cells(x)

    def logs(self, probability: FloatArray) -> FloatArray:
        """Return log p."""
        return log_of(probability)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: the probabilities of a class sum to 1."""
        return self.n_classes * max(self.n_words - 1, 0)

    def mean(self) -> FloatArray:
        """Return the mean counts of the words, k×V."""
        return self.probability * self.mean_size[:, None]

    def variance(self) -> FloatArray:
        """Return N p (1 − p) for documents of the mean length N, k×V."""
        return self.mean() * (1.0 - self.probability)

    def statistic_covariance(self) -> FloatArray:
        """Return diag p − p pᵀ, that of one position, k×V×V."""
        p = self.probability
        return np.asarray(np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :])

    def covariance(self) -> FloatArray:
        """Return N (diag p − p pᵀ) for documents of the mean length N, k×V×V."""
        return self.statistic_covariance() * self.mean_size[:, None, None]

    def _draw(self, c: int, rng: np.random.Generator) -> IntArray:
        cumulated = self._cumulated[c]
        n = rng.poisson(self.mean_size[c]) if len(cumulated) and cumulated[-1] > 0 else 0
        return np.searchsorted(cumulated, rng.random(n) * (cumulated[-1] if n else 0.0), side="right").astype(np.intp)

    @cached_property
    def _cumulated(self) -> FloatArray:
        return np.cumsum(self.probability, axis=1)


class ComplementDistributions(PositionDistributions):
    """Complement naive Bayes: a word counts −log of its probability in the other classes.

    `probability` holds p(w | not c). Scores are not log-densities of documents.
    """

    def score(self, x: Bags, common: bool = True) -> Array:
        """Return −Σ_w cell · log p(w | not c), n×k; raise ValueError if log-densities are asked for."""
        if common:
            raise ValueError(
                "complement=True scores a class by the words of the others, which is not a probability of the "
                "document, as densities, mixtures and rows without labels (EM) need it; use Text(complement=False), or "
                "drop the rows without labels"
            )
        return super().score(x, common)

    def logs(self, probability: FloatArray) -> FloatArray:
        """Return −log p(w | not c)."""
        return -log_of(probability)


class PresenceDistributions(WordDistributions):
    """Presence of each word of the dictionary: p(x | c) = Π_present p_cw · Π_absent (1 − p_cw)."""

    def cells(self, x: Bags) -> Array:
        """Return 1 for each word that occurs."""
        return presence(x)

    @cached_property
    def _log_yes_no(self) -> tuple[FloatArray, FloatArray]:
        return log_of(self.probability), log_of(1.0 - self.probability)

    def logs(self, probability: FloatArray) -> FloatArray:
        """Return log p / (1 − p), and 0 for a word that is certain, whose absence is impossible."""
        no = log_of(1.0 - probability)
        return log_of(probability) - np.where(np.isneginf(no), 0.0, no)

    @cached_property
    def _all_absent(self) -> tuple[FloatArray, Any, Any]:
        """The score of an empty document but for words that are certain, (k,), and the certain words, k×V.

        The last array leaves out words that are certain in every class.
        """
        _, no = self._log_yes_no
        kept = self.word_weight > 0
        certain = np.isneginf(no) & kept
        return np.where(certain | ~kept, 0.0, no).sum(1), certain, certain & ~certain.all(0)

    def score(self, x: Bags, common: bool = True) -> Array:
        """Return the sum over present and absent words, n×k; 0 for a missing document."""
        scores = super().score(x, common)
        constant, certain, decisive = self._all_absent
        scores = scores + constant
        certain = certain if common else decisive
        if certain.any():
            found = presence(self._known(x)) @ certain.T.astype(np.float64)
            scores = np.where(found < certain.sum(1), -np.inf, scores)
        scores[x.missing] = 0.0
        return scores

    @property
    def rules_out(self) -> bool:
        """Whether some word has probability 0 or 1 in some class."""
        return super().rules_out or bool(self._all_absent[1].any())

    def impossible_cells(self, x: Bags) -> FloatArray | float:
        """Return a number per row: positive if a word, or its absence, has probability 0 in every class."""
        always = self._all_absent[1].all(0)
        absent = float(always.sum()) - np.asarray(presence(self._known(x)) @ always.astype(np.float64))
        return np.where(x.missing, 0.0, super().impossible_cells(x) + absent)

    def _if_present(self, probability: FloatArray) -> FloatArray:
        return log_of(probability)

    def absent_words(self, classes: IntArray) -> FloatArray | None:
        """Return log (1 − p) of some classes; 0 for words that are left out."""
        return np.where(self.word_weight > 0, log_of(1.0 - self.probability[classes]), 0.0)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        return self.n_classes * self.n_words

    def natural_parameters(self) -> FloatArray:
        """Return log p / (1 − p), k×V."""
        yes, no = self._log_yes_no
        return yes - no

    def mean(self) -> FloatArray:
        """Return p, k×V."""
        return self.probability

    def variance(self) -> FloatArray:
        """Return p (1 − p), k×V."""
        return self.probability * (1.0 - self.probability)

    def statistic_covariance(self) -> FloatArray:
        """Return diag p (1 − p), k×V×V."""
        return self.covariance()

    def entropy(self) -> FloatArray:
        """Return −Σ (p log p + (1 − p) log (1 − p)), (k,)."""
        return np.asarray((entr(self.probability) + entr(1.0 - self.probability)).sum(1))

    def _draw(self, c: int, rng: np.random.Generator) -> IntArray:
        return np.flatnonzero(rng.random(self.probability.shape[1]) < self.probability[c])


def _of_table(table: FloatArray, k: int) -> Factor:
    """Return a factor whose table for the compiled kernel exists already, without another copy."""
    factor = Factor(table[:, :k].T)
    factor.__dict__["side_by_side"] = table
    return factor
