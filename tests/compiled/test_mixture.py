"""The passes over a mixture's rows give what NumPy gives in several steps, for every level and type of cell."""

import numpy as np
import pytest

from suffice import compiled

FORMS = ("full", "diagonal", "diagonal-far", "spherical", "tied")
pytestmark = pytest.mark.skipif(compiled.library is None, reason="the kernels were not built (no C compiler)")


def weighted_sums(z, scores, weight):
    """Return log-likelihood, count, first and second moments (k×d×d) of rows shared by the scores."""
    most = scores.max(axis=1, keepdims=True)
    e = np.exp(scores - most)
    total = e.sum(axis=1, keepdims=True)
    weight = np.ones(len(z)) if weight is None else weight
    share = weight[:, None] * e / total
    second = np.stack([(share[:, [c]] * z).T @ z for c in range(scores.shape[1])])
    return weight @ (most + np.log(total))[:, 0], share.sum(axis=0), share.T @ z, second


def parameters(d, k, seed, form):
    """Return the origin, and the parameters of k components of d columns."""
    rng = np.random.default_rng(seed)
    origin = rng.normal(size=d)
    if form.startswith("diagonal"):
        spread = 300.0 if form == "diagonal-far" else 1.0  # in units of σ, where `compiled` changes the form
        means = origin + spread * rng.normal(size=(k, d))
        return origin, (means, rng.uniform(0.5, 2.0, (k, d)), rng.normal(size=k))
    linear, constant = rng.normal(size=(k, d)), rng.normal(size=k)
    if form == "spherical":
        return origin, (linear, -rng.uniform(0.2, 1.0, k), constant)
    root = rng.normal(size=(1 if form == "tied" else k, d, d)) / np.sqrt(d)
    precision = root @ root.transpose(0, 2, 1) + np.eye(d)
    i, j = np.triu_indices(d)
    pairs = -(np.where(i == j, 0.5, 1.0) * precision[:, i, j])
    return origin, (linear, pairs[0] if form == "tied" else pairs, constant)


def fallback(form, x, weight, origin, first, second, constant):
    z = np.asarray(x, dtype=np.float64) - origin
    if form.startswith("diagonal"):
        scores = constant - 0.5 * (((z[:, None] - (first - origin)) ** 2) / second).sum(axis=2)
    elif form == "spherical":
        scores = constant + z @ first.T + (z * z).sum(axis=1)[:, None] * second
    else:
        i, j = np.triu_indices(z.shape[1])
        scores = constant + z @ first.T + ((z[:, i] * z[:, j]) @ second.T).reshape(len(z), -1)
    total, count, sums, squares = weighted_sums(z, scores, weight)
    if form in ("diagonal", "diagonal-far", "spherical"):
        squares = np.diagonal(squares, axis1=1, axis2=2)
    return total, count, sums, squares.sum(axis=0) if form == "tied" else squares


def run(form, x, weight, origin, values, **options):
    return getattr(compiled, f"{form.removesuffix('-far')}_pass")(x, weight, origin, *values, **options)


def check(found, expected, rtol):
    assert found is not None
    assert isinstance(found[0], float)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.shape(ours) == np.shape(theirs)
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("n", "d", "components"),
    [(n, d, (1, 2, 8, 11, 23)) for n in (1, 15, 16, 257) for d in (1, 2, 4, 17)]
    + [(40, 3, range(1, 24)), (257, 50, (3, 16)), (5000, 16, (16,)), (5000, 4, (8,))],
)
def test_passes_and_fallbacks_agree(level, form, n, d, components):
    for k in components:
        origin, values = parameters(d, k, n + d + k, form)
        rng = np.random.default_rng(n * d * k)
        x = origin + rng.normal(size=(n, d))
        if form == "diagonal-far":  # near its component, where the densities are not tiny
            x = values[0][rng.integers(0, k, n)] + rng.normal(size=(n, d))
        for weight in (None, rng.random(n) * (rng.random(n) < 0.8) + (n == 1)):
            check(run(form, x, weight, origin, values), fallback(form, x, weight, origin, *values), 1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (15, 2, 2), (257, 17, 11), (600, 4, 8), (5000, 16, 16)])
def test_single_precision_rows(level, form, n, d, k):
    origin, values = parameters(d, k, n + d + k, form)
    rng = np.random.default_rng(n * d * k)
    x = (values[0][rng.integers(0, k, n)] if form.startswith("diagonal") else origin) + rng.normal(size=(n, d))
    x = x.astype(np.float32)
    for weight in (None, rng.random(n) + 0.1):
        expected = fallback(form, x, weight, origin, *values)
        check(run(form, x, weight, origin, values), expected, 1e-9)
        check(run(form, x, weight, origin, values, single=True), expected, 1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", ["F", "columns", "rows", "reversed"])
def test_rows_in_any_order_of_memory(level, form, order):
    origin, values = parameters(6, 5, 0, form)
    x = values[0][np.arange(300) % 5] + np.random.default_rng(1).normal(size=(300, 6))
    stored = {
        "F": np.asfortranarray,
        "columns": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        "rows": lambda a: np.repeat(a, 3, axis=0)[::3],
        "reversed": lambda a: a[::-1],
    }[order](x)
    check(run(form, stored, None, origin, values), fallback(form, stored, None, origin, *values), 1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cells_that_are_not_finite_have_no_answer(level, form, single, bad):
    origin, values = parameters(3, 4, 0, form)
    dtype = np.float32 if single else np.float64
    x = (origin + np.random.default_rng(2).normal(size=(300, 3))).astype(dtype)
    assert run(form, x, None, origin, values, single=single) is not None
    x[289, 1] = bad
    assert run(form, x, None, origin, values, single=single) is None


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_zero_density_have_no_answer(level, form):
    origin, values = parameters(3, 4, 0, form)
    x = origin + np.random.default_rng(3).normal(size=(20, 3))
    x[7] = 1e200
    assert run(form, x, None, origin, values) is None


@pytest.mark.parametrize("form", FORMS)
def test_rows_far_from_every_component(level, form):
    origin, values = parameters(4, 3, 0, form)
    x = origin + 250.0 + np.random.default_rng(4).normal(size=(100, 4))
    found, expected = run(form, x, None, origin, values), fallback(form, x, None, origin, *values)
    assert found[0] < -1e4 * len(x)
    check(found, expected, 1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_components_of_no_weight_get_nothing(level, form, dtype):
    origin, values = parameters(4, 3, 0, form)
    values[2][1] = -np.inf
    x = (values[0][np.arange(100) % 3] + np.random.default_rng(5).normal(size=(100, 4))).astype(dtype)
    found = run(form, x, None, origin, values, single=True)
    assert found[1][1] == 0.0
    check(found, fallback(form, x, None, origin, *values), 1e-9 if dtype == np.float64 else 1e-4)


def test_what_is_not_rows_of_numpy_has_no_answer(monkeypatch):
    origin, values = parameters(3, 4, 0, "full")
    assert run("full", np.zeros((5, 3), dtype=np.int64), None, origin, values) is None
    assert run("full", [[0.0, 0.0, 0.0]], None, origin, values) is None
    monkeypatch.setattr(compiled, "library", None)
    assert run("full", np.zeros((5, 3)), None, origin, values) is None


def test_many_components_of_the_same_density(level):
    k, d = 3000, 1
    x = np.zeros((5000, d))
    found = compiled.diagonal_pass(x, None, np.zeros(d), np.zeros((k, d)), np.ones((1, d)), np.zeros(k))
    check(found, (5000 * np.log(k), np.full(k, 5000 / k), np.zeros((k, d)), np.zeros((k, d))), 1e-9)
