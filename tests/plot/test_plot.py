"""Figures show what the model says."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from suffice import GaussianDiscriminant, Mixture, NaiveBayes, Poisson, plot, threshold_curve

mpl.use("agg")
data = load_iris(as_frame=True)
X, y = data.data.iloc[:, :2], data.target_names[data.target]


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


def test_regions_are_those_of_the_most_probable_class():
    model = GaussianDiscriminant("full").fit(X, y)
    axes = plot.regions(model, X, y)
    image = axes.images[0]
    left, right, bottom, top = image.get_extent()
    picture = image.get_array()
    points = np.random.default_rng(0).uniform([left, bottom], [right, top], size=(200, 2))
    sure = model.predict_proba(pd.DataFrame(points, columns=X.columns)).max(axis=1) > 0.95
    palette = np.array([mpl.colormaps["tab10"](c)[:3] for c in range(3)])
    for point, label in zip(points[sure], model.predict(pd.DataFrame(points[sure], columns=X.columns)), strict=True):
        row = int((point[1] - bottom) / (top - bottom) * len(picture))
        column = int((point[0] - left) / (right - left) * picture.shape[1])
        tint = 1.0 - np.asarray(picture[row, column])
        likeness = [(tint @ (1 - colour)) / np.linalg.norm(tint) / np.linalg.norm(1 - colour) for colour in palette]
        assert model.classes_[np.argmax(likeness)] == label


def test_regions_name_classes_and_columns_and_draw_ellipses():
    axes = plot.regions(GaussianDiscriminant("tied").fit(X, y), X, y)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["setosa", "versicolor", "virginica"]
    assert axes.get_xlabel() == "sepal length (cm)"
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 6
    inner = np.stack(dashed[0].get_data(), axis=1)
    mean = X[y == "setosa"].mean().to_numpy()
    np.testing.assert_allclose(inner.mean(axis=0), mean, atol=0.02)


def test_mixtures_and_other_classifiers_have_regions_too():
    assert len(plot.regions(Mixture(2, random_state=0).fit(X), X).get_legend().get_texts()) == 2
    axes = plot.regions(LogisticRegression().fit(X.to_numpy(), y), X.to_numpy(), y)
    assert not [line for line in axes.lines if line.get_linestyle() == "--"]
    with pytest.raises(ValueError, match="two columns, but X has 4"):
        plot.regions(NaiveBayes().fit(data.data, y), data.data, y)


def test_densities_integrate_to_the_share_of_each_class():
    model = NaiveBayes().fit(data.data, y)
    axes = plot.densities(model, data.data, "petal width (cm)", y)
    for line in axes.lines:
        across, height = line.get_data()
        assert np.trapezoid(height, across) == pytest.approx(1 / 3, abs=0.02)
    area = sum(patch.get_width() * patch.get_height() for patch in axes.patches)
    assert area == pytest.approx(1.0)
    assert axes.get_xlabel() == "petal width (cm)"


def test_densities_of_other_families_and_of_mixtures():
    counts = np.random.default_rng(0).poisson(3.0, size=(200, 2)).astype(float)
    assert plot.densities(Mixture(2, Poisson(), random_state=0).fit(counts), counts, 1).get_xlabel() == "column 1"
    with pytest.raises(ValueError, match="names column 'none'"):
        plot.densities(NaiveBayes().fit(data.data, y), data.data, "none")


def test_the_bound_is_that_of_each_iteration():
    mixture = Mixture(3, random_state=0).fit(X)
    (line,) = plot.bound(mixture).lines
    np.testing.assert_array_equal(line.get_ydata(), mixture.bound_history_)
    with pytest.raises(NotFittedError):
        plot.bound(Mixture(3))


def test_densities_of_a_table_with_words_are_those_of_the_column():
    table = data.data.assign(garden=np.where(np.arange(150) % 2, "north", "south"), tall=X.iloc[:, 0] > 6)
    model = NaiveBayes().fit(table, y)
    with_words = plot.densities(model, table, "petal width (cm)", y)
    without = plot.densities(NaiveBayes().fit(data.data, y), data.data, "petal width (cm)", y)
    for line, other in zip(with_words.lines, without.lines, strict=True):
        np.testing.assert_allclose(line.get_data(), other.get_data())
    assert len(plot.densities(model, table, "tall").lines) == 3
    with pytest.raises(ValueError, match="of a column of numbers, but column 'garden' holds categories"):
        plot.densities(model, table, "garden")
    with pytest.raises(ValueError, match="feature names should match"):
        plot.densities(model, table.drop(columns="tall"), "tall")


def test_densities_of_sparse_rows():
    counts = np.random.default_rng(0).poisson(1.0, size=(100, 2)).astype(float)
    model = NaiveBayes("poisson").fit(counts, np.arange(100) % 2)
    dense, sparse = (plot.densities(model, rows, 1) for rows in (counts, csr_array(counts)))
    np.testing.assert_array_equal(sparse.lines[0].get_data(), dense.lines[0].get_data())


def test_a_model_without_em_has_no_bound_and_says_so():
    with pytest.raises(ValueError, match="EM did not run: this NaiveBayes was fitted without it"):
        plot.bound(NaiveBayes().fit(X, y))
    with pytest.raises(NotFittedError):
        plot.bound(NaiveBayes())


def test_densities_without_a_column_are_those_of_the_only_one_or_ask_for_it():
    one = NaiveBayes().fit(X.iloc[:, :1], y)
    named = plot.densities(one, X.iloc[:, :1], X.columns[0], y)
    for axes in (plot.densities(one, X.iloc[:, :1], y), plot.densities(one, X.iloc[:, :1], y=y)):
        assert len(axes.patches) == len(named.patches)
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), named.lines[0].get_ydata())
    with pytest.raises(ValueError, match=r"one column, but the model has 2; choose one.*sepal length.*sepal width"):
        plot.densities(NaiveBayes().fit(X, y), X, y)


#: a formula of TeX that is none, a price, and words
NAMES = [r"$\x{", "price ($)", "$^2"]


def test_names_with_dollar_signs_are_no_formulas_in_any_figure(tmp_path):
    frame = X.set_axis(NAMES[:2], axis=1)
    labels = np.array(NAMES, dtype=object)[data.target]
    tied = GaussianDiscriminant("tied").fit(frame, labels)
    figures = [
        plot.regions(tied, frame, labels),
        plot.densities(tied, frame, NAMES[0], labels),
        tied.boundary(NAMES[0], NAMES[2]).plot(frame, labels),
        GaussianDiscriminant("tied").fit(frame[[NAMES[0]]], labels).boundary(NAMES[0], NAMES[1]).plot(),
        tied.explain(frame[:1]).plot(),
        threshold_curve(tied, frame, labels, positive=NAMES[0]).plot(),
    ]
    for axes in figures:
        axes.figure.savefig(tmp_path / "figure.png")
        assert "$" in "".join(text.get_text() for text in axes.findobj(mpl.text.Text))


def test_a_boundary_is_drawn_with_one_label_per_row():
    boundary = GaussianDiscriminant("tied").fit(X, y).boundary("setosa", "virginica")
    with pytest.raises(ValueError, match="X has 150 rows and y has 5 labels"):
        boundary.plot(X, y[:5])


@pytest.mark.parametrize("row", [3, -4, "a", None, 1.0])
def test_a_waterfall_is_of_one_of_the_explained_rows(row):
    with pytest.raises(IndexError, match="row must be one of the 3 explained rows"):
        GaussianDiscriminant("tied").fit(X, y).explain(X[:3]).plot(row)
