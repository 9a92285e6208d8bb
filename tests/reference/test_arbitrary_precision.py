"""The same cells, computed with 50 digits: log-densities of every family, and posteriors of whole classifiers."""

import mpmath as mp
import numpy as np
import pytest

from suffice import Bernoulli, Categorical, Gaussian, GaussianDiscriminant, Multinomial, Poisson
from suffice.families.codes import Codes
from suffice.families.gaussian import GaussianDistributions


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def _exact(values):
    """Return float64 numbers as they are, to 50 digits and not to the 15 that they print with."""
    return [mp.mpf(float(value)) for value in values]


def _matrix(rows):
    return mp.matrix([_exact(row) for row in rows])


def _gaussian_log_density(z, covariance):
    """Return log N(z; 0, Σ)."""
    solved = mp.lu_solve(covariance, z)
    return -(mp.fdot(z, solved) + len(z) * mp.log(2 * mp.pi) + mp.log(mp.det(covariance))) / 2


# -- the families -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"])
@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e7])
def test_gaussian_log_densities(covariance, scale):
    rng = np.random.default_rng(1)
    family, k, d = Gaussian(covariance), 3, 3
    shared = 1 if "tied" in covariance else k
    if family.structure.diagonal:
        variance = rng.uniform(0.5, 2.0, size=(shared, 1 if "spherical" in covariance else d))
        compact = np.broadcast_to(variance, (shared, d)) * scale**2
    else:
        factors = rng.normal(size=(shared, d, d)) + 2.0 * np.eye(d)
        compact = factors @ factors.transpose(0, 2, 1) * scale**2
    distributions = GaussianDistributions(family, scale * rng.normal(size=(k, d)), compact)
    x = 2.0 * scale * rng.normal(size=(12, d))
    found = distributions.score(x)
    for c in range(k):
        sigma = _matrix(distributions.covariance()[c])
        mean = _matrix(distributions.means[c][:, None])
        for i, row in enumerate(x):
            expected = _gaussian_log_density(_matrix(row[:, None]) - mean, sigma)
            assert found[i, c] == pytest.approx(float(expected), rel=1e-12, abs=1e-13)


def test_bernoulli_log_probabilities():
    p = np.array([[0.3, 1e-12, 0.999], [0.5, 1e-300, 0.25]])
    x = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)])
    found = Bernoulli().from_moments(p).score(x)
    for c in range(2):
        for i, row in enumerate(x):
            terms = [mp.log(q if cell else 1 - q) for q, cell in zip(_exact(p[c]), row, strict=True)]
            assert found[i, c] == pytest.approx(float(mp.fsum(terms)), rel=1e-12)


def test_categorical_log_probabilities():
    p = np.array([[0.2, 1e-9, 0.8 - 1e-9], [1e-250, 0.5, 0.5]])
    codes = Codes(np.array([[0], [1], [2]]), np.array([3]))
    found = Categorical().from_moments(p).score(codes)
    expected = [[float(mp.log(q)) for q in _exact(column)] for column in p.T]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_multinomial_log_probabilities():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(5), size=2)
    x = np.vstack([rng.multinomial(30, p[0], size=6), rng.multinomial(3000, p[1], size=6), np.zeros((1, 5))])
    found = Multinomial().from_moments(p).score(x.astype(np.float64))
    for c in range(2):
        for i, row in enumerate(x):
            counts = _exact(row)
            expected = mp.loggamma(mp.fsum(counts) + 1) + mp.fsum(
                n * mp.log(q) - mp.loggamma(n + 1) for n, q in zip(counts, _exact(p[c]), strict=True)
            )
            # log N! and the logarithms of the probabilities cancel, so the error is that of the larger ones
            size = float(mp.loggamma(mp.fsum(counts) + 1))
            assert found[i, c] == pytest.approx(float(expected), rel=1e-12, abs=1e-14 * max(size, 1.0))


