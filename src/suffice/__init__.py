"""Suffice: generative learning from sufficient statistics.

A model of p(x, y) = p(y) p(x | y) classifies, finds outliers, draws samples and explains its predictions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from suffice._version import __version__

if TYPE_CHECKING:  # at run time `__getattr__` imports these names when they are first used
    from suffice import plot
    from suffice.errors import (
        IdentifierWarning,
        InvalidCellError,
        MissingLabelsWarning,
        ModelFileError,
        NotKeptError,
        TextColumnWarning,
    )
    from suffice.estimators import (
        GLM,
        GaussianDiscriminant,
        GenerativeClassifier,
        Imputer,
        LikelihoodRatioTest,
        LogisticRegression,
        Mixture,
        NaiveBayes,
        SoftKMeans,
        e_step,
        em_steps,
        likelihood_ratio_test,
        m_step,
    )
    from suffice.estimators.boundary import Boundary
    from suffice.families import (
        Bernoulli,
        Beta,
        Categorical,
        Dirichlet,
        Distribution,
        Exponential,
        Family,
        Gamma,
        Gaussian,
        Geometric,
        InverseGaussian,
        LogNormal,
        Multinomial,
        NegativeBinomial,
        Poisson,
        Text,
    )
    from suffice.families.gaussian import GivenCovariance, GivenDiagonal, GivenSphere
    from suffice.models.explanations import Explanation
    from suffice.models.named_statistics import ModelStatistics
    from suffice.optimize.interrupts import keep_on_interrupt
    from suffice.persistence import load, save
    from suffice.priors import (
        BetaPrior,
        DirichletPrior,
        DiscretePrior,
        GammaPrior,
        KnownVariance,
        NormalInverseWishart,
        Prior,
        PseudoCount,
    )
    from suffice.selection import (
        Comparison,
        FamilyRanking,
        MixtureSearch,
        ThresholdCurve,
        best_family,
        compare,
        distribution,
        threshold_curve,
    )
    from suffice.statistics import Statistics
    from suffice.tables import scan, stream
    from suffice.versions import show_versions

#: the public names of each module; a module is imported when one of its names is first used, so that a part that needs
#: neither scikit-learn nor SciPy, such as `suffice.spam`, does not import them
_NAMES = {
    "errors": (
        "IdentifierWarning",
        "InvalidCellError",
        "MissingLabelsWarning",
        "ModelFileError",
        "NotKeptError",
        "TextColumnWarning",
    ),
    "estimators": (
        "GLM",
        "GaussianDiscriminant",
        "GenerativeClassifier",
        "LikelihoodRatioTest",
        "Imputer",
        "LogisticRegression",
        "Mixture",
        "NaiveBayes",
        "SoftKMeans",
        "e_step",
        "em_steps",
        "m_step",
        "likelihood_ratio_test",
    ),
    "estimators.boundary": ("Boundary",),
    "models.explanations": ("Explanation",),
    "families": (
        "Bernoulli",
        "Beta",
        "Categorical",
        "Dirichlet",
        "Distribution",
        "Exponential",
        "Family",
        "Gamma",
        "Gaussian",
        "Geometric",
        "InverseGaussian",
        "LogNormal",
        "Multinomial",
        "NegativeBinomial",
        "Poisson",
        "Text",
    ),
    "families.gaussian": ("GivenCovariance", "GivenDiagonal", "GivenSphere"),
    "optimize.interrupts": ("keep_on_interrupt",),
    "models.named_statistics": ("ModelStatistics",),
    "persistence": ("load", "save"),
    "priors": (
        "BetaPrior",
        "DirichletPrior",
        "DiscretePrior",
        "GammaPrior",
        "KnownVariance",
        "NormalInverseWishart",
        "Prior",
        "PseudoCount",
    ),
    "selection": (
        "Comparison",
        "FamilyRanking",
        "MixtureSearch",
        "ThresholdCurve",
        "best_family",
        "compare",
        "distribution",
        "threshold_curve",
    ),
    "tables": ("scan", "stream"),
    "statistics": ("Statistics",),
    "versions": ("show_versions",),
}
#: public modules, available as attributes of the package
_MODULES = ("dropin", "families", "plot", "posteriors", "priors", "spam")
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "GLM",
    "Bernoulli",
    "Beta",
    "BetaPrior",
    "Boundary",
    "Categorical",
    "Comparison",
    "Dirichlet",
    "DirichletPrior",
    "DiscretePrior",
    "Distribution",
    "Explanation",
    "Exponential",
    "Family",
    "FamilyRanking",
    "Gamma",
    "GammaPrior",
    "Gaussian",
    "GaussianDiscriminant",
    "GenerativeClassifier",
    "Geometric",
    "GivenCovariance",
    "GivenDiagonal",
    "GivenSphere",
    "IdentifierWarning",
    "Imputer",
    "InvalidCellError",
    "InverseGaussian",
    "KnownVariance",
    "LikelihoodRatioTest",
    "LogNormal",
    "LogisticRegression",
    "MissingLabelsWarning",
    "Mixture",
    "MixtureSearch",
    "ModelFileError",
    "ModelStatistics",
    "Multinomial",
    "NaiveBayes",
    "NegativeBinomial",
    "NormalInverseWishart",
    "NotKeptError",
    "Poisson",
    "Prior",
    "PseudoCount",
    "SoftKMeans",
    "Statistics",
    "Text",
    "TextColumnWarning",
    "ThresholdCurve",
    "__version__",
    "best_family",
    "compare",
    "distribution",
    "e_step",
    "em_steps",
    "keep_on_interrupt",
    "likelihood_ratio_test",
    "load",
    "m_step",
    "plot",
    "save",
    "scan",
    "show_versions",
    "stream",
    "threshold_curve",
]


def __getattr__(name: str) -> Any:
    """Return a public name or module, and import its module when it is first used (PEP 562)."""
    if name in _HOMES:
        value = getattr(import_module(f"suffice.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"suffice.{name}")
    raise AttributeError(f"module 'suffice' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names and modules."""
    return sorted({*__all__, *_MODULES})
