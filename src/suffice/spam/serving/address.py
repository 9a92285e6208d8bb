"""Addresses of servers: a path, a port, or a socket that systemd has opened."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

#: limit of connections that wait to be accepted
BACKLOG = 512
_PORT = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class Address:
    """The path of a socket, or a port at a numeric address."""

    path: str = ""
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address of "inet:PORT@HOST", "inet6:PORT@HOST", "inet:PORT" or "unix:PATH".

        Examples
        --------
        >>> from suffice.spam.serving.address import Address
        >>> Address.parse("inet:8891"), Address.parse("unix:/run/suffice.sock").is_local
        (Address(path='', host='127.0.0.1', port=8891), True)
        """
        kind, _, rest = text.partition(":")
        if kind in ("unix", "local") and os.path.isabs(rest) and "\0" not in rest:
            return cls(path=rest)
        port, _, host = rest.partition("@")
        host = host or ("::1" if kind == "inet6" else "127.0.0.1")
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        if kind in ("inet", "inet6") and _PORT.fullmatch(port) and int(port) < 65536:
            with suppress(ValueError):
                return cls(host=str(ipaddress.ip_address(host)), port=int(port))
        raise ValueError(
            f"the address must be inet:PORT@HOST with a numeric host, or unix:PATH with an absolute path, but it is "
            f"{text!r}; give one such as inet:8891@127.0.0.1"
        )

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"{'inet6' if ':' in self.host else 'inet'}:{self.port}@{self.host}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return bool(self.path) or ipaddress.ip_address(self.host).is_loopback

    def listen(self, mode: int) -> socket.socket:
        """Return a socket that listens at this address; `mode` is the permissions of the file, if it is a path."""
        if not self.path:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            try:
                return socket.create_server((self.host, self.port), family=family, backlog=BACKLOG)
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno else str(error)
                raise ValueError(f"a server cannot listen on {self}: {reason}; give another address") from error
        _remove_stale(self.path)
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o777 & ~mode)  # so that the file never has wider permissions
        try:
            listener.bind(self.path)
        except OSError as error:
            listener.close()
            if error.errno is None:  # raised by Python before the system call
                raise ValueError(
                    f"the path of a unix socket can have about 100 bytes, but {self.path!r} has "
                    f"{len(os.fsencode(self.path))}; give a shorter one"
                ) from None
            raise OSError(error.errno, error.strerror, self.path) from error
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        return listener


def _remove_stale(path: str) -> None:
    """Remove the socket left by a killed server; raise for any other file, and for a socket in use."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ValueError(f"{path!r} exists and is not a socket; give another path, or remove it")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5.0)
        try:
            probe.connect(path)
        except OSError as error:
            if error.errno not in (errno.ECONNREFUSED, errno.ENOENT):
                raise OSError(error.errno, error.strerror, path) from error
        else:
            raise ValueError(f"another program is listening on {path!r}; end it, or give another path")
    with suppress(FileNotFoundError):
        os.unlink(path)


class Listeners:
    """Listening sockets: those of addresses, whose files are removed at the end, and those passed by systemd.

    Parameters
    ----------
    addresses : sequence of Address
        The addresses to listen at.
    mode : int
        Permissions of socket files.
    passed : sequence of sockets
        Sockets that listen already, such as those of systemd.
    """

    def __init__(self, addresses: Sequence[Address], mode: int, passed: Sequence[socket.socket] = ()) -> None:
        self.sockets = list(passed)
        self.names = [_name(each) for each in passed]
        self._files: list[tuple[str, int]] = []
        try:
            for address in addresses:
                self.sockets.append(address.listen(mode))
                if address.path:
                    self._files.append((address.path, os.lstat(address.path).st_ino))
                    self.names.append(str(address))
                else:  # port 0 means any free port
                    self.names.append(str(replace(address, port=self.sockets[-1].getsockname()[1])))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the sockets, and remove the files that no other server has replaced."""
        for each in self.sockets:
            each.close()
        for path, number in self._files:
            with suppress(OSError):
                if os.lstat(path).st_ino == number:
                    os.unlink(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _name(listener: socket.socket) -> str:
    found = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{os.fsdecode(found)}"
    return str(Address(host=found[0], port=found[1]))
