"""scikit-learn's naive Bayes classes, drop-in: the same answers, and what theirs cannot do.

scikit-learn's own tests (`sklearn-suite naive_bayes`) pass on these classes without exception, `ComplementNB` and
the array libraries (``SCIPY_ARRAY_API=1``) and float32 (``SKLEARN_RUN_FLOAT32_TESTS=1``) included.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.naive_bayes as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import check_estimator

import suffice
from suffice import dropin

NAMES = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
COUNTING = ["BernoulliNB", "ComplementNB", "MultinomialNB"]
DISCRETE = [*COUNTING, "CategoricalNB"]
ATTRIBUTES = {
    "GaussianNB": ["theta_", "var_", "epsilon_", "class_prior_", "class_count_"],
    "CategoricalNB": ["category_count_", "feature_log_prob_", "n_categories_", "class_log_prior_", "class_count_"],
    "MultinomialNB": ["feature_count_", "feature_log_prob_", "class_log_prior_", "class_count_"],
    "ComplementNB": ["feature_all_", "feature_count_", "feature_log_prob_", "class_log_prior_", "class_count_"],
    "BernoulliNB": ["feature_count_", "feature_log_prob_", "class_log_prior_", "class_count_"],
}
seeds = st.integers(0, 2**32 - 1)
property_test = settings(max_examples=30 if settings().derandomize else 300)


def pair(name, **params):
    return getattr(dropin, name)(**params), getattr(theirs, name)(**params)


def rows(name, rng, n, d):
    """Rows that a class reads, of some difficulty but well posed."""
    if name == "GaussianNB":
        return rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + rng.normal(scale=10, size=d)
    if name == "CategoricalNB":
        return rng.integers(0, rng.integers(1, 7, size=d), size=(n, d))
    return rng.poisson(rng.gamma(1.0, 1.0, size=d), size=(n, d)).astype(np.float64)


def data(name, seed):
    """A random data set: rows, labels (numbers or words), weights or None, and parameters of the class."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(2, 80)), int(rng.integers(1, 12)), int(rng.integers(1, 6))
    X = rows(name, rng, n, d)
    y = rng.integers(0, k, size=n)
    if name == "GaussianNB":
        X += rng.normal(size=(k, d))[y]
    y = np.array(["d", "b", "c", "a", "e"])[y] if rng.random() < 0.5 else y * 3 - 1
    weight = rng.uniform(0.1, 3.0, size=n) if rng.random() < 0.5 else None
    n_classes = len(np.unique(y))
    given_prior = rng.dirichlet(np.ones(n_classes)) if rng.random() < 0.3 else None
    if name == "GaussianNB":
        return X, y, weight, {"priors": given_prior, "var_smoothing": float(10 ** rng.uniform(-9, 0))}
    params = {"alpha": float(10 ** rng.uniform(-3, 2)), "class_prior": given_prior, "fit_prior": rng.random() < 0.7}
    if name in ("MultinomialNB", "ComplementNB") and rng.random() < 0.3:
        params["alpha"] = rng.uniform(0.1, 3.0, size=d)
    if name == "ComplementNB":
        params["norm"] = bool(d > 1 and rng.random() < 0.5)  # of one column theirs is 0 / 0
    if name == "BernoulliNB":
        params["binarize"] = float(rng.choice([0.0, 0.5, 1.0, 2.0]))
    if name == "CategoricalNB" and rng.random() < 0.5:
        params["min_categories"] = int(rng.integers(1, 10))
    params["fit_prior"] = bool(params["fit_prior"])
    return X, y, weight, params


def same_attributes(ours, other, name, rtol=1e-9):
    np.testing.assert_array_equal(ours.classes_, other.classes_)
    assert ours.classes_.dtype == other.classes_.dtype
    assert ours.n_features_in_ == other.n_features_in_
    for attribute in ATTRIBUTES[name]:
        a, b = getattr(ours, attribute), getattr(other, attribute)
        if not isinstance(a, list):
            a, b = [a], [b]
        assert len(a) == len(b)
        for mine, their in zip(a, b, strict=True):
            np.testing.assert_allclose(mine, their, rtol=rtol, atol=1e-12, err_msg=attribute)


