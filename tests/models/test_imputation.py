"""Missing cells filled in: what is expected, what is drawn, and the kind of table that comes back."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from mixed import mixed_columns

import suffice
from suffice import (
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    Multinomial,
    NaiveBayes,
    Poisson,
)
from suffice.families.bernoulli import BernoulliDistributions
from suffice.families.categorical_distributions import CategoricalDistributions
from suffice.families.codes import UNSEEN, Codes
from suffice.families.gaussian.covariance import STRUCTURES
from suffice.families.multinomial import MultinomialDistributions
from suffice.families.poisson import PoissonDistributions
from suffice.tables.factorize import MISSING

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def correlated(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 2, n)
    factors = rng.normal(size=(2, d, d)) + 1.5 * np.eye(d)
    return 4.0 * which[:, None] + np.einsum("nij,nj->ni", factors[which], rng.normal(size=(n, d))), which


def with_missing(X, share=0.3, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def columns():
    return mixed_columns(200)[0]


@pytest.fixture(scope="module")
def mixture(columns):
    return Mixture(3, families={"visits": Poisson()}, tol=1e-3, n_init=1, random_state=0).fit(pd.DataFrame(columns))


# -- what is expected -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_numbers_are_the_mean_of_the_conditioned_mixture(structure):
    X, _ = correlated()
    mixture = Mixture(2, covariance=structure, tol=1e-3, n_init=1, random_state=0).fit(X)
    for row in with_missing(X)[:12]:
        there = np.flatnonzero(~np.isnan(row))
        filled = mixture.impute(row[None])[0]
        assert np.array_equal(filled[there], row[there])
        if len(there) < len(row):
            given = mixture.condition({int(j): row[j] for j in there})
            assert np.allclose(np.delete(filled, there), given.weights_ @ given.means_)


def test_mixed_columns_agree_with_the_conditioned_mixture(mixture, columns):
    table = pd.DataFrame(columns)
    filled = mixture.impute(table)
    for i in np.flatnonzero(table.isna().any(axis=1))[:20]:
        row = table.iloc[i]
        given = mixture.condition({name: row[name] for name in table.columns if not pd.isna(row[name])})
        for block, found in zip(given.schema_.blocks, given.distributions_, strict=True):
            for j, column in enumerate(block.columns):
                cell = filled.iloc[i][given.feature_names_in_[column]]
                part = given.weights_ @ found.marginal(np.array([j])).mean()
                if isinstance(block.family, Categorical):
                    assert cell == given.schema_.categories[column].values[int(np.argmax(part))]
                elif isinstance(block.family, Bernoulli):
                    assert cell is (part[0] > 0.5).item()
                else:
                    assert np.isclose(cell, part[0])


@pytest.mark.parametrize(
    "model",
    [GaussianDiscriminant(), GaussianDiscriminant("full"), NaiveBayes(), GenerativeClassifier(covariance="VVE")],
    ids=["tied", "full", "naive", "VVE"],
)
def test_classifiers(model):
    X, y = correlated()
    model.fit(X, y)
    incomplete = with_missing(X)
    filled = model.impute(incomplete)
    there = ~np.isnan(incomplete)
    assert np.array_equal(filled[there], incomplete[there])
    assert np.isfinite(filled).all()
    (found,) = model.distributions_
    assert np.allclose(filled, found.expected_rows(incomplete, model.predict_proba(incomplete)))


def test_it_beats_the_mean_of_the_column():
    X, y = correlated(400)
    incomplete = with_missing(X)
    missing = np.isnan(incomplete)
    filled = GaussianDiscriminant("full").fit(incomplete, y).impute(incomplete)
    mean = np.broadcast_to(np.nanmean(incomplete, axis=0), X.shape)
    assert np.mean((filled - X)[missing] ** 2) < 0.6 * np.mean((mean - X)[missing] ** 2)


def test_families_by_themselves():
    shares = np.array([[0.25, 0.75], [1.0, 0.0]])
    incomplete = np.array([[np.nan, 1.0], [0.0, np.nan]])
    p = np.array([[0.1, 0.6], [0.9, 0.2]])
    assert BernoulliDistributions(Bernoulli(), p).expected_rows(incomplete, shares).tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert np.allclose(PoissonDistributions(Poisson(), p).expected_rows(incomplete, shares), [[0.7, 1.0], [0.0, 0.6]])
    values = CategoricalDistributions(
        np.array([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]]), np.array([3, 0]), np.zeros((2, 2)), Categorical()
    )
    codes = Codes(np.array([[MISSING, MISSING], [UNSEEN, MISSING]]), np.array([3, 0]))
    assert values.expected_rows(codes, shares).tolist() == [[0.0, MISSING], [UNSEEN, MISSING]]
    bags = MultinomialDistributions(p / p.sum(1, keepdims=True), np.ones(2))
    rng = np.random.default_rng(0)
    assert bags.expected_rows(np.eye(2), shares).tolist() == np.eye(2).tolist()
    assert bags.sampled_rows(sp.csr_array(np.eye(2)), np.array([0, 1]), rng).tolist() == np.eye(2).tolist()
    with pytest.raises(ValueError, match="the counts of a bag must not be missing"):
        bags.expected_rows(incomplete, shares)


# -- what is drawn ----------------------------------------------------------------------------------------------


def test_draws_have_the_conditional_moments():
    covariance = np.array([[2.0, 1.2, 0.5], [1.2, 1.5, 0.3], [0.5, 0.3, 1.0]])
    mixture = Mixture.from_parameters([0.5, 0.5], [[0.0, 0, 0], [1.0, 2, 3]], [covariance, 2 * covariance])
    X = np.tile([1.0, np.nan, np.nan], (20_000, 1))
    given = mixture.condition({0: 1.0})
    drawn = mixture.impute(X, sample=True, random_state=0)[:, 1:]
    mean = given.weights_ @ given.means_
    second = np.einsum("k,kij->ij", given.weights_, given.covariances_) + np.einsum(
        "k,ki,kj->ij", given.weights_, given.means_ - mean, given.means_ - mean
    )
    assert np.allclose(drawn.mean(0), mean, atol=0.05)
    assert np.allclose(np.cov(drawn.T), second, atol=0.12)


@pytest.mark.parametrize("structure", ["full", "tied", "diagonal", "VVE"])
def test_draws_keep_what_is_there(structure):
    X, y = correlated(60)
    incomplete = with_missing(X)
    model = GenerativeClassifier(covariance=structure).fit(X, y)
    drawn = model.impute(incomplete, sample=True, random_state=3)
    there = ~np.isnan(incomplete)
    assert np.array_equal(drawn[there], incomplete[there])
    assert np.isfinite(drawn).all()
    assert np.array_equal(drawn, model.impute(incomplete, sample=True, random_state=3))
    assert not np.array_equal(drawn, model.impute(incomplete, sample=True, random_state=4))
    legacy = np.random.RandomState(0)
    assert np.isfinite(model.impute(incomplete, sample=True, random_state=legacy)).all()


def test_draws_of_values(columns):
    table = pd.DataFrame(columns)
    model = NaiveBayes(families={"visits": Poisson()}).fit(table, mixed_columns(200)[1])
    row = pd.DataFrame({"height": [np.nan], "smoker": [None], "city": [None], "visits": [5.0]})
    many = model.impute(pd.concat([row] * 3000, ignore_index=True), sample=True, random_state=0)
    shares = model.predict_proba(row)[0]
    for block, found in zip(model.schema_.blocks, model.distributions_, strict=True):
        mean = shares @ found.mean()
        name = table.columns[block.columns[0]]
        if name == "city":
            drawn = many["city"].value_counts(normalize=True)
            assert np.allclose([drawn[value] for value in model.schema_.categories[2].values], mean, atol=0.04)
        elif name == "smoker":
            assert many["smoker"].isin([True, False]).all()
            assert np.isclose(many["smoker"].astype(float).mean(), mean[0], atol=0.04)
        elif name == "height":
            assert np.isclose(many["height"].mean(), mean[0], atol=1.0)


def test_threads_and_batches_do_not_matter():
    rng = np.random.default_rng(0)
    X = with_missing(rng.normal(size=(70_000, 2)), 0.1)
    mixture = Mixture.from_parameters([0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]], [[[1.0, 0.4], [0.4, 1.0]]])
    one, two = (mixture.set_params(n_jobs=n).impute(X, sample=True, random_state=1) for n in (1, 2))
    assert np.array_equal(one, two)
    frame = mixture.impute(pd.DataFrame(X))
    assert np.allclose(frame.to_numpy(), mixture.impute(X))


def test_near_singular_covariances():
    X, _ = correlated(80, 2)
    X = np.column_stack([X, X.sum(1) + 1e-5 * np.random.default_rng(0).normal(size=len(X))])
    mixture = Mixture(1, prior=None).fit(X)
    incomplete = X.copy()
    incomplete[:, 2] = np.nan
    assert np.allclose(mixture.impute(incomplete), X, atol=1e-3)
    assert np.allclose(mixture.impute(incomplete, sample=True, random_state=0), X, atol=1e-3)


# -- the kind of table ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("sample", [False, True])
def test_frames_come_back_in_kind(mixture, columns, library, sample):
    table = FRAMES[library](columns)
    filled = mixture.impute(table, sample=sample, random_state=0)
    assert type(filled) is type(table)
    names = filled.column_names if library == "pyarrow" else list(filled.columns)
    assert names == list(columns)
    for name, cells in columns.items():
        found = filled[name].to_pylist() if library == "pyarrow" else filled[name].to_list()
        assert all(new == old for new, old in zip(found, cells, strict=True) if old is not None)
        assert {type(cell) for cell in found} == {type(cell) for cell in cells if cell is not None}
    untouched = filled["visits"]
    assert getattr(untouched, "dtype", None) == getattr(table["visits"], "dtype", None)


def test_pandas_keeps_index_types_and_input(columns):
    table = pd.DataFrame(columns, index=pd.Index(np.arange(200) * 2 + 7, name="who"))
    table["city"] = table["city"].astype("category")
    table["smoker"] = table["smoker"].astype("boolean")
    table["height"] = table["height"].astype("float32")
    table["calls"] = pd.array([None, 3] * 100, dtype="Int64")
    before = table.copy()
    filled = Mixture(2, tol=1e-3, n_init=1, random_state=0).fit(table).impute(table)
    pd.testing.assert_frame_equal(table, before)
    assert filled.index.equals(table.index)
    expected = {"height": "float32", "smoker": "boolean", "city": "category", "visits": "int64", "calls": "Float64"}
    assert {name: str(dtype) for name, dtype in filled.dtypes.items()} == expected
    assert not filled.isna().any().any()


def test_columns_without_names(columns):
    X = with_missing(correlated(50)[0])
    frame = pd.DataFrame(X, columns=[10, 20, 30])
    filled = Mixture(1).fit(frame).impute(frame)
    assert filled.columns.tolist() == [10, 20, 30]
    assert np.allclose(filled.to_numpy(), Mixture(1).fit(X).impute(X))


def test_whole_numbers_stay_whole_where_they_can():
    table = pl.DataFrame({"count": [1, None, 3, 2, 0, 1], "yes": [1, 0, None, 1, 1, 1], "size": [4, 6, 5, None, 5, 4]})
    families = {"count": Poisson(), "yes": Bernoulli(), "size": Categorical()}
    model = NaiveBayes(families=families).fit(table, [0, 0, 0, 1, 1, 1])
    expected, drawn = model.impute(table), model.impute(table, sample=True, random_state=0)
    assert expected.dtypes == [pl.Float64, pl.Int64, pl.Int64]
    assert drawn.dtypes == [pl.Int64, pl.Int64, pl.Int64]
    assert expected["yes"][2] == 1
    objects = np.array(table.rows(), dtype=object)
    assert {type(cell) for cell in model.impute(objects, sample=True, random_state=0).ravel()} == {int}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"city": pd.Categorical(["Bern", None]), "height": [180.0, np.nan]}),
        pd.DataFrame({"city": pd.Categorical(["Bern", None], ordered=True), "height": [180.0, np.nan]}, index=[1, 1]),
        pl.DataFrame({"city": ["Bern", None], "height": [180.0, None]}, schema_overrides={"city": pl.Categorical}),
        pl.DataFrame({"city": ["Bern", None], "height": [180.0, None]}, schema_overrides={"city": pl.Enum(["Bern"])}),
        pl.DataFrame(
            {"city": ["Bern", None], "height": [180.0, np.nan]}, schema_overrides={"city": pl.Enum(["Oslo", "Bern"])}
        ),
        pa.table({"city": pa.array(["Bern", None]).dictionary_encode(), "height": [180.0, None]}),
        pd.DataFrame({"city": ["Bern", None], "height": [180.0, None]}, dtype=object),
        pd.DataFrame({"city": pd.array(["Bern", None], dtype="string[pyarrow]"), "height": [180.0, None]}),
    ],
    ids=["pandas", "ordered", "categorical", "enum-lacks", "enum", "dictionary", "objects", "arrow-string"],
)
def test_words_of_every_kind(table):
    known = pd.DataFrame({"city": ["Oslo", "Oslo", "Bern", "Oslo"], "height": [170.0, 171.0, 180.0, 170.0]})
    model = NaiveBayes().fit(known, [0, 0, 1, 0])
    filled = model.impute(table)
    assert type(filled) is type(table)
    cells = filled["city"].to_pylist() if isinstance(filled, pa.Table) else filled["city"].to_list()
    assert cells == ["Bern", "Oslo"]
    if isinstance(table, pa.Table):
        assert pa.types.is_dictionary(filled.schema.field("city").type)


@pytest.mark.parametrize(
    "nothing",
    [
        pd.DataFrame({"city": [None, None], "height": [None, None]}),
        pd.DataFrame({"city": [np.nan, np.nan], "height": [np.nan, np.nan]}, index=[4, 9]),
        pl.DataFrame({"city": [None, None], "height": [None, None]}),
        pa.table({"city": [None, None], "height": [None, None]}),
        np.array([[None, None], [None, None]]),
        np.full((2, 2), np.nan, dtype=object),
    ],
    ids=["objects", "floats", "polars", "pyarrow", "None", "NaN"],
)
def test_columns_of_missing_values_alone(nothing):
    known = pd.DataFrame({"city": ["Oslo", "Oslo", "Bern", "Oslo"], "height": [170.0, 171.0, 180.0, 170.0]})
    model = NaiveBayes().fit(known, [0, 0, 1, 0])
    filled = model.impute(nothing)
    assert type(filled) is type(nothing)
    if isinstance(nothing, pd.DataFrame):
        assert filled.index.equals(nothing.index)
    rows = np.asarray(filled.to_pandas() if isinstance(filled, (pa.Table, pl.DataFrame)) else filled, dtype=object)
    assert rows[:, 0].tolist() == ["Oslo", "Oslo"]
    assert np.allclose(rows[:, 1].astype(float), 172.75, atol=0.5)


def test_arrays(columns):
    X = with_missing(correlated(50)[0])
    model = Mixture(1).fit(X)
    single = model.impute(X.astype(np.float32))
    assert single.dtype == np.float32
    assert np.allclose(single, model.impute(X), atol=1e-4)
    masked = model.impute(np.ma.masked_invalid(X))
    assert np.allclose(masked, model.impute(X))
    kept = X.copy()
    model.impute(X)[:] = 0.0
    assert np.array_equal(X, kept, equal_nan=True)


@pytest.mark.torch
def test_tensors():
    torch = pytest.importorskip("torch")
    X = with_missing(correlated(50)[0])
    model = Mixture(1).fit(X)
    filled = model.impute(torch.asarray(X))
    assert isinstance(filled, torch.Tensor)
    assert np.allclose(filled.numpy(), model.impute(X))


def test_arrays_of_objects(columns):
    cells = np.array(list(zip(*columns.values(), strict=True)), dtype=object)
    model = Mixture(2, tol=1e-3, n_init=1, random_state=0).fit(cells)
    filled = model.impute(cells)
    assert filled.dtype == object
    for j, kind in enumerate([float, bool, str, int]):
        assert {type(cell) for cell in filled[:, j]} == {kind}
    there = cells != None  # noqa: E711
    assert (filled[there] == cells[there]).all()
    assert model.impute([[None, None, None, 3]]).shape == (1, 4)


def test_values_that_are_numbers():
    X = np.array([[1.0, 5.0], [2.0, 6.0], [2.0, 6.5], [np.nan, 6.2]])
    model = NaiveBayes(families={0: Categorical()}).fit(X, [0, 1, 1, 1])
    assert model.impute(X)[3].tolist() == [2.0, 6.2]


def test_complete_tables_come_back_equal(mixture, columns):
    table = pd.DataFrame(columns).dropna()
    pd.testing.assert_frame_equal(mixture.impute(table), table)
    X, y = correlated(40)
    model = GaussianDiscriminant().fit(X, y)
    assert np.array_equal(model.impute(X), X)
    assert model.impute(X) is not X
    counts = np.arange(12).reshape(4, 3)
    whole = NaiveBayes(families="poisson").fit(counts, [0, 0, 1, 1])
    assert np.array_equal(whole.impute(counts), counts)
    assert whole.impute(counts).dtype == counts.dtype
    sparse = sp.csr_array(counts)
    assert NaiveBayes(families="multinomial").fit(sparse, [0, 0, 1, 1]).impute(sparse) is sparse


def test_unseen_values_are_not_missing():
    table = pd.DataFrame({"city": ["Oslo", "Bern", None], "x": [1.0, 2.0, 3.0]})
    model = NaiveBayes().fit(table, [0, 1, 0])
    new = pd.DataFrame({"city": ["Rome", "Oslo"], "x": [np.nan, 1.0]})
    filled = model.impute(new)
    assert filled["city"].tolist() == ["Rome", "Oslo"]
    assert np.isfinite(filled["x"]).all()


# -- what cannot be filled in -----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian(), Poisson(), Bernoulli(), Categorical()], ids=lambda f: f.name)
def test_a_column_that_training_never_saw(family):
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "empty": [np.nan] * 4})
    model = NaiveBayes(families={"empty": family}).fit(table, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"column 'empty' holds a missing cell in row 1, but training saw no value"):
        model.impute(pd.DataFrame({"x": [1.0, 2.0], "empty": [1.0, np.nan]}))


@pytest.mark.parametrize("covariance", ["tied", "full", "VVE"])
def test_a_column_that_covariances_never_saw(covariance):
    X, y = correlated(40)
    X[:, 1] = np.nan
    model = GaussianDiscriminant(covariance).fit(X, y)
    with pytest.raises(ValueError, match="column 1 holds a missing cell in row 0, but training saw no value"):
        model.impute(X)
    X[-5:, 1] = np.arange(5.0)
    partly = GaussianDiscriminant(covariance, tol=1e-3).fit(X, [*y[:-5].tolist(), *[None] * 5])
    assert np.isfinite(partly.impute(X)).all()
    X[:, 1] = np.arange(40) % 7
    assert np.isfinite(model.fit(X, y).impute([[np.nan, np.nan, 1.0]])).all()


def test_a_part_of_a_mixture_knows_which_values_were_never_seen():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0], "empty": [None] * 4})
    part = Mixture(1, families={"empty": Categorical()}).fit(table).marginal(["x", "empty"])
    with pytest.raises(ValueError, match="training saw no value"):
        part.impute(table[["x", "empty"]])
    assert part.impute(pd.DataFrame({"x": [np.nan], "empty": ["new"]}))["x"].tolist() == [2.5]


def test_what_cannot_be_imputed():
    X, y = correlated(40)
    model = GaussianDiscriminant().fit(X, y)
    with pytest.raises(TypeError, match="call it on one batch after the other"):
        model.impute(suffice.stream([X]))
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.impute(X[:, :2])
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.impute(sp.csr_array(X[:, :2]))
    bags = NaiveBayes(families={(0, 1): Multinomial()}).fit(np.abs(X), y)
    incomplete = np.abs(X)
    incomplete[7, 2] = incomplete[31, 1] = np.nan
    with pytest.raises(ValueError, match=r"column 1 holds nan in row 31, but the counts of a bag must not be missing"):
        bags.impute(incomplete)
    words = NaiveBayes().fit(pd.DataFrame({"a": ["u", "v"] * 4, "b": np.arange(8.0)}), [0, 1] * 4)
    with (
        pytest.warns(UserWarning, match="count as unseen"),
        pytest.raises(ValueError, match="column 'a' was learned from values like 'u', but holds Float64 here"),
    ):
        words.impute(pd.DataFrame({"a": [1.0, np.nan], "b": [0.0, 1.0]}))


def test_a_mixture_cannot_fill_a_column_that_training_never_saw():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 1] = np.nan
    mixture = Mixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="column 1"):
        mixture.impute(X)
