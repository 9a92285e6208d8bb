"""What a person can do with a generalised linear model."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, stats
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.metrics import r2_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GLM, Poisson, compiled
from suffice.engines.base import Chunk
from suffice.families import as_family
from suffice.glm import Power, as_link, as_response
from suffice.glm.pairs import pair
from suffice.glm.rows import Target
from suffice.glm.sums import Point, newton_sums


@parametrize_with_checks([GLM(), GLM("poisson"), GLM(alpha=1.0)])
@pytest.mark.filterwarnings("ignore:column:UserWarning")
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def rows(family, n=400, seed=0):
    """Rows, a response of the family with a log, logit or identity link, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    eta = 0.4 + X @ [0.5, -0.3, 0.2]
    mu = np.exp(eta)
    y = {
        "gaussian": lambda: eta + rng.normal(size=n),
        "bernoulli": lambda: (rng.random(n) < expit(eta)).astype(float),
        "binomial": lambda: rng.binomial(6, expit(eta)) / 6.0,
        "poisson": lambda: rng.poisson(mu).astype(float),
        "negative-binomial": lambda: rng.poisson(mu * rng.gamma(2.0, 0.5, n)).astype(float),
        "gamma": lambda: rng.gamma(3.0, mu / 3.0),
        "inverse-gaussian": lambda: rng.wald(mu, 4.0),
    }[family]()
    return X, y


PAIRS = [
    ("gaussian", "identity"), ("gaussian", "log"), ("bernoulli", "logit"), ("bernoulli", "probit"),
    ("bernoulli", "cloglog"), ("binomial", "logit"), ("poisson", "log"), ("poisson", "sqrt"), ("gamma", "log"),
    ("gamma", "inverse"), ("gamma", "power(0.25)"), ("negative-binomial", "log"), ("inverse-gaussian", "log"),
    ("inverse-gaussian", "inverse-squared"),
]  # fmt: skip


def log_likelihood(family, y, mu, model):
    """By the densities of SciPy, at the dispersion that R takes."""
    n, dispersion = len(y), model.deviance_ / len(y)
    return {
        "gaussian": lambda: stats.norm.logpdf(y, mu, np.sqrt(dispersion)),
        "bernoulli": lambda: stats.bernoulli.logpmf(y, mu),
        "binomial": lambda: stats.binom.logpmf(np.round(6 * y), np.full(n, 6), mu),
        "poisson": lambda: stats.poisson.logpmf(y, mu),
        "negative-binomial": lambda: stats.nbinom.logpmf(y, 2.0, 2.0 / (2.0 + mu)),
        "gamma": lambda: stats.gamma.logpdf(y, 1 / dispersion, scale=mu * dispersion),
        "inverse-gaussian": lambda: stats.invgauss.logpdf(y, mu * dispersion, scale=1 / dispersion),
    }[family]().sum()


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_no_other_coefficients_are_more_likely(family, link):
    X, y = rows(family)
    if link in ("inverse", "inverse-squared", "sqrt"):
        X = np.abs(X) * 0.1  # means that such a link can express
    elif (family, link) == ("gaussian", "log"):
        y = np.exp(0.2 * y)
    weight = np.full(len(y), 6.0) if family == "binomial" else None
    model = GLM(family, link, shape=2.0).fit(X, y, weight)
    assert model.converged_
    best = log_likelihood(family, y, model.predict(X), model)
    assert model.log_likelihood_ == pytest.approx(best, rel=1e-9)
    inverse = as_link(link).inverse
    for direction in np.random.default_rng(1).normal(size=(20, 4)):
        moved = model.parameters_ + 1e-3 * direction
        assert log_likelihood(family, y, inverse(moved[0] + X @ moved[1:]), model) < best


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "gamma", "gaussian"])
def test_a_weight_of_two_is_the_row_twice_and_of_zero_its_absence(family):
    X, y = rows(family)
    weight = np.arange(len(y)) % 3
    link = "log" if family == "gamma" else None
    weighted = GLM(family, link).fit(X, y, weight)
    repeated = GLM(family, link).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.parameters_, repeated.parameters_, rtol=1e-7)
    assert weighted.deviance_ == pytest.approx(repeated.deviance_, rel=1e-10)
    if family in ("bernoulli", "poisson"):
        np.testing.assert_allclose(weighted.std_errors_, repeated.std_errors_, rtol=1e-7)
        assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-10)


def test_successes_and_failures_are_shares_with_trials_as_weights():
    X, y = rows("binomial")
    counts = np.column_stack([np.round(6 * y), 6 - np.round(6 * y)])
    a, b = GLM("binomial").fit(X, counts), GLM("binomial").fit(X, y, np.full(len(y), 6.0))
    np.testing.assert_allclose(a.parameters_, b.parameters_, rtol=1e-10)
    each = GLM("bernoulli").fit(np.repeat(X, 6, axis=0), (np.arange(6) < np.round(6 * y)[:, None]).ravel())
    np.testing.assert_allclose(a.parameters_, each.parameters_, rtol=1e-9)
    np.testing.assert_allclose(a.std_errors_, each.std_errors_, rtol=1e-6)


