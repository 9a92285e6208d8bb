"""Posteriors of the probabilities of words, and the predictive distribution of one more document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from suffice._arrays import Array, FloatArray, IntArray
from suffice.families.base import Distributions
from suffice.families.left_out import LeftOut, Own, Refitted
from suffice.families.text import Text, WordDistributions
from suffice.families.text.distributions import PositionDistributions
from suffice.families.text.left_out import PresenceLeftOut
from suffice.posteriors.base import of_shape
from suffice.posteriors.beta import BetaPosterior
from suffice.posteriors.dirichlet import DirichletPosterior
from suffice.posteriors.left_out import DirichletMultinomialLeftOut
from suffice.posteriors.predictive import gamma_ratio, log_rising, log_rising_cells
from suffice.priors import PseudoCount, find_prior
from suffice.statistics.word_counts import WordCounts
from suffice.tables.words import Bags


class WordPosterior(DirichletPosterior):
    """p ~ Dirichlet(α + occurrences) over the words that are not left out; k×words.

    Examples
    --------
    >>> from suffice import DirichletPrior, Text
    >>> posterior = Text().posterior(["buy now", "buy cheap"], DirichletPrior(1.0))
    >>> posterior.family.words, posterior.mean().round(4)
    (['buy', 'now', 'cheap'], array([[0.4286, 0.2857, 0.2857]]))
    """

    @cached_property
    def _weight(self) -> FloatArray:
        """1 for words that are not left out, else 0."""
        return cast(Text, self.family).fixed_words(self.statistics, None).weight

    @cached_property
    def _before(self) -> FloatArray:
        prior = find_prior(self.prior, self.priors, PseudoCount(1.0))
        alpha = prior.amount if isinstance(prior, PseudoCount) else prior.alpha  # type: ignore[attr-defined]
        shape = (self.n_classes, int(np.count_nonzero(self._weight)))
        return of_shape(alpha, shape, "alpha of the DirichletPrior")

    @cached_property
    def alpha(self) -> FloatArray:
        """α + occurrences, k×words."""
        return np.asarray(self._before + self.statistics.total[:, self._weight > 0])

    def _columns(self) -> Iterator[slice]:
        return iter([slice(0, self.alpha.shape[1])])

    def _of_all_words(self, values: FloatArray) -> FloatArray:
        """Return values of the words with 0 for those that are left out, k×V."""
        whole = np.zeros((len(values), len(self._weight)))
        whole[:, self._weight > 0] = values
        return whole

    def map(self) -> Distributions:
        """Return p = (α − 1) / Σ(α − 1), 0 where α is below 1."""
        less = np.maximum(self.alpha - 1.0, 0.0)
        weights = np.where(self._whole(less) > 0, less, self.alpha)
        p = self._of_all_words(weights / self._whole(weights))
        return PositionDistributions(cast(Text, self.family), p, self._weight, self._mean_size())

    def predictives(self) -> Distributions:
        """Return the distributions of one more document: Dirichlet–multinomial, without the coefficient."""
        whole = self.alpha.sum(1)
        p = self._of_all_words(self.alpha / whole[:, None])
        return DirichletWords(cast(Text, self.family), p, self._weight, self._mean_size(), whole)

    def left_out(self, predictives: Any) -> LeftOut:
        """Return the scores of documents by the predictives without each of them; the words stay those of all."""
        kept = self._weight > 0
        return DocumentsLeftOut(self.statistics.total * kept, self._of_all_words(self._before), predictives)


@dataclass(frozen=True, eq=False)
class DocumentsLeftOut(DirichletMultinomialLeftOut):
    """The same for documents: of the words that are not left out, and without the multinomial coefficient."""

    distributions: DirichletWords  # type: ignore[assignment]

    def own_scores(self, x: Bags, own: Own) -> FloatArray:
        """Return the log-density of each document in its class without it, (n,)."""
        return super().own_scores(self.distributions.kept(x), own)

    def own_cells(self, x: Bags, own: Own) -> FloatArray:
        """Return the log-density of each document in its class without it, n×1."""
        return self.own_scores(x, own)[:, None]


class PresencePosterior(BetaPosterior):
    """p ~ Beta(a + documents with the word, b + documents without it), each word of each class by itself; k×V."""

    @cached_property
    def _before(self) -> tuple[FloatArray, FloatArray]:
        prior = find_prior(self.prior, self.priors, PseudoCount(1.0))
        a, b = (prior.amount, prior.amount) if isinstance(prior, PseudoCount) else (prior.a, prior.b)  # type: ignore[attr-defined]
        shape = self.statistics.documents.shape
        return of_shape(a, shape, "a of the BetaPrior"), of_shape(b, shape, "b of the BetaPrior")

    @cached_property
    def a(self) -> FloatArray:
        """The prior's a plus the number of documents with the word, k×V."""
        return np.asarray(self._before[0] + self.statistics.documents)

    @cached_property
    def b(self) -> FloatArray:
        """The prior's b plus the number of documents without the word, k×V."""
        return np.asarray(self._before[1] + np.maximum(self.statistics.count - self.statistics.documents, 0.0))

    def map(self) -> WordDistributions:  # type: ignore[override]
        """Return p = (a − 1) / (a + b − 2), or an end of the range if the mode is there."""
        return self._with_probability(super().map().probability)

    def predictives(self, draws: int = 1) -> Distributions:
        """Return the distributions of one more document: its words have their mean probabilities."""
        if draws != 1:
            raise ValueError(f"the predictive distribution is that of one document, but draws={draws!r}")
        return self._with_probability(self.mean())

    def left_out(self, predictives: Any) -> LeftOut:
        """Return the scores of documents by the predictives without each of them; the words stay those of all."""

        def estimate(left: WordCounts) -> Distributions:
            return self._with_probability(PresencePosterior(self.family, left, self.prior).mean())

        refitted = Refitted(self.family, self.statistics, predictives, estimate)
        a, b = self._before
        if np.ptp(np.append(a, b)) > 0:
            return refitted
        return PresenceLeftOut(self.statistics, float(a.flat[0]) if a.size else 1.0, predictives, refitted)

    def _with_probability(self, p: FloatArray) -> WordDistributions:
        family = cast(Text, self.family)
        weight = family.fixed_words(self.statistics, None).weight
        kept = p * (weight > 0)
        return family.with_parameters({"probability": kept, "word_weight": weight, "mean_size": kept.sum(1)})


