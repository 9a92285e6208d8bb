"""The course on Gaussian distributions: densities, ellipses, the figures of two columns, matrix derivatives."""

import math

import numpy as np
import pytest
from by_hand import gradient, integral, log_normal

from suffice import Gaussian, GaussianDiscriminant, Mixture

MEAN, COVARIANCE = np.array([1.0, -0.5]), np.array([[2.0, 0.7], [0.7, 0.6]])
ROWS = np.array([[0.0, 0.0], [1.0, 2.0], [-2.0, 1.0], [3.0, 3.0], [1.5, -1.0], [0.2, 0.7]])


def gaussian(mean, covariance):
    return Gaussian.from_parameters(mean=mean, covariance=covariance)


def sphere(size):
    return gaussian([0, 0], size * np.eye(2))


def test_the_gaussian_density_of_one_column():
    x, mean, deviation = np.array([-1.0, 0.3, 2.0]), 0.5, 1.2
    by_hand = np.exp(-((x - mean) ** 2) / (2 * deviation**2)) / (2 * math.pi * deviation**2) ** 0.5
    assert np.exp(gaussian([mean], [[deviation**2]]).log_prob(x)) == pytest.approx(by_hand, abs=1e-12)


def test_the_gaussian_density_of_several_columns():
    away = ROWS - MEAN
    squares = np.einsum("ni,ij,nj->n", away, np.linalg.inv(COVARIANCE), away)
    by_hand = np.exp(-0.5 * squares) / ((2 * math.pi) ** (2 / 2) * np.linalg.det(COVARIANCE) ** 0.5)
    assert np.exp(gaussian(MEAN, COVARIANCE).log_prob(ROWS)) == pytest.approx(by_hand, abs=1e-12)


def test_the_density_integrates_to_1():
    grid = np.linspace(-12, 14, 1041)
    points = np.column_stack([np.repeat(grid, len(grid)), np.tile(grid, len(grid))])
    heights = np.exp(gaussian(MEAN, COVARIANCE).log_prob(points)).reshape(len(grid), -1)
    assert integral(np.array([integral(line, grid) for line in heights]), grid) == pytest.approx(1.0, abs=1e-8)


def test_the_mahalanobis_distance_is_that_of_the_exponent():
    X = np.vstack([ROWS, ROWS + np.array([4.0, 1.0])])
    y = np.repeat([0, 1], len(ROWS))
    model = GaussianDiscriminant("full", prior=None).fit(X, y)
    for c in (0, 1):
        own = X[y == c]
        away, covariance = X - own.mean(axis=0), np.cov(own.T, bias=True)
        squared = np.array([row @ np.linalg.inv(covariance) @ row for row in away])
        assert model.mahalanobis(X)[:, c] ** 2 == pytest.approx(squared, abs=1e-10)
        given = gaussian(own.mean(axis=0), covariance)
        assert given.mahalanobis(X) ** 2 == pytest.approx(squared, abs=1e-10)


def test_an_estimated_covariance_is_symmetric_and_positive_semidefinite():
    covariance = Gaussian("full").fit(ROWS).covariance()
    assert covariance == pytest.approx(covariance.T, abs=1e-14)
    for u in np.random.default_rng(0).normal(size=(20, 2)):
        by_hand = np.mean(((ROWS - ROWS.mean(axis=0)) @ u) ** 2)  # uᵀΣu is the variance of the rows along u
        assert u @ covariance @ u == pytest.approx(by_hand, abs=1e-10)
        assert by_hand >= 0


def test_the_eigenvectors_and_eigenvalues_of_the_covariance_are_the_axes_of_the_ellipses():
    found = gaussian(MEAN, COVARIANCE)
    values, vectors = np.linalg.eigh(found.covariance())
    assert vectors @ np.diag(values) @ vectors.T == pytest.approx(COVARIANCE, abs=1e-12)  # Σ = ΦΛΦᵀ
    assert vectors.T @ vectors == pytest.approx(np.eye(2), abs=1e-12)
    ends = MEAN + np.sqrt(values)[:, None] * vectors.T  # where the ellipse of r² = 1 meets its axes
    peak = -0.5 * math.log((2 * math.pi) ** 2 * np.prod(values))  # |Σ| is the product of the eigenvalues
    assert found.log_prob(ends) == pytest.approx([peak - 0.5, peak - 0.5], abs=1e-12)


def test_along_an_ellipse_the_density_is_the_same():
    angle = np.linspace(0, 2 * math.pi, 24)
    values, vectors = np.linalg.eigh(COVARIANCE)
    ellipse = MEAN + 1.7 * (np.column_stack([np.cos(angle), np.sin(angle)]) * np.sqrt(values)) @ vectors.T
    logs = gaussian(MEAN, COVARIANCE).log_prob(ellipse)
    assert logs == pytest.approx(np.full(24, logs[0]), abs=1e-10)
    assert logs[0] == pytest.approx(gaussian(MEAN, COVARIANCE).log_prob([MEAN])[0] - 0.5 * 1.7**2, abs=1e-10)


