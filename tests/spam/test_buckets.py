"""Buckets: kinds of ham beside the verdict about spam, which they leave as it is."""

import io
import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from itertools import pairwise

import pytest
from mailbag import bucketed, contents, message, recounted
from typer.testing import CliRunner

import suffice.spam.bulk as bulk
from suffice.spam import NotTrainedError, SpamFilter, StoreError, Training, Verdict
from suffice.spam.buckets.kinds import Kinds, rows_of
from suffice.spam.buckets.names import BUCKET_LIMIT, NAME_LIMIT, BucketError
from suffice.spam.commands import app
from suffice.spam.forgetting import DAY
from suffice.spam.lists import Lists
from suffice.spam.milter.session import OURS
from suffice.spam.reading import names_of
from suffice.spam.serving.scoring import Request, judge
from suffice.spam.stamping import stamped, stamps

NAMES = ("news", "receipts", "work")
SPAMS = [message(i, "spam") for i in range(40)]
HAMS = [message(i) for i in range(40)]


FILED = [(bucketed(i, name), name) for i in range(20) for name in NAMES]


def buckets_of(spam_filter):
    """What the tables of buckets hold, by names and not by numbers."""
    read = spam_filter._store._connection.execute
    with spam_filter._store.snapshot():
        if not spam_filter._store.has_buckets:
            return None
    names = dict(read("SELECT id, name FROM buckets"))
    return (
        sorted(read("SELECT name, weight FROM buckets")),
        sorted((token, names[number], weight) for token, number, weight in read("SELECT * FROM bucket_tokens")),
        sorted((digest, names[number]) for digest, number in read("SELECT * FROM bucket_messages")),
    )


def everything(spam_filter):
    return contents(spam_filter), buckets_of(spam_filter)


def filed(spam_filter, pairs=FILED):
    for raw, name in pairs:
        spam_filter.train(raw, "ham", bucket=name)


@pytest.fixture
def taught():
    with SpamFilter() as spam_filter:
        spam_filter.train_many(SPAMS, "spam")
        spam_filter.train_many(HAMS, "ham")
        for name in NAMES:
            spam_filter.train_many([raw for raw, own in FILED if own == name], "ham", bucket=name)
        yield spam_filter


def test_mail_is_told_apart_by_its_bucket(taught):
    for name in NAMES:
        verdict = taught.score(bucketed(500, name))
        assert (verdict.label, verdict.bucket) == ("ham", name)
        assert sum(verdict.buckets.values()) == pytest.approx(1.0)
        assert set(verdict.buckets) == {"", *NAMES}
    assert taught.score(message(500)).bucket == ""  # ham of no bucket
    assert taught.score(message(500, "spam")).bucket == ""
    assert taught.score(b"\nnothing that is known").bucket == ""


def test_training_to_a_bucket_is_training_as_ham(taught):
    with SpamFilter() as plain:
        plain.train_many(SPAMS, "spam")
        plain.train_many(HAMS + [raw for raw, _ in FILED], "ham")
        assert contents(plain) == contents(taught)
        mail = [
            *SPAMS[:5],
            *HAMS[:5],
            *(bucketed(600, name) for name in NAMES),
            *(message(i, "spam") for i in range(90, 95)),
        ]
        for one, other in zip(plain.score_many(mail), taught.score_many(mail), strict=True):
            assert (one.probability, one.label, one.log_odds) == (other.probability, other.label, other.log_odds)
            assert one.evidence == other.evidence
        assert plain.evaluate() == taught.evaluate()


def test_buckets_leave_a_store_without_them_byte_for_byte_as_it_is(tmp_path):
    path = tmp_path / "spam.sqlite"
    with SpamFilter(path) as spam_filter:
        spam_filter.train_many(HAMS, "ham")
    before = path.read_bytes()
    with SpamFilter(path) as spam_filter:
        assert dict(spam_filter.buckets) == {}
        spam_filter.score(HAMS[0])
        assert spam_filter.buckets.of(HAMS[0]) == ""
        assert not spam_filter.train(HAMS[0], "ham", bucket="")
        assert spam_filter.train_many(HAMS, "ham", bucket="") == Training(known=40)
        assert spam_filter.buckets.evaluate().total == 0
        with pytest.raises(BucketError, match="there is no bucket 'work'"):
            spam_filter.buckets.remove("work")
    assert path.read_bytes() == before


