"""The watch without a server: accounts, addresses, passwords, what is remembered and what is reported."""

import imaplib
import io
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from suffice.spam import MailboxError, StoreError, messages
from suffice.spam.imap.account import Account, password_of
from suffice.spam.imap.connection import Connection
from suffice.spam.imap.events import Event, Tally
from suffice.spam.imap.folders import Folders
from suffice.spam.imap.loop import LONGEST_PAUSE, Stopping, pause
from suffice.spam.imap.place import KEPT_DAYS, Known, Place, place_path
from suffice.spam.imap.session import LITERAL_LIMIT, DisconnectedError


@pytest.mark.parametrize(
    ("url", "user", "host", "port", "security", "folder"),
    [
        ("imaps://ann@mail.example.org", "ann", "mail.example.org", 993, "tls", "INBOX"),
        ("IMAPS://ann%40x@[2001:db8::1]:1993/a/b%20c", "ann@x", "2001:db8::1", 1993, "tls", "a/b c"),
        ("imap://ann@mail.example.org/%C3%BC", "ann", "mail.example.org", 143, "starttls", "ü"),
        ("imap://ann@127.0.0.1:1430/Junk", "ann", "127.0.0.1", 1430, "none", "Junk"),
        ("imaps:/ann@mail.example.org/Junk", "ann", "mail.example.org", 993, "tls", "Junk"),  # went through a path
    ],
)
def test_an_address_names_an_account_and_a_folder(url, user, host, port, security, folder):
    assert Account.of(url) == (Account(host, user, port, security), folder)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("imaps://mail.example.org/INBOX", "lacks a user or a host; give imaps://user@host/Folder"),
        ("imaps://ann@mail.example.org:port/", "cannot be read"),
        ("imaps://ann:hunter2@mail.example.org/", "holds a password.*SUFFICE_IMAP_PASSWORD"),
    ],
)
def test_a_wrong_address_says_what_to_give(url, message):
    with pytest.raises(MailboxError, match=message) as raised:
        list(messages(url))
    assert "hunter2" not in str(raised.value)


def test_going_without_tls_is_refused_for_another_machine():
    for host in ("127.0.0.1", "::1", "LOCALHOST"):
        assert Account(host, "ann", security="none").port == 143
    for host in ("mail.example.org", "192.0.2.1", "localhost.example.org"):
        with pytest.raises(ValueError, match=r"without TLS the password and all mail can be read.*leave --no-tls out"):
            Account(host, "ann", security="none")


def test_names_that_would_end_a_command_are_refused():
    with pytest.raises(ValueError, match="the user must be a name without control characters"):
        Account("mail.example.org", "ann\r\nA1 DELETE INBOX")


def test_the_password_comes_from_a_command_or_the_environment(monkeypatch):
    account = Account("mail.example.org", "ann")
    monkeypatch.setenv("SUFFICE_IMAP_PASSWORD", "from the environment")
    assert password_of(account) == "from the environment"
    assert password_of(account, "printf 'first line\\nsecond\\n'") == "first line"
    for command in ("false", "no-such-program-here", "true", "'"):
        with pytest.raises(ValueError, match="the password command"):
            password_of(account, command)
    monkeypatch.delenv("SUFFICE_IMAP_PASSWORD")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(ValueError, match=r"no password for ann on mail.example.org:993: set SUFFICE_IMAP_PASSWORD"):
        password_of(account)


def test_a_server_that_is_not_there_says_so():
    with pytest.raises(
        DisconnectedError, match=r"no connection to 127.0.0.1:1 \(connecting\): .*; check the host, the port"
    ):
        Connection(Account("127.0.0.1", "ann", 1, "none"), "x")


def test_a_folder_serves_one_purpose():
    assert Folders(unsure="Maybe", ham=("Archive",)).all == ("Junk", "Maybe", "Archive", "INBOX")
    with pytest.raises(ValueError, match="'INBOX' is given for several"):
        Folders(ham=("INBOX",))


def test_pauses_double_up_to_a_limit_and_differ_by_chance():
    assert [pause(attempt, 1.0) for attempt in range(4)] == [1.0, 2.0, 4.0, 8.0]
    assert pause(10_000, 1.0) == LONGEST_PAUSE
    assert pause(3, 0.0) == 4.0


def test_names_of_folders_and_answers_of_servers_cannot_command_a_terminal():
    hostile = "\x1b]0;title\x07\n\x9b1m\u202ekcatta"
    for kind in ("moved", "copied", "failed", "note"):
        line = Event(kind, hostile, "spam", 0.99, to=hostile, text=hostile).as_text()
        assert line.isprintable(), line
        assert "kcatta" in line


