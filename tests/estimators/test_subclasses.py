"""Classes of several components: p(x | c) = Σ_m p(m | c) p(x | c, m)."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed import mixed_columns
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import suffice
from suffice import GaussianDiscriminant, GenerativeClassifier, Mixture, ModelFileError, NaiveBayes, NotKeptError
from suffice.estimators.partly_labelled import known_labels
from suffice.mixtures.start_clusters import rows_of_each_class
from suffice.models import passes


def corners(n=800, seed=0):
    """Return rows in four corners of a square; those across from each other are of one class."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 4, n)
    X = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 5.0], [5.0, 0.0]])[corner] + rng.normal(size=(n, 2))
    return X, np.array(["even", "even", "odd", "odd"])[corner]


X, Y = corners()
TEST_X, TEST_Y = corners(400, seed=1)


def two(**settings):
    return GenerativeClassifier(n_components=2, random_state=0, **settings)


def some_labels(share, seed=2):
    """Return labels of which most are missing."""
    return np.where(np.random.default_rng(seed).random(len(Y)) < share, Y, None)


# -- the fit ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [1, {}, {"odd": 1}])
@pytest.mark.parametrize("y", [Y, some_labels(0.2)], ids=["labelled", "partly labelled"])
def test_one_component_is_the_plain_classifier(n_components, y):
    plain = GenerativeClassifier().fit(X, y)
    model = GenerativeClassifier(n_components=n_components).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(TEST_X), plain.predict_proba(TEST_X))
    np.testing.assert_array_equal(model.sample(5, random_state=0)[0], plain.sample(5, random_state=0)[0])
    assert model.statistics_.class_of is None
    assert model.component_classes_.tolist() == ["even", "odd"]
    assert model.component_shares_.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "spherical", "VEI"])
@pytest.mark.parametrize("share", [1.0, 0.05])
def test_classes_of_two_clusters_are_told_apart(covariance, share):
    y = some_labels(share)
    model = two(covariance=covariance).fit(X, y)
    assert model.score(TEST_X, TEST_Y) > 0.97
    assert model.component_classes_.tolist() == ["even", "even", "odd", "odd"]
    np.testing.assert_allclose(model.component_shares_, 0.5, atol=0.05)
    if covariance != "full":
        assert GenerativeClassifier(covariance=covariance).fit(X, y).score(TEST_X, TEST_Y) < 0.8


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_each_class_is_the_mixture_of_its_rows(covariance):
    options = {"covariance": covariance, "prior": None, "tol": 1e-12, "max_iter": 5000}
    model = GenerativeClassifier(n_components={"even": 2, "odd": 3}, random_state=0, **options).fit(X, Y)
    conditional = model.predict_joint_log_proba(TEST_X) - model.class_log_prior_
    for c, (label, k) in enumerate({"even": 2, "odd": 3}.items()):
        mixture = Mixture(k, random_state=0, **options).fit(X[label == Y])
        own = conditional[:, c]
        if k == 2:  # three components on two clusters have several optima
            np.testing.assert_allclose(own, mixture.score_samples(TEST_X), rtol=1e-6)
        of_class = model.predict_joint_log_proba(X[label == Y])[:, c] - model.class_log_prior_[c]
        assert of_class.sum() >= mixture.score_samples(X[label == Y]).sum() - 2.0


def test_probabilities_are_sums_over_components():
    model = two(covariance="full").fit(X, Y)
    found = model.distributions_[0]
    parts = np.log(model.component_shares_) + found.score(TEST_X)
    joint = np.stack([logsumexp(parts[:, :2], axis=1), logsumexp(parts[:, 2:], axis=1)], axis=1)
    joint += model.class_log_prior_
    np.testing.assert_allclose(model.predict_joint_log_proba(TEST_X), joint, rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(TEST_X), logsumexp(joint, axis=1), rtol=1e-9)
    logs = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(TEST_X), logs, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(TEST_X), np.exp(logs), atol=1e-9)
    np.testing.assert_array_equal(model.predict(TEST_X), model.classes_[joint.argmax(1)])
    np.testing.assert_allclose(model.decision_function(TEST_X), logs[:, 1] - logs[:, 0], rtol=1e-9)