def same_predictions(ours, other, X, other_X=None, tolerance=1e-8):
    other_X = X if other_X is None else other_X
    logs = other.predict_log_proba(other_X)
    np.testing.assert_allclose(ours.predict_log_proba(X), logs, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(other_X), rtol=tolerance, atol=tolerance)
    joint = other.predict_joint_log_proba(other_X)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), joint, rtol=tolerance, atol=tolerance)
    top = np.sort(logs, axis=1)[:, ::-1]
    clear = np.ones(len(logs), bool) if logs.shape[1] == 1 else top[:, 0] - top[:, 1] > 10 * tolerance
    np.testing.assert_array_equal(ours.predict(X)[clear], other.predict(other_X)[clear])


# -- the same answers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds)
@property_test
def test_answers_are_those_of_scikit_learn(name, seed):
    X, y, weight, params = data(name, seed)
    ours, other = pair(name, **params)
    other.fit(X, y, weight)
    ours.fit(X, y, weight)
    same_attributes(ours, other, name)
    fresh = X[np.random.default_rng(seed).permutation(len(X))]
    same_predictions(ours, other, fresh)


@pytest.mark.parametrize("name", COUNTING)
@given(seed=seeds)
@property_test
def test_sparse_answers_are_those_of_scikit_learn(name, seed):
    X, y, weight, params = data(name, seed)
    ours, other = pair(name, **params)
    kind = [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array][seed % 4]
    ours.fit(kind(X), y, weight)
    other.fit(sp.csr_array(X), y, weight)
    same_attributes(ours, other, name)
    same_predictions(ours, other, kind(X), sp.csr_array(X))


@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds)
@settings(max_examples=15 if settings().derandomize else 150)
def test_float32_answers_are_those_of_scikit_learn(name, seed):
    X, y, _, params = data(name, seed)
    X = X.astype(np.float32)
    ours, other = pair(name, **params)
    ours.fit(X, y)
    other.fit(X.astype(np.float64), y)
    same_predictions(ours, other, X, X.astype(np.float64), tolerance=2e-3)
    assert ours.predict_proba(X).dtype == (np.float32 if name == "GaussianNB" else np.float64)


@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds)
@property_test
def test_partial_fit_in_any_batches_is_fit(name, seed):
    X, y, weight, params = data(name, seed)
    rng = np.random.default_rng(seed)
    whole = getattr(dropin, name)(**params).fit(X, y, weight)
    cuts = np.unique(rng.integers(0, len(X), size=rng.integers(0, 5)))
    parts = getattr(dropin, name)(**params)
    for batch in np.split(np.arange(len(X)), cuts):
        if len(batch):
            parts.partial_fit(X[batch], y[batch], np.unique(y), None if weight is None else weight[batch])
    same_attributes(parts, whole, name)
    np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_of_weight_two_counts_twice_and_of_weight_zero_not_at_all(name):
    X, y, _, _ = data(name, 5)
    weight = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), weight.astype(int))
    # every row counts once in the variance that scales the smoothing, as in scikit-learn
    params = {"var_smoothing": 0.0} if name == "GaussianNB" else {}
    weighted = getattr(dropin, name)(**params).fit(X, y, weight)
    plain = getattr(dropin, name)(**params).partial_fit(X[repeated], y[repeated], classes=np.unique(y))
    present = plain.class_count_ > 0
    logs = [model.predict_log_proba(X[repeated])[:, present] for model in (weighted, plain)]
    np.testing.assert_allclose(*logs, rtol=1e-9, atol=1e-9)


