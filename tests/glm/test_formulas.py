"""Formulas with interactions, categories, functions and offsets."""

import pickle
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import suffice
from suffice import GLM, likelihood_ratio_test

pytest.importorskip("formulaic")
FORMULA = "count ~ age * C(city) + offset(log(days))"


@pytest.fixture
def visits():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "age": rng.normal(40, 10, 300),
        "city": rng.choice(["Bonn", "Lyon", "Rome"], 300),
        "days": rng.uniform(1, 8, 300),
        "ill": rng.random(300) < 0.4,
    })  # fmt: skip
    rate = np.exp(0.01 * frame["age"] + 0.3 * (frame["city"] == "Lyon"))
    return frame.assign(count=rng.poisson(frame["days"] * rate))


def by_hand(frame):
    """The columns of age * C(city)."""
    lyon, rome = ((frame["city"] == city).astype(float) for city in ("Lyon", "Rome"))
    return np.column_stack([frame["age"], lyon, rome, frame["age"] * lyon, frame["age"] * rome])


@pytest.mark.parametrize("library", [lambda f: f, lambda f: pl.DataFrame(f.to_dict("list")), pa.table])
def test_a_formula_is_its_columns(visits, library):
    frame = library(visits)
    model = GLM("poisson", formula=FORMULA).fit(frame)
    plain = GLM("poisson").fit(by_hand(visits), visits["count"], exposure=visits["days"])
    np.testing.assert_allclose(model.parameters_, plain.parameters_, rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, plain.std_errors_, rtol=1e-8)
    assert model.terms_ == [
        "(intercept)", "age", "C(city)[T.Lyon]", "C(city)[T.Rome]", "age:C(city)[T.Lyon]", "age:C(city)[T.Rome]",
    ]  # fmt: skip
    assert model.null_deviance_ == pytest.approx(plain.null_deviance_, rel=1e-10)
    expected = plain.predict(by_hand(visits), exposure=visits["days"])
    np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-8)
    assert model.score(frame) == pytest.approx(1 - model.deviance_ / model.null_deviance_, rel=1e-9)
    np.testing.assert_allclose((model.residuals(frame) ** 2).sum(), model.deviance_, rtol=1e-9)
    np.testing.assert_allclose(model.gradient(frame), 0.0, atol=1e-6)
    assert model.feature_names_in_.tolist() == ["age", "city", "days"]
    assert "age:C(city)[T.Rome]" in str(model.summary())


def test_new_tables_need_the_columns_of_the_right_side_alone(visits):
    model = GLM("poisson", formula=FORMULA).fit(visits)
    expected = model.predict(visits)
    other = visits.drop(columns=["count", "ill"]).assign(more=1)[["more", "days", "city", "age"]][::-1]
    np.testing.assert_allclose(model.predict(other)[::-1], expected, rtol=1e-12)
    one = other[:1].assign(city="Rome")  # the levels are those of training
    assert model.predict(one).shape == (1,)
    chunks = suffice.stream([visits[:100], visits[100:]])
    np.testing.assert_allclose(model.predict(chunks), expected, rtol=1e-12)
    declared = visits.assign(city=pd.Categorical(visits["city"], ["Rome", "Oslo", "Bonn", "Lyon"]))
    np.testing.assert_allclose(model.predict(declared), expected, rtol=1e-12)
    assert GLM("poisson", formula="count ~ city").fit(declared).terms_ == [
        "(intercept)",
        "city[T.Bonn]",
        "city[T.Lyon]",
    ]


def test_functions_remember_the_training_rows(visits):
    model = GLM("poisson", formula="count ~ poly(age, 2) + center(ill) + bs(days, df=3)").fit(visits)
    np.testing.assert_allclose(model.predict(visits[:5]), model.predict(visits)[:5], rtol=1e-9)


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("count ~ 1", ["(intercept)"]),
        ("count ~ 0 + city", ["city[Bonn]", "city[Lyon]", "city[Rome]"]),
        ("count ~ age - 1", ["age"]),
        ("count ~ .", ["(intercept)", "age", "city[T.Lyon]", "city[T.Rome]", "days", "ill"]),
        ("count ~ I(age ** 2) + log(days):ill", ["(intercept)", "I(age ** 2)", "log(days):ill"]),
    ],
)
def test_terms_are_those_of_the_formula(visits, formula, terms):
    model = GLM("poisson", formula=formula).fit(visits)
    assert model.terms_ == terms
    assert model.predict(visits.drop(columns="count")).shape == (300,)
    assert len(model.std_errors_) == len(terms)


