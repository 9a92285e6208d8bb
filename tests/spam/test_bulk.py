"""Many messages at once: the same counts and verdicts as one by one, on any number of processes, however it ends."""

import copy
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailbag import contents, message, recounted, stored_messages

from suffice.spam import SpamFilter, StoreError, Thresholds, Training, Verdict
from suffice.spam.bulk import KnownWeights
from suffice.spam.evasion import _SPACED, spaced_words
from suffice.spam.reading import lines_of
from suffice.spam.workers import PARALLEL_FROM, WorkerError, spread

KINDS = ["spam" if i % 3 else "ham" for i in range(900)]
RAWS = [message(i, kind) + b"fr33 v1agra" for i, kind in enumerate(KINDS)]


@pytest.fixture
def taught(tmp_path):
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.train_many(RAWS[:300], KINDS[:300])
        yield spam_filter


@pytest.mark.parametrize("processes", [1, 2])
def test_verdicts_on_many_are_those_on_each(taught, processes):
    new = [message(i, "spam") + b"hamword3 never seen" for i in range(PARALLEL_FROM)]
    raws = [*RAWS[:50], *new, b"", b"\xff", "\nGrüße, Евгений".encode()]
    assert list(taught.score_many(raws, processes=processes)) == [taught.score(raw) for raw in raws]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_not_committed_is_seen_by_verdicts_within_and_not_after(taught, processes):
    raws = RAWS[:PARALLEL_FROM]
    before = list(taught.score_many(raws, processes=processes))

    def interrupted():
        with taught._store.transaction():
            taught.train_many(RAWS[300:], KINDS[300:], processes=1)
            within = list(taught.score_many(raws, processes=processes))
            assert within == [taught.score(raw) for raw in raws]
            assert within != before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(taught.score_many(raws, processes=processes)) == before


def test_processes_find_a_store_that_was_opened_by_a_relative_name(monkeypatch, tmp_path):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with SpamFilter.open("store") as spam_filter:
        spam_filter.train_many(RAWS[:300], KINDS[:300])
        monkeypatch.chdir("other")
        verdicts = list(spam_filter.score_many(RAWS[:PARALLEL_FROM], processes=2))
        assert verdicts == list(spam_filter.score_many(RAWS[:PARALLEL_FROM], processes=1))
        (tmp_path / "store").unlink()
        with pytest.raises(StoreError, match="no longer exists"):
            list(spam_filter.score_many(RAWS[:PARALLEL_FROM], processes=2))
    assert not list(Path().iterdir())


def test_verdicts_follow_what_is_learned_between_them(monkeypatch, taught):
    monkeypatch.setattr("suffice.spam.workers.FIRST_MESSAGES", 1)
    raw = message(1, "spam")
    verdicts = taught.score_many([raw] * 7, processes=1)  # in chunks of 1, 2 and 4
    first = next(verdicts)
    taught.train(message(2000, "spam"), "spam")
    taught.untrain(RAWS[1])  # the totals are what they were
    second = [next(verdicts), next(verdicts)]
    with SpamFilter.open(taught._store.name) as other:
        other.train(message(2001, "spam"), "spam")
        other.untrain(RAWS[2])
    third = next(verdicts)
    assert len({first.log_odds, second[0].log_odds, third.log_odds}) == 3
    assert second[0] == second[1]
    assert third == taught.score(raw)


def test_weights_that_were_taken_back_are_not_kept(taught):
    lines, known = lines_of(RAWS[0]), KnownWeights(taught._store)
    before = taught._verdicts([lines], known)

    def interrupted():
        with taught._store.transaction():
            taught.train_many(RAWS[300:], KINDS[300:], processes=1)
            assert taught._verdicts([lines], known) != before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert taught._verdicts([lines], known) == before


def test_the_evidence_is_put_in_order_when_it_is_looked_at():
    parts = [("a", 1.0), ("b", -3.0), ("c", 1.0), ("d", 0.0)]
    plain = Verdict(0.9, "spam", -1.0, sorted(parts, key=lambda part: -abs(part[1])))
    for make in (copy.copy, lambda verdict: pickle.loads(pickle.dumps(verdict)), lambda verdict: verdict):
        verdict = make(Verdict.of(0.9, "spam", -1.0, "a\nb\nc\nd", [part for _, part in parts]))
        assert verdict == plain
        assert verdict.evidence == [("b", -3.0), ("a", 1.0), ("c", 1.0), ("d", 0.0)]
        assert repr(make(verdict)) == repr(plain)
    assert Verdict.of(0.5, "unsure", 0.0, "", []).evidence == []
    with pytest.raises(AttributeError, match="evidenc"):
        _ = plain.evidenc


