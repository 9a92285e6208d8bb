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
    host: Annotated[str, typer.Option(metavar="HOST", help="The IMAP server.")],
    user: Annotated[str, typer.Option(metavar="USER", help="The user name of the account.")],
    port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=1,
            max=65_535,
            help="The port of the server; by default 993, or 143 with --starttls.",
        ),
    ] = None,
    inbox: Annotated[str, typer.Option(metavar="FOLDER", help="The folder that receives new mail.")] = "INBOX",
    junk: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="The folder for spam; by default the server's own, or Junk."),
    ] = None,
    unsure: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The folder for unsure mail; by default it stays in the inbox.")
    ] = None,
    ham: Annotated[
        list[str] | None,
        typer.Option(metavar="FOLDER", help="A folder with wanted mail to learn as ham, e.g. Archive. Repeatable."),
    ] = None,
    bucket: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FOLDER",
            help="The folder for mail of a bucket; mail that you move into it or out of it is learned. Repeatable.",
        ),
    ] = None,
    starttls: Annotated[
        bool, typer.Option("--starttls", help="Use STARTTLS: connect without TLS and upgrade (port 143).")
    ] = False,
    no_tls: Annotated[bool, typer.Option("--no-tls", help="Use no TLS; only for a server on this machine.")] = False,
    password_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="A command that prints the password as its first line, e.g. 'pass show mail'. By default the password "
            "is read from SUFFICE_IMAP_PASSWORD, or asked for in the terminal.",
        ),
    ] = None,
    train_existing: Annotated[
        bool,
        typer.Option(
            "--train-existing",
            help="At the first start, learn the existing mail: junk as spam, inbox and ham folders as ham, bucket "
            "folders as their buckets.",
        ),
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Check the folders once, then exit.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=1.0, help="The longest time between two checks of all folders.")
    ] = 60.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, without doing it.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch an IMAP account: move new spam to Junk, and learn from the messages that you move.

    With --bucket, mail of that bucket is moved to its own folder; see `suffice spam buckets`.

    No message is deleted or marked as read. Ctrl-C stops the command.

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
        raise FileNotFoundError(
            f"there is no store {str(path)!r} yet to classify with; create it with `suffice spam train`"
        )
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
