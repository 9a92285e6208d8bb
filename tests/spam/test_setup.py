"""`suffice spam setup`: what it finds, what it shows, what it learns, and what it writes."""

import gzip
import json
import os
import re
import shlex
import stat
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from urllib.parse import quote

import forked
import pytest
from mailbag import AWKWARD, message
from spam.dovecot import PASSWORD, USER, Dovecot

from suffice.spam import SpamFilter
from suffice.spam.beginning.finding import junk_within, mail_places
from suffice.spam.beginning.rehearsal import NEWEST, rehearse
from suffice.spam.beginning.running import RUN, WAYS, plan, write
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


def run(home, *args, code=0, more=(), cwd="."):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SUFFICE_SPAM"))}
    environment = {**kept, "HOME": str(home), "USER": "nobody-at-all", **dict(more)}
    with chdir(cwd):
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
    assert "classified by a filter that has learned the older ones" in shown
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
    quotes = '"' if way == "watch" else "'"
    assert way in ("sieve", "milter") or quotes + str(store) + quotes in texts
    assert planned.then
    assert write(planned) == []
    if way == "watch":
        (secret,) = (file.path for file in planned.files if file.is_private)
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert "SUFFICE_IMAP_USER=ann" in secret.read_text()


@pytest.mark.parametrize("name", AWKWARD)
def test_no_name_of_a_folder_changes_what_the_files_say(tmp_path, name):
    """Read as procmail and systemd read them; `test_site` lets them do so."""
    place = tmp_path / name
    program, store, junk = f"{place}/suffice", place / "spam.sqlite", f"{place}/Junk"
    account = Account("mail.example.org", name if name.isprintable() else "ann")
    options = {"account": account, "usual": False, "junk": junk}
    texts = {}
    for way in ("procmail", "watch", "milter"):
        if way != "procmail" and name == "u\udcff":
            with pytest.raises(ValueError, match="is not UTF-8, and systemd reads no other units"):
                plan(way, program, place / "config", store, **options)
            continue
        planned = plan(way, program, place / "config", store, **options)
        assert len(write(planned)) == len(planned.files)
        texts |= {file.path.name: os.fsdecode(file.path.read_bytes()) for file in planned.files}
        assert all(str(tmp_path) not in step or str(tmp_path) in " ".join(shlex.split(step)) for step in planned.then)
    lines = texts["procmailrc"].splitlines()
    assert shlex.split(lines[1])[1:] == [program, "spam", "filter", "--no-exit-code", "--store", str(store)]
    assert shlex.split(lines[-1]) == [junk]
    for unit in sorted(texts.keys() & {"suffice-watch.service", "suffice-milter.service"}):
        start = next(line for line in texts[unit].splitlines() if line.startswith("ExecStart="))
        command = start.partition("=")[2]
        assert command.startswith(RUN) == any(letter in program for letter in "\"'\\$")  # systemd takes them elsewhere
        words = [as_systemd(word) for word in re.findall(r'"(?:[^"\\]|\\.)*"|\S+', command.removeprefix(RUN))]
        assert words[0] == program
        assert "watch" not in unit or words[-1] == str(store)
    if "suffice-watch.service" not in texts:
        return
    secret = next(line for line in texts["suffice-watch.service"].splitlines() if "EnvironmentFile" in line)
    assert secret.partition("=")[2].replace("%%", "%") == f"{place}/config/suffice/imap.env"
    user = texts["imap.env"].splitlines()[1].partition("=")[2]
    assert as_systemd(user.replace("%", "%%").replace("$", "$$")) == account.user


def as_systemd(word):
    """Return a word of a unit without its quotes, its escapes and the marks of specifiers and variables."""
    word = re.sub(r"\\(.)", r"\1", word[1:-1]) if word.startswith('"') else word
    assert not re.search(r"(?<!%)%(%%)*(?!%)|(?<!\$)\$(\$\$)*(?!\$)", word.replace("${", ""))
    return word.replace("%%", "%").replace("$$", "$")


def test_a_path_with_a_line_end_is_refused_before_anything_is_learned(home):
    moved = home / "a\nb"
    moved.mkdir()
    (home / "Maildir").rename(moved / "Maildir")
    assert "control characters" in run(moved, "--yes", "--run", "procmail", code=1).stderr
    assert not list(moved.glob(".local/share/suffice/*.sqlite"))


def test_procmail_delivers_to_no_box_that_it_would_damage(home, tmp_path):
    spam = [dated(i, "spam") for i in range(30)]
    boxes = {"Junk.gz": gzip.compress(b"".join(map(as_mbox, spam))), "Junk.mbox": b"".join(map(as_mbox, spam))}
    for name, data in boxes.items():
        (home / name).write_bytes(data)
    for name, last in {"Junk.gz": "$HOME/mail/Junk", "Junk.mbox": str(home / "Junk.mbox")}.items():
        run(home, "--yes", "--run", "procmail", "--spam", name, "--ham", "Maildir", cwd=home)
        rules = home / ".config" / "suffice" / "procmailrc"
        assert rules.read_text().splitlines()[-1] == last
        rules.unlink()


def test_copies_of_one_message_do_not_end_it():
    ham = [((f"ham:{i}", dated(i)), "ham") for i in range(100)]
    copies = [((f"spam:{i}", dated(3, "spam")), "spam") for i in range(60)]
    assert rehearse(lambda: iter([*ham, *copies])) is None


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--spam", "", "--ham", "Maildir", "--yes"], "the name of a box is empty"),
        (["--spam", "Maildir", "--ham", "Maildir/", "--yes"], "is given as spam and as ham"),
    ],
)
def test_boxes_that_make_no_sense_are_refused(home, args, says):
    done = run(home, *args, code=1, cwd=home)
    assert says in done.stderr
    assert not list(home.glob(".local/share/suffice/*.sqlite"))


@pytest.mark.parametrize(
    ("answers", "code", "says"),
    [
        (b"n\n", 1, "nothing was learned"),
        (b"\x04", 130, "stopped at a question"),
        pytest.param(b"y\n\x04", 130, "stopped at a question", marks=pytest.mark.slow),
        pytest.param(b"y\nprocmail\nn\n", 1, "no file was written", marks=pytest.mark.slow),
    ],
)
def test_an_answer_that_ends_it_is_no_error_of_ours(home, answers, code, says):
    done = on_terminal(home, answers)
    assert (done[0], "Traceback" in done[2]) == (code, False)
    assert says in done[1] + done[2]
    assert not (home / ".config").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--run", "pigeon", "--yes"], "--run must be one of watch, procmail, sieve, milter, nothing, not 'pigeon'"),
        ([], "no terminal for questions; give --yes"),
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


def on_terminal(home, answers):
    """Run it with answers on a terminal; return its exit code and what it said."""
    import pty

    keys, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "suffice.cli", "spam", "setup"],
        stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "HOME": str(home), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "USER": "nobody-at-all"},
    )  # fmt: skip
    os.write(keys, answers)
    out, said = process.communicate(timeout=120)
    os.close(end)
    os.close(keys)
    return process.returncode, out, said


def test_on_a_terminal_it_asks(home):
    code, out, said = on_terminal(home, b"y\nprocmail\ny\n")
    assert code == 0, said
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
