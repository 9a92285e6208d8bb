"""Linear and quadratic discriminant analysis under scikit-learn's names.

scikit-learn's own tests of both (sklearn.tests.test_discriminant_analysis) all pass on these classes. Of its
`check_estimator`, three checks do not apply to QuadraticDiscriminantAnalysis and are listed in `DEGENERATE` below:
because our fit takes `sample_weight`, which scikit-learn's does not, they fit it to classes of constant columns or of
fewer rows than columns, for which scikit-learn's own tests demand the LinAlgError that both raise.
"""

import pickle

import numpy as np
import pytest
import sklearn.discriminant_analysis as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import LedoitWolf, ShrunkCovariance
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from suffice import dropin

LDA, QDA = dropin.LinearDiscriminantAnalysis, dropin.QuadraticDiscriminantAnalysis

DEGENERATE = {
    "check_sample_weights_shape": "fits classes of constant columns",
    "check_sample_weights_not_overwritten": "fits classes of constant columns",
    "check_sample_weight_equivalence_on_dense_data": "fits 30 columns to 3 rows per class",
}


def make(seed=0, n=120, d=4, k=3, scale=1.0, offset=0.0):
    """Return rows of k Gaussian classes with a common, well-conditioned mixing of the columns, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(k), d + 4), rng.integers(0, k, max(n - k * (d + 4), 0))])
    mixing = np.eye(d) + 0.3 * rng.uniform(-1, 1, (d, d))
    X = rng.standard_normal((len(y), d)) @ mixing * (1.0 + 0.3 * y[:, None]) + rng.normal(0, 1.5, (k, d))[y]
    return X * scale + offset, y


def same_up_to_sign(ours, theirs, **tolerance):
    signs = np.where((ours * theirs).sum(0) < 0, -1.0, 1.0)
    np.testing.assert_allclose(ours * signs, theirs, **tolerance)


# -- scikit-learn's contract ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "apart"), [(LDA(), {}), (LDA(solver="eigen", shrinkage=0.1), {}), (QDA(), DEGENERATE)]
)
@pytest.mark.filterwarnings("ignore")
def test_they_are_scikit_learn_estimators(model, apart):
    assert isinstance(model, getattr(sk, type(model).__name__))
    check_estimator(model, expected_failed_checks=apart, on_skip=None)


PRIORS = st.sampled_from(["empirical", "given", "uneven"])


def priors_of(kind, k):
    if kind == "empirical":
        return None
    return np.full(k, 1.0 / k) if kind == "given" else (np.arange(k) + 1.0) / (np.arange(k) + 1.0).sum()


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 9),
    k=st.integers(2, 6),
    n=st.integers(20, 400),
    scale=st.sampled_from([1e-2, 1.0, 1e3]),
    solver=st.sampled_from(
        [
            ("svd", None),
            ("lsqr", None),
            ("eigen", None),
            ("lsqr", "auto"),
            ("eigen", "auto"),
            ("lsqr", 0.4),
            ("eigen", 0.1),
        ]
    ),
    priors=PRIORS,
    text=st.booleans(),
    more=st.booleans(),
)
@settings(max_examples=75 if settings().derandomize else 750)
def test_linear_answers_are_those_of_scikit_learn(seed, d, k, n, scale, solver, priors, text, more):
    X, y = make(seed, n, d, k, scale)
    y = np.array(["a", "b", "c", "d", "e", "f"])[y] if text else y
    options = {"solver": solver[0], "shrinkage": solver[1], "priors": priors_of(priors, k)}
    if more:
        options.update(n_components=1, store_covariance=True)
    ours, theirs = LDA(**options).fit(X, y), sk.LinearDiscriminantAnalysis(**options).fit(X, y)
    new = make(seed + 1, 30, d, k, scale)[0]
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-8)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in ("coef_", "intercept_", "means_", "priors_", "xbar_", "covariance_", "explained_variance_ratio_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            there = getattr(theirs, name)
            size = np.abs(there).max()
            np.testing.assert_allclose(getattr(ours, name), there, rtol=1e-7, atol=1e-8 * size, err_msg=name)
            assert getattr(ours, name).dtype == there.dtype
    if solver[0] != "lsqr":
        gaps = np.diff(theirs.explained_variance_ratio_)
        if len(gaps) == 0 or np.abs(gaps).min() > 1e-4:  # else the directions of equal shares are not determined
            same_up_to_sign(ours.transform(new), theirs.transform(new), rtol=1e-7, atol=1e-7)
            assert ours.scalings_.shape == theirs.scalings_.shape


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 8),
    k=st.integers(2, 5),
    n=st.integers(40, 400),
    options=st.sampled_from(
        [
            {},
            {"reg_param": 0.3},
            {"reg_param": 1.0},
            {"solver": "eigen"},
            {"solver": "eigen", "shrinkage": "auto"},
            {"solver": "eigen", "shrinkage": 0.2},
            {"tol": 0.0},
        ]
    ),
    priors=PRIORS,
    store=st.booleans(),
)
@settings(max_examples=75 if settings().derandomize else 750)
def test_quadratic_answers_are_those_of_scikit_learn(seed, d, k, n, options, priors, store):
    X, y = make(seed, n, d, k)
    options = {**options, "tol": options.get("tol", 1e-7), "priors": priors_of(priors, k), "store_covariance": store}
    ours, theirs = QDA(**options).fit(X, y), sk.QuadraticDiscriminantAnalysis(**options).fit(X, y)
    new = make(seed + 1, 30, d, k)[0]
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-8)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-12)
    assert hasattr(ours, "covariance_") == store
    for c in range(k):
        np.testing.assert_allclose(ours.scalings_[c], theirs.scalings_[c], rtol=1e-8)
        product = (ours.rotations_[c] * ours.scalings_[c]) @ ours.rotations_[c].T
        there = (theirs.rotations_[c] * theirs.scalings_[c]) @ theirs.rotations_[c].T
        np.testing.assert_allclose(product, there, rtol=1e-8, atol=1e-8)
        if store:
            np.testing.assert_allclose(ours.covariance_[c], theirs.covariance_[c], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("estimator", [LedoitWolf(), ShrunkCovariance(shrinkage=0.3)])
def test_a_covariance_estimator_sees_the_rows_of_each_class(estimator):
    X, y = make(3)
    for ours, options in ((LDA, {"solver": "lsqr"}), (LDA, {"solver": "eigen"}), (QDA, {"solver": "eigen"})):
        theirs = getattr(sk, ours.__name__)(covariance_estimator=estimator, **options).fit(X, y)
        model = ours(covariance_estimator=estimator, **options).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    with pytest.raises(ValueError, match="pass no sample_weight"):
        model.fit(X, y, sample_weight=np.ones(len(X)))


def test_wide_tables_are_decomposed_by_their_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 400)), np.arange(60) % 3
    X[y == 1] += 0.2
    X[:, 5] = 0.5  # constant
    weight = rng.integers(1, 3, 60)
    theirs = sk.LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    ours = LDA(store_covariance=True).fit(X, y)
    new = rng.standard_normal((20, 400))
    new[:, 5] = 0.5
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-8)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, atol=1e-12)
    same_up_to_sign(ours.transform(new), theirs.transform(new), atol=1e-8)
    again = LDA().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        LDA().fit(X, y, sample_weight=weight).predict_proba(new), again.predict_proba(new), atol=1e-9
    )
    with pytest.raises(ValueError, match="fewer rows than columns"):
        ours.partial_fit(X, y)
    with pytest.raises(ValueError, match="have no density"):
        ours.score_samples(X)


def test_float32_rows_give_float32_answers_with_the_digits_of_float64():
    X, y = make(1, 5000, 6, 3)
    narrow = X.astype(np.float32)
    model, wide = LDA().fit(narrow, y), LDA().fit(narrow.astype(np.float64), y)
    assert model.coef_.dtype == model.predict_proba(narrow).dtype == model.transform(narrow).dtype == np.float32
    np.testing.assert_allclose(model.predict_proba(narrow), wide.predict_proba(narrow), atol=1e-5)
    # a direction that float32 sums cannot tell from none is found in float64
    copy = np.hstack([narrow, narrow[:, :1] * np.float32(2) + narrow[:, 1:2]])
    ours, theirs = LDA().fit(copy, y), sk.LinearDiscriminantAnalysis().fit(copy.astype(np.float64), y)
    np.testing.assert_allclose(ours.predict_proba(copy), theirs.predict_proba(copy), atol=1e-4)


# -- right where scikit-learn is not ----------------------------------------------------------------------------


def quantised(seed):
    """Return rows that stay exactly what they are when 1e8 is added."""
    X, y = make(seed, 600, 3, 3)
    return np.round(X * 2**20) / 2**20, y


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_an_offset_changes_no_posterior_of_linear_analysis(solver):
    X, y = quantised(5)
    expected = sk.LinearDiscriminantAnalysis(solver=solver).fit(X, y).predict_proba(X)
    ours = LDA(solver=solver).fit(X + 1e8, y).predict_proba(X + 1e8)
    theirs = sk.LinearDiscriminantAnalysis(solver=solver).fit(X + 1e8, y).predict_proba(X + 1e8)
    error, their_error = np.abs(ours - expected).max(), np.abs(theirs - expected).max()
    assert error < 1e-7
    assert their_error > 3 * error
    if solver != "svd":
        assert their_error > 0.1  # Σ⁻¹μ and its intercept have lost every digit


def test_an_offset_changes_no_posterior_of_quadratic_analysis():
    X, y = quantised(6)
    np.testing.assert_allclose(
        QDA().fit(X + 1e8, y).predict_proba(X + 1e8), QDA().fit(X, y).predict_proba(X), atol=1e-7
    )


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_columns_that_depend_on_others_change_no_posterior(solver):
    X, y = make(7, 300, 3, 3)
    expected = LDA().fit(X, y).predict_proba(X)
    dependent = np.hstack([X, X[:, :1] + X[:, 1:2], X[:, 2:] * 5.0, np.full((len(X), 1), 0.1)])
    np.testing.assert_allclose(LDA(solver=solver).fit(dependent, y).predict_proba(dependent), expected, atol=1e-8)
    if solver == "eigen":
        with pytest.raises(np.linalg.LinAlgError):
            sk.LinearDiscriminantAnalysis(solver=solver).fit(dependent, y)


def test_a_constant_column_is_no_direction_though_its_mean_is_rounded():
    X, y = make(8, 300, 2, 3)
    constant = np.hstack([X, np.full((len(X), 1), 0.1)])
    expected = LDA().fit(X, y)
    ours, theirs = LDA().fit(constant, y), sk.LinearDiscriminantAnalysis().fit(constant, y)
    elsewhere = np.hstack([X, np.full((len(X), 1), 0.2)])  # what was constant says nothing
    np.testing.assert_allclose(ours.predict_proba(elsewhere), expected.predict_proba(X), atol=1e-10)
    assert np.abs(ours.coef_[:, 2]).max() < 1e-20
    assert np.abs(theirs.coef_[:, 2]).max() > 1e3  # scikit-learn divides rounding by rounding


def test_log_probabilities_go_below_the_smallest_float():
    X = np.array([[0.0], [1.0], [1e3], [1e3 + 1]])
    y = np.array([0, 0, 1, 1])
    logs = LDA().fit(X, y).predict_log_proba(X)
    assert logs[0, 1] < -1e5
    assert sk.LinearDiscriminantAnalysis().fit(X, y).predict_log_proba(X)[0, 1] > -800


# -- beyond scikit-learn ----------------------------------------------------------------------------------------

MODELS = [
    LDA(),
    LDA(solver="lsqr"),
    LDA(solver="eigen", shrinkage=0.2),
    LDA(solver="lsqr", priors=[0.2, 0.3, 0.5]),
    LDA(solver="svd", priors=[0.2, 0.3, 0.5], store_covariance=True),
    QDA(),
    QDA(reg_param=0.1),
    QDA(solver="eigen", shrinkage=0.2),
]
AUTOMATIC = [
    LDA(solver="lsqr", shrinkage="auto"),
    LDA(solver="eigen", shrinkage="auto"),
    QDA(solver="eigen", shrinkage="auto"),
]


@pytest.mark.parametrize("model", [*MODELS, *AUTOMATIC])
def test_a_weight_is_that_many_rows(model):
    X, y = make(9, 200)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("listed", [True, False])
def test_any_batches_give_what_fit_gives(model, listed):
    X, y = make(10, 200)
    order = np.argsort(y, kind="stable")  # batches that lack classes
    X, y = X[order], y[order]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    whole = clone(model).fit(X, y, sample_weight=weight)
    parts = clone(model)
    for number, rows in enumerate(np.split(np.arange(len(X)), [1, 7, 90, 150])):
        classes = [0, 1, 2] if listed and number == 0 else None
        parts.partial_fit(X[rows], y[rows], classes=classes, sample_weight=weight[rows])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(parts.means_, whole.means_, rtol=1e-12)
    if isinstance(model, LDA) and model.solver != "lsqr":
        np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-9)
    assert parts.n_features_in_ == 4


def test_batches_cannot_do_what_needs_all_rows():
    X, y = make(11)
    for model in (*AUTOMATIC, LDA(solver="lsqr", covariance_estimator=LedoitWolf())):
        with pytest.raises(ValueError, match="need all rows at once"):
            clone(model).partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same as on last call"):
        LDA().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        LDA().partial_fit(X, y, classes=[0, 1])
    model = LDA(solver="lsqr").partial_fit(X, y).set_params(priors=[0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match="only the covariance that the classes share"):
        model.partial_fit(X, y)


def test_too_few_rows_so_far_are_reported_when_it_matters():
    X, y = make(12)
    model = QDA().partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="only 1 sample in class 0"):
        model.predict(X)
    model.partial_fit(X[1:], y[1:])
    np.testing.assert_allclose(model.predict_proba(X), QDA().fit(X, y).predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("model", [LDA(), LDA(solver="eigen", shrinkage=0.1), QDA(), QDA(reg_param=0.2)])
def test_score_samples_is_the_log_density_of_the_mixture(model):
    X, y = make(13)
    model = clone(model).set_params(store_covariance=True).fit(X, y)
    covariances = model.covariance_ if isinstance(model, QDA) else [model.covariance_] * 3
    densities = [
        prior * multivariate_normal(mean, covariance).pdf(X)
        for prior, mean, covariance in zip(model.priors_, model.means_, covariances, strict=True)
    ]
    np.testing.assert_allclose(model.score_samples(X), np.log(np.sum(densities, axis=0)), rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_explanations_add_up_to_the_log_odds(model):
    X, y = make(14)
    model = clone(model).fit(X, y)
    explanation = model.explain(X, target=2, against=0)
    logs = model.predict_log_proba(X)
    assert explanation.contributions.shape == X.shape
    np.testing.assert_allclose(explanation.log_odds, logs[:, 2] - logs[:, 0], atol=1e-9)


def test_explanations_need_no_full_rank():
    X, y = make(15)
    X = np.hstack([X, X[:, :1]])
    model = LDA().fit(X, y)
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(model.explain(X, 1, 0).log_odds, logs[:, 1] - logs[:, 0], atol=1e-9)
    with pytest.raises(ValueError, match="rank 4 of 5"):
        model.score_samples(X)


# -- small things that users meet -------------------------------------------------------------------------------


def test_cells_that_are_not_finite_are_refused_as_in_scikit_learn():
    X, y = make(16)
    for model in (LDA(), QDA()):
        model.fit(X, y)
        for bad, words in ((np.nan, "contains NaN"), (np.inf, "contains infinity")):
            broken = X.copy()
            broken[3, 1] = bad
            with pytest.raises(ValueError, match=words):
                clone(model).fit(broken, y)
            for method in ("predict", "predict_proba", "decision_function", "score_samples"):
                with pytest.raises(ValueError, match=words):
                    getattr(model, method)(broken)


def test_frames_and_labels_of_any_kind_are_read():
    import pandas as pd

    X, y = load_iris(return_X_y=True, as_frame=True)
    names = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    for model in (LDA(), QDA()):
        model.fit(X, names)
        assert model.feature_names_in_.tolist() == X.columns.tolist()
        assert set(model.predict(X)) == {"setosa", "versicolor", "virginica"}
        plain = clone(model).fit(X.to_numpy(), y.to_numpy())
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X.to_numpy()), atol=1e-12)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(X[X.columns[::-1]])
    assert isinstance(LDA().set_output(transform="pandas").fit(X, y).transform(X), pd.DataFrame)


def test_a_fitted_model_travels():
    X, y = make(17)
    for model in (LDA().fit(X, y), QDA().fit(X, y)):
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_allclose(copy.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_a_class_of_prior_zero_is_never_predicted():
    X, y = make(18)
    for model in (LDA(priors=[0.0, 0.5, 0.5]), QDA(priors=[0.0, 0.5, 0.5])):
        probabilities = model.fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(probabilities[:, 0], 0.0)
        np.testing.assert_allclose(probabilities.sum(1), 1.0)


def test_whole_numbers_and_slices_of_arrays_are_read_where_they_lie():
    X, y = make(19, 300, scale=10.0)
    whole = X.astype(np.int32)
    big = np.zeros((300, 9))[: len(X)]
    big[:, 2:6] = X
    for model in (LDA, QDA):
        expected = model().fit(whole.astype(np.float64), y).predict_proba(whole.astype(np.float64))
        np.testing.assert_allclose(model().fit(whole, y).predict_proba(whole), expected, atol=1e-12)
        expected = model().fit(X, y).predict_proba(X)
        for view in (big[:, 2:6], np.asfortranarray(X)):
            np.testing.assert_allclose(model().fit(view, y).predict_proba(view), expected, atol=1e-10)


def test_tight_and_distant_classes_keep_their_digits():
    rng = np.random.default_rng(20)
    y = np.repeat([0, 1, 2], 400)
    centers = np.array([[0.0, 0.0], [1.0, 0.0], [1e8, 0.0]])
    X = rng.standard_normal((len(y), 2)) + centers[y]
    near = X[:800]
    form = LDA(solver="lsqr").fit(X, y).predict_log_proba(near)
    within = np.array([X[y == c] - X[y == c].mean(0) for c in range(3)]).reshape(-1, 2)
    precision = np.linalg.inv(within.T @ within / len(X))
    squares = np.stack([((near - m) @ precision * (near - m)).sum(1) for m in (X[y == c].mean(0) for c in (0, 1))], 1)
    expected = softmax(-0.5 * squares, axis=1)[:, 0]
    np.testing.assert_allclose(np.exp(form[:, 0]), expected, atol=1e-6)


def test_a_fit_that_fails_leaves_no_model_behind():
    X, y = make(21)
    model = QDA().fit(X, y)
    with pytest.raises(np.linalg.LinAlgError, match="not full rank"):
        model.fit(np.hstack([X, X[:, :1]]), y)
    with pytest.raises(NotFittedError):
        model.predict(np.hstack([X, X[:, :1]]))


def test_mistakes_are_named():
    X, y = make(22)
    for model in (LDA, QDA):
        with pytest.raises(ValueError, match="priors must be one number per class"):
            model(priors=[0.5, 0.5]).fit(X, y)
        with pytest.raises(ValueError, match="too large"):
            model().fit(X * 1e200, y)
        with pytest.raises(ValueError, match="all weights are zero"):
            model().fit(X, y, sample_weight=np.zeros(len(X)))
