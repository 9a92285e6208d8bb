"""One message that the reader cannot take is skipped, named, counted and passed on, by every command and the page."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer.main
from mailbag import message
from spam.milter_client import Mta
from spam.poison import FAULTS, MARK, poison
from spam_site import Site
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import SpamFilter, UnreadableError
from suffice.spam.bounded import Bounded
from suffice.spam.commands.app import app as spam_app
from suffice.spam.imap.connection import State
from suffice.spam.imap.events import Tally
from suffice.spam.imap.folders import Folders
from suffice.spam.imap.place import Place
from suffice.spam.imap.watching import Watch
from suffice.spam.mailboxes import as_mbox
from suffice.spam.milter import Address, MilterServer
from suffice.spam.serving.journal import Journal
from suffice.spam.serving.scorer import Scorer
from suffice.spam.serving.stores import Stores

BAD = b"From: mallory@example.org\nSubject: spam 7\n\n" + MARK + b" spamword1 spamword2\n"
SPAMS, HAMS = [message(i, "spam") for i in range(30)], [message(i) for i in range(30)]
#: commands that read no message
OTHERS = {
    "daemon",
    "stats",
    "backup",
    "restore",
    "expire",
    "demo",
    "allow",
    "block",
    "export",
    "import",
    "settings",
    "buckets",
}


def run(*args, code=3, **options):
    result = CliRunner().invoke(app, ["spam", *map(str, args)], prog_name="suffice", catch_exceptions=False, **options)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    path = tmp_path_factory.mktemp("taught") / "taught.sqlite"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many(SPAMS, "spam")
        spam_filter.train_many([*HAMS, BAD], "ham")
    return path


@pytest.fixture
def store(taught, tmp_path):
    return shutil.copy(taught, tmp_path / "spam.sqlite")


@pytest.fixture
def box(tmp_path):
    """Ten messages, the fourth of which sets off the fault."""
    raws = [message(100 + i, "spam") for i in range(9)]
    raws.insert(3, BAD)
    path = tmp_path / "box"
    path.write_bytes(b"".join(map(as_mbox, raws)))
    return path


def train(box, store, fault):
    said = json.loads(run("train", "--spam", box, "-s", store, "--json").stdout)
    assert said["learned"] == 9
    return said["skipped"]


def train_unlabeled(box, store, fault):
    said = json.loads(run("train", "--unlabeled", box, "-s", store, "--json").stdout)
    assert said["unlabeled"]["messages"] == 9
    return said["skipped"]


def classify(box, store, fault):
    lines = [json.loads(line) for line in run("classify", box, "-s", store, "--json").stdout.splitlines()]
    assert [line["label"] for line in lines] == ["spam"] * 3 + ["error"] + ["spam"] * 6
    plain = run("classify", box, "-s", store).stdout.splitlines()
    assert plain[3].split("\t")[:3] == ["error", "-", f"{box}:4"]
    return [{"place": lines[3]["place"], "reason": lines[3]["problem"]}]


def setup(box, store, fault):
    more = box.with_name("ham")
    more.write_bytes(b"".join(as_mbox(message(i)) for i in range(500, 510)))
    said = json.loads(run("setup", "--spam", box, "--ham", more, "-s", store, "--yes", "--json").stdout)
    assert said["learned"]["new"] == 19
    return said["skipped"]


def evaluate(box, store, fault):
    said = json.loads(run("evaluate", "--spam", box, "-s", store, "--json").stdout)
    assert said["spam"] == 9
    return said["skipped"]


def tune(box, store, fault):
    more = box.with_name("more")
    more.write_bytes(b"".join(map(as_mbox, SPAMS)))
    ham = box.with_name("ham")
    ham.write_bytes(b"".join(map(as_mbox, HAMS)))
    mail = ["--spam", box, "--spam", more, "--ham", ham]
    return json.loads(run("tune", *mail, "-s", store, "--json", "--dry-run").stdout)["skipped"]


def explain(box, store, fault):
    result = run("explain", f"{box}:4", "-s", store)
    assert run("explain", f"{box}:3", "-s", store, code=0)
    assert f"{box}:4: the message cannot be read (" in result.stderr


def untrain(box, store, fault):
    box.write_bytes(b"".join(map(as_mbox, [*SPAMS[:3], BAD, *HAMS[:6]])))
    if fault == "identity":
        said = json.loads(run("untrain", box, "-s", store, "--json").stdout)
        assert said["untrained"] == {"spam": 3, "ham": 6, "unlabeled": 0}
        return said["skipped"]
    said = json.loads(run("untrain", box, "-s", store, "--json", code=0).stdout)  # its identity is enough
    assert said["untrained"] == {"spam": 3, "ham": 7, "unlabeled": 0}
    return None


def retrain(box, store, fault):
    box.write_bytes(b"".join(map(as_mbox, [*SPAMS[:3], BAD, *HAMS[:6]])))
    said = json.loads(run("retrain", "--spam", box, "-s", store, "--json").stdout)
    assert (said["moved"], said["already"]) == (6, 3)
    return said["skipped"]


def filter_(box, store, fault):
    call = [sys.executable, "-m", "suffice.cli", "spam", "filter", "--store", str(store)]
    reason = b"the message cannot be read ("
    if fault == "hang":
        call += ["--timeout", "2"]
        reason = b"it was not classified within 2 seconds"
    for raw in (BAD, b"X-Suffice-Status: ham\n" + BAD):
        done = subprocess.run(call, input=raw, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout) == (3, b"X-Suffice-Status: error\n" + BAD)
        assert reason in done.stderr
    assert subprocess.run(call, input=SPAMS[0], capture_output=True, timeout=60).returncode == 0


class Server:
    """Folders as a watch sees them."""

    can_move = True

    def __init__(self, folders):
        self.folders, self.fetching = folders, []

    def status(self, folder):
        return State(1, max(self.folders[folder], default=0))

    def select(self, folder, writing=False):
        return self.status(folder)

    def uids(self, folder, after=0):
        return sorted(uid for uid in self.folders[folder] if uid > after)

    def bodies(self, folder, uids, writing=False, alone=False):
        yield from [(uid, self.folders[folder][uid]) for uid in uids]

    def move(self, folder, uid, target, is_copied=False):
        self.folders[target][uid] = self.folders[folder].pop(uid)


def watch(box, store, fault):
    server = Server({"INBOX": {}, "Junk": {}, "Archive": {}})
    with SpamFilter.open(store, budget=1.0) as spam_filter:
        for start in range(2):  # and not once more at the next start
            place, events, tally = Place(f"{store}.place"), [], Tally()
            look = Watch(spam_filter, place, Folders(ham=("Archive",)), events.append).look
            if not start:
                look(server)
            new = {7 + i: message(200 + i, "spam") for i in range(3)} | {8: BAD}
            if not start:
                server.folders |= {"INBOX": dict(new), "Archive": {3: BAD, 4: message(300)}}
                server.folders["Junk"] |= {90: BAD, 91: message(301, "spam")}
            look(server)
            look(server)
            place.close()
            for event in events:
                tally.add(event)
            failed = [event for event in events if event.label == "error"]
            assert tally.unread == len(failed)
            assert {event.folder for event in failed} == (set() if start else {"INBOX", "Junk", "Archive"})
            assert all("is skipped: the message cannot be read (" in event.as_text() for event in failed)
    assert list(server.folders["INBOX"].values()) == [BAD]  # the others are moved


def milter(box, store, fault):
    async def serve():
        path = f"{box.parent}/s"
        scorer = Scorer(Stores(store, None), 1)
        await scorer.start()
        server = MilterServer(
            scorer, timeout=5.0 if fault == "hang" else 20.0, journal=Journal(output=(box.parent / "log").open("w"))
        )
        up = asyncio.Event()
        task = asyncio.create_task(server.serve(Address(path=path), started=lambda _: up.set()))
        await up.wait()
        mta = await Mta.connect(path)
        found = [await mta.status(raw) for raw in (SPAMS[0], BAD, HAMS[0], b"X-Suffice-Status: ham\n" + BAD)]
        await mta.close()
        server.stop()
        await task
        await scorer.close()
        server._journal._output.close()
        return found

    assert asyncio.run(serve()) == ["spam", "error", "ham", "error"]
    log = (box.parent / "log").read_text()
    assert "label=error" in log
    assert f"kind={'TimeoutError' if fault == 'hang' else 'UnreadableError'}" in log
    assert (
        "a message was not scored in time: 5 seconds in all" if fault == "hang" else "the message cannot be read ("
    ) in log


def serve(box, store, fault):
    site = Site(store, box, fork=False)
    try:
        site.wait()
        listed = site.get("/").text
        assert (listed.count('class="row spam"'), listed.count('class="row error"')) == (9, 1)
        assert "1 message could not be read and is not judged" in listed
        shown = site.get("/message/3")
        assert shown.status == 200
        assert "Not judged: the message cannot be read (" in shown.text
        for number in (2, 3, 4):
            answer = site.post(f"/message/{number}/train", {"label": "ham"}, part=True)
            assert answer.status == (422 if number == 3 else 200)
            assert ("Nothing was learned: the message cannot be read (" in answer.text) == (number == 3)
        assert site.get("/message/3").status == 200
    finally:
        code, _, errors = site.end()
    assert (code, errors) == (0, "")


COMMANDS = {
    "train": train, "train --unlabeled": train_unlabeled, "classify": classify, "evaluate": evaluate, "tune": tune,
    "explain": explain, "untrain": untrain, "retrain": retrain, "filter": filter_, "watch": watch, "milter": milter,
    "serve": serve, "setup": setup,
}  # fmt: skip


def test_every_command_is_among_these():
    assert set(typer.main.get_command(spam_app).commands) == {name.split()[0] for name in COMMANDS} | OTHERS


@pytest.mark.parametrize(
    ("name", "fault"),
    # those that start a process take long
    [(name, fault) for name in COMMANDS for fault in FAULTS if name not in ("filter", "serve") or fault == "identity"],
)
def test_a_message_that_the_reader_cannot_take_stops_nothing(name, fault, box, store, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    poison(fault, tmp_path, monkeypatch)
    skipped = COMMANDS[name](box, store, fault)
    if skipped is not None:
        [only] = skipped
        assert only["place"] == f"{box}:4"
        assert only["reason"].startswith("the message cannot be read (")


SLOW = pytest.mark.slow  # it waits until time is up


@pytest.mark.parametrize("name", ["filter", *(pytest.param(name, marks=SLOW) for name in ("watch", "milter", "serve"))])
def test_a_message_that_never_ends_is_ended_and_the_next_ones_are_judged(name, box, store, tmp_path, monkeypatch):
    poison("hang", tmp_path, monkeypatch)
    COMMANDS[name](box, store, "hang")


def test_a_budget_ends_what_takes_longer_and_nothing_else(tmp_path, monkeypatch):
    with SpamFilter(budget=30.0) as spam_filter:
        spam_filter.train(SPAMS[0], "spam")
        spam_filter.train(HAMS[0], "ham")
        with SpamFilter() as other:
            other.train(SPAMS[0], "spam")
            other.train(HAMS[0], "ham")
            assert list(other.score_many(SPAMS)) == list(spam_filter.score_many(SPAMS))
            assert other.score(SPAMS[1]) == spam_filter.score(SPAMS[1])
    poison("hang", tmp_path, monkeypatch)
    with SpamFilter(budget=1.0) as spam_filter:
        spam_filter.train(SPAMS[0], "spam")
        spam_filter.train(HAMS[0], "ham")
        labels = [verdict.label for verdict in spam_filter.score_many([SPAMS[0], BAD, HAMS[0]])]
        assert labels == ["unsure", "error", "ham"]
        assert "TimeoutError: it took more than 1 seconds" in spam_filter.score(BAD).problem
        with pytest.raises(UnreadableError, match="more than 1 seconds"):
            spam_filter.train(BAD, "spam")
        assert spam_filter.retrain(SPAMS[0], "ham")


def test_an_interruption_leaves_no_answer_for_the_next_question():
    def interrupt(number, frame):
        raise KeyboardInterrupt

    process, before = Bounded(), signal.signal(signal.SIGALRM, interrupt)
    try:
        assert process.ask(len, b"abc") == 3
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            process.ask(time.sleep, 1.0)
        assert process.ask(len, b"ab") == 2
        with pytest.raises(TypeError):  # what is raised there is raised here, and the process goes on
            process.ask(len, 1)
        assert process.ask(len, b"") == 0
    finally:
        signal.signal(signal.SIGALRM, before)
        process.close()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found by /proc")
@SLOW
def test_a_process_that_never_ends_does_not_outlive_the_one_that_waits_for_it(tmp_path, monkeypatch, store):
    poison("hang", tmp_path, monkeypatch)
    call = [sys.executable, "-m", "suffice.cli", "spam", "filter", "--store", str(store), "--timeout", "1"]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(BAD)
        process.stdin.close()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        end = time.monotonic() + 20
        while not (child := children.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
    assert child
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.parametrize("processes", [1, 2])
def test_messages_are_skipped_by_their_numbers_in_any_process(tmp_path, monkeypatch, processes):
    poison("reading", tmp_path, monkeypatch)
    raws = [message(i, "spam") for i in range(500)]
    for number in (0, 63, 64, 450, 499):
        raws[number] = BAD + b"%d" % number
    hams, skipped = [message(i) for i in range(500)], []

    def take(number, reason):
        skipped.append(number)

    with SpamFilter.open(tmp_path / "store") as spam_filter:
        training = spam_filter.train_many(raws, "spam", processes=processes, skipped=take)
        assert (training.learned, training.skipped) == (495, 5)
        spam_filter.train_many(hams, "ham", processes=processes)
        labels = [verdict.label for verdict in spam_filter.score_many(raws, processes=processes)]
        assert [number for number, label in enumerate(labels) if label == "error"] == [0, 63, 64, 450, 499]
        evaluation = spam_filter.evaluate(raws, "spam", processes=processes, skipped=take)
        assert (len(evaluation.probabilities), evaluation.skipped) == (495, 5)
        unlabeled = spam_filter.train_unlabeled(raws, processes=processes, skipped=take)
        assert (unlabeled.known, unlabeled.skipped) == (495, 5)
        assert skipped == [0, 63, 64, 450, 499] * 3
        assert spam_filter.score(BAD).label == "error"
        assert spam_filter.label_of(BAD) is None
        with pytest.raises(UnreadableError, match="a fault inside"):
            spam_filter.train(BAD, "spam")


@pytest.mark.parametrize("fault", ["kill", pytest.param("hang", marks=SLOW)])
def test_a_message_that_ends_or_stops_the_processes_of_a_training_is_named_and_the_others_are_learned(
    tmp_path, monkeypatch, fault
):
    poison(fault, tmp_path, monkeypatch)
    monkeypatch.setattr("suffice.spam.workers.CHUNK_SECONDS", 4.0)
    monkeypatch.setattr("suffice.spam.bounded.BUDGET", 2.0)
    raws, skipped = [message(i, "spam") for i in range(420)], []
    raws[70] = BAD
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        take = {"processes": 2, "skipped": lambda *args: skipped.append(args)}
        assert spam_filter.train_many(raws, "spam", **take).learned == 419
    [(number, reason)] = skipped
    assert number == 70
    assert ("it took more than 2 seconds" if fault == "hang" else "has ended (exit code -9)") in reason


def test_what_is_no_message_is_still_a_mistake_of_the_caller():
    with SpamFilter() as spam_filter, pytest.raises(TypeError, match="must be given as bytes"):
        spam_filter.score("text")