def test_the_response_may_be_words_counts_of_two_kinds_a_function_or_passed(visits):
    words = visits.assign(answer=np.where(visits["ill"], "yes", "no"))
    model = GLM("bernoulli", formula="answer ~ age").fit(words)
    assert model.levels_ == ("no", "yes")
    assert GLM("bernoulli", formula="ill ~ age").fit(visits).levels_ == (False, True)
    assert GLM("bernoulli", formula="answer ~ age", positive="no").fit(words).coef_[0] == pytest.approx(-model.coef_[0])
    assert model.score(words) == pytest.approx(1 - model.deviance_ / model.null_deviance_)
    counts = visits.assign(won=visits["count"], lost=visits["count"] % 3 + 1)
    shares = GLM("binomial", formula="won + lost ~ age").fit(counts)
    plain = GLM("binomial").fit(counts[["age"]], counts[["won", "lost"]])
    np.testing.assert_allclose(shares.parameters_, plain.parameters_, rtol=1e-10)
    logs = GLM(formula="log(days) ~ age").fit(visits)
    np.testing.assert_allclose(logs.parameters_, GLM().fit(visits[["age"]], np.log(visits["days"])).parameters_)
    passed = GLM("poisson", formula="age").fit(visits, visits["count"])
    np.testing.assert_array_equal(passed.parameters_, GLM("poisson", formula="count ~ age").fit(visits).parameters_)


def test_exposures_groups_weights_and_tests_go_with_formulas(visits):
    offset = GLM("poisson", formula=FORMULA).fit(visits)
    named = GLM("poisson", formula="count ~ age * C(city)").fit(visits, exposure="days")
    np.testing.assert_allclose(named.parameters_, offset.parameters_, rtol=1e-10)
    np.testing.assert_allclose(named.predict(visits), offset.predict(visits), rtol=1e-10)
    grouped = GLM("poisson", formula="count ~ age").fit(visits, groups="city")
    assert grouped.n_groups_ == 3
    assert grouped.predict(visits[["age"]]).shape == (300,)
    assert GLM("poisson", formula=FORMULA).fit(visits, sample_weight=np.arange(300) % 3).n_rows_ == 200
    smaller = GLM("poisson", formula="count ~ age + C(city) + offset(log(days))").fit(visits)
    assert likelihood_ratio_test(smaller, offset).terms == ("age:C(city)[T.Lyon]", "age:C(city)[T.Rome]")


def test_formulas_go_through_scikit_learn_and_pickle_but_not_into_files(visits, tmp_path):
    formulas = ["count ~ age", "count ~ city + offset(log(days))"]
    search = GridSearchCV(GLM("poisson"), {"formula": formulas}, cv=3).fit(visits)
    assert search.best_params_ == {"formula": formulas[1]}
    model = clone(search.best_estimator_).fit(visits)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(visits), model.predict(visits))
    with pytest.raises(ValueError, match="a model with a formula cannot be saved as a file: a formula is code"):
        suffice.save(model, tmp_path / "glm.suffice")
    assert not list(tmp_path.iterdir())


