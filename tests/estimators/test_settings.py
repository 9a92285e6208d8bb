"""Settings that estimators share: written once, and as scikit-learn and the reader of `help` need them."""

import inspect
import re

import pytest
from sklearn.base import clone

from suffice import GaussianDiscriminant, GenerativeClassifier, Mixture, MixtureSearch, NaiveBayes, SoftKMeans

ESTIMATORS = [GaussianDiscriminant, GenerativeClassifier, Mixture, MixtureSearch, NaiveBayes, SoftKMeans]
POSITIONAL = {
    GaussianDiscriminant: ["covariance", "prior", "class_prior"],
    GenerativeClassifier: ["families", "covariance", "prior", "class_prior"],
    Mixture: ["n_components", "families", "covariance", "prior"],
    MixtureSearch: ["n_components", "covariance", "criterion"],
    NaiveBayes: ["families", "prior", "class_prior"],
    SoftKMeans: ["n_clusters", "stiffness", "shares"],
}
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def parameters(estimator):
    return inspect.signature(estimator).parameters


@each_estimator
def test_every_setting_is_documented_with_its_default(estimator):
    section = inspect.cleandoc(estimator.__doc__).split("Parameters\n----------\n")[1].split("\n\n")[0]
    written = dict(re.findall(r"^(\w+) : .*, default (.+)$", section, flags=re.M))
    assert "{" not in section.split("\n", 1)[0]
    assert {name: value.replace('"', "'") for name, value in written.items()} == {
        name: re.sub("e-0*", "e-", repr(parameter.default)) for name, parameter in parameters(estimator).items()
    }


@each_estimator
def test_settings_keep_their_positions_and_come_back_unchanged(estimator):
    kinds = parameters(estimator)
    assert [name for name, p in kinds.items() if p.kind is p.POSITIONAL_OR_KEYWORD] == POSITIONAL[estimator]
    values = {name: object() for name in kinds}
    model = estimator(**values)
    assert model.get_params(deep=False) == values
    assert estimator().set_params(**values).get_params(deep=False) == values
    assert repr(clone(estimator(max_iter=7, tol=0.5))) == f"{estimator.__name__}(max_iter=7, tol=0.5)"


@each_estimator
def test_the_settings_of_em_are_the_same_everywhere(estimator):
    shared = ("max_iter", "tol", "acceleration", "random_state", "n_jobs")
    assert {name: parameters(estimator)[name].default for name in shared} == {
        name: parameters(Mixture)[name].default for name in shared
    }
