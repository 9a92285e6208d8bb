"""The commands of `suffice spam`: what they do to a store, what they say, and how they fail."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import date, timedelta

import pytest
from mailbag import contents, message
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import SpamFilter, Thresholds
from suffice.spam.bulk import lesson
from suffice.spam.commands.boxes import alternating, entries, split
from suffice.spam.commands.tune import chosen_points
from suffice.spam.mailboxes import as_mbox

SPAMS = [message(i, "spam") for i in range(30)]
HAMS = [message(i) for i in range(40)]
HOSTILE = b"From: a@example.org\nSubject: =?utf-8?q?red_=1B=5B31m_=C2=9B2J_=E2=80=AE_end?=\n\nspamword1 spamword2\n"


def run(*args, input=None):
    return CliRunner().invoke(
        app, ["spam", *map(str, args)], prog_name="suffice", input=input, catch_exceptions=False, env={"COLUMNS": "100"}
    )


def answer(*args, code=0, **options):
    """Run a command with --json, and return what it says."""
    result = run(*args, "--json", **options)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def fails(*args, code=1, **options):
    """Run a command that must fail, and return the one line that it says."""
    result = run(*args, **options)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def write_mbox(path, raws):
    path.write_bytes(b"".join(map(as_mbox, raws)))
    return path


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No test finds a store that it has not made."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SUFFICE_SPAM_STORE", raising=False)


@pytest.fixture
def mail(tmp_path):
    """An mbox of spam, and a Maildir of ham."""
    write_mbox(tmp_path / "spam.mbox", SPAMS)
    for name in ("cur", "new", "tmp"):
        (tmp_path / "ham" / name).mkdir(parents=True)
    for number, raw in enumerate(HAMS):
        (tmp_path / "ham" / "cur" / f"{number:03}:2,S").write_bytes(raw)
    return tmp_path


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    path = tmp_path_factory.mktemp("taught") / "taught.sqlite"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many(SPAMS, "spam")
        spam_filter.train_many(HAMS, "ham")
    return path


@pytest.fixture
def store(taught, tmp_path):
    return shutil.copy(taught, tmp_path / "spam.sqlite")


def sizes(path):
    with SpamFilter.open(path) as spam_filter:
        size = spam_filter.stats()
    return size.spam, size.ham


# -- training -----------------------------------------------------------------------------------------------------


def test_train_learns_any_mailboxes_once_and_says_what(mail, taught):
    path = mail / "new.sqlite"
    found = answer("train", "--spam", mail / "spam.mbox", "--ham", mail / "ham", "--store", path)
    with SpamFilter.open(path) as one, SpamFilter.open(taught) as other:
        assert contents(one) == contents(other)
        tokens = one.stats().tokens
    assert found == {
        "store": str(path), "learned": 70, "moved": 0, "known": 0, "right": 0,
        "total": {"spam": 30, "ham": 40, "unlabeled": 0, "tokens": tokens}, "half_life": None, "skipped": [],
    }  # fmt: skip
    again = answer("train", "--ham", f"{mail / 'spam.mbox'}:3", "--ham", mail / "ham", "--store", path)
    assert (again["learned"], again["moved"], again["known"]) == (0, 1, 40)
    said = run("train", "--ham", mail / "ham", "--store", path).stdout
    assert "0 new, 0 moved from the other class, 40 known already" in said
    assert "29 spam, 41 ham" in said


def test_the_store_is_named_by_option_variable_or_is_the_users_own_in_a_folder_that_is_made(mail, monkeypatch):
    own = mail / "home" / "suffice" / "spam.sqlite"
    assert answer("train", "--spam", mail / "spam.mbox")["store"] == str(own)
    assert own.parent.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("SUFFICE_SPAM_STORE", str(mail / "named.sqlite"))
    assert answer("train", "--spam", mail / "spam.mbox")["store"] == str(mail / "named.sqlite")
    assert answer("stats", "-s", own)["store"] == str(own)
    assert "cannot be created" in fails("train", "--spam", mail / "spam.mbox", "-s", mail / "no" / "spam.sqlite")


def test_only_errors_takes_spam_and_ham_in_turn(mail):
    found = answer("train", "--only-errors", "--spam", mail / "spam.mbox", "--ham", mail / "ham", "-s", mail / "a")
    pairs = [
        (raw, label)
        for spam, ham in zip(SPAMS, HAMS[:30], strict=True)
        for raw, label in ((spam, "spam"), (ham, "ham"))
    ]
    with SpamFilter() as expected, SpamFilter.open(mail / "a") as trained:
        for raw, label in [*pairs, *((raw, "ham") for raw in HAMS[30:])]:
            expected.train(raw, label, only_errors=True)
        assert contents(trained) == contents(expected)
    assert found["right"] > 20
    assert found["learned"] + found["right"] == 70


def test_lines_and_standard_input_are_mailboxes(tmp_path):
    path = tmp_path / "sms.sqlite"
    text = b"win a prize now\n\ncall to claim your prize\n"
    assert answer("train", "--spam", "-", "--lines", "-s", path, input=text)["learned"] == 2
    (tmp_path / "ham.txt").write_bytes(b"see you at noon\n")
    answer("train", "--ham", tmp_path / "ham.txt", "--lines", "-s", path)
    result = run("classify", "-", "--lines", "-s", path, input=b"\nclaim prize\nnoon?")
    assert [line.split("\t")[2:] for line in result.stdout.splitlines()] == [["-:2", "claim prize"], ["-:3", "noon?"]]
    both = run("classify", "-", "-s", path, input=b"".join(map(as_mbox, SPAMS[:2]))).stdout.splitlines()
    assert [line.split("\t")[2:] for line in both] == [["-:1", "spam 0"], ["-:2", "spam 1"]]
    assert "once" in fails("train", "--spam", "-", "--ham", "-", "-s", path)
    assert "is a folder" in fails("classify", tmp_path, "--lines", "-s", path)


def test_a_half_life_is_set_and_taken_away(mail, store):
    assert answer("train", "--half-life", 90, "-s", store)["half_life"] == 90.0
    assert answer("stats", "-s", store)["half_life"] == 90.0
    assert answer("train", "--half-life", 0, "-s", store)["half_life"] is None


def test_unlabeled_mail_is_learned_last(mail):
    write_mbox(mail / "unsorted", [*SPAMS[:10], *(message(i, "spam") for i in range(100, 110)), message(200)])
    args = ("train", "--spam", mail / "spam.mbox", "--ham", mail / "ham", "--unlabeled", mail / "unsorted")
    found = answer(*args, "-s", mail / "a")
    assert found["learned"] == 70
    assert set(found["unlabeled"]) == {"messages", "known", "spam", "iterations", "rounds"}
    assert found["unlabeled"]["known"] == 10
    assert 0.0 <= found["unlabeled"]["spam"] <= found["unlabeled"]["messages"]
    assert f"about {found['unlabeled']['spam']:.0f} of them spam" in run(*args, "-s", mail / "b").stdout


def test_a_box_that_is_not_there_is_named_before_any_work(mail):
    for args in (("train", "--spam", mail / "spam.mbox", "--ham", "nowhere"), ("classify", "nowhere")):
        assert "there is no file or folder 'nowhere'" in fails(*args)
    assert not (mail / "home").exists()
    assert "give mail to learn from" in fails("train", code=2)
    assert "suffice spam retrain --help" in fails("retrain", code=2)
    (mail / "empty").mkdir()
    result = run("train", "--ham", mail / "empty")
    assert (result.exit_code, result.stderr) == (0, f"warning: there are no messages in {str(mail / 'empty')!r}\n")


def test_an_interrupted_training_keeps_what_it_has_and_says_so(tmp_path):
    path = tmp_path / "spam.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-m", "suffice.cli", "spam", "train", "--spam", "-", "--lines", "--store", path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(b"".join(b"buy number%d now\n" % i for i in range(4000)))
    process.stdin.flush()
    until = time.monotonic() + 30
    while (not path.exists() or sizes(path)[0] < 64) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=30)
    kept = sizes(path)[0]
    assert 64 <= kept < 4000
    assert (process.returncode, out) == (130, b"")
    assert said.decode().startswith(f"interrupted: what was learned of the first {kept:,} messages is kept")


def test_progress_is_shown_on_a_terminal_and_nowhere_else(mail):
    terminal, end = os.openpty()
    args = ["train", "--spam", mail / "spam.mbox", "--ham", mail / "ham", "--store", mail / "a", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "suffice.cli", "spam", *args],
        stdout=subprocess.PIPE, stderr=end, timeout=60, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    shown = os.read(terminal, 65536).decode()
    os.close(end)
    os.close(terminal)
    assert "messages read" in shown
    assert json.loads(done.stdout)["learned"] == 70
    assert run("train", "--spam", mail / "spam.mbox", "--store", mail / "a").stderr == ""


def test_untrain_and_retrain_undo_and_move_and_name_what_was_never_trained(mail, store):
    write_mbox(mail / "some", [SPAMS[0], HAMS[0], message(999)])
    with SpamFilter.open(store) as spam_filter:
        spam_filter.untrain(SPAMS[0])
        spam_filter.untrain(HAMS[0])
        expected = contents(spam_filter)
        spam_filter.train(SPAMS[0], "spam")
        spam_filter.train(HAMS[0], "ham")
    found = answer("untrain", mail / "some", "-s", store, code=1)
    untrained = {"spam": 1, "ham": 1, "unlabeled": 0}
    assert found == {"untrained": untrained, "never_trained": [f"{mail / 'some'}:3"], "skipped": []}
    with SpamFilter.open(store) as spam_filter:
        assert contents(spam_filter) == expected
    result = run("untrain", mail / "some", "-s", store)
    assert result.exit_code == 1
    assert result.stderr.startswith("warning: 3 messages never trained: ")
    assert result.stdout == "0 spam, 0 ham untrained; 29 spam, 39 ham are left\n"

    moved = answer("retrain", "--ham", mail / "spam.mbox", "--spam", mail / "ham", "-s", store, code=1)
    assert (moved["moved"], moved["already"], len(moved["never_trained"])) == (68, 0, 2)
    assert sizes(store) == (39, 29)
    assert run("retrain", "--ham", mail / "spam.mbox:2", "-s", store).exit_code == 0


def test_many_messages_that_were_never_trained_are_counted_and_some_named(mail, store):
    write_mbox(mail / "new", [message(i) for i in range(500, 525)])
    said = run("untrain", mail / "new", "-s", store).stderr
    assert "25 messages never trained" in said
    assert said.endswith("new:10 and 15 more\n")


# -- verdicts -----------------------------------------------------------------------------------------------------


def test_classify_says_what_the_filter_says(mail, store):
    rows = run("classify", mail / "spam.mbox", mail / "ham", "-s", store).stdout.splitlines()
    found = [json.loads(line) for line in
             run("classify", mail / "spam.mbox", mail / "ham", "-s", store, "--json").stdout.splitlines()]  # fmt: skip
    with SpamFilter.open(store) as spam_filter:
        for raw, row, one in zip([*SPAMS, *HAMS], rows, found, strict=True):
            verdict = spam_filter.score(raw)
            assert set(one) == {"label", "probability", "log_odds", "listed", "place", "subject"}
            assert (one["label"], one["probability"]) == (verdict.label, verdict.probability)
            label, probability, place, subject = row.split("\t")
            assert (label, probability) == (verdict.label, f"{verdict.probability:.6f}")
            assert (place, subject) == (one["place"], one["subject"])
    assert found[6]["place"] == f"{mail / 'spam.mbox'}:7"
    assert found[30 + 6]["place"] == str(mail / "ham" / "cur" / "006:2,S")
    assert found[6]["subject"] == "spam 6"
    assert {row.split("\t")[0] for row in rows} == {"spam", "ham"}


@pytest.mark.parametrize("command", ["classify", "explain"])
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_hostile_subjects_cannot_write_to_the_terminal(tmp_path, store, command, option):
    place = tmp_path / "x\x1b]0;title\x07\u202e"
    place.write_bytes(HOSTILE)
    result = run(command, place, "-s", store, *option)
    assert result.exit_code == 0
    assert "red" in result.stdout
    assert all(letter == "\n" or letter == "\t" or letter.isprintable() for letter in result.stdout)


def test_too_little_memory_for_mail_is_told_without_tables(mail, store, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(SpamFilter, "score_many", full)
    words = fails("classify", mail / "spam.mbox", "-s", store)
    assert "there is not enough memory for this mail; end other programs" in words
    assert "table" not in words


def test_explain_shows_evidence_that_adds_up(mail, store):
    place = f"{mail / 'spam.mbox'}:4"
    found = answer("explain", place, "--top", 0, "-s", store)
    with SpamFilter.open(store) as spam_filter:
        verdict = spam_filter.score(SPAMS[3])
    assert (found["label"], found["log_odds"]) == (verdict.label, verdict.log_odds)
    assert [(part["token"], part["log_odds"]) for part in found["evidence"]] == verdict.evidence
    assert sum(found["fields"].values()) == pytest.approx(verdict.log_odds)
    assert (found["place"], found["subject"], found["from"]) == (place, "spam 3", "a3@example.org")
    assert found["learned_as"] == "spam"
    assert len(answer("explain", place, "-n", 3, "-s", store)["evidence"]) == 3

    said = run("explain", place, "--top", 3, "-s", store).stdout.splitlines()
    assert said[0].split()[:2] == ["verdict", found["label"] + ","]
    for part in found["evidence"][:3]:
        (line,) = [line for line in said if line.split("  ")[0] == part["token"]]
        assert f"{part['log_odds']:+.3f}" in line
        before, _, after = line.partition("│")
        assert ("█" in after) == (part["log_odds"] > 0)
        assert ("█" in before) == (part["log_odds"] < 0)
    assert f"and {len(found['evidence']) - 3} more tokens" in said[-1]


def test_evaluate_says_how_many_were_learned(mail, store):
    args = ("evaluate", "--spam", mail / "spam.mbox", "--ham", mail / "ham", "-s", store)
    found = answer(*args)
    assert found["left_out"] == found["spam"] + found["ham"]
    assert f"{found['left_out']:,} of them were learned" in " ".join(run(*args).stdout.split())


def test_one_line_of_many_is_explained(tmp_path, store):
    (tmp_path / "sms").write_bytes(b"see you\nspamword1 spamword2\n")
    found = answer("explain", f"{tmp_path / 'sms'}:2", "--lines", "-s", store)
    assert found["place"] == f"{tmp_path / 'sms'}:2"
    assert "spamword1" in [part["token"] for part in found["evidence"]]
    several = fails("explain", "-", "-s", store, input=b"".join(map(as_mbox, SPAMS[:2])))
    assert "standard input holds more than one message" in several


def test_explain_wants_one_message(mail, store, tmp_path):
    assert f"such as '{mail / 'spam.mbox'}:1'" in fails("explain", mail / "spam.mbox", "-s", store)
    assert "there is no message number 31" in fails("explain", f"{mail / 'spam.mbox'}:31", "-s", store)
    assert answer("explain", "-", "-s", store, input=message(77))["learned_as"] is None
    with SpamFilter.open(tmp_path / "empty.sqlite"):
        pass
    result = run("explain", "-", "-s", tmp_path / "empty.sqlite", input=message(77))
    assert "no token of the message is known" in result.stdout


# -- evaluation and tuning ----------------------------------------------------------------------------------------


def test_evaluate_shows_the_errors_of_the_filter_on_mail_that_is_given(mail, store):
    write_mbox(mail / "new-spam", [message(i, "spam") for i in range(100, 120)])
    write_mbox(mail / "new-ham", [message(i) for i in range(200, 225)])
    args = ("evaluate", "--spam", mail / "new-spam", "--ham", mail / "new-ham", "-s", store)
    found = answer(*args)
    with SpamFilter.open(store) as spam_filter:
        verdicts = [spam_filter.score(message(i, "spam")).label for i in range(100, 120)]
        wanted = [spam_filter.score(message(i)).label for i in range(200, 225)]
    assert (found["spam"], found["ham"]) == (20, 25)
    assert (found["missed"], found["unsure_spam"]) == (verdicts.count("ham"), verdicts.count("unsure"))
    assert (found["false_positives"], found["unsure_ham"]) == (wanted.count("spam"), wanted.count("unsure"))
    assert found["one_minus_auc"] == 0.0
    assert sum(item["count"] for item in found["reliability"]) == 45
    assert set(found["reliability"][0]) == {"low", "high", "probability", "spam", "count"}
    said = run(*args).stdout
    assert "20 spam and 25 ham that were given" in said
    assert f"{wanted.count('spam')} of 25" in said
    assert "(1 - AUC) = 0.0000 %" in said


def test_evaluate_shows_plain_naive_bayes_beside_the_filter(mail, store):
    found = answer("evaluate", "--rule", "naive-bayes", "-s", store)
    with SpamFilter.open(store) as spam_filter:
        plain = spam_filter.evaluate(rule="naive-bayes")
    assert found["naive_bayes"]["log_loss"] == pytest.approx(plain.log_loss)
    assert found["log_loss"] != found["naive_bayes"]["log_loss"]
    assert "naive_bayes" not in answer("evaluate", "-s", store)
    said = run("evaluate", "--rule", "naive-bayes", "-s", store).stdout
    assert "plain naive Bayes" in said
    assert f"{plain.log_loss:.4f} nats" in said
    args = ("evaluate", "--rule", "naive-bayes", "--spam", "-", "-s", store)
    assert "standard input can be read once; save it to a file" in fails(*args, input=as_mbox(SPAMS[0]))


def test_evaluate_without_mail_judges_what_was_learned(store):
    found = answer("evaluate", "-s", store)
    assert (found["spam"], found["ham"]) == (30, 40)
    assert found["log_loss"] > 0
    assert "classified by leave-one-out" in run("evaluate", "-s", store).stdout


def test_what_cannot_be_told_is_null(mail, store):
    found = answer("evaluate", "--ham", mail / "ham", "-s", store)
    assert found["one_minus_auc"] is None
    assert "undefined" in run("evaluate", "--ham", mail / "ham", "-s", store).stdout


def test_tune_writes_thresholds_unless_it_is_a_dry_run(store):
    with SpamFilter.open(store) as spam_filter:
        spam_filter.thresholds = Thresholds(0.001, 0.999999)
    dry = answer("tune", "--dry-run", "-s", store)
    assert not dry["written"]
    assert answer("stats", "-s", store)["thresholds"] == {"ham": 0.001, "spam": 0.999999}
    assert "not written" in run("tune", "--dry-run", "-s", store).stdout

    found = answer("tune", "--cost", 10, "-s", store)
    assert found["written"]
    assert found["cost"] == 10.0
    assert found["before"]["thresholds"] == {"ham": 0.001, "spam": 0.999999}
    assert answer("stats", "-s", store)["thresholds"] == found["thresholds"] == found["after"]["thresholds"]
    assert set(found["curve"][0]) == {"threshold", "false_positives", "not_caught"}
    said = run("tune", "-s", store).stdout
    assert "a ham classified as spam costs as much as 100 spams" in said
    assert f"written to {store}" in said
    assert said.count("chosen") >= 1


def test_the_curve_is_shown_at_few_false_positives_and_where_the_filter_is():
    class Point:
        def __init__(self, threshold, false_positives, not_caught):
            self.threshold, self.false_positives, self.not_caught = threshold, false_positives, not_caught

    points = [Point(i / 1000, 1000 - i, i) for i in range(1001)]
    shown = chosen_points(points, Point(0.0, 137, 863))
    assert [point.false_positives for point, _ in shown] == [0, 1, 2, 5, 10, 20, 50, 100, 137, 200, 500, 1000]
    assert [point.false_positives for point, is_here in shown if is_here] == [137]
    assert chosen_points([], Point(0.0, 0, 0)) == []


# -- the store ----------------------------------------------------------------------------------------------------


def test_stats_tells_all_of_the_store(store):
    found = answer("stats", "-s", store)
    assert (found["spam"], found["ham"], found["half_life"]) == (30, 40, None)
    assert found["bytes"] == os.path.getsize(store)
    trained = date.fromisoformat(found["oldest"])
    assert found["oldest"] == found["newest"]
    said = run("stats", "-s", store).stdout
    for text in (str(store), "30 spam, 40 ham", "ham up to 0.5, spam from 0.9", "nothing is forgotten"):
        assert text in said
    with SpamFilter.open(store) as spam_filter:
        day = trained - timedelta(days=100)
        spam_filter.train(message(1000), "ham", at=(day - date(1970, 1, 1)).days * 86_400 + 5)
    found = answer("stats", "-s", store)
    assert (found["oldest"], found["newest"]) == (day.isoformat(), trained.isoformat())
    with SpamFilter.open(store.with_name("empty")):
        pass
    assert answer("stats", "-s", store.with_name("empty"))["oldest"] is None


@pytest.mark.parametrize("args", [("stats",), ("classify", "-"), ("untrain", "-"), ("evaluate",), ("tune",),
                                  ("expire",), ("backup", "x"), ("explain", "-")])  # fmt: skip
def test_without_a_store_commands_say_so_and_make_none(args, tmp_path):
    assert "create it with `suffice spam train`" in fails(*args, "-s", tmp_path / "none.sqlite")
    assert not (tmp_path / "none.sqlite").exists()


def test_a_backup_is_restored_only_over_nothing_or_when_told_to(store, tmp_path):
    copy = tmp_path / "copy.sqlite"
    assert answer("backup", copy, "-s", store)["bytes"] == copy.stat().st_size
    assert answer("backup", copy, "-s", store)["bytes"] == copy.stat().st_size  # an older one is replaced
    (tmp_path / "letter").write_text("mine")
    assert "is not a backup of a store" in fails("backup", tmp_path / "letter", "-s", store)
    with SpamFilter.open(store) as spam_filter:
        before = contents(spam_filter)
        spam_filter.untrain(SPAMS[0])
    assert "holds 29 spam and 40 ham" in fails("restore", copy, "-s", store)
    assert answer("restore", copy, "--yes", "-s", store)["spam"] == 30
    with SpamFilter.open(store) as spam_filter:
        assert contents(spam_filter) == before
    assert "30 spam" in run("restore", copy, "-s", tmp_path / "fresh.sqlite").stdout
    assert "there is no backup" in fails("restore", tmp_path / "no", "-s", store)
    (tmp_path / "junk").write_bytes(b"no store at all" * 100)
    assert "--yes" in fails("restore", copy, "-s", tmp_path / "junk")
    assert "junk" in fails("restore", tmp_path / "junk", "--yes", "-s", store)
    assert sizes(store) == (30, 40)


def test_expire_forgets_old_mail_and_wants_to_know_how_old(store):
    assert "give --days DAYS, or set a half-life with `suffice spam train --half-life DAYS`" in fails(
        "expire", "-s", store
    )
    with SpamFilter.open(store) as spam_filter:
        spam_filter.train(message(1000), "ham", at=time.time() - 100 * 86400)
    assert answer("expire", "--days", 50, "-s", store)["expired"] == 1
    assert run("expire", "--days", 50, "-s", store).stdout == "0 messages forgotten; 30 spam and 40 ham are left\n"
    answer("train", "--half-life", 5, "-s", store)
    assert answer("expire", "-s", store) == {
        "expired": 0,
        "spam": 30,
        "ham": 40,
        "tokens": answer("stats", "-s", store)["tokens"],
    }


def test_every_command_has_help_with_an_example_and_answers_in_json():
    commands = app_commands()
    assert {"train", "untrain", "retrain", "classify", "explain", "filter", "evaluate", "tune"} <= set(commands)
    for name in commands:
        result = run(name, "--help")
        assert result.exit_code == 0
        assert "--json" in result.stdout
        assert "Example" in result.stdout
        assert "--store" in result.stdout


def app_commands():
    import typer.main

    group = typer.main.get_command(app).commands["spam"]
    return [name for name in group.commands if name not in ("demo", "watch", "milter", "serve")]


# -- mailboxes as commands take them --------------------------------------------------------------------------------


def test_places_of_messages_name_them(mail):
    box = str(mail / "spam.mbox")
    for place, raw in entries([box, str(mail / "ham")]):
        assert list(entries([place])) == [(place, raw)]
    single = write_mbox(mail / "single", SPAMS[:1])
    assert [place for place, _ in entries([str(single)])] == [str(single)]
    assert list(entries([f"{single}:1"])) == list(entries([str(single)]))


def test_messages_and_labels_may_be_asked_for_in_any_order():
    items = [((f"p{i}", b"%d" % i), label) for i, label in enumerate("abc")]
    raws, rest = split(iter(items), lambda item: item[0][1])
    assert [label for _, label in rest] == list("abc")
    assert list(raws) == [b"0", b"1", b"2"]
    taken = alternating([("s1", b""), ("s2", b""), ("s3", b"")], [("h1", b"")])
    assert [place for (place, _), _ in taken] == ["s1", "h1", "s2", "s3"]


def test_servers_are_named_shown_and_taken_away(tmp_path):
    store = tmp_path / "store"
    fails("settings", "-s", store)
    made = answer("settings", "--server", "MX.example.org", "--server", "b.example", "-s", store)
    assert made["servers"] == ["mx.example.org", "b.example"]
    assert made["thresholds"] == {"ham": 0.5, "spam": 0.9}
    assert answer("settings", "-s", store) == made
    assert "mx.example.org, b.example" in run("settings", "-s", store).stdout
    assert "authserv-id" in fails("settings", "--server", "two words", "-s", store)
    assert "exclude each other" in run("settings", "--server", "a.example", "--no-server", "-s", store).output
    assert answer("settings", "--no-server", "-s", store)["servers"] == []


def test_a_pipe_is_read_once(mail, store):
    done = subprocess.run(
        ["bash", "-c", '"$1" -m suffice.cli spam classify --store "$2" <(cat "$3")', "-",
         sys.executable, store, mail / "spam.mbox"], capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 30, done.stderr


def die_late(servers, chunk):
    """Learn a chunk, or end like a process that has no memory left."""
    if any(b"number600 " in raw for raw, _ in chunk):
        os.kill(os.getpid(), signal.SIGKILL)
    return lesson(servers, chunk)


def test_a_process_that_is_killed_is_one_line_and_the_same_command_goes_on(tmp_path, monkeypatch):
    box, store = write_mbox(tmp_path / "box", [message(i) for i in range(700)]), tmp_path / "store"
    monkeypatch.setattr("suffice.spam.workers._cores", lambda: 2)
    with monkeypatch.context() as patch:
        patch.setattr("suffice.spam.filter.lesson", die_late)
        said = fails("train", "--ham", box, "-s", store)
    assert "has ended (exit code -9)" in said
    assert "what was learned before is kept; run the same again to continue" in said
    kept = sizes(store)[1]
    assert 0 < kept < 600
    found = answer("train", "--ham", box, "-s", store)
    assert (found["learned"], found["known"]) == (700 - kept, kept)


def test_unlabelled_mail_is_counted_wherever_messages_are(store, tmp_path):
    box = write_mbox(tmp_path / "unsorted", [message(i, "spam") for i in range(100, 105)])
    assert answer("train", "--unlabeled", box, "-s", store)["total"]["unlabeled"] == 5
    assert answer("stats", "-s", store)["unlabeled"] == 5
    assert "30 spam, 40 ham, 5 unlabelled" in run("stats", "-s", store).stdout
    assert "30 spam, 40 ham, 5 unlabelled" in run("train", "--unlabeled", box, "-s", store).stdout
    assert answer("untrain", f"{box}:1", "-s", store)["untrained"] == {"spam": 0, "ham": 0, "unlabeled": 1}
    said = run("untrain", f"{box}:2", "-s", store).stdout
    assert said == "0 spam, 0 ham, 1 unlabelled untrained; 30 spam, 40 ham, 3 unlabelled are left\n"


def test_an_interruption_of_learning_without_labels_says_what_is_kept(store, tmp_path, monkeypatch):
    def interrupted(store, basis):
        raise KeyboardInterrupt

    box = write_mbox(tmp_path / "unsorted", [message(i, "spam") for i in range(100, 105)])
    monkeypatch.setattr("suffice.spam.unlabeled._responsibilities", interrupted)
    result = run("train", "--unlabeled", box, "-s", store)
    assert result.exit_code == 130
    assert "the first 5 messages without labels are kept; run the same command again" in result.stderr
    assert answer("stats", "-s", store)["unlabeled"] == 5


def test_any_number_of_days_is_old_enough_to_expire_nothing(store):
    for days in ("1e300", "inf"):
        assert answer("expire", "--days", days, "-s", store)["expired"] == 0
