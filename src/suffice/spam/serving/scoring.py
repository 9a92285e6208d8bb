"""What a process of a server does: keep some stores open, and score or learn one message at a time with one of them."""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from suffice.spam.bulk import KNOWN_LIMIT
from suffice.spam.filter import NotTrainedError, SpamFilter
from suffice.spam.serving.private import Held, check_opened, held, open_files
from suffice.spam.shares import Label
from suffice.spam.store import ChangedStoreError
from suffice.spam.verdict import Verdict

#: what is to become of a message in a store: learned as of a class, or forgotten
Lesson = Label | Literal["forget"]
#: the points from which on a message is spam, as in SpamAssassin
REQUIRED = 5.0
#: how many stores a process keeps open; each may cache 32 MB of its file
OPEN_STORES = 8


class Request(NamedTuple):
    """A message to be scored or learned.

    Attributes
    ----------
    raw : bytes
        The message.
    shared : str
        The path of the store for all; text, since objects for paths take long to send.
    own : str, optional
        Where the recipient's own store would be, which is used if it is there and may be.
    trusted : str
        The folder of the site that users' own stores are in.
    patience : float
        How many seconds to wait for a store that is locked.
    reasons : int
        How many of the strongest tokens the verdict names.
    lesson : "spam", "ham" or "forget", optional
        What `learn` does with it.
    """

    raw: bytes
    shared: str
    own: str | None
    trusted: str
    patience: float = 5.0
    reasons: int = 20
    lesson: Lesson | None = None


def ready(_: None) -> None:
    """Do nothing; who asks for it knows that this module is loaded."""


#: the open filters of this process by path, each with the file that it is, the one used last at the end
_OPEN: OrderedDict[str, tuple[tuple[int, int], SpamFilter]] = OrderedDict()


class Judged(NamedTuple):
    """A verdict, and its place on the scale of SpamAssassin and rspamd."""

    verdict: Verdict
    points: float

    @classmethod
    def error(cls, problem: str) -> Judged:
        """Make that of a message that could not be judged."""
        return cls(Verdict.error(problem), 0.0)


def judge(request: Request) -> Judged:
    """Return the verdict about a message, and the points that it gets; a store that is not there is not made."""
    with _filter(request) as spam_filter:
        try:
            verdict = spam_filter.score(request.raw)
        except ChangedStoreError:
            verdict = spam_filter.score(request.raw)
        _spare_memory(spam_filter)
        if verdict.label == "error":
            return Judged(verdict, 0.0)
        # only what is shown goes back to the process that asked; to put the evidence in order takes long
        reasons = verdict.evidence[: request.reasons] if request.reasons else []
        plain = Verdict(
            verdict.probability,
            verdict.label,
            verdict.log_odds,
            reasons,
            listed=verdict.listed,
            buckets={verdict.bucket: verdict.buckets[verdict.bucket]} if verdict.bucket else {},
        )
        assert spam_filter._known_basis is not None  # which the verdict was made on
        return Judged(plain, points(verdict, spam_filter._known_basis[1].thresholds.spam))


def points(verdict: Verdict, threshold: float) -> float:
    """Return 5 + logit p − logit T to one decimal: spam has 5 or more, all else less.

    Examples
    --------
    >>> from suffice.spam import Verdict
    >>> from suffice.spam.serving.scoring import points
    >>> points(Verdict(0.98, "spam", 0.0, []), 0.9), points(Verdict(0.02, "ham", 0.0, []), 0.9)
    (6.7, -1.1)
    """
    found = round(REQUIRED + _logit(verdict.probability) - _logit(threshold), 1)
    # rounding must not move a message over the threshold
    return max(REQUIRED, found) if verdict.label == "spam" else min(REQUIRED - 0.1, found)


def _logit(p: float) -> float:
    p = min(max(p, 1e-9), 1.0 - 1e-9)
    return math.log(p / (1.0 - p))


def learn(request: Request) -> bool:
    """Learn or forget a message, and return whether anything changed."""
    with _filter(request) as spam_filter:
        if request.lesson != "forget":
            assert request.lesson is not None
            return spam_filter.train(request.raw, request.lesson)
        with suppress(NotTrainedError):
            spam_filter.untrain(request.raw)
            return True
        return False


@contextmanager
def _filter(request: Request) -> Iterator[SpamFilter]:
    """Give the filter for a request; after an error the next message opens it anew, which may help."""
    path = request.shared
    try:
        if request.own is not None:
            with held(Path(request.own), Path(request.trusted)) as store:
                if store is not None:
                    path = request.own
                    yield _own(request, path, store)
                    return
        yield _shared(request)
    except Exception:
        _drop(path)
        raise


def _shared(request: Request) -> SpamFilter:
    path = request.shared
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no store {path!r} yet; `suffice spam train` makes it") from None
    file = status.st_dev, status.st_ino
    return _known(path, file) or _opened(path, file, request.patience)


def _own(request: Request, path: str, store: Held) -> SpamFilter:
    if known := _known(path, store.file):
        return known
    before = open_files()
    spam_filter = _opened(path, store.file, request.patience)
    spam_filter.stats()  # reads, so that all files are open
    check_opened(before, store)
    return spam_filter


def _known(path: str, file: tuple[int, int]) -> SpamFilter | None:
    """Return the filter that is open for a path, unless another file was put in its place."""
    if path not in _OPEN:
        return None
    found, spam_filter = _OPEN[path]
    if found != file:
        _drop(path)
        return None
    _OPEN.move_to_end(path)
    return spam_filter


def _opened(path: str, file: tuple[int, int], patience: float) -> SpamFilter:
    spam_filter = SpamFilter.open(path, patience=patience)
    _OPEN[path] = file, spam_filter
    if len(_OPEN) > OPEN_STORES:
        _drop(next(iter(_OPEN)))
    return spam_filter


def _spare_memory(used: SpamFilter) -> None:
    """Let all filters together keep the weights of as many tokens as one may, those that were used last."""
    if len(_OPEN) < 2:
        return
    left = KNOWN_LIMIT - used.known_tokens
    for _, other in reversed(_OPEN.values()):
        if other is not used:
            left -= other.known_tokens
            if left < 0:
                other.forget_tokens()


def _drop(path: str) -> None:
    if path in _OPEN:
        _OPEN.pop(path)[1].close()
