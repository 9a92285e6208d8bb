"""Weight 2 is the row twice, weight 0 the row absent, and the order of the rows does not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import GLM, LogisticRegression, Mixture, MixtureSearch, SoftKMeans

from .cases import CASES, assert_same_model, each, law, shapes

priors = st.sampled_from(["auto", None])


def _prior(case, prior):
    return prior if case.family.name == "gaussian" else "auto"


@each(CASES)
@law
@given(shape=shapes(), prior=priors)
def test_weight_two_is_the_row_twice(case, shape, prior):
    x, y = case.table(shape)
    twice = shape.rng.random(len(x)) < 0.4
    weighted = case.model(prior=_prior(case, prior)).fit(x, y, np.where(twice, 2.0, 1.0))
    repeated = case.model(prior=_prior(case, prior)).fit(np.concatenate([x, x[twice]]), np.concatenate([y, y[twice]]))
    assert_same_model(weighted, repeated, x)


@each(CASES)
@law
@given(shape=shapes())
def test_weight_zero_is_the_row_absent(case, shape):
    x, y = case.table(shape)
    absent = shape.rng.random(len(x)) < 0.3
    if shape.k > 2:
        absent |= y == 0  # a class without weight is no class
    elif absent.all():
        absent[0] = False
    for c in (shape.k - 2, shape.k - 1):
        absent[np.flatnonzero(y == c)[:2]] = False
    weighted = case.model().fit(x, y, np.where(absent, 0.0, 1.0))
    without = case.model().fit(x[~absent], y[~absent])
    assert_same_model(weighted, without, x[~absent])


@each([case for case in CASES if case.learns_missing])
@law
@given(shape=shapes())
def test_weights_mean_the_same_where_cells_are_missing(case, shape):
    x, y = case.table(shape)
    x = case.with_missing_cells(x, shape.rng)
    weight = shape.rng.integers(0, 3, len(x))
    weight[: len(x) // 2] = 1
    weighted = case.model().fit(x, y, weight)
    repeated = case.model().fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert_same_model(weighted, repeated, x)


@each(CASES)
@law
@given(shape=shapes(), prior=priors)
def test_the_order_of_the_rows_does_not_matter(case, shape, prior):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.1, 3.0, len(x))
    order = shape.rng.permutation(len(x))
    model = case.model(prior=_prior(case, prior)).fit(x, y, weight)
    shuffled = case.model(prior=_prior(case, prior)).fit(x[order], y[order], weight[order])
    assert_same_model(shuffled, model, x)


@each(CASES)
@law
@given(shape=shapes())
def test_one_hot_soft_labels_are_hard_labels(case, shape):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.1, 3.0, len(x))
    assert_same_model(case.model().fit(x, np.eye(shape.k)[y], weight), case.model().fit(x, y, weight), x)


@each(CASES)
@law
@given(shape=shapes())
def test_a_soft_label_is_a_row_in_every_class_with_its_share(case, shape):
    x, _ = case.table(shape)
    share = shape.rng.dirichlet(np.ones(shape.k), size=len(x))
    soft = case.model().fit(x, share)
    spread = case.model().fit(np.repeat(x, shape.k, axis=0), np.tile(np.arange(shape.k), len(x)), share.ravel())
    assert_same_model(soft, spread, x)


@pytest.mark.parametrize("total", [1.0, 1e-6, 1e-12])
@pytest.mark.parametrize("covariance", ["full", "VEI", "diagonal"])
def test_maximum_likelihood_does_not_depend_on_the_scale_of_the_weights(covariance, total):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3)) + rng.choice([0.0, 1.5, 4.0], 90)[:, None]
    weight = rng.uniform(0.5, 2.0, 90)
    begin = np.argsort(np.argsort(X[:, 0])) // 30
    settings = {"covariance": covariance, "prior": None, "init": begin, "tol": 1e-9, "max_iter": 2000}
    usual, light = (Mixture(3, **settings).fit(X, sample_weight=w) for w in (weight, weight * (total / weight.sum())))
    assert light.converged_
    np.testing.assert_allclose(light.means_, usual.means_, rtol=0.0, atol=1e-3)
    y = X[:, 0] + 3.0 * rng.normal(size=90) > 2.0
    for model in (LogisticRegression(alpha=0.0), GLM("poisson", alpha=0.0)):
        coef = [model.fit(X, y, sample_weight=w).coef_ for w in (weight, weight * (total / weight.sum()))]
        np.testing.assert_allclose(coef[1], coef[0], rtol=1e-6)


@pytest.mark.parametrize("model", [Mixture(2), MixtureSearch(2, ["EII", "VVV"]), SoftKMeans(2)], ids=repr)
def test_weights_that_sum_to_one_are_pointed_out(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(UserWarning, match="the weights of 60 rows sum to 1: a weight counts rows"):
        model.fit(X, sample_weight=np.full(60, 1 / 60))
