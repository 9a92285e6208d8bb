"""`suffice spam evaluate`: the error rates of the filter, and the calibration of its probabilities."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any

import typer

from suffice.spam.commands.app import app
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


class Rule(StrEnum):
    """The rules whose figures are shown."""

    filter = "filter"
    naive_bayes = "naive-bayes"


_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam evaluate[/cyan]

[cyan]suffice spam evaluate --spam ~/Mail/Junk-2024 --ham ~/Mail/Archive-2024[/cyan]"""


@app.command(epilog=_EXAMPLE)
def evaluate(
    spam: SpamBoxOption = None,
    ham: HamBoxOption = None,
    lines: LinesOption = False,
    store: StoreOption = None,
    rule: Annotated[
        Rule,
        typer.Option(
            metavar="RULE",
            help="filter, or naive-bayes, which shows the figures of plain naive Bayes on the same counts beside "
            "those of the filter.",
        ),
    ] = Rule.filter,
    as_json: Annotated[
        bool,
        json_option(
            "spam, ham, false_positives, missed, unsure_spam, unsure_ham, thresholds, one_minus_auc (per cent), "
            "log_loss (nats per message), calibration_error, left_out (learned, and classified by leave-one-out), "
            "reliability (low, high, probability, spam, count), skipped (place, reason); and if there are buckets and "
            "no mail is given, buckets (total, wrong, accuracy, confusion: predicted counts by bucket; '' for none); "
            "with --rule naive-bayes, naive_bayes (the same keys, of plain naive Bayes)"
        ),
    ] = False,
) -> None:
    """Show the error rates of the filter and the calibration of its probabilities.

    Without mailboxes, by leave-one-out: each learned message is classified by a filter that has learned all others.
    Then a confusion matrix of the buckets is shown too, if there are any.
    """
    from suffice.spam.commands.skipping import Skipped

    if rule is Rule.naive_bayes and "-" in [*(spam or []), *(ham or [])]:
        raise ValueError("--rule naive-bayes reads mail twice, and standard input can be read once; save it to a file")
    path, skipped = existing_store(store), Skipped()
    plain = None
    if rule is Rule.naive_bayes:
        with open_judged(path, spam, ham, lines, "judging by naive Bayes", Skipped()) as (spam_filter, mail):
            plain = spam_filter.evaluate(**mail, rule="naive-bayes")
    with open_judged(path, spam, ham, lines, "judging", skipped) as (spam_filter, mail):
        evaluation = spam_filter.evaluate(**mail)
        # given mail has no buckets
        table = spam_filter.buckets.evaluate() if spam_filter.buckets and not (spam or ham) else None
    if as_json:
        others = {} if plain is None else {"naive_bayes": as_dict(plain)}
        others |= {} if table is None else {"buckets": table.as_dict()}
        say_json(as_dict(evaluation) | others | skipped.as_json())
    else:
        _show(evaluation, bool(spam or ham), plain)
        if table is not None and table.names:
            from suffice.spam.commands.buckets import show_confusion

            show_confusion(table)
    skipped.finish()


def open_judged(path: Any, spam: list[str] | None, ham: list[str] | None, lines: bool, what: str, skipped: Any) -> Any:
    """Open a store, and yield the filter with the arguments for mail and progress of `evaluate` and `tune`."""
    from contextlib import contextmanager

    from suffice.spam import SpamFilter
    from suffice.spam.commands.boxes import alternating, check, in_classes, split
    from suffice.spam.commands.screen import meter

    check([*(spam or []), *(ham or [])], lines=lines)

    @contextmanager
    def opened() -> Any:
        with SpamFilter.open(path) as spam_filter, meter(what, skipped) as bar:
            mail: dict[str, Any] = {"progress": bar.reach, "skipped": bar.skip}
            if spam or ham:
                found = alternating(*in_classes(spam, ham, lines=lines))
                raws, items = split(bar.reading(found, lambda item: item[0][0]), lambda item: item[0][1])
                mail |= {"raws": raws, "labels": (label for _, label in items)}
            yield spam_filter, mail

    return opened()


