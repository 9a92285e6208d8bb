"""The application: addresses, what is asked at each, and the templates that answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from suffice.spam.connected import StoreError
from suffice.spam.filter import NotTrainedError, SpamFilter
from suffice.spam.isolation import UnreadableError
from suffice.spam.page.charts import evidence_of
from suffice.spam.page.desk import Desk
from suffice.spam.page.guard import Guard, Keys
from suffice.spam.page.index import FILTERS, ORDERS, PAGE_SIZE, Entry, Label, Query
from suffice.spam.page.laboratory import Laboratory
from suffice.spam.page.text import Letter, file_size
from suffice.spam.page.tuning import TuningViews
from suffice.spam.plain import one_line
from suffice.spam.verdict import Thresholds

_ORDER_NAMES = {"newest": "Newest first", "oldest": "Oldest first", "spam": "Spam first", "ham": "Ham first"}
_LABELS: dict[str, Label | None] = {"spam": "spam", "ham": "ham", "undo": None}


class Page:
    """The views of messages, and what all views share."""

    def __init__(self, desk: Desk, keys: Keys) -> None:
        self.desk, self.keys = desk, keys
        self.templates = Environment(
            loader=PackageLoader("suffice.spam.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True,
        )  # fmt: skip
        for made in (percent, signed, file_size, day, moment):
            self.templates.filters[made.__name__] = made
        self.templates.globals |= {
            "desk": desk, "base": keys.path, "token": keys.token, "filters": FILTERS, "orders": ORDERS,
            "order_names": _ORDER_NAMES,
        }  # fmt: skip

    def render(
        self, template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> Response:
        """Return a page, or a part of one."""
        return HTMLResponse(self.templates.get_template(template).render(values), status, headers)

    async def messages(self, request: Request) -> Response:
        """Answer with the list, or with its part that a search, a filter or a page changes."""
        return await self._list(Query.of(dict(request.query_params)), is_part(request))

    async def read_again(self, request: Request) -> Response:
        """Begin to read the mailboxes again, and answer with the list as it is, which tells how far it is."""
        self.desk.read_again()
        query = Query.of(request.scope["form"])
        if not is_part(request):
            return RedirectResponse(f"{self.keys.path}/{query.url()}", 303)
        return await self._list(query, as_part=True)

    async def _list(self, query: Query, as_part: bool) -> Response:
        index = self.desk.index
        found = index.select(query)
        pages = max(1, -(-len(found) // PAGE_SIZE))
        first = (min(query.page, pages) - 1) * PAGE_SIZE
        shown = found[first : first + PAGE_SIZE]
        await self.desk.refresh(shown)
        values: dict[str, Any] = {
            "query": query, "entries": shown, "first": first + 1, "found": len(found), "pages": pages,
            "counts": index.counts(), "page_number": min(query.page, pages), "unread": index.unread(),
        }  # fmt: skip
        return self.render("_list.html" if as_part else "list.html", **values)

    async def progress(self, request: Request) -> Response:
        """Answer how far the reading of mailboxes is, and tell the list when there is more to show."""
        given = request.query_params.get("shown", "")
        shown = int(given) if given.isascii() and given.isdigit() and len(given) < 9 else 0
        grows = self.desk.complete or shown < min(PAGE_SIZE, len(self.desk.index.entries))
        return self.render("_progress.html", headers={"hx-trigger": "more"} if grows else None, shown=shown)

    async def message(self, request: Request) -> Response:
        """Answer with a message and what the filter says of it."""
        entry = self._entry(request)
        query = Query.of(dict(request.query_params))
        raw, verdict = await self.desk.verdict(entry)
        letter = await asyncio.to_thread(Letter.shown, raw)
        before, after = self.desk.index.neighbours(entry, query)
        return self.render(
            "message.html", entry=entry, query=query, verdict=verdict, evidence=evidence_of(verdict), letter=letter,
            before=before, after=after, was=None, thresholds=await self.desk.ask(_thresholds),
        )  # fmt: skip

    async def train(self, request: Request) -> Response:
        """Learn a message, and answer with its new row or verdict."""
        entry = self._entry(request)
        form: dict[str, str] = request.scope["form"]
        if form.get("label") not in _LABELS:
            raise HTTPException(400, "The label must be spam, ham or undo.")
        query = Query.of(form)
        was = entry.probability
        await self.desk.train(entry, _LABELS[form["label"]])
        in_list = form.get("view") == "list"
        if not is_part(request):
            place = f"{self.keys.path}/" if in_list else f"{self.keys.path}/message/{entry.number}"
            return RedirectResponse(place + query.url(), 303)
        _, verdict = await self.desk.verdict(entry)
        return self.render(
            "_trained.html", entry=entry, query=query, verdict=verdict, evidence=evidence_of(verdict), was=was,
            thresholds=await self.desk.ask(_thresholds), in_list=in_list,
        )  # fmt: skip

    async def problem(self, request: Request, error: Exception) -> Response:
        """Answer with one clear sentence."""
        if isinstance(error, HTTPException):
            status, text = error.status_code, error.detail
        elif isinstance(error, NotTrainedError):
            status, text = 409, "This message was never trained, so there is nothing to undo."
        elif isinstance(error, UnreadableError):
            status, text = 422, f"Nothing was learned: {error}."
        else:
            status, text = 503, str(error)
        if is_part(request):
            return self.render("_notice.html", status, {"hx-retarget": "#notice", "hx-reswap": "innerHTML"}, text=text)
        return self.render("problem.html", status, text=text)

    def _entry(self, request: Request) -> Entry:
        given: str = request.path_params["number"]
        number = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else -1
        if not 0 <= number < len(self.desk.index.entries):
            raise HTTPException(404, f"There is no message {one_line(given, 20)} in the mailboxes that were opened.")
        return self.desk.index.entries[number]


def is_part(request: Request) -> bool:
    """Return whether htmx asks, for a part of a page."""
    return request.headers.get("hx-request") == "true"


def application(desk: Desk, keys: Keys, port: int) -> ASGIApp:
    """Return the application behind its guard."""
    laboratory = Laboratory(desk.store)
    page = Page(desk, keys)
    tuning = TuningViews(page.render, desk, laboratory)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await desk.open()
        try:
            yield
        finally:
            await laboratory.close()
            await desk.close()

    routes = [
        Route("/", page.messages),
        Route("/progress", page.progress),
        Route("/read", page.read_again, methods=["POST"]),
        Route("/message/{number}", page.message),
        Route("/message/{number}/train", page.train, methods=["POST"]),
        Route("/tuning", tuning.page),
        Route("/tuning/live", tuning.live),
        Route("/tuning/save", tuning.save, methods=["POST"]),
        Route("/tuning/tune", tuning.tune, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("suffice.spam.page", "static")])),
    ]
    handlers: dict[Any, Any] = dict.fromkeys(
        (HTTPException, NotTrainedError, UnreadableError, StoreError, OSError), page.problem
    )
    app = Starlette(routes=[Mount(keys.path, routes=routes)], lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, keys, port)


def percent(share: float, digits: int = 1) -> str:
    """Return a probability in per cent, never rounded to certainty.

    Examples
    --------
    >>> from suffice.spam.page.app import percent
    >>> percent(0.9731), percent(0.99996), percent(0.00001), percent(0.5, 0)
    ('97.3 %', '> 99.9 %', '< 0.1 %', '50 %')
    """
    edge = 10.0**-digits
    value = 100.0 * share
    if 0.0 <= value < edge:
        return f"< {edge:g} %"
    return f"> {100 - edge:g} %" if value > 100 - edge else f"{value:.{digits}f} %"


def signed(value: float) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> from suffice.spam.page.app import signed
    >>> signed(1.5), signed(-0.25), signed(-0.001)
    ('+1.50', '−0.25', '0.00')
    """
    return f"{value:+.2f}".replace("-", "−") if abs(value) >= 0.005 else "0.00"


def day(when: datetime) -> str:
    """Return a date."""
    return f"{when.day} {when:%b %Y}"


def moment(when: datetime) -> str:
    """Return a date and a time."""
    return f"{when:%A}, {when.day} {when:%B %Y, %H:%M}"


def _thresholds(spam_filter: SpamFilter) -> Thresholds:
    return spam_filter.thresholds
