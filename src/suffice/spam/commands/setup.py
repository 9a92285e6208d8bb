"""`suffice spam setup`: set up a running filter from scratch."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from suffice.spam.commands.app import app
from suffice.spam.commands.options import StoreOption, json_option, say_json, store_to_make, wrong_usage
from suffice.spam.commands.skipping import SOME_SKIPPED

if TYPE_CHECKING:
    from suffice.spam.beginning.rehearsal import Rehearsal
    from suffice.spam.beginning.running import Plan
    from suffice.spam.imap.account import Account
    from suffice.spam.shares import Label

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice spam setup[/cyan]

[cyan]suffice spam setup --imap imaps://ann@mail.example.org --run watch[/cyan]

[cyan]suffice spam setup --spam ~/Mail/Junk --ham ~/Mail/INBOX --run procmail --yes[/cyan]"""
#: limit of mistakes that are listed
_NAMED = 10


@app.command(epilog=_EXAMPLE)
def setup(
    spam: Annotated[
        list[str] | None,
        typer.Option(
            "--spam", metavar="BOX", help="Your spam; by default the folders for spam are searched for. Repeatable."
        ),
    ] = None,
    ham: Annotated[
        list[str] | None,
        typer.Option(
            "--ham",
            metavar="BOX",
            help="Wanted mail; by default it is searched for, except in folders for trash. Repeatable.",
        ),
    ] = None,
    imap: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="An IMAP account, imaps://user@host, whose INBOX and Junk are learned instead."
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="METHOD", help="How mail reaches the filter: watch, procmail, sieve, milter or nothing."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask no questions: use the mail that is found, and write the files.")
    ] = False,
    store: StoreOption = None,
    as_json: Annotated[
        bool,
        json_option("store, spam, ham, rehearsal (messages, verdicts, mistakes), learned, tuned, run, written, then"),
    ] = False,
) -> None:
    """Find your mail, learn it, show what the filter would have done, and set the filter up to run.

    First the newest 200 messages are classified by a filter that has learned the older ones, to show what to
    expect; then everything is learned, and the thresholds are tuned.

    No mail is moved or deleted, and no existing file is changed.
    """
    import sys
    from tempfile import TemporaryDirectory

    from suffice.spam.beginning.running import WAYS, check_paths, plan, write
    from suffice.spam.commands.boxes import check
    from suffice.spam.location import default_store

    asks = not (yes or as_json) and sys.stdin.isatty()
    if run is not None and run not in WAYS:
        raise wrong_usage(f"--run must be one of {', '.join(WAYS)}, not {run!r}")
    if run == "watch" and imap is None:
        raise wrong_usage("watching needs an account; give --imap imaps://user@host")
    if not (yes or asks):
        raise wrong_usage(
            "there is no terminal for questions; give --yes to use the folders that are found, and write the files"
        )
    account = None
    if imap is not None:
        account, spam, ham = _of_account(imap, spam, ham)
    spam, ham = _boxes(spam, ham)
    if asks:
        _show_boxes(spam, ham)
        _confirm("Learn these?", "nothing was learned")
    check([*spam, *ham])
    answer: dict[str, Any] = {"spam": spam, "ham": ham}
    junk = _folder(spam)
    path = store_to_make(store)
    if run not in (None, "nothing"):
        check_paths(_program(), str(_config()), str(Path(path).absolute()), junk or "")
    with TemporaryDirectory(prefix="suffice-") as folder:  # mail on a server is fetched only once
        spam, ham = _fetched(spam, Path(folder) / "spam"), _fetched(ham, Path(folder) / "ham")
        rehearsal = _rehearse(spam, ham)
        if rehearsal is not None:
            answer["rehearsal"] = _as_json(rehearsal)
        if not as_json:
            _show_rehearsal(rehearsal)
        answer |= {"store": str(path), **_learn(path, spam, ham)}
    default = "watch" if account else "nothing"
    way = run or (_ask_way(default) if asks else default)
    usual = store is None or Path(path) == default_store()
    planned = plan(way, _program(), _config(), Path(path).absolute(), account=account, usual=usual, junk=junk)
    if asks and planned.files:
        _show_files(planned)
        _confirm("Write these files?", f"what was learned is in {str(path)!r}, and no file was written")
    answer |= {"run": way, "written": [str(file) for file in write(planned)], "then": list(planned.then)}
    if as_json:
        say_json(answer)
    else:
        _show_end(answer, planned)
    if answer["skipped"]:
        raise typer.Exit(SOME_SKIPPED)


