"""`suffice spam stats`: what the store holds."""

from __future__ import annotations

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import JsonOption, StoreOption, say_json, store_path


@app.command()
def stats(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show where the store is, and how many messages and tokens it has learned."""
    from suffice.spam import SpamFilter

    path = store_path(store)
    if not path.exists():
        raise FileNotFoundError(f"there is no store {str(path)!r} yet; `suffice spam train` makes it")
    with SpamFilter.open(path) as spam_filter:
        size = spam_filter.stats()
    if as_json:
        say_json({"store": str(path), "spam": size.spam, "ham": size.ham, "tokens": size.tokens})
        return
    typer.echo(f"{path}\n{size.spam:,} spam, {size.ham:,} ham, {size.tokens:,} tokens")
