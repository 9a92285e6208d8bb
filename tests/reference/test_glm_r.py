"""What R says: glm of R 4.2.2 and multinom of nnet 7.3, at full precision.

R's glm stops when an iteration changes the deviance by less than 1e-8 of it, and takes the standard errors from the
weights before the last iteration. Its coefficients and standard errors are therefore up to 4e-5 away from those of
the maximum. With that rule we give R's figures, and without it the maximum that R's iteration converges to.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr, ndtri

from suffice import GLM, LogisticRegression

DATA = Path(__file__).parent / "data"


@dataclass
class Case:
    """A model that R fitted."""

    table: pd.DataFrame
    y: pd.Series
    family: str
    link: str
    figures: dict


def case(name):
    data, key = name.split()
    table = pd.read_csv(DATA / f"{data}.csv")
    figures = json.loads((DATA / f"{data}.json").read_text())[key]
    if data == "birthwt":
        table["race"] = table["race"].astype(str)
        columns = ["age", "lwt", "race", "smoke", "ptl", "ht", "ui", "ftv"]
        return Case(table[columns], table["low"], "bernoulli", figures["link"], figures)
    if data == "pima":
        table = table[table["split"] == "train"]
        X = table.drop(columns=["type", "split"])
        return Case(X, table["type"] == "Yes", "bernoulli", "logit", figures)
    table["tension"] = pd.Categorical(table["tension"], ["L", "M", "H"])
    return Case(table[["wool", "tension"]], table["breaks"], key, figures["link"], figures)


CASES = [
    "birthwt logistic",
    "birthwt probit",
    "pima logistic",
    "warpbreaks poisson",
    "warpbreaks gaussian",
    "warpbreaks gamma",
]
every = pytest.mark.parametrize("name", CASES)


@every
def test_coefficients_and_standard_errors_are_those_of_r_by_its_rule_for_stopping(name):
    given = case(name)
    deviance = given.figures["deviance"]
    unit = 1.0 if given.family in ("bernoulli", "poisson") else deviance / len(given.y)
    model = GLM(given.family, given.link, tol=0.5e-8 * (deviance + 0.1) / unit).fit(given.table, given.y)
    np.testing.assert_allclose(model.parameters_, list(given.figures["coef"].values()), rtol=1e-6)
    np.testing.assert_allclose(model.std_errors_, list(given.figures["se"].values()), rtol=2e-6)
    expected = [term.replace("[", "").replace("]", "") for term in model.terms_]
    assert expected[1:] == list(given.figures["coef"])[1:]


@every
def test_deviance_and_log_likelihood_are_those_of_r(name):
    given = case(name)
    model = GLM(given.family, given.link).fit(given.table, given.y)
    assert model.converged_
    for attribute, key in (
        ("deviance_", "deviance"), ("null_deviance_", "null_deviance"), ("log_likelihood_", "loglik"), ("aic_", "aic"),
    ):  # fmt: skip
        assert getattr(model, attribute) == pytest.approx(given.figures[key], rel=1e-8), key


LINKS = {
    "logit": (lambda mu: np.log(mu / (1 - mu)), expit, lambda eta: expit(eta) * expit(-eta)),
    "probit": (ndtri, ndtr, lambda eta: np.exp(-0.5 * eta**2) / np.sqrt(2 * np.pi)),
    "log": (np.log, np.exp, np.exp),
    "identity": (lambda mu: mu, lambda eta: eta, np.ones_like),
}
VARIANCES = {
    "bernoulli": lambda mu: mu * (1 - mu),
    "poisson": lambda mu: mu,
    "gamma": lambda mu: mu**2,
    "gaussian": np.ones_like,
}


def r_iteration(given, iterations):
    """R's iteratively reweighted least squares, for a number of iterations: coefficients, and √ diag of (XᵀWX)⁻¹."""
    link, inverse, slope = LINKS[given.link]
    X = pd.get_dummies(given.table, drop_first=True, dtype=float)
    order = [column for name in given.table for column in X if column == name or column.startswith(f"{name}_")]
    X = np.column_stack([np.ones(len(X)), X[order].to_numpy()])
    y = given.y.to_numpy(dtype=float)
    mu = {"bernoulli": (y + 0.5) / 2, "poisson": y + 0.1}.get(given.family, y)
    eta = link(mu)
    for _ in range(iterations):
        weight = slope(eta) ** 2 / VARIANCES[given.family](mu)
        information = X.T @ (weight[:, None] * X)
        beta = np.linalg.solve(information, X.T @ (weight * (eta + (y - mu) / slope(eta))))
        eta = X @ beta
        mu = inverse(eta)
    pearson = ((y - mu) ** 2 / VARIANCES[given.family](mu)).sum() / (len(y) - X.shape[1])
    dispersion = pearson if given.family in ("gaussian", "gamma") else 1.0
    return beta, np.sqrt(dispersion * np.diag(np.linalg.inv(information)))


