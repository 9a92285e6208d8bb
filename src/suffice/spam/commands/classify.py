"""`suffice spam classify`: a verdict a line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import LinesOption, StoreOption, existing_store, json_option, say_json
from suffice.spam.commands.untrain import BoxArguments

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam classify ~/Mail/INBOX[/cyan]

[cyan]suffice spam classify --json new.mbox | jq -r 'select(.label == "spam") | .place'[/cyan]"""


@app.command(epilog=_EXAMPLE)
def classify(
    boxes: BoxArguments,
    lines: LinesOption = False,
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("label, probability, log_odds, place, subject; one object a line")] = False,
) -> None:
    """Say of every message whether it is spam, ham or unsure.

    One line each: the verdict, the probability of spam, where the message is, and its subject; with tabs into a pipe.
    """
    import sys

    from suffice.spam import SpamFilter
    from suffice.spam.commands.boxes import check, entries, split
    from suffice.spam.commands.screen import meter
    from suffice.spam.message import subject_of

    check(boxes, lines=lines)
    path = existing_store(store)
    show = _on_terminal() if sys.stdout.isatty() else _plain
    with SpamFilter.open(path) as spam_filter, meter("reading", show=not sys.stdout.isatty()) as bar:
        found = ((place, _subject(raw, lines, subject_of), raw) for place, raw in entries(boxes, lines=lines))
        raws, items = split(bar.reading(found), lambda item: item[2])
        for verdict in spam_filter.score_many(raws):
            place, subject, _ = next(items)
            if as_json:
                answer = {"label": verdict.label, "probability": verdict.probability, "log_odds": verdict.log_odds}
                say_json({**answer, "place": place, "subject": subject})
            else:
                show(verdict, place, subject)
            bar.reach(bar.done + 1)


def _subject(raw: bytes, lines: bool, subject_of: Any) -> str:
    """Return what a message is called; a line is its own name."""
    return raw[1:].decode("utf-8", "replace") if lines else subject_of(raw)


def _end(place: str, width: int) -> str:
    """Return the end of a place, which tells messages apart."""
    return place if len(place) <= width else f"…{place[1 - width :]}"


def _plain(verdict: Any, place: str, subject: str) -> None:
    from suffice.spam.plain import one_line

    typer.echo(f"{verdict.label}\t{verdict.probability:.6f}\t{one_line(place, 1000)}\t{one_line(subject)}")


def _on_terminal() -> Any:
    from rich.text import Text

    from suffice.spam.commands.screen import COLOURS, console
    from suffice.spam.plain import one_line

    answer = console()

    def show(verdict: Any, place: str, subject: str) -> None:
        line = Text.assemble(
            (f"{verdict.label:<6}", f"bold {COLOURS[verdict.label]}"),
            f"  {verdict.probability:.6f}  ",
            (_end(one_line(place, 1000), answer.width * 2 // 5), "cyan"),
            f"  {one_line(subject)}",
        )
        answer.print(line, no_wrap=True, overflow="ellipsis")

    return show
