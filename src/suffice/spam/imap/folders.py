"""The watched folders of an account, and the purpose of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Folders:
    """The watched folders: the inbox, and those for spam, for unsure mail (optional), and for filed ham.

    Mail that is clearly of a bucket is moved to the folder of the bucket, if it has one.
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
            raise ValueError(f"a folder can have one purpose only, but {twice[0]!r} is given for several; choose one")

    @property
    def held(self) -> tuple[str, ...]:
        """The folders that a watch moves messages to."""
        return (self.junk, *([] if self.unsure is None else [self.unsure]), *self.buckets.values())

    def bucket_of(self, folder: str | None) -> str | None:
        """Return the bucket of a folder, or None."""
        return next((name for name, own in self.buckets.items() if own == folder), None)

    @property
    def all(self) -> tuple[str, ...]:
        """All folders in the order of checking: targets first, so that messages moved from the inbox are seen there."""
        return (*self.held, *self.ham, self.inbox)
