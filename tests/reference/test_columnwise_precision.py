"""Log-densities of positive numbers, shares and counts, computed with 50 digits: also where shapes are extreme."""

import mpmath as mp
import numpy as np
import pytest

from suffice import (
    Beta,
    Dirichlet,
    Exponential,
    Gamma,
    Geometric,
    InverseGaussian,
    LogNormal,
    NaiveBayes,
    NegativeBinomial,
)


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def gamma(x, shape, rate):
    return shape * mp.log(rate) - mp.loggamma(shape) + (shape - 1) * mp.log(x) - rate * x


def inverse_gaussian(x, mean, shape):
    return mp.log(shape / (2 * mp.pi * x**3)) / 2 - shape * (x - mean) ** 2 / (2 * mean**2 * x)


def beta(x, a, b):
    return mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b) + (a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x)


def _compare(found, expected, tolerance):
    for value, exact in zip(found, expected, strict=True):
        assert value == pytest.approx(float(exact), rel=tolerance, abs=tolerance)


#: √shape times the machine's ε is what is left of the digits, and not the shape times it
@pytest.mark.parametrize("shape", [1e-2, 0.7, 30.0, 9e4, 2e5, 1e8, 1e10])
@pytest.mark.parametrize("mean", [1e-5, 1.0, 1e6])
def test_gamma_log_densities(shape, mean):
    family = Gamma()
    one = family.with_parameters({"shape": np.array([[shape]]), "rate": np.array([[shape / mean]])})
    x = mean * np.exp(np.linspace(-2.0, 2.0, 9) / np.sqrt(max(shape, 1.0)))
    rate = mp.mpf(float(one.rate[0, 0]))
    expected = [gamma(mp.mpf(float(cell)), mp.mpf(shape), rate) for cell in x]
    # the mean itself is shape / rate, rounded
    _compare(one[0].log_prob(x), expected, 1e-10 if shape < 1e6 else 1e-14 * np.sqrt(shape) * 100)


@pytest.mark.parametrize("shape", [1e-2, 1.0, 9e4, 2e5, 1e10])
@pytest.mark.parametrize("mean", [1e-5, 1.0, 1e6])
def test_inverse_gaussian_log_densities(shape, mean):
    shape = shape * mean
    one = InverseGaussian().with_parameters({"location": np.array([[mean]]), "shape": np.array([[shape]])})[0]
    x = mean * np.exp(np.linspace(-2.0, 2.0, 9) / np.sqrt(max(shape / mean, 1.0)))
    expected = [inverse_gaussian(mp.mpf(float(cell)), mp.mpf(mean), mp.mpf(shape)) for cell in x]
    _compare(one.log_prob(x), expected, 2e-10)


@pytest.mark.parametrize("scale", [1e-6, 0.3, 20.0])
@pytest.mark.parametrize("median", [1e-200, 1.0, 1e6])
def test_log_normal_log_densities(scale, median):
    location = np.array([[np.log(median)]])
    one = LogNormal().with_parameters({"means": location, "compact": np.array([[scale**2]])})[0]
    x = median * np.exp(scale * np.linspace(-2.0, 2.0, 9))
    variance, mean = mp.mpf(float(scale**2)), mp.mpf(float(location[0, 0]))
    logs = [mp.log(mp.mpf(float(cell))) for cell in x]
    expected = [-mp.log(2 * mp.pi * variance) / 2 - log - (log - mean) ** 2 / (2 * variance) for log in logs]
    # a logarithm is rounded to ε times its size, and that is divided by the scale
    _compare(one.log_prob(x), expected, 1e-12 + 4e-16 * (1.0 + abs(np.log(median))) / scale)


@pytest.mark.parametrize(("a", "b"), [(0.01, 3.0), (2.0, 5.0), (4e4, 5e4), (2e5, 3.0), (3e8, 1e9)])
def test_beta_log_densities(a, b):
    one = Beta().with_parameters({"a": np.array([[a]]), "b": np.array([[b]])})[0]
    x = np.clip(one.mean() + np.sqrt(one.variance()) * np.linspace(-2.0, 2.0, 9), 1e-3, 1.0 - 1e-9)
    expected = [beta(mp.mpf(float(cell)), mp.mpf(a), mp.mpf(b)) for cell in x]
    _compare(one.log_prob(x), expected, 1e-9)


def test_dirichlet_log_densities():
    alpha = np.array([[0.02, 3.0, 900.0], [1.0, 2.0, 3.0]])
    together = Dirichlet().from_natural(alpha - 1.0)
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1.0, 2.0, 5.0], 8)
    for c, own in enumerate(alpha):
        own = [mp.mpf(float(value)) for value in own]
        expected = [
            mp.loggamma(mp.fsum(own))
            - mp.fsum(mp.loggamma(value) for value in own)
            + mp.fsum((value - 1) * mp.log(mp.mpf(float(cell))) for value, cell in zip(own, row, strict=True))
            for row in rows
        ]
        _compare(together.score(rows)[:, c], expected, 1e-11)


@pytest.mark.parametrize("mean", [1e-12, 0.5, 40.0, 1e9])
def test_log_probabilities_of_counts_and_waits(mean):
    counts = np.array([0.0, 1.0, 3.0, 50.0])
    for r in (0.3, 1.0, 25.0):
        family = Geometric() if r == 1.0 else NegativeBinomial(r)
        p = mp.mpf(r) / (mp.mpf(r) + mp.mpf(mean))
        expected = [
            mp.loggamma(n + r) - mp.loggamma(r) - mp.loggamma(n + 1) + r * mp.log(p) + n * mp.log(1 - p)
            for n in map(mp.mpf, counts.tolist())
        ]
        _compare(family.from_moments(np.array([[mean]]))[0].log_prob(counts), expected, 1e-12)
    expected = [-mp.log(mean) - mp.mpf(float(cell)) / mean for cell in counts]
    _compare(Exponential().from_moments(np.array([[mean]]))[0].log_prob(counts), expected, 1e-12)


def test_posteriors_of_tight_gamma_classes_keep_their_digits():
    rng = np.random.default_rng(1)
    z = np.repeat([0, 1], 200)
    x = (1e6 * (1.0 + 1e-5 * z + 1e-5 * rng.normal(size=400)))[:, None]
    model = NaiveBayes("gamma").fit(x, z)
    found = model.distributions_[0]
    assert found.shape.min() > 1e9
    exact = []
    for cell in x[::20, 0]:
        logs = [
            gamma(mp.mpf(float(cell)), mp.mpf(float(found.shape[c, 0])), mp.mpf(float(found.rate[c, 0])))
            for c in (0, 1)
        ]
        exact.append(float(1 / (1 + mp.exp(logs[0] - logs[1]))))
    np.testing.assert_allclose(model.predict_proba(x[::20])[:, 1], exact, atol=2e-9)
    explained = model.explain(x, target=1, against=0)
    logs = model.predict_log_proba(x)
    np.testing.assert_allclose(explained.log_odds, logs[:, 1] - logs[:, 0], rtol=1e-9, atol=1e-9)
