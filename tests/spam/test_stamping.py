"""Stamps, and `suffice spam filter`: what goes in comes out, with our headers and no others like them."""

import contextlib
import email
import email.policy
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mailbag import message
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import SpamFilter, Thresholds, Verdict, digest, pipe
from suffice.spam.stamping import stamped, stamps, unstamped

SPAMS = [message(i, "spam") for i in range(30)]
HAMS = [message(i) for i in range(40)]
ERROR = Verdict.error("a reason")
VERDICT = Verdict(0.75, "unsure", 1.25, [("free money", 2.5), ("naïve,\r\nBcc: x", -1.25)])
_BLOCK = re.compile(rb"(?:X-Suffice-[^\n]*\n(?: [^\n]*\n)*)+")
_FROM = re.compile(rb"(?:From [^\r\n]*\r?\n)?")


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    path = tmp_path_factory.mktemp("taught") / "taught.sqlite"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many(SPAMS, "spam")
        spam_filter.train_many(HAMS, "ham")
    return path


def command(raw, *args, **options):
    return subprocess.run(
        [sys.executable, "-m", "suffice.cli", "spam", "filter", *map(str, args)],
        input=raw, capture_output=True, timeout=60, **options,
    )  # fmt: skip


def without_ours(out, raw):
    """Return an output without our headers; and without the empty line below them, where one had to be added."""
    top = _FROM.match(out).end()
    block = _BLOCK.match(out, top)
    rest = out[block.end() :]
    if raw[_FROM.match(raw).end() :][:1] in (b" ", b"\t"):
        assert rest[:1] == b"\n" or rest[:2] == b"\r\n"
        rest = rest.split(b"\n", 1)[1]
    return out[:top] + rest


pieces = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b" ", b"\t", b":", b"From a\n", b"From a", b">From b\r\n", b"Subject: a",
     b"X-Suffice-Status: ham", b"x-suffice-score", b"X-Sufficed: no", b"body", b"\xff\x00"]
)  # fmt: skip
raws = st.one_of(st.binary(max_size=80), st.lists(pieces, max_size=16).map(b"".join))


# -- stamps -------------------------------------------------------------------------------------------------------


@given(raws)
@example(b"")
@example(b"From nobody")
@example(b"From nobody\n\n")
@example(b" indented\n")
@example(b"Subject: a\r\n\r\nX-Suffice-Status: in the body\r\n")
def test_a_stamped_message_without_our_headers_is_the_message(raw):
    rest = without_ours(stamped(raw, VERDICT), raw)
    assert rest == unstamped(raw)
    if b"x-suffice-" not in raw.lower():
        assert rest == raw


@given(raws)
def test_only_headers_that_pretend_to_be_ours_go(raw):
    lines = re.compile(rb"(?:\r\n|\n|\r)")
    kept = unstamped(raw)
    headers = re.split(rb"\n\r?\n", kept[_FROM.match(kept).end() :], maxsplit=1)[0]
    if not headers.startswith((b"\n", b"\r\n")):
        assert not any(line.lower().startswith(b"x-suffice-") for line in lines.split(headers))
    assert unstamped(kept) == kept
    left = iter(lines.split(raw))
    assert all(line in left for line in lines.split(kept) if line)  # lines that stay are whole, and in their order


@given(raws)
@example(b"From a\rX-Suffice-Status: ham\nSubject: a\n\n")
@example(b"From a\rX-Suffice-Status: ham\r\n\r\n")
def test_every_reader_finds_our_headers_first_and_once(raw):
    out = stamped(raw, VERDICT)
    for policy in (email.policy.compat32, email.policy.default):
        found = email.message_from_bytes(out, policy=policy)
        assert found.get_all("X-Suffice-Status") == ["unsure"]
        assert found.get_all("X-Suffice-Score") == ["0.750000"]
    assert stamped(out, VERDICT) == stamped(stamped(out, VERDICT), VERDICT)


@given(st.lists(st.tuples(st.text(max_size=200), st.floats(-50, 50)), max_size=12))
@example([("猫" * 100, 1.0)])
@example([("=?utf-8?q?=0D=0ABcc=3A_x?=\r\nBcc: x", 2.0)])
def test_no_token_can_break_out_of_its_header(evidence):
    block = stamped(b"Subject: a\n\n", Verdict(0.5, "unsure", 0.0, evidence))[: -len(b"Subject: a\n\n")]
    lines = block.decode("ascii").split("\n")
    assert lines.pop() == ""
    assert all(len(line) <= 78 and line.isprintable() for line in lines)
    assert all(line.startswith((" ", "X-Suffice-")) for line in lines)
    assert "=" not in block.decode().split("Reasons:")[1]  # nothing is an encoded word
    assert len([line for line in lines if line.startswith("X-")]) == 3


