"""``prior=None`` is maximum likelihood: the formulas of textbooks, and no other parameters do better."""

import numpy as np
from hypothesis import given

from .cases import AVERAGES, BERNOULLI, CASES, CATEGORICAL, DIRICHLET, ITERATED, MULTINOMIAL, POISSON, each, law, shapes


def _log_likelihood(case, distributions, x, y, weight):
    scores = distributions.score(case.encode(x))
    return weight @ scores[np.arange(len(y)), y]


@each([case for case in CASES if case not in ITERATED])
@law
@given(shape=shapes())
def test_no_other_parameters_have_a_larger_likelihood(case, shape):
    x, y = case.with_every_value(*case.table(shape))
    rng = shape.rng
    weight = rng.uniform(0.5, 2.0, len(x))
    best = case.model(prior=None).fit(x, y, weight).distributions_[0]
    largest = _log_likelihood(case, best, x, y, weight)
    assert np.isfinite(largest)
    lower = 0
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        for _ in range(5):
            other = _log_likelihood(case, case.perturbed(best, rng, size), x, y, weight)
            assert other <= largest + 1e-9 * abs(largest)
            lower += other < largest
    # one column of a whole leaves nothing to choose, and rows that are all certain leave nothing that `perturbed` moves
    if (case not in (MULTINOMIAL, DIRICHLET) or shape.d > 1) and largest != 0.0:
        assert lower >= 10


@each(AVERAGES)
@law
@given(shape=shapes())
def test_gaussian_estimates_divide_the_scatter_by_the_number_of_rows(case, shape):
    x, y = case.table(shape)
    found = case.model(prior=None).fit(x, y).distributions_[0]
    groups = [x[y == c] for c in range(shape.k)]
    covariances = np.stack([np.cov(group.T, bias=True).reshape(shape.d, shape.d) for group in groups])
    structure = case.family.structure
    if structure.tied:
        share = np.bincount(y) / len(y)
        covariances = np.repeat(np.einsum("k,kij->ij", share, covariances)[None], shape.k, axis=0)
    if structure.diagonal:
        covariances = covariances * np.eye(shape.d)
    if "spherical" in structure.name:
        covariances = np.einsum("kii->k", covariances)[:, None, None] / shape.d * np.eye(shape.d)
    np.testing.assert_allclose(found.means, [group.mean(0) for group in groups], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.covariance(), covariances, rtol=1e-10, atol=1e-12)


@each([BERNOULLI, POISSON])
@law
@given(shape=shapes())
def test_probabilities_and_rates_are_the_means_of_their_columns(case, shape):
    x, y = case.table(shape)
    found = case.model(prior=None).fit(x, y).distributions_[0].moment_parameters()
    np.testing.assert_allclose(found, [x[y == c].mean(0) for c in range(shape.k)], rtol=1e-12)


@law
@given(shape=shapes())
def test_bags_have_the_shares_of_all_their_draws(shape):
    x, y = MULTINOMIAL.table(shape)
    found = MULTINOMIAL.model(prior=None).fit(x, y).distributions_[0].probability
    totals = np.array([x[y == c].sum(0) for c in range(shape.k)])
    np.testing.assert_allclose(found, totals / totals.sum(1, keepdims=True), rtol=1e-12)


@law
@given(shape=shapes())
def test_categories_have_the_shares_of_their_rows(shape):
    x, y = CATEGORICAL.table(shape)
    found = CATEGORICAL.model(prior=None).fit(x, y).distributions_[0]
    expected = [
        [(x[y == c, j] == value).mean() for j in range(shape.d) for value in np.unique(x[:, j])] for c in range(shape.k)
    ]
    np.testing.assert_allclose(found.probability, expected, rtol=1e-12)


@each(CASES)
@law
@given(shape=shapes())
def test_the_class_prior_is_the_share_of_the_weight(case, shape):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.5, 2.0, len(x))
    found = case.model().fit(x, y, weight).class_prior_
    np.testing.assert_allclose(found, np.bincount(y, weights=weight) / weight.sum(), rtol=1e-12)
