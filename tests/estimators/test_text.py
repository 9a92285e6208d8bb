"""Columns of text in estimators: tables and lists of documents, the rule for kinds, explanations, EM, files."""

import warnings
from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from string_views import needs_string_views

import suffice
from suffice import (
    GLM,
    GenerativeClassifier,
    LogisticRegression,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    NotKeptError,
    Text,
    TextColumnWarning,
)

MAILS = [
    "buy cheap pills right now",
    "cheap pills for you now",
    "the meeting is at noon",
    "notes of the last meeting",
    "cheap flights to the meeting",
]
KINDS = ["spam", "spam", "ham", "ham", "ham"]
FRAME = pd.DataFrame({"body": MAILS, "size": [1.0, 2.0, 5.0, 6.0, 7.0]})
NEW = ["cheap pills", "the meeting", ""]


def _documents(n=150, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(60)])
    y = rng.integers(0, 3, n)
    p = rng.dirichlet(np.full(len(words), 0.1), size=3)
    return [" ".join(rng.choice(words, rng.integers(10, 25), p=p[c])) for c in y], y


# -- what documents may be -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "documents",
    [
        MAILS,
        tuple(MAILS),
        np.array(MAILS),
        np.array(MAILS, dtype=object),
        np.array(MAILS, dtype=object)[:, None],
        [[mail] for mail in MAILS],
        pd.Series(MAILS),
        pd.Series(MAILS, name="body", dtype="string"),
        pl.Series("body", MAILS),
        pa.chunked_array([MAILS[:2], MAILS[2:]]),
        pa.array(MAILS),
        pa.array(MAILS).dictionary_encode(),
        pd.Index(MAILS),
        pd.Series(MAILS, dtype=pd.ArrowDtype(pa.large_string())),
        np.ma.array(MAILS),
        deque(MAILS),
        dict(enumerate(MAILS)).values(),
        pa.array(MAILS, pa.string_view()),
        pytest.param(pa.table({"body": pa.array(MAILS, pa.string_view())}), marks=needs_string_views),
        pd.DataFrame({"body": MAILS}),
        pl.DataFrame({"body": MAILS}),
        pa.table({"body": MAILS}),
    ],
    ids=lambda documents: f"{type(documents).__module__}.{type(documents).__name__}",
)
def test_documents_come_in_any_container(documents):
    expected = NaiveBayes("text").fit(MAILS, KINDS).predict_proba(NEW)
    model = NaiveBayes("text").fit(documents, KINDS)
    np.testing.assert_allclose(model.predict_proba(NEW), expected)
    np.testing.assert_allclose(
        model.predict_proba(documents), NaiveBayes("text").fit(MAILS, KINDS).predict_proba(MAILS)
    )


def test_one_document_is_predicted_like_many():
    model = NaiveBayes("text").fit(MAILS, KINDS)
    assert model.predict("cheap pills").tolist() == ["spam"]
    np.testing.assert_array_equal(model.predict_proba("cheap pills"), model.predict_proba(["cheap pills"]))


TOKENS = [["Buy", "now"], ["now", "Buy"], ["see", "you"], ["see", "!"]]


@pytest.mark.parametrize(
    "documents",
    [
        TOKENS,
        [tuple(words) for words in TOKENS],
        pd.Series(TOKENS),
        pl.Series("words", TOKENS),
        pd.DataFrame({"words": TOKENS}),
        pl.DataFrame({"words": TOKENS}),
        pa.table({"words": TOKENS}),
    ],
    ids=lambda documents: f"{type(documents).__module__}.{type(documents).__name__}",
)
def test_lists_of_words_are_taken_as_they_are_also_if_all_are_equally_long(documents):
    model = NaiveBayes("text").fit(documents, [0, 0, 1, 1])
    assert model.n_features_in_ == 1
    assert model.schema_.categories[0].values == ("Buy", "now", "see", "you", "!")
    assert model.predict([["!"], ["Buy", "Buy", "Buy"]]).tolist() == [1, 0]


