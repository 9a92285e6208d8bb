"""What must hold for every family whose parameters are integrated out."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

import suffice
from suffice.families.gaussian.covariance import STRUCTURES
from suffice.families.gaussian.covariance.posterior_means import PosteriorMean
from suffice.posteriors import POSTERIORS

from .cases import CASES, CATEGORICAL, each, law, shapes
from .test_explain import _assert_adds_up

CONJUGATE = [
    case
    for case in CASES
    if case.family.name in POSTERIORS or isinstance(getattr(case.family, "structure", None), PosteriorMean)
]
INCOMPLETE = [case for case in CONJUGATE if case.scores_missing]
GAUSSIANS = [case for case in CONJUGATE if hasattr(case.family, "structure")]


def _fit(case, x, y, **params):
    return case.model(estimate="predictive", **params).fit(x, y)


def test_the_six_structures_with_a_conjugate_prior_are_among_the_cases():
    assert {case.family.structure.name for case in GAUSSIANS} == {
        name for name, structure in STRUCTURES.items() if isinstance(structure, PosteriorMean)
    }


@each(CONJUGATE)
@law
@given(shape=shapes())
def test_contributions_add_up_to_the_log_odds(case, shape):
    x, y = case.table(shape)
    _assert_adds_up(_fit(case, x, y), x)


@each(INCOMPLETE)
@law
@given(shape=shapes())
def test_contributions_add_up_for_rows_with_missing_values_which_add_nothing(case, shape):
    x, y = case.table(shape)
    model = _fit(case, x.astype(np.float64), y)
    with_missing_cells = case.with_missing_cells(x, shape.rng, share=0.5)
    _assert_adds_up(model, with_missing_cells)
    assert (model.explain(with_missing_cells).contributions[np.isnan(with_missing_cells)] == 0.0).all()


@each(INCOMPLETE)
@law
@given(shape=shapes())
def test_a_row_with_missing_values_is_scored_by_the_marginal_of_what_it_has(case, shape):
    x, y = case.with_every_value(*case.table(shape))
    model = _fit(case, x.astype(np.float64), y)
    (found,), kept = model.distributions_, np.arange(shape.d)[::2]
    rows = x.astype(np.float64)
    rows[:, 1::2] = np.nan
    logs = model.predict_joint_log_proba(rows) - model.class_log_prior_
    part = x[:, kept] if case is not CATEGORICAL else case.encode(x)
    if case is CATEGORICAL:
        part = type(part)(part.codes[:, kept], part.sizes[kept])
    np.testing.assert_allclose(logs, np.asarray(found.marginal(kept).score(part)), rtol=1e-8, atol=1e-8)


@each(CONJUGATE)
@law
@given(shape=shapes())
def test_weight_two_is_the_row_twice_and_batches_do_not_matter(case, shape):
    x, y = case.table(shape)
    twice = _fit(case, np.concatenate([x, x]), np.concatenate([y, y]))
    weighted = case.model(estimate="predictive").fit(x, y, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(weighted.predict_log_proba(x), twice.predict_log_proba(x), rtol=1e-7, atol=1e-7)
    batches = case.model(estimate="predictive").partial_fit(x[:7], y[:7]).partial_fit(x[7:], y[7:])
    np.testing.assert_allclose(
        batches.predict_log_proba(x), _fit(case, x, y).predict_log_proba(x), rtol=1e-7, atol=1e-7
    )


@each(GAUSSIANS)
@law
@given(shape=shapes())
def test_posteriors_do_not_change_with_shift_and_scale(case, shape):
    x, y = case.table(shape)
    scale = 3.0 if case.family.structure.one_variance else np.linspace(0.5, 40.0, shape.d)
    moved = _fit(case, x * scale + 1e6, y).predict_log_proba(x * scale + 1e6)
    np.testing.assert_allclose(moved, _fit(case, x, y).predict_log_proba(x), rtol=1e-5, atol=1e-5)


@each(CONJUGATE)
@law
@given(shape=shapes())
def test_with_many_rows_it_is_the_plain_estimate(case, shape):
    x, y = case.table(shape)
    many = {"sample_weight": np.full(len(y), 1e8)}
    averaged = case.model(estimate="predictive").fit(x, y, **many).predict_joint_log_proba(x)
    plain = case.model().fit(x, y, **many).predict_joint_log_proba(x)
    own = np.arange(len(y)), y  # of what a class never saw the prior decides, however many rows there are
    np.testing.assert_allclose(averaged[own], plain[own], rtol=1e-4)


@each(CONJUGATE)
def test_a_loaded_model_predicts_the_same(case, tmp_path):
    y = np.arange(40) % 3
    x = case.rows(np.random.default_rng(0), y, 3)
    model = _fit(case, x, y)
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    assert loaded.estimate == "predictive"
    np.testing.assert_array_equal(loaded.predict_joint_log_proba(x), model.predict_joint_log_proba(x))


@each(CONJUGATE)
def test_a_class_of_one_row_and_a_constant_column_give_finite_densities(case):
    y = np.array([0] * 9 + [1])
    x = case.rows(np.random.default_rng(0), y, 3)
    x[:, 1] = x[0, 1]
    model = _fit(case, x, y)
    assert np.isfinite(model.predict_joint_log_proba(x)).all()
    assert np.isfinite(model.sample(5, 0)[0].astype(float)).all()


@each([case for case in CONJUGATE if case is not CATEGORICAL])
def test_float32_and_sparse_rows_give_the_same_posteriors(case):
    y = np.arange(60) % 3
    x = case.rows(np.random.default_rng(0), y, 4)
    model = _fit(case, x, y)
    expected = model.predict_log_proba(x)
    np.testing.assert_allclose(model.predict_log_proba(x.astype(np.float32)), expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(model.predict_log_proba(scipy.sparse.csr_array(x)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.torch
@each([case for case in CONJUGATE if case is not CATEGORICAL])
def test_tensors_give_the_same_posteriors(case):
    torch = pytest.importorskip("torch")
    y = np.arange(60) % 3
    x = case.rows(np.random.default_rng(0), y, 4)
    if case.scores_missing:
        x[::7, 2] = np.nan
    model = case.model(estimate="predictive").fit(x[np.isfinite(x).all(1)], y[np.isfinite(x).all(1)])
    np.testing.assert_allclose(
        model.predict_log_proba(torch.from_numpy(x)), model.predict_log_proba(x), rtol=1e-8, atol=1e-8
    )
