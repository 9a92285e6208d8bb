"""The course on EM: convexity and Jensen's inequality, the bound and its gap, both steps, and what they guarantee."""

import math

import numpy as np
import pytest
from by_hand import gradient, log_normal

from suffice import (
    Bernoulli,
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    NaiveBayes,
    Poisson,
    e_step,
    em_steps,
    m_step,
)

rng = np.random.default_rng(4)
X = np.vstack([rng.normal([0, 0], 1.0, (40, 2)), rng.normal([3, 1], 1.3, (25, 2))])
SHARES, MEANS, COVARIANCES = [0.5, 0.5], [[-1.0, 0.5], [2.0, 0.0]], [np.eye(2), 2 * np.eye(2)]
START = Mixture.from_parameters(SHARES, MEANS, COVARIANCES)
WORDS = (
    rng.random((60, 4)) < np.where(np.arange(60)[:, None] < 35, [0.9, 0.7, 0.2, 0.4], [0.2, 0.3, 0.8, 0.5])
).astype(float)


def log_joint(shares, means, covariances, rows=X):
    """Return log p(x, z), n×k."""
    parts = zip(shares, means, covariances, strict=True)
    return np.column_stack([math.log(share) + log_normal(rows, mean, sigma) for share, mean, sigma in parts])


def log_likelihood(joint):
    """Return Σ_i log Σ_z p(x_i, z)."""
    return np.log(np.exp(joint).sum(axis=1)).sum()


def expected(q, joint):
    """Return Q, the expected complete log-likelihood Σ_i Σ_z q_i(z) log p(x_i, z)."""
    return (q * joint).sum()


def entropy(q):
    """Return H = −Σ_i Σ_z q_i(z) log q_i(z)."""
    return -(q * np.log(np.where(q > 0, q, 1.0))).sum()


def m_step_by_hand(q, rows=X):
    """Return the shares, means and covariances that maximise Q."""
    count = q.sum(axis=0)
    means = q.T @ rows / count[:, None]
    covariances = [(q[:, [c]] * (rows - means[c])).T @ (rows - means[c]) / count[c] for c in range(q.shape[1])]
    return count / count.sum(), means, covariances


def posterior_of(joint):
    """Return p(z | x), n×k."""
    powers = np.exp(joint)
    return powers / powers.sum(axis=1, keepdims=True)


def random_q(seed=0, n=65, k=2):
    return np.random.default_rng(seed).dirichlet(np.ones(k), size=n)


# -- convexity and Jensen's inequality -------------------------------------------------------------------------------


def test_a_convex_function_lies_below_its_chords():
    # f = A of a coin, ln(1 + e^η), and −log p(x | η) of a count, as a function of η
    a, b = -2.0, 3.0
    for share in (0.2, 0.5, 0.9):
        eta = share * a + (1 - share) * b
        found = Bernoulli().log_normalizer(np.array([[eta]]))[0]
        assert found == pytest.approx(math.log(1 + math.exp(eta)), abs=1e-12)
        assert found <= share * math.log(1 + math.exp(a)) + (1 - share) * math.log(1 + math.exp(b))

    def surprise(eta):
        return -Poisson().from_natural(np.array([[eta]]))[0].log_prob([2])[0]

    assert surprise(0.5) <= 0.5 * surprise(0.0) + 0.5 * surprise(1.0)
    assert surprise(0.5) == pytest.approx(math.exp(0.5) - 2 * 0.5 + math.log(2), abs=1e-12)


def test_a_convex_function_lies_above_its_tangents():
    for x, y in ((-1.0, 2.0), (0.5, -3.0)):
        slope = Bernoulli().log_normalizer_gradient([x])[0]
        assert slope == pytest.approx(1 / (1 + math.exp(-x)), abs=1e-12)
        assert math.log(1 + math.exp(y)) >= math.log(1 + math.exp(x)) + slope * (y - x)


def test_the_second_derivative_of_a_convex_function_is_not_negative():
    for eta in (-3.0, 0.0, 2.0):
        mu = 1 / (1 + math.exp(-eta))
        found = Bernoulli().log_normalizer_hessian([eta])[0, 0]
        assert found == pytest.approx(mu * (1 - mu), abs=1e-12)
        assert found > 0


