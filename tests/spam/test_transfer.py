"""A store as text and back again, and what other filters have learned."""

import gzip
import hashlib
import io
import json
import lzma
import random
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailbag import contents, message, recounted
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import DumpError, SpamFilter, Thresholds
from suffice.spam.foreign import from_bogofilter, from_spamassassin, hashed_names
from suffice.spam.mailboxes import as_mbox

SPAMS = [message(i, "spam") for i in range(40)]
HAMS = [message(i) for i in range(30)]
DUMP = b""".ENCODING 2 0 20240101
.MSG_COUNT 400 600 20240101
.WORDLIST_VERSION 20040500 0 20240101
Money 100 3 20240101
money 60 2 20240101
MONEY 395 0 20240101
Besprechung 0 80 20240101
caf\xc3\xa9 1 9 20240101
subj:Win 200 0 20240101
from:shop.example 150 0 20240101
from:Ann 0 30 20240101
to:example.net 390 590 20240101
rtrn:shop.example 120 0 20240101
rcvd:mail.shop.example 140 0 20240101
rcvd:192.0.2.1 10 0 20240101
www.shop.example 90 0 20240101
head:X-Mailer 10 10 20240101
mime:base64 10 10 20240101
free*money 70 0 20240101
averyverylongwordindeedsolong 5 5 20240101
\xff\xfe 1 1 20240101
"""


def exported(spam_filter):
    file = io.BytesIO()
    spam_filter.export_text(file)
    return file.getvalue()


def store_with_everything(path=None, clock=lambda: 20_000 * 86_400.0):
    """A store with labels of several days, a half-life, guesses, lists, an import and settings."""
    spam_filter = SpamFilter(path, clock=clock)
    spam_filter.half_life = 100.0
    for number, (spam, ham) in enumerate(zip(SPAMS, HAMS, strict=False)):
        spam_filter.train(spam, "spam", at=(20_000 - 10 * number) * 86_400.0)
        spam_filter.train(ham, "ham", at=(20_000 - number) * 86_400.0)
    spam_filter.train("Subject: naïve \U0001f600 \u2028\n\n\x1f\"quoted\" 'back\\slash'".encode(), "ham")
    spam_filter.train_unlabeled([message(i, kind) for i in range(100, 110) for kind in ("spam", "ham")])
    spam_filter.thresholds = Thresholds(0.3, 0.95)
    spam_filter.allow("ann@example.org", ".bücher.example")
    spam_filter.block("bad.example")
    spam_filter.import_text(io.BytesIO(DUMP))
    return spam_filter


def test_a_store_comes_back_as_it_was(tmp_path):
    with store_with_everything(tmp_path / "a.sqlite") as before, SpamFilter(tmp_path / "b.sqlite") as after:
        text = exported(before)
        transfer = after.import_text(io.BytesIO(text))
        assert (transfer.program, transfer.learned, transfer.known) == ("suffice", 81, 0)
        assert contents(after) == contents(before)
        assert exported(after) == text
        assert (after.lists, after.imports, after.thresholds) == (before.lists, before.imports, before.thresholds)
        after._clock = before._clock
        for raw in (SPAMS[3], HAMS[3], message(777, "spam")):
            assert after.score(raw) == before.score(raw)
        assert recounted(after) == recounted(before)
        for spam_filter in (before, after):
            spam_filter.untrain(SPAMS[0])
            spam_filter.remove_import("bogofilter")
        assert contents(after) == contents(before)


@given(st.data())
def test_any_tokens_come_back(data):
    words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    raws = data.draw(st.lists(words, min_size=1, max_size=5))
    with SpamFilter() as before, SpamFilter() as after:
        before.train_many([("Subject: x\n\n" + raw).encode() for raw in raws], "spam", processes=1)
        after.import_text(io.BytesIO(exported(before)))
        assert contents(after) == contents(before)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_the_text_may_be_compressed(compress):
    with store_with_everything() as before, SpamFilter() as after:
        after.import_text(io.BytesIO(compress(exported(before))))
        assert contents(after) == contents(before)


def test_a_store_that_has_learned_keeps_its_messages_and_settings():
    with SpamFilter() as one, SpamFilter() as other:
        one.train_many(SPAMS[:10], "spam")
        one.train_many(HAMS[:10], "ham")
        one.thresholds = Thresholds(0.1, 0.99)
        other.train_many(SPAMS[5:15], "spam")
        other.train(HAMS[0], "spam")
        other.block("bad.example")
        other.import_text(io.BytesIO(DUMP))
        done = one.import_text(io.BytesIO(exported(other)))
        assert (done.learned, done.known, done.kept) == (5, 5, 1)
        assert one.thresholds == Thresholds(0.1, 0.99)
        assert one.label_of(HAMS[0]) == "ham"
        assert one.stats().spam == 15
        assert not one.lists
        assert one.imports["bogofilter"]["spam"] == 400
        again = one.import_text(io.BytesIO(exported(other)))
        assert (again.learned, again.known, again.kept) == (0, 10, 1)
        held = contents(one)[0], one._store.totals()
        assert recounted(one) == held


