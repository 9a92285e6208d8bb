"""The training done on the page since its start, so that it can be listed and undone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from suffice.spam.page.index import Entry, Label

#: number of newest actions that can be undone
KEPT = 100


class Change(NamedTuple):
    """A trained message: its earlier verdict, the class that it was trained as before, and the new one."""

    entry: Entry
    verdict: str
    before: Label | None
    after: Label | None
    #: the bucket that it was in before
    bucket: str = ""

    @property
    def is_correction(self) -> bool:
        """Whether the filter was wrong or unsure before."""
        return self.after is not None and self.verdict != self.after


@dataclass(frozen=True)
class Action:
    """The messages trained by one click."""

    number: int
    changes: Sequence[Change]
    time: datetime = field(default_factory=datetime.now)


class Corrections:
    """The newest actions, by number."""

    def __init__(self) -> None:
        self._actions: deque[Action] = deque(maxlen=KEPT)
        self._numbers = count(1)

    def add(self, changes: Sequence[Change]) -> Action:
        """Record the changes of one click."""
        action = Action(next(self._numbers), changes)
        self._actions.append(action)
        return action

    def take(self, number: int) -> Action | None:
        """Remove and return an action, to undo it; None if it is no longer there."""
        for action in self._actions:
            if action.number == number:
                self._actions.remove(action)
                return action
        return None

    @property
    def last(self) -> Action | None:
        """The newest action that can be undone."""
        return self._actions[-1] if self._actions else None

    def newest(self) -> Iterator[tuple[Action, Change]]:
        """Yield the corrections, the newest first."""
        for action in reversed(self._actions):
            for change in reversed(action.changes):
                if change.is_correction:
                    yield action, change