def test_columns_of_lists_of_words_become_text_without_a_warning():
    for frame in (pd.DataFrame({"words": TOKENS}), pl.DataFrame({"words": TOKENS}), pa.table({"words": TOKENS})):
        model = NaiveBayes().fit(frame, [0, 0, 1, 1])
        assert isinstance(model.schema_.blocks[0].family, Text)


def test_ragged_lists_may_have_missing_documents():
    model = NaiveBayes("text").fit([["aa", "bb"], None, ["cc"], []], [0, 0, 1, 1])
    assert model.predict([["cc"], None]).tolist()[0] == 1


def test_the_name_of_a_series_becomes_the_name_of_the_column():
    assert NaiveBayes("text").fit(pd.Series(MAILS, name="body"), KINDS).feature_names_in_.tolist() == ["body"]
    for series in (pd.Series(MAILS), pd.Series(MAILS, name=3), pl.Series(MAILS)):
        assert not hasattr(NaiveBayes("text").fit(series, KINDS), "feature_names_in_")


def test_a_cell_that_is_no_document_is_named():
    with pytest.raises(ValueError, match=r"column 'body' holds .*42.* in row 1"):
        NaiveBayes({"body": "text"}).fit(pd.DataFrame({"body": ["see you", 42, "buy"]}), [0, 1, 1])
    with pytest.raises(ValueError, match="numbers, but the family Text reads documents"):
        NaiveBayes("text").fit(np.zeros((3, 1)), [0, 1, 1])


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([mail.encode() for mail in MAILS], r"b'buy cheap.* in row 0.*decode it first"),
        (np.array(MAILS, dtype="S"), "decode it first"),
        ((mail for mail in MAILS), r"generator, which can be read only once; pass list\(X\)"),
        (set(MAILS), "2D array"),
        ([1, 2, 3, 4, 5], "holds a int, 1 in row 0, but documents must be text"),
        (np.arange(5.0), "documents must be text"),
        (np.array([(mail,) for mail in MAILS], dtype=[("body", "U40")]), "2D array"),
        (pd.DataFrame([[mail, mail] for mail in MAILS], columns=["body", "body"]), "'body' occurs more than once"),
    ],
)
def test_what_is_no_sequence_of_documents_is_refused_with_a_remedy(documents, message):
    with pytest.raises((TypeError, ValueError), match=message):
        NaiveBayes("text").fit(documents, KINDS)


def test_several_columns_of_text_have_a_dictionary_each():
    frame = pd.DataFrame({"subject": ["hi", "hi you", "re: now", "now"], "body": ["now", "now or", "hi", "hi there"]})
    model = NaiveBayes("text").fit(frame, [0, 0, 1, 1])
    assert [len(model.schema_.categories[column].values) for column in (0, 1)] == [4, 4]
    assert model.predict(pd.DataFrame({"subject": ["now"], "body": ["hi"]})).tolist() == [1]


def test_other_columns_add_to_the_log_odds():
    model = NaiveBayes({"body": "text"}).fit(FRAME, KINDS)
    text, size = NaiveBayes("text").fit(FRAME[["body"]], KINDS), NaiveBayes().fit(FRAME[["size"]], KINDS)
    both = text.decision_function(FRAME[["body"]]) + size.decision_function(FRAME[["size"]])
    both -= model.class_log_prior_[1] - model.class_log_prior_[0]
    np.testing.assert_allclose(model.decision_function(FRAME), both)


# -- the rule for kinds ----------------------------------------------------------------------------------------------


