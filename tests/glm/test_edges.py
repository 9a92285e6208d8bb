"""Linear models at their edges: offsets in scores, means at a limit, heavy tails, many columns, wrong input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import GLM, LogisticRegression, Poisson
from suffice.glm import as_link, as_response
from suffice.glm.pairs import pair
from suffice.glm.rows import _spread
from suffice.optimize.newton import Local, Problem, run


def rows(n=300, seed=0):
    """Rows and their log-means."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 0.4 + X @ [0.5, -0.3, 0.2], rng


# -- scores -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["poisson", "gamma", "bernoulli", "gaussian"])
def test_a_score_is_the_explained_share_of_the_deviance_beside_the_same_offset(family):
    X, eta, rng = rows()
    offset, weight = rng.normal(size=len(X)), rng.uniform(0.5, 2, len(X))
    y = {
        "poisson": lambda: rng.poisson(np.exp(eta + offset)),
        "gamma": lambda: rng.gamma(3.0, np.exp(eta + offset) / 3.0),
        "bernoulli": lambda: rng.random(len(X)) < 1 / (1 + np.exp(-eta - offset)),
        "gaussian": lambda: eta + offset + rng.normal(size=len(X)),
    }[family]()
    model = GLM(family, "log" if family == "gamma" else None).fit(X, y, weight, offset=offset)
    explained = 1 - model.deviance_ / model.null_deviance_
    assert model.score(X, y, weight, offset=offset) == pytest.approx(explained, rel=1e-9)
    frame = pd.DataFrame(X, columns=list("abc")).assign(shift=offset)
    named = GLM(family, "log" if family == "gamma" else None).fit(frame, y, weight, offset="shift")
    assert named.score(frame, y, weight) == pytest.approx(explained, rel=1e-9)
    chunks = suffice.stream(lambda: (frame[i : i + 77] for i in range(0, len(frame), 77)))
    assert named.score(chunks, y, weight) == pytest.approx(explained, rel=1e-9)


def test_offsets_far_from_zero_do_not_hinder_the_model_without_columns():
    X, eta, rng = rows()
    y = rng.poisson(np.exp(eta))
    hours = np.exp(200.0 + 0.1 * rng.normal(size=len(X)))
    model = GLM("poisson").fit(X, y, exposure=hours)
    rate = y.sum() / hours.sum()
    mu = hours * rate
    expected = 2 * (np.where(y > 0, y * np.log(np.maximum(y, 1) / mu), 0) - (y - mu)).sum()
    assert model.null_deviance_ == pytest.approx(expected, rel=1e-9)


def test_scores_and_residuals_stay_finite_where_a_probability_rounds_to_one():
    X, eta, rng = rows()
    y = rng.random(len(X)) < 1 / (1 + np.exp(-eta))
    far = np.vstack([X, [[1e4, 0, 0], [-1e4, 0, 0]]])
    for link in ("logit", "probit", "cloglog"):
        model = GLM("bernoulli", link).fit(X, y)
        for last in ([1, 0], [0, 1]):
            truth = np.append(y, last)
            assert np.isfinite(model.score(far, truth))
            for kind in ("deviance", "response"):
                assert np.isfinite(model.residuals(far, truth, kind)).all()
        right = model.residuals(far, np.append(y, [1, 0]))[-2:]
        np.testing.assert_allclose(right, 0, atol=1e-6)
    logit = GLM("bernoulli").fit(X, y)
    assert np.isfinite(logit.residuals(far, np.append(y, [1, 0]), "pearson")).all()
    wrong = logit.residuals(far, np.append(y, [0, 1]))[-2:]
    np.testing.assert_allclose(wrong**2, 2 * np.abs(logit.linear_predictor(far)[-2:]), rtol=1e-12)


@pytest.mark.parametrize(("family", "value"), [("bernoulli", 1), ("poisson", 0), ("poisson", 3), ("gaussian", 3.3)])
def test_rows_with_a_constant_response_have_a_finite_score(family, value):
    X, eta, rng = rows()
    y = rng.random(len(X)) < 0.5 if family == "bernoulli" else rng.poisson(np.exp(eta))
    model = GLM(family).fit(X, y)
    fold = np.full(7, value)
    assert model.score(X[:7], fold) == 0.0
    if family == "gaussian":
        assert GLM().fit(X[:7], fold).score(X[:7], fold) == 1.0
    with pytest.raises(
        ValueError, match="at least one row must have a positive weight, but all sample_weight are zero"
    ):
        model.score(X, y, np.zeros(len(X)))


# -- offsets and columns ------------------------------------------------------------------------------------------


