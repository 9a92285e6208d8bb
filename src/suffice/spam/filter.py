"""A personal spam filter that is trained on messages and returns verdicts."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat, tee
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, Self, TypeVar

from suffice.spam.basis import Basis
from suffice.spam.bounded import Bounded
from suffice.spam.buckets.access import Buckets, checked_bucket
from suffice.spam.buckets.kinds import Sorting
from suffice.spam.bulk import KnownWeights, Lesson, lesson, lines_of_chunk
from suffice.spam.connected import StoreError
from suffice.spam.evaluation import Evaluation
from suffice.spam.forgetting import DAY, Forgetting
from suffice.spam.isolation import Skips, Unread, UnreadableError, isolated, readable
from suffice.spam.labels import checked_label, labelled
from suffice.spam.leave_one_out import sample_of
from suffice.spam.lists import Lists
from suffice.spam.message import digest
from suffice.spam.reading import Reading, Servers, lines_of, readings
from suffice.spam.shares import Known, Label
from suffice.spam.store import PATIENCE, Store
from suffice.spam.tuning import Tuning, checked_cost, tuned
from suffice.spam.unlabeled import Unlabeled, learn_unlabeled
from suffice.spam.verdict import Size, Thresholds, Training, Verdict
from suffice.spam.workers import Chunk, checked, spread

if TYPE_CHECKING:  # used by few methods
    from datetime import date

    from suffice.spam.transfer import Transfer

T = TypeVar("T")

#: limit of messages that `train_many` learns in one transaction
BATCH = 1024
#: age in half-lives at which `expire` removes messages by default; they then count a thousandth
OLD = 10.0
#: ordinal of 1 January 1970, as of `date.toordinal`
_EPOCH = 719_163
#: the first and the last day that `date` can represent, in days since 1970
_FIRST, _LAST = 1 - _EPOCH, 3_652_059 - _EPOCH


class NotTrainedError(LookupError):
    """The message to untrain or retrain was never trained."""


class SpamFilter:
    r"""A spam filter with its own store.

    Several processes may score while one trains. A filter belongs to the thread and the process that opened it; only
    `interrupt` may be called from other threads.

    Parameters
    ----------
    path : str or path, optional
        File of the store, one per user, created if it does not exist; in memory if None.
    clock : callable, optional
        Function that returns the time in seconds since 1970.
    patience : float
        How many seconds to wait for another process that writes to the store, before raising StoreError.
    budget : float, optional
        Time limit in seconds for reading one message in `score`, `score_many`, `train` and `retrain`. Messages are then
        read in a separate process, which is killed if one takes longer; that message counts as unreadable. If None,
        messages are read in this process, or in several processes, without a time limit.

    Examples
    --------
    >>> from suffice.spam import SpamFilter
    >>> with SpamFilter() as spam_filter:
    ...     training = spam_filter.train_many([b"\nwin money now", b"\nlunch at noon?"], ["spam", "ham"])
    ...     verdict = spam_filter.score(b"\nmoney, now!")
    >>> training.learned, verdict.log_odds > 0, verdict.evidence[0][0]
    (2, True, 'money')
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        patience: float = PATIENCE,
        budget: float | None = None,
    ) -> None:
        self._store = Store(path, patience=patience)
        self._clock = clock
        self._bounded = None if budget is None else Bounded(budget)
        self._known_basis: tuple[object, Basis] | None = None
        self._known_settings: tuple[object, Servers, Lists] | None = None
        self._known_weights: KnownWeights | None = None
        self._sorting: Sorting | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], patience: float = PATIENCE, budget: float | None = None) -> Self:
        """Open the store at `path`, creating it if it does not exist."""
        return cls(path, patience=patience, budget=budget)

    def train(
        self,
        raw: bytes,
        label: Label,
        *,
        bucket: str | None = None,
        only_errors: bool = False,
        at: float | None = None,
    ) -> bool:
        """Learn a message, and return whether anything changed.

        A message already learned with this class is left unchanged; one learned with the other class is moved.

        Parameters
        ----------
        raw : bytes
            The message as received.
        label : "spam" or "ham"
            Its class.
        bucket : str, optional
            For ham, the bucket that it belongs to, created if it does not exist; "" to remove it from its bucket; None
            to leave it in its bucket. A message that becomes spam leaves its bucket.
        only_errors : bool
            Learn it only if it was learned with the other class, or its verdict is not `label` (unsure is an error).
        at : float, optional
            Arrival time in seconds since 1970, used if there is a half-life; now by default.

        Raises
        ------
        UnreadableError
            If the message cannot be read.
        """
        bucket = checked_bucket(bucket, label, only_errors)
        message = self._lesson(raw, label)
        with self._store.transaction():
            return self._learn(message, only_errors, self._day(at), bucket).changed

    def train_many(
        self,
        raws: Iterable[bytes],
        labels: Label | Iterable[Label],
        *,
        bucket: str | None = None,
        only_errors: bool = False,
        at: float | None = None,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
        skipped: Callable[[int, str], object] | None = None,
    ) -> Training:
        """Learn many messages, in transactions of about a thousand; an interruption or error keeps the committed ones.

        Parameters
        ----------
        raws : iterable of bytes
            The messages; a few thousand of them are in memory at a time.
        labels : "spam", "ham" or an iterable of them
            One class for all messages, or one per message.
        bucket, only_errors, at
            As in `train`; with `only_errors` the order matters, and with a bucket all messages must be ham.
        processes : int, optional
            Number of processes that read messages; all cores by default.
        progress : callable, optional
            Called with the number of messages done after each transaction; the first transactions are smaller.
        skipped : callable, optional
            Called with the number (from 0) and the reason for each message that cannot be read.

        Returns
        -------
        Training
            How many were learned, moved, already known or already right, and how many could not be read.
        """
        bucket = checked_bucket(bucket, labels, only_errors)
        day = self._day(at)
        total, done, skips = Training(), 0, Skips(skipped)
        for batch in spread(partial(lesson, self.servers), labelled(raws, labels), processes, most=BATCH):
            with self._store.transaction():
                total += self._learn(batch, only_errors, day, bucket)
            for number, reason in batch.skipped:
                skips.skip(done + number, reason)
            done += len(batch.messages) + len(batch.skipped)
            if progress is not None:
                progress(done)
        return replace(total, skipped=skips.count)

    def train_unlabeled(
        self,
        raws: Iterable[bytes],
        *,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
        skipped: Callable[[int, str], object] | None = None,
    ) -> Unlabeled:
        """Learn from unlabelled messages by EM; parameters as in `train_many`.

        The messages stay in the store, and the classes of those given earlier are estimated again. A label that one of
        them gets later, by `train`, replaces the estimate. An interruption leaves a consistent store.

        Returns
        -------
        Unlabeled
            How many were new and already known, the expected number of spams among the new ones, and the number of
            iterations.

        Raises
        ------
        ValueError
            If fewer than 25 labelled spams or 25 labelled hams were learned.
        """
        skips = Skips(skipped)
        read = skips.left(readings(raws, processes, self.servers))
        found = learn_unlabeled(self._store, self._basis, read, self._day(None), progress)
        return replace(found, skipped=skips.count)

    def untrain(self, raw: bytes) -> Known:
        """Undo the training of a message exactly, and return its class, "unlabeled" if it had none.

        Raises
        ------
        NotTrainedError
            If it was never trained.
        """
        identity = readable(_identity, checked(raw))
        with self._store.transaction():
            label = self._known(identity)
            self._store.remove([identity])
        return label

    def retrain(self, raw: bytes, label: Label) -> bool:
        """Move a trained message to a class, and return whether this changed its class.

        Raises
        ------
        NotTrainedError
            If it was never trained.
        """
        message = self._lesson(raw, label)
        with self._store.transaction():
            self._known(message.messages[0][0].digest)
            return self._learn(message, False, self._day(None)).changed

    def score(self, raw: bytes) -> Verdict:
        """Return the verdict on a message; the label is "error" if it cannot be read."""
        state, servers, lists = self._settings()
        lines = isolated(self._in_time(partial(lines_of, servers=servers)), checked(raw))
        if self._known_weights is None:
            self._known_weights = KnownWeights(self._store)
        verdict = self._known_verdict(lines, state) or self._verdicts([lines], self._known_weights)[0]
        return lists.applied(verdict, raw) if lists else verdict

    def score_many(self, raws: Iterable[bytes], *, processes: int | None = None) -> Iterator[Verdict]:
        """Yield the verdicts on many messages, in their order; parameters as in `train_many`.

        A few thousand messages are scored ahead, each chunk on the state of the store at that time; the lists are read
        once, at the start.
        """
        lists = self.lists
        if not lists:
            yield from self._score_many(raws, processes)
            return
        ahead, behind = tee(raws)
        for verdict in self._score_many(ahead, processes):
            yield lists.applied(verdict, checked(next(behind)))

    def _score_many(self, raws: Iterable[bytes], processes: int | None) -> Iterator[Verdict]:
        items = zip(raws, repeat(None))
        known = KnownWeights(self._store)
        if self._bounded is not None:
            for lines in spread(self._lines_in_time, items, 1):
                yield from self._verdicts(lines, known)
        elif self._store.is_shared:
            work = partial(_score_elsewhere, self._store.path, self._store.patience, self._clock())
            here = partial(self._score_chunk, known)
            yield from chain.from_iterable(spread(work, items, processes, here=here))
        else:  # only this process sees a store in memory, or changes that are not committed
            for lines in spread(partial(lines_of_chunk, self.servers), items, processes):
                yield from self._verdicts(lines, known)

    def label_of(self, raw: bytes) -> Label | None:
        """Return the class that a message was trained as; None if it has none."""
        identity = isolated(_identity, checked(raw))
        if isinstance(identity, Unread):
            return None  # an unreadable message cannot have been learned
        with self._store.snapshot():
            label = self._store.labels([identity]).get(identity)
        return None if label == "unlabeled" else label

    def evaluate(
        self,
        raws: Iterable[bytes] | None = None,
        labels: Label | Iterable[Label] | None = None,
        *,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
        skipped: Callable[[int, str], object] | None = None,
    ) -> Evaluation:
        """Evaluate the filter on messages of known class, without learning anything.

        If no messages are given, all learned messages are used, each scored without its own counts (leave-one-out),
        from the store alone. That is exact for these messages, but optimistic about future ones: near-copies of a
        message still count, spam changes over time, and the link may have been tuned on these messages.

        Parameters
        ----------
        raws, labels, processes
            Messages and their classes, as in `train_many`. Those that were learned are also scored without their own
            counts; `left_out` is their number.
        progress : callable, optional
            Called with the number of messages done.
        skipped : callable, optional
            As in `train_many`.
        """
        sample = sample_of(self._store, self._basis, raws, labels, processes, progress, skipped)
        basis = self._basis()
        return sample.evaluation(basis.scoring.slope, basis.scoring.intercept, basis.thresholds)

    def tune(
        self,
        cost: float = 100.0,
        *,
        raws: Iterable[bytes] | None = None,
        labels: Label | Iterable[Label] | None = None,
        write: bool = True,
        progress: Callable[[int], object] | None = None,
        skipped: Callable[[int, str], object] | None = None,
    ) -> Tuning:
        """Fit the logistic link and the thresholds to the learned messages, or to given ones.

        If arrival days are known, the newest quarter of the learned messages is scored as if none of it had been
        learned, and every other message leave-one-out. The previous link and thresholds are kept if they cost less.

        Parameters
        ----------
        cost : float
            Cost of a ham called spam, in units of spams not caught.
        raws, labels, progress, skipped
            As in `evaluate`.
        write : bool
            Write the link and thresholds to the store, and use them from now on.

        Raises
        ------
        ValueError
            If there are fewer than twenty spams or twenty hams.
        """
        cost = checked_cost(cost)
        sample = sample_of(self._store, self._basis, raws, labels, None, progress, skipped, in_time=True)
        basis = self._basis()
        result = tuned(sample, cost, basis.scoring.slope, basis.scoring.intercept, basis.thresholds)
        if write and not result.is_kept:
            with self._store.transaction():
                self._store.put("link", [result.slope, result.intercept])
                self.thresholds = result.thresholds
        return result

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store to a file, also while others use it; the copy is complete or does not exist.

        An older backup is replaced; a file that is not a backup is refused.
        """
        from suffice.spam.backup import back_up  # rarely needed

        back_up(self._store, path)

    @classmethod
    def restore(cls, path: str | os.PathLike[str], backup: str | os.PathLike[str]) -> None:
        """Replace or create the store at `path` by a checked copy of a backup, in one transaction.

        Processes that have the store open see either the old or the new contents. A damaged backup is refused. A store
        that can no longer be opened is kept as NAME.damaged.
        """
        from suffice.spam.backup import restore

        restore(path, backup)

    def export_text(self, file: BinaryIO, *, progress: Callable[[int], object] | None = None) -> int:
        """Write the whole store as lines of JSON, and return the number of messages and imports.

        `import_text` restores the same store from it. `suffice.spam.transfer` documents the lines.
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

        Raises
        ------
        DumpError
            If a line is damaged (the message names it), or the text has none of these formats.
        """
        from suffice.spam.transfer import import_text

        with self._store.transaction():
            return import_text(self._store, file, self._day(None), words, progress)

    def remove_import(self, program: str) -> bool:
        """Undo the import from "bogofilter" or "spamassassin", and return whether there was one."""
        from suffice.spam.transfer import remove_import

        with self._store.transaction():
            return remove_import(self._store, program)

    @property
    def imports(self) -> dict[str, dict[str, int]]:
        """The imports per program: how many spams and hams it had learned, and how many tokens were imported."""
        found = self._store.get("imports", {})
        return {program: {key: about[key] for key in ("spam", "ham", "tokens")} for program, about in found.items()}

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
        """Label all mail from these senders ham, whatever its score; entries as in `suffice.spam.lists`."""
        self._put_lists(lambda lists: lists.with_entries("allow", entries))

    def block(self, *entries: str) -> None:
        """Label all mail from these senders spam, whatever its score; entries as in `allow`."""
        self._put_lists(lambda lists: lists.with_entries("block", entries))

    def unlist(self, name: Literal["allow", "block"], *entries: str) -> None:
        """Remove entries from the list of allowed or blocked senders; raise ListError if one is not there."""
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
            raise TypeError(f"servers must be a list of names, but it is {names!r}; put it into brackets")
        checked_names = list(dict.fromkeys(map(checked_server, names)))
        with self._store.transaction():
            self._store.put("servers", checked_names)

    def expire(self, days: float | None = None) -> int:
        """Remove messages older than `days`, by default ten half-lives, and return how many were removed."""
        if days is None:
            half_life = self.half_life
            if half_life is None:
                raise ValueError("expire needs a number of days, since the filter has no half_life; give one of them")
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

    def interrupt(self) -> None:
        """Interrupt the running operation on the store, from any thread; it and all later ones raise StoreError.

        Committed changes stay, the rest is undone. To continue, close the filter and open it again. Waiting for another
        process is not interrupted, but ends after `patience` seconds.
        """
        self._store.interrupt()

    @property
    def known_tokens(self) -> int:
        """The number of tokens whose weights `score` keeps in memory."""
        return 0 if self._known_weights is None else len(self._known_weights)

    def forget_tokens(self) -> None:
        """Free the weights that `score` keeps in memory; they are read again from the store when needed."""
        self._known_weights = None

    def close(self) -> None:
        """Close the store."""
        if self._bounded is not None:
            self._bounded.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _in_time(self, read: Callable[[bytes], T]) -> Callable[[bytes], T]:
        """Return a function that reads a message within the time limit `budget`."""
        return read if self._bounded is None else partial(self._bounded.ask, read)

    def _lines_in_time(self, chunk: Chunk) -> list[str | Unread]:
        read = self._in_time(partial(lines_of, servers=self.servers))
        return [isolated(read, raw) for raw, _ in chunk]

    def _lesson(self, raw: bytes, label: Label) -> Lesson:
        """Read one message to learn; raise UnreadableError if that fails."""
        return readable(self._in_time(partial(_lesson_of, self.servers, checked_label(label))), checked(raw))

    def _score_chunk(self, known: KnownWeights, chunk: Chunk) -> list[Verdict]:
        return self._verdicts(lines_of_chunk(self.servers, chunk), known)

    def _verdicts(self, messages: Sequence[str | Unread], known: KnownWeights) -> list[Verdict]:
        """Return the verdicts on messages, each given as its tokens, one per line, on one state of the store."""
        with self._store.snapshot():
            basis = self._basis()
            read = [lines for lines in messages if not isinstance(lines, Unread)]
            known.prepare(read, basis)
            kinds = iter(self._kinds_of(read)) if self._store.has_buckets else None
        verdicts = [
            Verdict.error(lines.reason) if isinstance(lines, Unread) else basis.concluded(*known.evidence(lines))
            for lines in messages
        ]
        if kinds is None:
            return verdicts
        return [verdict if verdict.problem else verdict.in_buckets(next(kinds)) for verdict in verdicts]

    def _kinds_of(self, messages: Sequence[str]) -> list[dict[str, float]]:
        """Return the probability of each bucket per message; call within a snapshot."""
        if self._sorting is None:
            self._sorting = Sorting(self._store)
        return self._sorting.probabilities(messages, self._day(None))

    def _learn(self, batch: Lesson, only_errors: bool, day: int, bucket: str | None = None) -> Training:
        """Learn messages, and put them into a bucket unless it is None; call within a transaction."""
        if bucket is None:
            return self._learn_labels(batch, only_errors, day)
        identities = [item.digest for item, _ in batch.messages]
        before = self._store.labels(identities)
        training = self._learn_labels(batch, only_errors, day)
        changed = self._store.buckets.file(identities, bucket)
        moved = sum(before.get(identity) == "ham" for identity in changed)
        return replace(training, moved=training.moved + moved, known=training.known - moved)

    def _learn_labels(self, batch: Lesson, only_errors: bool, day: int) -> Training:
        labels = self._store.labels([item.digest for item, _ in batch.messages])
        if only_errors:
            return self._learn_errors(batch.messages, labels, day)
        before = set(labels)
        wanted: dict[bytes, tuple[Reading, Label]] = {}
        learned = moved = known = 0
        for pair in batch.messages:
            (identity, _), label = pair
            found = labels.get(identity)
            if found == label:
                known += 1
                continue
            if found == "unlabeled":  # a label replaces an estimate
                found = None
            learned += found is None
            moved += found is not None
            labels[identity] = label
            wanted[identity] = pair
        self._store.remove(identity for identity in wanted if identity in before)
        if wanted:
            is_whole = len(wanted) == len(batch.messages)  # else `counts` covers more messages than are learned
            self._store.add(list(wanted.values()), day, batch.counts if is_whole else None)
        return Training(learned, moved, known)

    def _learn_errors(self, batch: list[tuple[Reading, Label]], labels: dict[bytes, Known], day: int) -> Training:
        """Learn the messages whose verdict differs from their class, judging each after learning those before it."""
        self._store.renew(day)
        weight, basis = self._store.forgetting.weight(day), self._basis()
        read = [item.tokens for item, _ in batch]
        rows = self._store.rows(sorted(set(chain.from_iterable(read))))  # updated in place as messages are learned
        wanted: dict[bytes, tuple[Reading, Label]] = {}
        learned = moved = known = right = 0
        for pair, names in zip(batch, read, strict=True):
            (identity, _), label = pair
            found = labels.get(identity)
            if found == label:
                known += 1
                continue
            if found is None or found == "unlabeled":
                if basis.verdict(names, rows).label == label:
                    right += 1
                    continue
                learned += 1
            else:
                moved += 1
            if identity in wanted:
                spam, ham = _as_weights(wanted[identity][1], weight)
                basis = basis.learned(rows, -spam, -ham, wanted.pop(identity)[0].tokens)
            elif found is not None:
                spam, ham, held = self._store.take(identity)
                basis = basis.learned(rows, -spam, -ham, held)
            basis = basis.learned(rows, *_as_weights(label, weight), names)
            labels[identity] = label
            wanted[identity] = pair
        if wanted:
            self._store.add(list(wanted.values()), day)
        return Training(learned, moved, known, right)

    def _basis(self) -> Basis:
        """Return totals, score settings and thresholds; read again if the store has changed."""
        state = self._store.version(), self._day(None)
        if self._known_basis is None or self._known_basis[0] != state:
            self._known_basis = state, Basis.of(self._store, state[1])
        return self._known_basis[1]

    def _settings(self) -> tuple[object, Servers, Lists]:
        """Return the version of the store, the trusted servers and the lists; read again if the store has changed."""
        with self._store.explained():
            state = self._store.version()
        if self._known_settings is None or self._known_settings[0] != state:
            self._known_settings = state, self.servers, self.lists
        return self._known_settings

    def _known_verdict(self, lines: str | Unread, state: object) -> Verdict | None:
        """Return the verdict on a message from cached values; None if something must be read from the store."""
        if isinstance(lines, Unread) or self._known_basis is None or self._known_weights is None:
            return None
        found, basis = self._known_basis
        is_simple = not self._store.is_read_only and not self._store.has_buckets
        if not is_simple or found != (state, self._day(None)) or not self._known_weights.has(lines, basis):
            return None
        return basis.concluded(*self._known_weights.evidence(lines))

    def _known(self, identity: bytes) -> Known:
        label = self._store.labels([identity]).get(identity)
        if label is None:
            raise NotTrainedError(
                f"the message with digest {identity.hex()} was never trained, so there is nothing to undo; train it"
            )
        return label

    def _day(self, at: float | None) -> int:
        """Return the day of a time, clipped to the range from the year 1 to today."""
        if at is not None and math.isnan(at):
            raise ValueError("`at` must be a time in seconds since 1970, but it is not a number; leave it out for now")
        now = self._clock()
        return int(max(_FIRST * DAY, min(now, now if at is None else at)) // DAY)


#: per path, the filter that a worker process of `score_many` has opened, and its cache of token weights
_OPENED: dict[str, tuple[SpamFilter, KnownWeights]] = {}


def _score_elsewhere(path: str, patience: float, now: float, chunk: Chunk) -> list[Verdict]:
    """Score a chunk of messages in a worker process, with the store at `path`."""
    if path not in _OPENED:
        if not os.path.exists(path):  # opening it would create it
            raise StoreError(f"the store {path!r} is not there any more; messages cannot be scored")
        opened = SpamFilter(path, patience=patience)
        _OPENED[path] = opened, KnownWeights(opened._store)
    opened, known = _OPENED[path]
    opened._clock = lambda: now
    return opened._score_chunk(known, chunk)


def _identity(raw: bytes) -> bytes:
    return bytes.fromhex(digest(raw))


def _lesson_of(servers: Servers, label: Label, raw: bytes) -> Lesson:
    """Read one message; raise UnreadableError if that fails."""
    read = lesson(servers, [(raw, label)])
    if read.skipped:
        raise UnreadableError(read.skipped[0][1])
    return read


def _as_weights(label: Label, weight: int) -> tuple[int, int]:
    """Return what a message of a class adds to the total weights of spam and of ham."""
    return (weight, 0) if label == "spam" else (0, weight)
