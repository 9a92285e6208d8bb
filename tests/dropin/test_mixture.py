"""Gaussian mixtures under scikit-learn's name.

scikit-learn's own tests (sklearn.mixture.tests) all pass on this class but one:
test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters counts the calls of scikit-learn's private function
for the maximisation step, which our passes over the rows do not need.
"""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.mixture as sk
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from suffice.dropin import GaussianMixture

KINDS = ["full", "tied", "diag", "spherical"]
INITS = ["kmeans", "k-means++", "random", "random_from_data"]
ATTRIBUTES = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]
pytestmark = pytest.mark.filterwarnings("ignore:Best performing initialization did not converge")


def make(seed=0, n=400, d=3, k=3, apart=4.0, dtype=np.float64):
    """Return rows of k Gaussian clusters, each with its own covariance."""
    rng = np.random.default_rng(seed)
    members = rng.integers(0, k, n)
    mixing = np.eye(d) + 0.4 * rng.uniform(-1, 1, (k, d, d))
    X = np.einsum("nd,nde->ne", rng.standard_normal((n, d)), mixing[members])
    return (X + rng.normal(0, apart, (k, d))[members]).astype(dtype)


def given_start(X, k, kind, seed=0):
    """Return parameters to begin with, for all that can be given."""
    rng = np.random.default_rng(seed)
    d = X.shape[1]
    spread = rng.normal(size=(k, d, 2 * d))
    matrices = spread @ spread.transpose(0, 2, 1) / (2 * d)
    precisions = {"full": matrices, "tied": matrices[0], "diag": rng.uniform(0.5, 2, (k, d))}
    return {
        "weights_init": rng.dirichlet(np.full(k, 5.0)),
        "means_init": X[rng.choice(len(X), k, replace=False)],
        "precisions_init": precisions.get(kind, rng.uniform(0.5, 2, k)),
    }


def both(X, **params):
    return GaussianMixture(**params).fit(X), sk.GaussianMixture(**params).fit(X)


def assert_same(ours, theirs, X, rtol=1e-6):
    for name in ATTRIBUTES:
        expected = getattr(theirs, name)
        found = getattr(ours, name)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max(), err_msg=name)
    assert (ours.n_iter_, ours.converged_) == (theirs.n_iter_, theirs.converged_)
    assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=rtol)
    assert_allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=rtol)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=10 * rtol, atol=10 * rtol)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=10 * rtol)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    for method in ("score", "bic", "aic"):
        assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=rtol)


# -- scikit-learn's contract ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_it_is_a_scikit_learn_estimator(kind):
    model = GaussianMixture(covariance_type=kind)
    assert isinstance(model, sk.GaussianMixture)
    assert model.get_params() == sk.GaussianMixture(covariance_type=kind).get_params()
    check_estimator(model, on_skip=None)


def test_it_survives_cloning_and_pickling():
    X = make()
    model = GaussianMixture(3, random_state=0, init_params="random").fit(X)
    assert clone(model).get_params()["init_params"] == "random"
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


def test_parameters_may_be_set_without_a_fit():
    X = make()
    fitted = sk.GaussianMixture(3, random_state=0).fit(X)
    model = GaussianMixture(3)
    for name in ("weights_", "means_", "precisions_cholesky_"):
        setattr(model, name, getattr(fitted, name))
    assert_allclose(model.score_samples(X), fitted.score_samples(X))


def test_names_of_columns_are_kept():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(make(), columns=["a", "b", "c"])
    model = GaussianMixture(2, random_state=0).fit(frame)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))


