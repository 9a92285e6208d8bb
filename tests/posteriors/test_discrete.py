"""A prior on finitely many hypotheses: integrals over the parameters become sums."""

import numpy as np
import pytest
from scipy import stats

from suffice import (
    Bernoulli,
    BetaPrior,
    Categorical,
    Dirichlet,
    DiscretePrior,
    Exponential,
    Gamma,
    Gaussian,
    Geometric,
    LogNormal,
    Multinomial,
    NaiveBayes,
    NegativeBinomial,
    Poisson,
    load,
    save,
)

RNG = np.random.default_rng(0)
COIN = [1, 1, 0, 1]


def test_a_coin_by_hand():
    thetas, prior = [0.2, 0.5, 0.9], [0.5, 0.3, 0.2]
    coin = Bernoulli().posterior(COIN, DiscretePrior(thetas, prior))
    joint = [w * t**3 * (1 - t) for t, w in zip(thetas, prior, strict=True)]  # p(θ) p(x | θ)
    weights = np.array(joint) / sum(joint)
    np.testing.assert_allclose(coin.weights, [weights])
    np.testing.assert_allclose(coin.log_evidence(), [np.log(sum(joint))])
    # p(x = 1 | data) = Σ_θ θ p(θ | data)
    np.testing.assert_allclose(coin.mean(), [[weights @ thetas]])
    np.testing.assert_allclose(np.exp(coin.predictive().log_prob([1, 0])), [weights @ thetas, 1 - weights @ thetas])
    assert coin.map()[0].probability.tolist() == [0.5]
    assert coin.predictive().variance() == pytest.approx(weights @ thetas * (1 - weights @ thetas))


def test_a_fine_grid_is_the_uniform_prior():
    grid = (np.arange(2000) + 0.5) / 2000
    coin, exact = Bernoulli().posterior(COIN, DiscretePrior(grid)), Bernoulli().posterior(COIN, BetaPrior(1, 1))
    np.testing.assert_allclose(coin.mean(), exact.mean(), rtol=1e-5)
    np.testing.assert_allclose(coin.mean(), [[(3 + 1) / (4 + 2)]], rtol=1e-5)
    assert coin.map()[0].probability == pytest.approx(0.75, abs=1e-3)
    np.testing.assert_allclose(coin.log_evidence(), exact.log_evidence(), atol=1e-5)
    for mine, theirs in zip(coin.interval(0.9), exact.interval(0.9), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-3)


HYPOTHESES = {
    "bernoulli": (Bernoulli(), [[0.2, 0.7], [0.6, 0.6]], RNG.integers(0, 2, (12, 2))),
    "poisson": (Poisson(), [1.0, 3.0, 4.0], RNG.poisson(3.0, 12)),
    "exponential": (Exponential(), [0.1, 0.5, 2.0], RNG.exponential(2.0, 12)),
    "geometric": (Geometric(), [0.1, 0.5, 1.0], RNG.geometric(0.4, 12) - 1),
    "negative binomial": (NegativeBinomial(3.0), [0.2, 0.5], RNG.negative_binomial(3, 0.4, 12)),
    "categorical": (Categorical(), [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [0, 1, 2, 0, 1]),
    "multinomial": (Multinomial(), [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]], RNG.multinomial(5, [0.2, 0.3, 0.5], 7)),
    "gaussians": (
        Gaussian("full"),
        [Gaussian("full").fit(RNG.normal(m, 1, (9, 2))) for m in (0, 1, 2)],
        RNG.normal(1, 1, (12, 2)),
    ),
    "variances": (Gaussian(), [Gaussian().fit(RNG.normal(m, 1, 9)) for m in (0, 1, 2)], RNG.normal(1, 1, 12)),
    "gamma": (Gamma(), [Gamma().fit(RNG.gamma(a, 1, 9)) for a in (1, 2, 3)], RNG.gamma(2, 1, 12)),
    "log-normal": (LogNormal(), [LogNormal().fit(RNG.lognormal(m, 1, 9)) for m in (0, 1)], RNG.lognormal(1, 1, 12)),
    "dirichlet": (
        Dirichlet(),
        [Dirichlet().fit(RNG.dirichlet([a, 2, 3], 20)) for a in (1, 4)],
        RNG.dirichlet([2, 2, 3], 9),
    ),
}


@pytest.mark.parametrize("case", HYPOTHESES.values(), ids=list(HYPOTHESES))
def test_the_weights_are_those_of_the_likelihoods_of_all_rows(case):
    family, values, rows = case
    prior = np.arange(1.0, len(values) + 1.0)
    posterior = family.posterior(rows, DiscretePrior(values, prior))
    of_rows = np.atleast_2d(posterior.hypotheses.log_prob(rows).sum(0))
    joint = np.exp(of_rows - of_rows.max()) * prior
    np.testing.assert_allclose(posterior.weights, joint / joint.sum(), rtol=1e-9, atol=1e-14)
    total = np.log((np.exp(of_rows - of_rows.max()) * prior / prior.sum()).sum()) + of_rows.max()
    np.testing.assert_allclose(posterior.log_evidence(rows), total, rtol=1e-9)


@pytest.mark.parametrize("case", HYPOTHESES.values(), ids=list(HYPOTHESES))
def test_the_predictive_is_the_sum_and_batches_add(case):
    family, values, rows = case
    prior = DiscretePrior(values)
    posterior = family.posterior(rows, prior)
    shares = np.exp(posterior.hypotheses.log_prob(rows)) @ posterior.weights[0]
    np.testing.assert_allclose(np.exp(posterior.predictive().log_prob(rows)), shares, rtol=1e-9)
    batches = family.posterior(rows[:4], prior) + rows[4:] if len(rows) > 4 else posterior
    np.testing.assert_allclose(batches.weights, posterior.weights, rtol=1e-6)
    frame = posterior.to_frame(library="pandas")
    assert frame["posterior"].sum() == pytest.approx(1.0)
    assert len(frame) == len(values)
    assert posterior.sample(5, 0).shape[:2] == (5, 1)


