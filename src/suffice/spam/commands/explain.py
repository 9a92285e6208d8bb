"""`suffice spam explain`: the evidence for the verdict on a message."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import LinesOption, StoreOption, existing_store, json_option, say_json

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam explain message.eml --top 10[/cyan]

[cyan]suffice spam explain Junk.mbox:17[/cyan]"""


@app.command(epilog=_EXAMPLE)
def explain(
    message_path: Annotated[
        str, typer.Argument(metavar="MESSAGE", help="A file with one message, BOX:NUMBER, or '-' for standard input.")
    ],
    top: Annotated[
        int, typer.Option("--top", "-n", metavar="NUMBER", min=0, help="The number of tokens to show; 0 for all.")
    ] = 20,
    lines: LinesOption = False,
    store: StoreOption = None,
    as_json: Annotated[
        bool,
        json_option(
            "label, probability, log_odds, place, subject, from, learned_as, fields (their sums), "
            "evidence (token, field, log_odds); if there are buckets, bucket, buckets (probabilities), "
            "bucket_evidence (of the most likely one)"
        ),
    ] = False,
) -> None:
    """Show the verdict on a message, and the reasons for it.

    Each token adds to the log-odds: more than 0 is evidence for spam, less than 0 for ham. Their sum gives the
    probability.
    """
    from suffice.spam import SpamFilter
    from suffice.spam.commands.boxes import check
    from suffice.spam.commands.skipping import Skipped
    from suffice.spam.headers import header_of
    from suffice.spam.scoring import FIELD_NAMES, field_of

    check([message_path], lines=lines)
    path = existing_store(store)
    place, raw = _only(message_path, lines)
    with SpamFilter.open(path) as spam_filter:
        verdict, learned_as = spam_filter.score(raw), spam_filter.label_of(raw)
        thresholds = spam_filter.thresholds
        likely = max(verdict.buckets, key=verdict.buckets.__getitem__, default="")
        reasons = spam_filter.buckets.reasons(raw, likely) if verdict.buckets else []
    if verdict.problem:
        skipped = Skipped()
        skipped.add(place, verdict.problem)
        skipped.finish()
    fields: defaultdict[str, float] = defaultdict(float)
    for token, part in verdict.evidence:
        fields[FIELD_NAMES[field_of(token)]] += part
    answer: dict[str, Any] = {
        "label": verdict.label,
        "probability": verdict.probability,
        "log_odds": verdict.log_odds,
        "listed": verdict.listed,
        "place": place,
        "subject": header_of(raw, "subject"),
        "from": header_of(raw, "from"),
        "learned_as": learned_as,
        "fields": dict(sorted(fields.items(), key=lambda pair: -abs(pair[1]))),
        "evidence": [
            {"token": token, "field": FIELD_NAMES[field_of(token)], "log_odds": part}
            for token, part in verdict.evidence[: top or None]
        ],
    }
    if verdict.buckets:
        answer |= {
            "bucket": verdict.bucket,
            "buckets": verdict.buckets,
            "bucket_evidence": [
                {"token": token, "field": FIELD_NAMES[field_of(token)], "log_odds": part}
                for token, part in reasons[: top or None]
            ],
        }
    if as_json:
        say_json(answer)
    else:
        _show(answer, thresholds, len(verdict.evidence))


def _only(box: str, lines: bool) -> tuple[str, bytes]:
    """Return the one message of a box."""
    from itertools import islice

    from suffice.spam.commands.boxes import entries

    found = list(islice(entries([box], lines=lines), 2))
    if not found:
        raise ValueError(f"there is no message in {box!r} to explain")
    if len(found) > 1 and box == "-":
        raise ValueError("standard input holds more than one message; give one, or a file and the number of one")
    if len(found) > 1:
        raise ValueError(f"{box!r} holds more than one message; choose one of them, such as {found[0][0]!r}")
    return found[0]


def _show(answer: dict[str, Any], thresholds: Any, known: int) -> None:
    from rich.text import Text

    from suffice.spam.commands.screen import COLOURS, console, grid, show_facts, two_sided_bar
    from suffice.spam.plain import one_line

    label = answer["label"]
    verdict = Text.assemble(
        (label, f"bold {COLOURS[label]}"),
        f", probability of spam {answer['probability']:.6f}",
        (f"  (ham up to {thresholds.ham:.4g}, spam from {thresholds.spam:.4g})", "dim"),
    )
    facts: dict[str, Any] = {"verdict": verdict, "message": one_line(answer["place"])}
    facts |= {name: one_line(answer[name]) for name in ("from", "subject") if answer[name]}
    if answer["listed"]:
        facts["list"] = f"{answer['listed']}, which decides; the statistics follow"
    if answer["learned_as"]:
        facts["learned"] = f"as {answer['learned_as']}, so the score includes this message"
    if "buckets" in answer:
        from suffice.spam.commands.buckets import probabilities_in_words, reasons_in_words

        facts["bucket"] = probabilities_in_words(answer["bucket"], answer["buckets"])
        facts["because"] = reasons_in_words(answer["bucket_evidence"])
    show_facts(facts)
    screen = console()
    width = max(4, min(16, (screen.width - 40) // 3))
    letters = max(8, min(40, screen.width - 2 * width - 26))  # the width left by bars, fields and numbers
    if not known:
        screen.print("no token of the message is known; train the filter on spam and ham first")
        return
    for title, rows in (
        ("field", [(name, part, "") for name, part in answer["fields"].items()]),
        ("token", [(part["token"], part["log_odds"], part["field"]) for part in answer["evidence"]]),
    ):
        largest = max(abs(part) for _, part, _ in rows) or 1.0
        names = (title, "field") if title == "token" else (title,)
        table = grid(*names, ">log-odds", "ham".center(width) + " " + "spam".center(width))
        for name, part, field in rows:
            cells = [Text(one_line(name, letters)), *([field] if title == "token" else [])]
            table.add_row(*cells, f"{part:+.3f}", two_sided_bar(part / largest, width))
        screen.print()
        screen.print(table)
    if len(answer["evidence"]) < known:
        screen.print(Text(f"and {known - len(answer['evidence']):,} more tokens (--top 0 shows all)", style="dim"))
