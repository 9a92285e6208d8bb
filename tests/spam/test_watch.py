"""The watch against a real Dovecot: what it does to the mail, what it learns, and that nothing makes it lose mail."""

import imaplib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import imapclient
import pytest
from mailbag import bucketed, contents, message
from spam.dovecot import OTHER, OTHER_PASSWORD, PASSWORD, USER, Dovecot

from suffice.spam import MailboxError, SpamFilter, messages
from suffice.spam.imap import connection as connection_module
from suffice.spam.imap.account import Account
from suffice.spam.imap.connection import Connection
from suffice.spam.imap.folders import Folders
from suffice.spam.imap.place import Place, place_path
from suffice.spam.imap.session import DisconnectedError
from suffice.spam.imap.watching import ATTEMPTS, Watch

pytestmark = pytest.mark.servers

#: 200 and more are new to the filter
SPAM, HAM = (lambda n: crlf(message(n, "spam"))), (lambda n: crlf(message(n)))


def crlf(raw):
    return raw.replace(b"\n", b"\r\n")


@pytest.fixture(scope="module")
def running():
    server = Dovecot()
    yield server
    server.end()


@pytest.fixture
def server(running):
    """The server with its folders emptied, by the test and by nobody else."""
    with running.client() as client:
        for flags, _, name in client.list_folders():
            if rb"\Noselect" in flags:
                continue
            if name not in ("INBOX", "Junk", "Archive"):
                client.delete_folder(name)
                continue
            client.select_folder(name)
            if uids := client.search("ALL"):
                client.delete_messages(uids)
                client.expunge()
    return running


@contextmanager
def serving(**options):
    server = Dovecot(**options)
    try:
        yield server
    finally:
        server.end()


