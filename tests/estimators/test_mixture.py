"""Mixtures as people use them: saving, choosing, beginning, streaming."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GaussianDiscriminant, Mixture, NaiveBayes, SoftKMeans
from suffice.mixtures import best_start

ORACLES = Path(__file__).parents[3] / "shared/oracles"


def blobs(n=400, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) + np.array([[0, 0], [6, 0], [0, 7]])[z], z


EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "EM begins with k-means, which draws other rows",
    "check_sample_weight_equivalence_on_sparse_data": "EM begins with k-means, which draws other rows",
    "check_estimator_sparse_array": "asks what is no classifier for the tags of one",
    "check_estimator_sparse_matrix": "asks what is no classifier for the tags of one",
}


@parametrize_with_checks(
    [Mixture(2, random_state=0), Mixture(2, covariance="diagonal", random_state=0), SoftKMeans(2)],
    expected_failed_checks=lambda _: EXPECTED,
)
def test_scikit_learns_own_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def test_sparse_rows_are_clustered():
    X, z = blobs()
    dense = np.maximum(X, 0.0)
    options = {"covariance": "diagonal", "init": z, "max_iter": 5, "tol": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, theirs = (Mixture(3, **options).fit(rows) for rows in (sparse.csr_array(dense), dense))
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-8)
    assert ours.predict_proba(sparse.csr_array(dense)).shape == (400, 3)
    words = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (300, 40)).astype(float))
    assert Mixture(2, "multinomial", random_state=0).fit(words).converged_


def test_clusters_are_found():
    X, z = blobs()
    found = Mixture(3, random_state=0).fit_predict(X)
    table = pd.crosstab(found, z).to_numpy()
    assert (table.max(1) / table.sum(1) > 0.98).all()


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "EVE"])
def test_a_saved_mixture_predicts_the_same(tmp_path, covariance):
    X, _ = blobs()
    mixture = Mixture(3, covariance=covariance, random_state=0).fit(X)
    suffice.save(mixture, tmp_path / "m")
    again = suffice.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), mixture.predict_proba(X))
    np.testing.assert_array_equal(again.score_samples(X), mixture.score_samples(X))
    assert again.bound_history_ == mixture.bound_history_
    assert again.get_params() == mixture.get_params()


def test_a_saved_mixture_of_a_mixed_table_predicts_the_same(tmp_path):
    X, z = blobs()
    table = pd.DataFrame({"x": X[:, 0], "word": np.array(["a", "b", "c"])[z], "yes": z > 0, "n": (z * 3).astype(float)})
    table.loc[::9, "word"] = None
    mixture = Mixture(3, {"n": "poisson"}, random_state=0).fit(table)
    suffice.save(mixture, tmp_path / "m")
    np.testing.assert_array_equal(suffice.load(tmp_path / "m").predict_proba(table), mixture.predict_proba(table))


def test_a_saved_semi_supervised_classifier_predicts_the_same(tmp_path):
    X, z = blobs()
    y = np.where(np.arange(len(z)) % 5 == 0, z.astype(float), np.nan)
    model = GaussianDiscriminant("full").fit(X, y)
    suffice.save(model, tmp_path / "m")
    again = suffice.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    more = again.partial_fit(X[:50], z[:50].astype(float))
    assert np.isfinite(more.predict_proba(X)).all()


@pytest.mark.parametrize("prior", ["auto", None])
def test_a_mixture_of_full_covariances_is_the_same_in_any_linear_coordinates(prior):
    X, z = blobs()
    map_ = np.array([[3.0, 1e-3], [-50.0, 2.0]])
    options = {"prior": prior, "init": z, "tol": 1e-10}
    here, there = Mixture(3, **options).fit(X), Mixture(3, **options).fit(X @ map_.T + 7.0)
    np.testing.assert_allclose(there.predict_proba(X @ map_.T + 7.0), here.predict_proba(X), atol=1e-5)


def test_the_automatic_prior_costs_almost_nothing_of_the_likelihood():
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    for columns in (10, 30):  # strongly correlated columns, which a prior with independent ones would blur
        X = table.data[:, :columns]
        free, penalised = (Mixture(2, prior=prior, init=table.target).fit(X).score(X) for prior in (None, "auto"))
        assert free - 0.01 < penalised <= free


def test_given_parameters_predict_and_begin(tmp_path):
    X, _ = blobs()
    given = Mixture.from_parameters([0.5, 0.5], [[0.0, 0.0], [6.0, 0.0]], np.eye(2)[None].repeat(2, 0))
    assert given.predict([[0.0, 1.0], [5.0, 0.0]]).tolist() == [0, 1]
    assert given.score_samples([[0.0, 0.0]]) == pytest.approx(np.log(0.5 / (2 * np.pi)), rel=1e-6)
    suffice.save(given, tmp_path / "m")
    assert suffice.load(tmp_path / "m").predict([[5.0, 0.0]]).tolist() == [1]
    assert Mixture(2, init=given).fit(X).converged_
    with pytest.raises(ValueError, match="has 2 components of 2 columns, but 3 of 2 are asked for"):
        Mixture(3, init=given).fit(X)
    with pytest.raises(ValueError, match="sum to 1"):
        Mixture.from_parameters([0.5, 0.1], [[0.0], [1.0]], np.ones((2, 1)))


def test_criteria_are_what_they_say():
    X, _ = blobs()
    mixture = Mixture(3, random_state=0).fit(X)
    log_likelihood = mixture.score_samples(X).sum()
    assert mixture.n_parameters_ == 3 * (2 + 3) + 2
    assert mixture.bic(X) == pytest.approx(-2 * log_likelihood + 17 * np.log(400))
    assert mixture.aic(X) == pytest.approx(-2 * log_likelihood + 34)
    certain = np.log(mixture.predict_proba(X).max(1)).sum()
    assert mixture.icl(X) == pytest.approx(mixture.bic(X) - 2 * certain)
    assert mixture.bic(X, np.full(400, 2.0)) == pytest.approx(-4 * log_likelihood + 17 * np.log(800))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, not 0"),
        ({"n_components": 2.5}, "n_components must be a whole number"),
        ({"n_init": 0}, "n_init must be a whole number"),
        ({"tol": -1.0}, "tol must not be negative"),
        ({"init": "guess"}, "init must be 'k-means\\+\\+', 'agglomerative', 'random'"),
        ({"init": np.zeros(7), "n_components": 2}, "one label or one row of shares for each of 400 rows"),
        ({"covariance": "XYZ"}, "covariance must be one of"),
    ],
)
def test_bad_settings_are_one_clear_error(settings, message):
    with pytest.raises(ValueError, match=message):
        Mixture(**settings).fit(blobs()[0])


def test_not_fitted():
    for use in ("predict", "score_samples", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(Mixture(2), use)(blobs()[0])


def test_emptied_components_are_removed_with_one_warning():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 50, axis=0)
    start = Mixture.from_parameters([0.5, 0.5, 0.0], [[0.0, 0.0], [5.0, 5.0], [9.0, 9.0]], np.ones((3, 2)))
    with pytest.warns(UserWarning, match="1 of 3 components were left without rows and removed"):
        mixture = Mixture(3, covariance="diagonal", init=start).fit(X)
    assert len(mixture.weights_) == 2
    assert np.isfinite(mixture.score_samples(X)).all()


def test_batches_of_a_stream_come_near_the_fit_of_all():
    X, _ = blobs(6000)
    whole = Mixture(3, random_state=0).fit(X)
    stepwise = Mixture(3, random_state=0)
    for start in range(0, 6000, 300):
        stepwise.partial_fit(X[start : start + 300])
    assert stepwise.score(X) == pytest.approx(whole.score(X), abs=0.02)
    assert stepwise.n_rows_ == 6000
    with pytest.raises(ValueError, match="features"):
        stepwise.partial_fit(X[:, :1])


def test_batches_do_not_forget_a_mixture_that_was_loaded(tmp_path):
    X, _ = blobs()
    suffice.save(Mixture(3, random_state=0).fit(X), tmp_path / "m")
    with pytest.raises(ValueError, match="init=this mixture"):
        suffice.load(tmp_path / "m").partial_fit(X)


# -- soft k-means -------------------------------------------------------------------------------------------------


def test_soft_k_means_becomes_k_means_as_it_stiffens():
    from sklearn.cluster import KMeans

    X, _ = blobs(300)
    hard = KMeans(3, n_init=5, random_state=0).fit(X)
    soft = SoftKMeans(3, stiffness=1e4, random_state=0).fit(X)
    order = np.argsort(soft.cluster_centers_[:, 0] + 10 * soft.cluster_centers_[:, 1])
    expected = np.argsort(hard.cluster_centers_[:, 0] + 10 * hard.cluster_centers_[:, 1])
    np.testing.assert_allclose(soft.cluster_centers_[order], hard.cluster_centers_[expected], atol=1e-6)
    shares = SoftKMeans(3, stiffness=0.05, random_state=0).fit(X).predict_proba(X)
    assert shares.max(1).mean() < 0.95
    learned = SoftKMeans(3, random_state=0).fit(X)
    assert learned.stiffness_ == pytest.approx(0.5, rel=0.15)  # 1 / (2σ²) of clusters with σ = 1


def test_soft_k_means_learns_the_shares_of_unit_spheres_as_em_by_hand_does():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal([2.5, 1], 1, (30, 2))])
    found = {}
    for shares in ("learned", "equal"):
        model = SoftKMeans(2, 0.5, shares, random_state=0, tol=1e-13, max_iter=5000).fit(X)
        c, centres = np.array([0.5, 0.5]), model.cluster_centers_ + 0.1
        for _ in range(2000):
            q = c * np.exp(-0.5 * ((X[:, None] - centres) ** 2).sum(2))
            q /= q.sum(1, keepdims=True)
            c = q.mean(0) if shares == "learned" else c
            centres = q.T @ X / q.sum(0)[:, None]
        np.testing.assert_allclose(model.shares_, c, atol=1e-5)
        np.testing.assert_allclose(model.cluster_centers_, centres, atol=1e-4)
        np.testing.assert_allclose(model.predict_proba(X), q, atol=1e-4)
        found[shares] = model
    assert found["learned"].shares_.max() == pytest.approx(2 / 3, abs=0.06)
    assert found["learned"].score(X) > found["equal"].score(X)
    assert np.abs(np.sort(found["learned"].means_, 0) - np.sort(found["equal"].means_, 0)).max() > 0.05
    with pytest.raises(ValueError, match="shares must be 'learned' or 'equal', not 'same'"):
        SoftKMeans(2, shares="same").fit(X)


def test_naive_bayes_takes_unlabelled_streams():
    X, z = blobs(900)
    y = np.where(np.arange(900) % 10 == 0, z.astype(float), np.nan)
    halves = [(X[:500], y[:500]), (X[500:], y[500:])]
    streamed, whole = NaiveBayes().fit(suffice.stream(halves)), NaiveBayes().fit(X, y)
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize(("column", "what"), [(["x", "y"] * 10, "words"), ([True, False] * 10, "booleans")])
@pytest.mark.parametrize("stiffness", [None, 2.0])
def test_soft_k_means_takes_numbers_only_and_names_the_column_that_has_none(column, what, stiffness):
    table = pd.DataFrame({"size": np.arange(20.0), "other": column})
    with pytest.raises(ValueError, match=f"soft k-means takes numbers, but column 'other' holds {what}"):
        SoftKMeans(2, stiffness).fit(table)


@pytest.mark.parametrize("covariance", ["full", "tied", "VEV"])
def test_starts_that_race_in_one_call_are_those_that_race_one_by_one(covariance, monkeypatch):
    X, _ = blobs(300)
    X = X + np.random.default_rng(0).normal(scale=2.0, size=X.shape)
    at_once = Mixture(4, covariance=covariance, random_state=0).fit(X)
    monkeypatch.setattr(best_start, "_SMALL", 0)
    one_by_one = Mixture(4, covariance=covariance, random_state=0).fit(X)
    assert at_once.n_iter_ == one_by_one.n_iter_
    np.testing.assert_allclose(at_once.bound_history_, one_by_one.bound_history_, rtol=1e-10)


def test_the_bound_is_told_from_the_chosen_start_on():
    X, _ = blobs(400)
    X = X + np.random.default_rng(0).normal(scale=2.0, size=X.shape)
    mixture = Mixture(3, random_state=0, tol=1e-8).fit(X)
    assert mixture.n_iter_ == len(mixture.bound_history_) > sum(iterations for iterations, _ in best_start.RACE)
    assert (np.diff(mixture.bound_history_) >= -1e-9 * abs(mixture.bound_history_[-1])).all()
    gain = mixture.bound_history_[-1] - mixture.bound_history_[0]
    assert gain > 10 * (mixture.bound_history_[-1] - mixture.bound_history_[-2])


@pytest.mark.parametrize("max_iter", [1, 3, 5])
def test_starts_count_among_the_iterations(max_iter):
    X, _ = blobs(200)
    with pytest.warns(ConvergenceWarning) if max_iter > 1 else warnings.catch_warnings():
        mixture = Mixture(4, max_iter=max_iter, tol=0.0, random_state=0).fit(X)
    assert mixture.n_iter_ == len(mixture.bound_history_) == max_iter


def test_merged_rows_are_a_start():
    one, two = (Mixture(3, init="agglomerative", random_state=seed).fit(load_iris().data) for seed in (0, 1))
    np.testing.assert_array_equal(one.means_, two.means_)  # nothing is random
    assert (
        one.score(load_iris().data) >= Mixture(3, random_state=0).fit(load_iris().data).score(load_iris().data) - 1e-6
    )
    rng = np.random.default_rng(0)
    many = np.concatenate([rng.normal(size=(900, 2)), rng.normal(6.0, 1.0, size=(600, 2))])
    weight = np.where(np.arange(1500) % 7 == 0, 0.0, 1.0)
    found = Mixture(2, init="agglomerative", random_state=0).fit(many, sample_weight=weight)
    np.testing.assert_allclose(np.sort(found.weights_), [0.4, 0.6], atol=0.02)
    incomplete = np.where(rng.random(many.shape) < 0.1, np.nan, many)
    assert np.sort(Mixture(2, init="agglomerative").fit(incomplete).weights_) == pytest.approx([0.4, 0.6], abs=0.03)
    with pytest.raises(ValueError, match="not sparse"):
        Mixture(2, families="multinomial", init="agglomerative").fit(sparse.csr_array(np.abs(many).round()))


def test_threads_change_no_start(monkeypatch):
    monkeypatch.setattr(best_start, "_SMALL", 0)
    one, many = (Mixture(4, random_state=0, n_jobs=n).fit(load_iris().data) for n in (1, 4))
    np.testing.assert_array_equal(one.bound_history_, many.bound_history_)


@pytest.mark.parametrize("kind", [Mixture, SoftKMeans])
def test_rows_without_weight_have_no_part_in_the_starts(kind):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (20_000, 2)), rng.normal(9.0, 1.0, (20_000, 2))])
    weight = np.zeros(len(X))
    weight[::1_000] = 1.0
    found = kind(2, random_state=0).fit(X, sample_weight=weight).means_
    alone = kind(2, random_state=0).fit(X[weight > 0]).means_
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(alone, axis=0), rtol=1e-3, atol=1e-3)


def test_the_order_of_cells_in_memory_does_not_matter_where_rows_repeat():
    for seed in (0, 1, 45):
        rng = np.random.default_rng(seed)
        X = np.clip(np.round(rng.normal(2.5 + rng.integers(0, 2, (200, 1)), 1, (200, 5))), 1, 5)
        one, other = (Mixture(3, covariance="diagonal", random_state=seed).fit(x) for x in (X, np.asfortranarray(X)))
        np.testing.assert_array_equal(one.bound_history_, other.bound_history_)


def test_a_batch_without_weight_is_an_error_and_changes_nothing():
    X = load_iris().data
    one, other = (Mixture(2, random_state=0).partial_fit(X) for _ in range(2))
    with pytest.raises(ValueError, match="at least one row must have a positive weight"):
        one.partial_fit(X[:10], sample_weight=np.zeros(10))
    np.testing.assert_array_equal(one.partial_fit(X[:50]).means_, other.partial_fit(X[:50]).means_)


@pytest.mark.parametrize("stiffness", [0, -1.0, np.nan, np.inf, "auto", [1.0, 2.0], np.ones(2)])
def test_the_stiffness_is_one_positive_number(stiffness):
    with pytest.raises(ValueError, match="stiffness must be a positive number or None"):
        SoftKMeans(2, stiffness).fit([[0.0], [1.0], [2.0]])
