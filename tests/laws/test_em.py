"""EM: the bound rises every iteration and is the log-likelihood at the expectation step, whatever the family."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import GaussianDiscriminant, GenerativeClassifier, Mixture, NaiveBayes, compiled
from suffice.errors import EstimateError
from suffice.mixtures.start_clusters import Points
from suffice.optimize import em
from suffice.optimize.interrupts import Interrupted
from suffice.selection.mixture_search import ALL

DISCRETE = ("bernoulli", "categorical", "multinomial", "poisson")


def clusters(n=300, d=3, k=3, seed=0):
    """Return rows of overlapping Gaussian clusters, and where they come from."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, k, n)
    mixing = rng.normal(size=(k, d, d)) * 0.6 + np.eye(d)
    return np.einsum("nij,nj->ni", mixing[z], rng.normal(size=(n, d))) + 2.0 * rng.normal(size=(k, d))[z], z


def same_bounds(one, other, rtol):
    """Compare what two fits say of their bounds; with ``tol=0`` rounding decides which iteration is the last."""
    both = min(len(one.bound_history_), len(other.bound_history_))
    np.testing.assert_allclose(one.bound_history_[:both], other.bound_history_[:both], rtol=rtol)
    assert one.bound_history_[-1] == pytest.approx(other.bound_history_[-1], rel=rtol)


def counts(family, n=400, d=6, k=3, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, k, n)
    p = rng.dirichlet(np.ones(d), size=k)
    if family == "bernoulli":
        return (rng.random((n, d)) < rng.random((k, d))[z]).astype(float), z
    if family == "categorical":
        return np.stack([(rng.random(n)[:, None] > np.cumsum(p[z], axis=1)).sum(1) for _ in range(d)], axis=1), z
    if family == "multinomial":
        return rng.multinomial(20, p[z]).astype(float), z
    return rng.poisson(8 * p[z]).astype(float), z


def never_falls(bounds):
    bounds = np.array(bounds)
    assert np.isfinite(bounds).all()
    assert (np.diff(bounds) >= -1e-8 * (1 + np.abs(bounds[1:]))).all(), np.diff(bounds).min()


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("structure", ALL)
@pytest.mark.parametrize("prior", ["auto", None])
@pytest.mark.parametrize(("weighted", "acceleration"), [(False, None), (True, None), (True, "squarem")])
def test_the_bound_never_falls_for_any_structure(structure, prior, weighted, acceleration):
    X, _ = clusters()
    weight = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    options = {"n_init": 1, "tol": 0, "max_iter": 40, "random_state": 0, "acceleration": acceleration}
    model = quietly(Mixture(3, covariance=structure, prior=prior, **options), X, None, weight)
    never_falls(model.bound_history_)


@pytest.mark.parametrize("structure", ["full", "tied", "diagonal", "tied-diagonal", "spherical", "VEE", "EVE", "VEI"])
@pytest.mark.parametrize(("prior", "acceleration"), [("auto", None), (None, None), (None, "squarem")])
def test_the_bound_never_falls_with_missing_values(structure, prior, acceleration):
    X, _ = clusters()
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    options = {"n_init": 1, "tol": 0, "max_iter": 40, "random_state": 0, "acceleration": acceleration}
    model = quietly(Mixture(2, covariance=structure, prior=prior, **options), X)
    never_falls(model.bound_history_)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("family", DISCRETE)
@pytest.mark.parametrize("prior", ["auto", 0.3, None])
@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_the_bound_never_falls_for_any_discrete_family(family, prior, acceleration):
    X, _ = counts(family)
    options = {"init": "random", "n_init": 1, "tol": 0, "max_iter": 60, "random_state": 0}
    model = quietly(Mixture(3, family, prior=prior, acceleration=acceleration, **options), X)
    never_falls(model.bound_history_)


@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_the_bound_never_falls_over_mixed_tables_with_missing_values(acceleration):
    pd = pytest.importorskip("pandas")
    X, z = clusters(400, 2)
    words, _ = counts("categorical", 400, 2)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": np.array(list("abcdef"))[words[:, 0]], "yes": z == 1})
    table.loc[::7, "a"] = np.nan
    table.loc[::5, "word"] = None
    model = quietly(Mixture(3, n_init=2, tol=0, max_iter=40, acceleration=acceleration, random_state=0), table)
    never_falls(model.bound_history_)
    drawn, _ = model.sample(5, random_state=0)
    assert list(drawn.columns) == list(table.columns)


