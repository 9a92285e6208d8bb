"""What is attached to a message, or stands in front of it, does not speak for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailbag import message

from suffice.spam import SpamFilter, read, score, tokens
from suffice.spam.scoring import ALLOWED, MAJORITY, Scoring

HEAD = b"From: win@example.com\nSubject: You have won\nDate: Mon, 2 Sep 2002 10:00:00 -0700\n"
TEXT = b"Claim your prize money at http://pills.example/now before it is gone, and tell nobody about it at all. " * 21
HAM = (
    b"From: ann@example.org\nSubject: Lunch\nReceived: from mx.example.org by b.example.net\n\nShall we meet at noon?\n"
)
MULTIPART = b"MIME-Version: 1.0\nContent-Type: multipart/%s; boundary=b\n\n"
PLAIN = HEAD + MULTIPART % b"mixed" + b"--b\n\n" + TEXT + b"\n--b--\n"
#: what the parts of a message are is its own
MARKS = ("type:", "disposition:", "file:", "charset:", "encoding:", "attached:")


def with_parts(*parts, kind=b"mixed", preamble=b"", epilogue=b""):
    own = b"\n--b\n\n" + TEXT
    held = b"".join(b"\n--b\n" + part for part in parts)
    return HEAD + MULTIPART % kind + preamble + own + held + b"\n--b--\n" + epilogue


def own(raw):
    return {token for token in tokens(read(raw)) if not token.startswith(MARKS)}


INNER = b"Content-Type: message/rfc822\n\n"
FILE = b"Content-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\n"
WASHED = {
    "one message": with_parts(INNER + HAM),
    "ten messages": with_parts(*[INNER + HAM] * 10),
    "ten headers": with_parts(*[INNER + HAM.partition(b"\n\n")[0] + b"\n\n"] * 10),
    "a message in a message": with_parts(INNER + b"Subject: a\nContent-Type: message/rfc822\n\n" + HAM),
    "a multipart in a message": with_parts(
        INNER + b"Subject: a\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\nnoon\n--c\n\nlunch\n--c--\nmeet\n"
    ),
    "a message without headers": with_parts(INNER + b"\nShall we meet at noon?"),
    "three hundred messages": with_parts(*[INNER + HAM] * 300),
    "a digest": with_parts(b"Content-Type: multipart/digest; boundary=d\n\n" + (b"--d\n\n" + HAM) * 9 + b"--d--\n"),
    "files": with_parts(*[FILE + b"Shall we meet at noon?"] * 9),
    "texts below": with_parts(*[b"\nShall we meet at noon?"] * 9),
    "a preamble": with_parts(preamble=b"Shall we meet at noon?\n"),
    "an epilogue": with_parts(epilogue=b"Shall we meet at noon?\n"),
    "a report": with_parts(b"Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.org\n\nnoon\n"),
}


@pytest.mark.parametrize("name", WASHED)
def test_what_is_attached_has_no_token_of_the_message_itself(name):
    found = tokens(read(WASHED[name]))
    assert own(WASHED[name]) == own(PLAIN)
    assert [token for token in found if token.startswith("attached:")]


def test_spam_is_known_wherever_it_stands():
    """A spam inside of a message that nobody knows speaks for spam, by what is known of the words of messages."""
    with SpamFilter() as spam_filter:
        spam_filter.train_many([PLAIN.replace(b"won", b"won %d" % i) for i in range(40)], "spam")
        spam_filter.train_many([HAM.replace(b"noon", b"noon on day %d" % i) for i in range(40)], "ham")
        spam_filter.train(WASHED["one message"], "spam")
        kind = b"Content-Type: multipart/mixed; boundary=outer\n\n"
        around = b"From: bob@example.net\n" + kind + b"--outer\n\nlook at this\n--outer\n" + INNER
        evidence = dict(spam_filter.score(around + PLAIN).evidence)
        assert evidence["attached:prize"] > 0.0
        assert dict(spam_filter.score(around + HAM).evidence)["attached:noon"] < 0.0
        assert [verdict.log_odds for verdict in spam_filter.score_many([around + HAM])] == [
            spam_filter.score(around + HAM).log_odds
        ]
        # leave-one-out is exact for these, too
        one = around + PLAIN
        before = spam_filter.score(one).probability
        spam_filter.train(one, "spam")
        assert spam_filter.evaluate([one], "spam").probabilities[0] == pytest.approx(before, rel=1e-9)


def test_messages_within_have_their_own_tokens():
    found = tokens(read(WASHED["one message"]))
    assert {"attached:from:@example.org", "attached:subject:lunch", "attached:noon", "type:message/rfc822"} <= set(
        found
    )
    assert "attached:meet at" not in found


@pytest.mark.parametrize("name", WASHED)
def test_a_spam_stays_spam_whatever_is_attached(name):
    hams = [HAM.replace(b"noon", b"noon on day %d" % i) for i in range(40)]
    with SpamFilter() as spam_filter:
        spam_filter.train_many([PLAIN.replace(b"won", b"won %d" % i) for i in range(40)], "spam")
        spam_filter.train_many(hams, "ham")
        assert spam_filter.score(HAM).label == "ham"
        before, after = (spam_filter.score(raw) for raw in (PLAIN, WASHED[name]))
        assert before.label == after.label == "spam"
        assert after.log_odds > 0.6 * before.log_odds


def test_one_who_gets_hams_with_attached_hams_is_not_washed_either():
    hams = [message(i) for i in range(60)]
    forwarded = [b"From: bob@example.org\n" + with_parts(INNER + ham).partition(b"\n")[2] for ham in hams]
    forwarded = [raw.replace(TEXT, b"see below, %d" % i) for i, raw in enumerate(forwarded)]
    spams = [message(i, "spam") for i in range(60)]
    spam = message(70, "spam").replace(b"\n\n", b"\n" + MULTIPART % b"mixed" + b"--b\n\n", 1)
    with SpamFilter() as spam_filter:
        spam_filter.train_many(hams + forwarded, "ham")
        spam_filter.train_many(spams, "spam")
        before = spam_filter.score(spam + b"\n--b--\n")
        after = spam_filter.score(spam + b"".join(b"\n--b\n" + INNER + ham for ham in hams[:10]) + b"\n--b--\n")
    assert before.label == "spam"
    assert after.log_odds > 0.5 * before.log_odds


@pytest.mark.parametrize(
    "only",
    [
        INNER + b"Subject: a\n\nclaim your prize",
        FILE + b"claim your prize",
        b"Content-Type: text/html\nContent-Disposition: attachment\n\n<p>claim your prize</p>",
    ],
)
@pytest.mark.parametrize("around", [b"", b"--b\n\n \n"])
def test_what_a_person_sees_first_is_the_message_even_if_it_is_attached(only, around):
    raw = HEAD + MULTIPART % b"mixed" + around + b"--b\n" + only + b"\n--b\n" + FILE + b"meeting\n--b--\n"
    found = tokens(read(raw))
    assert {"claim", "your prize", "attached:meeting"} <= set(found)
    assert {"subject:you", "from:@example.com"} <= set(found)


def test_a_short_greeting_does_not_make_an_attachment_of_the_next_text():
    raw = HEAD + MULTIPART % b"mixed" + b"--b\n\nHi!\n--b\n\nclaim your prize\n--b--\n"
    assert {"hi!", "claim", "your prize"} <= set(tokens(read(raw)))


def test_both_alternatives_are_the_message():
    html = b"Content-Type: text/html\n\n<p>meet at noon</p>"
    related = b"Content-Type: multipart/related; boundary=r\n\n--r\n" + html + b"\n--r--\n"
    for other in (html, related):
        raw = with_parts(other, kind=b"alternative")
        assert {"noon", "claim"} <= set(tokens(read(raw)))


@pytest.mark.parametrize("name", ["from", "subject", "to", "reply-to", "x-mailer", "list-id"])
def test_a_second_header_of_a_kind_that_comes_once_says_that_it_is_there(name):
    header = name.encode() + b": first@example.com\n" + name.encode() + b": second@example.org\n"
    found = " ".join(tokens(read(header + b"\ntext")))
    assert "first" in found
    assert "second" not in found
    assert f"header:again {name}" in found


PADDING = 262_144


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\n" * PADDING, b""),
        (b" " * 3 * PADDING, b""),
        (b"lunch " * (PADDING // 6), b""),
        (b"x" * 4 * PADDING, b""),
        (b"Content-Type: text/html\n\n<!--" + b"lunch " * PADDING + b"-->", b""),
        (b"Content-Type: text/html\n\n<!--" + b"a" * PADDING + b"-->", b"<!--" + b"b" * (PADDING // 2) + b"-->"),
        (b"Content-Type: text/html\n\n<p hidden>" + b"lunch " * PADDING + b"</p>", b""),
        ("é".encode() * PADDING, b""),
    ],
)
def test_padding_does_not_hide_the_text(before, after):
    kind, _, padding = before.rpartition(b"\n\n") if before.startswith(b"Content-Type") else (b"", b"", before)
    found = tokens(read(HEAD + kind + b"\n\n" + padding + b" " + TEXT + after))
    assert {"claim", "prize money", "url:pills.example"} <= set(found)


def test_a_part_of_padding_does_not_hide_the_next_one():
    raw = (
        HEAD
        + MULTIPART % b"mixed"
        + b"--b\nContent-Type: text/html\n\n<!--"
        + b"a" * 4 * PADDING
        + b"-->\n--b\n\n"
        + TEXT
    )
    found = tokens(read(raw))
    assert {"attached:claim", "attached:url:pills.example"} <= set(found)


@given(
    st.lists(st.integers(20, 90), min_size=1, max_size=20),
    st.lists(st.integers(20, 90), min_size=1, max_size=20),
    st.integers(1, 200),
)
def test_no_number_of_tokens_outvotes_those_of_the_other_side(spam, ham, times):
    """Those for spam add at least Σ w³ / ((1 + MAJORITY) n + ALLOWED) · n / (n + c), whatever stands beside them."""
    many = ham * times
    names = [f"w{i}" for i in range(len(spam) + len(many))]
    counts = np.array([(n, 0) for n in spam] + [(0, n) for n in many]).T
    parts = score(names, *counts, 100, 100).evidence[: len(spam)]
    sharp = Scoring(temper=1e-12)
    weights = np.array([score(["w"], [n], [0], 100, 100, sharp).log_odds for n in spam])
    energy = (weights**2).sum()
    least = (weights**3).sum() / ((1 + MAJORITY) * energy + ALLOWED) * energy / (energy + Scoring().temper)
    assert parts.sum() >= least - 1e-9
