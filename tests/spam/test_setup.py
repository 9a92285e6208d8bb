"""`suffice spam setup`: what it finds, what it shows, what it learns, and what it writes."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import forked
import pytest
from mailbag import message
from spam.dovecot import PASSWORD, USER, Dovecot

from suffice.spam import SpamFilter
from suffice.spam.beginning.finding import junk_within, mail_places
from suffice.spam.beginning.rehearsal import NEWEST, rehearse
from suffice.spam.beginning.running import WAYS, plan, write
from suffice.spam.imap.account import Account
from suffice.spam.mailboxes import as_mbox


def dated(number, kind="ham", day=None):
    """A message of a day of 2024, the later the larger its number."""
    day = number if day is None else day
    head = f"Received: from x; Mon, {1 + day % 28} {('Jan', 'Feb', 'Mar')[day // 28 % 3]} 2024 10:00:00 +0000\n"
    return head.encode() + message(number, kind)


def items(n_spam, n_ham, **options):
    """A function that gives spam and ham with places."""
    mail = [
        ((f"{kind}:{i}", dated(i, kind, **options)), kind)
        for kind, n in (("spam", n_spam), ("ham", n_ham))
        for i in range(n)
    ]
    return lambda: iter(mail)


@pytest.fixture
def home(tmp_path):
    """A home with a Maildir: 40 hams, 30 spams in its Junk, and trash."""
    for folder in ("", ".Junk", ".Trash", ".Archive"):
        for part in ("cur", "new", "tmp"):
            (tmp_path / "Maildir" / folder / part).mkdir(parents=True)
    for i in range(40):
        (tmp_path / "Maildir" / ("" if i % 2 else ".Archive") / "cur" / f"{i}:2,S").write_bytes(dated(i))
    for i in range(30):
        (tmp_path / "Maildir" / ".Junk" / "cur" / f"{i}:2,S").write_bytes(dated(i, "spam"))
    (tmp_path / "Maildir" / ".Trash" / "cur" / "1:2,S").write_bytes(dated(99))
    return tmp_path


def run(home, *args, code=0, more=()):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SUFFICE_SPAM"))}
    environment = {**kept, "HOME": str(home), "USER": "nobody-at-all", **dict(more)}
    done = forked.run("spam", "setup", *args, env=environment, timeout=120)
    assert done.returncode == code, done.stderr
    return done


def test_mail_is_found_where_programs_keep_it(home):
    (home / ".thunderbird" / "x.default" / "Mail" / "Local Folders").mkdir(parents=True)
    (home / ".thunderbird" / "x.default" / "Mail" / "Local Folders" / "Inbox").write_bytes(as_mbox(message(1)))
    (home / ".thunderbird" / "x.default" / "Mail" / "Local Folders" / "Junk").write_bytes(as_mbox(message(1, "spam")))
    (home / ".thunderbird" / "x.default" / "Mail" / "Local Folders" / "Junk.msf").write_bytes(b"index")
    (home / ".thunderbird" / "x.default" / "Mail" / "empty.example.org").mkdir()
    (home / "Mail").symlink_to(home / "Maildir")
    (home / "mbox").write_bytes(b"")
    thunderbird = home / ".thunderbird" / "x.default" / "Mail" / "Local Folders"
    assert mail_places(home, "") == [home / "Maildir", thunderbird]
    assert junk_within(home / "Maildir") == [home / "Maildir" / ".Junk"]
    assert junk_within(thunderbird) == [thunderbird / "Junk"]
    assert junk_within(home / "mbox") == []


def test_the_newest_messages_are_judged_by_those_before_them():
    found = rehearse(items(60, 80))
    assert found.messages == 35  # a quarter of all
    assert found.last == 19_806  # the 24th of March 2024
    assert found.verdicts["ham", "spam"] == found.verdicts["spam", "ham"] == 0
    assert found.verdicts["ham", "ham"] > 10
    assert rehearse(items(300, 900)).messages == NEWEST


def test_messages_that_were_filed_wrongly_are_named():
    mail = list(items(60, 80)())
    wrong = (("spam:wrong", dated(83, "ham")), "spam")
    found = rehearse(lambda: iter([*mail, wrong]))
    assert [(mistake.place, mistake.subject, mistake.label) for mistake in found.mistakes] == [
        ("spam:wrong", "ham 83", "spam")
    ]


@pytest.mark.parametrize(("n_spam", "n_ham"), [(0, 40), (5, 40), (40, 0), (0, 0)])
def test_too_few_messages_are_not_rehearsed(n_spam, n_ham):
    assert rehearse(items(n_spam, n_ham)) is None


def test_messages_without_dates_are_not_rehearsed():
    assert rehearse(lambda: (((str(i), message(i, kind)), kind) for kind in ("spam", "ham") for i in range(30))) is None


def test_everything_by_one_command(home):
    answer = json.loads(run(home, "--yes", "--json").stdout)
    store = home / ".local" / "share" / "suffice" / "spam.sqlite"
    assert (answer["store"], answer["learned"]["new"], answer["tuned"]) == (str(store), 70, True)
    assert (answer["spam"], answer["ham"]) == ([str(home / "Maildir" / ".Junk")], [str(home / "Maildir")])
    assert answer["rehearsal"]["messages"] == 17
    assert (answer["run"], answer["written"]) == ("nothing", [])
    with SpamFilter.open(store) as spam_filter:
        assert (spam_filter.stats().spam, spam_filter.stats().ham) == (30, 40)
        assert spam_filter.score(message(7, "spam")).label == "spam"
    shown = run(home, "--yes").stdout
    assert "judged by what was before them" in shown
    assert "70 known already" in shown


def test_files_are_written_once_and_not_changed(home):
    first = run(home, "--yes", "--run", "procmail").stdout
    rules = home / ".config" / "suffice" / "procmailrc"
    assert str(rules) in first
    assert rules.read_text().endswith(f"{home / 'Maildir' / '.Junk'}/\n")
    rules.write_text("mine\n")
    run(home, "--yes", "--run", "procmail")
    assert rules.read_text() == "mine\n"


@pytest.mark.parametrize("way", [way for way in WAYS if way != "nothing"])
def test_every_way_names_the_program_and_what_is_left_to_do(way, tmp_path):
    account = Account("mail.example.org", "ann")
    store = tmp_path / "a store.sqlite"
    planned = plan(way, "/usr/bin/suffice", tmp_path / "config", store, account=account, usual=False)
    written = write(planned)
    assert written == [file.path for file in planned.files]
    texts = "\n".join(path.read_text() for path in written)
    assert way == "sieve" or "/usr/bin/suffice" in texts
    assert way in ("sieve", "milter") or "'" + str(store) + "'" in texts
    assert planned.then
    assert write(planned) == []
    if way == "watch":
        (secret,) = (file.path for file in planned.files if file.is_private)
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert "SUFFICE_IMAP_USER=ann" in secret.read_text()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--run", "pigeon", "--yes"], "--run must be one of watch, procmail, sieve, milter, nothing, not 'pigeon'"),
        ([], "no terminal to ask; give --yes"),
        (["--spam", "Maildir", "--yes"], "give both, --spam BOX and --ham BOX"),
        (["--yes", "--run", "watch"], "watching needs an account"),
    ],
)
def test_what_it_cannot_do_is_said_before_anything_is_done(home, args, says, monkeypatch):
    monkeypatch.chdir(home)
    done = run(home, *args, code=2)
    assert says in done.stderr
    assert not (home / ".local").exists()


def test_without_mail_or_without_spam_it_says_what_to_give(tmp_path, home):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no mail was found" in run(empty, "--yes", code=2).stderr
    for spam in (home / "Maildir" / ".Junk" / "cur").iterdir():
        spam.unlink()
    for part in ("cur", "new", "tmp"):
        (home / "Maildir" / ".Junk" / part).rmdir()
    assert "no folder for spam" in run(home, "--yes", code=2).stderr


def test_on_a_terminal_it_asks(home):
    import pty

    answers, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "suffice.cli", "spam", "setup"],
        stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "HOME": str(home), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "USER": "nobody-at-all"},
    )  # fmt: skip
    os.write(answers, b"y\nprocmail\ny\n")
    out, said = process.communicate(timeout=120)
    os.close(end)
    os.close(answers)
    assert process.returncode == 0, said
    assert "Learn these?" in out
    assert "How does mail reach the filter" in out
    assert (home / ".config" / "suffice" / "procmailrc").exists()
    assert Path(home / ".local" / "share" / "suffice" / "spam.sqlite").exists()


@pytest.mark.servers
def test_an_account_is_learned_and_the_unit_that_watches_it_is_written(tmp_path):
    server = Dovecot()
    try:
        with server.client() as client:
            for i in range(40):
                client.append("INBOX", dated(i).replace(b"\n", b"\r\n"))
                client.append("Junk", dated(i, "spam").replace(b"\n", b"\r\n"))
        address = f"imap://{quote(USER, safe='')}@127.0.0.1:{server.port}"
        done = run(tmp_path, "--imap", address, "--yes", "--json", more={"SUFFICE_IMAP_PASSWORD": PASSWORD})
    finally:
        server.end()
    answer = json.loads(done.stdout)
    assert (answer["total"], answer["rehearsal"]["messages"]) == ({"spam": 40, "ham": 40}, 20)
    assert answer["run"] == "watch"
    unit = (tmp_path / ".config" / "systemd" / "user" / "suffice-watch.service").read_text()
    assert f"--no-tls --port {server.port}" in unit
    secret = (tmp_path / ".config" / "suffice" / "imap.env").read_text()
    assert f"SUFFICE_IMAP_USER={USER}" in secret
    assert PASSWORD not in secret
    assert PASSWORD not in done.stdout
