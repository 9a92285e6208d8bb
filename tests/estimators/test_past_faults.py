"""Mistakes that were made once, each as small as it can be."""

import datetime
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import suffice
from suffice import (
    Categorical,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    Poisson,
)
from suffice.errors import EstimateError
from suffice.families.gaussian.covariance import STRUCTURES
from suffice.statistics.responsibilities import Labels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.arange(40) % 2


def test_the_prior_variance_is_never_larger_than_the_variance_of_all_rows():
    rows = np.r_[RNG.normal(0, 1, (500, 2)), RNG.normal(0, 4, (500, 2))]
    labels = np.repeat([0, 1], 500)
    for covariance in ("diagonal", "tied-diagonal", "spherical", "tied", "full"):
        with pytest.warns(UserWarning, match="weights of 1000 rows sum to 1: a weight counts rows"):
            model = GaussianDiscriminant(covariance).fit(rows, labels, np.full(1000, 1e-3))
        (gaussians,) = model.distributions_
        assert gaussians.variance().max() < 2 * rows.var(0).max()


def test_a_class_of_little_weight_stays():
    model = NaiveBayes().fit(X[:6], [0, 0, 1, 1, 2, 2], sample_weight=[1e12, 1e12, 1, 1, 1e12, 1e12])
    assert model.classes_.tolist() == [0, 1, 2]


def test_merged_models_keep_the_families_they_were_learned_with():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(w=["u", "v"] * 20)
    families = {("a", "b"): Gaussian("full"), "w": Categorical("missing")}
    model = GenerativeClassifier(families).fit(frame, Y)
    again = GenerativeClassifier.from_statistics(model.statistics_)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    named = GenerativeClassifier.from_statistics(model.statistics_, families={("a", "b"): Gaussian("tied")})
    assert named.schema_.blocks[0].family == Gaussian("tied")
    with pytest.raises(ValueError, match="names column 'zzz'"):
        GenerativeClassifier.from_statistics(model.statistics_, families={"zzz": "gaussian"})
    with pytest.raises(ValueError, match="can only change family together"):
        GenerativeClassifier.from_statistics(model.statistics_, families={"a": "gaussian"})


def test_counts_in_float32_are_summed_in_float64():
    ones = np.ones((3000, 1), np.float32)
    model = NaiveBayes("bernoulli", prior=None).fit(ones, np.arange(3000) % 2, np.full(3000, 0.35))
    assert (model.distributions_[0].probability <= 1).all()
    counts = RNG.poisson(3000, (200, 5))
    labels = np.arange(200) % 2
    for family in ("poisson", "multinomial"):
        exact = NaiveBayes(family).fit(counts.astype(float), labels).predict_log_proba(counts.astype(float))
        single = counts.astype(np.float32)
        np.testing.assert_allclose(NaiveBayes(family).fit(single, labels).predict_log_proba(single), exact, rtol=1e-9)


def test_a_column_with_few_digits_left_is_not_taken_for_constant():
    nanoseconds = (1.7e18 + RNG.normal(0, 1e5, 400) + 3e4 * (np.arange(400) % 2))[:, None]
    labels = np.arange(400) % 2
    automatic = NaiveBayes().fit(nanoseconds, labels).predict_proba(nanoseconds)
    likelihood = NaiveBayes(prior=None).fit(nanoseconds, labels).predict_proba(nanoseconds)
    np.testing.assert_allclose(automatic, likelihood, atol=0.02)


@pytest.mark.parametrize("covariance", ["spherical", "tied-spherical"])
def test_a_constant_column_does_not_break_the_scale_of_a_shared_variance(covariance):
    rows = np.c_[RNG.normal(size=400) + np.arange(400) % 2, np.full(400, 3.0)]
    labels = np.arange(400) % 2
    small = GaussianDiscriminant(covariance).fit(rows * 1e-3, labels).predict_proba(rows * 1e-3)
    np.testing.assert_allclose(GaussianDiscriminant(covariance).fit(rows, labels).predict_proba(rows), small, rtol=1e-8)


def test_pandas_columns_named_by_numbers_are_found_by_their_names():
    frame = pd.DataFrame({1: [0, 1] * 20, 0: X[:, 0]})
    model = GenerativeClassifier({1: Categorical()}).fit(frame, Y)
    assert [(block.columns, type(block.family)) for block in model.schema_.blocks] == [
        ((0,), Categorical),
        ((1,), Gaussian),
    ]
    soft = pd.DataFrame(np.eye(2)[Y], columns=[7, 3])
    assert NaiveBayes().fit(X, soft).classes_.tolist() == [3, 7]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nan_is_missing_in_every_library(library):
    table = library({"k": [float("nan"), 0.0, 1.0, 0.0] * 10})
    model = NaiveBayes({"k": "categorical"}).fit(table, Y)
    assert model.schema_.categories[0].values == (0.0, 1.0)
    labels = library({"y": [float("nan"), 1.0, 0.0, 1.0] * 10})["y"]
    with pytest.raises(ValueError, match="missing"):
        NaiveBayes().partial_fit(X, labels)
    assert NaiveBayes().fit(X, labels).classes_.tolist() == [0.0, 1.0]


