"""What a fitted model has learned, as text, as a data frame and in notebooks."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import (
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    MixtureSearch,
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
    "dry": [True, None, False, True, True, False],
    "wind": [3.0, 20.0, 24.0, 5.0, 4.0, 9.0],
    "year": [2026.0] * 6,
}
PLAYED = ["yes", "no", "no", "yes", "yes", "no"]


def lines(summary):
    return {row[0]: row for row in (re.split(r"\s{2,}", line) for line in str(summary).splitlines()) if row}


def test_each_column_has_its_family_its_missing_cells_and_what_is_typical_of_each_class():
    model = NaiveBayes({"calls": "poisson"}).fit(pl.DataFrame(COLUMNS), PLAYED)
    told = lines(model.summary())
    assert str(model.summary()).startswith("NaiveBayes: 6 rows, 2 classes, 5 columns\n")
    assert told["rows"] == ["rows", "3", "3"]
    assert told["share"] == ["share", "50 %", "50 %"]
    assert told["sky"] == ["sky", "categorical", "1", "rain 50 %, fog 33 %, sun 17 %", "sun 60 %, fog 20 %, rain 20 %"]
    rate = (1 + 4 + 9 + 23.5 / 7) / 4
    assert told["calls"][:4] == ["calls", "poisson", "0", f"{rate:.1f} ± {rate**0.5:.1f}"]
    assert told["dry"] == ["dry", "bernoulli", "1", "25 %", "80 %"]
    assert told["year"] == ["year", "gaussian", "0", "always 2026", "always 2026"]


def test_the_frame_has_one_row_per_class_and_column_with_numbers():
    model = NaiveBayes({"calls": "poisson"}).fit(pl.DataFrame(COLUMNS), PLAYED)
    frame = model.summary().to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == [
        "class", "rows", "share", "column", "family", "missing", "mean", "deviation", "typical"
    ]  # fmt: skip
    assert len(frame) == 2 * 5
    wind = model.summary().to_frame("pandas").query("column == 'wind'").set_index("class")
    np.testing.assert_allclose(wind["mean"], model.means_[:, 3])
    np.testing.assert_allclose(wind["deviation"], np.sqrt(model.variances_[:, 3]))
    year = model.summary().to_frame("pandas").query("column == 'year'")
    assert year["deviation"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("model", "heading"),
    [
        (NaiveBayes(), "NaiveBayes: 150 rows, 3 classes, 4 columns"),
        (NaiveBayes(n_components=2, random_state=0), "NaiveBayes: 150 rows, 6 components, 4 columns"),
        (NaiveBayes("lognormal", estimate="predictive"), "NaiveBayes: 150 rows, 3 classes, 4 columns"),
        (NaiveBayes("multinomial", estimate="predictive"), "NaiveBayes: 150 rows, 3 classes, 4 columns"),
        (NaiveBayes("exponential", estimate="predictive"), "NaiveBayes: 150 rows, 3 classes, 4 columns"),
        (GaussianDiscriminant("full", estimate="predictive"), "GaussianDiscriminant: 150 rows, 3 classes, 4 columns"),
        (GenerativeClassifier({(0, 1): Gaussian("VVE")}), "GenerativeClassifier: 150 rows, 3 classes, 4 columns"),
        (Mixture(1), "Mixture: 150 rows, 1 component, 4 columns"),
        (SoftKMeans(2, random_state=0), "SoftKMeans: 150 rows, 2 components, 4 columns"),
        (MixtureSearch(1), "Mixture: 150 rows, 1 component, 4 columns"),
    ],
    ids=repr,
)
def test_every_classifier_and_mixture_has_a_summary_also_after_loading(model, heading, tmp_path):
    model.fit(X, Y)
    assert str(model.summary()).startswith(heading)
    assert len(model.summary().to_frame("pandas")) % 4 == 0
    save(model, tmp_path / "model")
    again = str(load(tmp_path / "model").summary())
    assert again.replace("?", "0").startswith(str(model.summary()).replace("?", "0")[:200])


def test_large_tables_are_cut_and_the_frame_has_all():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(400, 30)), np.arange(400) % 9
    summary = NaiveBayes().fit(rows, y).summary()
    assert "and 10 columns and 3 classes more: to_frame() has all" in str(summary)
    assert len(summary.to_frame("pandas")) == 30 * 9
    assert max(map(len, str(summary).splitlines())) <= 120
    long = pd.DataFrame(
        {"name": [f"somebody with a name that is long, number {i}\nof many" for i in np.arange(400) % 50]}
    )
    told = str(NaiveBayes("categorical").fit(long, y).summary())
    assert max(map(len, told.splitlines())) <= 160
    assert "of many" not in told


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_missing_cells_of_covariances_are_not_known_after_em(covariance):
    rows = X.copy()
    assert lines(GaussianDiscriminant(covariance).fit(rows, Y).summary())["1"][2] == "0"
    assert lines(Mixture(2, covariance=covariance, random_state=0).fit(rows).summary())["1"][2] == "0"
    rows[::7, 1] = np.nan
    for model in (GaussianDiscriminant(covariance).fit(rows, Y), Mixture(2, covariance=covariance).fit(rows)):
        summary = model.summary()
        assert lines(summary)["1"][2] == "?"
        assert "?: missing cells were filled in by EM and not counted" in str(summary)
        assert summary.to_frame("pandas")["missing"].isna().all()


def test_weights_and_given_parameters():
    weighted = NaiveBayes().fit(X, Y, np.full(150, 0.5)).summary()
    assert str(weighted).startswith("NaiveBayes: 75 rows")
    given = Mixture.from_parameters([0.25, 0.75], [[0.0], [-2.0]], [[1.0], [4.0]]).summary()
    assert lines(given)["0"] == ["0", "gaussian", "0.0 ± 1.0", "-2.0 ± 2.0"]
    assert "rows" not in str(given)
    assert given.weight is None


# -- notebooks ----------------------------------------------------------------------------------------------------


def test_notebooks_show_the_diagram_and_the_summary_and_escape_every_name():
    table = pd.DataFrame({"<b>x</b>": ["<script>alert(1)</script>", "a & b"] * 3})
    model = NaiveBayes().fit(table, ["<i>", "&"] * 3)
    for page in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "sk-container" in page
        assert "NaiveBayes: 6 rows, 2 classes, 1 column" in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt; 80 %" in page
        assert "<script>alert(1)" not in page
        assert "<b>x</b>" not in page
        assert "<i>" not in page.partition("NaiveBayes: 6 rows")[2]
    assert repr(model) == "NaiveBayes()"


def test_unfitted_models_and_those_inside_of_pipelines_are_shown_as_scikit_learn_does():
    assert "rows" not in NaiveBayes()._repr_mimebundle_()["text/html"].partition("</style>")[2].partition("<script")[0]
    assert "StandardScaler" in make_pipeline(StandardScaler(), NaiveBayes()).fit(X, Y)._repr_html_()
    with sklearn.config_context(display="text"):
        assert list(NaiveBayes().fit(X, Y)._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(NaiveBayes().fit(X, Y), "_repr_html_")


def test_a_model_that_has_no_estimate_yet_is_shown_without_a_summary():
    model = GaussianDiscriminant("full", prior=None).partial_fit(X[:2], Y[:2], classes=[0, 1, 2])
    assert model._repr_mimebundle_()["text/plain"] == repr(model)


@pytest.mark.parametrize("family", ["bernoulli", "multinomial"])
def test_covariances_of_many_columns_are_refused_so_that_notebooks_can_show_the_model(family):
    rows = np.eye(2, 20_000)
    model = NaiveBayes(family).fit(rows, [0, 1])
    assert "NaiveBayes: 2 rows" in model._repr_mimebundle_()["text/html"]
    with pytest.raises(AttributeError, match="20,000 columns in 2 classes would take 6"):
        _ = model.covariances_


MAILS = ["free money, free", "meeting at noon", None, "thanks for the meeting", "money for the account"]


@pytest.mark.parametrize("family", [Text(), Text("bernoulli"), Text(buckets=16), Text(complement=True)], ids=repr)
@pytest.mark.parametrize("estimate", ["mean", "predictive"])
def test_columns_of_text_show_the_words_that_speak_most_for_each_class(family, estimate):
    if family.complement and estimate == "predictive":
        pytest.skip("weights of other classes have no posterior")
    model = NaiveBayes({"body": family}, estimate=estimate)
    model.fit(pd.DataFrame({"body": MAILS}), ["spam", "ham", "ham", "ham", "spam"])
    shown = str(model.summary())
    (line,) = [line for line in shown.splitlines() if line.startswith("body")]
    assert line.split()[1:3] == ["text", "1"]  # one document is missing
    if family == Text() and estimate == "mean":
        assert line.split("  ")[-1].split(", ")[0] in ("free", "money")
    if estimate == "mean" and not family.complement:
        assert "words that speak most" in shown
    frame = model.summary().to_frame()
    assert len(frame) == 2
    assert frame["mean"].isna().all()


def test_a_component_of_documents_is_shown_by_its_words():
    mixture = Mixture(2, {"body": Text()}, random_state=0).fit(pd.DataFrame({"body": MAILS * 3}))
    assert "text: the words" in str(mixture.summary())