def test_columns_far_from_zero_cost_no_digits():
    X, y = rows("poisson")
    near, far = GLM("poisson").fit(X, y), GLM("poisson").fit(X + 1e8, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)  # X + 1e8 itself keeps eight digits
    np.testing.assert_allclose(far.predict(X + 1e8), near.predict(X), rtol=1e-6)


# -- offsets ------------------------------------------------------------------------------------------------------


def test_exposure_is_an_offset_of_its_logarithm_and_can_be_a_column():
    X, _ = rows("poisson")
    hours = np.random.default_rng(2).uniform(1, 9, len(X))
    y = np.random.default_rng(3).poisson(hours * np.exp(X @ [0.5, -0.3, 0.2]))
    by_exposure = GLM("poisson").fit(X, y, exposure=hours)
    by_offset = GLM("poisson").fit(X, y, offset=np.log(hours))
    np.testing.assert_allclose(by_exposure.parameters_, by_offset.parameters_, rtol=1e-10)
    np.testing.assert_allclose(by_exposure.coef_, [0.5, -0.3, 0.2], atol=0.1)
    frame = pd.DataFrame(X, columns=list("abc")).assign(hours=hours)
    named = GLM("poisson").fit(frame, y, exposure="hours")
    assert named.terms_ == ["(intercept)", "a", "b", "c"]
    np.testing.assert_allclose(named.parameters_, by_offset.parameters_, rtol=1e-10)
    np.testing.assert_allclose(named.predict(frame), by_offset.predict(X, offset=np.log(hours)), rtol=1e-9)
    np.testing.assert_allclose(named.predict(frame).sum(), y.sum(), rtol=1e-9)
    rate = y.sum() / hours.sum()
    constant = stats.poisson.logpmf(y, y).sum() - stats.poisson.logpmf(y, hours * rate).sum()
    assert by_offset.null_deviance_ == pytest.approx(2 * constant, rel=1e-10)
    with pytest.raises(ValueError, match="exposure must be positive, but is -1 in row 0"):
        GLM("poisson").fit(X, y, exposure=np.full(len(X), -1.0))
    with pytest.raises(ValueError, match="the link is identity"):
        GLM().fit(X, y, exposure=hours)


def test_predictions_are_counts_for_an_exposure_and_rates_without_one(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "hours": rng.uniform(1, 8, 200)})
    y = rng.poisson(frame["hours"] * np.exp(0.3 * frame["x"]))
    alone = frame[["x"]]
    column, array = (
        GLM("poisson").fit(frame, y, exposure="hours"),
        GLM("poisson").fit(alone, y, exposure=frame["hours"]),
    )
    rates = np.exp(column.intercept_ + column.coef_[0] * frame["x"].to_numpy())
    counts = rates * frame["hours"].to_numpy()
    np.testing.assert_allclose(column.predict(frame), counts, rtol=1e-10)
    np.testing.assert_allclose(array.predict(alone), rates, rtol=1e-7)
    np.testing.assert_allclose(array.predict(alone, exposure=frame["hours"]), counts, rtol=1e-7)
    np.testing.assert_allclose(array.predict(frame, exposure="hours"), counts, rtol=1e-7)
    # a given exposure replaces the column, which the table then need not have
    np.testing.assert_allclose(column.predict(frame, exposure=np.full(200, 2.0)), 2 * rates, rtol=1e-10)
    np.testing.assert_allclose(column.predict(alone, exposure=np.full(200, 2.0)), 2 * rates, rtol=1e-10)
    np.testing.assert_allclose(column.predict(alone.assign(days=2.0), exposure="days"), 2 * rates, rtol=1e-10)
    with pytest.raises(ValueError, match="now missing:\n- hours"):
        column.predict(alone)
    low, high = column.predict_interval(frame, of="observation").T
    assert np.mean((low <= y) & (y <= high)) > 0.9
    assert "exposure 'hours'" in str(column.summary())
    assert "exposure given" in str(array.summary())
    suffice.save(array, tmp_path / "glm.suffice")
    with pytest.raises(ValueError, match="fitted with an array as exposure, to which y belongs"):
        suffice.load(tmp_path / "glm.suffice").score(alone, y)


def test_what_compares_with_y_needs_the_exposure_that_y_belongs_to():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "hours": rng.uniform(1, 8, 200)})
    y = rng.poisson(frame["hours"] * np.exp(0.3 * frame["x"]))
    column = GLM("poisson").fit(frame, y, exposure="hours")
    array = GLM("poisson").fit(frame[["x"]], y, exposure=frame["hours"])
    for method in ("score", "residuals", "gradient", "log_likelihood"):
        expected = getattr(column, method)(frame, y)
        found = getattr(array, method)(frame[["x"]], y, exposure=frame["hours"])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        with pytest.raises(ValueError, match="fitted with an array as exposure, to which y belongs; pass exposure="):
            getattr(array, method)(frame[["x"]], y)
    with pytest.raises(ValueError, match="name the column that holds the offset or exposure"):
        array.predict(suffice.stream([frame[["x"]][:100], frame[["x"]][100:]]), exposure=frame["hours"])


