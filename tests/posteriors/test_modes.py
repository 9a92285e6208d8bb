"""estimate="map" is the mode of the posterior density, found by numerical maximisation too."""

import numpy as np
import pytest
from scipy import optimize, stats

from suffice import (
    Bernoulli,
    Categorical,
    Exponential,
    GaussianDiscriminant,
    Geometric,
    Multinomial,
    NaiveBayes,
    NegativeBinomial,
    NormalInverseWishart,
    Poisson,
    PseudoCount,
    load,
    save,
)
from suffice.persistence import archive

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 15)


def test_three_heads_in_four_throws():
    X, y = np.array([[1], [1], [0], [1]] * 2), np.repeat([0, 1], 4)
    shares = {e: NaiveBayes("bernoulli", estimate=e).fit(X, y).means_[0, 0] for e in ("mean", "map", "mle")}
    assert shares == pytest.approx({"mean": 4 / 6, "map": 3 / 4, "mle": 3 / 4})
    # two rows of each value: Beta(2, 2)
    assert NaiveBayes("bernoulli", estimate="map", prior=2).fit(X, y).means_[0, 0] == pytest.approx(4 / 6)
    assert NaiveBayes().get_params()["estimate"] == "mean"


ONE_PARAMETER = {
    # name: family, rows, the usual parameter, log p(x | θ), the prior given its rows α and their mean m, the range
    "bernoulli": (
        Bernoulli(),
        RNG.integers(0, 2, 30),
        lambda found: found.probability,
        lambda x, p: stats.bernoulli(p).logpmf(x),
        lambda a, m: stats.beta(a, a),
        (0, 1),
    ),
    "poisson": (
        Poisson(),
        RNG.poisson(3.0, 30),
        lambda found: found.rate,
        lambda x, rate: stats.poisson(rate).logpmf(x),
        lambda a, m: stats.gamma(a * m, scale=1 / a),
        (0, 20),
    ),
    "exponential": (
        Exponential(),
        RNG.exponential(3.0, 30),
        lambda found: found.rate,
        lambda x, rate: stats.expon(scale=1 / rate).logpdf(x),
        lambda a, m: stats.gamma(a, scale=1 / (a * m)),
        (0, 20),
    ),
    "geometric": (
        Geometric(),
        RNG.geometric(0.3, 30) - 1,
        lambda found: found.probability,
        lambda x, p: stats.geom(p, loc=-1).logpmf(x),
        lambda a, m: stats.beta(a, a * m),
        (0, 1),
    ),
    "negative binomial": (
        NegativeBinomial(2.5),
        RNG.negative_binomial(2.5, 0.3, 30),
        lambda found: found.probability,
        lambda x, p: stats.nbinom(2.5, p).logpmf(x),
        lambda a, m: stats.beta(2.5 * a, a * m),
        (0, 1),
    ),
}


@pytest.mark.parametrize("case", ONE_PARAMETER.values(), ids=list(ONE_PARAMETER))
@pytest.mark.parametrize("amount", [1.0, 2.5])
def test_the_mode_maximises_the_posterior_density_of_the_usual_parameter(case, amount):
    family, x, parameter, log_prob, prior, (low, high) = case
    m = (x.sum() + 0.5) / (len(x) + 1.0)  # that of all rows, and a row of ½
    if isinstance(family, Exponential):
        m = 1.0 / np.mean([1.0 / x[c == Y].mean() for c in (0, 1)])  # 1 over the mean rate
    found = NaiveBayes(family, estimate="map", prior=amount).fit(x[:, None], Y).distributions_[0]
    mean = NaiveBayes(family, estimate="mean", prior=amount).fit(x[:, None], Y).distributions_[0]
    for c in (0, 1):

        def loss(theta, rows=x[c == Y]):
            return -log_prob(rows, theta).sum() - prior(amount, m).logpdf(theta)

        best = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).x
        assert parameter(found)[c, 0] == pytest.approx(best, rel=1e-5)
        assert parameter(mean)[c, 0] != pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("family", [Categorical(), Multinomial()])
