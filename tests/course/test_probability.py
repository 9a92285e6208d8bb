"""The course on probability: events, densities, conditional and joint distributions, Bayes' rule, the central limit."""

import math

import numpy as np
import pandas as pd
import pytest
from by_hand import integral, log_normal, phi

from suffice import (
    Bernoulli,
    BetaPrior,
    Categorical,
    Gaussian,
    GaussianDiscriminant,
    Geometric,
    KnownVariance,
    Mixture,
    NaiveBayes,
    Poisson,
)

#: 40 days: rain and wind, and whether the bus was late
DAYS = pd.DataFrame(
    {"rain": ["yes"] * 12 + ["no"] * 28, "wind": ["high"] * 5 + ["low"] * 7 + ["high"] * 6 + ["low"] * 22}
)
LATE = np.array(["late"] * 4 + ["on time"] + ["late"] * 3 + ["on time"] * 4 + ["late"] * 2 + ["on time"] * 26)
HEIGHTS = np.array([1.62, 1.71, 1.80, 1.55, 1.93, 1.67, 1.75, 1.84])
MAKERS = np.array(["a", "a", "b", "a", "b", "a", "b", "b"])
PAIR = Mixture.from_parameters([1.0], [[1.0, -2.0]], [[[2.0, 0.9], [0.9, 1.5]]])  # one Gaussian of two columns


def density(distribution, points):
    return np.exp(distribution.log_prob(np.asarray(points, float)))


# -- events ----------------------------------------------------------------------------------------------------------


def test_probabilities_are_not_negative_and_sum_to_1_over_the_sample_space():
    die = Categorical().fit([1, 2, 2, 3, 5, 5, 5, 6])
    p = np.exp(die.log_prob([1, 2, 3, 5, 6]))
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-12)


def test_probabilities_of_disjoint_events_add():
    rolls = np.array([1, 2, 2, 3, 5, 5, 5, 6])
    die = Categorical().fit(rolls)
    by_hand = np.isin(rolls, [2, 5]).mean()  # P({2} ∪ {5})
    assert np.exp(die.log_prob([2])[0]) + np.exp(die.log_prob([5])[0]) == pytest.approx(by_hand, abs=1e-12)


def test_the_impossible_event_has_probability_0():
    die = Categorical().fit([1, 2, 2, 3, 5, 5, 5, 6])
    assert np.exp(die.log_prob([4])[0]) == 0.0


def test_the_complement_has_the_remaining_probability():
    coin = Bernoulli().fit([1, 1, 0, 1, 0, 1, 1])
    assert np.exp(coin.log_prob([0])[0]) == pytest.approx(1 - np.exp(coin.log_prob([1])[0]), abs=1e-12)
    assert np.exp(coin.log_prob([0])[0]) == pytest.approx(2 / 7, abs=1e-12)


def test_the_probability_of_a_union_is_the_sum_less_the_intersection():
    outcome = (DAYS["rain"] + "/" + DAYS["wind"]).tolist()
    together = Categorical().fit(outcome)
    p = {event: float(np.exp(together.log_prob([event])[0])) for event in set(outcome)}
    rain = p["yes/high"] + p["yes/low"]
    wind = p["yes/high"] + p["no/high"]
    by_hand = ((DAYS["rain"] == "yes") | (DAYS["wind"] == "high")).mean()
    assert rain + wind - p["yes/high"] == pytest.approx(by_hand, abs=1e-12)


# -- random variables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "pmf"),
    [
        (Poisson(), lambda x: 2.5**x * math.exp(-2.5) / math.factorial(x)),
        (Geometric(), lambda x: (1 / 3.5) * (2.5 / 3.5) ** x),  # failures before a success, mean 2.5
    ],
    ids=["poisson", "geometric"],
)
def test_a_probability_mass_function_sums_to_1(family, pmf):
    values = np.arange(150)
    p = density(family.fit([2.0, 3.0]), values)
    assert p == pytest.approx([pmf(int(x)) for x in values], abs=1e-12)
    assert p.sum() == pytest.approx(1.0, abs=1e-10)


