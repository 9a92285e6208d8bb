"""Families of one column at a time, and the Dirichlet: in estimators and alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import digamma
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import (
    Beta,
    Dirichlet,
    Exponential,
    Gamma,
    GenerativeClassifier,
    Geometric,
    InvalidCellError,
    InverseGaussian,
    KnownVariance,
    LogNormal,
    Mixture,
    NaiveBayes,
    NegativeBinomial,
    NormalInverseWishart,
    PseudoCount,
)
from suffice.families.concentration import concentrations, gamma_shape
from suffice.statistics.responsibilities import Labels

#: families whose estimate is the mode of the posterior; that of the log-normal is the Gaussian's, a mean
MODES = [Exponential(), Gamma(), InverseGaussian(), NegativeBinomial(3.0), Geometric(), Beta(), Dirichlet()]
FAMILIES = [*MODES, LogNormal()]
POSITIVE = [Exponential(), Gamma(), InverseGaussian(), LogNormal()]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def clusters(family, n=300, d=3, k=3, seed=0):
    """Return rows of k groups, each with parameters of its own, and the groups."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, k, n)
    level = np.exp(rng.normal(size=(k, d)))[z]
    if isinstance(family, (NegativeBinomial, Geometric)):
        return rng.negative_binomial(3.0, 1.0 / (1.0 + 2.0 * level)).astype(float), z
    if isinstance(family, Exponential):
        return rng.exponential(level), z
    if isinstance(family, InverseGaussian):
        return rng.wald(level, 5.0 * level), z
    if isinstance(family, LogNormal):
        return level * np.exp(0.5 * rng.normal(size=level.shape)), z
    if isinstance(family, Beta):
        return np.clip(rng.beta(4.0 * level, 4.0), 1e-9, 1.0 - 1e-9), z
    parts = rng.gamma(4.0 * level)
    return (parts / parts.sum(1, keepdims=True) if isinstance(family, Dirichlet) else parts), z


def quietly(model, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".*components were left without rows")
        return model.fit(*args)


def never_falls(bounds):
    bounds = np.array(bounds)
    assert np.isfinite(bounds).all()
    assert (np.diff(bounds) >= -1e-9 * (1 + np.abs(bounds[1:]))).all(), np.diff(bounds).min()


# -- Newton's method ----------------------------------------------------------------------------------------------


def test_newtons_method_finds_any_shape_of_a_gamma_distribution_in_five_steps():
    shape = 10.0 ** np.linspace(-3, 6, 2000)
    large = shape > 100.0
    spread = np.where(
        large, 1 / (2 * shape) + 1 / (12 * shape**2) - 1 / (120 * shape**4), np.log(shape) - digamma(shape)
    )
    np.testing.assert_allclose(gamma_shape(spread, most_steps=5), shape, rtol=1e-9)


@pytest.mark.parametrize("n_parts", [2, 3, 5, 20])
@pytest.mark.parametrize("powers", [(-2, 4), (-2, -1), (-2, 0), (0, 2), (3, 4)])
def test_newtons_method_finds_any_concentrations_in_eight_steps(n_parts, powers):
    rng = np.random.default_rng(n_parts)
    alpha = 10.0 ** rng.uniform(*powers, size=(2000, n_parts))
    mean_logs = digamma(alpha) - digamma(alpha.sum(1, keepdims=True))
    # with a total of 1e4 the mean logarithms have 1e-16 · 1e4 · 1e4 of relative error in the concentrations
    np.testing.assert_allclose(concentrations(mean_logs, most_steps=8), alpha, rtol=1e-8)


