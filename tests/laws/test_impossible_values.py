"""By maximum likelihood a value that every class calls impossible says nothing about the class, in every family.

The rule is in `suffice.models.impossible`: such a cell counts as missing for posteriors, predictions, explanations and
imputations, with one warning per call, and log p(x) is −∞.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from suffice import (
    Bernoulli,
    Categorical,
    GenerativeClassifier,
    Geometric,
    Mixture,
    Multinomial,
    NaiveBayes,
    NegativeBinomial,
    Poisson,
    compiled,
    dropin,
)

Y = np.arange(60) % 3
WARNS = "rows hold a value that has probability 0 in every class"
#: family, the value that all of training has in the last column, and one that it never has
CASES = {
    "bernoulli, never 1": (Bernoulli(), 0.0, 1.0),
    "bernoulli, never 0": (Bernoulli(), 1.0, 0.0),
    "categorical": (Categorical(), 1, 0),
    "multinomial": (Multinomial(), 0.0, 2.0),
    "poisson": (Poisson(), 0.0, 3.0),
    "negative binomial": (NegativeBinomial(2.0), 0.0, 3.0),
    "geometric": (Geometric(), 0.0, 1.0),
}
each_family = pytest.mark.parametrize(("family", "always", "never"), CASES.values(), ids=CASES)


def table(family, always, seed=0):
    """Return rows of three columns, the last of which always holds the same."""
    rng = np.random.default_rng(seed)
    if isinstance(family, Bernoulli):
        rows = (rng.random((60, 2)) < np.array([[0.2], [0.5], [0.8]])[Y]).astype(float)
    elif isinstance(family, Categorical):
        rows = rng.integers(0, 3, (60, 2))
    else:
        rows = rng.poisson(np.array([[1.0, 3.0], [2.0, 2.0], [4.0, 1.0]])[Y]) + 1.0
    return np.column_stack([rows, np.full(60, always)])


def pairs(family, X, never):
    """Return rows with the value that no class has in the last column, and the same rows without that cell."""
    rows, without = X[:12].astype(float), X[:12].astype(float)
    rows[:, 2] = never
    without[:, 2] = 0.0 if isinstance(family, Multinomial) else np.nan
    if isinstance(family, Categorical):
        return rows.astype(int), without
    return rows, without


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"])
def _kernels(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(compiled, "library", None)


def model_of(family, **settings):
    # whole numbers that stand for values: 0 is a declared one that no row has
    return GenerativeClassifier(families=family, prior=None, **settings)


@each_family
@pytest.mark.usefixtures("_kernels")
def test_it_drops_out_with_one_warning(family, always, never):
    X = table(family, always)
    model = model_of(family).fit(X, Y)
    rows, without = pairs(family, X, never)
    expected = model.predict_proba(without)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "explain"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            answer = getattr(model, method)(rows)
        assert len(said) == 1
        assert f"12 of 12 {WARNS}" in str(said[0].message)
        assert said[0].filename == __file__
        if method == "explain":
            assert np.isfinite(answer.contributions).all()
            assert not answer.contributions[:, 2].any()
            np.testing.assert_allclose(answer.log_odds, model.explain(without).log_odds, rtol=1e-10, atol=1e-12)
        elif method == "predict":
            np.testing.assert_array_equal(answer, model.predict(without))
        else:
            np.testing.assert_allclose(answer, getattr(model, method)(without), rtol=1e-10, atol=1e-12)
    assert not np.allclose(expected, model.class_prior_)
    np.testing.assert_array_equal(model.score_samples(rows), -np.inf)
    np.testing.assert_array_equal(model.predict_joint_log_proba(rows), -np.inf)
    assert np.isfinite(model.score_samples(X)).all()


@each_family
@pytest.mark.usefixtures("_kernels")
def test_sparse_rows_are_no_exception(family, always, never):
    if isinstance(family, Categorical):
        pytest.skip("categories are not sparse")
    X = table(family, always)
    model = model_of(family).fit(sparse.csr_array(X), Y)
    rows, without = pairs(family, X, never)
    with pytest.warns(UserWarning, match=WARNS) as said:
        found = model.predict_proba(sparse.csr_array(rows))
    assert len(said) == 1
    np.testing.assert_allclose(found, model.predict_proba(without), rtol=1e-10)


@each_family
def test_the_other_columns_of_a_mixed_table_keep_their_say(family, always, never):
    if isinstance(family, Multinomial):
        pytest.skip("a bag has all columns of its block")
    rng, X = np.random.default_rng(1), table(family, always)
    mixed = np.column_stack([X[:, 2], rng.normal(size=60) + 3.0 * Y])
    model = GenerativeClassifier(families={0: family}, prior=None).fit(mixed, Y)
    alone = NaiveBayes(prior=None).fit(mixed[:, 1:], Y)
    new = np.column_stack([np.full(60, never), mixed[:, 1]])
    with pytest.warns(UserWarning, match=f"60 of 60 {WARNS}"):
        np.testing.assert_allclose(model.predict_proba(new), alone.predict_proba(mixed[:, 1:]), rtol=1e-10, atol=1e-14)
    incomplete = np.column_stack([np.full(60, never), np.full(60, np.nan)])
    with pytest.warns(UserWarning, match=f"60 of 60 {WARNS}") as said:
        filled = model.impute(incomplete)
    assert len(said) == 1
    np.testing.assert_allclose(filled[:, 1], np.exp(model.class_log_prior_) @ model.distributions_[1].means[:, 0])


@each_family
def test_classes_of_several_components_and_mixtures_follow_the_rule(family, always, never):
    X = table(family, always)
    rows, without = pairs(family, X, never)
    several = model_of(family, n_components={0: 2}, random_state=0, max_iter=5, tol=0.1).fit(X, Y)
    mixture = Mixture(2, family, prior=None, init=(Y > 0).astype(int), max_iter=5, tol=0.1).fit(X)
    for model, noun in ((several, "class"), (mixture, "component")):
        expected = model.predict_proba(without)
        with pytest.warns(UserWarning, match=f"12 of 12 rows hold .* in every {noun};") as said:
            np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-10, atol=1e-12)
        assert len(said) == 1


@each_family
def test_em_reads_rows_without_a_label_by_the_rule(family, always, never):
    X = table(family, always)
    labels = np.where(np.arange(60) < 30, Y, None)
    rows = X.astype(float) if not isinstance(family, Categorical) else X
    rows[30:, 2] = never
    model = model_of(family, max_iter=1).fit(rows, labels)
    cells = np.where(np.arange(3) == 2, 0.0 if isinstance(family, Multinomial) else np.nan, rows[30:])
    start = model_of(family).fit(rows[:30], Y[:30])
    shares = start.predict_proba(cells)
    # one iteration: what the labels and these shares give
    expected = (np.bincount(Y[:30], minlength=3) + shares.sum(0)) / 60
    np.testing.assert_allclose(model.class_prior_, expected, rtol=1e-9)


def test_a_value_that_some_classes_have_rules_the_others_out():
    frame = pd.DataFrame({"sky": ["sun", "rain", "rain", "fog"] * 5, "wind": np.tile([1.0, 2.0, 3.0, 5.0], 5)})
    model = NaiveBayes(prior=None).fit(frame, ["a", "a", "b", "b"] * 5)
    new = pd.DataFrame({"sky": ["sun", "fog"], "wind": [4.0, 1.0]})
    np.testing.assert_array_equal(model.predict_proba(new), np.eye(2))
    explained = model.explain(new)
    np.testing.assert_array_equal(explained.contributions[:, 0], np.inf)
    assert "nan" not in str(explained)


def test_unseen_words_and_declared_ones_without_a_row_say_nothing():
    sky = pd.Categorical(["sun", "rain", "rain", "fog"] * 5, categories=["sun", "rain", "fog", "snow"])
    frame = pd.DataFrame({"sky": sky, "wind": np.tile([1.0, 2.0, 4.0, 5.0], 5)})
    labels = ["a", "a", "b", "b"] * 5
    model = NaiveBayes(prior=None).fit(frame, labels)
    alone = NaiveBayes(prior=None).fit(frame[["wind"]], labels)
    new = pd.DataFrame({"sky": ["snow", "hail", "fog", None], "wind": [2.5, 3.5, 3.0, 3.0]})
    with pytest.warns(UserWarning, match=f"2 of 4 {WARNS}"):
        found = model.predict_proba(new)
    expected = alone.predict_proba(new[["wind"]])
    np.testing.assert_allclose(found[[0, 1, 3]], expected[[0, 1, 3]], rtol=1e-10)
    np.testing.assert_array_equal(found[2], [0.0, 1.0])
    np.testing.assert_array_equal(np.isneginf(model.score_samples(new)), [True, True, False, False])


def test_a_prior_gives_every_value_a_chance_and_no_warning():
    for family, always, never in CASES.values():
        X = table(family, always)
        model = GenerativeClassifier(families=family).fit(X, Y)
        rows, _ = pairs(family, X, never)
        assert np.isfinite(model.predict_log_proba(rows)).all()
        assert np.isfinite(model.score_samples(rows)).all()


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "CategoricalNB"])
def test_drop_ins_without_smoothing_follow_the_rule(name):
    family = {"BernoulliNB": Bernoulli(), "MultinomialNB": Multinomial(), "CategoricalNB": Categorical()}[name]
    X = table(family, 0 if name != "CategoricalNB" else 1).astype(int)
    model = getattr(dropin, name)(alpha=0.0, force_alpha=True).fit(X, Y)
    fewer = getattr(dropin, name)(alpha=0.0, force_alpha=True).fit(X[:, :2], Y)
    rows = X.copy()
    rows[:, 2] = 1 - X[:, 2]
    with pytest.warns(UserWarning, match=f"60 of 60 {WARNS}"):
        found = model.predict_proba(rows)
    np.testing.assert_allclose(found, fewer.predict_proba(X[:, :2]), rtol=1e-9, atol=1e-12)
