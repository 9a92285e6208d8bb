"""What a person can do with a fitted model."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import (
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    NaiveBayes,
    NormalInverseWishart,
    NotKeptError,
    PseudoCount,
)

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
STRUCTURES = ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"]


@parametrize_with_checks(
    [GenerativeClassifier(), NaiveBayes(), GaussianDiscriminant(), *(GaussianDiscriminant(c) for c in STRUCTURES[::2])]
)
@pytest.mark.filterwarnings("ignore:rows with missing cells:UserWarning")
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_models_work_in_scikit_learns_pipelines_and_searches():
    X, y = IRIS
    search = GridSearchCV(GenerativeClassifier(), {"covariance": STRUCTURES, "prior": ["auto", None]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    assert cross_val_score(make_pipeline(StandardScaler(), GaussianDiscriminant()), X, y).mean() > 0.95
    assert clone(GaussianDiscriminant("full")).covariance == "full"


# -- class priors, decisions ------------------------------------------------------------------------------------


def test_class_priors_are_empirical_uniform_smoothed_or_given():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 0, 0, 1, 1])
    assert NaiveBayes().fit(X, y).class_prior_.tolist() == [0.75, 0.25]
    assert NaiveBayes(class_prior="uniform").fit(X, y).class_prior_.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(NaiveBayes(class_prior=PseudoCount(1)).fit(X, y).class_prior_, [0.7, 0.3])
    np.testing.assert_allclose(NaiveBayes(class_prior={1: 0.9, 0: 0.1}).fit(X, y).class_prior_, [0.1, 0.9])
    np.testing.assert_allclose(NaiveBayes(class_prior=[0.1, 0.9]).fit(X, y).class_prior_, [0.1, 0.9])


def test_a_threshold_moves_the_decision_and_a_cost_matrix_minimises_the_expected_cost():
    X, y = CANCER
    p = NaiveBayes().fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(NaiveBayes(threshold=0.99).fit(X, y).predict(X), p[:, 1] >= 0.99)
    np.testing.assert_array_equal(NaiveBayes(threshold={0: 0.001}).fit(X, y).predict(X), p[:, 0] < 0.001)
    cost = np.array([[0.0, 50.0], [1.0, 0.0]])  # calling a malign tumour benign costs 50
    np.testing.assert_array_equal(NaiveBayes(cost=cost).fit(X, y).predict(X), 50 * p[:, 0] < p[:, 1])
    three = NaiveBayes(threshold={0: 0.5, 1: 0.2, 2: 0.3}).fit(*IRIS)
    p = three.predict_proba(IRIS[0])
    np.testing.assert_array_equal(three.predict(IRIS[0]), np.argmax(p / [0.5, 0.2, 0.3], axis=1))


def test_labels_of_any_type_come_back_unchanged():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    for labels in (["no", "yes"], [False, True], [-7, 12], [1.0, 2.0], [b"n", b"y"]):
        y = np.repeat(labels, 2)
        predicted = NaiveBayes().fit(X, y).predict(X)
        assert predicted.tolist() == y.tolist()
        assert predicted.dtype == y.dtype
    mixed = np.array(["one", 1, "one", 1], dtype=object)
    assert set(NaiveBayes().fit(X, mixed).predict(X).tolist()) <= {"one", 1}


def test_soft_labels_are_weights_for_every_class():
    X, y = IRIS
    soft = np.eye(3)[y] * 0.7 + 0.1
    for covariance in STRUCTURES:
        model = GenerativeClassifier(covariance=covariance).fit(X, soft)
        rows = GenerativeClassifier(covariance=covariance).fit(
            np.tile(X, (3, 1)), np.repeat([0, 1, 2], 150), sample_weight=soft.T.ravel()
        )
        np.testing.assert_allclose(model.predict_proba(X), rows.predict_proba(X), rtol=1e-7, atol=1e-12)
    named = GenerativeClassifier().fit(X, pd.DataFrame(soft, columns=["setosa", "versicolor", "virginica"]))
    assert named.predict(X[:1]).tolist() == ["setosa"]


# -- reading a model ---------------------------------------------------------------------------------------------


def test_the_decision_function_is_the_log_odds():
    X, y = CANCER
    model = NaiveBayes().fit(X, y)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(model.decision_function(X), joint[:, 1] - joint[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(NaiveBayes().fit(*IRIS).decision_function(IRIS[0])).sum(1), 1.0)


def test_outliers_have_a_low_density_and_a_large_distance():
    X, y = IRIS
    model = GaussianDiscriminant("full").fit(X, y)
    far = X[:1] + 10.0
    assert model.score_samples(far)[0] < model.score_samples(X).min()
    assert model.mahalanobis(far).min() > model.mahalanobis(X).min(axis=1).max()
    (gaussians,) = model.distributions_
    delta = X[7] - gaussians.means[1]
    expected = np.sqrt(delta @ np.linalg.solve(gaussians.covariance()[1], delta))
    np.testing.assert_allclose(model.mahalanobis(X)[7, 1], expected)


def test_reasons_add_up_and_name_the_columns_that_matter():
    bunch = load_wine(as_frame=True)
    model = NaiveBayes().fit(bunch.data, bunch.target)
    reasons = model.explain(bunch.data)
    logs = model.predict_log_proba(bunch.data)
    best = np.sort(logs, axis=1)
    np.testing.assert_allclose(reasons.log_odds, best[:, -1] - best[:, -2], rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(reasons.target, model.predict(bunch.data))
    name, value = reasons.top(0, 1)[0]
    assert name in bunch.feature_names
    assert abs(value) == np.abs(reasons.contributions[0]).max()
    assert "(baseline)" in str(reasons)
    truth = model.explain(bunch.data, target=bunch.target.to_numpy(), against=(bunch.target.to_numpy() + 1) % 3)
    np.testing.assert_array_equal(truth.target, bunch.target)
    fixed = model.explain(bunch.data, target=0, against=2)
    np.testing.assert_allclose(fixed.log_odds, logs[:, 0] - logs[:, 2], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("covariance", ["tied", "tied-diagonal", "tied-spherical"])
def test_tied_models_are_linear(covariance):
    for X, y in (IRIS, CANCER):
        model = GaussianDiscriminant(covariance).fit(X, y)
        linear = X @ model.coef_.T + model.intercept_
        logs = model.predict_log_proba(X)
        if len(model.classes_) == 2:
            np.testing.assert_allclose(linear[:, 0], logs[:, 1] - logs[:, 0], rtol=1e-6, atol=1e-6)
        else:
            np.testing.assert_allclose(linear - linear[:, :1], logs - logs[:, :1], rtol=1e-6, atol=1e-6)


def test_the_linear_form_is_the_textbooks():
    X, y = CANCER[0][:, :5], CANCER[1]
    model = GaussianDiscriminant(prior=None).fit(X, y)
    (gaussians,) = model.distributions_
    w = np.linalg.solve(gaussians.covariance()[0], gaussians.means[1] - gaussians.means[0])
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-8)
    x0 = model.boundary_point_
    np.testing.assert_allclose(model.predict_proba(x0[None]), [[0.5, 0.5]], rtol=1e-9)
    direction = gaussians.means[1] - gaussians.means[0]
    along = (x0 - gaussians.means[0]) / direction
    np.testing.assert_allclose(along, along[0], rtol=1e-6)  # on the line through the means


@pytest.mark.parametrize("data", [IRIS, load_wine(return_X_y=True)])
def test_discriminant_directions_are_those_of_linear_discriminant_analysis(data):
    X, y = data
    ours = GaussianDiscriminant(prior=NormalInverseWishart(0)).fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    projected, expected = ours.transform(X), theirs.transform(X)
    assert projected.shape == (len(X), 2)
    for j in range(2):
        assert abs(np.corrcoef(projected[:, j], expected[:, j])[0, 1]) > 1 - 1e-9
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    within = sum(
        (projected[y == c] - projected[y == c].mean(0)).T @ (projected[y == c] - projected[y == c].mean(0))
        for c in range(3)
    ) / (len(X) - 3)
    np.testing.assert_allclose(within, np.eye(2), atol=1e-9)


# -- statistics ---------------------------------------------------------------------------------------------------


def test_models_trained_apart_merge_into_the_model_of_all_rows():
    X, y = IRIS
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(mark=[f"m{i % 5}" for i in range(150)])
    whole = NaiveBayes().fit(frame, words)
    left, right = frame[:70], frame[70:]  # the right part has no setosa at all
    a, b = NaiveBayes().fit(left, words[:70]), NaiveBayes().fit(right, words[70:])
    merged = NaiveBayes.from_statistics(a.statistics_ + b.statistics_)
    np.testing.assert_allclose(merged.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)
    swapped = NaiveBayes.from_statistics(b.statistics_ + a.statistics_)
    np.testing.assert_allclose(swapped.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_a_person_who_asked_to_be_forgotten_is(covariance):
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd")).assign(name=[f"person {i // 3}" for i in range(150)])
    mine = frame["name"] == "person 10"
    params = {"covariance": covariance}
    model = GenerativeClassifier(**params).fit(frame, y)
    person = GenerativeClassifier(**params).partial_fit(frame[mine], y[mine])
    without = GenerativeClassifier.from_statistics(model.statistics_ - person.statistics_, **params)
    never = GenerativeClassifier(**params).fit(frame[~mine], y[~mine])
    np.testing.assert_allclose(without.predict_proba(frame), never.predict_proba(frame), rtol=1e-8)
    assert "person 10" not in without.schema_.categories[4].values
    with pytest.raises(ValueError, match="only be subtracted from sums that contain them"):
        person.statistics_ - model.statistics_


@pytest.mark.parametrize("covariance", STRUCTURES)
@pytest.mark.parametrize("prior", ["auto", None, NormalInverseWishart(3.0, mean_count=0.5)])
def test_statistics_of_a_full_model_give_every_other_one(covariance, prior):
    X, y = IRIS
    full = GenerativeClassifier(covariance="full").fit(X, y)
    refitted = GenerativeClassifier.from_statistics(full.statistics_, covariance=covariance, prior=prior)
    fitted = GenerativeClassifier(covariance=covariance, prior=prior).fit(X, y)
    np.testing.assert_allclose(refitted.predict_proba(X), fitted.predict_proba(X), rtol=1e-8, atol=1e-14)
    assert isinstance(NaiveBayes.from_statistics(full.statistics_).predict(X), np.ndarray)


def test_asking_for_more_than_was_kept_is_an_error():
    X, y = IRIS
    naive, tied = NaiveBayes().fit(X, y).statistics_, GaussianDiscriminant("tied").fit(X, y).statistics_
    with pytest.raises(NotKeptError, match="covariances of each class were asked for, but only the variances"):
        GaussianDiscriminant.from_statistics(naive, covariance="full")
    with pytest.raises(NotKeptError, match="variances of each column were asked for, but only the covariance that"):
        NaiveBayes.from_statistics(tied)
    with pytest.raises(NotKeptError, match="taken for Gaussian"):
        NaiveBayes.from_statistics(naive, families="poisson")
    other = NaiveBayes().fit(X[:, :2], y).statistics_
    with pytest.raises(ValueError, match="same columns"):
        naive + other
    with pytest.raises(ValueError, match="same families"):
        naive + tied


def test_partial_fit_meets_new_classes_and_categories_in_any_batch():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": np.sort(rng.choice(list("abcdef"), 90)), "x": rng.normal(size=90)})
    y = np.sort(rng.integers(0, 4, 90))
    whole, parts = NaiveBayes().fit(frame, y), NaiveBayes()
    for rows in np.array_split(np.arange(90), 7):
        parts.partial_fit(frame.iloc[rows], y[rows])
    assert parts.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(parts.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)


# -- defaults cannot fail ---------------------------------------------------------------------------------------


def hard_tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = rng.integers(0, 2, 40)
    one_row = y.copy()
    one_row[0] = 9
    return {
        "a constant column": (np.column_stack([X, np.full(40, 0.1)]), y),
        "a constant column far away": (np.column_stack([X, np.full(40, 1e8 + 0.1)]), y),
        "a duplicated column": (np.column_stack([X, X[:, 0]]), y),
        "collinear columns": (np.column_stack([X, X @ rng.normal(size=5)]), y),
        "a class of one row": (X, one_row),
        "fewer rows than columns": (rng.normal(size=(6, 30)), np.array([0, 1] * 3)),
        "one row a class": (X[:3], np.array([0, 1, 2])),
        "a column constant within each class": (np.column_stack([X, y]), y),
        "duplicated rows": (np.repeat(X[:2], 20, axis=0), np.repeat([0, 1], 20)),
        "one far outlier": (np.vstack([X, np.full(5, 1e12)]), np.append(y, 0)),
        "huge numbers": (X * 1e150, y),
        "tiny numbers": (X * 1e-150, y),
        "float32": (X.astype(np.float32), y),
    }


@pytest.mark.parametrize("covariance", STRUCTURES)
@pytest.mark.parametrize("table", hard_tables())
def test_default_priors_always_give_finite_answers(table, covariance):
    X, y = hard_tables()[table]
    tiny = pytest.warns(UserWarning, match="squares are too small for float64")
    with tiny if table == "tiny numbers" else nullcontext():
        model = GaussianDiscriminant(covariance).fit(X, y)
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(1), 1.0, rtol=1e-6)
    assert np.isfinite(model.score_samples(X)).all()


def test_a_constant_column_changes_no_posterior():
    X, y = IRIS
    weight = np.where(y == 0, 5.0, 1.0)
    for covariance in ("full", "tied", "diagonal", "tied-diagonal"):
        plain = GaussianDiscriminant(covariance).fit(X[:, :2], y, weight).predict_proba(X[:, :2])
        padded = np.column_stack([X[:, :2], np.full(150, 3.3)])
        # the prior of full structures counts columns, which moves its strength a little
        tolerance = 0.02 if covariance in ("full", "tied") else 1e-9
        shown = GaussianDiscriminant(covariance).fit(padded, y, weight).predict_proba(padded)
        np.testing.assert_allclose(shown, plain, atol=tolerance)


def test_maximum_likelihood_with_impossible_rows_falls_back_to_the_class_prior():
    X = np.array([["a", "x"], ["a", "x"], ["b", "y"]])
    model = NaiveBayes(prior=None).fit(X, [0, 0, 1])
    with pytest.warns(
        UserWarning, match="rule out every class between them; their predictions are the prior shares of the classes"
    ):
        np.testing.assert_allclose(model.predict_proba([["a", "y"]]), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(model.predict_proba([["b", "y"]]), [[0.0, 1.0]])
    assert model.score_samples([["a", "y"]])[0] == -np.inf


def test_a_shared_variance_means_something_for_the_columns_it_is_shared_by():
    X, y = IRIS
    together = GenerativeClassifier(families={(0, 1): Gaussian("spherical"), (2, 3): Gaussian("spherical")}).fit(X, y)
    variances = [distributions.variance() for distributions in together.distributions_]
    assert (variances[0][:, 0] == variances[0][:, 1]).all()
    assert (variances[0][:, 0] != variances[1][:, 0]).all()


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, ">i8"])
def test_labels_may_lie_anywhere_in_memory(dtype):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.integers(0, 3, 400)
    X[:, 0] += y
    spread = np.zeros((400, 3), dtype=dtype)
    spread[:, 1] = y
    expected = NaiveBayes().fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(NaiveBayes().fit(X, spread[:, 1]).predict_proba(X), expected)
    np.testing.assert_array_equal(NaiveBayes().fit(X, spread[::-1, 1][::-1]).predict_proba(X), expected)


# -- classes: their probabilities, and one that no row has ----------------------------------------------------------


def test_a_class_without_rows_has_a_share_by_its_pseudo_count_and_the_columns_of_the_prior():
    X, y = np.array([[1, 0], [1, 1], [1, 1], [0, 1], [0, 0]]), ["a", "a", "a", "b", "b"]
    model = NaiveBayes("bernoulli", classes=["a", "b", "c"], class_prior=PseudoCount(1)).fit(X, y)
    np.testing.assert_allclose(model.class_prior_, [4 / 8, 3 / 8, 1 / 8])
    joint = np.array([4 / 8 * 4 / 5 * 2 / 5, 3 / 8 * 1 / 4 * 1 / 2, 1 / 8 * 1 / 2 * 1 / 2])
    np.testing.assert_allclose(model.predict_proba([[1, 0]])[0], joint / joint.sum())
    by_share = NaiveBayes("bernoulli", classes=["a", "b", "c"]).fit(X, y)
    assert by_share.predict_proba([[1, 0]])[0, 2] == 0.0
    with pytest.raises(ValueError, match="class 'c' has none"):
        NaiveBayes("bernoulli", prior=None, classes=["a", "b", "c"]).fit(X, y)


def test_the_most_probable_class_makes_the_fewest_errors_of_all_classifiers():
    rng = np.random.default_rng(0)
    for _ in range(5):
        prior, tables = rng.dirichlet([1, 1, 1]), rng.dirichlet([1, 1], 3)
        shares = dict(zip("abc", prior, strict=True))
        column = {c: dict(zip("uv", row, strict=True)) for c, row in zip("abc", tables, strict=True)}
        cost = rng.exponential(size=(3, 3))
        joint = prior[:, None] * tables
        for setting, loss in ((None, 1 - np.eye(3)), (cost, cost)):
            model = NaiveBayes.from_parameters(shares, {"w": column}, cost=setting)
            chosen = ["abc".index(c) for c in model.predict([["u"], ["v"]])]
            expected = {h: sum(joint[:, x] @ loss[:, h[x]] for x in (0, 1)) for h in np.ndindex(3, 3)}
            assert expected[tuple(chosen)] == pytest.approx(min(expected.values()))
