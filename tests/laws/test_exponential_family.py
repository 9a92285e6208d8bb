"""log p(x | η) = ⟨η, φ(x)⟩ − A(η) + log h(x), with ∇A = E φ and ∇²A = Cov φ."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import suffice
from suffice.families import FAMILIES

from .cases import (
    ARRAYS,
    BERNOULLI,
    CASES,
    CATEGORICAL,
    COLUMNWISE,
    DIRICHLET,
    GAUSSIANS,
    GEOMETRIC,
    MULTINOMIAL,
    NEGATIVE_BINOMIAL,
    POISSON,
    PRESENCE,
    TEXT,
    Shape,
    each,
    law,
    shapes,
)


def test_every_family_has_a_case_and_a_public_name():
    assert {case.family.name for case in CASES} == set(FAMILIES)
    assert {family.__name__ for family in FAMILIES.values()} <= set(suffice.__all__)


def _random(case, shape, k=None):
    """Return random distributions; A(η) of categories and bags is that of one column and of two or more."""
    d = {"categorical": 1, "multinomial": shape.d + 1}.get(case.family.name, shape.d)
    if case in COLUMNWISE or case is DIRICHLET:  # grids of two variables say as much as larger ones
        d = min(shape.d, 2) + (case is DIRICHLET)
    return case.random(shape.rng, shape.k if k is None else k, d)


def _gradient(f, eta, step=1e-5):
    """Return ∇f by central differences of the fourth order."""
    directions = step * np.eye(len(eta))
    return np.array([(8 * (f(eta + h) - f(eta - h)) - (f(eta + 2 * h) - f(eta - 2 * h))) for h in directions]) / (
        12 * step
    )


@each(CASES)
@law
@given(shape=shapes(max_d=3))
def test_the_gradient_of_the_log_normalizer_is_the_mean_of_phi(case, shape):
    distributions = _random(case, shape)
    rows, weights = case.quadrature(distributions)
    eta = distributions.natural_parameters()[0]
    gradient = _gradient(lambda at: case.family.log_normalizer(at[None])[0], eta)
    phi = case.family.sufficient_statistics(rows)
    np.testing.assert_allclose(weights @ phi, distributions.moment_parameters()[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradient, distributions.moment_parameters()[0], rtol=1e-7, atol=1e-7)


@each(CASES)
@law
@given(shape=shapes(max_d=3))
def test_the_hessian_of_the_log_normalizer_is_the_covariance_of_phi(case, shape):
    distributions = _random(case, shape)
    rows, weights = case.quadrature(distributions)
    phi = case.family.sufficient_statistics(rows)
    centred = phi - weights @ phi
    covariance = centred.T @ (weights[:, None] * centred)

    def gradient(at):
        return _gradient(lambda eta: case.family.log_normalizer(eta[None])[0], at, step=1e-3)

    hessian = _gradient(gradient, distributions.natural_parameters()[0], step=1e-3)
    scale = np.abs(covariance).max()
    np.testing.assert_allclose(hessian, covariance, rtol=0, atol=1e-5 * scale)


@each(CASES)
@law
@given(shape=shapes())
def test_natural_to_moment_to_natural_is_the_identity(case, shape):
    distributions = _random(case, shape)
    eta = distributions.natural_parameters()
    family = case.family
    np.testing.assert_allclose(family.from_natural(eta).natural_parameters(), eta, rtol=1e-9, atol=1e-9)
    moments = family.from_natural(eta).moment_parameters()
    np.testing.assert_allclose(moments, distributions.moment_parameters(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(family.from_moments(moments).moment_parameters(), moments, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(family.from_moments(moments).natural_parameters(), eta, rtol=1e-8, atol=1e-8)


@each(CASES)
@law
@given(shape=shapes())
def test_the_fast_score_is_the_plain_formula(case, shape):
    distributions = _random(case, shape)
    width = distributions.mean().shape[1] if case not in (CATEGORICAL, TEXT, PRESENCE) else 1
    x = case.rows(shape.rng, shape.labels(shape.rng), width)
    encoded = case.encode(x)
    eta, family = distributions.natural_parameters(), case.family
    draws = 1.0
    if case in (MULTINOMIAL, TEXT):
        draws = family.sufficient_statistics(encoded).sum(1, keepdims=True)
    plain = (
        family.sufficient_statistics(encoded) @ eta.T
        - draws * family.log_normalizer(eta)
        + family.log_base_measure(encoded)[:, None]
    )
    score = distributions.score(encoded)
    np.testing.assert_allclose(score, plain, rtol=1e-10, atol=1e-10)
    for c in range(shape.k):
        np.testing.assert_allclose(
            distributions[c].log_prob(encoded if case in (CATEGORICAL, TEXT, PRESENCE) else x), score[:, c]
        )


@each(CASES)
@law
@given(shape=shapes())
def test_leaving_out_what_classes_share_leaves_the_log_odds(case, shape):
    distributions = case.random(shape.rng, shape.k, shape.d)
    x = case.encode(case.rows(shape.rng, shape.labels(shape.rng), shape.d))
    whole, part = distributions.score(x), distributions.score(x, common=False)
    np.testing.assert_allclose(part - part[:, :1], whole - whole[:, :1], rtol=1e-9, atol=1e-9)


@each([BERNOULLI, CATEGORICAL, POISSON, NEGATIVE_BINOMIAL, GEOMETRIC])
@law
@given(shape=shapes(max_d=3))
def test_discrete_probabilities_sum_to_one(case, shape):
    distributions = case.random(shape.rng, shape.k, shape.d)
    rows, _ = case.quadrature(distributions)  # all that can happen
    np.testing.assert_allclose(np.exp(distributions.score(case.encode(rows))).sum(0), 1.0, atol=1e-9)


@law
@given(shape=shapes(max_d=3))
def test_the_probabilities_of_all_bags_of_one_size_sum_to_one(shape):
    distributions = MULTINOMIAL.random(shape.rng, shape.k, shape.d + 1)
    size = shape.extra % 5
    bags = np.array([bag for bag in product(range(size + 1), repeat=shape.d + 1) if sum(bag) == size], dtype=float)
    np.testing.assert_allclose(np.exp(distributions.score(bags)).sum(0), 1.0, rtol=1e-10)


@each(GAUSSIANS)
@pytest.mark.parametrize("d", [1, 2])
def test_gaussian_densities_integrate_to_one(case, d):
    distributions = case.random(np.random.default_rng(d), 3, d)
    # the trapezoidal rule converges faster than any power of the step for these
    axis, step = np.linspace(-25.0, 25.0, 501, retstep=True)
    grid = np.stack([part.ravel() for part in np.meshgrid(*[axis] * d)], axis=1)
    np.testing.assert_allclose(np.exp(distributions.score(grid)).sum(0) * step**d, 1.0, rtol=1e-9)


@each([case for case in ARRAYS if case.scores_missing])
@law
@given(shape=shapes())
def test_a_row_with_missing_values_has_the_density_of_the_cells_that_are_there(case, shape):
    distributions = case.random(shape.rng, shape.k, shape.d)
    x = case.rows(shape.rng, shape.labels(shape.rng), shape.d)
    missing = shape.rng.random(x.shape) < 0.4
    with_missing_cells = np.where(missing, -1, x) if case is CATEGORICAL else np.where(missing, np.nan, x)
    scores = distributions.score(case.encode(with_missing_cells))
    expected = [_marginal(case, distributions, row, there) for row, there in zip(x, ~missing, strict=True)]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def _marginal(case, distributions, row, there):
    """Return the log-density of some cells of a row, by SciPy."""
    cells = row[there]
    if not there.any():
        return np.zeros(distributions.n_classes)
    if case in GAUSSIANS:
        return [
            stats.multivariate_normal.logpdf(cells, mean[there], covariance[np.ix_(there, there)])
            for mean, covariance in zip(distributions.means, distributions.covariance(), strict=True)
        ]
    if case is BERNOULLI:
        return stats.bernoulli.logpmf(cells, distributions.probability[:, there]).sum(1)
    if case in COLUMNWISE:
        reference = case.scipy(distributions.marginal(np.flatnonzero(there)))
        return (reference.logpmf(cells) if reference.is_discrete else reference.logpdf(cells)).sum(1)
    if case is POISSON:
        return stats.poisson.logpmf(cells, distributions.rate[:, there]).sum(1)
    first = np.concatenate([[0], np.cumsum(distributions.sizes)[:-1]])
    return np.log(distributions.probability[:, (first + row)[there]]).sum(1)


@each(CASES)
def test_the_mean_of_many_draws_is_the_mean(case):
    distributions = case.random(np.random.default_rng(5), 2, 3)
    draws = distributions.sample(np.full(40_000, 1), np.random.default_rng(6))
    phi = case.family.sufficient_statistics(case.encode(draws)) if case is not MULTINOMIAL else draws
    mean = distributions.mean()[1] if case in (MULTINOMIAL, TEXT) else distributions.moment_parameters()[1]
    error = phi.std(0) / np.sqrt(len(phi))
    assert (np.abs(phi.mean(0) - mean) < 5 * error).all()


def test_a_category_beyond_the_known_ones_is_never_taken_for_one_of_them():
    two_values = CATEGORICAL.family.from_moments(np.array([[0.25, 0.75]]))[0]
    beyond = two_values.log_prob(np.arange(2, 12))
    np.testing.assert_array_equal(beyond, beyond[0])


def test_quadrature_gives_the_variance_of_a_known_gaussian():
    """Check the yardstick itself."""
    case = GAUSSIANS[0]
    distributions = case.random(Shape(0, 0, 2, 2).rng, 2, 2)
    rows, weights = case.quadrature(distributions)
    centred = rows - distributions.means[0]
    np.testing.assert_allclose(centred.T @ (weights[:, None] * centred), distributions.covariance()[0], rtol=1e-12)
