"""Disguised words are known again, and plain ones stay as they are."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.spam import read, tokens
from suffice.spam.evasion import normalised, plain_word, spaced_words


def found(text):
    return set(tokens(read(b"\n" + text.encode())))


@pytest.mark.parametrize(
    "disguise",
    [
        "vi\u200bag\u200dra",
        "vi\u00adagra",
        "vi\u2060agra\ufeff",
        "v\u0456\u0430gra",
        "ｖｉａｇｒａ",
        "𝐯𝐢𝐚𝐠𝐫𝐚",
        "V I A G R A",
        "v.i.a.g.r.a",
        "v-i-a-g-r-a",
        "v*i*a*g*r*a",
        "v_i_a_g_r_a",
        "v1agra",
        "vi@gra",
        "v!agra",
        "VIAGRA",
        "vi\0agra",
    ],
)
def test_a_disguised_word_is_known(disguise):
    assert "viagra" in found(f"buy {disguise} now")


def test_a_word_hidden_in_base64_is_known():
    raw = b"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\ndmk8Yj5hPC9iPmdyYQ=="
    assert "viagra" in tokens(read(raw))


def test_the_disguise_is_a_token_too():
    assert {"v1agra", "viagra"} <= found("buy v1agra")


@pytest.mark.parametrize("text", ["Москва", "καλημέρα", "naïve café", "Ωmega", "東京"])
def test_words_of_other_alphabets_stay(text):
    if text != "Ωmega":
        assert normalised(text) == text


@pytest.mark.parametrize("word", ["2002", "1st", "90s", "mp3", "money", "a", "$100", "don't", "great!"])
def test_ordinary_words_are_no_disguise(word):
    assert plain_word(word) == ""


@pytest.mark.parametrize("text", ["I a m", "e.g. this", "a b", "one two three four", "www.a.b.c.example", "3 4 5 6"])
def test_ordinary_text_has_no_spaced_words(text):
    assert spaced_words(text) == []


@pytest.mark.parametrize("text", ["a.b." * 60_000 + "zz", "a b " * 60_000 + "c.d", "a" * 200_000])
def test_spaced_words_are_found_in_linear_time(text):
    start = time.process_time()
    spaced_words(text)
    assert time.process_time() - start < 3


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_more(text):
    once = normalised(text)
    assert not any(character in once for character in "\u200b\u00ad\ufeff\0")
    if once.isascii():
        assert normalised(once) == once