@pytest.mark.parametrize("half_life", [None, 30.0])
def test_whatever_the_order_and_the_detours_the_store_is_the_same(half_life):
    rng = random.Random(1)
    with SpamFilter(clock=lambda: 20_000 * DAY) as straight, SpamFilter(clock=lambda: 20_000 * DAY) as roundabout:
        for spam_filter in (straight, roundabout):
            spam_filter.half_life = half_life
            for name in NAMES:
                spam_filter.buckets.add(name)
        for raw, name in FILED:
            straight.train(raw, "ham", bucket=name)
        straight.train_many(SPAMS, "spam")
        for raw, name in rng.sample(FILED, len(FILED)):
            steps = rng.sample(["bucket", "spam", "ham", "none", "untrain"], 3)
            for step in steps:
                if step == "bucket":
                    roundabout.train(raw, "ham", bucket=rng.choice(NAMES))
                elif step == "none":
                    roundabout.train(raw, "ham", bucket="")
                elif step == "untrain" and roundabout.label_of(raw) is not None:
                    roundabout.untrain(raw)
                elif step in ("spam", "ham"):
                    roundabout.train(raw, step)
            roundabout.train(raw, "ham", bucket=name)
        for raw in rng.sample(SPAMS, len(SPAMS)):
            roundabout.train(raw, "ham", bucket="work")
            roundabout.train(raw, "spam")
        assert everything(roundabout) == everything(straight)
        for spam_filter in (straight, roundabout):
            before = everything(spam_filter)
            recounted(spam_filter)
            assert (everything(spam_filter)[0][0], buckets_of(spam_filter)) == (before[0][0], before[1])


def test_untraining_expiring_and_removing_leave_nothing_behind():
    day = 20_000
    with SpamFilter(clock=lambda: day * DAY) as spam_filter:
        spam_filter.train_many(HAMS, "ham")
        before = everything(spam_filter)
        filed(spam_filter)
        for raw, _ in FILED:
            assert spam_filter.untrain(raw) == "ham"
        assert contents(spam_filter) == before[0]
        assert buckets_of(spam_filter) == ([(name, 0) for name in NAMES], [], [])  # empty, and still there
        for name in NAMES:
            assert spam_filter.buckets.remove(name) == 0
        assert everything(spam_filter) == before
        assert not spam_filter._store.has_buckets
        filed(spam_filter)
        day += 100
        spam_filter.expire(50)
        assert buckets_of(spam_filter) == ([(name, 0) for name in NAMES], [], [])


def test_buckets_so_old_that_they_count_nothing_are_not_said():
    days = [20_000]
    with SpamFilter(clock=lambda: days[0] * DAY) as spam_filter:
        spam_filter.half_life = 1.0
        filed(spam_filter, [(bucketed(i, "work"), "work") for i in range(10)])
        days[0] += 100
        filed(spam_filter, [(bucketed(i, "news"), "news") for i in range(10)])
        spam_filter.train_many(HAMS, "ham")
        assert set(spam_filter.score(bucketed(99, "work")).buckets) == {"", "news"}
        table = spam_filter.buckets.evaluate()
        assert (table.names, table.total, table.row("work")["work"]) == (("", "news", "work"), 60, 0)
        assert spam_filter.untrain(bucketed(0, "work")) == "ham"
        assert dict(spam_filter.buckets) == {"news": 10, "work": 9}


def test_what_training_says(taught):
    raw = bucketed(700, "work")
    assert taught.train(raw, "ham", bucket="work")
    assert not taught.train(raw, "ham", bucket="work")
    assert not taught.train(raw, "ham")  # it stays where it is
    assert taught.buckets.of(raw) == "work"
    assert taught.train(raw, "ham", bucket="news")
    assert taught.train(raw, "ham", bucket="")
    assert (taught.buckets.of(raw), taught.label_of(raw)) == ("", "ham")
    assert not taught.train(raw, "ham", bucket="")
    assert taught.train(raw, "spam")
    assert taught.retrain(raw, "ham")
    assert taught.buckets.of(raw) == ""
    mail = [bucketed(700, "work"), bucketed(701, "work"), bucketed(701, "work"), FILED[0][0], SPAMS[0]]
    assert taught.train_many(mail, "ham", bucket="news") == Training(learned=1, moved=2, known=2)
    assert taught.buckets.of(b"\nnever seen") == ""
    with pytest.raises(NotTrainedError):
        taught.untrain(b"\nnever seen")


