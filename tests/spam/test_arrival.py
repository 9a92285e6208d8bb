"""The day on which a message arrived."""

import pytest

from suffice.spam import SpamFilter, read
from suffice.spam.arrival import arrival_day, kept_day
from suffice.spam.reading import lines_of, names_of, reading

DAY = 11_932  # 2 September 2002


@pytest.mark.parametrize(
    ("header", "day"),
    [
        ("Date: Mon, 2 Sep 2002 10:00:00 -0700", DAY),
        ("Date: 02-Sep-02 10:00", DAY),
        ("Date: Mon, 2 September 2002", DAY),
        ("Received: from a by b; Mon, 2 Sep 2002 10:00:00 +0100 (BST)\nDate: 1 Jan 1999", DAY),
        ("Received: from a by b; Mon, 2 Sep 2002\nReceived: from c; Tue, 3 Sep 2002", DAY),
        ("Received: from 3 Jan 2001; by b;\n\t Mon, 2 Sep 2002", DAY),
        ("Received: from a by b\nDate: 2 SEP 2002", DAY),
        ("Received: from a by b; 31 Feb 2002\nDate: 2 Sep 2002", DAY),
        ("Date: 2 Sep 0000", None),
        ("Date: " + "9" * 5000 + " Sep " + "9" * 5000, None),
        ("Date: ٢ Sep ٢٠٠٢", None),
        ("Date: yesterday", None),
        ("Subject: 2 Sep 2002", None),
    ],
)
def test_the_newest_received_header_says_it_else_the_date(header, day):
    raw = header.encode() + b"\n\ntext"
    assert arrival_day(read(raw)) == day
    assert kept_day(reading(raw).tokens) == day


def test_the_day_is_kept_with_what_is_learned_and_is_no_evidence():
    spam, ham = (b"Date: %d Sep 2002\n\nthe same words" % day for day in (2, 3))
    assert "day:11932" in lines_of(spam, keep_day=True).split("\n")
    assert not [name for name in names_of(spam) if name.startswith("day:")]
    with SpamFilter() as spam_filter:
        spam_filter.train(spam, "spam")
        spam_filter.train(ham, "ham")
        assert spam_filter.score(spam).log_odds == 0.0
        assert not [token for token, _ in spam_filter.score(spam).evidence if token.startswith("day:")]
        evaluation = spam_filter.evaluate([spam, ham], ["spam", "ham"])
        assert evaluation.probabilities == (0.5, 0.5)
        spam_filter.untrain(spam)
        spam_filter.untrain(ham)
        assert spam_filter.stats().tokens == 0
