"""The views for tuning: thresholds with their trade-off, calibration, and the learned messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from suffice.spam.connected import StoreError
from suffice.spam.filter import SpamFilter
from suffice.spam.page.charts import ODDS, PLOT, calibration_of, trade_off_of
from suffice.spam.page.desk import Desk
from suffice.spam.page.laboratory import Laboratory
from suffice.spam.plain import one_line
from suffice.spam.verdict import Thresholds

#: cost of a good message called spam, in units of spams not caught
COST = 100.0


class TuningViews:
    """The views of /tuning."""

    def __init__(self, render: Callable[..., Response], desk: Desk, laboratory: Laboratory) -> None:
        self._render, self._desk, self._laboratory = render, desk, laboratory
        self._cost = COST

    async def page(self, request: Request) -> Response:
        """Answer with the whole page, or with the result of an evaluation that was running."""
        thresholds = await self._desk.ask(lambda spam_filter: spam_filter.thresholds)
        if request.query_params.get("spam"):  # a preview of thresholds without JavaScript
            thresholds = _chosen(dict(request.query_params))
        await self._laboratory.begin()
        return await self._answer(request, thresholds)

    async def live(self, request: Request) -> Response:
        """Answer with the curve and the counts at thresholds that are being chosen."""
        if self._laboratory.evaluation is None:
            raise HTTPException(409, "The evaluation is no longer available; reload the page.")
        return self._render("_live.html", **self._at(_chosen(dict(request.query_params))))

    async def save(self, request: Request) -> Response:
        """Write thresholds into the store."""
        chosen = _chosen(request.scope["form"])
        await self._desk.ask(lambda spam_filter: _write(spam_filter, chosen))
        self._laboratory.keep()
        return await self._answer(request, chosen, "Saved: new verdicts use these thresholds.")

    async def tune(self, request: Request) -> Response:
        """Find thresholds for a cost, and write them."""
        cost = _number(request.scope["form"].get("cost", ""), "The cost of a good message called spam")
        if not 0 < cost < math.inf:
            raise HTTPException(422, f"The cost of a good message called spam must be above 0, but it is {cost:g}.")
        self._cost = cost
        try:
            written = await self._laboratory.tune(cost)
        except StoreError:
            raise  # reported as in other views
        except ValueError as error:
            raise HTTPException(422, str(error)) from None
        thresholds = await self._desk.ask(lambda spam_filter: spam_filter.thresholds)
        case = f"a good message called spam that costs {cost:g} spams not caught"
        text = f"Tuned for {case}, and saved."
        if not written:
            text = f"For {case} the present thresholds cost least, and are kept."
        return await self._answer(request, thresholds, text)

    async def _answer(self, request: Request, thresholds: Thresholds, notice: str = "") -> Response:
        is_part = request.headers.get("hx-request") == "true"
        if request.method == "POST" and not is_part:
            return RedirectResponse(request.url.path.rpartition("/")[0], 303)
        size = await self._desk.ask(lambda spam_filter: spam_filter.stats())
        laboratory = self._laboratory
        values: dict[str, Any] = {"size": size, "laboratory": laboratory, "notice": notice, "cost": self._cost}
        values |= {"thresholds": thresholds, "odds": ODDS, "unlabeled": size.unlabeled}
        values["store"] = one_line(str(self._desk.store), 300)
        if laboratory.evaluation is not None and not laboratory.is_running and size.spam and size.ham:
            values |= self._at(thresholds)
            values |= {"dots": calibration_of(laboratory.evaluation), "plot": PLOT, "evaluation": laboratory.evaluation}
        return self._render("_tuning.html" if is_part else "tuning.html", **values)

    def _at(self, thresholds: Thresholds) -> dict[str, Any]:
        evaluation = self._laboratory.evaluation
        assert evaluation is not None
        errors = evaluation.errors(thresholds)
        return {
            "thresholds": thresholds, "errors": errors, "curve": trade_off_of(evaluation, thresholds),
            "total_cost": evaluation.cost(thresholds, self._cost), "cost": self._cost,
        }  # fmt: skip


def _write(spam_filter: SpamFilter, thresholds: Thresholds) -> None:
    spam_filter.thresholds = thresholds


def _chosen(given: dict[str, str]) -> Thresholds:
    ham = _number(given.get("ham", ""), "The threshold of good mail")
    spam = _number(given.get("spam", ""), "The threshold of spam")
    try:
        return Thresholds(ham, spam)
    except ValueError:
        raise HTTPException(
            422, f"Thresholds must be 0 ≤ good < spam ≤ 1, but good is {ham:g} and spam is {spam:g}."
        ) from None


def _number(text: str, name: str) -> float:
    try:
        return float(text[:40])
    except ValueError:
        raise HTTPException(422, f"{name} must be a number, but it is {text[:40]!r}.") from None
