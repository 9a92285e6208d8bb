"""The public estimators, with the interface of scikit-learn."""

from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.em_in_pieces import e_step, em_steps, m_step
from suffice.estimators.glm import GLM
from suffice.estimators.imputer import Imputer
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.mixture import Mixture
from suffice.estimators.nested import LikelihoodRatioTest, likelihood_ratio_test
from suffice.estimators.presets import GaussianDiscriminant, NaiveBayes
from suffice.estimators.soft_kmeans import SoftKMeans

__all__ = [
    "GLM",
    "GaussianDiscriminant",
    "GenerativeClassifier",
    "Imputer",
    "LikelihoodRatioTest",
    "LogisticRegression",
    "Mixture",
    "NaiveBayes",
    "SoftKMeans",
    "e_step",
    "em_steps",
    "likelihood_ratio_test",
    "m_step",
]
