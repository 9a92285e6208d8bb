"""`suffice spam allow` and `block`: senders whose mail is never, or always, spam."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, existing_store, json_option, say_json, store_to_make, wrong_usage

_Entries = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SENDER]...",
        help="An address (ann@example.org), a domain (example.org), or a domain with all below it (.example.org).",
    ),
]
_Remove = Annotated[bool, typer.Option("--remove", help="Take these senders off the list.")]
_Json = Annotated[bool, json_option("allow, block: the senders on both lists")]


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam allow ann@example.org work.example[/cyan]")
def allow(senders: _Entries = None, remove: _Remove = False, store: StoreOption = None, as_json: _Json = False) -> None:
    """Call all mail of these senders ham, whatever the statistics say; without senders, show the list.

    The sender is the only address of the only From header, which anyone can write: whoever knows an entry can use it,
    unless your mail server checks senders (DMARC). A sender is on one of the lists; the most exact entry decides.
    """
    _change("allow", senders, remove, store, as_json)


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam block .spammer.example[/cyan]")
def block(senders: _Entries = None, remove: _Remove = False, store: StoreOption = None, as_json: _Json = False) -> None:
    """Call all mail of these senders spam, whatever the statistics say; without senders, show the list.

    A message with several senders is blocked if any of them is. A sender is on one of the lists; the most exact entry
    decides.
    """
    _change("block", senders, remove, store, as_json)


def _change(
    name: Literal["allow", "block"], senders: list[str] | None, remove: bool, store: StoreOption, as_json: bool
) -> None:
    from suffice.spam import SpamFilter

    if remove and not senders:
        raise wrong_usage("give the senders to take off the list")
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