def test_a_guess_gives_way_to_a_label_and_the_same_line_twice_is_one_message():
    with store_with_everything() as one, SpamFilter() as other:
        raw = message(100, "spam")
        assert one.label_of(raw) is None
        other.train(raw, "spam")
        text = exported(other).splitlines(keepends=True)
        twice = [text[0], text[1], text[1], text[2].replace(b"1", b"2")]
        assert one.import_text(io.BytesIO(b"".join(twice))).learned == 1
        assert one.label_of(raw) == "spam"
        held = contents(one)[0], one._store.totals()
        assert recounted(one) == held


def test_messages_of_days_to_come_are_of_today():
    with store_with_everything() as one, SpamFilter(clock=lambda: 20_000 * 86_400.0) as other:
        text = re.sub(rb'"day":\d+', b'"day":3000000', exported(one))
        other.import_text(io.BytesIO(text))
        assert other.score(SPAMS[3]).label == "spam"
        assert other.days()[1].year == 2024


def test_counts_beyond_all_measure_stay_numbers():
    dump = b".MSG_COUNT 999999999 999999999 1\nmoney 999999999 1 1\n"
    with SpamFilter() as spam_filter:
        spam_filter.half_life = 1.0
        spam_filter.import_text(io.BytesIO(dump))
        assert spam_filter.score(b"\nmoney").log_odds > 0
        with SpamFilter() as other:
            other.import_text(io.BytesIO(exported(spam_filter)))
            assert exported(other) == exported(spam_filter)
            text = re.sub(rb'"scales":\[\d+,\d+\]', b'"scales":[1048576,1048576]', exported(spam_filter))
        with SpamFilter() as other, pytest.raises(DumpError, match="at most 1,000,000 messages"):
            other.import_text(io.BytesIO(text))


def lines_of(spam_filter):
    return exported(spam_filter).splitlines(keepends=True)


DAMAGES = {
    "cut line": (5, lambda line: line[:-20]),
    "no JSON": (3, lambda line: b"x" + line),
    "empty": (4, lambda line: b"\n"),
    "label": (4, lambda line: re.sub(rb'"label":"\w+"', b'"label":"eggs"', line)),
    "digest": (4, lambda line: line.replace(b'"digest":"', b'"digest":"ab')),
    "day": (4, lambda line: re.sub(rb'"day":\d+', b'"day":1e99', line)),
    "huge day": (4, lambda line: re.sub(rb'"day":\d+', b'"day":' + b"9" * 5000, line)),
    "tokens": (4, lambda line: re.sub(rb'"tokens":\[', b'"tokens":[7,', line)),
    "line end in a token": (4, lambda line: re.sub(rb'"tokens":\[', rb'"tokens":["a\\n",', line)),
    "half a pair": (4, lambda line: re.sub(rb'"tokens":\[', rb'"tokens":["\\ud800",', line)),
    "deep": (4, lambda line: b"[" * 100_000 + b"\n"),
    "a list": (4, lambda line: b"[1]\n"),
    "a number": (4, lambda line: b"17\n"),
    "threshold": (1, lambda line: line.replace(b"[0.3,0.95]", b"[0.95,0.3]")),
    "link": (1, lambda line: line.replace(b'"settings":{', b'"settings":{"link":["a","b"],')),
    "totals": (1, lambda line: line.replace(b'"settings":{', b'"settings":{"spam":9,')),
    "entry": (1, lambda line: line.replace(b"bad.example", b"BAD.example")),
    "origin": (1, lambda line: re.sub(rb'"origin":\d+', b'"origin":9999999', line)),
    "import": (1, lambda line: line.replace(b'"ham":600', b'"eggs":600')),
    "bytes": (6, lambda line: line.replace(b"tokens", b"to\xffens")),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_line_is_named_and_nothing_is_changed(kind, tmp_path):
    number, damage = DAMAGES[kind]
    with store_with_everything() as before, SpamFilter(tmp_path / "store.sqlite") as after:
        held = contents(after)
        lines = lines_of(before)
        damaged = damage(lines[number - 1])
        assert damaged != lines[number - 1]
        lines[number - 1] = damaged
        with pytest.raises(DumpError, match=rf"^line {number} is damaged: .+"):
            after.import_text(io.BytesIO(b"".join(lines)))
        assert contents(after) == held


def test_a_text_that_ends_too_early_or_too_late_is_refused():
    with store_with_everything() as before, SpamFilter() as after:
        lines = lines_of(before)
        for text, message_ in (
            (lines[:-1], "without its last line"),
            (lines[:-5] + lines[-1:], "lines came before it"),
            (lines[:1], "without its last line"),
            ([*lines, lines[3]], "after the last line"),
            ([lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]], "version 2, but this version"),
        ):
            with pytest.raises(DumpError, match=message_):
                after.import_text(io.BytesIO(b"".join(text)))
        assert after.stats().spam == 0
        with pytest.raises(DumpError, match="it is damaged"):
            after.import_text(io.BytesIO(gzip.compress(b"".join(lines))[:-100]))


