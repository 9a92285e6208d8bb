"""What a filter keeps in its store: settings; and the store as a whole: copies, imports, size and age."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, Self

from suffice.spam.buckets.access import Buckets
from suffice.spam.forgetting import DAY, Forgetting
from suffice.spam.lists import Lists
from suffice.spam.store import Store
from suffice.spam.store_file import PATIENCE
from suffice.spam.verdict import Size, Thresholds

if TYPE_CHECKING:  # used by few methods
    from datetime import date

    from suffice.spam.transfer import Transfer

#: age in half-lives at which `expire` removes messages by default; they then count a thousandth
OLD = 10.0
#: ordinal of 1 January 1970, as of `date.toordinal`
_EPOCH = 719_163
#: the first and the last day that `date` can represent, in days since 1970
_FIRST, _LAST = 1 - _EPOCH, 3_652_059 - _EPOCH


class FilterStore:
    """An open store, its settings and copies; parameters as in `SpamFilter`."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        patience: float = PATIENCE,
    ) -> None:
        self._store = Store(path, patience=patience)
        self._clock = clock

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def thresholds(self) -> Thresholds:
        """The probability up to which a message is ham and the one from which it is spam, kept in the store."""
        return Thresholds(*self._store.get("thresholds", ()))

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds) -> None:
        if not isinstance(thresholds, Thresholds):
            raise TypeError(f"thresholds must be Thresholds(ham, spam), but they are {thresholds!r}")
        with self._store.transaction():
            self._store.put("thresholds", [thresholds.ham, thresholds.spam])

    @property
    def buckets(self) -> Buckets:
        """The buckets of ham, kept in the store: a mapping of names to numbers of messages, with methods."""
        return Buckets(self._store, lambda: self._day(None))

    @property
    def lists(self) -> Lists:
        """The lists of allowed and blocked senders, kept in the store."""
        found = self._store.get("lists")
        return Lists(*map(tuple, found)) if found else Lists()

    def allow(self, *entries: str) -> None:
        """Label all mail from these senders ham, whatever its score; entries as in `suffice.spam.lists`.

        Parameters
        ----------
        *entries : str
            Addresses and domains.
        """
        self._put_lists(lambda lists: lists.with_entries("allow", entries))

    def block(self, *entries: str) -> None:
        """Label all mail from these senders spam, whatever its score; entries as in `allow`.

        Parameters
        ----------
        *entries : str
            Addresses and domains.
        """
        self._put_lists(lambda lists: lists.with_entries("block", entries))

    def unlist(self, name: Literal["allow", "block"], *entries: str) -> None:
        """Remove entries from the list of allowed or blocked senders; raise ListError if one is not there.

        Parameters
        ----------
        name : "allow" or "block"
            The list.
        *entries : str
            Addresses and domains.
        """
        self._put_lists(lambda lists: lists.without_entries(name, entries))

    def _put_lists(self, change: Callable[[Lists], Lists]) -> None:
        with self._store.transaction():
            lists = change(self.lists)
            self._store.put("lists", [lists.allow, lists.block])

    @property
    def half_life(self) -> float | None:
        """The number of days after which a message counts half, kept in the store; None (default) to forget nothing."""
        return self._store.forgetting.half_life

    @half_life.setter
    def half_life(self, days: float | None) -> None:
        forgetting = Forgetting(days, self._day(None))
        with self._store.transaction():
            if days != self.half_life:
                self._store.begin_anew(forgetting)

    @property
    def servers(self) -> tuple[str, ...]:
        """The names (authserv-id) of the mail servers whose Authentication-Results are evidence, kept in the store.

        Headers of other servers are ignored, and all headers if no server is named. Messages learned before a change
        are not read again.
        """
        return self._store.servers

    @servers.setter
    def servers(self, names: Sequence[str]) -> None:
        from suffice.spam.authentication import checked_server

        if isinstance(names, str):
            raise TypeError(f"servers must be a list of names, but it is {names!r}; put it in brackets")
        checked_names = list(dict.fromkeys(map(checked_server, names)))
        with self._store.transaction():
            self._store.put("servers", checked_names)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store to a file, also while others use it; the copy is complete or does not exist.

        An older backup is replaced; a file that is not a backup is refused.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        from suffice.spam.backup import back_up  # rarely needed

        back_up(self._store, path)

    @classmethod
    def restore(cls, path: str | os.PathLike[str], backup: str | os.PathLike[str]) -> None:
        """Replace or create the store at `path` by a checked copy of a backup, in one transaction.

        Processes that have the store open see either the old or the new contents. A damaged backup is refused. A store
        that can no longer be opened is kept as NAME.damaged.

        Parameters
        ----------
        path : str or path
            The store.
        backup : str or path
            The backup.
        """
        from suffice.spam.backup import restore

        restore(path, backup)

    def export_text(self, file: BinaryIO, *, progress: Callable[[int], object] | None = None) -> int:
        """Write the whole store as lines of JSON, and return the number of messages and imports.

        `import_text` restores the same store from it. `suffice.spam.transfer` documents the lines.

        Parameters
        ----------
        file : binary file
            The file to write to.
        progress : callable, optional
            Called with the number of messages done.
        """
        from suffice.spam.transfer import export_store  # rarely needed

        with self._store.snapshot():
            return export_store(self._store, file, progress)

    def import_text(
        self, file: BinaryIO, *, words: Iterable[str] = (), progress: Callable[[int], object] | None = None
    ) -> Transfer:
        """Import a text written by `export_text`, `bogoutil -d` or `sa-learn --backup`, all of it or nothing.

        Known messages are left unchanged, and settings are imported only if nothing was learned yet. The counts of
        another filter come without messages, so nothing can be evaluated on them; they replace an earlier import from
        the same program. They are scaled to the ratio of spam and ham that was learned here, so it is best to train
        first, and to import again when more has been learned.

        Parameters
        ----------
        file : binary file
            The text, which may be compressed by gzip, bzip2 or xz.
        words : iterable of str
            Words to look up in a dump of SpamAssassin, which holds hashes of tokens, in addition to the tokens of the
            store.
        progress : callable, optional
            Called with the number of messages done.

        Returns
        -------
        Transfer
            What was imported.

        Raises
        ------
        DumpError
            If a line is damaged (the message names it), or the text has none of these formats.
        """
        from suffice.spam.transfer import import_text

        with self._store.transaction():
            return import_text(self._store, file, self._day(None), words, progress)

    def remove_import(self, program: str) -> bool:
        """Undo the import from "bogofilter" or "spamassassin", and return whether there was one.

        Parameters
        ----------
        program : "bogofilter" or "spamassassin"
            The program that the counts came from.
        """
        from suffice.spam.transfer import remove_import

        with self._store.transaction():
            return remove_import(self._store, program)

    @property
    def imports(self) -> dict[str, dict[str, int]]:
        """The imports per program: how many spams and hams it had learned, and how many tokens were imported."""
        found = self._store.get("imports", {})
        return {program: {key: about[key] for key in ("spam", "ham", "tokens")} for program, about in found.items()}

    def expire(self, days: float | None = None) -> int:
        """Remove messages older than `days`, by default ten half-lives, and return how many were removed.

        Parameters
        ----------
        days : float or None, default None
            The age from which messages are removed; by default ten half-lives.
        """
        if days is None:
            half_life = self.half_life
            if half_life is None:
                raise ValueError("expire needs a number of days, because the filter has no half_life; give one of them")
            days = OLD * half_life
        if not days >= 0:  # also true for NaN
            raise ValueError(f"expire needs a number of days that is at least 0, but it is {days!r}; give another")
        with self._store.transaction():
            return self._store.expire(math.ceil(max(_FIRST, self._day(None) - days)))

    def stats(self) -> Size:
        """Return the number of spams, hams, tokens and unlabelled messages in the store."""
        with self._store.snapshot():
            return Size(*self._store.size())

    def days(self) -> tuple[date, date] | None:
        """Return the first and the last day of the learned messages; None if there are none."""
        from datetime import date

        with self._store.snapshot():
            days = self._store.days()
        if days is None:
            return None
        first, last = (date.fromordinal(_EPOCH + min(max(day, _FIRST), _LAST)) for day in days)
        return first, last

    def _day(self, at: float | None) -> int:
        """Return the day of a time, clipped to the range from the year 1 to today."""
        if at is not None and math.isnan(at):
            raise ValueError(
                "`at` must be a time in seconds since 1970, but it is not a number; leave it out for the present time"
            )
        now = self._clock()
        return int(max(_FIRST * DAY, min(now, now if at is None else at)) // DAY)
