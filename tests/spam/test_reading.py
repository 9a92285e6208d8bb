"""Tokens as a store can keep and find them."""

import json

import pytest

from suffice.spam import SpamFilter
from suffice.spam.reading import names_of, pack, reading, sorted_lines, unpack

NUL = b"Message-ID: =?utf-8?q?<a@x=00b.org>?=\nContent-Type: =?utf-8?q?text/a=00b?=\n\nhi"
SURROGATES = b"Content-Type: text/plain; charset=utf-7\n\nhttp://a+2AA-b.com/ http://a+2AE-b.com/ \n"


@pytest.mark.parametrize("raw", [NUL, SURROGATES])
def test_what_is_counted_is_found_and_counted_once(raw):
    names = names_of(raw)
    assert names == sorted(set(names)) == reading(raw).tokens
    assert not [name for name in names if "\0" in name]
    with SpamFilter() as spam_filter:
        spam_filter.train(raw, "spam")
        spam_filter.train(b"\nmoney", "spam")
        spam_filter.train(b"\nlunch", "ham")
        assert set(spam_filter._store.rows(names)) == set(names)
        assert "-" not in spam_filter._store.counts(json.dumps(names))[0]
        [alone] = spam_filter.evaluate([raw], ["spam"]).probabilities
        spam_filter.untrain(raw)
        assert spam_filter.score(raw).probability == pytest.approx(alone, abs=1e-12)


def test_tokens_that_become_the_same_are_one():
    names = ["a\0b", "a\ud800b", "a\ud801b", "c\nd", "d", "é"]
    assert unpack(pack(sorted_lines(names))) == ["a?b", "c", "d", "é"]
    assert unpack(pack(sorted_lines([]))) == []
