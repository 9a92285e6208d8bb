"""Posteriors of parameters, from statistics and a conjugate prior, and the registry that lists them.

`Family.posterior` returns one. It updates by adding statistics, samples parameters, and has their mean, mode and
credible intervals, the evidence, and the predictive distribution of one more row:

| family | prior | posterior of | predictive |
|---|---|---|---|
| Bernoulli | Beta(a, b) | p ~ Beta(a + ones, b + zeros) | Bernoulli, Beta–binomial |
| Categorical | Dirichlet(α) | p ~ Dirichlet(α + counts) | Categorical |
| Multinomial | Dirichlet(α) | p ~ Dirichlet(α + counts) | Dirichlet–multinomial |
| Text | Dirichlet(α) | p ~ Dirichlet(α + occurrences) | Dirichlet–multinomial of a sequence |
| Text("bernoulli") | Beta(a, b) | p ~ Beta(a + documents with the word, b + without) | the same with the mean |
| Poisson | Gamma(a, b) | λ ~ Gamma(a + Σx, b + n) | negative binomial |
| Exponential | Gamma(a, b) | λ ~ Gamma(a + n, b + Σx) | Lomax |
| Gaussian, full and tied | normal–inverse-Wishart | μ, Σ | multivariate t |
| Gaussian, diagonal and spherical | normal–inverse-Gamma | μ, σ² | t |
| Gaussian, variance known | normal | μ | Gaussian |
| LogNormal | as for Gaussian columns | μ, σ² of log x | t, or Gaussian, of log x |
| any | `DiscretePrior` | probabilities of hypotheses | a sum over the hypotheses |
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from suffice.families.base import Family
from suffice.families.gaussian import Gaussian
from suffice.families.gaussian.covariance import Given
from suffice.families.gaussian.covariance.posterior_means import PosteriorMean
from suffice.families.text import Text
from suffice.posteriors.base import Interval, Posterior, as_statistics
from suffice.posteriors.beta import BetaBinomialDistributions, BetaPosterior
from suffice.posteriors.dirichlet import DirichletPosterior
from suffice.posteriors.dirichlet_multinomial import DirichletMultinomialDistributions
from suffice.posteriors.discrete import DiscretePosterior, SumOfHypotheses
from suffice.posteriors.gamma import GammaPosterior, WaitingTimePosterior
from suffice.posteriors.log_normal import LogNormalPosterior, LogStudentColumns
from suffice.posteriors.lomax import LomaxDistributions
from suffice.posteriors.negative_binomial import NegativeBinomialDistributions
from suffice.posteriors.normal import NormalPosterior
from suffice.posteriors.normal_inverse_gamma import MeanAndVariance, NormalInverseGammaPosterior
from suffice.posteriors.normal_inverse_wishart import Intervals, MeanAndCovariance, NormalInverseWishartPosterior
from suffice.posteriors.predictive import Predictive
from suffice.posteriors.student import StudentDistributions
from suffice.posteriors.student_columns import StudentColumns
from suffice.posteriors.words import DirichletWords, PresencePosterior, WordPosterior
from suffice.priors import DiscretePrior, KnownVariance, Prior, PriorSpec, PseudoCount, check_prior, holds_prior

#: the posterior of each family, by its name; a new one is one line here
POSTERIORS: dict[str, type[Posterior]] = {
    "bernoulli": BetaPosterior,
    "categorical": DirichletPosterior,
    "multinomial": DirichletPosterior,
    "poisson": GammaPosterior,
    "exponential": WaitingTimePosterior,
    "lognormal": LogNormalPosterior,
}


def posterior_of(
    family: Family, statistics: Any, prior: PriorSpec = "auto", sample_weight: ArrayLike | None = None
) -> Posterior:
    """Return the posterior of the parameters of a family, given statistics (or the rows of one class) and a prior."""
    check_prior(prior)
    kind = _kind_of(family, prior)
    if kind is None:
        raise ValueError(
            f"{family!r} has no conjugate prior, so its posterior has no closed form; estimate it instead "
            f"(estimate='mean' in a classifier)"
        )
    return kind(*as_statistics(family, statistics, sample_weight), prior)


def takes(family: Family, prior: Prior) -> bool:
    """Return whether the posterior of a family takes such a prior; True if the family has no posterior."""
    kind = _kind_of(family, prior)
    return kind is None or isinstance(prior, (*kind.priors, PseudoCount))


def _kind_of(family: Family, prior: PriorSpec) -> type[Posterior] | None:
    if holds_prior(prior, (DiscretePrior,)):
        return DiscretePosterior
    if isinstance(family, Text):
        return _of_text(family)
    return _of_gaussian(family, prior) if isinstance(family, Gaussian) else POSTERIORS.get(family.name)


def _of_text(family: Text) -> type[Posterior] | None:
    if family.weighting is not None or family.complement:  # not probabilities of documents
        return None
    return PresencePosterior if family.counts == "bernoulli" else WordPosterior


def _of_gaussian(family: Gaussian, prior: PriorSpec) -> type[Posterior] | None:
    if holds_prior(prior, (KnownVariance,)) or isinstance(family.structure, Given):
        return NormalPosterior
    if not isinstance(family.structure, PosteriorMean):
        return None
    return NormalInverseGammaPosterior if family.structure.diagonal else NormalInverseWishartPosterior


__all__ = [
    "POSTERIORS",
    "BetaBinomialDistributions",
    "BetaPosterior",
    "DirichletMultinomialDistributions",
    "DirichletPosterior",
    "DirichletWords",
    "DiscretePosterior",
    "GammaPosterior",
    "Interval",
    "Intervals",
    "LogNormalPosterior",
    "LogStudentColumns",
    "LomaxDistributions",
    "MeanAndCovariance",
    "MeanAndVariance",
    "NegativeBinomialDistributions",
    "NormalInverseGammaPosterior",
    "NormalInverseWishartPosterior",
    "NormalPosterior",
    "Posterior",
    "Predictive",
    "PresencePosterior",
    "StudentColumns",
    "StudentDistributions",
    "SumOfHypotheses",
    "WaitingTimePosterior",
    "WordPosterior",
    "posterior_of",
    "takes",
]
