"""`suffice spam`: the group that every command of the filter belongs to."""

from __future__ import annotations

import typer

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam train --spam ~/Mail/Junk --ham ~/Mail/INBOX[/cyan]

[cyan]suffice spam classify message.eml[/cyan]"""

app = typer.Typer(
    name="spam",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLE,
)


@app.callback(invoke_without_command=True)
def spam(ctx: typer.Context) -> None:
    """Filter spam: trained on your own mail, with reasons for every verdict."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