def test_what_a_formula_cannot_read_is_an_error_that_says_why(visits):
    def fit(formula, frame=visits, **arguments):
        return GLM("poisson", formula=formula).fit(frame, **arguments)

    model = fit(FORMULA)
    incomplete = visits.assign(city=visits["city"].where(visits.index != 7), age=visits["age"].where(visits.index != 9))
    for action in (model.predict, lambda frame: fit(FORMULA, frame)):
        with pytest.raises(ValueError, match=r"in column 'age' 1 cell is missing \(NaN\) \(first: row 9\)"):
            action(incomplete)
        with pytest.raises(ValueError, match=r"in column 'city' 1 cell is missing \(NaN\) \(first: row 7\)"):
            action(incomplete.fillna({"age": 1.0}))
    with pytest.raises(ValueError, match="in column 'days' 1 cell is missing"):
        fit("count ~ bs(days, df=4)", visits.assign(days=visits["days"].where(visits.index != 7)))
    with pytest.raises(ValueError, match="column 'city' holds 'Oslo' in row 0, which was not there in training"):
        model.predict(visits.assign(city="Oslo"))
    numbers = fit("count ~ C(ward)", visits.assign(ward=np.arange(300) % 3))
    with pytest.raises(ValueError, match="meets categories that were not there in training"):
        numbers.predict(visits.assign(ward=7))
    with pytest.raises(ValueError, match=r"the term 'log\(age - 40\)' of the formula is -?nan in row \d+, though no"):
        fit("count ~ log(age - 40)")
    with pytest.raises(
        ValueError, match="names 'height', which the table does not have; its columns are 'age', 'city'"
    ):
        fit("count ~ height")
    with pytest.raises(ValueError, match="the response of 'height ~ age' cannot be computed"):
        fit("height ~ age")
    with pytest.raises(ValueError, match="now missing:\n- age"):
        model.predict(visits.drop(columns="age"))
    with pytest.raises(ValueError, match="'count ~ age \\+' is not understood"):
        fit("count ~ age +")
    with pytest.raises(ValueError, match="must have one right side"):
        fit("count ~ age | city")
    with pytest.raises(ValueError, match="an offset has no coefficient"):
        fit("count ~ age:offset(days)")
    with pytest.raises(ValueError, match="names no response; write 'y ~ …', or pass y"):
        fit("age")
    with pytest.raises(ValueError, match="names the response; pass X alone"):
        fit(FORMULA, y=visits["count"])
    with pytest.raises(TypeError, match="formula must be a string such as 'count ~ age"):
        fit(7)
    with pytest.raises(ValueError, match="X must be a data frame with names of columns"):
        GLM("poisson", formula="age").fit(np.ones((3, 2)), [1, 2, 3])
    with pytest.raises(ValueError, match="needs a table in memory to fit"):
        fit(FORMULA, suffice.stream([visits]))
    with pytest.raises(ValueError, match="a formula says whether there is an intercept"):
        GLM("poisson", formula=FORMULA, fit_intercept=False).fit(visits)
    with pytest.raises(ValueError, match="beside a formula, exposure=2 must be the name of a column"):
        fit("count ~ age", exposure=2)


@pytest.mark.parametrize("offset", ["city", "C(city)", "poly(age, 2)"])
def test_an_offset_is_one_column_of_numbers(visits, offset):
    with pytest.raises(ValueError, match="an offset must be one column of numbers, but offset"):
        GLM("poisson", formula=f"count ~ age + offset({offset})").fit(visits)
    same = GLM("poisson", formula="count ~ age + offset(ill)").fit(visits)  # booleans are numbers
    plain = GLM("poisson").fit(visits[["age"]], visits["count"], offset=visits["ill"].astype(float))
    np.testing.assert_allclose(same.parameters_, plain.parameters_, rtol=1e-8)


@pytest.mark.parametrize("name", ["Intercept", "(intercept)", "class", "a b", "x:y", "q(", "é", "lambda", "C"])
@pytest.mark.parametrize("rest", ["", " + 0", " + city"])
def test_a_column_may_have_any_name(visits, name, rest):
    model = GLM("poisson", formula=f"count ~ `{name}`{rest}").fit(visits.rename(columns={"age": name}))
    plain = GLM("poisson", formula=f"count ~ age{rest}").fit(visits)
    np.testing.assert_allclose(model.parameters_, plain.parameters_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(visits.rename(columns={"age": name})), plain.predict(visits), rtol=1e-8)
    assert len(model.terms_) == len(plain.terms_)


@pytest.mark.parametrize("formula", ["count ~ 0", "count ~ 0 + offset(age)", "count ~ age - age - 1"])
def test_a_formula_needs_a_column_or_an_intercept(visits, formula):
    with pytest.raises(ValueError, match="no columns and no intercept, so nothing is estimated"):
        GLM("poisson", formula=formula).fit(visits)


@pytest.mark.parametrize("formula", ["count ~ __import__('os').getcwd()", "count ~ age[", "count ~ f(", "count ~ a b"])
def test_a_formula_that_cannot_be_read_is_named(visits, formula):
    with pytest.raises(ValueError, match=f"the formula {re.escape(repr(formula))}"):
        GLM("poisson", formula=formula).fit(visits)


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("places", [[0], [0, 1, 2]])
def test_missing_categories_in_prediction_are_missing_cells(visits, missing, places):
    model = GLM("poisson", formula="count ~ age + city").fit(visits)
    rows = visits[:3].assign(city=[missing if i in places else "Bonn" for i in range(3)])
    with pytest.raises(ValueError, match=r"in column 'city' .* missing"):
        model.predict(rows)


def test_formulaic_is_asked_for_where_it_is_missing(visits, monkeypatch):
    from suffice.glm.formulas import parse

    parse.cache_clear()
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(
        ImportError, match=r"formulas need formulaic; install it with: pip install 'suffice\[formula\]'"
    ):
        GLM("poisson", formula=FORMULA).fit(visits)
