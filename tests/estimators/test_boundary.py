"""The boundary of two classes with linear log-odds: w, x0 and the class prior, by hand."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

import suffice
from suffice import (
    Bernoulli,
    GaussianDiscriminant,
    GenerativeClassifier,
    GivenSphere,
    Multinomial,
    NaiveBayes,
    Poisson,
    plot,
)

mpl.use("agg")
data = load_iris(as_frame=True)
X, y = data.data, data.target_names[data.target]
rows = X.to_numpy()


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def by_hand(target, against):
    means = {c: rows[y == c].mean(0) for c in set(y)}
    sigma = sum((rows[y == c] - means[c]).T @ (rows[y == c] - means[c]) for c in means) / len(rows)
    delta = means[target] - means[against]
    return means, np.linalg.solve(sigma, delta), delta


@pytest.mark.parametrize("classes", [("virginica", "setosa"), ("versicolor", "virginica")])
def test_w_and_x0_are_the_textbooks_for_any_two_classes(classes):
    prior = {"setosa": 0.2, "versicolor": 0.5, "virginica": 0.3}
    model = GaussianDiscriminant("tied", prior=None, class_prior=prior).fit(X, y)
    found = model.boundary(*classes)
    means, w, delta = by_hand(*classes)
    log_odds = np.log(prior[classes[0]] / prior[classes[1]])
    x0 = 0.5 * (means[classes[0]] + means[classes[1]]) - log_odds / (delta @ w) * delta
    np.testing.assert_allclose(found.w, w, rtol=1e-9)
    np.testing.assert_allclose(found.x0, x0, rtol=1e-10)
    assert found.b == pytest.approx(-w @ x0)
    assert found.separation == pytest.approx(np.sqrt(delta @ w))
    np.testing.assert_allclose(found.midpoint, (found.means[0] + found.means[1]) / 2)
    logs = model.predict_log_proba(X)
    target, against = (list(model.classes_).index(c) for c in classes)
    np.testing.assert_allclose(found.log_odds(X), logs[:, target] - logs[:, against], atol=1e-9)
    np.testing.assert_allclose(found.projection(rows), (rows - x0) @ w / np.linalg.norm(w), atol=1e-10)
    p = model.predict_proba(X)[:, [target, against]]
    np.testing.assert_allclose(found.probability(X), p[:, 0] / p.sum(1), atol=1e-9)
    turned = model.boundary(*reversed(classes))
    np.testing.assert_allclose(turned.x0, found.x0)
    np.testing.assert_allclose(turned.w, -found.w)


def test_another_prior_moves_x0_along_the_line_through_the_means():
    model = GaussianDiscriminant("tied", prior=None).fit(X, y)
    found = model.boundary("virginica", "versicolor")
    for share in (0.03, 0.5, 0.8):
        prior = {"setosa": 0.0, "virginica": share, "versicolor": 1 - share}
        refitted = GaussianDiscriminant("tied", prior=None, class_prior=prior).fit(X, y)
        other = refitted.boundary("virginica", "versicolor")
        for moved in (found.with_prior(share), found.with_prior(prior)):
            np.testing.assert_allclose(moved.x0, other.x0, rtol=1e-9)
            assert moved.log_prior_odds == pytest.approx(other.log_prior_odds)
    np.testing.assert_allclose(found.with_prior(0.5).x0, found.midpoint)
    assert found.with_prior(0.9).x0[0] < found.x0[0] < found.with_prior(0.1).x0[0]


def test_with_a_sphere_w_is_parallel_to_the_line_through_the_means():
    found = GaussianDiscriminant(GivenSphere(0.25), class_prior="uniform").fit(X, y).boundary("setosa", "virginica")
    np.testing.assert_allclose(found.w, (found.means[0] - found.means[1]) / 0.25)
    nearer = ((rows - found.means[0]) ** 2).sum(1) < ((rows - found.means[1]) ** 2).sum(1)
    np.testing.assert_array_equal(found.projection(rows) > 0, nearer)


def test_two_classes_need_no_names_and_point_the_way_of_coef():
    two = y != "setosa"
    model = GaussianDiscriminant("tied").fit(X[two], y[two])
    found = model.boundary()
    assert (found.target, found.against) == ("virginica", "versicolor")
    assert model.boundary("versicolor").against == "virginica"
    assert model.boundary(against="virginica").target == "versicolor"
    np.testing.assert_allclose(found.w, model.coef_[0])
    assert found.b == pytest.approx(model.intercept_[0])
    np.testing.assert_array_equal(found.x0, model.boundary_point_)


def test_coefficients_of_several_classes_are_the_natural_parameters():
    model = GaussianDiscriminant("tied", prior=None).fit(X, y)
    (found,) = model.distributions_
    precision = np.linalg.inv(found.covariance()[0])
    np.testing.assert_allclose(model.coef_, found.means @ precision, rtol=1e-9)
    gamma = np.log(1 / 3) - 0.5 * np.einsum("ki,ij,kj->k", found.means, precision, found.means)
    np.testing.assert_allclose(model.intercept_, gamma, rtol=1e-9)
    naive = NaiveBayes({tuple(X.columns): suffice.Gaussian("tied-diagonal")}, prior=None).fit(X, y)
    (found,) = naive.distributions_
    np.testing.assert_allclose(naive.coef_, found.mean() / found.variance(), rtol=1e-12)
    gamma = np.log(1 / 3) - 0.5 * (found.mean() ** 2 / found.variance()).sum(1)
    np.testing.assert_allclose(naive.intercept_, gamma, rtol=1e-12)


def test_coefficients_of_discrete_columns_are_their_log_odds_and_log_rates():
    counts = np.array([[1, 0], [2, 1], [0, 3], [1, 4], [5, 5], [6, 5]])
    labels = ["a", "a", "b", "b", "c", "c"]
    model = NaiveBayes(Poisson()).fit(counts, labels)
    rate = model.distributions_[0].rate
    np.testing.assert_allclose(model.coef_, np.log(rate))
    np.testing.assert_allclose(model.intercept_, np.log(1 / 3) - rate.sum(1))
    model = NaiveBayes(Bernoulli()).fit(counts > 1, labels)
    p = model.distributions_[0].probability
    np.testing.assert_allclose(model.coef_, np.log(p / (1 - p)))
    np.testing.assert_allclose(model.intercept_, np.log(1 / 3) + np.log(1 - p).sum(1))


def test_a_constant_column_has_no_coefficient_and_no_part_in_x0():
    wide = np.column_stack([rows, np.full(len(rows), 1e8)])
    model, other = GaussianDiscriminant("tied").fit(wide, y), GaussianDiscriminant("tied").fit(rows, y)
    np.testing.assert_allclose(model.coef_, np.column_stack([other.coef_, np.zeros(3)]), rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-9)
    found = model.boundary("setosa", "virginica")
    assert found.x0[-1] == 1e8
    np.testing.assert_allclose(found.log_odds(wide), other.boundary("setosa", "virginica").log_odds(rows), atol=1e-7)


def test_far_from_0_nothing_is_lost():
    near = GaussianDiscriminant("tied").fit(rows, y).boundary("setosa", "virginica")
    far = GaussianDiscriminant("tied").fit(rows + 1e8, y).boundary("setosa", "virginica")
    np.testing.assert_allclose(far.w, near.w, rtol=1e-6)
    np.testing.assert_allclose(far.log_odds(rows + 1e8), near.log_odds(rows), atol=1e-5)


@pytest.mark.parametrize("family", [Poisson(), Bernoulli(), Multinomial()])
def test_other_linear_models_have_a_point_on_the_line_through_their_means_too(family):
    rng = np.random.default_rng(0)
    counts = rng.poisson([[1, 2, 3]] * 40 + [[3, 2, 1]] * 60)
    counts = counts > 1 if isinstance(family, Bernoulli) else counts
    labels = np.repeat(["a", "b"], [40, 60])
    model = NaiveBayes(family).fit(counts, labels)
    found = model.boundary()
    logs = model.predict_log_proba(counts)
    np.testing.assert_allclose(found.log_odds(counts), logs[:, 1] - logs[:, 0], atol=1e-10)
    place = (found.x0 - found.means[1]) / (found.means[0] - found.means[1])
    np.testing.assert_allclose(place, place[0])
    assert found.covariance is None
    moved = NaiveBayes(family, class_prior=[0.9, 0.1]).fit(counts, labels).boundary()
    np.testing.assert_allclose(found.with_prior(0.1).x0, moved.x0)


def test_any_table_is_read_by_the_names_of_its_columns():
    model = GaussianDiscriminant("tied").fit(X, y)
    found, expected = model.boundary("setosa", "virginica"), None
    expected = found.log_odds(X)
    shuffled = X[X.columns[::-1]].assign(more=1.0)
    for table in (shuffled, pl.from_pandas(shuffled), rows, rows.tolist(), csr_array(rows)):
        np.testing.assert_allclose(found.log_odds(table), expected)
    missing = rows.copy()
    missing[0, 0] = np.nan
    assert np.isnan(found.log_odds(missing)).tolist() == [True] + [False] * (len(rows) - 1)
    with pytest.raises(ValueError, match="X has 3 features, but the boundary is expecting 4"):
        found.log_odds(rows[:, :3])


def test_what_has_no_boundary_says_so():
    model = GaussianDiscriminant("tied").fit(X, y)
    with pytest.raises(ValueError, match=r"two classes, and there are 3; name two of \['setosa'"):
        model.boundary()
    with pytest.raises(ValueError, match="two different classes, but both are 'setosa'"):
        model.boundary("setosa", "setosa")
    with pytest.raises(ValueError, match="there is no class 'rose'"):
        model.boundary("rose", "setosa")
    with pytest.raises(ValueError, match=r"quadratic; a tied covariance"):
        GaussianDiscriminant("full").fit(X, y).boundary("setosa", "virginica")
    with pytest.raises(ValueError, match="several components"):
        GaussianDiscriminant("tied", n_components=2, random_state=0).fit(X, y).boundary("setosa", "virginica")
    with pytest.raises(ValueError, match="not linear in the columns"):
        GenerativeClassifier().fit([["a"], ["b"]], [0, 1]).boundary()
    with pytest.raises(ValueError, match="have the same mean"):
        GaussianDiscriminant("tied").fit([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1]).boundary()
    with pytest.raises(ValueError, match="probability 0"):
        GaussianDiscriminant("tied", class_prior=[0.0, 0.5, 0.5]).fit(X, y).boundary("setosa", "virginica")
    found = model.boundary("setosa", "virginica")
    for prior in (0.0, 1.0, -1.0, float("nan"), {"setosa": 1.0, "virginica": 0.0}):
        with pytest.raises(ValueError, match="probabilities of both classes must be more than 0"):
            found.with_prior(prior)
    with pytest.raises(ValueError, match="must name 'setosa' and 'virginica'"):
        found.with_prior({"setosa": 0.5})
    assert not hasattr(model, "boundary_point_")


def test_it_is_printed_in_words():
    two = y != "setosa"
    model = GaussianDiscriminant("tied", prior=None, class_prior=[0.9, 0.1]).fit(X.iloc[:, :2][two], y[two])
    text = str(model.boundary())
    assert "virginica rather than versicolor if wᵀ(x − x0) > 0, that is wᵀx > " in text
    assert "p(virginica) : p(versicolor) is 0.1 : 0.9" in text
    assert "sepal width (cm)" in text
    assert repr(model.boundary()) == "<Boundary of 'virginica' against 'versicolor', 2 columns>"


def test_the_figure_shows_the_means_x0_and_the_boundary():
    two = X.iloc[:, :2]
    found = GaussianDiscriminant("tied").fit(two, y).boundary("virginica", "versicolor")
    ax = found.plot(two, y)
    marks = {line.get_label(): np.ravel(line.get_data()) for line in ax.lines if line.get_marker() in ("o", "X")}
    np.testing.assert_allclose(marks["mean of virginica"], found.means[0])
    np.testing.assert_allclose(marks["x0"], found.x0)
    assert {text.get_text() for text in ax.texts} >= {"w", "0.1", "0.5", "0.9"}
    assert ax.get_xlabel() == "sepal length (cm)"
    assert plot.boundary(found).get_title() == "x0 between virginica and versicolor"
    with pytest.raises(ValueError, match="X and y are drawn together"):
        found.plot(two)


def test_with_other_numbers_of_columns_the_figure_is_drawn_along_w():
    found = GaussianDiscriminant("tied").fit(X, y).boundary("virginica", "versicolor")
    ax = found.plot(X, y)
    assert ax.get_xlabel() == "wᵀ(x − x0) / ‖w‖"
    density = next(line for line in ax.lines if line.get_label() == "density of virginica")
    at, height = density.get_data()
    assert np.trapezoid(height, at) == pytest.approx(1.0, abs=0.01)
    assert at[height.argmax()] == pytest.approx(found.projection(found.means[:1])[0], abs=0.01)
    NaiveBayes(Poisson()).fit([[1], [2], [7], [9]], [0, 0, 1, 1]).boundary().plot()


def test_a_boundary_survives_pickle_and_save(tmp_path):
    import pickle

    model = GaussianDiscriminant("tied").fit(pd.DataFrame(rows, columns=list("abcd")), y)
    suffice.save(model, tmp_path / "m")
    found = model.boundary("setosa", "virginica")
    for again in (suffice.load(tmp_path / "m").boundary("setosa", "virginica"), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(again.x0, found.x0)
