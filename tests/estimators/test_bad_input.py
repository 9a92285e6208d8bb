"""Bad input gets one clear error: what was required, what was found and where, and what to do."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import suffice
from suffice import (
    GLM,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    InvalidCellError,
    LogisticRegression,
    Mixture,
    MixtureSearch,
    Multinomial,
    NaiveBayes,
    Poisson,
    PseudoCount,
    SoftKMeans,
)

X = np.arange(12.0).reshape(6, 2)
Y = np.array(["a", "b", "a", "b", "a", "b"])
FRAME = pd.DataFrame({"age": [30, 40, 35, 50, 20, 60], "city": ["x", "y", "x", "y", "x", "x"]})


def says(*parts):
    """Match a message that holds all these parts in this order."""
    return re.compile(".*".join(re.escape(part) for part in parts), re.DOTALL)


def batch(table=FRAME, labels=Y):
    return NaiveBayes().partial_fit(table, labels)


def fits(data=X, labels=Y, weight=None, **params):
    return NaiveBayes(**params).fit(data, labels, weight)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fits(np.empty((0, 2)), []), says("needs rows", "0 sample(s)")),
        (lambda: fits(FRAME[:0], []), says("needs rows", "0 sample(s)")),
        (lambda: fits(np.empty((6, 0))), says("0 feature(s)", "minimum of 1")),
        (lambda: fits(labels=["a"] * 6), says("two classes or more", "one class only", "'a'")),
        (lambda: batch(labels=["a", None, "b", "a", None, "b"]), says("missing", "2 of 6 rows", "row 1", "drop")),
        (lambda: batch(labels=[0, 1, np.nan, 1, 0, 1]), says("missing", "1 of 6 rows", "row 2")),
        (lambda: batch(labels=pd.Series(["a", None, "b", "a", "b", "b"])), says("missing", "1 of 6", "row 1")),
        (lambda: fits(labels=[None] * 6), says("every label is missing", "classes=3")),
        (lambda: fits(labels=None), says("requires y to be passed")),
        (lambda: fits(labels=Y[:5]), says("6 rows", "5 labels")),
        (lambda: fits(labels=[0.5, 1.5, 2.5, 0.5, 1, 1]), says("continuous", "0.5", "bin it")),
        (lambda: fits(labels=[1, 2, 1, np.inf, 1, 2]), says("infinity")),
        (lambda: fits([[1, 2], [3], [4, 5]], ["a", "b", "a"]), says("row 0 has 2 cells and row 1 has 1", "complete")),
        (lambda: fits(X[0], Y[:2]), says("2D", "(2,)", "reshape(-1, 1)")),
        (lambda: fits(np.array([[1, 2.0], [np.inf, 3]]), ["a", "b"]), says("column 0", "inf", "row 1", "finite")),
        (lambda: fits(X, Y, [1, 1, -2, 1, 1, 1]), says("not negative", "-2", "row 2", "subtract")),
        (lambda: fits(X, Y, [1, 1, np.nan, 1, 1, 1]), says("finite", "nan", "row 2")),
        (lambda: fits(X, Y, np.zeros(6)), says("all weights are zero")),
        (lambda: fits(X, Y, np.ones(5)), says("6 rows", "(5,)")),
        (lambda: fits(families="gausian"), says("unknown family 'gausian'", "'gaussian'")),
        (lambda: fits(FRAME, families={"age": "poison"}), says("unknown family 'poison'", "'poisson'")),
        (lambda: fits(FRAME, families={"town": Categorical()}), says("'town'", "does not have", "'age', 'city'")),
        (lambda: fits(FRAME, families={"city": Categorical(), ("age", "city"): "gaussian"}), says("'city'", "two")),
        (lambda: fits(FRAME, families="gaussian"), says("'city'", "text", "6 rows", "'x' in row 0", "Categorical()")),
        (lambda: fits(-X, families=Poisson()), says("column 1", "-1", "row 0", "not be negative")),
        (lambda: fits(-X, families=Multinomial()), says("column 1", "-1", "row 0", "not be negative")),
        (lambda: fits(sparse.csr_array(-X), families=Multinomial()), says("column 1", "-1", "row 0", "negative")),
        (
            lambda: fits([[1, np.nan]] * 6, families=Multinomial()),
            says("column 1", "nan", "must not be missing", "write 0"),
        ),
        (lambda: fits(X, families=Bernoulli()), says("column 0", "2", "row 1", "0 or 1")),
        (lambda: fits(sparse.csr_array(np.where(X > 3, np.inf, X))), says("sparse", "finite")),
        (lambda: fits(X + 1j), says("Complex data not supported")),
        (lambda: fits(np.array([["2020-01-01"]] * 6, dtype="datetime64[D]")), says("numbers, booleans or words")),
        (lambda: fits(pl.DataFrame({"when": [datetime.date(2020, 1, 1)] * 6})), says("'when'", "Date", "convert")),
        (lambda: fits(pl.DataFrame({"a": range(6)}).lazy()), says("lazy", "collect")),
        (lambda: fits("data.csv"), says("array", "str", "suffice.scan")),
        (lambda: fits(prior="laplace"), says("prior must be", "'laplace'")),
        (lambda: fits(prior=-1), says("positive", "-1")),
        (lambda: fits(class_prior="flat"), says("class_prior must be", "'flat'")),
        (lambda: fits(class_prior=[0.5, 0.6]), says("2 probabilities that sum to 1", "[0.5, 0.6]")),
        (lambda: fits(class_prior={"a": 1.0}), says("name every class", "'b'")),
        (
            lambda: GaussianDiscriminant("diagnal").fit(X, Y),
            says("covariance must be one of", "'diagonal'", "'diagnal'"),
        ),
        (lambda: fits(unseen="ignore"), says("unseen must be", "'ignore'")),
        (lambda: fits(n_jobs=0), says("n_jobs", "0")),
        (lambda: fits(labels=[[0.5, 0.6]] * 6), says("sum to 1", "row 0", "[0.5, 0.6]")),
        (lambda: PseudoCount(0), says("positive", "prior=None")),
    ],
)
def test_one_clear_error(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def begins(init):
    return Mixture(2, init=init).fit(X)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        *((init, says("init must be", "'k-means++'", f"not {init!r}")) for init in (None, 5, True, {}, set(), [], "k")),
        (np.zeros((6, 2)), says("every component", "share")),
        (sparse.csr_array((6, 2)), says("every component", "share")),
        ([None, 0, 0, 1, 1, 1], says("every row", "row 0 has none")),
        ([0, 0, 1, 1, np.nan, 1], says("every row", "row 4 has none")),
        (np.array(["a", "a", None, "b", "b", "b"], dtype=object), says("every row", "row 2 has none")),
        ([0, 1], says("one label", "6 rows")),
        ([0, 1, 2, 0, 1, 2], says("2 components", "name 3")),
        (np.full((6, 2), -1.0), says("not negative")),
        (np.zeros((6, 2, 1)), says("one label or one row of shares")),
    ],
)
def test_a_mixture_cannot_begin_just_anywhere(init, message):
    with pytest.raises(ValueError, match=message):
        begins(init)


def test_a_mixture_begins_with_sparse_shares_as_with_dense_ones():
    shares = np.eye(2)[[0, 0, 0, 1, 1, 1]]
    np.testing.assert_array_equal(begins(sparse.csr_array(shares)).means_, begins(shares).means_)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MixtureSearch(2, []).fit(X), says("covariance must be", "empty")),
        (lambda: MixtureSearch([np.inf]).fit(X), says("n_components", "whole number", "inf")),
        (lambda: MixtureSearch([np.nan]).fit(X), says("n_components", "whole number", "nan")),
        (lambda: MixtureSearch(2).fit(suffice.stream(lambda: iter([X]))), says("in memory", "a sample of the rows")),
        *(
            (lambda model=model: model.fit(1e200 * (X + 1.0)), says("squares", "too large", "rescale"))
            for model in (Mixture(2), Mixture(2, prior=None), SoftKMeans(2), MixtureSearch(2))
        ),
    ],
)
def test_a_search_and_mixtures_say_what_they_need(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_text_in_a_numeric_column_is_counted_and_shown():
    frame = pd.DataFrame({"age": ["30", "n/a", "35", "n/a", "20", "?"], "size": range(6)})
    with pytest.raises(ValueError, match=says("column 'age'", "text in 3 rows", "'n/a' in row 1", "Categorical()")):
        fits(frame, families={"age": Gaussian()})
    with pytest.raises(ValueError, match=says("column 'age'", "text in 3 rows")):
        fits(FRAME[["age"]]).predict(frame[["age"]])


def test_numbers_mixed_with_text_are_not_guessed_at():
    mixed = np.array([[1.0], [2.0], ["?"], [4.0], [5.0], [6.0]], dtype=object)
    with pytest.raises(ValueError, match=says("column 0", "mixes numbers with text", "'?' in row 2", "Categorical()")):
        fits(mixed)


def test_the_row_of_a_bad_cell_is_counted_from_the_top_of_the_table():
    rng = np.random.default_rng(0)
    big = rng.normal(size=(100_000, 3))
    big[98_765, 2] = -np.inf
    with pytest.raises(InvalidCellError, match=says("column 2", "-inf", "row 98765")) as caught:
        fits(big, rng.integers(0, 2, 100_000))
    assert caught.value.row == 98_765
    frame = pd.DataFrame(big, columns=["p", "q", "r"]).assign(word="w")
    with pytest.raises(InvalidCellError, match=says("column 'r'", "row 98765")):
        fits(frame, rng.integers(0, 2, 100_000))


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_prediction_checks_cells_too(kind):
    model = fits(X) if kind == "array" else fits(pd.DataFrame(X, columns=["p", "q"]))
    bad = np.array([[1.0, 2.0], [3.0, np.inf]])
    table = bad if kind == "array" else pd.DataFrame(bad, columns=["p", "q"])
    with pytest.raises(InvalidCellError, match=says("column 1" if kind == "array" else "column 'q'", "inf", "row 1")):
        model.predict_proba(table)
    with pytest.raises(InvalidCellError, match=says("negative")):
        fits(X, families="multinomial").predict(-X)
    with pytest.raises(InvalidCellError, match=says("negative")):
        fits(X, families="poisson").predict(-X)


def test_columns_at_prediction_must_be_those_of_training():
    model = fits(FRAME)
    with pytest.raises(ValueError, match=says("yet now missing", "- age")):
        model.predict(FRAME[["city"]])
    with pytest.raises(ValueError, match=says("unseen at fit time", "- extra")):
        model.partial_fit(FRAME.assign(extra=1), Y)
    with pytest.raises(ValueError, match=says("X has 3 features", "expecting 2")):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=says("yet now missing", "- age")):
        model.partial_fit(FRAME[["city"]], Y)


def test_column_names_must_be_unique():
    twice = pd.DataFrame(X, columns=["a", "a"])
    with pytest.raises(ValueError, match=says("unique", "'a'", "rename")):
        fits(twice)


def test_maximum_likelihood_says_what_it_cannot_estimate():
    constant = np.column_stack([X, np.ones(6)])
    with pytest.raises(ValueError, match=says("variance of column 2 in class 'a'", "prior='auto'")):
        fits(constant, prior=None)
    with pytest.raises(ValueError, match=says("covariance of class 'a' is singular", "column 2 is constant")):
        GaussianDiscriminant("full", prior=None).fit(constant, Y)
    with pytest.raises(ValueError, match=says("singular", "rank 1 of 2")):
        GaussianDiscriminant("full", prior=None).fit(X, Y)
    with pytest.raises(ValueError, match=says("maximum likelihood needs", "class 'c'")):
        NaiveBayes(prior=None).partial_fit(X, Y, classes=["a", "b", "c"]).predict(X)


def test_labels_that_were_not_listed_are_refused():
    model = NaiveBayes().partial_fit(X, Y, classes=["a", "b"])
    with pytest.raises(ValueError, match=says("'c' in row 1", "['a', 'b']", "classes=")):
        model.partial_fit(X[:2], ["a", "c"])
    with pytest.raises(ValueError, match=says("not the same as on last call")):
        model.partial_fit(X, Y, classes=["a", "b", "z"])


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = fits()
    before = model.predict_proba(X)
    with pytest.raises(InvalidCellError):
        model.partial_fit(np.full((2, 2), np.inf), ["a", "b"])
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_thresholds_and_costs_are_checked():
    with pytest.raises(ValueError, match=says("2×2 matrix", "(3, 3)")):
        fits(cost=np.ones((3, 3))).predict(X)
    with pytest.raises(ValueError, match=says("not both")):
        fits(cost=np.ones((2, 2)), threshold=0.5).predict(X)
    with pytest.raises(ValueError, match=says("no", "'z'")):
        fits().explain(X, target="z")
    with pytest.raises(ValueError, match=says("names the class 'z'")):
        fits(threshold={"z": 0.5}).predict(X)
    with pytest.raises(ValueError, match=says("two classes, but there are 3")):
        NaiveBayes(threshold=0.5).fit(X, ["a", "b", "c"] * 2).predict(X)
    with pytest.raises(ValueError, match=says("positive")):
        fits(threshold=1.5).predict(X)


def test_distances_and_linear_forms_say_when_there_are_none():
    words = fits(FRAME[["city"]])
    with pytest.raises(ValueError, match=says("Mahalanobis", "Gaussian")):
        words.mahalanobis(FRAME[["city"]])
    with pytest.raises(AttributeError, match=says("not linear", "city")):
        _ = words.coef_
    with pytest.raises(AttributeError, match=says("quadratic", "tied")):
        _ = fits().coef_
    assert not hasattr(fits(), "coef_")


def test_streams_bring_their_own_labels():
    with pytest.raises(ValueError, match=says("brings its own labels")):
        NaiveBayes().fit(suffice.stream([(X, Y)]), Y)
    with pytest.raises(ValueError, match=says("chunk 0 is a tuple of 4")):
        NaiveBayes().fit(suffice.stream([(X, Y, None, None)]))
    with pytest.raises(ValueError, match=says("0 sample(s)")):
        NaiveBayes().fit(suffice.stream([]))
    with pytest.raises(ValueError, match=says("requires y")):
        NaiveBayes().fit(suffice.stream([X]))


def test_unfitted_models_say_so():
    from sklearn.exceptions import NotFittedError

    for method in ("predict", "predict_proba", "score_samples", "mahalanobis", "explain"):
        with pytest.raises(NotFittedError):
            getattr(GenerativeClassifier(), method)(X)
    with pytest.raises(NotFittedError):
        GenerativeClassifier().sample()


def test_a_first_batch_may_be_too_small_for_maximum_likelihood():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = GaussianDiscriminant(prior=None).partial_fit(rows[:1], labels[:1])
    with pytest.raises(ValueError, match=says("singular")):
        model.predict(rows)
    model.partial_fit(rows[1:], labels[1:])
    whole = GaussianDiscriminant(prior=None).fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(rows), rtol=1e-9)


def test_words_that_became_numbers_are_not_silently_unseen():
    model = fits(pd.DataFrame({"zip": ["05", "06", "05", "07", "05", "06"]}))
    with pytest.warns(UserWarning, match=says("'zip'", "values like '05'", "values like 5", "convert")):
        model.predict(pd.DataFrame({"zip": [5, 6]}))


def test_cells_that_are_neither_0_nor_1_are_refused_in_prediction_too():
    model = fits(np.eye(2)[[0, 1, 0, 1, 0, 0]], families="bernoulli")
    with pytest.raises(InvalidCellError, match=says("column 1", "7", "row 1", "0 or 1")):
        model.predict([[0, 1], [1, 7]])


def test_reasons_where_both_classes_are_impossible_are_not_a_crash():
    model = NaiveBayes("bernoulli", prior=None).fit(np.array([[0.0, 0], [1, 1], [1, 1], [0, 0]]), [0, 1, 1, 0])
    with pytest.warns(UserWarning, match="1 of 2 rows rule out every class between them"):
        reasons = model.explain(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert np.isnan(reasons.log_odds[0])
    assert reasons.log_odds[1] == np.inf


@pytest.mark.parametrize(
    "labels",
    [[["a", "b"]] * 6, np.array([["a", "b"]] * 6), pd.DataFrame({0: ["a"] * 6, "q": ["b"] * 6}).rename(columns=str)],
)
def test_labels_of_two_columns_are_not_blamed_on_the_rows(labels):
    for model in (NaiveBayes(), GenerativeClassifier(), LogisticRegression()):
        with pytest.raises(ValueError, match=says("y must hold one label per row", "2 columns", "of y")):
            model.fit(X, labels)
    with pytest.raises(ValueError, match="y of two columns must hold numbers"):
        GLM("binomial").fit(X, labels)
    with pytest.raises(ValueError, match=says("row 0 of y is [0, 2]", "pass one label per row")):
        fits(labels=[[0, 2]] * 6)
    with pytest.raises(ValueError, match=says("y must hold one label per row", "row 0 has 1 cells and row 1 has 2")):
        fits(labels=[["a"], ["a", "b"]] * 3)


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, {1, 2}, np.arange(2)], ids=lambda cell: type(cell).__name__)
def test_lists_are_no_words(cell):
    cells = pd.Series([None, *[cell] * 5], dtype=object)
    tables = [FRAME.assign(tokens=cells), FRAME.assign(tokens=cells).to_numpy()]
    for table, name in zip(tables, ["'tokens'", "2"], strict=True):
        for model in (NaiveBayes(), NaiveBayes({2: "categorical"}), Mixture(1), GLM(), LogisticRegression()):
            with pytest.raises(
                ValueError, match=says(f"column {name} holds a {type(cell).__name__}", "row 1", "spread")
            ):
                model.fit(table, [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match=says(f"y holds a {type(cell).__name__}", "row 1")):
        fits(labels=cells)
    with pytest.raises(ValueError, match=says("row 1 holds a")):
        suffice.best_family(cells)
    words = fits(FRAME.assign(tokens=[("a", 1), ("b", 2)] * 3))  # what can be told apart are categories
    assert words.schema_.categories[2].values == (("a", 1), ("b", 2))


@pytest.mark.parametrize("weight", [np.ones(6) + 1j, np.ones(6, "m8[s]"), np.ones(6, [("a", float)])])
def test_weights_must_be_real_numbers(weight):
    with pytest.raises(ValueError, match=says("sample_weight needs one number per row", str(weight.dtype))):
        fits(weight=weight)


def test_labels_must_be_dense():
    for labels in (sparse.csr_array(np.eye(6)[:, :2]), sparse.csc_matrix(np.ones((6, 1)))):
        with pytest.raises(ValueError, match="y is a sparse array"):
            fits(labels=labels)