def test_a_column_of_sentences_becomes_text_and_fit_says_so_once():
    with pytest.warns(TextColumnWarning, match=r"'body' are sentences.*families=\{'body': 'text'\}") as caught:
        model = NaiveBayes().fit(FRAME, KINDS)
    assert len(caught) == 1
    assert [type(block.family).__name__ for block in model.schema_.blocks] == ["Text", "Gaussian"]
    with pytest.warns(TextColumnWarning):
        Mixture(2, random_state=0).fit(FRAME)
    with pytest.warns(TextColumnWarning):
        NaiveBayes().partial_fit(FRAME, KINDS).partial_fit(FRAME, KINDS)
    with pytest.warns(TextColumnWarning) as caught:
        NaiveBayes(classes=2, random_state=0).fit(FRAME)
    assert len(caught) == 1


def test_a_family_that_is_given_never_warns():
    for families in ({"body": "text"}, {"body": "categorical"}, {"body": Text("bernoulli")}):
        NaiveBayes(families).fit(FRAME, KINDS)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (MAILS, "Text"),
        ([*MAILS, "ok"], "Text"),  # one odd cell
        ([*MAILS, None, float("nan")], "Text"),
        (["New York", "Rio de Janeiro", "Paris", "Salt Lake City"], "Categorical"),
        (["I agree with this statement", "I do not agree at all"] * 5, "Categorical"),
        (["red", "green", "red", " ".join(MAILS)], "Categorical"),
        (["", "", ""], "Categorical"),
        (["+49 30 1234 5678", "+49 30 1235 9999", "+1 212 555 0100"], "Categorical"),  # four parts without a letter
        (["0.1 0.2 0.3 0.4", "0.2 0.1 0.0 0.9", "1 2 3 4"], "Categorical"),
        (["Mon 3 Jan at 10:20", "Tue 4 Jan at 11:30", "Fri 7 Jan at 9:10"], "Categorical"),
    ],
)
@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, lambda columns: np.array(columns["x"], object)[:, None]]
)
def test_sentences_are_text_and_short_or_repeated_values_categories(cells, kind, library):
    if library is pl.DataFrame:
        cells = [None if cell != cell else cell for cell in cells]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextColumnWarning)
        model = NaiveBayes().fit(library({"x": cells}), np.arange(len(cells)) % 2)
    assert type(model.schema_.blocks[0].family).__name__ == kind


def test_declared_categories_are_never_text():
    for frame in (
        pd.DataFrame({"body": pd.Categorical(MAILS)}),
        pl.DataFrame({"body": pl.Series(MAILS, dtype=pl.Categorical)}),
        pl.DataFrame({"body": pl.Series(MAILS, dtype=pl.Enum(MAILS))}),
    ):
        model = NaiveBayes().fit(frame, KINDS)
        assert type(model.schema_.blocks[0].family).__name__ == "Categorical"


def test_sentences_that_are_read_as_categories_are_warned_of():
    documents, y = _documents()
    with pytest.warns(TextColumnWarning, match="holds sentences.*was read as categories"):
        NaiveBayes({"body": "categorical"}).fit(pd.DataFrame({"body": documents}), y)
    names = [f"Person Number{number}" for number in range(60)]
    with pytest.warns(suffice.IdentifierWarning, match=r"if its cells are text, pass families=\{'name': 'text'\}"):
        NaiveBayes().fit(pd.DataFrame({"name": names}), np.arange(60) % 2)


def test_models_without_text_columns_read_text_as_categories():
    with pytest.warns(TextColumnWarning, match="'body' are sentences, but a linear model reads each") as caught:
        model = LogisticRegression(alpha=1e-3).fit(FRAME[["body"]], KINDS)
    assert len(caught) == 1
    assert model.predict(FRAME[["body"]]).tolist() == KINDS
    LogisticRegression(alpha=1e-3).fit(FRAME[["body"]].astype("category"), KINDS)  # declared
    with pytest.warns(TextColumnWarning):
        GLM("poisson", alpha=1.0).fit(FRAME, range(5))
    with pytest.raises(ValueError, match=r"'x{59}… in row 0, which was not there"):
        model.predict(pd.DataFrame({"body": ["x" * 5000]}))
    with pytest.raises(ValueError, match="holds a list"):
        LogisticRegression().fit(pd.DataFrame({"words": TOKENS}), [0, 0, 1, 1])


