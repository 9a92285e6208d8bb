"""`suffice spam classify`: one verdict per line."""

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
    as_json: Annotated[
        bool,
        json_option(
            "label, probability, log_odds, listed, place, subject, problem; bucket and buckets (probabilities) if "
            "there are any; one line per message"
        ),
    ] = False,
) -> None:
    """Classify every message as spam, ham or unsure.

    One line per message: the verdict, the probability of spam, its place and its subject; separated by tabs in a pipe.
    If a list of senders decided (`allow`, `block`), the entry is shown before the subject.
    If there are buckets, the bucket of the message is shown last.

    A message that cannot be read gets the verdict "error", and the exit code is then 3.
    """
    import sys

    from suffice.spam import SpamFilter
    from suffice.spam.commands.boxes import check, entries, split
    from suffice.spam.commands.screen import meter
    from suffice.spam.commands.skipping import Skipped

    check(boxes, lines=lines)
    path = existing_store(store)
    show = _on_terminal() if sys.stdout.isatty() else _plain
    skipped = Skipped()
    with SpamFilter.open(path) as spam_filter, meter("reading", skipped, show=not sys.stdout.isatty()) as bar:
        found = ((place, _subject(raw, lines), raw) for place, raw in entries(boxes, lines=lines))
        raws, items = split(bar.reading(found, lambda item: item[0]), lambda item: item[2])
        for verdict in spam_filter.score_many(raws):
            place, subject, _ = next(items)
            if verdict.problem:
                bar.skip(bar.done, verdict.problem)
            if as_json:
                say_json({**_as_dict(verdict), "place": place, "subject": subject})
            else:
                show(verdict, place, subject)
            bar.reach(bar.done + 1)
    skipped.finish()


def _as_dict(verdict: Any) -> dict[str, Any]:
    if verdict.problem:
        return {"label": verdict.label, "probability": None, "log_odds": None, "problem": verdict.problem}
    return {
        "label": verdict.label,
        "probability": verdict.probability,
        "log_odds": verdict.log_odds,
        "listed": verdict.listed,
        **({"bucket": verdict.bucket, "buckets": verdict.buckets} if verdict.buckets else {}),
    }


def _probability(verdict: Any) -> str:
    return f"{verdict.probability:.6f}" if not verdict.problem else "-"


def _listed(verdict: Any) -> str:
    """Return the list entry that decided, in brackets, or an empty string."""
    return f"[{verdict.listed}] " if verdict.listed else ""


def _subject(raw: bytes, lines: bool) -> str:
    """Return the subject of a message; for lines, the line itself."""
    from suffice.spam.headers import subject_of

    return raw[1:].decode("utf-8", "replace") if lines else subject_of(raw)


def _end(place: str, width: int) -> str:
    """Return the end of a place, which distinguishes messages."""
    return place if len(place) <= width else f"…{place[1 - width :]}"


def _plain(verdict: Any, place: str, subject: str) -> None:
    from suffice.spam.plain import one_line

    typer.echo(
        f"{verdict.label}\t{_probability(verdict)}\t{one_line(place, 1000)}\t{_listed(verdict)}{one_line(subject)}"
        + (f"\t{one_line(verdict.bucket)}" if verdict.buckets else "")
    )


def _on_terminal() -> Any:
    from rich.text import Text

    from suffice.spam.commands.screen import COLOURS, console
    from suffice.spam.plain import one_line

    answer = console()

    def show(verdict: Any, place: str, subject: str) -> None:
        line = Text.assemble(
            (f"{verdict.label:<6}", f"bold {COLOURS[verdict.label]}"),
            f"  {_probability(verdict):<8}  ",
            (f"{one_line(verdict.bucket)}  " if verdict.bucket else "", "blue"),
            (_end(one_line(place, 1000), answer.width * 2 // 5), "cyan"),
            f"  {_listed(verdict)}{one_line(subject)}",
        )
        answer.print(line, no_wrap=True, overflow="ellipsis")

    return show
