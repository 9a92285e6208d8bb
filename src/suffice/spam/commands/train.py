"""`suffice spam train`: learn from mailboxes."""

from __future__ import annotations

from typing import Annotated, Any, NoReturn

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import LinesOption, StoreOption, json_option, say_json, store_to_make, wrong_usage

_BOX = "An mbox, a Maildir, an MH folder, a folder of these, a message, or '-' for standard input. Repeatable."
_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam train --spam ~/Mail/Junk --ham ~/Mail/INBOX --ham ~/Mail/Archive[/cyan]

[cyan]suffice spam train --unlabeled ~/Mail/Unsorted --half-life 365[/cyan]

[cyan]suffice spam train --bucket receipts ~/Mail/Receipts ~/Mail/Orders[/cyan]"""


@app.command(epilog=_EXAMPLE)
def train(
    boxes: Annotated[
        list[str] | None, typer.Argument(metavar="BOX", help="Mail to learn for the bucket of --bucket.")
    ] = None,
    spam: Annotated[list[str] | None, typer.Option("--spam", metavar="BOX", help=f"Spam to learn. {_BOX}")] = None,
    ham: Annotated[
        list[str] | None, typer.Option("--ham", metavar="BOX", help="Wanted mail (ham) to learn. Repeatable.")
    ] = None,
    unlabeled: Annotated[
        list[str] | None,
        typer.Option("--unlabeled", metavar="BOX", help="Mail without labels, learned last, by EM. Repeatable."),
    ] = None,
    bucket: Annotated[
        str | None,
        typer.Option(
            "--bucket",
            metavar="NAME",
            help="Learn the BOX arguments as ham of this bucket, which is created if needed.",
        ),
    ] = None,
    only_errors: Annotated[
        bool, typer.Option("--only-errors", help="Learn only messages that the filter gets wrong or is unsure about.")
    ] = False,
    half_life: Annotated[
        float | None,
        typer.Option(
            "--half-life",
            metavar="DAYS",
            min=0.0,
            help="The age at which a message counts half, from now on; 0 to forget nothing, the initial setting.",
        ),
    ] = None,
    lines: LinesOption = False,
    store: StoreOption = None,
    as_json: Annotated[
        bool,
        json_option(
            "store, learned, moved, known, right, unlabeled (messages, known, spam, iterations), "
            "total (spam, ham, unlabeled, tokens; buckets, if any), half_life, skipped (place, reason)"
        ),
    ] = False,
) -> None:
    """Learn which mail is spam and which is not.

    Training twice on the same message has no effect; a message that was learned as the other class is moved.

    With --bucket, mail is learned as ham and as one kind of ham, such as newsletters or receipts; see
    `suffice spam buckets`.

    Spam and ham are learned in turn, because with --only-errors each verdict depends on what was learned before.

    A message that cannot be read is reported and skipped, and the exit code is then 3.
    """
    from suffice.spam import SpamFilter
    from suffice.spam.buckets.names import checked_name
    from suffice.spam.commands.boxes import check, entries, in_classes
    from suffice.spam.commands.skipping import Skipped

    labelled = [*(spam or []), *(ham or [])]
    if (bucket is None) != (not boxes):
        raise wrong_usage(
            "--bucket needs mail as arguments, and arguments need --bucket: --bucket NAME BOX...; else --spam BOX or "
            "--ham BOX"
        )
    if bucket is not None and only_errors:
        raise wrong_usage("--only-errors is for spam and ham, not for buckets; leave out --only-errors or --bucket")
    if not labelled and not unlabeled and half_life is None and not boxes:
        raise wrong_usage("give mail to learn from: --spam BOX, --ham BOX, --unlabeled BOX or --bucket NAME BOX")
    if bucket is not None:
        bucket = checked_name(bucket)
    check([*labelled, *(unlabeled or []), *(boxes or [])], lines=lines)
    path = store_to_make(store)
    skipped = Skipped()
    with SpamFilter.open(path) as spam_filter:
        answer: dict[str, Any] = {"store": str(path)}
        if half_life is not None:
            spam_filter.half_life = half_life or None
        if labelled:
            classes = in_classes(spam, ham, [*(unlabeled or []), *(boxes or [])], lines=lines)
            answer |= _learn(spam_filter, *classes, skipped, only_errors=only_errors)
        if boxes:
            _, mail = in_classes(labelled, boxes, unlabeled, lines=lines)
            learned = _learn(spam_filter, (), mail, skipped, bucket=bucket)
            answer |= {name: count + answer.get(name, 0) for name, count in learned.items()}
        if unlabeled:
            answer["unlabeled"] = _learn_unlabeled(spam_filter, entries(unlabeled, lines=lines), skipped)
        size = spam_filter.stats()
        answer["total"] = {"spam": size.spam, "ham": size.ham, "unlabeled": size.unlabeled, "tokens": size.tokens}
        if buckets := dict(spam_filter.buckets):
            answer["total"]["buckets"] = buckets
        answer["half_life"] = spam_filter.half_life
    if as_json:
        say_json(answer | skipped.as_json())
    else:
        _show(answer, only_errors)
    skipped.finish()


def _learn(
    spam_filter: Any, spam: Any, ham: Any, skipped: Any, *, only_errors: bool = False, bucket: str | None = None
) -> dict[str, int]:
    from suffice.spam.commands.boxes import alternating, split
    from suffice.spam.commands.screen import count, meter

    bar = None
    try:
        with meter("learning", skipped) as bar:
            raws, items = split(bar.reading(alternating(spam, ham), lambda item: item[0][0]), lambda item: item[0][1])
            labels = (label for _, label in items) if bucket is None else "ham"
            training = spam_filter.train_many(
                raws, labels, bucket=bucket, only_errors=only_errors, progress=bar.reach, skipped=bar.skip
            )
    except KeyboardInterrupt:
        done = bar.done if bar else 0
        _interrupted(f"what was learned of the first {count(done)} is kept; run the same command again to continue")
    return {
        "learned": training.learned,
        "moved": training.moved,
        "known": training.known,
        "right": training.right,
    }


def _learn_unlabeled(spam_filter: Any, found: Any, skipped: Any) -> dict[str, Any]:
    from suffice.spam.commands.screen import count, meter

    bar = None
    try:
        with meter("learning from mail without labels", skipped) as bar:
            raws = (raw for _, raw in bar.reading(found, lambda item: item[0]))
            answer = spam_filter.train_unlabeled(raws, progress=bar.reach, skipped=bar.skip)
    except KeyboardInterrupt:
        done = bar.done if bar else 0
        _interrupted(
            f"the mail with labels is learned, and the first {count(done)} without labels are kept; run the same "
            "command again to learn from them"
        )
    return {
        "messages": answer.messages,
        "known": answer.known,
        "spam": answer.spam,
        "iterations": answer.iterations,
        "rounds": answer.iterations,  # the former name, which the next release removes
    }


def _interrupted(kept: str) -> NoReturn:
    from suffice.terminal.mistakes import say

    say("interrupted", kept)
    raise typer.Exit(130)


def _show(answer: dict[str, Any], only_errors: bool) -> None:
    from suffice.spam.commands.screen import by_class, show_facts

    facts = {}
    if "learned" in answer:
        other = "another class or bucket" if "buckets" in answer["total"] else "the other class"
        parts = [f"{answer['learned']:,} new", f"{answer['moved']:,} moved from {other}"]
        parts.append(f"{answer['known']:,} known already")
        if only_errors:
            parts.append(f"{answer['right']:,} right already")
        facts["learned"] = ", ".join(parts)
    if "unlabeled" in answer:
        found = answer["unlabeled"]
        facts["unlabeled"] = (
            f"{found['messages']:,} messages, about {found['spam']:,.0f} of them spam, after {found['iterations']} "
            f"iterations; {found['known']:,} known already"
        )
    total = answer["total"]
    messages = by_class(total["spam"], total["ham"], total["unlabeled"])
    facts["in all"] = f"{messages}, {total['tokens']:,} tokens"
    if "buckets" in total:
        from suffice.spam.commands.buckets import in_words

        facts["buckets"] = in_words(total["buckets"])
    if answer["half_life"] is not None:
        facts["half-life"] = f"{answer['half_life']:g} days"
    facts["store"] = answer["store"]
    show_facts(facts)