@pytest.mark.parametrize("structure", ["full", "tied", "diagonal", "spherical"])
@pytest.mark.parametrize("missing", [False, True])
def test_the_bound_is_the_log_likelihood_at_the_expectation_step(structure, missing):
    X, z = clusters()
    start = quietly(Mixture(3, covariance=structure, prior=None, init=z, max_iter=1), X)
    if missing:
        X = np.where(np.random.default_rng(3).random(X.shape) < 0.2, np.nan, X)
    model = quietly(Mixture(3, covariance=structure, prior=None, init=start, max_iter=3, tol=0), X)
    assert model.bound_history_[0] == pytest.approx(start.score_samples(X).sum(), rel=1e-10)
    again = quietly(Mixture(3, covariance=structure, prior=None, init=start, max_iter=2, tol=0), X)
    assert model.bound_history_[2] == pytest.approx(again.score_samples(X).sum(), rel=1e-10)


# -- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_with_all_labels_the_fit_is_the_supervised_one(covariance):
    X, z = clusters()
    model = GenerativeClassifier(covariance=covariance).fit(X, z)
    partly = GenerativeClassifier(covariance=covariance, missing_label=-1).fit(X, z)
    np.testing.assert_array_equal(partly.predict_proba(X), model.predict_proba(X))
    assert not hasattr(partly, "bound_history_")


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_without_labels_the_classifier_is_the_mixture(covariance):
    X, _ = clusters()
    classifier = GenerativeClassifier(covariance=covariance, classes=["a", "b", "c"], random_state=3)
    classifier.fit(X, [None] * len(X))
    mixture = Mixture(3, covariance=covariance, random_state=3).fit(X)
    np.testing.assert_array_equal(classifier.predict_proba(X), mixture.predict_proba(X))
    assert classifier.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="pass the number of classes"):
        GenerativeClassifier().fit(X, [None] * len(X))


@pytest.mark.parametrize("make", [NaiveBayes, GenerativeClassifier, GaussianDiscriminant])
def test_no_labels_at_all_are_labels_that_are_all_missing(make, tmp_path):
    X, z = clusters()
    settings = {"classes": 3, "random_state": 3}
    wanted = make(**settings).fit(X, [None] * len(X)).predict_proba(X)
    np.testing.assert_array_equal(make(**settings).fit(X).predict_proba(X), wanted)
    streamed = make(**settings).fit(suffice.stream([X[:100], X[100:]]))
    np.testing.assert_allclose(streamed.predict_proba(X), wanted, atol=1e-6)
    halves = suffice.stream([(X[:100], z[:100]), X[100:]])
    partly = make(**settings).fit(halves)
    labels = [*z[:100].tolist(), *[None] * (len(X) - 100)]
    np.testing.assert_allclose(partly.predict_proba(X), make(**settings).fit(X, labels).predict_proba(X), atol=1e-6)
    with pytest.raises(ValueError, match="requires y to be passed"):
        make().fit(X)
    with pytest.raises(ValueError, match="requires y to be passed"):
        make(**settings).partial_fit(X)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "VEV"])
@pytest.mark.parametrize("weight", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_the_bound_never_falls_where_labels_are_missing(covariance, weight, acceleration):
    X, z = clusters()
    y = np.where(np.random.default_rng(4).random(len(z)) < 0.8, np.nan, z)
    options = {"unlabeled_weight": weight, "tol": 0, "max_iter": 30, "acceleration": acceleration}
    model = GenerativeClassifier(covariance=covariance, **options)
    quietly(model, X, y)
    never_falls(model.bound_history_)
    if weight == 0.0:
        known = ~np.isnan(y)
        alone = GenerativeClassifier(covariance=covariance).fit(X[known], y[known])
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-9)


def test_unlabelled_rows_help():
    X, z = counts("bernoulli", 3000, 12)
    y = np.where(np.arange(3000) < 30, z, -1)
    with pytest.warns(UserWarning, match="read as a missing label"):
        model = NaiveBayes("bernoulli").fit(X, y)
    alone = NaiveBayes("bernoulli").fit(X[:30], z[:30])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, z) > alone.score(X, z)


