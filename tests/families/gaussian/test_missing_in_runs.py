"""Rows whose missing cells come in few patterns: taken together they give what each row alone gives."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import GaussianDiscriminant, Mixture, compiled
from suffice.families import Gaussian
from suffice.families.gaussian import GaussianDistributions
from suffice.families.gaussian.missing_in_runs import Marginals, order_by_pattern, shortest_run
from suffice.selection.mixture_search import ALL
from suffice.statistics.responsibilities import Labels, SoftLabels

needs_kernels = pytest.mark.skipif(compiled.library is None, reason="the kernels were not built")


def clusters(n=900, d=5, k=3, seed=0):
    """Return rows of overlapping clusters, and where they come from."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, k, n)
    mixing = rng.normal(size=(k, d, d)) * 0.5 + np.eye(d)
    return np.einsum("nij,nj->ni", mixing[z], rng.normal(size=(n, d))) + 2.0 * rng.normal(size=(k, d))[z], z


def with_missing_cells(X, kind, seed=1):
    """Return rows with missing cells in few patterns, anywhere, or both; one row misses all its cells."""
    rng = np.random.default_rng(seed)
    n, d = X.shape
    few = (rng.random((6, d)) < 0.35)[rng.integers(0, 6, n)]
    some = rng.random((n, d)) < 0.3
    missing = {"few": few, "random": some, "both": np.where(rng.random((n, 1)) < 0.7, few, some)}[kind]
    missing[n // 2] = True
    return np.where(missing, np.nan, X)


def fitted(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def answers(model, X, *args):
    """Return what a fit found, and what it says of the rows."""
    fitted(model, X, *args)
    gaussian = model.distributions_[0]
    return [model.bound_history_, gaussian.means, gaussian.covariance(), model.score_samples(X), model.predict_proba(X)]


def by_row(monkeypatch, function):
    """Return what a function gives where no rows are taken together, nor put in order."""
    with monkeypatch.context() as patch:
        patch.setattr(Gaussian, "row_order", lambda *_: None)
        patch.setattr(Marginals, "of", classmethod(lambda *_: None))
        return function()


def agree(ours, theirs, rtol=1e-9):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


@pytest.fixture
def passes(monkeypatch):
    """Count the rows that were taken together and those that were left."""
    seen = {"rows": 0, "rest": 0}
    kernel = compiled.patterns_pass

    def counting(x, *args, **kwargs):
        found = kernel(x, *args, **kwargs)
        if found is not None:
            seen["rows"] += len(x) - len(found.rest)
            seen["rest"] += len(found.rest)
        return found

    monkeypatch.setattr(compiled, "patterns_pass", counting)
    return seen


@needs_kernels
@pytest.mark.parametrize("structure", [name for name in ALL if not Gaussian(name).columnwise])
@pytest.mark.parametrize("kind", ["few", "both"])
def test_together_or_row_by_row_a_mixture_is_the_same(monkeypatch, passes, structure, kind):
    X, z = clusters()
    X = with_missing_cells(X, kind)
    weight = np.random.default_rng(2).uniform(0, 2, len(X)) * (np.arange(len(X)) % 7 > 0)

    def learn():
        return answers(Mixture(3, covariance=structure, init=z, max_iter=4, tol=0), X, None, weight)

    together = learn()
    assert passes["rows"] > len(X)
    assert np.all(np.diff(together[0]) >= -1e-9 * np.abs(together[0][0]))
    agree(together, by_row(monkeypatch, learn), 1e-7 if structure in ("EVE", "VVE") else 1e-9)


@needs_kernels
@pytest.mark.parametrize("kind", ["few", "random", "both"])
@pytest.mark.parametrize("k", [1, 2, 11])
def test_any_number_of_components_gives_the_same(monkeypatch, kind, k):
    X, _ = clusters(1500, 4)
    X, start = with_missing_cells(X, kind), np.arange(1500) % k

    def learn():
        return answers(Mixture(k, init=start, max_iter=3, tol=0), X)

    agree(learn(), by_row(monkeypatch, learn))


@needs_kernels
@pytest.mark.parametrize("covariance", ["full", "tied"])
@pytest.mark.parametrize("soft", [False, True])
def test_labels_of_some_rows_are_kept_to(monkeypatch, passes, covariance, soft):
    X, z = clusters()
    X = with_missing_cells(X, "few")
    unknown = np.random.default_rng(3).random(len(X)) < 0.6
    y = np.where(unknown, None, z)
    if soft:
        y = np.where(unknown[:, None], np.nan, 0.8 * np.eye(3)[z] + 0.2 / 3)

    def learn():
        return answers(GaussianDiscriminant(covariance, max_iter=4, tol=0), X, y)

    together = learn()
    assert passes["rows"] > len(X)
    agree(together, by_row(monkeypatch, learn))


@needs_kernels
@pytest.mark.parametrize("k", [1, 2])
def test_moments_and_scores_are_those_of_each_row(k):
    rng = np.random.default_rng(4)
    d, n = 4, 60
    mixing = rng.normal(size=(k, d, d)) + 2 * np.eye(d)
    covariance, means = mixing @ mixing.transpose(0, 2, 1), rng.normal(size=(k, d)) + 50.0
    x = rng.normal(size=(n, d)) + 50.0
    patterns = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]], dtype=bool)
    x[patterns[rng.integers(0, 4, n)]] = np.nan
    shares = rng.random((n, k))
    expected, scores = np.zeros((k, d, d)), np.zeros((n, k))
    for c in range(k):
        for i, row in enumerate(x):
            o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
            z, left = np.zeros(d), covariance[c][np.ix_(m, m)]
            if len(o):
                inner, across = covariance[c][np.ix_(o, o)], covariance[c][np.ix_(m, o)]
                z[o] = row[o] - means[c][o]
                z[m] = across @ np.linalg.solve(inner, z[o])
                left = left - across @ np.linalg.solve(inner, across.T)
                scores[i, c] = multivariate_normal(means[c][o], inner).logpdf(row[o])
            expected[c] += shares[i, c] * np.outer(z, z)
            expected[c][np.ix_(m, m)] += shares[i, c] * left
    distributions = GaussianDistributions(Gaussian("full"), means, covariance)
    assert distributions.incomplete.score_in_runs(x) is not None
    np.testing.assert_allclose(distributions.score(x), scores, rtol=1e-9, atol=1e-9)
    moments = distributions.incomplete._statistics_in_runs(x, SoftLabels(shares))
    np.testing.assert_allclose(moments._about(means, moments.center - means).second, expected, rtol=1e-9, atol=1e-9)


