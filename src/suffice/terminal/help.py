"""Help texts of the command lines: the name of each value, such as FILE, and no types of Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def _without_types(params: list[Any]) -> list[Any]:
    """Return parameters whose help shows the metavar of an option, and nothing for a flag or an argument.

    From 0.29 on, typer shows the type of each value (`<bool>`, `<list[str]>`) in this column.
    """
    for param in params:
        is_named = param.param_type_name == "option" and not param.is_flag
        shown = param.metavar if is_named else ""
        param.display_type_rich = lambda ctx, shown=shown: shown
    return params


class PlainCommand(TyperCommand):
    """A command whose help shows no types of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command."""
        return _without_types(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands whose help shows no types of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the group."""
        return _without_types(super().get_params(ctx))


class PlainTyper(typer.Typer):
    """An application whose commands are of the class `PlainCommand`, with docstrings as their help."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Return the decorator that adds a command."""
        plain = super().command

        def add(function: Any) -> Any:
            help_text = _in_long_lines(inspect.getdoc(function) or "")
            return plain(name, **{"cls": PlainCommand, "help": help_text, **settings})(function)

        return add


def _in_long_lines(text: str) -> str:
    r"""Return a text with every paragraph in one line: newer versions of typer show their line ends.

    Examples
    --------
    >>> from suffice.terminal.help import _in_long_lines
    >>> _in_long_lines("Fit.\n\nA line\nand another.")
    'Fit.\n\nA line and another.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
