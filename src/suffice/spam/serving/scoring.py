"""The work of a server's process: keep some stores open, and score or learn one message at a time."""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from suffice.spam.bulk import KNOWN_LIMIT
from suffice.spam.connected import ChangedStoreError
from suffice.spam.filter import NotTrainedError, SpamFilter
from suffice.spam.serving.private import Held, check_opened, held, open_files
from suffice.spam.shares import Label
from suffice.spam.verdict import Verdict

#: what to do with a message in a store: learn it as a class, or forget it
Lesson = Label | Literal["forget"]
#: the points from which a message is spam, as in SpamAssassin
REQUIRED = 5.0
#: limit of stores that a process keeps open; each may cache 32 MB of its file
OPEN_STORES = 8


class Request(NamedTuple):
    """A message to score or learn.

    Attributes
    ----------
    raw : bytes
        The message.
    shared : str
        Path of the shared store, as str because Path objects are slow to pickle.
    own : str, optional
        Path of the recipient's own store, which is used if it exists and passes the checks of `held`.
    trusted : str
        The site's folder that contains the users' own stores.
    patience : float
        How many seconds to wait for a locked store.
    reasons : int
        Number of strongest tokens in the verdict's evidence.
    lesson : "spam", "ham" or "forget", optional
        What `learn` does with the message.
    """

    raw: bytes
    shared: str
    own: str | None
    trusted: str
    patience: float = 5.0
    reasons: int = 20
    lesson: Lesson | None = None


def ready(_: None) -> None:
    """Do nothing; an answer shows that this module is imported."""


#: the open filters of this process by path, each with the device and inode of its file; the most recently used is last
_OPEN: OrderedDict[str, tuple[tuple[int, int], SpamFilter]] = OrderedDict()


class Judged(NamedTuple):
    """A verdict, and its place on the scale of SpamAssassin and rspamd."""

    verdict: Verdict
    points: float

    @classmethod
    def error(cls, problem: str) -> Judged:
        """Return the result for a message that could not be judged."""
        return cls(Verdict.error(problem), 0.0)


def judge(request: Request) -> Judged:
    """Return the verdict on a message and its points; a store that does not exist is not created."""
    with _filter(request) as spam_filter:
        try:
            verdict = spam_filter.score(request.raw)
        except ChangedStoreError:
            verdict = spam_filter.score(request.raw)
        _spare_memory(spam_filter)
        if verdict.label == "error":
            return Judged(verdict, 0.0)
        # only the evidence to be shown is sent back; sorting all of it is slow
        reasons = verdict.evidence[: request.reasons] if request.reasons else []
        plain = Verdict(
            verdict.probability,
            verdict.label,
            verdict.log_odds,
            reasons,
            listed=verdict.listed,
            buckets={verdict.bucket: verdict.buckets[verdict.bucket]} if verdict.bucket else {},
        )
        assert spam_filter._known_basis is not None  # set when the verdict was made
        return Judged(plain, points(verdict, spam_filter._known_basis[1].thresholds.spam))


def points(verdict: Verdict, threshold: float) -> float:
    """Return 5 + logit p − logit T to one decimal: at least 5 for spam, less for all else.

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
    """Yield the filter for a request; after an error it is closed, so that the next message opens it again."""
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
        raise FileNotFoundError(f"there is no store {path!r} yet; create it with `suffice spam train`") from None
    file = status.st_dev, status.st_ino
    return _known(path, file) or _opened(path, file, request.patience)


def _own(request: Request, path: str, store: Held) -> SpamFilter:
    if known := _known(path, store.file):
        return known
    before = open_files()
    spam_filter = _opened(path, store.file, request.patience)
    spam_filter.stats()  # reads from the store, so that all its files are open
    check_opened(before, store)
    return spam_filter


def _known(path: str, file: tuple[int, int]) -> SpamFilter | None:
    """Return the open filter of a path, or None if there is none or its file was replaced."""
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
    """Limit the token weights of all filters together to `KNOWN_LIMIT`, keeping those used most recently."""
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
