"""The reports of a watch: one event per decision, as a line of text or JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from suffice.spam.plain import one_line

#: limits of characters shown, of names of folders and of other texts
NAME_LIMIT, TEXT_LIMIT = 100, 1000


@dataclass(frozen=True)
class Event:
    """One action or observation of a watch.

    Attributes
    ----------
    kind : str
        "left" in the inbox, "moved", "copied" because the server cannot move, "learned", "failed", or a "note".
    folder : str
        The folder in which the message was found.
    label : str or None
        The verdict, "error" if the message could not be read, or the class it was learned as.
    probability : float or None
        The probability of spam, if the message was judged.
    subject : str
        The subject of the message, safe for printing.
    to : str or None
        The folder that it was moved to.
    text : str
        Further text.
    count : int
        Number of messages.
    bucket : str or None
        The bucket of the message, or the one it was learned as; "" if it was removed from its bucket.
    is_dry : bool
        Whether it was only reported and not done.
    time : datetime
        The time of the event.
    """

    kind: Literal["left", "moved", "copied", "learned", "failed", "note"]
    folder: str
    label: str | None = None
    probability: float | None = None
    subject: str = ""
    to: str | None = None
    text: str = ""
    count: int = 1
    bucket: str | None = None
    is_dry: bool = False
    time: datetime = field(default_factory=lambda: datetime.now().astimezone())

    def as_json(self) -> dict[str, Any]:
        """Return the attributes that are set, by name."""
        known = {
            "label": self.label,
            "probability": None if self.probability is None else round(self.probability, 6),
            "bucket": self.bucket,
            "subject": self.subject or None,
            "to": self.to,
            "text": self.text or None,
            "dry_run": self.is_dry or None,
        }
        head = {"time": self.time.isoformat(timespec="seconds"), "event": self.kind, "folder": self.folder}
        return head | {name: value for name, value in known.items() if value is not None}

    def as_text(self) -> str:
        """Return one line.

        Examples
        --------
        >>> from datetime import datetime
        >>> Event("moved", "INBOX", "spam", 0.997, "You win", to="Junk", time=datetime(2026, 5, 1, 9, 30)).as_text()
        '2026-05-01 09:30:00 INBOX: spam 0.9970, moved to Junk: You win'
        """
        judged = "" if self.label is None else self.label
        bucket = "" if self.bucket is None else f", {one_line(self.bucket or 'no bucket', NAME_LIMIT)}"
        if self.probability is not None:
            judged += f" {self.probability:.4f}"
        judged += bucket
        would = "would be " if self.is_dry else ""
        text = one_line(self.text, TEXT_LIMIT)
        folder, to = one_line(self.folder, NAME_LIMIT), one_line(self.to or "", NAME_LIMIT)
        done = {
            "left": "left",
            "moved": f"{would}moved to {to}",
            "copied": f"copied to {to} and left with a flag, since the server can neither MOVE nor UID EXPUNGE",
            "learned": f"{would}learned as {self.label}{bucket}",
            "failed": "failed",
            "note": "",
        }[self.kind]
        parts = [judged if self.kind != "learned" else "", done]
        said = ": ".join(part for part in (", ".join(filter(None, parts)), text, self.subject) if part)
        return f"{self.time:%Y-%m-%d %H:%M:%S} {folder}: {said}"


class Tally:
    """Counts of events, for the summary line."""

    def __init__(self) -> None:
        #: number of messages that could not be read
        self.unread = 0
        self._counts: Counter[str] = Counter()

    def add(self, event: Event) -> None:
        """Count an event."""
        self.unread += event.label == "error"
        if event.kind in ("left", "moved", "copied") and event.probability is not None:
            self._counts["judged"] += 1
        if event.kind == "learned":
            self._counts[f"learned_{event.label}"] += event.count
        elif event.kind not in ("left", "note"):
            self._counts[event.kind] += event.count

    def as_json(self) -> dict[str, int]:
        """Return the numbers by name."""
        return {name: self._counts[name] for name in _TALLIED}

    def as_text(self) -> str:
        """Return one line.

        Examples
        --------
        >>> Tally().as_text()
        '0 judged, 0 moved, 0 learned as spam, 0 learned as ham'
        """
        shown = {name: count for name, count in self.as_json().items() if count or name not in ("copied", "failed")}
        return ", ".join(f"{count} {name.replace('_', ' as ')}" for name, count in shown.items())


_TALLIED = ("judged", "moved", "copied", "learned_spam", "learned_ham", "failed")
