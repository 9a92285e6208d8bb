"""Columns that look like identifiers are pointed out by `fit` and by `check`, and ordinary columns are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

import suffice
from suffice import GaussianDiscriminant, IdentifierWarning, Mixture, NaiveBayes, Poisson

RNG = np.random.default_rng(0)
N = 200
Y = np.arange(N) % 2
FRAME = pd.DataFrame({"wind": RNG.normal(size=N) + Y, "sky": RNG.choice(["sun", "rain"], N)})
IDENTIFIERS = {
    "names": [f"customer {i}" for i in range(N)],
    "nearly all names": [f"customer {min(i, 185)}" for i in range(N)],
    "row numbers": np.arange(N),
    "row numbers from 1000": 1000 + np.arange(N),
    "row numbers as floats": np.arange(N, dtype=float),
    "shuffled": RNG.permutation(N),
    "of some rows": RNG.choice(3 * N, N, replace=False),
    "with missing cells": np.where(RNG.random(N) < 0.1, np.nan, np.arange(N)),
    "names with missing cells": [None if i % 9 == 0 else f"customer {i}" for i in range(N)],
}
ORDINARY = {
    "measurements": RNG.normal(size=N),
    "sorted measurements": np.sort(RNG.normal(size=N)),
    "rounded measurements": np.round(RNG.normal(50.0, 40.0, N)),
    "large whole numbers": RNG.integers(0, 10**7, N),
    "prices": np.round(RNG.lognormal(10.0, 1.0, N)),
    "counts": RNG.poisson(3.0, N),
    "years": RNG.integers(1950, 2020, N),
    "an even grid": np.linspace(0.0, 1.0, N),
    "constant": np.ones(N),
    "towns": RNG.choice([f"town {i}" for i in range(80)], N),
}


def fitted(model, X, y=Y, **rest):
    """Return the model and the identifiers that it pointed out."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y, **rest)
    return model, [str(one.message) for one in said if issubclass(one.category, IdentifierWarning)]


@pytest.mark.parametrize("kind", IDENTIFIERS)
@pytest.mark.parametrize("estimator", [NaiveBayes(), Mixture(2, covariance="diagonal", max_iter=2, tol=1.0)])
def test_identifiers_are_pointed_out_once(kind, estimator):
    _, said = fitted(estimator, FRAME.assign(key=IDENTIFIERS[kind]))
    assert len(said) == 1
    assert "column 'key'" in said[0]
    assert "looks like an identifier" in said[0]
    assert "leave it out" in said[0]


@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_columns_are_not(kind):
    frame = FRAME.assign(value=ORDINARY[kind])
    model, said = fitted(NaiveBayes(), frame)
    assert said == []
    assert not any(finding.assumption == "no identifiers" for finding in model.check(frame, Y).findings)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes, load_digits])
def test_known_tables_have_none(load):
    X, y = load(return_X_y=True)
    assert fitted(GaussianDiscriminant("diagonal"), X, (y > y.mean()).astype(int))[1] == []


@pytest.mark.parametrize("covariance", ["tied", "full", "diagonal"])
def test_arrays_weights_and_missing_labels_are_no_exception(covariance):
    X = np.column_stack([RNG.normal(size=(N, 2)), np.arange(N)])
    for y, rest in (
        (Y, {}),
        (Y, {"sample_weight": RNG.uniform(0.5, 2.0, N)}),
        (np.where(np.arange(N) % 5 == 0, None, Y), {}),
    ):
        _, said = fitted(GaussianDiscriminant(covariance), X, y, **rest)
        assert len(said) == 1
        assert "column 2 (whole numbers that are all distinct" in said[0]


def test_counts_and_several_columns_are_named_together():
    frame = FRAME.assign(**{f"key {i}": np.arange(N) + i for i in range(7)})
    _, said = fitted(NaiveBayes(families={"key 0": Poisson()}), frame)
    assert "columns 'key 1'" in said[0]
    assert len(said) == 1
    assert "and 2 more look like identifiers" in said[0]


def test_few_rows_streams_and_batches():
    few = FRAME.assign(key=IDENTIFIERS["names"])[:49]
    assert fitted(NaiveBayes(), few, Y[:49])[1] == []
    words = FRAME.assign(key=IDENTIFIERS["names"])
    chunks = suffice.stream([(words[:100], Y[:100]), (words[100:], Y[100:])])
    assert len(fitted(NaiveBayes(), chunks, None)[1]) == 1
    NaiveBayes().partial_fit(words, Y)  # more batches may repeat the values


def test_check_points_them_out_too():
    frame = FRAME.assign(key=np.arange(N), name=IDENTIFIERS["names"])
    with pytest.warns(IdentifierWarning):
        model = NaiveBayes().fit(frame, Y)
    check = model.check(frame, Y)
    (finding,) = [finding for finding in check.findings if finding.assumption == "no identifiers"]
    assert finding.verdict == "broken"
    assert "'key'" in finding.sentence
    assert "'name' (200 distinct values in 200 rows" in finding.sentence
    assert not check.holds
    assert "look like identifiers" in str(check)
