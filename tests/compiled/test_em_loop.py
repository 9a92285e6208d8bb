"""The compiled loop of EM gives what the same iterations made one by one in Python give."""

import os
import signal
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest

from suffice import Mixture, SoftKMeans
from suffice.compiled import em_loop
from suffice.dropin import GaussianMixture
from suffice.dropin import _mixture_training as mixture_in_dropin
from suffice.engines import MemoryEngine, Rows
from suffice.errors import EstimateError
from suffice.families import Gaussian
from suffice.families.gaussian.covariance import GivenSphere
from suffice.mixtures import compiled_loop
from suffice.mixtures.components import Components, equal_shares
from suffice.models.schema import Block, Schema
from suffice.optimize import em
from suffice.optimize.interrupts import Interrupted
from suffice.priors import NormalInverseWishart
from suffice.statistics.responsibilities import Labels, PartialLabels, SoftLabels

pytestmark = pytest.mark.skipif(
    not em_loop.available("VVV", 2), reason="the kernels were not built (no C compiler, or one without vectors)"
)
#: structures whose axes are found by an iteration that ends where a gradient is small
IN_ANGLES = ("EVE", "VVE")


def clusters(n, d, k, seed, spread=2.5):
    """Return rows of correlated clusters, and labels of which a quarter are wrong."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, k, n)
    mixing = 0.4 * rng.normal(size=(k, d, d)) + np.eye(d)
    x = np.einsum("nij,nj->ni", mixing[z], rng.normal(size=(n, d))) + spread * rng.normal(size=(k, d))[z]
    labels = np.where(rng.random(n) < 0.25, rng.integers(0, k, n), z)
    labels[:k] = np.arange(k)
    return x, labels.astype(np.intp)


def problem_of(x, structure, labels, k, weight=None, prior="auto", log_shares=None):
    """Return EM's problem, and where the labels begin."""
    family = Gaussian(structure)
    schema = Schema(None, x.shape[1], (Block(family, tuple(range(x.shape[1]))),))
    overall = family.statistics(x, Labels(np.zeros(len(x), dtype=np.intp), weight, 1))
    fixed = family.prior_of_components(overall, prior, k)
    more = {} if log_shares is None else {"log_shares": log_shares}
    components = Components(schema, [fixed], **more)
    problem = components.problem(MemoryEngine(Rows((x,), PartialLabels(None, weight, k, len(x)))))
    return problem, components.begin(MemoryEngine(Rows((x,), Labels(labels, weight, k))))


def outcomes(problem, start, max_iter=10, tol=0.0, **options):
    """Return what EM comes to by Python and by the compiled loop: an outcome, or the error."""
    assert problem.climb is not None
    found = []
    for each in (replace(problem, climb=None), problem):
        try:
            found.append(em.run(each, start, max_iter=max_iter, tol=tol, **options))
        except EstimateError as error:
            found.append(error)
    return found


def check_same(python, loop, rtol=1e-10):
    """Compare bounds, parameters and statistics."""
    steps = min(len(python.bounds), len(loop.bounds))  # at tol=0 rounding decides which iteration is the last
    np.testing.assert_allclose(loop.bounds[:steps], python.bounds[:steps], rtol=rtol)
    if python.converged and loop.converged:
        assert loop.bounds[-1] == pytest.approx(python.bounds[-1], rel=rtol)
    if len(python.bounds) != len(loop.bounds):
        return
    tol = {"rtol": np.sqrt(rtol), "atol": np.sqrt(rtol)}
    np.testing.assert_allclose(loop.model.log_prior, python.model.log_prior, **tol)
    (ours,), (theirs,) = loop.model.distributions, python.model.distributions
    assert ours.compact.shape == theirs.compact.shape
    np.testing.assert_allclose(ours.means, theirs.means, **tol)
    np.testing.assert_allclose(ours.compact, theirs.compact, **tol)
    (sums,), (expected,) = loop.statistics.blocks, python.statistics.blocks
    assert type(sums) is type(expected)
    assert sums.count.shape == expected.count.shape
    np.testing.assert_allclose(loop.statistics.class_count, python.statistics.class_count, **tol)
    np.testing.assert_allclose(sums.mean, expected.mean, **tol)
    np.testing.assert_allclose(sums.scatter, expected.scatter, rtol=np.sqrt(rtol), atol=np.sqrt(rtol) * len(ours.means))


