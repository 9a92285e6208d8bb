"""Backups: whole or not there, and put back only if they are whole."""

import os
import socket
import sqlite3
import stat
import subprocess
import sys

import pytest
from mailbag import contents, message, recounted
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import SpamFilter, StoreError, Thresholds
from suffice.spam.store_tables import SCHEMA_VERSION


def python(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, env=environment)


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many([message(i) for i in range(60)], "ham")
        spam_filter.train_many([message(i, "spam") for i in range(40)], "spam")
        spam_filter.thresholds = Thresholds(0.25, 0.75)
    return path


def held(path):
    with SpamFilter.open(path) as spam_filter:
        return contents(spam_filter)


def test_a_backup_is_a_store_in_one_file_for_its_owner(store, tmp_path):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
        assert {file.name for file in tmp_path.iterdir()} == {"store", "store-wal", "store-shm", "copy"}
        assert (tmp_path / "copy").read_bytes()[18:20] == b"\1\1"  # SQLite's mark of a file without a log
        assert contents(spam_filter) == held(tmp_path / "copy")
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600


def test_a_store_in_memory_is_backed_up_too(tmp_path):
    with SpamFilter() as spam_filter:
        spam_filter.train(message(1), "ham")
        spam_filter.backup(tmp_path / "copy")
        assert held(tmp_path / "copy") == contents(spam_filter)


def test_an_older_backup_is_replaced_and_any_other_file_refused(store, tmp_path):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
        spam_filter.train(message(1000), "ham")
        spam_filter.backup(tmp_path / "copy")
        assert held(tmp_path / "copy") == contents(spam_filter)
        (tmp_path / "letter").write_bytes(b"Dear Ann")
        other = sqlite3.connect(tmp_path / "other")
        other.execute("CREATE TABLE letters (text TEXT)")
        other.close()
        for name in ("letter", "other"):
            content = (tmp_path / name).read_bytes()
            with pytest.raises(StoreError, match="is not a backup of a store, so it is not replaced"):
                spam_filter.backup(tmp_path / name)
            assert (tmp_path / name).read_bytes() == content
        with pytest.raises(StoreError, match="is the store itself"):
            spam_filter.backup(store)
        with pytest.raises(StoreError, match=r"nowhere.*cannot be created"):
            spam_filter.backup(tmp_path / "nowhere" / "copy")
        with SpamFilter.open(tmp_path / "copy") as used:
            assert used.stats().ham == 61
            with pytest.raises(StoreError, match="is in use as a store"):
                spam_filter.backup(tmp_path / "copy")


