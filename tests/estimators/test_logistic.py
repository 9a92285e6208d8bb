"""What a person can do with logistic regression."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GLM, LogisticRegression
from suffice.glm.solve import independent


@parametrize_with_checks([LogisticRegression(), LogisticRegression(alpha=1.0)])
@pytest.mark.filterwarnings("ignore:column:UserWarning")
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


IRIS, WINE, CANCER = (load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("X", "y"), [WINE, CANCER, IRIS])
def test_coefficients_are_those_of_scikit_learn(X, y, intercept):
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    theirs = Theirs(C=2.0, solver="newton-cholesky", tol=1e-12, fit_intercept=intercept).fit(X, y, weight)
    ours = LogisticRegression(alpha=0.5, fit_intercept=intercept).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X), rtol=1e-12)


def overlapping(k, n=600):
    """Rows of k classes that no line divides."""
    rng = np.random.default_rng(k)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, 3)) + 0.7 * rng.normal(size=(k, 3))[y], np.array(["d", "b", "c", "a"])[y]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_likelihood_has_its_maximum_where_the_shares_fit(k):
    """At the maximum, the predicted shares and the classes have the same sums over the rows, and over every column."""
    X, y = overlapping(k)
    model = LogisticRegression().fit(X, y)
    assert model.converged_
    assert model.classes_.tolist() == sorted(set(y))
    residual = (y[:, None] == model.classes_) - model.predict_proba(X)
    np.testing.assert_allclose(residual.sum(0), 0, atol=1e-7)
    np.testing.assert_allclose(X.T @ residual, 0, atol=1e-7)
    chosen = model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert model.log_likelihood_ == pytest.approx(chosen.sum(), rel=1e-10)


def test_two_classes_are_a_bernoulli_glm():
    X, y = overlapping(2)
    glm, model = GLM("bernoulli").fit(X, y == "d"), LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_[0], glm.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], glm.predict(X), rtol=1e-10)
    firth = GLM("bernoulli", firth=True).fit(X, y == "d")
    np.testing.assert_allclose(LogisticRegression(firth=True).fit(X, y).coef_[0], firth.coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="for two classes, but y has 3"):
        LogisticRegression(firth=True).fit(*overlapping(3))


@pytest.mark.parametrize("k", [2, 4])
def test_streams_of_chunks_give_what_the_table_gives(k):
    X, y = overlapping(k)
    frame = pd.DataFrame(X, columns=list("abc")).assign(word=np.where(X[:, 0] > 0.3, "high", "low"))
    weight = np.random.default_rng(0).random(len(y))
    order = np.argsort(y, kind="stable")  # a chunk does not hold all classes

    def chunks():
        for part in np.array_split(order, 7):
            yield frame.iloc[part], y[part], weight[part]

    whole = LogisticRegression().fit(frame, y, weight)
    streamed = LogisticRegression().fit(suffice.stream(chunks))
    assert streamed.terms_ == ["a", "b", "c", "word[low]"]
    assert streamed.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-6)
    found = streamed.predict_proba(suffice.stream(lambda: (part[0] for part in chunks())))
    np.testing.assert_allclose(found, whole.predict_proba(frame.iloc[order]), rtol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_a_start_saves_iterations(k):
    X, y = overlapping(k)
    model = LogisticRegression().fit(X, y)
    again = LogisticRegression().fit(X, y, start=model)
    assert again.n_iter_ <= 2 < model.n_iter_
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-8)
    with pytest.raises(ValueError, match="start must"):
        LogisticRegression().fit(X, y, start=np.zeros((7, 7)))


def test_too_many_parameters_for_a_hessian_give_the_same_coefficients(monkeypatch):
    X, y = overlapping(4)
    newton = LogisticRegression(alpha=1.0).fit(X, y)
    monkeypatch.setattr("suffice.glm.fitting.MOST_PARAMETERS", 2)
    wide = LogisticRegression(alpha=1.0).fit(X, y)
    np.testing.assert_allclose(wide.coef_, newton.coef_, atol=1e-4)


def test_words_in_wide_sparse_tables_are_classified():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    words = sparse.csr_array(rng.poisson(0.05 + 0.3 * (rng.random((3, 2000)) < 0.02)[y]).astype(float))
    model = LogisticRegression(alpha=1.0).fit(words, y)
    theirs = Theirs(C=1.0, tol=1e-8, max_iter=5000).fit(words, y)
    np.testing.assert_allclose(model.predict_proba(words), theirs.predict_proba(words), atol=1e-4)


def test_several_separated_classes_give_finite_coefficients_and_one_warning():
    X = np.repeat(np.eye(3) * 8, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 3))
    y = np.repeat([0, 1, 2], 20)
    with pytest.warns(UserWarning, match="'x0', 'x1', 'x2' separate the responses perfectly") as caught:
        model = LogisticRegression().fit(X, y)
    assert len(caught) == 1
    assert np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(model.predict(X), y)
    with pytest.warns(UserWarning, match="column 'x3' can be written in terms of earlier columns"):
        LogisticRegression().fit(np.column_stack([*overlapping(3)[0].T, np.ones(600)]), overlapping(3)[1])


def test_what_is_missing_is_said():
    X, y = overlapping(3)
    incomplete = X.copy()
    incomplete[5, 1] = np.nan
    with pytest.raises(ValueError, match=r"column 1 1 cell is missing \(NaN\) \(first: row 5\)"):
        LogisticRegression().fit(incomplete, y)
    with pytest.raises(ValueError, match=r"column 1 1 cell is missing \(NaN\) \(first: row 5\)"):
        LogisticRegression().fit(X, y).predict(incomplete)
    with pytest.raises(ValueError, match="at least two classes, but y has 1 class"):
        LogisticRegression().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="one label per row, but y has several columns"):
        LogisticRegression().fit(X, np.full((len(X), 2), 0.5))
    with pytest.raises(ValueError, match="all weights are zero"):
        LogisticRegression().fit(X, y, np.zeros(len(X)))


@pytest.mark.parametrize("k", [2, 3])
def test_a_loaded_model_predicts_the_same(k, tmp_path):
    X, y = overlapping(k)
    frame = pd.DataFrame(X, columns=list("abc")).assign(flag=X[:, 0] > 0, word=np.where(X[:, 1] > 0.3, "high", "low"))
    model = LogisticRegression(alpha=0.1).fit(frame, y)
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.intercept_.shape == model.intercept_.shape


@pytest.mark.parametrize("n_columns", [40, 400, 1600])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_columns_than_rows_separate_the_classes(n_columns, n_classes):
    rng = np.random.default_rng(n_columns)
    X, y = rng.normal(size=(30, n_columns)), np.arange(30) % n_classes
    with pytest.warns(UserWarning, match="no maximum|in terms of earlier columns"):
        model = LogisticRegression().fit(X, y)
    assert model.score(X, y) == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(alpha=1.0).fit(X, y)


def test_columns_that_depend_on_many_others_are_found_by_rounding_too():
    X = np.random.default_rng(1).normal(size=(120, 500))
    X -= X.mean(0)
    assert independent(X.T @ X).sum() == 119
    assert independent(X.T @ X)[:119].all()