@pytest.mark.parametrize("rows", [1e-6, 1e-2, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("spread", [1e-6, 1e-2, 1.0])
def test_newtons_method_finds_the_mode_under_a_prior(rows, spread):
    rng = np.random.default_rng(1)
    alpha = 10.0 ** rng.uniform(-2, 4, size=(500, 3))
    mean_logs = digamma(alpha) - digamma(alpha.sum(1, keepdims=True))
    found = concentrations(mean_logs, rows, spread)
    total = found.sum(1, keepdims=True)
    slope = digamma(total) - digamma(found) + mean_logs + rows * (1.0 / total - spread)
    np.testing.assert_allclose(slope, 0.0, atol=1e-11 * (1.0 + rows * (spread + 1.0 / total.min())))


# -- estimates ----------------------------------------------------------------------------------------------------


def test_maximum_likelihood_is_scipys():
    rng = np.random.default_rng(2)
    x = rng.gamma(2.5, 3.0, 400)
    shape, _, scale = stats.gamma.fit(x, floc=0)
    found = Gamma().fit(x)
    np.testing.assert_allclose([found.shape[0], found.rate[0]], [shape, 1.0 / scale], rtol=1e-5)
    mu, _, scale = stats.invgauss.fit(x, floc=0)
    wald = InverseGaussian().fit(x)
    np.testing.assert_allclose([wald.location[0], wald.shape[0]], [mu * scale, scale], rtol=1e-5)
    scale, _, median = stats.lognorm.fit(x, floc=0)
    lognormal = LogNormal().fit(x)
    np.testing.assert_allclose([lognormal.location[0], lognormal.scale[0]], [np.log(median), scale], rtol=1e-12)
    share = rng.beta(0.7, 3.0, 400)
    a, b, _, _ = stats.beta.fit(share, floc=0, fscale=1)
    np.testing.assert_allclose([Beta().fit(share).a[0], Beta().fit(share).b[0]], [a, b], rtol=1e-5)
    np.testing.assert_allclose(Exponential().fit(x).rate, 1.0 / x.mean())


@pytest.mark.parametrize("family", MODES, ids=lambda family: family.name)
@pytest.mark.parametrize("prior", ["auto", PseudoCount(3.0)])
def test_the_estimate_is_the_mode_of_the_posterior(family, prior):
    x, z = clusters(family, 120)
    model = GenerativeClassifier(family, prior=prior).fit(x, z)
    statistics, found = model.statistics_.joint.blocks[0], model.distributions_[0]
    rng = np.random.default_rng(3)

    def posterior(distributions):
        scores = distributions.score(x)[np.arange(len(z)), z].sum()
        return scores + family.log_prior(distributions, statistics, prior)

    best, lower = posterior(found), 0
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            arrays = {name: v * np.exp(size * rng.normal(size=v.shape)) for name, v in found.parameters().items()}
            other = posterior(family.with_parameters(arrays))
            assert other <= best + 1e-10 * abs(best)
            lower += other < best
    assert lower > 50


@pytest.mark.parametrize("family", [Gamma(), InverseGaussian(), LogNormal(), Beta()], ids=lambda family: family.name)
def test_the_prior_does_not_blur_tight_classes_that_lie_apart(family):
    rng = np.random.default_rng(4)
    z = np.repeat([0, 1], 60)
    x = (np.array([0.002, 0.7])[z] * np.exp(0.01 * rng.normal(size=120)))[:, None]
    plain = GenerativeClassifier(family, prior=None).fit(x, z).distributions_[0]
    found = GenerativeClassifier(family).fit(x, z).distributions_[0]
    ratio = found.variance() / plain.variance()
    assert (ratio < 2.0).all(), ratio
    assert (ratio > 0.5).all(), ratio


def test_the_prior_of_a_rate_does_not_blur_classes_of_other_scales():
    rng = np.random.default_rng(9)
    z = np.repeat([0, 1], 60)
    x = (np.array([1.0, 1e6])[z] * rng.exponential(size=120))[:, None]
    plain = GenerativeClassifier("exponential", prior=None).fit(x, z).distributions_[0]
    np.testing.assert_allclose(
        GenerativeClassifier("exponential").fit(x, z).distributions_[0].rate, plain.rate, rtol=0.05
    )


@pytest.mark.parametrize("family", MODES, ids=lambda family: family.name)
def test_a_prior_that_is_settled_takes_nothing_more_from_the_data(family):
    x, z = clusters(family, 60)
    statistics = GenerativeClassifier(family).fit(x, z).statistics_.joint.blocks[0]
    other = GenerativeClassifier(family).fit(x[:20], z[:20]).statistics_.joint.blocks[0]
    overall = family.statistics(x, Labels(np.zeros(60, dtype=int), None, 1))
    found = family.estimate(statistics)
    for settled in (family.fixed_prior(statistics, "auto"), family.prior_of_components(overall, "auto", 3)):
        assert family.log_prior(found, statistics, settled) == family.log_prior(found, other, settled)
    assert family.log_prior(found, statistics, "auto") != family.log_prior(found, other, "auto")
    assert family.prior_of_components(overall, None, 3) is None
    assert family.log_prior(found, statistics, None) == 0.0


# -- the log-normal is the Gaussian of the logarithms --------------------------------------------------------------


@pytest.mark.parametrize("prior", ["auto", None, NormalInverseWishart(mean_count=2.0, scatter_count=3.0)])
@pytest.mark.parametrize("holes", [False, True])
def test_a_log_normal_model_is_the_gaussian_model_of_the_logarithms(prior, holes):
    x, z = clusters(LogNormal(), 200)
    x[:, 2] *= np.exp(40.0)  # sums of squares of these logarithms would lose digits
    if holes:
        x[np.random.default_rng(6).random(x.shape) < 0.2] = np.nan
    there = np.where(np.isnan(x), 0.0, np.log(x))
    found, gaussian = NaiveBayes("lognormal", prior=prior).fit(x, z), NaiveBayes(prior=prior).fit(np.log(x), z)
    np.testing.assert_allclose(found.predict_proba(x), gaussian.predict_proba(np.log(x)), rtol=1e-12)
    np.testing.assert_allclose(found.score_samples(x), gaussian.score_samples(np.log(x)) - there.sum(1), rtol=1e-12)
    np.testing.assert_allclose(found.explain(x).contributions, gaussian.explain(np.log(x)).contributions, atol=1e-12)
    mine, theirs = (
        Mixture(2, family, tol=1e-12, max_iter=2000, random_state=0).fit(rows)
        for family, rows in (("lognormal", x), ("gaussian", np.log(x)))
    )
    np.testing.assert_allclose(mine.predict_proba(x), theirs.predict_proba(np.log(x)), atol=1e-4)


def test_the_predictive_of_a_log_normal_has_students_t_of_the_logarithms():
    rng = np.random.default_rng(10)
    x, at = rng.lognormal(2.0, 0.7, 20), np.array([0.5, 3.0, 80.0])
    prior = NormalInverseWishart.textbook(mean=[0.0], mean_count=1.0, dof=3.0, scale=[2.0])
    for belief in (prior, KnownVariance(0.5, mean=0.0, count=1.0)):
        posterior, of_logs = LogNormal().posterior(x, belief), suffice.Gaussian().posterior(np.log(x), belief)
        found, expected = posterior.predictive(), of_logs.predictive()
        np.testing.assert_allclose(found.log_prob(at), expected.log_prob(np.log(at)) - np.log(at), rtol=1e-12)
        np.testing.assert_allclose(posterior.log_evidence(x), of_logs.log_evidence() - np.log(x).sum(), rtol=1e-12)
        np.testing.assert_allclose(posterior.map().location, of_logs.map().means)
        np.testing.assert_array_equal(found.sample(5, 0), np.exp(expected.sample(5, 0)))
    assert np.isinf(LogNormal().posterior(x, prior).predictive().mean())
    model = NaiveBayes("lognormal", estimate="predictive").fit(x[:, None], np.arange(20) % 2)
    filled = model.impute([[np.nan], [3.0]])  # a t of logarithms has no mean: the median is filled in
    assert x.min() < filled[0, 0] < x.max()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 60.0])
