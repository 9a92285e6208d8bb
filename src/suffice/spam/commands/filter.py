"""`suffice spam filter`: the declaration for `--help`; the work, done without typer, is in `suffice.spam.pipe`."""

from __future__ import annotations

from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam filter < letter.eml > stamped.eml[/cyan]

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
            "--no-exit-code", "-p", help="Leave with 0 whatever the verdict: in pipes where another code is a failure."
        ),
    ] = False,
    store: StoreOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the verdict in JSON on standard error as well.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="How long a verdict may take; then it is an error."),
    ] = 20.0,
    no_details: Annotated[
        bool, typer.Option("--no-details", help="Stamp X-Suffice-Status alone, without the score and the reasons.")
    ] = False,
    daemon: Annotated[
        bool,
        typer.Option(
            "--daemon",
            help="Let `suffice spam daemon` judge; --daemon=ADDRESS if it is not where it usually is. Where it cannot "
            "be asked, the message is judged here. `suffice-filter` does the same in a few milliseconds.",
        ),
    ] = False,
) -> None:
    """Pass a message from standard input to standard output, with the verdict in its headers.

    X-Suffice-Status, X-Suffice-Score and X-Suffice-Reasons are put on top, in place of all X-Suffice- headers that were
    there. Nothing else is changed.

    Exit codes: 0 spam, 1 ham, 2 unsure, 3 error. On an error the message comes out with X-Suffice-Status: error.
    """
    from suffice.spam.pipe import Settings, run

    raise typer.Exit(run(Settings(store, no_exit_code, as_json, timeout, no_details, "" if daemon else None)))