def test_a_named_offset_is_read_from_the_table_or_said_to_be_missing():
    X, eta, rng = rows()
    frame = pd.DataFrame(X, columns=list("abc")).assign(hours=rng.uniform(1, 3, len(X)), days=1.0)
    y = rng.poisson(frame["hours"] * np.exp(eta))
    model = GLM("poisson").fit(frame, y, exposure="hours", offset="days")
    np.testing.assert_allclose(model.predict(frame, exposure="days"), model.predict(frame) / frame["hours"])
    np.testing.assert_allclose(model.predict(frame, exposure=np.ones(len(X))), model.predict(frame) / frame["hours"])
    for call in (model.predict, model.predict_interval, model.linear_predictor):
        with pytest.raises(ValueError, match="`offset` names column 'weeks', which the table does not have"):
            call(frame, offset="weeks")
    plain = GLM("poisson").fit(X, y)
    with pytest.raises(ValueError, match="`exposure` names column 'hours', which the table does not have"):
        plain.predict(X, exposure="hours")


def test_a_whole_number_is_a_column_by_its_place_and_another_scalar_is_refused():
    X, eta, rng = rows()
    y = rng.poisson(np.exp(eta))
    by_place = GLM("poisson").fit(X, y, offset=2)
    given = GLM("poisson").fit(X[:, :2], y, offset=X[:, 2])
    np.testing.assert_allclose(by_place.parameters_, given.parameters_, rtol=1e-9)
    np.testing.assert_allclose(by_place.predict(X), given.predict(X[:, :2], offset=X[:, 2]), rtol=1e-9)
    thin = sparse.csr_array(X)
    np.testing.assert_allclose(GLM("poisson").fit(thin, y, offset=2).coef_, by_place.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="`offset` names column 3, which the table does not have"):
        GLM("poisson").fit(X, y, offset=3)
    with pytest.raises(ValueError, match="exposure must hold one number per row, or be a column's name or place"):
        GLM("poisson").fit(X, y, exposure=1.5)
    for scalar in (3.0, "y", np.array(3.0)):
        with pytest.raises(ValueError, match="y needs one number per row, but is the single"):
            GLM("poisson").fit(X, scalar)
    with pytest.raises(ValueError, match="y needs one label per row, but is the single value 'y'"):
        LogisticRegression().fit(X, "y")


