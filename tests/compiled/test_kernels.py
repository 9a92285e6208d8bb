"""The compiled kernels and their NumPy fallbacks give the same answers, for every processor level and type of cell."""

import dataclasses
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from suffice import GaussianDiscriminant, Mixture, NaiveBayes, compiled
from suffice.families.gaussian.missing_by_row import MissingByRow, expected_moments

pytestmark = pytest.mark.skipif(compiled.library is None, reason="the kernels were not built (no C compiler)")


def tables(n, d, k, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return (
        rng.normal(size=(n, d)) * rng.uniform(0.5, 3, d) + 0.3 * y[:, None] + 100.0,
        y,
        rng.random(n) * (rng.random(n) < 0.9),
    )


def parameters(model):
    distributions = model.distributions_[0]
    values = [getattr(distributions, field.name) for field in dataclasses.fields(distributions)]
    return [value for value in values if isinstance(value, np.ndarray)]


def both(monkeypatch, model, X, y, weight, rtol):
    """Fit and predict with the kernels and without them."""

    def answers():
        model.fit(X, y, weight)
        return [model.predict_proba(X), model.score_samples(X), *parameters(model)], model.predict(X)

    with_kernels, predicted = answers()
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "library", None)
        fallbacks, predicted_by_fallbacks = answers()
    for ours, theirs in zip(with_kernels, fallbacks, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(predicted, predicted_by_fallbacks)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "tied-diagonal", "spherical"])
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (7, 3, 2), (100, 1, 5), (333, 17, 11), (1000, 50, 23)])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_kernels_and_fallbacks_agree(level, monkeypatch, covariance, n, d, k, weighted):
    X, y, weight = tables(n, d, k, seed=n + d + k)
    X = np.vstack([X, X + 0.1])  # two rows per class at least, and two classes
    y = np.append(y, (y + 1) % max(k, 2))
    weight = np.append(weight, weight + 0.1) if weighted else None
    both(monkeypatch, GaussianDiscriminant(covariance), X, y, weight, 1e-8)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_single_precision_kernels_and_fallbacks_agree(level, monkeypatch, covariance):
    X, y, weight = tables(400, 6, 3, seed=0)
    both(monkeypatch, GaussianDiscriminant(covariance), (X - 100).astype(np.float32), y, weight, 2e-3)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_kernels_read_rows_in_any_order_of_memory(level, monkeypatch, order):
    X, y, _ = tables(300, 8, 3, seed=1)
    stored = {"C": np.ascontiguousarray, "F": np.asfortranarray, "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2]}
    for covariance in ("full", "tied", "diagonal"):
        both(monkeypatch, GaussianDiscriminant(covariance), stored[order](X), y, None, 1e-8)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("weighted", [False, True])
def test_category_kernels_and_fallbacks_agree(level, monkeypatch, dtype, weighted):
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, [2, 9, 4], (500, 3)).astype(dtype), rng.integers(0, 6, 500)
    weight = rng.random(500) if weighted else None
    both(monkeypatch, NaiveBayes("categorical"), X, y, weight, 1e-10)
    both(monkeypatch, NaiveBayes("categorical"), np.asfortranarray(X), y, weight, 1e-10)
    new = np.array([[7, 20, 3], [0, 8, 9]], dtype=dtype)  # values that training never saw
    model = NaiveBayes("categorical").fit(X, y)
    expected = NaiveBayes("categorical").fit(X.astype(str), y).predict_proba(new.astype(str))
    np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-10)


