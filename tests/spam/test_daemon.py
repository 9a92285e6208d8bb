"""The daemon: SpamAssassin's protocol, rspamd's, hard limits, reloading, and the programs that ask it."""

import asyncio
import gzip
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import OrderedDict
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest
from mailbag import message
from spam.poison import MARK, poison

from suffice.spam import SpamFilter, Verdict
from suffice.spam.daemon import server as server_module
from suffice.spam.daemon.judging import Policy
from suffice.spam.daemon.requests import BadRequestError, RequestReader
from suffice.spam.daemon.server import DaemonServer
from suffice.spam.serving import scoring
from suffice.spam.serving.activation import inherited_sockets, notify
from suffice.spam.serving.address import Address, Listeners
from suffice.spam.serving.journal import Journal
from suffice.spam.serving.scorer import Scorer
from suffice.spam.serving.scoring import points
from suffice.spam.serving.stores import Stores
from suffice.spam.stamping import stamped

SPAM, HAM = message(900, "spam"), message(901)


IS_DIRECT = False


@pytest.fixture(params=[False, True], ids=["server", "direct"])
def both_ways(request, monkeypatch):
    """Judged by processes that the server asks, and by processes that accept connections themselves."""
    monkeypatch.setitem(globals(), "IS_DIRECT", request.param)


@asynccontextmanager
async def served(store, timeout=10.0, workers=1, pattern=None, **policy):
    """A daemon that runs: how to ask it, its server, and what it has written."""
    lines = []

    class Output:
        def write(self, text):
            lines.append(text)

        def flush(self):
            pass

    with (
        tempfile.TemporaryDirectory() as folder,  # short, as names of sockets must be
        Listeners([Address(path=f"{folder}/s")], 0o600) as listeners,
    ):
        scorer = Scorer(Stores(store, pattern), workers, patience=timeout)
        journal = Journal(as_json=True, output=Output())
        async with scorer:
            server = DaemonServer(scorer, Policy(**policy), timeout=timeout, journal=journal, direct=IS_DIRECT)
            task = asyncio.create_task(server.serve(listeners.sockets))
            while IS_DIRECT and not (server.direct and server.direct.is_waiting):
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.3 if IS_DIRECT else 0)  # until the server accepts no more connections itself

            async def ask(request, eof=True):
                reader, writer = await asyncio.open_unix_connection(f"{folder}/s")
                writer.write(request)
                if eof:
                    writer.write_eof()
                answer = await asyncio.wait_for(reader.read(), 20)
                writer.close()
                return answer

            ask.path = f"{folder}/s"
            try:
                yield ask, server, lambda: [json.loads(line) for line in "".join(lines).splitlines()]
            finally:
                server.stop()
                await asyncio.wait_for(task, 30)


def spamc(method, raw=b"", version="1.5", **headers):
    lines = [f"{method} SPAMC/{version}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-length: {len(raw)}", "", ""]).encode() + raw


def http(path, raw=b"", method="POST", **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(raw)}", "", ""]).encode() + raw


