"""Bags of words are those of the Python form and of scikit-learn's CountVectorizer, whatever the documents."""

import threading
import time
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from suffice import compiled
from suffice.errors import InvalidCellError
from suffice.tables import documents as encoding
from suffice.tables import word_threads
from suffice.tables.buckets import fnv1a
from suffice.tables.words import Reading, count_words, word_buckets

needs_kernels = pytest.mark.skipif(compiled.library is None, reason="the kernels were not built (no C compiler)")

ODD = [
    "",
    " ",
    "a",
    "ab",
    "a b c",
    "İstanbul İ Σίσυφος ΟΔΟΣ ΟΔΟΣ. ΣΑΣ",
    "one\0two\0\0three",
    "ﬁne ẞtraße ŒUVRE ǅ ʼn",
    "naïve nai\u0308ve e\u0301e\u0301 हिन्दी ไทย 日本語 한국어 ٣٤٥ ²³ ½½ Ⅷ_",
    "𝒳𝒴 𐐀𐐁 😀😀 a😀b",
    "\ud83d\ude00 lone \ud800 surrogates a\udc00b",
    "under_score __ _ 12 3 45_6 don't e-mail@host.example",
    "a\u200bb zero\u200cwidth \ufeffbom a\u00adb x\u2028y",
    "Kelvin K Å ſharp ſ",
    "\x7f\x80\xa0\xaa\xb5ª µµ ·· ‿‿ a‿b",
    "x" * 7 + " " + "x" * 8 + " " + "x" * 9 + " " + "X" * 63 + " " + "y" * 64 + " " + "z" * 65 + "é" * 40,
    "é", "éé", "é é", "éa", "aé", "日", "日本",
]  # fmt: skip
texts = st.text(
    st.one_of(st.characters(codec=None), st.sampled_from("aAbBzZ_09 \n.,éÉßİσΣς\u0307日\U00010400\0")), max_size=90
)
token_lists = st.lists(st.text(st.one_of(st.characters(), st.sampled_from("ab \0")), max_size=12), max_size=8)
readings = st.builds(
    Reading,
    lowercase=st.booleans(),
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (3, 3), (2, 4)]),
    tokens=st.sampled_from([None, None, str.split]),
    buckets=st.sampled_from([None, None, 1, 7, 2**20]),
)