# -- means at a limit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("link", "limit"), [("inverse", np.inf), ("inverse-squared", np.inf), ("sqrt", 0.0)])
def test_a_mean_beyond_the_link_is_its_limit_and_is_said_once(link, limit):
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (300, 1))
    y = rng.gamma(20.0, as_link(link).inverse(0.5 * x[:, 0]) / 20.0)
    model = GLM("gamma", link).fit(x, y)
    with pytest.warns(UserWarning, match=rf"the {link} link has a mean for η > 0 alone.*first: .* in row 1") as caught:
        found = model.predict([[1.5], [-50.0], [-60.0]])
    assert len(caught) == 1
    np.testing.assert_array_equal(found[1:], limit)
    assert np.isfinite(found[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounds = model.predict_interval([[1.5], [-50.0]])
    np.testing.assert_array_equal(bounds[1], limit)
    with pytest.warns(UserWarning, match="has a mean for η > 0 alone"):
        bounds = model.predict_interval([[1.5], [-50.0]], of="observation")
    np.testing.assert_array_equal(bounds[1], limit)
    assert bounds[0, 0] < found[0] < bounds[0, 1]
    assert model.score([[1.5], [-50.0], [1.2]], y[:3]) == -np.inf


def test_an_interval_that_reaches_beyond_the_link_ends_at_its_limit():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (30, 1))
    model = GLM("gamma").fit(x, rng.exponential(1 / (0.2 * x[:, 0])))
    low, high = model.predict_interval([[1.5]], level=1 - 1e-12)[0]
    assert 0 < low < model.predict([[1.5]])[0] < np.inf
    assert high == np.inf


# -- heavy tails --------------------------------------------------------------------------------------------------


def best_gamma(X, y, start):
    """The minimum of Σ y e^−η + η, which is convex."""
    Z = np.column_stack([np.ones(len(X)), X])

    def objective(b):
        ratio = y * np.exp(-Z @ b)
        return (ratio + Z @ b).sum(), Z.T @ (1 - ratio), (Z * ratio[:, None]).T @ Z

    for _ in range(100):
        value, gradient, hessian = objective(start)
        step = np.linalg.solve(hessian, gradient)
        while objective(start - step)[0] > value:
            step /= 2
            if np.abs(step).max() < 1e-14:
                return start
        start = start - step
    return start


@pytest.mark.parametrize("n", [400, 20_000])
def test_a_gamma_with_heavy_tails_finds_its_maximum_in_few_iterations(n, monkeypatch):
    X, eta, rng = rows(n)
    y = rng.gamma(3.0, np.exp(eta) / 3.0) * np.where(rng.random(n) < 0.25, 1000.0, 1.0)
    monkeypatch.setattr("suffice.glm.rows.SAMPLE_ROWS", 2000)
    model = GLM("gamma", "log").fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 12
    start = np.append(np.log(y.mean()), np.zeros(3))
    np.testing.assert_allclose(model.parameters_, best_gamma(X, y, start), rtol=1e-6, atol=1e-8)
    assert model.deviance_ <= model.null_deviance_


def test_the_rows_that_a_fit_begins_with_are_spread_over_all_and_follow_no_pattern():
    drawn = _spread(16_001, 4)
    np.testing.assert_array_equal(drawn // 4, np.arange(4000))
    np.testing.assert_allclose(np.bincount(drawn % 4) / 4000, 0.25, atol=0.03)
    np.testing.assert_array_equal(drawn, _spread(16_001, 4))


def test_a_pattern_of_every_fourth_row_does_not_mislead_the_start(monkeypatch):
    n = 16_000
    X, eta, rng = rows(n)
    often = np.where(np.arange(n) % 4 == 1, 1e6, 1.0)
    monkeypatch.setattr("suffice.glm.rows.SAMPLE_ROWS", 4000)
    y = rng.gamma(3.0, np.exp(eta) / 3.0) * often
    model = GLM("gamma", "log").fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 8
    np.testing.assert_allclose(model.parameters_, best_gamma(X, y, np.append(np.log(y.mean()), np.zeros(3))), rtol=1e-5)


@pytest.mark.parametrize("intercept", [60.0, -60.0])
def test_a_start_where_the_likelihood_is_flat_or_steep_is_left(intercept):
    X, eta, rng = rows()
    y = rng.gamma(3.0, np.exp(eta) / 3.0)
    far = GLM("gamma", "log").fit(X, y, start=[intercept, 0, 0, 0])
    assert far.converged_
    np.testing.assert_allclose(far.parameters_, GLM("gamma", "log").fit(X, y).parameters_, rtol=1e-6)


def test_the_model_without_columns_copes_with_heavy_tails_beside_an_offset():
    X, _, rng = rows()
    offset = 5.0 * rng.normal(size=len(X))
    y = rng.gamma(3.0, size=len(X)) * np.where(rng.random(len(X)) < 0.25, 1e6, 1.0)
    model = GLM("gamma", "log").fit(X, y, offset=offset)
    ratio = y * np.exp(-offset) / np.mean(y * np.exp(-offset))
    assert model.null_deviance_ == pytest.approx(2 * (ratio - 1 - np.log(ratio)).sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("family", "link"),
    [("gamma", "log"), ("gamma", "power(0.25)"), ("gaussian", "log"), ("inverse-gaussian", "log"), ("poisson", "sqrt"),
     ("poisson", "identity"), ("negative-binomial", "log"), ("bernoulli", "probit"), ("bernoulli", "cloglog"),
     ("gamma", "inverse"), ("poisson", "log"), ("inverse-gaussian", "inverse-squared")],
)  # fmt: skip
def test_the_observed_curvature_is_the_slope_of_the_score(family, link):
    model = pair(as_response(family, 2.0), as_link(link))
    rng = np.random.default_rng(0)
    eta, weight, h = rng.uniform(0.3, 1.5, 50), rng.uniform(1, 2, 50), 1e-6
    y = (rng.random(50) < 0.5).astype(float) if family == "bernoulli" else rng.gamma(2.0, 1.0, 50)
    slope = (model.working(eta + h, y, weight).score - model.working(eta - h, y, weight).score) / (2 * h)
    np.testing.assert_allclose(model.observed_curvature(eta, y, weight), -slope, rtol=1e-5, atol=1e-6)
    if model.canonical:
        expected = model.working(eta, y, weight).curvature
        np.testing.assert_allclose(model.observed_curvature(eta, y, weight), expected, rtol=1e-9)


def test_a_step_must_gain_a_share_of_what_the_slope_promises():
    """x²/2 with a Hessian that is just over half of the true one: full steps go to and fro and gain next to nothing."""

    def evaluate(x):
        return Local(float(0.5 * x @ x), x, np.eye(1) * 0.50001)

    problem = Problem(evaluate, lambda here: -here.gradient / 0.50001)
    outcome = run(problem, np.array([1.0]), max_iter=30, tol=1e-9)
    assert outcome.converged
    assert abs(outcome.point[0]) < 1e-4


# -- many columns -------------------------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch):
    """More than two parameters are too many for a Hessian."""
    for module in ("fitting", "regression"):
        monkeypatch.setattr(f"suffice.glm.{module}.MOST_PARAMETERS", 2)


@pytest.mark.parametrize("family", ["poisson", "gaussian", "bernoulli"])
def test_l_bfgs_does_not_mind_the_scale_of_columns(family, few):
    X, eta, rng = rows(2000)
    y = {"poisson": rng.poisson(np.exp(eta)), "gaussian": 1e6 * rng.normal(eta), "bernoulli": rng.random(2000) < 0.6}
    scale = np.array([1e-5, 1.0, 1e5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.glm.fitting.MOST_PARAMETERS", 1500)
        newton = GLM(family).fit(X, y[family])
    wide = GLM(family).fit(X * scale, y[family])
    assert wide.converged_
    np.testing.assert_allclose(wide.coef_ * scale, newton.coef_, rtol=1e-4, atol=1e-5 * np.abs(newton.coef_).max())
    thin = GLM(family).fit(sparse.csr_array(X * scale), y[family])
    np.testing.assert_allclose(thin.coef_ * scale, newton.coef_, rtol=1e-4, atol=1e-5 * np.abs(newton.coef_).max())
    assert "no standard errors: too many parameters for a Hessian" in str(wide.summary())


def test_l_bfgs_of_several_classes_does_not_mind_the_scale_of_columns(monkeypatch):
    X, _, rng = rows(2000)
    y = np.argmax(X + rng.gumbel(size=X.shape), axis=1)
    scale = np.array([1e-5, 1.0, 1e5])
    newton = LogisticRegression().fit(X, y)
    monkeypatch.setattr("suffice.glm.fitting.MOST_PARAMETERS", 2)
    for table in (X * scale, sparse.csr_array(X * scale)):
        wide = LogisticRegression().fit(table, y)
        assert wide.converged_
        np.testing.assert_allclose(wide.coef_ * scale, newton.coef_, atol=1e-4)


def test_l_bfgs_says_its_name_where_its_iterations_are_too_few(few):
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(500, 40)), axis=1)  # neighbours are much alike
    y = rng.poisson(np.exp(0.05 * X[:, -1]))
    with pytest.warns(ConvergenceWarning, match="L-BFGS did not converge in 50 iterations; raise max_iter") as caught:
        assert not GLM("poisson", max_iter=1).fit(X, y).converged_
    assert "L-BFGS makes 50 iterations for each of max_iter" in str(caught[0].message)
    assert GLM("poisson").fit(X, y).n_iter_ > 50


def test_more_columns_than_a_hessian_is_formed_for_are_fitted_whatever_their_scale():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1600))
    y = X[:, :5].sum(axis=1) + rng.normal(size=3000)
    scale = 10.0 ** rng.uniform(-4, 4, 1600)
    model = GLM().fit(X * scale, y)
    assert model.converged_
    Z = X - X.mean(axis=0)
    np.testing.assert_allclose(model.coef_ * scale, np.linalg.solve(Z.T @ Z, Z.T @ y), atol=1e-6)
    assert np.isnan(model.std_errors_).all()


