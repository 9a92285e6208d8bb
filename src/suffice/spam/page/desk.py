"""The thread that owns the filter and works in small batches, so that pages never wait for long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar

from suffice.spam.bounded import BUDGET, Bounded
from suffice.spam.connected import StoreError
from suffice.spam.filter import NotTrainedError, SpamFilter
from suffice.spam.isolation import Unread, isolated
from suffice.spam.mailboxes import located
from suffice.spam.page.corrections import Action, Change, Corrections
from suffice.spam.page.excerpts import Excerpt, excerpt_of
from suffice.spam.page.index import Entry, Index, Label, Mailbox, Stamp
from suffice.spam.page.text import ShownMessage
from suffice.spam.page.words import folder_name
from suffice.spam.plain import one_line
from suffice.spam.verdict import Verdict

#: approximate limits of messages, and of bytes, scored per batch, during which a page may have to wait
BATCH, BATCH_BYTES = 24, 2_000_000
#: seconds between checks of the store for changes by others
INTERVAL = 1.0
#: seconds to wait for another process that writes to the store, during which all pages may have to wait
PATIENCE = 5.0

P = ParamSpec("P")
T = TypeVar("T")


def stamp_of(store: Path) -> Stamp:
    """Return a stamp that changes whenever any process writes to the store: times and sizes of its files."""
    numbers: list[int] = []
    for path in (store, store.with_name(store.name + "-wal")):
        try:
            status = os.stat(path)
            numbers += (status.st_ino, status.st_mtime_ns, status.st_size)
        except FileNotFoundError:
            numbers += (0, 0, 0)
    return tuple(numbers)


def file_of(store: Path) -> tuple[int, int]:
    """Return the identity of the store's file, whatever its contents; raise StoreError if there is none."""
    try:
        status = os.stat(store)
    except FileNotFoundError:
        raise StoreError(
            f"the store {str(store)!r} no longer exists; put it back, or start the page again with another --store"
        ) from None
    return status.st_dev, status.st_ino


