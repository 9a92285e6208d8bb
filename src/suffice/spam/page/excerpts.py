"""The excerpt of a message for the list and the text for searches, read together."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from suffice.spam.html import read_html
from suffice.spam.message import Message, read
from suffice.spam.page.text import arrival, sender
from suffice.spam.plain import one_line

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
    texts = list(_seen(message))
    snippet = next(filter(None, (_first_words(text) for text in texts)), "")
    files = [one_line(part.file_name) for part in message.parts if part.file_name]
    parts = (name, address, subject, *texts, *files)
    searched = " ".join(" ".join(part.split()) for part in parts).casefold()
    return Excerpt(name, address, subject, arrival(message), snippet, searched[:SEARCHED])


def _seen(message: Message) -> list[str]:
    """Return the visible texts of a message, its own before attached ones; attached files are left out."""
    texts: list[str] = []
    left = SEARCHED
    for part in sorted(message.parts, key=lambda part: part.is_attached):
        if left > 0 and part.text and not part.file_name and part.disposition != "attachment":
            text = read_html(part.text).visible if part.content_type == "text/html" else part.text
            texts.append(text[:left])
            left -= len(texts[-1])
    return texts


def _first_words(text: str) -> str:
    """Return the beginning of a text without quoted lines, unless there are no others."""
    lines = text[: 20 * SNIPPET].splitlines()
    own = [line for line in lines if not line.lstrip().startswith(">")]
    return one_line(" ".join(own), SNIPPET) or one_line(" ".join(lines), SNIPPET)
