"""What a reader sees of a message: its sender, when it arrived, and its texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from suffice.spam.html import read_html
from suffice.spam.message import Message
from suffice.spam.plain import one_line

_MAILBOX = re.compile(r"\s*+\"?+([^\"<>]*+)\"?+\s*+<([^<>]*+)>")


def sender(value: str) -> tuple[str, str]:
    """Return the name and the address of a From header; the address is used as a missing name.

    Examples
    --------
    >>> from suffice.spam.visible import sender
    >>> sender('"Ann Lee" <ann@example.org>'), sender("bob@example.net")
    (('Ann Lee', 'ann@example.org'), ('bob@example.net', ''))
    """
    value = value[:1000]
    match = _MAILBOX.match(value)
    name, address = (match[1], match[2]) if match else (value, "")
    name, address = one_line(name, 120), one_line(address, 120)
    return (name, address) if name else (address or "(no sender)", "")


def arrival(message: Message) -> datetime | None:
    """Return the arrival time of a message by its last server, else by its Date header; None if neither has one."""
    received = message.header("received").rpartition(";")[2]
    for value in (received, message.header("date")):
        try:
            moment = parsedate_to_datetime(value[:100].strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone()
        except (ValueError, TypeError, IndexError, OverflowError, OSError):
            continue
    return None


def visible_texts(message: Message, limit: int) -> list[str]:
    """Return the visible texts of a message, its own before attached ones, of `limit` characters; no attached files."""
    texts: list[str] = []
    left = limit
    for part in sorted(message.parts, key=lambda part: part.is_attached):
        if left > 0 and part.text and not part.file_name and part.disposition != "attachment":
            text = read_html(part.text).visible if part.content_type == "text/html" else part.text
            texts.append(text[:left])
            left -= len(texts[-1])
    return texts
