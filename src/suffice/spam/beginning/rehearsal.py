"""A rehearsal: the verdicts on the newest messages of a filter trained on the older ones only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import tee

from suffice.spam.arrival import arrival_day
from suffice.spam.filter import SpamFilter
from suffice.spam.isolation import Unread, isolated
from suffice.spam.message import read
from suffice.spam.plain import one_line
from suffice.spam.shares import Label

#: number of newest messages to judge, and limit of their fraction of all messages
NEWEST, SHARE = 200, 0.25
#: the smallest number of messages of each class to learn from
LEAST = 10
#: the smallest number of messages of each class to tune thresholds with
ENOUGH_TO_TUNE = 20

#: a message with its place, and its class
Item = tuple[tuple[str, bytes], Label]


@dataclass(frozen=True)
class Mistake:
    """A message that the filter would have called the other class."""

    place: str
    subject: str
    label: Label
    probability: float


@dataclass
class Rehearsal:
    """The result of a rehearsal.

    Attributes
    ----------
    first, last : int
        The days (since 1970) of the oldest and the newest judged message.
    verdicts : counter
        Number of messages by (class, verdict), with the classes "spam" and "ham".
    mistakes : list of Mistake
        Ham that would have been called spam, and spam that would have been called ham; the former first.
    """

    first: int
    last: int
    verdicts: Counter[tuple[Label, str]] = field(default_factory=Counter)
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def messages(self) -> int:
        """The number of judged messages."""
        return sum(self.verdicts.values())


def rehearse(
    items: Callable[[], Iterable[Item]], progress: Callable[[int], object] | None = None, newest: int = NEWEST
) -> Rehearsal | None:
    """Learn all messages except the newest, in memory, and judge these; None if there are too few days or messages.

    Parameters
    ----------
    items : callable
        Returns the messages with their classes; called twice.
    progress : callable, optional
        Called with the number of messages done.
    newest : int
        Limit of messages to judge.
    """
    days: list[tuple[int, int]] = []
    labels: list[Label] = []
    for place, ((_, raw), label) in enumerate(items()):
        message = isolated(read, raw)
        day = None if isinstance(message, Unread) else arrival_day(message)
        if day is not None:
            days.append((day, place))
        labels.append(label)
        if progress is not None:
            progress(place + 1)
    tried = {place for _, place in sorted(days)[-min(newest, int(SHARE * len(labels))) :]} if days else set()
    left = Counter(label for place, label in enumerate(labels) if place not in tried)
    if not tried or min(left["spam"], left["ham"]) < LEAST:
        return None
    held_out: list[Item] = []

    def others() -> Iterator[Item]:
        for place, item in enumerate(items()):
            if place in tried:
                held_out.append(item)
            else:
                yield item

    with SpamFilter() as rehearsing:
        ahead, behind = tee(others())
        rehearsing.train_many((raw for (_, raw), _ in ahead), (label for _, label in behind))
        size = rehearsing.stats()  # copies of a message are learned only once
        if min(size.spam, size.ham) < LEAST:
            return None
        if min(size.spam, size.ham) >= ENOUGH_TO_TUNE:
            rehearsing.tune()
        chosen = [day for day, place in days if place in tried]
        found = Rehearsal(min(chosen), max(chosen))
        for ((where, raw), label), verdict in zip(
            held_out, rehearsing.score_many(raw for (_, raw), _ in held_out), strict=True
        ):
            found.verdicts[label, verdict.label] += 1
            if verdict.label in ("spam", "ham") and verdict.label != label:
                found.mistakes.append(Mistake(where, _subject(raw), label, verdict.probability))
    found.mistakes.sort(key=lambda mistake: (mistake.label != "ham", mistake.place))
    return found


def _subject(raw: bytes) -> str:
    message = isolated(read, raw)
    return "" if isinstance(message, Unread) else one_line(message.header("subject"), 60)
