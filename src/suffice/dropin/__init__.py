"""scikit-learn's classes with Suffice's engine inside: change one import, keep the answers."""

from suffice.dropin.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.dropin.mixture import GaussianMixture
from suffice.dropin.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianMixture",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "QuadraticDiscriminantAnalysis",
]