def test_samples_have_the_moments_of_the_sum():
    calls = Poisson().posterior([2, 3], DiscretePrior([0.5, 8.0], [0.7, 0.3])).predictive()
    drawn = calls.sample(40_000, 0)
    assert drawn.mean() == pytest.approx(calls.mean()[0], rel=0.03)
    assert drawn.var() == pytest.approx(calls.variance()[0], rel=0.03)


def test_words_and_several_classes():
    sky = Categorical().posterior(["sun", "rain", "sun"], DiscretePrior([[0.5, 0.5], [0.9, 0.1]]))
    np.testing.assert_allclose(sky.weights, [np.array([0.125, 0.009]) / 0.134])  # rain comes first
    assert np.exp(sky.predictive().log_prob(["rain"])) == pytest.approx((0.125 * 0.5 + 0.009 * 0.9) / 0.134)
    y = np.array([0, 0, 1, 1])
    X = np.array([[3.0], [1.0], [7.0], [9.0]])
    model = NaiveBayes("poisson", prior=DiscretePrior([2.0, 8.0]), estimate="predictive", class_prior="uniform").fit(
        X, y
    )
    weights = np.array([stats.poisson([2, 8]).pmf(X[y == c]).prod(0) for c in (0, 1)])
    weights /= weights.sum(1, keepdims=True)
    joint = weights @ stats.poisson([2, 8]).pmf([[4.0]])[0] / 2
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([[4.0]])), [joint])
    explained = model.explain([[4.0]], 1, 0)
    assert explained.contributions[0, 0] == pytest.approx(np.log(joint[1] / joint[0]))


def test_a_model_with_hypotheses_can_be_saved(tmp_path):
    model = NaiveBayes("poisson", prior=DiscretePrior([2.0, 8.0], [1, 2]), estimate="predictive")
    model.fit([[3.0], [7.0]], [0, 1])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba([[4.0]]), model.predict_proba([[4.0]]))


@pytest.mark.parametrize(
    ("family", "values", "weights", "message"),
    [
        (Bernoulli(), [], None, "at least one hypothesis"),
        (Bernoulli(), [0.5, 1.5], None, "probabilities between 0 and 1, but one is \\[1.5\\]"),
        (Bernoulli(), [0.5, [0.5, 0.2]], None, "of the same shape"),
        (Bernoulli(), [[0.5, 0.2]], None, "one parameter per column"),
        (Bernoulli(), [0.5], [-1.0], "weights must be one number of at least 0 per hypothesis"),
        (Bernoulli(), [0.0, 0.0], None, "every hypothesis gives the rows of class number 0 the probability 0"),
        (Poisson(), [0.0], None, "positive rates"),
        (Geometric(), [0.0], None, "probabilities above 0"),
        (Multinomial(), [[0.5, 0.2]], None, "that sum to 1"),
        (Gaussian(), [1.0, 2.0], None, "must be distributions, because it has several parameters"),
        (Poisson(), [Exponential().fit([1.0])], None, "must be distributions of Poisson"),
    ],
)
def test_hypotheses_that_make_no_sense_are_refused(family, values, weights, message):
    with pytest.raises(ValueError, match=message):
        family.posterior([1, 0, 1], DiscretePrior(values, weights)).weights  # noqa: B018


@pytest.mark.parametrize("name", ["poisson", "gaussians", "dirichlet"])
def test_columns_that_share_their_hypothesis_depend_on_each_other(name):
    family, values, rows = HYPOTHESES[name]
    if name == "poisson":
        values, rows = [[1.0, 9.0], [9.0, 1.0], [4.0, 4.0]], np.array([[5, 5]])
    found = family.posterior(rows[:1], DiscretePrior(values)).predictive()
    np.testing.assert_allclose(np.diagonal(found.covariance()), found.variance())
    draws = found.sample(60_000, random_state=0)
    np.testing.assert_allclose(np.cov(draws.T), found.covariance(), atol=0.04 * found.variance().max())


def test_missing_cells_are_filled_in_under_the_hypotheses_that_the_other_cells_leave():
    rates = np.array([[1.0, 9.0], [9.0, 1.0]])
    X, y = [[5, 5], [4, 4]], ["a", "b"]
    model = NaiveBayes("poisson", prior=DiscretePrior(rates), estimate="predictive").fit(X, y)
    rows = np.array([[9.0, np.nan], [np.nan, 3.0], [np.nan, np.nan]])
    likely = np.array([stats.poisson(rates[:, 0]).pmf(9), stats.poisson(rates[:, 1]).pmf(3), [1.0, 1.0]])
    shares = likely / likely.sum(axis=1, keepdims=True)  # both classes have the weights ½, ½
    expected = np.where(np.isnan(rows), shares @ rates, rows)
    np.testing.assert_allclose(model.impute(rows), expected)
    drawn = np.array([model.impute(rows[:1], sample=True, random_state=seed)[0, 1] for seed in range(200)])
    assert drawn.mean() == pytest.approx(expected[0, 1], abs=0.3)


@pytest.mark.parametrize("values", [None, 0.5, {0.5: 0.9, 0.75: 0.1}, "0.5"])
def test_hypotheses_are_a_list(values):
    with pytest.raises(TypeError, match="values must be a list of hypotheses, and weights another of numbers"):
        DiscretePrior(values)