def test_log_normals_of_any_scale_are_scored_drawn_and_saved(scale, tmp_path):
    rng = np.random.default_rng(11)
    x = np.exp(scale * rng.normal(size=(60, 2)))
    model = Mixture(2, "lognormal", random_state=0, n_init=1)
    quietly(model, x)
    assert np.isfinite(model.score_samples(x)).all()
    assert np.isfinite(model.score_samples(model.sample(100, random_state=0)[0])).all()
    suffice.save(model, tmp_path / "model")
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict_proba(x), model.predict_proba(x))
    x[::5, 0] = np.nan
    assert np.isfinite(model.impute(x)).all()


# -- data that leave a parameter open -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gamma(), InverseGaussian(), Beta(), Dirichlet()], ids=lambda family: family.name)
def test_equal_values_have_no_largest_likelihood(family):
    row = [0.3, 0.7] if isinstance(family, Dirichlet) else [0.3]
    with pytest.raises(ValueError, match=r"maximum likelihood needs two different .*; use prior='auto'"):
        family.fit(np.tile(row, (50, 1)))
    x = np.vstack([np.tile(row, (50, 1)), np.tile(row[::-1], (50, 1)) * (0.5 if len(row) == 1 else 1.0)])
    frame = pd.DataFrame(x, columns=["size", "rest"][: len(row)])
    with pytest.raises(ValueError, match="class 'a'"):
        GenerativeClassifier(family, prior=None).fit(frame, ["a"] * 50 + ["b"] * 50)


