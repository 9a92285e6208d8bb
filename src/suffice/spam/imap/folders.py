"""The folders of an account that are watched, and what each is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Folders:
    """Which folders are watched: new mail comes in, spam goes out, unsure mail where it is wanted, ham is filed.

    Mail that is clearly of a bucket goes to the folder of the bucket, if it has one.
    """

    inbox: str = "INBOX"
    junk: str = "Junk"
    unsure: str | None = None
    ham: tuple[str, ...] = ()
    #: the folders of buckets, by name
    buckets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = self.all
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise ValueError(f"a folder can serve one purpose only, but {twice[0]!r} is given for more; choose one")

    @property
    def held(self) -> tuple[str, ...]:
        """Those that a watch moves messages to."""
        return (self.junk, *([] if self.unsure is None else [self.unsure]), *self.buckets.values())

    def bucket_of(self, folder: str | None) -> str | None:
        """Return the bucket whose folder it is, or None."""
        return next((name for name, own in self.buckets.items() if own == folder), None)

    @property
    def all(self) -> tuple[str, ...]:
        """All of them, in the order in which they are looked at: what has left the inbox is seen there first."""
        return (*self.held, *self.ham, self.inbox)
