"""What a process of the milter does: keep some stores open, and score one message at a time with one of them."""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from suffice.spam.connected import StoreError
from suffice.spam.filter import SpamFilter
from suffice.spam.milter.private import check_opened, held, open_files
from suffice.spam.verdict import Verdict

#: how many stores a process keeps open; each may cache 32 MB of its file
OPEN_STORES = 8


class Request(NamedTuple):
    """A message to be scored.

    Attributes
    ----------
    raw : bytes
        The message.
    path : path
        Of the store.
    trusted : path, optional
        The folder of the site that a user's own store is in; None for the shared store.
    patience : float
        How many seconds to wait for a store that is locked.
    """

    raw: bytes
    path: Path
    trusted: Path | None
    patience: float


def ready(_: None) -> None:
    """Do nothing; who asks for it knows that this module is loaded."""


#: the open filters of this process by path, each with the file that it is, the one used last at the end
_OPEN: OrderedDict[Path, tuple[tuple[int, int], SpamFilter]] = OrderedDict()


def score(request: Request) -> Verdict:
    """Return the verdict about a message; a store that is not there is not made."""
    try:
        verdict = _filter(request).score(request.raw)
        # only what is shown in headers goes back to the process that asked
        return Verdict(verdict.probability, verdict.label, verdict.log_odds, verdict.evidence[:20], verdict.problem)
    except Exception:
        _drop(request.path)  # the next message opens it anew, which may help
        raise


def _filter(request: Request) -> SpamFilter:
    path = request.path
    if request.trusted is None:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no store {str(path)!r} yet; `suffice spam train` makes it") from None
        return _known(path, (status.st_dev, status.st_ino)) or _opened(request, (status.st_dev, status.st_ino))
    with held(path, request.trusted) as store:
        if store is None:
            raise StoreError(f"the store {str(path)!r} is not there any more, or is not one that may be used")
        if known := _known(path, store.file):
            return known
        before = open_files()
        spam_filter = _opened(request, store.file)
        try:
            spam_filter.stats()  # reads, so that all files are open
            check_opened(before, store)
        except BaseException:
            _drop(path)
            raise
        return spam_filter


def _known(path: Path, file: tuple[int, int]) -> SpamFilter | None:
    """Return the filter that is open for a path, unless another file was put in its place."""
    if path not in _OPEN:
        return None
    found, spam_filter = _OPEN[path]
    if found != file:
        _drop(path)
        return None
    _OPEN.move_to_end(path)
    return spam_filter


def _opened(request: Request, file: tuple[int, int]) -> SpamFilter:
    spam_filter = SpamFilter.open(request.path, patience=request.patience)
    _OPEN[request.path] = file, spam_filter
    if len(_OPEN) > OPEN_STORES:
        _drop(next(iter(_OPEN)))
    return spam_filter


def _drop(path: Path) -> None:
    if path in _OPEN:
        _OPEN.pop(path)[1].close()