# -- the same answers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize(("n", "d", "k"), [(60, 1, 2), (300, 2, 1), (500, 4, 3), (9000, 6, 5)])
def test_the_same_seed_gives_the_same_fit(n, d, k, init, kind):
    X = make(n, n, d, k)
    ours, theirs = both(X, n_components=k, covariance_type=kind, init_params=init, random_state=7, max_iter=12)
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_start_gives_the_same_fit(kind):
    X = make(1)
    ours, theirs = both(X, n_components=3, covariance_type=kind, **given_start(X, 3, kind), tol=1e-6)
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["weights_init", "means_init", "precisions_init"])
def test_part_of_a_start_may_be_given(name, kind):
    X = make(2)
    start = {name: given_start(X, 3, kind)[name]}
    ours, theirs = both(X, n_components=3, covariance_type=kind, random_state=0, **start)
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_of_several_starts_is_kept(kind):
    X = make(3, k=5, apart=2.0)
    params = {"n_components": 5, "n_init": 4, "init_params": "random_from_data", "max_iter": 20, "tol": 1e-4}
    ours, theirs = both(X, covariance_type=kind, random_state=np.random.RandomState(5).randint(1000), **params)
    assert_same(ours, theirs, X)


def test_random_starts_of_many_rows_are_drawn_in_turn():
    X = make(4, n=70_000, d=2, k=2)
    ours, theirs = both(X, n_components=2, init_params="random", random_state=0, max_iter=3)
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_goes_on(kind):
    X = make(5, apart=2.0)
    params = {"n_components": 3, "covariance_type": kind, "warm_start": True, "max_iter": 3, "random_state": 0}
    ours, theirs = GaussianMixture(**params), sk.GaussianMixture(**params)
    for _ in range(4):
        assert_same(ours.fit(X), theirs.fit(X), X)
    with pytest.raises(ValueError, match="fit a clone"):
        ours.set_params(n_components=2).fit(X)


@pytest.mark.parametrize("kind", KINDS)
def test_no_iterations_return_the_start(kind):
    X = make(6)
    start = given_start(X, 3, kind)
    model = GaussianMixture(3, covariance_type=kind, max_iter=0, **start).fit(X)
    assert_allclose(model.weights_, start["weights_init"])
    assert_allclose(model.means_, start["means_init"])
    assert_allclose(model.precisions_, start["precisions_init"])
    unit = np.eye(3) if kind in ("full", "tied") else 1.0
    product = model.covariances_ @ model.precisions_ if kind in ("full", "tied") else None
    found = model.covariances_ * model.precisions_ if product is None else product
    assert_allclose(found, np.broadcast_to(unit, found.shape), atol=1e-9)
    assert (model.n_iter_, model.lower_bound_, model.lower_bounds_, model.converged_) == (0, -np.inf, [], False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", INITS)
def test_float32_stays_float32(init, kind):
    X = make(7, n=2000, dtype=np.float32)
    params = {"covariance_type": kind, "init_params": init, "random_state": 1, "max_iter": 5, "tol": 0}
    ours = GaussianMixture(3, **params).fit(X)
    # scikit-learn's float32 loses the variances of single rows, from which some starts begin; its float64 does not
    theirs = sk.GaussianMixture(3, **params).fit(X.astype(np.float64))
    for name in ATTRIBUTES:
        assert getattr(ours, name).dtype == np.float32
        scale = np.abs(getattr(theirs, name)).max()
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-4, atol=1e-4 * scale, err_msg=name)
    for method in ("score_samples", "predict_proba"):
        answer = getattr(ours, method)(X)
        assert answer.dtype == np.float32
        assert_allclose(answer, getattr(theirs, method)(X), rtol=1e-3, atol=1e-3)
    double = GaussianMixture(3, covariance_type=kind, **given_start(X, 3, kind)).fit(X.astype(np.float64))
    single = GaussianMixture(3, covariance_type=kind, **given_start(X, 3, kind)).fit(X)
    assert_allclose(single.lower_bound_, double.lower_bound_, rtol=1e-5)
    assert double.score_samples(X).dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