def test_parameters_of_a_family_are_a_convex_set():
    # on the segment between two natural parameters, and between two means, every point is a member
    for family, ends in ((Bernoulli(), ([-4.0], [9.0])), (Poisson(), ([-2.0], [3.0]))):
        for share in np.linspace(0, 1, 6):
            eta = share * np.array([ends[0]]) + (1 - share) * np.array([ends[1]])
            assert np.isfinite(family.from_natural(eta)[0].log_prob([1])[0])


def test_jensens_inequality_for_any_number_of_points():
    lam, eta = np.array([0.1, 0.2, 0.3, 0.4]), np.array([-3.0, 0.0, 1.0, 4.0])
    left = Bernoulli().log_normalizer(np.array([[lam @ eta]]))[0]
    right = lam @ Bernoulli().log_normalizer(eta[:, None])
    assert right == pytest.approx(lam @ np.log(1 + np.exp(eta)), abs=1e-12)
    assert left <= right
    # the step of the induction: three points and the last one, then the three by themselves
    rest = lam[:3] / (1 - lam[3])
    between = (1 - lam[3]) * math.log(1 + math.exp(rest @ eta[:3])) + lam[3] * math.log(1 + math.exp(eta[3]))
    assert left <= between <= right


def test_for_a_concave_function_the_inequality_is_reversed():
    # f = log: log Σ λ_z p(x | z) ≥ Σ λ_z log p(x | z); the left side is the density of a mixture
    each = np.column_stack([log_normal(X, mean, sigma) for mean, sigma in zip(MEANS, COVARIANCES, strict=True)])
    assert START.score_samples(X) == pytest.approx(np.log(np.exp(each) @ SHARES), abs=1e-10)
    assert (START.score_samples(X) >= each @ SHARES).all()


def test_the_logarithm_of_a_mean_is_at_least_the_mean_of_the_logarithm():
    rate = Poisson().fit([1, 4, 2, 9])
    assert rate.natural_parameters()[0] == pytest.approx(math.log(4.0), abs=1e-12)  # log E x
    assert rate.natural_parameters()[0] >= np.mean(np.log([1, 4, 2, 9]))  # E log x


def test_jensens_inequality_is_an_equality_for_a_constant():
    same = Mixture.from_parameters([0.3, 0.7], [[1.0], [1.0]], [[[2.0]], [[2.0]]])  # p(x | z) does not depend on z
    by_hand = log_normal([[0.4]], [1.0], [[2.0]])
    assert same.score_samples([[0.4]]) == pytest.approx(by_hand, abs=1e-12)


# -- the bound -------------------------------------------------------------------------------------------------------


def test_the_likelihood_of_what_is_observed_sums_over_what_is_not():
    joint = log_joint(SHARES, MEANS, COVARIANCES)
    assert START.score_samples(X).sum() == pytest.approx(log_likelihood(joint), abs=1e-9)
    assert START.predict_joint_log_proba(X) == pytest.approx(joint, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_expected_log_likelihood_and_entropy_are_a_lower_bound_for_any_q(seed):
    q = random_q(seed)
    joint = START.predict_joint_log_proba(X)
    bound = expected(q, log_joint(SHARES, MEANS, COVARIANCES)) + entropy(q)
    ratio = (q * np.log(np.exp(joint) / q)).sum()  # Σ q log p(x, z)/q
    assert bound == pytest.approx(ratio, abs=1e-8)
    assert bound <= START.score_samples(X).sum()


@pytest.mark.parametrize("seed", range(3))
def test_the_gap_of_the_bound_is_the_divergence_of_q_from_the_posterior_and_not_negative(seed):
    q = random_q(seed)
    posterior = np.exp(log_joint(SHARES, MEANS, COVARIANCES))
    posterior /= posterior.sum(axis=1, keepdims=True)
    gap = START.score_samples(X).sum() - expected(q, START.predict_joint_log_proba(X)) - entropy(q)
    divergence = (q * np.log(q / posterior)).sum()
    assert gap == pytest.approx(divergence, abs=1e-8)
    assert gap >= 0


def test_the_bound_touches_the_log_likelihood_at_the_posterior():
    q = START.predict_proba(X)
    joint = log_joint(SHARES, MEANS, COVARIANCES)
    ratios = np.exp(joint) / q
    assert ratios == pytest.approx(
        np.repeat(np.exp(START.score_samples(X))[:, None], 2, axis=1), rel=1e-9
    )  # constant: p(x)
    assert expected(q, joint) + entropy(q) == pytest.approx(log_likelihood(joint), abs=1e-9)  # A(θ, θ) = ℓ(θ)


def test_each_q_is_a_distribution():
    q = START.predict_proba(X)
    joint = np.exp(log_joint(SHARES, MEANS, COVARIANCES))
    assert q == pytest.approx(joint / joint.sum(axis=1, keepdims=True), abs=1e-10)
    assert (q >= 0).all()
    assert q.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)


