"""What a person sees when something is wrong: one line on standard error, and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from suffice.terminal.descriptions import describe

#: a wrong option or argument; the parent of BadParameter, whether typer brings its own click or uses the real one
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

#: what wrong files, tables and settings raise; all else is a bug of ours and keeps its traceback
_MISTAKES = (OSError, ValueError, TypeError, NotImplementedError, ImportError, MemoryError)


class PlainSpeaking(TyperGroup):
    """Commands whose every mistake is one line, whose warnings are one line, and whose closed pipes are silent."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and leave with its exit code: 1 for a mistake, 2 for a wrong usage."""
        options["standalone_mode"] = False  # errors come here, and not in a box
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
                sys.stdout.flush()  # a closed pipe should be noticed here
                return answer
        except KeyboardInterrupt:
            say("interrupted", "stopped, and no file was written")
            raise typer.Exit(130) from None
        except typer.Abort:  # a question that was answered by Ctrl-C, or by the end of the input
            say("interrupted", "stopped at a question; what it asked for was not done")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # whoever read our output has had enough; without this, Python complains when it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise typer.Exit(1) from None
        except UsageError:
            raise
        except _MISTAKES as error:
            say("error", describe(error, "mail" if ctx.invoked_subcommand == "spam" else "table"))
            raise typer.Exit(1) from None


def say(kind: str, message: str) -> None:
    """Print one line on standard error."""
    from rich.console import Console  # takes long to load, and most commands have nothing to say
    from rich.text import Text

    colour = "bold yellow" if kind == "warning" else "bold red"
    line = Text.assemble((f"{kind}:", colour), " ", message)
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say("warning", " ".join(str(message).split()))
