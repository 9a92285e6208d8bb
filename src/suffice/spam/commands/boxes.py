"""The mailboxes given to commands: any kind, standard input as `-`, lines, or one message as `BOX:NUMBER`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import tee, zip_longest
from pathlib import Path
from typing import TypeVar

from suffice.spam.beginning.finding import is_unwanted
from suffice.spam.mailboxes import IMAP_ADDRESS, MailboxError, located, located_in, located_lines
from suffice.spam.shares import Label

#: the place of a message, and the message
Entry = tuple[str, bytes]
_NUMBERED = re.compile(r"(.+):([0-9]{1,18})", re.DOTALL)
_IMAP_SERVER = re.compile(r"imaps?:/+[^/]*", re.IGNORECASE)  # a number after it is a port
_T = TypeVar("_T")


def check(boxes: Iterable[str], *, lines: bool = False) -> None:
    """Raise unless every box exists, and warn of those without messages, before any work is done."""
    boxes = list(boxes)
    if boxes.count("-") > 1:
        raise MailboxError("standard input can be read once, but '-' is given more than once")
    if "" in boxes:  # an empty path would be the current folder
        raise MailboxError("the name of a box is empty; give an mbox, a Maildir, a folder or a message")
    for box in boxes:
        if box != "-" and not IMAP_ADDRESS.match(box) and not Path(_place(box)[0]).exists():
            raise MailboxError(
                f"there is no file or folder {box!r}; give an mbox, a Maildir, a folder, a message or '-' for standard "
                "input"
            )
    for box in boxes:
        if _is_kept(box) and next(entries([box], lines=lines), None) is None:
            from suffice.terminal.mistakes import say

            say("warning", f"there are no messages in {box!r}")


def entries(
    boxes: Iterable[str], *, lines: bool = False, skip: Callable[[Path], bool] | None = None
) -> Iterator[Entry]:
    """Yield the messages of boxes with their places; `skip` as in `located`."""
    for box in boxes:
        path, wanted = _place(box)
        if wanted is None:
            yield from _all(path, lines, skip)
            continue
        for number, entry in enumerate(_all(path, lines, None), 1):
            if entry[0] == box or (number == wanted and entry[0] == path):
                yield entry
                break
        else:
            raise MailboxError(f"there is no message number {wanted} in {path!r}")


def in_classes(
    spam: Iterable[str] | None,
    ham: Iterable[str] | None,
    others: Iterable[str] | None = None,
    *,
    lines: bool = False,
    tell: bool = True,
) -> tuple[Iterator[Entry], Iterator[Entry]]:
    """Return the messages of the spam boxes and of the ham boxes, as `entries` does.

    A given box may lie within another one, as `Maildir/.Junk` in `Maildir`: it is then not read as part of the outer
    one. Folders for spam and trash are not read as part of a ham box either, which is reported on standard error unless
    `tell` is false.
    """
    spam, ham, others = list(spam or ()), list(ham or ()), list(others or ())
    whole = [{os.path.realpath(box) for box in boxes if _place(box)[1] is None} - {"-"} for boxes in (spam, ham)]
    if both := sorted(whole[0] & whole[1]):
        raise MailboxError(f"{both[0]!r} is given as spam and as ham; give it as one of them")

    def given(boxes: Iterable[str]) -> frozenset[str]:
        return frozenset(os.path.realpath(_place(box)[0]) for box in boxes if box != "-")

    apart_from_spam, apart_from_ham = given([*ham, *others]), given([*spam, *others])

    def skip_in_ham(path: Path) -> bool:
        if os.path.realpath(path) in apart_from_ham:
            return True
        if is_unwanted(path.name):
            if tell:
                _tell_left_out(path)
            return True
        return False

    return (
        entries(spam, lines=lines, skip=lambda path: os.path.realpath(path) in apart_from_spam),
        entries(ham, lines=lines, skip=skip_in_ham),
    )


def _tell_left_out(path: Path) -> None:
    from suffice.spam.plain import one_line
    from suffice.terminal.mistakes import say

    place = one_line(str(path), 1000)
    say(
        "note",
        f"{place} is not read as ham, because it is a folder for spam or trash; give it as an argument to read it",
    )


def alternating(spam: Iterable[Entry], ham: Iterable[Entry]) -> Iterator[tuple[Entry, Label]]:
    """Yield messages with their labels, alternating between the classes as long as both have messages."""
    for one, other in zip_longest(spam, ham):
        if one is not None:
            yield one, "spam"
        if other is not None:
            yield other, "ham"


def split(items: Iterable[_T], raw: Callable[[_T], bytes]) -> tuple[Iterator[bytes], Iterator[_T]]:
    """Return an iterator over the messages of items, and one over the items; either may be consumed ahead."""
    ahead, behind = tee(items)
    return map(raw, ahead), behind


def _is_kept(box: str) -> bool:
    """Return whether a box is on disk, so that it can be read more than once."""
    path = Path(_place(box)[0])
    return box != "-" and (path.is_file() or path.is_dir())


def _place(box: str) -> tuple[str, int | None]:
    """Return the path of a box, and the number of the single message requested, or None."""
    numbered = _NUMBERED.fullmatch(box)
    if numbered is None or Path(box).exists() or _IMAP_SERVER.fullmatch(box):
        return box, None
    return numbered[1], int(numbered[2])


def _all(path: str, lines: bool, skip: Callable[[Path], bool] | None) -> Iterator[Entry]:
    if path == "-":
        source = sys.stdin.buffer
        yield from located_lines(source, "-") if lines else located_in(source, "-")
    elif not lines:
        yield from located(path, skip)
    elif Path(path).is_dir():
        raise MailboxError(f"with --lines every line of a file is a message, but {path!r} is a folder")
    else:
        with Path(path).open("rb") as file:
            yield from located_lines(file, path)
