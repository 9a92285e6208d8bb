"""Leaps of EM: fewer passes to the same optimum, never a lower bound, and every pass is counted."""

from itertools import pairwise

import numpy as np
import pytest

import suffice
from suffice import GenerativeClassifier, Mixture, MixtureSearch, NaiveBayes, SoftKMeans
from suffice.optimize import em
from suffice.optimize.extrapolation import Squarem

from .test_em import clusters, counts, never_falls, quietly, same_bounds


def overlapping(n=600, seed=0):
    """Return rows of three clusters that overlap so much that EM is slow."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) + 1.6 * np.array([[0, 0], [1, 0], [0, 1.2]])[z], z


def answers(n=1000, d=8, seed=0):
    """Return yes and no answers of two groups that are hard to tell apart."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n)
    return (rng.random((n, d)) < np.where(z[:, None] == 1, 0.62, 0.38)).astype(float), z


def both(make, *args):
    """Return the fit without extrapolation, and the one with it."""
    return [quietly(make(acceleration=acceleration), *args) for acceleration in (None, "squarem")]


def same_end_in_fewer_passes(plain, accelerated, times):
    assert plain.converged_
    assert accelerated.converged_
    never_falls(accelerated.bound_history_)
    assert accelerated.bound_history_[-1] >= plain.bound_history_[-1] - 1e-6 * abs(plain.bound_history_[-1])
    assert accelerated.n_iter_ == len(accelerated.bound_history_)
    assert times * accelerated.n_iter_ <= plain.n_iter_, (plain.n_iter_, accelerated.n_iter_)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied", "VEI"])
def test_overlapping_clusters_take_fewer_passes(covariance):
    X, z = overlapping()
    X = X * [1.0, 1e3] + [0.0, 1e5]  # units do not matter
    options = {"covariance": covariance, "init": z, "tol": 1e-7, "max_iter": 5000}
    same_end_in_fewer_passes(*both(lambda **more: Mixture(3, **options, **more), X), times=2)


@pytest.mark.parametrize("prior", ["auto", None])
def test_latent_classes_take_fewer_passes(prior):
    X, _ = answers()
    options = {"prior": prior, "tol": 1e-8, "max_iter": 5000, "random_state": 0}
    same_end_in_fewer_passes(*both(lambda **more: Mixture(2, "bernoulli", **options, **more), X), times=2)


def test_missing_labels_take_fewer_passes():
    X, z = answers()
    y = np.where(np.arange(len(z)) < 20, z, np.nan)
    fits = both(lambda **more: NaiveBayes("bernoulli", tol=1e-9, max_iter=5000, **more), X, y)
    same_end_in_fewer_passes(*fits, times=2)


def test_missing_values_and_weights_take_fewer_passes():
    X, z = overlapping()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    weight = np.random.default_rng(2).uniform(0.5, 1.5, len(X))
    options = {"init": z, "tol": 1e-7, "max_iter": 5000}
    same_end_in_fewer_passes(*both(lambda **more: Mixture(3, **options, **more), X, None, weight), times=2)


def test_streams_extrapolate_as_rows_in_memory_do():
    X, z = overlapping()
    start = quietly(Mixture(3, init=z, max_iter=1), X)
    options = {"init": start, "acceleration": "squarem", "tol": 0, "max_iter": 25}
    memory = quietly(Mixture(3, **options), X)
    streamed = quietly(Mixture(3, **options), suffice.stream([X[:200], X[200:250], X[250:]]))
    same_bounds(streamed, memory, rtol=1e-9)


def test_every_estimator_that_runs_em_can_extrapolate():
    X, z = overlapping(300)
    blind = GenerativeClassifier(classes=3, acceleration="squarem", random_state=0).fit(X, [None] * len(X))
    alone = Mixture(3, covariance="diagonal", acceleration="squarem", random_state=0).fit(X)
    assert blind.bound_history_ == alone.bound_history_
    fits = both(lambda **more: SoftKMeans(3, 0.3, init=z, tol=1e-8, max_iter=5000, **more), X)
    same_end_in_fewer_passes(*fits, times=1.5)
    search = MixtureSearch([2], "full", acceleration="squarem", random_state=0).fit(X)
    assert search.best_estimator_.acceleration == "squarem"
    for model in (Mixture(2), GenerativeClassifier(), SoftKMeans(2)):
        with pytest.raises(ValueError, match="acceleration must be None or 'squarem', not 'fast'"):
            model.set_params(acceleration="fast").fit(X, np.where(z == 0, np.nan, z))