@given(st.binary(max_size=300))
def test_no_bytes_do_anything_else_than_be_refused(text):
    with SpamFilter() as spam_filter, pytest.raises(DumpError):
        spam_filter.import_text(io.BytesIO(text))


# bogofilter


def test_the_tokens_of_bogofilter_become_ours():
    learned = from_bogofilter(DUMP.splitlines(keepends=True))
    assert (learned.spam, learned.ham, learned.tokens) == (400, 600, 18)
    assert learned.counts == {
        "money": (400, 5),  # 555 in all forms, but there are 400 spams
        "besprechung": (0, 80),
        "café": (1, 9),
        "subject:win": (200, 0),
        "from:@shop.example": (150, 0),
        "from:ann": (0, 30),
        "to:@example.net": (390, 590),
        "return:@shop.example": (120, 0),
        "received:mail.shop.example": (140, 0),
        "url:www.shop.example": (90, 0),
        "free money": (70, 0),
    }


def test_an_import_can_be_scored_with_replaced_and_undone():
    with SpamFilter() as spam_filter:
        done = spam_filter.import_text(io.BytesIO(DUMP))
        assert (done.program, done.spam, done.ham, done.named) == ("bogofilter", 400, 600, 11)
        assert spam_filter.score(b"Subject: win\n\nfree money").label == "spam"
        assert spam_filter.score(b"\nbesprechung caf\xc3\xa9").log_odds < 0
        held = contents(spam_filter)
        spam_filter.import_text(io.BytesIO(DUMP))
        assert contents(spam_filter) == held
        totals = spam_filter._store.totals()
        assert recounted(spam_filter) == (held[0], totals)
        spam_filter.train(HAMS[0], "ham")
        spam_filter.untrain(HAMS[0])
        assert (contents(spam_filter)[0], spam_filter._store.totals()) == (held[0], totals)
        assert spam_filter.remove_import("bogofilter") is True
        assert spam_filter.remove_import("bogofilter") is False
        assert contents(spam_filter)[0] == []
        assert spam_filter.score(b"\nfree money").label == "unsure"


@pytest.mark.parametrize(("spams", "hams"), [(10, 30), (30, 10), (20, 20)])
def test_an_import_of_another_balance_does_not_push_what_it_does_not_know(spams, hams):
    """A token that all own messages hold, and the other filter never makes, speaks for neither class."""
    dump = DUMP.replace(b".MSG_COUNT 400 600", b".MSG_COUNT 40000 600")
    with SpamFilter() as spam_filter:
        spam_filter.train_many(SPAMS[:spams], "spam")
        spam_filter.train_many(HAMS[:hams], "ham")
        spam_filter.import_text(io.BytesIO(dump))
        parts = dict(spam_filter.score(b"Subject: x\n\nnothing").evidence)
        assert abs(parts["header:no date"]) < 0.01


def test_an_import_forgets_and_expires_as_messages_do():
    now = [20_000 * 86_400.0]
    with SpamFilter(clock=lambda: now[0]) as spam_filter:
        spam_filter.train(HAMS[0], "ham")
        spam_filter.half_life = 10.0
        spam_filter.import_text(io.BytesIO(DUMP))
        now[0] += 30 * 86_400
        spam_filter.half_life = 20.0
        now[0] += 300 * 86_400
        assert spam_filter.expire() == 2
        assert contents(spam_filter)[0] == []
        spam_filter.import_text(io.BytesIO(DUMP))
        held = contents(spam_filter)[0], spam_filter._store.totals()
        assert recounted(spam_filter) == held