def test_poisson_log_probabilities():
    rate = np.array([[0.5, 20.0, 1e-9], [3.0, 1e4, 2.0]])
    x = np.array([[0.0, 0.0, 0.0], [1.0, 18.0, 1.0], [7.0, 9900.0, 3.0], [2.0, 10000.0, 0.0]])
    found = Poisson().from_moments(rate).score(x)
    for c in range(2):
        for i, row in enumerate(x):
            cells = list(zip(_exact(row), _exact(rate[c]), strict=True))
            expected = mp.fsum(n * mp.log(q) - q - mp.loggamma(n + 1) for n, q in cells)
            size = float(mp.fsum(abs(n * mp.log(q)) + q for n, q in cells))
            assert found[i, c] == pytest.approx(float(expected), rel=1e-12, abs=1e-15 * size)


# -- whole classifiers ------------------------------------------------------------------------------------------


def _covariances(groups, means, covariance):
    """Return the maximum-likelihood covariance of each class, as mpmath matrices."""
    d = len(means[0])
    scatters = []
    for group, mean in zip(groups, means, strict=True):
        scatter = mp.zeros(d)
        for row in group:
            z = mp.matrix([cell - m for cell, m in zip(row, mean, strict=True)])
            scatter += z * z.T
        scatters.append(scatter)
    if covariance == "tied":
        total = sum(scatters[1:], scatters[0]) / sum(len(group) for group in groups)
        return [total] * len(groups)
    estimates = [scatter / len(group) for scatter, group in zip(scatters, groups, strict=True)]
    if covariance == "diagonal":
        return [mp.diag([estimate[j, j] for j in range(d)]) for estimate in estimates]
    return estimates


def _exact_log_joint(x, y, covariance, rows):
    """Return log p(x, c) of some rows under the maximum-likelihood classifier of (x, y), with 50 digits."""
    groups = [[_exact(row) for row in x[y == c]] for c in range(int(y.max()) + 1)]
    means = [[mp.fsum(column) / len(group) for column in zip(*group, strict=True)] for group in groups]
    covariances = _covariances(groups, means, covariance)
    answers = []
    for row in rows:
        cells = _exact(row)
        joint = []
        for group, mean, sigma in zip(groups, means, covariances, strict=True):
            z = mp.matrix([cell - m for cell, m in zip(cells, mean, strict=True)])
            joint.append(mp.log(mp.mpf(len(group)) / len(y)) + _gaussian_log_density(z, sigma))
        answers.append(joint)
    return answers


def _exact_posteriors(x, y, covariance):
    posteriors = []
    for joint in _exact_log_joint(x, y, covariance, x):
        largest = max(joint)
        weights = [mp.exp(value - largest) for value in joint]
        posteriors.append([float(weight / mp.fsum(weights)) for weight in weights])
    return np.array(posteriors)


def _table():
    rng = np.random.default_rng(12)
    y = np.repeat([0, 1, 2], 10)
    return (rng.normal(size=(30, 3)) + 0.5 * y[:, None]) @ rng.normal(size=(3, 3)), y


STRUCTURES = pytest.mark.parametrize("covariance", ["diagonal", "tied", "full"])


@STRUCTURES
@pytest.mark.parametrize(
    ("scale", "shift", "tolerance"),
    [
        (1.0, 0.0, 1e-12),
        (1.0, 1e4, 1e-10),
        (1.0, 1e8, 1e-6),
        (1e-6, 0.0, 1e-12),
        (1e-6, 1.0, 1e-8),
        (1e6, 0.0, 1e-12),
    ],
    ids=["as-it-is", "shifted-1e4", "shifted-1e8", "scaled-1e-6", "scaled-1e-6-then-shifted", "scaled-1e6"],
)
def test_posteriors_of_a_gaussian_classifier(covariance, scale, shift, tolerance):
    """The tolerance grows with the unit in the last place of a mean, over a standard deviation."""
    x, y = _table()
    x = scale * x + shift
    model = GaussianDiscriminant(covariance, prior=None).fit(x, y)
    expected = _exact_posteriors(x, y, covariance)
    assert (expected.max(1) < 0.99).any()  # the rows are not all easy
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=0, atol=tolerance)


# -- tight classes, far apart -----------------------------------------------------------------------------------


