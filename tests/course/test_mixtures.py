"""The course on mixtures of Gaussians: latent classes, the density, both steps of EM and their derivatives."""

import math

import numpy as np
import pytest
from by_hand import log_normal, weighted_gaussian

from suffice import GaussianDiscriminant, Mixture

rng = np.random.default_rng(8)
X = np.vstack([rng.normal([0, 0], 0.8, (30, 2)), rng.normal([3, 2], 1.2, (20, 2)), rng.normal([0, 4], 0.5, (15, 2))])
SHARES = np.array([0.5, 0.3, 0.2])
MEANS = np.array([[0.0, 1.0], [2.0, 2.0], [-1.0, 3.0]])
COVARIANCES = np.array([np.eye(2), [[1.5, 0.4], [0.4, 1.0]], 0.5 * np.eye(2)])
START = Mixture.from_parameters(SHARES, MEANS, COVARIANCES)


def densities():
    return np.column_stack([np.exp(log_normal(X, m, s)) for m, s in zip(MEANS, COVARIANCES, strict=True)])


def responsibilities():
    joint = SHARES * densities()
    return joint / joint.sum(axis=1, keepdims=True)


def test_the_joint_density_is_that_of_the_component_times_its_probability():
    assert np.exp(START.predict_joint_log_proba(X)) == pytest.approx(SHARES * densities(), abs=1e-12)


def test_the_density_of_a_mixture_is_the_sum_over_its_components():
    assert np.exp(START.score_samples(X)) == pytest.approx(densities() @ SHARES, abs=1e-12)


def test_the_log_likelihood_of_a_mixture_is_a_sum_of_logarithms_of_sums():
    by_hand = sum(math.log(total) for total in densities() @ SHARES)
    assert START.score(X) * len(X) == pytest.approx(by_hand, abs=1e-9)


def test_rows_are_generated_by_drawing_a_component_and_then_a_row_of_it():
    rows, components = START.sample(40_000, random_state=0)
    counts = np.bincount(components, minlength=3) / 40_000
    assert counts == pytest.approx(SHARES, abs=4 * 0.5 / math.sqrt(40_000))
    for c in range(3):
        own = rows[components == c]
        assert own.mean(axis=0) == pytest.approx(MEANS[c], abs=0.06)
        assert np.cov(own.T) == pytest.approx(COVARIANCES[c], abs=0.08)


def test_the_e_step_computes_responsibilities():
    assert START.predict_proba(X) == pytest.approx(responsibilities(), abs=1e-12)


def test_the_m_step_computes_weighted_shares_means_and_covariances():
    omega = responsibilities()
    once = Mixture(3, prior=None, init=START, max_iter=1).fit(X)
    assert once.weights_ == pytest.approx(omega.mean(axis=0), abs=1e-12)  # φ_j = 1/m Σ_i ω_ij
    for j in range(3):
        mean, covariance = weighted_gaussian(X, omega[:, j])
        assert once.means_[j] == pytest.approx(mean, abs=1e-10)
        assert once.covariances_[j] == pytest.approx(covariance, abs=1e-10)


def test_the_m_step_of_a_shared_covariance_weights_the_scatter_of_all_components():
    omega = responsibilities()
    model = GaussianDiscriminant("tied", prior=None).fit(X, omega)
    means = omega.T @ X / omega.sum(axis=0)[:, None]
    by_hand = sum((omega[:, [j]] * (X - means[j])).T @ (X - means[j]) for j in range(3)) / len(X)
    assert model.distributions_[0].covariance()[0] == pytest.approx(by_hand, abs=1e-10)


def test_the_gradient_of_q_by_each_mean_is_zero_after_the_m_step():
    omega = responsibilities()
    once = Mixture(3, prior=None, init=START, max_iter=1).fit(X)
    for j in range(3):
        by_hand = np.linalg.inv(once.covariances_[j]) @ (omega[:, j] @ (X - once.means_[j]))  # Σ_i ω Σ⁻¹ (x − μ)
        assert by_hand == pytest.approx([0, 0], abs=1e-9)


def test_the_gradient_of_q_by_each_covariance_is_zero_after_the_m_step():
    omega = responsibilities()
    once = Mixture(3, prior=None, init=START, max_iter=1).fit(X)
    for j in range(3):
        inverse, away = np.linalg.inv(once.covariances_[j]), X - once.means_[j]
        scatter = (omega[:, [j]] * away).T @ away
        by_hand = -0.5 * omega[:, j].sum() * inverse.T + 0.5 * (inverse @ scatter @ inverse).T
        assert by_hand == pytest.approx(np.zeros((2, 2)), abs=1e-8)


def test_the_shares_satisfy_the_lagrange_condition_with_m_as_multiplier():
    omega = responsibilities()
    once = Mixture(3, prior=None, init=START, max_iter=1).fit(X)
    assert omega.sum(axis=0) / once.weights_ == pytest.approx([len(X)] * 3, abs=1e-9)  # ∂/∂φ_j Σ ω log φ = λ
    assert once.weights_.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_expected_log_likelihood_of_a_mixture_is_a_sum_over_components():
    omega = responsibilities()
    once = Mixture(3, prior=None, init=START, max_iter=1).fit(X)
    # Q(θ, θ_old) = Σ_k Σ_n γ_nk (log ω_k + log N(x_n | μ_k, Σ_k))
    by_hand = sum(
        omega[:, k] @ (math.log(once.weights_[k]) + log_normal(X, once.means_[k], once.covariances_[k]))
        for k in range(3)
    )
    assert (omega * once.predict_joint_log_proba(X)).sum() == pytest.approx(by_hand, abs=1e-8)
    old = (omega * np.log(SHARES * densities())).sum()
    assert by_hand > old


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_ten_iterations_by_hand_are_ten_iterations_of_the_library():
    shares, means, covariances = SHARES, MEANS, COVARIANCES
    for _ in range(10):
        joint = np.column_stack(
            [p * np.exp(log_normal(X, m, s)) for p, m, s in zip(shares, means, covariances, strict=True)]
        )
        omega = joint / joint.sum(axis=1, keepdims=True)
        shares = omega.mean(axis=0)
        found = [weighted_gaussian(X, omega[:, j]) for j in range(3)]
        means, covariances = np.array([m for m, _ in found]), np.array([s for _, s in found])
    mixture = Mixture(3, prior=None, init=START, max_iter=10, tol=0.0).fit(X)
    assert mixture.weights_ == pytest.approx(shares, abs=1e-9)
    assert mixture.means_ == pytest.approx(means, abs=1e-8)
    assert mixture.covariances_ == pytest.approx(covariances, abs=1e-8)


def test_a_component_that_collapses_on_a_row_has_no_maximum_and_a_prior_prevents_it():
    # the likelihood of a mixture has no maximum: with σ → 0 at a row it grows without end
    heights = [
        Mixture.from_parameters([0.5, 0.5], [X[0], X.mean(axis=0)], [s * np.eye(2), 4 * np.eye(2)])
        .score_samples(X)
        .sum()
        for s in (1e-2, 1e-6, 1e-10)
    ]
    assert heights == sorted(heights)
    assert heights[-1] - heights[-2] == pytest.approx(-0.5 * 2 * math.log(1e-4), rel=1e-2)
    start = Mixture.from_parameters([0.5, 0.5], [X[0], X.mean(axis=0)], [1e-6 * np.eye(2), 4 * np.eye(2)])
    assert np.isfinite(Mixture(2, init=start).fit(X).score(X))
