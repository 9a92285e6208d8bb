"""Mail as a table: a row per message, with its folder, sender, subject and text, for any library of data frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

from suffice.spam.isolation import UnreadableError, readable
from suffice.spam.mailboxes import MailboxError, located
from suffice.spam.message import Message, read
from suffice.spam.visible import arrival, sender, visible_texts

#: the limit of the text of a message, in characters
BODY_LIMIT = 200_000
#: endings of files that hold a mailbox, whatever the number of its messages
_MAILBOXES = (".mbox", ".mbx", ".mbox.gz", ".mbox.bz2", ".mbox.xz")
COLUMNS = ("folder", "place", "date", "from", "subject", "body")
Paths = str | os.PathLike[str]


class FolderTable(NamedTuple):
    """A folder as a table.

    Attributes
    ----------
    columns : dict of str to list
        The columns, all of the same length; None marks a missing cell.
    text : tuple of str
        The columns that are documents.
    keys : tuple of str
        The columns that name a row instead of describing it.
    """

    columns: dict[str, list[Any]]
    text: tuple[str, ...]
    keys: tuple[str, ...]


def mail_table(
    folders: Paths | Mapping[str, Paths | Sequence[Paths]], *, skipped: Callable[[str, str], object] | None = None
) -> dict[str, list[Any]]:
    r"""Return the messages of mail folders as the columns of a table, for `pandas.DataFrame` and its like.

    Parameters
    ----------
    folders : path, or mapping of str to path or list of paths
        A folder of mailboxes, in which each folder or mbox at the top gives its name to its messages; or the mailboxes
        of each name, of any kind that `messages` reads.
    skipped : callable, optional
        Called with the place of each message that cannot be read, and the reason; by default there is a warning.

    Returns
    -------
    dict of str to list
        The columns folder, place (of the message on disk), date (of arrival, in UTC), from (the address), subject and
        body (the visible text, without HTML). None if a message has none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from suffice.spam import mail_table
    >>> mails = pathlib.Path(tempfile.mkdtemp())
    >>> for folder, text in [("spam", "<p>Buy <b>cheap</b> pills</p>"), ("ham", "See you at noon")]:
    ...     (mails / folder).mkdir()
    ...     head = "From: Ann <ann@example.org>\nSubject: Hello\nContent-Type: text/html\n\n"
    ...     _ = (mails / folder / "1.eml").write_text(head + text)
    >>> table = mail_table(mails)
    >>> table["folder"], table["from"], table["body"]
    (['ham', 'spam'], ['ann@example.org', 'ann@example.org'], ['See you at noon', 'Buy cheap pills'])
    """
    rows, lost = list[tuple[Any, ...]](), list[tuple[str, str]]()
    for folder, place, raw in _named(folders):
        try:
            rows.append((folder, place, *_cells(readable(read, raw))))
        except UnreadableError as error:
            lost.append((place, str(error)))
            if skipped is not None:
                skipped(*lost[-1])
    if lost and skipped is None:
        warnings.warn(
            f"{len(lost)} messages were left out, because they cannot be read (first: {lost[0][0]}: {lost[0][1]})",
            UserWarning,
            stacklevel=2,
        )
    return (
        dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)) if rows else {name: [] for name in COLUMNS}
    )


def folder_table(path: str) -> FolderTable | None:
    """Return a folder of mail as a table, for `suffice fit` and `suffice predict`; None if it holds no mail.

    It is an entry point of the group `suffice.folders`.
    """
    try:
        columns = mail_table(path)
    except MailboxError:
        return None
    known = [columns[name] for name in ("date", "from", "subject")]
    if not any(cell is not None for cells in known for cell in cells):  # files without headers are no mail
        return None
    return FolderTable(columns, ("subject", "body"), ("place", "date"))


def _named(folders: Paths | Mapping[str, Paths | Sequence[Paths]]) -> Iterator[tuple[str, str, bytes]]:
    """Yield each message with the name of its folder and its place."""
    if isinstance(folders, Mapping):
        for name, boxes in folders.items():
            for box in [boxes] if isinstance(boxes, (str, os.PathLike)) else boxes:
                for place, raw in located(box):
                    yield str(name), place, raw
        return
    top = Path(folders)
    if not top.is_dir():
        raise MailboxError(
            f"there is no folder {os.fspath(folders)!r}; give a folder of mailboxes, or a mapping of names to mailboxes"
        )
    for place, raw in located(top):
        yield _folder_of(place, top), place, raw


def _folder_of(place: str, top: Path) -> str:
    """Return the name of the folder or mailbox at the top that a message lies in; INBOX in a Maildir itself."""
    first, *within = Path(place).relative_to(top).parts
    if within:
        return "INBOX" if first in ("cur", "new") else first.removeprefix(".") or first
    file, _, number = first.rpartition(":")
    name = file if file and number.isdigit() and not (top / first).exists() else first
    if name != first or name.lower().endswith(_MAILBOXES):
        return name.split(".")[0] or name
    return top.resolve().name


def _cells(message: Message) -> tuple[Any, ...]:
    """Return date, from, subject and body of a message."""
    moment = arrival(message)
    name, address = sender(message.header("from"))
    known = (address or name).lower() if message.header("from").strip() else None
    texts = "\n".join(" ".join(text.split()) for text in visible_texts(message, BODY_LIMIT))
    return None if moment is None else moment.astimezone(UTC), known, message.header("subject") or None, texts
