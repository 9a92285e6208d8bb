"""`suffice spam export` and `import`: a store as text, and the counts of other filters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, existing_store, json_option, say_json, store_to_make, wrong_usage

_EXAMPLE = """[bold]Example[/bold]

[cyan]bogoutil -d ~/.bogofilter/wordlist.db | suffice spam import -[/cyan]

[cyan]sa-learn --backup > bayes.txt; suffice spam import bayes.txt --words /usr/share/dict/words[/cyan]

[cyan]suffice spam import store.jsonl.gz --store new.sqlite[/cyan]"""


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice spam export store.jsonl.gz[/cyan]")
def export(
    target_path: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The file to write, compressed if its name ends in .gz; '-' for standard output."
        ),
    ],
    store: StoreOption = None,
    as_json: Annotated[bool, json_option("store, file, lines")] = False,
) -> None:
    """Write the whole store as lines of JSON, from which `import` creates the same store.

    Whoever reads the file learns which words are in your mail, as from the store itself. An older export is replaced.
    """
    import sys

    from suffice.spam import SpamFilter
    from suffice.spam.commands.screen import meter

    if target_path == "-" and as_json:
        raise wrong_usage(
            "--json and the export cannot both be written to standard output; give a file, or leave --json out"
        )
    path = existing_store(store)
    with SpamFilter.open(path) as spam_filter, meter("exporting", show=target_path != "-") as bar:
        if target_path == "-":
            spam_filter.export_text(sys.stdout.buffer, progress=bar.reach)
            return
        count = _write(Path(target_path), lambda sink: spam_filter.export_text(sink, progress=bar.reach))
    if as_json:
        say_json({"store": str(path), "file": target_path, "lines": count})
    else:
        typer.echo(f"{path} was written to {target_path}: {count:,} messages and imports")


def _write(target: Path, fill: Any) -> int:
    """Write a file beside the target, readable by its owner only, and move it into place when complete."""
    import gzip
    import os
    import tempfile
    from contextlib import suppress

    from suffice.spam.backup import replaceable
    from suffice.spam.transfer import is_export

    target = replaceable(target)
    if target.exists() and not is_export(target):
        raise ValueError(f"{str(target)!r} exists and is not an export of a store; give another name")
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as plain:
            if target.name.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=plain, mtime=0) as sink:
                    count: int = fill(sink)
            else:
                count = fill(plain)
            plain.flush()
            os.fsync(plain.fileno())
        os.replace(name, target)
    except OSError as error:  # a full disk is told without a name
        error.filename = error.filename or str(target)
        raise
    finally:
        with suppress(FileNotFoundError):  # it has the name of the target now
            os.unlink(name)
    return count


@app.command("import", epilog=_EXAMPLE)
def import_(
    source_path: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A file that `suffice spam export`, `bogoutil -d` or `sa-learn --backup` wrote, compressed or not; "
            "'-' for standard input.",
        ),
    ] = None,
    words: Annotated[
        list[Path] | None,
        typer.Option(
            "--words",
            metavar="FILE",
            help="A file of words, one per line, to look up in a dump of SpamAssassin. Repeatable.",
        ),
    ] = None,
    remove: Annotated[
        str | None,
        typer.Option(
            "--remove", metavar="PROGRAM", help="Undo the import from this program instead: bogofilter or spamassassin."
        ),
    ] = None,
    store: StoreOption = None,
    as_json: Annotated[
        bool,
        json_option("program, learned, known, kept (messages); spam, ham, tokens, named (of another filter)"),
    ] = False,
) -> None:
    """Import what another store or filter has learned; if the import fails, nothing is changed.

    An export of `suffice spam export` restores the same store; messages that a store already knows are not changed.

    From bogofilter, words, words of subjects and hosts are imported. The counts do not belong to single messages, so
    `evaluate` and `tune` need your own mail.

    SpamAssassin stores hashes of tokens, which cannot be reversed: only tokens that the store knows from your own mail,
    and the words of --words, are imported.

    An import is weighted by the ratio of spam and ham that you have trained, and replaces an earlier import from the
    same program: train first, and import again when you have trained more.
    """
    import sys

    from suffice.spam import SpamFilter

    if (source_path is None) == (remove is None):
        raise wrong_usage("give a file to import, or --remove PROGRAM")
    if remove is not None:
        _undo(remove, store, as_json)
        return
    assert source_path is not None
    source = sys.stdin.buffer if source_path == "-" else open(source_path, "rb")  # noqa: SIM115 - standard input stays open
    try:
        with SpamFilter.open(store_to_make(store)) as spam_filter:
            done = spam_filter.import_text(source, words=_words(words or []))
    finally:
        if source_path != "-":
            source.close()
    if as_json:
        say_json(done._asdict())
    elif done.program == "suffice":
        typer.echo(f"{done.learned:,} messages learned, {done.known:,} known, {done.kept:,} kept in another class")
    else:
        share = f"{done.named:,} tokens imported, of {done.tokens:,} in the dump"
        typer.echo(f"imported from {done.program}: {done.spam:,} spam, {done.ham:,} ham; {share}")


def _words(files: list[Path]) -> Any:
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as lines:
            yield from (line.strip() for line in lines)


def _undo(program: str, store: Path | None, as_json: bool) -> None:
    from suffice.spam import SpamFilter

    with SpamFilter.open(existing_store(store)) as spam_filter:
        if not spam_filter.remove_import(program):
            raise ValueError(f"nothing was imported from {program!r}, so there is nothing to undo")
    if as_json:
        say_json({"removed": program})
    else:
        typer.echo(f"the import from {program} is undone")