def test_labels_are_not_changed():
    assert set(NaiveBayes().fit(X[:4], [1, "a", 1, "a"]).classes_.tolist()) == {1, "a"}
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")[Y]
    assert NaiveBayes().fit(X, days).predict(X).dtype == days.dtype
    mixed = NaiveBayes().partial_fit(X[:4], [1, "a", 1, "a"], classes=[1, "a"])
    assert set(mixed.classes_.tolist()) == {1, "a"}


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[Y],
        np.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)])[Y],
        np.array([b"no", b"yes"])[Y],
        np.array([1, "a"], dtype=object)[Y],
    ],
)
def test_odd_labels_survive_a_file(labels, tmp_path):
    model = NaiveBayes().fit(X, labels)
    suffice.save(model, tmp_path / "model")
    assert suffice.load(tmp_path / "model").predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("wrap", [pd.Series, pl.Series, lambda values: np.array(values, dtype=object)])
def test_a_continuous_target_is_refused_from_every_library(wrap):
    with pytest.raises(ValueError, match="continuous"):
        NaiveBayes().fit(X, wrap(X[:, 0].tolist()))


def test_several_categorical_columns_satisfy_the_formula_of_their_family():
    rows = np.column_stack([np.arange(30) % 3, np.arange(30) % 2])
    family = Categorical()
    distributions = family.estimate(family.statistics(family.encode(rows), Labels(np.zeros(30, np.intp), None, 1)))
    eta = distributions.natural_parameters()
    sized = distributions.family
    np.testing.assert_allclose(sized.from_natural(eta).probability, distributions.probability)
    plain = sized.sufficient_statistics(rows) @ eta[0] - sized.log_normalizer(eta)[0]
    np.testing.assert_allclose(distributions[0].log_prob(rows), plain)


def test_a_categorical_distribution_takes_and_gives_values():
    colours = Categorical().fit(["red", None, "blue", "red", float("nan")])
    assert np.exp(colours.log_prob(["red", "blue", None])).round(6).tolist() == [0.666667, 0.333333, 1.0]
    assert set(colours.sample(20, random_state=0).ravel()) == {"red", "blue"}


def test_families_by_themselves_check_their_weights():
    with pytest.raises(ValueError, match="not negative"):
        Poisson().fit([1, 2, 5], sample_weight=[-1, 2, 2])
    with pytest.raises(ValueError, match="3 rows"):
        Categorical().fit(["a", "b", "a"], sample_weight=[1, 2])


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_rows_beyond_all_reach_give_probabilities_and_too_large_ones_are_not_learned_from(covariance):
    model = GaussianDiscriminant(covariance).fit(X, Y)
    far = model.predict_proba([[1e200, 1e200], [1e300, np.nan]])
    assert np.isfinite(far).all()
    with pytest.raises(ValueError, match=r"too large.*rescale"):
        GaussianDiscriminant(covariance).fit(X * 1e200, Y)


def test_reasons_of_tied_diagonal_models_keep_their_digits():
    rows = X + 1e8
    model = GaussianDiscriminant("tied-diagonal").fit(rows, Y)
    np.testing.assert_allclose(
        model.explain(rows, target=1, against=0).log_odds, model.decision_function(rows), rtol=1e-6, atol=1e-9
    )


def test_dictionaries_with_unsigned_numbers_and_nulls_are_read(tmp_path):
    words = pl.Series(["a", "b", None, "a"], dtype=pl.Categorical)
    pl.DataFrame({"s": words, "x": [1.0, 2, 3, 4], "y": [0, 1, 0, 1]}).write_parquet(tmp_path / "p.parquet")
    model = NaiveBayes().fit(suffice.scan(tmp_path / "p.parquet", target="y"))
    assert model.schema_.categories[0].values == ("a", "b")


