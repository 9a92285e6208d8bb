"""`suffice spam allow` and `block`: senders whose mail is never, or always, spam."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, existing_store, json_option, say_json, store_to_make, wrong_usage

_Entries = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SENDER",
        help="An address (ann@example.org), a domain (example.org), or a domain with its subdomains (.example.org).",
    ),
]
_Remove = Annotated[bool, typer.Option("--remove", help="Remove these senders from the list.")]
_Json = Annotated[bool, json_option("allow, block (the senders on each list)")]


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam allow ann@example.org work.example[/cyan]")
def allow(senders: _Entries = None, remove: _Remove = False, store: StoreOption = None, as_json: _Json = False) -> None:
    """Classify all mail of these senders as ham, whatever the statistics say; without senders, show the list.

    The sender is the address in the From header, which anyone can forge unless your mail server checks senders (DMARC);
    a message with several From headers or addresses is never allowed. A sender is on one list only; the most specific
    entry decides.
    """
    _change("allow", senders, remove, store, as_json)


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam block .spammer.example[/cyan]")
def block(senders: _Entries = None, remove: _Remove = False, store: StoreOption = None, as_json: _Json = False) -> None:
    """Classify all mail of these senders as spam, whatever the statistics say; without senders, show the list.

    A message with several senders is blocked if one of them is. A sender is on one list only; the most specific entry
    decides.
    """
    _change("block", senders, remove, store, as_json)


def _change(
    name: Literal["allow", "block"], senders: list[str] | None, remove: bool, store: StoreOption, as_json: bool
) -> None:
    from suffice.spam import SpamFilter

    if remove and not senders:
        raise wrong_usage("give the senders to remove from the list")
    adding = senders and not remove
    with SpamFilter.open(store_to_make(store) if adding else existing_store(store)) as spam_filter:
        if senders and remove:
            spam_filter.unlist(name, *senders)
        elif senders:
            (spam_filter.allow if name == "allow" else spam_filter.block)(*senders)
        lists = spam_filter.lists
    if as_json:
        say_json({"allow": lists.allow, "block": lists.block})
        return
    for entry in getattr(lists, name):
        typer.echo(entry)
