"""The course on exponential families: the form, the log-normaliser A and its derivatives, links, sufficiency."""

import math

import numpy as np
import pytest
from by_hand import gradient, integral, sigmoid

from suffice import Bernoulli, Exponential, Gamma, Gaussian, Poisson

#: h, φ and A of each family, by hand; natural parameters; values of the variable
FORMS = {
    "bernoulli": (
        Bernoulli(),
        lambda y: 1.0,
        lambda y: [y],
        lambda e: math.log(1 + math.exp(e[0])),
        [[-0.4], [1.3]],
        [0, 1],
    ),
    "poisson": (
        Poisson(),
        lambda y: 1 / math.factorial(int(y)),
        lambda y: [y],
        lambda e: math.exp(e[0]),
        [[0.9], [-0.3]],
        [0, 1, 4, 7],
    ),
    "exponential": (
        Exponential(),
        lambda y: 1.0,
        lambda y: [y],
        lambda e: -math.log(-e[0]),
        [[-2.0], [-0.4]],
        [0.1, 1.7],
    ),
    "gaussian": (
        Gaussian(),
        lambda y: 1 / math.sqrt(2 * math.pi),
        lambda y: [y, y * y],
        lambda e: -(e[0] ** 2) / (4 * e[1]) - 0.5 * math.log(-2 * e[1]),
        [[1.0, -0.5], [-2.0, -0.3]],
        [-1.0, 0.2, 3.0],
    ),
    "gamma": (
        Gamma(),
        lambda y: 1.0,
        lambda y: [math.log(y), y],
        lambda e: math.lgamma(e[0] + 1) - (e[0] + 1) * math.log(-e[1]),
        [[2.0, -3.0], [-0.3, -0.2]],
        [0.3, 1.1, 6.0],
    ),
}
each_family = pytest.mark.parametrize("name", FORMS)


@each_family
def test_a_member_is_h_times_the_exponential_of_eta_phi_less_a(name):
    family, h, phi, a, etas, values = FORMS[name]
    for eta in etas:
        member = family.from_natural(np.array([eta]))[0]
        by_hand = [math.log(h(y)) + np.dot(eta, phi(y)) - a(eta) for y in values]
        assert member.log_prob(values) == pytest.approx(by_hand, abs=1e-10)


def test_a_coin_is_the_exponential_of_eta_y_less_ln_1_plus_e_to_the_eta():
    for eta in (-2.0, 0.0, 0.7):
        coin = Bernoulli().from_natural(np.array([[eta]]))[0]
        by_hand = [math.exp(eta * y) / (1 + math.exp(eta)) for y in (0, 1)]
        assert np.exp(coin.log_prob([0, 1])) == pytest.approx(by_hand, abs=1e-12)
        assert np.log(by_hand) == pytest.approx([eta * y - math.log(1 + math.exp(eta)) for y in (0, 1)], abs=1e-12)


def test_the_mean_of_a_coin_is_the_logistic_function_of_eta():
    # the course says once that σ(η) is not the mean of the distribution; it is, and the lines after that say so
    for eta in (-1.5, 0.0, 2.5):
        coin = Bernoulli().from_natural(np.array([[eta]]))[0]
        assert coin.mean()[0] == pytest.approx(float(sigmoid(eta)), abs=1e-12)
        assert 0 * np.exp(coin.log_prob([0])[0]) + 1 * np.exp(coin.log_prob([1])[0]) == pytest.approx(coin.mean()[0])


def test_the_natural_parameter_of_a_coin_is_its_log_odds():
    coin = Bernoulli().fit([1, 1, 1, 0])
    assert coin.natural_parameters()[0] == pytest.approx(math.log(0.75 / 0.25), abs=1e-12)


def test_the_natural_parameters_of_a_gaussian_are_mean_over_variance_and_minus_half_the_precision():
    fitted = Gaussian().fit([1.0, 2.0, 4.0, 7.0])
    mean, variance = 3.5, np.var([1.0, 2.0, 4.0, 7.0])
    assert fitted.natural_parameters() == pytest.approx([mean / variance, -1 / (2 * variance)], abs=1e-12)


def test_the_natural_parameter_of_a_poisson_count_is_the_logarithm_of_its_rate():
    assert Poisson().fit([2, 3, 1, 6]).natural_parameters()[0] == pytest.approx(math.log(3.0), abs=1e-12)


@pytest.mark.parametrize(
    ("family", "eta", "points"),
    [
        (Exponential(), [-1.3], np.linspace(0, 40, 400_001)),
        (Gaussian(), [0.8, -0.6], np.linspace(-20, 20, 40_001)),
    ],
    ids=["exponential", "gaussian"],
)
def test_a_is_the_logarithm_of_the_integral_that_makes_the_density_integrate_to_1(family, eta, points):
    h = np.exp(family.log_base_measure(points[:, None]))
    powers = np.exp(family.sufficient_statistics(points) @ np.array(eta))
    by_hand = math.log(integral(h * powers, points))
    assert family.log_normalizer(np.array([eta]))[0] == pytest.approx(by_hand, abs=1e-8)