def test_a_density_gives_the_probability_of_an_interval_by_its_integral():
    tall = Gaussian().fit(HEIGHTS)
    mean, deviation = HEIGHTS.mean(), HEIGHTS.std()
    points = np.linspace(1.6, 1.8, 4001)
    by_hand = phi((1.8 - mean) / deviation) - phi((1.6 - mean) / deviation)
    assert integral(density(tall, points), points) == pytest.approx(by_hand, abs=1e-8)


def test_the_probability_of_a_rectangle_is_the_double_integral_of_the_joint_density():
    rows = np.array([[0.0, 1.0], [2.0, 4.0], [1.0, 1.0], [3.0, 2.0]])
    joint = Gaussian("diagonal").fit(rows)
    (m1, m2), (s1, s2) = rows.mean(axis=0), rows.std(axis=0)
    by_hand = (phi((2 - m1) / s1) - phi((1 - m1) / s1)) * (phi((3 - m2) / s2) - phi((0 - m2) / s2))
    a, b = np.linspace(1, 2, 201), np.linspace(0, 3, 601)
    grid = density(joint, np.column_stack([np.repeat(a, len(b)), np.tile(b, len(a))])).reshape(len(a), len(b))
    assert integral(np.array([integral(line, b) for line in grid]), a) == pytest.approx(by_hand, abs=1e-5)


def test_a_marginal_probability_sums_the_joint_over_the_other_variable():
    model = NaiveBayes("categorical", prior=None).fit(DAYS, LATE)
    # p(x) = Σ_y p(x | y) p(y), each a share of rows
    rows = DAYS.drop_duplicates()
    by_hand = np.zeros(len(rows))
    for y in ("late", "on time"):
        own = DAYS[y == LATE]
        for i, (rain, wind) in enumerate(rows.itertuples(index=False)):
            by_hand[i] += (own["rain"] == rain).mean() * (own["wind"] == wind).mean() * (y == LATE).mean()
    assert np.exp(model.score_samples(rows)) == pytest.approx(by_hand, abs=1e-12)


def test_a_marginal_density_integrates_the_joint_over_the_other_variable():
    other = np.linspace(-14, 10, 8001)
    for x in (-1.0, 0.5, 3.0):
        joint = np.exp(log_normal(np.column_stack([np.full_like(other, x), other]), [1, -2], [[2, 0.9], [0.9, 1.5]]))
        marginal = np.exp(PAIR.marginal([0]).score_samples([[x]])[0])
        assert marginal == pytest.approx(integral(joint, other), abs=1e-10)


def test_independent_variables_have_the_product_of_their_densities():
    rows = np.array([[0.0, 1.0], [2.0, 4.0], [1.0, 1.0], [3.0, 2.0]])
    joint = Gaussian("diagonal").fit(rows).log_prob(rows)
    product = Gaussian().fit(rows[:, 0]).log_prob(rows[:, 0]) + Gaussian().fit(rows[:, 1]).log_prob(rows[:, 1])
    assert joint == pytest.approx(product, abs=1e-12)


def test_dependent_variables_do_not_have_the_product_of_their_densities():
    x = np.array([[2.0, 0.0]])
    product = PAIR.marginal([0]).score_samples(x[:, :1]) + PAIR.marginal([1]).score_samples(x[:, 1:])
    assert PAIR.score_samples(x) == pytest.approx(log_normal(x, [1, -2], [[2, 0.9], [0.9, 1.5]]), abs=1e-12)
    assert abs(PAIR.score_samples(x) - product)[0] > 0.1


# -- conditional distributions ---------------------------------------------------------------------------------------


def test_a_conditional_probability_is_the_joint_over_the_marginal():
    model = NaiveBayes("categorical", prior=None).fit(DAYS[["rain"]], LATE)
    # P(late | rain) = P(late, rain) / P(rain), all three as shares of the 40 days
    both = ((LATE == "late") & (DAYS["rain"] == "yes")).mean()
    by_hand = both / (DAYS["rain"] == "yes").mean()
    row = pd.DataFrame({"rain": ["yes"]})
    assert np.exp(model.predict_joint_log_proba(row)[0, 0]) == pytest.approx(both, abs=1e-12)
    assert model.predict_proba(row)[0, 0] == pytest.approx(by_hand, abs=1e-12)