@pytest.mark.parametrize(
    ("number", "line"),
    [(5, b"money\n"), (5, b"money 1\n"), (5, b"money -1 2 3\n"), (5, b"money " + b"9" * 5000 + b" 2 3\n"),
     (7, b"two words 1 2 20240101\n"), (2, b"\x1b[31m\n")],
)  # fmt: skip
def test_a_damaged_line_of_bogofilter_is_named(number, line):
    lines = DUMP.splitlines(keepends=True)
    lines[number - 1] = line
    with SpamFilter() as spam_filter:
        with pytest.raises(DumpError, match=rf"line {number} is not one that `bogoutil -d` writes") as caught:
            spam_filter.import_text(io.BytesIO(b"".join(lines)))
        assert "\x1b" not in str(caught.value)
        with pytest.raises(DumpError, match=r"no line \.MSG_COUNT"):
            spam_filter.import_text(io.BytesIO(b"money 1 2 20240101\n"))
        with pytest.raises(DumpError, match="both have been learned"):
            spam_filter.import_text(io.BytesIO(b".MSG_COUNT 1 0 20240101\nmoney 1 0 20240101\n"))


# SpamAssassin


def hashed(name):
    return hashlib.sha1(name.encode()).hexdigest()[-10:]


def backup(counts, spam=40, ham=60):
    rows = "".join(f"t\t{s}\t{h}\t1700000000\t{hashed(name)}\n" for name, (s, h) in counts.items())
    head = "v\t3\tdb_version # this must be the first line!!!\n"
    text = f"{head}v\t{spam}\tnum_spam\nv\t{ham}\tnum_nonspam\n{rows}s\ts\tx@y\n"
    return text.encode()


def test_tokens_of_spamassassin_are_looked_up_by_their_hashes():
    dump = backup({"money": (20, 1), "HSubject:Win": (9, 0), "H*F:D*shop.example": (8, 0), "UD:shop.example": (7, 0),
                   "lunch": (0, 30), "sk:averylo": (3, 0)})  # fmt: skip
    names = ["money", "subject:win", "from:@shop.example", "url:shop.example", "unheard", "shape:id a", "free money"]
    learned = from_spamassassin(dump.splitlines(keepends=True), names)
    assert learned.counts == {
        "money": (20, 1), "subject:win": (9, 0), "from:@shop.example": (8, 0), "url:shop.example": (7, 0),
    }  # fmt: skip
    assert learned.tokens == 6
    with SpamFilter() as spam_filter:
        with pytest.raises(DumpError, match=r"writes hashes of them.*train on mail first, or give words"):
            spam_filter.import_text(io.BytesIO(dump))
        done = spam_filter.import_text(io.BytesIO(dump), words=["Lunch", "other"])
        assert (done.program, done.named, done.tokens) == ("spamassassin", 1, 6)
        spam_filter.train(b"Subject: win\nFrom: a@shop.example\n\nmoney", "spam")
        assert spam_filter.import_text(io.BytesIO(dump)).named == 4  # the words that were given are known by now


@pytest.mark.parametrize(
    "line", ["t\t1\t2", "t\tx\t2\t1\t" + "a" * 10, "t\t1\t2\t1\t" + "g" * 10, "hello", "t\t1\t2\t3\tabc"]
)
def test_a_damaged_line_of_spamassassin_is_named(line):
    dump = backup({"money": (1, 1)}) + line.encode() + b"\n"
    with (
        SpamFilter() as spam_filter,
        pytest.raises(DumpError, match=r"line 6 is not one that `sa-learn --backup` writes"),
    ):
        spam_filter.import_text(io.BytesIO(dump), words=["money"])


def test_an_old_version_of_spamassassin_is_refused():
    with SpamFilter() as spam_filter, pytest.raises(DumpError, match="version 2, but version 3"):
        spam_filter.import_text(io.BytesIO(backup({"a": (1, 1)}).replace(b"v\t3\tdb", b"v\t2\tdb")))


# with the programs themselves


def mail(kind, number):
    rng = random.Random(f"{kind} {number}")
    own = {"spam": ["Money", "winner", "pills", "cheap"], "ham": ["meeting", "lunch", "report", "garden"]}[kind]
    words = " ".join(rng.choices([*own, "Today", "please", "letter"], k=30))
    host = {"spam": "shop.example", "ham": "work.example"}[kind]
    head = f"From: {own[0]} <a{number}@{host}>\nTo: bob@home.example\nSubject: {rng.choice(own)} {number}\n"
    head += f"Message-ID: <{kind}{number}@{host}>\nDate: Mon, 2 Sep 2002 10:00:00 +0000\n"
    return f"{head}\n{words}\nhttp://www.{host}/index\n".encode()


