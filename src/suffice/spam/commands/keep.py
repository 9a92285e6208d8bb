"""`suffice spam backup`, `restore` and `expire`: keep a store safe and small."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, existing_store, json_option, say_json, store_to_make


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam backup ~/spam-2025-01-31.sqlite[/cyan]")
def backup(
    backup_path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The backup to write; an older backup of that name is replaced.")
    ],
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("store, backup, bytes")] = False,
) -> None:
    """Copy the store into one file; other programs may use the store meanwhile.

    If the copy fails, no file is written.
    """
    from suffice.spam import SpamFilter

    path = existing_store(store)
    with SpamFilter.open(path) as spam_filter:
        spam_filter.backup(backup_path)
    size = backup_path.stat().st_size
    if as_json:
        say_json({"store": str(path), "backup": str(backup_path), "bytes": size})
    else:
        typer.echo(f"{path} was copied to {backup_path} ({size / 1e6:,.1f} MB)")


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam restore ~/spam-2025-01-31.sqlite --yes[/cyan]")
def restore(
    backup_path: Annotated[Path, typer.Argument(metavar="FILE", help="A backup that `suffice spam backup` wrote.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace the store even if it is not empty.")] = False,
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("store, backup, spam, ham, tokens")] = False,
) -> None:
    """Replace the store by a backup.

    The backup is checked first; if it is damaged, the store is not changed.
    """
    from suffice.spam import SpamFilter

    path = store_to_make(store)
    if not backup_path.exists():
        raise FileNotFoundError(
            f"there is no backup {str(backup_path)!r}; give a file that `suffice spam backup` wrote"
        )
    if not yes and (held := _held(path)):
        raise ValueError(f"the store {str(path)!r} {held}, which would be lost; pass --yes to replace it")
    SpamFilter.restore(path, backup_path)
    with SpamFilter.open(path) as spam_filter:
        size = spam_filter.stats()
    if as_json:
        say_json(
            {"store": str(path), "backup": str(backup_path), "spam": size.spam, "ham": size.ham, "tokens": size.tokens}
        )
    else:
        typer.echo(f"{path} is restored: {size.spam:,} spam, {size.ham:,} ham, {size.tokens:,} tokens")


def _held(path: Path) -> str:
    """Return a description of the contents of a store, or an empty string."""
    from suffice.spam import SpamFilter, StoreError

    if not path.exists() or not path.stat().st_size:
        return ""
    try:
        with SpamFilter.open(path) as spam_filter:
            size = spam_filter.stats()
    except StoreError as error:
        return f"cannot be read ({error})"
    return f"holds {size.spam:,} spam and {size.ham:,} ham" if size.spam or size.ham else ""


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam expire --days 730[/cyan]")
def expire(
    days: Annotated[
        float | None,
        typer.Option(
            "--days",
            metavar="DAYS",
            min=0.0,
            help="The age from which messages are forgotten; ten half-lives by default.",
        ),
    ] = None,
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("expired, spam, ham, tokens (what is left)")] = False,
) -> None:
    """Forget the messages that were learned long ago."""
    from suffice.spam import SpamFilter
    from suffice.spam.commands.screen import count, meter

    with SpamFilter.open(existing_store(store)) as spam_filter:
        if days is None and spam_filter.half_life is None:
            raise ValueError(
                "the store has no half-life, so the age is not known; give --days DAYS, or set a half-life with "
                "`suffice spam train --half-life DAYS`"
            )
        with meter("expiring"):
            expired = spam_filter.expire(days)
        size = spam_filter.stats()
    if as_json:
        say_json({"expired": expired, "spam": size.spam, "ham": size.ham, "tokens": size.tokens})
    else:
        typer.echo(f"{count(expired)} forgotten; {size.spam:,} spam and {size.ham:,} ham are left")