def test_the_chain_rule_multiplies_conditional_probabilities():
    mean, covariance = [0.0, 1.0, 2.0], [[2.0, 0.6, 0.3], [0.6, 1.0, -0.2], [0.3, -0.2, 1.5]]
    x = np.array([0.7, 0.2, 3.0])
    model = Mixture.from_parameters([1.0], [mean], [covariance])
    # p(x₁, x₂, x₃) = p(x₁) p(x₂ | x₁) p(x₃ | x₁, x₂)
    first = model.marginal([0]).score_samples([x[:1]])[0]
    second = model.marginal([0, 1]).condition({0: x[0]}).score_samples([x[1:2]])[0]
    third = model.condition({0: x[0], 1: x[1]}).score_samples([x[2:]])[0]
    assert first + second + third == pytest.approx(log_normal(x, mean, covariance)[0], abs=1e-10)


def test_a_conditional_density_is_the_joint_density_over_the_marginal_one():
    given = PAIR.condition({0: 2.5})
    for y in (-3.0, -1.0, 0.0):
        joint = log_normal([2.5, y], [1, -2], [[2, 0.9], [0.9, 1.5]])[0]
        marginal = log_normal([2.5], [1], [[2.0]])[0]
        assert given.score_samples([[y]])[0] == pytest.approx(joint - marginal, abs=1e-10)


def test_the_joint_probability_of_an_interval_and_a_class_is_an_integral_times_the_class_probability():
    model = GaussianDiscriminant("full", prior=None).fit(HEIGHTS[:, None], MAKERS)
    points = np.linspace(1.6, 1.9, 4001)
    joint = np.exp(model.predict_joint_log_proba(points[:, None]))[:, 0]  # f(x | a) P(a)
    own = HEIGHTS[MAKERS == "a"]
    by_hand = (phi((1.9 - own.mean()) / own.std()) - phi((1.6 - own.mean()) / own.std())) * 0.5
    assert integral(joint, points) == pytest.approx(by_hand, abs=1e-7)


# -- Bayes' rule -----------------------------------------------------------------------------------------------------


def test_the_posterior_of_flu_given_cough_is_bayes_rule():
    flu, cough_if_flu, cough_if_well = 0.05, 0.8, 0.2
    by_hand = cough_if_flu * flu / (cough_if_flu * flu + cough_if_well * (1 - flu))
    model = NaiveBayes.from_parameters(
        {"flu": flu, "well": 1 - flu}, {"cough": {"flu": cough_if_flu, "well": cough_if_well}}
    )
    assert model.predict_proba([[True]])[0, 0] == pytest.approx(by_hand, abs=1e-12)
    assert by_hand == pytest.approx(0.174, abs=5e-4)
    rows = pd.DataFrame({"cough": [True, False, True, False]})  # the same from rows that occur with these probabilities
    weight = [flu * 0.8, flu * 0.2, (1 - flu) * 0.2, (1 - flu) * 0.8]
    learned = NaiveBayes(prior=None).fit(rows, ["flu", "flu", "well", "well"], sample_weight=weight)
    assert learned.predict_proba(rows[:1])[0, 0] == pytest.approx(by_hand, abs=1e-12)


def test_bayes_rule_for_two_discrete_variables():
    model = NaiveBayes("categorical", prior=None).fit(DAYS[["wind"]], LATE)
    p_late = (LATE == "late").mean()
    high_if_late = (DAYS["wind"][LATE == "late"] == "high").mean()
    high_if_not = (DAYS["wind"][LATE != "late"] == "high").mean()
    by_hand = high_if_late * p_late / (high_if_late * p_late + high_if_not * (1 - p_late))
    assert model.predict_proba(pd.DataFrame({"wind": ["high"]}))[0, 0] == pytest.approx(by_hand, abs=1e-12)