# -- tables and streams -------------------------------------------------------------------------------------------


@pytest.fixture
def smokers():
    rng = np.random.default_rng(0)
    n = 900
    frame = pd.DataFrame({
        "age": rng.normal(40, 10, n),
        "smoke": rng.choice(["no", "yes"], n),
        "city": pd.Categorical(rng.choice(["Rome", "Bonn", "Lyon"], n), ["Rome", "Lyon", "Bonn", "Oslo"]),
        "married": rng.random(n) < 0.4,
    })  # fmt: skip
    visits = rng.poisson(
        np.exp(0.01 * frame["age"] + 0.5 * (frame["smoke"] == "yes") + 0.3 * (frame["city"] == "Lyon"))
    )
    return frame, visits


def test_words_become_columns_for_each_level_but_the_first(smokers):
    frame, visits = smokers
    model = GLM("poisson").fit(frame, visits)
    assert model.terms_ == ["(intercept)", "age", "smoke[yes]", "city[Lyon]", "city[Bonn]", "married"]
    columns = [
        frame["age"],
        frame["smoke"] == "yes",
        frame["city"] == "Lyon",
        frame["city"] == "Bonn",
        frame["married"],
    ]
    plain = GLM("poisson").fit(np.column_stack(columns).astype(float), visits)
    np.testing.assert_allclose(model.parameters_, plain.parameters_, rtol=1e-9)
    assert model.feature_names_in_.tolist() == list(frame)
    without = GLM("poisson", fit_intercept=False).fit(frame, visits)
    assert without.terms_ == ["age", "smoke[no]", "smoke[yes]", "city[Lyon]", "city[Bonn]", "married"]
    assert without.deviance_ == pytest.approx(model.deviance_, rel=1e-10)


def test_parquet_files_give_what_the_table_gives(smokers, tmp_path):
    frame, visits = smokers
    hours = np.random.default_rng(1).uniform(1, 3, len(frame))
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        saved = frame.assign(city=frame["city"].astype(str), hours=hours, visits=visits).iloc[part]
        saved.to_parquet(tmp_path / f"{number}.parquet", index=False)
    table = frame.assign(city=frame["city"].astype(str), hours=hours)
    for family in ("poisson", "negative-binomial"):
        whole = GLM(family).fit(table, visits, exposure="hours")
        scanned = GLM(family).fit(suffice.scan(tmp_path, target="visits", batch_rows=77), exposure="hours")
        assert scanned.terms_ == whole.terms_
        np.testing.assert_allclose(scanned.parameters_, whole.parameters_, rtol=1e-7)
        np.testing.assert_allclose(scanned.std_errors_, whole.std_errors_, rtol=1e-7)
        assert scanned.aic_ == pytest.approx(whole.aic_, rel=1e-10)
        assert scanned.null_deviance_ == pytest.approx(whole.null_deviance_, rel=1e-10)
        scan = suffice.scan(tmp_path, target="visits")
        np.testing.assert_allclose(scanned.predict(scan), whole.predict(table), rtol=1e-7)
    with pytest.raises(ValueError, match="name the column"):
        GLM("poisson").fit(scan, offset=np.zeros(900))


def test_missing_cells_and_unknown_levels_are_errors_that_say_where(smokers):
    frame, visits = smokers
    incomplete = frame.copy()
    incomplete.loc[[7, 20, 21], "age"] = np.nan
    message = r"column 'age' 3 cells are missing \(NaN\) \(first: row 7\).*Drop these rows, or fill"
    with pytest.raises(ValueError, match=message):
        GLM("poisson").fit(incomplete, visits)
    with pytest.raises(ValueError, match=message):
        GLM("poisson").fit(suffice.stream([(incomplete[:500], visits[:500]), (incomplete[500:], visits[500:])]))
    model = GLM("poisson").fit(frame, visits)
    with pytest.raises(ValueError, match=message):
        model.predict(incomplete)
    incomplete = frame.copy()
    incomplete.loc[3, "smoke"] = None
    with pytest.raises(ValueError, match=r"column 'smoke' 1 cell is missing \(NaN\) \(first: row 3\)"):
        GLM("poisson").fit(incomplete, visits)
    other = frame.assign(smoke="sometimes")
    with pytest.raises(ValueError, match=r"column 'smoke' holds 'sometimes' in row 0.*the levels are 'no', 'yes'"):
        model.predict(other)
    with pytest.raises(ValueError, match=r"counts, finite and not negative, but it is -1 in row 0"):
        GLM("poisson").fit(frame, np.full(len(frame), -1.0))
    with pytest.raises(ValueError, match=r"y must be finite, but holds nan .* \(first: row 0\)"):
        GLM().fit(frame, np.full(len(frame), np.nan))


def test_sparse_rows_give_what_dense_ones_give():
    X, y = rows("gamma")
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    for alpha in (0.0, 3.0):
        dense = GLM("gamma", "log", alpha).fit(X, y)
        thin = GLM("gamma", "log", alpha).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(thin.parameters_, dense.parameters_, rtol=1e-6)
        np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-6)


# -- two words ----------------------------------------------------------------------------------------------------