def _of_account(
    address: str, spam: list[str] | None, ham: list[str] | None
) -> tuple[Account, list[str] | None, list[str] | None]:
    """Return an account and the addresses of its folders; ask for its password once."""
    import os

    from suffice.spam.imap.account import PASSWORD_VARIABLE, Account, password_of
    from suffice.spam.imap.connection import Connection

    account, _ = Account.of(address)
    os.environ[PASSWORD_VARIABLE] = password_of(account)
    if spam is None and ham is None:
        with Connection(account, os.environ[PASSWORD_VARIABLE]) as connection:
            base = _address(account)
            spam, ham = [f"{base}/{_quoted(connection.junk_folder())}"], [f"{base}/INBOX"]
    return account, spam, ham


def _address(account: Account) -> str:
    scheme = "imaps" if account.security == "tls" else "imap"
    host = f"[{account.host}]" if ":" in account.host else account.host
    return f"{scheme}://{_quoted(account.user)}@{host}:{account.port}"


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _boxes(spam: list[str] | None, ham: list[str] | None) -> tuple[list[str], list[str]]:
    """Return the given boxes, else those that are found."""
    import getpass

    from suffice.spam.beginning.finding import junk_within, mail_places

    if spam is None and ham is None:
        places = mail_places(Path.home(), getpass.getuser())
        if not places:
            raise wrong_usage(
                "no mail was found in the places that mail programs use; name it with --spam BOX and --ham BOX, or "
                "give an account with --imap imaps://user@host"
            )
        ham, spam = [str(place) for place in places], [str(junk) for place in places for junk in junk_within(place)]
        if not spam:
            raise wrong_usage(
                f"there is mail in {', '.join(ham)}, but no folder for spam, called Junk or Spam, with mail in it; "
                "name one with --spam BOX"
            )
    if not spam or not ham:
        raise wrong_usage("the filter learns from spam and from wanted mail; give both, --spam BOX and --ham BOX")
    return spam, ham


def _fetched(boxes: list[str], folder: Path) -> list[str]:
    """Return local boxes: those on a server are copied into a folder, one file per message."""
    from suffice.spam.commands.boxes import entries
    from suffice.spam.commands.screen import meter
    from suffice.spam.mailboxes import IMAP_ADDRESS

    remote = [box for box in boxes if IMAP_ADDRESS.match(box)]
    if not remote:
        return boxes
    folder.mkdir(mode=0o700)
    with meter("fetching") as bar:
        for number, (_, raw) in enumerate(bar.reading(entries(remote), lambda entry: entry[0]), 1):
            (folder / str(number)).write_bytes(raw)
            bar.reach(number)
    return [*(box for box in boxes if box not in remote), str(folder)]


def _items(spam: list[str], ham: list[str], *, tell: bool = False) -> Any:
    from suffice.spam.commands.boxes import alternating, in_classes

    return alternating(*in_classes(spam, ham, tell=tell))


def _rehearse(spam: list[str], ham: list[str]) -> Rehearsal | None:
    from suffice.spam.beginning.rehearsal import rehearse
    from suffice.spam.commands.screen import meter

    with meter("trying it on your newest mail") as bar:

        def progress(done: int) -> None:
            bar.read = done
            bar.reach(done)

        return rehearse(lambda: _items(spam, ham), progress)


def _learn(path: Path, spam: list[str], ham: list[str]) -> dict[str, Any]:
    """Learn all messages, and tune."""
    from suffice.spam import SpamFilter
    from suffice.spam.beginning.rehearsal import ENOUGH_TO_TUNE
    from suffice.spam.commands.boxes import split
    from suffice.spam.commands.screen import meter
    from suffice.spam.commands.skipping import Skipped

    skipped = Skipped()
    with SpamFilter.open(path) as spam_filter, meter("learning", skipped) as bar:
        found = bar.reading(_items(spam, ham, tell=True), lambda item: item[0][0])
        raws, items = split(found, lambda item: item[0][1])
        training = spam_filter.train_many(raws, (label for _, label in items), progress=bar.reach, skipped=bar.skip)
        size = spam_filter.stats()
        if enough := min(size.spam, size.ham) >= ENOUGH_TO_TUNE:
            spam_filter.tune()
    learned = {"new": training.learned, "known": training.known, "moved": training.moved}
    total = {"spam": size.spam, "ham": size.ham}
    return {"learned": learned, "total": total, "tuned": enough, "skipped": skipped.messages}


