"""Time per message is linear in its size, at a rate that no kind of message makes much worse than plain words."""

import time

import pytest
from spam.pathological import KINDS

from suffice.spam import digest
from suffice.spam.page.excerpts import excerpt_of
from suffice.spam.page.text import ShownMessage
from suffice.spam.reading import lines_of
from suffice.spam.stamping import unstamped

#: sizes of messages in bytes
TINY, SMALL, LARGE = 1_500, 12_000, 48_000
#: seconds below which no ratio is told from noise
FLOOR = 0.004


def read_all(raw):
    """Do all that is done with a message before it is scored or shown."""
    lines_of(raw)
    digest(raw)
    unstamped(raw)
    excerpt_of(raw)
    ShownMessage.of(raw)


def seconds(raw, enough):
    """Return the least time that reading a message takes, in a few attempts unless one is quick enough."""
    least = float("inf")
    for _ in range(5):
        start = time.process_time()
        read_all(raw)
        least = min(least, time.process_time() - start)
        if least <= enough:
            break
    return least


@pytest.fixture(scope="module")
def plain():
    """How long plain words take per byte."""
    return seconds(KINDS["words"](LARGE), 0.0) / LARGE


def test_there_are_enough_kinds():
    assert len(KINDS) >= 100
    assert len({make(2_000) for make in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_time_grows_linearly_and_no_faster_than_forty_times_that_of_plain_words(name, plain):
    tiny, small, large = (KINDS[name](size) for size in (TINY, SMALL, LARGE))
    assert len(large) < 6 * len(small) + 5_000
    for raw in (tiny, small, large):
        bound = 2 * FLOOR + 40 * plain * len(raw)
        assert seconds(raw, bound) <= bound
    before = seconds(small, FLOOR)
    bound = 2 * FLOOR + 2 * before * len(large) / len(small)  # a quadratic one takes twice as much
    assert seconds(large, bound) <= bound
