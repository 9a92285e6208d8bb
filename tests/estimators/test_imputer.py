"""The imputer is a transformer: in pipelines, column transformers and searches, for any table."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import Imputer, InvalidCellError, Mixture, MixtureSearch, NaiveBayes, stream


@parametrize_with_checks(
    [
        Imputer(),
        Imputer(sample=True, random_state=0),
        Imputer(Mixture(1)),
        Imputer(NaiveBayes()),
        Imputer(NaiveBayes("gaussian", estimate="map")),
    ]
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def people(n=120):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    city = np.where(rng.random(n) < 0.8, np.where(y, "Bern", "Oslo"), "Turin").astype(object)
    table = pd.DataFrame(
        {"city": city, "size": rng.normal(y * 3, 1, n), "calls": rng.poisson(3 + 2 * y), "dry": rng.random(n) < 0.5}
    )
    table.loc[::7, "size"] = np.nan
    table.loc[1::9, "city"] = None
    return table, y


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_mixed_table_comes_back_whole_in_its_own_library(make):
    table = make(people()[0])
    filled = Imputer().fit_transform(table)
    assert type(filled) is type(table)
    whole = pd.DataFrame(filled) if isinstance(filled, pd.DataFrame) else filled.to_pandas()
    assert not whole.isna().any().any()
    before = people()[0]
    observed = before["size"].notna()
    np.testing.assert_array_equal(whole["size"][observed], before["size"][observed])
    assert set(whole["city"]) == {"Bern", "Oslo", "Turin"}
    assert (whole["city"][before["city"].notna()] == before["city"].dropna()).all()


def test_it_is_the_imputation_of_its_model():
    X = load_iris().data.copy()
    X[::5, 1] = np.nan
    mixture = Mixture(3, random_state=1)
    np.testing.assert_array_equal(Imputer(mixture).fit_transform(X), mixture.fit(X).impute(X))
    drawn = Imputer(mixture, sample=True, random_state=4).fit_transform(X)
    np.testing.assert_array_equal(drawn, mixture.impute(X, sample=True, random_state=4))
    assert not hasattr(Imputer(mixture), "estimator_")
    assert Imputer(mixture).fit(X).estimator_ is not mixture


def test_draws_show_the_uncertainty_and_expected_values_do_not():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 1)) @ np.ones((1, 2)) + rng.normal(size=(3000, 2))
    X[::2, 1] = np.nan
    missing = np.isnan(X[:, 1])
    expected = Imputer(Mixture(1)).fit_transform(X)[missing, 1]
    drawn = Imputer(Mixture(1), sample=True, random_state=0).fit_transform(X)[missing, 1]
    assert expected.var() == pytest.approx(0.5, rel=0.15)  # of the regression on the other column
    assert drawn.var() == pytest.approx(2.0, rel=0.1)
    tables = [
        Imputer(Mixture(1, random_state=0), sample=True, random_state=seed).fit_transform(X)[missing, 1]
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(tables[0], tables[1])
    assert (tables[0] != tables[2]).all()


def test_pipelines_column_transformers_and_searches():
    table, y = people()
    encoded = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["size", "calls"]))
    pipeline = make_pipeline(Imputer(Mixture(2, random_state=0)), encoded, LogisticRegression())
    search = GridSearchCV(pipeline, {"imputer__estimator__n_components": [1, 2], "imputer__sample": [False]}, cv=3)
    assert search.fit(table, y).best_score_ > 0.85
    with_classes = make_pipeline(Imputer(NaiveBayes()), encoded, LogisticRegression()).fit(table, y)
    assert with_classes.score(table, y) > 0.85
    parts = make_column_transformer((Imputer(), make_column_selector(dtype_include="number")), remainder="drop")
    frame = parts.set_output(transform="pandas").fit_transform(table)
    assert frame.columns.tolist() == ["imputer__size", "imputer__calls"]
    assert frame.notna().all().all()


@pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_and_names(container, kind):
    table, _ = people()
    imputer = Imputer().set_output(transform=container)
    assert isinstance(imputer.fit_transform(table), kind)
    assert imputer.get_feature_names_out().tolist() == ["city", "size", "calls", "dry"]
    unnamed = imputer.fit_transform(table[["size", "calls"]].to_numpy())
    assert list(unnamed.columns) == ["x0", "x1"]


def test_columns_in_another_order_come_back_in_that_of_training():
    table, _ = people()
    imputer = Imputer().set_output(transform="pandas").fit(table)
    pd.testing.assert_frame_equal(imputer.transform(table[["dry", "size", "calls", "city"]]), imputer.transform(table))


def test_other_rows_weights_streams_and_pickles():
    X = load_iris().data.copy()
    X[::5, 1] = np.nan
    imputer = Imputer().fit(X[:100])
    assert not np.isnan(imputer.transform(X[100:])).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(imputer)).transform(X), imputer.transform(X))
    twice = Imputer(Mixture(1)).fit(X, sample_weight=np.full(150, 2.0)).transform(X)
    np.testing.assert_allclose(twice, Imputer(Mixture(1)).fit(X).transform(X), rtol=1e-3)
    streamed = Imputer().fit(stream(lambda: iter([X[:70], X[70:]])))
    assert not np.isnan(streamed.transform(X)).any()
    found = Imputer(MixtureSearch(2, covariance=["EEE"])).fit(X)
    assert not np.isnan(found.transform(X)).any()


def test_few_rows_and_nothing_missing():
    assert Imputer().fit_transform([[1.0, 2.0]]).tolist() == [[1.0, 2.0]]
    assert Imputer().fit_transform([[1.0, None], [2.0, 3.0]]).tolist() == [[1.0, 3.0], [2.0, 3.0]]
    words = Imputer().fit_transform(np.array([["a", "b"], ["c", None], ["c", "d"]], dtype=object))
    assert words[1, 1] in ("b", "d")
    X = load_iris().data
    np.testing.assert_array_equal(Imputer().fit_transform(X), X)


def test_errors_say_what_to_do():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]])
    with pytest.raises(InvalidCellError, match="training saw no value of that column"):
        Imputer().fit(X).transform(X)
    with pytest.raises(TypeError, match="needs the method impute, as a Mixture or a GenerativeClassifier has"):
        Imputer(StandardScaler()).fit(X)
    with pytest.raises(NotFittedError, match="This Imputer instance is not fitted yet"):
        Imputer().transform(X)
    with pytest.raises(ValueError, match="X has 1 features, but Imputer is expecting 2 features"):
        Imputer().fit(np.ones((3, 2))).transform(np.ones((3, 1)))
    with pytest.raises(ValueError, match="requires y"):
        Imputer(NaiveBayes()).fit(np.ones((3, 2)))


@pytest.mark.parametrize("data", [load_iris, load_breast_cancer, load_diabetes])
def test_the_default_is_nearer_to_the_truth_than_means_and_neighbours(data):
    X = data().data
    X = (X - X.mean(0)) / X.std(0)
    missing = np.random.default_rng(0).random(X.shape) < 0.2
    incomplete = np.where(missing, np.nan, X)
    errors = {
        type(imputer).__name__: np.sqrt(np.mean((imputer.fit_transform(incomplete) - X)[missing] ** 2))
        for imputer in (Imputer(), SimpleImputer(), KNNImputer())
    }
    assert errors["Imputer"] < errors["KNNImputer"] < errors["SimpleImputer"]
