"""`suffice spam filter`: the declaration for `--help`; the work, done without typer, is in `suffice.spam.pipe`."""

from __future__ import annotations

from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam filter < message.eml > stamped.eml[/cyan]

[bold]procmail[/bold]

[cyan]:0fw
| suffice spam filter --no-exit-code[/cyan]

[cyan]:0:
* ^X-Suffice-Status: spam
Junk[/cyan]"""


@app.command("filter", epilog=_EXAMPLE)
def filter_(
    no_exit_code: Annotated[
        bool,
        typer.Option(
            "--no-exit-code",
            "-p",
            help="Exit with 0 whatever the verdict, for pipes in which any other code is a failure.",
        ),
    ] = False,
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Also write the verdict as JSON on standard error.")] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="The time limit of a verdict; a longer one is an error."),
    ] = 20.0,
    no_details: Annotated[
        bool, typer.Option("--no-details", help="Add only X-Suffice-Status, without the score and the reasons.")
    ] = False,
    daemon: Annotated[
        bool,
        typer.Option(
            "--daemon",
            help="Ask `suffice spam daemon` for the verdict; --daemon=ADDRESS if it has another address than usual. If "
            "it does not answer, this command classifies the message itself. `suffice-filter` does the same in a few "
            "milliseconds.",
        ),
    ] = False,
) -> None:
    """Pass a message from standard input to standard output, with the verdict in its headers.

    X-Suffice-Status, X-Suffice-Score and X-Suffice-Reasons are added at the top; X-Suffice- headers that the message
    had are removed. Nothing else is changed.

    Exit codes: 0 spam, 1 ham, 2 unsure, 3 error. On an error the message is passed on with X-Suffice-Status: error.
    75: it could not be read or written; mail programs keep it and try again.
    """
    from suffice.spam.pipe import Settings, run

    raise typer.Exit(run(Settings(store, no_exit_code, as_json, timeout, no_details, "" if daemon else None)))
