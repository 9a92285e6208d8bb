"""The numbered messages of mailboxes: the data that a list needs, and the bytes in an unnamed temporary file."""

from __future__ import annotations

import hashlib
import tempfile
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from suffice.spam.isolation import Unread, isolated
from suffice.spam.page.excerpts import UNREADABLE, Excerpt, excerpt_of
from suffice.spam.page.query import FILTERS, ORDERS, Query
from suffice.spam.page.texts import Texts
from suffice.spam.page.words import NO_REASON, Reason, is_against, reason_of
from suffice.spam.verdict import Verdict

PAGE_SIZE = 50

#: the classes that a message can be trained as
Label = Literal["spam", "ham"]
#: the state of the store when a score was computed
Stamp = tuple[int, ...]


@dataclass(slots=True)
class Entry:
    """A message in the list; its score was computed when the store had the state `stamp`.

    A message that its mailbox no longer holds is kept for open pages, but no longer listed.
    """

    number: int
    start: int
    size: int
    sender: str
    address: str
    subject: str
    arrival: datetime | None
    snippet: str
    folder: str
    digest: bytes
    is_gone: bool = False
    probability: float = 0.5
    label: Literal["spam", "ham", "unsure", "error"] = "unsure"
    trained: Label | None = None
    reason: Reason = NO_REASON
    #: the bucket that it was trained to, else the one with a high probability
    bucket: str = ""
    stamp: Stamp = ()

    @property
    def is_odd(self) -> bool:
        """Whether the verdict disagrees with the folder."""
        return is_against(self.folder, self.label)

    def take(self, verdict: Verdict, trained: Label | None, stamp: Stamp, bucket: str = "") -> None:
        """Store a verdict, and the bucket that the message was trained to."""
        self.probability, self.label = verdict.probability, verdict.label
        self.bucket = bucket or verdict.bucket
        self.trained, self.reason, self.stamp = trained, reason_of(verdict), stamp

    def is_shown(self, show: str) -> bool:
        """Return whether it passes a filter of the list."""
        return self.is_odd if show == "odd" else show in ("all", self.label)


class Found(NamedTuple):
    """The messages of a query, in its order, and how many of the search results each filter would show."""

    entries: list[Entry]
    counts: dict[str, int]


class Index:
    """The messages by number, in the order they were read; numbers never change.

    Parameters
    ----------
    read : callable
        Returns the listed and searched text of a message.
    """

    def __init__(self, read: Callable[[bytes], Excerpt] = excerpt_of) -> None:
        self.entries: list[Entry] = []
        self._read = read
        self._texts = Texts()
        #: the last search: its words, the number of messages searched, and those that match
        self._last: tuple[tuple[str, ...], int, set[int]] = ((), 0, set())
        # A copy, so that messages do not change when others change the mailbox. The file is unnamed, private to its
        # owner, and deleted when the process ends.
        self._bytes = tempfile.TemporaryFile(prefix="suffice-")  # noqa: SIM115

    def add(self, raw: bytes, folder: str) -> Entry:
        """Add a message."""
        found = isolated(self._read, raw)
        excerpt = UNREADABLE if isinstance(found, Unread) else found
        start = self._bytes.seek(0, 2)
        self._bytes.write(raw)
        sender, address, subject, arrival, snippet, searched = excerpt
        entry = Entry(
            len(self.entries), start, len(raw), sender, address, subject, arrival, snippet, folder, _digest_of(raw)
        )
        self._texts.add(searched)
        self.entries.append(entry)
        return entry

    def raw(self, entry: Entry) -> bytes:
        """Return the bytes of a message."""
        self._bytes.seek(entry.start)
        return self._bytes.read(entry.size)

    def search(self, query: Query) -> Found:
        """Return all messages of a query."""
        entries = self.entries[:]
        if query.words:
            holding = self._holding(query.words, len(entries))
            entries = [entry for entry in entries if entry.number in holding]
        entries = [
            entry
            for entry in entries
            if not entry.is_gone and query.folder in ("", entry.folder) and query.bucket in ("", entry.bucket)
        ]
        counts = {name: sum(entry.is_shown(name) for entry in entries) for name in FILTERS}
        shown = [entry for entry in entries if entry.is_shown(query.show)]
        return Found(sorted(shown, key=lambda entry: _place(entry, query)), counts)

    def place(self, entry: Entry, query: Query) -> tuple[int, int | None, int | None]:
        """Return the position of a message in the order of a query, even if not in it, and its neighbours' numbers."""
        found = self.search(query).entries
        places = [_place(other, query) for other in found]
        before, after = bisect_left(places, _place(entry, query)), bisect_right(places, _place(entry, query))
        previous = found[before - 1].number if before else None
        return before, previous, found[after].number if after < len(found) else None

    def folders(self) -> list[str]:
        """Return the names of the folders, in order."""
        return sorted({entry.folder for entry in self.entries if not entry.is_gone}, key=str.casefold)

    def buckets(self) -> list[str]:
        """Return the names of the buckets that messages are in, in order."""
        return sorted({entry.bucket for entry in self.entries if entry.bucket}, key=str.casefold)

    def unread(self) -> list[Entry]:
        """Return the messages that could not be judged."""
        return [entry for entry in self.entries if entry.label == "error" and not entry.is_gone]

    def close(self) -> None:
        """Close the files with bytes and texts."""
        self._bytes.close()
        self._texts.close()

    def _holding(self, words: tuple[str, ...], count: int) -> set[int]:
        """Return the numbers of messages that hold all words, cached, since browsing repeats the same search."""
        last, known, found = self._last
        if (last, known) != (words, count):
            found = self._texts.holding(words)
            self._last = words, count, found
        return found


class Mailbox:
    """A mailbox as last read, so that reading it again finds new and removed messages.

    Parameters
    ----------
    index : Index
        The index of its messages.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._entries: list[Entry] = []
        self._unmet: dict[bytes, list[Entry]] = {}

    def begin(self) -> None:
        """Start reading at the first message."""
        unmet: dict[bytes, list[Entry]] = defaultdict(list)
        for entry in reversed(self._entries):  # reversed, so that of equal messages the first is matched first
            unmet[entry.digest].append(entry)
        self._unmet = dict(unmet)

    def take(self, raw: bytes, folder: str) -> Entry:
        """Return the entry of a message in a folder, a new one unless the message is known."""
        if alike := self._unmet.get(_digest_of(raw)):
            entry = alike.pop()
            entry.is_gone, entry.folder = False, folder
        else:
            entry = self._index.add(raw, folder)
            self._entries.append(entry)
        return entry

    def finish(self) -> None:
        """Finish reading; messages that were not found again are removed from the list."""
        for alike in self._unmet.values():
            for entry in alike:
                entry.is_gone = True


def _digest_of(raw: bytes) -> bytes:
    """Return a digest that differs for messages that differ in any byte."""
    return hashlib.blake2b(raw, digest_size=16).digest()


def _place(entry: Entry, query: Query) -> tuple[float, int]:
    """Return the sort key of a message."""
    column, descending = ORDERS[query.order]
    arrived = entry.arrival.timestamp() if entry.arrival else 0.0
    value = entry.probability if column == "probability" else arrived
    return (-value, -entry.number) if descending else (value, entry.number)
