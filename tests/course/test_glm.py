"""The course on generalised linear models: logistic regression, the recipe in three choices, gradients."""

import math

import numpy as np
import pytest
from by_hand import gradient, phi, sigmoid, softmax

from suffice import GLM, LogisticRegression

rng = np.random.default_rng(2)
X = rng.normal(size=(60, 2))
ONES = np.column_stack([np.ones(60), X])  # with the column of the intercept
PASSED = (rng.random(60) < sigmoid(0.4 + X @ [1.0, -0.7])).astype(float)
VISITS = rng.poisson(np.exp(0.3 + X @ [0.5, 0.2])).astype(float)
YIELD = 1.5 + X @ [2.0, -1.0] + rng.normal(0, 0.5, 60)
KIND = np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(60, 3)), axis=1)


def weights(model):
    return np.r_[model.intercept_, model.coef_]


# -- logistic regression ---------------------------------------------------------------------------------------------


def test_logistic_regression_predicts_the_logistic_function_of_a_linear_function():
    model = GLM("bernoulli").fit(X, PASSED)
    eta = ONES @ weights(model)
    assert model.predict(X) == pytest.approx(sigmoid(eta), abs=1e-12)  # p(1 | η) = σ(η)
    assert model.linear_predictor(X) == pytest.approx(eta, abs=1e-12)


def test_the_two_probabilities_in_one_formula():
    model = LogisticRegression().fit(X, PASSED)
    eta = model.intercept_[0] + X @ model.coef_[0]
    for y in (0, 1):  # p(y | η) = e^ηy / (1 + e^η) = exp(ηy − ln(1 + e^η))
        by_hand = np.exp(eta * y) / (1 + np.exp(eta))
        assert model.predict_proba(X)[:, y] == pytest.approx(by_hand, abs=1e-10)
        assert np.log(by_hand) == pytest.approx(eta * y - np.log(1 + np.exp(eta)), abs=1e-10)


def test_what_a_logistic_regression_predicts_is_the_mean_of_the_response():
    model = GLM("bernoulli").fit(X, PASSED)
    mean = sigmoid(ONES @ weights(model))
    assert model.predict(X) == pytest.approx(mean, abs=1e-12)
    assert mean.sum() == pytest.approx(PASSED.sum(), abs=1e-8)  # Σ μ_n = Σ y_n, from the gradient by the intercept


def test_the_link_is_the_inverse_of_the_mean_as_a_function_of_eta():
    model = GLM("bernoulli").fit(X, PASSED)
    mu = model.predict(X)
    assert model.linear_predictor(X) == pytest.approx(np.log(mu / (1 - mu)), abs=1e-10)


# -- the recipe ------------------------------------------------------------------------------------------------------

#: family, response, mean as a function of η; log p(y | η) by hand
RECIPES = {
    "gaussian": (YIELD, lambda eta: eta),
    "bernoulli": (PASSED, sigmoid),
    "poisson": (VISITS, np.exp),
}


@pytest.mark.parametrize("family", RECIPES)
def test_the_recipe_is_a_linear_predictor_a_mean_function_and_a_distribution(family):
    y, mean_of = RECIPES[family]
    model = GLM(family).fit(X, y)
    eta = ONES @ weights(model)  # 1. η = xᵀw
    assert model.predict(X) == pytest.approx(mean_of(eta), abs=1e-10)  # 2. μ = f(η)
    mu = mean_of(eta)
    if family == "gaussian":  # 3. y is of an exponential family with mean μ
        variance = ((y - mu) ** 2).mean()
        by_hand = (-0.5 * np.log(2 * math.pi * variance) - (y - mu) ** 2 / (2 * variance)).sum()
    elif family == "bernoulli":
        by_hand = (y * np.log(mu) + (1 - y) * np.log(1 - mu)).sum()
    else:
        by_hand = sum(k * math.log(m) - m - math.lgamma(k + 1) for k, m in zip(y, mu, strict=True))
    assert model.log_likelihood_ == pytest.approx(by_hand, abs=1e-8)


def test_least_squares_is_the_recipe_with_a_gaussian_response():
    by_hand = np.linalg.solve(ONES.T @ ONES, ONES.T @ YIELD)
    assert weights(GLM("gaussian").fit(X, YIELD)) == pytest.approx(by_hand, abs=1e-10)


