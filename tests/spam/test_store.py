"""The store: whole after a kill, shared by processes, undone exactly, and honest about files that are none."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from mailbag import contents, message, recounted

from suffice.spam import Size, SpamFilter, StoreError
from suffice.spam.forgetting import UNIT
from suffice.spam.store_tables import SCHEMA_VERSION


def python(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, env=environment)


TRAIN = """
import sys
from suffice.spam import SpamFilter, digest
spam_filter = SpamFilter.open(sys.argv[1])
def raw(i):
    words = " ".join(f"word{(i * 7 + j) % 300}" for j in range(100))
    return f"Subject: {i}\\n\\n{words}\\n".encode()
if sys.argv[2] == "many":
    spam_filter.train_many((raw(i) for i in range(100_000)), "spam", processes=1,
                           progress=lambda done: print(digest(raw(done - 1)), flush=True))
for i in range(100_000):
    spam_filter.train(raw(i), "spam" if i % 3 else "ham")
    print(digest(raw(i)), flush=True)
"""


@pytest.mark.parametrize("way", ["one", "many"])
@pytest.mark.parametrize("after", [1, 2, 7])
def test_a_killed_process_leaves_a_whole_store_with_every_message_trained_before(tmp_path, way, after):
    path = tmp_path / "store"
    with python(TRAIN, path, way) as process:
        told = [process.stdout.readline() for _ in range(after if way == "many" else 30 * after)]
        time.sleep(0.013 * after)  # somewhere within the next ones
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().splitlines(keepends=True)
    trained = [bytes.fromhex(line.decode()) for line in told if line.endswith(b"\n")]
    assert len(trained) >= after
    with SpamFilter.open(path) as spam_filter:
        connection = spam_filter._store._connection
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert set(spam_filter._store.labels(trained)) == set(trained)
        tokens, totals = sorted(connection.execute("SELECT * FROM tokens")), spam_filter._store.totals()
        assert recounted(spam_filter) == (tokens, totals)
        assert spam_filter.train(message(1), "ham")  # and can be trained further


SCORE = """
import sys, time
from suffice.spam import SpamFilter
spam_filter, end, number, sizes = SpamFilter.open(sys.argv[1]), time.time() + 2, 0, set()
while time.time() < end or number < 5:
    store = spam_filter._store
    with store.snapshot():  # every message holds the token "message", so that its counts are the totals
        spam, ham = store.totals()
        assert store.rows(["message"])["message"][1:] == (spam, ham)
    spam_filter.score(b"\\nmessage hamword3")
    sizes.add(spam + ham)
    number += 1
print(len(sizes))
"""


def test_processes_read_whole_states_while_another_writes(tmp_path):
    path = tmp_path / "store"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many([message(0), message(1, "spam")], ["ham", "spam"])
        readers = [python(SCORE, path) for _ in range(2)]
        number = 2
        while any(reader.poll() is None for reader in readers):
            spam_filter.train(message(number), "ham")
            number += 1
        for reader in readers:
            assert int(reader.communicate()[0]) > 1  # they saw the store grow
            assert reader.returncode == 0
        assert spam_filter.stats().ham == number - 1


WRITE = """
import sys
from suffice.spam import SpamFilter
spam_filter = SpamFilter.open(sys.argv[1])
for i in range(20):
    spam_filter.train(f"\\nmessage {sys.argv[2]} {i}".encode(), "spam")
