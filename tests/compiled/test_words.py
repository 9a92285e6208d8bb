"""The kernels that count words give the same counts on every instruction set, and write nowhere else."""

import itertools
import re

import numpy as np
import pytest

from suffice import compiled
from suffice.compiled import words as module
from suffice.compiled.words import PAST_BYTES, WordTable

PIECES = [b"buy", b"NOW", b"a", b"_9", b"\xc3\xa9t\xc3\xa9", b"longer_than_eight", b" ", b", ", b"\n", b"\x00", b"-"]


def read(table, documents, separator=-1, letters=None):
    """Let a table read documents."""
    text = b"\n".join([*documents, bytes(PAST_BYTES)])
    ends = np.cumsum([len(document) + 1 for document in documents]) - 1
    table.read(np.frombuffer(text, np.uint8), ends, np.full(len(documents), separator, np.int32), letters)


def bags(table):
    """Return the bags of the documents that were read last as dictionaries of counts by number."""
    indptr, indices, counts, _ = table.bags(np.arange(table.n_words, dtype=np.int32))
    cells = list(zip(indices.tolist(), counts.tolist(), strict=True))
    return [dict(cells[start:stop]) for start, stop in itertools.pairwise(indptr)]


def random_documents(seed, n=60):
    rng = np.random.default_rng(seed)
    return [b"".join(PIECES[i] for i in rng.integers(0, len(PIECES), rng.integers(0, 90))) for _ in range(n)]


@pytest.mark.parametrize("lowercase", [True, False])
def test_words_are_those_of_a_regular_expression(level, lowercase):
    table, numbers = WordTable(1, 1, lowercase), {}
    for seed in range(5):  # one table for many texts
        documents = random_documents(seed)
        read(table, documents)
        expected = []
        for document in documents:
            found = re.findall(rb"\w\w+", document.lower() if lowercase else document)
            places = [numbers.setdefault(word, len(numbers)) for word in found]
            expected.append({place: places.count(place) for place in places})
        assert bags(table) == expected
    assert table.words(0)[0].split(b"\0")[:-1] == list(numbers)


@pytest.mark.parametrize("most", [1, 3])
def test_a_table_grows_at_any_place(level, most, monkeypatch):
    documents = [*random_documents(7, 30), b" ".join(b"%d" % i for i in range(3000))]
    wide = WordTable(1, most, True)
    read(wide, documents)
    expected = bags(wide)
    monkeypatch.setattr(module, "_FEWEST_WORDS", 4)
    narrow = WordTable(1, most, True)
    read(narrow, documents)
    assert bags(narrow) == expected
    assert narrow.words(0)[0] == wide.words(0)[0]
    np.testing.assert_array_equal(narrow.hashes(0), wide.hashes(0))


def test_text_that_is_not_utf_8_is_read_to_its_end_only(level):
    letters = np.full(module.CONSTANTS["LETTERS_BYTES"], 255, dtype=np.uint8)
    rng = np.random.default_rng(3)
    for _ in range(50):
        documents = [rng.integers(1, 256, rng.integers(0, 150)).astype(np.uint8).tobytes() for _ in range(5)]
        table = WordTable(1, 2, True)
        read(table, documents, letters=letters)
        assert table.n_words <= 2 * sum(map(len, documents))
        assert len(table.words(0)[0]) <= 2 * sum(map(len, documents)) + 1
    for last in (b"ab\xf0", b"ab\xe0", b"ab\xc3", b"\xf0"):
        read(WordTable(1, 1, True), [last], letters=letters)


def test_given_words_end_at_their_separator(level):
    table = WordTable(1, 1, True)
    read(table, [b"A b\0\0A b\0", b"", b"\0"], separator=0)
    assert table.words(0)[0] == b"A b\0\0"
    assert bags(table) == [{0: 2, 1: 1}, {}, {1: 1}]


def test_sorted_bags_add_up_words_of_the_same_number(level):
    table = WordTable(1, 1, True)
    words = [b"w%d" % i for i in range(200)]
    read(table, [b" ".join(words), b"w0 w2 w4 w5 w5", b""])
    mapping = np.where(np.arange(200) % 2, -1, 100_000_000 - np.arange(200) // 4).astype(np.int32)
    indptr, indices, counts, unknown = table.bags(mapping)
    assert indptr.tolist() == [0, 50, 52, 52]
    assert indices.tolist() == [*range(99_999_951, 100_000_001), 99_999_999, 100_000_000]
    assert counts.tolist() == [2] * 50 + [1, 2]
    assert unknown.tolist() == [100, 2, 0]


def test_numbers_that_lead_out_of_an_array_are_refused(level):
    def table():
        found = WordTable(1, 2, True)
        read(found, [b"buy now", b"see you"])
        return found

    with pytest.raises(compiled.OutOfRangeError):
        table().bags(np.arange(2, dtype=np.int32))
    for bad in ([0, 3, 99], [5, 3, 4], [-1, 3, 4], [0, 7, 4]):
        damaged = table()
        damaged._indices[6:], damaged._indptr[:] = 99, bad
        with pytest.raises(compiled.OutOfRangeError):
            damaged.bags(np.arange(6, dtype=np.int32))
    text = np.zeros(10 + PAST_BYTES, dtype=np.uint8)
    for ends in ([11], [5, 3], [-1], [2**62]):
        with pytest.raises(compiled.OutOfRangeError):
            table().read(text, np.array(ends), np.full(len(ends), -1, dtype=np.int32), None)
    for name, bad in (("n_words", -1), ("n_words", 2**40), ("_stored", -1), ("_stored", 2**40)):
        damaged = table()
        setattr(damaged, name, bad)
        with pytest.raises(compiled.OutOfRangeError):
            read(damaged, [b"more"])
    damaged = table()
    damaged._entries[:, 2] = 2**40  # where the texts of words begin
    with pytest.raises(compiled.OutOfRangeError):
        damaged.hashes(0)