@cache
def taught():
    """A store that has learned the first 60 messages of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        with SpamFilter(f"{folder}/spam.sqlite") as spam_filter:
            spam_filter.train_many([message(i, "spam") for i in range(60)], "spam")
            spam_filter.train_many([message(i) for i in range(60)], "ham")
        return Path(folder, "spam.sqlite").read_bytes()


class Watcher:
    """A store, and starts of a watch with it."""

    def __init__(self, path, server):
        self.store, self.server, self.events = path / "spam.sqlite", server, []
        self.store.write_bytes(taught())

    @property
    def account(self):
        return Account("127.0.0.1", USER, self.server.port, "none")

    def look(self, times=1, connect=Connection, **options):
        """Start, look so many times, end; return what happened."""
        folders = Folders(
            **{name: options.pop(name) for name in ("junk", "unsure", "ham", "buckets") if name in options}
        )
        events, before = [], self.server.held()
        place = Place(place_path(self.store, str(self.account)), throw_away=options.get("dry_run", False))
        try:
            with SpamFilter(self.store) as spam_filter, connect(self.account, PASSWORD) as connection:
                watch = Watch(spam_filter, place, folders, events.append, **options)
                for _ in range(times):
                    watch.look(connection)
                assert watch.newest >= connection.select("INBOX").newest  # so that it can wait
        finally:
            place.close()
            self.events += events
            assert set(self.server.held()) == set(before)  # whatever happened
        return [(event.kind, event.folder, event.label) for event in events]

    def label(self, raw):
        with SpamFilter(self.store) as spam_filter:
            return spam_filter.label_of(raw)

    def contents(self):
        with SpamFilter(self.store) as spam_filter:
            return contents(spam_filter)

    def command(self, *options, environment=None):
        where = ["--host", "127.0.0.1", "--port", str(self.server.port), "--user", USER, "--store", str(self.store)]
        return subprocess.Popen(
            [sys.executable, "-m", "suffice.cli", "spam", "watch", *where, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"SUFFICE_IMAP_PASSWORD": PASSWORD, "PYTHONUNBUFFERED": "1"} | (environment or {}),
        )


@pytest.fixture
def watcher(server, tmp_path):
    return Watcher(tmp_path, server)


def lines_until(process, event, seconds=20):
    """Read the JSON lines of a watch up to an event, and return them."""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([process.stdout], [], [], 0.1)[0]:
            line = process.stdout.readline()
            if not line:
                break
            found.append(json.loads(line))
            if found[-1]["event"] == event:
                return found
    process.kill()
    raise AssertionError(f"no {event!r} in {found}, {process.communicate()[1].decode()}")


def ended(process):
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=20)
    return output.decode(), errors.decode()


def test_new_spam_is_moved_as_it_is_and_unread_and_ham_is_left(server, watcher):
    server.deliver(SPAM(200))  # mail of before the first start is not touched
    assert watcher.look() == []
    for raw in (SPAM(201), HAM(201)):
        server.deliver(raw)
    assert watcher.look() == [("moved", "INBOX", "spam"), ("left", "INBOX", "ham")]
    assert server.messages("Junk") == [(SPAM(201), True)]
    assert server.messages("INBOX") == [(SPAM(200), True), (HAM(201), True)]
    before = watcher.contents()
    assert watcher.look(times=3) == []  # nothing is judged twice, and its own verdicts are not learned from
    assert watcher.contents() == before
    assert watcher.label(SPAM(201)) is None


def test_lists_of_senders_decide_and_the_line_says_so(server, watcher):
    watcher.look()
    with SpamFilter(watcher.store) as spam_filter:
        spam_filter.allow("good.example")
        spam_filter.block("bad.example")
    allowed = SPAM(203).replace(b"example.org", b"good.example")
    blocked = HAM(203).replace(b"example.org", b"bad.example")
    for raw in (allowed, blocked):
        server.deliver(raw)
    assert watcher.look() == [("left", "INBOX", "ham"), ("moved", "INBOX", "spam")]
    assert server.messages("Junk") == [(blocked, True)]
    left, moved = watcher.events
    assert (left.text, moved.text) == ("by the list, allow good.example", "by the list, block bad.example")
    assert left.probability > 0.9 > 0.1 > moved.probability  # what the statistics say
    watcher.look()
    assert watcher.label(blocked) is None  # a list teaches nothing


def test_what_the_user_moves_to_junk_is_learned_as_spam_once(server, watcher):
    watcher.look()
    raw = HAM(205)
    server.deliver(raw)
    watcher.look()
    server.move("ham 205", "INBOX", "Junk")
    assert watcher.look() == [("learned", "Junk", "spam")]
    assert watcher.label(raw) == "spam"
    before = watcher.contents()
    assert watcher.look(times=2) == []
    assert watcher.contents() == before


def test_what_the_user_takes_out_of_junk_is_learned_as_ham_and_stays(server, watcher):
    watcher.look()
    raw = SPAM(210)
    server.deliver(raw)
    assert watcher.look() == [("moved", "INBOX", "spam")]
    server.move("spam 210", "Junk", "INBOX")
    assert watcher.look(times=2) == [("learned", "INBOX", "ham")]
    assert watcher.label(raw) == "ham"
    server.move("spam 210", "INBOX", "Archive")  # and about
    server.move("spam 210", "Archive", "INBOX")
    assert watcher.look() == []
    assert server.subjects("INBOX") == ["spam 210"]
    server.move("spam 210", "INBOX", "Junk")  # a change of mind
    assert watcher.look() == [("learned", "Junk", "spam")]
    server.move("spam 210", "Junk", "INBOX")
    assert watcher.look() == [("learned", "INBOX", "ham")]


def test_what_was_left_is_not_judged_again_wherever_the_user_moves_it(server, watcher):
    watcher.look()
    server.deliver(HAM(215))
    assert watcher.look() == [("left", "INBOX", "ham")]
    server.move("ham 215", "INBOX", "Archive")
    watcher.look()
    server.move("ham 215", "Archive", "INBOX")
    assert watcher.look() == []


def test_a_return_before_the_next_look_is_noticed_as_well(server, watcher):
    watcher.look()
    server.deliver(SPAM(211))
    watcher.look()  # moves it, and has not seen it in Junk yet
    server.move("spam 211", "Junk", "INBOX")
    assert watcher.look() == [("learned", "INBOX", "ham")]


def test_mail_that_was_in_junk_before_the_first_start_is_learned_as_ham_when_it_comes_out(server, watcher):
    server.deliver(SPAM(212), "Junk")
    assert watcher.look() == []
    assert watcher.label(SPAM(212)) is None
    server.move("spam 212", "Junk", "INBOX")
    assert watcher.look() == [("learned", "INBOX", "ham")]


def test_a_second_copy_of_a_spam_is_no_return_of_it(server, watcher):
    watcher.look()
    for _ in range(2):
        server.deliver(SPAM(213))
    assert watcher.look() == [("moved", "INBOX", "spam")] * 2
    server.deliver(SPAM(213))
    assert watcher.look() == [("moved", "INBOX", "spam")]
    assert server.subjects("Junk") == ["spam 213"] * 3
    assert watcher.label(SPAM(213)) is None


def test_what_was_trained_elsewhere_counts_more_than_a_verdict(server, watcher):
    watcher.look()
    with SpamFilter(watcher.store) as spam_filter:
        spam_filter.train(HAM(214), "spam")
        spam_filter.train(SPAM(214), "ham")
    server.deliver(HAM(214))
    server.deliver(SPAM(214))
    assert watcher.look() == [("moved", "INBOX", "spam"), ("left", "INBOX", "ham")]


def test_existing_mail_is_learned_where_that_is_asked_for_at_the_first_start_only(server, watcher):
    server.deliver(SPAM(220), "Junk")
    server.deliver(HAM(220))
    server.deliver(HAM(221), "Archive")
    server.deliver(SPAM(222), "Junk")  # in both: says nothing of its own
    server.deliver(SPAM(222))
    assert watcher.look(train_existing=True, ham=("Archive",)) == [
        ("learned", "Junk", "spam"),
        ("learned", "Archive", "ham"),
        ("learned", "INBOX", "ham"),
    ]
    labels = [watcher.label(raw) for raw in (SPAM(220), SPAM(222), HAM(220), HAM(221))]
    assert labels == ["spam", "spam", "ham", "ham"]
    server.deliver(SPAM(223))
    watcher.look()
    assert watcher.look(train_existing=True, ham=("Archive",)) == []
    assert watcher.label(SPAM(223)) is None


def test_what_is_filed_is_ham_and_unsure_mail_has_its_folder(server, watcher):
    with server.client() as client:
        client.create_folder("Maybe")
    folders = {"unsure": "Maybe", "ham": ("Archive",)}
    watcher.look(**folders)
    mixed = [b"Subject: mixed %d\r\n\r\nspamword1 hamword1 mixed%d\r\n" % (i, i) for i in range(3)]
    with SpamFilter(watcher.store) as spam_filter:
        spam_filter.thresholds = type(spam_filter.thresholds)(0.0, 1.0)
        assert spam_filter.score(mixed[0]).label == "unsure"
    for raw in mixed:
        server.deliver(raw)
    assert watcher.look(**folders) == [("moved", "INBOX", "unsure")] * 3
    server.move("mixed 0", "Maybe", "Junk")
    server.move("mixed 1", "Maybe", "INBOX")
    server.move("mixed 2", "Maybe", "Archive")
    assert sorted(watcher.look(times=2, **folders)) == [
        ("learned", "Archive", "ham"),
        ("learned", "INBOX", "ham"),
        ("learned", "Junk", "spam"),
    ]
    assert [watcher.label(raw) for raw in mixed] == ["spam", "ham", "ham"]


def test_a_filter_that_has_learned_nothing_moves_nothing(server, tmp_path):
    with server.client() as client:
        client.create_folder("Maybe")
    watcher = Watcher(tmp_path, server)
    watcher.store = tmp_path / "new.sqlite"
    watcher.look(unsure="Maybe")
    server.deliver(SPAM(230))
    assert watcher.look(unsure="Maybe") == [("left", "INBOX", "unsure")]


def test_a_dry_run_says_what_it_would_do_and_does_nothing(server, watcher):
    watcher.look()
    server.deliver(SPAM(231))
    server.deliver(HAM(231), "Junk")
    before = watcher.contents()
    expected = [("learned", "Junk", "spam"), ("moved", "INBOX", "spam")]
    assert watcher.look(dry_run=True) == expected
    assert watcher.contents() == before
    assert server.subjects("INBOX") == ["spam 231"]
    assert watcher.events[-1].as_text().endswith("would be moved to Junk: spam 231")
    assert watcher.look() == expected


@pytest.mark.parametrize("junk", ['a "quoted" \\ & [name] %*', "Jünk ✉ (mail)"])
def test_folders_may_have_any_name(server, watcher, junk):
    with server.client() as client:
        client.create_folder(junk)
    watcher.look(junk=junk)
    server.deliver(SPAM(240))
    assert watcher.look(junk=junk) == [("moved", "INBOX", "spam")]
    assert server.subjects(junk) == ["spam 240"]
    server.move("spam 240", junk, "INBOX")
    assert watcher.look(junk=junk) == [("learned", "INBOX", "ham")]


def test_messages_that_are_hardly_any_are_judged(server, watcher):
    watcher.look()
    odd = [b"", b"\xff\xfe\r\n", b"Subject: \xe4\xf6 \x1b[2J\r\n\r\n8-bit\r\n", b"Subject: x\r\n" + b"y" * 200_000]
    box = server.home / "mail" / USER / "new"
    for number, raw in enumerate([*odd, b"Subject: NUL \0\0\r\n\r\n\0 spam\0\r\n"]):
        (box / f"{number}.odd").write_bytes(raw)  # as a delivery would, since APPEND refuses some of them
        os.chmod(box / f"{number}.odd", 0o666)
    found = watcher.look()
    assert len(found) == 5
    assert not any("\x1b" in event.as_text() or "\0" in event.as_text() for event in watcher.events)
    assert watcher.look() == []
    assert len(server.held()) == 5


def test_a_message_beyond_the_limit_is_judged_by_its_beginning(server, watcher, monkeypatch):
    monkeypatch.setattr(connection_module, "MESSAGE_LIMIT", 10_000)
    watcher.look()
    server.deliver(SPAM(245) + b"word " * 10_000)
    assert watcher.look() == [("moved", "INBOX", "spam")]
    server.move("spam 245", "Junk", "INBOX")
    assert watcher.look() == [("learned", "INBOX", "ham")]
    assert watcher.label((SPAM(245) + b"word " * 10_000)[:10_000]) == "ham"


def test_a_folder_is_a_source_that_stays_as_it_is(server, monkeypatch):
    monkeypatch.setenv("SUFFICE_IMAP_PASSWORD", PASSWORD)
    with server.client() as client:
        client.create_folder("Jünk/a b")
    mails = [SPAM(i) for i in range(7)]
    for raw in mails:
        server.deliver(raw, "Jünk/a b")
    monkeypatch.setattr(connection_module, "FETCH_MESSAGES", 3)
    url = f"imap://{USER.replace('@', '%40')}@127.0.0.1:{server.port}/J%C3%BCnk/a%20b"
    assert list(messages(url)) == list(messages(Path(url))) == mails
    assert server.messages("Jünk/a b") == [(raw, True) for raw in mails]
    with pytest.raises(MailboxError, match=r"has no folder 'Nowhere'; .*give one of: 'Archive'"):
        list(messages(url.partition("J%")[0] + "Nowhere"))
    monkeypatch.setenv("SUFFICE_IMAP_PASSWORD", "wrong")
    with pytest.raises(MailboxError, match=r"refused to log in 'ann@example.org'.*check the user and the password"):
        list(messages(url))


class Breaks:
    """A client whose connection breaks before or after a command, as a network may."""

    def __init__(self, monkeypatch, command, when, uid=None):
        self.times = 0
        original = getattr(imapclient.IMAPClient, command)

        def broken(client, uids, *arguments, **options):
            if uid is not None and (uid not in uids or "RFC822.SIZE" in arguments[0]):
                return original(client, uids, *arguments, **options)
            self.times += 1
            if when == "after":
                original(client, uids, *arguments, **options)
            client.shutdown()
            raise imaplib.IMAP4.abort("socket error: EOF")

        monkeypatch.setattr(imapclient.IMAPClient, command, broken)


@pytest.mark.parametrize("capability", ["MOVE UIDPLUS", "UIDPLUS", ""])
def test_a_connection_that_breaks_during_a_move_loses_and_doubles_nothing(tmp_path, capability):
    with serving(capability=f"IMAP4rev1 IDLE AUTH=PLAIN {capability}") as server:
        watcher = Watcher(tmp_path, server)
        watcher.look()
        commands = {
            "MOVE UIDPLUS": ["move"],
            "UIDPLUS": ["copy", "add_flags", "uid_expunge"],
            "": ["copy", "add_flags"],
        }
        for number, (command, when) in enumerate((c, w) for c in commands[capability] for w in ("before", "after")):
            raw = SPAM(250 + number)
            server.deliver(raw)
            server.deliver(HAM(250 + number))
            with pytest.MonkeyPatch.context() as patch:
                breaks = Breaks(patch, command, when)
                with pytest.raises(DisconnectedError):
                    watcher.look()
                assert breaks.times == 1
            watcher.look(times=2)
            assert server.subjects("Junk").count(f"spam {250 + number}") == 1, (command, when)
            left = server.subjects("INBOX")
            assert left.count(f"spam {250 + number}") == (0 if capability else 1), (command, when)
            assert left.count(f"ham {250 + number}") == 1
            assert watcher.label(raw) is None  # its own moves are not taken for the user's
        before = watcher.contents()
        assert watcher.look(times=2) == []
        assert watcher.contents() == before


def test_whatever_the_user_does_and_the_network_breaks_labels_and_places_are_as_told(server, watcher):
    """A model of a few lines against the watch: new spam goes to Junk, and the last word of the user is the label."""
    watcher.look()
    rng = random.Random(1)
    places, labels, was_junk, raws = {}, {}, set(), {}
    for step in range(18):
        name = rng.choice([*places, None, None])
        if name is None:
            kind = rng.choice(["spam", "ham"])
            name, raw = f"{kind} {500 + step}", crlf(message(500 + step, kind))
            raws[name], labels[name], places[name] = raw, None, "Junk" if kind == "spam" else "INBOX"
            was_junk |= {name} if kind == "spam" else set()
            server.deliver(raw)
        else:
            target = rng.choice([folder for folder in ("INBOX", "Junk", "Archive") if folder != places[name]])
            server.move(name, places[name], target)
            places[name] = target
            if target == "Junk":
                labels[name] = "spam"
                was_junk.add(name)
            elif target == "INBOX" and name in was_junk:
                labels[name] = "ham"
                was_junk.remove(name)
        if rng.random() < 0.5:
            with pytest.MonkeyPatch.context() as patch, suppress(DisconnectedError):
                Breaks(patch, rng.choice(["move", "fetch"]), rng.choice(["before", "after"]))
                watcher.look()
        watcher.look(times=rng.randrange(1, 3))
        assert {name: folder for folder in ("INBOX", "Junk", "Archive") for name in server.subjects(folder)} == places
        assert {name: watcher.label(raw) for name, raw in raws.items()} == labels


@pytest.mark.parametrize("capability", ["IDLE UIDPLUS", "IDLE"])
def test_a_server_without_move_loses_nothing_that_others_marked_as_deleted(tmp_path, capability):
    with serving(capability=f"IMAP4rev1 AUTH=PLAIN {capability}") as server:
        watcher = Watcher(tmp_path, server)
        server.deliver(HAM(260), flags=[rb"\Deleted"])  # somebody else's business
        watcher.look()
        server.deliver(SPAM(260))
        server.deliver(SPAM(261))
        found = watcher.look()
        assert server.messages("Junk") == [(SPAM(260), True), (SPAM(261), True)]
        if "UIDPLUS" in capability:
            assert found == [("moved", "INBOX", "spam")] * 2
            assert server.subjects("INBOX") == ["ham 260"]
        else:
            assert found == [("copied", "INBOX", "spam")] * 2
            assert "since the server can neither MOVE nor UID EXPUNGE" in watcher.events[-1].as_text()
            assert server.subjects("INBOX") == ["ham 260", "spam 260", "spam 261"]
            with server.client() as client:
                client.select_folder("INBOX", readonly=True)
                assert len(client.search("KEYWORD $Junk")) == 2
        assert watcher.look(times=2) == []
        with server.client() as client:  # without MOVE as well
            client.select_folder("Junk")
            client.copy(client.search("ALL")[:1], "INBOX")
            client.delete_messages(client.search("ALL")[:1])  # and many programs remove it later
        assert watcher.look() == [("learned", "INBOX", "ham")]


@pytest.mark.parametrize("command", ["fetch", "move"])
def test_a_message_that_breaks_the_connection_is_passed_over_in_the_end(server, watcher, monkeypatch, command):
    watcher.look()
    for number in range(270, 273):
        server.deliver(SPAM(number))
    with server.client() as client:
        client.select_folder("INBOX", readonly=True)
        uid = client.search("ALL")[1]
    events = []
    place = Place(place_path(watcher.store, str(watcher.account)))
    with SpamFilter(watcher.store) as spam_filter, monkeypatch.context() as patch:
        breaks = Breaks(patch, command, "before", uid)
        watch = Watch(spam_filter, place, Folders(), events.append)
        for _ in range(ATTEMPTS):
            with Connection(watcher.account, PASSWORD) as connection, pytest.raises(DisconnectedError):
                watch.look(connection)
        with Connection(watcher.account, PASSWORD) as connection:
            watch.look(connection)
    place.close()
    assert breaks.times == ATTEMPTS
    assert [event.kind for event in events] == ["moved", "failed", "moved"]
    assert server.subjects("INBOX") == ["spam 271"]


def test_a_move_that_the_server_refuses_leaves_the_message(server, watcher):
    watcher.look()
    server.deliver(SPAM(275))
    folders = [server.home / "mail" / USER / ".Junk" / name for name in ("new", "cur", "tmp")]
    modes = [folder.stat().st_mode for folder in folders]
    for folder in folders:
        folder.chmod(0o555)
    assert watcher.look() == [("failed", "INBOX", None)]
    for folder, mode in zip(folders, modes, strict=True):
        folder.chmod(mode)
    assert "refused something while moving a message to 'Junk'" in watcher.events[-1].as_text()
    assert watcher.look() == []
    assert server.messages("INBOX") == [(SPAM(275), True)]


def test_numbers_that_begin_anew_do_no_harm(tmp_path):
    with serving() as server:
        watcher = Watcher(tmp_path, server)
        watcher.look()
        for raw in (SPAM(280), HAM(280), HAM(281)):
            server.deliver(raw)
        watcher.look()
        server.move("ham 281", "INBOX", "Junk")
        watcher.look()
        before = watcher.contents()
        server.stop()
        for folder in ("", ".Junk", ".Archive"):
            for name in ("dovecot-uidlist", "dovecot.index", "dovecot.index.log", "dovecot.index.cache"):
                (server.home / "mail" / USER / folder / name).unlink(missing_ok=True)
        for name in (server.home / "mail" / USER).glob("dovecot-uidvalidity*"):
            name.unlink()
        time.sleep(1.1)  # the new UIDVALIDITY is a time in seconds
        server.start()
        server.deliver(HAM(283), "Junk")  # whether it is new cannot be told
        assert watcher.look(train_existing=True) == [("note", "Junk", None), ("note", "INBOX", None)]
        assert watcher.contents() == before
        assert (server.subjects("INBOX"), sorted(server.subjects("Junk"))) == (
            ["ham 280"],
            ["ham 281", "ham 283", "spam 280"],
        )
        server.move("spam 280", "Junk", "INBOX")  # what was known of messages still is
        server.deliver(SPAM(282))
        assert watcher.look() == [("learned", "INBOX", "ham"), ("moved", "INBOX", "spam")]


def test_the_command_reacts_at_once_survives_a_restart_of_the_server_and_ends_cleanly(tmp_path):
    with serving() as server:
        watcher = Watcher(tmp_path, server)
        server.deliver(HAM(299))
        process = watcher.command("--no-tls", "--json", "--interval", "600")
        try:
            assert lines_until(process, "note")[-1]["text"].startswith("watching")
            time.sleep(0.3)  # until the server has been told to wait
            began = time.monotonic()
            server.deliver(SPAM(290))
            (moved,) = lines_until(process, "moved")
            assert time.monotonic() - began < 2.5
            assert (moved["label"], moved["to"], moved["subject"]) == ("spam", "Junk", "spam 290")
            assert moved["probability"] > 0.9
            time.sleep(0.3)
            server.move("ham 299", "INBOX", "Junk")
            assert lines_until(process, "learned")[-1]["label"] == "spam"
            assert time.monotonic() - began < 5

            server.stop()
            assert "trying again in" in lines_until(process, "note")[-1]["text"]
            server.start()
            server.deliver(SPAM(291))
            assert lines_until(process, "moved")[-1]["subject"] == "spam 291"

            output, errors = ended(process)
            assert process.returncode == 0
            assert json.loads(output.splitlines()[-1]) == {
                "event": "ended",
                "account": str(watcher.account),
                "dry_run": False,
                "judged": 2,
                "moved": 2,
                "copied": 0,
                "learned_spam": 1,
                "learned_ham": 0,
                "failed": 0,
            }
            assert errors == ""
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
        assert len(server.held()) == 3


def test_mail_that_came_during_other_work_is_not_waited_for(server, watcher):
    server.deliver(HAM(295))
    with Connection(watcher.account, PASSWORD) as connection:
        newest = connection.select("INBOX").newest
        assert list(connection.bodies("INBOX", connection.uids("INBOX"))) == [(newest, HAM(295))]
        server.deliver(HAM(296))
        connection.uids("INBOX")  # the server tells of it here, and would not again
        began = time.monotonic()
        assert connection.wait("INBOX", newest, 20.0)
        assert time.monotonic() - began < 5
        assert connection.uids("INBOX", after=newest) == [newest + 1]


def test_killed_again_and_again_it_loses_and_doubles_nothing(server, watcher):
    watcher.look()
    rng = random.Random(0)
    spams, hams = range(300, 318), range(300, 318)
    with server.client() as client:
        for spam, ham in zip(spams, hams, strict=True):
            client.append("INBOX", SPAM(spam))
            client.append("INBOX", HAM(ham))
    kills = 0
    for _ in range(40):
        process = watcher.command("--no-tls", "--once", "--json")
        lines = rng.randrange(2, 12)
        for _ in range(lines):
            if not process.stdout.readline():
                break
        time.sleep(rng.random() * 0.01)
        kills += process.poll() is None
        process.kill()
        process.communicate()
        if process.returncode == 0:
            break
    assert kills >= 3
    watcher.look(times=2)
    assert sorted(server.subjects("Junk")) == sorted(f"spam {i}" for i in spams)
    assert server.subjects("INBOX") == [f"ham {i}" for i in hams]
    with SpamFilter(watcher.store) as spam_filter:
        size = spam_filter.stats()
    assert (size.spam, size.ham) == (60, 60)


def test_without_idle_it_asks_again(tmp_path):
    with serving(capability="IMAP4rev1 AUTH=PLAIN MOVE") as server:
        watcher = Watcher(tmp_path, server)
        watcher.look()
        process = watcher.command("--no-tls", "--json", "--interval", "1")
        try:
            lines_until(process, "note")
            server.deliver(SPAM(340))
            assert lines_until(process, "moved")[-1]["subject"] == "spam 340"
            assert '"ended"' in ended(process)[0]
        finally:
            process.kill()
            process.communicate()


def test_a_wrong_password_or_folder_is_one_error(server, watcher):
    process = watcher.command("--no-tls", environment={"SUFFICE_IMAP_PASSWORD": "wrong"})
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.decode().startswith("error: 127.0.0.1 refused to log in 'ann@example.org'")
    assert errors.count(b"\n") == 1
    process = watcher.command("--no-tls", "--junk", "Spam", "--once")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert b"has no folder 'Spam'; make it in your mail program, or give one of: 'Archive', 'INBOX', 'Junk'" in errors


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_tls_needs_a_certificate_that_can_be_trusted(tmp_path, monkeypatch, security):
    with serving(tls=True) as server:
        account = Account("127.0.0.1", USER, server.tls_port if security == "tls" else server.port, security)
        with pytest.raises(
            DisconnectedError, match=r"the certificate of 127.0.0.1:\d+ is not valid: self.signed.*SSL_CERT_FILE"
        ):
            Connection(account, PASSWORD)
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        with Connection(account, PASSWORD) as connection:
            assert "Junk" in connection.folders()


def test_a_server_without_authenticate_gets_a_login(server, monkeypatch):
    has = imapclient.IMAPClient.has_capability
    monkeypatch.setattr(
        imapclient.IMAPClient, "has_capability", lambda client, name: name != "AUTH=PLAIN" and has(client, name)
    )
    with Connection(Account("127.0.0.1", OTHER, server.port, "none"), OTHER_PASSWORD) as connection:
        assert "Junk" in connection.folders()


def test_a_server_without_starttls_is_not_sent_the_password(server):
    with pytest.raises(MailboxError, match=r"cannot do what is needed for starting TLS.*STARTTLS"):
        Connection(Account("127.0.0.1", USER, server.port, "starttls"), PASSWORD)


WORK, NEWS = (lambda n: crlf(bucketed(n, "work"))), (lambda n: crlf(bucketed(n, "news")))
BUCKETS = {"work": "Work", "news": "News"}


@pytest.fixture
def sorter(server, watcher):
    """A watch with folders of buckets, of which the filter has learned."""
    with server.client() as client:
        for folder in BUCKETS.values():
            client.create_folder(folder)
    with SpamFilter(watcher.store) as spam_filter:
        for name in BUCKETS:
            spam_filter.train_many([bucketed(i, name) for i in range(20)], "ham", bucket=name)
    watcher.look(buckets=BUCKETS)
    return watcher


def bucket_of(watcher, raw):
    with SpamFilter(watcher.store) as spam_filter:
        return spam_filter.label_of(raw), spam_filter.buckets.of(raw)


def test_mail_that_is_clearly_of_a_bucket_is_moved_to_its_folder(server, sorter):
    for raw in (WORK(201), HAM(201), NEWS(202), SPAM(202)):
        server.deliver(raw)
    before = sorter.contents()
    assert sorter.look(times=2, buckets=BUCKETS) == [
        ("moved", "INBOX", "ham"),
        ("left", "INBOX", "ham"),
        ("moved", "INBOX", "ham"),
        ("moved", "INBOX", "spam"),
    ]
    assert [event.bucket for event in sorter.events[-4:]] == ["work", None, "news", None]
    assert "moved to Work" in sorter.events[-4].as_text()
    assert (server.subjects("Work"), server.subjects("News")) == (["work 201"], ["news 202"])
    assert server.messages("Work") == [(WORK(201), True)]
    assert sorter.contents() == before  # its own verdicts are not learned from
    server.deliver(WORK(203))
    assert sorter.look(buckets={"news": "News"}) == [("left", "INBOX", "ham")]  # there is no folder for it


def test_what_the_user_moves_into_and_out_of_folders_of_buckets_is_learned(server, sorter):
    server.deliver(HAM(210))
    server.deliver(WORK(211))
    sorter.look(buckets=BUCKETS)
    server.move("ham 210", "INBOX", "News")
    assert sorter.look(times=2, buckets=BUCKETS) == [("learned", "News", "ham")]
    assert sorter.events[-1].as_json()["bucket"] == "news"
    assert bucket_of(sorter, HAM(210)) == ("ham", "news")
    server.move("ham 210", "News", "Work")
    assert sorter.look(buckets=BUCKETS) == [("learned", "Work", "ham")]
    assert bucket_of(sorter, HAM(210)) == ("ham", "work")
    server.move("ham 210", "Work", "INBOX")
    assert sorter.look(times=2, buckets=BUCKETS) == [("learned", "INBOX", "ham")]
    assert bucket_of(sorter, HAM(210)) == ("ham", "")
    assert server.subjects("INBOX") == ["ham 210"]  # and it stays there
    server.move("work 211", "Work", "INBOX")
    assert sorter.look(times=2, buckets=BUCKETS) == [("learned", "INBOX", "ham")]
    assert bucket_of(sorter, WORK(211)) == ("ham", "")
    server.move("work 211", "INBOX", "Junk")
    assert sorter.look(buckets=BUCKETS) == [("learned", "Junk", "spam")]
    assert bucket_of(sorter, WORK(211)) == ("spam", "")
    server.move("work 211", "Junk", "Work")
    assert sorter.look(buckets=BUCKETS) == [("learned", "Work", "ham")]
    assert bucket_of(sorter, WORK(211)) == ("ham", "work")


def test_existing_mail_in_folders_of_buckets_is_learned_where_that_is_asked_for(server, watcher):
    with server.client() as client:
        client.create_folder("Work")
    server.deliver(WORK(220), "Work")
    server.deliver(HAM(220))
    events = watcher.look(train_existing=True, buckets={"work": "Work"})
    assert events == [("learned", "Work", "ham"), ("learned", "INBOX", "ham")]
    assert bucket_of(watcher, WORK(220)) == ("ham", "work")
    assert bucket_of(watcher, HAM(220)) == ("ham", "")


def test_a_dry_run_says_which_bucket_and_does_nothing(server, sorter):
    server.deliver(WORK(230))
    server.deliver(HAM(231), "News")
    before = sorter.contents()
    events = sorter.look(dry_run=True, buckets=BUCKETS)
    assert events == [("learned", "News", "ham"), ("moved", "INBOX", "ham")]
    assert "would be moved to Work" in sorter.events[-1].as_text()
    assert server.subjects("INBOX") == ["work 230"]
    assert sorter.contents() == before


def test_folders_of_buckets_on_the_command_line(server, sorter):
    server.deliver(WORK(240))
    process = sorter.command("--no-tls", "--once", "--json", "--bucket", "work=Work", "--bucket", "news=News")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    moved = json.loads(output.splitlines()[0])
    assert (moved["event"], moved["to"], moved["bucket"]) == ("moved", "Work", "work")
    for wrong in (["--bucket", "work"], ["--bucket", "a=X", "--bucket", "a=Y"], ["--bucket", "spam=X"]):
        process = sorter.command("--no-tls", "--once", *wrong)
        assert process.communicate(timeout=60)[0] == b""
        assert process.returncode in (1, 2)
