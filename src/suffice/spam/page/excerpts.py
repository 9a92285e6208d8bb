"""The excerpt of a message for the list and the text for searches, read together."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from suffice.spam.message import read
from suffice.spam.plain import one_line
from suffice.spam.visible import arrival, sender, visible_texts

#: limits of characters of the text shown per row, and searched
SNIPPET, SEARCHED = 160, 20_000


class Excerpt(NamedTuple):
    """Sender, subject, arrival and first words of a message, and its text in lower case for searching."""

    sender: str
    address: str
    subject: str
    arrival: datetime | None
    snippet: str
    searched: str


UNREADABLE = Excerpt("(cannot be read)", "", "(cannot be read)", None, "", "")


def excerpt_of(raw: bytes) -> Excerpt:
    r"""Return the listed and searched text of a message, that is, its visible text.

    Examples
    --------
    >>> from suffice.spam.page.excerpts import excerpt_of
    >>> found = excerpt_of(b"From: Ann <ann@example.org>\nSubject: Lunch\n\n> At noon?\nYes, AT NOON\n")
    >>> found.snippet, found.searched
    ('Yes, AT NOON', 'ann ann@example.org lunch > at noon? yes, at noon')
    """
    message = read(raw)
    name, address = sender(message.header("from"))
    subject = one_line(message.header("subject")) or "(no subject)"
    texts = visible_texts(message, SEARCHED)
    snippet = next(filter(None, (_first_words(text) for text in texts)), "")
    files = [one_line(part.file_name) for part in message.parts if part.file_name]
    parts = (name, address, subject, *texts, *files)
    searched = " ".join(" ".join(part.split()) for part in parts).casefold()
    return Excerpt(name, address, subject, arrival(message), snippet, searched[:SEARCHED])


def _first_words(text: str) -> str:
    """Return the beginning of a text without quoted lines, unless there are no others."""
    lines = text[: 20 * SNIPPET].splitlines()
    own = [line for line in lines if not line.lstrip().startswith(">")]
    return one_line(" ".join(own), SNIPPET) or one_line(" ".join(lines), SNIPPET)
