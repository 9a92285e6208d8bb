"""The overview: incoming mail, corrections, disagreements of folder and verdict, and running services."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from suffice.spam.filter import SpamFilter
from suffice.spam.page.daily import SPAN, daily_of
from suffice.spam.page.desk import Desk
from suffice.spam.page.query import Query
from suffice.spam.page.text import file_size
from suffice.spam.plain import one_line
from suffice.spam.pulse import Sign, signs
from suffice.spam.verdict import Size

#: number of corrections and of disagreements that are listed
LISTED = 6
#: number of messages per class below which verdicts are unreliable
FEW = 20
_SERVICES = {"watch": "IMAP watch", "milter": "Milter", "daemon": "Daemon"}
_COUNTS = {"ham": "good", "learned_ham": "learned as good", "learned_spam": "learned as spam", "error": "not judged"}


@dataclass(frozen=True)
class Health:
    """The status of a part of the filter: its name, a word of state, details, and a mark."""

    name: str
    state: str
    details: tuple[str, ...]
    mark: Literal["good", "bad", "off"] = "good"


class OverviewView:
    """The view of /overview."""

    def __init__(self, render: Callable[..., Response], desk: Desk) -> None:
        self._render, self._desk = render, desk

    async def page(self, request: Request) -> Response:
        """Answer with the page."""
        desk = self._desk
        size, learned = await desk.ask(_learned)
        odd, counts = await asyncio.to_thread(desk.index.search, Query(show="odd"))
        entries = [entry for entry in desk.index.entries if not entry.is_gone]
        judged = counts["all"] - len(desk.index.unread())
        corrections = list(desk.corrections.newest())
        found = await asyncio.to_thread(signs, desk.store)
        return self._render(
            "overview.html", daily=daily_of(entries, date.today()), counts=counts, odd=odd[:LISTED], span=SPAN,
            share=counts["spam"] / judged if judged else None, corrections=corrections[:LISTED],
            corrected=len(corrections), query=Query(),
            health=[_store_health(desk, size, learned), _mailbox_health(desk), *_service_health(found)],
        )  # fmt: skip


def _learned(spam_filter: SpamFilter) -> tuple[Size, tuple[date, date] | None]:
    return spam_filter.stats(), spam_filter.days()


def _store_health(desk: Desk, size: Size, learned: tuple[date, date] | None) -> Health:
    path = desk.store
    sizes = (os.stat(name).st_size for name in (path, f"{path}-wal") if os.path.exists(name))
    details = [
        f"{size.spam:,} spam and {size.ham:,} good messages learned, {size.tokens:,} tokens, {file_size(sum(sizes))}",
        one_line(str(path), 300),
    ]
    if learned is not None:
        details.insert(1, f"last learned on {learned[1].day} {learned[1]:%b %Y}")
    if not os.access(path, os.W_OK):
        return Health("Store", "cannot be written, so nothing can be trained", tuple(details), "bad")
    if min(size.spam, size.ham) < FEW:
        return Health(
            "Store",
            f"needs more messages: verdicts are unreliable with fewer than {FEW} of each class",
            tuple(details),
            "bad",
        )
    if desk.replaced is not None:
        return Health("Store", f"was replaced by another file at {desk.replaced:%H:%M}", tuple(details), "bad")
    return Health("Store", "in order", tuple(details))


def _mailbox_health(desk: Desk) -> Health:
    read = f"read at {desk.finished:%H:%M}" if desk.finished else "being read"
    unread = len(desk.index.unread())
    details = [f"{len(desk.mailboxes):,} opened, {len(desk.index.folders()):,} folders, {read}"]
    problems = [*desk.problems[:3], *([f"{unread:,} messages could not be read"] if unread else [])]
    if not desk.mailboxes:
        return Health("Mailboxes", "none was opened", (), "off")
    return Health("Mailboxes", problems[0] if problems else "in order", tuple(details + problems[1:]),
                  "bad" if problems else "good")  # fmt: skip


def _service_health(found: list[Sign]) -> list[Health]:
    """Return the status of the services with a heartbeat, and the kinds of services without one."""
    shown = [_service(sign) for sign in islice(found, 10)]
    missing = [name for kind, name in _SERVICES.items() if kind not in {sign.kind for sign in found}]
    return shown + [Health(name, "none has used this store yet", (), "off") for name in missing]


def _service(sign: Sign) -> Health:
    seen = datetime.fromtimestamp(sign.seen)
    when = f"{seen:%H:%M}" if seen.date() == date.today() else f"{seen.day} {seen:%b %Y, %H:%M}"
    counts = ", ".join(f"{count:,} {_COUNTS.get(name, name)}" for name, count in sign.counts.items() if count)
    since = datetime.fromtimestamp(sign.since)
    details: tuple[str, ...] = (sign.name, f"{counts or 'nothing'} since {since.day} {since:%b, %H:%M}")
    state = {"running": f"running, last seen at {when}", "ended": f"ended at {when}", "silent": f"silent since {when}"}
    mark: Literal["good", "bad", "off"] = "off" if sign.state == "ended" else "good"
    if sign.state == "silent" or (sign.problem and sign.state == "running"):
        mark = "bad"
        details = (*details, sign.problem) if sign.problem else details
    return Health(_SERVICES.get(sign.kind, sign.kind), state[sign.state], details, mark)