def test_memory_layout_does_not_matter(kind):
    X = make(8, n=6000)
    wide = np.zeros((6000, 6))
    wide[:, ::2] = X
    params = {"n_components": 3, "covariance_type": kind, **given_start(X, 3, kind)}
    expected = GaussianMixture(**params).fit(X)
    for rows in (np.asfortranarray(X), wide[:, ::2], X[::-1][::-1]):
        assert_allclose(GaussianMixture(**params).fit(rows).covariances_, expected.covariances_, rtol=1e-12)


def test_fit_predict_and_sample():
    X = make(9)
    ours, theirs = GaussianMixture(3, random_state=4), sk.GaussianMixture(3, random_state=4)
    assert_array_equal(ours.fit_predict(X), theirs.fit_predict(X))
    assert_array_equal(ours.fit_predict(X), ours.predict(X))
    for found, expected in zip(ours.sample(50), theirs.sample(50), strict=True):
        assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("verbose", [1, 2])
def test_it_says_as_much(verbose, capsys):
    X = make(10)
    said = []
    for model in (GaussianMixture, sk.GaussianMixture):
        model(3, random_state=0, n_init=2, verbose=verbose, verbose_interval=1).fit(X)
        said.append([line.split("time lapse")[0] for line in capsys.readouterr().out.splitlines()])
    assert said[0] == said[1]
    assert said[0]


@pytest.mark.parametrize("kind", KINDS)
def test_components_without_rows_are_as_in_scikit_learn(kind):
    X = make(11, k=2)
    start = given_start(X, 3, kind)
    start["means_init"] = np.vstack([start["means_init"][:2], np.full(3, 1e4)])
    ours, theirs = both(X, n_components=3, covariance_type=kind, max_iter=1, **start)
    assert_allclose(ours.means_, theirs.means_, rtol=1e-6)
    assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-6)


# -- beyond scikit-learn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_two_is_the_row_twice(kind):
    X = make(12)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    params = {"n_components": 3, "covariance_type": kind, **given_start(X, 3, kind)}
    weighted = GaussianMixture(**params).fit(X, sample_weight=weight)
    repeated = GaussianMixture(**params).fit(np.repeat(X, weight, axis=0))
    for name in ATTRIBUTES:
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8, atol=1e-10, err_msg=name)
    assert_allclose(weighted.lower_bounds_, repeated.lower_bounds_)
    scaled = GaussianMixture(**params).fit(X, None, 1e-12 * weight)
    assert_allclose(scaled.covariances_, weighted.covariances_, rtol=1e-8, atol=1e-10)
    labels = GaussianMixture(**params).fit_predict(X, sample_weight=weight)
    assert_array_equal(labels, weighted.predict(X))


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_start_takes_weights(kind, init):
    X = make(13, apart=8.0)
    weight = np.random.default_rng(1).uniform(0, 2, len(X))
    weight[:100] = 0.0
    spoilt = X.copy()
    spoilt[:100] = 1e6
    params = {"n_components": 2, "covariance_type": kind, "init_params": init, "random_state": 2}
    one, other = (GaussianMixture(**params).fit(rows, sample_weight=weight) for rows in (X, spoilt))
    assert_allclose(one.means_, other.means_)
    ones = GaussianMixture(**params).fit(X, sample_weight=np.ones(len(X)))
    assert_allclose(ones.weights_.sum(), 1.0)


def test_wrong_weights_are_refused():
    X = make()
    with pytest.raises(ValueError, match="one number per row"):
        GaussianMixture().fit(X, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="not negative"):
        GaussianMixture().fit(X, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="all weights are zero"):
        GaussianMixture().fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="n_components = 3, n_samples = 2"):
        GaussianMixture(3).fit(X, sample_weight=np.arange(len(X)) < 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["given", "random", "random_from_data"])
