"""Columns that have names are found by them: their order does not matter, and others beside them are not read."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice import (
    GLM,
    GaussianDiscriminant,
    GenerativeClassifier,
    LogisticRegression,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    SoftKMeans,
    dropin,
)

rng = np.random.default_rng(0)
N = 60
y = np.arange(N) % 3
X = np.round(rng.gamma(2.0, 2.0 + y[:, None], (N, 4))) + 1.0
numbers = pd.DataFrame(X, columns=["a", "b", "c", "d"])
mixed = numbers.assign(word=np.array(["x", "y", "z"])[rng.integers(0, 3, N)], flag=X[:, 0] > 4)
parts = pd.DataFrame(X / X.sum(axis=1, keepdims=True), columns=["a", "b", "c", "d"])

FRAMES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame(cells(frame)),
    "Arrow": lambda frame: pa.table(cells(frame)),
}


def cells(frame):
    return {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame}


def shuffled(frame):
    """Return the columns in another order, with others among them."""
    names = list(frame.columns)[::-1]
    return frame.assign(extra=np.arange(len(frame)) % 7, more="text")[["more", *names[:2], "extra", *names[2:]]]


def classified(model, rows):
    found = model.explain(rows)
    results = [model.predict(rows), model.predict_proba(rows), model.score_samples(rows), found.contributions]
    return results + ([model.transform(rows)] if hasattr(model, "transform") else [])


def mixture_of(model, rows):
    return [model.predict(rows), model.predict_proba(rows), [model.score(rows), model.bic(rows), model.icl(rows)]]


MODELS = {
    "NaiveBayes": (NaiveBayes, mixed, classified),
    "GenerativeClassifier": (
        lambda: GenerativeClassifier({("d", "b"): "gaussian", "c": "poisson"}, "tied"),
        mixed,
        classified,
    ),
    "GaussianDiscriminant": (lambda: GaussianDiscriminant("tied"), numbers, classified),
    "predictive": (lambda: NaiveBayes(estimate="predictive"), mixed, classified),
    "Dirichlet": (lambda: NaiveBayes("dirichlet"), parts, classified),
    "Mixture": (lambda: Mixture(2, random_state=0), mixed, mixture_of),
    "SoftKMeans": (lambda: SoftKMeans(2, random_state=0), numbers, mixture_of),
    "MixtureSearch": (lambda: MixtureSearch([2], ["EII"], random_state=0), numbers, lambda m, rows: [m.predict(rows)]),
    "GLM": (lambda: GLM("poisson"), mixed, lambda m, rows: [m.predict(rows), [m.score(rows, y)]]),
    "LogisticRegression": (lambda: LogisticRegression(1.0), mixed, lambda m, rows: [m.predict_proba(rows)]),
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("name", MODELS)
def test_prediction(name, library):
    make, table, results = MODELS[name]
    model = make().fit(FRAMES[library](table), y)
    wanted, found = results(model, FRAMES[library](table)), results(model, FRAMES[library](shuffled(table)))
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)
    absent = FRAMES[library](shuffled(table).drop(columns="b"))
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- b"):
        results(model, absent)


@pytest.mark.parametrize("name", ["NaiveBayes", "GenerativeClassifier", "GaussianDiscriminant", "Mixture"])
def test_batches_may_have_another_order_but_no_other_columns(name):
    make, table, results = MODELS[name]
    model, other = (make().partial_fit(table, y) for _ in range(2))
    same = results(model.partial_fit(table[::-1], y), table)
    turned = results(other.partial_fit(table[::-1][list(table.columns)[::-1]], y), table)
    for a, b in zip(same, turned, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- extra\n- more"):
        other.partial_fit(shuffled(table), y)


def test_a_stream_may_change_the_order_of_its_columns():
    halves = [(mixed[:30], y[:30]), (mixed[30:][list(mixed)[::-1]], y[30:])]
    for make in (NaiveBayes, lambda: LogisticRegression(1.0)):
        model, whole = make().fit(suffice.stream(halves)), make().fit(mixed, y)
        np.testing.assert_allclose(model.predict_proba(mixed), whole.predict_proba(mixed), atol=1e-6)


@pytest.mark.parametrize("library", FRAMES)
def test_imputation_gives_back_the_table_that_it_was_given(library):
    model = NaiveBayes().fit(mixed, y)
    there = np.arange(N) % 5 != 0
    incomplete = mixed.assign(
        b=mixed["b"].where(there), word=[w if here else None for w, here in zip(mixed["word"], there, strict=True)]
    )
    wanted = model.impute(incomplete)
    given = shuffled(incomplete)
    found = model.impute(FRAMES[library](given))
    assert list(found.column_names if library == "Arrow" else found.columns) == list(given.columns)
    for name in given:
        column = found[name].to_pylist() if library == "Arrow" else found[name].to_list()
        assert column == (wanted[name] if name in wanted else given[name]).tolist()


def test_checks_and_plots_find_their_columns():
    import matplotlib as mpl

    mpl.use("agg")
    model = GaussianDiscriminant("full").fit(numbers, y)
    assert str(model.check(shuffled(numbers), y)) == str(model.check(numbers, y))
    curves = [suffice.plot.densities(model, rows, "b", y).lines[0].get_ydata() for rows in (numbers, shuffled(numbers))]
    np.testing.assert_array_equal(*curves)
    two = GaussianDiscriminant("full").fit(numbers[["a", "b"]], y)
    axes = [suffice.plot.regions(two, rows, y) for rows in (numbers[["a", "b"]], shuffled(numbers[["a", "b"]]))]
    assert axes[0].get_xlabel() == axes[1].get_xlabel() == "a"
    np.testing.assert_array_equal(*(ax.lines[0].get_xdata() for ax in axes))


@pytest.mark.parametrize("how", ["offset", "exposure"])
def test_the_offset_of_a_linear_model(how):
    table = numbers.assign(size=np.exp2(rng.integers(0, 3, N)))
    model = GLM("poisson").fit(table, y, **{how: "size"})
    np.testing.assert_array_equal(model.predict(shuffled(table)), model.predict(table))
    other = shuffled(table).assign(other=1.5)
    np.testing.assert_array_equal(
        model.predict(other, **{how: "other"}), model.predict(table, **{how: np.full(N, 1.5)})
    )
    place = list(other).index("other")
    np.testing.assert_array_equal(model.predict(other, **{how: place}), model.predict(other, **{how: "other"}))


# -- statistics -------------------------------------------------------------------------------------------------------

FAMILIES = {
    "mixed": ({}, mixed),
    "full": ({"covariance": "full"}, numbers),
    "tied": ({"covariance": "tied"}, numbers),
    "groups": ({"families": {("d", "b"): suffice.Gaussian("full"), ("a", "c"): suffice.Gaussian("tied")}}, mixed),
    **{
        family: ({"families": family}, parts if family in ("beta", "dirichlet") else numbers)
        for family in ("categorical", "multinomial", "poisson", "gamma", "lognormal", "beta", "dirichlet")
    },
}


@pytest.mark.parametrize("name", FAMILIES)
def test_statistics_add_and_subtract_by_the_names_of_columns(name):
    settings, table = FAMILIES[name]

    def sums(rows, labels):
        return GenerativeClassifier(**settings).fit(rows, labels).statistics_

    first, second = sums(table[:30], y[:30]), sums(table[30:], y[30:])
    turned = sums(table[30:][list(table)[::-1]], y[30:])
    both = GenerativeClassifier(**settings).fit(table, y)
    for joined in (first + second, first + turned, second + first, (both.statistics_ - turned) + turned):
        model = GenerativeClassifier.from_statistics(joined)
        np.testing.assert_allclose(model.predict_proba(table), both.predict_proba(table), rtol=0, atol=1e-9)
        assert joined.schema.names == tuple(table)
    assert (turned + first).schema.names == tuple(table)[::-1]
    model = GenerativeClassifier.from_statistics(turned + first)
    np.testing.assert_allclose(model.predict_proba(table), both.predict_proba(table), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("dirichlet", "groups")])
def test_columns_that_only_the_second_has_are_left_out(name):
    settings, table = FAMILIES[name]
    fewer = [column for column in table if column not in ("b", "flag")][::-1]

    def sums(rows, labels):
        return GenerativeClassifier(**settings).fit(rows, labels).statistics_

    joined = sums(table[fewer][:30], y[:30]) + sums(table[30:], y[30:])
    model, both = GenerativeClassifier.from_statistics(joined), GenerativeClassifier(**settings).fit(table[fewer], y)
    np.testing.assert_allclose(model.predict_proba(table), both.predict_proba(table), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="same columns"):
        sums(table[30:], y[30:]) + sums(table[fewer][:30], y[:30])


def test_parts_of_a_whole_are_not_left_out():
    whole = NaiveBayes("dirichlet").fit(parts, y).statistics_
    two = parts[["a", "b"]].div(parts[["a", "b"]].sum(axis=1), axis=0)
    with pytest.raises(ValueError, match="parts of a whole"):
        NaiveBayes("dirichlet").fit(two, y).statistics_ + whole


def test_names_of_other_families_are_refused():
    first = NaiveBayes().fit(numbers, y).statistics_
    with pytest.raises(ValueError, match="same families"):
        first + NaiveBayes({"a": "poisson"}).fit(numbers[["d", "c", "b", "a"]], y).statistics_


# -- what stays -------------------------------------------------------------------------------------------------------


def test_drop_ins_refuse_another_order_as_scikit_learn_does():
    for make in (dropin.GaussianNB, dropin.LinearDiscriminantAnalysis, dropin.GaussianMixture):
        model = make().fit(numbers, y)
        with pytest.raises(ValueError, match="must be in the same order"):
            model.predict(numbers[["d", "c", "b", "a"]])
        with pytest.raises(ValueError, match="unseen at fit time"):
            model.predict(numbers.assign(extra=1.0))


def test_tables_without_names_go_by_place():
    named, unnamed = NaiveBayes().fit(numbers, y), NaiveBayes().fit(X, y)
    np.testing.assert_array_equal(named.predict_proba(X), named.predict_proba(numbers))
    np.testing.assert_array_equal(unnamed.predict_proba(numbers), unnamed.predict_proba(X))
    with pytest.raises(ValueError, match="X has 3 features, but NaiveBayes is expecting 4"):
        named.predict(X[:, :3])


def test_a_mixture_does_not_begin_with_one_of_other_columns():
    begun = Mixture(2, random_state=0).fit(numbers)
    with pytest.raises(ValueError, match="same columns in the same order"):
        Mixture(2, init=begun).fit(numbers[["d", "c", "b", "a"]])
