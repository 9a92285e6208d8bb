"""k-means, where mixtures begin: the clusters of scikit-learn's `KMeans`, draw by draw."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs

from suffice import compiled
from suffice.mixtures import kmeans
from suffice.mixtures.kmeans import k_means

TABLES = {
    "iris": (load_iris().data, 3),
    "digits": (load_digits().data[:600], 10),
    "one column": (np.random.default_rng(0).gamma(1.0, size=(300, 1)), 5),
    "far from 0": (make_blobs(400, 3, centers=6, random_state=1)[0] + 1e6, 6),
    "many clusters": (np.random.default_rng(1).normal(size=(400, 2)), 30),
    "as many clusters as rows": (np.random.default_rng(2).normal(size=(7, 2)), 7),
    "one cluster": (load_iris().data, 1),
    "so far from 0 that squares cancel": (np.random.default_rng(4).uniform(size=(500, 2)) + 2.0**30, 8),
}


@pytest.fixture(params=["one call", "slices"])
def way(request, monkeypatch):
    """Cluster all rows in one call, or slices of them in threads."""
    if request.param == "slices":
        monkeypatch.setattr(kmeans, "_MANY_PRODUCTS", 0)
        monkeypatch.setattr(kmeans, "_SLICE_ROWS", 64)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.usefixtures("way")
def test_the_clusters_are_those_of_scikit_learn(name, weighted):
    X, k = TABLES[name]
    weight = np.random.default_rng(3).integers(1, 5, len(X)).astype(float) if weighted else None
    for seed in range(3):
        theirs = KMeans(k, n_init=1, random_state=seed).fit(X, sample_weight=weight).labels_
        np.testing.assert_array_equal(k_means(X, k, np.random.RandomState(seed), weight), theirs)


@pytest.mark.usefixtures("way")
def test_one_iteration_is_one_of_scikit_learns():
    X, k = TABLES["digits"]
    theirs = KMeans(k, n_init=1, max_iter=2, tol=0.0, random_state=0).fit(X).labels_
    np.testing.assert_array_equal(k_means(X, k, np.random.RandomState(0), max_iter=2, tol=0.0), theirs)


@pytest.mark.usefixtures("way")
def test_clusters_that_lose_their_rows_are_filled_again():
    """Two seeds in one place: the second gets no row, and then the row that is farthest from its center."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        X = np.repeat(rng.normal(size=(9, 2)), rng.integers(1, 6, 9), axis=0)
        labels = k_means(X, 8, np.random.RandomState(seed))
        theirs = KMeans(8, n_init=1, random_state=seed).fit(X)
        centers = np.array([X[labels == c].mean(0) if (labels == c).any() else np.full(2, np.inf) for c in range(8)])
        inertia = ((X - centers[labels]) ** 2).sum()
        assert inertia == pytest.approx(theirs.inertia_, abs=1e-12)


@pytest.mark.usefixtures("way")
def test_fewer_distinct_rows_than_clusters_leave_some_empty():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 20, axis=0)
    assert len(np.unique(k_means(X, 4, np.random.RandomState(0)))) == 2
    assert len(np.unique(k_means(np.ones((10, 3)), 4, np.random.default_rng(0)))) == 1


@pytest.mark.usefixtures("way")
def test_rows_of_any_layout_and_weights_of_any_kind_give_the_same_clusters():
    X, k = TABLES["digits"]
    expected = k_means(X, k, np.random.RandomState(0))
    wide = np.zeros((len(X), 2 * X.shape[1]))
    wide[:, ::2] = X
    for rows in (np.asfortranarray(X), wide[:, ::2], X[::-1].copy()[::-1]):
        np.testing.assert_array_equal(k_means(rows, k, np.random.RandomState(0)), expected)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(kmeans, "_MANY_PRODUCTS", 0)
    monkeypatch.setattr(kmeans, "_SLICE_ROWS", 96)
    X, k = TABLES["digits"]
    one, two = (k_means(X, k, np.random.default_rng(0), n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.skipif(compiled.library is None, reason="the kernels are switched off")
def test_without_kernels_the_clusters_are_the_same(monkeypatch):
    X, k = TABLES["iris"]
    expected = k_means(X, k, np.random.RandomState(5))
    monkeypatch.setattr(kmeans.cluster, "knows_k_means", lambda: False)
    np.testing.assert_array_equal(k_means(X, k, np.random.RandomState(5)), expected)