def test_shares_are_those_of_the_clusters_in_their_class():
    corner = np.random.default_rng(12).choice(4, 2000, p=[0.5, 0.1, 0.1, 0.3])
    rows = 8.0 * np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[corner] + np.random.default_rng(13).normal(size=(2000, 2))
    y = corner // 2
    model = two(class_prior=[0.5, 0.5]).fit(rows, y)
    found = model.distributions_[0].means
    for m, mean in enumerate(found):
        nearest = np.argmin(np.linalg.norm(8.0 * np.array([[0, 0], [1, 1], [0, 1], [1, 0]]) - mean, axis=1))
        assert nearest // 2 == model.component_classes_[m]
        share = (corner == nearest).sum() / (y == nearest // 2).sum()
        assert model.component_shares_[m] == pytest.approx(share, abs=1e-3)
    np.testing.assert_allclose(model.class_prior_, 0.5)
    _, drawn = model.sample(4000, random_state=0)
    assert drawn.mean() == pytest.approx(0.5, abs=0.03)


def test_a_labelled_row_belongs_to_its_own_class_however_far_it_is():
    y = np.where(np.random.default_rng(14).random(len(Y)) < 0.1, "odd", Y)  # some rows lie in the other class
    model = two().fit(X, y)
    np.testing.assert_allclose(model.statistics_.class_count, [(y == "even").sum(), (y == "odd").sum()])


def test_a_component_may_be_given_up_by_a_cost_matrix_or_a_threshold():
    cost = np.array([[0.0, 1.0], [50.0, 0.0]])
    assert (two(cost=cost).fit(X, Y).predict(TEST_X) == "odd").mean() > (TEST_Y == "odd").mean()
    assert (two(threshold=0.999).fit(X, Y).predict(TEST_X) == "odd").mean() < (TEST_Y == "odd").mean()


def test_a_weight_of_two_is_the_row_twice_and_one_of_zero_its_absence():
    weight = np.random.default_rng(3).integers(0, 3, len(X)).astype(float)
    options = {"covariance": "full", "tol": 1e-12, "max_iter": 2000}
    weighted = two(**options).fit(X, Y, weight)
    repeated = two(**options).fit(np.repeat(X, weight.astype(int), axis=0), np.repeat(Y, weight.astype(int)))
    np.testing.assert_allclose(weighted.predict_proba(TEST_X), repeated.predict_proba(TEST_X), atol=1e-6)
    np.testing.assert_allclose(weighted.statistics_.class_count, repeated.statistics_.class_count)


def test_unlabelled_rows_of_no_weight_are_absent():
    y = some_labels(0.3)
    known = np.array([label is not None for label in y])
    model = two(covariance="full", unlabeled_weight=0.0, tol=1e-12, max_iter=2000).fit(X, y)
    alone = two(covariance="full", tol=1e-12, max_iter=2000).fit(X[known], y[known])
    np.testing.assert_allclose(model.predict_proba(TEST_X), alone.predict_proba(TEST_X), atol=1e-7)


def test_components_are_found_where_labelled_rows_are_fewer_than_components():
    rng = np.random.default_rng(4)
    z = rng.integers(0, 4, 1000)
    rows = np.array([[0.0, 0.0], [3.0, 0.0], [20.0, 20.0], [23.0, 20.0]])[z] + 0.5 * rng.normal(size=(1000, 2))
    y = np.full(1000, None)
    y[[np.flatnonzero(z == 0)[0], np.flatnonzero(z == 2)[0]]] = ["low", "high"]
    model = two(covariance="spherical").fit(rows, y)
    assert len(model.component_classes_) == 4
    found = np.sort(model.distributions_[0].means[:, 0])
    np.testing.assert_allclose(found, [0.0, 3.0, 20.0, 23.0], atol=0.3)


def test_soft_labels_are_shared_among_the_components_of_a_class():
    hard = np.stack([Y == "even", Y == "odd"], axis=1).astype(float)
    codes = two(tol=1e-12, max_iter=2000).fit(X, Y)
    model = two(tol=1e-12, max_iter=2000).fit(X, hard)
    np.testing.assert_allclose(model.predict_proba(TEST_X), codes.predict_proba(TEST_X), atol=1e-7)
    soft = two().fit(X, 0.9 * hard + 0.05)
    np.testing.assert_allclose(soft.statistics_.class_count, (0.9 * hard + 0.05).sum(0))
    assert soft.score(TEST_X, np.where(TEST_Y == "even", 0, 1)) > 0.97


def test_the_seed_decides():
    one, other = (GaussianDiscriminant("full", n_components=3, random_state=5).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_parameter_is_searched_over():
    search = GridSearchCV(GenerativeClassifier(random_state=0), {"n_components": [1, 2]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"n_components": 2}
    assert clone(NaiveBayes(n_components={"a": 2})).n_components == {"a": 2}


# -- rows of every kind -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_mixed_tables_with_missing_values(frame):
    columns, y = mixed_columns()
    table = frame(columns)
    model = GenerativeClassifier({"visits": "poisson"}, n_components={"a": 3, "b": 2}, random_state=0).fit(table, y)
    plain = GenerativeClassifier({"visits": "poisson"}).fit(table, y)
    assert model.score_samples(table).mean() > plain.score_samples(table).mean() - 0.01
    assert model.component_classes_.tolist() == ["a"] * 3 + ["b"] * 2 + ["c"]
    drawn, labels = model.sample(2000, random_state=0)
    assert isinstance(drawn, frame)
    assert list(drawn.columns) == list(table.columns)
    shares = [(labels == label).mean() for label in "abc"]
    np.testing.assert_allclose(shares, model.class_prior_, atol=0.05)
    filled = model.impute(table)
    assert isinstance(filled, frame)
    assert not pd.DataFrame({name: list(filled[name]) for name in columns}).isna().any(axis=None)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_rows_with_missing_values_are_learned_from_and_filled_in(covariance):
    with_missing_cells = np.where(np.random.default_rng(6).random(X.shape) < 0.2, np.nan, X)
    model = two(covariance=covariance).fit(with_missing_cells, Y)
    assert model.score(TEST_X, TEST_Y) > 0.97
    # a row of class "even" at 0 on the left is at 0 or 5 above; which class it is of decides
    filled = model.impute(np.array([[5.0, np.nan]]))
    assert filled[0, 1] == pytest.approx(2.5, abs=0.6)  # both corners on the right are as probable
    drawn = np.array([model.impute(np.array([[5.0, np.nan]]), sample=True, random_state=s)[0, 1] for s in range(60)])
    assert (np.minimum(np.abs(drawn), np.abs(drawn - 5)) < 3.5).all()
    assert 0.2 < (drawn > 2.5).mean() < 0.8


def test_streams_and_files_give_what_memory_gives(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": np.where(X[:, 0] > 2.5, "right", "left"), "y": Y})
    frame.to_parquet(tmp_path / "rows.parquet")
    options = {"tol": 1e-10, "max_iter": 1000}
    memory = two(**options).fit(frame[["a", "b", "word"]], Y)
    scanned = two(**options).fit(suffice.scan(tmp_path / "*.parquet", target="y", batch_rows=150))
    np.testing.assert_allclose(
        scanned.predict_proba(frame[["a", "b", "word"]]), memory.predict_proba(frame[["a", "b", "word"]]), atol=1e-5
    )
    streamed = two(**options).fit(suffice.stream([(X[:300], Y[:300]), (X[300:], Y[300:])]))
    np.testing.assert_allclose(streamed.predict_proba(X), two(**options).fit(X, Y).predict_proba(X), atol=1e-5)


def test_sparse_rows():
    rng = np.random.default_rng(7)
    z = rng.integers(0, 4, 600)
    counts = rng.poisson(np.kron(np.eye(4), np.full(5, 3.0))[z] + 0.2).astype(float)
    y = z % 2
    model = NaiveBayes("multinomial", n_components=2, random_state=0).fit(sparse.csr_array(counts), y)
    dense = NaiveBayes("multinomial", n_components=2, random_state=0).fit(counts, y)
    np.testing.assert_allclose(model.predict_proba(counts), dense.predict_proba(counts), atol=1e-6)
    assert model.score(counts, y) > 0.99


def test_a_sample_to_begin_with_has_rows_of_every_class_and_keeps_their_shares():
    rng = np.random.default_rng(8)
    n = 30_000
    y = np.where(rng.random(n) < 0.3, None, np.where(rng.random(n) < 0.002, "rare", "common"))
    rows = rng.normal(size=(n, 2))
    model = GenerativeClassifier().fit(rows, y)
    for x, labels in ((rows, y), (suffice.stream([(rows[:9000], y[:9000]), (rows[9000:], y[9000:])]), None)):
        engine = passes.engine(
            x, labels, None, model.schema_, known_labels(model, np.array(["common", "rare"], dtype=object))
        )
        drawn = rows_of_each_class(engine, n, 3000, np.random.default_rng(0))
        known = drawn.responsibilities
        assert len(drawn) < 3100
        assert (known.codes == 1).sum() == (y == "rare").sum()
        for code, label in enumerate(["common", "rare", None]):
            share = known.weight[known.codes == (code if label else -1)].sum() / len(drawn)
            assert share == pytest.approx(np.mean([other == label for other in y]), rel=1e-9)


def test_a_mixture_begins_with_some_of_many_sparse_rows():
    counts = sparse.random_array((12_000, 8), density=0.3, format="csr", random_state=np.random.default_rng(9))
    assert Mixture(2, "multinomial", random_state=0, n_init=2).fit(counts).converged_


# -- what can be done with it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, some_labels(0.3)], ids=["labelled", "partly labelled"])
def test_a_saved_model_predicts_the_same(y, tmp_path):
    model = GaussianDiscriminant("VEV", n_components={"even": 3, "odd": 1}, random_state=0).fit(X, y)
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(loaded.predict_proba(TEST_X), model.predict_proba(TEST_X))
    np.testing.assert_array_equal(loaded.component_classes_, model.component_classes_)
    np.testing.assert_array_equal(loaded.component_shares_, model.component_shares_)
    assert loaded.n_components == {"even": 3, "odd": 1}
    assert loaded.bound_history_ == model.bound_history_
    np.testing.assert_array_equal(loaded.statistics_.class_count, model.statistics_.class_count)


@pytest.mark.parametrize("class_of", [[0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1], [0.0, 0.0, 1.0, 1.0], []])
def test_a_file_whose_components_do_not_fit_is_refused(class_of, tmp_path):
    model = two().fit(X, Y)
    broken = model.statistics_
    object.__setattr__(broken, "class_of", np.array(class_of))
    suffice.save(broken, tmp_path / "broken.suffice")
    with pytest.raises(ModelFileError, match="do not fit together"):
        suffice.load(tmp_path / "broken.suffice")


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "VVE"])
@pytest.mark.parametrize("missing", [False, True])
def test_reasons_add_up_to_the_log_odds(covariance, missing):
    rng = np.random.default_rng(10)
    y = rng.choice(list("abc"), 300)
    rows = rng.normal(size=(300, 3)) + (y == "a")[:, None] * rng.choice([-2.0, 2.0], 300)[:, None] + (y == "c")[:, None]
    if missing:
        rows[rng.random(rows.shape) < 0.2] = np.nan
    model = GenerativeClassifier(covariance=covariance, n_components={"a": 2, "b": 3}, random_state=0).fit(rows, y)
    logs = model.predict_log_proba(rows)
    for target, against in (("a", "b"), ("b", "c"), ("c", "a")):
        reasons = model.explain(rows, target, against)
        total = reasons.baseline + reasons.contributions.sum(1)
        expected = logs[:, "abc".index(target)] - logs[:, "abc".index(against)]
        np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)
        assert (reasons.contributions[np.isnan(rows)] == 0).all()
    best = model.explain(rows)
    np.testing.assert_array_equal(best.target, model.predict(rows))


def test_reasons_are_those_of_the_components_that_a_row_belongs_to():
    model = two(covariance="diagonal").fit(X, Y)
    reasons = model.explain(np.array([[5.0, 5.0], [0.0, 5.0]]))
    assert reasons.target.tolist() == ["even", "odd"]
    means, variance = model.distributions_[0].means, model.distributions_[0].variance()
    here = int(np.argmin(((means[:2] - 5.0) ** 2).sum(1)))
    row, shares = np.array([5.0, 5.0]), model.explain(np.array([[5.0, 5.0]]))
    logs = -0.5 * (row - means) ** 2 / variance - 0.5 * np.log(variance)
    odd = np.log(model.component_shares_[2:]) + logs[2:].sum(1)
    odd = np.exp(odd - logsumexp(odd))
    np.testing.assert_allclose(shares.contributions[0], logs[here] - odd @ logs[2:], rtol=1e-5)


def test_distances_are_to_the_nearest_component():
    model = two(covariance="full").fit(X, Y)
    distance = model.mahalanobis(np.array([[5.0, 5.0], [5.0, 0.0]]))
    assert distance.shape == (2, 2)
    assert (np.diag(distance) < 0.5).all()
    assert distance[0, 1] > 3
    assert distance[1, 0] > 3


def test_discriminant_directions_are_those_of_the_components():
    model = GaussianDiscriminant("tied", n_components=2, random_state=0).fit(X, Y)
    assert model.transform(X).shape == (len(X), 2)  # one class mean each would lie on top of each other
    with pytest.raises(AttributeError, match="several components are not linear"):
        _ = model.coef_


# -- what it does not do ----------------------------------------------------------------------------------------------


def test_statistics_of_components_say_what_they_are_not_good_for():
    model, plain = two().fit(X, Y), GenerativeClassifier().fit(X, Y)
    np.testing.assert_allclose(model.statistics_.class_count, plain.statistics_.class_count)
    for combine in (lambda a, b: a + b, lambda a, b: b + a, lambda a, b: a - b):
        with pytest.raises(NotKeptError, match="of the components that EM found"):
            combine(model.statistics_, plain.statistics_)
    with pytest.raises(NotKeptError, match="of the components that EM found"):
        GenerativeClassifier.from_statistics(model.statistics_)
    with pytest.raises(ValueError, match="sums of classes cannot be split"):
        GenerativeClassifier.from_statistics(plain.statistics_, n_components=2)
    with pytest.raises(ValueError, match="batches cannot be split"):
        two().partial_fit(X, Y)
    with pytest.raises(ValueError, match="it is not known which components belong to one class"):
        two(classes=2).fit(X, [None] * len(X))


@pytest.mark.parametrize(
    ("n_components", "message"),
    [
        (0, "at least 1.*is 0"),
        (1.5, "at least 1.*is 1.5"),
        (True, "is True"),
        ("two", "is 'two'"),
        ({"even": 0}, "is 0 for class 'even'"),
        ({"both": 2}, r"names the class 'both', but the classes are \['even', 'odd'\]"),
    ],
)
def test_other_numbers_of_components_are_an_error(n_components, message):
    with pytest.raises(ValueError, match=message):
        GenerativeClassifier(n_components=n_components).fit(X, Y)


# -- what cannot fail -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "VEV"])
@pytest.mark.parametrize(
    ("rows", "y", "found"),
    [
        (np.repeat(X[:3], 20, axis=0), np.repeat(["a", "a", "b"], 20), "aab"),
        (X[:5], ["a", "a", "a", "a", "b"], "aaab"),
        (np.zeros((30, 2)), ["a", "b"] * 15, "ab"),
    ],
    ids=["repeated", "few", "nothing"],
)
def test_a_class_of_few_distinct_rows_has_fewer_components_and_says_so_once(covariance, rows, y, found):
    with pytest.warns(UserWarning, match="of the 3 components asked for") as said:
        model = GenerativeClassifier(covariance=covariance, n_components=3, random_state=0).fit(rows, y)
    assert len(said) == 1
    assert "".join(model.component_classes_) == found
    assert np.isfinite(model.predict_log_proba(rows)).all()
    assert np.isfinite(model.score_samples(rows)).all()


def test_a_named_class_without_rows_has_one_empty_component():
    with pytest.warns(UserWarning, match="class 'none' has only 1 of the 2"):
        model = two(classes=["even", "none", "odd"]).fit(X, Y)
    assert model.component_classes_.tolist() == ["even", "even", "none", "odd", "odd"]
    np.testing.assert_allclose(model.predict_proba(TEST_X)[:, 1], 0.0)
    assert model.score(TEST_X, TEST_Y) > 0.97


def test_rows_impossible_in_every_component_fall_back_to_the_class_prior():
    rows = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [0, 1], [0, 1], [0, 1], [0, 1]], dtype=float)
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = NaiveBayes("bernoulli", prior=None, n_components={0: 2}, random_state=0).fit(rows, y)
    with pytest.warns(UserWarning, match="rule out every class between them"):
        np.testing.assert_allclose(model.predict_proba([[1.0, 0.0]]), [[0.5, 0.5]])
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), [[1.0, 0.0]])


