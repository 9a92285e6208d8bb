"""A distribution from its usual parameters, for every family."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from suffice import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
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
from suffice.families import FAMILIES

SIGMA = [[2.0, 0.6], [0.6, 1.0]]


def multinomial(x):
    return [stats.multinomial(sum(row), [0.2, 0.8]).logpmf(row) for row in x]


def dirichlet(x):
    return [stats.dirichlet([1, 2, 3]).logpdf(row) for row in x]


def table(x):
    return np.log([{"a": 0.5, "b": 0.3, "c": 0.2}[value] for value in x])


normal = stats.multivariate_normal([1, 2], SIGMA)
#: the parameters, two rows, and their log-densities by SciPy
CASES = {
    Gaussian: ({"mean": [1.0, 2.0], "covariance": SIGMA}, [[0.0, 1.0], [3.0, 2.5]], normal.logpdf),
    Bernoulli: ({"probability": 0.8}, [0, 1], stats.bernoulli(0.8).logpmf),
    Categorical: ({"probability": {"a": 0.5, "b": 0.3, "c": 0.2}}, ["b", "a"], table),
    Multinomial: ({"probability": [0.2, 0.8], "mean_size": 4.0}, [[1, 3], [0, 2]], multinomial),
    Poisson: ({"rate": 3.0}, [2, 7], stats.poisson(3).logpmf),
    Exponential: ({"rate": 0.5}, [0.1, 4.0], stats.expon(scale=2).logpdf),
    Gamma: ({"shape": 2.5, "rate": 0.5}, [0.1, 4.0], stats.gamma(2.5, scale=2).logpdf),
    InverseGaussian: ({"location": 3.0, "shape": 2.0}, [0.5, 4.0], stats.invgauss(1.5, scale=2).logpdf),
    LogNormal: ({"location": 0.5, "scale": 2.0}, [0.1, 4.0], stats.lognorm(2, scale=np.exp(0.5)).logpdf),
    NegativeBinomial: ({"shape": 2.5, "probability": 0.3}, [0, 4], stats.nbinom(2.5, 0.3).logpmf),
    Geometric: ({"probability": 0.25}, [0, 4], stats.nbinom(1, 0.25).logpmf),
    Beta: ({"a": 2.0, "b": 5.0}, [0.1, 0.6], stats.beta(2, 5).logpdf),
    Dirichlet: ({"alpha": [1.0, 2.0, 3.0]}, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], dirichlet),
}
each = pytest.mark.parametrize("family", list(CASES))


@each
def test_the_density_is_scipys(family):
    parameters, rows, log_density = CASES[family]
    found = family.from_parameters(**parameters)
    np.testing.assert_allclose(found.log_prob(rows), log_density(rows), rtol=1e-10)
    assert isinstance(found.family, family)
    assert len(found.sample(3, random_state=0)) == 3
    assert np.isfinite(found.entropy())
    assert found.kl_divergence(found) == pytest.approx(0.0, abs=1e-12)


def test_every_family_has_a_case():
    assert set(CASES) | {Text} == set(FAMILIES.values())


def test_text_has_no_dictionary_to_give_probabilities_of():
    with pytest.raises(TypeError, match="fit it to documents, or give a Multinomial"):
        Text.from_parameters(probability=[0.5, 0.5])


@each
def test_what_is_shown_is_what_is_taken(family):
    parameters, rows, _ = CASES[family]
    found = family.from_parameters(**parameters)
    shown = {name: values[0] for name, values in found._together.shown().items()}
    if family is Categorical:
        shown = {"probability": dict(zip("abc", shown["probability"], strict=True))}
    np.testing.assert_allclose(family.from_parameters(**{**parameters, **shown}).log_prob(rows), found.log_prob(rows))


def test_parameters_are_one_per_column_or_one_for_all():
    np.testing.assert_allclose(Gamma.from_parameters(shape=[1.0, 2.0], rate=3.0).mean(), [1 / 3, 2 / 3])
    assert Gaussian.from_parameters(mean=0.0, variance=[1.0, 4.0]).covariance().tolist() == [[1, 0], [0, 4]]
    assert Gaussian.from_parameters(mean=0.0, covariance=SIGMA).mean().tolist() == [0.0, 0.0]
    assert Gaussian.from_parameters(mean=1.0, covariance=2.0).variance().tolist() == [2.0]


def test_distances_are_those_of_mahalanobis():
    found = Gaussian.from_parameters(mean=[1.0, 2.0], covariance=SIGMA)
    z = np.array([1.0, -1.0])
    np.testing.assert_allclose(found.mahalanobis([[2.0, 1.0]]), np.sqrt(z @ np.linalg.solve(SIGMA, z)))
    np.testing.assert_allclose(found.mahalanobis([[2.0, np.nan]]), 1 / np.sqrt(2))
    assert Gaussian.from_parameters(mean=0.0, variance=4.0).mahalanobis([6.0]) == 3.0
    with pytest.raises(TypeError, match="only a Gaussian distribution has a Mahalanobis distance"):
        Poisson.from_parameters(rate=1.0).mahalanobis([1])


def test_several_columns_of_categories_have_a_table_each():
    found = Categorical.from_parameters(probability=[{"a": 0.5, "b": 0.5}, {1: 0.1, 2: 0.9}])
    np.testing.assert_allclose(found.log_prob(np.array([["b", 2]], dtype=object)), np.log(0.45))
    assert np.isneginf(Categorical.from_parameters(probability={"a": 1.0}).log_prob(["z"]))[0]
    assert Categorical.from_parameters(probability={"a": 1.0}, unseen="missing").log_prob(["z"]) == 0.0


@pytest.mark.parametrize(
    ("family", "parameters", "error", "message"),
    [
        (Poisson, {"lam": 1.0}, TypeError, "takes rate, but rate is missing and lam is not known"),
        (Gamma, {}, TypeError, "takes shape, rate, but shape, rate are missing"),
        (Poisson, {"rate": -1.0}, ValueError, "rate of a Poisson must hold positive numbers"),
        (Poisson, {"rate": np.nan}, ValueError, "must hold positive numbers"),
        (Poisson, {"rate": "many"}, ValueError, "must be a number, or one number per column"),
        (Poisson, {"rate": []}, ValueError, "must be a number, or one number per column"),
        (Bernoulli, {"probability": 1.2}, ValueError, "probabilities between 0 and 1, but is 1.2"),
        (Geometric, {"probability": 0.0}, ValueError, "probabilities above 0"),
        (Geometric, {"probability": 0.5, "shape": 2}, TypeError, "shape is not known"),
        (Gamma, {"shape": [1, 2], "rate": [1, 2, 3]}, ValueError, "shape has 2 numbers and another"),
        (Categorical, {"probability": {"a": 0.7}}, ValueError, "must sum to 1, but sum to 0.7"),
        (Categorical, {"probability": [0.7, 0.3]}, ValueError, "mapping of values"),
        (Categorical, {"probability": {}}, ValueError, "mapping of values"),
        (Multinomial, {"probability": [0.7, 0.7]}, ValueError, "must sum to 1, but sum to 1.4"),
        (Gaussian, {"mean": 0.0}, TypeError, "variance is missing"),
        (Gaussian, {"mean": 0.0, "variance": 0.0}, ValueError, "variance .* positive numbers"),
        (Gaussian, {"mean": 0.0, "variance": 1.0, "covariance": SIGMA}, TypeError, "variance is not"),
        (Gaussian, {"mean": [0.0] * 3, "covariance": SIGMA}, ValueError, "one mean per column"),
        (Gaussian, {"mean": 0.0, "covariance": [[1, 2], [2, 1]]}, ValueError, "positive definite"),
        (Gaussian, {"mean": 0.0, "covariance": [[1, 2, 3]]}, ValueError, "shape"),
    ],
)
def test_what_is_no_parameter_is_refused(family, parameters, error, message):
    with pytest.raises(error, match=message):
        family.from_parameters(**parameters)


@each
def test_one_cell_is_one_row(family):
    parameters, rows, _ = CASES[family]
    found = family.from_parameters(**parameters)
    if np.ndim(rows[0]):
        with pytest.raises(ValueError, match=f"fitted to {len(rows[0])} columns, but the rows have 1"):
            found.log_prob(1.0)
        return
    np.testing.assert_array_equal(found.log_prob(rows[0]), found.log_prob(rows[:1]))
    np.testing.assert_array_equal(found.log_prob(None), [0.0])  # a missing cell


@each
def test_rows_have_at_most_two_dimensions(family):
    parameters, rows, _ = CASES[family]
    found = family.from_parameters(**parameters)
    with pytest.raises(ValueError, match="at most two dimensions"):
        found.log_prob(np.array([rows, rows]).reshape(2, 2, -1))


def test_a_table_of_probabilities_may_be_a_series():
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    of_mapping, of_series = (Categorical.from_parameters(probability=p) for p in (shares, pd.Series(shares)))
    np.testing.assert_array_equal(of_series.log_prob(["a", "c"]), of_mapping.log_prob(["a", "c"]))
    two = Categorical.from_parameters(probability=[pd.Series(shares), {"x": 1.0}])
    assert two.log_prob([["b", "x"]]) == pytest.approx(np.log(0.3))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_value_has_no_probability(missing):
    with pytest.raises(ValueError, match="None and NaN are missing cells"):
        Categorical.from_parameters(probability={"a": 0.5, missing: 0.5})


@pytest.mark.parametrize("wrong", [1.0, [0.5, 0.5], [[0.5, 0.5]], {}, None])
def test_a_categorical_takes_mappings(wrong):
    with pytest.raises(ValueError, match="must be a mapping of values to probabilities"):
        Categorical.from_parameters(probability=wrong)


@pytest.mark.parametrize("shape", [0, -1.0, np.nan, np.inf, "2", None, [1, 2], np.ones(2)])
def test_the_shape_of_a_negative_binomial_is_one_positive_number(shape):
    with pytest.raises(ValueError, match="the shape of a NegativeBinomial must be a positive number"):
        NegativeBinomial(shape)
