"""The milter on a socket: many connections at once, mail that passes when the filter cannot say, an orderly end."""

import asyncio
import io
import json
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from contextlib import asynccontextmanager, closing
from pathlib import Path

import forked
import pytest
from mailbag import message
from spam.milter_client import OFFER, Mta, conversation

from suffice.spam import SpamFilter
from suffice.spam.milter import Address, MilterServer, Policy
from suffice.spam.milter import server as server_module
from suffice.spam.milter.server import CONNECTIONS
from suffice.spam.milter.wire import packet
from suffice.spam.serving.journal import Journal
from suffice.spam.serving.scorer import Scorer
from suffice.spam.serving.stores import Stores


@asynccontextmanager
async def served(store, policy=None, timeout=10.0, workers=1, pattern=None):
    """A milter that runs: how to connect to it, its server, and what it has written."""
    with tempfile.TemporaryDirectory() as folder:  # short, as names of sockets must be
        path, output = f"{folder}/socket", io.StringIO()
        scorer = Scorer(Stores(store, pattern), workers, patience=timeout)
        await scorer.start()
        server = MilterServer(scorer, policy, timeout=timeout, journal=Journal(as_json=True, output=output))
        up, connected = asyncio.Event(), []

        async def connect():
            connected.append(await Mta.connect(path))
            return connected[-1]

        task = asyncio.create_task(server.serve(Address(path=path), started=lambda _: up.set()))
        try:
            await asyncio.wait([task, asyncio.create_task(up.wait())], return_when=asyncio.FIRST_COMPLETED)
            yield connect, server, lambda: [json.loads(line) for line in output.getvalue().splitlines()]
        finally:
            server.stop()
            for mta in connected:
                await mta.close()
            await asyncio.wait_for(task, 20)
            await scorer.close()
        assert not os.path.exists(path)


def test_messages_are_scored_one_after_the_other_and_on_many_connections_at_once(store):
    async def run():
        async with served(store, workers=2) as (connect, _, log):

            async def client(number):
                mta = await connect()
                found = [await mta.status(message(100 + number, kind)) for kind in ("spam", "ham", "spam")]
                await mta.close()
                return found

            assert await asyncio.gather(*map(client, range(20))) == [["spam", "ham", "spam"]] * 20
            lines = log()
            assert [line["event"] for line in lines] == ["message"] * 60
            assert {(line["label"], line["action"]) for line in lines} == {("spam", "stamped"), ("ham", "stamped")}
            assert lines[0]["queue"] == "4ABC"

    asyncio.run(run())


def test_a_connection_that_breaks_the_protocol_or_off_harms_no_other(store):
    async def run():
        async with served(store) as (connect, _, log):
            good = await connect()
            bad = [await connect() for _ in range(4)]
            bad[0].send(b"\xff" * 100)
            bad[1].send(packet(b"L", b"?"))
            assert [await mta.receive() for mta in bad[:2]] == [None, None]
            bad[2].send(b"\0\0\1\0B half a packet")
            await bad[2].close()
            bad[3].send(*conversation(message(5)))
            bad[3].writer.transport.abort()  # before the verdict
            assert await good.status(message(200, "spam")) == "spam"
            good.send(packet(b"Q"))
            assert await good.receive() is None
            assert [line["event"] for line in log()].count("closed") == 2

    asyncio.run(run())


@pytest.mark.parametrize("trouble", ["missing", "damaged", "foreign", "folder", "slow"])
def test_mail_passes_with_the_status_error_when_the_filter_cannot_say(store, tmp_path, trouble):
    path = {"missing": tmp_path / "none", "folder": tmp_path}.get(trouble, store)
    if trouble == "damaged":
        store.write_bytes(store.read_bytes()[:5000] + b"\xff" * 50_000)
    elif trouble == "foreign":
        store.write_bytes(b"not a store" * 1000)

    async def run():
        async with served(path, timeout=1e-6 if trouble == "slow" else 10.0) as (connect, _, log):
            mta = await connect()
            for number in range(3):
                answers = await mta.deliver(b"X-Suffice-Status: ham\n" + message(300 + number, "spam"))
                assert [answer.letter for answer in answers] == [b"m", b"i", b"c"]
                assert answers[1].data == b"\0\0\0\0X-Suffice-Status\0 error\0"
            events = [line["event"] for line in log()]
            assert events == ["trouble", "message", "message", "message"]  # the reason once
            assert {line["action"] for line in log()[1:]} == {"passed"}

    asyncio.run(run())
    assert not (tmp_path / "none").exists()


