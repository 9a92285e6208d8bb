"""`suffice spam tune`: thresholds for a given cost of a ham called spam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.evaluate import known, open_judged, share
from suffice.spam.commands.options import (
    HamBoxOption,
    LinesOption,
    SpamBoxOption,
    StoreOption,
    existing_store,
    json_option,
    say_json,
)

_BAR = 30
_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam tune --dry-run[/cyan]

[cyan]suffice spam tune --cost 1000[/cyan]"""


@app.command(epilog=_EXAMPLE)
def tune(
    cost: Annotated[
        float,
        typer.Option(
            "--cost", metavar="NUMBER", help="The cost of a ham classified as spam, in spams that are not caught."
        ),
    ] = 100.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result without writing it.")] = False,
    spam: SpamBoxOption = None,
    ham: HamBoxOption = None,
    lines: LinesOption = False,
    store: StoreOption = None,
    as_json: Annotated[
        bool,
        json_option(
            "thresholds, slope, intercept, cost, written, newest (messages classified by what was learned before "
            "them), before and after (false_positives, expected_lost, not_caught, expected_cost, missed, unsure_ham, "
            "log_loss, thresholds), curve (threshold, false_positives, not_caught), skipped (place, reason)"
        ),
    ] = False,
) -> None:
    """Find the thresholds and the calibration of least cost, and write them to the store.

    Without mailboxes, the learned messages are used: each is classified by a filter that has learned all others, and
    the newest quarter, if the days are known, by a filter that has learned the older ones only. The present thresholds
    are kept if the new ones cost more.
    """
    from suffice.spam.commands.skipping import Skipped

    path, skipped = existing_store(store), Skipped()
    with open_judged(path, spam, ham, lines, "tuning", skipped) as (spam_filter, mail):
        tuning = spam_filter.tune(cost, write=not dry_run, **mail)
    if as_json:
        say_json(_as_dict(tuning, not dry_run and not tuning.is_kept) | skipped.as_json())
    else:
        _show(tuning, str(path), not dry_run)
    skipped.finish()


def _as_dict(tuning: Any, written: bool) -> dict[str, Any]:
    return {
        "thresholds": _thresholds(tuning.thresholds),
        "slope": tuning.slope,
        "intercept": tuning.intercept,
        "cost": tuning.cost,
        "written": written,
        "newest": tuning.newest,
        "before": _side(tuning, 0),
        "after": _side(tuning, 1),
        "curve": [
            {"threshold": point.threshold, "false_positives": point.false_positives, "not_caught": point.not_caught}
            for point in tuning.after.trade_off()
        ],
    }


def _thresholds(thresholds: Any) -> dict[str, float]:
    return {"ham": thresholds.ham, "spam": thresholds.spam}


def _side(tuning: Any, number: int) -> dict[str, Any]:
    evaluation = (tuning.before, tuning.after)[number]
    errors = evaluation.errors()
    return {
        "false_positives": errors.false_positives,
        "expected_lost": tuning.lost[number],
        "not_caught": errors.not_caught,
        "expected_cost": tuning.costs[number],
        "missed": errors.missed,
        "unsure_ham": errors.unsure_ham,
        "log_loss": known(evaluation.log_loss),
        "thresholds": _thresholds(evaluation.thresholds),
    }


def chosen_points(points: Sequence[Any], errors: Any) -> list[tuple[Any, bool]]:
    """Return some points of a curve: the best with at most 0, 1, 2, 5, … false positives, and that with `errors`.

    Each is paired with whether it is the one with `errors`.
    """
    made = errors.false_positives, errors.not_caught
    wanted = {id(point): point for point in points if (point.false_positives, point.not_caught) == made}
    here = set(wanted)
    limits = [0, *(digit * 10**power for power in range(7) for digit in (1, 2, 5))]
    for limit in limits:
        allowed = [point for point in points if point.false_positives <= limit]
        if allowed:
            best = min(allowed, key=lambda point: (point.not_caught, point.false_positives, point.threshold))
            wanted[id(best)] = best
    return [(point, id(point) in here) for point in sorted(wanted.values(), key=lambda point: -point.threshold)]


def _show(tuning: Any, path: str, written: bool) -> None:
    from rich.text import Text

    from suffice.spam.commands.screen import COLOURS, bar, console, grid, show_facts

    after = tuning.after.errors()
    screen = console()
    show_facts(
        {
            "messages": f"{after.spam:,} spam and {after.ham:,} ham",
            "cost": f"a ham classified as spam costs as much as {tuning.cost:g} spams that are not caught",
        }
        | ({"newest": f"{tuning.newest:,}, classified by what was learned before them"} if tuning.newest else {})
    )
    table = grid("", ">before", ">after")
    sides = tuning.before, tuning.after
    errors = [side.errors() for side in sides]
    table.add_row("ham up to", *(f"{side.thresholds.ham:.6f}" for side in sides))
    table.add_row("spam from", *(f"{side.thresholds.spam:.6f}" for side in sides))
    table.add_row("ham lost", *(share(each.false_positives, each.ham) for each in errors))
    table.add_row("  expected", *(f"{lost:,.2f}" for lost in tuning.lost))
    table.add_row("spam not caught", *(share(each.not_caught, each.spam) for each in errors))
    table.add_row("  of these, called ham", *(f"{each.missed:,}" for each in errors))
    table.add_row("ham unsure", *(f"{each.unsure_ham:,}" for each in errors))
    table.add_row("expected cost", *(f"{cost:,.1f}" for cost in tuning.costs))
    table.add_row("log-loss", *(f"{side.log_loss:.4f}" for side in sides))
    screen.print()
    screen.print(table)
    curve = grid(">spam from", ">ham lost", ">spam not caught", "", "")
    for point, is_chosen in chosen_points(tuning.after.trade_off(), after):
        curve.add_row(
            f"{point.threshold:.6f}",
            f"{point.false_positives:,}",
            f"{point.not_caught:,}",
            bar(point.not_caught / max(after.spam, 1), _BAR, COLOURS["spam"]),
            Text("chosen", style="bold") if is_chosen else "",
            style="bold" if is_chosen else "",
        )
    screen.print()
    screen.print(curve)
    screen.print()
    what = f"written to {path}" if written else "not written (--dry-run)"
    if tuning.is_kept:
        what = "the present thresholds cost less than the new ones, and are kept"
    screen.print(Text(what, style="dim"), soft_wrap=True)