def test_a_backup_that_fails_leaves_the_older_one_and_nothing_beside(store, tmp_path, monkeypatch):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
        content = (tmp_path / "copy").read_bytes()
        spam_filter.train(message(1000), "ham")
        before = {file.name for file in tmp_path.iterdir()}

        def fails(handle):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", fails)
        with pytest.raises(OSError, match="No space left"):
            spam_filter.backup(tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == content
        assert {file.name for file in tmp_path.iterdir()} == before


TRAIN = """
import sys
from suffice.spam import SpamFilter
spam_filter = SpamFilter.open(sys.argv[1])
for i in range(100_000):
    words = " ".join(f"word{(i * 7 + j) % 300}" for j in range(50))
    spam_filter.train(f"Subject: {i}\\n\\n{words}\\n".encode(), "spam" if i % 3 else "ham")
    print(i, flush=True)
"""


def test_backups_while_another_process_trains_are_whole(store, tmp_path):
    with python(TRAIN, store) as process, SpamFilter.open(store) as spam_filter:
        sizes = [100]
        for number in range(4):
            while (size := spam_filter.stats()).spam + size.ham <= sizes[-1]:  # until more is trained
                process.stdout.readline()
            spam_filter.backup(tmp_path / f"copy{number}")
            with SpamFilter.open(tmp_path / f"copy{number}") as copy:
                assert copy._store._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                tokens, totals = contents(copy)[0], copy._store.totals()
                assert recounted(copy) == (tokens, totals)
                size = copy.stats()
                sizes.append(size.spam + size.ham)
        process.kill()
    assert sizes == sorted(set(sizes))


def test_a_restored_store_is_the_backup_for_those_who_have_it_open_too(store, tmp_path):
    with SpamFilter.open(store) as spam_filter, SpamFilter.open(store) as other:
        spam_filter.backup(tmp_path / "copy")
        expected = contents(spam_filter)
        spam_filter.train_many([message(i, "spam") for i in range(200, 260)], "spam")
        spam_filter.thresholds = Thresholds(0.1, 0.9)
        assert contents(other) != expected
        SpamFilter.restore(store, tmp_path / "copy")
        assert contents(spam_filter) == contents(other) == expected
        assert other.thresholds == Thresholds(0.25, 0.75)
        assert spam_filter.train(message(201, "spam"), "spam")
        assert contents(other) == contents(spam_filter)
        assert held(tmp_path / "copy") == expected


def test_a_reader_sees_the_store_as_it_was_or_as_it_is(store, tmp_path):
    with SpamFilter.open(store) as spam_filter, SpamFilter.open(store) as reader:
        spam_filter.backup(tmp_path / "copy")
        spam_filter.train(message(1000), "ham")
        with reader._store.snapshot():
            before = contents(reader)
            SpamFilter.restore(store, tmp_path / "copy")
            assert contents(reader) == before
        assert contents(reader) == held(tmp_path / "copy") != before


def test_a_store_is_made_from_a_backup_where_there_is_none(store, tmp_path):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    held(tmp_path / "copy")  # once used as a store
    SpamFilter.restore(tmp_path / "new", tmp_path / "copy")
    assert {file.name for file in tmp_path.iterdir()} == {"store", "copy", "new"}
    assert held(tmp_path / "new") == held(store)


def test_a_backup_that_is_open_as_a_store_is_copied_with_its_newest_part(store, tmp_path):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    with SpamFilter.open(tmp_path / "copy") as used:
        used.train(message(1000), "ham")
        SpamFilter.restore(store, tmp_path / "copy")
        assert held(store) == contents(used)


def damaged(content):
    content = bytearray(content)
    content[8192:12288] = b"\xa5" * 4096
    return bytes(content)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damaged, "is damaged or not a store"),
        (lambda content: content[: len(content) // 2], "is damaged or not a store"),
        (lambda content: b"Dear Ann, ...", "is damaged or not a store"),
        (lambda content: b"", "is not a backup"),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_a_damaged_backup_is_refused_and_the_store_untouched(store, tmp_path, spoil, message, there):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    (tmp_path / "copy").write_bytes(spoil((tmp_path / "copy").read_bytes()))
    path = store if there else tmp_path / "new"
    content = path.read_bytes() if there else None
    with pytest.raises(StoreError, match=message):
        SpamFilter.restore(path, tmp_path / "copy")
    assert path.read_bytes() == content if there else not path.exists()


def test_what_is_no_backup_of_this_version_is_refused(store, tmp_path):
    with pytest.raises(StoreError, match="there is no backup"):
        SpamFilter.restore(store, tmp_path / "nothing")
    with pytest.raises(StoreError, match="are the same file"):
        SpamFilter.restore(store, store)
    with pytest.raises(StoreError, match=r"cannot be read|is damaged or not a store"):
        SpamFilter.restore(store, tmp_path)
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    later = sqlite3.connect(tmp_path / "copy")
    later.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    later.close()
    with pytest.raises(StoreError, match=rf"schema version {SCHEMA_VERSION + 1}.*reads {SCHEMA_VERSION}"):
        SpamFilter.restore(store, tmp_path / "copy")


def test_a_damaged_store_says_so_whatever_it_is_asked_and_can_be_restored(store, tmp_path):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    expected = held(store)
    content = bytearray(store.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    store.write_bytes(content)
    with SpamFilter.open(store) as spam_filter:
        for ask in (
            lambda: spam_filter.thresholds,
            lambda: spam_filter.half_life,
            spam_filter.stats,
            spam_filter.evaluate,
            lambda: spam_filter.label_of(b"a"),
        ):
            with pytest.raises(StoreError, match=r"is damaged: .*; restore a backup"):
                ask()
    SpamFilter.restore(store, tmp_path / "copy")
    assert held(store) == expected


def test_a_spoilt_message_or_setting_says_that_the_store_is_damaged(store):
    with SpamFilter.open(store) as spam_filter:
        spam_filter._store._connection.execute("UPDATE messages SET tokens = X'00'")
        spam_filter._store._connection.execute("INSERT OR REPLACE INTO meta VALUES ('thresholds', '[0.1')")
        for ask in (spam_filter.evaluate, lambda: spam_filter.untrain(message(0)), lambda: spam_filter.thresholds):
            with pytest.raises(StoreError, match="is damaged"):
                ask()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"g" * 5000,
        lambda content: content[:3000],
        lambda content: content[:100] + b"\xff" * (4096 - 100) + content[4096:],
        lambda content: bytes(len(content)),
    ],
    ids=["garbage", "truncated", "first page", "zeros"],
)
def test_a_store_that_cannot_be_opened_is_restored_over_and_kept_beside(store, tmp_path, spoil):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    expected, spoilt = held(store), spoil(store.read_bytes())
    for name in ("store.damaged", "store.damaged.2"):
        store.write_bytes(spoilt)
        (tmp_path / "store-wal").write_bytes(b"an old log")
        with pytest.raises(StoreError, match="restore a backup"):
            SpamFilter.open(store)
        SpamFilter.restore(store, tmp_path / "copy")
        assert (tmp_path / name).read_bytes() == spoilt
        assert held(store) == expected
    allowed = {f"store{end}{log}" for end in ("", ".damaged", ".damaged.2") for log in ("", "-wal", "-shm")} | {"copy"}
    assert {file.name for file in tmp_path.iterdir()} <= allowed
    if os.name == "posix":
        assert stat.S_IMODE(store.stat().st_mode) == 0o600


def test_a_restoration_that_fails_leaves_the_damaged_store_where_it_is(store, tmp_path, monkeypatch):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    store.write_bytes(b"g" * 5000)

    def fails(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(OSError, match="No space left"):
        SpamFilter.restore(store, tmp_path / "copy")
    assert {file.name: file.stat().st_size for file in tmp_path.iterdir() if file.name != "copy"} == {"store": 5000}


def test_a_store_of_another_program_is_not_restored_over(store, tmp_path):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE letters (text TEXT)")
    other.close()
    with pytest.raises(StoreError, match="SQLite file of another program"):
        SpamFilter.restore(tmp_path / "other", tmp_path / "copy")


def test_a_backup_with_anything_beside_the_tables_of_a_store_is_refused(store, tmp_path):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.backup(tmp_path / "copy")
    changed = sqlite3.connect(tmp_path / "copy")
    changed.execute("CREATE TRIGGER more AFTER DELETE ON meta BEGIN DELETE FROM tokens; END")
    changed.close()
    content = store.read_bytes()
    with pytest.raises(StoreError, match="has trigger 'more'; the store is not changed"):
        SpamFilter.restore(store, tmp_path / "copy")
    assert store.read_bytes() == content


def test_a_damaged_store_is_not_backed_up_and_the_older_backup_stays(tmp_path):
    path, copy = tmp_path / "spam.sqlite", tmp_path / "copy"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many([message(i) for i in range(300)], "ham", processes=1)
        spam_filter.backup(copy)
    before = copy.read_bytes()
    damaged = bytearray(path.read_bytes())
    for place in range(20 * 4096, len(damaged) - 4096, 3 * 4096):
        damaged[place : place + 4096] = b"\xa5" * 4096
    path.write_bytes(damaged)
    with SpamFilter.open(path) as spam_filter, pytest.raises(StoreError, match="no backup was made") as caught:
        spam_filter.backup(copy)
    assert len(str(caught.value)) < 500
    assert copy.read_bytes() == before


@pytest.mark.parametrize("command", ["export", "backup"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "link"])
def test_what_is_no_file_stays_what_it_is(tmp_path, command, kind):
    """A file could be put in the place of /dev/null by whoever may write to its folder."""
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.train(message(1), "ham")
    target = tmp_path / "target"
    listener = socket.socket(socket.AF_UNIX)
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "socket":
        listener.bind(str(target))
    elif kind == "link":
        target.symlink_to("real")
    else:
        try:
            os.mknod(target, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root can make a device")
    before = os.lstat(target)
    done = CliRunner().invoke(app, ["spam", command, str(target), "--store", str(tmp_path / "store")])
    listener.close()
    after = os.lstat(target)
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    assert done.exit_code == (0 if kind == "link" else 1)
    assert kind != "link" or (tmp_path / "real").stat().st_size
    assert not list(tmp_path.glob(".target*"))