@needs_kernels
def test_labels_to_begin_with_go_with_their_rows():
    X, z = clusters(800, 4)
    X = with_missing_cells(X, "few")
    shuffled = np.random.default_rng(5).permutation(len(X))
    one = answers(Mixture(3, init=z, max_iter=3, tol=0), X)
    other = answers(Mixture(3, init=z[shuffled], max_iter=3, tol=0), X[shuffled])
    agree([one[0], one[1], one[2], one[3][shuffled]], other[:4])


@needs_kernels
@pytest.mark.parametrize("size", [100, 450])
def test_batches_of_a_stream_give_the_same(passes, size):
    X, z = clusters()
    start = fitted(Mixture(3, init=z, max_iter=1), X)
    X = with_missing_cells(X, "few")
    batches = [X[i : i + size] for i in range(0, len(X), size)]
    model = Mixture(3, init=start, max_iter=3, tol=0)
    whole = answers(model, X)
    passes["rows"] = 0
    fitted(model, suffice.stream(lambda: iter(batches)))
    assert passes["rows"] > len(X)
    gaussian = model.distributions_[0]
    agree(whole[:4], [model.bound_history_, gaussian.means, gaussian.covariance(), model.score_samples(X)])


@needs_kernels
def test_rows_of_float32_lose_nothing_by_missing_values():
    X, z = clusters()
    X = with_missing_cells(X, "both").astype(np.float32)
    model = Mixture(3, init=z, max_iter=3, tol=0)
    short = answers(model, X)[:3]
    agree(short, answers(model, X.astype(np.float64))[:3])


