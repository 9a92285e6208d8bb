"""A column that holds one value only says nothing: with any number of them, posteriors are what they are without."""

from functools import partial

import numpy as np
import pytest

from suffice import GaussianDiscriminant, Mixture, MixtureSearch, NaiveBayes, SoftKMeans
from suffice.families.gaussian.covariance import STRUCTURES
from suffice.families.gaussian.covariance.posterior_means import PosteriorMean

VALUES = np.array([0.0, 1e8, 3.7, -1e-9, 0.1, 1e-30, -7e12])
pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")
every_structure = pytest.mark.parametrize("name", STRUCTURES)
#: these have axes that are not the columns, so that the scales of columns matter
ROTATED = ("EVE", "VVE", "EEV", "VEV")
ESTIMATES = [(name, estimate) for name in STRUCTURES for estimate in ("mean", "map", "predictive")]
ESTIMATES = [(n, e) for n, e in ESTIMATES if e != "predictive" or isinstance(STRUCTURES[n], PosteriorMean)]


def table(seed, n=90, d=4, k=3):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    X = np.einsum("ni,nij->nj", rng.normal(size=(n, d)), rng.normal(size=(k, d, d))[y] + 2.0 * np.eye(d))
    return X + 3.0 * rng.normal(size=(k, d))[y], y


def with_constants(X, n_constants=20, missing=0.0):
    """Return the rows with constant columns anywhere among the others, of which some cells may be missing."""
    rng = np.random.default_rng(0)
    constants = with_missing_cells(np.tile(np.resize(VALUES, n_constants), (len(X), 1)), 1, missing)
    wide = np.hstack([X, constants])
    return wide[:, rng.permutation(wide.shape[1])]


def with_missing_cells(X, seed, share=0.15):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def assert_silent(model, other, X, wide, tolerance=1e-9):
    np.testing.assert_allclose(other.predict_proba(wide), model.predict_proba(X), rtol=0, atol=tolerance)
    np.testing.assert_allclose(other.score_samples(wide), model.score_samples(X), rtol=1e-7, atol=1e-7)
    logs, more = model.predict_log_proba(X), other.predict_log_proba(wide)
    likely = logs > -20.0
    np.testing.assert_allclose(more[likely], logs[likely], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "estimate"), ESTIMATES)
@pytest.mark.parametrize("n", [12, 90], ids=["few rows", "rows"])
def test_in_discriminant_analysis(name, estimate, n):
    X, y = table(1, n)
    wide, weight = with_constants(X), np.random.default_rng(2).uniform(0.0, 3.0, n)
    for sample_weight in (None, weight):
        model = GaussianDiscriminant(name, estimate=estimate).fit(X, y, sample_weight)
        other = GaussianDiscriminant(name, estimate=estimate).fit(wide, y, sample_weight)
        assert_silent(model, other, X, wide)
        new = table(3, 40)[0]
        assert_silent(model, other, new, with_constants(new))


@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
@pytest.mark.parametrize("name", ["diagonal", "full", "tied", "spherical"])
def test_whatever_the_value_is_later(name, estimate):
    X, y = table(4)
    kind = partial(NaiveBayes, estimate=estimate)
    if name != "diagonal":
        kind = partial(GaussianDiscriminant, name, estimate=estimate)
    model = kind().fit(X, y)
    other = kind().fit(np.hstack([X, np.tile(VALUES, (len(X), 1))]), y)
    for later in (VALUES, VALUES + 1.0, -3.0 * VALUES, VALUES[::-1]):
        wide = np.hstack([X, np.tile(later, (len(X), 1))])
        np.testing.assert_allclose(other.predict_proba(wide), model.predict_proba(X), rtol=0, atol=1e-9)
        explained = other.explain(wide)
        assert not explained.contributions[:, X.shape[1] :].any()
        np.testing.assert_allclose(explained.log_odds, model.explain(X).log_odds, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "estimate"), ESTIMATES)
def test_where_cells_are_missing(name, estimate):
    X, y = table(5, 60, 3)
    X = with_missing_cells(X, 6)
    wide = with_constants(X, 5, missing=0.3)
    settings = {"estimate": estimate, "max_iter": 6, "tol": 0.0}
    model = GaussianDiscriminant(name, **settings).fit(X, y)
    other = GaussianDiscriminant(name, **settings).fit(wide, y)
    assert_silent(model, other, X, wide)


