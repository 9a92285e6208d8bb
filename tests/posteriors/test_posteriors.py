"""Conjugate posteriors: against SciPy, numerical integration and each other."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from suffice import (
    Bernoulli,
    BetaPrior,
    Categorical,
    DirichletPrior,
    Exponential,
    Family,
    GammaPrior,
    Gaussian,
    KnownVariance,
    Multinomial,
    NaiveBayes,
    NormalInverseWishart,
    Poisson,
    PseudoCount,
)
from suffice.posteriors import Posterior, WaitingTimePosterior, posterior_of
from suffice.statistics.category_counts import CategoryCounts
from suffice.statistics.responsibilities import Labels
from suffice.statistics.sums import Sums

K, D = 2, 3
WISHART = NormalInverseWishart.textbook(
    mean=[0.5, 0.0, -1.0], mean_count=0.7, dof=4.5, scale=[[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]
)
GAMMAS = NormalInverseWishart.textbook(mean=[0.5, 0.0, -1.0], mean_count=0.7, dof=1.5, scale=[2.0, 1.5, 1.0])


def _numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, D)) @ rng.normal(size=(D, D)) + rng.normal(size=D)


def _bits(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 2, (n, D)).astype(float)


def _codes(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.stack([rng.integers(0, size, n) for size in (2, 3, 4)], axis=1)


def _counts(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.poisson(2.0, (n, D)).astype(float)


def _times(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.exponential(2.0, (n, D))


#: family, a proper prior, random rows
CASES: dict[str, tuple[Family, Any, Any]] = {
    "bernoulli": (Bernoulli(), BetaPrior(0.7, [1.2, 2.0, 0.5]), _bits),
    "categorical": (Categorical(), DirichletPrior(np.linspace(0.5, 2.0, 9)), _codes),
    "multinomial": (Multinomial(), DirichletPrior([0.5, 1.0, 2.0]), _counts),
    "poisson": (Poisson(), GammaPrior(1.5, [0.5, 1.0, 2.0]), _counts),
    "diagonal": (Gaussian("diagonal"), GAMMAS, _numbers),
    "tied-diagonal": (Gaussian("tied-diagonal"), GAMMAS, _numbers),
    "spherical": (Gaussian("spherical"), GAMMAS, _numbers),
    "tied-spherical": (Gaussian("tied-spherical"), GAMMAS, _numbers),
    "full": (Gaussian("full"), WISHART, _numbers),
    "tied": (Gaussian("tied"), WISHART, _numbers),
    "known variance": (Gaussian("diagonal"), KnownVariance([1.0, 2.0, 0.5], np.zeros(D), 0.6), _numbers),
    "known covariance": (Gaussian("full"), KnownVariance(np.asarray(WISHART.scatter), np.zeros(D), 0.6), _numbers),
}


def _nothing(family: Family) -> Any:
    if isinstance(family, Categorical):
        return CategoryCounts.empty(K, np.array([2, 3, 4]))
    return family.empty(K, D)


def _statistics(family: Family, rows: np.ndarray, y: np.ndarray) -> Any:
    return family.statistics(family.encode(rows), Labels(y, None, K))


def _case(name: str, n: int = 8, seed: int = 0) -> tuple[Family, Any, np.ndarray, np.ndarray]:
    family, prior, make = CASES[name]
    rng = np.random.default_rng(seed)
    rows, y = make(rng, n), rng.permutation(np.arange(n) % K)
    return (family.of_sizes(np.array([2, 3, 4])) if isinstance(family, Categorical) else family), prior, rows, y


@pytest.mark.parametrize("name", CASES)
def test_evidence_is_the_product_of_the_predictives_of_one_row_after_the_other(name: str) -> None:
    family, prior, rows, y = _case(name)
    posterior = family.posterior(_nothing(family), prior)
    total = 0.0
    for row, c in zip(rows, y, strict=True):
        total += posterior.predictives().log_prob(row[None])[0, c]
        posterior = posterior + _statistics(family, row[None], np.array([c]))
    base = np.sum(family.log_base_measure(family.encode(rows))) if name in ("poisson", "multinomial") else 0.0
    np.testing.assert_allclose(posterior.log_evidence().sum() + base, total, rtol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_a_posterior_updates_by_adding(name: str) -> None:
    family, prior, rows, y = _case(name)
    at_once = family.posterior(_statistics(family, rows, y), prior)
    added = family.posterior(_statistics(family, rows[:3], y[:3]), prior).update(_statistics(family, rows[3:], y[3:]))
    np.testing.assert_allclose(added.predictives().log_prob(rows), at_once.predictives().log_prob(rows), rtol=1e-10)
    np.testing.assert_allclose(added.log_evidence(), at_once.log_evidence(), rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_samples_scatter_about_the_mean_and_half_of_them_lie_in_the_middle_half(name: str) -> None:
    family, prior, rows, y = _case(name, n=24)
    posterior = family.posterior(_statistics(family, rows, y), prior)
    n = 4000
    drawn, mean, half = posterior.sample(n, 0), posterior.mean(), posterior.interval(0.5)
    if isinstance(family, Gaussian) and "known" not in name:
        pairs = [(drawn[0], mean[0], half.mean), (_variances(drawn[1]), _variances(mean[1]), half.variance)]
    else:
        pairs = [(drawn, mean, half)]
    for values, center, (low, high) in pairs:
        error = values.std(0) / np.sqrt(n)
        assert (np.abs(values.mean(0) - center) <= 5.0 * error + 1e-12).all()
        inside = ((low <= values) & (values <= high)).mean(0)
        np.testing.assert_allclose(inside, 0.5, atol=0.04)


def _variances(covariance: np.ndarray) -> np.ndarray:
    matrix = covariance.shape[-1] == D and covariance.ndim > 2 and covariance.shape[-2] == D
    return np.diagonal(covariance, axis1=-2, axis2=-1) if matrix else covariance


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "diagonal", "full", "known variance"])
def test_intervals_cover_what_the_prior_drew_as_often_as_they_say(name: str) -> None:
    rng = np.random.default_rng(0)
    k, n = 3000, 4  # one class an experiment
    y = np.repeat(np.arange(k), n)
    if name == "bernoulli":
        family, prior = Bernoulli(), BetaPrior(2.0, 3.0)
        truth = rng.beta(2.0, 3.0, (k, 1))
        rows = (rng.random((k * n, 1)) < truth[y]).astype(float)
    elif name == "poisson":
        family, prior = Poisson(), GammaPrior(3.0, 0.5)
        truth = rng.gamma(3.0, 2.0, (k, 1))
        rows = rng.poisson(truth[y]).astype(float)
    elif name == "known variance":
        family, prior = Gaussian(), KnownVariance(2.0, [1.0], 0.5)
        truth = 1.0 + rng.normal(size=(k, 1)) * np.sqrt(2.0 / 0.5)
        rows = truth[y] + rng.normal(size=(k * n, 1)) * np.sqrt(2.0)
    else:
        family = Gaussian(name)
        prior = NormalInverseWishart.textbook([1.0, 0.0], 0.5, 5.0, [[2.0, 0.5], [0.5, 1.0]])
        if name == "diagonal":
            variance = np.array([2.0, 1.0]) / rng.chisquare(5.0, (k, 2))
            covariance = np.eye(2) * variance[:, None, :]
        else:
            covariance = stats.invwishart.rvs(5.0, [[2.0, 0.5], [0.5, 1.0]], size=k, random_state=rng)
            variance = np.diagonal(covariance, axis1=1, axis2=2)
        factor = np.linalg.cholesky(covariance)
        draw = lambda size: rng.normal(size=(size, 2, 1))  # noqa: E731
        truth = np.array([1.0, 0.0]) + (factor @ draw(k))[..., 0] / np.sqrt(0.5)
        rows = truth[y] + (factor[y] @ draw(k * n))[..., 0]
    found = family.posterior(family.statistics(rows, Labels(y, None, k)), prior).interval(0.8)
    both = name in ("diagonal", "full")
    for (low, high), values in zip(found, (truth, variance), strict=True) if both else ((found, truth),):
        covered = ((low <= values) & (values <= high)).mean()
        assert abs(covered - 0.8) < 4.0 * np.sqrt(0.8 * 0.2 / k)


# -- one after the other --------------------------------------------------------------------------------------------


def test_the_uniform_prior_on_a_coin_gives_heads_plus_one_over_n_plus_two() -> None:
    for heads, n in ((0, 0), (0, 3), (7, 10)):
        posterior = Bernoulli().posterior(Sums(np.array([[float(n)]]), np.array([[float(heads)]])), BetaPrior(1, 1))
        assert posterior.mean().item() == pytest.approx((heads + 1) / (n + 2), rel=1e-15)
        assert np.exp(posterior.predictive().log_prob([1.0])).item() == pytest.approx((heads + 1) / (n + 2), rel=1e-14)


def test_beta_agrees_with_scipy_and_with_integration() -> None:
    coin = Bernoulli().posterior([1, 1, 0, 1, 1], BetaPrior(0.5, 2.0))
    reference = stats.beta(4.5, 3.0)
    assert coin.mean().item() == pytest.approx(reference.mean())
    np.testing.assert_allclose(np.ravel(coin.interval(0.9)), reference.interval(0.9))
    density = lambda p: p**4 * (1 - p) * mpmath.mpf(p) ** -0.5 * (1 - p) / mpmath.beta(0.5, 2)  # noqa: E731
    assert coin.log_evidence().item() == pytest.approx(float(mpmath.log(mpmath.quad(density, [0, 0.5, 1]))), rel=1e-10)
    many = coin.predictive(draws=7)
    x = np.arange(8.0)
    np.testing.assert_allclose(many.log_prob(x), stats.betabinom(7, 4.5, 3.0).logpmf(x), rtol=1e-10)
    np.testing.assert_allclose(many.mean().item(), stats.betabinom(7, 4.5, 3.0).mean())
    np.testing.assert_allclose(many.variance().item(), stats.betabinom(7, 4.5, 3.0).var())
    assert np.isneginf(many.log_prob([8.0, 1.5])).all()
    drawn = many.sample(20_000, 0)
    assert abs(drawn.mean() - many.mean().item()) < 5 * np.sqrt(many.variance().item() / len(drawn))


def test_dirichlet_agrees_with_scipy() -> None:
    bags = np.array([[2.0, 1.0, 0.0], [0.0, 4.0, 1.0]])
    posterior = Multinomial().posterior(bags, DirichletPrior([0.5, 1.0, 2.0]))
    alpha = np.array([2.5, 6.0, 3.0])
    np.testing.assert_allclose(posterior.mean()[0], stats.dirichlet(alpha).mean())
    np.testing.assert_allclose(posterior.map().probability[0], (alpha - 1) / (alpha - 1).sum())
    marginal = stats.beta(alpha, alpha.sum() - alpha)
    np.testing.assert_allclose(np.stack(posterior.interval(0.9))[:, 0], marginal.interval(0.9))
    x = np.array([[1, 2, 3], [0, 0, 5], [0, 0, 0]])
    expected = stats.dirichlet_multinomial(alpha, x.sum(1)).logpmf(x)
    np.testing.assert_allclose(posterior.predictive().log_prob(x), expected, rtol=1e-10)
    one_bag = Multinomial().posterior(bags[:1], DirichletPrior([0.5, 1.0, 2.0]))
    before = stats.dirichlet_multinomial([0.5, 1.0, 2.0], 3).logpmf([2, 1, 0])
    np.testing.assert_allclose(one_bag.log_evidence(bags[:1]), before)


def test_gamma_agrees_with_scipy() -> None:
    posterior = Poisson().posterior([3, 0, 5], GammaPrior(2.0, 0.5))
    reference = stats.gamma(10.0, scale=1.0 / 3.5)
    np.testing.assert_allclose(np.ravel(posterior.interval(0.9)), reference.interval(0.9))
    assert posterior.map()[0].rate == pytest.approx(9.0 / 3.5)
    x = np.arange(9.0)
    expected = stats.nbinom(10.0, 3.5 / 4.5)
    np.testing.assert_allclose(posterior.predictive().log_prob(x), expected.logpmf(x), rtol=1e-10)
    np.testing.assert_allclose(posterior.predictive().variance().item(), expected.var())
    likelihood = lambda r: np.prod(stats.poisson(r).pmf([3, 0, 5])) * stats.gamma(2.0, scale=2.0).pdf(r)  # noqa: E731
    evidence = integrate.quad(likelihood, 0, 30)[0]
    np.testing.assert_allclose(posterior.log_evidence([3, 0, 5]), np.log(evidence), rtol=1e-7)


def test_waiting_times_have_a_gamma_posterior_and_a_lomax_predictive() -> None:
    x = np.array([0.5, 2.0, 1.0])
    posterior = WaitingTimePosterior(Poisson(), Sums(np.array([[3.0]]), np.array([[x.sum()]])), GammaPrior(2.0, 0.5))
    assert posterior.shape.item() == 5.0
    assert posterior.rate.item() == 4.0
    assert posterior.map().mean().item() == pytest.approx(1.0)  # 1/λ at λ = (5 − 1)/4
    reference = stats.lomax(5.0, scale=4.0)
    np.testing.assert_allclose(posterior.predictive().log_prob(x), reference.logpdf(x))
    assert posterior.predictive().mean().item() == pytest.approx(reference.mean())
    assert posterior.predictive().variance().item() == pytest.approx(reference.var())
    likelihood = lambda r: np.prod(r * np.exp(-r * x)) * stats.gamma(2.0, scale=2.0).pdf(r)  # noqa: E731
    np.testing.assert_allclose(posterior.log_evidence(), np.log(integrate.quad(likelihood, 0, 40)[0]), rtol=1e-7)
    drawn = posterior.predictive().sample(40_000, 0)
    assert np.median(drawn) == pytest.approx(reference.median(), rel=0.03)


def test_normal_inverse_gamma_agrees_with_integration() -> None:
    x, new = np.array([1.0, 2.5, 0.5]), 3.0
    m, kappa, nu, psi = 0.5, 0.8, 3.0, 2.0
    posterior = Gaussian().posterior(x, NormalInverseWishart.textbook([m], kappa, nu, [psi]))

    nodes, weights = np.polynomial.legendre.leggauss(120)
    mu, variance = np.meshgrid(10.0 * nodes + 1.0, np.exp(7.0 * nodes))
    before = stats.invgamma.logpdf(variance, nu / 2, scale=psi / 2) + np.log(variance)  # over the log of the variance
    before += stats.norm.logpdf(mu, m, np.sqrt(variance / kappa))

    def joint(rows: np.ndarray) -> float:
        density = before + sum(stats.norm.logpdf(row, mu, np.sqrt(variance)) for row in rows)
        return float(np.log(70.0 * weights @ np.exp(density) @ weights))

    evidence = joint(x)
    np.testing.assert_allclose(posterior.log_evidence(), evidence, rtol=1e-4)
    np.testing.assert_allclose(posterior.predictive().log_prob([new]), joint(np.append(x, new)) - evidence, rtol=1e-5)


def test_normal_inverse_wishart_obeys_bayes_rule_at_any_parameters() -> None:
    rng = np.random.default_rng(0)
    x = _numbers(rng, 9)
    posterior = Gaussian("full").posterior(x, WISHART)
    sigma = stats.invwishart.rvs(8, np.eye(D), random_state=rng)
    mu = rng.normal(size=D)

    def density(m: Any, kappa: float, nu: float, psi: Any) -> float:
        return float(stats.invwishart(nu, psi).logpdf(sigma) + stats.multivariate_normal(m, sigma / kappa).logpdf(mu))

    before = density(WISHART.mean, WISHART.mean_count, 4.5, np.asarray(WISHART.scatter) * 4.5)
    after = density(posterior.location[0], posterior.count.item(), posterior.dof.item(), posterior.scatter[0])
    likelihood = stats.multivariate_normal(mu, sigma).logpdf(x).sum()
    np.testing.assert_allclose(posterior.log_evidence(), likelihood + before - after, rtol=1e-9)
    np.testing.assert_allclose(posterior.mean().covariance[0], stats.invwishart(13.5, posterior.scatter[0]).mean())
    mode = posterior.map()
    nearby = [density(posterior.location[0], posterior.count.item(), 13.5, posterior.scatter[0])]
    assert np.isfinite(nearby).all()
    for factor in (0.97, 1.03):  # the mode of the joint density
        for scale in (1.0, factor):
            sigma, mu = mode.covariance()[0] * scale, mode.means[0]
            nearby.append(density(posterior.location[0], posterior.count.item(), 13.5, posterior.scatter[0]))
    assert nearby[1] == max(nearby[1:])


def test_student_predictives_agree_with_scipy() -> None:
    rng = np.random.default_rng(1)
    x, new = _numbers(rng, 7), _numbers(rng, 5)
    full = Gaussian("full").posterior(x, WISHART)
    scale = full.scatter[0] / (full.dof.item() - D + 1) * (1 + 1 / full.count.item())
    expected = stats.multivariate_t(full.location[0], scale, df=full.dof.item() - D + 1)
    np.testing.assert_allclose(full.predictive().log_prob(new), expected.logpdf(new), rtol=1e-9)
    drawn = full.predictive().sample(60_000, 0)
    np.testing.assert_allclose(np.median(drawn, axis=0), full.location[0], atol=0.05)
    quartile = stats.t(full.dof.item() - D + 1).ppf(0.75) * np.sqrt(np.diagonal(scale))
    np.testing.assert_allclose(np.median(np.abs(drawn - full.location[0]), axis=0), quartile, rtol=0.03)
    diagonal = Gaussian("diagonal").posterior(x, GAMMAS)
    squared = diagonal.scatter / diagonal.dof * (1 + 1 / diagonal.count)
    columns = stats.t(diagonal.dof[0], diagonal.location[0], np.sqrt(squared[0]))
    np.testing.assert_allclose(diagonal.predictive().log_prob(new), columns.logpdf(new).sum(1), rtol=1e-9)
    ball = Gaussian("spherical").posterior(x, GAMMAS)
    scale = np.eye(D) * (ball.scatter / ball.dof).item() * (1 + 1 / ball.count[0, 0])
    expected = stats.multivariate_t(ball.location[0], scale, df=ball.dof.item())
    np.testing.assert_allclose(ball.predictive().log_prob(new), expected.logpdf(new), rtol=1e-9)


def test_pseudo_counts_and_the_automatic_prior_are_translated() -> None:
    rng = np.random.default_rng(2)
    y = np.arange(12) % K
    for family, make in ((Bernoulli(), _bits), (Poisson(), _counts), (Multinomial(), _counts)):
        statistics = _statistics(family, make(rng, 12), y)
        for prior in ("auto", 1.0, PseudoCount(0.3), [PseudoCount(2.0), NormalInverseWishart()]):
            plugged_in = family.estimate(statistics, prior).moment_parameters()
            np.testing.assert_allclose(family.posterior(statistics, prior).mean(), plugged_in, rtol=1e-12)


@pytest.mark.parametrize("name", ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"])
@pytest.mark.parametrize("prior", [NormalInverseWishart(), NormalInverseWishart(4.0, np.ones(D), 0.5)])
def test_the_mean_precision_is_that_of_the_plain_estimate(name: str, prior: NormalInverseWishart) -> None:
    family = Gaussian(name)
    statistics = _statistics(family, _numbers(np.random.default_rng(3), 14), np.arange(14) % K)
    posterior, plain = family.posterior(statistics, prior), family.estimate(statistics, prior)
    dof = posterior.dof[:, None, None] if posterior.scatter.ndim == 3 else posterior.dof
    np.testing.assert_allclose(np.broadcast_to(posterior.scatter / dof, plain.compact.shape), plain.compact, rtol=1e-9)
    np.testing.assert_allclose(posterior.location, plain.means)


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(ValueError, match="a posterior needs a prior, but prior=None"):
        Bernoulli().posterior([1, 0], None).mean()
    with pytest.raises(ValueError, match="no conjugate prior"):
        Gaussian("VVE").posterior([[1.0, 2.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match="the evidence needs a proper prior"):
        Gaussian().posterior([1.0, 2.0]).log_evidence()
    with pytest.raises(ValueError, match="with a count above 0"):
        Gaussian().posterior([1.0, 2.0], KnownVariance(1.0)).log_evidence()
    with pytest.raises(ValueError, match="needs more than 2 rows"):
        Gaussian("full").posterior(np.eye(3), NormalInverseWishart(0)).predictive()
    with pytest.raises(ValueError, match=r"is for Family\.posterior"):
        Bernoulli().fit([1, 0], prior=BetaPrior(1, 1))
    with pytest.raises(ValueError, match="between 0 and 1"):
        Bernoulli().posterior([1, 0]).interval(95)
    with pytest.raises(ValueError, match="a of a BetaPrior must be positive"):
        BetaPrior(0.0, 1.0)
    with pytest.raises(ValueError, match=r"use Gaussian\('full'\)"):
        Gaussian().posterior(np.eye(2), KnownVariance(np.eye(2))).predictive()
    with pytest.raises(ValueError, match="where there is one class"):
        posterior_of(
            Poisson(), _statistics(Poisson(), _counts(np.random.default_rng(0), 4), np.arange(4) % K)
        ).log_evidence([1])
    with pytest.raises(TypeError, match="not an exponential family"):
        Poisson().posterior([1, 2]).predictive().natural_parameters()
    assert "BetaPosterior of Bernoulli()" in repr(Bernoulli().posterior([1, 0]))
    assert isinstance(Bernoulli().posterior([1, 0]), Posterior)


# -- priors that do not fit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "prior", "wanted"),
    [
        (Bernoulli(), GammaPrior(1, 1), "a BetaPrior or a PseudoCount"),
        (Categorical(), NormalInverseWishart(), "a DirichletPrior or a PseudoCount"),
        (Multinomial(), BetaPrior(), "a DirichletPrior or a PseudoCount"),
        (Poisson(), BetaPrior(), "a GammaPrior or a PseudoCount"),
        (Exponential(), KnownVariance(1.0), "a GammaPrior or a PseudoCount"),
        (Gaussian(), GammaPrior(1, 1), "a NormalInverseWishart or a KnownVariance"),
        (Gaussian("full"), DirichletPrior(1), "a NormalInverseWishart or a KnownVariance"),
    ],
)
def test_a_prior_of_another_family_is_an_error_but_in_a_list_it_is_left_to_the_others(family, prior, wanted) -> None:
    rows = np.array([[1, 0], [0, 1], [1, 1]])
    with pytest.raises(ValueError, match=f"is {wanted}.*, but prior is {type(prior).__name__}"):
        family.posterior(rows, prior)
    plain, listed = (family.posterior(rows, given).predictive().log_prob(rows) for given in ("auto", [prior]))
    np.testing.assert_array_equal(plain, listed)


def test_a_single_prior_of_a_mixed_table_is_for_the_blocks_that_take_it() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=40), "flag": rng.random(40) < 0.3})
    y = np.arange(40) % 2
    model = NaiveBayes(prior=BetaPrior(3.0, 1.0), estimate="predictive").fit(table, y)
    ones = table["flag"].groupby(y).sum().to_numpy()
    np.testing.assert_allclose(model.distributions_[1].probability[:, 0], (ones + 3.0) / (20 + 4.0))
    with pytest.raises(ValueError, match="prior is GammaPrior"):
        NaiveBayes(prior=GammaPrior(1.0, 1.0), estimate="predictive").fit(table, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([0, 0], 1, 4, [[1.0, 2.0], [2.0, 1.0]]),
            "scale must be positive definite, but its smallest eigenvalue is -1",
        ),
        (([0, 0], 1, 4, [[1.0, 2.0], [0.0, 9.0]]), "scale must be a symmetric matrix"),
        (([0, 0], 1, 4, [1.0, -1.0]), "scale must hold positive numbers"),
        (([0, 0], 1, 4, [[1.0, 2.0]]), r"scale must be of shape \(d,\) or \(d, d\), but is of shape \(1, 2\)"),
        (([0, 0], 1, 1, np.eye(2)), r"dof must be more than 1 for a scale of shape \(2, 2\), but is 1"),
        (([0, 0], 1, 0, [1.0, 1.0]), "dof must be more than 0"),
        (([0, 0], 0, 4, np.eye(2)), "mean_count must be more than 0"),
        (([0, 0, 0], 1, 4, np.eye(2)), r"mean is of shape \(3,\) and scale of shape \(2, 2\)"),
    ],
)
def test_the_textbook_prior_says_what_its_parameters_must_be(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        NormalInverseWishart.textbook(*arguments)


@pytest.mark.parametrize(
    ("family", "prior", "message"),
    [
        (Gaussian("full"), NormalInverseWishart.textbook(np.zeros(3), 1, 4, np.eye(3)), r"\(2, 2\).*not \(3, 3\)"),
        (Gaussian(), NormalInverseWishart(mean=[0, 0, 0], mean_count=1.0), r"\(2,\).*is of shape \(3,\)"),
        (Gaussian(), KnownVariance([1.0, 2.0, 3.0]), r"variance .*\(2,\).*is of shape \(3,\)"),
        (Gaussian(), KnownVariance(1.0, mean=[1.0, 2.0, 3.0]), r"mean .*\(2,\).*is of shape \(3,\)"),
        (Bernoulli(), BetaPrior(1.0, [1.0, 2.0, 3.0]), r"b of the BetaPrior .*\(1, 2\).*is of shape \(3,\)"),
        (Poisson(), GammaPrior([1.0, 2.0, 3.0], 1.0), r"shape of the GammaPrior .*\(1, 2\).*is of shape \(3,\)"),
        (Multinomial(), DirichletPrior([1.0, 2.0, 3.0]), r"alpha .*\(1, 2\).*is of shape \(3,\)"),
    ],
)
def test_a_prior_of_another_size_is_an_error_when_the_posterior_is_made(family, prior, message) -> None:
    with pytest.raises(ValueError, match=message):
        family.posterior(np.array([[1, 0], [0, 1], [1, 1]]), prior)


def test_a_known_covariance_must_be_one() -> None:
    with pytest.raises(ValueError, match="must be positive definite"):
        KnownVariance([[1.0, 2.0], [2.0, 1.0]])


# -- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pd.Categorical])
def test_words_have_a_posterior_whose_values_grow_with_the_rows(wrap) -> None:
    posterior = Categorical().posterior(wrap(["a", "a", "b"]), DirichletPrior(1))
    assert posterior.values == [["a", "b"]]
    np.testing.assert_allclose(posterior.mean(), [[3 / 5, 2 / 5]])
    np.testing.assert_allclose(np.exp(posterior.predictive().log_prob(["b", "new"])), [2 / 5, 1 / 5])
    more = posterior + wrap(["c", "b", "c"])
    assert more.values == [["a", "b", "c"]]
    np.testing.assert_allclose(more.mean(), [[3 / 9, 3 / 9, 3 / 9]])
    assert set(more.predictive().sample(50, random_state=0)[:, 0]) == {"a", "b", "c"}
    with pytest.raises(ValueError, match=r"alpha .*\(1, 3\).*is of shape \(2,\)"):
        Categorical().posterior(wrap(["a", "b"]), DirichletPrior([1.0, 2.0])) + wrap(["c"])
    with pytest.raises(ValueError, match="must have 1 columns, but have 2"):
        posterior.update([["a", "b"]])


def test_numbers_that_are_names_are_values_and_missing_words_count_nothing() -> None:
    assert Categorical().posterior(pd.Categorical([10, 20, 10])).values == [[10, 20]]
    posterior = Categorical().posterior(["a", None, "b", "b"], DirichletPrior(1))
    np.testing.assert_allclose(posterior.mean(), [[2 / 5, 3 / 5]])


# -- predictives ----------------------------------------------------------------------------------------------------


def _one_class(name: str) -> Posterior:
    family, prior, rows, _ = _case(name, n=24)
    return family.posterior(rows, prior)


@pytest.mark.parametrize("name", CASES)
def test_a_predictive_samples_and_its_moments_are_those_of_its_samples(name: str) -> None:
    predictive = _one_class(name).predictive()
    rows = predictive.sample(20_000, random_state=0)
    assert predictive.log_prob(rows[:3]).shape == (3,)
    if name == "categorical":
        rows = predictive.family.sufficient_statistics(rows)
    np.testing.assert_allclose(rows.mean(0), predictive.mean(), atol=6 * rows.std(0).max() / np.sqrt(len(rows)))
    found = np.cov(rows.T)
    assert predictive.variance().shape == (len(found),)
    np.testing.assert_allclose(np.diagonal(predictive.covariance()), predictive.variance())
    if name == "multinomial":  # the moments are those of bags of the mean size; samples have Poisson sizes
        p, size = predictive.probability, predictive.mean_size
        found -= size * np.outer(p, p) + (np.diag(p) - np.outer(p, p)) * size / (predictive.alpha.sum() + 1.0)
    np.testing.assert_allclose(found, predictive.covariance(), atol=0.12 * found.max())


@pytest.mark.parametrize("name", CASES)
def test_no_draws_are_empty_arrays(name: str) -> None:
    posterior = _one_class(name)
    some, none = posterior.sample(2, 0), posterior.sample(0)
    for a, b in zip(some, none, strict=True) if isinstance(some, tuple) else [(some, none)]:
        assert b.shape == (0, *a.shape[1:])
    assert posterior.predictive().sample(0).shape == (0, D)


def test_predictives_are_called_by_their_own_names() -> None:
    times = Exponential().posterior([1.0, 2.0, 1.0], GammaPrior(2.0, 0.5)).predictive()
    assert repr(times) == "<Lomax with shape 5, rate 4.5>"
    assert repr(Poisson().posterior([3, 0], GammaPrior(1, 1)).predictive()) == "<NegativeBinomial with shape 4, rate 3>"
    assert repr(Bernoulli().posterior([1, 0]).predictive(draws=4)) == "<Beta–binomial with a 2, b 2, draws 4>"
    assert repr(Multinomial().posterior([[1, 2]]).predictive()).startswith("<Dirichlet–multinomial with alpha [2. 3.]")
    rows = np.column_stack([_numbers(np.random.default_rng(0), 9), np.ones(9)])
    for name in ("full", "diagonal", "spherical"):
        assert repr(Gaussian(name).posterior(rows[:, :2]).predictive()).startswith("<Student's t with location [")
        assert repr(Gaussian(name).posterior(rows).predictive()).startswith("<Student's t ")
    prior = NormalInverseWishart(3.0)
    beside, alone = (Gaussian("full").posterior(x, prior).predictive().covariance() for x in (rows, rows[:, :3]))
    np.testing.assert_allclose(beside[:3, :3], alone)
    np.testing.assert_array_equal(beside[3, :3], 0.0)


def test_several_classes_have_several_predictives() -> None:
    family, prior, rows, y = _case("poisson")
    posterior = family.posterior(_statistics(family, rows, y), prior)
    with pytest.raises(ValueError, match=r"there are 2; predictives\(\) has all of them"):
        posterior.predictive()
    alone = family.posterior(rows[y == 1], prior).predictive()
    np.testing.assert_allclose(posterior.predictives()[1].log_prob(rows), alone.log_prob(rows))


@pytest.mark.parametrize("name", CASES)
def test_a_row_of_weight_two_is_the_row_twice(name: str) -> None:
    family, prior, rows, _ = _case(name)
    weight = np.arange(len(rows)) % 3
    weighted = family.posterior(rows, prior, sample_weight=weight)
    repeated = family.posterior(np.repeat(rows, weight, axis=0), prior)
    np.testing.assert_allclose(weighted.predictive().log_prob(rows), repeated.predictive().log_prob(rows), rtol=1e-9)
    updated = family.posterior(rows[:4], prior, weight[:4]).update(rows[4:], sample_weight=weight[4:])
    np.testing.assert_allclose(updated.predictive().log_prob(rows), repeated.predictive().log_prob(rows), rtol=1e-9)
    with pytest.raises(ValueError, match="statistics hold the weights"):
        family.posterior(weighted.statistics, prior, sample_weight=weight)


@pytest.mark.parametrize("alpha", [1.0, 2.5])
def test_a_value_that_training_never_saw_is_like_one_without_rows(alpha: float) -> None:
    rows = ["sun", "rain", "sun", "sun"]
    posterior = Categorical().posterior(rows, DirichletPrior(alpha))
    assert np.exp(posterior.predictive().log_prob(["fog"])) == pytest.approx(alpha / (4 + 2 * alpha))
    less = alpha - 1.0
    with np.errstate(divide="ignore"):
        assert np.exp(posterior.map()[0].log_prob(["fog"])) == pytest.approx(less / (4 + 2 * less))
    unequal = Categorical().posterior(rows, DirichletPrior([1.0, 3.0]))
    assert unequal.predictives().unseen_mass == 0.0  # which of the two values would it be like?
    ignored = Categorical("missing").posterior(rows, DirichletPrior(alpha))
    assert ignored.predictive().log_prob(["fog"]) == 0.0
