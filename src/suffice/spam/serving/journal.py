"""The log of a server: one line per message, and each kind of error at most once an hour."""

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

#: seconds until the same kind of error is logged again
REPEAT = 3600.0


def _has_room(output: TextIO) -> bool:
    """Return whether a line can be written without blocking: False for a full pipe or a stopped terminal."""
    try:
        descriptor = output.fileno()
    except (OSError, ValueError, AttributeError):
        return True  # without a file descriptor
    return bool(select.select((), (descriptor,), (), 0.0)[1])


class Journal:
    """A log with lines of text or JSON.

    Parameters
    ----------
    as_json : bool
        Whether lines are JSON objects, each with an "event".
    output : text file, optional
        Where lines are written; standard output by default.
    """

    def __init__(self, as_json: bool = False, output: TextIO | None = None) -> None:
        self._as_json = as_json
        self._output = sys.stdout if output is None else output
        self._told: dict[str, float] = {}
        #: number of messages per verdict; `problem` is the last error that prevented scoring
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
        with suppress(OSError, ValueError):  # if nobody reads the log any more, mail is still processed
            if _has_room(self._output):
                print(line, file=self._output, flush=True)

    def trouble(self, error: BaseException) -> None:
        """Log an error that prevented the scoring of a message, at most once an hour per kind."""
        self.trouble_of(type(error).__name__, str(error))

    def trouble_of(self, kind: str, text: str) -> None:
        """Log an error as `trouble` does, given its kind and its text."""
        now = time.monotonic()
        self.problem = one_line(text, 300)
        if now < self._told.get(kind, -math.inf) + REPEAT:
            return
        self._told[kind] = now
        self.say("trouble", kind=kind, text=one_line(text, 500), consequence="mail is accepted with the status error")