@dataclass(frozen=True, eq=False)
class DirichletWords(PositionDistributions):
    """p(x | α) = Γ(A)/Γ(A + N) · Π Γ(α_w + x_w)/Γ(α_w): a word that has occurred is more likely to occur again.

    Parameters
    ----------
    concentration : array of shape (k,)
        A, the sum of α over the words; `probability` is α / A.
    """

    concentration: FloatArray
    title: ClassVar[str] = "Dirichlet–multinomial"

    @cached_property
    def _alpha(self) -> FloatArray:
        return self.probability * self.concentration[:, None]

    def kept(self, x: Bags) -> Array:
        """Return the counts of the words that are not left out."""
        cells = self.cells(self._known(x)).tocoo()
        there = (self.word_weight[cells.col] > 0) & (cells.data > 0)
        cells.row, cells.col, cells.data = cells.row[there], cells.col[there], cells.data[there]
        return cells.tocsr()

    def _of_totals(self, cells: Array) -> FloatArray:
        """Return log Γ(A)/Γ(A + N), n×k."""
        totals = np.asarray(cells.sum(axis=1), dtype=np.float64).ravel()
        return -gamma_ratio(self.concentration, totals[:, None])

    def score(self, x: Bags, common: bool = True) -> Array:
        """Return log p(x | c), n×k."""
        cells = self.kept(x)
        return self._of_totals(cells) + log_rising(cells, self._alpha)

    @property
    def rules_out(self) -> bool:
        """False: the prior gives every word a positive probability."""
        return False

    def log_ratio(self, x: Bags, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the difference of Σ log Γ(α_w + x_w)/Γ(α_w), and as the rest what the length of the document adds."""
        cells, rows = self.kept(x), np.arange(len(x))
        words, totals = log_rising(cells, self._alpha), self._of_totals(cells)
        return (words[rows, a] - words[rows, b])[:, None], totals[rows, a] - totals[rows, b]

    def present_words(self, x: Bags, classes: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the numbers of the words of one document, and log Γ(α_w + x_w)/Γ(α_w) of each in some classes."""
        cells = self.kept(x)
        return cells.indices, log_rising_cells(cells.data, self._alpha[classes], cells.indices)

    def _draw(self, c: int, rng: np.random.Generator) -> IntArray:
        drawn = np.cumsum(rng.standard_gamma(self._alpha[c]))
        n = rng.poisson(self.mean_size[c]) if len(drawn) and drawn[-1] > 0 else 0
        return np.searchsorted(drawn, rng.random(n) * (drawn[-1] if n else 0.0), side="right").astype(np.intp)

    def natural_parameters(self) -> FloatArray:
        """Raise TypeError: an average over an exponential family is not an exponential family."""
        raise TypeError("a Dirichlet–multinomial is not an exponential family, so it has no natural parameters")