@pytest.mark.parametrize("prior", ["auto", None, NormalInverseWishart(3.0)], ids=["auto", "none", "strong"])
@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_every_iteration_is_that_of_python(structure, prior):
    for seed, (n, d, k) in enumerate([(60, 1, 2), (272, 2, 3), (150, 4, 1), (600, 7, 5), (300, 3, 12)]):
        x, labels = clusters(n, d, k, seed)
        weight = np.random.default_rng(seed).uniform(0.1, 3.0, n) if seed % 2 else None
        python, loop = outcomes(*problem_of(x, structure, labels, k, weight, prior))
        if isinstance(python, EstimateError) or isinstance(loop, EstimateError):
            assert str(python) == str(loop)
            continue
        check_same(python, loop, 1e-8 if structure in IN_ANGLES else 1e-10)


@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_the_bound_never_falls_and_the_loop_ends_where_python_does(structure):
    x, labels = clusters(400, 3, 4, seed=7)
    python, loop = outcomes(*problem_of(x, structure, labels, 4), max_iter=2000, tol=1e-9)
    assert python.converged
    assert loop.converged
    assert loop.bounds[-1] == pytest.approx(python.bounds[-1], rel=1e-7)
    for outcome in (python, loop):
        assert (np.diff(outcome.bounds) >= -1e-12 * np.abs(outcome.bounds[-1])).all()


@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_extrapolation_steps_are_those_of_python_and_calls_do_not_interrupt_them(structure, monkeypatch):
    x, labels = clusters(272, 2, 3, seed=0, spread=1.2)
    problem, start = problem_of(x, structure, labels, 3)
    python, loop = outcomes(problem, start, max_iter=40, tol=1e-9, accelerate=True)
    slow = em.run(problem, start, max_iter=40, tol=1e-9)
    assert len(loop.bounds) < len(slow.bounds) or loop.bounds[-1] > slow.bounds[-1]
    assert (np.diff(loop.bounds) >= 0).all()
    if structure not in IN_ANGLES:  # axes that fit all components equally well may be others
        check_same(python, loop, 1e-9)
    monkeypatch.setattr(em_loop, "_SECONDS_PER_CALL", 1e-9)
    in_parts = em.run(problem, start, max_iter=40, tol=1e-9, accelerate=True)
    if structure not in IN_ANGLES:
        check_same(in_parts, loop, 1e-9)