def test_folders_whose_names_do_more_than_name_them_are_refused(server):
    with server() as connection:
        for name in ("", "a\r\nA1 LOGOUT", "a\x7f", "a\x9bm", "a\x85b", "a\u202eb", "a\u2066b", "a\u2028b", "a\ud800"):
            with pytest.raises(MailboxError, match="a name without control characters or direction marks"):
                connection.select(name)
            with pytest.raises(MailboxError, match="a name without control characters or direction marks"):
                connection.move("INBOX", 1, name)
        assert connection.select("Entwürfe/日本 👨\u200d👩") == (7, 3)


def test_events_are_one_line_and_are_counted():
    events = [
        Event("moved", "INBOX", "spam", 0.99, "win", to="Junk"),
        Event("left", "INBOX", "ham", 0.01, "lunch"),
        Event("learned", "Junk", "spam", subject="a"),
        Event("learned", "INBOX", "ham", text="existing messages, 7 of 9", count=7),
        Event("failed", "INBOX", text="the server refused"),
        Event("note", "INBOX", text="trying again"),
    ]
    tally = Tally()
    for event in events:
        assert "\n" not in event.as_text()
        tally.add(event)
    assert [event.as_text()[20:] for event in events[:4]] == [
        "INBOX: spam 0.9900, moved to Junk: win",
        "INBOX: ham 0.0100, left: lunch",
        "Junk: learned as spam: a",
        "INBOX: learned as ham: existing messages, 7 of 9",
    ]
    assert tally.as_text() == "2 judged, 1 moved, 1 learned as spam, 7 learned as ham, 1 failed"
    assert events[0].as_json() | {"time": 0} == {
        "time": 0,
        "event": "moved",
        "folder": "INBOX",
        "label": "spam",
        "probability": 0.99,
        "subject": "win",
        "to": "Junk",
    }


def test_what_is_remembered_is_there_again_and_for_the_owner_only(tmp_path):
    path = place_path(tmp_path / "spam.sqlite", "ann on example.org:993")
    place = Place(path)
    place.begin("INBOX", 7, 100, is_source=True)
    with place.transaction():
        place.advance("INBOX", 101)
        place.advance("INBOX", 90)
        place.put(b"a" * 32, Known("held", "Junk", 4, None))
    place.close()
    assert path.stat().st_mode & 0o777 == 0o600
    place = Place(path)
    assert place.folder("INBOX") == (7, 100, 101, True)
    assert place.known(b"a" * 32) == ("held", "Junk", 4, None)
    place.begin("Junk", 8, 0, is_source=False)  # another UIDVALIDITY: no UID of before holds
    assert place.known(b"a" * 32) == ("held", "Junk", None, None)
    place.close()


def test_a_second_watch_of_an_account_is_refused(tmp_path):
    place = Place(tmp_path / "place")
    with pytest.raises(StoreError, match=r"another `watch` is using .*place'"):
        Place(tmp_path / "place")
    place.close()
    Place(tmp_path / "place").close()


def test_a_dry_run_begins_with_what_is_remembered_and_leaves_it(tmp_path):
    place = Place(tmp_path / "place")
    place.begin("INBOX", 7, 100, is_source=True)
    place.close()
    before = (tmp_path / "place").read_bytes()
    dry = Place(tmp_path / "place", throw_away=True)
    assert dry.folder("INBOX") == (7, 100, 0, True)
    dry.begin("INBOX", 8, 0, is_source=True)
    dry.close()
    assert (tmp_path / "place").read_bytes() == before
    Place(tmp_path / "none", throw_away=True).close()
    assert not (tmp_path / "none").exists()


def test_files_of_others_are_refused_and_old_notes_forgotten(tmp_path):
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE x (y)")
    other.close()
    with pytest.raises(StoreError, match="a file of another program or version"):
        Place(tmp_path / "other")
    (tmp_path / "text").write_text("no database" * 1000)
    with pytest.raises(StoreError, match="damaged"):
        Place(tmp_path / "text")
    place = Place(tmp_path / "place")
    with place.transaction():
        place.put(b"new", Known("left", None, None, None))
        place.put(b"old", Known("left", None, None, None))
        place._connection.execute("UPDATE messages SET day = day - ? WHERE digest = ?", (KEPT_DAYS + 1, b"old"))
    place.close()
    place = Place(tmp_path / "place")
    assert place.known(b"old") is None
    assert place.known(b"new") is not None
    place.close()


