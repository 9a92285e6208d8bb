"""Classifiers whose parameters are integrated out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy import integrate, stats
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import (
    BetaPrior,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    NaiveBayes,
    NormalInverseWishart,
    PseudoCount,
)

X, Y = load_iris(return_X_y=True)
STRUCTURES = ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"]


@parametrize_with_checks(
    [
        NaiveBayes(estimate="predictive"),
        GaussianDiscriminant("full", estimate="predictive"),
        GaussianDiscriminant("tied", estimate="predictive"),
        GenerativeClassifier(estimate="predictive"),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


def test_a_density_is_the_integral_over_means_and_variances():
    x, y = np.array([[0.2], [1.1], [0.4], [3.0], [4.5]]), np.array([0, 0, 0, 1, 1])
    m, kappa, nu, psi = 1.0, 0.5, 3.0, 1.2
    prior = NormalInverseWishart.textbook([m], kappa, nu, [psi])
    model = NaiveBayes(prior=prior, class_prior="uniform", estimate="predictive").fit(x, y)
    new = 2.0
    nodes, weights = np.polynomial.legendre.leggauss(120)
    mu, variance = np.meshgrid(10.0 * nodes + 1.0, np.exp(7.0 * nodes))
    before = stats.invgamma.logpdf(variance, nu / 2, scale=psi / 2) + np.log(variance)  # over the log of the variance
    before += stats.norm.logpdf(mu, m, np.sqrt(variance / kappa))
    for c in (0, 1):
        posterior = before + sum(stats.norm.logpdf(row, mu, np.sqrt(variance)) for row in x[y == c, 0])
        with_new = posterior + stats.norm.logpdf(new, mu, np.sqrt(variance))
        integrals = [weights @ np.exp(logs) @ weights for logs in (with_new, posterior)]
        expected = np.log(0.5 * integrals[0] / integrals[1])
        assert model.predict_joint_log_proba([[new]])[0, c] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_gaussians_become_t_distributions_with_the_documented_degrees_of_freedom(structure):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [4, 7])
    x = rng.normal(size=(11, 3)) @ rng.normal(size=(3, 3)) + y[:, None]
    prior, d, k = NormalInverseWishart(), 3, 2
    model = GaussianDiscriminant(structure, prior, estimate="predictive").fit(x, y)
    plain = GaussianDiscriminant(structure, prior).fit(x, y).distributions_[0]
    new = rng.normal(size=(6, 3))
    for c, n in enumerate((4, 7)):
        rows = {"full": d + n - 1, "tied": d + 11 - k, "diagonal": 1 + n - 1, "tied-diagonal": 1 + 11 - k}
        rows |= {"spherical": d * (1 + n - 1), "tied-spherical": d * (1 + 11 - k)}
        nu, wider, together = rows[structure], 1 + 1 / n, "diagonal" not in structure
        if together:
            dof = nu - d + 1 if structure in ("full", "tied") else nu
            scale = plain.covariance()[c] * wider * nu / dof
            expected = stats.multivariate_t(plain.means[c], scale, df=dof).logpdf(new)
        else:
            expected = stats.t.logpdf(new, nu, plain.means[c], np.sqrt(plain.variance()[c] * wider)).sum(1)
        expected = expected + np.log((n + 1) / (11 + k))
        np.testing.assert_allclose(model.predict_joint_log_proba(new)[:, c], expected, rtol=1e-9)


def test_counts_become_negative_binomials_and_dirichlet_multinomials():
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    x = rng.poisson(1.0 + y[:, None], (20, 3)).astype(float)
    new = rng.poisson(1.5, (5, 3))
    poisson = NaiveBayes("poisson", estimate="predictive", class_prior="uniform").fit(x, y)
    bags = NaiveBayes("multinomial", estimate="predictive", class_prior="uniform").fit(x, y)
    for c in (0, 1):
        mean = (x.sum(0) + 0.5) / 21.0
        shape, rate = x[y == c].sum(0) + mean, 10.0 + 1.0
        expected = stats.nbinom.logpmf(new, shape, rate / (rate + 1)).sum(1) + np.log(0.5)
        np.testing.assert_allclose(poisson.predict_joint_log_proba(new)[:, c], expected, rtol=1e-9)
        expected = stats.dirichlet_multinomial.logpmf(new, x[y == c].sum(0) + 1.0, new.sum(1)) + np.log(0.5)
        np.testing.assert_allclose(bags.predict_joint_log_proba(new)[:, c], expected, rtol=1e-9)
    sparse = scipy.sparse.csr_array(new.astype(float))
    for model in (poisson, bags):
        np.testing.assert_allclose(model.predict_log_proba(sparse), model.predict_log_proba(new), rtol=1e-9)


def test_yes_and_no_and_words_keep_their_posterior_means():
    table = pd.DataFrame({"sky": ["sun", "rain", "rain", "sun", "fog"], "wind": [True, False, True, True, False]})
    y = ["a", "b", "b", "a", "b"]
    new = pd.DataFrame({"sky": ["fog", "hail", None], "wind": [True, False, True]})
    params = {"class_prior": "uniform"}
    averaged, plain = (NaiveBayes(estimate=e, **params).fit(table, y) for e in ("predictive", "mean"))
    np.testing.assert_allclose(averaged.predict_joint_log_proba(new), plain.predict_joint_log_proba(new), rtol=1e-12)
    with_prior = NaiveBayes(prior=[BetaPrior(3.0, 1.0)], estimate="predictive").fit(table, y)
    np.testing.assert_allclose(with_prior.distributions_[1].probability[:, 0], [(2 + 3) / (2 + 4), (1 + 3) / (3 + 4)])


# -- what it is for ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("structure", ["diagonal", "tied", "full"])
def test_with_five_rows_a_class_probabilities_are_better_calibrated(load, structure):
    x, y = load(return_X_y=True)
    losses = {"mean": [], "predictive": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:5] for c in np.unique(y)])
        test = np.setdiff1d(np.arange(len(y)), train)
        for estimate, found in losses.items():
            model = GaussianDiscriminant(structure, estimate=estimate).fit(x[train], y[train])
            found.append(log_loss(y[test], model.predict_proba(x[test]), labels=np.unique(y)))
    assert np.mean(losses["predictive"]) < 0.85 * np.mean(losses["mean"])


def test_a_sure_prediction_is_as_often_right_as_it_says():
    """With five rows of each of two classes that are apart, predictions of 90 % or more."""
    said, right = {"mean": [], "predictive": []}, {"mean": [], "predictive": []}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        y = np.arange(210) % 2
        x = rng.normal(size=(210, 4)) + 2.0 * y[:, None] * rng.normal(size=4)
        for estimate in said:
            model = GaussianDiscriminant("full", estimate=estimate).fit(x[:10], y[:10])
            p = model.predict_proba(x[10:])
            sure = p.max(1) > 0.9
            said[estimate].extend(p.max(1)[sure])
            right[estimate].extend(p.argmax(1)[sure] == y[10:][sure])
    too_sure = {name: np.mean(said[name]) - np.mean(right[name]) for name in said}
    assert too_sure["mean"] > 0.05
    assert abs(too_sure["predictive"]) < 0.015


# -- everything else that a classifier does -------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_constant_column_says_nothing_of_the_class(structure):
    y = np.repeat([0, 1], [4, 30])  # classes of different sizes have different degrees of freedom
    x = np.random.default_rng(0).normal(size=(34, 2)) + y[:, None]
    padded = np.column_stack([x[:, 0], np.full(34, 7.0), x[:, 1]])
    prior = NormalInverseWishart(2.0)
    plain, model = (GaussianDiscriminant(structure, prior, estimate="predictive").fit(rows, y) for rows in (x, padded))
    if "spherical" in structure:  # where it shares the variance of the others
        assert np.isfinite(model.predict_log_proba(padded)).all()
        return
    np.testing.assert_allclose(model.predict_log_proba(padded), plain.predict_log_proba(x), rtol=1e-7)
    off = padded + np.array([0.0, 3.0, 0.0])
    np.testing.assert_allclose(model.predict_log_proba(off), plain.predict_log_proba(x), rtol=1e-7)
    assert (model.explain(padded).contributions[:, 1] == 0.0).all()
    np.testing.assert_allclose(model.mahalanobis(padded), plain.mahalanobis(x), rtol=1e-7)
    with_missing_cells = padded.copy()
    with_missing_cells[::3, 2] = with_missing_cells[::4, 1] = np.nan
    assert np.isfinite(model.impute(with_missing_cells, sample=True, random_state=0)).all()


def test_columns_that_are_all_constant_leave_the_class_prior():
    x, y = np.ones((6, 2)), np.array([0, 0, 0, 0, 1, 1])
    for structure in ("diagonal", "full", "tied"):
        model = GaussianDiscriminant(structure, estimate="predictive").fit(x, y)
        np.testing.assert_allclose(model.predict_proba(x)[0], [5 / 8, 3 / 8])


def test_rows_far_out_have_finite_log_odds_or_the_class_prior():
    for structure in STRUCTURES:
        model = GaussianDiscriminant(structure, estimate="predictive").fit(X, Y)
        far = np.array([[1e5, -1e5, 1e5, 0.0], [1e200, 0.0, 0.0, 0.0]])
        assert np.isfinite(model.predict_proba(far)).all()
        assert (model.predict_proba(far)[0] > 1e-60).all()  # heavy tails


def test_samples_have_the_means_and_the_quartiles_of_the_model():
    model = GaussianDiscriminant("full", estimate="predictive").fit(X, Y)
    rows, labels = model.sample(30_000, random_state=0)
    found = model.distributions_[0]
    np.testing.assert_allclose(found.dof, [50, 50, 50])
    for c in range(3):
        np.testing.assert_allclose(rows[labels == c].mean(0), X[c == Y].mean(0), atol=0.03)
        middle = np.quantile(rows[labels == c], [0.25, 0.75], axis=0)
        scale = np.sqrt(found.gaussian.variance()[c] * found.spread[c])
        np.testing.assert_allclose(middle[1] - middle[0], 2 * stats.t(found.dof[c]).ppf(0.75) * scale, rtol=0.03)


def test_missing_cells_are_drawn_wider_where_the_others_are_far_off():
    rng = np.random.default_rng(0)
    y = np.arange(16) % 2
    x = rng.normal(size=(16, 2)) + 3.0 * y[:, None]
    model = GaussianDiscriminant("full", estimate="predictive").fit(x, y)
    found = model.distributions_[0]
    for first in (0.0, -25.0):
        incomplete = np.column_stack([np.full(20_000, first), np.full(20_000, np.nan)])
        drawn = found.sampled_rows(incomplete, np.zeros(20_000, dtype=int), np.random.default_rng(1))[:, 1]
        given = found.conditioned(np.array([0]), np.array([[first]]))
        scale = np.sqrt(given.gaussian.variance()[0, 0] * given.spread[0])
        expected = stats.t(given.dof[0], given.mean()[0, 0], scale).ppf([0.25, 0.5, 0.75])
        np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), expected, atol=0.05 * scale)
    far, near = (found.conditioned(np.array([0]), np.array([[first]])).spread[0] for first in (-25.0, 0.0))
    assert far > 10.0 * near


def test_conditioning_a_t_is_its_density_over_that_of_what_is_given():
    found = GaussianDiscriminant("full", estimate="predictive").fit(X, Y).distributions_[0]
    row, given = X[60:61], np.array([1, 3])
    rest = found.conditioned(given, row[:, given])
    expected = found.score(row) - found.marginal(given).score(row[:, given])
    np.testing.assert_allclose(rest.score(row[:, [0, 2]]), expected, rtol=1e-9)


def test_missing_labels_and_missing_cells_are_learned_by_em_and_averaged_over_afterwards(tmp_path):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(150) < 0.5, -1, Y)
    x = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = GaussianDiscriminant("full", estimate="predictive", missing_label=-1).fit(x, y)
    assert model.n_iter_ > 1
    assert type(model.distributions_[0]).__name__ == "StudentDistributions"
    assert model.score(X, Y) > 0.94
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
    assert loaded.n_iter_ == model.n_iter_
    found = GaussianDiscriminant("full", estimate="predictive", classes=3, random_state=0).fit(X, np.full(150, None))
    assert np.isfinite(found.predict_log_proba(X)).all()


def test_statistics_suffice_for_every_estimate():
    statistics = GaussianDiscriminant("full").fit(X, Y).statistics_
    for structure in STRUCTURES:
        again = GaussianDiscriminant.from_statistics(statistics, covariance=structure, estimate="predictive")
        fitted = GaussianDiscriminant(structure, estimate="predictive").fit(X, Y)
        np.testing.assert_allclose(again.predict_log_proba(X), fitted.predict_log_proba(X), rtol=1e-6, atol=1e-8)
    plain = GaussianDiscriminant.from_statistics(statistics, covariance="full", estimate="mle")
    np.testing.assert_array_equal(
        plain.predict_proba(X), GaussianDiscriminant("full", prior=None).fit(X, Y).predict_proba(X)
    )


def test_what_does_not_go_together_is_said():
    with pytest.raises(ValueError, match="estimate must be one of 'mean', 'map', 'mle', 'predictive', not 'mode'"):
        NaiveBayes(estimate="mode").fit(X, Y)
    with pytest.raises(ValueError, match="estimate='mle' is maximum likelihood, which has no prior"):
        NaiveBayes(estimate="mle", prior=PseudoCount(1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="averages over a posterior, which needs a prior"):
        NaiveBayes(estimate="predictive", prior=None).fit(X, Y)
    with pytest.raises(ValueError, match=r"Gaussian\(covariance='VVE'\) has no conjugate prior"):
        GaussianDiscriminant("VVE", estimate="predictive").fit(X, Y)
    with pytest.raises(AttributeError, match="not linear"):
        GaussianDiscriminant("tied", estimate="predictive").fit(X, Y).coef_  # noqa: B018
    with pytest.raises(ValueError, match=r"is for Family\.posterior and for estimate='predictive'"):
        NaiveBayes({0: "bernoulli"}, prior=BetaPrior(1.0, 1.0)).fit(X > 3, Y)
    with pytest.raises(ValueError, match="needs more than 3 rows"):
        GaussianDiscriminant("full", NormalInverseWishart(1.0), estimate="predictive").fit(X[::25], Y[::25])


def test_blocks_of_several_families_are_averaged_one_by_one():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60)
    x = np.column_stack([rng.normal(y), rng.normal(-y), rng.poisson(1 + y), rng.random(60) < 0.3])
    families = {(0, 1): Gaussian("full"), 2: "poisson", 3: "bernoulli"}
    model = GenerativeClassifier(families, estimate="predictive").fit(x, y)
    x[::3, 1], x[::5, 2] = np.nan, np.nan
    logs, explained = model.predict_log_proba(x), model.explain(x, target=0, against=2)
    np.testing.assert_allclose(explained.log_odds, logs[:, 0] - logs[:, 2], rtol=1e-9, atol=1e-9)
    line = np.linspace(-400.0, 400.0, 80_001)
    rows = np.column_stack([line, np.full((len(line), 3), np.nan)])
    assert integrate.trapezoid(np.exp(model.score_samples(rows)), line) == pytest.approx(1.0, abs=1e-4)