@needs_kernels
def test_words_beside_numbers_go_with_their_rows(monkeypatch):
    pd = pytest.importorskip("pandas")
    X, z = clusters(600, 3)
    table = pd.DataFrame(with_missing_cells(X, "few"), columns=list("abc"))
    table["word"] = np.array(["x", "y", "z"])[z]

    def learn():
        model = fitted(Mixture(3, init=z[::-1].copy(), max_iter=3, tol=0), table)
        return [model.bound_history_, *(distributions.mean() for distributions in model.distributions_)]

    agree(learn(), by_row(monkeypatch, learn))


@needs_kernels
@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_classes_far_apart_do_not_lose_digits(monkeypatch, covariance):
    X, z = clusters(600, 3)
    X = with_missing_cells(X + 1e9 * z[:, None], "few")

    def learn():
        return answers(Mixture(3, covariance=covariance, init=z, max_iter=2, tol=0, prior=None), X)

    agree(learn(), by_row(monkeypatch, learn), 1e-7)


def test_a_column_that_a_pattern_never_has_and_one_that_no_row_has():
    X, _ = clusters(300, 4, 2)
    X[:150, 2] = np.nan
    X[150:, 1] = np.nan
    X[:, 3] = np.nan
    model = fitted(Mixture(2, max_iter=20, random_state=0), X)
    bounds = np.array(model.bound_history_)
    assert (np.diff(bounds) >= -1e-8 * np.abs(bounds[1:])).all()
    assert np.isfinite(model.score_samples(X)).all()


@needs_kernels
def test_rows_are_ordered_only_where_they_share_their_missing_columns():
    X, _ = clusters(400, 5)
    assert order_by_pattern(X) is None
    incomplete = with_missing_cells(X, "few")
    order = order_by_pattern(incomplete)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(X)))
    there = ~np.isnan(incomplete[order])
    changes = (there[1:] != there[:-1]).any(axis=1).sum()
    assert changes == len(np.unique(there, axis=0)) - 1
    wide = np.random.default_rng(6).normal(size=(60, 90))
    assert order_by_pattern(np.where(np.random.default_rng(7).random(wide.shape) < 0.1, np.nan, wide)) is None
    wide[::2, 80] = np.nan
    assert shortest_run(90) < 30
    np.testing.assert_array_equal(order_by_pattern(wide), np.concatenate([np.arange(1, 60, 2), np.arange(0, 60, 2)]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("structure", ["full", "tied", "diagonal"])
@pytest.mark.parametrize("first", [True, False])
def test_moments_of_rows_with_missing_values_and_their_fallbacks_agree(monkeypatch, dtype, structure, first):
    X, z = clusters(500, 5)
    X = X.astype(dtype)
    X[100 if first else 0 : 400 : 3, 2] = np.nan
    X[z == 1, 4] = np.nan
    labels = Labels(z, np.random.default_rng(8).random(len(X)) * (np.arange(len(X)) % 5 > 0), 3)
    ours = Gaussian(structure).statistics(X, labels)
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "library", None)
        fallback = Gaussian(structure).statistics(X, labels)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(ours.count, fallback.count, rtol=tolerance)
    np.testing.assert_allclose(ours.mean[ours.mean != 0], fallback.mean[ours.mean != 0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.scatter, fallback.scatter, rtol=tolerance, atol=tolerance * 100)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("row", [0, 250])
def test_an_infinite_cell_beside_missing_values_is_named(covariance, row):
    X, _ = clusters(300, 3)
    X = with_missing_cells(X, "few")
    X[row] = [np.inf, np.nan, 1.0]
    with pytest.raises(ValueError, match=f"row {row}"):
        Mixture(2, covariance=covariance, random_state=0).fit(X)
