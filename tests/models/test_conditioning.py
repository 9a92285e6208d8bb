"""Mixtures of some of their columns: p(a, b) = p(a | b) p(b), for every family and structure."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from mixed import mixed_columns
from scipy import stats
from sklearn.base import clone

from suffice import Categorical, Gaussian, Mixture, Multinomial, Poisson
from suffice.families.gaussian.covariance import STRUCTURES

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def correlated(n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 2, n)
    factors = rng.normal(size=(2, d, d)) + 1.5 * np.eye(d)
    return 3.0 * which[:, None] + np.einsum("nij,nj->ni", factors[which], rng.normal(size=(n, d)))


def wide_columns(n=200, seed=0):
    """Columns of every kind, with two of numbers that go together."""
    columns, _ = mixed_columns(n, seed)
    rng = np.random.default_rng(seed)
    height = np.array([170.0 if v is None else v for v in columns["height"]])
    return {**columns, "weight": (height - 100 + rng.normal(0, 5, n)).tolist()}


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(wide_columns())


@pytest.fixture(scope="module")
def mixture(table):
    return Mixture(3, families={"visits": Poisson()}, tol=1e-3, n_init=1, random_state=0).fit(table)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_joint_is_conditional_times_marginal(structure):
    X = correlated()
    mixture = Mixture(2, covariance=structure, tol=1e-3, n_init=1, random_state=0).fit(X)
    marginal = mixture.marginal([3, 1])
    for row in X[:3]:
        rest = mixture.condition({1: row[1], 3: row[3]})
        assert rest.n_features_in_ == 2
        together = rest.score_samples(row[None, [0, 2]]) + marginal.score_samples(row[None, [3, 1]])
        assert np.allclose(together, mixture.score_samples(row[None]))
        assert np.allclose(rest.weights_, marginal.predict_proba(row[None, [3, 1]])[0])


def test_gaussians_against_the_textbook():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(2, 3, 3))
    covariances = factors @ factors.transpose(0, 2, 1) + np.eye(3)
    means = rng.normal(size=(2, 3))
    mixture = Mixture.from_parameters([0.3, 0.7], means, covariances)
    given = mixture.condition({1: 0.4})
    rest = [0, 2]
    for c in range(2):
        slope = covariances[c][rest, 1] / covariances[c][1, 1]
        assert np.allclose(given.means_[c], means[c][rest] + slope * (0.4 - means[c][1]))
        expected = covariances[c][np.ix_(rest, rest)] - np.outer(slope, covariances[c][1, rest])
        assert np.allclose(given.covariances_[c], expected)
    densities = stats.norm(means[:, 1], np.sqrt(covariances[:, 1, 1])).pdf(0.4) * [0.3, 0.7]
    assert np.allclose(given.weights_, densities / densities.sum())
    assert np.allclose(mixture.marginal([2, 0]).covariances_, covariances[:, [[2], [0]], [2, 0]])


@pytest.mark.parametrize("given", [["city"], ["smoker", "height"], ["visits", "weight", "city"], ["height", "weight"]])
def test_mixed_tables(mixture, table, given):
    rows = table.dropna().iloc[:3]
    rest = [name for name in table.columns if name not in given]
    marginal = mixture.marginal(given)
    assert marginal.feature_names_in_.tolist() == given
    for i in range(len(rows)):
        row = rows.iloc[[i]]
        conditioned = mixture.condition({name: row[name].iloc[0] for name in given})
        assert conditioned.feature_names_in_.tolist() == rest
        together = conditioned.score_samples(row[rest]) + marginal.score_samples(row[given])
        assert np.allclose(together, mixture.score_samples(row))


@pytest.mark.parametrize("library", FRAMES)
def test_results_do_what_mixtures_do(library):
    table = FRAMES[library](wide_columns())
    mixture = Mixture(2, tol=1e-3, n_init=1, random_state=0).fit(table)
    part = mixture.marginal(["city", "weight", "height"])
    rest = mixture.condition({"smoker": True, "visits": 2})
    for found, names in ((part, ["city", "weight", "height"]), (rest, ["height", "city", "weight"])):
        rows, components = found.sample(30, random_state=0)
        assert type(rows) is type(table)
        assert list(getattr(rows, "column_names", None) or rows.columns) == names
        assert found.predict(rows).shape == components.shape == (30,)
        assert np.isfinite(found.score_samples(rows)).all()
        assert np.allclose(found.predict_proba(rows).sum(1), 1.0)
        assert found.n_parameters_ > 0
    twice = rest.condition({"city": "Oslo"}).marginal("weight")
    assert twice.feature_names_in_.tolist() == ["weight"]
    at_once = mixture.condition({"smoker": True, "visits": 2, "city": "Oslo"}).marginal(["weight"])
    assert np.allclose(twice.weights_, at_once.weights_)
    assert np.allclose(twice.means_, at_once.means_)


def test_missing_cells_are_integrated_out(mixture, table):
    row = table.dropna().iloc[[0]]
    names = ["weight", "smoker"]
    incomplete = row.copy()
    incomplete[["height", "city", "visits"]] = [[np.nan, None, np.nan]]
    assert np.allclose(mixture.marginal(names).score_samples(row[names]), mixture.score_samples(incomplete))


def test_results_can_be_fitted_again(mixture, table):
    part = mixture.marginal(["visits", "city"])
    again = clone(part).set_params(tol=1e-3).fit(table[["visits", "city"]])
    assert {type(block.family) for block in again.schema_.blocks} == {Poisson, Categorical}


def test_places_and_nothing_given(mixture, table):
    rows = table.dropna()
    assert np.allclose(mixture.condition({}).score_samples(rows), mixture.score_samples(rows))
    assert mixture.marginal(-1).feature_names_in_.tolist() == ["weight"]
    assert mixture.condition({0: 170.0}).feature_names_in_.tolist() == ["smoker", "city", "visits", "weight"]
    assert np.allclose(
        mixture.marginal(list(table.columns[::-1])).score_samples(rows[rows.columns[::-1]]), mixture.score_samples(rows)
    )


def test_bags_cannot_be_split():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.poisson(3.0, (80, 3)), rng.normal(size=(80, 2))])
    families = {(0, 1, 2): Multinomial(), (3, 4): Gaussian("full")}
    mixture = Mixture(2, families=families, tol=1e-3, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"column 0 is named and 1 is not; name all 3 columns of the bag"):
        mixture.marginal([0, 3])
    with pytest.raises(ValueError, match="cannot be split"):
        mixture.condition({1: 2})
    row = X[:1]
    rest = mixture.condition({0: row[0, 0], 1: row[0, 1], 2: row[0, 2]})
    together = rest.score_samples(row[:, 3:]) + mixture.marginal([0, 1, 2]).score_samples(row[:, :3])
    assert np.allclose(together, mixture.score_samples(row))
    assert np.allclose(
        mixture.marginal([4, 3]).score_samples(row[:, [4, 3]]), mixture.marginal([3, 4]).score_samples(row[:, 3:])
    )
    with pytest.raises(ValueError, match="take all of them or none"):
        mixture.distributions_[0].marginal(np.array([0]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shoe": 3}, r"`given` names column 'shoe', which the table does not have; its columns are 'height'"),
        ({"city": "Rome"}, r"a value that training saw of column 'city', but holds 'Rome'; the values are .*'Oslo'"),
        ({"height": "tall"}, r"must hold a number for column 'height', but holds 'tall'"),
        ({"height": None}, r"must hold a value for column 'height', but holds None"),
        ({"height": np.inf}, r"holds inf for column 'height', but numbers must be finite"),
        ({"smoker": 3}, r"holds 3.0 for column 'smoker', but a Bernoulli cell must be 0 or 1"),
        ({"visits": -1}, r"holds -1.0 for column 'visits', but a Poisson count must not be negative"),
        ({"height": 170.0, 0: 171.0}, r"`given` names column 'height' twice"),
        (
            {"height": 170.0, "smoker": True, "city": "Oslo", "visits": 2, "weight": 70.0},
            r"at least one column must be left over, but all 5 are given",
        ),
    ],
)
def test_what_cannot_be_given(mixture, given, message):
    with pytest.raises(ValueError, match=message):
        mixture.condition(given)


def test_near_singular_covariances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    X = np.column_stack([X, X.sum(1) + 1e-3 * rng.normal(size=80)])
    mixture = Mixture(1, prior=None).fit(X)
    assert np.allclose(mixture.condition({0: 1.0, 1: 2.0}).means_, 3.0, atol=0.01)
    rest = mixture.condition({0: 1.0})
    assert np.allclose(np.diff(rest.means_), 1.0, atol=0.01)
    together = rest.score_samples([[2.0, 3.0]]) + mixture.marginal(0).score_samples([[1.0]])
    assert np.allclose(together, mixture.score_samples([[1.0, 2.0, 3.0]]))


def test_what_has_no_marginal(mixture):
    with pytest.raises(ValueError, match="`columns` names column 'shoe'"):
        mixture.marginal(["height", "shoe"])
    with pytest.raises(ValueError, match="names column 'height' twice"):
        mixture.marginal(["height", "height"])
    with pytest.raises(ValueError, match="at least one column"):
        mixture.marginal([])
    with pytest.raises(TypeError, match="must map columns to their values"):
        mixture.condition(["height"])


def test_impossible_values():
    X = np.repeat([[0.0, 1.0], [0.0, 2.0]], 5, axis=0)
    mixture = Mixture(1, families={0: "bernoulli", 1: "poisson"}, prior=None).fit(X)
    with pytest.raises(ValueError, match="probability 0 under every one"):
        mixture.condition({0: 1})


def test_parts_of_a_mixture_keep_its_settings():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    mixture = Mixture(2, acceleration="squarem", n_init=2, max_iter=77, tol=1e-5, random_state=3, n_jobs=1).fit(rows)
    differ = {"n_components", "families", "init"}
    for part in (mixture.marginal([0, 2]), mixture.condition({1: 0.5})):
        kept, wanted = part.get_params(), mixture.get_params()
        assert {name: kept[name] for name in kept if name not in differ} == {
            name: wanted[name] for name in wanted if name not in differ
        }
