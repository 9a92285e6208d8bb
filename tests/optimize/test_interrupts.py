"""Ctrl-C: every fit raises KeyboardInterrupt, keeps the best model so far, and returns it only where asked to."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

import suffice
from suffice import (
    GLM,
    GaussianDiscriminant,
    GenerativeClassifier,
    LogisticRegression,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    SoftKMeans,
)
from suffice.compiled import em_loop
from suffice.estimators import glm, logistic, partly_labelled
from suffice.glm import fitting, lbfgs
from suffice.mixtures import numpy_loop
from suffice.selection.gaussian_trials import GaussianTrial
from suffice.selection.mixture_trials import MixtureTrial

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(i, 1.0, (20, 3)) for i in range(3)])
y = np.repeat([0, 1, 2], 20)
partly = np.where(np.arange(60) % 3 == 0, y, -1)
incomplete = np.where(rng.random(X.shape) < 0.2, np.nan, X)
forever = {"tol": 0.0, "max_iter": 10**6}


def chunks(n=4):
    return suffice.stream(lambda: ((part, None) for part in np.array_split(X, n)))


FITS = {
    "Mixture": lambda: (Mixture(3, random_state=0, n_init=1, acceleration="squarem", **forever), (X,)),
    "Mixture, missing cells": lambda: (Mixture(3, random_state=0, n_init=1, **forever), (incomplete,)),
    "Mixture, a stream": lambda: (Mixture(3, random_state=0, n_init=1, **forever), (chunks(),)),
    "SoftKMeans": lambda: (SoftKMeans(3, random_state=0, n_init=1, **forever), (X,)),
    "missing labels": lambda: (NaiveBayes(missing_label=-1, **forever), (X, partly)),
    "no labels": lambda: (GaussianDiscriminant(classes=3, random_state=0, **forever), (X, [None] * 60)),
    "missing cells": lambda: (GaussianDiscriminant("full", **forever), (incomplete, y)),
    "subclasses": lambda: (GenerativeClassifier(n_components={1: 2}, random_state=0, **forever), (X, y)),
    "predictive": lambda: (NaiveBayes(missing_label=-1, estimate="predictive", **forever), (X, partly)),
    "GLM": lambda: (GLM("poisson"), (X, y)),
    "GLM, slow iterations": lambda: (GLM("gamma", "log", tol=0.0), (X, y + 1.0)),
    "LogisticRegression": lambda: (LogisticRegression(), (X, y > 0)),
    "LogisticRegression, several classes": lambda: (LogisticRegression(), (X, y)),
}


def press_ctrl_c():
    """Send this process a real SIGINT, and give the interpreter the chance to see it."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0)


@pytest.fixture(autouse=True)
def _usual_handler():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread alone")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupted(monkeypatch):
    """Press Ctrl-C in the first iteration over all rows that is watched, of every fit that follows."""

    @contextmanager
    def progress_line(*_):
        watched = []

        def watch(now):
            watched.append(now)
            if len(watched) == 1:
                press_ctrl_c()

        yield watch

    for module in (partly_labelled, glm, logistic):
        monkeypatch.setattr(module, "progress_line", progress_line)


@pytest.mark.parametrize("name", FITS)
@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_raises_and_the_best_so_far_is_kept(name):
    model, data = FITS[name]()
    with pytest.raises(KeyboardInterrupt, match=r"interrupted; the (mixture|model|coefficients)"):
        model.fit(*data)
    assert not model.converged_
    assert model.n_iter_ >= 1
    if isinstance(model, GLM):
        assert np.isfinite(model.std_errors_).all()
        assert np.isnan([model.log_likelihood_, model.aic_, model.bic_, model.null_deviance_]).all()
        assert "nan" in str(model.summary())
    elif not isinstance(model, LogisticRegression):
        assert model.n_iter_ == len(model.bound_history_)
        assert np.isfinite(model.score_samples(X)).all()


def test_the_model_that_is_kept_is_that_of_the_last_iteration(interrupted, monkeypatch):
    model, mixture = NaiveBayes(missing_label=-1, **forever), Mixture(3, random_state=0, **forever)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, partly)
    with pytest.raises(KeyboardInterrupt):
        mixture.fit(X)
    monkeypatch.undo()
    with pytest.warns(ConvergenceWarning):
        longer = NaiveBayes(missing_label=-1, max_iter=model.n_iter_ + 1, tol=0.0).fit(X, partly)
    assert longer.bound_history_[: model.n_iter_] == model.bound_history_
    after = Mixture(3, init=mixture, max_iter=1).fit(X)
    assert after.bound_history_[0] >= mixture.bound_history_[-1] - 1e-9


@pytest.mark.parametrize("name", FITS)
@pytest.mark.usefixtures("interrupted")
def test_returning_it_is_opt_in_and_warns(name):
    model, data = FITS[name]()
    with suffice.keep_on_interrupt(), pytest.warns(ConvergenceWarning, match="interrupted before convergence") as said:
        assert model.fit(*data) is model
    assert [warning.filename for warning in said] == [__file__]
    assert not model.converged_
    with suffice.keep_on_interrupt(), suffice.keep_on_interrupt(False), pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)


@contextmanager
def ctrl_c_after(seconds):
    """Press Ctrl-C from another thread, and require that the block ends soon."""
    begun = time.monotonic()
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    assert time.monotonic() - begun < seconds + 30.0  # at once, however busy the machine is


