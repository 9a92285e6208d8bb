"""The course on maximum likelihood: likelihoods, densities, estimates by derivatives and by Lagrange multipliers."""

import math

import numpy as np
import pytest
from by_hand import gradient, log_normal

from suffice import Bernoulli, Beta, Categorical, Gaussian, NaiveBayes, Poisson

COIN = np.array([1, 0, 1, 1, 0, 1, 1, 0, 1, 1])
LENGTHS = np.array([4.1, 3.7, 5.2, 4.4, 4.9, 3.9])
FRUIT = np.array(["fig"] * 5 + ["plum"] * 3 + ["pear"] * 2)


def coin(theta):
    return Bernoulli.from_parameters(probability=theta)


def gaussian(mean, deviation):
    return Gaussian.from_parameters(mean=mean, variance=deviation**2)


# -- likelihood ------------------------------------------------------------------------------------------------------


def test_the_likelihood_of_independent_rows_is_the_product_of_their_probabilities():
    by_hand = 1.0
    for x in COIN:
        by_hand *= 0.6 if x == 1 else 0.4
    assert np.exp(coin(0.6).log_prob(COIN).sum()) == pytest.approx(by_hand, abs=1e-14)


def test_the_log_likelihood_of_a_coin_counts_its_ones_and_zeros():
    ones, zeros = (COIN == 1).sum(), (COIN == 0).sum()
    for theta in (0.2, 0.5, 0.9):
        by_hand = ones * math.log(theta) + zeros * math.log(1 - theta)
        assert coin(theta).log_prob(COIN).sum() == pytest.approx(by_hand, abs=1e-12)


def test_the_estimate_of_a_coin_is_the_share_of_ones_where_the_derivative_is_zero():
    theta = Bernoulli().fit(COIN).mean()[0]
    ones, zeros = (COIN == 1).sum(), (COIN == 0).sum()
    assert theta == pytest.approx(ones / len(COIN), abs=1e-12)
    assert ones / theta - zeros / (1 - theta) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize(
    ("family", "at", "by_hand"),
    [
        (Bernoulli(), coin, lambda x: x.mean()),
        (Poisson(), lambda t: Poisson.from_parameters(rate=t), lambda x: x.mean()),
    ],
    ids=["bernoulli", "poisson"],
)
def test_no_other_parameter_has_a_higher_likelihood(family, at, by_hand):
    best = family.fit(COIN)
    assert best.mean()[0] == pytest.approx(by_hand(COIN), abs=1e-12)
    highest = best.log_prob(COIN).sum()
    for theta in np.linspace(0.02, 0.98, 49):
        assert at(theta).log_prob(COIN).sum() <= highest + 1e-12


# -- densities -------------------------------------------------------------------------------------------------------


def test_a_single_value_of_the_uniform_distribution_has_probability_0_but_density_1():
    uniform = Beta.from_parameters(a=1.0, b=1.0)
    assert uniform.log_prob(np.linspace(0.01, 0.99, 9)) == pytest.approx(np.zeros(9), abs=1e-12)  # log f = log 1
    widths = np.array([1e-1, 1e-4, 1e-7])
    probability = widths * np.exp(uniform.log_prob([0.3])[0])  # P(0.3 ≤ x ≤ 0.3 + w) = w
    assert probability == pytest.approx(widths, rel=1e-12)  # tends to 0: log P would be −∞ for every row
    assert np.isfinite(uniform.log_prob([0.1, 0.5, 0.7]).sum())  # the log-likelihood by the density is not


def test_a_density_may_exceed_1():
    narrow = gaussian(0.0, 0.1)
    assert np.exp(narrow.log_prob([0.0])[0]) == pytest.approx(1 / (0.1 * math.sqrt(2 * math.pi)), rel=1e-12)  # 3.99
    assert narrow.log_prob([0.0])[0] > 0


def test_the_log_likelihood_of_gaussian_rows_is_their_squares_and_the_logarithm_of_the_deviation():
    mean, deviation, m = 4.2, 0.7, len(LENGTHS)
    by_hand = -((LENGTHS - mean) ** 2).sum() / (2 * deviation**2) - m * math.log(deviation * math.sqrt(2 * math.pi))
    assert gaussian(mean, deviation).log_prob(LENGTHS).sum() == pytest.approx(by_hand, abs=1e-12)


def test_the_estimates_of_a_gaussian_are_the_mean_and_the_deviation_with_1_over_m():
    fitted = Gaussian().fit(LENGTHS)
    mean = LENGTHS.sum() / len(LENGTHS)
    assert fitted.mean()[0] == pytest.approx(mean, abs=1e-12)
    assert np.sqrt(fitted.variance()[0]) == pytest.approx(
        math.sqrt(((LENGTHS - mean) ** 2).sum() / len(LENGTHS)), abs=1e-12
    )