@pytest.fixture
def answers():
    X, y = rows("bernoulli")
    return X, y, np.where(y == 1, "yes", "no")


KINDS = {
    "array": np.asarray,
    "list": list,
    "objects": lambda words: words.astype(object),
    "pandas": pd.Series,
    "category": lambda words: pd.Series(words, dtype="category"),
    "polars": pl.Series,
    "enum": lambda words: pl.Series(words, dtype=pl.Enum(["no", "yes"])),
    "arrow": lambda words: pa.chunked_array([words[:50].tolist(), words[50:].tolist()]),
}


@pytest.mark.parametrize("family", ["bernoulli", "binomial"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_words_are_a_response_and_the_summary_says_which_is_the_success(answers, kind, family):
    X, y, words = answers
    model, plain = GLM(family).fit(X, KINDS[kind](words)), GLM(family).fit(X, y)
    np.testing.assert_array_equal(model.parameters_, plain.parameters_)
    assert model.levels_ == ("no", "yes")
    assert plain.levels_ is None
    assert "success 'yes' (not 'no')" in str(model.summary())
    assert model.score(X, KINDS[kind](words)) == plain.score(X, y)
    np.testing.assert_array_equal(model.residuals(X, KINDS[kind](words)), plain.residuals(X, y))


def test_the_success_can_be_chosen_and_follows_the_order_of_categories(answers):
    X, y, words = answers
    coefficients = GLM("bernoulli").fit(X, y).parameters_
    turned = [
        GLM("bernoulli", positive="no").fit(X, words),
        GLM("bernoulli", positive=0).fit(X, y),
        GLM("bernoulli", positive=False).fit(X, y == 1),
        GLM("bernoulli", positive=2).fit(X, 2 - y),
        GLM("bernoulli").fit(X, pd.Categorical(words, ["yes", "no"])),
    ]
    for model in turned:
        np.testing.assert_allclose(model.parameters_, -coefficients, rtol=1e-7)
    assert [model.levels_ for model in turned[:2]] == [("yes", "no"), (1.0, 0)]
    assert "success True (not False)" in str(GLM("bernoulli").fit(X, y == 1).summary())
    assert GLM("bernoulli").fit(X, pd.Series(["", "a"] * 200)).levels_ == ("", "a")


def test_words_may_come_in_batches_of_one_value_and_are_saved(answers, tmp_path):
    X, y, words = answers
    order = np.argsort(words)
    parts = [(X[some], words[some]) for some in np.array_split(order, 7)]
    model = GLM("bernoulli").fit(suffice.stream(parts))
    np.testing.assert_allclose(model.parameters_, GLM("bernoulli").fit(X, y).parameters_, rtol=1e-8)
    suffice.save(model, tmp_path / "glm.suffice")
    loaded = suffice.load(tmp_path / "glm.suffice")
    assert loaded.levels_ == ("no", "yes")
    assert loaded.score(X, words) == model.score(X, words)


def test_responses_that_are_not_two_words_are_errors(answers):
    X, _, words = answers
    with pytest.raises(ValueError, match="a binomial response has two values, but y has 3: 'maybe', 'no', 'yes'"):
        GLM("bernoulli").fit(X, np.where(np.arange(len(X)) == 5, "maybe", words))
    with pytest.raises(ValueError, match="y holds 'yes' in every row, so it is not known whether that is a success"):
        GLM("bernoulli").fit(X, ["yes"] * len(X))
    with pytest.raises(ValueError, match="positive='si' is not a value of y, whose values are 'no', 'yes'"):
        GLM("bernoulli", positive="si").fit(X, words)
    with pytest.raises(ValueError, match="but a poisson response has none"):
        GLM("poisson", positive="yes").fit(X, words)
    with pytest.raises(ValueError, match="two columns, successes and failures, so that positive='yes' has no meaning"):
        GLM("binomial", positive="yes").fit(X, np.column_stack([words == "yes", words == "no"]))
    model = GLM("bernoulli").fit(X, words)
    with pytest.raises(ValueError, match="y holds 'si' in row 3, but in training its values were 'no' and 'yes'"):
        model.score(X, np.where(np.arange(len(X)) == 3, "si", words))
    incomplete = np.where(np.arange(len(X)) == 7, None, words.astype(object))
    with pytest.raises(ValueError, match=r"y is missing \(NaN or None\) in 1 of 200 rows \(first: row 7\)"):
        GLM("bernoulli").fit(suffice.stream([(X[:200], incomplete[:200]), (X[200:], incomplete[200:])]))
    with pytest.raises(ValueError, match=r"y is missing .* \(first: row 207\)"):
        GLM("bernoulli").fit(suffice.stream([(X[:200], words[:200]), (X[:200], incomplete[:200])]))


# -- priors and guards --------------------------------------------------------------------------------------------


def test_alpha_is_the_ridge_of_scikit_learn():
    X, y = rows("poisson")
    theirs = PoissonRegressor(alpha=5.0 / len(y), tol=1e-12, solver="newton-cholesky").fit(X, y)
    ours = GLM("poisson", alpha=5.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-7)
    np.testing.assert_allclose(GLM(alpha=5.0).fit(X, y).coef_, Ridge(alpha=5.0).fit(X, y).coef_, rtol=1e-9)


def test_firths_correction_adds_half_a_row_to_every_cell_of_a_table():
    """In a 2×2 table Jeffreys' prior is half a row in every cell; for one Poisson rate, half an event in all."""
    exposed, ill = np.repeat([0.0, 0.0, 1.0, 1.0], [9, 3, 2, 7]), np.repeat([0, 1, 0, 1], [9, 3, 2, 7])
    model = GLM("bernoulli", firth=True).fit(exposed[:, None], ill)
    assert model.coef_[0] == pytest.approx(np.log(7.5 * 9.5 / (2.5 * 3.5)), rel=1e-8)
    separated = GLM("bernoulli", firth=True).fit(exposed[:, None], exposed)
    assert separated.coef_[0] == pytest.approx(np.log(12.5 * 9.5 / (0.5 * 0.5)), rel=1e-8)
    counts = np.array([0.0, 2.0, 3.0, 1.0])
    rate = GLM("poisson", firth=True, fit_intercept=False).fit(np.ones((4, 1)), counts)
    assert rate.coef_[0] == pytest.approx(np.log((6 + 0.5) / 4), rel=1e-8)
    with pytest.raises(ValueError, match="logistic and log-linear models, not for gaussian"):
        GLM(firth=True).fit(exposed[:, None], ill)


def test_collinear_columns_are_named_in_one_warning_and_left_out():
    X, y = rows("poisson")
    frame = pd.DataFrame(X, columns=list("abc")).assign(sum=X[:, 0] + 2 * X[:, 1], one=1e8 + 0.1)
    with pytest.warns(UserWarning, match="columns 'sum', 'one' can be written in terms of earlier columns") as caught:
        model = GLM("poisson").fit(frame, y)
    assert len(caught) == 1
    assert model.aliased_ == ["sum", "one"]
    plain = GLM("poisson").fit(X, y)
    np.testing.assert_allclose(model.parameters_, [*plain.parameters_, 0, 0], rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, [*plain.std_errors_, np.nan, np.nan], rtol=1e-7)
    assert model.aic_ == pytest.approx(plain.aic_, rel=1e-12)
    assert np.isfinite(GLM("poisson", alpha=1e-3).fit(frame, y).std_errors_).all()


def test_separated_responses_give_finite_coefficients_and_one_warning_that_names_the_column():
    rng = np.random.default_rng(0)
    noise, divides = rng.normal(size=(2, 200))
    y = divides > 0.1
    with pytest.warns(
        UserWarning, match=r"columns? .*'divides' separates? the responses perfectly.*firth=True"
    ) as caught:
        model = GLM("bernoulli").fit(pd.DataFrame({"noise": noise, "divides": divides}), y)
    assert len(caught) == 1
    assert np.isfinite(model.parameters_).all()
    assert np.isfinite(model.std_errors_).all()
    assert model.deviance_ < 1e-3
    np.testing.assert_array_equal(model.predict(pd.DataFrame({"noise": noise, "divides": divides})) > 0.5, y)
    level = rng.choice(["a", "b", "c"], 200)
    counts = np.where(level == "c", 0, rng.poisson(3, 200))
    with pytest.warns(UserWarning, match=r"column 'level\[c\]' separates the responses"):
        model = GLM("poisson").fit(pd.DataFrame({"level": level}), counts)
    assert model.predict(pd.DataFrame({"level": ["a", "c"]}))[0] == pytest.approx(counts[level == "a"].mean(), rel=1e-6)
    assert model.predict(pd.DataFrame({"level": ["c"]}))[0] < 1e-6


def test_rare_events_are_not_mistaken_for_separation():
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    y = np.zeros(50_000)
    y[[3, 500, 7000, 20_000, 49_999]] = 1
    assert np.isfinite(GLM("bernoulli").fit(X, y).std_errors_).all()


def test_more_columns_than_rows_fit_every_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 12)), rng.normal(size=5)
    with pytest.warns(UserWarning, match="columns 'x4', 'x5', .* can be written in terms of earlier columns"):
        model = GLM().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)
    assert model.log_likelihood_ == np.inf
    assert np.isnan(model.dispersion_)
    assert "nan (estimated)" in str(model.summary())


