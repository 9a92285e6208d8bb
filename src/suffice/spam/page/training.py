"""The views for training one message, or all selected in the list, and for undoing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from suffice.spam.filter import NotTrainedError
from suffice.spam.isolation import UnreadableError
from suffice.spam.page.corrections import Action, Change
from suffice.spam.page.index import Label
from suffice.spam.page.query import Query, whole_number
from suffice.spam.page.words import LABEL_NAMES

if TYPE_CHECKING:
    from suffice.spam.page.app import Page

_LABELS: dict[str, Label | None] = {"spam": "spam", "ham": "ham", "undo": None}


class TrainingViews:
    """The views for buttons, swipes and keys."""

    def __init__(self, page: Page) -> None:
        self._page, self._desk = page, page.desk

    async def train(self, request: Request) -> Response:
        """Learn a message, and answer with its new row or verdict."""
        entry = self._page.entry(request.path_params["number"])
        form: dict[str, str] = request.scope["form"]
        label = _label_of(form)
        query, was = Query.of(form), entry.probability
        action = None
        if label is not None or not await self._desk.undo(entry):
            action = self._desk.corrections.add([await self._desk.train(entry, label, await self._bucket(form))])
        in_list = form.get("view") == "list"
        if not is_part(request):
            place = f"/{query.url()}" if in_list else f"/message/{entry.number}{query.url()}"
            return RedirectResponse(self._page.keys.path + place, 303)
        verdict = await self._desk.verdict(entry)
        return await self._page.judged(
            "_trained.html", entry, verdict, query=query, was=was, in_list=in_list, here=None,
            notice=_said(action.changes) if action else _undone(1), action=action,
        )  # fmt: skip

    async def bulk(self, request: Request) -> Response:
        """Learn all selected messages, and answer with the list and a way to undo it."""
        form: dict[str, str] = request.scope["form"]
        label = _label_of(form)
        picked = [self._page.entry(number) for number in dict.fromkeys(request.scope["picked"])]
        if not picked:
            raise HTTPException(422, "No message is selected; tick the boxes of some first.")
        bucket = await self._bucket(form)
        changes: list[Change] = []
        unread = 0
        try:
            for entry in picked:
                try:
                    changes.append(await self._desk.train(entry, label, bucket))
                except UnreadableError:
                    unread += 1
                except NotTrainedError:
                    continue  # there is nothing to undo
        finally:  # what was done before an error can be undone
            action = self._desk.corrections.add(changes) if changes else None
        return await self._answer(request, _said(changes, unread), action)

    async def undo(self, request: Request) -> Response:
        """Make the messages of an action what they were before it."""
        action = self._desk.corrections.get(whole_number(request.path_params["number"], -1))
        if action is None:
            raise HTTPException(409, "This was undone already, or is too long ago; open the messages to undo it.")
        await self._desk.undo_action(action)
        return await self._answer(request, _undone(len(action.changes)), None)

    async def _bucket(self, form: dict[str, str]) -> str | None:
        """Return the bucket named in a form, which must exist; "" for none, None if the form has no bucket."""
        name = form.get("file")
        known = await self._desk.ask(lambda spam_filter: tuple(spam_filter.buckets))
        if name and name not in known:
            raise HTTPException(422, "This bucket no longer exists; open the message again.")
        return name

    async def _answer(self, request: Request, notice: str, action: Action | None) -> Response:
        query = Query.of(request.scope["form"])
        if not is_part(request):
            return RedirectResponse(f"{self._page.keys.path}/{query.url()}", 303)
        return await self._page.list(query, as_part=True, notice=notice, action=action)


def is_part(request: Request) -> bool:
    """Return whether a request is by htmx, for a part of a page."""
    return request.headers.get("hx-request") == "true"


def _label_of(form: dict[str, str]) -> Label | None:
    if form.get("label") not in _LABELS:
        raise HTTPException(400, "The label must be spam, ham or undo.")
    return _LABELS[form["label"]]


def _undone(count: int) -> str:
    return f"Undone for {_messages(count)}."


def _said(changes: Sequence[Change], unread: int = 0) -> str:
    """Return a sentence that describes what an action has done."""
    after = changes[0].after if changes else None
    done = f"trained as {LABEL_NAMES[after]}" if after else "no longer trained"
    said = f"{_messages(len(changes))} {done}".capitalize()
    return f"{said}; {_messages(unread)} could not be read." if unread else f"{said}."


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"
