"""The interface to systemd: sockets that it has opened, and notification that the daemon is ready."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

#: the first file descriptor that systemd passes
_FIRST = 3
_MOST = 64


def inherited_sockets() -> list[socket.socket]:
    """Return the sockets that systemd has opened for this process (LISTEN_FDS), once; empty without systemd.

    Raises
    ------
    ValueError
        If a passed descriptor is not a stream socket.
    """
    found, meant_for = os.environ.pop("LISTEN_FDS", ""), os.environ.pop("LISTEN_PID", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if meant_for != str(os.getpid()) or not found.isascii() or not found.isdigit() or len(found) > 3:
        return []
    sockets = []
    for descriptor in range(_FIRST, _FIRST + min(int(found), _MOST)):
        os.set_inheritable(descriptor, False)
        try:
            sockets.append(socket.socket(fileno=descriptor))
        except OSError as error:
            raise ValueError(f"systemd has passed descriptor {descriptor}, which is not a socket: {error}") from None
        if sockets[-1].type != socket.SOCK_STREAM:
            raise ValueError(
                f"systemd has passed descriptor {descriptor}, which is not a stream socket; use ListenStream="
            )
    return sockets


def notify(state: str) -> None:
    """Send a state such as READY=1 to systemd, if it asks for that (NOTIFY_SOCKET)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        sender.send(state.encode())