def test_soft_labels_beside_missing_ones():
    X, z = clusters(d=2)
    known = np.arange(len(z)) < 60
    soft = np.where(known[:, None], 0.94 * np.eye(3)[z] + 0.02, np.nan)
    model = quietly(GaussianDiscriminant("full", tol=0, max_iter=30), X, soft)
    never_falls(model.bound_history_)
    hard = quietly(GaussianDiscriminant("full", tol=0, max_iter=30), X, np.where(known[:, None], np.eye(3)[z], np.nan))
    codes = quietly(GaussianDiscriminant("full", tol=0, max_iter=30), X, np.where(known, z, np.nan))
    np.testing.assert_allclose(hard.predict_proba(X), codes.predict_proba(X), atol=1e-10)


def test_minus_one_can_be_a_class():
    X, z = clusters(k=3)
    signs = z - 1
    assert GaussianDiscriminant(missing_label=None).fit(X, signs).classes_.tolist() == [-1, 0, 1]
    assert GaussianDiscriminant().fit(X, np.where(z > 0, 1, -1)).classes_.tolist() == [-1, 1]


def test_a_named_class_without_a_labelled_row_is_an_error():
    X, z = clusters()
    y = np.where(np.arange(len(z)) < 100, z, None)
    with pytest.raises(ValueError, match="'d' was named, but no labelled row has it"):
        GenerativeClassifier(classes=["a", "b", "c", "d"]).fit(X, [None if v is None else "abc"[v] for v in y])


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("structure", [name for name in ALL if name.startswith("V")])
def test_a_component_on_one_point_has_no_maximum_of_the_likelihood(structure, kernels, monkeypatch):
    if not kernels:
        monkeypatch.setattr(compiled, "library", None)
    X = np.concatenate([clusters(60, 2)[0] + 9.0, np.zeros((20, 2))])
    start = Mixture(2, covariance=structure, init=(X[:, 0] == 0.0).astype(int)).fit(X)
    assert np.linalg.det(start.covariances_).min() < 1e-3  # by the weak prior
    for acceleration in (None, "squarem"):
        with pytest.raises(EstimateError, match=r"not positive|singular"):
            Mixture(2, covariance=structure, prior=None, init=start, acceleration=acceleration).fit(X)


@pytest.mark.parametrize("family", DISCRETE)
def test_maximum_likelihood_leaves_clusters_that_are_the_values_of_one_column(family, monkeypatch):
    X, _ = counts(family, k=2, seed=3)
    split = (X[:, 0] > 0).astype(int)
    alone = NaiveBayes(family, prior=None).fit(X, split)  # where EM stays: a value with probability 0 keeps it
    monkeypatch.setattr(Points, "planned_clusters", lambda *_: lambda: split)
    model = quietly(Mixture(2, family, prior=None), X)
    assert model.score(X) > alone.score_samples(X).mean() + 0.01
    assert len(set(model.predict(X)[split == 1])) == 2


# -- classes of several components ------------------------------------------------------------------------------------


def labels_for_components(z, labels):
    """Return two classes, the first of two clusters, with all labels, some of them, or probabilities and none."""
    y = (z == 2).astype(float)
    missing = np.random.default_rng(8).random(len(z)) < 0.7
    if labels == "soft":
        return np.where(missing[:, None], np.nan, np.stack([0.9 - 0.8 * y, 0.1 + 0.8 * y], axis=1))
    return np.where(missing, np.nan, y) if labels == "some" else y


@pytest.mark.parametrize("structure", ["full", "tied", "diagonal", "tied-spherical", "VEI", "VEV"])
@pytest.mark.parametrize("prior", ["auto", None])
@pytest.mark.parametrize("labels", ["all", "some", "soft"])
def test_the_bound_never_falls_where_classes_have_components(structure, prior, labels):
    X, z = clusters()
    weight = np.random.default_rng(1).uniform(0, 2, len(X))
    model = GenerativeClassifier(
        covariance=structure, prior=prior, n_components=2, unlabeled_weight=0.7, tol=0, max_iter=25, random_state=0
    )
    quietly(model, X, labels_for_components(z, labels), weight)
    assert len(model.bound_history_) > 1
    never_falls(model.bound_history_)