def test_the_e_step_maximises_g_over_q():
    q, joint = START.predict_proba(X), log_joint(SHARES, MEANS, COVARIANCES)
    best = expected(q, joint) + entropy(q)  # G(Q, θ) = F(Q, θ) − Σ Q log Q
    for seed in range(10):
        other = 0.9 * q + 0.1 * random_q(seed)
        assert expected(other, joint) + entropy(other) < best


def test_the_m_step_maximises_the_expected_log_likelihood_over_theta():
    q = random_q(1)
    model = GaussianDiscriminant("full", prior=None).fit(X, q)  # the M step: a fit to soft labels
    shares, means, covariances = m_step_by_hand(q)
    (found,) = model.distributions_
    assert model.class_prior_ == pytest.approx(shares, abs=1e-12)
    assert found.mean() == pytest.approx(means, abs=1e-10)
    assert found.covariance() == pytest.approx(np.array(covariances), abs=1e-10)
    best = expected(q, model.predict_joint_log_proba(X))
    assert best == pytest.approx(expected(q, log_joint(shares, means, covariances)), abs=1e-8)
    for seed in range(10):
        move = np.random.default_rng(seed).normal(0, 0.1, size=(2, 2))
        assert expected(q, log_joint(shares, means + move, covariances)) < best


# -- both steps in turn ----------------------------------------------------------------------------------------------


def test_an_iteration_is_a_chain_of_inequalities():
    old = log_joint(SHARES, MEANS, COVARIANCES)
    q = np.exp(old) / np.exp(old).sum(axis=1, keepdims=True)
    new = log_joint(*m_step_by_hand(q))
    once = Mixture(2, prior=None, init=START, max_iter=1).fit(X)
    assert once.score_samples(X).sum() == pytest.approx(log_likelihood(new), abs=1e-8)
    # ℓ(θ_new) ≥ A(θ_new, θ_old) ≥ A(θ_old, θ_old) = ℓ(θ_old)
    assert log_likelihood(new) >= expected(q, new) + entropy(q)
    assert expected(q, new) + entropy(q) >= expected(q, old) + entropy(q)
    assert expected(q, old) + entropy(q) == pytest.approx(START.score_samples(X).sum(), abs=1e-9)


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_the_log_likelihood_never_falls_and_is_the_bound_of_each_iteration():
    parameters, by_hand = (SHARES, MEANS, COVARIANCES), []
    for _ in range(8):
        joint = log_joint(*parameters)
        by_hand.append(log_likelihood(joint))
        parameters = m_step_by_hand(np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True))
    mixture = Mixture(2, prior=None, init=START, max_iter=8, tol=0.0).fit(X)
    assert mixture.bound_history_ == pytest.approx(by_hand, abs=1e-8)
    assert (np.diff(by_hand) >= 0).all()
    assert mixture.means_ == pytest.approx(parameters[1], abs=1e-8)


def test_em_stops_when_the_log_likelihood_hardly_rises():
    mixture = Mixture(2, prior=None, init=START, tol=1e-4).fit(X)
    rises = np.diff(mixture.bound_history_) / np.abs(mixture.bound_history_[1:])
    assert mixture.converged_
    assert rises[-1] <= 1e-4
    assert (rises[:-1] > 1e-4).all()
    better = Mixture(2, prior=None, init=START, tol=1e-9).fit(X)
    assert better.n_iter_ > mixture.n_iter_
    assert better.bound_history_[-1] >= mixture.bound_history_[-1]


