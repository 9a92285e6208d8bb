"""Leave-one-out equals refitting without the row: every family, structure, estimate, weight and missing value.

What an estimate takes from the data besides the sums of the classes stays as it is for all rows, so the refits here
have the prior of all rows, with its data-scaled parts as numbers.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import suffice
from suffice import (
    BetaPrior,
    DirichletPrior,
    GammaPrior,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    KnownVariance,
    LogNormal,
    NaiveBayes,
    NormalInverseWishart,
    PseudoCount,
    Text,
    stream,
)
from suffice.engines.base import Chunk
from suffice.errors import EstimateError
from suffice.families.gaussian.covariance import STRUCTURES, Given, GivenCovariance, GivenDiagonal, GivenSphere
from suffice.families.gaussian.covariance.constant import resolved
from suffice.models.joint import JointModel, log_posterior
from suffice.models.schema import Encoder
from suffice.posteriors.normal_inverse_wishart import AUTOMATIC
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import Labels

from .cases import (
    BERNOULLI,
    CASES,
    CATEGORICAL,
    EXPONENTIAL,
    LOG_NORMAL,
    MULTINOMIAL,
    POISSON,
    Case,
    GaussianCase,
    Shape,
    each,
    law,
    shapes,
)

TOLERANCE = {"rtol": 1e-8, "atol": 1e-8}


def encoded(model, X):
    return Encoder(model.schema_, grow=False).encode(model.schema_.as_table(X))


def without(model, X, y, weight, i):
    """Return the model fitted to all rows but i, with the prior, the values and the words of all rows."""
    blocks, codes = encoded(model, X), np.searchsorted(model.classes_, y)
    others = np.flatnonzero(np.arange(len(y)) != i)
    labels = Labels(codes[others], None if weight is None else weight[others], len(model.classes_))
    count = labels.totals()
    found = []
    for block, rows, sums in zip(model.schema_.blocks, blocks, model.statistics_.joint.blocks, strict=True):
        with np.errstate(invalid="ignore"):
            rest = block.family.statistics(rows[others], labels)
        if model.estimate == "predictive":
            found.append(block.family.posterior(rest, fixed(block.family, sums, model.prior)).predictives())
        else:
            one, joint = model.schema_.with_blocks([block]), JointStatistics(count, (sums,))
            (prior,) = model._at_mode(one, joint, [model._prior])
            found.append(block.family.estimate(rest, block.family.fixed_prior(sums, prior)))
    more = model._counted_before
    log_prior = model._components(model.schema_, model.classes_, ()).log_shares(count + more)
    return JointModel(model.schema_, log_prior, tuple(found))


def fixed(family, sums, prior):
    """Return the prior of a predictive with its data-scaled parts as numbers."""
    if isinstance(prior, list):
        return prior
    inner = family.inner if isinstance(family, LogNormal) else family
    if isinstance(inner, Gaussian):
        if isinstance(prior, NormalInverseWishart) and prior.scatter is not None and prior.mean is not None:
            return prior
        if isinstance(inner.structure, Given) and not isinstance(prior, KnownVariance):
            prior = KnownVariance(inner.structure.compact(sums.n_columns))
        if isinstance(prior, KnownVariance):
            return prior if prior.mean is not None else KnownVariance(prior.variance, sums.total_mean(), prior.count)
        return resolved(inner.structure, sums, prior if isinstance(prior, NormalInverseWishart) else AUTOMATIC)
    if family.name in ("poisson", "exponential") and not isinstance(prior, GammaPrior):
        posterior = family.posterior(sums, prior)
        return GammaPrior(*posterior._before)
    return prior


def refits(model, X, y, weight=None):
    """Return log p(c | x_i) by the model without row i."""
    blocks, answers = encoded(model, X), []
    for i in range(len(y)):
        joint = without(model, X, y, weight, i)
        rows = tuple(block[i : i + 1] for block in blocks)
        answers.append(log_posterior(Chunk(rows), joint)[0])
    return np.array(answers)


def assert_law(model, X, y, weight=None):
    expected = refits(model, X, y, weight)
    np.testing.assert_allclose(model.loo_log_proba(X, y, weight), expected, **TOLERANCE)
    evidence = model.loo_evidence(X, y, weight)
    assert evidence.shape == (len(y), len(model.evidence_columns_), len(model.classes_))
    if np.isfinite(evidence).all():
        codes, weights = np.searchsorted(model.classes_, y), np.ones(len(y)) if weight is None else weight
        count = np.bincount(codes, weights=weights, minlength=len(model.classes_))
        counts = count[None] - np.eye(len(count))[codes] * weights[:, None]
        counts[np.abs(counts) < 1e-9] = 0.0
        log_shares = model._components(model.schema_, model.classes_, ()).log_shares
        prior = np.array([log_shares(row + model._counted_before) for row in counts])
        joint = evidence.sum(1) + prior
        found = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, **TOLERANCE)


def wide(case: Case) -> GenerativeClassifier:
    return case.model()


ALL = [
    *CASES,
    *(
        GaussianCase(f"gaussian-{name}", Gaussian(name))
        for name in STRUCTURES
        if f"gaussian-{name}" not in {c.name for c in CASES}
    ),
]
#: structures that are estimated by iteration, one fit per row
SLOW = {
    "gaussian-VEI",
    "gaussian-EVI",
    "gaussian-VEE",
    "gaussian-EVE",
    "gaussian-VVE",
    "gaussian-EEV",
    "gaussian-VEV",
    "gaussian-EVV",
}


@each(ALL)
@law
@given(shape=shapes(3))
def test_it_is_the_fit_without_the_row(case: Case, shape: Shape):
    X, y = case.table(shape)
    if case.name in SLOW:
        X, y = X[:12], np.arange(len(X[:12])) % 2
    assert_law(case.model().fit(X, y), X, y)


@each([case for case in CASES if case.name not in SLOW])
@law
@given(shape=shapes(3))
def test_a_row_leaves_with_its_weight(case: Case, shape: Shape):
    X, y = case.table(shape)
    weight = shape.rng.choice([0.0, 0.5, 1.0, 2.5], size=len(y))
    weight[np.unique(y, return_index=True)[1]] = 1.5
    assert_law(case.model().fit(X, y, weight), X, y, weight)


@each([case for case in ALL if case.learns_missing and case.name not in SLOW and case is not CATEGORICAL])
@law
@given(shape=shapes(3))
def test_a_missing_cell_adds_nothing(case: Case, shape: Shape):
    X, y = case.table(shape)
    X = case.with_missing_cells(X, shape.rng)
    weight = shape.rng.choice([0.5, 1.0, 2.5], size=len(y))
    assert_law(case.model().fit(X, y, weight), X, y, weight)


@each([case for case in ALL if case.name not in SLOW])
@law
@given(shape=shapes(3))
def test_maximum_likelihood_has_no_prior(case: Case, shape: Shape):
    X, y = case.table(shape)
    weight = shape.rng.choice([0.5, 1.0, 2.5], size=len(y))
    try:
        model = case.model(prior=None).fit(X, y, weight)
        assert_law(model, X, y, weight)
    except EstimateError:  # some model has no estimate, which another test is about
        return


PREDICTIVE = {
    "bernoulli": (BERNOULLI, ["auto", 0.5, [BetaPrior(0.5, 2.0)]]),
    "categorical": (CATEGORICAL, ["auto", 0.5, [DirichletPrior(2.0)]]),
    "multinomial": (MULTINOMIAL, ["auto", 0.5, [DirichletPrior(2.0)]]),
    "poisson": (POISSON, ["auto", [GammaPrior(2.0, 0.5)]]),
    "exponential": (EXPONENTIAL, ["auto", [GammaPrior(2.0, 0.5)]]),
    "lognormal": (LOG_NORMAL, ["auto", NormalInverseWishart(3.0), KnownVariance(2.0, count=1.0)]),
    **{
        name: (
            GaussianCase(name, Gaussian(name)),
            ["auto", NormalInverseWishart(5.0, mean_count=2.0), KnownVariance(2.0)],
        )
        for name in ("diagonal", "tied-diagonal", "spherical", "tied-spherical", "full", "tied")
    },
}


@pytest.mark.parametrize(("case", "priors"), PREDICTIVE.values(), ids=PREDICTIVE)
@law
@given(shape=shapes(3))
def test_predictives_average_over_the_posterior_without_the_row(case: Case, priors: list, shape: Shape):
    X, y = case.table(shape)
    weight = shape.rng.choice([0.5, 1.0, 2.5], size=len(y))
    if case.learns_missing and case is not CATEGORICAL and case.family.columnwise:
        X = case.with_missing_cells(X, shape.rng)
    for prior in priors:
        model = case.model(estimate="predictive", prior=prior).fit(X, y, weight)
        assert_law(model, X, y, weight)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"])
@pytest.mark.parametrize(
    "prior",
    [
        PseudoCount(3.0),
        NormalInverseWishart(0),
        NormalInverseWishart(2.5, freedom=0.0),
        NormalInverseWishart(4.0, scatter=[1.0, 2.0, 0.5], mean_count=3.0, mean=[0.0, 1.0, -1.0]),
        NormalInverseWishart.textbook([0.0, 0.0, 0.0], 1.0, 5.0, [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ],
    ids=["count", "unbiased", "mode", "given", "textbook"],
)
@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
def test_priors_of_gaussians(covariance, prior, estimate):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [5, 9, 16])
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3)) + y[:, None]
    assert_law(GaussianDiscriminant(covariance, prior=prior, estimate=estimate).fit(X, y), X, y)


@pytest.mark.parametrize(
    "given", [GivenSphere(2.0), GivenDiagonal([1.0, 2.0]), GivenCovariance([[2.0, 1.0], [1.0, 3.0]])]
)
@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
@pytest.mark.parametrize("prior", ["auto", NormalInverseWishart(mean_count=2.0)])
def test_given_covariances_stay(given, estimate, prior):
    if estimate == "predictive" and prior != "auto":
        prior = KnownVariance(given.compact(2), mean=[0.0, 1.0], count=2.0)
    rng = np.random.default_rng(1)
    y = np.arange(24) % 3
    X = rng.normal(size=(24, 2)) + y[:, None]
    assert_law(GaussianDiscriminant(given, prior=prior, estimate=estimate).fit(X, y), X, y)


DOCUMENTS = [
    "cheap pills cheap", "buy cheap pills now", "meeting at noon", "notes of the meeting", "pills pills pills meeting",
    "", None, "now or never", "cheap notes", "the the the noon", "buy now", "at the meeting buy notes",
]  # fmt: skip
KINDS = ["spam", "spam", "ham", "ham", "spam", "ham", "spam", "list", "list", "list", "spam", "ham"]
TEXTS = {
    "positions": Text(),
    "pairs": Text(ngrams=2),
    "presence": Text("bernoulli"),
    "rarity": Text(weighting="tf-idf"),
    "frequent": Text(min_count=2, max_words=6),
    "frequent presence": Text("bernoulli", min_count=2),
    "complement": Text(complement=True),
}


@pytest.mark.parametrize("family", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", ["auto", 0.3])
def test_documents(family, weighted, prior):
    weight = np.linspace(0.5, 2.0, 12) if weighted else None
    model = NaiveBayes(family, prior=prior).fit(DOCUMENTS, KINDS, weight)
    assert_law(model, DOCUMENTS, KINDS, weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("family", "prior"),
    [
        (Text(), "auto"),
        (Text(ngrams=2, buckets=16), DirichletPrior(0.2)),
        (Text("bernoulli"), "auto"),
        (Text("bernoulli"), BetaPrior(0.5, 0.5)),
        (Text("bernoulli"), BetaPrior(0.5, 2.0)),
    ],
)
def test_predictives_of_documents(family, prior, weighted):
    weight = np.linspace(0.5, 2.0, 12) if weighted else None
    model = NaiveBayes(family, prior=prior, estimate="predictive").fit(DOCUMENTS, KINDS, weight)
    assert_law(model, DOCUMENTS, KINDS, weight)


@pytest.mark.parametrize("family", [Text(min_count=2, max_words=6), Text("bernoulli", min_count=2)])
def test_predictives_of_documents_keep_the_words_of_all(family):
    model = NaiveBayes(family, estimate="predictive").fit(DOCUMENTS, KINDS)
    kept = np.array(model.schema_.categories[0].values)[model.distributions_[0].word_weight > 0].tolist()
    of_kept = [None if text is None else [word for word in text.split() if word in kept] for text in DOCUMENTS]
    only = NaiveBayes(Text(family.counts), estimate="predictive").fit(of_kept, KINDS)
    np.testing.assert_allclose(model.loo_log_proba(DOCUMENTS, KINDS), only.loo_log_proba(of_kept, KINDS))


@pytest.mark.parametrize("class_prior", ["empirical", "uniform", PseudoCount(2.0), [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
def test_class_probabilities_without_the_row(class_prior, estimate):
    X, y = POISSON.table(Shape(0, 3, 2, 3))
    model = NaiveBayes("poisson", class_prior=class_prior, estimate=estimate).fit(X, y)
    assert_law(model, X, y)


def mixed(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], size=n)
    shift = (y == "a").astype(float)
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n) + shift),
            "sky": rng.choice(["sun", "rain", None], size=n),
            "wet": rng.random(n) < 0.3 + 0.3 * shift,
            "still": np.full(n, 7.0),
            "count": rng.poisson(2 + shift),
            "x": rng.normal(size=n),
            "z": rng.normal(size=n) + shift,
            "text": rng.choice(["cheap pills", "the meeting", "pills for the meeting"], size=n),
        }
    )
    families = {"count": "poisson", ("x", "z"): Gaussian("full"), "text": Text()}
    return table, y, families


@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
def test_mixed_tables(estimate):
    table, y, families = mixed()
    if estimate == "predictive":
        table = table.drop(columns="still")  # another test is about constant columns
    weight = np.linspace(0.5, 2.0, len(y))
    model = GenerativeClassifier(families, estimate=estimate).fit(table, y, weight)
    assert_law(model, table, y, weight)
    assert ("x", "z") in model.evidence_columns_
    assert ("size",) in model.evidence_columns_


@pytest.mark.parametrize(
    "covariance", ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical", "VVE"]
)
@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
def test_constant_columns_say_nothing(covariance, estimate):
    if (covariance, estimate) == ("VVE", "predictive"):
        pytest.skip("there is no posterior")
    rng = np.random.default_rng(2)
    y = np.arange(21) % 3
    X = np.column_stack([np.full(21, 3.0), rng.normal(size=(21, 2)) + y[:, None], np.full(21, -1e6)])
    model = GaussianDiscriminant(covariance, estimate=estimate).fit(X, y)
    found = model.loo_log_proba(X, y)
    varying = GaussianDiscriminant(covariance, estimate=estimate).fit(X[:, 1:3], y).loo_log_proba(X[:, 1:3], y)
    np.testing.assert_allclose(found, varying, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, refits_of_constant(model, X, y), **TOLERANCE)
    still = np.full((21, 4), 5.0)
    alone = GaussianDiscriminant(covariance, estimate=estimate).fit(still, y)
    np.testing.assert_allclose(
        np.exp(alone.loo_log_proba(still, y))[0],
        np.array([6.0, 7.0, 7.0]) / 20 if estimate != "predictive" else np.array([7.0, 8.0, 8.0]) / 23,
    )


def refits_of_constant(model, X, y):
    """Return the refits; the prior of a predictive is given for the columns that vary."""
    if model.estimate != "predictive":
        return refits(model, X, y)
    part = GaussianDiscriminant(model.covariance, estimate="predictive").fit(X[:, 1:3], y)
    return refits(part, X[:, 1:3], y)


@each([BERNOULLI, CATEGORICAL, MULTINOMIAL])
def test_refits_of_the_estimator_are_the_same_where_the_prior_takes_nothing_from_the_data(case):
    X, y = case.table(Shape(1, 6, 3, 3))
    model = case.model(prior=0.7, class_prior=PseudoCount(1.0)).fit(X, y)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        again = case.model(prior=0.7, class_prior=PseudoCount(1.0)).fit(X[others], y[others])
        np.testing.assert_allclose(model.loo_log_proba(X, y)[i], again.predict_log_proba(X[i : i + 1])[0], **TOLERANCE)


def test_a_class_of_one_row_is_empty_without_it():
    rng = np.random.default_rng(3)
    y = np.array(["one"] + ["two"] * 6 + ["three"] * 7)
    X = np.abs(rng.normal(size=(14, 2))) + 0.1
    unit = X / (1.0 + X)
    for families, rows in (
        ("gaussian", X), ("gamma", X), ("lognormal", X), ("exponential", X), ("beta", unit), ("inverse_gaussian", X),
        (Gaussian("full"), X), (Gaussian("tied"), X), (Gaussian("tied-diagonal"), X), (Gaussian("spherical"), X),
        (Gaussian("VVE"), X), ("poisson", np.floor(3 * X)), ("dirichlet", unit / unit.sum(1, keepdims=True)),
        ("multinomial", np.floor(9 * X)), ("categorical", np.floor(2 * X).astype(int)),
    ):  # fmt: skip
        for class_prior in ("empirical", PseudoCount(1.0)):
            model = GenerativeClassifier(families, class_prior=class_prior).fit(rows, y)
            expected = refits(model, rows, y)
            np.testing.assert_allclose(model.loo_log_proba(rows, y), expected, **TOLERANCE, err_msg=str(families))
            assert np.isneginf(expected[0, 0]) == (class_prior == "empirical")
    for covariance in ("diagonal", "tied", "full", "spherical"):
        model = GaussianDiscriminant(covariance, estimate="predictive", prior=NormalInverseWishart(4.0)).fit(X, y)
        np.testing.assert_allclose(model.loo_log_proba(X, y), refits(model, X, y), **TOLERANCE)


# -- maximum likelihood: values that only one row has ---------------------------------------------------------------


RARE = {
    "categorical": ("categorical", [[0, 0], [0, 1], [1, 0], [2, 0], [0, 1], [1, 1], [3, 0], [0, 0], [1, 1]]),
    "bernoulli": ("bernoulli", [[0, 1], [0, 1], [1, 1], [0, 0], [0, 1], [0, 1], [1, 1], [0, 0], [0, 1]]),
    "poisson": ("poisson", [[0, 1], [0, 3], [2, 0], [0, 0], [0, 1], [0, 2], [1, 4], [0, 0], [3, 1]]),
    "geometric": ("geometric", [[0, 1], [0, 3], [2, 0], [0, 0], [0, 1], [0, 2], [1, 4], [0, 0], [3, 1]]),
    "multinomial": (
        "multinomial",
        [[1, 2, 0], [1, 0, 2], [2, 1, 0], [1, 0, 0], [2, 0, 0], [1, 0, 0], [1, 1, 0], [3, 1, 0], [0, 1, 0]],
    ),
    "words": (Text(), ["aa bb", "aa cc", "bb bb", "dd aa", "bb aa", "aa", "bb ee ff", "ee aa", "aa bb"]),
    "presence": (Text("bernoulli"), ["aa bb", "aa cc", "aa bb", "aa dd", "aa bb", "aa", "bb ee aa", "ee", "aa bb"]),
}  # fmt: skip


@pytest.mark.parametrize(("family", "X"), RARE.values(), ids=RARE)
@pytest.mark.filterwarnings("ignore:.*probability 0")
def test_values_that_only_the_row_has_are_impossible_without_it(family, X):
    y = np.repeat(["a", "b", "c"], 3)
    X = X if isinstance(X[0], str) else np.array(X)
    model = GenerativeClassifier(family, prior=None).fit(X, y)
    expected = refits(model, X, y)
    np.testing.assert_allclose(model.loo_log_proba(X, y), expected, **TOLERANCE)
    assert np.isneginf(model.loo_evidence(X, y)).any()


@pytest.mark.parametrize(
    "families",
    [
        "gaussian",
        "spherical",
        "tied-diagonal",
        "full",
        "tied",
        "gamma",
        "beta",
        "lognormal",
        "inverse_gaussian",
        "exponential",
    ],
)
def test_a_class_without_an_estimate_rules_the_row_out(families):
    y = np.array(["few", "few", "many", "many", "many", "many", "many"])
    X = np.array([[0.2], [0.4], [0.3], [0.5], [0.6], [0.8], [0.7]])
    if families == "exponential":
        X[0] = 0.0
    elif families in ("full", "tied"):
        X = np.column_stack([X, X**2 + [[0.0], [0.0], [0.1], [-0.1], [0.3], [0.0], [0.2]]])
        y = np.array(["few", "few", "few", "many", "many", "many", "many"])
    if families in STRUCTURES:
        families = Gaussian(families)
    model = GenerativeClassifier(families, prior=None, class_prior="uniform").fit(X, y)
    found = model.loo_log_proba(X, y)
    assert not np.isnan(found).any()
    if families not in (Gaussian("tied-diagonal"), Gaussian("tied")):  # the others of all classes are an estimate
        row = 1 if families == "exponential" else 0
        np.testing.assert_array_equal(found[row], [-np.inf, 0.0])


# -- rows that come in other ways -----------------------------------------------------------------------------------


def test_batches_threads_and_array_libraries_do_not_matter():
    table, y, families = mixed(300)
    model = GenerativeClassifier(families).fit(table, y)
    expected, evidence = model.loo_log_proba(table, y), model.loo_evidence(table, y)

    def batches():
        for start in range(0, 300, 70):
            yield table[start : start + 70], y[start : start + 70]

    streamed = stream(batches)
    np.testing.assert_allclose(model.loo_log_proba(streamed), expected, **TOLERANCE)
    np.testing.assert_allclose(model.loo_evidence(streamed), evidence, **TOLERANCE)
    np.testing.assert_allclose(model.set_params(n_jobs=1).loo_log_proba(table, y), expected, **TOLERANCE)
    np.testing.assert_allclose(
        model.loo_score(streamed), np.mean(expected[np.arange(300), np.searchsorted(model.classes_, y)])
    )
    updated = GenerativeClassifier(families)
    for start in range(0, 300, 100):
        updated.partial_fit(table[start : start + 100], y[start : start + 100], classes=["a", "b", "c"])
    np.testing.assert_allclose(updated.loo_log_proba(table, y), expected, **TOLERANCE)


@pytest.mark.parametrize(
    "family", ["gaussian", "poisson", "bernoulli", "multinomial", "spherical", "tied-diagonal", "full"]
)
def test_sparse_and_single_precision_rows(family):
    from scipy import sparse

    rng = np.random.default_rng(5)
    X, y = (rng.random((60, 4)) < 0.4).astype(float), np.arange(60) % 3
    family = Gaussian(family) if family in STRUCTURES else family
    model = GenerativeClassifier(family).fit(X, y)
    expected = model.loo_log_proba(X, y)
    np.testing.assert_allclose(model.loo_log_proba(sparse.csr_array(X), y), expected, **TOLERANCE)
    np.testing.assert_allclose(model.loo_evidence(sparse.csr_array(X), y).sum(), model.loo_evidence(X, y).sum())
    np.testing.assert_allclose(model.loo_log_proba(X.astype(np.float32), y), expected, **TOLERANCE)


@pytest.mark.torch
@pytest.mark.parametrize("family", ["gaussian", "poisson", "categorical", "tied"])
def test_tensors(family):
    torch = pytest.importorskip("torch")

    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, (60, 4)), np.arange(60) % 3
    family = Gaussian(family) if family in STRUCTURES else family
    model = GenerativeClassifier(family).fit(X, y)
    np.testing.assert_allclose(model.loo_log_proba(torch.tensor(X), y), model.loo_log_proba(X, y), **TOLERANCE)


def test_some_of_the_rows_and_rows_without_a_label():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 2)), np.repeat(["a", "b", "c"], 10)
    model = GaussianDiscriminant("full").fit(X, y)
    np.testing.assert_allclose(model.loo_log_proba(X[4:9], y[4:9]), model.loo_log_proba(X, y)[4:9], rtol=1e-12)
    labels = y.astype(object)
    labels[:5] = None
    found = model.loo_log_proba(X, labels)
    np.testing.assert_allclose(found[:5], model.predict_log_proba(X[:5]), rtol=1e-12)
    np.testing.assert_allclose(found[5:], model.loo_log_proba(X, y)[5:], rtol=1e-12)


def test_rows_that_are_none_of_training_are_refused():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 2)), np.repeat(["a", "b", "c"], 10)
    model = GaussianDiscriminant("full").fit(X, y)
    with pytest.raises(ValueError, match=r"those of class 'a' have the weight 20 together, and 10 in training"):
        model.loo_log_proba(np.vstack([X, X]), np.concatenate([y, y]))
    with pytest.raises(ValueError, match="row 3 is not in those of its class; pass the rows that the model was fitted"):
        model.loo_log_proba(np.where(np.arange(30)[:, None] == 3, 100.0, X), y)
    with pytest.raises(ValueError, match="row 0 is not in those of its class"):
        NaiveBayes("categorical").fit([[0], [1], [1]], [0, 0, 1]).loo_log_proba([[0]], [1])
    with pytest.raises(ValueError, match="is not in those of its class"):
        NaiveBayes("poisson").fit([[0], [1], [1]], [0, 0, 1]).loo_log_proba([[7]], [1])
    with pytest.raises(ValueError, match="is not in those of its class"):
        NaiveBayes(Text()).fit(["aa bb", "aa"], [0, 1]).loo_log_proba(["bb"], [1])
    with pytest.raises(ValueError, match="among the classes"):
        model.loo_log_proba(X[:1], ["d"])
    with pytest.raises(ValueError, match="with their labels; pass y"):
        model.loo_log_proba(X)
    with pytest.raises(ValueError, match="use kfold_log_proba"):
        model.loo_log_proba(X, pd.DataFrame(np.eye(3)[np.arange(30) % 3], columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="at least two rows"):
        GaussianDiscriminant("full").partial_fit(X[:1], y[:1], classes=["a", "b"]).loo_log_proba(X[:1], y[:1])
    known = NaiveBayes.from_parameters(
        {"a": 0.5, "b": 0.5},
        {"x": {"a": suffice.Poisson.from_parameters(rate=1.0), "b": suffice.Poisson.from_parameters(rate=2.0)}},
    )
    with pytest.raises(ValueError, match="was made from parameters"):
        known.loo_log_proba(pd.DataFrame({"x": [1]}), ["a"])
    partly = GaussianDiscriminant("full", max_iter=2, tol=1.0).fit(
        X, np.where(np.arange(30) % 3 == 0, -1, np.arange(30) % 2)
    )
    with pytest.raises(ValueError, match="fitted by EM"):
        partly.loo_log_proba(X, y)
    with pytest.raises(ValueError, match="'log_proba' or 'accuracy', not 'loss'"):
        model.loo_score(X, y, scoring="loss")


def test_far_offsets_and_narrow_classes_lose_no_digits():
    rng = np.random.default_rng(8)
    y = np.arange(30) % 3
    Z = rng.normal(size=(30, 3)) + y[:, None]
    for covariance in ("full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"):
        for X in (Z * 1e-3 + 1e5, Z + 1e4 * y[:, None], Z * [1e-6, 1.0, 1e6]):
            model = GaussianDiscriminant(covariance).fit(X, y)
            found, expected = model.loo_log_proba(X, y), refits(model, X, y)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_the_score_is_the_mean_log_probability_or_the_share_of_right_rows():
    X, y = POISSON.table(Shape(0, 9, 2, 3))
    weight = np.linspace(0.5, 2.0, len(y))
    model = NaiveBayes("poisson").fit(X, y, weight)
    logs = model.loo_log_proba(X, y, weight)
    np.testing.assert_allclose(model.loo_score(X, y, weight), np.average(logs[np.arange(len(y)), y], weights=weight))
    right = np.average(np.argmax(logs, axis=1) == y, weights=weight)
    np.testing.assert_allclose(model.loo_score(X, y, weight, scoring="accuracy"), right)


def test_tables_of_any_library_and_models_from_files_and_statistics(tmp_path):
    import polars

    rng = np.random.default_rng(9)
    y = rng.choice(["a", "b"], 60)
    table = pd.DataFrame({"x": rng.normal(size=60), "s": rng.choice(["u", "v"], 60)})
    model = NaiveBayes().fit(table, y)
    expected = model.loo_log_proba(table, y)
    np.testing.assert_allclose(model.loo_log_proba(polars.from_pandas(table), y.tolist()), expected)
    np.testing.assert_allclose(model.loo_log_proba(table[["s", "x"]], pd.Series(y)), expected)
    suffice.save(model, tmp_path / "model")
    np.testing.assert_allclose(suffice.load(tmp_path / "model").loo_log_proba(table, y), expected)
    first, rest = table[:20], table[20:]
    forgotten = NaiveBayes.from_statistics(model.statistics_ - NaiveBayes().fit(first, y[:20]).statistics_)
    fewer = NaiveBayes().fit(rest, y[20:]).loo_log_proba(rest, y[20:])
    np.testing.assert_allclose(forgotten.loo_log_proba(rest, y[20:]), fewer, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-100, 1e140])
def test_tiny_and_huge_numbers(scale):
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    for covariance in ("diagonal", "tied-diagonal", "spherical", "full", "tied"):
        expected = GaussianDiscriminant(covariance).fit(X, y).loo_log_proba(X, y)
        found = GaussianDiscriminant(covariance).fit(X * scale, y).loo_log_proba(X * scale, y)
        np.testing.assert_allclose(found, expected, rtol=1e-7)
