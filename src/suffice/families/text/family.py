"""Text: a column of documents as bags of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp

from suffice._arrays import Array, FloatArray, issparse, to_float64
from suffice.families.base import Family
from suffice.families.distribution import Distribution
from suffice.families.left_out import LeftOut, Refitted
from suffice.families.products import log_of, require_rows
from suffice.families.text.cells import occurrences, presence, scaled_logs
from suffice.families.text.distributions import (
    ComplementDistributions,
    PositionDistributions,
    PresenceDistributions,
    WordDistributions,
)
from suffice.families.text.left_out import PresenceLeftOut
from suffice.families.text.weights import FixedWords, frequent_words, rarity, scaled
from suffice.families.words_left_out import ComplementLeftOut, PositionsLeftOut
from suffice.priors import CountAtMode, PriorSpec, PseudoCount, resolve_prior
from suffice.statistics.responsibilities import Labels, Responsibilities
from suffice.statistics.word_counts import WordCounts
from suffice.tables.document_tables import as_documents
from suffice.tables.labels import check_weight
from suffice.tables.words import Bags, Reading, count_words

#: the automatic pseudo-counts of weighted counts; chosen on the training part of 20 Newsgroups (docs/text.md)
_OF_WEIGHTED, _OF_COMPLEMENT = 0.1, 0.3


class Text(Family):
    """Documents as bags of words, with one of the two event models of naive Bayes.

    ``"multinomial"``: a word per position, p(x | c) = Π_w p_cw^count(w), with p_cw = (occurrences + α) / (all words of
    the class + αV). The number of words is given, and there is no multinomial coefficient: a document is a sequence of
    words. φ(x) are the counts, η = log p, A(η) = log Σ e^η for one position, h(x) = 1.

    ``"bernoulli"``: the presence of each word of the dictionary, p(x | c) = Π_present p_cw · Π_absent (1 − p_cw), with
    p_cw = (documents with the word + α) / (documents + 2α).

    A missing document adds nothing and drops out of the score. An empty one has no words: it says nothing under the
    first model, and that all words are absent under the second. Words that training has not seen are ignored: their
    probability is the same in every class, except for the size of the classes.

    Parameters
    ----------
    counts : "multinomial" or "bernoulli", default "multinomial"
        The event model. The statistics serve both.
    ngrams : int or pair of int, default 1
        The largest number of neighbouring words that are counted as one, or the smallest and the largest.
    lowercase : bool, default True
        Whether capital letters are read as small ones.
    min_count : int, default 1
        Words in fewer documents are left out of the estimate; the statistics keep them.
    max_words : int or None, default None
        The number of most frequent words to estimate from; those as frequent as the last one are kept too.
    tokens : callable or None, default None
        A function that returns the words of a document. By default words are runs of two or more letters, digits and
        underscores. A model with a function cannot be saved.
    buckets : int or None, default None
        Number the words by a hash in this many buckets, instead of a dictionary, so that memory is limited.
    weighting : None or "tf-idf", default None
        "tf-idf" replaces the counts by log (1 + count), scaled to the same length in every document, times the rarity
        of the word, log (documents / documents with the word). Then log p(x) is that of these numbers in place of
        counts, which is not the probability of a document.
    complement : bool, default False
        Whether a word counts −log p(w | other classes) instead of log p(w | c), which helps if classes differ in size.
        Such scores are not log-densities, so that there is no `score_samples` and no EM; use it with
        ``class_prior="uniform"``.

    Examples
    --------
    >>> from suffice import NaiveBayes
    >>> mails = ["buy cheap pills", "cheap pills now", "meeting at noon", "notes of the meeting"]
    >>> model = NaiveBayes("text").fit(mails, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["cheap meeting pills", "meeting"]).tolist()
    ['spam', 'ham']
    """

    name: ClassVar[str] = "text"

    def __init__(
        self,
        counts: str = "multinomial",
        ngrams: int | tuple[int, int] = 1,
        lowercase: bool = True,
        min_count: int = 1,
        max_words: int | None = None,
        tokens: Callable[[str], Iterable[str]] | None = None,
        buckets: int | None = None,
        weighting: str | None = None,
        complement: bool = False,
    ) -> None:
        if counts not in ("multinomial", "bernoulli"):
            raise ValueError(f"counts must be 'multinomial' or 'bernoulli', not {counts!r}")
        if weighting not in (None, "tf-idf"):
            raise ValueError(f"weighting must be None or 'tf-idf', not {weighting!r}")
        if counts == "bernoulli" and (weighting is not None or complement):
            raise ValueError(
                "weighting and complement are for counts='multinomial', but counts='bernoulli', which only reads "
                "whether a word is there; leave them out, or use counts='multinomial'"
            )
        if not isinstance(lowercase, (bool, np.bool_)) or not isinstance(complement, (bool, np.bool_)):
            raise ValueError(f"lowercase and complement must be True or False, not {lowercase!r} and {complement!r}")
        if tokens is not None and not callable(tokens):
            raise ValueError(f"tokens must be a function that returns the words of a document, not {tokens!r}")
        self.counts = counts
        self.ngrams = _ngrams(ngrams)
        self.lowercase = bool(lowercase)
        self.min_count = _whole("min_count", min_count)
        self.max_words = None if max_words is None else _whole("max_words", max_words)
        self.tokens = tokens
        self.buckets = None if buckets is None else _whole("buckets", buckets)
        self.weighting = weighting
        self.complement = bool(complement)

    def config(self) -> dict[str, Any]:
        """Return the constructor arguments of this family that differ from their defaults."""
        return {name: value for name, value in vars(self).items() if name in _DEFAULTS and value != _DEFAULTS[name]}

    @property
    def reading(self) -> Reading:
        """How the words of a document are found."""
        return Reading(self.lowercase, self.ngrams, self.tokens, self.buckets)

    def shares_statistics(self, other: Family) -> bool:
        """Return whether both read the same words and sum the same functions of their counts."""
        return isinstance(other, Text) and all(
            getattr(self, name) == getattr(other, name)
            for name in ("ngrams", "lowercase", "tokens", "buckets", "weighting")
        )

    @property
    def needs_all_rows(self) -> bool:
        """Whether the words that are read, or their weights, depend on how many documents have them."""
        return self.min_count > 1 or self.max_words is not None or self.weighting is not None

    def require_documents(self) -> None:
        """Raise ValueError if the distributions are not those of documents, so that none can be drawn."""
        if self.weighting is not None or self.complement or self.buckets is not None:
            raise ValueError(
                f"documents can be drawn from probabilities of words, which {self!r} does not have; use Text() or "
                f"Text('bernoulli')"
            )

    @classmethod
    def _of_usual(cls, given: dict[str, Any]) -> Any:
        """Raise TypeError: there is no dictionary."""
        raise TypeError(
            "Text takes no given parameters, because probabilities of words need a dictionary; fit it to documents, or "
            "give a Multinomial with one column per word"
        )

    # -- the exponential family ---------------------------------------------------------------------------------

    def cells(self, x: Bags) -> Array:
        """Return the function of the counts that is summed for the multinomial model, as sparse rows."""
        return occurrences(x) if self.weighting is None else scaled_logs(x)

    def sufficient_statistics(self, x: Any) -> FloatArray:
        """Return the counts, or the presence, of each word, n×V."""
        bags = self.encode(x)
        return to_float64((self.cells(bags) if self.counts == "multinomial" else presence(bags)).toarray())

    def log_normalizer(self, eta: FloatArray) -> FloatArray:
        """Return log Σ e^η, that of one position; or Σ log(1 + e^η)."""
        if self.counts == "bernoulli":
            return np.asarray(np.logaddexp(0.0, eta).sum(-1))
        return np.asarray(logsumexp(eta, axis=-1))

    def log_base_measure(self, x: Bags) -> Array:
        """Return 0 for every row."""
        return np.zeros(len(x))

    def from_natural(self, eta: FloatArray) -> WordDistributions:
        """Return p = softmax(η), or 1 / (1 + e^−η)."""
        if self.counts == "bernoulli":
            return self._with_probability(np.asarray(expit(eta)))
        return self._with_probability(np.exp(eta - logsumexp(eta, axis=1, keepdims=True)))

    def from_moments(self, moments: FloatArray) -> WordDistributions:
        """Return p in proportion to E φ, or equal to it."""
        if self.counts == "bernoulli":
            return self._with_probability(np.minimum(moments, 1.0))
        totals = moments.sum(1)
        return self._with_probability(moments / totals[:, None], mean_size=totals)

    def _with_probability(
        self, probability: FloatArray, word_weight: FloatArray | None = None, mean_size: FloatArray | None = None
    ) -> WordDistributions:
        k, size = probability.shape
        return self.with_parameters(
            {
                "probability": probability,
                "word_weight": np.ones(size) if word_weight is None else word_weight,
                "mean_size": np.ones(k) if mean_size is None else mean_size,
            }
        )

    def with_parameters(self, arrays: Mapping[str, Any]) -> WordDistributions:
        """Return the distributions with these parameter arrays."""
        if self.counts == "bernoulli":
            return PresenceDistributions(self, **arrays)
        return (ComplementDistributions if self.complement else PositionDistributions)(self, **arrays)

    # -- learning -----------------------------------------------------------------------------------------------

    def statistics(self, x: Bags, responsibilities: Responsibilities) -> WordCounts:
        """Return how often each word occurs, and in how many documents."""
        count = responsibilities.totals()
        if x.missing.any():
            count = responsibilities[~x.missing].totals()
        total, documents = (responsibilities.sums(cells) for cells in (self.cells(x), presence(x)))
        return WordCounts(count[:, None], total, documents, np.array([x.shape[1]], dtype=np.intp))

    def empty(self, n_classes: int, n_columns: int) -> WordCounts:
        """Return the statistics of no documents: a dictionary without words."""
        return WordCounts.empty(n_classes, self.buckets or 0)

    def estimate(self, statistics: WordCounts, prior: PriorSpec = "auto") -> WordDistributions:
        """Return the smoothed shares of the words, or of the documents with each word; α = 0 is maximum likelihood."""
        fixed = self.fixed_words(statistics, prior)
        if self.counts == "bernoulli":
            return self._of_presence(statistics, fixed)
        weight = fixed.weight
        total = statistics.total
        if self.complement:
            if fixed.amount == 0.0:
                raise ValueError(
                    "complement=True needs a prior, since a word that no other class has would decide alone, but "
                    "there is none; use prior='auto' or a number"
                )
            total = total.sum(0) - total
        same = bool((weight == 1.0).all())
        weighted = np.array(total) if same else total * weight
        weighted += fixed.amount if same else fixed.amount * (weight > 0)
        if fixed.amount == 0.0:
            require_rows(weighted.sum(1, keepdims=True))
        whole = weighted.sum(1, keepdims=True)
        np.divide(weighted, whole, out=weighted, where=whole > 0)  # all 0 if every word is left out
        size = statistics.total @ (weight > 0) / np.maximum(statistics.count[:, 0], np.finfo(float).tiny)
        return self._with_probability(weighted, weight, size)

    def _of_presence(self, statistics: WordCounts, fixed: FixedWords) -> WordDistributions:
        if fixed.amount == 0.0:
            require_rows(statistics.count)
        kept = fixed.weight > 0
        p = (statistics.documents + fixed.amount) / (statistics.count + 2.0 * fixed.amount)
        np.minimum(p, 1.0, out=p)
        p[:, ~kept] = 0.0
        return self._with_probability(p, fixed.weight, p.sum(1))

    def left_out(self, statistics: WordCounts, prior: PriorSpec, distributions: Any) -> LeftOut:
        """Return the scores of documents by the estimates without each of them; the words stay those of all."""
        fixed = self.fixed_words(statistics, prior)
        refitted = Refitted(self, statistics, distributions, lambda left: self.estimate(left, fixed))
        if self.counts == "bernoulli":
            return PresenceLeftOut(statistics, fixed.amount, distributions, refitted)
        total, before = statistics.total, np.where(fixed.weight > 0, fixed.amount, 0.0)

        def words_of(x: Bags) -> Array:
            return distributions.cells(distributions._known(x))

        if self.complement:
            return ComplementLeftOut(total.sum(0) - total, before, fixed.weight, distributions, words_of)
        return PositionsLeftOut(total, before, fixed.weight, distributions, words_of, None, refitted)

    def fixed_words(self, statistics: WordCounts, prior: PriorSpec, everything: Any = None) -> FixedWords:
        """Return the pseudo-count of a prior, with the weights of the words in these statistics."""
        if isinstance(prior, FixedWords):
            return prior
        automatic = 1.0 if self.weighting is None else _OF_COMPLEMENT if self.complement else _OF_WEIGHTED
        pseudo = resolve_prior(prior, PseudoCount, PseudoCount(automatic))
        of_all = statistics if everything is None else everything
        weight = frequent_words(of_all, self.min_count, self.max_words)
        if self.weighting is not None:
            weight = scaled(weight * rarity(of_all, complement=self.complement), of_all)
        return FixedWords(0.0 if pseudo is None else pseudo.amount, weight)

    def fixed_prior(self, statistics: WordCounts, prior: PriorSpec, everything: Any = None) -> PriorSpec:
        """Return the pseudo-count, with the weights of the words in all documents, labelled or not."""
        return self.fixed_words(statistics, prior, everything)

    def prior_of_components(self, overall: WordCounts, prior: PriorSpec, k: int) -> PriorSpec:
        """Return the pseudo-count, with the weights of the words in all documents."""
        return self.fixed_words(overall, prior)

    def prior_within_classes(
        self, statistics: WordCounts, prior: PriorSpec, k: float, everything: Any = None
    ) -> PriorSpec:
        """Return the pseudo-count, with the weights of the words in all documents."""
        return self.fixed_words(statistics, prior, everything)

    def log_prior(self, distributions: WordDistributions, statistics: WordCounts, prior: PriorSpec) -> float:
        """Return α Σ log p, or α Σ log p (1 − p)."""
        fixed = self.fixed_words(statistics, prior)
        if fixed.amount == 0.0:
            return 0.0
        p = distributions.probability[:, fixed.weight > 0]
        logs = log_of(p) + log_of(1.0 - p) if self.counts == "bernoulli" else log_of(p)
        return fixed.amount * float(logs.sum())

    def mode_prior(self, statistics: WordCounts, prior: PriorSpec) -> PriorSpec:
        """Return one observation less of every word; weighted counts have no posterior density, and keep the prior."""
        if self.weighting is not None or self.complement:
            return prior
        fixed = self.fixed_words(statistics, prior)
        if fixed.amount == 0.0:
            return fixed
        return FixedWords(CountAtMode(fixed.amount - 1.0).amount, fixed.weight)

    # -- documents of the user ----------------------------------------------------------------------------------

    def encode(self, x: Any) -> Bags:
        """Return a matrix of counts, n×V, as bags; documents need the dictionary of a fit."""
        if isinstance(x, Bags):
            return x
        if not issparse(x) and (np.ndim(x) != 2 or np.asarray(x).dtype.kind not in "biuf"):
            raise TypeError(
                "a Text family by itself takes counts of words, n×V, since it has no dictionary; fit it on documents "
                "to have it number their words"
            )
        counts = csr_array(x)
        return Bags(counts, np.zeros(counts.shape[0]), np.zeros(counts.shape[0], dtype=bool))

    def fit(self, x: Any, sample_weight: ArrayLike | None = None, *, prior: PriorSpec = None) -> Distribution:
        """Return the one distribution that fits the documents `x`; None is a missing one."""
        coder = self.with_values_of(x)
        bags = coder.encode(x)
        one_class = Labels(np.zeros(len(bags), dtype=np.intp), check_weight(sample_weight, len(bags)), 1)
        return coder.estimate(coder.statistics(bags, one_class), prior)[0]

    def with_values_of(self, x: Any) -> Text:
        """Return the family that knows the words of the documents `x`."""
        return self if isinstance(x, Bags) else TextOfWords(self, x)

    def words_of(self, drawn: Any, words: Any) -> list[Any]:
        """Return documents from the numbers of their words: the words joined by blanks."""
        return [" ".join(words[number] for number in document) for document in drawn]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and all(getattr(self, name) == getattr(other, name) for name in _DEFAULTS)

    def __hash__(self) -> int:
        return hash((Text, *(getattr(self, name) for name in _DEFAULTS)))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config().items())
        return f"Text({arguments})"


class TextOfWords(Text):
    """The same family for documents of the user: it has their dictionary."""

    def __init__(self, family: Text, documents: Any, known: Iterable[str] = ()) -> None:
        super().__init__(**family.config())
        self._numbers = {word: number for number, word in enumerate(known)}
        self._count(documents, grow=True)

    def _count(self, documents: Any, *, grow: bool) -> Bags:
        return count_words(as_documents(documents), self.reading, self._numbers, grow=grow)

    @property
    def words(self) -> list[str]:
        """The words in the order of their numbers."""
        return list(self._numbers)

    def with_values_of(self, x: Any) -> Text:
        """Return the family with the words of the documents `x` added after those that it has."""
        return self if isinstance(x, Bags) else TextOfWords(self, x, self._numbers)

    def encode(self, x: Any) -> Bags:
        """Return documents as bags of words; unknown words are ignored."""
        return x if isinstance(x, Bags) else self._count(x, grow=False)

    def decode(self, rows: Any) -> list[Any]:
        """Return drawn documents as words joined by blanks."""
        return self.words_of(rows[:, 0], self.words)

    def comparable(self, other: Family) -> bool:
        """Return whether both give the same numbers to the same words."""
        return self == other and self._numbers == getattr(other, "_numbers", None)


def _ngrams(ngrams: Any) -> tuple[int, int]:
    """Return the smallest and the largest number of neighbouring words."""
    pair = (1, ngrams) if isinstance(ngrams, (int, np.integer)) and not isinstance(ngrams, bool) else ngrams
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(n, (int, np.integer)) for n in pair):
        raise ValueError(f"ngrams must be a whole number, or the smallest and the largest one, not {ngrams!r}")
    least, most = (int(n) for n in pair)
    if not 1 <= least <= most:
        raise ValueError(f"ngrams must be at least 1 and in increasing order, but are {ngrams!r}")
    return least, most


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(value)


#: the settings of a family, with their defaults
_DEFAULTS: dict[str, Any] = vars(Text())
