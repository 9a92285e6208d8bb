"""What a milter tells: one line a message, and each kind of trouble once an hour."""

from __future__ import annotations

import json
import math
import select
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import Any, TextIO

from suffice.spam.plain import one_line

#: after how many seconds the same kind of trouble is told again
REPEAT = 3600.0


def _has_room(output: TextIO) -> bool:
    """Return whether a line can be written without waiting: not to a pipe that is full, or a terminal that is held."""
    try:
        descriptor = output.fileno()
    except (OSError, ValueError, AttributeError):
        return True  # no file of the system
    return bool(select.select((), (descriptor,), (), 0.0)[1])


class Journal:
    """Writes lines of text, or of JSON.

    Parameters
    ----------
    as_json : bool
        Lines are JSON objects, each with an "event".
    output : text file, optional
        Standard output by default.
    """

    def __init__(self, as_json: bool = False, output: TextIO | None = None) -> None:
        self._as_json = as_json
        self._output = sys.stdout if output is None else output
        self._told: dict[str, float] = {}
        #: how many messages had which verdict, and what last kept one from being scored
        self.counts: Counter[str] = Counter()
        self.problem = ""

    def say(self, event: str, **facts: Any) -> None:
        """Write a line."""
        if event == "message":
            self.counts[str(facts.get("label"))] += 1
            self.problem = self.problem if facts.get("error") else ""
        if self._as_json:
            line = json.dumps({"event": event, **facts})
        else:
            pairs = (f"{name}={'-' if value is None else value}" for name, value in facts.items())
            line = f"{event}: {' '.join(pairs)}".encode("ascii", "backslashreplace").decode()
        with suppress(OSError, ValueError):  # where nobody reads it any more, mail goes on
            if _has_room(self._output):
                print(line, file=self._output, flush=True)

    def trouble(self, error: BaseException) -> None:
        """Tell what kept a message from being scored, once an hour for each kind."""
        self.trouble_of(type(error).__name__, str(error))

    def trouble_of(self, kind: str, text: str) -> None:
        """Tell the same, given the kind of error and its text."""
        now = time.monotonic()
        self.problem = one_line(text, 300)
        if now < self._told.get(kind, -math.inf) + REPEAT:
            return
        self._told[kind] = now
        self.say("trouble", kind=kind, text=one_line(text, 500), consequence="mail passes with the status error")
