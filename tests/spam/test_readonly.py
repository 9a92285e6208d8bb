"""Stores that a process may read and not write, as those of a site: verdicts, and clear words about training."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from mailbag import message

from suffice.spam import SpamFilter, StoreError
from suffice.spam.connected import ChangedStoreError, ReadOnlyStoreError
from suffice.spam.readonly import may_write
from suffice.spam.serving.scoring import Request, _drop, judge, learn
from suffice.spam.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
OTHER = 12_003
SPAM = message(900, "spam")


@contextmanager
def reader(group=None):
    """Be a user that is not the owner; root becomes another, who else gives up the right to write."""
    if os.geteuid() != 0:
        yield
        return
    if group is not None:
        os.setegid(group)
    os.seteuid(OTHER)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def folder():
    """A folder that others may look into; pytest's own are for their owner alone."""
    path = Path(tempfile.mkdtemp(prefix="readonly-"))
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@pytest.fixture
def store(folder):
    path = folder / "store"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many([message(i, "spam") for i in range(30)], "spam")
        spam_filter.train_many([message(i) for i in range(30)], "ham")
    seal(path)
    return path


def seal(path, mode=0o444):
    path.chmod(mode)
    path.parent.chmod(0o555)


@contextmanager
def owner(path):
    """Let the owner write."""
    if os.geteuid() != 0:
        path.parent.chmod(0o755)
        path.chmod(0o644)
    try:
        yield
    finally:
        if os.geteuid() != 0:
            seal(path)


def test_a_store_that_may_only_be_read_gives_verdicts_and_nothing_is_made_beside_it(store):
    with reader():
        assert not may_write(str(store))
        with SpamFilter.open(store) as spam_filter:
            assert spam_filter.score(SPAM).label == "spam"
            assert [verdict.label for verdict in spam_filter.score_many([SPAM, message(901)])] == ["spam", "ham"]
            assert (spam_filter.stats().spam, spam_filter.label_of(message(1))) == (30, "ham")
            assert spam_filter.evaluate().errors().ham == 30
    assert [path.name for path in store.parent.iterdir()] == ["store"]


def test_whatever_would_write_says_that_the_store_may_only_be_read(store):
    with reader(), SpamFilter.open(store) as spam_filter:
        for write in (
            lambda: spam_filter.train(SPAM, "spam"),
            lambda: spam_filter.train_many([SPAM], "spam"),
            lambda: spam_filter.untrain(message(1)),
            lambda: spam_filter.retrain(message(1), "spam"),
            lambda: spam_filter.tune(),
            lambda: spam_filter.expire(0),
            lambda: setattr(spam_filter, "half_life", 10.0),
            lambda: spam_filter.train_unlabeled([SPAM]),
        ):
            with pytest.raises(
                ReadOnlyStoreError, match="may be read by this user, but not written; train it as its owner"
            ):
                write()
        assert spam_filter.tune(write=False).thresholds.spam > 0.5
        assert spam_filter.score(SPAM).label == "spam"


def test_what_its_owner_teaches_counts_from_the_next_message_on_whether_it_stays_open_or_not(store):
    new = [message(i, "odd") for i in range(60)]
    with reader():
        reading = SpamFilter.open(store)
        before = reading.score(new[59]).log_odds
    with owner(store), SpamFilter.open(store) as writing:
        assert writing.train_many(new[:30], "spam").learned == 30
        with reader():
            during = reading.score(new[59]).log_odds
        writing.train_many(new[30:50], "spam")
        with reader():
            later = reading.score(new[59]).log_odds
    with reader():
        after = reading.score(new[59]).log_odds
        assert reading.stats().spam == 80
        reading.close()
    assert before < during < later == after


def test_a_change_while_the_store_is_read_is_noticed_and_the_next_reading_is_right(store):
    with reader():
        reading = Store(store)

    def read_while_it_changes():
        with reader(), reading.snapshot():
            assert reading.totals()[0] > 0
            if os.getuid() == 0:
                os.seteuid(0)
            with owner(store), SpamFilter.open(store) as writing:
                writing.train(SPAM, "spam")

    with pytest.raises(ChangedStoreError, match="was changed while it was read"):
        read_while_it_changes()
    with reader():
        with reading.snapshot():
            assert reading.size()[0] == 31
        reading.close()


def test_another_file_in_its_place_is_used(store, folder):
    with reader():
        reading = SpamFilter.open(store)
        assert reading.score(SPAM).label == "spam"
    folder.chmod(0o755)
    with SpamFilter.open(folder / "other") as turned:
        turned.train_many([message(i, "spam") for i in range(30)], "ham")
        turned.train_many([message(i) for i in range(30)], "spam")
    (folder / "other").chmod(0o444)
    os.replace(folder / "other", store)
    seal(store)
    with reader():
        assert reading.score(SPAM).label == "ham"
        reading.close()


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can give files to a group")
def test_a_store_of_a_group_is_read_by_its_members_and_by_nobody_else(store, folder):
    os.chown(store, 0, OTHER + 1)
    store.chmod(0o640)
    with reader(OTHER + 1), SpamFilter.open(store) as spam_filter:
        assert spam_filter.score(SPAM).label == "spam"
    with reader(), pytest.raises(StoreError, match="cannot be used: unable to open"):
        SpamFilter.open(store)


def test_servers_judge_with_it_and_refuse_to_learn(store):
    request = Request(SPAM, str(store), None, "/", lesson="spam")
    try:
        with reader():
            assert judge(request).verdict.label == "spam"
            with pytest.raises(ReadOnlyStoreError):
                learn(request)
            assert judge(request).verdict.label == "spam"
    finally:
        with reader():
            _drop(str(store))


def test_an_empty_file_that_may_only_be_read_is_no_store_yet(folder):
    path = folder / "store"
    path.touch()
    seal(path)
    with reader(), pytest.raises(StoreError, match="is empty, and this user may not write to it"):
        SpamFilter.open(path)
