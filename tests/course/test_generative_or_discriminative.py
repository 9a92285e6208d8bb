"""The course on generative and discriminative learning: one form, two likelihoods, unlabelled rows."""

import math

import numpy as np
import pytest
from by_hand import log_normal, sigmoid

from suffice import GaussianDiscriminant, LogisticRegression, NaiveBayes, compare

rng = np.random.default_rng(9)
Y = np.repeat([0, 1], [35, 45])
X = rng.normal(size=(80, 2)) @ [[1.0, 0.3], [0.0, 0.7]] + np.array([[0.0, 0.0], [1.5, 0.5]])[Y]


def draw(n, seed, gap=2.0):
    """Return n rows of two Gaussian classes with one covariance, for which GDA is right."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return random.normal(size=(n, 3)) + gap / 2 * (2 * y[:, None] - 1) * np.array([1.0, 0.0, 0.0]), y


# -- the same form ---------------------------------------------------------------------------------------------------


def test_gaussian_discriminant_analysis_is_a_logistic_regression():
    model = GaussianDiscriminant("tied", prior=None).fit(X, Y)
    logistic = model.to_logistic()
    m0, m1 = X[Y == 0].mean(axis=0), X[Y == 1].mean(axis=0)
    away = X - np.array([m0, m1])[Y]
    inverse = np.linalg.inv(away.T @ away / len(X))
    w, b = inverse @ (m1 - m0), -0.5 * (m1 + m0) @ inverse @ (m1 - m0) + math.log(45 / 35)
    assert logistic.coef_[0] == pytest.approx(w, abs=1e-10)
    assert logistic.intercept_[0] == pytest.approx(b, abs=1e-10)
    assert logistic.predict_proba(X)[:, 1] == pytest.approx(sigmoid(X @ w + b), abs=1e-10)


def test_the_converse_does_not_hold_because_other_distributions_are_logistic_too():
    counts = np.array([1, 0, 2, 1, 3, 5, 4, 6, 2, 4])[:, None]
    y = np.repeat([0, 1], 5)
    model = NaiveBayes("poisson", prior=None).fit(counts, y)
    rates = counts[:5].mean(), counts[5:].mean()
    # log-odds of two Poisson classes: x log λ1/λ0 − (λ1 − λ0) + log π1/π0, linear without any Gaussian
    by_hand = counts[:, 0] * math.log(rates[1] / rates[0]) - (rates[1] - rates[0])
    assert model.decision_function(counts) == pytest.approx(by_hand, abs=1e-10)
    assert model.to_logistic().coef_[0] == pytest.approx([math.log(rates[1] / rates[0])], abs=1e-10)


def test_naive_bayes_and_logistic_regression_have_the_same_boundaries_and_other_parameters():
    words = (X > 0).astype(float)
    naive, logistic = NaiveBayes("bernoulli").fit(words, Y), LogisticRegression().fit(words, Y)
    for model in (naive, logistic):  # both are linear
        eta = model.intercept_[0] + words @ model.coef_[0]
        assert model.predict_proba(words)[:, 1] == pytest.approx(sigmoid(eta), abs=1e-10)
    # naive Bayes: by counts; logistic regression: where the gradient of the conditional likelihood is zero
    p = np.array([(words[y == Y].sum(axis=0) + 1) / ((y == Y).sum() + 2) for y in (0, 1)])
    assert naive.coef_[0] == pytest.approx(np.log(p[1] / (1 - p[1])) - np.log(p[0] / (1 - p[0])), abs=1e-12)
    residual = Y - sigmoid(logistic.intercept_[0] + words @ logistic.coef_[0])
    assert words.T @ residual == pytest.approx([0, 0], abs=1e-6)
    assert words.T @ (Y - naive.predict_proba(words)[:, 1]) != pytest.approx([0, 0], abs=1e-3)


# -- two likelihoods -------------------------------------------------------------------------------------------------


def test_each_maximises_its_own_likelihood_and_not_the_other():
    gda, logistic = GaussianDiscriminant("tied", prior=None).fit(X, Y), LogisticRegression().fit(X, Y)

    def conditional(w, b):  # log Π p(y | x)
        eta = X @ w + b
        return (Y * eta - np.log(1 + np.exp(eta))).sum()

    def joint(m0, m1, sigma):  # log Π p(x, y)
        return (
            log_normal(X[Y == 0], m0, sigma).sum() + log_normal(X[Y == 1], m1, sigma).sum()
            + 35 * math.log(35 / 80) + 45 * math.log(45 / 80)
        )  # fmt: skip

    of_logistic = conditional(logistic.coef_[0], logistic.intercept_[0])
    assert of_logistic > conditional(gda.coef_[0], gda.intercept_[0])
    (found,) = gda.distributions_
    best = joint(*found.mean(), found.covariance()[0])
    assert best == pytest.approx(gda.log_likelihood(X, Y), abs=1e-9)
    assert conditional(gda.coef_[0], gda.intercept_[0]) == pytest.approx(
        gda.log_likelihood(X, Y, conditional=True), abs=1e-9
    )
    # the logistic boundary belongs to other Gaussians too, for example those with moved means: their joint is lower
    shift = 0.5 * found.covariance()[0] @ (logistic.coef_[0] - gda.coef_[0])
    assert joint(found.mean()[0] - shift, found.mean()[1] + shift, found.covariance()[0]) < best


def test_the_joint_likelihood_is_the_conditional_one_times_that_of_the_rows():
    gda = GaussianDiscriminant("tied", prior=None).fit(X, Y)
    p = sigmoid(X @ gda.coef_[0] + gda.intercept_[0])
    of_classes = np.log(np.where(Y == 1, p, 1 - p))
    joint = gda.predict_joint_log_proba(X)[np.arange(80), Y]
    assert joint == pytest.approx(of_classes + gda.score_samples(X), abs=1e-9)  # log p(x, y) = log p(y | x) + log p(x)


# -- which one when --------------------------------------------------------------------------------------------------


def test_gda_needs_fewer_rows_where_its_assumptions_hold():
    test_rows, test_y = draw(4000, seed=1000)
    errors = []
    for seed in range(25):
        rows, y = draw(16, seed)
        gda = GaussianDiscriminant("tied").fit(rows, y)
        logistic = LogisticRegression(alpha=1e-3).fit(rows, y)
        errors.append([np.mean(model.predict(test_rows) != test_y) for model in (gda, logistic)])
    gda, logistic = np.mean(errors, axis=0)
    assert gda < logistic - 0.01
    best = 0.5 * math.erfc(1.0 / math.sqrt(2.0))  # Φ(−1), the error of the true boundary, halfway between the means
    assert best < gda


def test_logistic_regression_wins_with_many_rows_where_the_assumptions_are_wrong():
    random = np.random.default_rng(0)
    rows = np.column_stack([random.exponential(size=8000) ** 2, random.normal(size=8000)])  # far from Gaussian
    y = (random.random(8000) < sigmoid(-1.0 + 1.2 * rows[:, 0] - 0.8 * rows[:, 1])).astype(int)
    gda = GaussianDiscriminant("tied").fit(rows[:4000], y[:4000])
    logistic = LogisticRegression().fit(rows[:4000], y[:4000])

    def loss(model):
        p = model.predict_proba(rows[4000:])[:, 1]
        return -np.mean(np.log(np.where(y[4000:] == 1, p, 1 - p)))

    assert loss(logistic) < loss(gda) - 0.01
    assert logistic.coef_[0] == pytest.approx([1.2, -0.8], abs=0.2)  # the true p(y | x) is logistic


def test_gda_is_asymptotically_efficient():
    # over many samples its estimate of w varies less than that of logistic regression; of the error rates Efron (1975)
    # computes the efficiency of logistic regression: 0.90 if the means are 2 deviations apart, 0.49 at 3.5
    of_gda, of_logistic = [], []
    for seed in range(60):
        rows, y = draw(300, seed, gap=3.5)
        of_gda.append(GaussianDiscriminant("tied", prior=None).fit(rows, y).coef_[0])
        of_logistic.append(LogisticRegression().fit(rows, y).coef_[0])
    w = np.array([3.5, 0.0, 0.0])  # Σ⁻¹(μ1 − μ0) of the distribution that the rows are drawn from
    assert np.mean(of_gda, axis=0) == pytest.approx(w, abs=0.25)
    errors = [((np.array(found) - w) ** 2).sum(axis=1).mean() for found in (of_gda, of_logistic)]
    assert errors[0] < 0.8 * errors[1]


def test_the_discriminative_model_overtakes_the_generative_one_as_rows_are_added():
    # half of the columns share a source, which naive Bayes counts as independent evidence
    random, y = np.random.default_rng(0), np.arange(1500) % 2
    rows = random.normal(size=(1500, 12)) + 0.8 * y[:, None]
    rows[:, :6] += 1.5 * random.normal(size=(1500, 1))
    curves = compare(NaiveBayes(estimate="predictive"), LogisticRegression(alpha=1.0), rows, y, n_splits=4)
    generative, discriminative = curves.error.mean(axis=2)
    lead = generative - discriminative
    assert lead[-1] > 0.02
    i = np.flatnonzero(lead <= 0)[-1]  # the last size at which the generative model is the better one
    share = -lead[i] / (lead[i + 1] - lead[i])  # linear in the logarithm of the size
    by_hand = math.exp((1 - share) * math.log(curves.sizes[i]) + share * math.log(curves.sizes[i + 1]))
    assert curves.crossing("error") == pytest.approx(by_hand, rel=1e-9)


# -- rows without labels ---------------------------------------------------------------------------------------------


def test_a_generative_model_learns_from_rows_without_labels():
    rows, y = draw(600, seed=11, gap=3.0)
    few = np.full(600, np.nan)
    few[:6] = y[:6]
    test_rows, test_y = draw(4000, seed=12, gap=3.0)
    alone = GaussianDiscriminant("tied").fit(rows[:6], y[:6]).score(test_rows, test_y)
    with_all = GaussianDiscriminant("tied").fit(rows, few).score(test_rows, test_y)
    assert with_all > alone + 0.03
    # what makes it possible: p(x) = Σ_y p(x, y) depends on the parameters of the classes
    model = GaussianDiscriminant("tied").fit(rows, few)
    (found,) = model.distributions_
    by_hand = np.log(
        sum(
            model.class_prior_[c] * np.exp(log_normal(rows[:5], found.mean()[c], found.covariance()[0])) for c in (0, 1)
        )
    )
    assert model.score_samples(rows[:5]) == pytest.approx(by_hand, abs=1e-9)


def test_a_discriminative_model_has_no_use_for_them():
    # p(y | x, w) says nothing of p(x): a row without a label adds Σ_y p(y | x, w) = 1 to the likelihood, for every w
    p = sigmoid(X @ [0.3, -2.0] + 0.5)
    assert p + (1 - p) == pytest.approx(np.ones(80), abs=1e-15)
    labels = np.where(np.arange(80) < 40, Y.astype(float), np.nan)
    with pytest.raises(ValueError, match=r"[Nn]a[Nn]|missing|label"):
        LogisticRegression().fit(X, labels)
