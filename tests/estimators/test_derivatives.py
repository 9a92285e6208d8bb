"""The log-likelihood of regressions and its derivatives, by finite differences and by the formulas of the course."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import expit
from sklearn.exceptions import NotFittedError

import suffice
from suffice import GLM, LogisticRegression


def made(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    eta = 0.3 + X @ [0.5, -0.3, 0.2]
    targets = {
        "gaussian": eta + rng.normal(size=n), "poisson": rng.poisson(np.exp(eta)),
        "bernoulli": np.where(rng.random(n) < expit(eta), "yes", "no"), "binomial": rng.binomial(6, expit(eta)) / 6,
        "gamma": rng.gamma(3, np.exp(eta) / 3), "inverse-gaussian": rng.wald(np.exp(eta), 4),
        "nb": rng.poisson(np.exp(eta)),
    }  # fmt: skip
    return X, targets, rng.uniform(0.5, 2, n), 0.2 * rng.normal(size=n)


def differences(function, theta, h=1e-5):
    return np.array([(function(theta + h * e) - function(theta - h * e)) / (2 * h) for e in np.eye(len(theta))])


PAIRS = [
    ("gaussian", None), ("gaussian", "log"), ("poisson", None), ("poisson", "sqrt"), ("bernoulli", None),
    ("bernoulli", "probit"), ("bernoulli", "cloglog"), ("binomial", None), ("gamma", "log"),
    ("inverse-gaussian", "log"), ("nb", None),
]  # fmt: skip


@pytest.mark.parametrize(("family", "link"), PAIRS)
@pytest.mark.parametrize("intercept", [True, False])
def test_derivatives_are_finite_differences_and_zero_at_the_maximum(family, link, intercept):
    X, targets, weight, offset = made()
    y = targets[family]
    if family == "binomial":
        weight = np.full(len(X), 6.0)
    if link == "sqrt":
        X = np.abs(X)  # means that this link can express
        offset = np.abs(offset)
    theta = np.array([1.0, 0.1, 0.2, 0.1])[0 if intercept else 1 :]
    model = GLM(family, link, shape=2.0, fit_intercept=intercept)
    given = {"sample_weight": weight, "offset": offset}
    if family in ("gaussian", "gamma", "inverse-gaussian"):
        given["dispersion"] = 1.7
    gradient = differences(lambda at: model.log_likelihood(X, y, at, **given), theta)
    np.testing.assert_allclose(model.gradient(X, y, theta, **given), gradient, rtol=1e-6, atol=1e-6)
    hessian = differences(lambda at: model.gradient(X, y, at, **given), theta)
    np.testing.assert_allclose(model.hessian(X, y, theta, **given), hessian, rtol=1e-5, atol=1e-5)
    model.fit(X, y, weight, offset=offset)
    given.pop("dispersion", None)
    np.testing.assert_allclose(model.gradient(X, y, **given), 0.0, atol=1e-4)
    information = -model.hessian(X, y, **given, expected=True, dispersion=model.dispersion_)
    np.testing.assert_allclose(np.linalg.inv(information), model.covariance_, rtol=1e-4, atol=1e-8)


def test_gradient_and_hessian_are_the_formulas_of_the_course():
    X, targets, _, _ = made()
    Z, theta = np.column_stack([np.ones(len(X)), X]), np.array([0.1, 0.5, -0.2, 0.3])
    y, mu = targets["poisson"], np.exp(Z @ theta)
    np.testing.assert_allclose(GLM("poisson").gradient(X, y, theta), Z.T @ (y - mu), rtol=1e-10)
    np.testing.assert_allclose(GLM("poisson").hessian(X, y, theta), -Z.T @ (mu[:, None] * Z), rtol=1e-10)
    assert GLM("poisson").log_likelihood(X, y, theta) == pytest.approx(stats.poisson.logpmf(y, mu).sum(), rel=1e-12)
    y = targets["gaussian"]
    np.testing.assert_allclose(GLM().gradient(X, y, theta), Z.T @ (y - Z @ theta), rtol=1e-10)
    assert GLM().log_likelihood(X, y, theta, dispersion=0.25) == pytest.approx(
        stats.norm.logpdf(y, Z @ theta, 0.5).sum(), rel=1e-12
    )
    y, p = targets["bernoulli"] == "yes", expit(Z @ theta)
    for model in (GLM("bernoulli"), LogisticRegression()):
        np.testing.assert_allclose(model.gradient(X, targets["bernoulli"], theta), Z.T @ (y - p), rtol=1e-10)
        np.testing.assert_allclose(
            model.hessian(X, targets["bernoulli"], theta), -Z.T @ ((p * (1 - p))[:, None] * Z), rtol=1e-10
        )


def test_gradient_ascent_finds_the_maximum():
    X, targets, _, _ = made()
    model, theta = GLM("poisson"), np.zeros(4)
    for _ in range(2000):
        theta += 0.002 * model.gradient(X, targets["poisson"], theta)
    np.testing.assert_allclose(theta, model.fit(X, targets["poisson"]).parameters_, rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 4])
def test_a_logistic_regression_has_derivatives_for_every_class(intercept, k):
    X, _, weight, _ = made(200)
    rng = np.random.default_rng(1)
    y = np.array(list("abcd"))[rng.integers(0, k, len(X))]
    shape = (3 + intercept,) if k == 2 else (k, 3 + intercept)
    theta = rng.normal(size=shape)
    model = LogisticRegression(fit_intercept=intercept)

    def likely(at):
        return model.log_likelihood(X, y, at.reshape(shape), sample_weight=weight)

    found = model.gradient(X, y, theta, sample_weight=weight)
    assert found.shape == shape
    np.testing.assert_allclose(found.ravel(), differences(likely, theta.ravel()), rtol=1e-6, atol=1e-6)
    hessian = differences(
        lambda at: model.gradient(X, y, at.reshape(shape), sample_weight=weight).ravel(), theta.ravel()
    )
    np.testing.assert_allclose(model.hessian(X, y, theta, sample_weight=weight), hessian, rtol=1e-5, atol=1e-5)
    model.fit(X, y, weight)
    np.testing.assert_allclose(model.gradient(X, y, sample_weight=weight), 0.0, atol=1e-6)
    assert model.log_likelihood(X, y, sample_weight=weight) == pytest.approx(model.log_likelihood_, rel=1e-12)
    some = np.flatnonzero(y != "a")[:20]  # rows of some of the classes
    expected = np.log(model.predict_proba(X[some]))[np.arange(20), np.searchsorted(model.classes_, y[some])].sum()
    assert model.log_likelihood(X[some], y[some]) == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match="y holds 'z', which was not there in training; the classes are 'a', 'b'"):
        model.gradient(X, np.full(len(X), "z"))


def test_a_penalty_is_not_part_of_the_gradient():
    X, targets, _, _ = made()
    y = targets["bernoulli"]
    for model in (GLM("bernoulli", alpha=2.0), LogisticRegression(alpha=2.0)):
        model.fit(X, y)
        expected = [0.0, *(2.0 * np.ravel(model.coef_))]
        np.testing.assert_allclose(model.gradient(X, y), expected, atol=1e-7)


def test_derivatives_of_tables_batches_and_sparse_rows_are_the_same():
    X, targets, weight, offset = made()
    y = targets["poisson"]
    frame = pd.DataFrame(X, columns=list("abc")).assign(city=np.where(X[:, 0] > 0, "Rome", "Bonn"), shift=offset)
    theta = np.linspace(-0.2, 0.4, 5)
    parts = [(frame[i : i + 7], y[i : i + 7], weight[i : i + 7]) for i in range(0, len(y), 7)]
    model = GLM("poisson")
    whole = model.gradient(frame, y, theta, sample_weight=weight, offset="shift")
    streamed = model.gradient(suffice.stream(parts), coef=theta, offset="shift")
    np.testing.assert_allclose(streamed, whole, rtol=1e-10)
    model.fit(frame, y, weight, offset="shift")
    np.testing.assert_allclose(model.gradient(frame, y, theta, sample_weight=weight), whole, rtol=1e-10)
    np.testing.assert_allclose(model.gradient(suffice.stream(parts)), 0.0, atol=1e-7)
    assert model.log_likelihood(frame[::-1].assign(more=1), y[::-1], sample_weight=weight[::-1]) == pytest.approx(
        model.log_likelihood_, rel=1e-10
    )
    one = frame[frame["city"] == "Rome"]
    assert model.gradient(one, y[frame["city"] == "Rome"]).shape == (5,)
    thin = GLM("poisson").hessian(sparse.csr_array(X), y, theta[:4])
    np.testing.assert_allclose(thin, GLM("poisson").hessian(X, y, theta[:4]), rtol=1e-10)
    words = GLM("bernoulli").fit(X, targets["bernoulli"])
    yes = targets["bernoulli"] == "yes"
    assert words.log_likelihood(X[yes], targets["bernoulli"][yes]) == pytest.approx(
        np.log(words.predict(X[yes])).sum(), rel=1e-10
    )


def test_coefficients_that_give_no_derivative_are_said():
    X, targets, _, _ = made()
    y = targets["poisson"]
    with pytest.raises(NotFittedError):
        GLM("poisson").gradient(X, y)
    with pytest.raises(NotFittedError):
        LogisticRegression().hessian(X, targets["bernoulli"])
    with pytest.raises(ValueError, match=r"coef must be 4 finite numbers, for '\(intercept\)', 'x0', 'x1', 'x2'"):
        GLM("poisson").gradient(X, y, [1.0, 2.0])
    with pytest.raises(ValueError, match="coef must be 3 rows, one per class, of 4 finite numbers"):
        LogisticRegression().gradient(X, np.arange(80) % 3, [1.0, 2.0])
    with pytest.raises(ValueError, match="the shape of this negative binomial is to be estimated"):
        GLM("nb").gradient(X, y, np.zeros(4))
    with pytest.raises(ValueError, match="the dispersion must be a positive number, not 0"):
        GLM().gradient(X, y, np.zeros(4), dispersion=0)
    impossible = GLM("poisson", "identity").gradient(X, y, [-1.0, 0, 0, 0])
    assert np.isnan(impossible).all()
    assert GLM("poisson", "identity").log_likelihood(X, y, [-1.0, 0, 0, 0]) == -np.inf