@pytest.mark.parametrize(
    ("name", "n_components"), [*((name, 1) for name in STRUCTURES), ("full", 2), ("tied", 2), ("spherical", 2)]
)
def test_where_labels_are_missing_and_where_classes_have_components(name, n_components):
    X, y = table(8)
    labels = np.where(np.random.default_rng(9).random(len(y)) < 0.5, None, y)
    wide = with_constants(X, 5)
    settings = {"n_components": n_components, "max_iter": 6, "tol": 0.0, "random_state": 0}
    model = GaussianDiscriminant(name, **settings).fit(X, labels)
    other = GaussianDiscriminant(name, **settings).fit(wide, labels)
    assert_silent(model, other, X, wide)


@every_structure
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_in_mixtures(name, missing):
    X, y = table(10)
    X = with_missing_cells(X, 11, missing)
    wide = with_constants(X, 6, missing)
    settings = {"covariance": name, "init": y, "max_iter": 8, "tol": 0.0}
    model, other = Mixture(3, **settings).fit(X), Mixture(3, **settings).fit(wide)
    assert_silent(model, other, X, wide)
    # the value of a constant column is one number, whatever the number of components
    assert other.n_parameters_ == model.n_parameters_ + 6
    gains = [*zip(np.diff(other.bound_history_), np.diff(model.bound_history_), strict=False)]  # the end is rounding
    np.testing.assert_allclose(*np.transpose(gains), rtol=1e-6, atol=1e-6)
    assert min(np.diff(other.bound_history_)) > -1e-9 * abs(other.bound_history_[-1])


def test_in_the_choice_of_a_mixture():
    X, _ = table(12, 60, 2)
    wide = with_constants(X, 8)
    settings = {"n_components": [1, 2], "covariance": ["full", "spherical"], "random_state": 0}
    narrow, other = MixtureSearch(**settings).fit(X), MixtureSearch(**settings).fit(wide)
    assert narrow.best_index_ == other.best_index_
    gains = [search.results_["bic"] - search.results_["bic"].min() for search in (narrow, other)]
    np.testing.assert_allclose(*gains, atol=1e-3)


def test_in_soft_k_means():
    X, y = table(13)
    wide = np.hstack([np.full((len(X), 1), 4.0), X])
    model, other = (SoftKMeans(3, init=y, max_iter=20, tol=0.0).fit(rows) for rows in (X, wide))
    assert_silent(model, other, X, wide)
    assert other.stiffness_ == pytest.approx(model.stiffness_, rel=1e-9)


# -- and what is not constant ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "estimate"), ESTIMATES)
@pytest.mark.parametrize("apart", [1e-6, 1.0, 1e8])
def test_a_column_that_is_constant_in_every_class_but_not_the_same_tells_them_apart(name, estimate, apart):
    X, y = np.random.default_rng(14).normal(size=(60, 2)), np.arange(60) % 3
    if STRUCTURES[name].one_variance or name in ("EVI", "EVV", "EVE"):
        apart = 1e8  # such a column shares its variance, or its volume, with the others
    elif name in ROTATED:
        apart = max(apart, 1.0)
    model = GaussianDiscriminant(name, estimate=estimate).fit(np.column_stack([X, apart * y]), y)
    proba = model.predict_proba(np.column_stack([X, apart * y]))
    np.testing.assert_array_equal(proba.argmax(1), y)
    assert proba.max(1).min() > 0.9


@every_structure
def test_a_column_that_varies_only_where_labels_are_missing_is_learned_from(name):
    rng = np.random.default_rng(15)
    X, y = rng.normal(size=(120, 2)) + np.arange(120)[:, None] % 2 * 3.0, np.arange(120) % 2
    X[:40, 1] = 1.0
    labels = np.where(np.arange(120) < 40, y, None)
    for scale in (1e-3, 1.0, 1e5):
        model = GaussianDiscriminant(name, max_iter=30).fit(X * [1.0, scale], labels)
        assert model.distributions_[0].constant is None
        bounds = model.bound_history_
        assert min(np.diff(bounds), default=0.0) > -1e-9 * abs(bounds[-1])
    if not STRUCTURES[name].one_variance and name not in ROTATED:
        rows = [X, X * [1.0, 1e-3]]
        probabilities = [GaussianDiscriminant(name, max_iter=5, tol=0.0).fit(x, labels).predict_proba(x) for x in rows]
        np.testing.assert_allclose(*probabilities, atol=1e-6)


@every_structure
def test_the_same_column_twice_gives_finite_answers(name):
    X, y = table(16)
    twice = np.hstack([X, X[:, :2]])
    model, other = GaussianDiscriminant(name).fit(X, y), GaussianDiscriminant(name).fit(twice, y)
    assert np.isfinite(other.predict_log_proba(twice)).all()
    assert (other.predict(twice) == y).mean() > (model.predict(X) == y).mean() - 0.1