@pytest.mark.parametrize("half_life", [None, 3.0])
def test_training_on_errors_in_bulk_is_as_one_by_one(half_life):
    chance = random.Random(5)
    pairs = [(message(i % 150, kind), kind) for i, kind in enumerate(KINDS[:400])]
    pairs += [(raw, "ham" if label == "spam" else "spam") for raw, label in pairs[:60]]  # to be moved, some twice
    pairs += pairs[:20]
    chance.shuffle(pairs)
    raws, labels = zip(*pairs, strict=True)
    with SpamFilter() as bulk, SpamFilter() as single:
        for spam_filter in (bulk, single):
            spam_filter.half_life = half_life
            spam_filter.thresholds = Thresholds(0.3, 0.6)
            spam_filter.train_many(RAWS[:10], KINDS[:10], at=1e9)
        total = Training()
        for raw, label in pairs:
            before = stored_messages(single)
            changed = single.train(raw, label, only_errors=True)
            assert changed == (stored_messages(single) != before)
            total += Training(learned=int(changed))
        found = bulk.train_many(raws, labels, only_errors=True, processes=1)
        assert contents(bulk) == contents(single)
        assert found.learned + found.moved == total.learned
        assert min(found.learned, found.moved, found.known, found.right) > 0
        tokens, totals = contents(bulk)[0], bulk._store.totals()
        assert recounted(bulk) == (tokens, totals)


def test_a_batch_with_known_and_repeated_messages_counts_each_once(taught):
    raws, kinds = RAWS[200:700] + RAWS[650:750], KINDS[200:700] + KINDS[650:750]
    training = taught.train_many(raws, kinds, processes=2)
    assert training == Training(learned=450, known=150)
    with SpamFilter() as other:
        other.train_many(RAWS[:750], KINDS[:750], processes=1)
        assert contents(taught)[0] == contents(other)[0]


def die(chunk):
    os.kill(os.getpid(), signal.SIGKILL)


def complain(chunk):
    raise ValueError(f"a chunk of {len(chunk)}")


def test_what_ends_or_fails_elsewhere_is_told_here():
    items = [(b"a", None)] * PARALLEL_FROM
    with pytest.raises(WorkerError, match=r"has ended \(exit code -9\)"):
        list(spread(die, items, 2))
    with pytest.raises(ValueError, match="a chunk of 64"):
        list(spread(complain, items, 2))
    with pytest.raises(TypeError, match="given as bytes"):
        list(spread(len, [*items, ("text", None)], 2))


TRAIN = """
import sys
from suffice.spam import SpamFilter, digest
def raw(i):
    words = " ".join(f"word{(i * 7 + j) % 300}" for j in range(100))
    return f"Subject: {i}\\n\\n{words}\\n".encode()
with SpamFilter.open(sys.argv[1]) as spam_filter:
    raws = (raw(i) for i in range(1_000_000))
    if sys.argv[2] == "score":
        spam_filter.train_many([raw(0), raw(1)], ["spam", "ham"])
        for number, verdict in enumerate(spam_filter.score_many(raws, processes=2)):
            print(number, flush=True)
    spam_filter.train_many(raws, "spam", processes=2, progress=lambda done: print(done, flush=True))
"""


def children(process):
    tasks = Path(f"/proc/{process}/task").iterdir()  # threads start them
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def wait_for_the_end(pids):
    end = time.monotonic() + 20
    while alive := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < end, f"processes are left: {alive}"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux lists them")
@pytest.mark.parametrize("way", ["train", "score"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_interruption_leaves_a_whole_store_and_no_process(tmp_path, way, end):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN, tmp_path / "store", way],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    with process:
        told = [process.stdout.readline() for _ in range(4 if way == "train" else 400)]
        workers = children(process.pid)
        assert len(workers) == 2
        time.sleep(0.05)
        os.killpg(process.pid, end)  # all that a terminal would reach
        output, errors = process.communicate()
        told += output.splitlines()
    wait_for_the_end(workers)
    assert process.returncode == -end
    assert errors.count(b"Traceback") == (end == signal.SIGINT)  # one, and none of a worker
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        if way == "train":
            assert spam_filter.stats().spam >= int(told[-1])
        tokens, totals = contents(spam_filter)[0], spam_filter._store.totals()
        assert recounted(spam_filter) == (tokens, totals)
        assert spam_filter.train(message(1), "ham")


@given(st.text(alphabet="ab1 .-_*/|é", max_size=120))
def test_spaced_words_are_all_that_the_pattern_finds(text):
    assert spaced_words(text) == [match[0].replace(match[1], "") for match in re.finditer(_SPACED, text)]