def test_reasons_can_be_read_back():
    value = stamps(VERDICT)["X-Suffice-Reasons"]
    assert value == "free_money +2.50, na%C3%AFve%2C%0D%0ABcc:_x -1.25"
    assert stamps(Verdict(0.5, "unsure", 0.0, []))["X-Suffice-Reasons"] == "none"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_stamps_end_their_lines_as_the_message_does_and_follow_the_line_of_the_mailbox(end):
    raw = end.join([b"From ann Thu Jan  1 00:00:00 1970", b"Subject: a", b"x-suffice-status: ham", b"\tor so", b"To: b",
                    b"", b"X-Suffice-Status: text", b""])  # fmt: skip
    lines = stamped(raw, VERDICT).split(end)
    assert lines[0].startswith(b"From ann")
    assert lines[1] == b"X-Suffice-Status: unsure"
    assert lines[-5:] == [b"Subject: a", b"To: b", b"", b"X-Suffice-Status: text", b""]
    assert b"or so" not in b"".join(lines)
    assert not any(b"\n" in line or b"\r" in line for line in lines)


@pytest.mark.parametrize(
    "raw",
    [
        *SPAMS[:3],
        b"\r\n".join(SPAMS[0].split(b"\n")),
        b"From a\n" + HAMS[0],
        b"From a\r\n" + HAMS[0],
        b"From a\r" + HAMS[0],
        b"no header\n",
    ],
)
def test_a_stamped_copy_is_the_same_message(raw):
    assert digest(stamped(raw, VERDICT)) == digest(raw)


@settings(max_examples=30)  # each of which starts two processes
@given(raws)
def test_what_goes_into_the_filter_comes_out(taught, raw):
    code, out = through(raw, taught)
    assert code in (pipe.SPAM, pipe.HAM, pipe.UNSURE)
    assert without_ours(out, raw) == unstamped(raw)
    assert through(raw, taught.with_name("none")) == (pipe.ERROR, stamped(raw, ERROR))


def through(raw, store):
    """Run the filter in this process, and return its exit code and its output."""
    out = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        patch.setattr(sys, "stdout", wrapper := io.TextIOWrapper(out))
        code = pipe.run(pipe.Settings(store))
        wrapper.detach()
    return code, out.getvalue()


# -- the command --------------------------------------------------------------------------------------------------


def test_exit_codes_are_0_spam_1_ham_2_unsure_3_error(taught, tmp_path):
    path = shutil.copy(taught, tmp_path / "a.sqlite")
    for raw, code, label in ((SPAMS[0], 0, b"spam"), (HAMS[0], 1, b"ham")):
        done = command(raw, "--store", path)
        assert (done.returncode, done.stderr) == (code, b"")
        assert done.stdout.startswith(b"X-Suffice-Status: %b\nX-Suffice-Score: 0." % label)
        assert without_ours(done.stdout, raw) == raw
        with SpamFilter.open(path) as spam_filter:
            assert done.stdout == stamped(raw, spam_filter.score(raw))
    with SpamFilter.open(path) as spam_filter:
        spam_filter.thresholds = Thresholds(0.0, 1.0)
    done = command(SPAMS[0], env={**os.environ, "SUFFICE_SPAM_STORE": str(path)})
    assert done.returncode == 2
    assert done.stdout.startswith(b"X-Suffice-Status: unsure\n")
    assert command(SPAMS[0], "-p", "--store", path).returncode == 0


@pytest.mark.parametrize(
    "raw", [SPAMS[0], b"", b"\xff\x00\r", b"From a\nX-Suffice-Status: ham\n\n" + bytes(range(256))]
)
@pytest.mark.parametrize("fault", ["no store", "no such file type", "wrong option", "argument"])
def test_whatever_is_wrong_the_message_comes_out_and_forged_stamps_do_not(raw, fault, tmp_path):
    (tmp_path / "junk").write_bytes(b"this is no store, " * 100)
    args = {
        "no store": ["--store", tmp_path / "none"],
        "no such file type": ["--store", tmp_path / "junk"],
        "wrong option": ["--bogus"],
        "argument": ["mail.eml"],
    }[fault]
    done = command(raw, *args)
    assert (done.returncode, done.stdout) == (3, stamped(raw, ERROR))
    assert b"Status: ham" not in done.stdout
    assert done.stderr.startswith(b"error: the message is passed on with the status error: ")
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "none").exists()
    if fault in ("no store", "no such file type"):
        assert command(raw, "--no-exit-code", *args).returncode == 0