class Desk:
    """The messages and their scores, which a background task computes and keeps up to date.

    Parameters
    ----------
    store : path
        The store of the filter, created if it does not exist.
    mailboxes : list of paths
        The mailboxes with the messages.
    """

    def __init__(self, store: Path, mailboxes: list[Path]) -> None:
        self.store, self.mailboxes = store, mailboxes
        self.index = Index(self._excerpt)
        self.corrections = Corrections()
        self.complete = False
        #: time when the mailboxes were last read completely
        self.finished: datetime | None = None
        self.problems: list[str] = []
        #: time when the store was found replaced by another file
        self.replaced: datetime | None = None
        self._parts = [(path, Mailbox(self.index)) for path in mailboxes]
        self._bounded = Bounded(BUDGET)
        self._again = asyncio.Event()
        self._worker = ThreadPoolExecutor(1, "suffice-desk")
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the store, and start reading the mailboxes."""
        self._filter = await self._do(SpamFilter.open, self.store, PATIENCE, BUDGET)
        self._file = file_of(self.store)
        self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Stop reading, and close the store."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._do(self._filter.close)
        await self._do(self._bounded.close)
        self._worker.shutdown()
        self.index.close()

    async def ask(self, question: Callable[[SpamFilter], T]) -> T:
        """Return the result of a function called with the filter in its thread."""
        return await self._do(lambda: question(self._current()))

    async def verdict(self, entry: Entry) -> Verdict:
        """Return the current verdict on a message."""
        return await self._do(self._verdict, entry)

    async def contents(self, entry: Entry) -> ShownMessage:
        """Return the contents of a message as shown on the page."""
        return await self._do(self._contents, entry)

    async def train(self, entry: Entry, label: Label | None, bucket: str | None = None) -> Change:
        """Learn a message with a class and a bucket, or forget its training; raise NotTrainedError if there was none.

        An empty bucket removes it from its bucket, and None leaves it there.
        """

        def learn(spam_filter: SpamFilter) -> Change:
            raw = self.index.raw(entry)
            change = Change(entry, entry.label, spam_filter.state_of(raw), label)
            if label is not None:
                spam_filter.train(raw, label, bucket=bucket if label == "ham" else None)
            elif change.before.label is None:  # unlabelled mail that is counted was not trained by a person
                raise NotTrainedError(f"message {entry.number} was never trained")
            else:
                spam_filter.untrain(raw)
            return change

        return await self.ask(learn)

    async def undo(self, entry: Entry) -> bool:
        """Take back what was trained of a message on this page; return False if nothing was."""
        now = await self.ask(lambda spam_filter: spam_filter.state_of(self.index.raw(entry)))
        before = None if now.label is None else self.corrections.before(now)
        if before is None:
            return False
        await self.ask(lambda spam_filter: spam_filter.restore_states([before]))
        self.corrections.remove_message(now.digest)
        return True

    async def undo_action(self, action: Action) -> None:
        """Make the messages of an action what they were before it, all of them or none."""
        states = [change.before for change in reversed(action.changes)]
        await self.ask(lambda spam_filter: spam_filter.restore_states(states))
        self.corrections.remove(action)

    async def refresh(self, entries: list[Entry]) -> None:
        """Score the messages again whose scores are out of date; raise StoreError if the store is gone."""
        stamp = stamp_of(self.store)
        old = [entry for entry in entries if entry.stamp != stamp]
        if old or file_of(self.store) != self._file:
            await self._do(self._score, old)

    def read_again(self) -> None:
        """Start reading the mailboxes again, unless they are being read."""
        if self.complete:
            self.complete = False
            self._again.set()

    async def _do(self, function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, lambda: function(*args, **options))

    async def _work(self) -> None:
        while True:
            self._again.clear()
            self.problems = []
            for path, mailbox in self._parts:
                try:
                    places = ((folder_name(path, place), raw) for place, raw in located(path))
                    await self._read_all(places, mailbox)
                except Exception as error:  # no error may affect the other mailboxes and the page
                    self.problems.append(one_line(str(error) or repr(error), 1_000))
            self.complete, self.finished = True, datetime.now()
            await self._keep_up()

    async def _read_all(self, unread: Iterator[tuple[str, bytes]], mailbox: Mailbox) -> None:
        mailbox.begin()
        while await self._do(self._read, unread, mailbox):
            pass
        mailbox.finish()

    async def _keep_up(self) -> None:
        """Score all messages again whenever the store has changed, until the mailboxes are to be read again."""
        done: Stamp = ()
        while not self._again.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._again.wait(), INTERVAL)
            stamp = stamp_of(self.store)
            if stamp == done or self._again.is_set():
                continue
            # a store locked by another process is tried again; pages report the error
            with suppress(OSError, ValueError):
                for start in range(0, len(self.index.entries), BATCH):
                    await self.refresh(self.index.entries[start : start + BATCH])
                done = stamp

    def _read(self, unread: Iterator[tuple[str, bytes]], mailbox: Mailbox) -> bool:
        """Add a batch of messages, and return whether there were any."""
        taken: list[Entry] = []
        size = 0
        for folder, raw in islice(unread, BATCH):
            taken.append(mailbox.take(raw, folder))
            size += len(raw)
            if size >= BATCH_BYTES:
                break
        self._score([entry for entry in taken if not entry.stamp])
        return bool(taken)

    def _score(self, entries: list[Entry]) -> None:
        spam_filter = self._current()
        stamp = stamp_of(self.store)  # taken before scoring, so that a write meanwhile makes the scores out of date
        verdicts = spam_filter.score_many(map(self.index.raw, entries), processes=1)
        for entry, verdict in zip(entries, verdicts, strict=True):
            raw = self.index.raw(entry)
            entry.take(verdict, spam_filter.label_of(raw), stamp, spam_filter.buckets.of(raw))

    def _excerpt(self, raw: bytes) -> Excerpt:
        return self._bounded.ask(excerpt_of, raw)

    def _contents(self, entry: Entry) -> ShownMessage:
        contents = isolated(partial(self._bounded.ask, ShownMessage.of), self.index.raw(entry))
        return ShownMessage.unread(contents.reason) if isinstance(contents, Unread) else contents

    def _verdict(self, entry: Entry) -> Verdict:
        spam_filter = self._current()
        stamp, raw = stamp_of(self.store), self.index.raw(entry)
        verdict = spam_filter.score(raw)
        entry.take(verdict, spam_filter.label_of(raw), stamp, spam_filter.buckets.of(raw))
        return verdict

    def _current(self) -> SpamFilter:
        """Return the filter of the store's current file, reopened if replaced: training the old file would be lost."""
        file = file_of(self.store)
        if file != self._file:
            found = SpamFilter.open(self.store, PATIENCE, BUDGET)
            self._filter.close()
            self._filter, self._file, self.replaced = found, file, datetime.now()
            self.corrections.clear()  # they were made in another store
        return self._filter