def as_dict(evaluation: Any) -> dict[str, Any]:
    """Return an evaluation as written in JSON."""
    errors, thresholds = evaluation.errors(), evaluation.thresholds
    bins = evaluation.reliability()
    return {
        "spam": errors.spam,
        "ham": errors.ham,
        "false_positives": errors.false_positives,
        "missed": errors.missed,
        "unsure_spam": errors.unsure_spam,
        "unsure_ham": errors.unsure_ham,
        "thresholds": {"ham": thresholds.ham, "spam": thresholds.spam},
        "one_minus_auc": known(evaluation.one_minus_auc),
        "log_loss": known(evaluation.log_loss),
        "calibration_error": known(evaluation.calibration_error),
        "left_out": evaluation.left_out,
        "reliability": [
            {
                "low": item.low,
                "high": item.high,
                "probability": item.probability,
                "spam": item.spam,
                "count": item.count,
            }
            for item in bins
        ],
    }


def known(number: float) -> float | None:
    """Return a number, or None if it is not finite, such as the AUC without any ham."""
    return float(number) if math.isfinite(number) else None


def share(count: int, total: int) -> str:
    """Return a count with its percentage."""
    return f"{count:,} of {total:,}" + (f" ({100 * count / total:.2f} %)" if total else "")


def _show(evaluation: Any, given: bool, plain: Any = None) -> None:
    from rich.text import Text

    from suffice.spam.commands.screen import COLOURS, bar, console, grid, show_facts

    answer = as_dict(evaluation)
    thresholds, total = answer["thresholds"], answer["spam"] + answer["ham"]
    how = "that were given" if given else "learned, classified by leave-one-out"
    if given and answer["left_out"]:
        how += f"; {answer['left_out']:,} of them were learned, and are classified by leave-one-out"
    show_facts(
        {
            "messages": f"{answer['spam']:,} spam and {answer['ham']:,} ham {how}",
            "thresholds": f"ham up to {thresholds['ham']:.4g}, spam from {thresholds['spam']:.4g}, unsure between",
            **({} if plain is not None else _figures(answer)),
        }
    )
    if plain is not None:
        compared = grid("", "the filter", "plain naive Bayes")
        for (name, own), other in zip(_figures(answer).items(), _figures(as_dict(plain)).values(), strict=True):
            compared.add_row(name, own, other)
        console().print()
        console().print(compared)
    if not total:
        return
    screen = console()
    table = grid("probability", ">predicted", ">actual", ">messages", "actual (bar), predicted (mark)")
    for item in answer["reliability"]:
        table.add_row(
            f"{item['low']:.2f} - {item['high']:.2f}",
            f"{item['probability']:.3f}",
            f"{item['spam']:.3f}",
            f"{item['count']:,}",
            bar(item["spam"], _BAR, COLOURS["spam"], mark=item["probability"]),
        )
    screen.print()
    screen.print(table)
    screen.print(
        Text("predicted: mean probability of spam; actual: share of these messages that were spam", style="dim")
    )


def _figures(answer: dict[str, Any]) -> dict[str, str]:
    """Return the figures of an evaluation in words."""
    total = answer["spam"] + answer["ham"]
    unsure = answer["unsure_spam"] + answer["unsure_ham"]
    auc, loss, off = answer["one_minus_auc"], answer["log_loss"], answer["calibration_error"]
    return {
        "ham lost": f"{share(answer['false_positives'], answer['ham'])} classified as spam",
        "spam missed": f"{share(answer['missed'], answer['spam'])} classified as ham",
        "unsure": f"{share(unsure, total)}: {answer['unsure_spam']:,} spam, {answer['unsure_ham']:,} ham",
        "ranking": "undefined" if auc is None else f"(1 - AUC) = {auc:.4f} %",
        "log-loss": "undefined" if loss is None else f"{loss:.4f} nats per message",
        "calibration": "undefined" if off is None else f"off by {off:.4f} on average",
    }