def test_em_ends_in_different_optima_from_different_starts():
    # the course concludes that EM converges; what its proof shows is that the log-likelihood never falls
    noise = np.random.default_rng(3)
    rows = np.vstack([noise.normal(place, 0.6, (30, 2)) for place in ((0, 0), (5, 0), (0, 5), (5, 5))])
    ends = []
    for seed in range(8):
        centres = rows[np.random.default_rng(seed).choice(len(rows), 4, replace=False)]
        start = Mixture.from_parameters([0.25] * 4, centres, [np.eye(2)] * 4)
        mixture = Mixture(4, init=start, tol=1e-8).fit(rows)
        assert (np.diff(mixture.bound_history_) >= -1e-9).all()
        ends.append(round(mixture.bound_history_[-1], 2))
    assert len(set(ends)) > 1
    best = Mixture(4, random_state=0, tol=1e-8).fit(rows)  # several starts, of which the best continues
    assert best.bound_history_[-1] >= max(ends) - 0.1


# -- complete and incomplete data ------------------------------------------------------------------------------------


def test_with_complete_data_gamma_is_binary_and_with_incomplete_data_soft_in_one_formula():
    z = np.repeat([0, 1], [40, 25])
    binary = np.eye(2)[z]  # γ_nk = 1{z_n = k}
    by_labels = GaussianDiscriminant("full", prior=None).fit(X, z)
    for gamma, model in (
        (binary, by_labels),
        (binary, GaussianDiscriminant("full", prior=None).fit(X, binary)),
        (random_q(2), GaussianDiscriminant("full", prior=None).fit(X, random_q(2))),
    ):
        shares, means, covariances = m_step_by_hand(gamma)
        assert model.class_prior_ == pytest.approx(shares, abs=1e-12)
        assert model.distributions_[0].mean() == pytest.approx(means, abs=1e-10)
        assert model.distributions_[0].covariance() == pytest.approx(np.array(covariances), abs=1e-10)


def test_the_complete_log_likelihood_is_q_with_binary_gamma():
    z = np.repeat([0, 1], [40, 25])
    model = GaussianDiscriminant("full", prior=None).fit(X, z)
    joint = log_joint(*m_step_by_hand(np.eye(2)[z]))
    assert model.predict_joint_log_proba(X)[np.arange(65), z].sum() == pytest.approx(expected(np.eye(2)[z], joint))
    assert entropy(np.eye(2)[z]) == 0.0


def test_known_labels_keep_their_gamma_and_the_others_are_guessed():
    z = np.repeat([0.0, 1.0], [40, 25])
    z[::3] = np.nan
    known = ~np.isnan(z)
    model = GaussianDiscriminant("full", prior=None, max_iter=400, tol=1e-13).fit(X, z)
    gamma = np.where(known[:, None], np.eye(2)[np.nan_to_num(z).astype(int)], model.predict_proba(X))
    shares, means, covariances = m_step_by_hand(gamma)  # at the end, an iteration by hand changes nothing
    assert model.class_prior_ == pytest.approx(shares, abs=1e-5)
    assert model.distributions_[0].mean() == pytest.approx(means, abs=1e-4)
    assert model.distributions_[0].covariance() == pytest.approx(np.array(covariances), abs=1e-3)


# -- naive Bayes without labels --------------------------------------------------------------------------------------


def naive_joint(pi, p):
    """Return log p(y) + Σ_j log p_j(x_j | y) of each row, n×k."""
    return np.log(pi) + np.array([[np.log(np.where(x == 1, row, 1 - row)).sum() for row in p] for x in WORDS])


def naive_m_step(q):
    """Return p(y) and p_j(1 | y).

    The course's notes leave out the sum over the rows with x_j = x in the numerator of the second; its slides have it.
    """
    return q.mean(axis=0), np.array([[q[WORDS[:, j] == 1, c].sum() / q[:, c].sum() for j in range(4)] for c in (0, 1)])


def test_without_labels_the_probability_of_a_row_sums_over_the_classes():
    model = NaiveBayes("bernoulli", prior=None).fit(WORDS, random_q(3, 60))
    by_hand = np.log(np.exp(naive_joint(*naive_m_step(random_q(3, 60)))).sum(axis=1))
    assert model.score_samples(WORDS) == pytest.approx(by_hand, abs=1e-10)


