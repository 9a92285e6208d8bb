"""Suffice: generative learning from sufficient statistics.

Model p(x, y) = p(y) p(x | y), and one model classifies, finds outliers, samples and explains.
"""

from suffice import plot
from suffice._version import __version__
from suffice.comparison import Comparison, compare
from suffice.errors import InvalidCellError, ModelFileError, NotKeptError
from suffice.estimators import (
    GLM,
    GaussianDiscriminant,
    GenerativeClassifier,
    LogisticRegression,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    SoftKMeans,
)
from suffice.explanations import Explanation
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
    Multinomial,
    NegativeBinomial,
    Poisson,
)
from suffice.model_statistics import ModelStatistics
from suffice.persistence import load, save
from suffice.priors import (
    BetaPrior,
    DirichletPrior,
    GammaPrior,
    KnownVariance,
    NormalInverseWishart,
    Prior,
    PseudoCount,
)
from suffice.ranking import FamilyRanking, best_family, distribution
from suffice.sources import scan, stream
from suffice.statistics import Statistics

__all__ = [
    "GLM",
    "Bernoulli",
    "Beta",
    "BetaPrior",
    "Categorical",
    "Comparison",
    "Dirichlet",
    "DirichletPrior",
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
    "InvalidCellError",
    "InverseGaussian",
    "KnownVariance",
    "LogisticRegression",
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
    "__version__",
    "best_family",
    "compare",
    "distribution",
    "load",
    "plot",
    "save",
    "scan",
    "stream",
]