def _tight(spread, distance):
    """Return two tight classes beside each other at the origin, and a third far away."""
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1, 2], 12)
    centers = np.array([[0.0, 0.0], [2.0 * spread, -spread], [distance, -distance]])
    return centers[y] + spread * (rng.normal(size=(36, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])), y


def _natural_formula(model, x):
    """Return ⟨η, φ(x)⟩ − A(η) + log h(x), in float64 as it is written."""
    distributions, family = model.distributions_[0], model.distributions_[0].family
    eta = distributions.natural_parameters()
    plain = family.sufficient_statistics(x) @ eta.T - family.log_normalizer(eta)
    return plain + family.log_base_measure(x)[:, None] + model.class_log_prior_


@STRUCTURES
def test_the_natural_formula_fails_for_tight_classes_far_apart_and_the_library_does_not(covariance):
    x, y = _tight(1e-3, 1e6)
    model = GaussianDiscriminant(covariance, prior=None).fit(x, y)
    exact = np.array([[float(v) for v in row] for row in _exact_log_joint(x, y, covariance, x)])
    own = exact[np.arange(len(y)), y]
    far = y == 2
    naive = _natural_formula(model, x)[np.arange(len(y)), y]
    assert np.abs(naive - own)[far].max() > 1.0  # not one digit of the log-density is right
    found = model.predict_joint_log_proba(x)[np.arange(len(y)), y]
    # the mean of the far class is a float64: half a unit in its last place is 6e-11, over 1e-3 that is 6e-8
    np.testing.assert_allclose(found[far], own[far], rtol=0, atol=1e-6)
    # nothing is rounded near the origin
    np.testing.assert_allclose(found[~far], own[~far], rtol=1e-9)


@STRUCTURES
@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-9])
def test_a_class_far_away_costs_its_neighbours_no_digits(covariance, spread):
    x, y = _tight(spread, 1e6)
    model = GaussianDiscriminant(covariance, prior=None).fit(x, y)
    near = y != 2
    expected = _exact_posteriors(x, y, covariance)[near]
    assert (expected.max(1) < 0.95).any()
    np.testing.assert_allclose(model.predict_proba(x[near]), expected, rtol=0, atol=1e-9)


@STRUCTURES
def test_explanations_of_tight_classes_add_up_to_the_exact_log_odds(covariance):
    x, y = _tight(1e-3, 1e6)
    near = x[y != 2]
    model = GaussianDiscriminant(covariance, prior=None).fit(x, y)
    exact = [float(joint[1] - joint[0]) for joint in _exact_log_joint(x, y, covariance, near)]
    np.testing.assert_allclose(model.explain(near, target=1, against=0).log_odds, exact, rtol=1e-9, atol=1e-9)


@STRUCTURES
def test_distances_to_tight_classes_are_exact(covariance):
    x, y = _tight(1e-3, 1e6)
    model = GaussianDiscriminant(covariance, prior=None).fit(x, y)
    groups = [[_exact(row) for row in x[y == c]] for c in range(3)]
    means = [[mp.fsum(column) / len(group) for column in zip(*group, strict=True)] for group in groups]
    covariances = _covariances(groups, means, covariance)
    found = model.mahalanobis(x)
    for row, c, distances in zip(x, y, found, strict=True):
        if c == 2:  # its mean is a rounded float64
            continue
        z = mp.matrix([cell - m for cell, m in zip(_exact(row), means[c], strict=True)])
        expected = mp.sqrt(mp.fdot(z, mp.lu_solve(covariances[c], z)))
        assert distances[c] == pytest.approx(float(expected), rel=1e-9)


@STRUCTURES
def test_the_product_form_of_the_score_agrees_with_whitened_distances(covariance):
    x, y = _table()
    form = GaussianDiscriminant(covariance, prior=None).fit(x, y).distributions_[0].form
    left = form.score(x, True) + 0.5 * form.squared_distance(x, None)
    np.testing.assert_allclose(
        left, np.broadcast_to(left[0], left.shape), rtol=1e-11, atol=1e-11
    )  # log |2πΣ_c| is left