def test_the_e_step_of_naive_bayes_is_its_posterior():
    model = NaiveBayes("bernoulli", prior=None).fit(WORDS, random_q(3, 60))
    joint = np.exp(naive_joint(*naive_m_step(random_q(3, 60))))
    assert model.predict_proba(WORDS) == pytest.approx(joint / joint.sum(axis=1, keepdims=True), abs=1e-10)


def test_the_m_step_of_naive_bayes_is_counting_with_weights():
    q = random_q(5, 60)
    model = NaiveBayes("bernoulli", prior=None).fit(WORDS, q)
    pi, p = naive_m_step(q)
    assert model.class_prior_ == pytest.approx(pi, abs=1e-12)
    assert model.distributions_[0].probability == pytest.approx(p, abs=1e-12)
    assert q[WORDS[:, 0] == 1].sum() != pytest.approx(q.sum())  # what the notes leave out matters


def test_the_m_step_of_naive_bayes_satisfies_the_lagrange_conditions():
    q = random_q(5, 60)
    model = NaiveBayes("bernoulli", prior=None).fit(WORDS, q)
    assert q.sum(axis=0) / model.class_prior_ == pytest.approx([60, 60], abs=1e-9)  # α = m
    p = model.distributions_[0].probability
    for c in (0, 1):
        for j in range(4):
            ones, zeros = q[WORDS[:, j] == 1, c].sum(), q[WORDS[:, j] == 0, c].sum()
            assert [ones / p[c, j], zeros / (1 - p[c, j])] == pytest.approx([q[:, c].sum()] * 2, abs=1e-9)  # β = Σ_i q


def naive_em(q, n_iterations):
    """Return the log-likelihood at each iteration of EM from the given q, and the last p(y) and p_j(1 | y)."""
    bounds = []
    for _ in range(n_iterations):
        parameters = naive_m_step(q)
        joint = naive_joint(*parameters)
        bounds.append(log_likelihood(joint))
        q = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    return bounds, *naive_m_step(q)


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_em_for_naive_bayes_alternates_the_two_steps():
    bounds, pi, p = naive_em(random_q(7, 60), 6)
    assert (np.diff(bounds) >= 0).all()
    found = Mixture(2, "bernoulli", prior=None, init=random_q(7, 60), max_iter=6, tol=0.0).fit(WORDS)
    assert found.bound_history_ == pytest.approx(bounds, abs=1e-8)  # the first M step starts from the given q
    assert found.weights_ == pytest.approx(pi, abs=1e-9)
    assert found.distributions_[0].probability == pytest.approx(p, abs=1e-9)


def test_em_is_the_classifier_fitted_to_its_own_posterior():
    bounds, _, _ = naive_em(random_q(7, 60), 6)
    q = random_q(7, 60)
    for bound in bounds:
        model = NaiveBayes("bernoulli", prior=None).fit(WORDS, q)  # M
        q = model.predict_proba(WORDS)  # E
        assert model.score_samples(WORDS).sum() == pytest.approx(bound, abs=1e-8)


def test_a_classifier_without_any_label_finds_its_classes_by_em():
    model = NaiveBayes("bernoulli", classes=2, random_state=0).fit(WORDS)
    mixture = Mixture(2, "bernoulli", covariance="diagonal", random_state=0).fit(WORDS)
    assert model.predict_proba(WORDS) == pytest.approx(mixture.predict_proba(WORDS), abs=1e-10)
    (found,) = model.distributions_
    q = model.predict_proba(WORDS)
    ones = np.array([[q[WORDS[:, j] == 1, c].sum() for j in range(4)] for c in (0, 1)])
    by_hand = (ones + 1) / (q.sum(axis=0)[:, None] + 2)  # Laplace's rule in the M step
    assert found.probability == pytest.approx(by_hand, abs=1e-2)  # EM has nearly come to rest


def test_gaussian_discriminant_analysis_without_labels_is_a_mixture_of_gaussians():
    model = GaussianDiscriminant("full", classes=2, random_state=0).fit(X)
    mixture = Mixture(2, random_state=0).fit(X)
    assert model.predict_proba(X) == pytest.approx(mixture.predict_proba(X), abs=1e-10)
    q = model.predict_proba(X)
    assert model.class_prior_ == pytest.approx(q.mean(axis=0), abs=1e-2)


