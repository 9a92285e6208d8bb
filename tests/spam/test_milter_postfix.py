"""The milter behind a real Postfix: stamps on arrival, refusals while mail is sent, mail that passes."""

import json
import os
import re
import shutil
import signal
import smtplib
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from mailbag import message
from spam.postfix import DOMAIN, Postfix, free_port, missing

from suffice.spam import SpamFilter

pytestmark = [pytest.mark.servers, pytest.mark.skipif(missing() != "", reason=missing() or "Postfix is there")]
PORT = free_port()


@pytest.fixture(scope="module")
def postfix():
    with Postfix(f"inet:127.0.0.1:{PORT}", "unix:{folder}/milter.sock") as running:
        yield running


@pytest.fixture(scope="module")
def store(taught_once, tmp_path_factory):
    return shutil.copy(taught_once, tmp_path_factory.mktemp("milter") / "store")


@contextmanager
def milter(store, *options, listen=f"inet:{PORT}@127.0.0.1"):
    """A milter that runs, and the lines that it has written."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    call = [
        sys.executable,
        "-m",
        "suffice.cli",
        "spam",
        "milter",
        "--json",
        "--store",
        store,
        "--listen",
        listen,
        *options,
    ]
    lines, listening = [], threading.Event()

    def read():
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1]["event"] == "listening":
                listening.set()

    with subprocess.Popen([*map(str, call), *options], stdout=subprocess.PIPE, text=True, env=environment) as process:
        reader = threading.Thread(target=read)
        reader.start()
        try:
            assert listening.wait(30)
            yield process, lines
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 0
            reader.join(10)


def crlf(raw):
    return raw.replace(b"\n", b"\r\n")


def status(raw):
    return re.findall(rb"^X-Suffice-Status: (.*)$", raw, re.MULTILINE)


def as_sent(raw):
    """A delivered message without what Postfix and the milter have put into it."""
    added = rb"(?:Return-Path|X-Original-To|Delivered-To|Received|X-Suffice-[A-Za-z]+):.*\n(?:[ \t].*\n)*"
    head, empty, body = raw.partition(b"\n\n")
    return re.sub(rb"^" + added, b"", head + b"\n", flags=re.MULTILINE) + empty[1:] + body


LETTER = (
    b"Message-Id: <1@example.org>\nDate: Sun, 1 Nov 2026 10:00:00 +0000\nFrom: Ann <ann@example.org>\nTo:  you\n"
    b"X-Long: " + b"word " * 30 + b"\n\tfolded   \nX-Odd:no space\nSubject: \xe4\xf6 raw\n"
)


@pytest.mark.parametrize("kind", ["spam", "ham"])
def test_a_message_arrives_stamped_and_otherwise_unchanged(postfix, store, kind):
    user = postfix.user()
    body = message(900, kind).partition(b"\n\n")[2] + b".\n..\n\n \xff\xfe trailing \nlast line\n"
    with milter(store) as (_, lines):
        reply = postfix.send(crlf(LETTER + b"\n" + body), user)
        (found,) = postfix.delivered(user)
    assert status(found) == [kind.encode()]
    assert b"X-Suffice-Score" not in found
    assert b"X-Suffice-Reasons" not in found
    assert as_sent(found) == LETTER + b"\n" + body
    line = lines[1]
    assert line["queue"] in reply.decode()
    assert (line["label"], line["action"]) == (kind, "stamped")


def test_the_hosts_that_a_message_came_by_are_seen_as_in_delivered_mail(postfix, tmp_path):
    path, user = tmp_path / "store", postfix.user()
    received = b"Received: from sender.example.org (unknown [127.0.0.1])\n\tby mx.example.test;\n"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many([received + message(i) for i in range(9)], "spam")
        spam_filter.train_many([message(i) for i in range(9, 18)], "ham")
    with milter(path, "--details"):
        postfix.send(crlf(message(1)), user)
        assert b"received:sender.example.org" in postfix.delivered(user)[0]


def test_forged_stamps_are_gone(postfix, store):
    forged = b"X-Suffice-Status: ham\nX-SUFFICE-STATUS : ham\n\tand more\nX-Suffice-Score: 0.0\nX-Suffice-Else: x\n"
    user = postfix.user()
    with milter(store):
        postfix.send(
            crlf(forged + LETTER + b"X-Suffice-Status: ham\n\n" + message(901, "spam").partition(b"\n\n")[2]), user
        )
        (found,) = postfix.delivered(user)
    assert status(found) == [b"spam"]
    assert len(re.findall(rb"^x-suffice", found, re.MULTILINE | re.IGNORECASE)) == 1
    assert b"and more" not in found
    assert as_sent(found).startswith(LETTER + b"\n")


def test_hundreds_of_forged_stamps_are_gone_too(postfix, store, tmp_path):
    forged = b"".join(b"X-Suffice-%d: x\n" % number for number in range(120)) + b"X-Suffice-Status: ham\n" * 300
    raw = crlf(forged + LETTER + b"\n" + message(903, "spam").partition(b"\n\n")[2])
    for path, expected in ((store, [b"spam"]), (tmp_path / "none", [b"error"])):
        user = postfix.user()
        with milter(path):
            postfix.send(raw, user)
            (found,) = postfix.delivered(user)
        assert status(found) == expected


def test_a_message_above_the_limit_is_stamped_and_whole(postfix, store):
    user = postfix.user()
    raw = LETTER + b"\n" + message(902, "spam").partition(b"\n\n")[2] + b"0123456789 and so on\n" * 150_000
    with milter(store, "--reject"):
        postfix.send(crlf(raw), user)
        (found,) = postfix.delivered(user)
    assert len(status(found)) == 1
    assert as_sent(found) == raw


def test_twenty_deliveries_at_once_and_several_on_one_connection(postfix, store):
    def deliver(number):
        kinds = ("spam", "ham") if number % 2 else ("ham", "spam")
        users = [postfix.user() for _ in kinds]
        with postfix.client() as client:
            for user, kind in zip(users, kinds, strict=True):
                client.sendmail("ann@example.org", [f"{user}@{DOMAIN}"], message(1000 + number, kind))
                client.mail("left@example.org")
                client.rset()
        return list(zip(users, kinds, strict=True))

    with milter(store) as (_, lines), ThreadPoolExecutor(20) as threads:
        for user, kind in [pair for pairs in threads.map(deliver, range(20)) for pair in pairs]:
            assert status(postfix.delivered(user)[0]) == [kind.encode()]
        assert len([line for line in lines if line["event"] == "message"]) == 40


def test_spam_is_refused_while_it_is_sent_and_ham_is_not(postfix, store):
    user = postfix.user()
    with milter(store, "--reject", "--reject-above", "0.5") as (_, lines):
        with pytest.raises(smtplib.SMTPDataError, match=r"550.*5\.7\.1 This message looks like spam"):
            postfix.send(crlf(message(903, "spam")), user)
        postfix.send(crlf(message(903)), user)
        assert [status(raw) for raw in postfix.delivered(user)] == [[b"ham"]]
    assert [line["action"] for line in lines[1:3]] == ["rejected", "stamped"]


def test_spam_can_be_held_in_the_queue(postfix, store):
    user = postfix.user()
    with milter(store, "--quarantine"):
        postfix.send(crlf(message(904, "spam")), user)
        postfix.send(crlf(message(904)), user)
        assert [status(raw) for raw in postfix.delivered(user)] == [[b"ham"]]
    assert len(list((postfix.folder / "queue/hold").iterdir())) == 1


def test_a_recipient_has_a_store_of_their_own(postfix, store, tmp_path):
    first, second = postfix.user(), postfix.user()
    with SpamFilter.open(tmp_path / f"{first}@{DOMAIN}") as turned:
        turned.train_many([message(i, "spam") for i in range(30)], "ham")
        turned.train_many([message(i) for i in range(30)], "spam")
    with milter(store, "--store-for-user", f"{tmp_path}/{{user}}@{{domain}}"):
        for users in ([first], [second], [first, second]):
            postfix.send(crlf(message(905, "spam")), *users)
        assert sorted(map(status, postfix.delivered(first, 2))) == [[b"ham"], [b"spam"]]
        assert sorted(map(status, postfix.delivered(second, 2))) == [[b"spam"], [b"spam"]]


def test_a_socket_file_serves_and_mail_passes_where_nobody_listens(postfix, store):
    user = postfix.user()
    for number in (0, 1):  # no milter runs
        postfix.send(crlf(message(906, "spam")), user, number=number)
    with milter(store, "--socket-mode", "666", listen=f"unix:{postfix.folder}/milter.sock"):
        postfix.send(crlf(message(907, "spam")), user, number=1)
        assert sorted(map(status, postfix.delivered(user, 3))) == [[], [], [b"spam"]]
    assert not (postfix.folder / "milter.sock").exists()


def test_mail_passes_when_the_milter_hangs(postfix, store):
    user = postfix.user()
    with milter(store) as (process, _):
        process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        postfix.send(crlf(message(908, "spam")), user)
        assert time.monotonic() - begun < 12
        assert status(postfix.delivered(user)[0]) == []
        process.send_signal(signal.SIGCONT)
        postfix.send(crlf(message(909, "spam")), user)
        assert sorted(map(status, postfix.delivered(user, 2))) == [[], [b"spam"]]


@pytest.mark.parametrize("end", [signal.SIGSTOP, signal.SIGKILL])
def test_mail_passes_when_the_milter_hangs_or_dies_in_the_middle_of_a_message(postfix, store, end):
    user = postfix.user()
    with milter(store) as (process, _), postfix.client() as client:
        client.ehlo("sender.example.org")
        client.mail("ann@example.org")
        client.rcpt(f"{user}@{DOMAIN}")
        process.send_signal(end)
        assert client.data(crlf(message(910, "spam")))[0] == 250
        assert status(postfix.delivered(user)[0]) == []
        if end == signal.SIGKILL:
            assert process.wait(10) == -signal.SIGKILL


def test_mail_passes_when_the_store_is_damaged_and_is_stamped_once_it_is_put_right(postfix, store, tmp_path):
    user, path = postfix.user(), tmp_path / "store"
    path.write_bytes(store.read_bytes()[:5000] + b"\xff" * 50_000)
    with milter(path) as (_, lines):
        postfix.send(crlf(message(911, "spam")), user)
        assert status(postfix.delivered(user)[0]) == [b"error"]
        shutil.copy(store, tmp_path / "copy")
        os.replace(tmp_path / "copy", path)
        postfix.send(crlf(message(912, "spam")), user)
        assert sorted(map(status, postfix.delivered(user, 2))) == [[b"error"], [b"spam"]]
    assert [line["event"] for line in lines] == ["listening", "trouble", "message", "message", "ended"]
    assert lines[1]["kind"] == "DamagedStoreError"