def test_a_of_a_count_is_the_logarithm_of_a_sum():
    by_hand = math.log(sum(math.exp(0.9 * y) / math.factorial(y) for y in range(100)))
    assert Poisson().log_normalizer(np.array([[0.9]]))[0] == pytest.approx(by_hand, abs=1e-12)


@each_family
def test_the_gradient_of_a_is_the_mean_of_phi(name):
    family, _, _, a, etas, _ = FORMS[name]
    for eta in etas:
        member = family.from_natural(np.array([eta]))[0]
        assert family.log_normalizer_gradient(eta) == pytest.approx(gradient(a, eta), rel=1e-7, abs=1e-8)
        assert member.moment_parameters() == pytest.approx(gradient(a, eta), rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("eta", [-1.0, 0.4])
def test_the_mean_of_phi_is_the_sum_over_all_values(eta):
    y = np.arange(120)
    p = np.exp(Poisson().from_natural(np.array([[eta]]))[0].log_prob(y))
    assert Poisson().log_normalizer_gradient([eta])[0] == pytest.approx((p * y).sum(), abs=1e-10)
    second = (p * y * y).sum() - (p * y).sum() ** 2  # E φφᵀ − E φ E φᵀ
    assert Poisson().log_normalizer_hessian([eta])[0, 0] == pytest.approx(second, abs=1e-10)


@each_family
def test_the_hessian_of_a_is_the_covariance_of_phi(name):
    family, _, _, a, etas, _ = FORMS[name]
    for eta in etas:
        by_hand = np.array([gradient(lambda e, i=i: gradient(a, e, 1e-4)[i], eta, 1e-4) for i in range(len(eta))])
        assert family.log_normalizer_hessian(eta) == pytest.approx(by_hand, rel=1e-5, abs=1e-5)


@each_family
def test_a_is_convex_so_it_lies_below_its_chords_above_its_tangents_and_its_hessian_is_not_negative(name):
    family, _, _, a, (p, q), _ = FORMS[name]
    p, q = np.array(p), np.array(q)
    for share in (0.1, 0.5, 0.8):  # by definition
        between = family.log_normalizer((share * p + (1 - share) * q)[None])[0]
        assert between <= share * a(p) + (1 - share) * a(q) + 1e-12
    assert a(q) >= a(p) + family.log_normalizer_gradient(p) @ (q - p) - 1e-12  # first order
    for eta in (p, q):  # second order
        assert np.linalg.eigvalsh(family.log_normalizer_hessian(eta)).min() >= -1e-12


@each_family
def test_natural_parameters_and_means_of_phi_determine_each_other(name):
    family, _, _, a, etas, _ = FORMS[name]
    for eta in etas:
        moments = gradient(a, eta)  # μ = ∇A(η) by hand
        back = family.from_moments(moments[None])[0]
        assert back.natural_parameters() == pytest.approx(eta, rel=1e-5, abs=1e-6)  # η = g(μ)


def test_links_of_the_course_are_the_inverses_of_the_gradient_of_a():
    by_hand = {Bernoulli(): (0.3, math.log(0.3 / 0.7)), Poisson(): (4.0, math.log(4.0)), Exponential(): (4.0, -0.25)}
    for family, (mean, link) in by_hand.items():
        member = family.from_moments(np.array([[mean]]))[0]
        assert member.natural_parameters()[0] == pytest.approx(link, abs=1e-12)
        assert family.log_normalizer_gradient([link])[0] == pytest.approx(mean, abs=1e-10)


def test_the_mean_of_phi_suffices_for_the_estimate():
    rows, others = np.array([1.0, 3.0, 5.0, 7.0]), np.array([4 - math.sqrt(5), 4 + math.sqrt(5)])
    assert rows.mean() == pytest.approx(others.mean())  # other rows, and another number of them,
    assert (rows**2).mean() == pytest.approx((others**2).mean())  # with the same mean of φ = (x, x²)
    assert Gaussian().fit(rows).natural_parameters() == pytest.approx(
        Gaussian().fit(others).natural_parameters(), abs=1e-12
    )
    statistics = Gaussian().fit(rows).moment_parameters()
    assert statistics == pytest.approx([rows.mean(), (rows**2).mean()], abs=1e-12)


@each_family
def test_at_the_maximum_of_the_likelihood_the_mean_of_phi_under_the_model_is_that_of_the_rows(name):
    family, _, phi, _, _, values = FORMS[name]
    rows = [*values, values[-1]]
    by_hand = np.mean([phi(y) for y in rows], axis=0)
    assert family.fit(rows).moment_parameters() == pytest.approx(by_hand, rel=1e-9)
