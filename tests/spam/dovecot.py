"""A real Dovecot for tests: its own configuration, mail and port on loopback, in one folder, ended with the test."""

import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from imapclient import IMAPClient

PROGRAM = shutil.which("dovecot") or shutil.which("dovecot", path="/usr/sbin:/usr/local/sbin")
USER, PASSWORD = "ann@example.org", 'secret "ü\\'
OTHER, OTHER_PASSWORD = "bob", 'pass "word\\'
CONFIGURATION = """
protocols = imap
base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/dovecot.log
login_trusted_networks =
listen = 127.0.0.1
ssl = {ssl}
disable_plaintext_auth = no
default_internal_user = {internal}
default_internal_group = {group}
default_login_user = {internal}
auth_mechanisms = plain login
first_valid_uid = 0
first_valid_gid = 0
mail_location = maildir:{home}/mail/%u
mail_fsync = never
maildir_stat_dirs = yes
mailbox_idle_check_interval = 1 secs
auth_failure_delay = 0 secs
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Junk {{
    auto = create
    {special}
  }}
  mailbox Archive {{
    auto = create
  }}
}}
passdb {{
  driver = passwd-file
  args = scheme=PLAIN {home}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={home}/home
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
  {chroot}
}}
service anvil {{
  {chroot}
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap {{
  process_limit = 50
}}
{more}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Dovecot:
    """A server that can be started, ended and started again, with what it holds kept."""

    def __init__(self, *, capability=None, tls=False, special=True, extra=""):
        if PROGRAM is None:
            pytest.skip("dovecot is not installed (apt-get install dovecot-imapd)")
        # the folder of a test is closed to others, and Dovecot lets nobody read mail as the superuser
        self.home = Path(tempfile.mkdtemp(prefix="dovecot"))
        self.home.chmod(0o755)
        self.port, self.tls_port = free_port(), free_port() if tls else 0
        (self.home / "users").write_text(
            f"{USER}:{{PLAIN}}{PASSWORD}\n{OTHER}:{{PLAIN}}{OTHER_PASSWORD}\n", encoding="utf-8"
        )
        for name in ("mail", "home", "run", "state"):
            (self.home / name).mkdir()
        more = f"protocol imap {{\n  imap_capability = {capability}\n}}\n" if capability else ""
        more += extra
        if tls:
            self.certificate = self.home / "certificate.pem"
            make_certificate(self.certificate, self.home / "key.pem")
            more += f"ssl_cert = <{self.certificate}\nssl_key = <{self.home}/key.pem\n"
        user = pwd.getpwnam("nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name)
        if os.geteuid() == 0:
            for name in ("mail", "home"):
                os.chown(self.home / name, user.pw_uid, user.pw_gid)
        text = CONFIGURATION.format(
            home=self.home,
            ssl="yes" if tls else "no",
            internal=user.pw_name,
            group=grp.getgrgid(user.pw_gid).gr_name,
            uid=user.pw_uid,
            gid=user.pw_gid,
            port=self.port,
            tls_port=self.tls_port,
            special="special_use = \\Junk" if special else "",
            chroot="chroot =",
            more=more,
        )
        (self.home / "dovecot.conf").write_text(text)
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([PROGRAM, "-F", "-c", self.home / "dovecot.conf"], start_new_session=True)
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.settimeout(5)
                if b"OK" in connection.recv(1000):
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        log = self.home / "dovecot.log"
        self.stop()
        raise RuntimeError(f"dovecot did not start:\n{log.read_text() if log.exists() else 'no log'}")

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            with suppress(ProcessLookupError):  # it leaves those of clients that wait
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process = None

    def end(self):
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)  # all of its processes, without the second it takes to end well
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    @contextmanager
    def client(self):
        """A mail program: a second client of the same account."""
        with IMAPClient("127.0.0.1", self.port, ssl=False, timeout=20) as client:
            client.plain_login(USER, PASSWORD)
            yield client

    def deliver(self, raw, folder="INBOX", flags=()):
        with self.client() as client:
            client.append(folder, raw, flags)

    def move(self, subject, source, target):
        """Move a message as a person does."""
        with self.client() as client:
            client.select_folder(source)
            uids = [uid for uid, item in _subjects(client).items() if item == subject]
            assert len(uids) == 1, (subject, _subjects(client))
            client.move(uids, target)

    def subjects(self, folder):
        """The subjects in a folder, in their order."""
        with self.client() as client:
            client.select_folder(folder, readonly=True)
            return list(_subjects(client).values())

    def messages(self, folder):
        """The messages in a folder and whether each is unread."""
        with self.client() as client:
            client.select_folder(folder, readonly=True)
            found = client.fetch(client.search("ALL"), ["BODY.PEEK[]", "FLAGS"])
            return [(item[b"BODY[]"], b"\\Seen" not in item[b"FLAGS"]) for item in found.values()]

    def held(self):
        """All messages of all folders, as they lie on the disk."""
        folders = (self.home / "mail").rglob("*")
        return sorted(file.read_bytes() for file in folders if file.parent.name in ("new", "cur"))


def _subjects(client):
    uids = client.search("ALL")
    found = client.fetch(uids, ["BODY.PEEK[HEADER.FIELDS (SUBJECT)]"])
    return {uid: found[uid][b"BODY[HEADER.FIELDS (SUBJECT)]"].strip()[9:].decode("latin-1") for uid in uids}


def make_certificate(certificate, key):
    """A certificate of 127.0.0.1 that signs itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", key, "-out", certificate]
    subprocess.run(["openssl", "req", "-x509", *kind, *name, *files], check=True, capture_output=True)
