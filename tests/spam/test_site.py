"""The filter at a site: real spamc and rspamc, units of systemd, Sieve in Dovecot, the package, the image."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from pathlib import Path

import pytest
from mailbag import AWKWARD, message
from spam.dovecot import PROGRAM, USER, Dovecot

import suffice.spam
from suffice.spam import SpamFilter
from suffice.spam.beginning.running import RUN, plan, write
from suffice.spam.imap.account import Account

pytestmark = pytest.mark.servers
SYSTEM = Path(suffice.spam.__file__).parent / "system"
ROOT = Path(__file__).parents[2]
SPAM, HAM = message(900, "spam"), message(901)


def needed(program, package, path=""):
    found = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), path]))
    if found is None:
        pytest.skip(f"{program} is not installed (apt-get install {package})")
    return found


@pytest.fixture(scope="module")
def folder():
    """A folder that others may enter, as programs that Dovecot starts do."""
    path = Path(tempfile.mkdtemp(prefix="site-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def store(folder):
    path = folder / "store"
    with SpamFilter.open(path) as spam_filter:
        spam_filter.train_many([message(i, "spam") for i in range(30)], "spam")
        spam_filter.train_many([message(i) for i in range(30)], "ham")
    return path


@pytest.fixture(scope="module")
def daemon(folder, store):
    """The path of a daemon's socket, and its port."""
    call = [sys.executable, "-m", "suffice.cli", "spam", "daemon", "-q", "-s", str(store), "--allow-learning"]
    call += ["-l", f"unix:{folder}/s", "-l", "inet:0", "--socket-mode", "666"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environment) as process:
        lines = [process.stdout.readline() for _ in range(2)]
        yield f"{folder}/s", int(re.search(r"inet:(\d+)@", lines[1])[1])
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        assert process.wait(30) == 0


def run(*command, raw=b"", code=0):
    done = subprocess.run([*map(str, command)], input=raw, capture_output=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_spamc_of_debian_gets_every_answer_it_asks_for(daemon):
    spamc = [needed("spamc", "spamc"), "-x", "-U", daemon[0]]
    assert run(*spamc, "-K") == b"SPAMD/1.5 0\n"
    assert re.fullmatch(rb"\d+\.\d/5\.0\n", run(*spamc, "-c", raw=SPAM, code=1))
    assert re.fullmatch(rb"-?\d+\.\d/5\.0\n", run(*spamc, "-c", raw=HAM))
    assert run(*spamc, "-y", raw=SPAM) == b"SUFFICE_SPAM"
    assert b"suffice: spam" in run(*spamc, "-r", raw=SPAM)
    assert b"suffice: ham" in run(*spamc, "-R", raw=HAM)
    whole = run(*spamc, raw=SPAM)
    assert whole.startswith(b"X-Suffice-Status: spam\nX-Spam-Flag: YES\n")
    assert whole.endswith(SPAM)
    assert run(*spamc, "--headers", raw=SPAM) == whole
    assert run(*spamc, "-E", raw=SPAM, code=1) == whole
    assert run(spamc[0], "-x", "-d", "127.0.0.1", "-p", daemon[1], "-u", "ann", raw=SPAM) == whole
    new = message(950, "odd")
    said = [run(*spamc, "-L", kind, raw=new) for kind in ("spam", "spam", "ham", "forget", "forget")]
    done, known = b"Message successfully un/learned\n", b"Message was already un/learned\n"
    assert said == [done, known, done, done, known]
    crlf = HAM.replace(b"\n", b"\r\n")
    assert run(*spamc, raw=crlf).endswith(crlf)


def test_rspamc_of_debian_gets_verdicts_and_teaches(daemon, tmp_path):
    rspamc = [needed("rspamc", "rspamd"), "-h", f"127.0.0.1:{daemon[1]}"]
    (tmp_path / "spam.eml").write_bytes(SPAM)
    (tmp_path / "new.eml").write_bytes(message(951, "odd"))
    said = run(*rspamc, tmp_path / "spam.eml").decode()
    assert "Action: add header" in said
    assert "Spam: true" in said
    assert "Symbol: SUFFICE_SPAM" in said
    assert "success = true" in run(*rspamc, "learn_spam", tmp_path / "new.eml").decode()
    assert "already" in run(*rspamc, "learn_spam", tmp_path / "new.eml").decode()


@pytest.fixture
def units(tmp_path):
    """The units, with a program that exists in the place of ours."""
    needed("systemd-analyze", "systemd")
    for path in [*SYSTEM.glob("*.service"), *SYSTEM.glob("*.socket")]:
        text = re.sub(r"^ExecStart=\S+/suffice ", "ExecStart=/bin/true ", path.read_text(), flags=re.MULTILINE)
        assert text.count("/bin/true") == (path.suffix == ".service")
        (tmp_path / path.name).write_text(text)
    return tmp_path


def faults(*paths):
    """Return what systemd says of units, of which the watch is one of a user."""
    needed("systemd-analyze", "systemd")
    said = []
    for of_user in (False, True):
        chosen = [os.fsencode(path) for path in paths if ("watch" in path.name) == of_user]
        if not chosen:
            continue
        call = ["systemd-analyze", *(["--user"] if of_user else []), "verify", *chosen]
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(paths[0].parent)}
        done = subprocess.run(call, capture_output=True, env=environment, timeout=60)
        assert b"Failed to initialize" not in done.stderr
        said += [line for line in done.stderr.splitlines() if b"suffice" in line]  # others are of this machine
    return said