def test_an_offset_costs_no_digits(kind, start):
    far = make(14, n=5000) + 1e8
    near = far - 1e8  # exact
    models = []
    for X in (near, far):
        params = {"init_params": start, "random_state": 0}
        if start == "given":
            params = given_start(X, 3, kind)
        elif kind == "tied" and start == "random_from_data":
            X = X - X.mean(0) if X is near else X  # scikit-learn's start depends on where 0 is
        models.append(GaussianMixture(3, covariance_type=kind, max_iter=10, tol=0, **params).fit(X))
    assert_allclose(models[1].covariances_, models[0].covariances_, rtol=1e-5, atol=1e-7)
    assert_allclose(models[1].weights_, models[0].weights_, rtol=1e-5)
    assert_allclose(models[1].lower_bounds_[1:], models[0].lower_bounds_[1:], rtol=1e-7)
    if start == "given":
        assert_allclose(models[1].means_ - 1e8, models[0].means_, atol=1e-6)
        assert_allclose(models[1].predict_proba(far), models[0].predict_proba(near), atol=1e-6)


def test_the_bound_does_not_fall():
    X = make(15, n=800, apart=1.0)
    bounds = GaussianMixture(4, reg_covar=0, random_state=0, tol=1e-9, max_iter=200).fit(X).lower_bounds_
    assert (np.diff(bounds) > -1e-12).all()


# -- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"n_components": 0},
        {"n_components": 500},
        {"covariance_type": "round"},
        {"tol": -1.0},
        {"init_params": "guess"},
        {"n_components": 2, "weights_init": [0.5, 0.6]},
        {"n_components": 2, "weights_init": [0.5]},
        {"n_components": 2, "means_init": [[0.0, 1.0]]},
        {"n_components": 2, "covariance_type": "diag", "precisions_init": -np.ones((2, 3))},
        {"n_components": 1, "precisions_init": [[[1.0, 2, 0], [2, 1, 0], [0, 0, 1]]]},
    ],
)
def test_wrong_parameters_are_refused_in_the_same_words(params):
    with pytest.raises(ValueError, match=r".") as theirs:
        sk.GaussianMixture(**params).fit(make())
    with pytest.raises(type(theirs.value)) as ours:
        GaussianMixture(**params).fit(make())
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_cells_must_be_finite(bad):
    X = make()
    model = GaussianMixture(2, random_state=0).fit(X)
    X[5, 1] = bad
    for method in (model.predict, model.predict_proba, model.score_samples, model.score, GaussianMixture().fit):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            method(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_collapsed_components_are_refused_in_the_same_words(kind, dtype):
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 1.0]], dtype=dtype), 5, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="ill-defined empirical covariance") as theirs:
            sk.GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(X)
        with pytest.raises(ValueError, match="ill-defined empirical covariance") as ours:
            GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(X)
    assert str(ours.value) == str(theirs.value)
    ours, theirs = both(X, n_components=2, covariance_type=kind, random_state=0)
    assert_allclose(ours.means_, theirs.means_, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X = make()
    model = GaussianMixture(2, random_state=0, reg_covar=0).fit(X)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="ill-defined"):
        model.fit(np.ones((10, 3)))
    assert_array_equal(model.predict_proba(X), before)


@pytest.mark.filterwarnings("default:Best performing")
def test_it_warns_where_it_did_not_converge():
    with pytest.warns(ConvergenceWarning, match="Best performing initialization did not converge") as caught:
        GaussianMixture(3, max_iter=1, random_state=0).fit(make())
    assert caught[0].filename == __file__


def test_prediction_needs_a_fit():
    for method in ("predict", "predict_proba", "score_samples", "score"):
        with pytest.raises(NotFittedError, match="This GaussianMixture instance is not fitted yet"):
            getattr(GaussianMixture(), method)(make())


def test_k_means_is_told_of_the_weights():
    X = make(16, apart=6.0)
    weight = np.random.default_rng(3).uniform(0.5, 2, len(X))
    labels = KMeans(3, n_init=1, random_state=0).fit(X, sample_weight=weight).labels_
    model = GaussianMixture(3, max_iter=0, random_state=0).fit(X, sample_weight=weight)
    expected = [np.average(X[labels == c], axis=0, weights=weight[labels == c]) for c in range(3)]
    assert_allclose(model.means_, expected)