def test_the_expected_log_likelihood_is_linear_in_the_expected_statistics():
    q = random_q(6)
    model = GenerativeClassifier(covariance="full", prior=None).fit(X, q)
    assert model.statistics_.class_count == pytest.approx(q.sum(axis=0), abs=1e-10)
    (found,) = model.distributions_
    phi = np.column_stack([X, X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] ** 2])
    mean_phi = q.T @ phi / q.sum(axis=0)[:, None]
    assert found.moment_parameters() == pytest.approx(mean_phi, abs=1e-9)
    by_statistics = sum(
        q.sum(axis=0)[c]
        * (
            math.log(q.mean(axis=0)[c])
            + found.natural_parameters()[c] @ mean_phi[c]
            - found.family.log_normalizer(found.natural_parameters())[c]
            - math.log(2 * math.pi)
        )
        for c in (0, 1)
    )
    by_rows = expected(q, log_joint(*m_step_by_hand(q)))
    assert by_rows == pytest.approx(by_statistics, abs=1e-7)


def test_the_gradient_of_the_expected_log_likelihood_is_that_of_the_log_likelihood_at_the_posterior():
    # why the M step climbs: at q = p(z | x, θ), Q and ℓ have the same gradient by θ
    q = START.predict_proba(X)
    of_q = gradient(lambda m: expected(q, log_joint(SHARES, m, COVARIANCES)), MEANS)
    of_l = gradient(lambda m: Mixture.from_parameters(SHARES, m, COVARIANCES).score_samples(X).sum(), MEANS)
    assert of_q == pytest.approx(of_l, abs=1e-5)


# -- EM in pieces ------------------------------------------------------------------------------------------------------


def test_q_and_h_and_their_sum_are_shown_for_each_iteration():
    start = Mixture.from_parameters(SHARES, MEANS, COVARIANCES, prior=None, max_iter=6, tol=0.0)
    parameters = (SHARES, MEANS, COVARIANCES)
    for step in em_steps(start, X):
        joint = log_joint(*parameters)
        q = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
        assert step.q == pytest.approx(q, abs=1e-8)
        assert pytest.approx([expected(q, joint), entropy(q)], abs=1e-6) == [step.Q, step.H]
        assert step.bound == pytest.approx(log_likelihood(joint), abs=1e-6)
        assert step.gap == pytest.approx(0.0, abs=1e-8)  # the E step closes the gap
        parameters = m_step_by_hand(q)
        after = log_joint(*parameters)
        assert step.bound_after == pytest.approx(expected(q, after) + entropy(q), abs=1e-6)
        assert step.log_likelihood_after == pytest.approx(log_likelihood(after), abs=1e-6)
        assert step.gap_after == pytest.approx((q * np.log(q / posterior_of(after))).sum(), abs=1e-6)
        assert step.log_likelihood_after >= step.bound_after >= step.bound


def test_each_step_is_a_call_of_its_own():
    e = e_step(Mixture.from_parameters(SHARES, MEANS, COVARIANCES, prior=None), X)
    joint = log_joint(SHARES, MEANS, COVARIANCES)
    assert e.q == pytest.approx(posterior_of(joint), abs=1e-10)
    found = m_step(Mixture(2, prior=None), X, e.q)
    shares, means, covariances = m_step_by_hand(posterior_of(joint))
    assert found.weights_ == pytest.approx(shares, abs=1e-10)
    assert found.means_ == pytest.approx(means, abs=1e-9)
    assert found.covariances_ == pytest.approx(np.array(covariances), abs=1e-9)


def test_the_m_step_with_binary_gamma_is_the_fit_to_labels():
    z = np.repeat([0, 1], [40, 25])
    shares, means, _ = m_step_by_hand(np.eye(2)[z])
    for found in (
        m_step(GaussianDiscriminant("full", prior=None), X, np.eye(2)[z]),
        GaussianDiscriminant("full", prior=None).fit(X, z),
    ):
        assert found.class_prior_ == pytest.approx(shares, abs=1e-12)
        assert found.means_ == pytest.approx(means, abs=1e-10)
