"""What a distribution knows of itself: moments, entropy, divergence, and the derivatives of its log-normaliser."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from scipy import integrate, stats

import suffice
from suffice import Gaussian, Geometric, InverseGaussian, Multinomial, NegativeBinomial, Poisson

from .cases import CASES, CATEGORICAL, COLUMNWISE, DIRICHLET, GAUSSIANS, MULTINOMIAL, TEXT, Shape, each, law, shapes


def _random(case, shape, k=2):
    small = case in COLUMNWISE or case is DIRICHLET
    d = {"categorical": 1, "multinomial": shape.d + 1, "dirichlet": 3}.get(
        case.family.name, min(shape.d, 2 if small else 3)
    )
    return case.random(shape.rng, k, d)


def _differences(f, at, step):
    """Return the derivative of f along each direction, by central differences of the fourth order."""
    h = step * np.eye(len(at))
    return np.array([(8 * (f(at + e) - f(at - e)) - (f(at + 2 * e) - f(at - 2 * e))) / (12 * step) for e in h])


@each(CASES)
@law
@given(shape=shapes(max_d=3))
def test_the_gradient_and_the_hessian_are_the_derivatives_of_the_log_normalizer(case, shape):
    eta, family = _random(case, shape).natural_parameters()[0], case.family
    gradient = _differences(lambda at: float(np.squeeze(family.log_normalizer(at[None]))), eta, 1e-4)
    np.testing.assert_allclose(family.log_normalizer_gradient(eta), gradient, rtol=1e-8, atol=1e-8)
    hessian = _differences(family.log_normalizer_gradient, eta, 1e-4)
    assert family.log_normalizer_hessian(eta).shape == (len(eta), len(eta))
    np.testing.assert_allclose(
        family.log_normalizer_hessian(eta), hessian, rtol=1e-7, atol=1e-7 * np.abs(hessian).max()
    )


@each(CASES)
def test_gradients_and_hessians_come_one_row_a_class(case):
    distributions = _random(case, Shape(3, 0, 2, 2), k=3)
    eta, family = distributions.natural_parameters(), case.family
    np.testing.assert_allclose(family.log_normalizer_gradient(eta), distributions.moment_parameters(), rtol=1e-9)
    for one, together in zip(eta, family.log_normalizer_hessian(eta), strict=True):
        np.testing.assert_allclose(family.log_normalizer_hessian(one), together, rtol=1e-9, atol=1e-12)


@each(CASES)
def test_the_hessian_is_the_covariance_of_phi_over_many_draws(case):
    distributions = _random(case, Shape(7, 0, 2, 2))
    if case in (MULTINOMIAL, TEXT):  # φ is that of one draw
        draws = np.random.default_rng(8).multinomial(1, distributions.probability[1], 60_000).astype(float)
    else:
        draws = distributions.sample(np.full(60_000, 1), np.random.default_rng(8))
    phi = case.family.sufficient_statistics(case.encode(draws))
    expected = distributions.statistic_covariance()[1]
    centred = phi - distributions.moment_parameters()[1]
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(0) / np.sqrt(len(phi)) + 1e-12
    assert (np.abs(products.mean(0) - expected) < 6 * error).all()


@each(CASES)
@law
@given(shape=shapes(max_d=3))
def test_mean_and_variance_are_those_of_the_cells(case, shape):
    distributions = _random(case, shape)
    rows, weights = case.quadrature(distributions)
    if case is CATEGORICAL:
        rows = case.family.sufficient_statistics(case.encode(rows))
    size = 6.0 if case in (MULTINOMIAL, TEXT) else 1.0  # the yardstick has one draw, the case bags of six
    one = distributions[0]
    np.testing.assert_allclose(one.mean(), size * (weights @ rows), rtol=1e-8, atol=1e-9)
    centred = rows - weights @ rows
    covariance = size * (centred.T @ (weights[:, None] * centred))
    np.testing.assert_allclose(one.covariance(), covariance, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.variance(), np.diagonal(covariance), rtol=1e-8, atol=1e-8)


@each([case for case in CASES if case not in GAUSSIANS])
@law
@given(shape=shapes(max_d=3))
def test_entropy_and_divergence_are_sums_or_integrals_of_the_log_probabilities(case, shape):
    distributions = _random(case, shape)
    rows, weights = case.quadrature(distributions)
    logs = distributions.score(case.encode(rows))
    assert distributions[0].entropy() == pytest.approx(-(weights @ logs[:, 0]), rel=1e-8, abs=1e-8)
    expected = weights @ (logs[:, 0] - logs[:, 1])
    assert distributions[0].kl_divergence(distributions[1]) == pytest.approx(expected, rel=1e-7, abs=1e-8)
    assert distributions[0].kl_divergence(distributions[0]) == pytest.approx(0.0, abs=1e-10)


@each(GAUSSIANS)
@law
@given(shape=shapes(max_d=3))
def test_entropy_and_divergence_of_gaussians_are_integrals_of_the_log_densities(case, shape):
    distributions = _random(case, shape)
    rows, weights = case.quadrature(distributions)  # the log-density is a polynomial of degree 2: exact
    logs = distributions.score(rows)
    assert distributions[0].entropy() == pytest.approx(-(weights @ logs[:, 0]), rel=1e-9, abs=1e-9)
    expected = weights @ (logs[:, 0] - logs[:, 1])
    assert distributions[0].kl_divergence(distributions[1]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@each(COLUMNWISE)
@law
@given(shape=shapes(max_d=3))
def test_log_probabilities_and_moments_are_scipys(case, shape):
    distributions = case.random(shape.rng, 1, shape.d)
    x = case.rows(shape.rng, np.zeros(20, dtype=int), shape.d)
    theirs, one = case.scipy(distributions), distributions[0]
    logs = theirs.logpmf(x) if theirs.is_discrete else theirs.logpdf(x)
    np.testing.assert_allclose(one.log_prob(x), logs.sum(1), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(one.mean(), theirs.mean()[0], rtol=1e-10)
    np.testing.assert_allclose(one.variance(), theirs.var()[0], rtol=1e-10)


def test_the_dirichlet_is_scipys():
    alpha = np.array([0.5, 2.0, 7.0])
    one = suffice.Dirichlet().from_natural(alpha[None] - 1.0)[0]
    theirs = stats.dirichlet(alpha)
    x = theirs.rvs(20, random_state=1)
    np.testing.assert_allclose(one.log_prob(x), theirs.logpdf(x.T), rtol=1e-10)
    np.testing.assert_allclose(one.mean(), theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(one.variance(), theirs.var(), rtol=1e-12)
    np.testing.assert_allclose(one.covariance(), theirs.cov(), rtol=1e-12)
    assert one.entropy() == pytest.approx(theirs.entropy(), rel=1e-12)


# -- entropies without a closed form ------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 1e-6, 0.3, 7.0, 900.0, 9990.0, 10010.0, 1e9])
def test_the_entropy_of_counts_converges(rate):
    with mp.workdps(40):
        if rate == 0.0:
            expected = 0.0
        elif rate < 1e5:
            low, high = int(max(rate - 14 * rate**0.5, 0)), int(rate + 14 * rate**0.5 + 60)
            logs = [n * mp.log(mp.mpf(rate)) - rate - mp.loggamma(n + 1) for n in range(low, high)]
            expected = float(-mp.fsum(mp.e**log * log for log in logs))
        else:
            expected = float(mp.log(2 * mp.pi * mp.e * rate) / 2 - 1 / mp.mpf(12 * rate))
    assert Poisson().from_moments(np.array([[rate]]))[0].entropy() == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(
    ("shape", "mean"), [(0.01, 0.2), (0.1, 5.0), (0.5, 300.0), (2.5, 0.01), (7.0, 40.0), (300.0, 90.0)]
)
def test_the_entropy_of_negative_binomial_counts_converges(shape, mean):
    with mp.workdps(40):
        r, p = mp.mpf(shape), shape / mp.mpf(shape + mean)
        most = int(mean + 60 * (1 + mean / shape) + 40 * (mean + mean**2 / shape) ** 0.5)
        mass, terms = p**r, []
        for n in range(most):
            terms.append(mass * mp.log(mass))
            mass *= (1 - p) * (n + r) / (n + 1)
        expected = float(-mp.fsum(terms))
    found = NegativeBinomial(shape).from_moments(np.array([[mean]]))[0]
    assert found.entropy() == pytest.approx(expected, rel=1e-10, abs=1e-11)


def test_the_entropy_of_a_negative_binomial_with_a_tail_of_a_million_millions_is_finite():
    """It approaches that of a Gamma distribution with the same mean and shape."""
    long = NegativeBinomial(0.7).from_moments(np.array([[1e12]]))[0]
    assert long.entropy() == pytest.approx(stats.gamma(0.7, scale=1e12 / 0.7).entropy(), rel=1e-6)


@pytest.mark.parametrize("ratio", [1e-3, 0.5, 20.0, 249.0, 251.0, 1e5])
def test_the_entropy_of_the_inverse_gaussian_is_an_integral(ratio):
    one = InverseGaussian().with_parameters({"location": np.array([[2.0]]), "shape": np.array([[2.0 * ratio]])})[0]

    def integrand(u):  # in u = log x
        log = float(one.log_prob([np.exp(u)])[0])
        return -np.exp(log + u) * log

    width = min(12.0 / np.sqrt(ratio), 14.0)
    low = np.log(2.0) - (width if ratio > 1 else 14.0)
    found, _ = integrate.quad(integrand, low, np.log(2.0) + width, epsabs=1e-12, epsrel=1e-11, limit=400)
    assert one.entropy() == pytest.approx(found, rel=1e-7, abs=1e-8)


# -- what has no answer, and what is said about it ----------------------------------------------------------------


def test_divergences_are_between_distributions_of_one_family():
    gamma, other = suffice.Gamma().fit([1.0, 2.0, 3.0]), suffice.Exponential().fit([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"of one family over the same columns, but these are <Gamma .* <Exponential"):
        gamma.kl_divergence(other)
    with pytest.raises(ValueError, match="of one family"):
        NegativeBinomial(2.0).fit([1, 2]).kl_divergence(NegativeBinomial(3.0).fit([1, 2]))
    with pytest.raises(ValueError, match="over the same columns"):
        Gaussian().fit([1.0, 2.0]).kl_divergence(Gaussian().fit([[1.0, 2.0], [2.0, 5.0]]))
    with pytest.raises(TypeError, match="to another distribution, but other is ndarray"):
        gamma.kl_divergence(np.zeros(3))
    words = suffice.Categorical()
    with pytest.raises(ValueError, match="of one family"):
        words.fit(["a", "b"]).kl_divergence(words.fit(["b", "c"]))
    assert words.fit(["a", "b", "a"]).kl_divergence(words.fit(["b", "a"])) > 0


def test_what_never_happened_has_no_part_in_an_entropy():
    assert suffice.Bernoulli().fit([1, 1, 1]).entropy() == 0.0
    assert suffice.Categorical().fit(["a", "a"]).entropy() == 0.0
    assert Geometric().fit([0, 0]).entropy() == 0.0
    assert Multinomial().fit([[2, 0], [1, 0]]).entropy() == 0.0
    sure, unsure = suffice.Bernoulli().fit([0, 0]), suffice.Bernoulli().fit([0, 1])
    assert sure.kl_divergence(unsure) == pytest.approx(np.log(2.0))
    assert unsure.kl_divergence(sure) == np.inf
    assert Poisson().fit([0]).kl_divergence(Poisson().fit([3])) == pytest.approx(3.0)
    assert Poisson().fit([3]).kl_divergence(Poisson().fit([0])) == np.inf


def test_entropy_and_divergence_of_gaussians_far_from_zero_keep_their_digits():
    near, far = (Gaussian("full").fit(np.random.default_rng(0).normal(size=(50, 2)) + at) for at in (0.0, 2.0**30))
    assert far.entropy() == pytest.approx(near.entropy(), rel=1e-6)
    assert far.kl_divergence(far) == pytest.approx(0.0, abs=1e-12)


def test_a_distribution_shows_its_parameters():
    assert repr(Gaussian().fit([1.0, 2.0, 3.0])) == "<Gaussian(covariance='diagonal') with mean 2, variance 0.6667>"
    assert repr(suffice.Bernoulli().fit([[1, 0], [0, 0]])) == "<Bernoulli with probability [0.5 0. ]>"
    assert repr(NegativeBinomial(2).fit([2])) == "<NegativeBinomial(shape=2.0) with probability 0.5>"
    assert suffice.Gamma().fit([1.0, 2.0]).n_parameters == 2
    assert suffice.NaiveBayes().fit([[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1]).distributions_[0][1].n_parameters == 2


def test_the_moments_of_a_multinomial_are_those_of_a_bag_of_the_mean_size_and_samples_have_random_sizes():
    found = Multinomial().fit([[6, 3, 1], [4, 3, 3]])
    p, size = found.probability, 10.0
    np.testing.assert_allclose(found.variance(), size * p * (1 - p))
    np.testing.assert_allclose(found.covariance(), size * (np.diag(p) - np.outer(p, p)))
    assert found.entropy() == pytest.approx(-(p @ np.log(p)))  # of one draw
    drawn = found.sample(40_000, random_state=0)
    np.testing.assert_allclose(drawn.var(0), size * p, rtol=0.05)
    for text in (Multinomial.__doc__, type(found).kl_divergence.__doc__, type(found).entropy.__doc__):
        assert "of one draw" in " ".join(text.split())
    for method in (type(found).variance, type(found).covariance):
        assert "of a bag of the mean size" in method.__doc__