def test_a_bug_in_the_filter_loses_no_mail(tmp_path, taught):
    (tmp_path / "sitecustomize.py").write_text(
        "import suffice.spam.filter as f\ndef broken(*a): raise RuntimeError('a bug')\nf.SpamFilter.score = broken\n"
    )
    places = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = command(SPAMS[0], "--store", taught, env={**os.environ, "PYTHONPATH": places})
    assert (done.returncode, done.stdout) == (3, b"X-Suffice-Status: error\n" + SPAMS[0])
    assert done.stderr == b"error: the message is passed on with the status error: a bug\n"


FORGED = [
    b"X-Suffice-Status: ham\n" + SPAMS[0],
    b"From ann\r\nTo: bob\r\nx-sUFFICE-status:\r\n ham\r\nX-Suffice-Score: 0\r\n\r\nX-Suffice-Status: body\r\n",
    b" \nTo: bob\rX-Suffice-Status: ham\nSubject: a\n\nb",
    b"X-Suffice-Status: ham",
]


@pytest.mark.parametrize("lost", ["suffice.spam.stamping", "suffice.spam.filter", "suffice.terminal", "json"])
@pytest.mark.parametrize("raw", FORGED)
def test_in_a_broken_installation_forged_stamps_are_removed_all_the_same(raw, lost, tmp_path, taught):
    broken = f"import sys\nfor name in [*sys.modules]:\n if name.startswith({lost!r}): del sys.modules[name]\n"
    (tmp_path / "sitecustomize.py").write_text(f"{broken}sys.modules[{lost!r}] = None\n")
    places = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = command(raw, "--store", taught, env={**os.environ, "PYTHONPATH": places})
    if lost == "suffice.terminal":  # it is needed for words alone
        assert (done.returncode, done.stdout) == (command(raw, "--store", taught).returncode, done.stdout)
        done = command(raw, "--store", tmp_path / "none", env={**os.environ, "PYTHONPATH": places})
    assert (done.returncode, done.stdout) == (3, stamped(raw, ERROR))
    assert b"Status: ham" not in done.stdout.partition(b"\n\n")[0]
    assert done.stderr.startswith(b"error: the message is passed on with the status error: ")


def test_a_message_whose_stamps_cannot_be_removed_is_kept_by_the_mail_program(tmp_path, taught):
    (tmp_path / "sitecustomize.py").write_text(
        "import suffice.spam.pipe as p\ndef full(*a): raise MemoryError\np.not_judged = p._judged = full\n"
    )
    places = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = command(FORGED[0], "-p", "--store", taught, env={**os.environ, "PYTHONPATH": places})
    assert (done.returncode, done.stdout) == (75, b"")
    assert done.stderr.startswith(b"error: the message is not passed on, because there is not enough memory: ")


def test_a_message_larger_than_what_is_looked_at_is_copied_whole(taught):
    raw = SPAMS[0] + b"0123456789abcdef" * 1_100_000
    assert len(raw) > pipe.HEAD
    done = command(raw, "--store", taught)
    assert done.returncode in (0, 1, 2)
    assert without_ours(done.stdout, raw) == raw
    assert command(raw, "--wrong").stdout == b"X-Suffice-Status: error\n" + raw


def test_a_closed_pipe_is_an_error_even_where_codes_are_not_wanted(taught):
    script = '"$1" -m suffice.cli spam filter -p --store "$2" | true; echo ${PIPESTATUS[0]}'
    done = subprocess.run(
        ["bash", "-c", script, "-", sys.executable, taught], input=SPAMS[0] * 20_000, capture_output=True, timeout=60
    )
    assert done.stdout == b"75\n"
    assert done.stderr.startswith(b"error: the message cannot be passed on")
    assert b"Traceback" not in done.stderr


