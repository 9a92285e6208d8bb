"""The same parameters and posteriors whatever library and float type the rows come in."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

from .cases import ARRAYS, CATEGORICAL, GAUSSIANS, Shape, assert_same_model, each, law, parameters, shapes

NUMERIC = [case for case in ARRAYS if case is not CATEGORICAL]


@each(NUMERIC)
@law
@given(shape=shapes())
def test_float32_rows_give_almost_the_posteriors_of_float64(case, shape):
    x, y = case.table(shape)
    single, double = case.model().fit(x.astype(np.float32), y), case.model().fit(x, y)
    np.testing.assert_allclose(single.predict_proba(x.astype(np.float32)), double.predict_proba(x), rtol=0, atol=1e-3)


@each(NUMERIC)
def test_sums_over_many_float32_rows_keep_their_digits(case):
    y = np.random.default_rng(0).integers(0, 3, 60_000)
    x = case.rows(np.random.default_rng(1), y, 3).astype(np.float32)
    single, double = case.model().fit(x, y), case.model().fit(x.astype(np.float64), y)
    for a, b in zip(parameters(single.distributions_[0]), parameters(double.distributions_[0]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@each(GAUSSIANS)
@pytest.mark.parametrize("offset", [1e3, 1e5])
def test_float32_rows_far_from_zero_give_the_posteriors_of_the_same_numbers_in_float64(case, offset):
    y = np.repeat([0, 1], 300)
    x = (case.rows(np.random.default_rng(3), y, 2) + offset).astype(np.float32)
    same = x.astype(np.float64)
    single, double = case.model().fit(x, y), case.model().fit(same, y)
    np.testing.assert_allclose(single.predict_proba(x), double.predict_proba(same), rtol=0, atol=1e-3)


@each([case for case in ARRAYS if case.takes_zero])
@law
@given(shape=shapes())
def test_sparse_rows_give_the_model_of_dense_ones(case, shape):
    x, y = case.table(shape)
    x[shape.rng.random(x.shape) < 0.4] = 0
    sparse = scipy.sparse.csr_array(x)
    dense = case.model().fit(x, y)
    model = case.model().fit(sparse, y)
    assert_same_model(model, dense, x)
    np.testing.assert_allclose(model.predict_proba(sparse), dense.predict_proba(x), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(sparse), dense.score_samples(x), rtol=1e-9, atol=1e-9)


@pytest.mark.torch
@each(ARRAYS)
@pytest.mark.parametrize("seed", range(3))
def test_torch_tensors_give_the_model_of_numpy_arrays(case, seed):
    torch = pytest.importorskip("torch")
    x, y = case.table(Shape(seed, 30, 3, 3))
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(x))
    tensor = torch.asarray(x)
    plain, model = case.model().fit(x, y, weight), case.model().fit(tensor, y, weight)
    assert_same_model(model, plain, x, rtol=1e-10)
    for method in ("predict_proba", "score_samples", "predict_joint_log_proba"):
        found = getattr(model, method)(tensor)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, getattr(plain, method)(x), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        model.explain(tensor).contributions, plain.explain(x).contributions, rtol=1e-9, atol=1e-9
    )


@pytest.mark.torch
@each(ARRAYS)
def test_torch_tensors_with_soft_labels_give_the_model_of_numpy_arrays(case):
    torch = pytest.importorskip("torch")
    x, _ = case.table(Shape(5, 30, 3, 3))
    share = np.random.default_rng(5).dirichlet(np.ones(3), size=len(x))
    assert_same_model(case.model().fit(torch.asarray(x), share), case.model().fit(x, share), x, rtol=1e-10)


@pytest.mark.torch
@each([case for case in ARRAYS if case.learns_missing and case is not CATEGORICAL])
def test_torch_tensors_with_missing_values_give_the_model_of_numpy_arrays(case):
    torch = pytest.importorskip("torch")
    x, y = case.table(Shape(6, 30, 3, 3))
    x = case.with_missing_cells(x, np.random.default_rng(6))
    plain, model = case.model().fit(x, y), case.model().fit(torch.asarray(x), y)
    assert_same_model(model, plain, x, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(torch.asarray(x)), plain.predict_proba(x), rtol=0, atol=1e-10)


@pytest.mark.torch
@each(NUMERIC)
@pytest.mark.parametrize("seed", range(3))
def test_float32_torch_tensors_give_almost_the_posteriors_of_float64(case, seed):
    torch = pytest.importorskip("torch")
    x, y = case.table(Shape(seed, 30, 3, 3))
    tensor = torch.asarray(x, dtype=torch.float32)
    model, plain = case.model().fit(tensor, y), case.model().fit(x, y)
    np.testing.assert_allclose(model.predict_proba(tensor), plain.predict_proba(x), rtol=0, atol=2e-4)
