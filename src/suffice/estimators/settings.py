"""Settings that several estimators share, each with its default and its documentation.

An estimator inherits the constructor of its settings, in which parameters with defaults stand one by one, as
scikit-learn needs them. `documented` puts the documentation of shared settings into its docstring.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from inspect import cleandoc
from textwrap import indent
from typing import Any, TypeVar

from suffice.mixtures.best_start import N_STARTS
from suffice.priors import PriorSpec

Class = TypeVar("Class", bound=type)


@dataclass(eq=False, repr=False, kw_only=True)
class SearchSettings:
    """Settings of every run of EM.

    Parameters
    ----------
    max_iter : int, default 500
        The maximum number of EM iterations.
    tol : float, default 1e-6
        EM ends when the relative increase of the bound is at most `tol`.
    acceleration : None or "squarem", default None
        "squarem" takes an extrapolation step every third iteration, and takes it back if it would lower the bound:
        several times fewer iterations if EM is slow. It may end in another optimum.
    random_state : int, Generator, RandomState or None, default None
        The seed of the starting points of EM.
    n_jobs : int or None, default None
        The number of threads; None is one per core.
    """

    max_iter: int = 500
    tol: float = 1e-6
    acceleration: str | None = None
    random_state: Any = None
    n_jobs: int | None = None

    def _em_settings(self) -> dict[str, Any]:
        """Return the settings of EM, for another estimator."""
        names = [setting.name for setting in fields(EMSettings)]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}


@dataclass(eq=False, repr=False, kw_only=True)
class EMSettings(SearchSettings):
    """Settings of an estimator that is fitted by one run of EM.

    Parameters
    ----------
    verbose : bool, default False
        Whether to show the progress of EM.
    """

    verbose: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class StartSettings(EMSettings):
    """Settings of a mixture's starting points.

    Parameters
    ----------
    init : "k-means++", "agglomerative", "random", labels, responsibilities or Mixture, default "k-means++"
        The starting point: "k-means++" is k-means in several units; "agglomerative" merges rows into ellipsoids and
        into spheres, as mclust does (slower, and not random with up to 1,000 rows); "random" draws responsibilities.
        Otherwise given labels (n) or responsibilities (n×k), or a list of such, or the parameters of a fitted mixture.
    n_init : int, default 5
        The number of starts that are tried on a sample of the rows; only the best is continued. Agglomeration has at
        most two.
    """

    init: Any = "k-means++"
    n_init: int = N_STARTS


@dataclass(eq=False, repr=False, kw_only=True)
class CategorySettings:
    """Settings of estimators that read categories.

    Parameters
    ----------
    unseen : "prior" or "missing", default "prior"
        How a category that was not seen in training counts in prediction: with the probability that the prior gives
        it, or not at all, as a missing cell.
    """

    unseen: str = "prior"


@dataclass(eq=False, repr=False)
class MixtureSettings(CategorySettings, StartSettings):
    """The settings of `Mixture`."""

    n_components: int = 1
    families: Any = "auto"
    covariance: Any = "full"
    prior: PriorSpec = "auto"


@dataclass(eq=False, repr=False)
class SoftKMeansSettings(StartSettings):
    """The settings of `SoftKMeans`."""

    n_clusters: int = 8
    stiffness: float | None = None
    shares: str = "learned"


@dataclass(eq=False, repr=False, kw_only=True)
class LabelSettings(EMSettings):
    """Settings of every generative classifier.

    Parameters
    ----------
    prior : "auto", None, number, Prior or list of Priors, default "auto"
        "auto" adds a pseudo-count of 1 (Laplace) to discrete families and a weak, data-scaled
        normal–inverse-Wishart prior to Gaussians, so that no probability is zero and no covariance singular. None is
        maximum likelihood. A value that no class had in training then has probability 0 in all of them: it is ignored
        in the choice of the class, with a warning, and rows with it have the log-density −∞. A number is a
        pseudo-count. With ``estimate="predictive"`` the conjugate priors of textbooks are accepted too: `BetaPrior`,
        `DirichletPrior`, `GammaPrior`, `KnownVariance`, `DiscretePrior`.
    class_prior : "empirical", "uniform", PseudoCount, mapping or array, default "empirical"
        The probabilities of the classes: their shares in the training rows, equal shares, smoothed shares, or given
        probabilities (an array is in the order of the sorted classes).
    n_components : int or mapping of class to int, default 1
        The number of mixture components of each class, p(x | c) = Σ_m p(m | c) p(x | c, m); classes that a mapping
        does not name have one. More than one are found by EM, which starts from clusters of the rows of each class.
    threshold : number, mapping of class to number, or None, default None
        With two classes, the probability that the second must reach; with more, the class with the largest
        probability divided by its threshold is predicted. None, without a cost, predicts the most probable class.
    cost : array of shape (k, k) or None, default None
        ``cost[i, j]`` is the cost of predicting class j when class i is true; the class with the least expected cost
        is predicted.
    estimate : "mean", "map", "mle" or "predictive", default "mean"
        How the parameters are used. "mean" takes the posterior means (of covariances with the class mean integrated
        out). "map" takes the mode of the posterior density: of three heads in four throws it makes 3/4 under a uniform
        prior, where the mean is 4/6. "mle" is maximum likelihood, as ``prior=None``. "predictive" averages over the
        parameters, p(x | c, data) = ∫ p(x | θ) p(θ | data) dθ: t, negative binomial and Dirichlet–multinomial
        distributions, and (n_c + 1)/(n + k) for the empirical class prior. It stays calibrated with a few rows per
        class, and tends to "mean" with many; see `suffice.posteriors`. It needs families with a conjugate prior, and
        one of the covariances "full", "tied", "diagonal", "spherical" or the two tied forms of these.
    classes : list of labels, int or None, default None
        The classes; an integer names them 0, 1, … Needed only if no row has a label: the classes are then the
        components of a `Mixture`.
    missing_label : label, None or "auto", default "auto"
        The label that marks a row without a label, in addition to None and NaN. "auto" is −1 if y holds integers with
        at least two other values. The model learns from such rows by EM; with "auto" it issues a
        `MissingLabelsWarning`. Setting a label, or None (only None and NaN mark missing labels), states that missing
        labels are intended, and no warning is issued.
    unlabeled_weight : float, default 1.0
        The weight of a row without a label; a row with a label has weight 1.
    """

    n_components: Any = 1
    threshold: Any = None
    cost: Any = None
    estimate: str = "mean"
    classes: Any = None
    missing_label: Any = "auto"
    unlabeled_weight: float = 1.0


@dataclass(eq=False, repr=False)
class ClassifierSettings(CategorySettings, LabelSettings):
    """The settings of `GenerativeClassifier`."""

    families: Any = "auto"
    covariance: Any = "diagonal"
    prior: PriorSpec = "auto"
    class_prior: Any = "empirical"


@dataclass(eq=False, repr=False)
class NaiveBayesSettings(CategorySettings, LabelSettings):
    """The settings of `NaiveBayes`."""

    families: Any = "auto"
    prior: PriorSpec = "auto"
    class_prior: Any = "empirical"


@dataclass(eq=False, repr=False)
class DiscriminantSettings(LabelSettings):
    """The settings of `GaussianDiscriminant`."""

    covariance: Any = "tied"
    prior: PriorSpec = "auto"
    class_prior: Any = "empirical"


def documented(cls: Class) -> Class:
    """Put the parameters of a settings class in place of its name in braces, each in a line of the docstring."""
    for settings in cls.__mro__:
        place = re.search(rf"^( *)\{{{settings.__name__}\}}\n", cls.__doc__ or "", flags=re.M)
        if cls.__doc__ and place:  # from Python 3.13 on, docstrings are not indented
            _, _, parameters = cleandoc(settings.__doc__ or "").partition("----------\n")
            cls.__doc__ = cls.__doc__.replace(place[0], indent(parameters, place[1]) + "\n")
    return cls