def test_too_few_iterations_are_said():
    X, y = rows("bernoulli")
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations; raise max_iter"):
        GLM("bernoulli", max_iter=1).fit(X, y)


# -- inference ----------------------------------------------------------------------------------------------------


def test_gaussian_intervals_are_those_of_least_squares():
    X, y = rows("gaussian", n=30)
    model = GLM().fit(X, y)
    Z = np.column_stack([np.ones(30), X])
    beta = np.linalg.solve(Z.T @ Z, Z.T @ y)
    variance = ((y - Z @ beta) ** 2).sum() / 26
    errors = np.sqrt(variance * np.diag(np.linalg.inv(Z.T @ Z)))
    t = stats.t.ppf(0.95, 26)
    np.testing.assert_allclose(model.conf_int(0.9), np.column_stack([beta - t * errors, beta + t * errors]), rtol=1e-9)
    spread = np.einsum("ij,jk,ik->i", Z, np.linalg.inv(Z.T @ Z), Z) * variance
    for of, extra in (("mean", 0.0), ("observation", variance)):
        margin = t * np.sqrt(spread + extra)
        expected = np.column_stack([Z @ beta - margin, Z @ beta + margin])
        np.testing.assert_allclose(model.predict_interval(X, 0.9, of=of), expected, rtol=1e-9)
    summary = model.summary()
    np.testing.assert_allclose(summary.p_values, 2 * stats.t.sf(np.abs(beta / errors), 26), rtol=1e-9)
    assert model.score(X, y) == pytest.approx(r2_score(y, Z @ beta), rel=1e-12)