@each_family
@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.tile(x[:1], (30, 1)),  # nothing varies
        lambda x: np.repeat(x[:3], 10, axis=0),  # each class has one row, ten times
        lambda x: x[:3],
        lambda x: x,
    ],
    ids=["constant", "one value a class", "one row a class", "all"],
)
def test_defaults_are_finite_whatever_the_data(family, make):
    x = make(clusters(family, 30)[0])
    y = np.arange(len(x)) * 3 // len(x)
    model = GenerativeClassifier(family, classes=[0, 1, 2, 3]).partial_fit(x, y, classes=[0, 1, 2, 3])  # 3 is empty
    assert np.isfinite(model.score_samples(x)).all()
    for values in model.distributions_[0].parameters().values():
        assert np.isfinite(values).all()
    assert (model.distributions_[0].variance() > 0).all()
    mixture = quietly(Mixture(4, family, n_init=1, max_iter=20, random_state=0), x)
    assert np.isfinite(mixture.score_samples(x)).all()


def test_a_column_that_never_varies_says_nothing():
    rng = np.random.default_rng(5)
    z = np.array([0] * 20 + [1] * 60)
    x = np.column_stack([rng.gamma(2.0 + 3.0 * z), np.full(80, 0.25)])
    for family in (Gamma(), InverseGaussian(), LogNormal()):
        with_it, without = GenerativeClassifier(family).fit(x, z), GenerativeClassifier(family).fit(x[:, :1], z)
        np.testing.assert_allclose(with_it.predict_proba(x), without.predict_proba(x[:, :1]), atol=1e-12)


def test_zeros_alone_have_no_rate():
    with pytest.raises(ValueError, match=r"every cell of column number 0 is 0 in class number 0.*use prior='auto'"):
        Exponential().fit([0.0, 0.0])
    assert np.isfinite(Exponential().fit([0.0, 0.0], prior="auto").rate).all()


@pytest.mark.parametrize("family", POSITIVE, ids=lambda family: family.name)
@pytest.mark.parametrize("prior", ["auto", None])
@pytest.mark.parametrize("scale", [1e-6, 3.0, 1e6])
def test_the_unit_of_measurement_changes_no_posterior(family, prior, scale):
    x, z = clusters(family)
    here, there = (GenerativeClassifier(family, prior=prior).fit(factor * x, z) for factor in (1.0, scale))
    np.testing.assert_allclose(there.predict_proba(scale * x), here.predict_proba(x), rtol=0, atol=1e-9)
    densities = there.score_samples(scale * x) + 3 * np.log(scale)
    np.testing.assert_allclose(densities, here.score_samples(x), rtol=1e-9, atol=1e-9)