def _as_json(rehearsal: Rehearsal) -> dict[str, Any]:
    verdicts: dict[str, dict[str, int]] = {"spam": {}, "ham": {}}
    for (label, verdict), number in sorted(rehearsal.verdicts.items()):
        verdicts[label][verdict] = number
    return {
        "messages": rehearsal.messages,
        "verdicts": verdicts,
        "mistakes": [vars(mistake) for mistake in rehearsal.mistakes],
    }


def _show_boxes(spam: list[str], ham: list[str]) -> None:
    from suffice.spam.commands.screen import console, grid
    from suffice.spam.plain import one_line

    table = grid("learned as", "mail")
    for label, boxes in (("wanted", ham), ("spam", spam)):
        for box in boxes:
            table.add_row(label, one_line(box, 200))
    console().print(table)


def _show_rehearsal(rehearsal: Rehearsal | None) -> None:
    from datetime import date, timedelta

    from rich.text import Text

    from suffice.spam.commands.screen import COLOURS, console, grid

    screen = console()
    if rehearsal is None:
        screen.print(
            "There are too few messages with a date to try the filter on the newest of them.\n", soft_wrap=True
        )
        return
    first, last = (date(1970, 1, 1) + timedelta(days=day) for day in (rehearsal.first, rehearsal.last))
    screen.print(
        f"Your newest {rehearsal.messages} messages, from {first} to {last}, classified by a filter that has "
        "learned the older ones:\n",
        soft_wrap=True,
    )
    table = grid("", ">delivered", ">unsure", ">marked spam")
    names: dict[Label, str] = {"ham": "wanted", "spam": "spam"}
    for label, name in names.items():
        numbers = [rehearsal.verdicts[label, verdict] for verdict in ("ham", "unsure", "spam")]
        wrong = 2 if label == "ham" else 0
        cells = [
            Text(f"{number:,}", "bold " + COLOURS["spam"] if place == wrong and number else "")
            for place, number in enumerate(numbers)
        ]
        table.add_row(name, *cells)
    screen.print(table)
    screen.print()
    for mistake in rehearsal.mistakes[:_NAMED]:
        what = "wanted, marked spam" if mistake.label == "ham" else "spam, delivered"
        screen.print(Text(f"{what}: {mistake.subject or '(no subject)'}  ({mistake.place})"), soft_wrap=True)
    if len(rehearsal.mistakes) > _NAMED:
        screen.print(f"and {len(rehearsal.mistakes) - _NAMED} more")
    if rehearsal.mistakes:
        screen.print()


def _ask_way(default: str) -> str:
    from suffice.spam.beginning.running import WAYS

    typer.echo("How does mail reach the filter from now on?")
    for name, text in WAYS.items():
        typer.echo(f"  {name:<9} {text}")
    while (way := str(typer.prompt("Method", default=default))) not in WAYS:
        typer.echo(f"There is no method {way!r}; choose one of these.")
    return way


def _confirm(question: str, otherwise: str) -> None:
    """Ask whether to continue; if not, print `otherwise` and exit."""
    if not typer.confirm(question, default=True):
        typer.echo(f"Stopped: {otherwise}.")
        raise typer.Exit(1)


def _show_files(planned: Plan) -> None:
    for file in planned.files:
        there = " (exists, and is not changed)" if file.path.exists() else ""
        typer.echo(f"  {file.path}{there}")


def _show_end(answer: dict[str, Any], planned: Plan) -> None:
    from suffice.spam.commands.screen import by_class, show_facts

    learned = answer["learned"]
    facts = {
        "learned": f"{learned['new']:,} new, {learned['known']:,} known already, {learned['moved']:,} moved",
        "in all": by_class(answer["total"]["spam"], answer["total"]["ham"], 0),
        "thresholds": "tuned" if answer["tuned"] else "the defaults; there are too few messages to tune them",
        "store": answer["store"],
    }
    for number, path in enumerate(answer["written"]):
        facts["written" if not number else " " * (number + 1)] = path
    show_facts(facts)
    if planned.then:
        typer.echo("\nLeft to do:")
        for number, step in enumerate(planned.then, 1):
            typer.echo(f"  {number}. {step}")


def _folder(boxes: list[str]) -> str | None:
    """Return the first box that procmail can deliver to, in its notation: a Maildir ends with a slash."""
    import os

    for box in map(os.path.abspath, boxes):
        if (Path(box) / "cur").is_dir():
            return box + "/"
        with suppress(OSError), open(box, "rb") as file:
            if file.read(5) in (b"From ", b""):
                return box
    return None


def _program() -> str:
    import shutil
    import sys

    return shutil.which("suffice") or str(Path(sys.executable).with_name("suffice"))


def _config() -> Path:
    import os

    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
