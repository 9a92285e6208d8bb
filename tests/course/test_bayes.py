"""The course on Bayesian reasoning: posteriors of parameters, averages over them, pseudo-examples, the mode."""

import math

import numpy as np
import pytest
from by_hand import integral

from suffice import Bernoulli, BetaPrior, Categorical, DirichletPrior, DiscretePrior, NaiveBayes, Poisson, PseudoCount

COIN = np.array([1, 1, 0, 1, 0, 1, 1])
ONES, ZEROS, M = 5, 2, 7
THETA = np.linspace(0, 1, 200_001)


def likelihood(theta):
    return theta**ONES * (1 - theta) ** ZEROS


def test_the_posterior_is_the_likelihood_times_the_prior_over_the_evidence():
    prior = 6 * THETA * (1 - THETA)  # Beta(2, 2)
    evidence = integral(likelihood(THETA) * prior, THETA)
    posterior = likelihood(THETA) * prior / evidence
    found = Bernoulli().posterior(COIN, BetaPrior(2, 2))
    assert found.log_evidence()[0] == pytest.approx(math.log(evidence), abs=1e-9)  # log P[S]
    assert found.mean().item() == pytest.approx(integral(THETA * posterior, THETA), abs=1e-9)
    low, high = found.interval(0.9).low.item(), found.interval(0.9).high.item()
    inside = (low <= THETA) & (high >= THETA)
    assert integral(posterior[inside], THETA[inside]) == pytest.approx(0.9, abs=1e-4)


def test_the_probability_of_one_more_row_averages_over_the_parameters():
    # P[X = x | S] ∝ ∫ θ^(x + Σx) (1 − θ)^(1 − x + Σ(1 − x)) dθ under the uniform prior
    one = integral(THETA * likelihood(THETA), THETA)
    zero = integral((1 - THETA) * likelihood(THETA), THETA)
    predictive = Bernoulli().posterior(COIN, BetaPrior(1, 1)).predictive()
    assert np.exp(predictive.log_prob([1])[0]) == pytest.approx(one / (one + zero), abs=1e-9)
    assert np.exp(predictive.log_prob([0])[0]) == pytest.approx(zero / (one + zero), abs=1e-9)


def test_under_a_uniform_prior_the_probability_of_a_one_is_ones_plus_1_over_m_plus_2():
    found = np.exp(Bernoulli().posterior(COIN, BetaPrior(1, 1)).predictive().log_prob([1])[0])
    assert found == pytest.approx((COIN.sum() + 1) / (len(COIN) + 2), abs=1e-12)
    assert np.exp(Bernoulli().fit(COIN).log_prob([1])[0]) == pytest.approx(COIN.sum() / len(COIN), abs=1e-12)  # and ML


def test_a_uniform_prior_is_maximum_likelihood_with_two_pseudo_examples():
    with_two_more = Bernoulli().fit(np.r_[COIN, 1, 0])
    assert with_two_more.mean()[0] == pytest.approx((ONES + 1) / (M + 2), abs=1e-12)
    assert Bernoulli().fit(COIN, prior=PseudoCount(1)).mean()[0] == pytest.approx((ONES + 1) / (M + 2), abs=1e-12)


def test_the_maximum_a_posteriori_is_the_mode_of_the_posterior():
    density = likelihood(THETA) * THETA ** (3 - 1) * (1 - THETA) ** (2 - 1)  # Beta(3, 2)
    found = Bernoulli().posterior(COIN, BetaPrior(3, 2)).map()[0].mean()[0]
    assert found == pytest.approx(THETA[density.argmax()], abs=1e-5)
    assert found == pytest.approx((ONES + 3 - 1) / (M + 3 + 2 - 2), abs=1e-12)


def test_under_a_uniform_prior_the_mode_is_the_maximum_of_the_likelihood():
    assert Bernoulli().posterior(COIN, BetaPrior(1, 1)).map()[0].mean()[0] == pytest.approx(ONES / M, abs=1e-12)


def test_the_prediction_at_the_mode_differs_from_the_average_over_the_parameters():
    posterior = Bernoulli().posterior([1, 1, 1], BetaPrior(1, 1))
    assert np.exp(posterior.map()[0].log_prob([1])[0]) == pytest.approx(3 / 3, abs=1e-12)  # certain after three ones
    assert np.exp(posterior.predictive().log_prob([1])[0]) == pytest.approx((3 + 1) / (3 + 2), abs=1e-12)