"""


def test_processes_that_make_and_write_one_store_wait_for_each_other(tmp_path):
    writers = [python(WRITE, tmp_path / "store", name) for name in ("a", "b", "c")]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        assert spam_filter.stats().spam == 60
        assert spam_filter._store.rows(["message"])["message"] == ("message", 60 * UNIT, 0)


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path):
    for number, content in enumerate([b"my letters", b"From a\n" * 1000]):
        path = tmp_path / str(number)
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"is not a store of suffice\.spam"):
            SpamFilter.open(path)
        assert path.read_bytes() == content
    path = tmp_path / "other"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE letters (text TEXT)")
    other.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="SQLite file of another program"):
        SpamFilter.open(path)
    assert path.read_bytes() == content
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1", "other"}


def test_a_schema_version_from_the_future_is_refused(tmp_path):
    path = tmp_path / "store"
    SpamFilter.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(StoreError, match=rf"schema version {SCHEMA_VERSION + 1}.*reads {SCHEMA_VERSION}"):
        SpamFilter.open(path)


def test_a_damaged_store_says_so(tmp_path):
    path = tmp_path / "store"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many([message(i) for i in range(300)], "ham", processes=1)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"), SpamFilter.open(path) as spam_filter:
        spam_filter.train(message(1000), "ham")


def test_a_place_that_cannot_hold_a_store_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere.*cannot be created.*check that its folder exists"):
        SpamFilter.open(tmp_path / "nowhere" / "store")
    with pytest.raises(StoreError, match="cannot be used"):
        SpamFilter.open(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_store_is_for_its_owner_only(tmp_path):
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.train(message(0), "ham")
        assert {file.stat().st_mode & 0o077 for file in tmp_path.iterdir()} == {0}


def test_what_fails_within_a_transaction_leaves_nothing(tmp_path):
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.train(message(0), "ham")
        before = contents(spam_filter)

        def interrupted():
            with spam_filter._store.transaction():
                spam_filter.train(message(1), "ham")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert contents(spam_filter) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_told_to_open_the_store_anew(tmp_path):
    code = """
import os, sys
from suffice.spam import SpamFilter, StoreError
spam_filter = SpamFilter.open(sys.argv[1])
if os.fork() == 0:
    try:
        spam_filter.train(b"a", "spam")
    except StoreError as error:
        os._exit(7 if "another process" in str(error) else 1)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    process = python(code, tmp_path / "store")
    process.communicate()
    assert process.returncode == 7


