"""The estimators that people use."""

from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.presets import GaussianDiscriminant, NaiveBayes

__all__ = ["GaussianDiscriminant", "GenerativeClassifier", "NaiveBayes"]
