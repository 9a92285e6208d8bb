"""Whatever documents hold, and whatever the settings of `Text`: a model is the same however it was learned."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from suffice import Mixture, NaiveBayes, Text

pytestmark = pytest.mark.filterwarnings("ignore:the documents of column .* say nothing")
law = settings(max_examples=25) if settings().derandomize else settings(max_examples=100)
words = st.sampled_from(
    ["buy", "Now", "cheap", "é\u0301té", "STRASSE", "straße", "İİ", "ΟΔΟΣ", "日本", "a", "\ud800x", "😀"]
)
sentences = st.lists(st.one_of(words, st.text(max_size=6)), max_size=8).map(" ".join)
# no words with blanks: [["a b"]] by itself is a table of one column
tokens = st.lists(st.one_of(words, st.sampled_from(["", " ", "a\0b"])), max_size=6)
documents = st.lists(st.one_of(sentences, sentences, tokens, st.none()), min_size=6, max_size=14)


@st.composite
def settings_of_text(draw, densities=False):
    """Return settings that go together."""
    chosen = {
        "ngrams": draw(st.sampled_from([1, 2, (2, 3)])),
        "lowercase": draw(st.booleans()),
        "min_count": draw(st.sampled_from([1, 1, 2, 99])),
        "max_words": draw(st.sampled_from([None, None, 1, 4])),
        "buckets": draw(st.sampled_from([None, None, 1, 16])),
    }
    kinds = [{}, {"counts": "bernoulli"}, {"weighting": "tf-idf"}]
    others = [] if densities else [{"complement": True}, {"complement": True, "weighting": "tf-idf"}]
    return {**chosen, **draw(st.sampled_from(kinds + others))}


models = st.builds(
    lambda chosen, prior: NaiveBayes(Text(**chosen), prior=prior),
    settings_of_text(),
    st.sampled_from(["auto", 0.01, 3.0]),
)


def labels_of(x):
    return np.arange(len(x)) % 3


def same(found, expected, x):
    np.testing.assert_allclose(found.predict_proba(x), expected.predict_proba(x), rtol=1e-7, atol=1e-10)


@law
@given(documents, models, st.integers(1, 5))
def test_parts_that_are_merged_streamed_or_taken_out_again_give_the_model_of_all(x, model, size):
    y, family = labels_of(x), {"families": model.families, "prior": model.prior}
    whole = NaiveBayes(**family).fit(x, y)
    cuts = range(0, len(x), size)
    batches = [(x[start : start + size], y[start : start + size]) for start in cuts]
    same(NaiveBayes(**family).fit(suffice.stream(batches)), whole, x)
    piecewise = NaiveBayes(**family)
    for part, labels in batches:
        piecewise.partial_fit(part, labels, classes=[0, 1, 2])
    same(piecewise, whole, x)
    first, rest = (NaiveBayes(**family).fit(x[some], y[some]).statistics_ for some in (slice(3), slice(3, None)))
    same(NaiveBayes.from_statistics(first + rest, **family), whole, x)
    same(NaiveBayes.from_statistics(whole.statistics_ - first, **family), NaiveBayes(**family).fit(x[3:], y[3:]), x)


@law
@given(documents, models, st.data())
def test_the_order_of_rows_does_not_matter_and_a_weight_is_a_number_of_repetitions(x, model, data):
    y = labels_of(x)
    order = np.array(data.draw(st.permutations(range(len(x)))))
    whole = model.fit(x, y)
    again = NaiveBayes(model.families, prior=model.prior)
    same(again.fit([x[row] for row in order], y[order]), whole, x)
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(x) - 3, max_size=len(x) - 3)))
    weight = np.concatenate([[1, 1, 1], weight])  # every class keeps a row
    repeated = np.repeat(np.arange(len(x)), weight)
    weighted = NaiveBayes(model.families, prior=model.prior).fit(x, y, weight)
    same(weighted, again.fit([x[row] for row in repeated], y[repeated]), x)


@law
@given(documents, models)
def test_answers_are_finite_words_add_up_and_a_file_gives_the_same_model(x, model):
    model.fit(x, labels_of(x))
    new = [*x, "words that nobody wrote", "", None]
    found = model.predict_proba(new)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(1), 1.0)
    explanation = model.explain(new)
    for row in range(len(new)):
        total = sum(value for *_, value in explanation.words(row))
        assert total == pytest.approx(explanation.contributions[row, 0], abs=1e-9)
    assert all(len(text) < 5000 for text in (str(model.summary()), str(model.top_words(3)), explanation.text()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.suffice"
        suffice.save(model, path)
        np.testing.assert_allclose(suffice.load(path).predict_proba(new), found, rtol=1e-9, atol=1e-12)


@law
@given(documents, settings_of_text())
def test_documents_in_a_column_are_documents_by_themselves(x, chosen):
    y, column = labels_of(x), pd.Series(x, dtype=object)
    alone = NaiveBayes(Text(**chosen)).fit(x, y)
    framed = NaiveBayes({"body": Text(**chosen)}).fit(pd.DataFrame({"body": column}), y)
    np.testing.assert_array_equal(framed.predict_proba(x), alone.predict_proba(x))
    np.testing.assert_array_equal(alone.predict_proba(column), alone.predict_proba(x))


@law
@given(documents, settings_of_text(densities=True), st.integers(1, 3))
def test_the_bound_of_em_never_falls(x, chosen, k):
    y = labels_of(x).astype(object)
    y[5:] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # not converged, or fewer clusters than components
        partly = NaiveBayes(Text(**chosen), missing_label=None, max_iter=20).fit(x, y)
        mixture = Mixture(k, Text(**chosen), max_iter=20, random_state=0).fit(x)
    for model in (partly, mixture):
        assert (np.diff(model.bound_history_) > -1e-7).all()
        assert np.isfinite(model.predict_proba(x)).all()