def test_systemd_finds_nothing_wrong_with_the_units_and_calls_those_of_the_site_safe(units):
    paths = [*units.iterdir()]
    assert faults(*paths) == []
    for path in paths:  # and a mistake would be found
        text = path.read_text()
        path.write_text(text.replace("[Unit]", "[Unit]\nDescripton=no such key"))
        assert any(b"Descripton" in line for line in faults(path)), path.name
        path.write_text(text)
    for name in ("suffice-daemon", "suffice-milter"):
        threshold = "--threshold=15"  # tenths of a point of ten
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=yes", threshold, str(units / f"{name}.service")],
            capture_output=True,
            text=True,
            timeout=60,
        )
        if "unrecognized option" in done.stderr:
            pytest.skip("this systemd judges no unit that is not loaded")
        assert done.returncode == 0, done.stdout[-300:]


@pytest.fixture(params=AWKWARD)
def awkward(request, folder):
    """A folder with an awkward name, and a program in it."""
    place = Path(tempfile.mkdtemp(dir=folder), request.param)
    place.mkdir()
    (place / "suffice").write_text(f'#!/bin/sh\nexec {sys.executable} -m suffice.cli "$@"\n')
    (place / "suffice").chmod(0o755)
    return place


def test_systemd_finds_the_program_that_setup_writes_into_a_unit(awkward):
    account = Account("mail.example.org", "ann")
    if awkward.name == "u\udcff":
        pytest.skip("systemd reads UTF-8, and setup says so")
    for way in ("watch", "milter"):
        program, store = str(awkward / "suffice"), awkward / "spam.sqlite"
        [unit, *_] = write(plan(way, program, awkward / "config", store, account=account, usual=False))
        assert faults(unit) == []
        if RUN in unit.read_text():
            continue  # the shell finds the program
        os.rename(program, program + ".gone")
        assert any(b"is not executable" in line for line in faults(unit))
        os.rename(program + ".gone", program)


def test_procmail_runs_what_setup_writes(awkward, store):
    own, junk = awkward / "spam.sqlite", awkward / "Junk"
    shutil.copy(store, own)
    planned = plan("procmail", str(awkward / "suffice"), awkward / "config", own, usual=False, junk=str(junk))
    [rules] = write(planned)
    search = os.pathsep.join(map(str, sys.path))
    settings = f"MAILDIR={awkward.parent}\nDEFAULT={awkward.parent}/inbox\nPYTHONPATH={search}\nPATH=/usr/bin:/bin\n"
    written = awkward.parent / "rc"
    written.write_bytes(settings.encode() + rules.read_bytes())
    run(needed("procmail", "procmail"), "-m", written, raw=SPAM)
    assert b"X-Suffice-Status: spam" in junk.read_bytes()


@pytest.mark.parametrize("name", ["suffice-daemon.service", "suffice-milter.service", "suffice-watch.service"])
def test_the_commands_of_the_units_have_options_that_there_are(name):
    [line] = re.findall(r"^ExecStart=\S+/suffice (.*)$", (SYSTEM / name).read_text(), re.MULTILINE)
    command = line.split()
    said = run(sys.executable, "-m", "suffice.cli", *command[:2], "--help").decode()
    for option in (each for each in command if each.startswith("--")):
        assert option in said


@contextmanager
def mail_server(folder, daemon, client):
    """Dovecot with our configuration, whose programs ask our daemon."""
    place = folder / "dovecot"
    shutil.copytree(SYSTEM, place)
    for path in place.iterdir():
        text = path.read_text().replace("/etc/dovecot/suffice", str(place)).replace("/run/suffice/spam.sock", daemon[0])
        path.write_text(text.replace("exec suffice-filter", f"exec {client} --daemon=unix:{daemon[0]}"))
    for name in ("suffice-stamp", "suffice-learn"):
        (place / name).chmod(0o755)
    for script in place.glob("*.sieve"):
        plugins = ["-P", "sieve_extprograms", "-P", "sieve_imapsieve"]
        run("sievec", *plugins, "-x", "+vnd.dovecot.filter +vnd.dovecot.pipe +imapsieve", script)
    server = Dovecot(extra=(place / "dovecot.conf").read_text())
    try:
        yield server
    finally:
        server.end()
        shutil.rmtree(place)


