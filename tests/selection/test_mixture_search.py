"""The search over sizes and structures: what mclust finds, honest figures, and the use of what was found."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import suffice
from suffice import Mixture, MixtureSearch, NormalInverseWishart, compiled
from suffice.compiled import em_loop
from suffice.selection import grids as search_grids
from suffice.selection.collapse import collapsed

DATA = Path(__file__).parents[1] / "reference/data"
needs_kernels = pytest.mark.skipif(not em_loop.available("VVV", 4), reason="the kernels were not built")


def blobs(n=400, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) + np.array([[0, 0], [6, 0], [0, 7]])[z], z


# -- what mclust finds --------------------------------------------------------------------------------------------


def figures(name):
    """Return the numbers of a data set, and what mclust 6.0.0 found in them."""
    found = json.loads((DATA / f"{name}.json").read_text())["clustering"]
    return pd.read_csv(DATA / f"{name}.csv").select_dtypes("number").to_numpy(dtype=float), found


def check_every_entry(name, sizes):
    X, found = figures(name)
    search = MixtureSearch(sizes, found["models"]).fit(X)
    ours = -search.results_["bic"].reshape(len(sizes), len(found["models"]))
    theirs = np.array(found["bic"], dtype=float)[: len(sizes)]
    short = np.argwhere(~(ours >= theirs - 0.01) & ~np.isnan(theirs))
    assert [(sizes[i], found["models"][j], ours[i, j] - theirs[i, j]) for i, j in short] == []
    assert not search.results_["prior"].reshape(ours.shape)[~np.isnan(theirs)].any()  # maximum likelihood, like theirs
    chosen = np.nanargmax(theirs)
    row = {name: values[chosen] for name, values in search.results_.items()}
    assert (row["covariance"], row["n_components"]) == (found["best"]["model"], found["best"]["G"])
    assert row["n_parameters"] == found["best"]["df"]
    assert found["best"]["loglik"] - 0.01 < row["log_likelihood"] < found["best"]["loglik"] + 0.1
    best = search.best_estimator_
    assert (best.covariance, best.n_components) == (found["best"]["model"], found["best"]["G"])


@pytest.mark.parametrize("name", ["iris", "faithful"])
def test_mclust_is_reached_by_every_model_of_few_components(name):
    check_every_entry(name, [1, 2, 3])


@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "faithful"])
def test_mclust_is_reached_by_every_model(name):
    check_every_entry(name, figures(name)[1]["G"])


@pytest.mark.slow
@needs_kernels
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_is_found_without_kernels(weighted, monkeypatch):
    X, _ = figures("iris")
    X = X[::2]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else None
    compiled_search = MixtureSearch([2, 4], random_state=0).fit(X, sample_weight=weight)
    monkeypatch.setattr(compiled, "library", None)
    search = MixtureSearch([2, 4], random_state=0).fit(X, sample_weight=weight)
    assert search.best_index_ == compiled_search.best_index_
    np.testing.assert_array_equal(search.results_["prior"], compiled_search.results_["prior"])
    np.testing.assert_allclose(search.results_["bic"], compiled_search.results_["bic"], rtol=1e-5)
    np.testing.assert_allclose(search.predict_proba(X), compiled_search.predict_proba(X), atol=1e-4)


# -- choosing -----------------------------------------------------------------------------------------------------


def test_the_search_keeps_the_best_and_shows_the_rest():
    X, _ = blobs()
    search = MixtureSearch(range(1, 5), ["EII", "VVV"], random_state=0).fit(X)
    assert (search.best_estimator_.n_components, search.best_estimator_.covariance) == (3, "EII")
    table = pd.DataFrame(search.results_)
    assert len(table) == 8
    assert table["bic"].idxmin() == search.best_index_
    clone(search)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("covariance", ["EII", "EEE", "VVI", "VVE", "VVV"])
def test_figures_are_those_of_the_best_mixture(covariance, weighted):
    X, _ = blobs(150)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 150) if weighted else None
    search = MixtureSearch([3], covariance).fit(X, sample_weight=weight)
    best, row = search.best_estimator_, {name: values[0] for name, values in search.results_.items()}
    for name in ("bic", "aic", "icl"):
        assert row[name] == pytest.approx(getattr(best, name)(X, weight), rel=1e-9)
    assert row["n_parameters"] == best.n_parameters_
    assert row["converged"] == best.converged_
    assert best.prior is None
    # the way from the start, and a fixed point of maximum likelihood
    assert best.n_iter_ == len(best.bound_history_) >= 2
    assert (np.diff(best.bound_history_) > -1e-9 * abs(best.bound_history_[-1])).all()
    again = Mixture(3, covariance=covariance, prior=None, init=best, max_iter=1, tol=0)
    assert again.fit(X, sample_weight=weight).score(X) == pytest.approx(best.score(X), abs=1e-4)


@pytest.mark.parametrize("criterion", ["icl", "aic", "cv"])
def test_every_criterion_finds_the_clusters(criterion):
    X, _ = blobs(200)
    search = MixtureSearch([1, 3], "spherical", criterion, random_state=0, cv=3).fit(X)
    assert search.best_estimator_.n_components == 3
    with pytest.raises(ValueError, match="criterion must be one of"):
        MixtureSearch(criterion="best").fit(X)


def test_held_out_rows_are_scored_by_mixtures_that_did_not_see_them():
    from sklearn.model_selection import KFold

    X, _ = blobs(90)
    search = MixtureSearch([2], "EEE", "cv", cv=3).fit(X)
    total = 0.0
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        total += MixtureSearch([2], "EEE").fit(X[train]).score_samples(X[test]).sum()
    assert search.results_["cv"][0] == pytest.approx(total / 90, rel=1e-9)


def test_units_and_the_order_of_rows_do_not_matter():
    X, _ = blobs(120)
    models = ["VVI", "EEE", "EVV", "VVV"]
    order = np.random.default_rng(2).permutation(120)
    plain, other = (MixtureSearch([2, 4], models).fit(rows) for rows in (X, (X * [1e-3, 1e4] + [5.0, -1e6])[order]))
    scale = 120 * np.log(10.0)
    np.testing.assert_allclose(plain.results_["log_likelihood"] - scale, other.results_["log_likelihood"], atol=1e-2)


def test_rows_without_weight_are_absent():
    X, _ = blobs(150)
    weight = (np.arange(150) % 3 > 0).astype(float)
    whole = MixtureSearch([1, 3], ["EEE", "VVV"]).fit(np.where(weight[:, None] > 0, X, 99.0), sample_weight=weight)
    part = MixtureSearch([1, 3], ["EEE", "VVV"]).fit(X[weight > 0])
    np.testing.assert_allclose(whole.results_["bic"], part.results_["bic"], rtol=1e-9)


def test_many_rows_begin_with_a_sample(monkeypatch):
    X, _ = blobs(900)
    monkeypatch.setattr(search_grids, "MOST_SAMPLED", 100)
    search = MixtureSearch([1, 3], ["EII", "VVE", "VVV"], random_state=0).fit(X)
    best = search.best_estimator_
    assert (best.n_components, best.covariance) == (3, "EII")
    assert best.n_rows_ == 900
    assert search.results_["bic"][search.best_index_] == pytest.approx(best.bic(X), rel=1e-9)


def test_threads_change_nothing():
    X, _ = blobs(150)
    one, two = (MixtureSearch([1, 2, 3], ["EEE", "VVE", "VVV"], n_jobs=jobs).fit(X) for jobs in (1, 2))
    for name, values in one.results_.items():
        np.testing.assert_array_equal(values, two.results_[name])


@pytest.mark.parametrize("kind", ["float32", "integers", "frame", "sparse", "list"])
def test_numbers_of_every_kind(kind):
    X = blobs(90)[0].round(0)
    given = {
        "float32": lambda: X.astype(np.float32),
        "integers": lambda: X.astype(int),
        "frame": lambda: pd.DataFrame(X, columns=["a", "b"]),
        "sparse": lambda: sparse.csr_array(X),
        "list": lambda: X.tolist(),
    }[kind]()
    search, plain = (MixtureSearch([1, 3], ["EII", "EEE"]).fit(rows) for rows in (given, X))
    np.testing.assert_allclose(search.results_["bic"], plain.results_["bic"], rtol=1e-9)
    assert hasattr(search, "feature_names_in_") == (kind == "frame")


def test_tables_of_all_sorts_are_searched():
    X, z = blobs(200)
    incomplete = X.copy()
    incomplete[::7, 1] = np.nan
    search = MixtureSearch([1, 3], ["EII", "VVV"], random_state=0).fit(incomplete)
    assert (search.best_estimator_.n_components, search.best_estimator_.covariance) == (3, "EII")
    assert not search.results_["prior"].any()
    mixed = pd.DataFrame({"x": X[:, 0], "word": np.array(["a", "b", "c"])[z]})
    search = MixtureSearch([1, 3], "EII", random_state=0).fit(mixed)
    assert search.best_estimator_.n_components == 3
    assert search.results_["prior"].all()  # else an unseen word would be impossible


# -- without an estimate ------------------------------------------------------------------------------------------


def with_a_point(n=40):
    """Return rows of which many are the same, so that a component of its own has no variance."""
    return np.concatenate([blobs(100)[0], np.full((n, 2), 20.0)])


@pytest.mark.parametrize("missing", [False, True])
def test_a_component_that_collapses_gets_the_weak_prior_and_is_not_the_best(missing):
    X = with_a_point()
    if missing:
        X[:100:9, 1] = np.nan
    search = MixtureSearch([2, 4], ["EII", "VVV"], random_state=0).fit(X)
    table = pd.DataFrame(search.results_)
    assert table.set_index(["covariance", "n_components"])["prior"].to_dict() == {
        ("EII", 2): False, ("VVV", 2): True, ("EII", 4): False, ("VVV", 4): True,
    }  # fmt: skip
    assert table["bic"].idxmin() != search.best_index_  # the figure of the collapsed one is the prior's
    assert search.best_estimator_.covariance == "EII"
    assert search.best_estimator_.prior is None
    alone = MixtureSearch([2], "VVV", random_state=0).fit(X)
    assert alone.best_estimator_.prior == "auto"
    honest = MixtureSearch([2, 4], ["EII", "VVV"], prior=None, random_state=0).fit(X)
    assert np.isnan(honest.results_["bic"]).tolist() == [False, True, False, True]
    with pytest.raises(ValueError, match="no mixture of the grid has an estimate"):
        MixtureSearch([2], "VVV", prior=None, random_state=0).fit(X)


@needs_kernels  # the search takes a minute without
def test_no_spurious_mixture_of_a_coarse_grid_is_chosen():
    X = np.random.default_rng(5).integers(0, 3, (200, 2))  # nine points
    search = MixtureSearch().fit(X)
    # mclust 6.0.0: EII, 8, and no estimate for any structure whose volumes or shapes vary
    assert (search.best_estimator_.covariance, search.best_estimator_.n_components) == ("EII", 8)
    assert search.results_["bic"][search.best_index_] == pytest.approx(529.7956, abs=1e-3)


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_clusters_on_parallel_lines_are_not_chosen(seed):
    X = np.random.default_rng(seed).normal(size=(170, 2)).round()
    search = MixtureSearch([7, 9], ["EEI", "VEE", "EEV"]).fit(X)
    best = search.best_estimator_
    assert best.covariance in ("EEI", "EEV")
    assert best.prior is None
    assert np.linalg.eigvalsh(best.covariances_).min() > 1e-4
    assert search.results_["prior"][search.results_["covariance"] == "VEE"].any()


def test_collapse_is_told_by_what_a_structure_needs():
    point, line, plane = np.zeros((2, 2)), np.diag([0.1, 0.0]), np.diag([0.1, 0.2])
    slanted = np.full((2, 2), 0.1)
    count = np.array([30.0, 70.0])
    cases = {
        "EII": [(point, plane, False), (point, point, True)],
        "VII": [(point, plane, True), (line, plane, False)],
        "EEI": [(line, plane, False), (line, line, True), (slanted, slanted, False)],
        "VEI": [(line, plane, False), (point, plane, True), (line, line, True)],
        "EVI": [(line, plane, True), (slanted, plane, False)],
        "VVI": [(line, plane, True), (plane, plane, False)],
        "EEE": [(line, plane, False), (slanted, slanted, True), (line, line, True)],
        "VEE": [(line, plane, False), (point, plane, True)],
        "EVE": [(slanted, plane, True), (plane, plane, False)],
        "VVE": [(slanted, plane, True), (plane, plane, False)],
        "EEV": [(slanted, plane, False), (slanted, line, True)],
        "VEV": [(slanted, plane, False), (point, plane, True)],
        "EVV": [(slanted, plane, True), (plane, plane, False)],
        "VVV": [(slanted, plane, True), (plane, plane, False)],
    }
    for code, expected in cases.items():
        for first, second, answer in expected:
            assert collapsed(np.stack([first, second]), count, code) is answer, (code, first, second)


def test_priors_of_ones_own_are_for_all():
    X, _ = blobs(150)
    for prior in (NormalInverseWishart(), NormalInverseWishart(5.0, mean_count=1.0), 2.0):
        search = MixtureSearch([1, 3], ["EII", "VVV"], prior=prior, random_state=0).fit(X)
        assert search.results_["prior"].all()
        assert search.best_estimator_.prior == prior
        assert search.best_estimator_.n_components == 3


def test_fewer_distinct_rows_than_components():
    X = np.repeat(blobs()[0][:3], 20, axis=0)
    search = MixtureSearch([2, 5], ["EII", "VVV"], random_state=0).fit(X)
    assert np.isfinite(search.score(X))
    assert np.isnan(search.results_["bic"]).tolist() == [False, False, True, True]
    assert np.isfinite(MixtureSearch([1, 2], ["EII", "VVV"]).fit(X[:1]).score(X[:1]))
    assert np.isfinite(MixtureSearch([1, 2], ["EII", "VVV"]).fit(np.ones((9, 2))).score(np.ones((9, 2))))


# -- the use of what was found ------------------------------------------------------------------------------------


def test_a_search_is_used_as_its_best_mixture_is():
    X, _ = blobs(150)
    search = MixtureSearch([1, 3], ["EII", "VVV"]).fit(X)
    best = search.best_estimator_
    for use in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(search, use)(X), getattr(best, use)(X))
    assert search.score(X) == best.score(X)
    np.testing.assert_array_equal(search.sample(5, random_state=0)[0], best.sample(5, random_state=0)[0])
    incomplete = np.where(X > 7.0, np.nan, X)
    np.testing.assert_array_equal(search.impute(incomplete), best.impute(incomplete))
    np.testing.assert_array_equal(MixtureSearch([1, 3], ["EII", "VVV"]).fit_predict(X), search.predict(X))
    with pytest.raises(NotFittedError):
        MixtureSearch().predict_proba(X)


@pytest.mark.parametrize("settings", [{}, {"criterion": "cv", "cv": 2, "n_components": range(1, 3)}, {"prior": 1.0}])
def test_a_saved_search_comes_back(settings, tmp_path):
    X = pd.DataFrame(with_a_point(), columns=["a", "b"])
    search = MixtureSearch(**{"n_components": [1, 4], "covariance": ["EII", "VVV"], "random_state": 3, **settings})
    search.fit(X)
    suffice.save(search, tmp_path / "m")
    again = suffice.load(tmp_path / "m")
    assert isinstance(again, MixtureSearch)
    assert list(again.n_components) == list(search.n_components)
    for name in ("covariance", "criterion", "prior", "random_state", "max_iter", "cv"):
        assert getattr(again, name) == getattr(search, name)
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    assert again.best_estimator_.bound_history_ == search.best_estimator_.bound_history_
    assert again.best_index_ == search.best_index_
    pd.testing.assert_frame_equal(pd.DataFrame(again.results_), pd.DataFrame(search.results_))
    np.testing.assert_array_equal(again.feature_names_in_, search.feature_names_in_)
    with pytest.raises(ValueError, match="only a fitted model can be saved"):
        suffice.save(MixtureSearch(), tmp_path / "none")


def test_the_search_draws_itself(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    X, _ = blobs(150)
    search = MixtureSearch([1, 2, 3], ["EII", "VVI"], random_state=0).fit(X)
    suffice.save(search, tmp_path / "m")
    for drawn in (search, suffice.load(tmp_path / "m")):
        assert [line.get_label() for line in drawn.plot().get_lines()][:2] == ["EII", "VVI"]


def test_a_column_that_is_constant_in_a_fold_does_not_stop_cross_validation():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)) + 4.0 * (np.arange(60) % 2)[:, None], np.arange(60) == 7])
    search = MixtureSearch(2, ["EII", "VVV"], "cv").fit(X)
    assert np.isfinite(search.results_["cv"]).all()