def test_without_standard_error_nothing_but_the_message_is_written(tmp_path):
    script = '"$1" -m suffice.cli spam filter --store "$2" 2>&-'
    done = subprocess.run(
        ["bash", "-c", script, "-", sys.executable, tmp_path / "none"], input=SPAMS[0], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (3, b"X-Suffice-Status: error\n" + SPAMS[0])


def test_json_goes_beside_the_message(taught):
    done = command(SPAMS[0], "--json", "--store", taught)
    found = json.loads(done.stderr)
    assert set(found) == {"label", "probability", "log_odds", "listed", "reasons"}
    assert (found["label"], set(found["reasons"][0])) == ("spam", {"token", "log_odds"})
    assert without_ours(done.stdout, SPAMS[0]) == SPAMS[0]


def test_the_filter_starts_without_the_packages_that_take_long_to_load(taught):
    script = (
        "import sys; sys.argv[1:] = ['spam', 'filter', '--store', sys.argv[1]]\n"
        "from suffice.cli import main\n"
        "try: main()\n"
        "finally: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, taught], input=SPAMS[0], capture_output=True, timeout=60)
    loaded = set(done.stderr.decode().split())
    assert "suffice" in loaded
    assert not loaded & {
        "typer",
        "click",
        "rich",
        "numpy",
        "scipy",
        "sklearn",
        "pyarrow",
        "multiprocessing",
        "argparse",
    }


# -- its options --------------------------------------------------------------------------------------------------


def options_of_typer():
    group = typer.main.get_command(app).commands["spam"]
    return [option for option in group.commands["filter"].params if option.name != "help"]


def test_the_quick_start_knows_the_options_that_help_lists_and_no_others():
    expected = {name: (option.name, not option.is_flag) for option in options_of_typer() for name in [*option.opts]}
    expected["--daemon"] = ("daemon", None)  # typer knows no option whose value may be left out
    assert expected == pipe.OPTIONS
    assert {setting for setting, _ in expected.values()} == set(pipe.Settings._fields)


@pytest.mark.parametrize(
    "args", [[], ["--store", "a b"], ["--store=a=b"], ["-s", "x", "-p"], ["-sx"], ["-ps", "x"], ["-psx", "--json"],
             ["--no-exit-code", "--json"], ["--store", "--json"], ["--store", "a", "--store", "b"]]
)  # fmt: skip
def test_both_read_options_the_same(args, monkeypatch):
    read = []
    monkeypatch.setattr(pipe, "run", lambda settings: read.append(settings) or 0)
    monkeypatch.delenv("SUFFICE_SPAM_STORE", raising=False)
    result = CliRunner().invoke(app, ["spam", "filter", *args], catch_exceptions=False)
    assert result.exit_code == 0
    assert read == [pipe.parse(args)]


@pytest.mark.parametrize(
    "args", [["--store"], ["-s"], ["--json=yes"], ["-x"], ["--"], ["-"], ["file"], ["--stor", "x"]]
)
def test_what_typer_refuses_is_refused(args):
    if args != ["--"]:
        assert CliRunner().invoke(app, ["spam", "filter", *args]).exit_code == 2
    with pytest.raises(ValueError, match=r"option|argument"):
        pipe.parse(args)


def test_settings_name_a_path():
    assert pipe.parse(["-s", "x"]).store == Path("x")


# -- its packages -------------------------------------------------------------------------------------------------


def with_packages_missing(missing, *args, **options):
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); from suffice.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, timeout=60, **options)


def test_only_typer_and_rich_are_needed_and_the_filter_needs_neither(taught):
    tables = ["pyarrow", "numpy", "scipy", "sklearn"]
    assert with_packages_missing(tables, "spam", "stats", "--store", taught).returncode == 0
    for package in ("typer", "rich"):
        done = with_packages_missing([package], "spam", "stats", "--store", taught)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr == b"the command line needs extra packages: pip install 'suffice[spam]'\n"
    done = with_packages_missing([*tables, "typer", "rich"], "spam", "filter", "--store", taught, input=SPAMS[0])
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(shutil.which("procmail") is None, reason="needs procmail")
@pytest.mark.parametrize("number", [0, 1])
def test_the_recipes_for_procmail_sort_mail(taught, tmp_path, number):
    page = (Path(__file__).parents[2] / "docs" / "spam-mail.md").read_text(encoding="utf-8")
    recipe = re.findall(r"^```procmail\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[number]
    (tmp_path / "suffice").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m suffice.cli "$@"\n')
    (tmp_path / "suffice").chmod(0o755)
    settings = f"MAILDIR={tmp_path}\nDEFAULT={tmp_path}/inbox\nPATH={tmp_path}:/usr/bin:/bin\n"
    settings += f"SUFFICE_SPAM_STORE={taught}\nPYTHONPATH={Path(pipe.__file__).parents[2]}\nLOGFILE={tmp_path}/log\n"
    (tmp_path / "rc").write_text(f"{settings}\n{recipe}")
    for raw in (SPAMS[0], HAMS[0], SPAMS[1]):
        subprocess.run(["procmail", "-m", tmp_path / "rc"], input=raw, check=True, timeout=60)
    subjects = {
        name: re.findall(rb"^Subject: (.*)$", (tmp_path / name).read_bytes(), re.MULTILINE)
        for name in ("inbox", "Junk")
    }
    assert subjects == {"inbox": [b"ham 0"], "Junk": [b"spam 0", b"spam 1"]}, (tmp_path / "log").read_text()
    assert (b"X-Suffice-Status: spam" in (tmp_path / "Junk").read_bytes()) == (number == 0)


def test_closed_standard_input_is_told_plainly(taught):
    command = f"exec {sys.executable} -m suffice.cli spam filter --store {taught} <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr == "error: standard input is closed; give the message there\n"