# -- explanations ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:class . has only")
@pytest.mark.parametrize("estimate", ["mean", "predictive"])
@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("family", [Text(), Text("bernoulli"), Text(min_count=2), Text(weighting="tf-idf")])
def test_words_add_up_to_the_contribution_of_their_column(family, n_components, estimate):
    if estimate == "predictive" and family.weighting is not None:
        pytest.skip("weighted counts have no predictive distribution")
    documents, y = _documents(60)
    frame = pd.DataFrame({"body": [*documents, None, "", "unknown"]})
    frame["size"] = np.random.default_rng(0).normal(np.append(y, [0, 1, 2]))
    model = NaiveBayes({"body": family}, n_components=n_components, estimate=estimate, random_state=0)
    explanation = model.fit(frame[:60], y).explain(frame)
    place = explanation.columns.index("body")
    for row in range(len(frame)):
        words = explanation.words(row)
        assert sum(value for *_, value in words) == pytest.approx(explanation.contributions[row, place], abs=1e-9)
        assert all(column == "body" for column, *_ in words)
    assert explanation.words(60) == []


def test_words_of_complement_models_add_up_too():
    model = NaiveBayes(Text(complement=True, weighting="tf-idf")).fit(MAILS, KINDS)
    explanation = model.explain(MAILS)
    for row in range(len(MAILS)):
        total = sum(value for *_, value in explanation.words(row))
        assert total == pytest.approx(explanation.contributions[row, 0])


def test_an_explanation_shows_the_words_for_and_against():
    model = NaiveBayes({"body": "text"}).fit(FRAME, KINDS)
    explanation = model.explain(pd.DataFrame({"body": ["meeting pills pills"], "size": [np.nan]}), "spam")
    words = {word: value for _, word, value in explanation.words(0)}
    assert set(words) == {"pills", "meeting"}
    assert words["pills"] > 0 > words["meeting"]
    assert explanation.words(0, 1)[0][1] == "pills"
    lines = explanation.text().splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["(baseline)", "body", "pills", "meeting", "(the"]
    assert explanation.top(0, 1)[0][0] == "body: pills"


def test_absent_words_count_under_the_bernoulli_model():
    model = NaiveBayes(Text("bernoulli")).fit(MAILS, KINDS)
    words = dict(entry[1:] for entry in model.explain(["cheap"], "spam").words(0))
    p = model.distributions_[0].probability  # ham, spam
    places = {word: place for place, word in enumerate(model.schema_.categories[0].values)}
    assert words["cheap"] == pytest.approx(np.log(p[1, places["cheap"]] / p[0, places["cheap"]]))
    absent = np.log((1 - p[1, places["pills"]]) / (1 - p[0, places["pills"]]))
    assert words["no 'pills'"] == pytest.approx(absent)
    assert "(other absent words)" in words


def test_top_words_are_those_that_speak_most_for_a_class():
    model = NaiveBayes("text").fit(MAILS, KINDS)
    top = model.top_words(3)
    assert list(top) == ["ham", "spam"]
    assert top["spam"][0][0] == "pills"
    assert top["ham"][0][0] in ("the", "meeting")
    p = model.distributions_[0].probability[:, model.schema_.categories[0].numbers["pills"]]
    assert top["spam"][0][1] == pytest.approx(p[1] * np.log(p[1] / p[0]))
    assert str(top).splitlines()[1].startswith("spam  pills 0.")
    assert len(top) == 2


@pytest.mark.parametrize("family", [Text("bernoulli"), Text(weighting="tf-idf"), Text(complement=True)])
def test_every_text_model_has_top_words(family):
    assert NaiveBayes(family).fit(MAILS, KINDS).top_words(1)["spam"][0][0] in ("pills", "buy", "you")