def test_a_signal_ends_a_wait_at_once_and_work_later():
    before = signal.getsignal(signal.SIGTERM)
    with Stopping() as stopping:
        os.kill(os.getpid(), signal.SIGTERM)  # during work
        assert stopping.is_asked()
        with stopping.waiting():
            pytest.fail("no wait may begin")
    began = time.monotonic()
    with Stopping() as stopping, stopping.waiting():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    assert time.monotonic() - began < 5
    assert signal.getsignal(signal.SIGTERM) is before


# -- servers that answer strangely --------------------------------------------------------------------------------

_ANSWERS = {
    b"CAPABILITY": b"* CAPABILITY IMAP4rev1 MOVE UIDPLUS\r\nTAG OK x\r\n",
    b"LIST": b'* LIST () "/" INBOX\r\n* LIST () "/" Junk\r\nTAG OK x\r\n',
    b"STATUS": b"* STATUS Junk (UIDVALIDITY 7 UIDNEXT 4)\r\nTAG OK x\r\n",
    b"SELECT": b"* 3 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 4] x\r\nTAG OK [READ-WRITE] x\r\n",
    b"EXAMINE": b"* 3 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 4] x\r\nTAG OK [READ-ONLY] x\r\n",
    b"UID SEARCH": b"* SEARCH 1 2 3\r\nTAG OK x\r\n",
}


def _serve(connected, answers):
    with suppress(OSError), connected, connected.makefile("rwb") as file:
        file.write(b"* OK hello\r\n")
        file.flush()
        for line in file:
            tag, _, command = line.strip().partition(b" ")
            found = [name for name in answers if command.upper().startswith(name)]
            answer = answers[found[0]] if found else b"TAG OK done\r\n"
            if isinstance(answer, tuple):  # one after the other
                answer, *answers[found[0]] = answer
                answers[found[0]] = tuple(answers[found[0]])
            file.write(answer.replace(b"TAG", tag))
            file.flush()


@pytest.fixture
def port():
    """A function that starts a server on loopback, whose answers begin with those given, and returns its port."""
    listeners, threads = [], []

    def start(**strange):
        answers = {name.replace("_", " ").encode(): answer for name, answer in strange.items()} | {
            name: answer for name, answer in _ANSWERS.items() if name.decode().replace(" ", "_") not in strange
        }
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def accept():
            with suppress(OSError):
                while True:
                    threads.append(threading.Thread(target=_serve, args=(listener.accept()[0], answers), daemon=True))
                    threads[-1].start()

        threads.append(threading.Thread(target=accept, daemon=True))
        threads[-1].start()
        return listener.getsockname()[1]

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join(10)


@pytest.fixture
def server(port):
    """A function that connects to such a server."""
    return lambda **strange: Connection(Account("127.0.0.1", "ann", port(**strange), "none"), "x")


def look(connection):
    """Ask all that a watch asks."""
    assert connection.can_move
    connection.check(["INBOX", connection.junk_folder()])
    connection.status("Junk")
    connection.select("Junk")
    return dict(connection.bodies("Junk", connection.uids("Junk")))


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("CAPABILITY", b"TAG OK x\r\n"),
        ("STATUS", b"* STATUS Junk (MESSAGES 3)\r\nTAG OK x\r\n"),
        ("STATUS", b"TAG OK x\r\n"),
        ("STATUS", b"* STATUS Junk (UIDVALIDITY (a) UIDNEXT NIL)\r\nTAG OK x\r\n"),
        ("STATUS", b"* STATUS Junk (UIDVALIDITY 4294967296 UIDNEXT 4)\r\nTAG OK x\r\n"),
        ("STATUS", b"* STATUS Junk (UIDVALIDITY 7 UIDNEXT 4294967296)\r\nTAG OK x\r\n"),
        ("EXAMINE", b"* 3 EXISTS\r\n* OK [UIDVALIDITY 99999999999999999999] x\r\nTAG OK x\r\n"),
        ("EXAMINE", b"* 3 EXISTS\r\n* OK [UIDVALIDITY (] x\r\n* OK [UIDNEXT abc] x\r\nTAG OK x\r\n"),
        ("EXAMINE", b"* 99999999999999999999 EXISTS\r\nTAG OK x\r\n"),
        ("UID_SEARCH", b"* SEARCH 1 99999999999999999999999\r\nTAG OK x\r\n"),
        ("UID_SEARCH", b"* SEARCH a b c\r\nTAG OK x\r\n"),
        ("UID_FETCH", b"* 1 FETCH (UID 1 RFC822.SIZE 3 BODY[] {999999999999}\r\nabc)\r\nTAG OK x\r\n"),
        ("UID_FETCH", b"* 1 FETCH (UID 1 BODY[] {%d}\r\nabc)\r\nTAG OK x\r\n" % (LITERAL_LIMIT + 1)),
        ("UID_FETCH", b"* 1 FETCH (UID 1 X " + b"(" * 5000 + b"\r\nTAG OK x\r\n"),
        ("LIST", b"* LIST x\r\nTAG OK x\r\n"),
        ("LIST", b"* LIST (" + b"(" * 5000 + b"\r\nTAG OK x\r\n"),
    ],
)
def test_a_strange_answer_is_a_lost_connection_or_a_refusal_and_nothing_else(server, command, answer):
    with (
        pytest.raises((DisconnectedError, MailboxError), match=r"127\.0\.0\.1"),
        server(**{command: answer}) as connection,
    ):
        look(connection)


