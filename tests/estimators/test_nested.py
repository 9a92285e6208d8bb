"""Standard errors and tests of logistic regressions and of nested models, by statsmodels, R and by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import suffice
from suffice import GLM, LogisticRegression, likelihood_ratio_test

DATA = Path(__file__).parents[1] / "reference" / "data"


@pytest.fixture
def births():
    table = pd.read_csv(DATA / "birthwt.csv")
    return table[["age", "lwt", "ptl", "ht"]], table["low"], table["race"]


def test_two_classes_have_the_errors_of_r():
    table = pd.read_csv(DATA / "pima.csv")
    table = table[table["split"] == "train"]
    figures = json.loads((DATA / "pima.json").read_text())["logistic"]
    model = LogisticRegression().fit(table.drop(columns=["type", "split"]), table["type"])
    np.testing.assert_allclose(model.parameters_, list(figures["coef"].values()), rtol=1e-4)
    np.testing.assert_allclose(model.std_errors_, list(figures["se"].values()), rtol=1e-4)
    for attribute, key in (("deviance_", "deviance"), ("null_deviance_", "null_deviance"), ("aic_", "aic")):
        assert getattr(model, attribute) == pytest.approx(figures[key], rel=1e-8)
    assert str(model.summary()).startswith("logistic regression, log-odds of 'Yes' against 'No', 200 rows")


def test_two_classes_have_the_errors_of_a_bernoulli_glm(births):
    X, low, _ = births
    weight = np.arange(len(X)) % 3
    for intercept in (True, False):
        ours = LogisticRegression(fit_intercept=intercept).fit(X, low, weight)
        glm = GLM("bernoulli", fit_intercept=intercept).fit(X, low, weight)
        for name in ("parameters_", "std_errors_", "covariance_", "deviance_", "aic_", "bic_", "df_residual_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(glm, name), rtol=1e-9, err_msg=name)
        np.testing.assert_allclose(ours.conf_int(0.9), glm.conf_int(0.9), rtol=1e-9)
        assert ours.parameter_names_ == glm.terms_
        assert ours.n_rows_ == glm.n_rows_ == (weight > 0).sum()


def test_three_classes_have_the_errors_of_statsmodels(births):
    """statsmodels 0.15: MNLogit(race, add_constant(X)).fit(method="newton", tol=1e-12, maxiter=50)."""
    X, _, race = births
    model = LogisticRegression().fit(X, race)
    params = [-0.525480386211, -0.129346477702, 0.015410338854, 0.069859778773, 0.296957537580]
    np.testing.assert_allclose(model.parameters_[:5], params, rtol=1e-8)
    errors = [
        1.316369970187,
        0.050650542428,
        0.007058703848,
        0.517796302891,
        0.858512354349,
        1.058232570352,
        0.033151524742,
        0.007012616714,
        0.326515050654,
        0.733086548456,
    ]
    np.testing.assert_allclose(model.std_errors_, errors, rtol=1e-7)
    assert model.parameter_names_[0] == "2: (intercept)"
    assert model.parameter_names_[-1] == "3: ht"
    assert "log-odds of 2, 3 against 1, 189 rows" in str(model.summary())
    shares = race.value_counts() / len(race)
    assert model.null_deviance_ == pytest.approx(-2 * (race.value_counts() * np.log(shares)).sum(), rel=1e-10)
    assert (model.df_null_, model.df_residual_) == (2 * 188, 2 * 184)
    low, high = model.conf_int().T
    np.testing.assert_allclose((high - low) / 2, 1.959963984540054 * model.std_errors_, rtol=1e-12)
    np.testing.assert_allclose(model.coef_[1] - model.coef_[0], model.parameters_[1:5], rtol=1e-10)


def test_the_covariance_of_a_softmax_is_the_inverse_of_the_information_by_hand(births):
    X, _, race = births
    for intercept in (True, False):
        model = LogisticRegression(fit_intercept=intercept).fit(X, race)
        Z = np.column_stack([np.ones(len(X)), X]) if intercept else X.to_numpy(dtype=float)
        P = model.predict_proba(X)[:, 1:]
        blocks = [[Z.T @ ((P[:, c] * ((c == e) - P[:, e]))[:, None] * Z) for e in range(2)] for c in range(2)]
        np.testing.assert_allclose(model.covariance_, np.linalg.inv(np.block(blocks)), rtol=1e-5)


def test_errors_of_columns_that_were_left_out_are_missing_and_penalties_are_named(births):
    X, _, race = births
    with pytest.warns(UserWarning, match="column 'twice'"):
        model = LogisticRegression().fit(X.assign(twice=2 * X["age"]), race)
    assert model.aliased_ == ["2: twice", "3: twice"]
    names = np.array(model.parameter_names_)
    np.testing.assert_array_equal(np.isnan(model.std_errors_), np.isin(names, model.aliased_))
    plain = LogisticRegression().fit(X, race)
    np.testing.assert_allclose(model.std_errors_[~np.isin(names, model.aliased_)], plain.std_errors_, rtol=1e-6)
    assert "penalised: alpha 2" in str(LogisticRegression(alpha=2).fit(X, race).summary())


def test_a_loaded_classifier_summarises_the_same(births, tmp_path):
    X, low, race = births
    for y in (low, race):
        model = LogisticRegression().fit(X, y)
        suffice.save(model, tmp_path / "model.suffice")
        loaded = suffice.load(tmp_path / "model.suffice")
        assert str(loaded.summary()) == str(model.summary())
        assert likelihood_ratio_test(LogisticRegression().fit(X[["age"]], y), loaded).df == 3 * (y.nunique() - 1)


def test_coefficients_of_a_generative_model_have_no_errors(births):
    X, low, _ = births
    model = suffice.GaussianDiscriminant("tied").fit(X, low).to_logistic()
    assert np.isnan(model.std_errors_).all()
    with pytest.raises(ValueError, match="log-likelihood of a model is not known"):
        likelihood_ratio_test(model, LogisticRegression().fit(X, low))


# -- nested models ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["low", "race"])
def test_twice_the_gain_of_likelihood_is_compared_with_chi_square(births, target):
    X, low, race = births
    y = {"low": low, "race": race}[target]
    smaller, larger = LogisticRegression().fit(X[["age", "lwt"]], y), LogisticRegression().fit(X, y)
    test = likelihood_ratio_test(smaller, larger)
    df = 2 * (y.nunique() - 1)
    assert test.df == df
    assert test.statistic == pytest.approx(2 * (larger.log_likelihood_ - smaller.log_likelihood_), rel=1e-12)
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, df), rel=1e-9)
    if target == "low":
        glm = likelihood_ratio_test(GLM("bernoulli").fit(X[["age", "lwt"]], y), GLM("bernoulli").fit(X, y))
        assert glm.statistic == pytest.approx(test.statistic, rel=1e-9)
        assert test.terms == ("ptl", "ht")
        assert str(test).startswith("without ptl, ht: χ²(2) = ")


def test_an_estimated_dispersion_is_tested_by_f_as_least_squares_is():
    table = pd.read_csv(DATA / "warpbreaks.csv")
    smaller = GLM().fit(table[["wool"]], table["breaks"])
    larger = GLM().fit(table[["wool", "tension"]], table["breaks"])
    test = likelihood_ratio_test(smaller, larger)
    assert (test.distribution, test.df, test.df_residual) == ("F", 2, 50)
    expected = ((smaller.deviance_ - larger.deviance_) / 2) / (larger.deviance_ / 50)
    assert test.statistic == pytest.approx(expected, rel=1e-10)
    assert test.p_value == pytest.approx(stats.f.sf(expected, 2, 50), rel=1e-9)
    assert "F(2, 50) = 7.537, p = 0.0014" in str(test)


def test_the_shape_of_each_negative_binomial_is_its_own():
    table = pd.read_csv(DATA / "quine.csv", index_col=0)
    smaller = GLM("nb").fit(table[["Eth"]], table["Days"])
    larger = GLM("nb").fit(table[["Eth", "Age"]], table["Days"])
    test = likelihood_ratio_test(smaller, larger)
    assert test.df == 3
    assert test.statistic == pytest.approx(2 * (larger.log_likelihood_ - smaller.log_likelihood_), rel=1e-12)
    with pytest.raises(ValueError, match="nested models have the same response, shape"):
        likelihood_ratio_test(smaller, GLM("nb", shape=1.0).fit(table[["Eth", "Age"]], table["Days"]))


def test_models_that_are_not_nested_are_refused(births):
    X, low, race = births
    both = GLM("bernoulli").fit(X, low)
    one = GLM("bernoulli").fit(X[["age"]], low)
    with pytest.raises(ValueError, match="pass the smaller model first"):
        likelihood_ratio_test(both, both)
    with pytest.raises(ValueError, match="must be nested in the larger one, but has 'lwt', 'ptl', 'ht'"):
        likelihood_ratio_test(both, one)
    with pytest.raises(ValueError, match="must be nested in the larger one, but has 'years'"):
        likelihood_ratio_test(GLM("bernoulli").fit(X[["age"]].rename(columns={"age": "years"}), low), both)
    with pytest.raises(ValueError, match="the same response"):
        likelihood_ratio_test(GLM("poisson").fit(X[["age"]], low), both)
    with pytest.raises(ValueError, match="the same response"):
        likelihood_ratio_test(GLM("bernoulli", "probit").fit(X[["age"]], low), both)
    with pytest.raises(ValueError, match="the same response"):
        likelihood_ratio_test(LogisticRegression().fit(X[["age"]], low), both)
    with pytest.raises(ValueError, match="the same rows, weights and offsets"):
        likelihood_ratio_test(GLM("bernoulli").fit(X[["age"]][1:], low[1:]), both)
    with pytest.raises(ValueError, match="the same rows, weights and offsets"):
        likelihood_ratio_test(GLM("bernoulli").fit(X[["age"]], low, offset=X["lwt"]), both)
    with pytest.raises(ValueError, match=r"GLM\(alpha=1\) is penalised"):
        likelihood_ratio_test(one, GLM("bernoulli", alpha=1.0).fit(X, low))
    with pytest.raises(ValueError, match=r"LogisticRegression\(firth=True\) is penalised"):
        likelihood_ratio_test(LogisticRegression(firth=True).fit(X[["age"]], low), LogisticRegression().fit(X, low))
    with pytest.raises(TypeError, match="nested regressions are GLM or LogisticRegression, not NaiveBayes"):
        likelihood_ratio_test(suffice.NaiveBayes(), both)
    numbers = GLM("poisson").fit(pd.DataFrame({"race": race}), low)
    levels = GLM("poisson").fit(pd.DataFrame({"race": race.astype(str)}), low)
    assert likelihood_ratio_test(numbers, levels, check_terms=False).df == 1


def test_a_test_holds_for_batches_of_the_same_rows(births):
    X, low, _ = births
    parts = [(X[i : i + 50], low[i : i + 50]) for i in range(0, len(X), 50)]
    streamed = GLM("bernoulli").fit(suffice.stream(parts))
    one = GLM("bernoulli").fit(X[["age"]], low)
    whole = likelihood_ratio_test(one, GLM("bernoulli").fit(X, low))
    assert likelihood_ratio_test(one, streamed).p_value == pytest.approx(whole.p_value, rel=1e-8)


def test_p_values_are_uniform_if_the_smaller_model_is_true():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        X = rng.normal(size=(150, 4))
        y = rng.poisson(np.exp(0.3 * X[:, 0]))
        found.append(likelihood_ratio_test(GLM("poisson").fit(X[:, :1], y), GLM("poisson").fit(X, y)).p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.01
