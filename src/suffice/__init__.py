"""Suffice: generative learning from sufficient statistics.

Model p(x, y) = p(y) p(x | y), and one model classifies, finds outliers, samples and explains.
"""

from suffice._version import __version__
from suffice.comparison import Comparison, compare
from suffice.errors import InvalidCellError, ModelFileError, NotKeptError
from suffice.estimators import (
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    SoftKMeans,
)
from suffice.explanations import Explanation
from suffice.families import Bernoulli, Categorical, Distribution, Family, Gaussian, Multinomial, Poisson
from suffice.model_statistics import ModelStatistics
from suffice.persistence import load, save
from suffice.priors import NormalInverseWishart, Prior, PseudoCount
from suffice.sources import scan, stream
from suffice.statistics import Statistics

__all__ = [
    "Bernoulli",
    "Categorical",
    "Comparison",
    "Distribution",
    "Explanation",
    "Family",
    "Gaussian",
    "GaussianDiscriminant",
    "GenerativeClassifier",
    "InvalidCellError",
    "Mixture",
    "MixtureSearch",
    "ModelFileError",
    "ModelStatistics",
    "Multinomial",
    "NaiveBayes",
    "NormalInverseWishart",
    "NotKeptError",
    "Poisson",
    "Prior",
    "PseudoCount",
    "SoftKMeans",
    "Statistics",
    "__version__",
    "compare",
    "load",
    "save",
    "scan",
    "stream",
]