def test_mail_passes_while_the_store_is_locked_and_is_stamped_again_afterwards(store):
    async def run():
        async with served(store, timeout=0.3) as (connect, _, _log):
            mta = await connect()
            lock = sqlite3.connect(store, isolation_level=None)
            lock.execute("PRAGMA locking_mode = EXCLUSIVE")
            lock.execute("BEGIN IMMEDIATE")
            lock.execute("UPDATE meta SET value = value")
            begun = time.monotonic()
            assert await mta.status(message(400, "spam")) == "error"
            assert await mta.status(message(401, "spam")) == "error"
            assert time.monotonic() - begun < 5
            lock.execute("ROLLBACK")
            lock.close()
            for _ in range(100):
                if await mta.status(message(402, "spam")) == "spam":
                    return
            pytest.fail("the store is free, but messages are not stamped")

    asyncio.run(run())


def test_a_store_that_is_made_or_put_in_place_later_is_used(store, tmp_path):
    async def run():
        path = tmp_path / "later"
        async with served(path) as (connect, _, _log):
            mta = await connect()
            assert await mta.status(message(500, "spam")) == "error"
            os.replace(store, path)
            assert await mta.status(message(500, "spam")) == "spam"
            with SpamFilter.open(tmp_path / "other") as turned:  # the classes the other way round
                turned.train_many([message(i, "spam") for i in range(30)], "ham")
                turned.train_many([message(i) for i in range(30)], "spam")
            os.replace(tmp_path / "other", path)
            assert await mta.status(message(500, "spam")) == "ham"
            with SpamFilter.open(tmp_path / "untaught"):
                pass
            os.replace(tmp_path / "untaught", path)
            assert await mta.status(message(500, "spam")) == "unsure"  # which is what it knows

    asyncio.run(run())


def test_a_recipient_with_a_store_is_served_from_it_and_several_from_the_shared_one(store, tmp_path):
    with SpamFilter.open(tmp_path / "ann.sqlite") as turned:
        turned.train_many([message(i, "spam") for i in range(30)], "ham")
        turned.train_many([message(i) for i in range(30)], "spam")

    async def run():
        policy = Policy(recipients=True)
        async with served(store, policy, pattern=f"{tmp_path}/{{user}}.sqlite") as (connect, _, _log):
            mta = await connect()
            raw = message(600, "spam")
            assert await mta.status(raw, recipients=[b"ann@example.org"]) == "ham"
            assert await mta.status(raw, recipients=[b"bob@example.org"]) == "spam"
            assert await mta.status(raw, recipients=[b"ann@example.org", b"bob@example.org"]) == "spam"
            assert await mta.status(raw) == "spam"

    asyncio.run(run())


_ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "


