"""Messages that a command could not read: named with their places, counted, and told by the exit code."""

from __future__ import annotations

from typing import Any

import typer

#: so many are named on standard error; all of them are in JSON
NAMED = 10
#: the exit code of a command that did its work but for messages that it could not read
SOME_SKIPPED = 3


class Skipped:
    """Collects the messages that were skipped, and names them on standard error."""

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []

    def add(self, place: str, reason: str) -> None:
        """Take note of a message that could not be read."""
        from suffice.spam.plain import one_line
        from suffice.terminal.mistakes import say

        self.messages.append({"place": place, "reason": reason})
        if len(self.messages) <= NAMED:
            say("skipped", f"{one_line(place, 1000)}: {one_line(reason, 400)}")

    def finish(self) -> None:
        """Say how many messages were skipped, and leave with an exit code of their own; return if there are none."""
        from suffice.spam.commands.screen import count
        from suffice.terminal.mistakes import say

        if self.messages:
            more = len(self.messages) - NAMED
            rest = f", {more:,} of them not named here" if more > 0 else ""
            say("warning", f"{count(len(self.messages))} could not be read, and nothing was done with them{rest}")
            raise typer.Exit(SOME_SKIPPED)

    def as_json(self) -> dict[str, Any]:
        """Return what is added to an answer in JSON."""
        return {"skipped": self.messages}