def test_a_poisson_regression_has_the_logarithm_of_its_mean_as_linear_predictor():
    w = np.zeros(3)
    for _ in range(30):  # Newton's method by hand
        mu = np.exp(ONES @ w)
        w += np.linalg.solve(ONES.T @ (mu[:, None] * ONES), ONES.T @ (VISITS - mu))
    assert weights(GLM("poisson").fit(X, VISITS)) == pytest.approx(w, abs=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_the_negative_log_likelihood_is_the_mean_of_a_less_eta_phi_less_ln_h(family):
    y, _ = RECIPES[family]
    model = GLM(family).fit(X, y)
    eta = model.linear_predictor(X)
    a = np.log(1 + np.exp(eta)) if family == "bernoulli" else np.exp(eta)
    log_h = np.zeros(60) if family == "bernoulli" else np.array([-math.lgamma(k + 1) for k in y])
    by_hand = -(log_h + eta * y - a).mean()
    assert -model.log_likelihood_ / 60 == pytest.approx(by_hand, abs=1e-10)


@pytest.mark.parametrize("family", RECIPES)
def test_the_gradient_is_x_times_mean_less_response_and_zero_at_the_estimate(family):
    # the course's last line is −1/N Xᵀ[g⁻¹(Xw) − y]; the gradient of the negative log-likelihood has the sign +
    y, mean_of = RECIPES[family]

    def loss(w):
        eta = ONES @ w
        a = {"gaussian": 0.5 * eta**2, "bernoulli": np.log(1 + np.exp(eta)), "poisson": np.exp(eta)}[family]
        return -(eta * y - a).mean()

    elsewhere = np.array([0.2, -0.3, 0.5])
    by_hand = ONES.T @ (mean_of(ONES @ elsewhere) - y) / 60
    assert gradient(loss, elsewhere) == pytest.approx(by_hand, abs=1e-7)
    assert -GLM(family).gradient(X, y, elsewhere) / 60 == pytest.approx(by_hand, abs=1e-10)  # that of the likelihood
    best = weights(GLM(family).fit(X, y))
    assert ONES.T @ (mean_of(ONES @ best) - y) / 60 == pytest.approx([0, 0, 0], abs=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_the_hessian_weights_each_row_by_the_variance_of_its_response(family):
    y, mean_of = RECIPES[family]
    model = GLM(family).fit(X, y)
    mu = mean_of(ONES @ weights(model))
    variance = mu * (1 - mu) if family == "bernoulli" else mu  # A″(η)
    hessian = ONES.T @ (variance[:, None] * ONES)
    assert -model.hessian(X, y) == pytest.approx(hessian, rel=1e-9)
    assert model.covariance_ == pytest.approx(np.linalg.inv(hessian), rel=1e-6)
    assert np.linalg.eigvalsh(hessian).min() > 0  # so the loss is convex


def test_the_loss_is_convex_so_every_other_point_is_worse():
    best = GLM("poisson").fit(X, VISITS)

    def likelihood(w):
        eta = ONES @ w
        return (VISITS * eta - np.exp(eta)).sum()

    top, w = likelihood(weights(best)), weights(best)
    for step in np.random.default_rng(0).normal(size=(20, 3)):
        assert likelihood(w + step) < top
        assert likelihood(w + 0.5 * step) >= 0.5 * top + 0.5 * likelihood(w + step)  # concave


def test_with_another_link_the_natural_parameter_is_a_function_of_the_linear_predictor():
    # η = g(f(xᵀw)): for the probit, f = Φ, and the natural parameter of a coin is log Φ/(1 − Φ)
    model = GLM("bernoulli", link="probit").fit(X, PASSED)
    linear = ONES @ weights(model)
    mu = np.array([phi(z) for z in linear])
    assert model.predict(X) == pytest.approx(mu, abs=1e-10)
    eta = np.log(mu / (1 - mu))
    by_hand = (PASSED * eta - np.log(1 + np.exp(eta))).sum()
    assert model.log_likelihood_ == pytest.approx(by_hand, abs=1e-9)
    density = np.exp(-0.5 * linear**2) / math.sqrt(2 * math.pi)
    score = ONES.T @ ((PASSED - mu) / (mu * (1 - mu)) * density)  # Xᵀ (y − μ) f′ / Var y
    assert score == pytest.approx([0, 0, 0], abs=1e-6)


def test_the_gradient_of_the_logistic_loss_is_x_times_sigma_less_response():
    model = LogisticRegression().fit(X, PASSED)
    elsewhere = np.array([0.2, -0.3, 0.5])
    by_hand = ONES.T @ (PASSED - sigmoid(ONES @ elsewhere))
    assert LogisticRegression().gradient(X, PASSED, elsewhere) == pytest.approx(by_hand, abs=1e-9)
    w = np.r_[model.intercept_, model.coef_[0]]
    assert ONES.T @ (sigmoid(ONES @ w) - PASSED) / 60 == pytest.approx([0, 0, 0], abs=1e-8)


def test_with_several_classes_the_posterior_is_a_softmax_and_the_gradient_is_zero():
    model = LogisticRegression().fit(X, KIND)
    p = softmax(model.intercept_ + X @ model.coef_.T)
    assert model.predict_proba(X) == pytest.approx(p, abs=1e-10)
    assert ONES.T @ (p - np.eye(3)[KIND]) / 60 == pytest.approx(np.zeros((3, 3)), abs=1e-8)