def in_python(documents, reading, numbers, grow=True):
    """Return the bags by the form in Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "library", None)
        return count_words(documents, reading, numbers, grow=grow)


def assert_same(found, expected):
    """Compare bags to the last bit, types included."""
    assert found.shape == expected.shape
    for name in ("indptr", "indices", "data"):
        a, b = getattr(found.counts, name), getattr(expected.counts, name)
        assert a.dtype == b.dtype
        assert a.dtype == np.int32
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(found.unknown, expected.unknown)
    np.testing.assert_array_equal(found.missing, expected.missing)


def assert_as_in_python(documents, reading, known=(), **settings):
    """Compare the bags and the dictionary with those of the form in Python."""
    for grow in (True, False):
        ours, theirs = ({word: i for i, word in enumerate(known)} for _ in range(2))
        found = count_words(documents, reading, ours, grow=grow, **settings)
        assert_same(found, in_python(documents, reading, theirs, grow))
        assert list(ours.items()) == list(theirs.items())


@given(
    st.lists(st.one_of(texts, st.none(), token_lists), max_size=12), readings, st.lists(texts, unique=True, max_size=4)
)
def test_bags_are_those_of_the_form_in_python(documents, reading, known):
    assert_as_in_python(documents, reading, known)


@given(st.lists(texts, min_size=3, max_size=12), readings)
@settings(max_examples=50)
def test_batches_and_threads_change_nothing(documents, reading):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_BATCH", 100)
        patch.setattr(encoding, "_LEAST", 1)
        patch.setattr(word_threads, "_MOST_WORDS", 5)
        for n_jobs in (1, 2, 3):
            assert_as_in_python(documents, reading, n_jobs=n_jobs)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 3)])
def test_words_and_counts_are_those_of_count_vectorizer(lowercase, ngrams):
    documents = [document for document in ODD if "\ud800" not in document] * 2
    vectorizer = CountVectorizer(lowercase=lowercase, ngram_range=ngrams)
    expected = vectorizer.fit_transform(documents).toarray()
    numbers = {}
    bags = count_words(documents, Reading(lowercase=lowercase, ngrams=ngrams), numbers, grow=True)
    assert numbers.keys() == vectorizer.vocabulary_.keys()
    order = [numbers[word] for word in vectorizer.get_feature_names_out()]
    np.testing.assert_array_equal(bags.counts.toarray()[:, order], expected)


@pytest.mark.parametrize("reading", [Reading(), Reading(lowercase=False), Reading(ngrams=(1, 3)), Reading(buckets=16)])
def test_odd_documents_are_read_as_in_python(reading):
    assert_as_in_python(ODD, reading)
    assert_as_in_python([ODD, *ODD, None, float("nan"), pd.NA, tuple(ODD), np.array(["a b", "c"]), [], [""]], reading)


def test_every_character_is_a_letter_where_it_is_one_for_python():
    everything = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    documents = [everything[start : start + 4096] for start in range(0, 0x110000, 4096)]
    assert_as_in_python(documents, Reading(lowercase=False))
    assert_as_in_python(documents, Reading())
    assert_as_in_python(["x".join(everything)], Reading(lowercase=False))


def test_words_are_numbered_in_the_order_in_which_they_are_first_read():
    numbers = {"old": 0}
    count_words(["new old", "newer new"], Reading(ngrams=(1, 2)), numbers, grow=True)
    assert list(numbers) == ["old", "new", "new old", "newer", "newer new"]


def test_unknown_words_are_counted_and_the_dictionary_is_kept():
    numbers = {"buy": 0, "now": 1}
    bags = count_words(["buy it now now", "see you"], Reading(), numbers, grow=False)
    assert bags.counts.toarray().tolist() == [[1, 2], [0, 0]]
    assert bags.unknown.tolist() == [1, 2]
    assert numbers == {"buy": 0, "now": 1}


def test_lists_of_words_are_taken_as_they_are():
    numbers = {}
    bags = count_words([["A", "", "b c", "A"], ("x\0y",), np.array(["b", "c"])], Reading(), numbers, grow=True)
    assert list(numbers) == ["A", "", "b c", "x\0y", "b", "c"]
    assert bags.counts.toarray()[0].tolist() == [2, 1, 1, 0, 0, 0]


def test_a_pair_and_a_word_of_the_same_text_are_one():
    numbers = {}
    bags = count_words([["a b", "a", "b"], ["a", "b"]], Reading(ngrams=(1, 2)), numbers, grow=True)
    assert list(numbers) == ["a b", "a", "a b a", "b"]
    assert bags.counts.toarray().tolist() == [[2, 1, 1, 1], [1, 1, 0, 1]]


def test_a_function_of_the_user_is_called_in_one_thread(monkeypatch):
    monkeypatch.setattr(encoding, "_LEAST", 1)
    callers = set()

    def tokens(text):
        callers.add(threading.current_thread())
        return text.split("-")

    numbers = {}
    bags = count_words(["A-b-a", None, "b"] * 50, Reading(tokens=tokens), numbers, grow=True, n_jobs=4)
    assert numbers == {"a": 0, "b": 1}
    assert bags.counts[:3].toarray().tolist() == [[2, 1], [0, 0], [0, 1]]
    assert len(callers) == 1


@pytest.mark.parametrize(
    "documents",
    [
        ["buy now", None, "see you"],
        ("buy now", None, "see you"),
        np.array(["buy now", None, "see you"], dtype=object),
        pd.Series(["buy now", None, "see you"], index=[7, 3, 7]),
        pd.Series(["buy now", None, "see you"], dtype="string[pyarrow]"),
        pl.Series(["buy now", None, "see you"]),
        pa.array(["buy now", None, "see you"]),
        pa.chunked_array([["buy now"], [None, "see you"]]),
        pd.Series([["buy", "now"], None, ["see", "you"]]),
        pa.array([["buy", "now"], None, ["see", "you"]]),
        iter(["buy now", None, "see you"]),
    ],
    ids=lambda documents: f"{type(documents).__module__}.{type(documents).__name__}",
)
def test_documents_of_any_library_are_read_alike(documents):
    numbers = {}
    bags = count_words(documents, Reading(), numbers, grow=True)
    assert list(numbers) == ["buy", "now", "see", "you"]
    assert bags.counts.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1]]
    assert bags.missing.tolist() == [False, True, False]


def test_numpy_strings_and_subclasses_of_str_are_documents():
    class Mail(str):
        __slots__ = ()

    for documents in (np.array(["Buy now", "see"]), [np.str_("Buy now"), Mail("see")]):
        numbers = {}
        count_words(documents, Reading(), numbers, grow=True)
        assert numbers == {"buy": 0, "now": 1, "see": 2}


@pytest.mark.parametrize("library", ["compiled", "Python"])
@pytest.mark.parametrize("bad", [3, 2.5, b"bytes", {"a": 1}, ["a", None], ["a", 3], object])
def test_a_document_that_is_no_text_is_refused_by_its_row_and_nothing_changes(bad, library, monkeypatch):
    if library == "Python":
        monkeypatch.setattr(compiled, "library", None)
    monkeypatch.setattr(encoding, "_BATCH", 100)
    numbers = {"known": 0}
    with pytest.raises(InvalidCellError, match=r"in row 40, but documents must be text or lists of words") as caught:
        count_words([f"word{i} known" for i in range(40)] + [bad, "more", bad], Reading(), numbers, grow=True)
    assert caught.value.row == 40
    assert numbers == {"known": 0}


@pytest.mark.parametrize("returned", [None, 5, "buy now", [1, 2], ["buy", None], [["buy"]], b"buy", [b"buy"]])
@pytest.mark.parametrize("library", [False, True])
def test_a_function_that_returns_no_words_is_named(returned, library, monkeypatch):
    if not library:
        monkeypatch.setattr(compiled, "library", None)
    numbers = {"known": 0}
    with pytest.raises(ValueError, match=r"'now' in row 1, but tokens must return a list of its words, and returned"):
        count_words(
            ["see", "now"], Reading(tokens=lambda text: [text] if text == "see" else returned), numbers, grow=True
        )
    assert numbers == {"known": 0}


@pytest.mark.parametrize("as_words", [list, tuple, iter, np.array, dict.fromkeys])
def test_a_function_may_return_any_iterable_of_words(as_words):
    numbers = {}
    bags = count_words(["see you"], Reading(tokens=lambda text: as_words(text.split())), numbers, grow=True)
    assert numbers == {"see": 0, "you": 1}
    assert bags.counts.toarray().tolist() == [[1, 1]]


def test_an_error_of_the_users_function_reaches_the_user_and_nothing_changes():
    def tokens(text):
        return text.split() if text != "bad" else 1 / 0

    numbers = {}
    with pytest.raises(ZeroDivisionError):
        count_words(["good one", "bad"], Reading(tokens=tokens), numbers, grow=True)
    assert numbers == {}


def test_a_single_text_is_not_a_sequence_of_documents():
    with pytest.raises(TypeError, match=r"pass \[text\]"):
        count_words("buy now", Reading(), {}, grow=True)


@pytest.mark.parametrize("ngrams", [(0, 1), (2, 1)])
def test_wrong_ngrams_are_refused(ngrams):
    with pytest.raises(ValueError, match="smallest and the largest number of words"):
        Reading(ngrams=ngrams)


@pytest.mark.parametrize("buckets", [0, -1, 2**31])
def test_wrong_numbers_of_buckets_are_refused(buckets):
    with pytest.raises(ValueError, match="buckets must be None or from 1"):
        Reading(buckets=buckets)


@needs_kernels
def test_more_cells_than_a_matrix_can_index_are_refused(monkeypatch):
    monkeypatch.setattr(word_threads, "_MOST_CELLS", 3)
    numbers = {}
    with pytest.raises(ValueError, match="pass fewer at a time"):
        count_words(["aa bb", "cc dd"], Reading(), numbers, grow=True)
    assert numbers == {}


def test_the_hash_of_a_word_is_fnv_1a_and_buckets_are_the_same_for_ever():
    # the hashes are published with the algorithm
    assert [fnv1a(word) for word in ("", "a", "foobar")] == [0xCBF29CE484222325, 0xAF63DC4C8601EC8C, 0x85944171F73967E8]
    found = word_buckets(["", "a", "foobar", "naïve", "日本語", "\ud800", "see you"], 2**20)
    assert found.tolist() == [600358, 970331, 91947, 728527, 446696, 308089, 124612]
    assert found.dtype == np.int32


def test_buckets_are_even():
    found = word_buckets([f"word{i}" for i in range(40_000)], 64)
    assert abs(np.bincount(found, minlength=64) / 625 - 1).max() < 0.2


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 3)])
def test_words_are_counted_in_their_buckets_without_a_dictionary(ngrams):
    numbers, reading = {}, Reading(ngrams=ngrams, buckets=50)
    bags = count_words(ODD, reading, numbers, grow=True)
    assert numbers == {}
    assert bags.shape == (len(ODD), 50)
    for row, document in enumerate(ODD):
        expected = np.bincount(word_buckets(reading.words(document), 50), minlength=50)
        np.testing.assert_array_equal(bags.counts[[row]].toarray()[0], expected)
    assert not bags.unknown.any()


def test_documents_of_any_length_are_read():
    long = " ".join(f"w{i}" for i in range(300_000))
    numbers = {}
    bags = count_words([long, "", "y" * 3_000_000, long], Reading(), numbers, grow=True)
    assert len(numbers) == 300_001
    assert np.diff(bags.counts.indptr).tolist() == [300_000, 0, 1, 300_000]
    assert (bags.counts.data == 1).all()


def test_very_many_empty_documents_are_read():
    bags = count_words([""] * 300_000 + [None], Reading(), {}, grow=True)
    assert bags.shape == (300_001, 0)
    assert bags.nnz == 0
    assert bags.missing.sum() == 1
    assert count_words([], Reading(), {}, grow=True).shape == (0, 0)


def test_words_that_differ_little_do_not_take_long():
    words = [f"{'same' * 5}{1 << bit:020x}{number:04x}" for bit in range(80) for number in range(1000)]
    numbers = {}
    start = time.process_time()
    bags = count_words([" ".join(words)], Reading(), numbers, grow=True)
    assert time.process_time() - start < 5
    assert list(numbers) == words
    assert bags.nnz == 80_000


@needs_kernels
def test_the_memory_of_a_call_is_bounded():
    rng = np.random.default_rng(0)
    documents = [" ".join(map(str, rng.integers(10, 5000, 2000))) for _ in range(1500)]
    numbers = {}
    tracemalloc.start()
    try:
        counts = count_words(documents, Reading(), numbers, grow=True).counts
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = counts.data.nbytes + counts.indices.nbytes + counts.indptr.nbytes
    assert peak - size < 60e6