def test_intervals_cover_as_often_as_they_say():
    covered, means = [], []
    for seed in range(60):
        X, y = rows("poisson", n=100, seed=seed)
        model = GLM("poisson").fit(X, y)
        low, high = model.conf_int(0.9).T
        covered.append((low < [0.4, 0.5, -0.3, 0.2]) & (high > [0.4, 0.5, -0.3, 0.2]))
        low, high = model.predict_interval(X, 0.9).T
        truth = np.exp(0.4 + X @ [0.5, -0.3, 0.2])
        means.append((low < truth) & (truth < high))
    assert 0.82 < np.mean(covered) < 0.96
    assert 0.8 < np.mean(means) < 0.97
    low, high = model.predict_interval(X, 0.9, of="observation").T
    assert np.mean((low <= y) & (y <= high)) > 0.85


def test_residuals_add_up_to_the_deviance_and_to_pearsons_statistic():
    X, y = rows("gamma")
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = GLM("gamma", "log").fit(X, y, weight)
    assert (model.residuals(X, y, sample_weight=weight) ** 2).sum() == pytest.approx(model.deviance_, rel=1e-9)
    pearson = (model.residuals(X, y, "pearson", sample_weight=weight) ** 2).sum()
    assert pearson / (len(y) - 4) == pytest.approx(model.dispersion_, rel=1e-6)
    np.testing.assert_allclose(model.residuals(X, y, "response"), y - model.predict(X))
    np.testing.assert_allclose(model.residuals(X, y, "working"), y / model.predict(X) - 1, rtol=1e-9)
    with pytest.raises(ValueError, match="'deviance', 'pearson', 'response' or 'working'"):
        model.residuals(X, y, "student")
    explained = 1 - model.deviance_ / model.null_deviance_
    assert model.score(X, y, weight) == pytest.approx(explained, rel=1e-9)


def test_a_summary_prints_with_and_without_rich(smokers):
    frame, visits = smokers
    summary = GLM("poisson").fit(frame, visits).summary()
    text = str(summary)
    assert text.startswith("poisson regression, log link, 900 rows")
    assert f"{summary.estimates[2]:.5g}" in text
    assert "city[Lyon]" in text
    from rich.console import Console

    console = Console(record=True, width=100, file=io.StringIO())
    console.print(summary)
    shown = console.export_text()
    assert "city[Lyon]" in shown
    assert "AIC" in shown
    assert "<td>city[Lyon]</td>" in summary._repr_html_()


# -- the way there ------------------------------------------------------------------------------------------------


def test_a_start_saves_iterations():
    X, y = rows("poisson")
    model = GLM("poisson").fit(X, y)
    assert model.n_iter_ > 2
    again = GLM("poisson").fit(X, y, start=model)
    assert again.n_iter_ <= 2
    np.testing.assert_allclose(again.parameters_, model.parameters_, rtol=1e-9)
    assert GLM("poisson").fit(X, y, start=model.parameters_).n_iter_ <= 2
    with pytest.raises(ValueError, match="start must be 4 finite numbers, the intercept and one for each of 3 columns"):
        GLM("poisson").fit(X, y, start=[1.0])


def test_beginning_with_some_of_many_rows_changes_nothing_but_the_iterations(monkeypatch):
    X, y = rows("poisson", n=40_000)
    whole = GLM("poisson").fit(X, y)
    monkeypatch.setattr("suffice.glm.rows.SAMPLE_ROWS", 2000)
    sampled = GLM("poisson").fit(X, y)
    assert sampled.n_iter_ < whole.n_iter_
    np.testing.assert_allclose(sampled.parameters_, whole.parameters_, rtol=1e-9)
    np.testing.assert_allclose(sampled.std_errors_, whole.std_errors_, rtol=1e-8)


def test_too_many_parameters_for_a_hessian_give_the_same_coefficients(monkeypatch):
    X, y = rows("poisson")
    newton = GLM("poisson", alpha=1.0).fit(X, y)
    for module in ("fitting", "regression"):
        monkeypatch.setattr(f"suffice.glm.{module}.MOST_PARAMETERS", 2)
    wide = GLM("poisson", alpha=1.0).fit(X, y)
    np.testing.assert_allclose(wide.parameters_, newton.parameters_, rtol=1e-4)
    assert np.isnan(wide.std_errors_).all()