@pytest.mark.filterwarnings("ignore:class . has only")
def test_mixtures_have_top_words_of_their_components():
    documents, y = _documents()
    mixture = Mixture(3, "text", random_state=0).fit(documents)
    assert list(mixture.top_words(2)) == [0, 1, 2]
    one = Mixture(1, "text").fit(documents).top_words(1)
    assert one[0][0][0] == max(set(" ".join(documents).split()), key=" ".join(documents).split().count)
    parts = NaiveBayes("text", n_components=2, random_state=0).fit(documents, y)
    assert list(parts.top_words(2)) == [0, 1, 2]


@pytest.mark.parametrize("n", [0, -1, 1.5, None])
def test_the_number_of_top_words_is_a_whole_number(n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        NaiveBayes("text").fit(MAILS, KINDS).top_words(n)


def test_long_words_and_words_with_line_breaks_are_printed_in_one_short_line():
    model = NaiveBayes("text").fit([["x" * 5000, "a\nb"], [" ", "\u2028d"]], [0, 1])
    shown = [model.explain([["x" * 5000, "a\nb", " ", "\u2028d"]]).text(), str(model.top_words()), str(model.summary())]
    for text in shown:
        assert all(part in text for part in ("xxxx…", "a b", "d"))
        assert max(map(len, text.splitlines())) < 130
    assert [len(text.splitlines()) for text in shown[:2]] == [7, 2]
    assert all("' '" in text for text in shown[:2])


def test_the_words_of_a_row_counted_from_the_end_are_those_of_the_row():
    explanation = NaiveBayes("text").fit(MAILS, KINDS).explain(MAILS)
    assert explanation.words(-1) == explanation.words(len(MAILS) - 1)
    assert explanation.text(-2) == explanation.text(len(MAILS) - 2)


def test_distributions_of_documents_are_no_given_parameters():
    of_documents = {"spam": Text().fit(MAILS[:2]), "ham": Text().fit(MAILS[2:])}
    with pytest.raises(ValueError, match=r"dictionary of its own.*give a Multinomial"):
        NaiveBayes.from_parameters({"spam": 0.5, "ham": 0.5}, {"body": of_documents})


def test_top_words_need_a_column_of_text():
    with pytest.raises(ValueError, match="the model has none"):
        NaiveBayes().fit(np.eye(3), [0, 1, 1]).top_words()
    model = NaiveBayes("text").fit(pd.DataFrame({"a": MAILS, "b": MAILS}), KINDS)
    with pytest.raises(ValueError, match="choose one of 'a', 'b'"):
        model.top_words()
    assert model.top_words(1, "b") == model.top_words(1, 0)


# -- learning from few labels, and clusters ------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Text(), Text("bernoulli"), Text(weighting="tf-idf"), Text(min_count=3)])
def test_documents_without_labels_help_and_the_bound_never_falls(family):
    documents, y = _documents(400, seed=3)
    y = y.astype(str)
    labels = np.array(y, dtype=object)
    labels[9:] = None
    model = NaiveBayes(family, missing_label=None).fit(documents, labels)
    alone = NaiveBayes(family).fit(documents[:9], y[:9])
    assert model.score(documents, y) > alone.score(documents, y) - 0.02
    assert (np.diff(model.bound_history_) > -1e-8).all()


def test_words_are_chosen_and_weighted_by_all_documents_before_em():
    documents, y = _documents(100, seed=3)
    labels = np.array(y, dtype=object)
    labels[9:] = None
    family = Text(weighting="tf-idf", min_count=3)
    model = NaiveBayes(family, missing_label=None, max_iter=1).fit(documents, labels)
    whole = NaiveBayes(family).fit(documents, y)
    words = whole.schema_.categories[0].numbers
    order = [words[word] for word in model.schema_.categories[0].values]
    np.testing.assert_allclose(model.distributions_[0].word_weight, whole.distributions_[0].word_weight[order])


def test_all_labels_given_is_the_supervised_fit():
    documents, y = _documents(60)
    soft = NaiveBayes("text").fit(documents, np.eye(3)[y])
    np.testing.assert_allclose(
        soft.predict_proba(documents), NaiveBayes("text").fit(documents, y).predict_proba(documents)
    )


def test_a_mixture_finds_the_topics_of_documents():
    documents, y = _documents(300)
    mixture = Mixture(3, {"body": "text"}, random_state=0).fit(pd.DataFrame({"body": documents}))
    found = mixture.predict(pd.DataFrame({"body": documents}))
    table = np.array([[np.sum((found == c) & (y == k)) for k in range(3)] for c in range(3)])
    assert table.max(1).sum() > 0.95 * len(y)
    assert np.isfinite(mixture.bic(pd.DataFrame({"body": documents})))


def test_mixtures_of_text_and_numbers_condition_on_documents():
    documents, y = _documents(200)
    frame = pd.DataFrame({"body": documents, "size": np.random.default_rng(0).normal(10.0 * y)})
    mixture = Mixture(3, {"body": "text"}, random_state=0).fit(frame)
    given = mixture.condition({"body": documents[0]})
    assert given.means_[np.argmax(given.weights_), 0] == pytest.approx(10.0 * y[0], abs=1.0)
    assert mixture.marginal("body").predict(documents[:3]).shape == (3,)


def test_the_search_takes_columns_of_text():
    documents, y = _documents(80)
    frame = pd.DataFrame({"body": documents, "size": np.random.default_rng(0).normal(10.0 * y)})
    search = MixtureSearch(range(1, 4), families={"body": "text"}, random_state=0).fit(frame)
    assert search.best_estimator_.predict(frame).shape == (80,)


# -- the rest ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Text(), Text("bernoulli"), Text(weighting="tf-idf", ngrams=2), Text(buckets=64)])
def test_models_of_text_are_saved_and_loaded(family, tmp_path):
    frame, path = FRAME.assign(label=KINDS), tmp_path / "model.suffice"
    model = NaiveBayes({"body": family}).fit(frame[["body", "size"]], KINDS)
    partly = NaiveBayes({"body": family}, missing_label=None).fit(FRAME, ["spam", None, "ham", None, None])
    mixture = Mixture(2, {"body": family}, random_state=0).fit(FRAME)
    for saved in (model, partly, mixture):
        suffice.save(saved, path)
        loaded = suffice.load(path)
        np.testing.assert_allclose(loaded.predict_proba(FRAME), saved.predict_proba(FRAME), rtol=1e-12)
        assert loaded.schema_.blocks == saved.schema_.blocks


@pytest.mark.parametrize("estimate", ["mean", "predictive"])
@pytest.mark.parametrize(
    "settings", [{"min_count": 9}, {"min_count": 9, "max_words": 2}, {"min_count": 9, "buckets": 8}]
)
@pytest.mark.parametrize("kind", [{}, {"counts": "bernoulli"}, {"complement": True}, {"weighting": "tf-idf"}])
def test_settings_that_leave_out_every_word_leave_the_shares_of_the_classes(kind, settings, estimate, tmp_path):
    if estimate == "predictive" and kind.keys() - {"counts"}:
        pytest.skip("there is no posterior")
    with pytest.warns(
        TextColumnWarning, match=r"column 0 say nothing: .*none is in 9 documents \(min_count\)"
    ) as caught:
        model = NaiveBayes(Text(**kind, **settings), estimate=estimate).fit(MAILS, KINDS)
    assert len(caught) == 1
    suffice.save(model, tmp_path / "model.suffice")
    for found in (model, suffice.load(tmp_path / "model.suffice")):
        np.testing.assert_allclose(found.predict_proba([*NEW, None]), np.tile(model.class_prior_, (4, 1)))
        assert not found.parameters()["value"].isna().any()
        assert found.top_words() == {"ham": [], "spam": []}


def test_words_and_classes_that_are_no_unicode_are_saved(tmp_path):
    documents = [["a\0b", "\0", ""], ["\ud83d", "\ude00", "\xff"], ["a b", "c\n"], ["", "\ud83d\ude00"]]
    y = np.array(["x", "x", "\udfff", "\udfff"], dtype=object)
    model = NaiveBayes("text").fit(documents, y)
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    assert loaded.schema_.categories[0].values == model.schema_.categories[0].values
    assert loaded.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_array_equal(loaded.predict_proba(documents), model.predict_proba(documents))


def test_a_function_that_finds_words_is_used_and_not_saved(tmp_path):
    model = NaiveBayes(Text(tokens=str.split)).fit(["a b!", "b! b!", "c"], [0, 0, 1])
    assert model.schema_.categories[0].values == ("a", "b!", "c")
    with pytest.raises(TypeError, match="function 'split' cannot be saved"):
        suffice.save(model, tmp_path / "model.suffice")


def test_sampled_documents_are_words_joined_by_blanks():
    model = NaiveBayes({"body": "text"}).fit(FRAME, KINDS)
    rows, labels = model.sample(500, random_state=0)
    assert isinstance(rows, pd.DataFrame)
    again = NaiveBayes({"body": "text"}).fit(rows, labels)
    assert set(again.schema_.categories[0].values) <= set(model.schema_.categories[0].values)
    assert again.score(FRAME, KINDS) == 1.0
    with pytest.raises(ValueError, match="documents can be drawn"):
        NaiveBayes(Text(weighting="tf-idf")).fit(MAILS, KINDS).sample(1)


def test_a_missing_document_stays_missing_when_other_cells_are_filled_in():
    model = NaiveBayes({"body": "text"}).fit(FRAME, KINDS)
    holes = pd.DataFrame({"body": ["cheap pills", None], "size": [np.nan, 2.0]})
    for sample in (False, True):
        filled = model.impute(holes, sample=sample, random_state=0)
        assert filled["body"].isna().tolist() == [False, True]
        assert filled["size"].notna().all()


def test_check_says_that_words_are_not_checked():
    model = NaiveBayes({"body": "text"}).fit(FRAME, KINDS)
    assert "Counts of words are not checked." in str(model.check(FRAME, KINDS))


def test_models_of_text_are_cloned_and_searched():
    documents, y = _documents(90)
    model = NaiveBayes(Text(weighting="tf-idf"))
    assert clone(model).families == model.families
    search = GridSearchCV(model, {"families": ["text", Text("bernoulli"), Text(ngrams=2)], "prior": [0.1, 1.0]}, cv=2)
    assert search.fit(documents, y).best_score_ > 0.8
    assert cross_val_score(NaiveBayes("text"), pd.Series(documents), y, cv=3).mean() > 0.8


def test_streams_of_documents_are_read_batch_by_batch():
    documents, y = _documents(100)
    chunks = [(documents[i : i + 7], y[i : i + 7]) for i in range(0, 100, 7)]
    model = NaiveBayes("text").fit(suffice.stream(chunks))
    whole = NaiveBayes("text").fit(documents, y)
    np.testing.assert_allclose(model.predict_proba(suffice.stream([documents])), whole.predict_proba(documents))
    frames = [(pd.DataFrame({"body": x, "size": np.arange(float(len(x)))}), labels) for x, labels in chunks]
    with pytest.warns(TextColumnWarning):
        assert NaiveBayes().fit(suffice.stream(frames)).score(frames[0][0], frames[0][1]) > 0.5


def test_small_batches_of_a_stream_are_summed_together(monkeypatch):
    from suffice.families.text import Text as Family

    documents, y = _documents(100)
    sizes, sums = [], Family.statistics
    monkeypatch.setattr(Family, "statistics", lambda self, x, r: sizes.append(len(x)) or sums(self, x, r))
    NaiveBayes("text").fit(suffice.stream([(documents[i : i + 2], y[i : i + 2]) for i in range(0, 100, 2)]))
    assert len(sizes) < 40
    assert sum(sizes) == 100


def test_weights_of_rows_count_documents():
    documents, y = _documents(40)
    weight = np.random.default_rng(0).integers(0, 3, 40)
    model = NaiveBayes(Text(min_count=2)).fit(documents, y, weight)
    repeated = np.repeat(np.arange(40), weight)
    other = NaiveBayes(Text(min_count=2)).fit([documents[i] for i in repeated], y[repeated])
    np.testing.assert_allclose(model.predict_proba(documents), other.predict_proba(documents), rtol=1e-9)


def test_there_are_no_coefficients_of_a_column_of_text():
    model = NaiveBayes("text").fit(MAILS, KINDS)
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match=r"sums over the words.*top_words"):
        model.to_logistic()