LARGE = """
import sys, time
from suffice.spam import SpamFilter
spam_filter = SpamFilter.open(sys.argv[1])
connection, count = spam_filter._store._connection, int(sys.argv[2])
with spam_filter._store.transaction():
    rows = ((f"word{i:07} word{i % 1000}", i % 5, i % 3) for i in range(count))
    connection.executemany("INSERT INTO tokens VALUES (?, ?, ?)", rows)
    spam_filter._store.put("spam", 50_000)
    spam_filter._store.put("ham", 50_000)
spam_filter.close()
spam_filter = SpamFilter.open(sys.argv[1])
places = [[(i * 7919 + j) % count for j in range(150)] for i in range(100)]
raws = [("\\n" + " ".join(f"word{place:07} word{place % 1000}" for place in row)).encode() for row in places]
times = []
for raw in raws:
    start = time.perf_counter()
    verdict = spam_filter.score(raw)
    times.append(time.perf_counter() - start)
assert len(verdict.evidence) > 100
spam_filter.train_many(raws, "spam")
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # ru_maxrss is the parent's too
print(sorted(times)[50], int(peak.split()[1]) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory as Linux counts it")
@pytest.mark.parametrize("tokens", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_large_store_is_not_loaded(tmp_path, tokens):
    process = python(LARGE, tmp_path / "store", tokens)
    seconds, megabytes = map(float, process.communicate()[0].split())
    assert Path(tmp_path / "store").stat().st_size > 15 * tokens
    assert megabytes < 300
    assert seconds < 0.1


def test_a_store_in_memory_holds_what_a_file_holds(tmp_path):
    with SpamFilter.open(tmp_path / "store") as file, SpamFilter() as memory:
        for spam_filter in (file, memory):
            spam_filter.train_many([message(i, "spam") for i in range(20)], "spam")
            spam_filter.train_many([message(i) for i in range(30)], "ham")
        assert contents(file) == contents(memory)
        assert file.score(message(77)) == memory.score(message(77))
    with SpamFilter.open(tmp_path / "store") as again:
        assert again.stats() == Size(20, 30, len(contents(again)[0]))


ENDLESS = (
    "ALTER TABLE tokens RENAME TO other",
    "CREATE VIEW tokens AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT 'a' || x AS token, x AS spam, 1 AS ham FROM n",
)


def change(path, *statements):
    other = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        other.execute(statement)
    other.close()


@pytest.mark.parametrize(
    ("statements", "found"),
    [
        (ENDLESS, "table 'other', view 'tokens', no table 'tokens'"),
        (["CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM tokens; END"], "trigger 't'"),
        (["ALTER TABLE meta ADD COLUMN more TEXT"], "table 'meta', no table 'meta'"),
        (["DROP TABLE messages"], "no table 'messages'"),
    ],
)
def test_other_tables_views_and_triggers_are_refused_before_anything_runs(tmp_path, statements, found):
    path = tmp_path / "store"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train(message(0), "ham")
        spam_filter.train(message(1, "spam"), "spam")
        change(path, *statements)
        for ask in (lambda: spam_filter.score(message(2)), lambda: spam_filter.train(message(2), "ham")):
            with pytest.raises(StoreError, match=f"no others, but has {found}; restore a backup"):
                ask()
    with pytest.raises(StoreError, match=found):
        SpamFilter.open(path)


def test_the_schema_of_a_store_is_not_trusted():
    with SpamFilter() as spam_filter:
        assert spam_filter._store._connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_work_that_does_not_end_is_interrupted_from_another_thread(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.spam.store_file.foreign_parts", lambda connection: "")  # as if it had got past
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.train(message(0), "ham")
        spam_filter.train(message(1, "spam"), "spam")
        change(tmp_path / "store", *ENDLESS)
        timer = threading.Timer(0.3, spam_filter.interrupt)
        timer.start()
        start = time.monotonic()
        with pytest.raises(StoreError, match=r"was interrupted; open it again to continue"):
            spam_filter.score(message(2))
        assert 0.2 < time.monotonic() - start < 10
        timer.join()
        for ask in (spam_filter.stats, lambda: spam_filter.thresholds, lambda: spam_filter.train(b"a", "ham")):
            with pytest.raises(StoreError, match="was interrupted"):
                ask()
    spam_filter.interrupt()  # nothing, once it is closed


def test_an_interrupted_training_is_undone_and_the_store_whole(tmp_path):
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.train_many([message(i) for i in range(300)], "ham", processes=1)
        before = contents(spam_filter)

        def interrupted():
            with spam_filter._store.transaction():
                spam_filter._store.add([], 0)
                spam_filter._store._connection.execute("DELETE FROM messages WHERE day > 0")
                spam_filter.interrupt()
                spam_filter._store.recount(spam_filter._store.forgetting)

        with pytest.raises(StoreError, match="was interrupted"):
            interrupted()
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        assert contents(spam_filter) == before


@pytest.mark.parametrize("lock", ["BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM meta"])
def test_opening_a_locked_store_waits_no_longer_than_the_patience(tmp_path, lock):
    path = tmp_path / "store"
    SpamFilter.open(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE").fetchone()
    statements = lock.split("; ")
    for statement in statements:
        other.execute(statement).fetchone()
    start = time.monotonic()
    with pytest.raises(StoreError, match=r"for more than 0\.3 seconds; try again later"):
        SpamFilter.open(path, patience=0.3)
    assert 0.2 < time.monotonic() - start < 5
    other.close()


def test_training_a_locked_store_waits_no_longer_than_the_patience(tmp_path):
    with SpamFilter(tmp_path / "store", patience=0.1) as spam_filter, SpamFilter.open(tmp_path / "store") as other:
        start = time.monotonic()
        with other._store.transaction(), pytest.raises(StoreError, match=r"for more than 0\.1 seconds"):
            spam_filter.train(message(1), "ham")
        assert time.monotonic() - start < 5
        assert spam_filter.train(message(1), "ham")
    for patience in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="patience must be from 0 to 1,000,000 seconds, but it is"):
            SpamFilter(patience=patience)


def test_a_file_may_have_the_name_by_which_sqlite_means_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SpamFilter.open(":memory:") as spam_filter:
        spam_filter.train(message(1), "ham")
        spam_filter.backup("copy")
    with SpamFilter.open(tmp_path / ":memory:") as spam_filter:
        assert spam_filter.stats().ham == 1
        assert spam_filter._store.is_shared
        with pytest.raises(StoreError, match="is the store itself"):
            spam_filter.backup(":memory:")