# -- cells that cannot be -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "cell", "message"),
    [
        (Exponential(), -1.0, r"column 'b' holds -1.0 in row 7, but an Exponential cell must not be negative"),
        (Gamma(), 0.0, r"column 'b' holds 0.0 in row 7, but a Gamma cell must be positive; .*Exponential for zeros"),
        (InverseGaussian(), -2.0, r"column 'b' holds -2.0 in row 7, but an InverseGaussian cell must be positive"),
        (LogNormal(), 0.0, r"column 'b' holds 0.0 in row 7, but a LogNormal cell must be positive; .*Exponential"),
        (LogNormal(), np.inf, r"column 'b' holds inf in row 7, but numbers must be finite"),
        (
            NegativeBinomial(2.0),
            1.5,
            r"column 'b' holds 1.5 in row 7, but a NegativeBinomial cell must be a whole number",
        ),
        (
            Geometric(),
            -1.0,
            r"column 'b' holds -1.0 in row 7, but a Geometric cell must be a whole number of at least 0",
        ),
        (Beta(), 1.0, r"column 'b' holds 1.0 in row 7, but a Beta cell must lie between 0 and 1.*divide percentages"),
        (Beta(), 40.0, r"column 'b' holds 40.0 in row 7, but a Beta cell"),
        (Gamma(), np.inf, r"column 'b' holds inf in row 7, but Gamma cells must be finite"),
        (Dirichlet(), 0.0, r"column 'b' holds 0.0 in row 7, but the cells of Dirichlet columns must be positive"),
        (Dirichlet(), np.nan, r"column 'b' holds nan in row 7, but the parts of a whole must not be missing"),
        (
            Dirichlet(),
            2.0,
            r"its row sums to .*\) in row 7, but the cells of Dirichlet columns must sum to 1 in every row",
        ),
    ],
)
def test_a_cell_outside_the_support_is_named(family, cell, message):
    x, z = clusters(family, 30)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    model = GenerativeClassifier(family).fit(frame, z)
    frame.loc[7, "b"] = cell
    with pytest.raises(InvalidCellError, match=message):
        GenerativeClassifier(family).fit(frame, z)
    with pytest.raises(InvalidCellError, match=message):
        model.predict(frame)


@pytest.mark.parametrize("family", [Gamma(), LogNormal(), Beta(), Dirichlet()], ids=lambda family: family.name)
def test_sparse_rows_have_zeros_that_cannot_be(family):
    from scipy import sparse

    with pytest.raises(InvalidCellError, match=r"holds 0.0 in row 0"):
        NaiveBayes(family).fit(sparse.csr_array(0.5 * np.eye(4)), [0, 0, 1, 1])


def test_the_shape_of_a_negative_binomial_is_positive():
    with pytest.raises(ValueError, match="must be a positive number, not 0"):
        NegativeBinomial(0)


# -- estimators ---------------------------------------------------------------------------------------------------


@each_family
@pytest.mark.parametrize("prior", ["auto", 0.3, None])
@pytest.mark.parametrize("missing", [False, True])
def test_the_bound_of_em_never_falls(family, prior, missing):
    x, _ = clusters(family, 400)
    if missing:
        if isinstance(family, Dirichlet):
            pytest.skip("the parts of a whole must not be missing")
        x[np.random.default_rng(6).random(x.shape) < 0.2] = np.nan
    weight = np.random.default_rng(7).uniform(0.2, 2.0, len(x))
    start = "random" if prior is None else "k-means++"  # a cluster of one value has no largest likelihood
    model = quietly(
        Mixture(3, family, prior=prior, init=start, n_init=1, tol=0, max_iter=40, random_state=0), x, None, weight
    )
    never_falls(model.bound_history_)
    assert model.bound_history_[-1] > model.bound_history_[0]