def test_a_bucket_is_for_ham_alone(taught):
    before = everything(taught)
    with pytest.raises(BucketError, match="a bucket is for ham, but the label is 'spam'"):
        taught.train(HAMS[0], "spam", bucket="work")
    with pytest.raises(BucketError, match="a bucket is for ham"):
        taught.train_many(HAMS[:1], ["ham"], bucket="work")
    with pytest.raises(BucketError, match="only_errors"):
        taught.train(HAMS[0], "ham", bucket="work", only_errors=True)
    assert everything(taught) == before


NAMES_OF_ALL_KINDS = [
    "a",
    "A",
    "Рассылки",
    "領収書",
    "a b",
    "%",
    "=?utf-8?q?x?=",
    'it\'s "so"',
    "a,b;c",
    "-x",
    "🧾" * 60,
    "é" * 60,
]


@pytest.mark.parametrize("name", NAMES_OF_ALL_KINDS)
def test_any_printable_name_names_a_bucket(name, tmp_path):
    with SpamFilter(tmp_path / "spam.sqlite") as spam_filter:
        filed(spam_filter, [(raw, name if own == "work" else own) for raw, own in FILED])
        verdict = spam_filter.score(bucketed(900, "work"))
        assert verdict.bucket == name
        assert spam_filter.buckets[name] == 20
        value = stamps(verdict, details=False)["X-Suffice-Bucket"]
        assert value.isascii()
        assert value.isprintable()
        assert "=?" not in value
        lines = stamped(b"Subject: a\n\nb", verdict).split(b"\n")
        assert max(map(len, lines)) < 998
        assert lines[-3:] == [b"Subject: a", b"", b"b"]


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "a\nb", "a\0", "\ud800", "x" * (NAME_LIMIT + 1), "spam", "Ham", "UNSURE", "a\u2028b"]
)
def test_other_names_are_refused_before_anything_is_written(name, taught):
    before = everything(taught)
    with pytest.raises(BucketError):
        taught.buckets.add(name)
    with pytest.raises(BucketError):
        taught.buckets.rename("work", name)
    if name:
        with pytest.raises(BucketError):
            taught.train(HAMS[0], "ham", bucket=name)
    assert everything(taught) == before


def test_one_name_in_two_normal_forms_is_one_bucket():
    with SpamFilter() as spam_filter:
        spam_filter.train(HAMS[0], "ham", bucket="Café")
        spam_filter.train(HAMS[1], "ham", bucket="Cafe\u0301")
        assert dict(spam_filter.buckets) == {"Café": 2}


def test_a_bucket_is_renamed_and_removed(taught):
    before = taught.score(bucketed(500, "work"))
    taught.buckets.rename("work", "job")
    after = taught.score(bucketed(500, "work"))
    assert after.bucket == "job"
    assert after.buckets["job"] == before.buckets["work"]
    assert list(taught.buckets) == ["job", "news", "receipts"]
    with pytest.raises(BucketError, match="there is already a bucket 'news'"):
        taught.buckets.rename("job", "news")
    with pytest.raises(BucketError, match="there is no bucket 'work'; there are: 'job', 'news'"):
        taught.buckets.rename("work", "other")
    assert taught.buckets.remove("job") == 20
    assert taught.score(bucketed(500, "work")).bucket == ""
    assert taught.stats().ham == 100  # they stay learned