@pytest.mark.parametrize("structure", ["full", "tied", "diagonal", "VVE"])
@pytest.mark.parametrize("labels", ["all", "some"])
def test_the_bound_never_falls_where_classes_have_components_and_rows_have_missing_values(structure, labels):
    X, z = clusters()
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    model = GenerativeClassifier(covariance=structure, n_components={0: 3}, tol=0, max_iter=25, random_state=0)
    quietly(model, X, labels_for_components(z, labels))
    never_falls(model.bound_history_)


@pytest.mark.parametrize("family", DISCRETE)
@pytest.mark.parametrize("prior", ["auto", 0.3, None])
@pytest.mark.parametrize("labels", ["all", "some"])
def test_the_bound_never_falls_for_components_of_discrete_families(family, prior, labels):
    X, z = counts(family)
    model = NaiveBayes(family, prior, n_components=2, tol=0, max_iter=25, random_state=0)
    quietly(model, X, labels_for_components(z, labels))
    never_falls(model.bound_history_)


@pytest.mark.parametrize("labels", ["all", "some"])
def test_the_bound_of_components_is_the_log_likelihood_of_what_is_known(labels):
    X, z = clusters()
    y = labels_for_components(z, labels)
    options = {"covariance": "full", "prior": None, "n_components": 2, "tol": 0, "random_state": 0}
    model = quietly(GenerativeClassifier(max_iter=4, **options), X, y)
    before = quietly(GenerativeClassifier(max_iter=3, **options), X, y)
    joint, known = before.predict_joint_log_proba(X), ~np.isnan(y)
    log_likelihood = joint[known, y[known].astype(int)].sum() + before.score_samples(X)[~known].sum()
    assert model.bound_history_[3] == pytest.approx(log_likelihood, rel=1e-10)


# -- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_a_weight_of_two_is_the_row_twice(covariance):
    X, z = clusters(100)
    start = quietly(Mixture(3, covariance=covariance, init=z, max_iter=1), X)
    weight = np.random.default_rng(5).integers(0, 3, len(X)).astype(float)
    options = {"covariance": covariance, "prior": None, "init": start, "max_iter": 10, "tol": 0}
    weighted = quietly(Mixture(3, **options), X, None, weight)
    repeated = quietly(Mixture(3, **options), np.repeat(X, weight.astype(int), axis=0))
    same_bounds(weighted, repeated, rtol=1e-10)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-8)


def test_streams_files_and_memory_give_the_same_mixture(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, z = clusters(2000)
    start = quietly(Mixture(3, init=z, max_iter=1), X)
    options = {"init": start, "max_iter": 15, "tol": 0}
    memory = quietly(Mixture(3, **options), X)
    streamed = quietly(Mixture(3, **options), suffice.stream([X[:700], X[700:900], X[900:]]))
    same_bounds(streamed, memory, rtol=1e-10)
    np.testing.assert_allclose(streamed.means_, memory.means_, rtol=1e-5)
    pq.write_table(pa.table({name: X[:, i] for i, name in enumerate("abc")}), tmp_path / "rows.parquet")
    scanned = quietly(Mixture(3, **options), suffice.scan(tmp_path / "*.parquet", batch_rows=300))
    np.testing.assert_allclose(scanned.means_, memory.means_, rtol=1e-5)
    found = Mixture(3, random_state=0).fit(suffice.scan(tmp_path / "*.parquet", batch_rows=300))
    assert found.converged_
    with pytest.raises(ValueError, match="read only once"):
        Mixture(3).fit(suffice.stream(part for part in [X]))


@pytest.mark.torch
def test_torch_rows_give_the_same_mixture():
    torch = pytest.importorskip("torch")
    X, z = clusters(500)
    start = quietly(Mixture(3, init=z, max_iter=1), X)
    options = {"init": start, "max_iter": 10, "tol": 0}
    ours, theirs = quietly(Mixture(3, **options), X), quietly(Mixture(3, **options), torch.asarray(X))
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9)


def test_the_seed_decides():
    X, _ = clusters()
    one, other = (Mixture(4, random_state=7).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.means_, other.means_)


# -- missing cells ----------------------------------------------------------------------------------------------------