@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_constant_columns_are_left_out_of_the_loop(structure):
    x, labels = clusters(150, 3, 3, seed=12)
    more = np.insert(x, [0, 2], [0.1, 1e5], axis=1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    problem, start = problem_of(more, structure, labels, 3, weight)
    climb = problem.climb(start)
    climb.advance(5, 0.0)
    assert len(climb.bounds) == 5
    for accelerate in (True, False):
        python, loop = outcomes(problem, start, accelerate=accelerate)
        check_same(python, loop, 1e-8 if structure in IN_ANGLES else 1e-10)
        assert loop.model.distributions[0].constant.tolist() == [True, False, False, True, False]
    without = em.run(*problem_of(x, structure, labels, 3, weight), max_iter=10, tol=0.0)
    means = loop.model.distributions[0].means
    np.testing.assert_allclose(means[:, [1, 2, 4]], without.model.distributions[0].means, rtol=1e-6)
    np.testing.assert_array_equal(means[:, [0, 3]], more[:3, [0, 3]])
    assert problem_of(np.ones((20, 2)), structure, np.arange(20) % 2, 2)[0].climb is None


def test_soft_k_means_has_equal_shares_and_its_variance():
    x, labels = clusters(200, 3, 4, seed=1)
    for structure in ("spherical", "tied-spherical", GivenSphere(0.7)):
        problem, start = problem_of(x, structure, labels, 4, log_shares=equal_shares)
        python, loop = outcomes(problem, start)
        check_same(python, loop)
        assert np.allclose(loop.model.log_prior, -np.log(4))
    learned = outcomes(*problem_of(x, GivenSphere(0.7), labels, 4))
    check_same(*learned)
    assert np.ptp(learned[1].model.log_prior) > 0.01
    assert isinstance(SoftKMeans(3, stiffness=0.5, random_state=0).fit(x).bound_history_, list)


def test_every_level_of_the_processor_gives_the_same(level):
    for structure in em_loop.STRUCTURES:
        x, labels = clusters(300, 5, 11, seed=3)
        python, loop = outcomes(*problem_of(x, structure, labels, 11), max_iter=4)
        check_same(python, loop, 1e-8)


# -- where digits would be lost ---------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_an_offset_of_the_columns_costs_no_digits(structure):
    x, labels = clusters(200, 3, 3, seed=2)
    _, near = outcomes(*problem_of(x, structure, labels, 3))
    python, far = outcomes(*problem_of(x + 2.0**20, structure, labels, 3))
    np.testing.assert_allclose(far.bounds, near.bounds[: len(far.bounds)], rtol=1e-7)
    check_same(python, far, 1e-7)


@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_tight_components_far_apart_are_taken_about_themselves(structure):
    """Their scores and moments about a common origin would cancel, so each is taken about its own mean."""
    x, labels = clusters(90, 3, 3, seed=4)
    x = 1e-4 * x
    x += np.array([[0.0], [3e3], [-5e3]])[labels]
    python, loop = outcomes(*problem_of(x, structure, labels, 3, prior=None))
    check_same(python, loop, 1e-7)
    loop = em_loop.fit_gaussians(x, structure, 3, labels)
    within = np.concatenate([x[labels == c] - x[labels == c].mean(0) for c in range(3)])
    assert loop.converged
    variance = loop.covariance if loop.covariance.ndim == 2 else np.diagonal(loop.covariance, axis1=1, axis2=2)
    share = np.exp(loop.log_shares) if len(variance) == 3 else np.ones(1)
    assert (share @ variance).mean() == pytest.approx((within**2).mean(), rel=0.2)


def degenerate():
    """Yield tables on which likelihoods are unbounded or covariances singular, with labels."""
    rng = np.random.default_rng(5)
    base = rng.normal(size=(60, 3))
    x = base.copy()
    x[:, 1] = 7.0
    yield "constant column", x, rng.integers(0, 3, 60), 3
    x = base.copy()
    x[:, 2] = x[:, 0] - 2.0 * x[:, 1]
    yield "collinear columns", x, rng.integers(0, 3, 60), 3
    yield "five distinct rows", np.repeat(base[:5], 12, axis=0), np.repeat(np.arange(5), 12), 5
    yield "more components than distinct rows", np.repeat(base[:4], 15, axis=0), rng.permutation(60) % 6, 6
    x = base.copy()
    x[0] += 50.0
    yield "one row alone", x, np.where(np.arange(60) == 0, 2, np.arange(60) % 2), 3
    yield "as many components as rows", base[:5], np.arange(5), 5
    yield "whole numbers", np.round(base), rng.integers(0, 4, 60), 4
    yield "tiny", 1e-135 * base, rng.integers(0, 3, 60), 3
    yield "huge", 1e135 * base, rng.integers(0, 3, 60), 3


@pytest.mark.parametrize(("x", "labels", "k"), [case[1:] for case in degenerate()], ids=[c[0] for c in degenerate()])
def test_degenerate_tables_give_the_same_with_a_prior_and_without_an_estimate_or_an_error(x, labels, k):
    labels = labels.astype(np.intp)
    for structure in em_loop.STRUCTURES:
        with np.errstate(all="ignore"):
            python, loop = outcomes(*problem_of(x, structure, labels, k), max_iter=12, tol=1e-9)
        check_same(python, loop, 1e-5)
        # where the likelihood has no maximum, rounding decides how far it is climbed before a covariance is singular
        fit = em_loop.fit_gaussians(x, structure, k, labels, max_iter=50)
        parameters = (fit.log_shares, fit.means, fit.covariance, fit.bounds, fit.log_likelihood)
        assert not fit.found or all(np.isfinite(values).all() for values in parameters), structure


def test_a_component_that_collapses_is_said_in_the_words_of_python():
    x = np.concatenate([np.random.default_rng(0).normal(size=(40, 2)), np.full((10, 2), 9.0)])
    labels = np.repeat([0, 1], [40, 10])
    with pytest.raises(EstimateError, match="singular"):
        Mixture(2, prior=None, init=labels).fit(x)
    fit = em_loop.fit_gaussians(x, "VVV", 2, labels)
    assert fit.status == em_loop.NO_ESTIMATE
    assert not fit.found
    assert Mixture(2, init=labels).fit(x).converged_


def test_empty_components_are_left_where_there_is_a_prior():
    x, labels = clusters(100, 2, 2, seed=8)
    fit = em_loop.fit_gaussians(x, "VVV", 3, labels, strength=0.1, prior_covariance=np.eye(2))
    assert fit.found
    assert fit.count[2] == 0.0
    assert np.isneginf(fit.log_shares[2])
    assert em_loop.fit_gaussians(x, "VVV", 3, labels).status == em_loop.NO_ESTIMATE


# -- plain arrays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_labels_shares_and_parameters_begin_the_same(structure):
    x, labels = clusters(150, 3, 3, seed=11)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    settings = {"weight": weight, "strength": 0.5, "prior_covariance": np.eye(3), "max_iter": 30, "tol": 1e-12}
    by_labels = em_loop.fit_gaussians(x, structure, 3, labels, **settings)
    by_shares = em_loop.fit_gaussians(x, structure, 3, np.eye(3)[labels], **settings)
    assert by_labels.bounds == by_shares.bounds
    first = em_loop.fit_gaussians(x, structure, 3, labels, **{**settings, "max_iter": 0})
    begun = em_loop.fit_gaussians(x, structure, 3, (first.log_shares, first.means, first.covariance), **settings)
    np.testing.assert_allclose(begun.bounds[:10], by_labels.bounds[:10], rtol=1e-10)


def test_responsibilities_begin_as_in_python():
    x, _ = clusters(120, 2, 3, seed=3)
    shares = np.random.default_rng(1).dirichlet(np.ones(3), 120)
    family = Gaussian("full")
    start = family.estimate(family.statistics(x, SoftLabels(shares)), None)
    fit = em_loop.fit_gaussians(x, "VVV", 3, shares, max_iter=0)
    np.testing.assert_allclose(fit.means, start.means, rtol=1e-12)
    np.testing.assert_allclose(fit.covariance, start.compact, rtol=1e-11)


@pytest.mark.parametrize("structure", em_loop.STRUCTURES)
def test_the_log_likelihood_is_that_of_the_parameters(structure):
    x, labels = clusters(80, 2, 2, seed=5)
    fit = em_loop.fit_gaussians(x, structure, 2, labels, max_iter=3)
    covariance = fit.covariance if fit.covariance.ndim == 3 else np.eye(2) * fit.covariance[:, None, :]
    covariance = np.broadcast_to(covariance, (2, 2, 2))
    z = x[:, None] - fit.means
    squared = np.einsum("nki,kij,nkj->nk", z, np.linalg.inv(covariance), z)
    log_density = -0.5 * (squared + np.linalg.slogdet(2 * np.pi * covariance)[1])
    assert fit.log_likelihood == pytest.approx(np.logaddexp.reduce(log_density + fit.log_shares, axis=1).sum())


def test_rows_may_lie_anywhere_in_memory_and_be_float32():
    x, labels = clusters(100, 3, 2, seed=6)
    x = x.astype(np.float32).astype(np.float64)
    expected = em_loop.fit_gaussians(x, "VVV", 2, labels).bounds
    wide = np.full((200, 8), np.nan)
    wide[::2, 2:5] = x
    for view in (np.asfortranarray(x), wide[::2, 2:5], x[::-1][::-1], np.flip(np.flip(x, 1).copy(), 1)):
        assert em_loop.fit_gaussians(view, "VVV", 2, labels).bounds == expected
    assert em_loop.fit_gaussians(x.astype(np.float32), "VVV", 2, labels).bounds == expected
    weight = np.column_stack([np.ones(100), np.zeros(100)])[:, 0]
    assert em_loop.fit_gaussians(x, "VVV", 2, labels[::-1][::-1], weight=weight).bounds == pytest.approx(expected)


def test_arrays_of_another_length_are_refused():
    x, labels = clusters(30, 2, 2, seed=6)
    with pytest.raises(ValueError, match="labels must be of shape"):
        em_loop.fit_gaussians(x, "VVV", 2, labels[:-1])
    with pytest.raises(ValueError, match="shares must be of shape"):
        em_loop.fit_gaussians(x, "VVV", 3, np.full((30, 2), 0.5))
    with pytest.raises(ValueError, match="weight must be of shape"):
        em_loop.fit_gaussians(x, "VVV", 2, labels, weight=np.ones(29))
    with pytest.raises(ValueError, match="prior_covariance must be of shape"):
        em_loop.fit_gaussians(x, "VVV", 2, labels, strength=1.0, prior_covariance=np.eye(3))
    with pytest.raises(ValueError, match="labels must be between 0 and 1"):
        em_loop.fit_gaussians(x, "VVV", 2, labels + 1)


def test_fits_run_side_by_side_in_threads():
    x, labels = clusters(300, 4, 3, seed=9)
    expected = [em_loop.fit_gaussians(x, structure, 3, labels).bounds for structure in em_loop.STRUCTURES]
    found = [None] * len(expected)

    def fit(number):
        found[number] = em_loop.fit_gaussians(x, em_loop.STRUCTURES[number], 3, labels).bounds

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(len(expected))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


# -- the loop in Python -----------------------------------------------------------------------------------------


def test_who_watches_is_told_of_every_iteration():
    x, labels = clusters(200, 2, 3, seed=1)
    problem, start = problem_of(x, "full", labels, 3)
    iterations = []
    outcome = em.run(problem, start, max_iter=50, tol=1e-7, watch=iterations.append)
    assert [r.number for r in iterations] == list(range(1, len(outcome.bounds) + 1))
    assert [r.bound for r in iterations] == outcome.bounds
    np.testing.assert_allclose([r.change for r in iterations[1:]], np.diff(outcome.bounds))


def test_calls_come_back_often_and_go_on_as_if_they_had_not(monkeypatch):
    x, labels = clusters(300, 3, 3, seed=2)
    for structure in em_loop.STRUCTURES:
        problem, start = problem_of(x, structure, labels, 3)
        at_once = em.run(problem, start, max_iter=25, tol=0.0)
        with monkeypatch.context() as patch:
            patch.setattr(em_loop, "_SECONDS_PER_CALL", 1e-9)
            in_parts = em.run(problem, start, max_iter=25, tol=0.0)
        steps = min(len(at_once.bounds), len(in_parts.bounds))
        assert steps > 3
        np.testing.assert_allclose(in_parts.bounds[:steps], at_once.bounds[:steps], rtol=1e-10)


@pytest.mark.skipif(os.name == "nt", reason="signals of Windows cannot be sent so")
def test_ctrl_c_stops_the_loop_and_keeps_what_it_has():
    x, labels = clusters(3000, 5, 4, seed=2)
    problem, start = problem_of(x, "full", labels, 4)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))

    def start_the_timer(step):
        if step.number == 1:
            timer.start()

    with pytest.raises(Interrupted) as stop:
        em.run(problem, start, max_iter=10_000_000, tol=-1.0, watch=start_the_timer)
    timer.join()
    outcome = stop.value.outcome
    assert outcome.interrupted
    assert len(outcome.bounds) >= 1
    assert outcome.bounds[-1] >= outcome.bounds[0]


