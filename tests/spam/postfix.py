"""A real Postfix on loopback: own configuration, queue and mailboxes in a temporary folder, gone with the test."""

import os
import pwd
import shutil
import smtplib
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DOMAIN = "example.test"
_MAIN = """
compatibility_level = 3.6
config_directory = {folder}/etc
queue_directory = {folder}/queue
data_directory = {folder}/data
mail_owner = postfix
maillog_file = {folder}/log/mail.log
maillog_file_prefixes = {folder}
myhostname = mx.{domain}
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
alias_maps =
alias_database =
local_recipient_maps =
virtual_mailbox_domains = {domain}
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = texthash:{folder}/etc/mailboxes
virtual_uid_maps = static:{user}
virtual_gid_maps = static:{group}
virtual_minimum_uid = 1
smtpd_client_connection_rate_limit = 0
smtpd_client_connection_count_limit = 0
smtpd_peername_lookup = no
biff = no
local_header_rewrite_clients =
milter_default_action = accept
milter_connect_timeout = 2s
milter_command_timeout = 2s
milter_content_timeout = 3s
"""
_MASTER = """
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""


def missing():
    """Why Postfix cannot be started here, or an empty string."""
    if shutil.which("postfix", path=os.environ.get("PATH", "") + ":/usr/sbin") is None:
        return "Postfix is not installed"
    if os.getuid() != 0:
        return "Postfix can only be started by root"
    return ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Postfix:
    """Receives mail for users of `DOMAIN`, passes it by milters, and delivers it into a Maildir for each of them.

    It has a port for each of the milters; "{folder}" in the address of one is Postfix's folder.
    """

    def __init__(self, *milters):
        # not pytest's folder, which only its owner may enter, while Postfix runs as a user of its own
        self.folder = Path(tempfile.mkdtemp(prefix="postfix-"))
        self.folder.chmod(0o755)
        self.ports = [free_port() for _ in milters]
        for name in ("etc", "queue", "data", "log", "mail"):
            (self.folder / name).mkdir()
        owner = pwd.getpwnam("postfix")
        for name in ("data", "mail"):
            os.chown(self.folder / name, owner.pw_uid, owner.pw_gid)
        facts = {
            "folder": self.folder,
            "domain": DOMAIN,
            "user": owner.pw_uid,
            "group": owner.pw_gid,
        }
        (self.folder / "etc/main.cf").write_text(_MAIN.format(**facts))
        users = [f"user{number}" for number in range(100)]
        self._unused = iter(users)
        (self.folder / "etc/mailboxes").write_text("".join(f"{user}@{DOMAIN} {user}/\n" for user in users))
        ports = [
            f"127.0.0.1:{port} inet n - n - 50 smtpd -o smtpd_milters={milter.format(folder=self.folder)}\n"
            for port, milter in zip(self.ports, milters, strict=True)
        ]
        (self.folder / "etc/master.cf").write_text("".join(ports) + _MASTER)

    def __enter__(self):
        self._run("start", check=True)
        deadline = time.monotonic() + 15
        while True:
            try:
                for number in range(len(self.ports)):
                    self.client(number).close()
                return self
            except OSError:
                if time.monotonic() > deadline:
                    log = self.log()
                    self.__exit__()
                    raise AssertionError(f"Postfix does not answer:\n{log}") from None
                time.sleep(0.05)

    def __exit__(self, *_):
        self._run("abort")
        deadline = time.monotonic() + 10
        while self._is_running() and time.monotonic() < deadline:
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, command, check=False):
        program = shutil.which("postfix", path="/usr/sbin:" + os.environ.get("PATH", ""))
        done = subprocess.run([program, "-c", self.folder / "etc", command], capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr + done.stdout + self.log()

    def _is_running(self):
        try:
            os.kill(int((self.folder / "queue/pid/master.pid").read_text()), 0)
        except (OSError, ValueError):
            return False
        return True

    def user(self):
        """A user who has no mail yet."""
        return next(self._unused)

    def client(self, number=0):
        return smtplib.SMTP("127.0.0.1", self.ports[number], timeout=15)

    def send(self, raw, *users, sender="ann@example.org", number=0):
        """Hand over a message, and return the reply to it; smtplib.SMTPDataError where it is refused."""
        with self.client(number) as client:
            client.ehlo("sender.example.org")
            client.mail(sender)
            for user in users:
                assert client.rcpt(f"{user}@{DOMAIN}")[0] == 250
            code, text = client.data(raw)
        if code != 250:
            raise smtplib.SMTPDataError(code, text)
        return text

    def delivered(self, user, count=1, seconds=15):
        """The messages of a user, once there are so many of them."""
        deadline = time.monotonic() + seconds
        while True:
            found = sorted((self.folder / "mail" / user / "new").glob("*"))
            if len(found) >= count:
                return [path.read_bytes() for path in found]
            assert time.monotonic() < deadline, f"{len(found)} of {count} messages for {user}\n{self.log()}"
            time.sleep(0.05)

    def log(self):
        path = self.folder / "log/mail.log"
        return path.read_text() if path.exists() else ""