def forge(path, monkeypatch):
    """Put an endless query in the place of a table; return how to let go of the store."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("ALTER TABLE tokens RENAME TO others")
        file.execute(f"CREATE VIEW tokens AS {_ENDLESS} SELECT 'a' || x AS token, x AS spam, 1 AS ham FROM n")
        file.commit()
    return lambda: None


def hang(path, monkeypatch):
    """Let every verdict of a store take forever, in compiled code that looks at no signal, whatever is in it."""
    folder = path.parent / "start"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import ctypes, suffice.spam.filter as module\n"
        "score = module.SpamFilter.score\n"
        "def endless(spam_filter, raw):\n"
        f"    if spam_filter._store.path == {str(path)!r}:\n"
        "        ctypes.PyDLL(None).sleep(1000)\n"  # which keeps the lock of the interpreter
        "    return score(spam_filter, raw)\n"
        "module.SpamFilter.score = endless\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
    return lambda: None


def lock(path, monkeypatch=None):
    """Lock a store for readers as well."""
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("PRAGMA journal_mode = DELETE")
    file.execute("BEGIN EXCLUSIVE")
    return file.close


@pytest.mark.parametrize("spoil", [forge, hang, lock])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_store_that_a_user_has_spoiled_keeps_nobody_else_from_a_verdict(store, tmp_path, monkeypatch, spoil, workers):
    shutil.copy(store, tmp_path / "mallory.sqlite")
    release = spoil(tmp_path / "mallory.sqlite", monkeypatch)

    async def run():
        policy = Policy(recipients=True)
        options = {"timeout": 1.0, "workers": workers, "pattern": f"{tmp_path}/{{user}}.sqlite"}
        async with served(store, policy, **options) as (connect, _, log):
            spoiled, good = [await connect() for _ in range(3)], await connect()
            raw = message(650, "spam")
            found = asyncio.gather(*(mta.status(raw, recipients=[b"mallory@example.org"]) for mta in spoiled))
            if workers > 1:  # at once: mallory has one thread
                await asyncio.sleep(0.1)
                assert await good.status(raw, recipients=[b"bob@example.org"]) == "spam"
                assert spoil is forge or not found.done()
            assert await found == ["error"] * 3
            for _ in range(50):  # and from now on none
                begun = time.monotonic()
                if await good.status(raw, recipients=[b"bob@example.org"]) == "spam":
                    break
            else:
                pytest.fail("the thread does not come back")
            for _ in range(3):
                assert await spoiled[0].status(raw, recipients=[b"mallory@example.org"]) == "error"
                assert await good.status(raw, recipients=[b"bob@example.org"]) == "spam"
            assert time.monotonic() - begun < 2.5  # to wait for mallory's would take three seconds
            assert log()[-1]["event"] == "message"

    try:
        asyncio.run(run())
    finally:
        release()


def test_a_store_that_was_left_alone_is_used_again(store, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.spam.serving.scorer.REST", 0.5)
    shutil.copy(store, tmp_path / "ann.sqlite")
    release = lock(tmp_path / "ann.sqlite")

    async def run():
        options = {"timeout": 3.0, "pattern": f"{tmp_path}/{{user}}.sqlite"}
        async with served(store, Policy(recipients=True), **options) as (connect, _, log):
            mta = await connect()
            raw = message(651, "spam")
            assert await mta.status(raw, recipients=[b"ann@example.org"]) == "error"
            release()
            while (await mta.status(raw, recipients=[b"ann@example.org"])) != "spam":
                await asyncio.sleep(0.1)
            assert [line["kind"] for line in log() if line["event"] == "trouble"] == ["StoreError"]

    asyncio.run(asyncio.wait_for(run(), 30))


def test_it_ends_after_the_message_that_has_begun(store):
    async def run():
        async with served(store) as (connect, server, _log):
            idle, running = await connect(), await connect()
            first, *rest = conversation(message(700, "spam"))
            running.send(first, rest[0], rest[1])
            await asyncio.sleep(0.1)
            server.stop()
            assert await idle.receive() is None
            running.send(*rest[2:])
            letters = []
            while (answer := await running.receive()) is not None:
                letters.append(answer.letter)
            assert letters == [b"c", b"i", b"c"]

    asyncio.run(run())


def test_a_message_that_never_ends_does_not_keep_it_from_ending(store, monkeypatch):
    monkeypatch.setattr("suffice.spam.milter.server.GRACE", 0.2)

    async def run():
        async with served(store) as (connect, server, _log):
            mta = await connect()
            mta.send(*conversation(message(701))[:3])
            await asyncio.sleep(0.1)
            server.stop()
            assert await mta.receive() is None

    asyncio.run(run())


@pytest.mark.parametrize("talks", [False, True])
def test_a_thousand_idle_connections_do_not_switch_it_off(store, talks):
    async def run():
        async with served(store) as (connect, server, log):
            busy = await connect()
            first, *rest = conversation(message(702, "spam"))
            busy.send(first, *rest[:3])
            await asyncio.sleep(0.1)
            path = busy.writer.get_extra_info("peername")
            idle = []
            for _ in range(1000):  # some of which have made their offer
                idle.append(await asyncio.open_unix_connection(path))
                if talks:
                    idle[-1][1].write(OFFER)
            await asyncio.sleep(0.1)
            assert len(server._sessions) == CONNECTIONS
            assert log()[0]["text"] == "there are more than 500 connections"
            for number in range(3):
                mta = await connect()
                assert await mta.status(message(703 + number)) == "ham"
            busy.send(*rest[3:])  # one within a message is not closed for others
            letters = []
            while (answer := await busy.receive()).letter != b"c" or not letters:
                letters.append(answer.letter)
            assert b"i" in letters
            for _, writer in idle:
                writer.close()

    asyncio.run(run())


def test_where_all_are_within_messages_the_one_that_was_silent_for_long_makes_room(store, monkeypatch):
    monkeypatch.setattr("suffice.spam.milter.server.CONNECTIONS", 2)

    async def run():
        async with served(store) as (connect, _, _log):
            mtas = [await connect(), await connect()]
            for mta in mtas:
                mta.send(*conversation(message(704))[:3])
                await asyncio.sleep(0.05)
            with pytest.raises(ConnectionError, match="not answered"):
                await connect()
            monkeypatch.setattr("suffice.spam.milter.server.PAUSE", 0.01)
            assert await (await connect()).status(message(705)) == "ham"
            assert await mtas[0].receive() is None

    asyncio.run(run())


def test_a_connection_that_says_nothing_is_closed_and_one_that_made_its_offer_is_not(store, monkeypatch):
    assert server_module.FIRST == 60.0
    monkeypatch.setattr("suffice.spam.milter.server.FIRST", 0.2)

    async def run():
        async with served(store) as (connect, _, _log):
            mta = await connect()
            reader, writer = await asyncio.open_unix_connection(mta.writer.get_extra_info("peername"))
            assert await asyncio.wait_for(reader.read(1), 10) == b""
            writer.close()
            await asyncio.sleep(0.3)
            assert await mta.status(message(706)) == "ham"  # its client may have taken as long

    asyncio.run(run())


def test_lines_of_text_are_ascii_on_one_line_and_a_closed_output_is_no_trouble():
    output = io.StringIO()
    journal = Journal(output=output)
    journal.say("message", queue="4ABC", label=None)
    journal.trouble(OSError("caf\xe9\nfull"))
    assert output.getvalue().splitlines() == [
        "message: queue=4ABC label=-",
        "trouble: kind=OSError text=caf\\xe9 full consequence=mail is accepted with the status error",
    ]
    output.close()
    journal.say("message", queue="4ABD")


def test_a_socket_left_behind_is_replaced_and_nothing_else_is(tmp_path, store):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        address = Address(path=str(path))
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))  # and nobody listens
        with address.listen(0o640):
            assert path.stat().st_mode & 0o777 == 0o640
            with pytest.raises(ValueError, match="another program is listening"):
                address.listen(0o640)
        path.unlink()
        path.write_text("precious")
        with pytest.raises(ValueError, match="not a socket"):
            address.listen(0o640)
        assert path.read_text() == "precious"


def command(*arguments):
    return forked.start("spam", "milter", *arguments)


def test_the_command_tells_where_it_listens_and_ends_on_a_signal(store):
    with command("--store", store, "--listen", "inet:0", "--json") as process:
        listening = json.loads(process.stdout.readline())
        port = int(listening["address"].removeprefix("inet:").removesuffix("@127.0.0.1"))
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(OFFER)
            assert client.recv(17)[4:5] == b"O"
            client.sendall(b"".join(conversation(message(800, "spam"))))
            answer = b""
            while b"X-Suffice-Status\0 spam\0" not in answer:
                answer += client.recv(65536)
        line = json.loads(process.stdout.readline())
        assert (line["event"], line["queue"], line["label"], line["action"]) == ("message", "4ABC", "spam", "stamped")
        process.send_signal(signal.SIGTERM)
        assert json.loads(process.stdout.readline()) == {"event": "ended"}
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "inet:0@0.0.0.0"], "can be reached by others"),
        (["--reject-above", "0.9"], "needs --reject"),
        (["--reject", "--reject-above", "2"], "a probability from 0 to 1"),
        (["--timeout", "0"], "above 0"),
        (["--socket-mode", "999"], "octal"),
        (["--listen", "unix:/tmp/" + "s" * 200], "can have about 100 bytes, but '/tmp/sss"),
    ],
)
def test_wrong_settings_are_told_in_one_line(arguments, words, store):
    with command("--store", store, *arguments) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert output == ""
    assert errors.startswith("error: ")
    assert words in errors
    assert errors.count("\n") == 1


def test_a_port_in_use_is_told_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = Address(host="127.0.0.1", port=other.getsockname()[1])
        with pytest.raises(ValueError, match=r"cannot listen on inet:.*in use; give another address"):
            address.listen(0o600)