@pytest.mark.skipif(compiled.library is None, reason="the kernels are not built")
@pytest.mark.parametrize("family", ["bernoulli", "binomial", "poisson", "gamma"])
@pytest.mark.parametrize("columns", [1, 7, 8, 50])
def test_the_compiled_pass_gives_the_sums_of_its_fallback(family, columns, monkeypatch):
    rng = np.random.default_rng(0)
    X, (_, y) = 5.0 + rng.normal(size=(3001, columns)), rows(family, n=3001)
    theta = np.append(0.1, rng.normal(size=columns) / columns)
    for weight, offset in ((None, None), (rng.random(3001), rng.normal(size=3001))):
        chunk = Chunk((X,), target=Target(y, weight, offset))
        at = Point(pair(as_response(family), as_link("log") if family == "gamma" else None), X.mean(0), theta)
        fast = newton_sums(chunk, at)
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "library", None)
            slow = newton_sums(chunk, at)
        assert fast.half_deviance == pytest.approx(slow.half_deviance, rel=1e-12)
        np.testing.assert_allclose(fast.gradient, slow.gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fast.hessian, slow.hessian, rtol=1e-10, atol=1e-9)


def test_families_and_links_can_be_objects_and_unknown_ones_are_said():
    X, y = rows("poisson")
    named = GLM("poisson", "sqrt").fit(np.abs(X), y)
    given = GLM(Poisson(), Power(0.5)).fit(np.abs(X), y)
    np.testing.assert_array_equal(named.parameters_, given.parameters_)
    with pytest.raises(ValueError, match="unknown family 'weibull'; give one of 'gaussian'"):
        GLM("weibull").fit(X, y)
    with pytest.raises(ValueError, match="unknown link 'cauchit'; give one of 'identity'"):
        GLM(link="cauchit").fit(X, y)
    with pytest.raises(ValueError, match="alpha must be a number that is not negative"):
        GLM(alpha=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="the shape of a negative binomial must be a positive number"):
        GLM("negative-binomial", shape=0.0).fit(X, y)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("normal", "gaussian"), ("Gaussian", "gaussian"), ("inverse_gaussian", "inverse-gaussian"),
        ("inverse gaussian", "inverse-gaussian"), ("InverseGaussian", "inverse-gaussian"), ("nb", "negative-binomial"),
        ("negative_binomial", "negative-binomial"), ("Negative Binomial", "negative-binomial"),
        ("negbin", "negative-binomial"), (suffice.Gamma(), "gamma"), (suffice.InverseGaussian, "inverse-gaussian"),
        (suffice.NegativeBinomial, "negative-binomial"),
    ],
)  # fmt: skip
def test_a_family_has_many_names(name, other):
    assert as_response(name) == as_response(other)
    X, y = rows(other)
    link = "log" if other == "inverse-gaussian" else None
    np.testing.assert_array_equal(GLM(name, link).fit(X, y).parameters_, GLM(other, link).fit(X, y).parameters_)


def test_names_of_families_are_those_of_all_estimators():
    assert as_family("normal") == as_family("gaussian")
    assert as_family("nb") == as_family("negative-binomial")
    assert as_response(suffice.NegativeBinomial(3.0)) == as_response("nb", 3.0)
    assert as_link("inverse_squared") == as_link("1/mu^2") == as_link("Inverse Squared") == Power(-2.0)
    assert as_link("complementary log-log") == as_link("cloglog") == as_link("c-log-log")


# -- the shape of a negative binomial -----------------------------------------------------------------------------


def test_no_other_shape_is_more_likely_with_its_own_coefficients():
    X, y = rows("negative-binomial")
    model = GLM("nb").fit(X, y)
    assert model.converged_
    for factor in (0.98, 1.02):
        given = GLM("nb", shape=factor * model.shape_).fit(X, y)
        assert given.log_likelihood_ < model.log_likelihood_
        assert "(given)" in str(given.summary())
        assert np.isnan(given.shape_std_error_)
    same = GLM("nb", shape=model.shape_).fit(X, y)
    np.testing.assert_allclose(same.parameters_, model.parameters_, rtol=1e-6)
    assert same.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-12)
    assert model.aic_ == pytest.approx(same.aic_ + 2, rel=1e-12)
    h = 1e-3 * model.shape_
    mu = model.predict(X)

    def likely(theta):
        return stats.nbinom.logpmf(y, theta, theta / (theta + mu)).sum()

    bend = (likely(model.shape_ + h) - 2 * likely(model.shape_) + likely(model.shape_ - h)) / h**2
    assert model.shape_std_error_ == pytest.approx(1 / np.sqrt(-bend), rel=1e-4)
    assert f"shape {model.shape_:.5g} ± {model.shape_std_error_:.4g} (estimated)" in str(model.summary())


