"""Options shared by the filter's commands: the store, and answers in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from suffice.spam.location import STORE_VARIABLE, existing_store, store_path, store_to_make

__all__ = [
    "HamBoxOption",
    "JsonOption",
    "LinesOption",
    "SpamBoxOption",
    "StoreOption",
    "existing_store",
    "json_option",
    "say_json",
    "store_path",
    "store_to_make",
    "wrong_usage",
]

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        "-s",
        metavar="FILE",
        envvar=STORE_VARIABLE,
        show_envvar=True,
        help="The store to use; ~/.local/share/suffice/spam.sqlite by default.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
SpamBoxOption = Annotated[
    list[str] | None, typer.Option("--spam", metavar="BOX", help="Spam to classify; it is not learned. Repeatable.")
]
HamBoxOption = Annotated[
    list[str] | None, typer.Option("--ham", metavar="BOX", help="Ham to classify; it is not learned. Repeatable.")
]
LinesOption = Annotated[
    bool, typer.Option("--lines", help="Every line is a message without headers, such as an SMS or a comment.")
]


def json_option(keys: str) -> Any:
    """Return the option `--json` of a command whose answer has these keys."""
    return typer.Option("--json", help=f"Print the result as JSON with the keys {keys}.")


def wrong_usage(message: str) -> Exception:
    """Return the error for options that do not go together, to be raised."""
    from suffice.terminal.mistakes import UsageError

    return UsageError(message)


def say_json(answer: Any) -> None:
    """Print an answer as one line of JSON, in ASCII, so that mail cannot send control characters to the terminal."""
    typer.echo(json.dumps(answer))
