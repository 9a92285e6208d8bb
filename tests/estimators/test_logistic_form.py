"""A model with linear log-odds is a logistic regression, and a good place for one to begin."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import suffice
from suffice import (
    Categorical,
    Exponential,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    Geometric,
    LogisticRegression,
    NaiveBayes,
    NegativeBinomial,
)

rng = np.random.default_rng(0)
Y3 = rng.integers(0, 3, 300)
Y2 = np.array(["no", "yes"])[(Y3 > 0).astype(int)]
NUMBERS = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + Y3[:, None]
COUNTS = rng.poisson(2.0 + Y3[:, None], size=(300, 3)).astype(float)
MIXED = pd.DataFrame(
    {
        "x": NUMBERS[:, 0],
        "word": np.array(["c", "a", "b", "d"])[(Y3 + rng.integers(0, 2, 300)) % 4],
        "size": pd.Categorical(rng.choice(["s", "m"], 300), categories=["s", "m", "never"]),
        "flag": rng.random(300) < 0.3 + 0.2 * Y3,
        "n": COUNTS[:, 0],
    }
)
CASES = {
    "tied": (GaussianDiscriminant("tied"), NUMBERS),
    "tied, far from 0": (GaussianDiscriminant("tied"), NUMBERS + 1e8),
    "tied diagonal": (GaussianDiscriminant("tied-diagonal"), NUMBERS),
    "Bernoulli": (NaiveBayes("bernoulli"), (NUMBERS > 0).astype(float)),
    "multinomial": (NaiveBayes("multinomial"), COUNTS),
    "Poisson": (NaiveBayes("poisson"), COUNTS),
    "exponential": (NaiveBayes(Exponential()), np.abs(NUMBERS)),
    "geometric": (NaiveBayes(Geometric()), COUNTS),
    "negative binomial": (NaiveBayes(NegativeBinomial(2.0)), COUNTS),
    "categorical": (NaiveBayes(Categorical()), COUNTS.astype(int)),
    "mixed": (GenerativeClassifier({"x": Gaussian("tied"), "n": "poisson"}), MIXED),
}


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two classes", "three classes"])
@pytest.mark.parametrize("case", CASES)
def test_the_posteriors_are_the_same(case, y):
    model, X = CASES[case]
    fitted = model.fit(X, y)
    logistic = fitted.to_logistic()
    assert type(logistic) is LogisticRegression
    np.testing.assert_allclose(logistic.predict_proba(X), fitted.predict_proba(X), atol=1e-12, rtol=1e-9)
    np.testing.assert_array_equal(logistic.classes_, fitted.classes_)


def test_coefficients_are_natural_parameters():
    model = NaiveBayes("poisson").fit(COUNTS, Y2)
    eta = np.log(model.distributions_[0].rate)
    logistic = model.to_logistic()
    np.testing.assert_allclose(logistic.coef_[0], eta[1] - eta[0])
    np.testing.assert_allclose(logistic.coef_, model.coef_)
    np.testing.assert_allclose(logistic.intercept_, model.intercept_)


def test_words_get_a_coefficient_for_each_value_but_the_first():
    logistic = CASES["mixed"][0].fit(MIXED, Y3).to_logistic()
    assert logistic.terms_ == ["x", "word[b]", "word[c]", "word[d]", "size[m]", "size[never]", "flag", "n"]
    assert logistic.predict(pl.from_pandas(MIXED.drop(columns="size")).with_columns(size=pl.lit("s"))[
        ["x", "word", "size", "flag", "n"]
    ]).shape == (300,)  # fmt: skip


def test_a_logistic_form_can_be_saved(tmp_path):
    logistic = CASES["mixed"][0].fit(MIXED, Y3).to_logistic()
    suffice.save(logistic, tmp_path / "m")
    np.testing.assert_array_equal(suffice.load(tmp_path / "m").predict_proba(MIXED), logistic.predict_proba(MIXED))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GaussianDiscriminant("full"), "quadratic; a tied covariance makes them linear"),
        (NaiveBayes(suffice.Gamma()), "not linear in the columns"),
        (GaussianDiscriminant("tied", n_components=2, random_state=0), "n_components=1"),
        (NaiveBayes("bernoulli", prior=None), "fit the model with a prior"),
        (GaussianDiscriminant("tied", estimate="predictive"), "averages over parameters are not linear"),
        (NaiveBayes("poisson", estimate="predictive"), "averages over parameters are not linear"),
    ],
)
def test_what_is_not_linear_says_so(model, message):
    X = (NUMBERS > 99).astype(float) if getattr(model, "families", "") == "bernoulli" else np.abs(NUMBERS)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y3).to_logistic()


def test_fits_from_a_generative_start_come_to_the_same_coefficients_in_fewer_iterations():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    cold = LogisticRegression(alpha=1.0).fit(X, y)
    warm = LogisticRegression(alpha=1.0).fit(X, y, start=GaussianDiscriminant("tied").fit(X, y))
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-5)
    assert warm.n_iter_ <= cold.n_iter_


def test_starts_are_matched_by_name():
    generative = CASES["mixed"][0].fit(MIXED, Y3)  # has a level that the rows do not
    cold = LogisticRegression(alpha=0.1).fit(MIXED, Y3)
    warm = LogisticRegression(alpha=0.1).fit(MIXED, Y3, start=generative)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-5)
    lda = GaussianDiscriminant("tied").fit(NUMBERS, Y2)
    without = LogisticRegression(alpha=0.1, fit_intercept=False).fit(NUMBERS, Y2, start=lda)
    again = LogisticRegression(alpha=0.1, fit_intercept=False).fit(NUMBERS, Y2)
    np.testing.assert_allclose(without.coef_, again.coef_, atol=1e-6)


def test_a_start_of_other_classes_is_refused():
    X, y = load_iris(return_X_y=True)
    two = GaussianDiscriminant("tied").fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="2 classes, but y has 3"):
        LogisticRegression().fit(X, y, start=two)
