"""The web application: routes, views and templates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
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
from suffice.spam.filter import NotTrainedError
from suffice.spam.isolation import UnreadableError
from suffice.spam.page.charts import evidence_of
from suffice.spam.page.desk import Desk
from suffice.spam.page.formats import day, moment, percent, signed
from suffice.spam.page.guard import Guard, Keys
from suffice.spam.page.index import PAGE_SIZE, Entry
from suffice.spam.page.laboratory import Laboratory
from suffice.spam.page.overview import OverviewView
from suffice.spam.page.query import Query, whole_number
from suffice.spam.page.text import file_size
from suffice.spam.page.training import TrainingViews, is_part
from suffice.spam.page.tuning import TuningViews
from suffice.spam.page.words import FILTER_NAMES, LABEL_NAMES, ORDER_NAMES
from suffice.spam.plain import one_line
from suffice.spam.verdict import Verdict


class Page:
    """The views of messages, and the parts shared by all views."""

    def __init__(self, desk: Desk, keys: Keys) -> None:
        self.desk, self.keys = desk, keys
        self.templates = Environment(
            loader=PackageLoader("suffice.spam.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True,
        )  # fmt: skip
        for made in (percent, signed, file_size, day, moment):
            self.templates.filters[made.__name__] = made
        self.templates.globals |= {
            "desk": desk, "base": keys.path, "token": keys.token, "labels": LABEL_NAMES,
            "filter_names": FILTER_NAMES, "order_names": ORDER_NAMES,
        }  # fmt: skip

    def render(
        self, template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> Response:
        """Return a rendered page, or a part of one."""
        return HTMLResponse(self.templates.get_template(template).render(values), status, headers)

    async def messages(self, request: Request) -> Response:
        """Answer with the list, or the part that a search, filter or page number changes; at a message, if given."""
        at = whole_number(request.query_params.get("at", ""), -1)
        return await self.list(Query.of(dict(request.query_params)), is_part(request), at)

    async def read_again(self, request: Request) -> Response:
        """Start reading the mailboxes again, and answer with the current list, which shows the progress."""
        self.desk.read_again()
        query = Query.of(request.scope["form"])
        if not is_part(request):
            return RedirectResponse(f"{self.keys.path}/{query.url()}", 303)
        return await self.list(query, as_part=True)

    async def list(self, query: Query, as_part: bool, at: int = -1, **more: Any) -> Response:
        """Answer with the list; if a message is given, with the page of the list that holds it."""
        index = self.desk.index
        found, counts = await asyncio.to_thread(index.search, query)
        pages = max(1, -(-len(found) // PAGE_SIZE))
        here = None
        if found and 0 <= at < len(index.entries):
            place, _, _ = await asyncio.to_thread(index.place, index.entries[at], query)
            here = found[min(place, len(found) - 1)]
            query = replace(query, page=min(place, len(found) - 1) // PAGE_SIZE + 1)
        query = replace(query, page=min(query.page, pages))
        first = (query.page - 1) * PAGE_SIZE
        shown = found[first : first + PAGE_SIZE]
        await self.desk.refresh(shown)
        values: dict[str, Any] = {
            "query": query, "entries": shown, "first": first + 1, "found": len(found), "pages": pages, "here": here,
            "counts": counts, "unread": index.unread(), "folders": index.folders(), "buckets": index.buckets(),
            "notice": "", "action": None,
        }  # fmt: skip
        return self.render("_list.html" if as_part else "list.html", **values | more)

    async def progress(self, request: Request) -> Response:
        """Answer with the progress of reading the mailboxes, and notify the list when there is more to show."""
        shown = whole_number(request.query_params.get("shown", ""), 0)
        grows = self.desk.complete or shown < min(PAGE_SIZE, len(self.desk.index.entries))
        return self.render("_progress.html", headers={"hx-trigger": "more"} if grows else None, shown=shown)

    async def message(self, request: Request) -> Response:
        """Answer with a message and its verdict."""
        entry = self.entry(request.path_params["number"])
        query = Query.of(dict(request.query_params))
        verdict = await self.desk.verdict(entry)
        contents = await self.desk.contents(entry)
        _, before, after = await asyncio.to_thread(self.desk.index.place, entry, query)
        return await self.judged(
            "message.html", entry, verdict, query=query, contents=contents, before=before, after=after
        )

    async def judged(self, template: str, entry: Entry, verdict: Verdict, **values: Any) -> Response:
        """Answer with a message and the evidence of its verdict."""
        thresholds, buckets = await self.desk.ask(
            lambda spam_filter: (spam_filter.thresholds, tuple(spam_filter.buckets))
        )
        known: dict[str, Any] = {"entry": entry, "verdict": verdict, "evidence": evidence_of(verdict), "was": None}
        return self.render(template, **known | {"thresholds": thresholds, "buckets": buckets} | values)

    async def problem(self, request: Request, error: Exception) -> Response:
        """Answer with the error as one clear sentence."""
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

    def entry(self, given: str) -> Entry:
        """Return the message with a number."""
        number = whole_number(given, -1)
        if not 0 <= number < len(self.desk.index.entries):
            raise HTTPException(404, f"There is no message {one_line(given, 20)} in the mailboxes that were opened.")
        return self.desk.index.entries[number]


def application(desk: Desk, keys: Keys, port: int) -> ASGIApp:
    """Return the application wrapped in its guard."""
    laboratory = Laboratory(desk.store)
    page = Page(desk, keys)
    tuning = TuningViews(page.render, desk, laboratory)
    training, overview = TrainingViews(page), OverviewView(page.render, desk)

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
        Route("/message/{number}/train", training.train, methods=["POST"]),
        Route("/bulk", training.bulk, methods=["POST"]),
        Route("/undo/{number}", training.undo, methods=["POST"]),
        Route("/overview", overview.page),
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