def test_nothing_is_said_where_there_is_nothing_to_compare_with():
    with SpamFilter() as spam_filter:
        spam_filter.buckets.add("empty")
        assert spam_filter.score(bucketed(1, "work")).buckets == {}
        filed(spam_filter, [(bucketed(i, "work"), "work") for i in range(5)])
        assert spam_filter.score(bucketed(9, "work")).buckets == {}  # all ham is of one kind
        spam_filter.train_many(HAMS, "ham")
        verdict = spam_filter.score(bucketed(9, "work"))
        assert verdict.bucket == "work"  # one bucket, and other ham
        assert set(verdict.buckets) == {"", "work"}


def test_a_hundred_buckets_and_no_more_than_the_limit():
    with SpamFilter() as spam_filter:
        for number in range(100):
            spam_filter.train_many([bucketed(i, f"kind{number}x") for i in range(4)], "ham", bucket=f"bucket {number}")
        mail = [bucketed(50, f"kind{number}x") for number in range(100)]
        likely = [max(v.buckets, key=v.buckets.get) for v in spam_filter.score_many(mail)]
        assert likely == [f"bucket {number}" for number in range(100)]
        for number in range(100, BUCKET_LIMIT):
            spam_filter.buckets.add(f"bucket {number}")
        with pytest.raises(BucketError, match="at most"):
            spam_filter.buckets.add("one more")
        assert len(spam_filter.buckets) == BUCKET_LIMIT


@pytest.mark.parametrize("without_compiled", [False, True])
def test_the_kept_weights_say_what_the_formula_says(taught, monkeypatch, without_compiled):
    if without_compiled:
        monkeypatch.setattr(bulk, "compiled", None)
    for raw in [bucketed(800, "news"), bucketed(801, "work"), message(802), message(803, "spam"), b"", b"\nunheard of"]:
        with taught._store.snapshot():
            kinds = Kinds.of(taught._store, taught._day(None))
            tokens, columns = rows_of(taught._store, kinds, names_of(raw))
        expected = kinds.probabilities(kinds.log_odds(tokens, columns))
        assert taught.score(raw).buckets == pytest.approx(expected, rel=1e-9)


def test_leaving_a_message_out_is_untraining_it(taught):
    table = taught.buckets.evaluate()
    counts = {}
    for raw, name in [*FILED, *((raw, "") for raw in HAMS)]:
        taught.untrain(raw)
        said = taught.score(raw)
        assert said.label != "error"
        bucket = Verdict(0.0, "ham", 0.0, [], buckets=said.buckets).bucket
        counts[name, bucket] = counts.get((name, bucket), 0) + 1
        taught.train(raw, "ham", bucket=name)
    assert table.counts == counts
    assert table.total == 100
    assert table.accuracy > 0.95


def test_scores_follow_what_others_train(tmp_path):
    path = tmp_path / "spam.sqlite"
    with SpamFilter(path) as one, SpamFilter(path) as other:
        one.train_many(HAMS, "ham")
        assert other.score(bucketed(5, "work")).buckets == {}
        filed(one)
        assert other.score(bucketed(99, "work")).bucket == "work"
        one.buckets.rename("work", "job")
        assert other.score(bucketed(99, "work")).bucket == "job"
        for name in ("job", "news", "receipts"):
            one.buckets.remove(name)
        assert other.score(bucketed(99, "work")).buckets == {}
        with suppress(RuntimeError), other._store.transaction():
            other.train(HAMS[0], "ham", bucket="new")
            raise RuntimeError
        assert dict(other.buckets) == {}
        assert not other._store.has_buckets


def test_all_processes_say_the_same(tmp_path):
    with SpamFilter(tmp_path / "spam.sqlite") as spam_filter:
        spam_filter.train_many(HAMS, "ham")
        filed(spam_filter)
        mail = [bucketed(i, NAMES[i % 3]) for i in range(450)]
        many = [verdict.buckets for verdict in spam_filter.score_many(mail, processes=2)]
        assert many == [verdict.buckets for verdict in spam_filter.score_many(mail, processes=1)]
        assert many[7] == spam_filter.score(mail[7]).buckets


def test_lists_decide_before_buckets(taught):
    verdict = taught.score(bucketed(500, "work"))
    lists = Lists().with_entries("block", [".work.example.org"])
    assert lists.applied(verdict, bucketed(500, "work")).bucket == ""
    taught.allow("work1.example.org")
    raw = bucketed(500, "work").replace(b"@work.example.org", b"@work1.example.org") + 30 * b" spamword1 spamword2"
    assert taught.score(raw).label == "ham"


