"""Any table trains in one call: arrays, sparse arrays, data frames, with numbers, booleans, words and missing cells."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from mixed import mixed_columns
from scipy import sparse
from sklearn.datasets import load_iris
from string_views import needs_string_views

from suffice import GLM, Bernoulli, Categorical, Gaussian, GenerativeClassifier, Multinomial, NaiveBayes, Poisson

LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"city": "category"}),
    "polars": pl.DataFrame,
    "polars enum": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col("city").cast(pl.Enum(["Bern", "Oslo", "Turin"]))
    ),
    "polars categorical": lambda columns: pl.DataFrame(columns).with_columns(pl.col("city").cast(pl.Categorical)),
    "arrow": pa.table,
    "arrow string views": lambda columns: pa.table(
        {k: pa.array(v, pa.string_view()) if k == "city" else pa.array(v) for k, v in columns.items()}
    ),
    "arrow dictionary": lambda columns: pa.table(
        {k: pa.array(v).dictionary_encode() if k == "city" else pa.array(v) for k, v in columns.items()}
    ),
}


@pytest.mark.parametrize(
    "library",
    [pytest.param(name, marks=needs_string_views if name == "arrow string views" else ()) for name in LIBRARIES],
)
def test_every_library_gives_the_same_model_of_a_mixed_table_with_missing_values(library):
    columns, y = mixed_columns()
    as_objects = np.array(list(columns.values()), dtype=object).T
    expected = NaiveBayes().fit(as_objects, y).predict_proba(as_objects)
    table = LIBRARIES[library](columns)
    model = NaiveBayes().fit(table, y)
    kinds = {tuple(block.columns): block.family for block in model.schema_.blocks}
    assert kinds == {(0, 3): Gaussian("diagonal"), (1,): Bernoulli(), (2,): Categorical()}
    np.testing.assert_allclose(model.predict_proba(table), expected, rtol=1e-12)
    assert model.feature_names_in_.tolist() == list(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_samples_come_back_as_the_kind_of_table_that_was_fitted(library):
    columns, y = mixed_columns()
    table = LIBRARIES[library](columns)
    drawn, labels = NaiveBayes().fit(table, y).sample(50, random_state=0)
    assert type(drawn) is type(table)
    assert list(getattr(drawn, "column_names", drawn.columns)) == list(columns)
    assert set(labels) <= {"a", "b", "c"}
    cities = drawn["city"].to_pylist() if library == "arrow" else drawn["city"].to_list()
    assert set(cities) <= {"Bern", "Oslo", "Turin"}


def test_families_override_single_columns_and_groups_of_columns():
    columns, y = mixed_columns()
    columns["weight"] = [70.0 + i % 7 for i in range(len(y))]
    columns["height"] = [170.0 + i % 11 for i in range(len(y))]
    table = pd.DataFrame(columns)
    model = GenerativeClassifier(
        families={("height", "weight"): Gaussian("full"), "visits": Poisson(), "city": Categorical("missing")}
    ).fit(table, y)
    assert [(block.columns, block.family) for block in model.schema_.blocks] == [
        ((0, 4), Gaussian("full")),
        ((1,), Bernoulli()),
        ((2,), Categorical("missing")),
        ((3,), Poisson()),
    ]
    # blocks are independent given the class, so their log-densities add
    joint = model.predict_joint_log_proba(table)
    parts = [
        NaiveBayes(families="poisson").fit(table[["visits"]], y),
        GenerativeClassifier(covariance="full").fit(table[["height", "weight"]], y),
        NaiveBayes().fit(table[["smoker"]], y),
        NaiveBayes(unseen="missing").fit(table[["city"]], y),
    ]
    separate = sum(part.predict_joint_log_proba(table[part.feature_names_in_]) for part in parts)
    np.testing.assert_allclose(joint, separate - 3 * model.class_log_prior_, rtol=1e-10)


def test_families_by_name_and_by_place_mean_the_same():
    X, y = load_iris(return_X_y=True)
    by_place = GenerativeClassifier(families={(0, 1): Gaussian("full"), -1: "poisson"}).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_name = GenerativeClassifier(families={("a", "b"): Gaussian("full"), "d": Poisson}).fit(frame, y)
    np.testing.assert_array_equal(by_place.predict_proba(X), by_name.predict_proba(frame))


@pytest.mark.parametrize("family", [Multinomial(), Bernoulli(), Poisson(), Gaussian("diagonal"), Gaussian("tied")])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_sparse_rows_give_what_dense_rows_give(family, kind):
    rng = np.random.default_rng(1)
    X = rng.poisson(0.4, (120, 15)).astype(float)
    X = (X > 0).astype(float) if isinstance(family, Bernoulli) else X
    y = rng.integers(0, 3, 120)
    dense = GenerativeClassifier(families=family).fit(X, y)
    thin = GenerativeClassifier(families=family).fit(kind(X), y)
    for method in ("predict_proba", "score_samples"):
        np.testing.assert_allclose(getattr(thin, method)(kind(X)), getattr(dense, method)(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(thin.explain(kind(X)).log_odds, dense.explain(X).log_odds, rtol=1e-9, atol=1e-9)


def test_sparse_gaussians_keep_their_digits_far_from_zero():
    rng = np.random.default_rng(2)
    X = rng.normal(1e6, 1.0, (300, 4)) * (rng.random((300, 4)) < 0.9)
    y = rng.integers(0, 2, 300)
    dense, thin = NaiveBayes().fit(X, y), NaiveBayes().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.bool_, np.float16])
def test_arrays_of_every_number_type_are_read(dtype):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (100, 3)).astype(dtype)
    y = rng.integers(0, 2, 100)
    model = NaiveBayes().fit(X, y)
    family = Bernoulli() if dtype is np.bool_ else Gaussian("diagonal")
    assert [block.family for block in model.schema_.blocks] == [family]
    expected = NaiveBayes(families=family).fit(X.astype(float), y).predict_proba(X.astype(float))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-4)


def test_categories_may_be_numbers_words_or_both():
    X = np.array([[1, "x"], [2, "y"], [1, "y"], [None, "x"]], dtype=object)
    y = [True, False, False, True]
    model = NaiveBayes(families="categorical").fit(X, y)
    assert model.schema_.categories[0].values == (1, 2)
    assert model.predict([[1, "x"], [2, "y"]]).tolist() == [True, False]


def test_declared_categories_count_even_where_no_row_has_them():
    colour = pd.Categorical(["red", "blue", "red", "blue"], categories=["red", "blue", "green"])
    model = NaiveBayes().fit(pd.DataFrame({"colour": colour}), [0, 0, 1, 1])
    (distributions,) = model.distributions_
    np.testing.assert_allclose(distributions.probability, np.full((2, 3), [2 / 5, 2 / 5, 1 / 5]))


def test_an_unseen_category_gets_its_prior_mass_or_is_missing_by_choice():
    X, y = np.array([["a"], ["b"], ["b"], ["a"], ["b"]]), np.array([0, 0, 0, 1, 1])
    new = np.array([["never seen"]])
    prior_mass = NaiveBayes().fit(X, y)
    expected = np.array([3 / 5 * 1 / (3 + 2), 2 / 5 * 1 / (2 + 2)])
    np.testing.assert_allclose(prior_mass.predict_proba(new)[0], expected / expected.sum())
    for model in (NaiveBayes(unseen="missing"), NaiveBayes(prior=None, unseen="missing")):
        np.testing.assert_allclose(model.fit(X, y).predict_proba(new)[0], [3 / 5, 2 / 5])
        assert np.isfinite(model.score_samples(new)).all()


def test_a_column_without_a_single_cell_says_nothing():
    X, y = load_iris(return_X_y=True)
    empty = np.column_stack([X, np.full(150, np.nan)])
    np.testing.assert_allclose(NaiveBayes().fit(empty, y).predict_proba(empty), NaiveBayes().fit(X, y).predict_proba(X))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(void=pd.Series([None] * 150, dtype="string"))
    model = NaiveBayes().fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(frame), NaiveBayes().fit(X, y).predict_proba(X))


def test_missing_cells_drop_out_of_the_product():
    X, y = load_iris(return_X_y=True)
    model = NaiveBayes().fit(X, y)
    incomplete = X.copy()
    incomplete[:, 2] = np.nan
    fewer = NaiveBayes().fit(X[:, [0, 1, 3]], y)
    np.testing.assert_allclose(model.predict_proba(incomplete), fewer.predict_proba(X[:, [0, 1, 3]]), rtol=1e-10)
    np.testing.assert_allclose(model.score_samples(incomplete), fewer.score_samples(X[:, [0, 1, 3]]), rtol=1e-10)


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_prediction_with_missing_values_uses_the_marginal_gaussian(covariance):
    X, y = load_iris(return_X_y=True)
    model = GenerativeClassifier(covariance=covariance, prior=None).fit(X, y)
    incomplete = X.copy()
    incomplete[::2, 2] = np.nan
    incomplete[1::3, 0] = np.nan
    incomplete[5] = np.nan
    probabilities = model.predict_proba(incomplete)
    marginal = GenerativeClassifier(covariance=covariance, prior=None).fit(X[:, [0, 1, 3]], y)
    only_third = np.isnan(incomplete[:, 2]) & ~np.isnan(incomplete[:, 0])
    np.testing.assert_allclose(
        probabilities[only_third], marginal.predict_proba(X[only_third][:, [0, 1, 3]]), rtol=1e-8
    )
    np.testing.assert_allclose(probabilities[5], model.class_prior_)
    np.testing.assert_allclose(model.mahalanobis(incomplete)[5], 0.0)


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_batches_leave_incomplete_rows_out_of_covariances_and_say_so(covariance):
    X, y = load_iris(return_X_y=True)
    incomplete = X.copy()
    incomplete[::10, 1] = np.nan
    with pytest.warns(UserWarning, match=r"left out of the covariances of 4 columns: 15 of 150"):
        model = GenerativeClassifier(covariance=covariance, class_prior="uniform").partial_fit(incomplete, y)
    complete = np.arange(150) % 10 != 0
    expected = GenerativeClassifier(covariance=covariance, class_prior="uniform").fit(X[complete], y[complete])
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


def test_a_big_frame_is_encoded_in_batches_with_the_same_result():
    columns, y = mixed_columns(n=70_000)
    frame = pd.DataFrame(columns)
    whole = NaiveBayes().fit(frame, y)
    halves = NaiveBayes().partial_fit(frame[:35_000], y[:35_000]).partial_fit(frame[35_000:], pd.Series(y[35_000:]))
    np.testing.assert_allclose(whole.predict_proba(frame), halves.predict_proba(frame), rtol=1e-9)


def test_pandas_frames_with_odd_indexes_are_read_by_place():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    frame = pd.DataFrame(X[order], index=order, columns=list("abcd"))
    labels = pd.Series(y[order], index=order)
    weight = pd.Series(np.arange(150.0)[order], index=order)
    np.testing.assert_allclose(
        NaiveBayes().fit(frame, labels, weight).predict_proba(X),
        NaiveBayes().fit(X, y, np.arange(150.0)).predict_proba(X),
        rtol=1e-9,
    )


@pytest.mark.parametrize("labels", ["pandas", "polars", "arrow", "list", "category"])
def test_labels_come_from_any_library(labels):
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y].tolist()
    given = {
        "pandas": pd.Series(words),
        "polars": pl.Series(words),
        "arrow": pa.chunked_array([words]),
        "list": words,
        "category": pd.Series(words, dtype="category"),
    }[labels]
    model = NaiveBayes().fit(X, given)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(X, words) > 0.9


@pytest.mark.parametrize("series", [pd.Series, pl.Series, np.array])
def test_a_series_is_no_table_and_the_message_is_that_of_a_1d_array(series):
    column = series(np.arange(6.0))
    for fit in (NaiveBayes().fit, NaiveBayes().fit(np.arange(6.0)[:, None], [0, 1] * 3).predict):
        with pytest.raises(ValueError, match=r"a table must be a 2D array, but X has shape \(6,\). Reshape your data"):
            fit(column, [0, 1] * 3) if fit.__name__ == "fit" else fit(column)


def test_what_a_model_knows_of_its_columns_prints_in_a_line():
    words = [f"word {i}" for i in range(20_000)]
    table = pd.DataFrame({"word": words}).assign(**{f"x{j}": np.arange(20_000.0) for j in range(50)})
    y = np.arange(20_000) % 2
    with pytest.warns(UserWarning, match="distinct"):
        model, linear = NaiveBayes().fit(table, y), GLM().fit(table[["word"]][:300], y[:300])
    assert repr(model.schema_) == (
        "<Schema of 51 columns: Categorical(unseen='prior') of 'word'; Gaussian(covariance='diagonal') of 'x0', 'x1', "
        "'x2', 'x3', … (50)>"
    )
    for shown in (model.schema_.categories, model.schema_.blocks, model._joint.schema, linear.design_):
        assert len(repr(shown)) < 250
