"""The messages of mailboxes, numbered: what a list needs of each, and its bytes in a file that has no name."""

from __future__ import annotations

import hashlib
import re
import tempfile
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast
from urllib.parse import urlencode

from suffice.spam.isolation import Unread, isolated
from suffice.spam.message import HEADER_LIMIT, read
from suffice.spam.page.text import arrival, sender
from suffice.spam.plain import one_line
from suffice.spam.verdict import Verdict

PAGE_SIZE = 50
#: by name: what is sorted by, and whether the largest come first
ORDERS = {
    "newest": ("arrival", True),
    "oldest": ("arrival", False),
    "spam": ("probability", True),
    "ham": ("probability", False),
}
FILTERS = ("all", "spam", "unsure", "ham")
QUERY_LIMIT = 200
_UNREADABLE = "(cannot be read)", "", "(cannot be read)", None
_BODY = re.compile(rb"\n\r?\n|\r\r")

#: what a message can be trained as
Label = Literal["spam", "ham"]
#: what the store was when a score was made
Stamp = tuple[int, ...]


@dataclass(slots=True)
class Entry:
    """A message in the list; its score is as of the store's `stamp`.

    One that its mailbox does not hold any more is kept for who is looking at it, and listed no more.
    """

    number: int
    start: int
    size: int
    sender: str
    address: str
    subject: str
    arrival: datetime | None
    mailbox: str
    digest: bytes
    is_gone: bool = False
    probability: float = 0.5
    label: Literal["spam", "ham", "unsure", "error"] = "unsure"
    trained: Label | None = None
    stamp: Stamp = ()

    def take(self, verdict: Verdict, trained: Label | None, stamp: Stamp) -> None:
        """Note a score."""
        self.probability, self.label = verdict.probability, verdict.label
        self.trained, self.stamp = trained, stamp


@dataclass(frozen=True)
class Query:
    """Which messages a list shows, and in what order; anything else than what there is becomes the default."""

    show: str = "all"
    order: str = "newest"
    text: str = ""
    page: int = 1

    @classmethod
    def of(cls, given: dict[str, str]) -> Query:
        """Return the query that a request asks for."""
        show, order, page = given.get("show", ""), given.get("order", ""), given.get("page", "")
        return cls(
            show if show in FILTERS else "all",
            order if order in ORDERS else "newest",
            one_line(given.get("text", ""), QUERY_LIMIT),
            max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 9 else 1,
        )

    def url(self, **changes: str | int) -> str:
        """Return the query as it stands in an address, with changes; a change leads to the first page."""
        values: dict[str, str | int] = {"show": self.show, "order": self.order, "text": self.text}
        values |= changes or {"page": self.page}
        defaults: dict[str, str | int] = {"show": "all", "order": "newest", "text": "", "page": 1}
        kept = {key: value for key, value in values.items() if value != defaults[key]}
        return "?" + urlencode(kept) if kept else "?"


class Index:
    """Messages by number, in the order they were read; numbers never change."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        # A copy, so that a message stays what it is while its mailbox is changed by others. The file has no name, is
        # its owner's alone, and goes with the process.
        self._bytes = tempfile.TemporaryFile(prefix="suffice-")  # noqa: SIM115

    def add(self, raw: bytes, mailbox: str) -> Entry:
        """Take a message in."""
        found = isolated(_envelope, raw)
        envelope = _UNREADABLE if isinstance(found, Unread) else found
        start = self._bytes.seek(0, 2)
        self._bytes.write(raw)
        entry = Entry(len(self.entries), start, len(raw), *envelope, mailbox, digest_of(raw))
        self.entries.append(entry)
        return entry

    def raw(self, entry: Entry) -> bytes:
        """Return the bytes of a message."""
        self._bytes.seek(entry.start)
        return self._bytes.read(entry.size)

    def select(self, query: Query) -> list[Entry]:
        """Return all messages that a query asks for, in its order."""
        words = query.text.casefold().split()
        found = [
            entry
            for entry in self.entries
            if not entry.is_gone and query.show in ("all", entry.label) and (not words or _holds(entry, words))
        ]
        return sorted(found, key=lambda entry: _place(entry, query))

    def neighbours(self, entry: Entry, query: Query) -> tuple[int | None, int | None]:
        """Return the numbers of the messages before and after one, which need not be in the selection itself."""
        found = self.select(query)
        places = [_place(other, query) for other in found]
        before, after = bisect_left(places, _place(entry, query)), bisect_right(places, _place(entry, query))
        return (found[before - 1].number if before else None, found[after].number if after < len(found) else None)

    def counts(self) -> dict[str, int]:
        """Return how many messages each filter shows."""
        labels = Counter(entry.label for entry in self.entries if not entry.is_gone)
        return {name: labels.total() if name == "all" else labels[cast("Label", name)] for name in FILTERS}

    def unread(self) -> list[Entry]:
        """Return the messages that could not be judged."""
        return [entry for entry in self.entries if entry.label == "error" and not entry.is_gone]

    def close(self) -> None:
        """Give the bytes up."""
        self._bytes.close()


class Mailbox:
    """A mailbox as it was when it was last read, so that reading it again finds what is new and what is gone.

    Parameters
    ----------
    index : Index
        Where its messages are.
    name : str
        That is shown.
    """

    def __init__(self, index: Index, name: str) -> None:
        self._index, self._name = index, name
        self._entries: list[Entry] = []
        self._unmet: dict[bytes, list[Entry]] = {}

    def begin(self) -> None:
        """Begin to read from its first message on."""
        unmet: dict[bytes, list[Entry]] = defaultdict(list)
        for entry in reversed(self._entries):  # of equal ones the first is met first
            unmet[entry.digest].append(entry)
        self._unmet = dict(unmet)

    def take(self, raw: bytes) -> Entry:
        """Return the entry of a message, which is a new one unless the message is known."""
        if alike := self._unmet.get(digest_of(raw)):
            entry = alike.pop()
            entry.is_gone = False
        else:
            entry = self._index.add(raw, self._name)
            self._entries.append(entry)
        return entry

    def finish(self) -> None:
        """Note that there was no other message."""
        for alike in self._unmet.values():
            for entry in alike:
                entry.is_gone = True


def _envelope(raw: bytes) -> tuple[str, str, str, datetime | None]:
    """Return name and address of the sender, subject and arrival of a message."""
    end = _BODY.search(raw, 0, HEADER_LIMIT)
    headers = read(raw[: end.end() if end else HEADER_LIMIT])
    subject = one_line(headers.header("subject")) or "(no subject)"
    return *sender(headers.header("from")), subject, arrival(headers)


def digest_of(raw: bytes) -> bytes:
    """Return what tells messages apart that differ in any byte."""
    return hashlib.blake2b(raw, digest_size=16).digest()


def _holds(entry: Entry, words: list[str]) -> bool:
    text = f"{entry.sender} {entry.address} {entry.subject}".casefold()
    return all(word in text for word in words)


def _place(entry: Entry, query: Query) -> tuple[float, int]:
    """Return what a message is sorted by."""
    column, descending = ORDERS[query.order]
    arrived = entry.arrival.timestamp() if entry.arrival else 0.0
    value = entry.probability if column == "probability" else arrived
    return (-value, -entry.number) if descending else (value, entry.number)
