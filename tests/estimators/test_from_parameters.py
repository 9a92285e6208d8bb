"""Classifiers from given parameters, without any row."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import multivariate_normal, norm, poisson
from sklearn.base import clone

import suffice
from suffice import (
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    Multinomial,
    NaiveBayes,
    Poisson,
)
from suffice.persistence import archive

PRIOR = {"flu": 0.05, "well": 0.95}
FEVER = {
    "flu": Gaussian.from_parameters(mean=39.0, variance=0.5),
    "well": Gaussian.from_parameters(mean=36.8, variance=0.1),
}
PAIN = {"flu": {"none": 0.1, "some": 0.9}, "well": {"none": 0.9, "some": 0.1}}
SNEEZES = {"flu": Poisson.from_parameters(rate=9.0), "well": Poisson.from_parameters(rate=2.0)}
TABLE = pd.DataFrame(
    {"fever": [38.0, 37.0, None], "pain": ["some", "none", "some"], "cough": [True, False, True], "sneezes": [8, 1, 3]}
)


def mixed(**params):
    columns = {"fever": FEVER, "pain": PAIN, "cough": {"flu": 0.8, "well": 0.2}, "sneezes": SNEEZES}
    return NaiveBayes.from_parameters(PRIOR, columns, **params)


def test_the_flu_of_the_course():
    model = NaiveBayes.from_parameters({"flu": 0.05, "no flu": 0.95}, {"cough": {"flu": 0.8, "no flu": 0.2}})
    assert model.predict_proba([[1]])[0, 0] == pytest.approx(0.8 * 0.05 / (0.8 * 0.05 + 0.2 * 0.95))
    assert model.predict_proba([[1]])[0, 0] == pytest.approx(0.174, abs=5e-4)
    assert model.predict(pd.DataFrame({"cough": [True, False]})).tolist() == ["no flu", "no flu"]


def test_any_mix_of_columns_follows_bayes_rule():
    model = mixed()
    flu = 0.05 * norm(39, np.sqrt(0.5)).pdf(38) * 0.9 * 0.8 * poisson(9).pmf(8)
    well = 0.95 * norm(36.8, np.sqrt(0.1)).pdf(38) * 0.1 * 0.2 * poisson(2).pmf(8)
    assert model.predict_proba(TABLE)[0] == pytest.approx([flu / (flu + well), well / (flu + well)])
    flu, well = 0.05 * 0.9 * 0.8 * poisson(9).pmf(3), 0.95 * 0.1 * 0.2 * poisson(2).pmf(3)
    assert model.predict_proba(TABLE)[2] == pytest.approx([flu / (flu + well), well / (flu + well)])
    assert model.score_samples(TABLE)[2] == pytest.approx(np.log(flu + well))
    shuffled = pl.from_pandas(TABLE[TABLE.columns[::-1]])
    np.testing.assert_allclose(model.predict_proba(shuffled), model.predict_proba(TABLE))


def test_such_a_model_answers_as_a_fitted_one(tmp_path):
    model = mixed()
    logs = model.predict_log_proba(TABLE[:1])[0]
    assert model.explain(TABLE[:1]).log_odds[0] == pytest.approx(abs(logs[1] - logs[0]))
    assert model.impute(TABLE).notna().all(axis=None)
    rows, labels = model.sample(500, random_state=0)
    assert 0.9 < (labels == "well").mean() < 1.0
    assert model.score(rows, labels) > 0.98
    assert model.log_likelihood(TABLE[:1], ["flu"]) == pytest.approx(model.predict_joint_log_proba(TABLE[:1])[0, 0])
    assert model.class_prior_ == pytest.approx([0.05, 0.95])
    assert list(model.feature_names_in_) == list(TABLE.columns)
    np.testing.assert_allclose(model.mahalanobis(TABLE[:1])[0, 0], 1 / np.sqrt(0.5))
    suffice.save(model, tmp_path / "m")
    for again in (suffice.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
        assert again.predict(TABLE).tolist() == model.predict(TABLE).tolist()
        assert not hasattr(again, "statistics_")


def test_what_needs_statistics_is_refused():
    model = mixed()
    with pytest.raises(AttributeError, match="made from parameters and has no statistics_"):
        _ = model.statistics_
    with pytest.raises(ValueError, match="partial_fit adds to the statistics of earlier rows"):
        model.partial_fit(TABLE, ["flu", "well", "flu"])
    with pytest.raises(AttributeError, match="no attribute 'nonsense_'"):
        _ = model.nonsense_
    with pytest.raises(AttributeError, match="'NaiveBayes' object has no attribute 'statistics_'"):
        _ = NaiveBayes().statistics_


def test_fit_learns_the_same_families_from_rows():
    model = mixed()
    rows, labels = model.sample(4000, random_state=1)
    rows = pd.DataFrame(rows, columns=model.feature_names_in_).infer_objects()
    learned = clone(model).fit(rows, labels)
    assert learned.schema_.families() == model.schema_.families()
    assert learned.class_prior_ == pytest.approx(model.class_prior_)
    np.testing.assert_allclose(learned.distributions_[0].means, model.distributions_[0].means, atol=0.15)
    assert hasattr(model.fit(rows, labels), "statistics_")


def test_settings_of_decisions_apply():
    row = TABLE[1:2]
    assert mixed().predict(row).tolist() == ["well"]
    assert mixed(cost=[[0, 1e9], [1, 0]]).predict(row).tolist() == ["flu"]
    with pytest.raises(ValueError, match="n_components"):
        mixed(n_components=2)
    with pytest.raises(ValueError, match="predictive"):
        mixed(estimate="predictive")


def test_tables_may_be_data_frames_with_one_row_per_class():
    table = pd.DataFrame({"none": [0.1, 0.9], "some": [0.9, 0.1]}, index=["flu", "well"])
    for pain in (table, {"flu": table.loc["flu"], "well": table.loc["well"]}):
        model = NaiveBayes.from_parameters(pd.Series(PRIOR), {"pain": pain})
        assert model.predict_proba([["some"]])[0, 0] == pytest.approx(0.045 / (0.045 + 0.095))


def test_a_value_that_only_one_class_has_rules_the_others_out():
    model = NaiveBayes.from_parameters({"a": 0.5, "b": 0.5}, {0: {"a": {"x": 1.0}, "b": {"x": 0.5, "y": 0.5}}})
    assert model.predict_proba([["y"]]).tolist() == [[0.0, 1.0]]
    with pytest.warns(UserWarning, match="probability 0 in every class"):
        assert model.predict_proba([["z"]]).tolist() == [[0.5, 0.5]]
    assert model.schema_.names is None


def test_columns_together_and_by_position():
    sigma = [[1.0, 0.5], [0.5, 1.0]]
    both = {c: Gaussian.from_parameters(mean=[m, 0.0], covariance=sigma) for c, m in (("a", 0.0), ("b", 2.0))}
    switch = {"a": Bernoulli.from_parameters(probability=0.1), "b": 0.6}
    model = GenerativeClassifier.from_parameters({"a": 0.3, "b": 0.7}, {(2, 0): both, 1: switch})
    row = np.array([0.4, 1.0, 1.5])
    joint = [p * multivariate_normal([m, 0], sigma).pdf(row[[2, 0]]) * q for p, m, q in ((0.3, 0, 0.1), (0.7, 2, 0.6))]
    np.testing.assert_allclose(model.predict_proba(row[None])[0], np.array(joint) / sum(joint))
    assert model.coef_.shape == (1, 3)  # one covariance in both classes: the log-odds are linear
    np.testing.assert_allclose(model.boundary().log_odds(row[None]), np.log(joint[1] / joint[0]))


def test_distributions_that_were_fitted_may_be_given():
    rng = np.random.default_rng(0)
    X, y = rng.normal([[0, 0]] * 40 + [[2, 1]] * 60), np.repeat(["a", "b"], [40, 60])
    fitted = {c: Gaussian("full").fit(X[y == c]) for c in ("a", "b")}
    given = GenerativeClassifier.from_parameters({"a": 0.4, "b": 0.6}, {("u", "v"): fitted})
    learned = GenerativeClassifier(covariance="full", prior=None).fit(X, y)
    np.testing.assert_allclose(given.predict_proba(X), learned.predict_proba(X), rtol=1e-9)
    classes = learned.distributions_[0]
    again = GenerativeClassifier.from_parameters({"a": 0.4, "b": 0.6}, {(0, 1): {"a": classes[0], "b": classes[1]}})
    np.testing.assert_allclose(again.predict_proba(X), learned.predict_proba(X), rtol=1e-9)
    words = {"a": Categorical().fit(["x", "y", "y"]), "b": {"y": 1.0}}
    model = NaiveBayes.from_parameters({"a": 0.4, "b": 0.6}, {"w": words})
    np.testing.assert_allclose(model.predict_proba([["y"]])[0], np.array([0.4 * 2 / 3, 0.6]) / (0.4 * 2 / 3 + 0.6))


def test_bags_of_words_have_a_table_over_their_columns():
    words = {
        "ham": Multinomial.from_parameters(probability=[0.1, 0.9], mean_size=5),
        "spam": Multinomial.from_parameters(probability=[0.7, 0.3], mean_size=5),
    }
    model = NaiveBayes.from_parameters({"ham": 0.6, "spam": 0.4}, {("free", "hello"): words})
    ham, spam = 0.6 * 0.1**2 * 0.9, 0.4 * 0.7**2 * 0.3
    assert model.predict_proba([[2, 1]])[0] == pytest.approx([ham / (ham + spam), spam / (ham + spam)])


# -- Gaussian discriminants -------------------------------------------------------------------------------------------

SIGMA = np.array([[2.0, 0.6], [0.6, 1.0]])
MEANS = {"a": [0.0, 0.0], "b": [2.0, 1.0]}
SHARES = {"b": 0.7, "a": 0.3}


@pytest.mark.parametrize(
    ("covariance", "name", "each"),
    [
        (SIGMA, "tied", [SIGMA, SIGMA]),
        ({"a": SIGMA, "b": np.eye(2)}, "full", [SIGMA, np.eye(2)]),
        (np.stack([SIGMA, 2 * SIGMA]), "full", [SIGMA, 2 * SIGMA]),
        ([2.0, 1.0], "tied-diagonal", [np.diag([2, 1])] * 2),
        ({"a": [2.0, 1.0], "b": [1.0, 1.0]}, "diagonal", [np.diag([2, 1]), np.eye(2)]),
    ],
)
def test_a_discriminant_from_its_parameters(covariance, name, each, tmp_path):
    model = GaussianDiscriminant.from_parameters(SHARES, MEANS, covariance)
    assert model.covariance == name
    X = np.random.default_rng(0).normal(size=(20, 2))
    joint = np.stack(
        [SHARES[c] * multivariate_normal(MEANS[c], s).pdf(X) for c, s in zip("ab", each, strict=True)], axis=1
    )
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(1, keepdims=True), rtol=1e-9)
    suffice.save(model, tmp_path / "m")
    np.testing.assert_array_equal(suffice.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
    listed = GaussianDiscriminant.from_parameters(SHARES, [MEANS["a"], MEANS["b"]], covariance)
    np.testing.assert_array_equal(listed.predict_proba(X), model.predict_proba(X))
    if name.startswith("tied"):
        w = np.linalg.solve(each[0], np.subtract(MEANS["b"], MEANS["a"]))
        np.testing.assert_allclose(model.coef_[0], w)
        direction = model.scalings_[:, 0]
        np.testing.assert_allclose(direction / direction[0], w / w[0])
        assert model.transform(X).shape == (20, 1)
        np.testing.assert_allclose(model.to_logistic().predict_proba(X), model.predict_proba(X))
    else:
        assert not hasattr(model, "scalings_")


def test_columns_of_a_discriminant_may_have_names():
    model = GaussianDiscriminant.from_parameters(SHARES, MEANS, SIGMA, columns=["u", "v"])
    frame = pd.DataFrame({"v": [1.0], "u": [2.0]})
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba([[2.0, 1.0]]))


def gd(prior=SHARES, means=MEANS, covariance=SIGMA, **more):
    return GaussianDiscriminant.from_parameters(prior, means, covariance, **more)


def nb(columns):
    return NaiveBayes.from_parameters(SHARES, columns)


PAIR = Poisson.from_parameters(rate=[1, 2])
STUDENT = Gaussian().posterior([1.0, 0.0, 3.0]).predictive()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gd({"a": 0.3, "b": 0.6}), "probabilities in class_prior must sum to 1, but sum to 0.9"),
        (lambda: gd({"a": -0.3, "b": 1.3}), "class_prior must hold probabilities between 0 and 1"),
        (lambda: gd({"a": 1.0}), "two classes or more"),
        (lambda: gd([0.3, 0.7]), "class_prior must map each of two classes or more"),
        (lambda: gd(means={"a": [0, 0]}), r"means must name every class, \['a', 'b'\], but names \['a'\]"),
        (lambda: gd(means=[[0, 0]]), "means must be a mapping of each class to its own, or an array of one per class"),
        (lambda: gd(means={"a": [0, 0], "b": [0, 0, 1]}), "one mean per column"),
        (lambda: gd(covariance=[[1, 2], [2, 1]]), "positive definite"),
        (lambda: gd(covariance={"a": SIGMA}), "covariance must name every class"),
        (lambda: gd(columns=["u"]), "columns must name 2 columns"),
        (lambda: nb({}), "columns must map each column"),
        (lambda: nb({"x": 0.5}), "column 'x' must map each class to its distribution"),
        (lambda: nb({"x": {"a": 0.5}}), "column 'x' must name every class"),
        (lambda: nb({"x": {"a": 0.5, "b": 1.5}}), r"column 'x': the probability of a Bernoulli .* 1\.5"),
        (lambda: nb({"x": {"a": {"u": 0.5}, "b": {"u": 1.0}}}), r"column 'x': the probabilities .* sum to 0\.5"),
        (lambda: nb({"x": {"a": 0.5, "b": {"u": 1.0}}}), "column 'x' must have one family in all classes"),
        (lambda: nb({"x": {"a": "yes", "b": 0.5}}), "column 'x' has 'yes' for a class; give a distribution"),
        (lambda: nb({"x": {"a": PAIR, "b": PAIR}}), "distribution of 2 columns"),
        (lambda: nb({("x", "x"): {"a": PAIR, "b": PAIR}}), "named twice"),
        (lambda: nb({1: {"a": 0.5, "b": 0.5}}), "positions 0, …, 0 of all columns"),
        (lambda: nb({"x": {"a": 0.5, "b": 0.5}, 0: {"a": 0.5, "b": 0.5}}), "the columns must be names"),
        (lambda: nb({"x": {"a": STUDENT, "b": STUDENT}}), "average over parameters"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_damaged_file_of_such_a_model_is_refused(tmp_path):
    path = tmp_path / "m"
    suffice.save(mixed(), path)
    header, arrays = archive.read(path)
    header["classes"]["classes"] = ["flu"]
    archive.write(path, header, arrays)
    with pytest.raises(suffice.ModelFileError, match="do not fit together"):
        suffice.load(path)


def test_means_and_covariances_may_be_frames_as_pandas_computes_them():
    rng = np.random.default_rng(0)
    rows, y = pd.DataFrame(rng.normal(size=(40, 2)), columns=["u", "v"]), np.repeat(["a", "b"], 20)
    means, within = rows.groupby(y).mean(), rows.cov()
    shares = pd.Series(y).value_counts(normalize=True)
    found = GaussianDiscriminant.from_parameters(shares, means, within, columns=rows.columns)
    same = GaussianDiscriminant.from_parameters({"a": 0.5, "b": 0.5}, means.to_numpy(), within.to_numpy())
    np.testing.assert_array_equal(found.predict_proba(rows), same.predict_proba(rows.to_numpy()))
    each = {label: rows[y == label].cov() for label in "ab"}
    own = GaussianDiscriminant.from_parameters(shares, means, each)
    as_arrays = {label: cov.to_numpy() for label, cov in each.items()}
    same = GaussianDiscriminant.from_parameters(shares, means.to_numpy(), as_arrays)
    np.testing.assert_array_equal(own.predict_proba(rows.to_numpy()), same.predict_proba(rows.to_numpy()))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_label_is_no_class(missing):
    with pytest.raises(ValueError, match="None and NaN are missing labels, not classes"):
        NaiveBayes.from_parameters({"a": 0.5, missing: 0.5}, {"x": {"a": 0.5, missing: 0.5}})


def test_positions_of_columns_may_be_numpy_integers():
    plain, of_numpy = (
        NaiveBayes.from_parameters({"a": 0.5, "b": 0.5}, {i: {"a": 0.1, "b": 0.8} for i in places})
        for places in ([0, 1], np.arange(2))
    )
    np.testing.assert_array_equal(of_numpy.predict_proba([[1, 0]]), plain.predict_proba([[1, 0]]))


@pytest.mark.parametrize("columns", [["u"], ["u", "u"], ["u", "v", "w"]])
def test_each_column_has_a_name_of_its_own(columns):
    with pytest.raises(ValueError, match="columns must name 2 columns, each once"):
        GaussianDiscriminant.from_parameters({"a": 0.5, "b": 0.5}, [[0, 0], [1, 1]], np.eye(2), columns=columns)


def test_means_of_several_lengths_are_refused():
    with pytest.raises(ValueError, match="one mean per column"):
        GaussianDiscriminant.from_parameters({"a": 0.5, "b": 0.5}, [[0, 0], [1, 1, 1]], np.eye(2))