@pytest.mark.parametrize("amount", [1.0, 2.5])
def test_the_mode_of_probabilities_maximises_the_dirichlet_density(family, amount):
    x = RNG.integers(0, 3, (30, 1)) if isinstance(family, Categorical) else RNG.poisson([1.0, 4.0, 2.0], (30, 3))
    found = NaiveBayes(family, estimate="map", prior=amount).fit(x, Y).distributions_[0].probability
    for c in (0, 1):
        rows = x[c == Y]
        counts = np.bincount(rows[:, 0], minlength=3) if isinstance(family, Categorical) else rows.sum(0)

        def loss(log_odds, counts=counts):
            p = np.exp(np.append(log_odds, 0.0))
            p = p / p.sum()
            return -counts @ np.log(p) - stats.dirichlet([amount] * 3).logpdf(p)

        best = np.exp(np.append(optimize.minimize(loss, np.zeros(2), tol=1e-10).x, 0.0))
        np.testing.assert_allclose(found[c], best / best.sum(), rtol=1e-4)


STRUCTURES = ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_gaussians_are_at_the_mode_of_the_joint_density_of_means_and_covariances(structure):
    X = RNG.normal(size=(30, 2)) * [1.0, 2.0] + Y[:, None]
    dof, scale, m, kappa = 5.0, np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.2, -0.3]), 0.7
    full = structure in ("full", "tied")
    prior = NormalInverseWishart.textbook(m, kappa, dof, scale if full else np.diag(scale))
    found = GaussianDiscriminant(structure, prior, estimate="map").fit(X, Y).distributions_[0]

    def log_density(means, compact):
        """Return log p(rows, μ, Σ), with one density for each covariance (or variance) that is a parameter."""
        covariances = compact if full else np.eye(2) * compact[:, None, :]
        logs = 0.0
        for c in (0, 1):
            sigma = covariances[c if len(covariances) > 1 else 0]
            logs += stats.multivariate_normal(means[c], sigma).logpdf(X[c == Y]).sum()
            logs += stats.multivariate_normal(m, sigma / kappa).logpdf(means[c])
        if full:
            return logs + sum(stats.invwishart(dof, scale).logpdf(sigma) for sigma in covariances)
        if structure.endswith("spherical"):  # the rows of all columns say something of the one variance
            return logs + stats.invgamma(dof, scale=np.trace(scale) / 2).logpdf(compact[:, 0]).sum()
        return logs + sum(stats.invgamma(dof / 2, scale=scale[j, j] / 2).logpdf(compact[:, j]).sum() for j in (0, 1))

    best = log_density(found.means, found.compact)
    for _ in range(60):
        size = 10.0 ** RNG.uniform(-4, -1)
        means = found.means + size * RNG.normal(size=found.means.shape)
        assert log_density(means, found.compact) < best
        factor = size * RNG.normal(size=found.compact.shape)
        if full:
            turn = np.eye(2) + factor
            compact = turn @ found.compact @ turn.swapaxes(1, 2)
        else:
            factor = factor[:, :1] if structure.endswith("spherical") else factor
            compact = found.compact * np.exp(factor)
        assert log_density(found.means, compact) < best


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("constant", [False, True])
def test_the_mode_is_that_of_the_posterior_object(structure, constant):
    X = np.column_stack([RNG.normal(size=(30, 2)), np.full(30, 7.0) if constant else RNG.normal(size=30)])
    prior = NormalInverseWishart()
    found = GaussianDiscriminant(structure, prior, estimate="map").fit(X, Y)
    (statistics,) = found.statistics_.joint.blocks
    mode = found.distributions_[0].family.posterior(statistics, prior).map()
    np.testing.assert_allclose(found.means_, mode.means, rtol=1e-12)
    np.testing.assert_allclose(found.distributions_[0].compact, mode.compact, rtol=1e-8)
    np.testing.assert_allclose(mode.log_prob(X) + found.class_log_prior_, found.predict_joint_log_proba(X), rtol=1e-7)


