"""`suffice spam serve`: the page of the filter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import JsonOption, StoreOption, say_json, store_path

_NEEDED = ("starlette", "jinja2", "uvicorn")


@app.command()
def serve(
    mailboxes: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MAILBOX", help="Mailboxes to list: mbox files, Maildirs, folders, messages."),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="The port on 127.0.0.1; 0 for any free port.")
    ] = 8025,
    open_browser: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the page in the browser.", show_default="if there is a desktop"),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a local web page that shows mail with its scores and evidence, to train and tune the filter.

    Only this machine can reach the page, and the printed address holds a key: whoever has it can read the mail.
    """
    from importlib.util import find_spec

    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise ImportError(f"the page needs {', '.join(missing)}; pip install 'suffice[spam]', or 'suffice-spam[page]'")
    from suffice.spam.page import serve

    path, places = store_path(store), mailboxes or []
    if not as_json:
        serve(path, places, port, open_browser=open_browser)
        return

    def say(address: str) -> None:
        say_json({"url": address, "store": str(path), "mailboxes": list(map(str, places))})

    serve(path, places, port, open_browser=open_browser, started=say)