def test_imported_counts_are_mail_of_no_bucket(taught):
    before = taught.score(bucketed(500, "work")).buckets
    dump = [".MSG_COUNT 900 900 20240101", *(f"workword{i} 9 {800 - i} 20240101" for i in range(60))]
    taught.import_text(io.BytesIO("\n".join(dump).encode()))
    assert taught.score(bucketed(500, "work")).buckets == pytest.approx(before)


def test_backup_and_export_carry_buckets(tmp_path, taught):
    taught.buckets.add("empty, as yet")
    taught.backup(tmp_path / "backup")
    SpamFilter.restore(tmp_path / "restored", tmp_path / "backup")
    text = io.BytesIO()
    taught.export_text(text)
    with SpamFilter(tmp_path / "restored") as restored, SpamFilter() as imported:
        assert everything(restored) == everything(taught)
        imported.import_text(io.BytesIO(text.getvalue()))
        assert everything(imported) == everything(taught)
        again = io.BytesIO()
        imported.export_text(again)
        assert again.getvalue() == text.getvalue()
        restored.backup(tmp_path / "again")
    with SpamFilter(tmp_path / "plain") as plain:
        plain.train_many(HAMS, "ham")
        plain.backup(tmp_path / "plain backup")
    SpamFilter.restore(tmp_path / "restored", tmp_path / "plain backup")
    with SpamFilter(tmp_path / "restored") as restored:
        assert dict(restored.buckets) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"bucket":"work"', '"bucket":7'),
        ('"bucket":"work"', '"bucket":"spam"'),
        ('"bucket":"work"', '"bucket":""'),
        ('"buckets":["news"', '"buckets":[" "'),
        ('"buckets":["news"', '"buckets":[["news"]'),
        ('"buckets":["news","receipts","work"]', '"buckets":{}'),
    ],
)
def test_a_text_with_damaged_buckets_changes_nothing(taught, old, new):
    text = io.BytesIO()
    taught.export_text(text)
    assert old.encode() in text.getvalue()
    with SpamFilter() as other:
        before = everything(other)
        with pytest.raises(ValueError, match="line"):
            other.import_text(io.BytesIO(text.getvalue().replace(old.encode(), new.encode(), 1)))
        assert everything(other) == before


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE bucket_tokens",
        "CREATE TABLE buckets (id)",
        "CREATE VIEW bucket_messages AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON buckets BEGIN DELETE FROM messages; END",
        "CREATE INDEX i ON bucket_messages (bucket)",
    ],
)
def test_tables_that_are_not_those_of_buckets_are_refused(tmp_path, statement):
    path = tmp_path / "spam.sqlite"
    with SpamFilter(path) as spam_filter:
        spam_filter.train_many(HAMS, "ham")
        if "bucket_tokens" in statement or " ON " in statement:
            filed(spam_filter)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(StoreError, match="its own tables and no others"):
        SpamFilter(path)


def test_reasons_add_up_to_the_log_odds_of_a_bucket(taught):
    raw = bucketed(500, "work")
    parts = taught.buckets.reasons(raw, "work")
    assert sum(part for _, part in parts) > 0
    assert [abs(a) >= abs(b) for (_, a), (_, b) in pairwise(parts)] == [True] * (len(parts) - 1)
    assert "work" in parts[0][0]
    assert sum(part for _, part in taught.buckets.reasons(raw, "news")) < 0
    assert taught.buckets.reasons(raw, "no such bucket") == []


# -- the command line


