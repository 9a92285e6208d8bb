"""The training done on the page since its start, so that it can be listed and undone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from suffice.spam.page.index import Entry, Label
    from suffice.spam.shares import MessageState

#: number of newest actions that can be undone
KEPT = 100


class Change(NamedTuple):
    """A trained message: its earlier verdict, what the store held of it before, and the new class."""

    entry: Entry
    verdict: str
    before: MessageState
    after: Label | None

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

    def get(self, number: int) -> Action | None:
        """Return an action, to undo it; None if it is no longer there."""
        return next((action for action in self._actions if action.number == number), None)

    def before(self, now: MessageState) -> MessageState | None:
        """Return what a message was before it was first trained here; None if it was not, or was changed elsewhere."""
        changes = (change for action in self._actions for change in action.changes)
        found = [change for change in changes if change.before.digest == now.digest]
        is_ours = bool(found) and found[-1].after == now.label and found[0].before != now
        return found[0].before if is_ours else None

    def remove(self, action: Action) -> None:
        """Remove an action that is undone."""
        with suppress(ValueError):  # undone by two requests at once
            self._actions.remove(action)

    def remove_message(self, digest: bytes) -> None:
        """Remove the changes of one message, which are undone."""
        for action in list(self._actions):
            changes = [change for change in action.changes if change.before.digest != digest]
            self._actions.remove(action)
            if changes:
                self._actions.append(replace(action, changes=changes))

    def clear(self) -> None:
        """Remove all actions."""
        self._actions.clear()

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