def test_the_gradient_of_the_gaussian_log_likelihood_is_zero_at_the_estimates():
    fitted = Gaussian().fit(LENGTHS)
    mean, deviation, m = fitted.mean()[0], np.sqrt(fitted.variance()[0]), len(LENGTHS)
    by_mean = (LENGTHS - mean).sum() / deviation**2
    by_deviation = ((LENGTHS - mean) ** 2).sum() / deviation**3 - m / deviation
    assert [by_mean, by_deviation] == pytest.approx([0.0, 0.0], abs=1e-10)


def test_the_full_covariance_estimate_is_the_mean_outer_product_of_the_deviations():
    rows = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0], [6.0, 4.0], [4.0, 4.5]])
    fitted = Gaussian("full").fit(rows)
    mean = rows.mean(axis=0)
    by_hand = sum(np.outer(row - mean, row - mean) for row in rows) / len(rows)
    assert fitted.mean() == pytest.approx(mean, abs=1e-12)
    assert fitted.covariance() == pytest.approx(by_hand, abs=1e-12)
    assert fitted.log_prob(rows) == pytest.approx(log_normal(rows, mean, by_hand), abs=1e-12)


# -- Lagrange multipliers --------------------------------------------------------------------------------------------


def test_the_estimate_of_a_die_is_count_over_n_and_its_lagrange_multiplier_is_n():
    p = np.exp(Categorical().fit(FRUIT).log_prob(["fig", "plum", "pear"]))
    counts = np.array([5, 3, 2])
    assert p == pytest.approx(counts / 10, abs=1e-12)
    # L(p, λ) = Σ count_v log p_v − λ (Σ p_v − 1): ∂L/∂p_v = count_v / p_v − λ = 0, with λ = n
    assert counts / p - len(FRUIT) == pytest.approx([0, 0, 0], abs=1e-10)


def test_at_a_constrained_maximum_the_gradient_is_parallel_to_that_of_the_constraint():
    p = np.exp(Categorical().fit(FRUIT).log_prob(["fig", "plum", "pear"]))
    counts = np.array([5.0, 3.0, 2.0])
    of_likelihood = gradient(lambda q: counts @ np.log(q), p)
    of_constraint = gradient(lambda q: q.sum() - 1.0, p)  # (1, 1, 1)
    crossed = np.cross(of_likelihood, of_constraint)
    assert crossed == pytest.approx([0, 0, 0], abs=1e-6)
    assert of_likelihood[0] / of_constraint[0] == pytest.approx(10.0, abs=1e-6)  # λ


def test_along_any_curve_on_the_constraint_the_derivative_at_the_maximum_is_zero():
    p = np.exp(Categorical().fit(FRUIT).log_prob(["fig", "plum", "pear"]))
    counts = np.array([5.0, 3.0, 2.0])

    def on_curve(t, a, b):  # r(t) = softmax(log p + t a + t² b): r(0) = p, and Σ r(t) = 1
        moved = p * np.exp(t * a + t**2 * b)
        return counts @ np.log(moved / moved.sum())

    rng = np.random.default_rng(0)
    for _ in range(5):
        a, b = rng.normal(size=(2, 3))
        slope = (on_curve(1e-5, a, b) - on_curve(-1e-5, a, b)) / 2e-5
        assert slope == pytest.approx(0.0, abs=1e-6)
        assert on_curve(0.1, a, b) < on_curve(0.0, a, b)


def test_with_several_constraints_the_gradient_is_a_combination_of_their_gradients():
    x = np.array([["s", "u"], ["s", "v"], ["t", "u"], ["t", "v"], ["s", "u"], ["t", "u"]])
    y = np.array([0, 0, 0, 1, 1, 1])
    found = NaiveBayes("categorical", prior=None).fit(x, y).distributions_[0].probability  # class × (s, t, u, v)
    counts = np.array(
        [[[(x[y == c, j] == v).sum() for j, v in ((0, "s"), (0, "t"), (1, "u"), (1, "v"))]] for c in (0, 1)]
    )
    of_likelihood = (counts[:, 0, :] / found).ravel()  # ∂ℓ/∂p_j(x | y)
    constraints = np.zeros((4, 8))  # Σ_x p_j(x | y) = 1 for each class and column
    for g in range(4):
        constraints[g, 2 * g : 2 * g + 2] = 1.0
    multipliers, *_ = np.linalg.lstsq(constraints.T, of_likelihood, rcond=None)
    assert constraints.T @ multipliers == pytest.approx(of_likelihood, abs=1e-10)
    assert multipliers == pytest.approx([3, 3, 3, 3], abs=1e-10)  # β_j(y) = count(y)


def test_weights_of_rows_count_as_repeated_rows():
    repeated = np.repeat(LENGTHS, [1, 2, 3, 1, 2, 1])
    weighted = Gaussian().fit(LENGTHS, sample_weight=[1, 2, 3, 1, 2, 1])
    assert weighted.mean()[0] == pytest.approx(repeated.mean(), abs=1e-12)
    assert weighted.variance()[0] == pytest.approx(((repeated - repeated.mean()) ** 2).mean(), abs=1e-12)