# -- the loop -----------------------------------------------------------------------------------------------------


class Halving:
    """EM towards 0, half the way in each iteration, with extrapolation steps to wherever `land` says."""

    def __init__(self, land):
        self.passes = []
        self.problem = em.Problem(self.expect, lambda s, model: s / 2, lambda model, s: 0.0, lambda *found: land)

    def expect(self, model):
        self.passes.append(model)
        self.statistics, self.log_likelihood, self.weight = model, -1e-6 * model**2, 1.0
        return self


@pytest.mark.parametrize("land", [100.0, float("nan")])
def test_an_extrapolation_step_that_lowers_the_bound_is_taken_back_and_counted(land):
    halving = Halving(land)
    outcome = em.run(halving.problem, 8.0, max_iter=8, tol=0.0, accelerate=True)
    np.testing.assert_array_equal(halving.passes, [8.0, 4.0, 2.0, land, 1.0, 0.5, land, 0.25])
    assert len(outcome.bounds) == 8
    assert all(after >= before for before, after in pairwise(outcome.bounds))
    assert outcome.bounds[3] == outcome.bounds[2]
    assert not outcome.converged
    assert (outcome.model, outcome.statistics) == (0.125, 0.25)


def test_an_extrapolation_step_that_raises_the_bound_is_kept():
    halving = Halving(0.001)
    outcome = em.run(halving.problem, 8.0, max_iter=4, tol=0.0, accelerate=True)
    assert halving.passes == [8.0, 4.0, 2.0, 0.001]
    assert outcome.model == 0.0005


def test_without_a_model_to_extrapolate_to_the_iterations_are_those_of_em():
    halving = Halving(None)
    em.run(halving.problem, 8.0, max_iter=6, tol=0.0, accelerate=True)
    assert halving.passes == [8.0, 4.0, 2.0, 1.0, 0.5, 0.25]


def test_extrapolation_steps_shorten_until_they_give_a_model():
    tried = []

    def extrapolate(parts, weights, start):
        assert sum(weights) == pytest.approx(1.0)
        tried.append(np.sqrt(weights[2]))
        return start if len(tried) == 3 else None

    squarem = Squarem(extrapolate)
    rate = np.sqrt(2 / 3)  # a = 1 / (1 − λ), beyond the longest first step
    for number in range(3):
        candidate = squarem.after(number, -1e-6 * rate ** (2 * number), "plain")
    assert candidate == "plain"
    assert tried == pytest.approx([4.0, 2.5, 1.75])


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_sums_that_no_rows_have_give_no_model(family):
    X, z = counts(family)
    model = quietly(Mixture(3, family, prior=None, init=z, max_iter=2), X)
    components, sums = model._fitted_components, model.statistics_.joint
    assert components.extrapolate([sums, sums], (-1.0, 2.0), model._estimated) is not None
    one = sums.only(np.array([0, 0, 0]))
    assert components.extrapolate([sums, one], (5.0, -4.0), model._estimated) is None


def test_counts_below_zero_give_no_model():
    X, z = counts("poisson")
    model = quietly(Mixture(3, "poisson", init=z, max_iter=2), X)
    found = model._fitted_components.extrapolate([model.statistics_.joint], (-1.0,), model._estimated)
    assert found is None  # though the rates, one negative number over another, are positive


def test_an_indefinite_covariance_gives_no_model():
    X, z = clusters()
    model = quietly(Mixture(3, prior=None, init=z, max_iter=2), X)
    sums = model.statistics_.joint
    wide = quietly(Mixture(3, prior=None, init=z, max_iter=2), 2.0 * X).statistics_.joint
    assert model._fitted_components.extrapolate([wide, sums], (-1.0, 2.0), model._estimated) is None
