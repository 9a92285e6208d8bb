"""The course on soft k-means: a mixture of unit spheres with learned shares, and k-means as its limit."""

import numpy as np
import pytest
from by_hand import gradient

from suffice import GivenSphere, Mixture, SoftKMeans, e_step, m_step

rng = np.random.default_rng(12)
X = np.vstack([rng.normal([0, 0], 1.0, (40, 2)), rng.normal([2.5, 1.0], 1.0, (25, 2))])
SHARES, CENTRES = np.array([0.5, 0.5]), np.array([[0.0, 0.5], [2.0, 2.0]])


def e(shares, centres, stiffness=0.5):
    """Return q_iy ∝ c_y exp(−½ ‖x_i − μ_y‖²)."""
    q = shares * np.exp(-stiffness * ((X[:, None] - centres) ** 2).sum(axis=2))
    return q / q.sum(axis=1, keepdims=True)


def spheres(shares, centres):
    """Return the mixture of unit spheres with given shares and centres."""
    return Mixture.from_parameters(shares, centres, np.ones((len(shares), 2)), prior=None)


def test_the_e_step_weighs_each_centre_by_its_share_and_the_distance():
    assert spheres(SHARES, CENTRES).predict_proba(X) == pytest.approx(e(SHARES, CENTRES), abs=1e-12)
    assert e_step(spheres([0.8, 0.2], CENTRES), X).q == pytest.approx(e(np.array([0.8, 0.2]), CENTRES), abs=1e-12)


def test_the_m_step_takes_the_weighted_means_and_the_mean_responsibilities():
    q = e(SHARES, CENTRES)
    found = m_step(Mixture(2, covariance=GivenSphere(1.0), prior=None), X, q)
    assert found.means_ == pytest.approx(q.T @ X / q.sum(axis=0)[:, None], abs=1e-10)
    assert found.weights_ == pytest.approx(q.sum(axis=0) / q.sum(), abs=1e-12)


def test_the_derivatives_of_the_m_step_are_zero_there():
    q = e(SHARES, CENTRES)
    found = m_step(Mixture(2, covariance=GivenSphere(1.0), prior=None), X, q)

    def expected(centres):
        return -0.5 * (q * ((X[:, None] - centres) ** 2).sum(axis=2)).sum()

    assert gradient(expected, found.means_) == pytest.approx(np.zeros((2, 2)), abs=1e-5)
    assert q.sum(axis=0) / found.weights_ == pytest.approx([65, 65], abs=1e-9)  # the multiplier of Σ c_y = 1 is m


def test_soft_k_means_alternates_the_two_and_learns_the_shares():
    shares, centres = SHARES, CENTRES
    for _ in range(3000):
        q = e(shares, centres)
        shares, centres = q.mean(axis=0), q.T @ X / q.sum(axis=0)[:, None]
    model = SoftKMeans(2, stiffness=0.5, random_state=0, tol=1e-13, max_iter=5000).fit(X)
    order = np.argsort(model.cluster_centers_[:, 0])
    assert model.cluster_centers_[order] == pytest.approx(centres, abs=1e-4)
    assert model.shares_[order] == pytest.approx(shares, abs=1e-4)
    assert abs(shares[0] - 0.5) > 0.05  # 40 and 25 rows: the shares are not equal


def test_equal_shares_are_an_option_with_other_centres():
    centres = CENTRES
    for _ in range(3000):
        q = e(np.array([0.5, 0.5]), centres)
        centres = q.T @ X / q.sum(axis=0)[:, None]
    equal = SoftKMeans(2, stiffness=0.5, shares="equal", random_state=0, tol=1e-13, max_iter=5000).fit(X)
    order = np.argsort(equal.cluster_centers_[:, 0])
    assert equal.shares_ == pytest.approx([0.5, 0.5], abs=0)
    assert equal.cluster_centers_[order] == pytest.approx(centres, abs=1e-4)


def test_as_the_spheres_shrink_soft_k_means_becomes_k_means():
    centres = CENTRES
    for _ in range(50):
        nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([X[nearest == y].mean(axis=0) for y in (0, 1)])
    hard = SoftKMeans(2, stiffness=500.0, random_state=0).fit(X)
    order = np.argsort(hard.cluster_centers_[:, 0])
    assert hard.cluster_centers_[order] == pytest.approx(centres, abs=1e-3)
    assert hard.predict_proba(X).max(axis=1).min() > 0.99