def test_bayes_rule_for_a_discrete_class_given_a_continuous_row():
    model = GaussianDiscriminant("full", prior=None).fit(HEIGHTS[:, None], MAKERS)
    density_of = {
        maker: np.exp(log_normal([1.7], [HEIGHTS[maker == MAKERS].mean()], [[HEIGHTS[maker == MAKERS].var()]])[0])
        for maker in "ab"
    }
    by_hand = density_of["a"] * 0.5 / (density_of["a"] * 0.5 + density_of["b"] * 0.5)
    assert model.predict_proba([[1.7]])[0, 0] == pytest.approx(by_hand, abs=1e-12)


def test_bayes_rule_for_a_continuous_variable_given_a_discrete_one():
    # X uniform on [0, 1] is the probability of a coin, Y = 1 one throw of it: f(x | Y = 1) = x · 1 / P(Y = 1) = 2x
    posterior = Bernoulli().posterior([1], BetaPrior(1, 1))
    x = np.linspace(0, 1, 20001)
    by_hand = 2 * x
    assert posterior.mean()[0, 0] == pytest.approx(integral(x * by_hand, x), abs=1e-8)  # 2/3
    below_half = integral(by_hand[x <= 0.5], x[x <= 0.5])  # 1/4
    assert posterior.interval(0.5).low[0, 0] == pytest.approx(0.5, abs=1e-9)  # a quarter lies below
    assert below_half == pytest.approx(0.25, abs=1e-8)


def test_bayes_rule_for_two_continuous_variables():
    # μ ~ N(0, 2), x | μ ~ N(μ, 1): f(μ | x) = f(x | μ) f(μ) / ∫ f(x | μ) f(μ) dμ
    x, mu = 1.5, np.linspace(-15, 15, 20001)
    joint = np.exp(-0.5 * (x - mu) ** 2) * np.exp(-0.25 * mu**2)
    posterior = joint / integral(joint, mu)
    found = Gaussian().posterior([x], KnownVariance(variance=1.0, mean=0.0, count=0.5))
    assert found.mean().item() == pytest.approx(integral(mu * posterior, mu), abs=1e-8)


def test_the_class_is_the_same_with_and_without_the_probability_of_the_row():
    model = NaiveBayes("categorical").fit(DAYS, LATE)
    joint = model.predict_joint_log_proba(DAYS)  # log p(x | y) + log p(y), not divided by p(x)
    assert (model.classes_[joint.argmax(axis=1)] == model.predict(DAYS)).all()
    assert model.predict_log_proba(DAYS) == pytest.approx(joint - model.score_samples(DAYS)[:, None], abs=1e-12)


def test_features_that_are_independent_given_the_class_multiply():
    model = NaiveBayes("categorical", prior=None).fit(DAYS, LATE)
    joint = np.exp(model.predict_joint_log_proba(pd.DataFrame({"rain": ["yes"], "wind": ["low"]})))[0]
    for y, found in zip(["late", "on time"], joint, strict=True):
        own = DAYS[y == LATE]
        by_hand = (own["rain"] == "yes").mean() * (own["wind"] == "low").mean() * (y == LATE).mean()
        assert found == pytest.approx(by_hand, abs=1e-12)


# -- the central limit -----------------------------------------------------------------------------------------------


def test_averages_become_normal_as_their_number_grows():
    die = np.full(6, 1 / 6)  # the faces 1 to 6
    distances = []
    for n in (1, 5, 25, 125):
        p = np.ones(1)
        for _ in range(n):
            p = np.convolve(p, die)  # the distribution of the sum of n rolls, by hand
        average = (np.arange(len(p)) + n) / n
        normal = Gaussian().fit(average, sample_weight=p)
        assert normal.mean()[0] == pytest.approx(3.5, abs=1e-9)
        assert normal.variance()[0] == pytest.approx(35 / 12 / n, rel=1e-9)  # the variance of a face, over n
        distances.append(
            np.abs(np.cumsum(p) - [phi((a + 0.5 / n - 3.5) / math.sqrt(35 / 12 / n)) for a in average]).max()
        )
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-3
