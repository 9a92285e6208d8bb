"""Parameters as arrays and as data frames with names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from suffice import (
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    NaiveBayes,
    SoftKMeans,
    Text,
    load,
    save,
)

X, Y = load_iris(return_X_y=True)
COLUMNS = {
    "sky": ["sun", "rain", "rain", None, "sun", "fog"],
    "calls": [3, 1, 4, 1, 5, 9],
    "dry": [True, False, False, True, True, False],
    "wind": [3.0, 20.0, 24.0, 5.0, np.nan, 9.0],
}
TABLE = pd.DataFrame(COLUMNS)
PLAYED = ["yes", "no", "no", "yes", "yes", "no"]


def test_means_and_covariances_are_those_of_scikit_learn():
    lda = LinearDiscriminantAnalysis(store_covariance=True).fit(X, Y)
    tied = GaussianDiscriminant("tied", prior=None).fit(X, Y)
    np.testing.assert_allclose(tied.means_, lda.means_)
    np.testing.assert_allclose(tied.covariance_, lda.covariance_)
    np.testing.assert_allclose(tied.covariances_, [lda.covariance_] * 3)
    full = GaussianDiscriminant("full", prior=None).fit(X, Y)
    np.testing.assert_allclose(full.covariances_, [np.cov(X[c == Y].T, bias=True) for c in range(3)])
    np.testing.assert_allclose(full.variances_, np.einsum("kii->ki", full.covariances_))
    with pytest.raises(AttributeError, match="each class has its own covariance"):
        _ = full.covariance_


def test_columns_of_all_families_but_categories_have_means():
    model = NaiveBayes({"calls": "poisson"}).fit(TABLE, PLAYED)
    calls, dry, wind = (found.mean()[:, 0] for found in model.distributions_[1:])
    np.testing.assert_array_equal(model.means_, np.column_stack([[np.nan] * 2, calls, dry, wind]))
    assert np.isnan(model.covariances_[:, 0]).all()
    np.testing.assert_allclose(model.covariances_[:, 1:, 1:], [np.diag(row) for row in model.variances_[:, 1:]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_mixed_model_has_one_row_per_class_and_parameter(make):
    frame = NaiveBayes({"calls": "poisson"}).fit(make(COLUMNS), PLAYED).parameters()
    assert isinstance(frame, make)
    rows = [tuple(frame[name].to_list()) for name in ("class", "column", "family", "parameter", "value")]
    told = {tuple(map(str, key)): value for *key, value in zip(*rows, strict=True)}
    assert len(frame) == 2 * (1 + 3 + 1 + 1 + 2)
    assert told[("yes", "calls", "poisson", "rate")] == pytest.approx((3 + 1 + 5 + 23.5 / 7) / 4)
    assert told[("no", "dry", "bernoulli", "probability")] == pytest.approx((0 + 1) / (3 + 2))
    assert {("yes", "wind", "gaussian", "mean"), ("no", "wind", "gaussian", "variance")} <= set(told)


def test_the_wide_frame_has_one_column_per_class_and_can_be_of_one_family():
    model = NaiveBayes({"calls": "poisson"}).fit(TABLE, PLAYED)
    sky = model.parameters("categorical", wide=True)
    assert list(sky.columns) == ["column", "family", "parameter", "of", "no", "yes"]
    assert sky["of"].tolist() == ["fog", "rain", "sun"]
    np.testing.assert_allclose(sky["yes"], [1 / 5, 1 / 5, 3 / 5])
    np.testing.assert_allclose(
        np.exp(model.class_log_prior_), model.parameters(wide=True).loc[0, ["no", "yes"]].tolist()
    )
    with pytest.raises(ValueError, match="no 'gamma' columns; its families are 'bernoulli', 'categorical', "):
        model.parameters("gamma")


def test_classes_with_the_names_of_columns_of_the_frame_keep_their_values():
    frame = NaiveBayes().fit(TABLE[["wind"]], ["of", "family", "of", "family", "of", "family"]).parameters(wide=True)
    assert list(frame.columns) == ["column", "family", "parameter", "of", "class family", "class of"]


def test_the_covariances_of_a_block_name_both_columns():
    frame = Mixture(1).fit(pd.DataFrame(X[:, :3], columns=["a", "b", "c"])).parameters()
    pairs = frame[frame["parameter"] == "covariance"][["column", "of"]].to_numpy().tolist()
    assert pairs == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert frame["component"].unique().tolist() == [0]


def test_components_of_classes_are_named_by_both():
    model = NaiveBayes(n_components={0: 2}, random_state=0).fit(X, Y)
    frame = model.parameters(library="pandas")
    shown = frame[["class", "component"]].drop_duplicates().to_numpy().tolist()
    assert shown == [[0, 0], [0, 1], [1, 2], [2, 3]]
    assert frame[frame["parameter"] == "weight"]["value"].sum() == pytest.approx(1.0)
    assert model.means_.shape == (4, 4)


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(estimate="predictive"),
        NaiveBayes("multinomial", estimate="predictive"),
        NaiveBayes("lognormal"),
        GaussianDiscriminant(estimate="predictive"),
        GenerativeClassifier({(0, 1): Gaussian("VVE"), 2: "gamma", 3: "beta"}),
        SoftKMeans(2, random_state=0),
        Mixture(2, "negative_binomial", random_state=0),
    ],
    ids=repr,
)
def test_every_model_has_parameters_also_after_loading(model, tmp_path):
    rows = np.column_stack([X[:, :3], X[:, 3] / 10])
    rows = np.round(rows) if "negative" in repr(model) else rows
    model.fit(rows, Y)
    frame = model.parameters(library="pandas")
    assert frame["value"].notna().all()
    save(model, tmp_path / "model")
    pd.testing.assert_frame_equal(load(tmp_path / "model").parameters(library="pandas"), frame)


def test_earlier_names_are_aliases():
    found = GaussianDiscriminant().fit(X, Y).distributions_[0]
    np.testing.assert_array_equal(found.variances(), found.variance())
    np.testing.assert_array_equal(found.covariances(), found.covariance())
    np.testing.assert_array_equal(found.entropies(), found.entropy())
    np.testing.assert_array_equal(found.means, found.mean())
    one = found[1]
    np.testing.assert_array_equal(one.covariance(), found.covariance()[1])


MAILS = ["free money, free", "meeting at noon", "money for the account", "thanks for the meeting"]


@pytest.mark.parametrize("family", [Text(), Text("bernoulli"), Text(min_count=2)], ids=repr)
def test_words_of_documents_have_their_probabilities(family):
    table = pd.DataFrame({"size": [1.0, 2.0, 4.0, 8.0], "body": MAILS})
    model = NaiveBayes({"body": family}).fit(table, ["spam", "ham", "spam", "ham"])
    frame = model.parameters("text", wide=True)
    assert set(frame["of"]) == {"free", "money", "meeting", "at", "noon", "for", "the", "account", "thanks"}
    assert (frame["column"] == "body").all()
    if family.counts == "multinomial" and family.min_count == 1:
        assert frame.set_index("of")["spam"]["free"] == pytest.approx((2 + 1) / (7 + 9))
    assert len(model.parameters()) == 2 * (1 + 2 + 9)
    assert np.isnan(model.means_[:, 1]).all()
    np.testing.assert_allclose(model.means_[:, 0], [5.0, 2.5])
    assert np.isnan(model.variances_[:, 1]).all()


def test_buckets_of_words_are_numbered():
    model = NaiveBayes({"body": Text(buckets=8)}).fit(pd.DataFrame({"body": MAILS}), ["spam", "ham", "spam", "ham"])
    assert model.parameters("text", wide=True)["of"].tolist() == [f"bucket {j}" for j in range(8)]