@pytest.mark.parametrize("n_components", [1, 2])
def test_maximum_likelihood_of_booleans_stays_a_probability(n_components):
    rng = np.random.default_rng(11)
    z = rng.integers(0, 3, 400)
    rows = (rng.random((400, 6)) < rng.random((3, 6))[z]).astype(float)
    for seed in range(10):
        y = np.where(np.random.default_rng(seed).random(400) < 0.95, np.nan, z > 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = NaiveBayes("bernoulli", prior=None, n_components=n_components, max_iter=30, random_state=0)
            model.fit(rows, y)
        assert not np.isnan(model.predict_proba(rows)).any()


@pytest.mark.parametrize("params", [{"n_components": 2}, {"n_components": 1, "covariance": "full"}])
@pytest.mark.parametrize("missing", [False, True])
def test_a_class_without_weight_is_absent(params, missing):
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(90, 2)), np.repeat(["p", "q", "r"], 30)
    rows[y == "q"] += 3.0
    if missing:
        rows[4, 0] = np.nan
    weight = np.where(y == "r", 0.0, 1.0)
    model = GenerativeClassifier(random_state=0, **params).fit(rows, y, weight)
    alone = GenerativeClassifier(random_state=0, **params).fit(rows[:60], y[:60])
    assert model.classes_.tolist() == ["p", "q"]
    np.testing.assert_allclose(model.class_prior_, alone.class_prior_)
    np.testing.assert_allclose(model.predict_proba(rows), alone.predict_proba(rows), atol=0.02)
