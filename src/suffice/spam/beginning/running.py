"""Installing the filter: files for systemd, Sieve and procmail, and the remaining steps for the user."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from suffice.spam.imap.account import PASSWORD_VARIABLE, Account

#: the ways in which mail can reach the filter
WAYS = {
    "watch": "an IMAP account, by a systemd unit of your user",
    "procmail": "mail that procmail delivers on this machine",
    "sieve": "mail that Dovecot delivers, by Sieve",
    "milter": "all mail of a server, by Postfix or Sendmail",
    "nothing": "none; classify mail by hand, with `suffice spam classify`",
}
_PROCMAIL = """:0fw
| {program} spam filter --no-exit-code{store}

:0:
* ^X-Suffice-Status: spam
{junk}
"""
_SIEVE = (
    *("suffice.sieve", "suffice-learn-spam.sieve", "suffice-learn-ham.sieve"),
    *("suffice-stamp", "suffice-learn", "dovecot.conf"),
)
#: runs a program whose path systemd does not take as the first word: quotes and backslashes are not allowed there, and
#: `$$` is not read as `$`
RUN = '/bin/sh -c \'exec "$$0" "$$@"\' '
_PROGRAM, _SECRET = "%h/.local/bin/suffice", "%h/.config/suffice/imap.env"


@dataclass(frozen=True)
class Written:
    """A file to write: its path, its text, and whether only its owner may read it."""

    path: Path
    text: str
    is_private: bool = False


@dataclass(frozen=True)
class Plan:
    """The files to write, and the remaining steps for the user, one per line."""

    files: tuple[Written, ...] = ()
    then: tuple[str, ...] = ()


def plan(
    way: str,
    program: str,
    config: Path,
    at: Path,
    *,
    account: Account | None = None,
    usual: bool = True,
    junk: str | None = None,
) -> Plan:
    """Return the plan for one of `WAYS`.

    Parameters
    ----------
    program : str
        The path of `suffice`.
    config : path
        The folder for a user's settings, ~/.config.
    account : Account, optional
        The account on an IMAP server, for "watch".
    at : path
        The path of the store.
    usual : bool
        Whether that is the default path.
    junk : str, optional
        The folder for spam.
    """
    check_paths(program, str(config), str(at), junk or "")
    ours = config / "suffice"
    option = "" if usual else f" --store {shlex.quote(str(at))}"
    if way == "watch":
        return _watch(program, config, account, "" if usual else f" --store {_in_unit(str(at))}")
    if way == "procmail":
        folder = "$HOME/mail/Junk" if junk is None else shlex.quote(junk)
        lines = _PROCMAIL.format(program=shlex.quote(program), store=option, junk=folder)
        return Plan(
            (Written(ours / "procmailrc", lines),),
            (f"append {_in_shell(ours / 'procmailrc')} to ~/.procmailrc; its last line names the folder for spam",),
        )
    if way == "sieve":
        return Plan(
            tuple(Written(ours / "sieve" / name, _packaged(name)) for name in _SIEVE),
            (
                f"follow the comments in {_in_shell(ours / 'sieve' / 'dovecot.conf')}: they say where Dovecot looks "
                "for each file",
            ),
        )
    if way == "milter":
        _check_utf8(program)
        unit = _packaged("suffice-milter.service").replace("/usr/local/bin/suffice", _program(program))
        return Plan(
            (Written(ours / "suffice-milter.service", unit),),
            (
                "sudo useradd --system --shell /usr/sbin/nologin suffice",
                f"sudo install -D -o suffice -g suffice -m 640 {_in_shell(at)} /var/lib/suffice/spam.sqlite",
                f"sudo cp {_in_shell(ours / 'suffice-milter.service')} /etc/systemd/system/",
                "sudo systemctl enable --now suffice-milter",
                "sudo postconf -e smtpd_milters=inet:127.0.0.1:8891 milter_default_action=accept",
            ),
        )
    return Plan()


def check_paths(*paths: str) -> None:
    """Raise ValueError if a path cannot be written into configuration files, which consist of lines."""
    for path in paths:
        if any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
            raise ValueError(
                f"the path {path!r} has control characters, which configuration files cannot hold; rename it"
            )


def _check_utf8(*paths: str) -> None:
    """Raise ValueError if a path is not UTF-8, of which systemd reads nothing."""
    for path in paths:
        if not path.isascii() and path != path.encode("utf-8", "ignore").decode():
            raise ValueError(f"the path {path!r} is not UTF-8, and systemd reads no other units; rename it")


def _watch(program: str, config: Path, account: Account | None, option: str) -> Plan:
    if account is None:
        raise ValueError("watching needs an account; give --imap imaps://user@host")
    _check_utf8(program, str(config), option)
    secret = config / "suffice" / "imap.env"
    unit = _packaged("suffice-watch.service").replace(_PROGRAM, _program(program))
    unit = unit.replace(_SECRET, str(secret).replace("%", "%%"))
    start = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    port = {"tls": "", "starttls": " --starttls", "none": " --no-tls"}[account.security] + f" --port {account.port}"
    unit = unit.replace(start, start + port + option)
    values = {"SUFFICE_IMAP_HOST": account.host, "SUFFICE_IMAP_USER": account.user, PASSWORD_VARIABLE: ""}
    environment = "".join(f"{name}={_quoted(value)}\n" for name, value in values.items())
    return Plan(
        (
            Written(config / "systemd" / "user" / "suffice-watch.service", unit),
            Written(secret, environment, is_private=True),
        ),
        (
            f"write the password behind {PASSWORD_VARIABLE}= in {_in_shell(secret)}, which only you can read",
            "systemctl --user daemon-reload && systemctl --user enable --now suffice-watch",
        ),
    )


def write(planned: Plan) -> list[Path]:
    """Write the files that do not exist yet, and return them; existing files are left unchanged."""
    written = []
    for file in planned.files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600 if file.is_private else 0o755 if file.text.startswith("#!") else 0o644
        try:
            descriptor = os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            continue
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as opened:  # the error handler of paths
            opened.write(file.text)
        written.append(file.path)
    return written


def _in_shell(path: Path) -> str:
    return shlex.quote(str(path))


def _program(path: str) -> str:
    """Return the path of a program as the beginning of a command in a systemd unit."""
    return (RUN if set(path) & set("\"'\\$") else "") + _in_unit(path)


def _in_unit(word: str) -> str:
    """Return a word of a command in the syntax of a systemd unit."""
    return _quoted(word.replace("%", "%%").replace("$", "$$"))


def _quoted(text: str) -> str:
    """Return a text in systemd's quotes, if it needs them."""
    if not text or shlex.quote(text) == text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _packaged(name: str) -> str:
    return (files("suffice.spam") / "system" / name).read_text(encoding="utf-8")