def test_weights_leave_the_variance_that_scales_the_smoothing_alone_whatever_way_the_rows_come():
    rng = np.random.default_rng(3)
    X, y, weight = rng.normal(size=(90, 3)) * [1.0, 5.0, 0.1], np.arange(90) % 3, rng.uniform(0.0, 4.0, 90)
    weight[30:60] = 1.0
    batches = [slice(0, 30), slice(30, 60), slice(60, 90)]
    whole = dropin.GaussianNB(var_smoothing=0.1).fit(X, y, weight)
    assert whole.epsilon_ == pytest.approx(0.1 * X.var(axis=0).max(), rel=1e-12)
    streamed = dropin.GaussianNB(var_smoothing=0.1).fit(suffice.stream([(X[b], y[b], weight[b]) for b in batches]))
    mixed = dropin.GaussianNB(var_smoothing=0.1)
    for number, batch in enumerate(batches):
        mixed.partial_fit(X[batch], y[batch], [0, 1, 2], None if number == 1 else weight[batch])
    soft = dropin.GaussianNB(var_smoothing=0.1).fit(X, np.eye(3)[y], weight)
    for model in (streamed, mixed, soft):
        np.testing.assert_allclose(model.epsilon_, whole.epsilon_, rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)


def test_a_table_of_constant_columns_leaves_the_class_prior():
    y, weight = np.arange(30) % 3, np.random.default_rng(0).uniform(0.1, 3.0, 30)
    for value in (0.0, 3.0, 1e8 + 3.0):
        model = dropin.GaussianNB().fit(np.full((30, 2), value), y, weight)
        np.testing.assert_allclose(model.predict_proba([[value, value]]), [model.class_prior_], rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_that_weighs_nothing_changes_nothing(name):
    X, y, _, _ = data(name, 5)
    model = getattr(dropin, name)().fit(X, y)
    before = model.predict_log_proba(X)
    model.partial_fit(X[::-1], y, sample_weight=np.zeros(len(X)))
    np.testing.assert_array_equal(model.predict_log_proba(X), before)


@pytest.mark.parametrize("name", NAMES)
def test_the_classes_stand_for_those_of_scikit_learn(name):
    ours, other = pair(name)
    assert isinstance(ours, type(other))
    assert ours.get_params() == other.get_params()
    assert type(clone(ours)) is type(ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # checks that are skipped warn
        check_estimator(ours)


@pytest.mark.parametrize("name", NAMES)
def test_a_pickled_model_predicts_the_same(name):
    X, y, _, params = data(name, 3)
    model = getattr(dropin, name)(**params).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", NAMES)
def test_fitted_attributes_are_not_there_before_the_fit(name):
    model = getattr(dropin, name)()
    assert not any(hasattr(model, attribute) for attribute in [*ATTRIBUTES[name], "classes_", "n_features_in_"])


def test_names_of_columns_are_checked_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = dropin.GaussianNB().fit(X, y)
    np.testing.assert_array_equal(model.feature_names_in_, X.columns)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but GaussianNB was fitted with"):
        model.predict(X.to_numpy())
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        model.predict(X.rename(columns={X.columns[0]: "other"}))
    assert not hasattr(model.fit(X.to_numpy(), y), "feature_names_in_")


def test_a_scan_or_a_stream_is_learned_without_the_table():
    X, y = load_iris(return_X_y=True)
    halves = [(X[::2], y[::2]), (X[1::2], y[1::2])]
    model = dropin.GaussianNB().fit(suffice.stream(halves))
    np.testing.assert_allclose(model.theta_, dropin.GaussianNB().fit(X, y).theta_)


# -- Gaussian: where scikit-learn is wrong ----------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_smoothing_after_partial_fit_is_that_of_all_rows_while_scikit_learn_takes_the_last_batch(offset):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (30, 3)), rng.normal(100.0, 1.0, (10, 3))]) + offset
    y = np.arange(40) % 2
    ours, other = pair("GaussianNB", var_smoothing=0.1)
    _, whole = pair("GaussianNB", var_smoothing=0.1)
    whole.fit(X, y)
    for batch in (slice(0, 30), slice(30, 40)):
        ours.partial_fit(X[batch], y[batch], classes=[0, 1])
        other.partial_fit(X[batch], y[batch], classes=[0, 1])
    np.testing.assert_allclose(ours.epsilon_, whole.epsilon_, rtol=1e-8)
    np.testing.assert_allclose(ours.var_, whole.var_, rtol=1e-8)
    assert other.epsilon_ < 0.01 * whole.epsilon_
    assert not np.allclose(other.var_, whole.var_, rtol=0.05)


def test_an_offset_of_the_data_costs_no_digits():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-512, 512, (200, 4)) / 256.0, rng.integers(0, 3, 200)
    near, far = dropin.GaussianNB().fit(X, y), dropin.GaussianNB()
    for batch in np.array_split(np.arange(200), [7, 100]):
        far.partial_fit(X[batch] + 1e8, y[batch], classes=[0, 1, 2])
    # the offset rows are exact in float64, so the only loss is that of the mean itself
    np.testing.assert_allclose(far.var_, near.var_, rtol=1e-12)
    np.testing.assert_allclose(far.predict_log_proba(X + 1e8), near.predict_log_proba(X), atol=1e-6)


# -- beyond scikit-learn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GaussianNB", "BernoulliNB", "CategoricalNB"])
def test_missing_cells_are_left_out(name):
    rng = np.random.default_rng(11)
    X, y = rows(name, rng, 200, 4).astype(np.float64), np.arange(200) % 3
    missing = rng.random(X.shape) < 0.3
    model = getattr(dropin, name)().fit(np.where(missing, np.nan, X), y)
    # columns are independent given the class: each column alone, learned from the rows that have it
    expected = np.log(np.bincount(np.unique(y, return_inverse=True)[1]) / len(y)) + np.zeros((len(X), 1))
    largest = np.nanmax(np.nanvar(np.where(missing, np.nan, X), axis=0))
    for j in range(X.shape[1]):
        there = ~missing[:, j]
        column = getattr(dropin, name)()
        if name == "GaussianNB":
            column.set_params(var_smoothing=1e-9 * largest / X[there, j].var())
        column.partial_fit(X[there][:, [j]], y[there], classes=np.unique(y))
        terms = column.predict_joint_log_proba(X[:, [j]]) - np.log(column.class_count_ / column.class_count_.sum())
        expected = expected + np.where(there[:, None], terms, 0.0)
    joint = model.predict_joint_log_proba(np.where(missing, np.nan, X))
    np.testing.assert_allclose(joint, expected, rtol=1e-8, atol=1e-8)
    assert np.isfinite(model.predict_proba(np.full((1, X.shape[1]), np.nan))).all()


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
def test_word_counts_have_no_missing_values(name):
    X, y, _, _ = data(name, 0)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        getattr(dropin, name)().fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_infinite_cells_are_refused(name):
    X, y, _, _ = data(name, 0)
    bad = X.astype(np.float64)
    bad[-1, 0] = np.inf
    with pytest.raises(ValueError, match=f"contains infinity.*row {len(X) - 1}"):
        getattr(dropin, name)().fit(bad, y)
    with pytest.raises(ValueError, match="contains infinity"):
        getattr(dropin, name)().fit(X, y).predict(bad)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "CategoricalNB"])
