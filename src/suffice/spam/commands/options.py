"""What the commands of the filter share: the store they use, and whether they answer in JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

#: the environment variable that names the store
STORE_VARIABLE = "SUFFICE_SPAM_STORE"

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        "-s",
        metavar="FILE",
        envvar=STORE_VARIABLE,
        show_envvar=True,
        help="The store to use; yours by default (see `suffice spam stats`).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]


def store_path(given: Path | None) -> Path:
    """Return the store to use: the one that is given, or the user's own.

    That is `suffice/spam.sqlite` in `$XDG_DATA_HOME`, which is `~/.local/share` where it is not set.
    """
    if given is not None:
        return given
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "suffice" / "spam.sqlite"


def say_json(answer: Any) -> None:
    """Print an answer as one line of JSON."""
    typer.echo(json.dumps(answer, ensure_ascii=False))