# -- what is said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["identity", "sqrt"])
def test_a_fit_that_ends_at_the_edge_of_its_means_says_so_instead_of_asking_for_more_iterations(link):
    """Means of a Poisson on a line that must not go below 0: the best line touches 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    with pytest.warns(ConvergenceWarning, match="reach the limit of the means that the link can express") as caught:
        model = GLM("poisson", link).fit(X, rng.poisson(np.exp(1.5 * X[:, 0])))
    assert "max_iter" not in str(caught[0].message)
    assert model.predict(X).min() == pytest.approx(0, abs=1e-6)


def test_three_separated_classes_are_not_sent_to_firth():
    X = np.repeat(np.eye(3) * 8, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 3))
    with pytest.warns(UserWarning, match="separate the responses perfectly") as caught:
        LogisticRegression().fit(X, np.repeat([0, 1, 2], 20))
    assert "firth" not in str(caught[0].message)
    assert "alpha > 0" in str(caught[0].message)


@pytest.mark.parametrize(("family", "value"), [("bernoulli", 1), ("bernoulli", 0), ("poisson", 0)])
def test_a_constant_response_is_named_as_the_cause(family, value):
    X = rows(50)[0]
    with pytest.warns(UserWarning, match=f"y is {value} in every row, so the likelihood has no maximum") as caught:
        GLM(family).fit(X, np.full(50, value))
    assert "x0" not in str(caught[0].message)
    y = np.arange(50) % 2
    with pytest.warns(UserWarning, match="no row with a positive weight of class 1, so the likelihood"):
        LogisticRegression().fit(X, y, 1.0 - y)


def test_columns_that_mix_numbers_and_words_are_sent_to_what_a_linear_model_has():
    frame = pd.DataFrame({"a": [1, "x", 2, "y"], "b": [1.0, 2.0, 3.0, 4.0]})
    for model in (GLM(), LogisticRegression()):
        with pytest.raises(
            ValueError, match=r"column 'a' mixes numbers with text.*turn all of its cells into words"
        ) as e:
            model.fit(frame, [0, 1, 0, 1])
        assert "families" not in str(e.value)
    with pytest.raises(ValueError, match="pass families="):
        suffice.GenerativeClassifier().fit(frame, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"alpha": "a"}, {}, "alpha must be a number that is not negative, not 'a'"),
        ({"alpha": [1, 2]}, {}, r"alpha must be a number that is not negative, not \[1, 2\]"),
        ({"tol": None}, {}, "tol must be a number that is not negative, not None"),
        ({"max_iter": "many"}, {}, "max_iter must be a whole number of at least 1, not 'many'"),
        ({}, {"sample_weight": "age"}, "sample_weight needs one number per row, but it is 'age'"),
        ({}, {"start": "auto"}, "start must be an array of the intercept and the coefficients.*not 'auto'"),
    ],
)
def test_wrong_settings_are_named(settings, given, message):
    X, _, rng = rows(40)
    for model, y in ((GLM(**settings), rng.normal(size=40)), (LogisticRegression(**settings), np.arange(40) % 3)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, **given)


def test_the_shape_of_a_negative_binomial_must_be_a_number():
    X, eta, rng = rows(100)
    y = rng.poisson(np.exp(eta))
    with pytest.raises(ValueError, match=r"the shape of a negative binomial must be a positive number, .* not 'auto'"):
        GLM("negative-binomial", shape="auto").fit(X, y)
    one, other = (GLM(name, shape=2.0).fit(X, y) for name in ("negative-binomial", "negative_binomial"))
    np.testing.assert_array_equal(one.parameters_, other.parameters_)


@pytest.mark.parametrize(("scale", "size"), [(1e-200, "small"), (1e200, "large")])
def test_columns_that_cannot_be_squared_are_named(scale, size):
    X, _, rng = rows(60)
    X[:, 1] *= scale
    for model, y in (
        (GLM(), rng.normal(size=60)), (GLM("poisson"), np.arange(60) % 5), (LogisticRegression(), np.arange(60) % 2),
        (LogisticRegression(), np.arange(60) % 3),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"column 1 holds numbers that are too {size} to square.*scale it"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="the numbers of y are too large to square; scale y"):
        GLM().fit(rows(60)[0], np.full(60, 1e200))
    np.testing.assert_allclose(GLM().fit(*rows(60)[:2]).coef_, [0.5, -0.3, 0.2])
    tiny = GLM().fit(rows(60)[0], 1e-200 * rows(60)[1])
    np.testing.assert_allclose(tiny.coef_, [0.5e-200, -0.3e-200, 0.2e-200], rtol=1e-6)
    constant = np.column_stack([rows(60)[0], np.full(60, 0.1), np.zeros(60)])
    with pytest.warns(UserWarning, match="columns 'x3', 'x4' can be written in terms of earlier columns"):
        GLM().fit(constant, rng.normal(size=60))


def test_a_family_can_be_saved_as_its_class(tmp_path):
    X, eta, rng = rows(100)
    model = GLM(Poisson).fit(X, rng.poisson(np.exp(eta)))
    suffice.save(model, tmp_path / "model.suffice")
    np.testing.assert_array_equal(suffice.load(tmp_path / "model.suffice").predict(X), model.predict(X))


def test_the_start_is_never_better_than_what_is_returned():
    X, eta, rng = rows()
    y = rng.gamma(0.1, 10 * np.exp(eta)) ** 2 + 1e-3
    for family, link in (("gamma", "log"), ("inverse-gaussian", "log"), ("gaussian", "log")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = GLM(family, link).fit(X, y)
            assert model.deviance_ <= model.null_deviance_ * (1 + 1e-12)
            again = GLM(family, link).fit(X, y, start=model)
        assert again.deviance_ <= model.deviance_ * (1 + 1e-12)
