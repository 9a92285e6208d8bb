"""Rows without a label turn on EM, and `fit` says so once, unless the user said what marks them."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

import suffice
from suffice import GaussianDiscriminant, MissingLabelsWarning, NaiveBayes

X, Y = load_iris(return_X_y=True)
SOME = np.arange(150) % 3 == 0
MARKED = {
    "None": np.where(SOME, None, Y),
    "NaN": np.where(SOME, np.nan, Y),
    "words": np.where(SOME, None, np.array(["a", "b", "c"])[Y]),
    "soft": np.where(SOME[:, None], np.nan, np.eye(3)[Y]),
}


def said(model, *data):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(*data)
    return [warning for warning in found if issubclass(warning.category, MissingLabelsWarning)]


@pytest.mark.parametrize("kind", MARKED)
@pytest.mark.parametrize("settings", [{}, {"n_components": 2, "random_state": 0, "max_iter": 2, "tol": 1.0}])
def test_it_is_said_once_at_the_line_of_the_call(kind, settings):
    (one,) = said(GaussianDiscriminant("full", **settings), X, MARKED[kind])
    assert "50 of 150 rows have no label (None or NaN); fit learns from them too, by EM" in str(one.message)
    assert "missing_label=None" in str(one.message)
    assert one.filename == __file__


def test_minus_one_is_named_and_both_ways_out_of_it():
    y = np.where(SOME, -1, Y)
    (one,) = said(NaiveBayes(), X, y)
    assert "50 of 150 rows have the label -1, which was read as a missing label" in str(one.message)
    both = np.where(np.arange(150) % 5 == 0, np.nan, y)
    (one,) = said(NaiveBayes(), X, both)
    assert "and 30 have none (None or NaN)" in str(one.message)
    assert said(NaiveBayes(missing_label=-1), X, y) == []
    assert said(NaiveBayes(missing_label=None), X, y) == []


@pytest.mark.parametrize("kind", MARKED)
def test_who_says_what_marks_them_is_not_told(kind):
    assert said(NaiveBayes(missing_label=None), X, MARKED[kind]) == []
    assert said(NaiveBayes(), X, Y) == []


@pytest.mark.parametrize("size", [25, 50, 150])
def test_batches_do_not_matter(size):
    """The first chunks hold one class beside −1, or −1 alone, and only later ones tell that it marks missing labels."""
    order = np.argsort(np.where(SOME, -1, Y), kind="stable")
    rows, y = X[order], np.where(SOME, -1, Y)[order]
    chunks = [(rows[start : start + size], y[start : start + size]) for start in range(0, 150, size)]
    whole, streamed = NaiveBayes(), NaiveBayes()
    (one,) = said(whole, rows, y)
    (other,) = said(streamed, suffice.stream(chunks))
    assert str(one.message) == str(other.message)
    assert streamed.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    signs = suffice.stream([(rows[:25], np.repeat([-1, 1], [10, 15]))])
    assert NaiveBayes().fit(signs).classes_.tolist() == [-1, 1]
