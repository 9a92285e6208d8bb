"""`suffice spam watch`: the filter on an IMAP account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import JsonOption, StoreOption, say_json, store_path, store_to_make
from suffice.spam.commands.skipping import SOME_SKIPPED

if TYPE_CHECKING:
    from suffice.spam.imap.connection import Connection
    from suffice.spam.imap.events import Event
    from suffice.spam.imap.watching import Watch

_EXAMPLE = "[bold]Example[/bold]  [cyan]suffice spam watch --host mail.example.org --user ann[/cyan]"


@app.command(epilog=_EXAMPLE)
def watch(
    host: Annotated[str, typer.Option(help="The IMAP server.")],
    user: Annotated[str, typer.Option(help="Whose mail.")],
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Where the server listens; 993, or 143 with --starttls.")
    ] = None,
    inbox: Annotated[str, typer.Option(metavar="FOLDER", help="Where new mail comes in.")] = "INBOX",
    junk: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where spam goes; the server's own folder for it, or Junk, by default."),
    ] = None,
    unsure: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where unsure mail goes; it is left by default.")
    ] = None,
    ham: Annotated[
        list[str] | None,
        typer.Option(metavar="FOLDER", help="What you file here is ham, e.g. Archive; may be given more than once."),
    ] = None,
    bucket: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FOLDER",
            help="Where mail that is clearly of a bucket goes; what you move into it and out of it is learned. May be "
            "given more than once.",
        ),
    ] = None,
    starttls: Annotated[bool, typer.Option("--starttls", help="Begin without TLS and turn to it (port 143).")] = False,
    no_tls: Annotated[bool, typer.Option("--no-tls", help="No TLS; for a server on this machine alone.")] = False,
    password_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Prints the password as its first line, e.g. 'pass show mail'; by default it is taken from "
            "SUFFICE_IMAP_PASSWORD, or asked for on a terminal.",
        ),
    ] = None,
    train_existing: Annotated[
        bool,
        typer.Option(
            "--train-existing",
            help="At the first start, learn junk as spam, inbox and ham as ham, and folders of buckets as theirs.",
        ),
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Look once, and end.")] = False,
    interval: Annotated[
        float, typer.Option(min=1.0, help="Seconds after which all folders are looked into in any case.")
    ] = 60.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch an IMAP account: move new spam to Junk, and learn from what you move into it and out of it.

    With --bucket, mail of that kind is moved to a folder of its own, see `suffice spam buckets`.

    Nothing is deleted, and nothing is marked as read. Ends with Ctrl-C.

    A message that cannot be read is reported and left where it is, and the exit code is then 3.
    """
    from suffice.spam import SpamFilter
    from suffice.spam.bounded import BUDGET
    from suffice.spam.imap.account import Account, password_of
    from suffice.spam.imap.events import Tally
    from suffice.spam.imap.folders import Folders
    from suffice.spam.imap.loop import Stopping, run
    from suffice.spam.imap.place import Place, place_path
    from suffice.spam.imap.watching import Watch
    from suffice.spam.pulse import Pulse

    if starttls and no_tls:
        raise typer.BadParameter("--starttls and --no-tls exclude each other; give one of them")
    bucket_folders = _bucket_folders(bucket or [])
    account = Account(host, user, port or 0, "none" if no_tls else "starttls" if starttls else "tls")
    path = store_path(store)
    if dry_run and not path.exists():  # checked before asking for a password
        raise FileNotFoundError(f"there is no store {str(path)!r} yet to judge with; `suffice spam train` makes it")
    password = password_of(account, password_command)
    tally = Tally()

    def report(event: Event) -> None:
        tally.add(event)
        _say(event, as_json)

    pulse = None if dry_run else Pulse(path, "watch", str(account))

    def looked(seconds: float, error: Exception | None) -> None:
        if pulse is not None:
            pulse.beat(tally.as_json(), str(error or ""), within=seconds)

    place = Place(place_path(store_to_make(store), str(account)), throw_away=dry_run)
    try:
        with SpamFilter.open(path, budget=BUDGET) as spam_filter, Stopping() as stopping:

            def make_watch(connection: Connection) -> Watch:
                folders = Folders(inbox, junk or connection.junk_folder(), unsure, tuple(ham or ()), bucket_folders)
                connection.check(folders.all)
                return Watch(
                    spam_filter,
                    place,
                    folders,
                    report,
                    train_existing=train_existing,
                    dry_run=dry_run,
                    is_stopping=stopping.is_asked,
                )

            run(account, password, make_watch, report, stopping, once=once, interval=interval, looked=looked)
        if pulse is not None:
            pulse.end()
    finally:
        place.close()
    if as_json:
        say_json({"event": "ended", "account": str(account), "dry_run": dry_run, **tally.as_json()})
    else:
        typer.echo(f"{account}{' (dry run)' if dry_run else ''}: {tally.as_text()}", err=True)
    if tally.unread:
        raise typer.Exit(SOME_SKIPPED)


def _bucket_folders(given: list[str]) -> dict[str, str]:
    """Return the folders of buckets by name, given as NAME=FOLDER."""
    from suffice.spam.buckets.names import checked_name

    found: dict[str, str] = {}
    for text in given:
        name, _, folder = text.partition("=")
        if not name or not folder:
            raise typer.BadParameter(f"--bucket needs NAME=FOLDER, but it is {text!r}")
        if checked_name(name) in found:
            raise typer.BadParameter(f"--bucket names {name!r} twice; a bucket has one folder")
        found[checked_name(name)] = folder
    return found


def _say(event: Event, as_json: bool) -> None:
    if as_json:
        say_json(event.as_json())
    else:
        typer.echo(event.as_text(), err=event.kind == "note")
