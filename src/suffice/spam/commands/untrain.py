"""`suffice spam untrain` and `suffice spam retrain`: undo or move what was learned wrongly."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import LinesOption, StoreOption, existing_store, json_option, say_json, wrong_usage
from suffice.spam.commands.skipping import Skipped

#: limit of listed places of messages that were never trained
NAMED = 10

BoxArguments = Annotated[
    list[str],
    typer.Argument(metavar="BOX", help="Mailboxes of any kind, messages, BOX:NUMBER, or '-' for standard input."),
]


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam untrain message.eml Junk.mbox:17[/cyan]")
def untrain(
    boxes: BoxArguments,
    lines: LinesOption = False,
    store: StoreOption = None,
    as_json: Annotated[
        bool, json_option("untrained (spam, ham, unlabeled), never_trained (places), skipped (place, reason)")
    ] = False,
) -> None:
    """Undo the training of messages exactly, as if they had never been learned.

    Messages that were never trained are listed, and the exit code is then 1.
    """
    from suffice.spam import SpamFilter
    from suffice.spam.commands.boxes import check, entries
    from suffice.spam.commands.screen import by_class

    check(boxes, lines=lines)
    with SpamFilter.open(existing_store(store)) as spam_filter:
        done, unknown, skipped = _each(
            "untraining",
            entries(boxes, lines=lines),
            lambda entry: spam_filter.untrain(entry[1]),
            lambda entry: entry[0],
        )
        size = spam_filter.stats()
    answer = {"untrained": {kind: done[kind] for kind in ("spam", "ham", "unlabeled")}}
    taken = by_class(done["spam"], done["ham"], done["unlabeled"])
    text = f"{taken} untrained; {by_class(size.spam, size.ham, size.unlabeled)} are left"
    _finish(answer, unknown, skipped, text, as_json)


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam retrain --ham message.eml[/cyan]")
def retrain(
    spam: Annotated[
        list[str] | None,
        typer.Option("--spam", metavar="BOX", help="Spam that was learned as ham. Repeatable."),
    ] = None,
    ham: Annotated[
        list[str] | None, typer.Option("--ham", metavar="BOX", help="Ham that was learned as spam. Repeatable.")
    ] = None,
    lines: LinesOption = False,
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("moved, already, never_trained (places), skipped (place, reason)")] = False,
) -> None:
    """Move messages that were learned as the wrong class to the other class.

    Messages that were never trained are listed but not learned, and the exit code is then 1; `train` learns them too.
    """
    from suffice.spam import SpamFilter
    from suffice.spam.commands.boxes import alternating, check, in_classes
    from suffice.spam.commands.screen import count

    if not spam and not ham:
        raise wrong_usage("give mail to move: --spam BOX or --ham BOX")
    check([*(spam or []), *(ham or [])], lines=lines)
    with SpamFilter.open(existing_store(store)) as spam_filter:
        done, unknown, skipped = _each(
            "moving",
            alternating(*in_classes(spam, ham, lines=lines)),
            lambda item: spam_filter.retrain(item[0][1], item[1]),
            lambda item: item[0][0],
        )
    answer = {"moved": done[True], "already": done[False]}
    text = f"{count(done[True])} moved, {done[False]:,} of that class already"
    _finish(answer, unknown, skipped, text, as_json)


def _each(what: str, items: Any, act: Any, place: Any) -> tuple[Counter[Any], list[str], Skipped]:
    """Apply `act` to every message; return counts of the results, the places never trained, and the skipped ones."""
    from suffice.spam import NotTrainedError, UnreadableError
    from suffice.spam.commands.screen import count, meter
    from suffice.terminal.mistakes import say

    skipped = Skipped()
    done: Counter[Any] = Counter()
    unknown = []
    try:
        with meter(what, skipped) as bar:
            for item in bar.reading(items, place):
                try:
                    done[act(item)] += 1
                except NotTrainedError:
                    unknown.append(place(item))
                except UnreadableError as error:
                    bar.skip(bar.done, str(error))
                bar.reach(bar.done + 1)
    except KeyboardInterrupt:
        say("interrupted", f"{count(done.total())} done before that")
        raise typer.Exit(130) from None
    return done, unknown, skipped


def _finish(answer: dict[str, Any], unknown: list[str], skipped: Skipped, text: str, as_json: bool) -> None:
    """Print what was done, and what was never trained or not read; exit with a code for either."""
    from suffice.spam.commands.screen import count
    from suffice.spam.plain import one_line
    from suffice.terminal.mistakes import say

    if as_json:
        say_json({**answer, "never_trained": unknown, **skipped.as_json()})
    else:
        typer.echo(text)
    if unknown:
        places = ", ".join(one_line(place) for place in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED:,} more" if len(unknown) > NAMED else ""
        say("warning", f"{count(len(unknown))} never trained: {places}{more}")
    skipped.finish()
    if unknown:
        raise typer.Exit(1)