@pytest.fixture
def run(tmp_path):
    store = tmp_path / "spam.sqlite"
    for name in (*NAMES, "ham", "spam"):
        (tmp_path / name).mkdir()
    for i, (raw, name) in enumerate(FILED):
        (tmp_path / name / f"{i}.eml").write_bytes(raw)
    for i in range(40):
        (tmp_path / "ham" / f"{i}.eml").write_bytes(HAMS[i])
        (tmp_path / "spam" / f"{i}.eml").write_bytes(SPAMS[i])

    def call(command, *arguments, code=0):
        result = CliRunner().invoke(app, [command, "--store", str(store), *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.stdout

    call("train", "--ham", tmp_path / "ham", "--spam", tmp_path / "spam")
    return call


def test_the_commands_show_buckets_only_where_there_are_any(run, tmp_path):
    path = tmp_path / "new.eml"
    path.write_bytes(bucketed(500, "work"))
    before = run("classify", path)
    assert before.count("\t") == 3
    assert not {"bucket", "buckets"} & set(json.loads(run("classify", "--json", path)))
    assert not {"bucket", "buckets"} & set(json.loads(run("explain", "--json", path)))
    assert "buckets" not in json.loads(run("evaluate", "--json"))
    assert run("buckets") == ""
    for name in NAMES:
        answer = json.loads(run("train", "--bucket", name, tmp_path / name, "--json"))
        assert answer["learned"] == 20
    assert answer["total"]["buckets"] == dict.fromkeys(NAMES, 20)
    assert "20 news, 20 receipts, 20 work" in run("train", "--bucket", "work", tmp_path / "work")
    assert run("classify", path).rstrip("\n").split("\t")[-1] == "work"
    found = json.loads(run("classify", "--json", path))
    assert (found["bucket"], set(found["buckets"])) == ("work", {"", *NAMES})
    text = run("explain", path)
    assert "bucket" in text
    assert "work 0.9" in text
    assert json.loads(run("explain", "--json", path))["bucket_evidence"][0]["log_odds"] > 0
    table = json.loads(run("evaluate", "--json"))["buckets"]
    assert table["total"] == 100
    assert table["confusion"]["work"]["work"] >= 18
    assert "receipts" in run("evaluate")
    assert run("buckets") == "20\tnews\n20\treceipts\n20\twork\n"
    run("buckets", "--rename", "work", "job")
    assert json.loads(run("buckets", "--remove", "news", "--json")) == {
        "buckets": {"job": 20, "receipts": 20},
        "none": 60,
    }


def test_a_bucket_and_its_mail_belong_together(run, tmp_path):
    run("train", "--bucket", "work", code=2)
    run("train", tmp_path / "work", code=2)
    run("train", "--bucket", "work", "--only-errors", tmp_path / "work", code=2)
    run("train", "--bucket", "spam", tmp_path / "work", code=1)
    run("buckets", "--remove", "work", code=1)


def test_a_stamp_of_a_bucket_that_a_sender_forged_is_removed(taught):
    verdict = taught.score(bucketed(500, "work"))
    raw = b"X-Suffice-Bucket: news\nSubject: a\nx-suffice-bucket: receipts\n\nbody"
    for each in (verdict, Verdict(0.1, "ham", -1.0, []), Verdict.error("no")):
        lines = [line for line in stamped(raw, each).split(b"\n") if b"bucket" in line.lower()]
        assert lines == ([b"X-Suffice-Bucket: work"] if each is verdict else [])


def test_servers_and_pipes_say_the_bucket(tmp_path, taught):
    taught.backup(tmp_path / "store")
    judged = judge(Request(bucketed(500, "work"), tmp_path / "store", None, tmp_path, reasons=0))
    assert judged.verdict.bucket == "work"
    assert stamps(judged.verdict, details=False) == {"X-Suffice-Status": "ham", "X-Suffice-Bucket": "work"}
    assert judge(Request(message(500), tmp_path / "store", None, tmp_path)).verdict.buckets == {}
    forged = b"X-Suffice-Bucket: news\n" + bucketed(500, "work")
    command = [
        sys.executable,
        "-m",
        "suffice.cli",
        "spam",
        "filter",
        "-p",
        "--json",
        "--store",
        str(tmp_path / "store"),
    ]
    done = subprocess.run(command, input=forged, capture_output=True, check=True)
    assert [line for line in done.stdout.split(b"\n") if line.startswith(b"X-Suffice-Bucket")] == [
        b"X-Suffice-Bucket: work"
    ]
    assert json.loads(done.stderr)["bucket"] == "work"
    assert done.stdout.endswith(bucketed(500, "work"))


def test_the_milter_removes_forged_buckets():
    assert b"x-suffice-bucket" in OURS
