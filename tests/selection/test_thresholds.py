"""The trade-off of a threshold: errors and cost at every T, for any classifier."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import GaussianDiscriminant, NaiveBayes, threshold_curve
from suffice.spam import Evaluation, Thresholds

#: probabilities, few of them distinct, with 0 and 1 among them
ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.3000000001, 0.5, 0.9, 1.0]), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=30,
)


@given(ROWS)
def test_the_errors_are_those_of_counting_at_every_threshold(rows):
    p, spam, weight = (np.array(column) for column in zip(*rows, strict=True))
    curve = threshold_curve(p, spam, positive=True, cost=[[1.0, 5.0], [2.0, 0.5]], sample_weight=weight)
    assert (np.diff(curve.threshold) > 0).all()
    assert set(p) <= set(curve.threshold)
    for T in [0.0, 0.05, 1.0, *curve.threshold]:
        called = p >= T
        found = curve.at(T)
        assert found["false_positives"] == weight[called & ~spam].sum()
        assert found["false_negatives"] == weight[~called & spam].sum()
        assert found["true_positives"] == weight[called & spam].sum()
        assert found["true_negatives"] == weight[~called & ~spam].sum()
        by_hand = np.array([[1.0, 5.0], [2.0, 0.5]])[spam.astype(int), called.astype(int)] @ weight
        assert found["cost"] == pytest.approx(by_hand)
        assert curve.at(curve.best)["cost"] <= by_hand + 1e-9
    pd.testing.assert_series_equal(curve.to_frame()["cost"], pd.Series(curve.cost, name="cost"))


@given(ROWS)
def test_the_curve_is_that_of_the_spam_filter(rows):
    p, spam, _ = zip(*rows, strict=True)
    curve = threshold_curve(p, spam, positive=True)
    points = Evaluation(p, spam, Thresholds(0.1, 0.9)).trade_off()
    for point in points:
        found = curve.at(point.threshold)
        assert (found["false_positives"], found["false_negatives"]) == (point.false_positives, point.not_caught)
    assert len({(point.false_positives, point.not_caught) for point in points}) == len(
        set(zip(curve.false_positives, curve.false_negatives, strict=True))
    )


CANCER = load_breast_cancer(return_X_y=True)
COST = [[0.0, 1.0], [20.0, 0.0]]


@pytest.mark.parametrize("positive", [0, 1])
def test_the_best_threshold_makes_the_predictions_of_least_cost(positive):
    X, y = CANCER
    model = NaiveBayes().fit(X[:200], y[:200])
    curve = threshold_curve(model, X[200:], y[200:], positive=positive, cost=COST)
    model.set_params(threshold={positive: curve.best})
    predicted = model.predict(X[200:])
    assert np.array(COST)[y[200:], predicted].sum() == curve.cost.min() == curve.at(curve.best)["cost"]
    called = predicted == positive
    assert (called & (y[200:] != positive)).sum() == curve.at(curve.best)["false_positives"]
    every = np.array([np.array(COST)[y[200:], _called(model, X[200:], positive, T)].sum() for T in curve.threshold])
    np.testing.assert_allclose(every, curve.cost)


def _called(model, X, positive, T):
    return np.where(model.predict_proba(X)[:, positive] >= T, positive, 1 - positive)


def test_any_classifier_and_probabilities_of_rows_held_out():
    X, y = CANCER
    words = np.where(y == 1, "benign", "malignant")
    peer = make_pipeline(StandardScaler(), LogisticRegression())
    curve = threshold_curve(peer.fit(X[::2], words[::2]), X[1::2], words[1::2])
    assert curve.positive == "malignant"
    assert curve.at(0.5)["false_positives"] + curve.at(0.5)["false_negatives"] == curve.at(0.5)["cost"]
    assert curve.at(0.5)["cost"] == (peer.predict(X[1::2]) != words[1::2]).sum()
    held_out = cross_val_predict(GaussianDiscriminant(), X, words, method="predict_proba")
    one = threshold_curve(held_out, words, positive="benign", cost=COST)
    other = threshold_curve(held_out[:, 0], y=words, positive="benign", cost=COST)
    np.testing.assert_array_equal(one.cost, other.cost)
    assert one.best == other.best


def test_one_of_several_classes_against_the_others():
    X, y = load_iris(return_X_y=True)
    model = GaussianDiscriminant("full").fit(X, y)
    curve = threshold_curve(model, X, y, positive=1, cost=[[0, 3], [1, 0]])
    called = model.predict_proba(X)[:, 1] >= 0.7
    assert curve.at(0.7)["cost"] == 3 * (called & (y != 1)).sum() + (~called & (y == 1)).sum()


@pytest.mark.parametrize(
    "convert", [list, np.array, pd.Series, pl.Series, pa.array, lambda y: pd.Series(y, dtype="category")]
)
def test_labels_of_any_library(convert):
    p, y = [0.2, 0.8, 0.6], ["a", "b", "a"]
    curve = threshold_curve(p, convert(y))
    assert curve.at(0.5)["false_positives"] == 1
    assert threshold_curve(pd.Series(p), convert(y)).best == curve.best == 0.8


def test_one_row_and_one_class():
    curve = threshold_curve([0.4], ["spam"], positive="spam")
    assert len(curve) == 2
    assert (curve.best, curve.at(0.41)["false_negatives"]) == (0.7, 1) or curve.best == 0.4
    assert threshold_curve([1.0, 1.0], ["ham", "ham"], positive="spam").false_positives.tolist() == [2]
    tiny = np.nextafter(1.0, 0.0)
    assert threshold_curve([tiny], [0], positive=1).threshold.tolist() == [tiny, 1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: threshold_curve("spam", [1]), "a fitted classifier with predict_proba, or an array of probabilities"),
        (lambda: threshold_curve([], []), "a fitted classifier with predict_proba, or an array of probabilities"),
        (lambda: threshold_curve([0.5, 1.5], [0, 1]), "between 0 and 1, but row 1 has 1.5"),
        (lambda: threshold_curve([0.5, np.nan], [0, 1]), "between 0 and 1, but row 1 has nan"),
        (lambda: threshold_curve([0.5, 0.5], [0, None], positive=0), r"missing \(NaN or None\) in row 1"),
        (lambda: threshold_curve([0.5, 0.5], [0, 1, 1]), "2 rows and 3 labels"),
        (lambda: threshold_curve([0.5, 0.5, 0.1], [0, 1, 2]), "between two classes, but there are 3"),
        (lambda: threshold_curve(np.full((2, 3), 0.3), [0, 1]), "3 columns and 2 classes"),
        (lambda: threshold_curve([0.5, 0.5], [0, 1], cost=[1, 2]), "finite 2×2 matrix"),
        (lambda: threshold_curve([0.5, 0.5], [0, 1]).at(1.5), "between 0 and 1, not 1.5"),
        (lambda: threshold_curve([0.5, 0.5], [0, 1], sample_weight=[-1, 1]), "not negative"),
        (lambda: threshold_curve(NaiveBayes().fit([[0.0], [1.0]], [0, 1]), [[0.5]]), "the classes of the rows"),
        (lambda: threshold_curve(NaiveBayes().fit([[0.0], [1.0]], [0, 1]), [[0.5]], [3]), "holds 3 in row 0"),
        (lambda: threshold_curve(NaiveBayes().fit([[0.0], [1.0]], [0, 1]), [[0.5]], [1], positive=7), "no class 7"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_the_figure_names_the_best_threshold():
    curve = threshold_curve([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    ax = curve.plot()
    assert ax.get_xlabel() == "threshold T of 1"
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["false positives", "false negatives"]
    assert f"T = {curve.best:.3g}" in ax.get_legend().get_texts()[-1].get_text()
    assert "least cost" in repr(curve)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pydict])
def test_a_frame_is_of_the_library_of_the_rows_or_the_one_asked_for(make):
    rows, spam = {"x": [0.1, 0.4, 2.0, 3.0]}, [False, False, True, True]
    curve = threshold_curve(NaiveBayes().fit(make(rows), spam), make(rows), spam)
    assert type(curve.to_frame()) is type(make(rows))
    for library, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)):
        assert isinstance(curve.to_frame(library), kind)
    assert isinstance(threshold_curve([0.1, 0.7], [False, True]).to_frame("polars"), pl.DataFrame)


@pytest.mark.parametrize("model", [NaiveBayes(), LogisticRegression()])
def test_a_model_that_is_not_fitted_says_so(model):
    with pytest.raises(NotFittedError):
        threshold_curve(model, [[0.0]], [True])
