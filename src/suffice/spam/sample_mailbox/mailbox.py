"""The demo mailbox: training messages, messages that arrive later, and writing them to files."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from suffice.spam.sample_mailbox.envelopes import envelope
from suffice.spam.sample_mailbox.templates import filled, templates
from suffice.spam.shares import Label

#: number of messages per training template, with different names, amounts and days
TIMES = 2
_ZONE = timezone(timedelta(hours=1))
_START, _LATER = datetime(2025, 3, 3, 7, 20, tzinfo=_ZONE), datetime(2025, 5, 5, 7, 40, tzinfo=_ZONE)


def taught(seed: int = 0) -> Iterator[tuple[bytes, Label]]:
    """Yield the training messages, 60 hams and 40 spams, with their classes, by date.

    Examples
    --------
    >>> from suffice.spam.sample_mailbox import taught
    >>> [label for _, label in taught()].count("spam")
    40
    """
    return _messages("taught", TIMES, _START, seed)


def arriving(seed: int = 0) -> Iterator[tuple[bytes, Label]]:
    """Yield the messages that arrive later, 30 hams and 20 spams, from other templates than the training messages.

    Examples
    --------
    >>> from suffice.spam.sample_mailbox import arriving
    >>> [label for _, label in arriving()].count("ham")
    30
    """
    return _messages("later", 1, _LATER, seed)


def write(folder: Path, messages: Iterable[bytes]) -> Path:
    """Write messages into a new Maildir, and return its path."""
    for name in ("new", "cur", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, raw in enumerate(messages):
        (folder / "cur" / f"{number:04}.demo:2,").write_bytes(raw)
    return folder


def _messages(part: str, times: int, start: datetime, seed: int) -> Iterator[tuple[bytes, Label]]:
    # a text seed gives the same numbers everywhere, and makes the parts independent of each other
    rng = random.Random(f"{part} {seed}")
    labels: tuple[Label, Label] = ("ham", "spam")
    chosen = [(template, label) for label in labels for template in templates(f"{label}-{part}") for _ in range(times)]
    rng.shuffle(chosen)
    sent = start
    for template, label in chosen:
        sent += timedelta(seconds=rng.randrange(1200, 36_000))
        yield envelope(filled(template, rng), sent, rng), label
