"""Connections are closed with what opened them, in whatever thread and process it is dropped."""

import gc
import os
import sqlite3
import subprocess
import sys
import threading

import pytest

from suffice.spam import SpamFilter, StoreError
from suffice.spam.imap.place import Place
from suffice.spam.store import Store

OPENERS = {
    "filter": lambda path: SpamFilter.open(path)._store,
    "filter in memory": lambda path: SpamFilter()._store,
    "store": Store,
    "place": Place,
    "place to throw away": lambda path: Place(path, throw_away=True),
}
opened = pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS)


@pytest.fixture(scope="module", autouse=True)
def _quick_collector():
    """Collect only what these tests make; looking through all else that the tests have loaded takes half a second."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def is_closed(connection):
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError as error:
        return "closed" in str(error)
    return False


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@opened
def test_a_connection_is_closed_when_what_opened_it_is_dropped(tmp_path, opener):
    owner = opener(tmp_path / "store")
    connection = owner._held
    assert not is_closed(connection)
    del owner
    gc.collect()
    assert is_closed(connection)


@opened
def test_it_is_closed_in_whatever_thread_the_garbage_collector_runs(tmp_path, opener):
    owner = opener(tmp_path / "store")
    connection = owner._held
    owner.itself = owner  # a cycle
    gc.collect()
    assert not is_closed(connection)
    gc.disable()
    try:
        del owner
        in_thread(gc.collect)
    finally:
        gc.enable()
    assert is_closed(connection)


@opened
def test_closing_twice_is_closing_once(tmp_path, opener):
    owner = opener(tmp_path / "store")
    owner.close()
    owner.close()
    assert is_closed(owner._held)


@opened
def test_another_thread_may_neither_use_nor_close_it(tmp_path, opener):
    owner = opener(tmp_path / "store")
    errors = []

    def use():
        for ask in (owner.transaction().__enter__, owner.close, lambda: owner._connection):
            with pytest.raises(StoreError, match="was opened in another thread, which cannot be shared") as caught:
                ask()
            errors.append(caught.value)

    in_thread(use)
    assert len(errors) == 3
    with owner.transaction():  # and it is as it was
        pass
    owner.close()


def test_a_filter_of_a_file_that_is_none_leaves_nothing_open(tmp_path):
    path = tmp_path / "store"
    path.write_bytes(b"no SQLite file" * 100)
    for opener in OPENERS.values():
        if opener is OPENERS["filter in memory"]:
            continue
        with pytest.raises(StoreError):
            opener(path)
    gc.collect()  # a connection that is open would warn


FORGOTTEN = """
import os, sys, threading
from suffice.spam import SpamFilter
spam_filter = SpamFilter.open(sys.argv[1])
cycle = [SpamFilter.open(sys.argv[1]), SpamFilter()]
cycle.append(cycle)
spam_filter.train(b"a", "spam")
print(spam_filter.stats().spam, flush=True)
"""
FORKED = """
import gc
if os.fork() == 0:
    del spam_filter, cycle
    gc.collect()
    os._exit(0)
status = os.wait()[1]
spam_filter.train(b"b", "ham")
print(status, spam_filter.stats().ham)
"""


@pytest.mark.parametrize("code", [FORGOTTEN, pytest.param(FORGOTTEN + FORKED, id="forked")])
def test_a_program_that_forgets_its_filters_ends_without_a_warning(tmp_path, code):
    if "fork" in code and not hasattr(os, "fork"):
        pytest.skip("needs fork")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code, tmp_path / "store"]
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert process.stderr == ""
    assert process.stdout.split() == (["1", "0", "1"] if "fork" in code else ["1"])
