"""Shift and scale a numeric column: posteriors stay, and densities change by the Jacobian alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import NormalInverseWishart

from .cases import AVERAGES, GAUSSIANS, each, law, shapes

PRIORS = {"maximum-likelihood": None, "auto": "auto", "unbiased": NormalInverseWishart(0)}
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)


def _common_scale_only(case):
    return "spherical" in case.family.structure.name or case.family.structure.name == "VVE"


@each(GAUSSIANS)
@every_prior
@law
@given(shape=shapes(), exponent=st.integers(-6, 6))
def test_posteriors_stay_and_densities_change_by_the_jacobian(case, prior, shape, exponent):
    x, y = case.table(shape)
    rng = shape.rng
    width = 1 if _common_scale_only(case) else shape.d
    scale = np.broadcast_to(10.0**exponent * rng.uniform(0.5, 2.0, width) * rng.choice([-1.0, 1.0], width), shape.d)
    shift = np.abs(scale) * rng.uniform(-100.0, 100.0, shape.d)
    moved = scale * x + shift
    model = case.model(prior=prior).fit(x, y)
    other = case.model(prior=prior).fit(moved, y)
    np.testing.assert_allclose(other.predict_proba(moved), model.predict_proba(x), rtol=0, atol=1e-7)
    jacobian = np.log(np.abs(scale)).sum()
    densities = other.score_samples(moved) + jacobian
    np.testing.assert_allclose(densities, model.score_samples(x), rtol=1e-7, atol=1e-7)


@each(GAUSSIANS)
@every_prior
def test_a_hundred_million_added_to_every_cell_changes_no_posterior(case, prior):
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1, 2], 40)
    # multiples of 1/64, so that the shifted cells are exact
    x = np.round(64 * (rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3)) + y[:, None])) / 64
    model = case.model(prior=prior).fit(x, y)
    far = case.model(prior=prior).fit(x + 1e8, y)
    np.testing.assert_allclose(far.predict_proba(x + 1e8), model.predict_proba(x), rtol=0, atol=1e-6)
    np.testing.assert_allclose(far.score_samples(x + 1e8), model.score_samples(x), rtol=1e-6)


@each([case for case in GAUSSIANS if case.learns_missing])
@law
@given(shape=shapes())
def test_posteriors_of_tables_with_missing_values_stay(case, shape):
    x, y = case.table(shape)
    x = case.with_missing_cells(x, shape.rng)
    model, other = case.model().fit(x, y), case.model().fit(1e-4 * x + 3.0, y)
    np.testing.assert_allclose(other.predict_proba(1e-4 * x + 3.0), model.predict_proba(x), rtol=0, atol=1e-7)


@each([case for case in AVERAGES if not case.learns_missing])
@law
@given(shape=shapes(max_d=3))
def test_full_and_tied_covariances_do_not_mind_a_change_of_basis(case, shape):
    x, y = case.table(shape)
    basis = shape.rng.normal(size=(shape.d, shape.d)) + 3.0 * np.eye(shape.d)
    model, other = case.model(prior=None).fit(x, y), case.model(prior=None).fit(x @ basis, y)
    np.testing.assert_allclose(other.predict_proba(x @ basis), model.predict_proba(x), rtol=0, atol=1e-7)


@each(GAUSSIANS)
@law
@given(shape=shapes())
def test_the_order_of_the_columns_does_not_matter(case, shape):
    x, y = case.table(shape)
    order = shape.rng.permutation(shape.d)
    model, other = case.model().fit(x, y), case.model().fit(x[:, order], y)
    np.testing.assert_allclose(other.predict_proba(x[:, order]), model.predict_proba(x), rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
@pytest.mark.parametrize("missing", [False, True])
@each(GAUSSIANS)
def test_rows_far_from_every_class_tend_to_a_limit_and_not_to_the_class_prior(case, estimate, missing):
    """Squares overflow from 1e154 on; the posterior of a row there is that of one as far as they do not."""
    if estimate == "predictive" and case not in AVERAGES:
        pytest.skip("no conjugate prior")
    rng = np.random.default_rng(5)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 3)) * (1.0 + 0.5 * y[:, None]) + 3.0 * y[:, None]
    model = case.model(estimate=estimate).fit(X, y)
    near = np.array([[1e120, 0.0, 3.0], [-1e120, 6.0, 3.0], [1.0, 1e120, -1e120], [0.0, 3.0, 6.0]])
    far = np.where(np.abs(near) > 1e100, near * 1e80, near)
    if missing:
        near[:, 2], far[:, 2] = (np.where(np.arange(4) < 2, np.nan, rows[:, 2]) for rows in (near, far))
    posterior = model.predict_proba(far)
    np.testing.assert_allclose(posterior, model.predict_proba(near), atol=1e-6)
    np.testing.assert_allclose(model.predict_log_proba(far[3:]), model.predict_log_proba(near[3:]), rtol=1e-9)