def test_negative_cells_are_refused(name):
    X, y, _, _ = data(name, 0)
    with pytest.raises(ValueError, match=rf"Negative values in data passed to {name} \(input X\).*row 0"):
        getattr(dropin, name)().fit(-1 - X, y)


def test_a_bad_category_is_found_in_its_row_of_a_large_table():
    X = np.ones((150_000, 8), dtype=np.int64)
    y = np.arange(len(X)) % 2
    model = dropin.CategoricalNB().fit(X, y)
    assert model.category_count_[7].tolist() == [[0.0, 75_000.0]] * 2
    X[140_000, 3] = -5
    with pytest.raises(ValueError, match=r"column 3 holds -5.* in row 140000"):
        model.predict(X)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = load_iris(return_X_y=True)
    model = dropin.GaussianNB().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="contains infinity"):
        model.fit(np.where(X > 7, np.inf, X), y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_gaussian_rows_stay_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 40), density=0.1, random_state=rng, format="csr")
    y = rng.integers(0, 3, 300)
    dense = dropin.GaussianNB(var_smoothing=1e-3).fit(X.toarray(), y)
    expected = dense.predict_log_proba(X.toarray())
    monkeypatch.setattr(type(X), "toarray", None)
    monkeypatch.setattr(type(X), "todense", None)
    model = dropin.GaussianNB(var_smoothing=1e-3).fit(X, y)
    np.testing.assert_allclose(model.var_, dense.var_)
    np.testing.assert_allclose(model.predict_log_proba(X), expected, atol=1e-8)


