"""Messages that a command could not read: listed with their places, counted, and reported by the exit code."""

from __future__ import annotations

from typing import Any

import typer

#: limit of messages listed on standard error; JSON has all of them
NAMED = 10
#: exit code of a command that succeeded except for unreadable messages
SOME_SKIPPED = 3


class Skipped:
    """The list of skipped messages, which are also printed on standard error."""

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []

    def add(self, place: str, reason: str) -> None:
        """Record a message that could not be read."""
        from suffice.spam.plain import one_line
        from suffice.terminal.mistakes import say

        self.messages.append({"place": place, "reason": reason})
        if len(self.messages) <= NAMED:
            say("skipped", f"{one_line(place, 1000)}: {one_line(reason, 400)}")

    def finish(self) -> None:
        """Print how many messages were skipped, and exit with `SOME_SKIPPED`; return if there are none."""
        from suffice.spam.commands.screen import count
        from suffice.terminal.mistakes import say

        if self.messages:
            more = len(self.messages) - NAMED
            rest = f", {more:,} of them not listed here" if more > 0 else ""
            say("warning", f"{count(len(self.messages))} could not be read and were skipped{rest}")
            raise typer.Exit(SOME_SKIPPED)

    def as_json(self) -> dict[str, Any]:
        """Return the keys to add to an answer in JSON."""
        return {"skipped": self.messages}