def test_statistics_of_other_words_are_not_merged():
    a, b = (NaiveBayes(family).fit(MAILS, KINDS).statistics_ for family in (Text(), Text(ngrams=2)))
    with pytest.raises(ValueError, match="same families"):
        a + b
    with pytest.raises(NotKeptError):
        GenerativeClassifier.from_statistics(a, families=Text(lowercase=False))


@pytest.mark.filterwarnings("ignore:the documents of column 0 say nothing")
@pytest.mark.parametrize("documents", [["", ""], [None, None], ["!", "?"]])
def test_documents_without_any_word_say_nothing(documents):
    for family in (Text(), Text("bernoulli"), Text(weighting="tf-idf"), Text(complement=True), Text(max_words=3)):
        model = NaiveBayes(family).fit([*documents, *documents], [0, 1, 1, 1])
        np.testing.assert_allclose(model.predict_proba(["word", None])[0], model.class_prior_)


@pytest.mark.filterwarnings("ignore:the documents of column 0 say nothing")
@pytest.mark.parametrize("family", ["text", Text("bernoulli"), Text(weighting="tf-idf"), Text(buckets=16)])
@pytest.mark.parametrize("documents", [[""] * 8, [None] * 8, ["?", ""] * 4])
def test_mixtures_of_documents_without_any_word_find_one_cluster(documents, family):
    mixture = Mixture(2, family, random_state=0).fit(documents)
    assert len(set(mixture.predict(documents))) == 1