def test_cells_of_a_sparse_table_that_are_listed_twice_are_summed():
    doubled = sp.csr_array((np.array([1.0, 2.0, 1.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    model = dropin.GaussianNB().fit(doubled, [0, 1])
    np.testing.assert_array_equal(model.theta_, [[3.0, 0.0], [1.0, 0.0]])
    assert doubled.nnz == 3


COLOURS = pd.DataFrame(
    {
        "colour": pd.Categorical(["red", "red", "blue", "blue", None], categories=["blue", "green", "red"]),
        "size": ["S", "M", "L", "L", "M"],
    }
)


def test_words_and_categories_are_read_as_they_are():
    model = dropin.CategoricalNB().fit(COLOURS, [0, 0, 1, 1, 1])
    assert [values.tolist() for values in model.categories_] == [["blue", "green", "red"], ["L", "M", "S"]]
    np.testing.assert_array_equal(model.n_categories_, [3, 3])
    np.testing.assert_array_equal(model.category_count_[0], [[0, 0, 2], [2, 0, 0]])
    assert model.predict(pd.DataFrame({"colour": ["red"], "size": ["S"]})).tolist() == [0]
    codes = np.array([[2, 2], [2, 1], [0, 0], [0, 0]])
    numbered = dropin.CategoricalNB().fit(codes, [0, 0, 1, 1])
    words = dropin.CategoricalNB().fit(COLOURS[:4], [0, 0, 1, 1])
    np.testing.assert_allclose(words.predict_proba(COLOURS[:4]), numbered.predict_proba(codes))


def test_words_in_batches_are_those_of_the_whole():
    y = [0, 0, 1, 1, 1]
    parts = dropin.CategoricalNB()
    for row in range(5):
        parts.partial_fit(COLOURS[["size"]][row : row + 1], y[row : row + 1], classes=[0, 1])
    whole = dropin.CategoricalNB().fit(COLOURS[["size"]], y)
    np.testing.assert_allclose(parts.predict_proba(COLOURS[["size"]]), whole.predict_proba(COLOURS[["size"]]))


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_an_unseen_value_has_the_mass_of_a_value_without_rows_where_scikit_learn_fails(alpha):
    X, y = np.array([[0], [0], [1], [1], [1]]), np.array([0, 0, 0, 1, 1])
    ours, other = pair("CategoricalNB", alpha=alpha)
    ours.fit(X, y)
    with pytest.raises(IndexError):
        other.fit(X, y).predict([[7]])
    mass = np.array([3, 2]) / 5 * alpha / (np.array([3, 2]) + 2 * alpha)
    np.testing.assert_allclose(ours.predict_proba([[7]]), [mass / mass.sum()])
    words = dropin.CategoricalNB(alpha=alpha).fit(X.astype(str).astype(object), y)
    np.testing.assert_allclose(words.predict_proba([["seven"]]), [mass / mass.sum()])


def test_categories_are_counted_over_all_batches():
    model = dropin.CategoricalNB().partial_fit([[4]], [0], classes=[0, 1]).partial_fit([[1]], [1])
    np.testing.assert_array_equal(model.n_categories_, [5])
    np.testing.assert_array_equal(model.category_count_[0], [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0]])


def test_min_categories_may_exceed_what_words_there_are():
    model = dropin.CategoricalNB(min_categories=4).fit([["a"], ["b"]], [0, 1])
    np.testing.assert_array_equal(model.n_categories_, [4])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0][0]), [2 / 5, 1 / 5, 1 / 5, 1 / 5])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.float32, np.float64, bool])
