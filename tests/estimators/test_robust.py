"""Robust and clustered standard errors, by statsmodels and by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import suffice
from suffice import GLM

DATA = Path(__file__).parents[1] / "reference" / "data"


def warpbreaks():
    table = pd.read_csv(DATA / "warpbreaks.csv")
    table["tension"] = pd.Categorical(table["tension"], ["L", "H", "M"])
    return table[["wool", "tension"]], table["breaks"], np.arange(len(table)) // 3


def births():
    table = pd.read_csv(DATA / "birthwt.csv")
    return table[["age", "lwt", "smoke"]], table["low"], table["age"].to_numpy()


#: statsmodels 0.15: smf.ols or smf.glm of the formula, .fit(cov_type=…), for clusters cov_kwds={"groups": …}, and
#: for GLMs tol=1e-14, tol_criterion="params"; the attribute bse
FIGURES = [
    (warpbreaks, "gaussian", None, "HC0", [4.2591138819348, 3.0424272151103, 3.9027310967728, 4.1988060880633]),
    (warpbreaks, "gaussian", None, "HC1", [4.4262009832398, 3.1617831089408, 4.0558371287337, 4.3635272853931]),
    (warpbreaks, "gaussian", None, "HC2", [4.4262009832398, 3.1617831089408, 4.0558371287337, 4.3635272853931]),
    (warpbreaks, "gaussian", None, "HC3", [4.5998429924896, 3.2858213923192, 4.2149495845146, 4.5347105751084]),
    (warpbreaks, "poisson", None, "HC0", [0.11657816684108, 0.10432135915856, 0.1249243963327, 0.12895602268608]),
    (
        warpbreaks, "poisson", None, "cluster",
        [0.093608872711489, 0.10482130615454, 0.095151205319682, 0.14545450289024],
    ),
    (births, "bernoulli", "probit", "HC0", [0.59183543572378, 0.0181758239798, 0.0035154798884577, 0.19799206300712]),
    (
        births, "bernoulli", "probit", "cluster",
        [0.65735655656662, 0.018238874865371, 0.0046397605527652, 0.20477544871478],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "family", "link", "kind", "errors"), FIGURES)
def test_errors_are_those_of_statsmodels(rows, family, link, kind, errors):
    X, y, groups = rows()
    model = GLM(family, link).fit(X, y, cov_type=kind, groups=groups if kind == "cluster" else None)
    np.testing.assert_allclose(model.std_errors_, errors, rtol=1e-8)
    assert model.cov_type_ == kind
    np.testing.assert_array_equal(model.parameters_, GLM(family, link).fit(X, y).parameters_)
    low, high = model.conf_int().T  # of the normal distribution, as in statsmodels
    np.testing.assert_allclose((high - low) / 2, 1.959963984540054 * np.array(errors), rtol=1e-8)
    summary = str(model.summary())
    assert f"standard errors {kind}" in summary
    assert " z " in summary


def made(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = rng.poisson(np.exp(0.3 + X @ [0.5, -0.3, 0.2]) * rng.gamma(2.0, 0.5, n))
    return X, y, rng.integers(0, 25, n), rng.uniform(0.5, 2.0, n), rng


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "cluster"])
@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_a_sandwich_by_hand_with_weights_and_offsets(kind, intercept):
    X, y, groups, weight, rng = made()
    offset = rng.normal(size=len(y))
    model = GLM("poisson", fit_intercept=intercept).fit(
        X, y, weight, offset=offset, cov_type=kind, groups=groups if kind == "cluster" else None
    )
    Z = np.column_stack([np.ones(len(y)), X]) if intercept else X
    mu = np.exp(Z @ model.parameters_ + offset)
    bread = np.linalg.inv(Z.T @ ((weight * mu)[:, None] * Z))
    leverage = weight * mu * np.einsum("ij,jk,ik->i", Z, bread, Z)
    scores = (weight * (y - mu))[:, None] * Z
    n, k = Z.shape
    factor = 1.0
    if kind == "cluster":
        scores = np.array([scores[groups == group].sum(axis=0) for group in range(25)])
        factor = 25 / 24 * (n - 1) / (n - k)
    elif kind == "HC1":
        factor = n / (n - k)
    elif kind != "HC0":
        scores /= ((1 - leverage) ** {"HC2": 0.5, "HC3": 1.0}[kind])[:, None]
    expected = factor * bread @ scores.T @ scores @ bread
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-7, atol=1e-12)


def test_robust_errors_are_the_same_for_batches_sparse_rows_and_columns_of_groups():
    X, y, groups, weight, _ = made()
    names = np.array([f"school {group}" for group in groups])
    frame = pd.DataFrame(X, columns=list("abc")).assign(school=names)
    whole = GLM("poisson").fit(X, y, weight, groups=groups)
    assert (whole.cov_type_, whole.n_groups_) == ("cluster", 25)
    for given in (names, names.astype(object), pd.Series(names, dtype="category"), names.tolist()):
        np.testing.assert_allclose(GLM("poisson").fit(X, y, weight, groups=given).std_errors_, whole.std_errors_)
    named = GLM("poisson").fit(frame, y, weight, groups="school")
    np.testing.assert_allclose(named.std_errors_, whole.std_errors_, rtol=1e-10)
    assert named.terms_ == ["(intercept)", "a", "b", "c"]
    assert "standard errors cluster of 25 groups" in str(named.summary())
    np.testing.assert_allclose(named.predict(frame.drop(columns="school")), whole.predict(X), rtol=1e-10)
    np.testing.assert_array_equal(named.predict(frame), named.predict(frame.drop(columns="school")))
    parts = [(frame[i : i + 37], y[i : i + 37], weight[i : i + 37]) for i in range(0, len(y), 37)]
    for kind in ("cluster", "HC3"):
        kept = frame if kind == "cluster" else frame.drop(columns="school")
        group = "school" if kind == "cluster" else None
        table = GLM("poisson").fit(kept, y, weight, cov_type=kind, groups=group)
        chunks = [(part[kept.columns], *rest) for part, *rest in parts]
        streamed = GLM("poisson").fit(suffice.stream(chunks), cov_type=kind, groups=group)
        np.testing.assert_allclose(streamed.std_errors_, table.std_errors_, rtol=1e-9)
    thin = GLM("poisson").fit(sparse.csr_array(X), y, weight, groups=groups)
    np.testing.assert_allclose(thin.std_errors_, whole.std_errors_, rtol=1e-8)


def test_a_row_of_weight_two_is_two_rows_of_one_group_and_one_of_weight_zero_is_absent():
    X, y, _, _, _ = made()
    weight = np.arange(len(y)) % 3
    again = np.repeat(np.arange(len(y)), weight)
    repeated = GLM("poisson").fit(X[again], y[again], groups=again)
    weighted = GLM("poisson").fit(X, y, weight, cov_type="HC0")
    there = weight > 0
    absent = GLM("poisson").fit(X[there], y[there], weight[there], cov_type="HC1")
    np.testing.assert_allclose(GLM("poisson").fit(X, y, weight, cov_type="HC1").std_errors_, absent.std_errors_)
    g, n, k = there.sum(), len(again), 4
    correction = np.sqrt(g / (g - 1) * (n - 1) / (n - k))
    np.testing.assert_allclose(repeated.std_errors_, correction * weighted.std_errors_, rtol=1e-8)


def test_robust_errors_stay_with_columns_far_from_zero_and_collinear_ones():
    X, y, groups, _, _ = made()
    near, far = (GLM("poisson").fit(X + shift, y, groups=groups) for shift in (0.0, 1e7))
    np.testing.assert_allclose(far.std_errors_[1:], near.std_errors_[1:], rtol=1e-6)
    with pytest.warns(UserWarning, match="column 'x3' can be written"):
        more = GLM("poisson").fit(np.column_stack([X, X[:, 0]]), y, cov_type="HC1")
    expected = GLM("poisson").fit(X, y, cov_type="HC1").std_errors_
    np.testing.assert_allclose(more.std_errors_, [*expected, np.nan], rtol=1e-8)


def test_intervals_of_predictions_and_saved_models_keep_robust_errors(tmp_path):
    X, y, groups, _, _ = made()
    model = GLM("poisson").fit(X, y, groups=groups)
    Z = np.column_stack([np.ones(len(y)), X])
    spread = np.sqrt(np.einsum("ij,jk,ik->i", Z, model.covariance_, Z))
    eta = model.linear_predictor(X)
    expected = np.exp(np.column_stack([eta - 1.959963984540054 * spread, eta + 1.959963984540054 * spread]))
    np.testing.assert_allclose(model.predict_interval(X), expected, rtol=1e-8)
    suffice.save(model, tmp_path / "glm.suffice")
    loaded = suffice.load(tmp_path / "glm.suffice")
    assert str(loaded.summary()) == str(model.summary())
    assert (loaded.cov_type_, loaded.n_groups_) == ("cluster", 25)
    plain = model.fit(X, y)
    assert (plain.cov_type_, plain.n_groups_) == ("nonrobust", None)


def test_robust_intervals_cover_where_those_of_the_model_do_not():
    rng, truth = np.random.default_rng(0), 0.5
    robust, plain = [], []
    for _ in range(200):
        x = rng.normal(size=(200, 1))
        y = rng.poisson(np.exp(0.3 + truth * x[:, 0]) * rng.gamma(1.0, 1.0, 200))
        for found, kind in ((robust, "HC1"), (plain, None)):
            low, high = GLM("poisson").fit(x, y, cov_type=kind).conf_int()[1]
            found.append(low < truth < high)
    assert np.mean(robust) > 0.87
    assert np.mean(plain) < 0.8


def test_what_has_no_robust_errors_says_so(monkeypatch):
    X, y, groups, _, _ = made()
    for arguments, message in (
        ({"cov_type": "HC9"}, "cov_type must be None, 'HC0', 'HC1', 'HC2', 'HC3', 'cluster', not 'HC9'"),
        ({"cov_type": "cluster"}, "needs the group of each row; pass groups="),
        ({"cov_type": "HC1", "groups": groups}, "groups are for clustered standard errors, but cov_type is 'HC1'"),
        ({"groups": groups[:5]}, r"groups need one value per row, but X has 300 rows and groups has shape \(5,\)"),
        ({"groups": np.zeros(300)}, "need at least two groups, but there is 1"),
        ({"groups": np.where(groups == groups[7], np.nan, groups)}, "every row needs a group"),
        ({"groups": "school"}, "`groups` names column 'school'"),
    ):
        with pytest.raises(ValueError, match=message):
            GLM("poisson").fit(X, y, **arguments)
    for penalised in (GLM("poisson", alpha=1.0), GLM("poisson", firth=True)):
        with pytest.raises(ValueError, match="those of maximum likelihood, but the fit is penalised"):
            penalised.fit(X, y, cov_type="HC0")
    with pytest.raises(ValueError, match="name the column that holds the offset, exposure or groups"):
        GLM("poisson").fit(suffice.stream([(X, y)]), groups=groups)
    alone = np.zeros((300, 1))
    alone[7] = 1.0
    with pytest.raises(ValueError, match="HC3 divides by 1 − leverage, but a row is fitted exactly"):
        GLM().fit(alone, y, cov_type="HC3")
    assert np.isfinite(GLM().fit(alone, y, cov_type="HC1").std_errors_).all()
    monkeypatch.setattr("suffice.glm.sandwich.MOST_PARAMETERS", 2)
    with pytest.raises(ValueError, match="need the Hessian, which is formed for up to 2 parameters"):
        GLM("poisson").fit(X, y, cov_type="HC0")