def test_mixtures_use_the_loop_where_they_can(monkeypatch):
    x, labels = clusters(200, 2, 2, seed=3)
    calls = []
    advance = em_loop.EMLoop.advance

    def counted(self, *arguments, **options):
        calls.append(len(self._x))
        return advance(self, *arguments, **options)

    monkeypatch.setattr(em_loop.EMLoop, "advance", counted)
    Mixture(2, init=labels).fit(x)
    assert calls
    calls.clear()
    Mixture(2, init=labels).fit(x.astype(np.float32))
    assert calls
    calls.clear()
    incomplete = x.copy()
    incomplete[0, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Mixture(2, init=labels).fit(incomplete)
        Mixture(2, covariance="diagonal", init=labels).fit(incomplete)
        Mixture(2, {0: "gaussian", 1: "gamma"}, init=labels).fit(np.exp(x))
    assert not calls


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_the_drop_in_gives_the_same_by_the_loop(kind, monkeypatch, capsys):
    (x, _), with_loop = clusters(250, 3, 4, seed=4), mixture_in_dropin.is_small
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 250)
    cases = [(x, None, 1e-6), (x + 1e5, weight, 1e-3), (x.astype(np.float32), None, 1e-6), (np.round(x), None, 0.0)]
    for rows, weights, reg_covar in cases:
        fits = []
        for small in (with_loop, lambda *_: False):
            monkeypatch.setattr(mixture_in_dropin, "is_small", small)
            settings = {"reg_covar": reg_covar, "means_init": rows[:4], "tol": 1e-4, "random_state": 0, "verbose": 2}
            model = GaussianMixture(4, covariance_type=kind, verbose_interval=1, **settings)
            fits.append((model.fit(rows, sample_weight=weights), capsys.readouterr().out.split("Iteration")))
        (loop, said), (python, also_said) = fits
        single = rows.dtype == np.float32
        assert loop.converged_
        assert loop.lower_bound_ == pytest.approx(python.lower_bound_, rel=1e-4 if single else 1e-8)
        if not single:
            assert loop.n_iter_ == python.n_iter_
            assert len(said) == len(also_said)
            np.testing.assert_allclose(loop.precisions_cholesky_, python.precisions_cholesky_, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(loop.weights_, python.weights_, rtol=1e-7)


def test_the_drop_in_fails_in_the_same_words(monkeypatch):
    x = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 2.0]], 10, axis=0)
    for _ in range(2):
        with pytest.raises(ValueError, match="ill-defined empirical covariance"):
            GaussianMixture(3, reg_covar=0.0, random_state=0).fit(x)
        monkeypatch.setattr(mixture_in_dropin, "is_small", lambda *_: False)


def test_large_tables_are_left_to_threads():
    x = np.random.default_rng(0).normal(size=(compiled_loop._MOST_PRODUCTS // (6 + 8) // 2 + 1, 2))
    problem, _ = problem_of(x, "full", np.arange(len(x)) % 2, 2)
    assert problem.climb is None
    problem, _ = problem_of(x[:-1000], "full", np.arange(len(x) - 1000) % 2, 2)
    assert problem.climb is not None