def test_an_estimated_shape_follows_weights_offsets_and_batches():
    X, y = rows("negative-binomial")
    weight = np.arange(len(y)) % 3
    weighted = GLM("nb").fit(X, y, weight)
    repeated = GLM("nb").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.shape_ == pytest.approx(repeated.shape_, rel=1e-6)
    assert weighted.shape_std_error_ == pytest.approx(repeated.shape_std_error_, rel=1e-6)
    hours = np.random.default_rng(1).uniform(1, 4, len(y))
    whole = GLM("nb").fit(np.column_stack([X, hours]), y, exposure=3)
    parts = [(np.column_stack([X, hours])[i : i + 77], y[i : i + 77]) for i in range(0, len(y), 77)]
    streamed = GLM("nb").fit(suffice.stream(parts), exposure=3)
    assert streamed.shape_ == pytest.approx(whole.shape_, rel=1e-6)
    assert streamed.null_deviance_ == pytest.approx(whole.null_deviance_, rel=1e-8)
    thin = GLM("nb").fit(sparse.csr_array(X), y)
    assert thin.shape_ == pytest.approx(GLM("nb").fit(X, y).shape_, rel=1e-6)
    assert GLM("nb", fit_intercept=False).fit(X, y).shape_ < thin.shape_


def test_counts_that_vary_no_more_than_poisson_counts_are_fitted_as_such():
    X, _ = rows("poisson")
    y = np.random.default_rng(0).binomial(10, 0.5, len(X))
    with pytest.warns(UserWarning, match="the estimated shape is infinite: the fit is that of family='poisson'"):
        model = GLM("nb").fit(X, y)
    poisson = GLM("poisson").fit(X, y)
    assert model.shape_ == np.inf
    np.testing.assert_allclose(model.parameters_, poisson.parameters_, rtol=1e-9)
    assert model.log_likelihood_ == pytest.approx(poisson.log_likelihood_, rel=1e-12)
    np.testing.assert_allclose(
        model.predict_interval(X, of="observation"), poisson.predict_interval(X, of="observation"), rtol=1e-8
    )
    assert "inf" in str(model.summary())
    model.set_params(family="poisson").fit(X, y)
    assert not hasattr(model, "shape_")


def test_the_shape_is_found_beside_outliers_and_whatever_the_size_of_weights():
    X, y = rows("negative-binomial")
    wild = np.append(y[:-1], 1e6)
    model = GLM("nb").fit(X, wild)
    assert model.converged_
    assert all(
        GLM("nb", shape=f * model.shape_).fit(X, wild).log_likelihood_ < model.log_likelihood_ for f in (0.99, 1.01)
    )
    plain = GLM("nb").fit(X, y)
    for weight in (1e-6, 1e6):
        assert GLM("nb").fit(X, y, np.full(len(y), weight)).shape_ == pytest.approx(plain.shape_, rel=1e-7)
    assert GLM("nb").fit(X, y, start=plain).shape_ == pytest.approx(plain.shape_, rel=1e-7)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        early = GLM("nb", max_iter=2).fit(X, y)
    assert np.isfinite(early.shape_)
    assert not early.converged_


def test_a_large_shape_costs_no_digits():
    X, y = rows("poisson")
    poisson = GLM("poisson").fit(X, y)
    for shape in (1e6, 1e9, 1e12):
        model = GLM("nb", shape=shape).fit(X, y)
        excess = 0.5 / shape * ((y - poisson.predict(X)) ** 2 - y).sum()
        assert model.log_likelihood_ - poisson.log_likelihood_ == pytest.approx(excess, rel=1e-3, abs=1e-11)


def test_a_loaded_negative_binomial_keeps_its_shape(tmp_path):
    X, y = rows("negative-binomial")
    model = GLM("nb").fit(X, y)
    suffice.save(model, tmp_path / "glm.suffice")
    loaded = suffice.load(tmp_path / "glm.suffice")
    assert (loaded.shape_, loaded.shape_std_error_) == (model.shape_, model.shape_std_error_)
    assert str(loaded.summary()) == str(model.summary())
    np.testing.assert_array_equal(
        loaded.predict_interval(X, of="observation"), model.predict_interval(X, of="observation")
    )


@pytest.mark.parametrize("link", [None, "power(0.25)", Power(1 / 3)])
def test_a_loaded_model_predicts_and_summarises_the_same(smokers, tmp_path, link):
    frame, visits = smokers
    table = frame.assign(hours=2.0)
    model = GLM(Poisson(), link, alpha=0.5).fit(table, visits, offset="hours" if link is None else None)
    suffice.save(model, tmp_path / "glm.suffice")
    loaded = suffice.load(tmp_path / "glm.suffice")
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    np.testing.assert_array_equal(loaded.predict_interval(table), model.predict_interval(table))
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.get_params().keys() == model.get_params().keys()
    with pytest.raises(ValueError, match="call fit on this GLM first"):
        suffice.save(GLM(), tmp_path / "glm.suffice")


@pytest.mark.parametrize(("family", "near"), [("gama", "gamma"), ("Poison", "poisson"), ("invers gaussian", "inverse")])
def test_unknown_families_and_links_name_the_nearest_one(family, near):
    with pytest.raises(ValueError, match=f"unknown family {family!r}; did you mean '{near}"):
        GLM(family).fit([[0.0], [1.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="unknown link 'ident'; did you mean 'identity'"):
        GLM(link="ident").fit([[0.0], [1.0]], [1.0, 2.0])