def test_laplace_smoothing_is_the_posterior_mean_under_a_uniform_prior():
    rolls = ["a"] * 4 + ["b"] * 2
    by_hand = np.array([4 + 1, 2 + 1]) / (6 + 2)
    assert Categorical().posterior(rolls, DirichletPrior(1.0)).mean()[0] == pytest.approx(by_hand, abs=1e-12)
    assert np.exp(Categorical().fit(rolls, prior=1.0).log_prob(["a", "b"])) == pytest.approx(by_hand, abs=1e-12)


def test_the_posterior_after_more_rows_is_that_of_all_rows():
    first = Bernoulli().posterior(COIN[:3], BetaPrior(2, 1))
    both = first + COIN[3:]
    assert both.mean().item() == pytest.approx((ONES + 2) / (M + 3), abs=1e-12)


def test_a_classifier_that_averages_over_its_parameters_has_the_predictive_of_each_class():
    X, y = np.array([[1], [1], [0], [0], [0], [1]]), np.array([1, 1, 1, 0, 0, 0])
    model = NaiveBayes("bernoulli", estimate="predictive", prior=BetaPrior(1, 1), class_prior="uniform").fit(X, y)
    p = np.array([(1 + 1) / (3 + 2), (2 + 1) / (3 + 2)])
    assert model.predict_proba([[1]])[0] == pytest.approx(p / p.sum(), abs=1e-12)


# -- finitely many parameters ------------------------------------------------------------------------------------------


def test_with_finitely_many_hypotheses_the_posterior_is_a_share_of_a_sum():
    theta, prior = np.array([0.3, 0.5, 0.8]), np.array([0.2, 0.5, 0.3])
    joint = likelihood(theta) * prior
    found = Bernoulli().posterior(COIN, DiscretePrior(theta.tolist(), prior))
    assert found.weights[0] == pytest.approx(joint / joint.sum(), abs=1e-12)  # P[θ | S]
    assert found.log_evidence()[0] == pytest.approx(math.log(joint.sum()), abs=1e-12)  # log P[S]


def test_the_probability_of_one_more_row_is_a_sum_over_the_hypotheses():
    theta, prior = np.array([0.3, 0.5, 0.8]), np.array([0.2, 0.5, 0.3])
    posterior = likelihood(theta) * prior / (likelihood(theta) * prior).sum()
    predictive = Bernoulli().posterior(COIN, DiscretePrior(theta.tolist(), prior)).predictive()
    assert np.exp(predictive.log_prob([1])[0]) == pytest.approx(theta @ posterior, abs=1e-12)
    assert np.exp(predictive.log_prob([0])[0]) == pytest.approx((1 - theta) @ posterior, abs=1e-12)


def test_hypotheses_may_be_about_any_family():
    rates, calls = [1.0, 4.0], np.array([3, 2, 5])
    joint = [0.5 * math.prod(rate**x * math.exp(-rate) / math.factorial(x) for x in calls) for rate in rates]
    found = Poisson().posterior(calls, DiscretePrior(rates))
    assert found.weights[0] == pytest.approx(np.array(joint) / sum(joint), abs=1e-12)


def test_many_equal_hypotheses_come_near_to_a_uniform_prior():
    grid = (np.arange(2000) + 0.5) / 2000
    found = Bernoulli().posterior(COIN, DiscretePrior(grid.tolist())).predictive()
    assert np.exp(found.log_prob([1])[0]) == pytest.approx((ONES + 1) / (M + 2), abs=1e-6)


# -- classifiers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimate", "by_hand"), [("mean", 4 / 6), ("map", 3 / 4), ("mle", 3 / 4)])
def test_a_classifier_takes_the_mean_or_the_mode_of_the_posterior_or_maximum_likelihood(estimate, by_hand):
    # three ones in four throws: (3 + 1)/(4 + 2) on average, 3/4 at the mode of a uniform prior and of the likelihood
    X, y = np.array([[1], [1], [0], [1], [0], [1]]), np.array([1, 1, 1, 1, 0, 0])
    prior = "auto" if estimate == "mle" else PseudoCount(1)
    model = NaiveBayes("bernoulli", estimate=estimate, prior=prior).fit(X, y)
    assert model.means_[1, 0] == pytest.approx(by_hand, abs=1e-12)
