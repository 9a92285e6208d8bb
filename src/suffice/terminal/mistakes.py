"""Error reporting of the command lines: one line on standard error, and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer

from suffice.terminal.descriptions import as_options, describe
from suffice.terminal.help import PlainGroup

#: the error for a wrong option or argument; taken as the parent of BadParameter, because typer may bundle its own click
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

#: the errors that wrong files, tables and settings raise; any other error is a bug and keeps its traceback
_MISTAKES = (OSError, ValueError, TypeError, NotImplementedError, ImportError, MemoryError)


class PlainSpeaking(PlainGroup):
    """A group of commands that reports each error and warning on one line, and ignores closed pipes."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and exit with its code: 1 for an error, 2 for wrong usage."""
        options["standalone_mode"] = False  # raise errors here instead of printing them in a box
        try:
            code = super().main(*args, **options)
        except UsageError as error:
            context = getattr(error, "ctx", None)
            command = "suffice" if context is None else context.command_path
            say("error", f"{error.format_message()} (see `{command} --help`)")  # type: ignore[attr-defined]
            code = 2
        raise SystemExit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command itself."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.showwarning = _show_warning
                answer = super().invoke(ctx)
                sys.stdout.flush()  # so that a closed pipe raises here
                return answer
        except KeyboardInterrupt:
            say("interrupted", "stopped, and no file was written")
            raise typer.Exit(130) from None
        except typer.Abort:  # Ctrl-C or the end of input at a prompt
            say("interrupted", "stopped at a question; what it asked for was not done")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # the reader closed the pipe; without this, Python prints an error at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise typer.Exit(1) from None
        except UsageError:
            raise
        except _MISTAKES as error:
            say("error", describe(error, "mail" if ctx.invoked_subcommand == "spam" else "table"))
            raise typer.Exit(1) from None


def say(kind: str, message: str) -> None:
    """Print one line on standard error."""
    from rich.console import Console  # slow to import, and most commands print no error
    from rich.text import Text

    colour = "bold yellow" if kind == "warning" else "bold red"
    line = Text.assemble((f"{kind}:", colour), " ", message)
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say("warning", as_options(" ".join(str(message).split())))
