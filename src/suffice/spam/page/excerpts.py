"""What a list shows of a message and what a search looks through, read in one go."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from suffice.spam.html import read_html
from suffice.spam.message import Message, read
from suffice.spam.page.text import arrival, sender
from suffice.spam.plain import one_line

#: how many characters of the text a row shows, and how many a search looks through
SNIPPET, SEARCHED = 160, 20_000


class Excerpt(NamedTuple):
    """Sender, subject, arrival and first words of a message, and its text in small letters for searching."""

    sender: str
    address: str
    subject: str
    arrival: datetime | None
    snippet: str
    searched: str


UNREADABLE = Excerpt("(cannot be read)", "", "(cannot be read)", None, "", "")


def excerpt_of(raw: bytes) -> Excerpt:
    r"""Return what is listed and searched of a message: what a person would see of it.

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
    """Return the texts of a message as a person sees them, its own before those attached; files are left out."""
    texts: list[str] = []
    left = SEARCHED
    for part in sorted(message.parts, key=lambda part: part.is_attached):
        if left > 0 and part.text and not part.file_name and part.disposition != "attachment":
            text = read_html(part.text).visible if part.content_type == "text/html" else part.text
            texts.append(text[:left])
            left -= len(texts[-1])
    return texts


def _first_words(text: str) -> str:
    """Return the beginning of a text, without what it quotes, unless it holds nothing else."""
    lines = text[: 20 * SNIPPET].splitlines()
    own = [line for line in lines if not line.lstrip().startswith(">")]
    return one_line(" ".join(own), SNIPPET) or one_line(" ".join(lines), SNIPPET)
