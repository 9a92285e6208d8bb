"""`suffice spam stats`: the contents of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, existing_store, json_option, say_json


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam stats --json | jq .spam[/cyan]")
def stats(
    store: StoreOption = None,
    as_json: Annotated[
        bool,
        json_option(
            "store, spam, ham, unlabeled, tokens, bytes, oldest and newest (day of training), thresholds (ham, spam), "
            "half_life (days), imports (by program: spam, ham, tokens), allow, block (numbers of senders)"
        ),
    ] = False,
) -> None:
    """Show where the store is, what it has learned, and its settings."""
    from suffice.spam import SpamFilter

    path = existing_store(store)
    with SpamFilter.open(path) as spam_filter:
        size, days = spam_filter.stats(), spam_filter.days()
        thresholds, half_life = spam_filter.thresholds, spam_filter.half_life
        imports, lists = spam_filter.imports, spam_filter.lists
        used = _bytes(path)
    oldest, newest = (None, None) if days is None else (day.isoformat() for day in days)
    if as_json:
        say_json(
            {
                "store": str(path),
                "spam": size.spam,
                "ham": size.ham,
                "unlabeled": size.unlabeled,
                "tokens": size.tokens,
                "bytes": used,
                "oldest": oldest,
                "newest": newest,
                "thresholds": {"ham": thresholds.ham, "spam": thresholds.spam},
                "half_life": half_life,
                "imports": imports,
                "allow": len(lists.allow),
                "block": len(lists.block),
            }
        )
        return
    from suffice.spam.commands.screen import by_class, show_facts

    messages = by_class(size.spam, size.ham, size.unlabeled)
    show_facts(
        {
            "store": f"{path} ({used / 1e6:,.1f} MB)",
            "learned": f"{messages}, {size.tokens:,} tokens",
            "trained": "never" if oldest is None else oldest if oldest == newest else f"{oldest} to {newest}",
            "thresholds": f"ham up to {thresholds.ham:.4g}, spam from {thresholds.spam:.4g}, unsure between",
            "half-life": "none: nothing is forgotten" if half_life is None else f"{half_life:g} days",
        }
        | {
            f"{program}": f"imported: {about['spam']:,} spam, {about['ham']:,} ham, {about['tokens']:,} tokens"
            for program, about in imports.items()
        }
        | ({"lists": f"{len(lists.allow):,} senders allowed, {len(lists.block):,} blocked"} if lists else {})
    )


def _bytes(path: Path) -> int:
    """Return the size of a store on disk, including the write-ahead log of SQLite."""
    return sum(part.stat().st_size for part in (path, Path(f"{path}-wal")) if part.exists())
