"""The buckets of a filter, as its user sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from suffice.spam.buckets.confusion import Confusion, confusion
from suffice.spam.buckets.kinds import Kinds, rows_of
from suffice.spam.buckets.names import BucketError, checked_name
from suffice.spam.isolation import Unread, isolated
from suffice.spam.message import identity
from suffice.spam.reading import lines_of
from suffice.spam.store import Store
from suffice.spam.workers import checked

if TYPE_CHECKING:
    from suffice.spam.shares import Label


class Buckets(Mapping[str, int]):
    r"""The buckets of a filter: a mapping of names to numbers of messages.

    Examples
    --------
    >>> from suffice.spam import SpamFilter
    >>> with SpamFilter() as spam_filter:
    ...     for i in range(9):
    ...         receipt = b"From: shop@example.com\nSubject: Order %d\n\nYour receipt, number %d" % (i, i)
    ...         minutes = b"From: ann@example.org\nSubject: Meeting %d\n\nThe minutes of meeting %d" % (i, i)
    ...         changed = spam_filter.train(receipt, "ham", bucket="receipts")
    ...         changed = spam_filter.train(minutes, "ham", bucket="work")
    ...     verdict = spam_filter.score(b"From: shop@example.com\nSubject: Order\n\nYour receipt, number 99")
    ...     dict(spam_filter.buckets), max(verdict.buckets, key=verdict.buckets.get)
    ({'receipts': 9, 'work': 9}, 'receipts')
    """

    def __init__(self, store: Store, today: Callable[[], int]) -> None:
        self._store = store
        self._today = today

    def __getitem__(self, name: str) -> int:
        return self._counts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts())

    def __len__(self) -> int:
        return len(self._counts())

    def _counts(self) -> dict[str, int]:
        with self._store.snapshot():
            return self._store.buckets.counts()

    def add(self, name: str) -> None:
        """Create an empty bucket unless it exists; training a message to a bucket also creates it."""
        name = checked_name(name)
        with self._store.transaction():
            self._store.buckets.make(name)

    def rename(self, name: str, new: str) -> None:
        """Rename a bucket; the new name must not be that of another bucket."""
        new = checked_name(new)
        with self._store.transaction():
            self._store.buckets.rename(name, new)

    def remove(self, name: str) -> int:
        """Remove a bucket, and return its number of messages, which stay learned as ham."""
        with self._store.transaction():
            return self._store.buckets.remove(name)

    def of(self, raw: bytes) -> str:
        """Return the bucket that a message was trained to; an empty string if none."""
        found = isolated(identity, checked(raw))
        if isinstance(found, Unread):
            return ""  # an unreadable message cannot have been learned
        with self._store.snapshot():
            return self._store.buckets.of([found]).get(found, "")

    def reasons(self, raw: bytes, name: str) -> list[tuple[str, float]]:
        """Return the contribution of each token to the log-odds of a bucket, or of none (""), the strongest first.

        The odds are those of the bucket against all other ham. The list is empty if the message cannot be read, or the
        bucket has no messages.
        """
        lines = isolated(partial(lines_of, servers=self._store.servers), checked(raw))
        if isinstance(lines, Unread):
            return []
        with self._store.snapshot():
            kinds = Kinds.of(self._store, self._today())
            if name not in kinds.names:
                return []
            seen, columns = rows_of(self._store, kinds, lines.split("\n"))
            parts = kinds.evidence(seen, columns, kinds.names.index(name))
        return sorted(zip(seen, parts, strict=True), key=lambda part: -abs(part[1]))

    def evaluate(self, progress: Callable[[int], object] | None = None) -> Confusion:
        """Return the confusion matrix of all learned hams over the buckets, each judged leave-one-out.

        It is not checked whether a ham would have been called spam: `SpamFilter.evaluate` does that.

        Parameters
        ----------
        progress : callable, optional
            Called with the number of messages done.
        """
        with self._store.snapshot():
            return confusion(self._store, self._today(), progress)


def checked_bucket(bucket: str | None, labels: Label | object, only_errors: bool) -> str | None:
    """Return the bucket to train messages to, "" for none, None to leave them unchanged; raise if not allowed."""
    if bucket is None:
        return None
    if labels != "ham":
        raise BucketError(f"a bucket is for ham, but the label is {labels!r}; give 'ham' for all messages")
    if only_errors:
        raise BucketError("only_errors is for spam and ham, not for buckets; leave out only_errors or bucket")
    return checked_name(bucket) if bucket else ""
