"""The course on documents: bags of words, the multinomial event model, weights of words, smoothing, the bias."""

import math

import numpy as np
import pytest

from suffice import Multinomial, NaiveBayes

#: counts of the words free, money, account, meeting, thanks in mails of various lengths
WORDS = ["free", "money", "account", "meeting", "thanks"]
BAGS = np.array(
    [
        [4, 2, 1, 0, 0],
        [2, 3, 0, 0, 1],
        [1, 0, 2, 1, 0],
        [0, 0, 1, 3, 2],
        [1, 0, 0, 2, 2],
        [0, 1, 0, 1, 3],
        [0, 0, 0, 2, 0],
    ],
    dtype=float,
)
SPAM = np.array([1, 1, 1, 0, 0, 0, 0])


def theta(smoothing=0):
    """Return θ_cw, the share of each word among the words of each class."""
    totals = np.array([BAGS[c == SPAM].sum(axis=0) for c in (0, 1)]) + smoothing
    return totals / totals.sum(axis=1, keepdims=True)


def fitted(prior=1.0, **settings):
    return NaiveBayes("multinomial", prior=prior, **settings).fit(BAGS, SPAM)


def coefficient(bag):
    """Return log N!/Π z_w!, which the library's p(x | y) has and the course leaves out."""
    return math.lgamma(bag.sum() + 1) - sum(math.lgamma(z + 1) for z in bag)


def test_the_probability_of_a_document_is_the_product_of_its_words_to_the_power_of_their_counts():
    p, x = theta(smoothing=1), np.array([2, 1, 0, 1, 0])
    joint = fitted().predict_joint_log_proba([x])[0]
    for c in (0, 1):
        by_hand = math.prod(p[c, w] ** x[w] for w in range(5)) * (c == SPAM).mean()  # π_c Π θ_cw^z_w
        assert joint[c] == pytest.approx(math.log(by_hand) + coefficient(x), abs=1e-10)


def test_the_factor_that_all_classes_share_changes_no_posterior():
    p, x = theta(smoothing=1), np.array([2, 1, 0, 1, 0])
    joint = np.array([math.prod(p[c] ** x) * (c == SPAM).mean() for c in (0, 1)])  # without N!/Π z_w!
    assert fitted().predict_proba([x])[0] == pytest.approx(joint / joint.sum(), abs=1e-12)


def test_the_order_of_the_words_does_not_matter():
    # word by word, P(x_j = t | y) = p(t | y) at every place; only the counts enter
    p, document = theta(smoothing=1), [0, 3, 0, 1]  # free meeting free money
    for places in (document, document[::-1]):
        joint = np.array([math.prod(p[c, t] for t in places) * (c == SPAM).mean() for c in (0, 1)])
        counts = np.bincount(places, minlength=5)
        assert fitted().predict_proba([counts])[0] == pytest.approx(joint / joint.sum(), abs=1e-12)


def test_documents_may_be_of_any_length():
    assert len(set(BAGS.sum(axis=1))) > 3
    p = theta(smoothing=1)
    for length in (0, 1, 40):
        x = np.array([length, 0, 0, 0, 0])
        joint = np.array([p[c, 0] ** length * (c == SPAM).mean() for c in (0, 1)])
        assert fitted().predict_proba([x])[0] == pytest.approx(joint / joint.sum(), abs=1e-12)


def test_the_estimate_of_a_word_is_its_share_of_all_words_of_the_class():
    # not the share of mails that contain it, which is the Bernoulli model
    model = fitted(prior=None)
    assert model.distributions_[0].probability == pytest.approx(theta(), abs=1e-12)
    assert model.class_prior_ == pytest.approx([4 / 7, 3 / 7], abs=1e-12)


def test_laplace_adds_1_to_each_word_and_the_size_of_the_dictionary_to_the_words_of_the_class():
    counts = np.array([BAGS[c == SPAM].sum(axis=0) for c in (0, 1)])
    by_hand = (counts + 1) / (counts.sum(axis=1, keepdims=True) + 5)
    assert fitted().distributions_[0].probability == pytest.approx(by_hand, abs=1e-12)


