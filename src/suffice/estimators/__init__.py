"""The estimators that people use."""

from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.mixture import Mixture
from suffice.estimators.presets import GaussianDiscriminant, NaiveBayes
from suffice.estimators.search import MixtureSearch

__all__ = ["GaussianDiscriminant", "GenerativeClassifier", "Mixture", "MixtureSearch", "NaiveBayes"]