@pytest.mark.parametrize("family", ["multinomial", "bernoulli", "poisson"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_kernels_and_fallbacks_agree(level, monkeypatch, family, dtype, weighted):
    rng = np.random.default_rng(3)
    X = rng.poisson(0.3, (400, 60)).astype(dtype)
    X = sparse.csr_array((X > 0).astype(dtype) if family == "bernoulli" else X)
    y = rng.integers(0, 7, 400)
    both(
        monkeypatch,
        NaiveBayes(family),
        X,
        y,
        rng.random(400) if weighted else None,
        1e-5 if dtype == np.float32 else 1e-10,
    )


def test_the_exponential_of_the_posterior_is_exact_to_the_last_places(level):
    scores = np.random.default_rng(4).normal(size=(1001, 9)) * np.logspace(-3, 3, 1001)[:, None]
    prior = np.log(np.full(9, 1 / 9))
    found = compiled.posterior(scores, prior)
    shifted = scores - scores.max(1, keepdims=True)
    expected = np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-300)
    np.testing.assert_array_equal(compiled.posterior(np.asfortranarray(scores), prior), found)
    scores[3] = -np.inf
    assert compiled.posterior(scores, prior) is None


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "spherical"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_iterations_of_em_and_their_fallbacks_agree(level, monkeypatch, covariance, missing, weighted):
    X, y, weight = tables(700, 5, 3, seed=1)
    X -= 100.0
    start = Mixture(3, covariance=covariance, init=y, max_iter=1).fit(X)
    if missing:
        X = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
        X[3] = np.nan
    model = Mixture(3, covariance=covariance, init=start, max_iter=4, tol=0)

    def answers():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, sample_weight=weight if weighted else None)
        return [model.bound_history_, model.weights_, model.means_, model.covariances_, model.score_samples(X)]

    with_kernels = answers()
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "library", None)
        fallbacks = answers()
    for ours, theirs in zip(with_kernels, fallbacks, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


def test_rows_with_missing_values_and_their_fallbacks_agree(level):
    rng = np.random.default_rng(3)
    for d in (1, 2, 7, 20):
        mixing = rng.normal(size=(2, d, d)) + 2 * np.eye(d)
        covariance = mixing @ mixing.transpose(0, 2, 1)
        means, weights = rng.normal(size=(2, d)), rng.random((60, 2))
        x = np.where(rng.random((60, d)) < 0.4, np.nan, rng.normal(size=(60, d)))
        precision, logs = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
        by_row = MissingByRow(x, ~np.isnan(x))
        factors = np.linalg.inv(np.linalg.cholesky(covariance))
        fallbacks = [by_row.condition(means[c], covariance[c], factors[c]) for c in range(2)]
        expected = np.stack([-0.5 * (found.log_determinant + found.squared) for found in fallbacks], axis=1)
        np.testing.assert_allclose(compiled.missing_scores(x, means, precision, logs), expected, rtol=1e-8, atol=1e-8)
        first, second = compiled.missing_moments(x, means, precision, weights)
        for c, found in enumerate(fallbacks):
            moments = expected_moments(found, weights[:, c], means[c])
            np.testing.assert_allclose(first[c], moments.first[0], rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(second[c], moments.second[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (7, 3, 2), (333, 17, 11), (90, 300, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_variances_without_a_row_are_those_of_the_formula(level, n, d, k, dtype):
    X, y, _ = tables(n, d, k, seed=2)
    rng, X = np.random.default_rng(3), X.astype(dtype)
    means = X.mean(0) + rng.normal(size=(k, d))
    shares, factors, constant = rng.uniform(0, 1e-3, (k, d)), rng.uniform(1, 9, (k, d)), rng.normal(size=k)
    shares[:, 0] *= 10.0  # some rows leave much less
    s = shares[y] * (X.astype(float) - means[y]) ** 2
    X[:, -1][s[:, -1] > 0.9] = np.nan
    expected = -0.5 * (constant[y] + (np.log1p(-np.minimum(s, 0.9999)) + factors[y] * s / (1.0 - s)).sum(1))
    expected[(s >= 1.0 - 1e-13).any(1) | np.isnan(X).any(1)] = np.nan
    found = compiled.diagonal_left_out(X, y, means, shares, factors, constant, 1e-13)
    inside = np.isnan(expected) | (s < 0.99).all(1)
    np.testing.assert_allclose(found[inside], expected[inside], rtol=1e-10, atol=1e-10)
    assert inside.any()