@pytest.mark.parametrize("size", [1.0, 0.6, 2.0])
def test_a_smaller_covariance_is_more_compressed_and_a_larger_one_more_spread_out(size):
    assert np.exp(sphere(size).log_prob([[0, 0]])[0]) == pytest.approx(
        1 / (2 * math.pi * size), abs=1e-12
    )  # its height
    radius = np.linspace(0, 1, 4001)
    on_rays = np.exp(sphere(size).log_prob(np.column_stack([radius, np.zeros_like(radius)])))
    within = integral(2 * math.pi * radius * on_rays, radius)
    assert within == pytest.approx(1 - math.exp(-1 / (2 * size)), abs=1e-6)  # its mass within a distance of 1
    assert (within > 1 - math.exp(-0.5)) == (size < 1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_correlation_stretches_the_ellipses_along_the_diagonal(rho):
    found = gaussian([0, 0], [[1, rho], [rho, 1]])
    values, vectors = np.linalg.eigh(found.covariance())
    assert values == pytest.approx([1 - rho, 1 + rho], abs=1e-12)
    if rho:
        assert np.abs(vectors[:, 1]) == pytest.approx([0.5**0.5, 0.5**0.5], abs=1e-12)
    for point in ([1, 1], [1, -1]):
        x, y = point
        squared = (x * x - 2 * rho * x * y + y * y) / (1 - rho**2)  # xᵀΣ⁻¹x written out
        by_hand = -0.5 * squared - math.log(2 * math.pi) - 0.5 * math.log(1 - rho**2)
        assert found.log_prob([point])[0] == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("mean", [[1.0, 0.0], [-0.5, 0.0], [-1.0, -1.5]])
def test_another_mean_moves_the_density_without_changing_its_shape(mean):
    moved = gaussian(mean, np.eye(2)).log_prob(ROWS + np.array(mean))
    assert moved == pytest.approx(-0.5 * (ROWS**2).sum(axis=1) - math.log(2 * math.pi), abs=1e-12)
    assert moved == pytest.approx(sphere(1.0).log_prob(ROWS), abs=1e-12)


def test_the_gradient_of_the_log_likelihood_by_the_mean_is_zero_at_the_estimate():
    fitted = Gaussian("full").fit(ROWS)
    by_hand = np.linalg.inv(fitted.covariance()) @ (ROWS - fitted.mean()).sum(axis=0)  # Σ_i Σ⁻¹ (x_i − μ)
    assert by_hand == pytest.approx([0, 0], abs=1e-10)


def test_the_gradient_of_the_log_likelihood_by_the_covariance_is_zero_at_the_estimate():
    fitted = Gaussian("full").fit(ROWS)
    inverse = np.linalg.inv(fitted.covariance())
    away = ROWS - fitted.mean()
    # by ∇ log |Σ| = Σ⁻ᵀ and ∇ tr(A Σ⁻¹ B) = −(Σ⁻¹ B A Σ⁻¹)ᵀ
    by_hand = -0.5 * len(ROWS) * inverse.T + 0.5 * sum((inverse @ np.outer(z, z) @ inverse).T for z in away)
    assert by_hand == pytest.approx(np.zeros((2, 2)), abs=1e-10)


def test_the_matrix_derivatives_of_the_determinant_and_of_the_trace_hold_at_an_estimated_covariance():
    sigma = Gaussian("full").fit(ROWS).covariance()
    a, b = np.array([[1.0, 2.0], [-0.5, 0.3]]), np.array([[0.7, -1.0], [0.2, 0.9]])
    inverse = np.linalg.inv(sigma)
    assert gradient(np.linalg.det, sigma) == pytest.approx(np.linalg.det(sigma) * inverse.T, abs=1e-6)
    of_trace = gradient(lambda m: np.trace(a @ np.linalg.inv(m) @ b), sigma)
    assert of_trace == pytest.approx(-(inverse @ b @ a @ inverse).T, abs=1e-6)


def test_a_marginal_of_a_gaussian_keeps_the_entries_of_its_columns():
    model = Mixture.from_parameters([1.0], [[1.0, 2.0, 3.0]], [np.diag([1.0, 2.0, 3.0]) + 0.5])
    part = model.marginal([2, 0])
    assert part.means_ == pytest.approx(np.array([[3.0, 1.0]]), abs=1e-12)
    assert part.covariances_[0] == pytest.approx(np.array([[3.5, 0.5], [0.5, 1.5]]), abs=1e-12)
    by_hand = log_normal([2.0, 2.0], [3.0, 1.0], [[3.5, 0.5], [0.5, 1.5]])
    assert part.score_samples([[2.0, 2.0]]) == pytest.approx(by_hand, abs=1e-12)