def split(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode().split("\r\n"), body


def as_json(answer):
    head, body = split(answer)
    return int(head[0].split()[1]), json.loads(body)


@pytest.mark.usefixtures("both_ways")
def test_methods_of_spamassassin_are_answered_as_its_daemon_does(store):
    async def run():
        async with served(store) as (ask, _, log):
            assert await ask(b"PING SPAMC/1.2\r\n\r\n") == b"SPAMD/1.5 0 PONG\r\n"
            head, body = split(await ask(spamc("CHECK", SPAM, User="ann")))
            assert head[:2] == ["SPAMD/1.1 0 EX_OK", "Content-length: 0"]
            verdict, score, required = head[2].removeprefix("Spam: ").replace(" ; ", " / ").split(" / ")
            assert (verdict, required, body) == ("True", "5.0", b"")
            assert float(score) >= 5.0
            assert split(await ask(spamc("CHECK", HAM)))[0][2].startswith("Spam: False ; ")
            assert split(await ask(spamc("SYMBOLS", SPAM)))[1] == b"SUFFICE_SPAM"
            assert split(await ask(spamc("REPORT", HAM)))[1].startswith(b"suffice: ham, ")
            assert split(await ask(spamc("REPORT_IFSPAM", HAM)))[1] == b""
            assert split(await ask(spamc("REPORT_IFSPAM", SPAM)))[1].startswith(b"suffice: spam, ")
            # Exim speaks 1.2, closes its side, and finds the score behind the first line
            head, _ = split(await ask(spamc("REPORT", SPAM, "1.2")))
            assert head[1].startswith("Spam: True ; ")
            for request in (
                b"FLY SPAMC/1.5\r\n\r\n",
                b"hello\r\n",
                b"GET / SPAMC\r\n\r\n",
                b"CHECK SPAMC/1.5\r\nno colon\r\n\r\n",
            ):
                assert (await ask(request)).startswith(b"SPAMD/1.0 76 EX_PROTOCOL ")
            assert await ask(b"SKIP SPAMC/1.5\r\n\r\n") == b""
            await asyncio.sleep(0.05)
            assert {line["label"] for line in log() if line["event"] == "message"} == {"spam", "ham"}

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
def test_a_processed_message_has_the_headers_that_rules_look_for_and_no_forged_ones(store):
    raw = b"X-Spam-Flag: NO\nX-Suffice-Status: ham\nX-Spam-Status: No,\n score=-99\n" + SPAM

    async def run():
        async with served(store) as (ask, _, _log):
            head, body = split(await ask(spamc("PROCESS", raw)))
            assert head[1] == f"Content-length: {len(body)}"
            lines = body.split(b"\n")
            assert lines[:2] == [b"X-Suffice-Status: spam", b"X-Spam-Flag: YES"]
            assert lines[2].startswith(b"X-Spam-Level: *****")
            assert lines[3].startswith(b"X-Spam-Status: Yes, score=")
            assert b"\n".join(lines[4:]) == SPAM
            headers, _, _rest = body.partition(b"\n\n")
            assert split(await ask(spamc("HEADERS", raw)))[1] == headers + b"\n\n"
            _, body = split(await ask(spamc("PROCESS", raw, Suffice="details")))
            assert body == stamped(raw, Verdict(1.0, "spam", 0.0, []), details=False)
            _, body = split(await ask(spamc("PROCESS", HAM)))
            assert b"X-Spam-Flag" not in body
            assert b"X-Spam-Status: No, score=" in body
        async with served(store, details=True) as (ask, _, _log):
            _, body = split(await ask(spamc("PROCESS", SPAM)))
            assert b"X-Suffice-Reasons: " in body
            assert b"spamword" in split(await ask(spamc("REPORT", SPAM)))[1]

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
def test_clients_of_rspamd_get_what_they_read(store):
    async def run():
        async with served(store) as (ask, _, _log):
            assert split(await ask(http("/ping", method="GET")))[1] == b"pong\r\n"
            status, found = as_json(await ask(http("/checkv2", SPAM)))
            assert status == 200
            assert (found["is_skipped"], found["action"], found["required_score"]) == (False, "add header", 5.0)
            assert found["score"] >= 5.0
            assert found["symbols"]["SUFFICE_SPAM"]["score"] == found["score"]
            assert found["milter"]["add_headers"] == {"X-Suffice-Status": "spam"}
            status, found = as_json(await ask(http("/checkv2", HAM)))
            assert (found["action"], found["score"] < 5.0) == ("no action", True)
            assert as_json(await ask(http("/check", SPAM)))[1]["default"]["action"] == "add header"
            # in pieces, as Haraka sends, and compressed
            pieces = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (SPAM[:7], SPAM[7:])) + b"0\r\n\r\n"
            chunked = b"POST /checkv2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n" + pieces
            answer = await ask(chunked)
            assert as_json(answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"))[1]["action"] == "add header"
            assert (
                as_json(await ask(http("/checkv2", gzip.compress(SPAM), Content_Encoding="gzip")))[1]["action"]
                == "add header"
            )
            # the protocol before HTTP, which Exim speaks with variant=rspamd
            head, _ = split(await ask(spamc("CHECK", SPAM).replace(b"SPAMC/1.5", b"RSPAMC/1.3"), eof=False))
            assert head[0] == "RSPAMD/1.3 0 EX_OK"
            assert head[1].startswith("Metric: default; True; ")
            assert head[2] == "Action: add header"
            assert as_json(await ask(http("/stat", method="GET")))[0] == 404
            assert as_json(await ask(http("/checkv2", SPAM, File="/etc/passwd")))[0] == 400

    asyncio.run(run())


@pytest.mark.parametrize("headers", [{"Origin": "https://example.org"}, {"Sec_Fetch_Site": "cross-site"}])
def test_pages_in_a_browser_can_neither_teach_nor_ask(store, headers):
    async def run():
        async with served(store, learning=True) as (ask, _, _log):
            for path in ("/learnham", "/checkv2"):
                assert as_json(await ask(http(path, SPAM, **headers)))[0] == 403

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
def test_clients_teach_where_they_may_and_what_was_taught_counts_at_once(store):
    new = [message(i, "odd") for i in range(40)]

    async def run():
        async with served(store) as (ask, _, _log):
            answer = await ask(spamc("TELL", new[0], Message_class="spam", Set="local"))
            assert answer.startswith(b"SPAMD/1.0 69 EX_UNAVAILABLE learning is not allowed")
            assert as_json(await ask(http("/learnspam", new[0])))[0] == 403
        async with served(store, learning=True, workers=2) as (ask, _, _log):
            before = float(split(await ask(spamc("CHECK", new[39])))[0][2].split()[3])
            assert (
                "DidSet: local" in split(await ask(spamc("TELL", new[0], Message_class="spam", Set="local, remote")))[0]
            )
            assert "DidSet: local" not in split(await ask(spamc("TELL", new[0], Message_class="spam", Set="local")))[0]
            for raw in new[1:39]:
                assert as_json(await ask(http("/learnspam", raw))) == (200, {"success": True})
            assert as_json(await ask(http("/learnspam", new[1])))[0] == 208
            found = {float(split(await ask(spamc("CHECK", new[39])))[0][2].split()[3]) for _ in range(8)}
            assert len(found) == 1  # every process knows it
            assert found.pop() > before
            assert "DidRemove: local" in split(await ask(spamc("TELL", new[0], Remove="local")))[0]
            assert "DidRemove: local" not in split(await ask(spamc("TELL", new[0], Remove="local")))[0]
            assert (await ask(spamc("TELL", new[0]))).startswith(b"SPAMD/1.0 65 EX_DATAERR")

    asyncio.run(run())
    with SpamFilter.open(store) as spam_filter:
        assert spam_filter.stats().spam == 30 + 38


def test_a_user_has_the_own_store(store, tmp_path):
    with SpamFilter.open(tmp_path / "ann.sqlite") as turned:
        turned.train_many([message(i, "spam") for i in range(30)], "ham")
        turned.train_many([message(i) for i in range(30)], "spam")

    async def run():
        async with served(store, pattern=f"{tmp_path}/{{user}}.sqlite") as (ask, _, _log):
            for user, said in (("ann", "False"), ("ann@example.org", "False"), ("bob", "True"), ("../ann", "True")):
                assert split(await ask(spamc("CHECK", SPAM, User=user)))[0][2].split()[1] == said
            assert as_json(await ask(http("/checkv2", SPAM, Deliver_To="ann")))[1]["action"] == "no action"

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("fault", ["reading", pytest.param("hang", marks=pytest.mark.slow), "kill"])
def test_a_message_that_cannot_be_judged_is_passed_on_as_such_and_the_next_one_is_judged(
    store, tmp_path, monkeypatch, fault
):
    poison(fault, tmp_path, monkeypatch)
    bad = SPAM + MARK

    async def run():
        async with served(store, timeout=4.0 if fault == "hang" else 20.0) as (ask, _, log):
            head, body = split(await ask(spamc("PROCESS", b"X-Suffice-Status: ham\n" + bad)))
            assert head[2] == "Spam: False ; 0.0 / 5.0"
            assert body == b"X-Suffice-Status: error\n" + bad
            assert split(await ask(spamc("CHECK", SPAM)))[0][2].startswith("Spam: True")
            found = as_json(await ask(http("/checkv2", bad)))[1]
            assert (found["is_skipped"], found["action"]) == (True, "no action")
            assert found["milter"]["add_headers"] == {"X-Suffice-Status": "error"}
            assert (await ask(spamc("CHECK", bad))).startswith(b"SPAMD/1.1 70 EX_SOFTWARE\r\n")
            await asyncio.sleep(0.05)  # lines about messages that were judged directly come a little later
            assert [line["event"] for line in log()].count("trouble") == 1  # of a kind, once an hour

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("trouble", ["missing", "damaged"])
def test_without_a_store_messages_pass_and_one_that_is_made_later_is_used(store, tmp_path, trouble):
    path = tmp_path / "other"
    if trouble == "damaged":
        path.write_bytes(b"not a store" * 1000)

    async def run():
        async with served(path) as (ask, _, _log):
            assert split(await ask(spamc("PROCESS", SPAM)))[1].startswith(b"X-Suffice-Status: error\n")
            os.replace(store, path)
            assert split(await ask(spamc("PROCESS", SPAM)))[1].startswith(b"X-Suffice-Status: spam\n")

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
def test_limits_hold_before_and_after_messages_are_decompressed(store):
    bomb = zlib.compress(b"x" * 3_000_000)
    assert len(bomb) < 10_000

    async def run():
        async with served(store, limit=1_000_000) as (ask, server, _log):
            small = spamc("CHECK", zlib.compress(SPAM), Compress="zlib")
            assert split(await ask(small))[0][2].startswith("Spam: True")
            for request in (
                spamc("CHECK", bomb, Compress="zlib"),
                b"CHECK SPAMC/1.5\r\nContent-length: 1000001\r\n\r\n",
                b"CHECK SPAMC/1.5\r\n\r\n" + b"x" * 1_000_001,
            ):
                assert (await ask(request)).startswith(b"SPAMD/1.0 65 EX_DATAERR a message may have 1000000 bytes")
            assert (
                as_json(await ask(http("/checkv2", gzip.compress(b"x" * 3_000_000), Content_Encoding="gzip")))[0] == 413
            )
            assert (await ask(spamc("CHECK", b"no zlib", Compress="zlib"))).startswith(b"SPAMD/1.0 76 ")
            assert (await ask(spamc("CHECK", b"", Compress="lzma"))).startswith(b"SPAMD/1.0 76 ")
            assert (await ask(b"CHECK SPAMC/1.5\r\n" + b"a: b\r\n" * 5000)).startswith(b"SPAMD/1.0 76 ")
            assert (await ask(b"CHECK SPAMC/1.5\r\nContent-length: 5\r\n\r\nabc")).startswith(b"SPAMD/1.0 76 ")
            assert server.buffered == 0
            await asyncio.sleep(0)
            assert not server._connections

    asyncio.run(run())


@pytest.mark.parametrize("held", ["half of a request", "an answer that is not read"])
def test_those_who_hold_the_room_for_messages_give_way_to_those_who_ask(store, monkeypatch, held):
    long = SPAM + b"x" * 8_000_000
    monkeypatch.setattr(server_module, "BUFFERED", 2 * len(long) + 10 * len(SPAM))
    begun = spamc("PROCESS", long)[: -10 if held.startswith("half") else None]

    async def run():
        async with served(store) as (ask, server, _log):
            holding = [await asyncio.open_unix_connection(ask.path) for _ in range(3)]
            for _, writer in holding:
                writer.transport.pause_reading()
                writer.write(begun)
            while server.buffered < len(begun):
                await asyncio.sleep(0.01)
            for _ in range(20):
                assert (await ask(spamc("CHECK", SPAM))).startswith(b"SPAMD/1.1 0 EX_OK")
                assert server.buffered <= server_module.BUFFERED
            for _, writer in holding:
                writer.transport.abort()
            while server.buffered:
                await asyncio.sleep(0.01)
            monkeypatch.setattr(server_module, "BUFFERED", 100)
            assert (await ask(spamc("CHECK", SPAM))).startswith(b"SPAMD/1.0 76 EX_PROTOCOL too many messages")

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
def test_a_client_that_costs_time_does_not_take_the_turn_of_others(store):
    """Single bytes as chunks cost the reader most."""

    async def run():
        async with served(store, timeout=20.0) as (ask, _server, _log):
            _, writer = await asyncio.open_unix_connection(ask.path)
            writer.write(b"POST /checkv2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 500_000)
            answered = 0
            sending = asyncio.create_task(writer.drain())
            while not sending.done():
                assert (await ask(spamc("CHECK", SPAM))).startswith(b"SPAMD/1.1 0 EX_OK")
                answered += 1
            assert answered >= 3
            writer.transport.abort()

    asyncio.run(run())


@pytest.mark.parametrize("sign", [chr(code) for code in range(256) if chr(code).splitlines() != [chr(code)]][1:])
def test_only_line_feeds_end_the_headers_of_a_request(sign):
    for ask in (spamc, http):
        if sign == "\n":
            continue
        request = ask("CHECK" if ask is spamc else "/checkv2", SPAM, User=f"ann{sign}Content-length: 3")
        found = RequestReader(10_000).feed(request.decode("latin-1").encode("latin-1"))
        assert found.body == SPAM


@pytest.mark.usefixtures("both_ways")
def test_a_message_that_would_be_judged_as_other_bytes_is_refused(store):
    async def run():
        async with served(store) as (ask, _server, _log):
            for name, value in {"Compression": "zstd", "Key": "abc", "Content_Encoding": "zstd"}.items():
                for path in ("/checkv2", "/check", "/symbols", "/learnspam"):
                    assert (await ask(http(path, SPAM, **{name: value}))).startswith(b"HTTP/1.1 400 ")

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
def test_a_thousand_idle_connections_do_not_switch_it_off_and_silent_ones_are_closed(store, monkeypatch):
    monkeypatch.setattr(server_module, "_SWEEP", 0.1)

    async def run():
        async with served(store) as (ask, server, log):
            idle = [await asyncio.open_unix_connection(ask.path) for _ in range(1000)]
            end = time.monotonic() + 10
            while len(server._connections) != server_module.CONNECTIONS and time.monotonic() < end:
                await asyncio.sleep(0.1)
            assert len(server._connections) == server_module.CONNECTIONS
            assert split(await ask(spamc("CHECK", SPAM)))[0][2].startswith("Spam: True")
            assert log()[0]["text"] == "there are more than 500 connections"
            monkeypatch.setattr(server_module, "IDLE_TIMEOUT", 0.0)
            while server._connections and time.monotonic() < end + 10:
                await asyncio.sleep(0.05)
            assert not server._connections
            for _, writer in idle:
                writer.close()

    asyncio.run(run())


def test_the_server_accepts_connections_while_processes_that_should_do_not_run(store, monkeypatch):
    monkeypatch.setitem(globals(), "IS_DIRECT", True)

    async def run():
        async with served(store, workers=2) as (ask, server, _log):
            assert split(await ask(spamc("CHECK", SPAM)))[0][2].startswith("Spam: True")
            for process in server.direct._processes:
                process.program.send_signal(signal.SIGSTOP)
            answers = await asyncio.gather(*(ask(spamc("CHECK", SPAM)) for _ in range(5)))
            assert all(each.startswith(b"SPAMD/1.1 0 EX_OK") for each in answers)
            for process in server.direct._processes:
                process.program.send_signal(signal.SIGCONT)

    asyncio.run(run())


def test_stores_that_are_open_together_keep_no_more_weights_than_one_may(store, tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "_OPEN", OrderedDict())
    other = tmp_path / "other"
    shutil.copy(store, other)
    for path in (store, other):
        scoring.judge(scoring.Request(SPAM, str(path), None, "/"))
    known = [spam_filter.known_tokens for _, spam_filter in scoring._OPEN.values()]
    assert known[0] == known[1] > 0
    monkeypatch.setattr(scoring, "KNOWN_LIMIT", known[0] + known[1] - 1)
    judged = scoring.judge(scoring.Request(SPAM, str(other), None, "/"))
    assert [spam_filter.known_tokens for _, spam_filter in scoring._OPEN.values()] == [0, known[1]]
    assert scoring.judge(scoring.Request(SPAM, str(store), None, "/")) == judged
    for _, spam_filter in scoring._OPEN.values():
        spam_filter.close()


@pytest.mark.usefixtures("both_ways")
def test_it_ends_after_the_requests_that_are_complete(store):
    async def run():
        async with served(store) as (ask, server, _log):
            reader, writer = await asyncio.open_unix_connection(ask.path)
            writer.write(b"CHECK SPAMC/1.5\r\nContent-length: 500\r\n\r\nhalf")
            await asyncio.sleep(0.05)
            asking = [asyncio.create_task(ask(spamc("CHECK", SPAM))) for _ in range(20)]
            await asyncio.sleep(0.05)
            server.stop()
            assert all(each.startswith(b"SPAMD/1.1 0 EX_OK") for each in await asyncio.gather(*asking))
            assert await reader.read() == b""
            writer.close()

    asyncio.run(run())


@pytest.mark.usefixtures("both_ways")
def test_processes_are_replaced_while_messages_are_judged(store):
    async def run():
        async with served(store, workers=2) as (ask, server, log):
            before = set(server._scorer._processes)
            asking = [asyncio.create_task(ask(spamc("CHECK", SPAM))) for _ in range(50)]
            for _ in range(3):  # as many as come while the first one is under way
                server.reload()
                assert server.direct is None or len(server.direct._processes) <= 4
                await asyncio.sleep(0.02)
            assert all(each.startswith(b"SPAMD/1.1 0 EX_OK") for each in await asyncio.gather(*asking))
            while [line["event"] for line in log()].count("reloaded") < 3:
                await asyncio.sleep(0.05)
            assert len(server._scorer._processes) == 2
            assert not before & server._scorer._processes
            assert split(await ask(spamc("CHECK", SPAM)))[0][2].startswith("Spam: True")

    asyncio.run(run())


def cut(reader, data, generator):
    """Feed a request in pieces of any length."""
    while data:
        size = generator.choice([1, 2, 3, 10, 1000])
        found = reader.feed(data[:size])
        data = data[size:]
        if found is not None:
            return found
    return reader.end()


def test_a_request_is_the_same_in_whatever_pieces_it_comes():
    generator = random.Random(5)
    chunked = b"POST /checkv2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    for data, body in (
        (spamc("CHECK", b"a\r\n\r\nb"), b"a\r\n\r\nb"),
        (b"CHECK SPAMC/1.5\nUser: ann\n\nbody", b"body"),
        (chunked, b"abcde"),
        (http("/checkv2", b"xyz"), b"xyz"),
        (b"PING SPAMC/1.2\r\n\r\n", b""),
    ):
        for _ in range(30):
            assert cut(RequestReader(1000), data, generator).body == body


def test_no_bytes_make_the_reader_fail_otherwise_than_it_says():
    generator = random.Random(6)
    parts = [
        b"CHECK SPAMC/1.5",
        b"POST /x HTTP/1.1",
        b"\r\n",
        b"\n",
        b"\r",
        b"Content-length: ",
        b"5",
        b"9" * 5000,
        b"-1",
    ]
    parts += [
        b"Transfer-Encoding: chunked",
        b"Compress: zlib",
        b":",
        b"\0",
        b"\xff",
        b"0\r\n\r\n",
        b"ffffffff\r\n",
        b" ",
    ]
    parts += [b"\xb2", b"\xd9\xa1", b"Content-length: \xb2"]
    for _ in range(3000):
        data = b"".join(generator.choices(parts, k=generator.randrange(1, 12)))
        with suppress(BadRequestError):
            found = cut(RequestReader(100), data, generator)
            assert found is None or len(found.body) <= 100


def test_points_say_what_the_label_says():
    generator = random.Random(7)
    for _ in range(2000):
        threshold, p = (
            generator.choice([1e-9, 0.3, 0.9, 0.999999, 1.0]),
            generator.random() ** generator.choice([1, 9, 0.1]),
        )
        label = "spam" if p >= threshold else "unsure"
        assert (points(Verdict(p, label, 0.0, []), threshold) >= 5.0) == (label == "spam")


@contextmanager
def daemon(*arguments, **environment):
    """The command, and what it has said until it listens."""
    path = os.pathsep.join(map(str, sys.path))
    call = [sys.executable, "-m", "suffice.cli", "spam", "daemon", "--json", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()


def asked(path, request):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(path)
        client.sendall(request)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    return answer


def test_the_command_listens_reloads_and_ends_on_signals(store):
    with (
        tempfile.TemporaryDirectory() as folder,
        daemon("-s", store, "-l", f"unix:{folder}/s", "-l", "inet:0") as process,
    ):
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert [line["event"] for line in lines] == ["listening", "listening"]
        port = int(lines[1]["address"].removeprefix("inet:").removesuffix("@127.0.0.1"))
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(spamc("CHECK", SPAM))
            assert client.recv(100).startswith(b"SPAMD/1.1 0 EX_OK")
        assert json.loads(process.stdout.readline())["label"] == "spam"
        process.send_signal(signal.SIGHUP)
        assert json.loads(process.stdout.readline()) == {"event": "reloaded"}
        assert asked(f"{folder}/s", spamc("CHECK", SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert json.loads(process.stdout.readline()) == {"event": "ended"}
        assert process.wait(20) == 0
        assert not os.path.exists(f"{folder}/s")


def test_a_socket_that_systemd_has_opened_is_used_and_systemd_is_told(store):
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as listener,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told,
    ):
        listener.bind(f"{folder}/s")
        listener.listen()
        told.bind(f"{folder}/notify")
        told.settimeout(30)
        start = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ['LISTEN_PID'] = str(os.getpid()); "
            "os.execv(sys.executable, [sys.executable, '-m', 'suffice.cli', 'spam', 'daemon', '-q', '-s', sys.argv[2]])"
        )
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, sys.path)),
            "LISTEN_FDS": "1",
            "NOTIFY_SOCKET": f"{folder}/notify",
        }
        call = [sys.executable, "-c", start, str(listener.fileno()), str(store)]
        with subprocess.Popen(call, pass_fds=[listener.fileno()], stdout=subprocess.PIPE, env=environment) as process:
            assert told.recv(100) == b"READY=1"
            assert asked(f"{folder}/s", spamc("CHECK", SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
            process.terminate()
            assert told.recv(100) == b"STOPPING=1"
            assert process.wait(30) == 0
        assert os.path.exists(f"{folder}/s")  # it is systemd's


def test_a_log_that_nobody_reads_stops_no_mail(store):
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while os.write(write, b"x" * 65536):
            pass
    os.set_blocking(write, True)
    with open(write, "w") as output:
        journal = Journal(output=output)
        begun = time.monotonic()
        for _ in range(3):
            journal.say("message", label="spam")
        assert time.monotonic() - begun < 1
        os.read(read, 1 << 20)
        journal.say("message", label="ham")
    assert os.read(read, 1 << 20).endswith(b"message: label=ham\n")
    os.close(read)
    assert journal.counts == {"spam": 3, "ham": 1}


def test_descriptors_that_are_meant_for_another_process_are_not_taken(monkeypatch):
    for count, meant_for in (("1", "1"), ("x", str(os.getpid())), ("²", str(os.getpid())), ("", "")):
        monkeypatch.setenv("LISTEN_FDS", count)
        monkeypatch.setenv("LISTEN_PID", meant_for)
        assert inherited_sockets() == []
        assert "LISTEN_FDS" not in os.environ
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/at/all")
    notify("READY=1")  # nothing


FILTER = (sys.executable, "-m", "suffice.cli", "spam", "filter")


def pipe(*arguments, raw=SPAM, program=FILTER, **environment):
    path = os.pathsep.join(map(str, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "XDG_RUNTIME_DIR": "/nowhere", **environment}
    done = subprocess.run([*program, *map(str, arguments)], input=raw, capture_output=True, env=environment, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The program in C: that of an installed wheel, or compiled here."""
    source, compiler = Path(server_module.__file__).parents[1] / "_filter.c", shutil.which("cc")
    path = tmp_path_factory.mktemp("client") / "suffice-filter"
    if source.exists() and compiler is not None:
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-O2", "-o", str(path), str(source)], check=True)
    else:
        installed = Path(sys.executable).with_name("suffice-filter")
        if not installed.exists() or installed.read_bytes()[:2] == b"#!":
            pytest.skip("there is neither a C compiler nor a compiled client")
        shutil.copy(installed, path)
    fallback = path.with_name("suffice")
    fallback.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m suffice.cli "$@"\n')
    fallback.chmod(0o755)
    return path


@pytest.mark.parametrize("by", [pytest.param("Python", marks=pytest.mark.slow), "C"])
def test_filter_asks_the_daemon_and_judges_the_message_itself_where_there_is_none(store, by, request):
    program = {"program": (str(request.getfixturevalue("client")),)} if by == "C" else {}
    long = b"Subject: long\n\n" + b"spamword1 " * 2_000_000
    with tempfile.TemporaryDirectory() as folder, daemon("-s", store, "-l", f"unix:{folder}/s", "--details") as process:
        assert json.loads(process.stdout.readline())["event"] == "listening"
        address = f"--daemon=unix:{folder}/s"
        named = {"SUFFICE_SPAM_DAEMON": f"unix:{folder}/s"}
        there = pipe("-s", store, raw=SPAM)
        assert pipe(address, **program)[:2] == there[:2]
        assert pipe("--daemon", **named, **program) == (0, there[1], "")
        code, output, _ = pipe("--daemon", "--no-details", raw=HAM, **named, **program)
        assert (code, output) == (1, b"X-Suffice-Status: ham\n" + HAM)
        assert pipe("--daemon", "-p", raw=HAM, **named, **program)[0] == 0
        code, output, _ = pipe("--daemon", "--no-details", raw=long, **named, **program)
        assert output.split(b"\n", 1)[1] == long
        for raw in (b"", b"\n", b"From ann\nSubject: x\r\n", b"\0" * 1000):
            assert pipe("--daemon", raw=raw, **named, **program)[1] == pipe("-s", store, raw=raw)[1]
    code, output, errors = pipe(address, raw=HAM, SUFFICE_SPAM_STORE=str(store), **program)
    assert (code, output) == pipe("-s", store, raw=HAM)[:2]
    assert re.search("the daemon.* cannot be (asked|reached)", errors)
    assert pipe("--json", raw=HAM, SUFFICE_SPAM_STORE=str(store), **program)[2].startswith('{"label": "ham"')


@pytest.mark.parametrize("by", [pytest.param("Python", marks=pytest.mark.slow), "C"])
def test_a_message_that_cannot_be_read_to_its_end_does_not_go_on_as_if_it_were_whole(store, by, request):
    program = [str(request.getfixturevalue("client"))] if by == "C" else [*FILTER]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path)), "SUFFICE_SPAM_STORE": str(store)}
    with tempfile.TemporaryDirectory() as folder, daemon("-s", store, "-l", f"unix:{folder}/s") as process:
        assert json.loads(process.stdout.readline())["event"] == "listening"
        standard_input = os.open("/proc/self/mem", os.O_RDONLY)  # there is nothing at its first address: reads fail
        done = subprocess.run(
            [*program, f"--daemon=unix:{folder}/s", "-p"], stdin=standard_input, capture_output=True, env=path
        )
        os.close(standard_input)
    assert (done.returncode, done.stdout) == (75, b"")
    assert b"standard input cannot be read" in done.stderr


def answer_once(listener, answer):
    client, _ = listener.accept()
    with client:
        client.recv(65536)
        client.sendall(answer)


@pytest.mark.slow  # it waits until time is up
@pytest.mark.parametrize("by", ["Python", "C"])
def test_a_daemon_that_says_nothing_or_nonsense_costs_no_mail(store, by, request):
    program = {"program": (str(request.getfixturevalue("client")),)} if by == "C" else {}
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/s")
        listener.listen()
        begun = time.monotonic()
        silent = pipe(f"--daemon=unix:{folder}/s", "--timeout", "2", SUFFICE_SPAM_STORE=str(store), **program)
        assert silent[0] == 0
        assert silent[1].startswith(b"X-Suffice-Status: spam\n")
        assert time.monotonic() - begun < 30
    for answer in (
        b"",
        b"SPAMD/1.1 0 EX_OK\r\n",
        b"SPAMD/1.1 0 EX_OK\r\nContent-length: 99\r\nSuffice: ham\r\n\r\nshort",
        b"SPAMD/1.0 76 EX_PROTOCOL no\r\n\r\n",
        b"SPAMD/1.1 0 EX_OK\r\nContent-length: 1\r\n\r\nx",
    ):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            other = threading.Thread(target=answer_once, args=(listener, answer))
            other.start()
            code, output, _ = pipe(f"--daemon=unix:{folder}/s", SUFFICE_SPAM_STORE=str(store), **program)
            other.join()
            assert (code, output) == (0, silent[1])
