"""`suffice spam settings`: the settings of a store."""

from __future__ import annotations

from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, existing_store, json_option, say_json, store_to_make, wrong_usage

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam settings --server mx.example.org[/cyan]"""


@app.command(epilog=_EXAMPLE)
def settings(
    server: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            metavar="NAME",
            help="The name of your own mail server, the first word of its Authentication-Results headers "
            "(authserv-id): its results of SPF, DKIM and DMARC become evidence. Repeatable; replaces the earlier "
            "names.",
        ),
    ] = None,
    no_server: Annotated[bool, typer.Option("--no-server", help="Trust no Authentication-Results headers.")] = False,
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("store, servers, thresholds (ham, spam), half_life (days)")] = False,
) -> None:
    """Show the settings of a store, or change them; changing them creates the store if needed.

    Name servers before you train: messages that were learned before are not read again.
    """
    from suffice.spam import SpamFilter

    if server and no_server:
        raise wrong_usage("--server and --no-server exclude each other; give one of them")
    path = store_to_make(store) if server or no_server else existing_store(store)
    with SpamFilter.open(path) as spam_filter:
        if server or no_server:
            spam_filter.servers = server or []
        servers, thresholds, half_life = spam_filter.servers, spam_filter.thresholds, spam_filter.half_life
    if as_json:
        limits = {"ham": thresholds.ham, "spam": thresholds.spam}
        say_json({"store": str(path), "servers": list(servers), "thresholds": limits, "half_life": half_life})
        return
    from suffice.spam.commands.screen import show_facts

    show_facts(
        {
            "store": str(path),
            "servers": ", ".join(servers) or "none: Authentication-Results are no evidence",
            "thresholds": f"ham up to {thresholds.ham:.4g}, spam from {thresholds.spam:.4g}, unsure between",
            "half-life": "none: nothing is forgotten" if half_life is None else f"{half_life:g} days",
        }
    )