def test_the_lagrangian_of_the_words_is_stationary_with_the_number_of_words_as_multiplier():
    found = Multinomial().fit(BAGS[SPAM == 0]).probability
    counts = BAGS[SPAM == 0].sum(axis=0)
    seen = counts > 0
    multiplier = counts.sum()  # −λ of the course
    assert counts[seen] / found[seen] - multiplier == pytest.approx(np.zeros(seen.sum()), abs=1e-9)


def test_the_log_likelihood_of_documents_separates_into_classes_and_words():
    p, pi = theta(smoothing=1), [4 / 7, 3 / 7]
    of_classes = sum(math.log(pi[y]) for y in SPAM)  # Σ_c log π_c · (number of documents of c)
    of_words = sum(z @ np.log(p[y]) for z, y in zip(BAGS, SPAM, strict=True))
    found = fitted().predict_joint_log_proba(BAGS)[np.arange(7), SPAM].sum()
    assert found == pytest.approx(of_classes + of_words + sum(map(coefficient, BAGS)), abs=1e-9)


def test_the_parameters_of_one_class_do_not_depend_on_the_documents_of_another():
    other = NaiveBayes("multinomial", prior=1.0).fit(np.vstack([BAGS[SPAM == 1], [[0, 0, 0, 50, 9]]]), [1, 1, 1, 0])
    assert other.distributions_[0].probability[1] == pytest.approx(theta(smoothing=1)[1], abs=1e-12)


def test_the_score_of_a_class_is_a_weighted_sum_of_the_counts_of_words():
    p, x = theta(smoothing=1), np.array([3, 1, 0, 0, 2])
    spam_score = sum(x[w] * math.log(p[1, w]) for w in range(5)) + math.log(3 / 7)  # weights a_w, and a bias
    ham_score = sum(x[w] * math.log(p[0, w]) for w in range(5)) + math.log(4 / 7)  # weights b_w
    assert fitted().decision_function([x])[0] == pytest.approx(spam_score - ham_score, abs=1e-12)
    assert fitted().predict([x])[0] == int(spam_score > ham_score)


def test_naive_bayes_on_words_is_a_linear_classifier():
    p = theta(smoothing=1)
    model = fitted()
    assert model.coef_[0] == pytest.approx(np.log(p[1]) - np.log(p[0]), abs=1e-12)  # w_k
    assert model.intercept_[0] == pytest.approx(math.log(3 / 7) - math.log(4 / 7), abs=1e-12)  # w_0


def test_the_bias_is_needed():
    even = np.array([1, 0, 0, 1, 0])  # a mail whose words speak for neither class by much
    p = theta(smoothing=1)
    words = math.log(p[1, 0]) + math.log(p[1, 3]) - math.log(p[0, 0]) - math.log(p[0, 3])
    for share in (0.02, 0.98):
        model = fitted(class_prior=[1 - share, share])
        by_hand = words + math.log(share / (1 - share))
        assert model.decision_function([even])[0] == pytest.approx(by_hand, abs=1e-12)
        assert model.predict([even])[0] == int(share > 0.5)


def test_the_words_of_a_long_spam_add_up_in_its_explanation():
    p = theta(smoothing=1)
    x = np.array([100, 10, 2, 0, 0])
    reasons = fitted().explain([x], target=1, against=0)
    by_hand = x * np.log(p[1] / p[0])
    assert reasons.contributions[0] == pytest.approx(by_hand, abs=1e-9)
    assert reasons.log_odds[0] == pytest.approx(by_hand.sum() + math.log(3 / 4), abs=1e-9)


def test_the_class_with_the_largest_log_sum_is_predicted_for_any_number_of_classes():
    kinds = np.array([0, 0, 1, 2, 2, 2, 1])
    p = np.array([BAGS[kinds == c].sum(axis=0) + 1 for c in range(3)])
    p = p / p.sum(axis=1, keepdims=True)
    scores = np.log([2 / 7, 2 / 7, 3 / 7]) + BAGS @ np.log(p).T  # log π_c + Σ z_k log θ_ck
    model = NaiveBayes("multinomial").fit(BAGS, kinds)
    assert (model.predict(BAGS) == scores.argmax(axis=1)).all()