@pytest.mark.parametrize("prior", [1.5, 3.0])
@pytest.mark.parametrize("family", ["bernoulli", "categorical", "multinomial", "poisson", "geometric", "gaussian"])
def test_em_climbs_to_the_mode(family, prior):
    X = RNG.integers(0, 2, (40, 3)) + (0 if family == "bernoulli" else RNG.integers(0, 2, (40, 3)))
    y = np.where(RNG.random(40) < 0.5, None, X[:, 0] > 0)
    model = NaiveBayes(family, estimate="map", prior=prior, max_iter=2000, tol=1e-12).fit(X, y)
    bound = np.array(model.bound_history_)
    assert np.diff(bound).min() > -1e-9 * abs(bound[-1])
    again = model._components(model.schema_, model.classes_, model._priors).estimate(model.statistics_.joint)
    np.testing.assert_allclose(
        again.distributions[0].moment_parameters(), model.distributions_[0].moment_parameters(), rtol=1e-4
    )


@pytest.mark.parametrize("structure", ["full", "tied", "spherical"])
def test_em_climbs_to_the_mode_of_covariances_with_missing_cells_and_of_components(structure):
    X = RNG.normal(size=(60, 2)) + np.repeat([0, 3], 30)[:, None]
    X[::9, 1] = np.nan
    y = np.where(RNG.random(60) < 0.3, None, np.repeat([0, 1], 30))
    for settings in ({}, {"n_components": 2, "random_state": 0}):
        model = GaussianDiscriminant(structure, estimate="map", **settings).fit(X, y)
        bound = np.array(model.bound_history_)
        assert np.diff(bound).min() > -1e-9 * abs(bound[-1])


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "multinomial"])
def test_pseudo_counts_below_one_have_no_mode_inside(family):
    with pytest.raises(ValueError, match=r"needs a pseudo-count of at least 1 for probabilities, but it is 0\.5"):
        NaiveBayes(family, estimate="map", prior=0.5).fit([[0, 1], [1, 1]], [0, 1])


def test_classes_without_rows_keep_the_mean_of_the_prior():
    for family in ("bernoulli", "categorical", "multinomial", "poisson", "exponential"):
        model = NaiveBayes(family, estimate="map").partial_fit([[1, 2 - (family == "bernoulli")]] * 3, [0] * 3, [0, 1])
        found = model.distributions_[0].moment_parameters()
        assert np.isfinite(found).all()
        if family in ("bernoulli", "multinomial"):
            np.testing.assert_allclose(found[1], 0.5)


def test_an_estimate_without_prior_is_maximum_likelihood_whatever_its_name():
    X = RNG.normal(size=(30, 2))
    names = ("mean", "map")
    a, b = (GaussianDiscriminant("full", None, estimate=name).fit(X, Y).predict_proba(X) for name in names)
    np.testing.assert_array_equal(a, b)


def test_a_mode_is_saved_and_earlier_files_keep_their_means(tmp_path):
    X = RNG.integers(0, 2, (30, 2))
    mode, mean = (NaiveBayes("bernoulli", estimate=e).fit(X, Y) for e in ("map", "mean"))
    for model in (mode, mean):
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").means_, model.means_)
    header, arrays = archive.read(tmp_path / "model")
    header["params"]["estimate"] = "map"  # as the mean was called in the first version
    header.update(version=1)
    for name in ("format", "written_by"):
        header.pop(name)
    archive.write(tmp_path / "earlier", header, arrays)
    earlier = load(tmp_path / "earlier")
    assert earlier.estimate == "mean"
    np.testing.assert_array_equal(earlier.means_, mean.means_)


def test_grids_of_estimates_and_statistics_from_elsewhere():
    X = RNG.integers(0, 2, (30, 2))
    fitted = NaiveBayes("bernoulli", estimate="mean").fit(X, Y)
    again = NaiveBayes.from_statistics(fitted.statistics_, estimate="map", prior=PseudoCount(3))
    expected = (X[Y == 0].sum(0) + 2) / (15 + 4)
    np.testing.assert_allclose(again.means_[0], expected)
