"""A disk that is full: nothing is lost, nothing is half written, and there is one clear error."""

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from mailbag import bucketed, message, tables
from spam_site import Site, picked, post, write_mbox

from suffice.spam import SpamFilter

resource = pytest.importorskip("resource")

#: what may be done to a store, as lines of a program, and whether it makes a file beside it
WORK = {
    "train": "f.train(new, 'spam')",
    "train many": "f.train_many([new + b'%d' % i for i in range(20)], 'ham', processes=1)",
    "move": "f.train(old, 'ham')",
    "bucket": "f.train(old, 'ham', bucket='receipts')",
    "unlabelled": "f.train_unlabeled([new], processes=1)",
    "half-life": "f.half_life = 30.0",
    "untrain": "f.untrain(old)",
    "retrain": "f.retrain(old, 'ham')",
    "undo": "f.restore_states([state])",
    "tune": "f.tune(cost=3.0)",
    "thresholds": "f.thresholds = Thresholds(0.1, 0.95)",
    "allow": "f.allow(*(f'a{i}@example.org' for i in range(3000)))",
    "import": "f.import_text(open(export, 'rb'))",
    "backup": "f.backup(beside)",
    "export": "export_to(beside)",
}
PROGRAM = """
import json, resource, sys
from pathlib import Path
from suffice.spam import SpamFilter, Thresholds
from suffice.spam.commands.transfer import _write
from suffice.terminal.descriptions import describe

folder, limit, work, export, old, new = map(eval, sys.argv[1:])
folder = Path(folder)
filters, states, said = {}, {}, {}
for name in work:
    filters[name] = f = SpamFilter.open(folder / name)
    state = f.state_of(old)
    f.train(old, "ham") if name == "undo" else None
    states[name] = state
for f in filters.values() if not limit else (): f.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for name, line in work.items():
    beside = folder / (name + ".beside")
    try:
        f, state = filters[name] if limit else SpamFilter.open(folder / name), states[name]
        export_to = lambda path: _write(path, f.export_text)
        exec(line)
        said[name] = ""
    except Exception as error:
        said[name] = describe(error)
print(json.dumps(said))
"""


def work(folder, store, limit):
    """Do all the work, each on its own copy of a store, with files of limited size; return the errors."""
    export = folder / "text.jsonl"
    new = b"Subject: new\n\n" + b" ".join(b"%x" % i for i in range(3000))
    for name in WORK:
        (folder / name).write_bytes(store.read_bytes())
    with SpamFilter() as other, open(export, "wb") as file:
        other.train_many([message(i + 500) + new for i in range(5)], "ham", processes=1)
        other.export_text(file)
    given = [str(folder), limit, WORK, str(export), message(1, "spam"), new]
    program = [sys.executable, "-c", PROGRAM, *map(repr, given)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store, and what all the work makes of it where there is room."""
    folder = tmp_path_factory.mktemp("room")
    store = folder / "store"
    with SpamFilter.open(store) as spam_filter:
        for label in ("spam", "ham"):
            spam_filter.train_many([message(i, label) for i in range(30)], label, processes=1)
        spam_filter.train_many([bucketed(i, "work") for i in range(5)], "ham", bucket="work", processes=1)
    assert not any(work(folder, store, resource.RLIM_INFINITY).values())
    return store, {name: tables(folder / name) for name in WORK}


@pytest.mark.parametrize("limit", [0, 40_000, 100_000])
def test_a_full_disk_loses_nothing(filled, tmp_path, limit):
    store, after = filled
    before = tables(store)
    said = work(tmp_path, store, limit)
    for name, error in said.items():
        found = tables(tmp_path / name)
        if name == "undo":  # it was moved before
            assert found == (before if not error else after["move"]), (name, error)
        else:
            assert found == (before if error else after[name]), (name, error)
        assert "\n" not in error
        if error:
            assert f"{tmp_path}/{name}" in error, error  # which file it is
    failed = sum(map(bool, said.values()))
    assert failed == len(WORK) if limit == 0 else 0 < failed < len(WORK), said
    left = {path.name for path in tmp_path.iterdir()} - {
        *WORK,
        *(f"{name}{end}" for name in WORK for end in ("-wal", "-shm")),
    }
    made = {f"{name}.beside" for name in ("backup", "export") if not said[name]}
    assert left == {"text.jsonl", *made}


def test_the_page_on_a_full_disk_shows_mail_and_undoes_once_there_is_room(store, tmp_path):
    pytest.importorskip("uvicorn")
    site = Site(store, write_mbox(tmp_path / "inbox", [message(1000), message(1, "spam"), message(2)]))
    site.wait()
    try:
        before = tables(store)
        trained = site.post("/message/0/train", {"label": "spam", "view": "list"}, part=True)
        undo = re.search(r'hx-post="[^"]*(/undo/\d+)"', trained.text)[1]
        after, most = tables(store), resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (0, most[1]))
        for path in ("/", "/message/0", "/overview"):
            assert site.get(path).status == 200
        refused = [
            site.post("/message/0/train", {"label": "ham"}, part=True),
            site.post("/message/1/train", {"label": "undo"}, part=True),
            post(site, "/bulk", picked(0, 1, 2, label="spam")),
            post(site, undo, ""),
            site.post("/tuning/save", {"ham": "0.1", "spam": "0.8"}, part=True),
            site.post("/tuning/tune", {"cost": "5"}, part=True),
        ]
        for answer in refused:
            assert answer.status == 503
            assert "the space left" in answer.text
        assert tables(store) == after
        resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, most)
        assert post(site, undo, "").status == 200
        assert tables(store) == before
    finally:
        assert site.end()[0] == 0


def test_the_page_waits_for_another_writer_no_longer_than_a_person_does(store, tmp_path):
    pytest.importorskip("uvicorn")
    box = write_mbox(tmp_path / "inbox", [message(1000), message(1, "spam")])
    site = Site(store, box, changed=[("suffice.spam.page.desk.PATIENCE", 0.5)])
    site.wait()
    try:
        before = tables(store)
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for refused in (
                site.post("/message/0/train", {"label": "ham"}, part=True),
                post(site, "/bulk", picked(0, 1, label="ham")),
                site.post("/tuning/save", {"ham": "0.1", "spam": "0.8"}, part=True),
            ):
                assert refused.status == 503
                assert "has been locked by another process for more than 0.5 seconds" in refused.text
            for path in ("/", "/message/0", "/overview", "/tuning"):
                assert site.get(path).status == 200
        assert tables(store) == before
        assert site.post("/message/0/train", {"label": "ham"}, part=True).status == 200
    finally:
        assert site.end()[0] == 0