@every
def test_the_maximum_is_where_rs_iteration_ends_when_it_goes_on(name):
    given = case(name)
    coefficients, errors = r_iteration(given, given.figures["iterations"])
    np.testing.assert_allclose(coefficients, list(given.figures["coef"].values()), rtol=1e-10)
    np.testing.assert_allclose(errors, list(given.figures["se"].values()), rtol=1e-6)
    coefficients, errors = r_iteration(given, 30)
    model = GLM(given.family, given.link).fit(given.table, given.y)
    np.testing.assert_allclose(model.parameters_, coefficients, rtol=2e-7)
    np.testing.assert_allclose(model.std_errors_, errors, rtol=1e-6)


def test_the_shape_of_a_negative_binomial_is_that_of_glm_nb():
    """summary(MASS::glm.nb(Days ~ Eth + Sex + Age + Lrn, data = MASS::quine)), with the digits that R prints."""
    table = pd.read_csv(DATA / "quine.csv", index_col=0)
    model = GLM("negative-binomial").fit(table[["Eth", "Sex", "Age", "Lrn"]], table["Days"])
    assert round(model.shape_, 3) == 1.275
    assert round(model.shape_std_error_, 3) == 0.161
    assert round(2 * model.log_likelihood_, 3) == -1093.151
    assert round(model.aic_, 1) == 1109.2
    assert round(model.deviance_, 2) == 167.95
    assert round(model.null_deviance_, 2) == 195.29
    expected = [2.89458, -0.56937, 0.08232, -0.44843, 0.08808, 0.35690, 0.29211]
    np.testing.assert_array_equal(model.parameters_.round(5), expected)
    errors = [0.22842, 0.15333, 0.15992, 0.23975, 0.23619, 0.24832, 0.18647]
    np.testing.assert_array_equal(model.std_errors_.round(5), errors)
    # statsmodels 0.15: NegativeBinomial.from_formula(...).fit(maxiter=500, gtol=1e-10), 1/alpha and llf
    assert model.shape_ == pytest.approx(1.2748926451471112, rel=1e-7)
    assert model.log_likelihood_ == pytest.approx(-1093.1510182899829 / 2, rel=1e-9)


def test_softmax_is_at_least_as_likely_as_what_multinom_found():
    """Sepals separate setosa, so that there is no maximum: multinom stops on the way, at coefficients of 50."""
    table = pd.read_csv(DATA / "iris_softmax.csv")
    figures = json.loads((DATA / "iris_softmax.json").read_text())
    X, y = table[["Sepal.Length", "Sepal.Width"]], table["Species"]
    with pytest.warns(UserWarning, match="columns 'Sepal.Length', 'Sepal.Width' separate the responses"):
        model = LogisticRegression().fit(X, y)
    assert model.log_likelihood_ == pytest.approx(figures["loglik"], rel=2e-4)
    assert model.log_likelihood_ > figures["loglik"]
    others = y != "setosa"
    two = LogisticRegression().fit(X[others], y[others])
    np.testing.assert_allclose(model.coef_[2] - model.coef_[1], two.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_[2] - model.intercept_[1], two.intercept_[0], rtol=1e-6)
    assert model.log_likelihood_ == pytest.approx(two.log_likelihood_, rel=1e-6)
    theirs = np.diff(figures["coef"], axis=0)[0]
    np.testing.assert_allclose(np.append(two.intercept_, two.coef_), theirs, rtol=2e-3)
