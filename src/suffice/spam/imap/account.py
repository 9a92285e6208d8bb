"""An account on an IMAP server: its address, the encryption of the connection, and its password."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal, Self
from urllib.parse import unquote, urlsplit

from suffice.spam.mailboxes import IMAP_ADDRESS, MailboxError

#: environment variable with the password
PASSWORD_VARIABLE = "SUFFICE_IMAP_PASSWORD"

_PORTS = {"tls": 993, "starttls": 143, "none": 143}
_SHOWN = "imaps://user@host/Folder"


@dataclass(frozen=True)
class Account:
    """A user's account on a server.

    Attributes
    ----------
    host, user : str
        The names of the server and of the user.
    port : int
        Port of the server; 0 for the default port, 993 with TLS from the start and 143 otherwise.
    security : "tls", "starttls" or "none"
        TLS from the start, TLS after STARTTLS, or none, which is allowed only for the local host.

    Examples
    --------
    >>> from suffice.spam.imap import Account
    >>> str(Account("mail.example.org", "ann"))
    'ann on mail.example.org:993'
    """

    host: str
    user: str
    port: int = 0
    security: Literal["tls", "starttls", "none"] = "tls"

    def __post_init__(self) -> None:
        for what, name in (("host", self.host), ("user", self.user)):
            if not name or not name.isprintable():
                raise ValueError(f"the {what} must be a name without control characters, but it is {name!r}")
        if not 0 <= self.port < 65_536:
            raise ValueError(f"the port must be from 1 to 65535, but it is {self.port}")
        if self.security == "none" and not is_loopback(self.host):
            raise ValueError(
                f"without TLS the password and all mail can be read on the way to {self.host!r}, so it is "
                "allowed for this machine (127.0.0.1, ::1, localhost) only; leave --no-tls out, or use --starttls"
            )
        object.__setattr__(self, "port", self.port or _PORTS[self.security])

    def __str__(self) -> str:
        return f"{self.user} on {self.host}:{self.port}"

    @classmethod
    def of(cls, url: str) -> tuple[Self, str]:
        """Return the account and the folder of a URL, `imaps://user@host:port/Folder`.

        `imap://` starts without TLS and switches to it (STARTTLS), except on the local host, where TLS is not used.

        Examples
        --------
        >>> from suffice.spam.imap import Account
        >>> account, folder = Account.of("imaps://ann%40example.org@mail.example.org/Junk%20mail")
        >>> account.user, account.security, folder
        ('ann@example.org', 'tls', 'Junk mail')
        """
        scheme = IMAP_ADDRESS.match(url)
        if scheme is None:
            raise MailboxError(f"the address {url!r} is not that of an IMAP folder; give {_SHOWN}")
        try:
            parts = urlsplit(f"{scheme[1]}://{url[scheme.end() :]}")
            host, port = parts.hostname or "", parts.port or 0
        except ValueError as error:
            raise MailboxError(f"the address {url!r} cannot be read: {error}; give {_SHOWN}") from error
        if parts.password is not None:
            # the URL is not shown, since it holds the password
            raise MailboxError(
                f"the address of {host!r} holds a password, which others can see there; leave it out and set "
                f"{PASSWORD_VARIABLE}"
            )
        if not host or not parts.username:
            raise MailboxError(f"the address {url!r} lacks a user or a host; give {_SHOWN}")
        security: Literal["tls", "starttls", "none"] = "tls"
        if parts.scheme == "imap":
            security = "none" if is_loopback(host) else "starttls"
        folder = unquote(parts.path).strip("/") or "INBOX"
        return cls(host, unquote(parts.username), port, security), folder


def is_loopback(host: str) -> bool:
    """Return whether a host is the local host.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "localhost.example.org", "10.0.0.1")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def password_of(account: Account, command: str | None = None) -> str:
    """Return the password: the first line a command prints, else the environment variable, else typed by the user."""
    if command is not None:
        return _printed_by(command)
    if password := os.environ.get(PASSWORD_VARIABLE):
        return password
    if not sys.stdin.isatty():
        raise ValueError(
            f"there is no password for {account}: set {PASSWORD_VARIABLE}, give --password-command, or run it in a "
            "terminal, which asks for it"
        )
    from getpass import getpass

    return getpass(f"Password of {account}: ")


def messages_of(url: str) -> Iterator[bytes]:
    """Yield the messages of an IMAP folder, which is opened read-only, so that nothing is marked as read.

    Parameters
    ----------
    url : str
        `imaps://user@host/Folder`, with %40 for an @ in the user, and without password, see `password_of`.

    Raises
    ------
    MailboxError
        If the server cannot be reached, the login fails, or there is no such folder.
    """
    from suffice.spam.imap.connection import Connection
    from suffice.spam.imap.session import DisconnectedError

    account, folder = Account.of(url)
    try:
        with Connection(account, password_of(account)) as connection:
            connection.check([folder])
            connection.select(folder)
            for _, raw in connection.bodies(folder, connection.uids(folder)):
                if raw is not None:
                    yield raw
    except DisconnectedError as error:
        raise MailboxError(str(error)) from error


def _printed_by(command: str) -> str:
    try:
        done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, check=True, text=True)
    except (OSError, ValueError, IndexError, subprocess.CalledProcessError) as error:
        code = f"exit code {error.returncode}" if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise ValueError(
            f"the password command failed ({code}); it must print the password as its first line"
        ) from None
    password = done.stdout.partition("\n")[0].rstrip("\r")
    if not password:
        raise ValueError("the password command printed nothing; it must print the password as its first line")
    return password
