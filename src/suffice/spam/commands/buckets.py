"""`suffice spam buckets`: the kinds of wanted mail."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, existing_store, json_option, say_json

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam train --bucket receipts ~/Mail/Receipts[/cyan]

[cyan]suffice spam buckets --rename receipts bills[/cyan]"""


@app.command(epilog=_EXAMPLE)
def buckets(
    rename: Annotated[
        tuple[str, str] | None, typer.Option("--rename", metavar="NAME NEW", help="Rename a bucket.")
    ] = None,
    remove: Annotated[
        str | None,
        typer.Option("--remove", metavar="NAME", help="Remove a bucket; its mail stays learned as ham."),
    ] = None,
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("buckets (messages by name), none (hams in no bucket)")] = False,
) -> None:
    """Show the buckets and how many messages each has learned.

    A bucket is a kind of wanted mail, such as receipts; `suffice spam train --bucket NAME` creates one. If a message is
    not spam and belongs to a bucket with a probability of 0.9 or more, `classify`, `explain` and the header
    X-Suffice-Bucket show the bucket, and `watch --bucket NAME=FOLDER` moves the message.
    """
    from suffice.spam import SpamFilter

    with SpamFilter.open(existing_store(store)) as spam_filter:
        if rename is not None:
            spam_filter.buckets.rename(*rename)
        if remove is not None:
            spam_filter.buckets.remove(remove)
        found, ham = dict(spam_filter.buckets), spam_filter.stats().ham
    if as_json:
        say_json({"buckets": found, "none": ham - sum(found.values())})
        return
    for name, messages in found.items():
        typer.echo(f"{messages}\t{name}")
    if not found:
        typer.echo("there are no buckets; create one with `suffice spam train --bucket NAME BOX`", err=True)


def in_words(found: dict[str, int]) -> str:
    """Return buckets with their numbers of messages in words.

    Examples
    --------
    >>> from suffice.spam.commands.buckets import in_words
    >>> in_words({"receipts": 1200, "work": 3})
    '1,200 receipts, 3 work'
    """
    from suffice.spam.plain import one_line

    return ", ".join(f"{messages:,} {one_line(name)}" for name, messages in found.items())


def probabilities_in_words(bucket: str, probabilities: dict[str, float]) -> str:
    """Return the bucket of a message and the probabilities of the most likely ones in words.

    Examples
    --------
    >>> from suffice.spam.commands.buckets import probabilities_in_words
    >>> probabilities_in_words("", {"": 0.3, "work": 0.65, "receipts": 0.05})
    'none is certain: work 0.6500, none 0.3000, receipts 0.0500'
    """
    from suffice.spam.plain import one_line

    likely = sorted(probabilities.items(), key=lambda pair: -pair[1])[:_LIKELY]
    shown = ", ".join(f"{one_line(name) if name else 'none'} {p:.4f}" for name, p in likely)
    return f"{one_line(bucket) if bucket else 'none is certain'}: {shown}"


def reasons_in_words(evidence: list[dict[str, Any]]) -> str:
    """Return the strongest tokens, each with its contribution to the log-odds of the most likely bucket."""
    from suffice.spam.plain import one_line

    return (
        ", ".join(f"{one_line(part['token'], 40)} {part['log_odds']:+.2f}" for part in evidence[:_REASONS]) or "nothing"
    )


def show_confusion(table: Any) -> None:
    """Print the confusion matrix of buckets."""
    from rich.text import Text

    from suffice.spam.commands.screen import console, grid
    from suffice.spam.plain import one_line

    screen = console()
    shown = [*table.said][:_SHOWN]
    rows = grid("bucket", ">messages", *(f">{_short(one_line(name))}" if name else ">none" for name in shown))
    for name in table.names:
        row = table.row(name)
        cells = [f"{row[said]:,}" if row[said] else "." for said in shown]
        rows.add_row(Text(one_line(name) if name else "(none)"), f"{sum(row.values()):,}", *cells)
    screen.print()
    screen.print(rows)
    left = len(table.said) - len(shown)
    note = f"; {left} more columns in --json" if left else ""
    screen.print(
        Text(
            f"predicted buckets (columns) of the mail of each bucket (rows), by leave-one-out; {table.accuracy:.2%} of "
            f"the messages had their own bucket as the most likely, {table.wrong:,} of {table.total:,} another{note}",
            style="dim",
        )
    )


#: limits of probabilities and reasons shown
_LIKELY, _REASONS = 4, 6
#: limits of columns of a table, and of letters of their names, shown
_SHOWN, _LETTERS = 10, 9


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
