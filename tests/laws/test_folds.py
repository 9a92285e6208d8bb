"""k folds from sums that are kept apart in one pass equal k fits without one fold each."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes, Text, stream
from suffice.models import passes

from .cases import CASES, Case, Shape, each, law, shapes
from .test_leave_one_out import DOCUMENTS, KINDS, mixed

TOLERANCE = {"rtol": 1e-8, "atol": 1e-8}


def refits(make, X, y, numbers, weight=None):
    """Return log p(c | x_i) by fits without the fold of row i."""
    answers = np.empty((len(y), len(np.unique(y))))
    for fold in np.unique(numbers):
        here = numbers == fold
        model = make().fit(X[~here], y[~here], None if weight is None else weight[~here])
        answers[here] = model.predict_log_proba(X[here])
    return answers


#: folds keep the values and words of all rows, and these structures are estimated by iterations that stop early
LEFT = ("categorical", "text", "text-bernoulli", "gaussian-VVE", "gaussian-VEI")


@each([case for case in CASES if case.name not in LEFT])
@law
@given(shape=shapes(3))
def test_k_folds_are_k_fits(case: Case, shape: Shape):
    X, y = case.table(shape)
    weight = shape.rng.choice([0.5, 1.0, 2.5], size=len(y))
    numbers = shape.rng.permutation(np.arange(len(y)) % 3)
    model = case.model().fit(X, y, weight)
    expected = refits(case.model, X, y, numbers, weight)
    np.testing.assert_allclose(model.kfold_log_proba(X, y, weight, folds=numbers), expected, **TOLERANCE)
    in_turn = refits(case.model, X, y, np.arange(len(y)) % 4, weight)
    np.testing.assert_allclose(model.kfold_log_proba(X, y, weight, folds=4), in_turn, **TOLERANCE)


@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
def test_mixed_tables_and_streams(estimate):
    table, y, families = mixed(200)
    if estimate == "predictive":
        del families["text"]
        table = table.drop(columns="text")
    model = GenerativeClassifier(families, estimate=estimate).fit(table, y)
    found = model.kfold_log_proba(table, y, folds=5)
    numbers, rows = np.arange(200) % 5, table.reset_index(drop=True)
    for fold in range(5):
        here = numbers == fold
        again = GenerativeClassifier(families, estimate=estimate).fit(rows[~here], y[~here])
        np.testing.assert_allclose(found[here], again.predict_log_proba(rows[here]), **TOLERANCE)

    def batches():
        for start in range(0, 200, 33):
            yield table[start : start + 33], y[start : start + 33]

    np.testing.assert_allclose(model.kfold_log_proba(stream(batches), folds=5), found, **TOLERANCE)


def test_n_folds_of_one_row_are_leave_one_out():
    model = NaiveBayes(Text()).fit(DOCUMENTS, KINDS)
    np.testing.assert_allclose(
        model.kfold_log_proba(DOCUMENTS, KINDS, folds=12), model.loo_log_proba(DOCUMENTS, KINDS), **TOLERANCE
    )


def test_one_pass_learns_all_folds(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    model = GaussianDiscriminant("full").fit(X, y)
    calls, engine_of = [], passes.engine

    def counted(*args, **kwargs):
        engine = engine_of(*args, **kwargs)
        reduce = engine.reduce
        engine.reduce = lambda kernel, params: calls.append(kernel.__name__) or reduce(kernel, params)
        return engine

    monkeypatch.setattr(passes, "engine", counted)
    model.kfold_log_proba(X, y, folds=20)
    assert calls == ["learn_folds"]


def test_models_of_em_are_fitted_again_for_each_fold():
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b"], 30)
    X = rng.normal(size=(60, 2)) + 2.0 * (y == "b")[:, None]
    incomplete = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    some = y.astype(object)
    some[::5] = None
    for settings, rows, labels in (
        ({"covariance": "full"}, incomplete, y),
        ({"covariance": "tied", "missing_label": None}, X, some),
        ({"covariance": "diagonal", "n_components": 2, "random_state": 0}, X, y),
    ):
        settings = {"max_iter": 60, "tol": 1e-3, **settings}
        model = GenerativeClassifier(**settings).fit(rows, labels)
        found = model.kfold_log_proba(rows, labels, folds=3)
        for fold in range(3):
            here = np.arange(60) % 3 == fold
            again = GenerativeClassifier(**settings).fit(rows, labels, (~here).astype(float))
            np.testing.assert_allclose(found[here], again.predict_log_proba(rows)[here], **TOLERANCE)
        with pytest.raises(ValueError, match="needs a table in memory"):
            model.kfold_log_proba(stream(lambda rows=rows, labels=labels: iter([(rows, labels)])), folds=3)


def test_soft_labels_and_a_class_of_one_fold():
    rng = np.random.default_rng(2)
    X, shares = rng.normal(size=(30, 2)), rng.dirichlet([1.0, 1.0], size=30)
    table = pd.DataFrame(shares, columns=["a", "b"])
    model = GaussianDiscriminant("full").fit(X, table)
    found = model.kfold_log_proba(X, table, folds=3)
    here = np.arange(30) % 3 == 0
    again = GaussianDiscriminant("full").fit(X[~here], table[~here])
    np.testing.assert_allclose(found[here], again.predict_log_proba(X[here]), **TOLERANCE)
    y = np.where(here, "only", np.where(np.arange(30) % 2, "a", "b"))
    logs = GaussianDiscriminant("tied").fit(X, y).kfold_log_proba(X, y, folds=3)
    assert np.isneginf(logs[here, 2]).all()
    assert np.isfinite(logs[~here]).all()


@pytest.mark.parametrize(
    ("folds", "said"),
    [
        (1, "at least 2"),
        (31, "at most 30"),
        (0.1, "one whole number per row"),
        ([0, 1], "30 of them"),
        (np.zeros(30, int), "every row is in fold"),
    ],
)
def test_folds_that_are_none_are_refused(folds, said):
    X, y = np.random.default_rng(3).normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(ValueError, match=said):
        GaussianDiscriminant().fit(X, y).kfold_log_proba(X, y, folds=folds)