@each_family
def test_the_bound_never_falls_where_labels_are_missing(family):
    x, z = clusters(family, 300)
    y = np.where(np.arange(len(z)) % 5 == 0, z, -1)
    model = quietly(GenerativeClassifier(family, missing_label=-1, tol=0, max_iter=30), x, y)
    never_falls(model.bound_history_)


@each_family
def test_a_mixture_finds_groups_that_lie_apart(family):
    x, z = clusters(family, 600, d=6, k=2, seed=3)
    model = Mixture(2, family, random_state=0).fit(x)
    agree = (model.predict(x) == z).mean()
    assert max(agree, 1.0 - agree) > 0.9


@each_family
@pytest.mark.parametrize("estimator", [NaiveBayes, Mixture])
def test_a_saved_model_predicts_the_same(family, estimator, tmp_path):
    x, z = clusters(family)
    model = NaiveBayes(family).fit(x, z) if estimator is NaiveBayes else Mixture(2, family, random_state=0).fit(x)
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(loaded.score_samples(x), model.score_samples(x))
    assert loaded.distributions_[0].family == family


def test_sums_of_another_family_are_refused_on_load(tmp_path):
    import json
    import zipfile

    x, z = clusters(Exponential())
    suffice.save(NaiveBayes("exponential").fit(x, z), tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["suffice.json"])
    header["statistics"]["blocks"][0]["family"] = {"family": "gamma", "config": {}}
    parts["suffice.json"] = json.dumps(header)
    with zipfile.ZipFile(tmp_path / "other", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(suffice.ModelFileError, match="do not fit together"):
        suffice.load(tmp_path / "other")


def test_one_table_may_have_many_families():
    rng = np.random.default_rng(8)
    z = rng.integers(0, 2, 400)
    parts = rng.dirichlet([2.0, 3.0, 4.0], 400)
    table = pd.DataFrame(
        {
            "wait": rng.exponential(1.0 + z),
            "amount": rng.gamma(2.0, 1.0 + z),
            "passage": rng.wald(1.0 + z, 3.0),
            "income": rng.lognormal(1.0 + z),
            "visits": rng.negative_binomial(3, 0.4 + 0.2 * z),
            "misses": rng.geometric(0.3 + 0.2 * z) - 1,
            "share": rng.beta(2.0 + z, 3.0),
            "sand": parts[:, 0],
            "silt": parts[:, 1],
            "clay": parts[:, 2],
            "height": rng.normal(z),
        }
    )
    families = {
        "wait": "exponential",
        "amount": "gamma",
        "passage": "inverse_gaussian",
        "income": "log-normal",
        "visits": NegativeBinomial(3.0),
        "misses": "geometric",
        "share": "beta",
        ("sand", "silt", "clay"): "dirichlet",
    }
    table.loc[::7, "amount"] = np.nan
    table.loc[::9, "share"] = np.nan
    model = NaiveBayes(families).fit(table, z)
    assert model.score(table, z) > 0.8
    drawn, _ = model.sample(5, random_state=0)
    assert model.predict_proba(drawn).shape == (5, 2)
    filled = model.impute(table)
    assert not filled.isna().any().any()
    mixture = quietly(Mixture(2, families, n_init=1, tol=0, max_iter=30, random_state=0), table)
    never_falls(mixture.bound_history_)


def test_families_that_are_found_by_themselves_stay_what_they_were():
    table = pd.DataFrame(
        {"n": [1, 2, 3, 4], "x": [0.1, 0.2, 0.3, 0.4], "w": list("abab"), "b": [True, False, True, True]}
    )
    families = [
        block.family.name for block in GenerativeClassifier().fit(table, [0, 1, 0, 1]).statistics_.schema.blocks
    ]
    assert families == ["gaussian", "categorical", "bernoulli"]