def test_a_first_file_without_a_single_word_does_not_decide_the_column(tmp_path):
    pq.write_table(pa.table({"s": pa.nulls(4), "y": [0, 1, 0, 1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": ["u", "v", "u", "v"], "y": [0, 1, 0, 1]}), tmp_path / "b.parquet")
    model = NaiveBayes().fit(suffice.scan(tmp_path, target="y"))
    assert model.schema_.categories[0].values == ("u", "v")


def test_engines_that_overlap_give_blas_its_threads_back():
    from threadpoolctl import threadpool_info, threadpool_limits

    rows = RNG.normal(size=(200_000, 20))
    model = GaussianDiscriminant("tied").fit(rows, np.arange(200_000) % 2)

    def blas_threads():
        return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert set(before) == {2}
        threads = [threading.Thread(target=model.score_samples, args=(rows,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert blas_threads() == before


def test_no_number_of_rows_outweighs_the_prior_into_a_singular_covariance():
    rows = np.c_[X, X[:, 0]]
    for covariance in ("full", "tied"):
        GaussianDiscriminant(covariance).fit(rows, Y, np.full(40, 1e14)).predict(rows)


def test_rows_of_text_are_counted_from_the_top_of_a_long_table():
    cells = np.arange(70_000).astype(object)
    cells[69_000] = "n/a"
    frame = pd.DataFrame({"x": cells, "w": "u"})
    with pytest.raises(ValueError, match="'n/a' in row 69000"):
        NaiveBayes(families={"x": "gaussian"}).fit(frame, np.arange(70_000) % 2)


def test_declared_labels_that_no_row_has_are_no_classes():
    labels = pd.Series(pd.Categorical(["a", "b"] * 20, categories=["a", "b", "never"]))
    assert NaiveBayes().partial_fit(X, labels, classes=["a", "b"]).classes_.tolist() == ["a", "b"]


def test_a_model_that_could_not_be_estimated_yet_can_be_saved(tmp_path):
    suffice.save(NaiveBayes(prior=None).partial_fit(X[:1], [0]), tmp_path / "early")
    model = suffice.load(tmp_path / "early").partial_fit(X[1:], Y[1:])
    np.testing.assert_allclose(model.predict_proba(X), NaiveBayes(prior=None).fit(X, Y).predict_proba(X))


def test_statistics_cannot_be_changed_and_sum_up():
    model = NaiveBayes().fit(X, Y)
    with pytest.raises(ValueError, match="read-only"):
        model.statistics_.class_count[0] = 5
    assert sum([model.statistics_, model.statistics_]).class_count.tolist() == [40.0, 40.0]


def test_a_generator_that_was_read_says_so():
    chunks = suffice.stream((rows, labels) for rows, labels in [(X, Y)])
    NaiveBayes().fit(chunks)
    with pytest.raises(ValueError, match="read only once"):
        NaiveBayes().fit(chunks)


def test_masked_cells_are_missing():
    masked = np.ma.masked_array(X, mask=np.zeros_like(X))
    masked[0, 0] = np.ma.masked
    incomplete = X.copy()
    incomplete[0, 0] = np.nan
    np.testing.assert_array_equal(
        NaiveBayes().fit(masked, Y).predict_proba(X), NaiveBayes().fit(incomplete, Y).predict_proba(X)
    )


def test_a_class_that_just_reaches_its_threshold_is_predicted():
    model = NaiveBayes(threshold=0.5, class_prior="uniform").fit(np.r_[X, X], np.repeat([0, 1], 40))
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    assert (model.predict(X) == 1).mean() > 0.4
    with pytest.raises(ValueError, match="one threshold per class"):
        NaiveBayes(threshold=[0.1, 0.2]).fit(X[:3], [0, 1, 2]).predict(X)


def test_cells_of_a_sparse_table_may_be_written_in_parts():
    from scipy import sparse

    parts = sparse.csr_array(([1.0, 2.0, 1.0, 5.0, 4.0], [0, 0, 0, 0, 0], [0, 2, 3, 4, 5]), shape=(4, 1))
    whole = parts.toarray()
    labels = [0, 0, 1, 1]
    np.testing.assert_allclose(
        NaiveBayes().fit(parts, labels).predict_proba(parts), NaiveBayes().fit(whole, labels).predict_proba(whole)
    )


def test_shares_that_sum_to_more_than_their_count_by_rounding_give_a_probability():
    rng = np.random.default_rng(8)
    z = rng.integers(0, 3, 2000)
    rows = (rng.random((2000, 10)) < rng.uniform(0.2, 0.8, (3, 10))[z]).astype(float)
    model = suffice.Mixture(3, "bernoulli", prior=None, random_state=8, max_iter=5, tol=1.0).fit(rows)
    assert np.isfinite(model.bound_history_).all()


@pytest.mark.parametrize(
    ("family", "rows", "others"),
    [
        (Categorical(), [["a", "x"], ["b", "y"], ["a", "y"]], [["a", "x", "b", "b"]] * 3),
        (Gaussian("full"), np.random.default_rng(0).normal(size=(9, 2)), np.zeros((4, 3))),
        (Gaussian(), np.random.default_rng(0).normal(size=(9, 2)), np.zeros((4, 1))),
        (Poisson(), np.eye(3), np.ones((3, 40))),
        (Poisson(), np.eye(3), sparse.csr_array(np.ones((3, 40)))),
    ],
)
def test_densities_of_rows_with_other_columns_are_refused(family, rows, others):
    fitted = family.fit(rows, prior="auto")
    with pytest.raises(ValueError, match="columns, but"):
        fitted.log_prob(others)


def test_by_maximum_likelihood_a_value_never_seen_with_a_class_is_impossible_there_and_one_never_seen_says_nothing():
    table = pd.DataFrame({"sky": ["sun", "rain", "rain", "fog"]})
    model = NaiveBayes(prior=None).fit(table, ["a", "a", "b", "b"])
    with pytest.warns(UserWarning, match="1 of 3 rows hold a value that has probability 0 in every class"):
        probability = model.predict_proba(pd.DataFrame({"sky": ["sun", "fog", "hail"]}))
    np.testing.assert_allclose(probability, [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])


def test_a_number_of_components_to_search_is_all_up_to_it():
    X = np.random.default_rng(0).normal(size=(60, 2))
    for given in (3, np.int64(3), [1, 2, 3], range(1, 4)):
        search = MixtureSearch(given, "spherical", random_state=0).fit(X)
        assert search.results_["n_components"].tolist() == [1, 2, 3]
    for wrong in (0, -1, 2.5, [], [0], [1.5], "3", None, True):
        with pytest.raises(ValueError, match="n_components must be a whole number of at least 1, up to which all are"):
            MixtureSearch(wrong, "spherical").fit(X)


def test_words_where_no_family_can_be_named_get_other_advice():
    frame = pd.DataFrame({"a": ["1", "x", "3", "4"], "b": [1.0, 2.0, 3.0, 5.0]})
    with pytest.raises(ValueError, match="use GenerativeClassifier, which takes words, or clean it") as error:
        GaussianDiscriminant().fit(frame, [0, 1, 0, 1])
    assert "families" not in str(error.value)
    model = GaussianDiscriminant().fit(frame.assign(a=[1.0, 2.0, 2.5, 4.0]), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="give it the type that it had in training or clean it"):
        model.predict(frame)


def test_errors_about_a_component_call_it_that():
    X = np.column_stack([np.random.default_rng(0).normal(size=40), np.ones(40)])
    with pytest.raises(ValueError, match="covariance of component 0 is singular: column 1 is constant"):
        Mixture(2, prior=None, init=np.arange(40) % 2).fit(X)
    template = "{noun} {of_class} has no rows in column {of_column}, unlike every other {noun}"
    error = EstimateError(template, "add some", c=1, column=0)
    assert str(error) == "class number 1 has no rows in column number 0, unlike every other class; add some"
    named = error.named(["a", "a"], [3], ["w", "x", "y", "z"], "component of class")
    assert named.problem == "component of class 'a' has no rows in column 'z', unlike every other component of class"
    assert str(named) == str(pickle.loads(pickle.dumps(named))) == f"{named.problem}; add some"


@pytest.mark.parametrize("scale", [1e-150, 1e-200, 1e-300])
def test_columns_whose_squares_underflow_are_pointed_out(scale):
    rows = np.column_stack([X[:, 0] + 3.0 * Y, (X[:, 1] + 3.0 * Y) * scale])
    with pytest.warns(UserWarning, match="numbers of column 1 differ by less than 1e-145.*Rescale them"):
        model = GaussianDiscriminant().fit(rows, Y)
    np.testing.assert_allclose(
        model.predict_proba(rows), GaussianDiscriminant().fit(rows[:, :1], Y).predict_proba(rows[:, :1])
    )
    rows[:, 1] = scale  # constant
    GaussianDiscriminant().fit(rows, Y)


def test_weights_may_have_any_scale():
    rows = X + 2.0 * Y[:, None]
    expected = NaiveBayes(prior=None).fit(rows, Y).predict_proba(rows)
    for scale in (1e-250, 1e-100, 1e100, 1e200):
        weight = np.full(len(Y), scale)
        found = NaiveBayes(prior=None).fit(rows, Y, weight).predict_proba(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        for name in STRUCTURES:
            one, other = (GaussianDiscriminant(name, prior=None).fit(rows, Y, w) for w in (None, weight))
            np.testing.assert_allclose(other.predict_proba(rows), one.predict_proba(rows), atol=1e-6, err_msg=name)


def test_a_word_that_one_class_never_has_leaves_the_intercept_finite():
    model = NaiveBayes("multinomial", prior=None).fit([[1, 2, 0], [0, 1, 2], [3, 0, 1]], ["a", "b", "a"])
    assert model.coef_[0, 0] == -np.inf
    assert model.intercept_[0] == pytest.approx(np.log(1 / 2))