def observed_log_likelihood(X, mean, covariance):
    total = 0.0
    for row in X:
        there = ~np.isnan(row)
        if there.any():
            total += multivariate_normal(mean[there], covariance[np.ix_(there, there)]).logpdf(row[there])
    return total


@pytest.mark.slow
def test_em_over_missing_cells_is_the_maximum_of_the_observed_likelihood():
    rng = np.random.default_rng(6)
    X = rng.multivariate_normal([1.0, -1.0, 0.5], [[2.0, 1.2, 0.3], [1.2, 1.5, 0.2], [0.3, 0.2, 1.0]], size=60)
    X[rng.random(X.shape) < 0.25] = np.nan
    model = Mixture(1, prior=None, tol=1e-14, max_iter=5000).fit(X)
    lower = np.tril_indices(3)

    def negative(parameters):
        factor = np.zeros((3, 3))
        factor[lower] = parameters[3:]
        return -observed_log_likelihood(X, parameters[:3], factor @ factor.T + 1e-9 * np.eye(3))

    start = np.concatenate([np.nanmean(X, axis=0), np.linalg.cholesky(np.diag(np.nanvar(X, axis=0)))[lower]])
    found = minimize(negative, start, method="BFGS")
    assert model.score_samples(X).sum() == pytest.approx(-found.fun, abs=1e-5)
    np.testing.assert_allclose(model.means_[0], found.x[:3], atol=1e-3)


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_discriminant_analysis_learns_from_rows_with_missing_values(covariance):
    X, z = clusters(600, 4, 2)
    with_missing_cells = np.where(np.random.default_rng(7).random(X.shape) < 0.3, np.nan, X)
    model = quietly(GaussianDiscriminant(covariance, tol=1e-10, max_iter=2000), with_missing_cells, z)
    never_falls(model.bound_history_)
    whole = GaussianDiscriminant(covariance).fit(X, z)
    complete = ~np.isnan(with_missing_cells).any(1)
    partial = GaussianDiscriminant(covariance).fit(with_missing_cells[complete], z[complete])
    error = [np.abs(m.distributions_[0].means - whole.distributions_[0].means).max() for m in (model, partial)]
    assert error[0] < error[1]


# -- what cannot fail -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "spherical", "VEV", "EVE"])
@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.repeat(X[:3], 20, axis=0),  # fewer distinct rows than components
        lambda X: np.column_stack([X, np.full(len(X), 3.0)]),
        lambda X: np.column_stack([X, X[:, 0], 2 * X[:, 1]]),
        lambda X: X.astype(np.float32),
        lambda X: np.vstack([X, [[1e8] * X.shape[1]]]),
        lambda X: X[:5],
        lambda X: np.zeros((30, 2)),
        lambda X: X + 1e8,
    ],
    ids=["repeated", "constant", "duplicated", "float32", "outlier", "few", "nothing", "offset"],
)
def test_fits_do_not_fail(covariance, make):
    X = make(clusters(120)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = Mixture(5, covariance=covariance, random_state=0, max_iter=50).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.means_).all()
    assert model.weights_.sum() == pytest.approx(1.0)


# -- the loop ---------------------------------------------------------------------------------------------------------


def test_ctrl_c_keeps_the_best_so_far():
    class Taken:
        def __init__(self, statistics, log_likelihood):
            self.statistics, self.log_likelihood, self.weight = statistics, log_likelihood, 1.0

    def expect(model):
        if model == 3:
            raise KeyboardInterrupt
        return Taken(model, float(model))

    problem = em.Problem(
        expect, lambda statistics, model: model + 1, lambda model, statistics: 0.0, lambda parts, weights, start: None
    )
    with pytest.raises(Interrupted) as stop:
        em.run(problem, 0, max_iter=10, tol=0.0)
    outcome = stop.value.outcome
    assert (outcome.model, outcome.bounds, outcome.interrupted) == (3, [0.0, 1.0, 2.0], True)
    with pytest.raises(KeyboardInterrupt) as stop:
        em.run(problem, 3, max_iter=10, tol=0.0)
    assert not isinstance(stop.value, Interrupted)  # there is nothing to keep


def test_a_fit_that_does_not_converge_says_so():
    X, _ = clusters()
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 iterations"):
        Mixture(5, max_iter=2, tol=0, random_state=0).fit(X)
