"""scikit-learn's classes computed by Suffice: change one import and get the same results."""

from suffice.dropin.bernoulli_nb import BernoulliNB
from suffice.dropin.categorical_nb import CategoricalNB
from suffice.dropin.gaussian_nb import GaussianNB
from suffice.dropin.linear_discriminant import LinearDiscriminantAnalysis
from suffice.dropin.mixture import GaussianMixture
from suffice.dropin.multinomial_nb import ComplementNB, MultinomialNB
from suffice.dropin.quadratic_discriminant import QuadraticDiscriminantAnalysis

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