@pytest.fixture(scope="module")
def client(folder):
    """The compiled program that asks the daemon."""
    path = folder / "suffice-filter"
    run(needed("cc", "gcc"), "-O2", "-o", path, SYSTEM.parent / "_filter.c")
    return path


def subjects(server, folder):
    with server.client() as client:
        client.select_folder(folder, readonly=True)
        found = client.search()
        return [client.fetch([uid], ["BODY.PEEK[]"])[uid][b"BODY[]"] for uid in found]


def test_sieve_in_dovecot_files_spam_and_learns_from_what_a_person_moves(folder, store, daemon, client):
    needed("sievec", "dovecot-sieve")
    needed("spamc", "spamc")
    lda = needed("dovecot-lda", "dovecot-core", "/usr/lib/dovecot:/usr/libexec/dovecot")
    assert PROGRAM is not None
    with mail_server(folder, daemon, client) as server:
        for raw in (SPAM, HAM):
            run(lda, "-c", server.home / "dovecot.conf", "-d", USER, "-f", "ann@example.org", raw=raw)
        [filed], [left] = subjects(server, "Junk"), subjects(server, "INBOX")
        assert b"X-Suffice-Status: spam" in filed
        assert b"Subject: spam 900" in filed
        assert b"X-Suffice-Status: ham" in left

        def label(raw):
            with SpamFilter.open(store) as spam_filter:
                return spam_filter.label_of(raw)

        def awaited(raw, expected):
            deadline = time.monotonic() + 20
            while label(raw) != expected and time.monotonic() < deadline:
                time.sleep(0.1)
            log = (server.home / "dovecot.log").read_text()[-2000:]
            assert label(raw) == expected, log

        assert label(HAM) is None
        server.move("ham 901", "INBOX", "Junk")
        awaited(HAM, "spam")
        server.move("ham 901", "Junk", "INBOX")
        awaited(HAM, "ham")


def test_the_filter_alone_is_small_and_does_its_work(tmp_path):
    if not (ROOT / "tools/spam_package.py").exists():
        pytest.skip("the source of the package is not here")
    run(sys.executable, ROOT / "tools/spam_package.py", tmp_path / "source")
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*map(str, pip), str(tmp_path / "source")], capture_output=True, text=True, timeout=500)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("packages cannot be installed here")
    assert done.returncode == 0, done.stderr[-2000:]
    [site] = environment.glob("lib/python3*/site-packages")
    tools = re.compile(r"(pip|setuptools|pkg_resources|_distutils_hack|wheel)([-.].*)?$")
    size = sum(
        path.stat().st_blocks * 512
        for part in site.iterdir()
        if not tools.match(part.name)
        for path in [part, *part.rglob("*")]
    )
    print(f"suffice-spam: {size / 1e6:.1f} MB")
    assert size < 30e6
    assert not {"numpy", "scipy", "sklearn"} & {path.name for path in site.iterdir()}

    for kind in ("spam", "ham"):
        (tmp_path / kind).mkdir()
        for number in range(30):
            (tmp_path / kind / f"{number}.eml").write_bytes(message(number, kind))
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}

    def command(*arguments, raw=b"", code=0):
        call = [environment / "bin/suffice", "spam", *arguments]
        done = subprocess.run([*map(str, call)], input=raw, capture_output=True, env=clean, timeout=120)
        assert done.returncode == code, done.stderr.decode()
        return done.stdout

    command("train", "--spam", tmp_path / "spam", "--ham", tmp_path / "ham")
    assert command("classify", tmp_path / "spam/1.eml").startswith(b"spam")
    assert command("filter", raw=SPAM).startswith(b"X-Suffice-Status: spam")
    for name in ("daemon", "milter", "watch"):
        assert command(name, "--help")
    for name in ("daemon", "milter"):
        address = f"unix:{tmp_path}/suffice-spam.sock"
        call = [str(environment / "bin/suffice"), "spam", name, "--listen", address]
        with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=clean) as process:
            assert process.stdout.readline() == f"listening: address={address}\n"
            if name == "daemon":
                done = subprocess.run([environment / "bin/suffice-filter"], input=SPAM, capture_output=True, env=clean)
                assert (done.returncode, done.stdout.splitlines()[0]) == (0, b"X-Suffice-Status: spam")
            process.terminate()
            process.stdout.read()
            assert process.wait(30) == 0
    command("evaluate")
    command("tune")
    run(python, "-c", "import suffice.spam.imap.watching; from suffice.spam import scan; assert scan.compiled")


def test_the_image_is_built_of_files_that_there_are():
    path = ROOT / "Dockerfile"
    if not path.exists():
        pytest.skip("the Dockerfile is not here")
    text = path.read_text()
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists()
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("Docker does not run here")
    run("docker", "build", "--quiet", "--tag", "suffice-spam-test", ROOT)
    assert b"train" in run("docker", "run", "--rm", "suffice-spam-test", "--help")
