"""The course on decisions: the Bayes-optimal classifier and its theorem, thresholds and the two kinds of errors."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from by_hand import log_normal

from suffice import GaussianDiscriminant, NaiveBayes, threshold_curve

#: a finite world: 3 kinds of rows, 2 classes, P(x, y) in hundredths
WORLD = np.array([[10, 25], [30, 5], [14, 16]]) / 100
ROWS = pd.DataFrame({"kind": ["a", "b", "c"]})
MODEL = NaiveBayes(prior=None).fit(
    pd.DataFrame({"kind": np.repeat(["a", "b", "c"], 2)}), [0, 1] * 3, sample_weight=100 * WORLD.ravel()
)
rng = np.random.default_rng(6)
Y = np.repeat([0, 1], 60)
X = rng.normal(size=(120, 1)) + 1.5 * Y[:, None]


def test_the_bayes_classifier_predicts_1_where_the_posterior_is_at_least_a_half():
    eta = WORLD[:, 1] / WORLD.sum(axis=1)  # η(x) = P(y = 1 | x)
    assert MODEL.predict_proba(ROWS)[:, 1] == pytest.approx(eta, abs=1e-12)
    assert (MODEL.predict(ROWS) == (eta >= 0.5)).all()
    assert (MODEL.predict(ROWS) == (WORLD[:, 1] >= WORLD[:, 0])).all()  # equivalently


def test_no_rule_has_a_lower_risk_than_the_bayes_classifier():
    def risk(rule):  # R(f) = P(f(x) ≠ y)
        return sum(WORLD[x, 1 - y] for x, y in enumerate(rule))

    best = risk(MODEL.predict(ROWS))
    assert best == pytest.approx(np.minimum(WORLD[:, 0], WORLD[:, 1]).sum(), abs=1e-12)  # E min(η, 1 − η)
    every = list(product((0, 1), repeat=3))
    assert min(risk(rule) for rule in every) == pytest.approx(best, abs=1e-12)
    assert all(risk(rule) >= best - 1e-12 for rule in every)


def test_for_each_row_the_bayes_classifier_has_the_least_conditional_risk():
    eta = MODEL.predict_proba(ROWS)[:, 1]
    for x, predicted in enumerate(MODEL.predict(ROWS)):
        by_hand = [WORLD[x, 1] / WORLD[x].sum(), WORLD[x, 0] / WORLD[x].sum()]  # the risk of saying 0, of saying 1
        assert [eta[x], 1 - eta[x]] == pytest.approx(by_hand, abs=1e-12)
        assert by_hand[predicted] == min(by_hand)


def test_the_bayes_classifier_of_any_number_of_classes_takes_the_most_probable():
    labels = np.arange(120) % 3
    rows = X + 2.0 * labels[:, None]
    model = GaussianDiscriminant("full", prior=None).fit(rows, labels)
    joint = np.column_stack(
        [
            np.log((labels == c).mean()) + log_normal(rows, [rows[labels == c].mean()], [[rows[labels == c].var()]])
            for c in range(3)
        ]
    )
    assert (model.predict(rows) == joint.argmax(axis=1)).all()


@pytest.mark.parametrize("t", [0.1, 0.5, 0.9])
def test_a_row_is_of_class_1_if_its_probability_reaches_the_threshold(t):
    model = GaussianDiscriminant("full", prior=None, threshold=t).fit(X, Y)
    densities = [np.exp(log_normal(X, [X[y == Y].mean()], [[X[y == Y].var()]])) for y in (0, 1)]
    p = densities[1] / (densities[0] + densities[1])
    assert (model.predict(X) == (p >= t)).all()


def test_a_higher_threshold_trades_false_positives_for_false_negatives():
    # a false positive is a good mail that is blocked, a false negative a spam that is not; the course calls
    # both blocked
    p = GaussianDiscriminant("full", prior=None).fit(X, Y).predict_proba(X)[:, 1]
    errors = []
    for t in (0.05, 0.2, 0.5, 0.8, 0.95):
        predicted = GaussianDiscriminant("full", prior=None, threshold=t).fit(X, Y).predict(X)
        false_positives = ((predicted == 1) & (Y == 0)).sum()
        false_negatives = ((predicted == 0) & (Y == 1)).sum()
        assert (false_positives, false_negatives) == (((p >= t) & (Y == 0)).sum(), ((p < t) & (Y == 1)).sum())
        errors.append((false_positives, false_negatives))
    assert [fp for fp, _ in errors] == sorted((fp for fp, _ in errors), reverse=True)
    assert [fn for _, fn in errors] == sorted(fn for _, fn in errors)
    assert errors[0] != errors[-1]


def test_with_costs_the_class_of_least_expected_cost_is_predicted():
    cost = np.array([[0.0, 9.0], [1.0, 0.0]])  # a good mail that is blocked costs nine times a spam that is not
    model = GaussianDiscriminant("full", prior=None, cost=cost).fit(X, Y)
    densities = np.column_stack([np.exp(log_normal(X, [X[y == Y].mean()], [[X[y == Y].var()]])) for y in (0, 1)])
    p = densities / densities.sum(axis=1, keepdims=True)
    by_hand = np.array([[row[0] * cost[0, d] + row[1] * cost[1, d] for d in (0, 1)] for row in p])
    assert (model.predict(X) == by_hand.argmin(axis=1)).all()
    assert (model.predict(X) == (p[:, 1] > 0.9)).all()  # the threshold c/(c + 1)


def test_the_curve_of_a_threshold_counts_both_errors_at_every_t():
    model = GaussianDiscriminant("full", prior=None).fit(X, Y)
    densities = np.column_stack([np.exp(log_normal(X, [X[y == Y].mean()], [[X[y == Y].var()]])) for y in (0, 1)])
    p = densities[:, 1] / densities.sum(axis=1)
    curve = threshold_curve(model, X, Y, cost=[[0, 5], [1, 0]])
    for t in np.linspace(0.01, 0.99, 25):
        found = curve.at(t)
        false_positives, false_negatives = ((p >= t) & (Y == 0)).sum(), ((p < t) & (Y == 1)).sum()
        assert (found["false_positives"], found["false_negatives"]) == (false_positives, false_negatives)
        assert found["cost"] == 5 * false_positives + false_negatives
        assert found["cost"] >= curve.at(curve.best)["cost"]


def test_the_boundary_is_where_one_class_becomes_more_probable_than_the_other():
    model = GaussianDiscriminant("tied", prior=None).fit(X, Y)
    x0 = model.boundary_point_
    means, sigma = (
        [X[y == Y].mean() for y in (0, 1)],
        ((X[:, 0] - np.array([X[y == Y].mean() for y in (0, 1)])[Y]) ** 2).mean(),
    )
    at = [0.5 * np.exp(log_normal([x0], [m], [[sigma]]))[0] for m in means]
    assert at[0] == pytest.approx(at[1], rel=1e-10)
    assert model.predict([x0 - 0.1, x0 + 0.1]).tolist() == [0, 1]