#: how often imaplib asks what a server can do until it is logged in; twice in late releases of Python
ASKED = 1 + hasattr(imaplib.IMAP4, "_refresh_capabilities")


def test_what_a_server_says_that_it_can_do_may_be_strange(server):
    with server(CAPABILITY=(_ANSWERS[b"CAPABILITY"],) * ASKED + (b"TAG OK x\r\n", b"TAG OK x\r\n")) as connection:
        for _ in range(2):
            with pytest.raises(DisconnectedError, match="invalid answer while asking what it can do"):
                print(connection.can_move)


def test_what_it_says_right_after_the_login_may_be_strange_as_well(server):
    answers = (_ANSWERS[b"CAPABILITY"], b"TAG OK x\r\n", b"TAG OK x\r\n")
    with pytest.raises(DisconnectedError, match=r"127\.0\.0\.1"), server(CAPABILITY=answers) as connection:
        print(connection.can_move)


def test_messages_that_were_not_asked_for_and_sizes_that_are_none_do_no_harm(server):
    sizes = b"* 1 FETCH (UID 1 RFC822.SIZE (a b) BODY[] x)\r\n* 2 FETCH (UID 2 RFC822.SIZE NIL BODY[] NIL)\r\n"
    other = b"* 9 FETCH (UID 9 RFC822.SIZE 3 BODY[] x)\r\nTAG OK x\r\n"
    with server(UID_FETCH=sizes + other) as connection:
        assert look(connection) == {1: b"x", 2: None}


def test_the_watch_goes_on_after_a_strange_answer(port, tmp_path):
    where = [
        "--host",
        "127.0.0.1",
        "--port",
        port(STATUS=b"* STATUS Junk (MESSAGES 3)\r\nTAG OK x\r\n"),
        "--user",
        "ann",
    ]
    options = ["--no-tls", "--store", tmp_path / "store", "--interval", "1"]
    call = [sys.executable, "-m", "suffice.cli", "spam", "watch", *where, *options]
    environment = os.environ | {"SUFFICE_IMAP_PASSWORD": "x", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(list(map(str, call)), stderr=subprocess.PIPE, text=True, env=environment) as process:
        lines = [process.stderr.readline() for _ in range(3)]
        assert "watching ann" in lines[0]
        assert all("gave an invalid answer while asking about 'Junk'" in line for line in lines[1:])
        assert all("; trying again in " in line for line in lines[1:])
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_the_folder_of_the_users_own_store_is_for_the_user_only(port, tmp_path):
    call = [sys.executable, "-m", "suffice.cli", "spam", "watch", "--once", "--no-tls", "--host", "127.0.0.1"]
    environment = os.environ | {"SUFFICE_IMAP_PASSWORD": "x", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"XDG_DATA_HOME": str(tmp_path)}
    environment.pop("SUFFICE_SPAM_STORE", None)
    before = os.umask(0o022)
    try:
        options = ["--port", str(port(UID_SEARCH=b"* SEARCH\r\nTAG OK x\r\n")), "--user", "ann"]
        subprocess.run([*call, *options], check=True, env=environment, timeout=60, capture_output=True)
        mistyped = subprocess.run(
            [*call, *options, "--store", tmp_path / "none" / "store"], env=environment, timeout=60, capture_output=True
        )
    finally:
        os.umask(before)
    assert (tmp_path / "suffice").stat().st_mode & 0o777 == 0o700
    kept = {path.name: path for path in (tmp_path / "suffice").iterdir()}
    assert {re.sub(r"-[0-9a-f]{8}", "", name) for name in kept} == {
        "spam.sqlite",
        "spam.sqlite.imap",
        "spam.sqlite.watch.pulse",  # the sign of life
    }
    assert not [name for name, path in kept.items() if path.stat().st_mode & 0o007]
    assert mistyped.returncode == 1
    assert mistyped.stderr.startswith(b"error: ")
    assert not (tmp_path / "none").exists()
