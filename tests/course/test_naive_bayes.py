"""The course on naive Bayes: the assumption, estimates by counting, smoothing, linearity."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from by_hand import gradient

from suffice import Bernoulli, Categorical, NaiveBayes, PseudoCount

#: mails as vectors of the words of a dictionary that they contain: a, buy, free, meeting, zebra
MAILS = np.array(
    [
        [1, 1, 1, 0, 0],
        [0, 1, 1, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 0, 0, 1, 0],
        [0, 0, 0, 1, 0],
        [1, 0, 1, 1, 0],
        [1, 0, 0, 0, 0],
        [1, 1, 0, 1, 0],
        [0, 0, 0, 1, 0],
    ],
    dtype=float,
)
SPAM = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
#: three columns of v_j = 3, 2 and 2 values, and k = 3 classes
TABLE = pd.DataFrame(
    {
        "sky": ["sun", "sun", "rain", "fog", "rain", "sun", "fog", "rain", "sun", "fog"],
        "wind": ["low", "high", "high", "low", "low", "low", "high", "high", "low", "low"],
        "day": ["week", "week", "end", "week", "end", "end", "week", "week", "week", "end"],
    }
)
PLACE = np.array(["park", "park", "home", "cafe", "home", "park", "cafe", "home", "park", "cafe"])
DICTIONARY = slice(0, 4)  # the words that some mail contains


def bernoulli(prior=None, **settings):
    return NaiveBayes("bernoulli", prior=prior, **settings).fit(MAILS[:, DICTIONARY], SPAM)


def phi(smoothing=0):
    """Return φ_{j | y}, the share of the mails of each class with each word."""
    return np.array(
        [
            (MAILS[c == SPAM][:, DICTIONARY].sum(axis=0) + smoothing) / ((c == SPAM).sum() + 2 * smoothing)
            for c in (0, 1)
        ]
    )


# -- the assumption --------------------------------------------------------------------------------------------------


def test_a_mail_is_a_vector_of_zeros_and_ones_over_a_dictionary():
    model = bernoulli()
    p = phi()
    for x in MAILS[:, DICTIONARY]:
        by_hand = [np.prod(p[c] ** x * (1 - p[c]) ** (1 - x)) * (c == SPAM).mean() for c in (0, 1)]
        assert np.exp(model.predict_joint_log_proba([x])[0]) == pytest.approx(by_hand, abs=1e-12)


def test_under_the_assumption_two_features_of_a_class_are_independent():
    model = bernoulli(prior=1.0)
    patterns = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)], float)
    joint = np.exp(model.predict_joint_log_proba(patterns)[:, 1]) / SPAM.mean()  # p(x | spam) of all 2⁴ mails
    p = phi(smoothing=1)[1]
    both = joint[(patterns[:, 1] == 1) & (patterns[:, 2] == 1)].sum()
    assert both == pytest.approx(p[1] * p[2], abs=1e-12)  # p(w_i, w_j | y) = p(w_i | y) p(w_j | y)
    assert joint.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_chain_rule_becomes_a_product_because_earlier_features_drop_out():
    model = bernoulli(prior=1.0)
    patterns = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)], float)
    joint = np.exp(model.predict_joint_log_proba(patterns)[:, 0])
    p = phi(smoothing=1)[0]
    for j in range(1, 4):  # P(x_j = 1 | x_1, …, x_{j−1}, y) = P(x_j = 1 | y)
        for before in ([0] * j, [1] * j):
            same = (patterns[:, :j] == before).all(axis=1)
            conditional = joint[same & (patterns[:, j] == 1)].sum() / joint[same].sum()
            assert conditional == pytest.approx(p[j], abs=1e-12)


def test_independence_reduces_2_to_the_d_parameters_to_2_d_plus_1():
    d = 4
    model = bernoulli()
    free_of_columns = model.distributions_[0].n_parameters  # one φ per word and class
    free_of_classes = len(model.class_prior_) - 1
    assert free_of_columns + free_of_classes == 2 * d + 1
    # the table of P(Y | x) has one number per mail: as a category of 2^d values with a probability of spam each
    mails = ["".join(map(str, bits)) for bits in np.ndindex(*[2] * d)]
    whole = NaiveBayes("categorical").fit(pd.DataFrame({"mail": mails * 2}), [0] * 2**d + [1] * 2**d)
    assert len(whole.distributions_[0].probability[0]) == 2**d


# -- maximum likelihood ----------------------------------------------------------------------------------------------


def test_the_estimates_are_shares_of_counts():
    model = bernoulli()
    assert model.class_prior_ == pytest.approx([6 / 10, 4 / 10], abs=1e-12)  # count(y) / m
    assert model.distributions_[0].probability == pytest.approx(phi(), abs=1e-12)  # count_j(x | y) / count(y)


def test_the_estimates_are_the_same_shares_for_any_number_of_values_and_classes():
    model = NaiveBayes(prior=None).fit(TABLE, PLACE)
    table = model.parameters("categorical")
    for row in table.itertuples():  # p_j(x | y) of every column, value and class
        own = TABLE[row[1] == PLACE]
        assert row.value == pytest.approx((own[row.column] == row.of).mean(), abs=1e-12)
    assert len(table) == 3 * (3 + 2 + 2)
    assert model.class_prior_ == pytest.approx([3 / 10, 3 / 10, 4 / 10], abs=1e-12)
    row = TABLE[:1]
    joint = [
        np.prod([(TABLE[c][place == PLACE] == TABLE[c][0]).mean() for c in TABLE]) * (place == PLACE).mean()
        for place in ("cafe", "home", "park")
    ]
    with np.errstate(divide="ignore"):
        assert model.predict_joint_log_proba(row)[0] == pytest.approx(np.log(joint), abs=1e-12)


def test_the_log_likelihood_adds_the_classes_and_the_cells():
    model = bernoulli()
    p, by_hand = phi(), 0.0
    for x, y in zip(MAILS[:, DICTIONARY], SPAM, strict=True):
        by_hand += math.log((y == SPAM).mean()) + sum(math.log(p[y, j] if x[j] else 1 - p[y, j]) for j in range(4))
    assert model.log_likelihood(MAILS[:, DICTIONARY], SPAM) == pytest.approx(by_hand, abs=1e-10)


def test_the_lagrangian_of_the_class_probabilities_is_stationary_with_alpha_the_number_of_rows():
    found = NaiveBayes(prior=None).fit(TABLE, PLACE).class_prior_
    counts = np.array([(place == PLACE).sum() for place in ("cafe", "home", "park")])
    alpha = len(PLACE)
    assert counts / found - alpha == pytest.approx([0, 0, 0], abs=1e-10)  # ∂L/∂p(y) = count(y)/p(y) − α
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_lagrangian_of_the_features_is_stationary_with_beta_the_count_of_the_class():
    found = bernoulli().distributions_[0].probability  # p_j(1 | y)
    for c in (0, 1):
        own = MAILS[c == SPAM][:, DICTIONARY]
        beta = (c == SPAM).sum()
        for j in range(4):
            for x, p in ((1, found[c, j]), (0, 1 - found[c, j])):
                count = (own[:, j] == x).sum()
                if p > 0:  # at the edge, count and p are both 0
                    assert count / p - beta == pytest.approx(0.0, abs=1e-10)  # ∂L/∂p_j(x | y)
                else:
                    assert count == 0


def test_no_other_feasible_parameters_have_a_higher_likelihood():
    rng, found = np.random.default_rng(0), bernoulli(prior=None)
    best = found.predict_joint_log_proba(MAILS[:, DICTIONARY])[np.arange(10), SPAM].sum()
    for _ in range(20):
        p, prior = rng.uniform(0.05, 0.95, size=(2, 4)), rng.uniform(0.1, 0.9)
        other = sum(
            math.log(prior if y else 1 - prior) + np.log(np.where(x == 1, p[y], 1 - p[y])).sum()
            for x, y in zip(MAILS[:, DICTIONARY], SPAM, strict=True)
        )
        assert other <= best


def test_gaussian_naive_bayes_has_a_mean_and_a_variance_per_column_and_class():
    # the homework of the course: the same derivation with Gaussian columns
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)) + 1.0, np.repeat([0, 1], [10, 20])
    X[y == 1] *= [1.0, 2.0, 0.5]
    model = NaiveBayes(prior=None).fit(X, y)
    (found,) = model.distributions_
    for c in (0, 1):
        own = X[y == c]
        mean, variance = own.sum(axis=0) / len(own), ((own - own.mean(axis=0)) ** 2).sum(axis=0) / len(own)
        assert found.mean()[c] == pytest.approx(mean, abs=1e-12)
        assert found.variance()[c] == pytest.approx(variance, abs=1e-12)
        logs = -0.5 * np.log(2 * math.pi * variance) - (X - mean) ** 2 / (2 * variance)
        by_hand = math.log((y == c).mean()) + logs.sum(axis=1)
        assert model.predict_joint_log_proba(X)[:, c] == pytest.approx(by_hand, abs=1e-10)

        def likelihood(parameters, own=own):
            m, v = parameters
            return (-0.5 * np.log(v) - (own - m) ** 2 / (2 * v)).sum()

        assert gradient(likelihood, np.array([mean, variance])) == pytest.approx(np.zeros((2, 3)), abs=1e-5)


def test_classes_and_features_are_estimated_separately():
    part = np.r_[0:4, 4:7]  # fewer mails that are not spam
    model = NaiveBayes("bernoulli", prior=None).fit(MAILS[part][:, DICTIONARY], SPAM[part])
    assert model.distributions_[0].probability[1] == pytest.approx(phi()[1], abs=1e-12)
    assert model.class_prior_ == pytest.approx([3 / 7, 4 / 7], abs=1e-12)


# -- classification --------------------------------------------------------------------------------------------------


def test_the_posterior_is_the_product_of_the_columns_over_its_sum():
    p = phi(smoothing=1)
    x = np.array([1, 0, 1, 0])
    joint = np.array([np.prod(np.where(x == 1, p[c], 1 - p[c])) * (c == SPAM).mean() for c in (0, 1)])
    assert bernoulli(prior=1.0).predict_proba([x])[0] == pytest.approx(joint / joint.sum(), abs=1e-12)


def test_the_class_with_the_largest_product_is_predicted():
    patterns = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)], float)
    p = phi(smoothing=1)
    joint = np.array(
        [[np.prod(np.where(x == 1, p[c], 1 - p[c])) * (c == SPAM).mean() for c in (0, 1)] for x in patterns]
    )
    assert (bernoulli(prior=1.0).predict(patterns) == joint.argmax(axis=1)).all()


def test_naive_bayes_is_a_linear_classifier():
    # w_j = log φ_1j/φ_0j − log (1 − φ_1j)/(1 − φ_0j); w_0 = log π_1/π_0 + Σ_j log (1 − φ_1j)/(1 − φ_0j)
    p = phi(smoothing=1)
    w = np.log(p[1] / p[0]) - np.log((1 - p[1]) / (1 - p[0]))
    w0 = math.log(0.4 / 0.6) + np.log((1 - p[1]) / (1 - p[0])).sum()
    model = bernoulli(prior=1.0)
    assert model.coef_[0] == pytest.approx(w, abs=1e-12)
    assert model.intercept_[0] == pytest.approx(w0, abs=1e-12)
    assert model.decision_function(MAILS[:, DICTIONARY]) == pytest.approx(w0 + MAILS[:, DICTIONARY] @ w, abs=1e-12)


def test_the_contributions_of_the_words_add_up_to_the_log_odds():
    p, x = phi(smoothing=1), np.array([1, 1, 0, 0])
    terms = np.where(x == 1, np.log(p[1] / p[0]), np.log((1 - p[1]) / (1 - p[0])))
    reasons = bernoulli(prior=1.0).explain([x], target=1, against=0)
    assert reasons.contributions[0] == pytest.approx(terms, abs=1e-12)
    assert reasons.baseline[0] == pytest.approx(math.log(0.4 / 0.6), abs=1e-12)
    assert reasons.log_odds[0] == pytest.approx(math.log(0.4 / 0.6) + terms.sum(), abs=1e-12)


# -- values that were never seen, and Laplace's rule -----------------------------------------------------------------


def test_a_value_that_no_row_has_makes_the_posterior_0_over_0_and_is_left_out():
    # the course: 0/0; the library leaves the cell out, with a warning, so the other cells decide
    p = np.c_[phi(), [0.0, 0.0]]  # no mail has "zebra"
    x = np.array([1, 0, 1, 1, 1])
    joint = np.array([np.prod(np.where(x == 1, p[c], 1 - p[c])) for c in (0, 1)]) * [0.6, 0.4]
    assert joint.tolist() == [0.0, 0.0]
    model = NaiveBayes("bernoulli", prior=None).fit(MAILS, SPAM)
    without = np.array([np.prod(np.where(x[:4] == 1, p[c, :4], 1 - p[c, :4])) for c in (0, 1)]) * [0.6, 0.4]
    with pytest.warns(UserWarning, match="probability 0"):
        found = model.predict_proba([x])[0]
    assert found == pytest.approx(without / without.sum(), abs=1e-12)
    assert model.score_samples([x])[0] == -np.inf  # log p(x) is log 0 all the same


def test_a_value_that_one_class_never_had_rules_it_out_whatever_the_other_columns_say():
    own = TABLE[PLACE == "home"]
    by_hand = (own["sky"] == "sun").mean() * (own["wind"] == "low").mean() * (own["day"] == "week").mean()
    assert by_hand == 0.0  # no day at home was sunny
    row = pd.DataFrame({"sky": ["sun"], "wind": ["low"], "day": ["week"]})
    assert NaiveBayes(prior=None).fit(TABLE, PLACE).predict_proba(row)[0, 1] == 0.0


def test_laplace_adds_1_to_every_count_and_v_to_the_number_of_rows():
    table = NaiveBayes(prior=1.0).fit(TABLE, PLACE).parameters("categorical")
    for row in table.itertuples():
        own = TABLE[row[1] == PLACE]
        values = TABLE[row.column].nunique()  # v_j
        by_hand = ((own[row.column] == row.of).sum() + 1) / (len(own) + values)
        assert row.value == pytest.approx(by_hand, abs=1e-12)
    assert len(table) == 3 * (3 + 2 + 2)


def test_laplace_for_a_word_has_v_equal_to_2():
    by_hand = np.array([(MAILS[c == SPAM].sum(axis=0) + 1) / ((c == SPAM).sum() + 2) for c in (0, 1)])
    (found,) = NaiveBayes("bernoulli").fit(MAILS, SPAM).distributions_  # the default is Laplace's rule
    assert found.probability == pytest.approx(by_hand, abs=1e-12)
    assert found.probability[:, 4] == pytest.approx([1 / 8, 1 / 6], abs=1e-12)  # "zebra"


def test_smoothed_probabilities_are_positive_and_sum_to_1():
    rolls = np.array(["a"] * 6 + ["b"] * 3 + ["c"])
    p = np.exp(Categorical().fit(rolls, prior=PseudoCount(1)).log_prob(["a", "b", "c"]))
    assert p == pytest.approx([7 / 13, 4 / 13, 2 / 13], abs=1e-12)  # (1 + n_j) / (k + n)
    assert (p > 0).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-12)


def test_smoothed_class_probabilities_add_1_to_each_class_and_k_to_the_number_of_rows():
    model = NaiveBayes(class_prior=PseudoCount(1)).fit(TABLE, PLACE)
    by_hand = [((place == PLACE).sum() + 1) / (len(PLACE) + 3) for place in ("cafe", "home", "park")]
    assert model.class_prior_ == pytest.approx(by_hand, abs=1e-12)
    assert sum(by_hand) == pytest.approx(1.0, abs=1e-12)


def test_class_probabilities_are_not_smoothed_by_default():
    assert NaiveBayes().fit(TABLE, PLACE).class_prior_ == pytest.approx([0.3, 0.3, 0.4], abs=1e-12)


def test_a_class_without_rows_has_probability_0_unless_it_is_smoothed():
    labels = ["cafe", "home", "park", "work"]  # no row is of "work"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = NaiveBayes(classes=labels).fit(TABLE, PLACE)
        smoothed = NaiveBayes(classes=labels, class_prior=PseudoCount(1)).fit(TABLE, PLACE)
    assert plain.class_prior_ == pytest.approx([0.3, 0.3, 0.4, 0.0], abs=1e-12)
    assert plain.predict_proba(TABLE)[:, 3].max() == 0.0
    assert smoothed.class_prior_[3] == pytest.approx(1 / 14, abs=1e-12)  # (0 + 1) / (m + k)
    # with Laplace's rule its features are equally probable: (0 + 1) / (0 + v_j)
    joint = np.exp(smoothed.predict_joint_log_proba(TABLE[:1])[0, 3])
    assert joint == pytest.approx(1 / 14 * 1 / 3 * 1 / 2 * 1 / 2, abs=1e-12)


def test_a_weaker_or_stronger_pseudo_count_is_a_number():
    for alpha in (0.1, 5.0):
        found = Bernoulli().fit([1, 1, 0], prior=alpha).mean()[0]
        assert found == pytest.approx((2 + alpha) / (3 + 2 * alpha), abs=1e-12)