@pytest.mark.parametrize("name", FITS)
def test_ctrl_c_stops_at_any_moment(name):
    model, data = FITS[name]()

    def fit_again_and_again():  # the interrupt comes in a survey, a start, an iteration or an estimate
        while True:
            model.fit(*data)

    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.02 + 0.01 * list(FITS).index(name)):
        fit_again_and_again()


def test_ctrl_c_on_the_sample_of_a_regression_keeps_nothing(monkeypatch):
    monkeypatch.setattr("suffice.glm.rows.SAMPLE_ROWS", 20)
    run = fitting.newton.run
    monkeypatch.setattr(
        fitting.newton, "run", lambda *args, **kw: run(*args, **{**kw, "watch": lambda _: press_ctrl_c()})
    )
    model, rows = GLM("poisson"), np.tile(X[:, :1], (2, 1))
    with suffice.keep_on_interrupt(), pytest.raises(KeyboardInterrupt):
        model.fit(rows, np.tile(y, 2))
    assert not hasattr(model, "coef_")


def test_l_bfgs_keeps_the_best_so_far(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_PARAMETERS", 2)
    calls, evaluate = [], lbfgs._Lowest.__call__

    def counted(self, u):
        calls.append(u)
        if len(calls) == 4:
            press_ctrl_c()
        return evaluate(self, u)

    monkeypatch.setattr(lbfgs._Lowest, "__call__", counted)
    for model, target in ((GLM("poisson"), y), (LogisticRegression(), y)):
        calls.clear()
        with pytest.raises(KeyboardInterrupt, match="the best of 3 iterations"):
            model.fit(X, target)
        assert not model.converged_
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("numbers", [True, False])
def test_an_interrupted_search_has_the_sizes_that_were_done(monkeypatch, numbers):
    run = GaussianTrial if numbers else MixtureTrial
    advance = run.advance

    def interrupted_at_three(self, iterations, **how):
        if (self.k if numbers else self.mixture.n_components) == 3:
            press_ctrl_c()
        return advance(self, iterations, **how)

    monkeypatch.setattr(run, "advance", interrupted_at_three)
    table = X if numbers else np.where(X > 2.9, np.nan, X)
    search = MixtureSearch([1, 2, 3], ["EII", "VVI"], random_state=0, n_jobs=1)
    with pytest.raises(KeyboardInterrupt, match="2 of 3 sizes were compared"):
        search.fit(table)
    assert search.results_["n_components"].tolist() == [1, 1, 2, 2]
    assert search.best_estimator_.n_components in (1, 2)
    with suffice.keep_on_interrupt(), pytest.warns(ConvergenceWarning, match="2 of 3 sizes were compared"):
        search.fit(table)
    fresh = MixtureSearch([3], ["EII"], n_jobs=1)
    with suffice.keep_on_interrupt(), pytest.raises(KeyboardInterrupt):
        fresh.fit(table)
    assert not hasattr(fresh, "results_")


def test_all_threads_of_a_search_stop(monkeypatch):
    for loop in (em_loop.EMLoop, numpy_loop.PlainLoop):

        def slow(self, *args, advance=loop.advance, **kw):  # a size that would never be done
            if len(self.log_shares) == 1:
                return advance(self, *args, **kw)
            time.sleep(0.01)
            return []

        monkeypatch.setattr(loop, "advance", slow)
    search = MixtureSearch([1, 2, 3, 4], ["EII", "VVV"], n_jobs=3)
    before = set(threading.enumerate())  # other tests may have left some
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.3):
        search.fit(X)
    left = [thread for thread in threading.enumerate() if thread.name.startswith("suffice-search")]
    assert not set(left) - before


def test_a_search_stops_in_the_middle_of_a_mixture():
    search = MixtureSearch([2], ["EII", "VVI"], **forever)

    def fit_again_and_again():
        while True:
            search.fit(np.tile(X, (30, 1)))

    with suffice.keep_on_interrupt(), pytest.raises(KeyboardInterrupt), ctrl_c_after(0.2):
        fit_again_and_again()


@pytest.mark.usefixtures("interrupted")
def test_cross_validation_stops():
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(Mixture(2, random_state=0, **forever), X)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(GLM("poisson"), X, y)


def test_a_stream_that_waits_for_its_source_stops():
    end = threading.Event()

    def slow():
        yield X, None
        end.wait(60.0)
        yield X, None

    try:
        with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.3):
            Mixture(2).fit(suffice.stream(slow))
    finally:
        end.set()


def test_a_program_that_is_interrupted_ends():
    code = (
        "import signal, numpy as np; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from sklearn.model_selection import cross_val_score; from suffice import Mixture\n"
        "X = np.random.default_rng(0).normal(size=(20000, 4)); print('ready', flush=True)\n"
        "cross_val_score(Mixture(6, tol=0.0, max_iter=10**6, random_state=0), X)\n"
        "print('went on')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)  # until a fit is under way
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert "went on" not in out


def test_an_interrupt_while_a_thread_starts_keeps_no_process_alive():
    code = """
import signal, threading
import numpy as np
from suffice import NaiveBayes

start = threading.Thread.start
def interrupted(self):
    threading.Thread.start = start
    start(self)
    signal.raise_signal(signal.SIGINT)

X = np.random.default_rng(0).normal(size=(200_000, 10))
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread.start = interrupted
try:
    NaiveBayes(n_jobs=4).fit(X, X[:, 0] > 0)
except KeyboardInterrupt:
    print("interrupted")
print(NaiveBayes(n_jobs=4).fit(X, X[:, 0] > 0).score(X[:100], X[:100, 0] > 0) > 0.9)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == ["interrupted", "True"]
