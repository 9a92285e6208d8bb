"""`suffice spam`: the group that every command of the filter belongs to."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

import typer

from suffice.terminal.help import PlainGroup, PlainTyper

#: the order of the commands in --help, that in which a user needs them; others follow
_ORDER = (
    *("setup", "train", "untrain", "retrain", "classify", "explain", "filter", "allow", "block"),
    *("watch", "milter", "daemon", "serve", "demo"),
    *("buckets", "evaluate", "tune", "settings", "stats", "backup", "restore", "expire", "export", "import"),
)
_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam train --spam ~/Mail/Junk --ham ~/Mail/INBOX[/cyan]

[cyan]suffice spam classify message.eml[/cyan]"""


class InOrder(PlainGroup):
    """The group with its commands in the order of `_ORDER`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        places = {name: place for place, name in enumerate(_ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: places.get(name, len(_ORDER)))


app = PlainTyper(
    name="spam",
    cls=InOrder,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLE,
)


@app.callback(invoke_without_command=True)
def spam(ctx: typer.Context) -> None:
    """Filter spam: learns from your own mail and gives reasons for every verdict."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # mail may hold characters that the terminal cannot show
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