def test_categories_may_be_numbers_of_any_type(dtype):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (50, 3)), rng.integers(0, 2, 50)
    expected = dropin.CategoricalNB().fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(
        dropin.CategoricalNB().fit(X.astype(dtype), y).predict_proba(X.astype(dtype)), expected
    )


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.filterwarnings("ignore:.*rule out every class between them")
def test_no_smoothing_gives_no_nan(name):
    X = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    model = getattr(dropin, name)(alpha=0.0).partial_fit(X, [0, 0, 1, 1], classes=[0, 1, 2])
    posterior = model.predict_proba(np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]]))
    assert np.isfinite(posterior).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


def test_a_constant_column_without_smoothing_is_certain():
    model = dropin.GaussianNB(var_smoothing=0.0).fit([[1.0], [1.0], [2.0], [2.0]], [0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict_proba([[1.0], [2.0]]), np.eye(2))


def test_bernoulli_takes_an_alpha_a_column():
    X, y = np.array([[1, 0], [1, 1], [0, 1]]), [0, 0, 1]
    model = dropin.BernoulliNB(alpha=[1.0, 2.0]).fit(X, y)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[3 / 4, 3 / 6], [1 / 3, 3 / 5]])


def test_binarize_none_wants_zeros_and_ones():
    with pytest.raises(ValueError, match="a Bernoulli cell must be 0 or 1"):
        dropin.BernoulliNB(binarize=None).fit([[0, 3], [1, 0]], [0, 1])


@pytest.mark.parametrize("name", ["GaussianNB", "BernoulliNB", "CategoricalNB", "MultinomialNB"])
def test_score_samples_is_the_density_of_a_row(name):
    X, y, weight, params = data(name, 21)
    model = getattr(dropin, name)(**params).fit(X, y, weight)
    density = model.score_samples(X)
    evidence = logsumexp(model.predict_joint_log_proba(X), axis=1)
    if name == "MultinomialNB":
        from scipy.special import gammaln

        evidence += gammaln(X.sum(axis=1) + 1) - gammaln(X + 1).sum(axis=1)
    np.testing.assert_allclose(density, evidence, rtol=1e-9, atol=1e-9)


def test_complement_scores_are_no_density():
    assert not hasattr(dropin.ComplementNB(), "score_samples")


@pytest.mark.parametrize("name", NAMES)
def test_explanations_add_up_to_the_log_odds(name):
    X, y, weight, params = data(name, 33)
    model = getattr(dropin, name)(**params).fit(X, y, weight)
    explanation = model.explain(X)
    logs = model.predict_log_proba(X)
    numbers = {label: number for number, label in enumerate(model.classes_.tolist())}
    a, b = ([numbers[label] for label in side.tolist()] for side in (explanation.target, explanation.against))
    odds = logs[np.arange(len(X)), a] - logs[np.arange(len(X)), b]
    np.testing.assert_allclose(explanation.log_odds, odds, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(explanation.target, model.predict(X))
    with pytest.raises(ValueError, match="there is no class 'nobody'"):
        model.explain(X, target="nobody")


def test_a_label_that_was_not_listed_is_refused():
    with pytest.raises(ValueError, match=r"The target label\(s\) \[2\] in y do not exist in the initial classes"):
        dropin.MultinomialNB().partial_fit([[1], [2]], [0, 2], classes=[0, 1])