@pytest.mark.servers
@pytest.mark.skipif(shutil.which("bogoutil") is None, reason="needs bogofilter")
def test_what_bogofilter_has_learned_is_taken_over(tmp_path):
    for kind, option in (("spam", "-s"), ("ham", "-n")):
        box = b"".join(as_mbox(mail(kind, number)) for number in range(40))
        subprocess.run(["bogofilter", "-d", tmp_path, option, "-M"], input=box, check=True)
    dump = subprocess.run(["bogoutil", "-d", tmp_path / "wordlist.db"], capture_output=True, check=True).stdout
    with SpamFilter() as spam_filter:
        done = spam_filter.import_text(io.BytesIO(dump))
        assert (done.spam, done.ham) == (40, 40)
        assert done.named > 15
        assert spam_filter.score(mail("spam", 100)).probability > 0.9
        assert spam_filter.score(mail("ham", 100)).probability < 0.1


@pytest.mark.servers
@pytest.mark.skipif(shutil.which("sa-learn") is None, reason="needs sa-learn (Debian package spamassassin)")
def test_what_spamassassin_has_learned_is_looked_up(tmp_path):
    learn = ["sa-learn", "-L", "--dbpath", tmp_path / "bayes"]
    for kind in ("spam", "ham"):
        box = tmp_path / kind
        box.write_bytes(b"".join(as_mbox(mail(kind, number)) for number in range(40)))
        subprocess.run([*learn, f"--{kind}", "--mbox", box], check=True, capture_output=True)
    dump = subprocess.run([*learn, "--backup"], capture_output=True, check=True).stdout
    with SpamFilter() as spam_filter:
        spam_filter.train(mail("spam", 100), "spam")
        spam_filter.train(mail("ham", 100), "ham")
        done = spam_filter.import_text(io.BytesIO(dump))
        assert (done.spam, done.ham) == (40, 40)
        held = dict(spam_filter._store.rows(["money", "lunch", "url:shop.example", "from:@work.example"]))
        assert len(held) == 4  # all four kinds of names were found
        assert held["money"][1] > 20 * held["money"][2]
        assert held["from:@work.example"][2] > 20 * held["from:@work.example"][1]
        assert {"money", "HSubject:Winner"} & {
            form for name in ("money", "subject:winner") for form in hashed_names(name)
        }


# commands


def run(*args, input=None):
    return CliRunner().invoke(
        app, ["spam", *map(str, args)], prog_name="suffice", catch_exceptions=False, input=input, env={"COLUMNS": "200"}
    )


def test_commands_export_and_import(tmp_path):
    with store_with_everything(tmp_path / "a.sqlite") as spam_filter:
        text = exported(spam_filter)
    assert run("export", "--store", tmp_path / "a.sqlite", "-").stdout_bytes == text
    told = json.loads(run("export", "--store", tmp_path / "a.sqlite", tmp_path / "a.jsonl.gz", "--json").stdout)
    assert told["lines"] == text.count(b"\n") - 2
    assert (tmp_path / "a.jsonl.gz").stat().st_mode & 0o077 == 0
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == text
    assert run("export", "--store", tmp_path / "a.sqlite", tmp_path / "a.jsonl.gz").exit_code == 0
    (tmp_path / "letter").write_text("Dear Ann")
    refused = run("export", "--store", tmp_path / "a.sqlite", tmp_path / "letter")
    assert refused.exit_code == 1
    assert "is not an export" in refused.stderr
    assert (tmp_path / "letter").read_text() == "Dear Ann"
    done = json.loads(run("import", "--store", tmp_path / "b.sqlite", tmp_path / "a.jsonl.gz", "--json").stdout)
    assert done["learned"] == 81
    assert run("export", "--store", tmp_path / "b.sqlite", "-").stdout_bytes == text
    imported = run("import", "--store", tmp_path / "c.sqlite", "-", input=DUMP)
    assert "imported from bogofilter: 400 spam, 600 ham; 11 tokens imported, of 18" in imported.stdout
    assert "bogofilter" in run("stats", "--store", tmp_path / "c.sqlite").stdout
    assert run("import", "--store", tmp_path / "c.sqlite", "--remove", "bogofilter").exit_code == 0
    assert run("import", "--store", tmp_path / "c.sqlite", "--remove", "bogofilter").exit_code == 1
    assert run("import", "--store", tmp_path / "c.sqlite").exit_code == 2
    (tmp_path / "words").write_text("Money\nlunch\n")
    (tmp_path / "sa.txt").write_bytes(backup({"money": (20, 1), "lunch": (0, 30)}))
    found = run("import", "--store", tmp_path / "c.sqlite", tmp_path / "sa.txt", "--words", tmp_path / "words")
    assert "2 tokens imported, of 2" in found.stdout
