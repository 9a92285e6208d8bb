"""The server of the page: only on 127.0.0.1, at an address that holds a secret."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from suffice.spam.location import store_to_make
from suffice.spam.mailboxes import IMAP_ADDRESS, MailboxError

HOST = "127.0.0.1"
PORT = 8025


def _say(address: str) -> None:
    print(f"{address}\nOpen this address; Ctrl-C stops the page.", flush=True)


def serve(
    store: str | os.PathLike[str],
    mailboxes: Sequence[str | os.PathLike[str]] = (),
    port: int = PORT,
    *,
    open_browser: bool | None = False,
    started: Callable[[str], object] = _say,
) -> None:
    """Serve the page until it is interrupted.

    Parameters
    ----------
    store : str or path
        The store of the filter, created if it does not exist; its folder must exist, except that of the user's own
        store.
    mailboxes : sequence of str or path
        The mailboxes whose messages are listed, of any kind that `messages` reads.
    port : int
        Port on 127.0.0.1; 0 for any free port.
    open_browser : bool or None
        Whether to open the page in the browser; None to do so if it was started on a desktop.
    started : callable
        Called with the address, including the key, once the server listens; by default the address is printed.
    """
    import uvicorn

    from suffice.spam.filter import SpamFilter
    from suffice.spam.page.app import application
    from suffice.spam.page.connections import Connection
    from suffice.spam.page.desk import Desk
    from suffice.spam.page.guard import Keys

    paths = [Path(mailbox) for mailbox in mailboxes]
    for path in paths:
        if not IMAP_ADDRESS.match(str(path)) and not path.exists():
            raise MailboxError(
                f"there is no file or folder {str(path)!r}; give an mbox, a Maildir, a folder or a message"
            )
    store = store_to_make(Path(store))
    SpamFilter.open(store).close()  # report an invalid store now, not on a page
    with _listening(port) as listener, tempfile.TemporaryDirectory(prefix="suffice-") as folder:
        number = listener.getsockname()[1]
        keys = Keys()
        address = f"http://{HOST}:{number}/?key={keys.key}"
        config = uvicorn.Config(
            application(Desk(store, paths), keys, number),
            lifespan="on", ws="none", log_level="warning", access_log=False, server_header=False, proxy_headers=False,
            timeout_graceful_shutdown=1, http=Connection,
        )  # fmt: skip
        started(address)  # the socket listens already: early clients wait until the application is ready
        if _at_a_desktop() if open_browser is None else open_browser:
            _open(address, Path(folder))
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            return  # Ctrl-C is the normal way to end it


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(64)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"the page cannot be served on port {port}: {reason}; give another one with --port") from error
    return listener


def _at_a_desktop() -> bool:
    has_display = sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return sys.stdout.isatty() and has_display


def _open(address: str, folder: Path) -> None:
    # other users can see the arguments of processes, so the browser opens a file that redirects to the address
    file = folder / "open.html"
    with open(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as opened:
        opened.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>Suffice</title>')
    webbrowser.open(file.as_uri())
