"""Clusters by merging rows are those that their criterion says, with or without the compiled kernel."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from suffice import compiled
from suffice.mixtures.agglomeration import _principal, merge_tree

STRUCTURES = ("EII", "VII", "VVV")


def rows(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4.0 * rng.integers(0, 3, (n, 1))


def cost(points, structure, alpha):
    n, d = points.shape
    centred = points - points.mean(0)
    trace = (centred**2).sum()
    if structure == "EII":
        return trace
    inside = np.linalg.det(centred.T @ centred / n) if structure == "VVV" and n > d else 0.0
    return n * np.log(inside + (trace + alpha) / n)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_each_merger_is_the_cheapest(structure, d):
    X = rows(25, d, seed=d)
    points = _principal(X, np.ones(25))
    alpha = (points**2).sum() / points.size
    tree = merge_tree(X, structure)
    for k in range(25, 1, -1):
        before, after = tree.labels(k), tree.labels(k - 1)
        groups = [points[before == c] for c in range(k)]
        costs = [cost(group, structure, alpha) for group in groups]
        gains = [
            cost(np.concatenate([groups[a], groups[b]]), structure, alpha) - costs[a] - costs[b]
            for a in range(k)
            for b in range(a)
        ]
        total = sum(cost(points[after == c], structure, alpha) for c in range(k - 1))
        assert total - sum(costs) == pytest.approx(min(gains), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("data", ["free", "rounded", "few columns", "repeated"])
def test_the_kernel_and_the_fallback_agree(structure, data, monkeypatch):
    if compiled.library is None:
        pytest.skip("the kernels were not built")
    X = rows(90, 2 if data == "few columns" else 7, seed=1)
    if data == "rounded":  # many ties
        X = X.round(0)
    if data == "repeated":
        X = np.repeat(X[:30], 3, axis=0)
    ours = merge_tree(X, structure)
    monkeypatch.setattr(compiled, "library", None)
    theirs = merge_tree(X, structure)
    np.testing.assert_array_equal(ours.merged, theirs.merged)


def test_spheres_of_one_size_are_wards_method():
    from scipy.cluster.hierarchy import fcluster, linkage

    X = rows(80)
    tree, ward = merge_tree(X, "EII"), linkage(_principal(X, np.ones(80)), "ward")
    for k in (2, 3, 7, 20):
        assert adjusted_rand_score(tree.labels(k), fcluster(ward, k, "maxclust")) == 1.0


def test_the_clusters_of_iris_are_those_of_mclust():
    labels = merge_tree(load_iris().data).labels(3)
    # sizes of hclass(hc(iris[, 1:4], "VVV", use = "SVD"), 3) in each species
    table = [np.bincount(labels[i : i + 50], minlength=3).tolist() for i in (0, 50, 100)]
    assert table == [[49, 1, 0], [0, 38, 12], [0, 23, 27]]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_units_and_constant_columns_do_not_matter(structure):
    X, weight = rows(40), np.random.default_rng(3).integers(1, 4, 40).astype(float)
    expected = merge_tree(X, structure, weight=weight)
    moved = merge_tree(X * [1e-3, 1.0, 1e5] + 1e4, structure, weight=weight)
    constant = merge_tree(np.column_stack([X, np.full(40, 0.1)]), structure, weight=weight)
    for k in (2, 5, 11):
        np.testing.assert_array_equal(expected.labels(k), moved.labels(k))
        np.testing.assert_array_equal(expected.labels(k), constant.labels(k))


def test_weights_count_in_the_cost():
    X = np.array([[0.0], [1.0], [2.1]])
    assert merge_tree(X, "EII").labels(2).tolist() == [0, 0, 1]
    assert merge_tree(X, "EII", weight=[9.0, 1.0, 1.0]).labels(2).tolist() == [0, 1, 1]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_equal_rows_are_merged_and_every_number_of_clusters_is_possible(structure):
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [9.0, -1.0]], 4, axis=0)
    tree = merge_tree(X, structure)
    assert tree.labels(3).tolist() == np.repeat([0, 1, 2], 4).tolist()
    assert [len(np.unique(tree.labels(k))) for k in range(1, 13)] == list(range(1, 13))
    with pytest.raises(ValueError, match="12 rows make between 1 and 12 clusters, not 13"):
        tree.labels(13)
    for alone in (np.ones((5, 2)), np.ones((1, 2)), np.ones((3, 0))):
        assert merge_tree(alone, structure).labels(1).tolist() == [0] * len(alone)


def test_bad_rows_are_one_clear_error():
    with pytest.raises(ValueError, match="structure must be one of 'EII', 'VII', 'VVV', not 'EEE'"):
        merge_tree(rows(), "EEE")
    with pytest.raises(ValueError, match="finite numbers"):
        merge_tree([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="2 positive numbers"):
        merge_tree([[1.0], [2.0]], weight=[1.0, 0.0])
