"""Ask the spam filter's daemon to stamp a message, with few imports. `spam/_filter.c` does the same in C."""

from __future__ import annotations

import os
import socket
import time

#: environment variable with the address of the daemon, and the address of the site-wide daemon
DAEMON_VARIABLE, SITE_DAEMON = "SUFFICE_SPAM_DAEMON", "unix:/run/suffice/spam.sock"


def daemon_address() -> str:
    """Return the default address of the daemon.

    That is `$SUFFICE_SPAM_DAEMON` if set, else `suffice-spam.sock` in `$XDG_RUNTIME_DIR`, else the site-wide address.
    """
    folder = os.environ.get("XDG_RUNTIME_DIR")
    own = f"unix:{folder}/suffice-spam.sock" if folder else SITE_DAEMON
    return os.environ.get(DAEMON_VARIABLE) or own


def running_daemon() -> str:
    """Return the address of the daemon to ask: the site-wide one if the user runs none."""
    address = daemon_address()
    if os.environ.get(DAEMON_VARIABLE) or os.path.exists(address.removeprefix("unix:")):
        return address
    return SITE_DAEMON


def stamped_by_daemon(raw: bytes, address: str, *, details: bool, timeout: float) -> tuple[bytes, str]:
    """Return a message as stamped by the daemon, and its label; raise OSError or ValueError without a valid answer."""
    deadline = time.monotonic() + timeout
    with _connected(address, timeout) as connection:
        wanted = b"details" if details else b"status"
        head = b"PROCESS SPAMC/1.5\r\nSuffice: %s\r\nContent-length: %d\r\n\r\n" % (wanted, len(raw))
        connection.sendall(head + raw)
        pieces = []
        while piece := connection.recv(1 << 18):
            pieces.append(piece)
            connection.settimeout(max(0.001, deadline - time.monotonic()))
    top, _, message = b"".join(pieces).partition(b"\r\n\r\n")
    status, *lines = top.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
    if not status.startswith("SPAMD/1.1 0 ") or headers.get("content-length") != str(len(message)):
        raise ValueError(f"the daemon answers {status[:200]!r}")
    label = headers.get("suffice", "")
    if label not in ("spam", "ham", "unsure", "error"):
        raise ValueError(f"the daemon answers with an unknown status, {label[:20]!r}")
    return message, label


def _connected(address: str, timeout: float) -> socket.socket:
    if address.startswith(("unix:", "local:")):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        try:
            connection.connect(address.partition(":")[2])
        except OSError:
            connection.close()
            raise
        return connection
    from suffice.spam.serving.address import Address

    place = Address.parse(address)
    return socket.create_connection((place.host, place.port), timeout)
