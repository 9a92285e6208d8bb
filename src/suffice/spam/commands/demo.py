"""`suffice spam demo`: the page of the filter on a small synthetic mailbox."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import JsonOption, say_json


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam demo --port 8025[/cyan]")
def demo(
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="The port on 127.0.0.1; 0 for any free port.")
    ] = 8025,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser, if there is a desktop.")
    ] = True,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="A new or empty folder in which the mailbox and the store are written and kept."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Try the filter: open its page on a synthetic mailbox.

    A mailbox of 150 messages, written for this demo, and a store that has learned 100 of them are created in a folder.

    By default the folder is temporary, and removed when you stop the page with Ctrl-C.

    Your own mail and store are not used.
    """
    from suffice.spam.page import serve

    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"--folder must be new or an empty folder, but {str(folder)!r} is not; give another one")
    place = nullcontext(str(folder)) if folder is not None else tempfile.TemporaryDirectory(prefix="suffice-spam-demo-")
    with _interruptible(), place as name:
        store, mailboxes = prepare(Path(name))

        def say(address: str) -> None:
            if as_json:
                paths = list(map(str, mailboxes))
                say_json({"url": address, "store": str(store), "mailboxes": paths, "folder": name, "synthetic": True})
                return
            kept = "It stays there." if folder is not None else "It is removed when you stop the page."
            typer.echo(
                f"A synthetic mailbox, and a store trained on part of it, are in {name}\n{kept} "
                f"Your own mail and store are not used, and no message is real.\n\n{address}\nOpen this address; "
                "Ctrl-C stops the page."
            )

        serve(store, mailboxes, port=port, open_browser=None if open_browser else False, started=say)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turn a termination signal into KeyboardInterrupt, so that the temporary folder is removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def prepare(folder: Path) -> tuple[Path, list[Path]]:
    """Write the mailbox as three Maildirs and train a store on two of them; return the store and the Maildirs.

    INBOX holds messages that arrived later and were not trained, Archive the trained hams and Junk the trained spams.
    """
    from suffice.spam import SpamFilter
    from suffice.spam.sample_mailbox import arriving, taught, write

    known = list(taught())
    hams, spams = ([raw for raw, label in known if label == wanted] for wanted in ("ham", "spam"))
    mailboxes = [
        write(folder / "INBOX", [raw for raw, _ in arriving()]),
        write(folder / "Archive", hams),
        write(folder / "Junk", spams),
    ]
    store = folder / "spam.sqlite"
    with SpamFilter.open(store) as spam_filter:
        spam_filter.train_many(hams, "ham", processes=1)
        spam_filter.train_many(spams, "spam", processes=1)
    return store, mailboxes
