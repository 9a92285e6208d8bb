"""Covariances that are given: only the means are learned."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone

import suffice
from suffice import (
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    GivenCovariance,
    GivenDiagonal,
    GivenSphere,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    NormalInverseWishart,
)

SIGMA = [[2.0, 0.6], [0.6, 1.0]]
GIVEN = [GivenSphere(0.5), GivenDiagonal([2.0, 1.0]), GivenCovariance(SIGMA)]
MATRICES = [0.5 * np.eye(2), np.diag([2.0, 1.0]), np.array(SIGMA)]
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal([4, 1], 1, (20, 2))])
y = np.repeat(["a", "b"], [30, 20])
each = pytest.mark.parametrize(("given", "sigma"), list(zip(GIVEN, MATRICES, strict=True)), ids=repr)


@each
def test_a_classifier_has_the_given_covariance_and_the_means_of_the_classes(given, sigma):
    model = GaussianDiscriminant(given).fit(X, y)
    (found,) = model.distributions_
    np.testing.assert_allclose(found.means, [X[:30].mean(0), X[30:].mean(0)])
    np.testing.assert_array_equal(found.covariances(), [sigma, sigma])
    joint = np.stack([0.6 * multivariate_normal(found.means[0], sigma).pdf(X),
                      0.4 * multivariate_normal(found.means[1], sigma).pdf(X)], axis=1)  # fmt: skip
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(sigma, found.means[1] - found.means[0]))
    assert found.n_parameters == 4


@each
def test_a_mixture_learns_means_and_shares_by_em_and_nothing_else(given, sigma):
    means, shares = np.array([[0.0, 0.0], [3.0, 3.0]]), np.array([0.5, 0.5])
    start = Mixture.from_parameters(shares, means, [sigma, sigma])
    with pytest.warns(Warning, match="did not converge"):
        mixture = Mixture(2, Gaussian(given), prior=None, init=start, max_iter=8, tol=0.0).fit(X)
    for _ in range(8):
        joint = np.stack([c * multivariate_normal(m, sigma).pdf(X) for c, m in zip(shares, means, strict=True)], 1)
        q = joint / joint.sum(1, keepdims=True)
        shares, means = q.mean(0), q.T @ X / q.sum(0)[:, None]
    np.testing.assert_allclose(mixture.weights_, shares, rtol=1e-10)
    np.testing.assert_allclose(mixture.means_, means, rtol=1e-10)
    np.testing.assert_array_equal(mixture.covariances_, [sigma, sigma])
    assert mixture.n_parameters_ == 5
    assert (np.diff(mixture.bound_history_) >= 0).all()


@each
def test_the_bound_rises_under_a_prior_of_the_means(given, sigma):
    prior = NormalInverseWishart(mean=[0.0, 0.0], mean_count=20.0)
    mixture = Mixture(2, Gaussian(given), prior=prior, random_state=0, tol=1e-10).fit(X)
    bounds = np.array(mixture.bound_history_)
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])).all()
    pull = sum(m @ np.linalg.solve(sigma, m) for m in mixture.means_)
    assert bounds[-1] == pytest.approx(mixture.score(X) * len(X) - 10.0 * pull, rel=1e-6)


@each
def test_it_is_saved_and_cloned_and_merged(given, sigma, tmp_path):
    model = GaussianDiscriminant(given).fit(X, y)
    suffice.save(model, tmp_path / "m")
    again = suffice.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.covariance == given
    assert repr(again) == f"GaussianDiscriminant(covariance={given!r})"
    assert clone(model).fit(X, y).covariance == given
    halves = [clone(model).fit(X[i::2], y[i::2]).statistics_ for i in (0, 1)]
    merged = GaussianDiscriminant.from_statistics(halves[0] + halves[1], covariance=given)
    np.testing.assert_allclose(merged.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    mixture = Mixture(2, covariance=given, random_state=0).fit(X)
    suffice.save(mixture, tmp_path / "x")
    np.testing.assert_array_equal(suffice.load(tmp_path / "x").means_, mixture.means_)


@each
def test_missing_cells_are_taken_from_the_given_covariance(given, sigma):
    holes = X.copy()
    holes[::5, 1] = np.nan
    model = GaussianDiscriminant(given, prior=None).fit(holes, y)
    (found,) = model.distributions_
    assert np.isfinite(found.means).all()
    np.testing.assert_array_equal(found.covariances()[0], sigma)
    row = model.impute([[2.0, np.nan]])
    expected = found.means[:, 1] + sigma[1, 0] / sigma[0, 0] * (2.0 - found.means[:, 0])
    assert expected.min() <= row[0, 1] <= expected.max()


@each
def test_the_predictive_adds_the_uncertainty_of_the_mean_only(given, sigma):
    model = GaussianDiscriminant(given, estimate="predictive").fit(X, y)
    np.testing.assert_allclose(model.distributions_[0].covariances(), [sigma * (1 + 1 / 30), sigma * (1 + 1 / 20)])


def test_the_variances_belong_to_the_columns_in_the_order_that_was_given():
    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "z": X[:, 0] > 1})
    model = NaiveBayes({("y", "x"): Gaussian(GivenDiagonal([1.0, 9.0]))}).fit(table, y)
    block = next(b for b in model.schema_.blocks if isinstance(b.family, Gaussian))
    assert block.columns == (1, 0)
    assert model.distributions_[0].variances()[0].tolist() == [1.0, 9.0]


def test_a_part_of_the_columns_has_a_part_of_the_covariance():
    mixture = Mixture(2, covariance=GivenCovariance(SIGMA), random_state=0).fit(X)
    assert mixture.marginal([1]).covariances_.ravel().tolist() == [1.0, 1.0]
    assert mixture.condition({0: 1.0}).covariances_.ravel() == pytest.approx([1 - 0.36 / 2] * 2)
    mixture.marginal([1]).fit(X[:, [1]])


def test_a_search_compares_given_covariances_with_estimated_ones():
    search = MixtureSearch([1, 2], [GivenSphere(1.0), "EII"], random_state=0).fit(X)
    assert search.best_estimator_.n_components == 2
    assert search.results_["n_parameters"].tolist() == [2, 3, 5, 6]


def test_families_with_the_same_given_covariance_are_equal():
    assert Gaussian(GivenSphere(2.0)) == Gaussian(GivenSphere(2.0)) != Gaussian(GivenSphere(1.0))
    assert hash(Gaussian(GivenCovariance(SIGMA))) == hash(Gaussian(GivenCovariance(np.array(SIGMA))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GivenSphere(0.0), "must hold positive numbers, but is"),
        (lambda: GivenSphere(float("nan")), "must hold positive numbers"),
        (lambda: GivenSphere([1.0, 2.0]), "one variance, not .* use GivenDiagonal"),
        (lambda: GivenDiagonal(SIGMA), r"one variance per column, \(d,\), but has shape \(2, 2\)"),
        (lambda: GivenDiagonal([1.0, -1.0]), "must hold positive numbers"),
        (lambda: GivenCovariance([[1.0, 2.0], [2.0, 1.0]]), "positive definite, but its smallest eigenvalue is -1"),
        (lambda: GivenCovariance([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: GivenCovariance([1.0]), r"a matrix, \(d, d\), but has shape"),
    ],
)
def test_what_is_no_covariance_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("given", [GivenDiagonal([1.0]), GivenCovariance(np.eye(3))], ids=repr)
def test_another_number_of_columns_is_refused(given):
    for model in (GaussianDiscriminant(given), GenerativeClassifier(covariance=given)):
        with pytest.raises(ValueError, match=r"gives the covariance of . columns, but there are 2 Gaussian ones"):
            model.fit(X, y)
        assert not hasattr(model, "classes_")