def test_models_of_documents_are_compared():
    documents, y = _documents(60)
    curves = suffice.compare(NaiveBayes("text"), NaiveBayes(Text("bernoulli")), documents, y, sizes=[12], n_splits=2)
    assert (curves.error < 0.5).all()


def test_em_in_pieces_takes_documents_that_are_not_in_a_table():
    documents, y = _documents(60)
    mixture = Mixture(3, "text", random_state=0).fit(documents)
    assert suffice.e_step(mixture, documents).q.shape == (60, 3)
    assert next(suffice.em_steps(mixture, documents)).gap == pytest.approx(0.0, abs=1e-6)
    classifier = NaiveBayes("text").fit(documents, y)
    np.testing.assert_allclose(suffice.e_step(classifier, documents).q, classifier.predict_proba(documents))
    imputer = suffice.Imputer(Mixture(2, "text", random_state=0)).fit(documents)
    assert imputer.transform(documents[:2])[:, 0].tolist() == documents[:2]


def test_documents_of_which_no_word_is_read_are_warned_of():
    genes = ["A C G T", "G T C A", "T T A C"]
    with pytest.warns(TextColumnWarning, match=r"'body' say nothing: no words were found.*Text\(tokens=...\)"):
        NaiveBayes({"body": "text"}).fit(pd.DataFrame({"body": genes}), [0, 1, 1])
    with pytest.warns(TextColumnWarning, match="no words were found"):
        Mixture(1, "text").fit(genes)
    NaiveBayes(Text(tokens=str.split)).fit(genes, [0, 1, 1])
    NaiveBayes("text").fit([None, None, None], [0, 1, 1])  # missing, which summary() says
    NaiveBayes("text").partial_fit(genes, [0, 1, 1])  # words may come later
    NaiveBayes(Text(min_count=4), missing_label=None).fit([*MAILS, "cheap"], ["spam", "ham", *[None] * 4])
