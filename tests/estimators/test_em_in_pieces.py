"""EM in pieces: the expectation step, the maximisation step, and the bound on both sides of each."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone

import suffice
from suffice import (
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    NaiveBayes,
    SoftKMeans,
    e_step,
    em_steps,
    m_step,
)


def clusters(n=120, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) + np.array([[0, 0], [4, 1], [1, 5]])[y][:, :d], y


def mixed(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "city": np.where(rng.random(n) < 0.2 + 0.6 * y, "Oslo", "Rome"),
            "height": rng.normal(1.7 + 0.2 * y, 0.1),
            "member": rng.random(n) < 0.3 + 0.4 * y,
        }
    )
    frame.loc[rng.random(n) < 0.2, "city"] = None
    frame.loc[rng.random(n) < 0.2, "height"] = np.nan
    return frame, np.where(y == 1, "a", "b")


def partly(y, share=0.7, seed=1):
    some = pd.Series(y, dtype=object).copy()
    some[np.random.default_rng(seed).random(len(y)) < share] = None
    return some


def with_holes(X, seed=2):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.15] = np.nan
    return X


X, Y = clusters()
FRAME, LABELS = mixed()
WEIGHT = np.random.default_rng(3).uniform(0, 2, len(X))
QUICK = {"random_state": 0, "max_iter": 12, "tol": 0.0}

CASES = {
    "Gaussian mixture": (Mixture(3, prior=None, **QUICK), X, None, None),
    "with a prior": (Mixture(3, covariance="VEE", **QUICK), X, None, None),
    "with weights": (Mixture(3, prior=None, **QUICK), X, None, WEIGHT),
    "with missing cells": (Mixture(2, prior=None, **QUICK), with_holes(X), None, WEIGHT),
    "missing cells, independent columns": (Mixture(2, covariance="diagonal", **QUICK), with_holes(X), None, None),
    "mixed columns": (Mixture(2, **QUICK), FRAME, None, None),
    "soft k-means": (SoftKMeans(3, **QUICK), X, None, None),
    "naive Bayes, partly labelled": (NaiveBayes(**QUICK), FRAME, partly(LABELS), WEIGHT),
    "discriminant, partly labelled": (GaussianDiscriminant("full", **QUICK), X, partly(Y), None),
    "unlabelled rows count less": (GaussianDiscriminant("tied", unlabeled_weight=0.3, **QUICK), X, partly(Y), WEIGHT),
    "missing cells and labels": (GaussianDiscriminant("full", **QUICK), with_holes(X), partly(Y), None),
    "no label at all": (GaussianDiscriminant("full", classes=3, **QUICK), X, None, None),
    "several components per class": (GaussianDiscriminant("tied", n_components=2, **QUICK), X, partly(Y, 0.4), None),
    "class probabilities, some missing": (
        GenerativeClassifier(n_components=2, **QUICK),
        X,
        np.where(WEIGHT[:, None] < 1, np.nan, np.stack([WEIGHT / 2, 1 - WEIGHT / 2], axis=1)),
        None,
    ),
}


@pytest.fixture(autouse=True)
def _only_these_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "EM did not converge")
        yield


@pytest.mark.parametrize("case", CASES)
def test_the_bound_is_the_log_likelihood_after_an_e_step_and_never_falls(case):
    model, rows, y, weight = CASES[case]
    steps = list(em_steps(model, rows, y, weight))
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        size = abs(step.log_likelihood)
        np.testing.assert_allclose(step.q.sum(axis=1), 1.0, rtol=1e-12)
        assert step.Q + step.H == step.bound == pytest.approx(step.log_likelihood, rel=1e-10)
        assert abs(step.gap) <= 1e-10 * size
        assert step.gap_after >= -1e-10 * size
        assert step.bound_after + step.log_prior_after >= step.bound + step.log_prior - 1e-9 * size
        assert step.log_likelihood_after == pytest.approx(step.bound_after + step.gap_after, rel=1e-12)
    for one, following in itertools.pairwise(steps):
        assert following.log_likelihood == pytest.approx(one.log_likelihood_after, rel=1e-12)
        assert following.before is one.after
    assert steps[0].gap_after > 0.0
    assert "gap" in repr(steps[0])
    assert not hasattr(model, "statistics_")  # the model that was given is unchanged


@pytest.mark.parametrize("case", CASES)
def test_steps_are_those_of_fit(case):
    model, rows, y, weight = CASES[case]
    fitted = clone(model).fit(rows, y, weight)
    steps = list(em_steps(model, rows, y, weight))
    ours, bounds = [step.log_likelihood + step.log_prior for step in steps], np.array(fitted.bound_history_)
    done = int(np.argmin(np.abs(bounds - ours[0])))  # a comparison of starts has made the first iterations of a mixture
    assert done == 0 or isinstance(model, Mixture) or y is None
    assert done < 10
    np.testing.assert_allclose(ours[: len(bounds) - done], bounds[done:], rtol=1e-8)
    last = steps[-1]
    np.testing.assert_allclose(
        last.after.predict_proba(rows), e_step(last.after, rows).q @ _classes(last.after), atol=1e-9
    )


def _classes(model):
    """Return which component belongs to which class, m×k."""
    if isinstance(model, Mixture):
        return np.eye(len(model.weights_))
    return (model.component_classes_[:, None] == model.classes_).astype(float)


def test_iterations_and_their_end_are_those_of_fit_from_the_same_start():
    start = Mixture.from_parameters([0.4, 0.6], [[0.0, 0.0], [2.0, 2.0]], np.array([np.eye(2)] * 2), prior=None)
    fitted = Mixture(2, prior=None, init=start, tol=1e-4).fit(X)
    steps = list(em_steps(Mixture(2, prior=None, init=start, tol=1e-4), X))
    assert len(steps) == fitted.n_iter_
    np.testing.assert_allclose([step.log_likelihood for step in steps], fitted.bound_history_, rtol=1e-10)
    np.testing.assert_allclose(steps[-1].after.means_, fitted.means_, rtol=1e-8)
    assert steps[-1].after.converged_
    assert not steps[-2].after.converged_
    assert steps[-1].after.bound_history_ == [step.log_likelihood for step in steps]


def test_figures_by_hand():
    x = np.array([-1.2, -0.7, 0.1, 3.0, 3.6])
    weight = np.array([1.0, 2.0, 0.5, 1.0, 0.0])
    start = Mixture.from_parameters([0.3, 0.7], [[-1.0], [1.0]], [[1.0], [4.0]], prior=None)
    joint = np.log([0.3, 0.7]) + norm([-1.0, 1.0], [1.0, 2.0]).logpdf(x[:, None])
    q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    step = next(em_steps(start, x[:, None], sample_weight=weight))
    np.testing.assert_allclose(step.q, q, rtol=1e-12)
    np.testing.assert_allclose(step.Q, (weight[:, None] * q * joint).sum(), rtol=1e-12)
    np.testing.assert_allclose(step.H, -(weight[:, None] * q * np.log(q)).sum(), rtol=1e-12)
    assert step.log_likelihood == pytest.approx((weight * logsumexp(joint, axis=1)).sum(), rel=1e-12)
    n = weight @ q
    mean = (weight[:, None] * q).T @ x / n
    variance = (weight[:, None] * q * (x[:, None] - mean) ** 2).sum(axis=0) / n
    np.testing.assert_allclose(step.after.means_[:, 0], mean, rtol=1e-12)
    np.testing.assert_allclose(step.after.covariances_[:, 0, 0], variance, rtol=1e-12)
    np.testing.assert_allclose(step.e.statistics.class_count, n, rtol=1e-12)
    better = np.log(n / n.sum()) + norm(mean, np.sqrt(variance)).logpdf(x[:, None])
    assert step.Q_after == pytest.approx((weight[:, None] * q * better).sum(), rel=1e-12)
    true = np.exp(better - logsumexp(better, axis=1, keepdims=True))
    divergence = (weight[:, None] * q * np.log(q / true)).sum()
    assert step.gap_after == pytest.approx(divergence, rel=1e-9)
    assert step.to_dict()["gap_after"] == step.gap_after


@pytest.mark.parametrize("prior", [None, "auto"])
@pytest.mark.parametrize("name", ["full", "tied", "VEI"])
def test_responsibilities_of_0_and_1_are_complete_data(name, prior):
    model = GaussianDiscriminant(name, prior=prior)
    fitted = clone(model).fit(X, Y)
    for estimated in (m_step(model, X, np.eye(3)[Y]), m_step(fitted, X, np.eye(3)[Y]), m_step(fitted, X, Y)):
        np.testing.assert_allclose(estimated.predict_proba(X), fitted.predict_proba(X), atol=1e-10)
    step = next(em_steps(model, X, Y))  # the same call learns from complete data: H = 0, and one step is the fit
    assert step.H == 0.0
    np.testing.assert_allclose(step.after.predict_proba(X), fitted.predict_proba(X), atol=1e-10)
    by_component = m_step(Mixture(3, covariance=name, prior=None), X, np.eye(3)[Y])
    if prior is None:
        np.testing.assert_allclose(by_component.means_, fitted.distributions_[0].mean(), rtol=1e-10)
        np.testing.assert_allclose(by_component.predict_proba(X), fitted.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_an_iteration_is_an_e_step_and_an_m_step(case):
    model, rows, y, weight = CASES[case]
    first, second = itertools.islice(em_steps(model, rows, y, weight), 2)
    e = e_step(first.before, rows, y, weight)
    np.testing.assert_allclose(e.q, first.q, atol=1e-12)
    np.testing.assert_allclose(e.Q, first.Q, rtol=1e-12)
    m = m_step(first.before, e)
    np.testing.assert_allclose(m.predict_proba(rows), second.before.predict_proba(rows), atol=1e-9)
    if _classes(m).shape[0] == _classes(m).shape[1] and not hasattr(model, "unlabeled_weight"):
        given = m_step(first.before, rows, e.q, weight)
        np.testing.assert_allclose(given.predict_proba(rows), m.predict_proba(rows), atol=1e-9)


def test_responsibilities_may_name_the_classes():
    R = pd.DataFrame(np.eye(2)[(LABELS == "a").astype(int)], columns=["b", "a"])
    estimated = m_step(NaiveBayes(), FRAME, R)
    np.testing.assert_allclose(
        estimated.predict_proba(FRAME), NaiveBayes().fit(FRAME, LABELS).predict_proba(FRAME), atol=1e-12
    )
    again = m_step(estimated, FRAME, R[["a", "b"]])
    np.testing.assert_allclose(again.predict_proba(FRAME), estimated.predict_proba(FRAME), atol=1e-12)


def test_a_fitted_classifier_goes_on_with_rows_without_labels():
    fitted = GaussianDiscriminant("full").fit(X[:40], Y[:40])
    steps = list(em_steps(fitted, X))
    np.testing.assert_allclose(steps[0].q, fitted.predict_proba(X), atol=1e-12)
    assert steps[0].before.score(X, Y) > 0.8
    assert steps[-1].after.converged_
    assert set(steps[-1].after.predict(X)) <= {0, 1, 2}


def test_streams_are_read_again_in_every_pass():
    def batches():
        return ((X[i : i + 50], partly(Y)[i : i + 50]) for i in range(0, len(X), 50))

    model = GaussianDiscriminant("full", max_iter=3, tol=0.0)
    streamed = list(em_steps(model, suffice.stream(batches)))
    whole = list(em_steps(model, X, partly(Y)))
    for one, other in zip(streamed, whole, strict=True):
        np.testing.assert_allclose(one.q, other.q, atol=1e-9)
        np.testing.assert_allclose(one.Q, other.Q, rtol=1e-9)
    with pytest.raises(ValueError, match="a stream or a scan brings its own labels"):
        em_steps(whole[0].after, suffice.stream(batches), Y)


def test_values_that_no_component_allows_make_the_log_likelihood_infinite_and_no_gap():
    rows = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"]})
    fitted = NaiveBayes(prior=None).fit(rows, [0, 0, 1, 1])
    e = e_step(fitted, pd.DataFrame({"a": ["z", "x"], "b": ["u", "u"]}))
    np.testing.assert_allclose(e.q, [[0.5, 0.5], [1.0, 0.0]])
    assert e.log_likelihood == e.bound == -np.inf
    assert e.gap == 0.0


def test_loaded_mixtures_go_on(tmp_path):
    fitted = Mixture(2, random_state=0).fit(X)
    suffice.save(fitted, tmp_path / "m.suffice")
    loaded = suffice.load(tmp_path / "m.suffice")
    one, other = next(em_steps(fitted, X)), next(em_steps(loaded, X))
    assert one.log_prior == pytest.approx(other.log_prior, rel=1e-9)
    np.testing.assert_allclose(one.after.means_, other.after.means_, rtol=1e-9)


def test_one_component_and_one_row():
    steps = list(em_steps(Mixture(1, prior=None), X))
    assert steps[0].H == 0.0
    np.testing.assert_allclose(steps[0].after.means_, [X.mean(axis=0)])
    np.testing.assert_allclose(m_step(Mixture(1), X, np.ones((len(X), 1))).means_, [X.mean(axis=0)])
    step = next(em_steps(Mixture.from_parameters([0.5, 0.5], [[0.0], [1.0]], [[1.0], [1.0]], prior=1.0), [[0.5]]))
    np.testing.assert_allclose(step.q, [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: em_steps(suffice.GLM("poisson"), X), "EM is that of a mixture or a generative classifier"),
        (lambda: em_steps(Mixture(2), X, Y), "a mixture has no labels"),
        (lambda: em_steps(NaiveBayes(), X), "y"),
        (lambda: em_steps(NaiveBayes(estimate="predictive"), X, Y), "estimate='predictive' averages"),
        (lambda: e_step(Mixture(2), X), "an expectation step needs parameters"),
        (lambda: m_step(Mixture(2), X), "a maximisation step needs responsibilities"),
        (lambda: m_step(Mixture(2), X, np.ones((len(X), 3))), "probabilities that sum to 1"),
        (lambda: m_step(Mixture(2), X, np.full((len(X), 3), 1 / 3)), "one column per class"),
        (lambda: m_step(Mixture(2), X, np.full((3, 2), 0.5)), "one label per row"),
        (lambda: e_step(Mixture(2, random_state=0).fit(X), X[:, :1]), "expecting 2 features"),
        (lambda: m_step(NaiveBayes(), e_step(Mixture(2, random_state=0).fit(X), X)), "result of e_step of the same"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("step", [e_step, m_step, lambda *given: next(em_steps(*given))])
@pytest.mark.parametrize(
    "model",
    [GaussianDiscriminant("full"), NaiveBayes(), NaiveBayes(missing_label=None), GaussianDiscriminant(n_components=2)],
)
def test_labels_that_are_no_classes_of_a_fitted_model_are_refused(model, step):
    X, y = clusters()
    fitted = clone(model).fit(X, np.array(["a", "b", "c"])[y])
    for labels in (["z"] * len(X), [*np.array(["a", "b", "c"])[y[:-1]], "z"], y):
        with pytest.raises(ValueError, match="which is not among the classes"):
            step(fitted, X, labels)
