"""A spam filter that one person teaches: messages in, verdicts out."""

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

if TYPE_CHECKING:  # few methods need them
    from datetime import date

    from suffice.spam.transfer import Transfer

T = TypeVar("T")

#: at most so many messages are learned in one transaction by `train_many`
BATCH = 1024
#: messages older than so many half-lives, which count a thousandth, are removed by `expire`
OLD = 10.0
#: the first of January 1970 as `date` counts days
_EPOCH = 719_163
#: the first and the last day that `date` knows, in days since 1970
_FIRST, _LAST = 1 - _EPOCH, 3_652_059 - _EPOCH


class NotTrainedError(LookupError):
    """A message was to be untrained or moved that was never trained."""


class SpamFilter:
    r"""A filter with a store of its own.

    Several processes may score while one trains. A filter belongs to the thread and the process that opened it; only
    `interrupt` may be called from other threads.

    Parameters
    ----------
    path : str or path, optional
        The store, one file a user, which is made if there is none; in memory without.
    clock : callable, optional
        Returns the time in seconds since 1970.
    patience : float
        For how many seconds to wait for another process that writes to the store, before a StoreError says so.
    budget : float, optional
        How many seconds reading one message may take in `score`, `score_many`, `train` and `retrain`. It is then done
        by a process of its own, which is ended if it takes longer: the message counts as one that cannot be read.
        Without it messages are read here, or by several processes, for as long as it takes.

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
        """Open the store at `path`, or make it."""
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

        A message that is known as of this class is left as it is, one that is known as of the other class is moved.

        Parameters
        ----------
        raw : bytes
            The message, as it was received.
        label : "spam" or "ham"
            Its class.
        bucket : str, optional
            For ham, the bucket that it belongs to, which is made if there is none; "" to take it out of any. Without it
            a message stays in its bucket. What becomes spam leaves it.
        only_errors : bool
            Learn it only if it is known as of the other class, or its verdict is not `label` yet (unsure is an error).
        at : float, optional
            When it arrived, in seconds since 1970, which matters with a half-life; now by default.

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
        """Learn many messages, in transactions of a thousand each: an interruption or error leaves what is committed.

        Parameters
        ----------
        raws : iterable of bytes
            The messages; some thousand of them are in memory at a time.
        labels : "spam", "ham" or an iterable of them
            One class for all, or one for each.
        bucket, only_errors, at
            As of `train`; with `only_errors` the order matters, and with a bucket all must be ham.
        processes : int, optional
            How many processes read messages; all cores by default.
        progress : callable, optional
            Called with the number of messages done, after each transaction; the first ones are smaller.
        skipped : callable, optional
            Called for each message that cannot be read, with its number, from 0 on, and the reason.

        Returns
        -------
        Training
            How many were learned, moved, known and right, and how many could not be read.
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
        """Learn from messages whose class is not known, by EM; parameters as of `train_many`.

        The messages stay in the store, and those given earlier are estimated anew. A label that one of them gets later,
        by `train`, replaces what was guessed. An interruption leaves a whole store.

        Returns
        -------
        Unlabeled
            How many were new and known, how many of the new ones are spam, by expectation, and how many rounds it took.

        Raises
        ------
        ValueError
            If fewer than 25 spams or 25 hams with a label are learned.
        """
        skips = Skips(skipped)
        read = skips.left(readings(raws, processes, self.servers))
        found = learn_unlabeled(self._store, self._basis, read, self._day(None), progress)
        return replace(found, skipped=skips.count)

    def untrain(self, raw: bytes) -> Known:
        """Undo the training of a message exactly, and return the class it had, "unlabeled" if none.

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
        """Move a message that was trained to a class, and return whether it was of the other.

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
        """Return the verdict about a message; the label is "error" if it cannot be read."""
        state, servers, lists = self._settings()
        lines = isolated(self._in_time(partial(lines_of, servers=servers)), checked(raw))
        if self._known_weights is None:
            self._known_weights = KnownWeights(self._store)
        verdict = self._known_verdict(lines, state) or self._verdicts([lines], self._known_weights)[0]
        return lists.applied(verdict, raw) if lists else verdict

    def score_many(self, raws: Iterable[bytes], *, processes: int | None = None) -> Iterator[Verdict]:
        """Yield the verdicts about many messages, in their order; parameters as of `train_many`.

        Messages are scored some thousand ahead, each chunk on what the store holds then; lists are as at the beginning.
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
        else:  # what is in memory, or not committed yet, is seen by this process alone
            for lines in spread(partial(lines_of_chunk, self.servers), items, processes):
                yield from self._verdicts(lines, known)

    def label_of(self, raw: bytes) -> Label | None:
        """Return the class that a message was trained as, None if it has none."""
        identity = isolated(_identity, checked(raw))
        if isinstance(identity, Unread):
            return None  # it cannot have been learned
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
        """Return how good the filter is on messages whose class is known; nothing is learned.

        Without messages it is all those that were learned, each scored without its own counts (leave-one-out), from the
        store alone. That is exact for the messages there are, and optimistic about those to come: near-copies of a
        message are still counted, spam changes, and a link that was tuned on these messages knows them.

        Parameters
        ----------
        raws, labels, processes
            Messages and their classes, as of `train_many`. Those that were learned are scored without their own counts
            too; `left_out` says how many.
        progress : callable, optional
            Called with the number of messages done.
        skipped : callable, optional
            As of `train_many`.
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
        """Fit the logistic link and the thresholds to the messages that were learned, or to others.

        Where it is known when messages arrived, the newest quarter of those that were learned is scored as if none of
        it had been; the others, each as if it had not been. What was there before is kept where it costs less.

        Parameters
        ----------
        cost : float
            Of a ham that is called spam, in spams that are not caught.
        raws, labels, progress, skipped
            As of `evaluate`.
        write : bool
            Keep link and thresholds in the store, and use them from now on.

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
        """Copy the store to a file, while others may use it: the copy is whole, or not there at all.

        An older backup is replaced; a file that is none is refused.
        """
        from suffice.spam.backup import back_up  # rarely needed

        back_up(self._store, path)

    @classmethod
    def restore(cls, path: str | os.PathLike[str], backup: str | os.PathLike[str]) -> None:
        """Replace the store at `path`, or make it, by a checked copy of a backup, in one transaction.

        Processes that have the store open see it as it was or as it is then. A damaged backup is refused. A store that
        cannot be opened any more is kept as NAME.damaged.
        """
        from suffice.spam.backup import restore

        restore(path, backup)

    def export_text(self, file: BinaryIO, *, progress: Callable[[int], object] | None = None) -> int:
        """Write all that the store holds as lines of JSON, and return how many messages and imports it has.

        `import_text` makes the same store of it again. `suffice.spam.transfer` says what is in a line.
        """
        from suffice.spam.transfer import export_store  # rarely needed

        with self._store.snapshot():
            return export_store(self._store, file, progress)

    def import_text(
        self, file: BinaryIO, *, words: Iterable[str] = (), progress: Callable[[int], object] | None = None
    ) -> Transfer:
        """Take in a text that `export_text`, `bogoutil -d` or `sa-learn --backup` wrote, all of it or nothing.

        Messages that are known stay as they are, and settings are taken if nothing was learned yet. Counts of another
        filter have no messages: nothing can be evaluated on them, and they take the place of those that were imported
        from the same program before. They count in the ratio of the spam and ham that was learned here, so that it is
        best to train first; import again when that has grown.

        Parameters
        ----------
        file : binary file
            The text, which may be compressed by gzip, bzip2 or xz.
        words : iterable of str
            Words to look up in a dump of SpamAssassin, which holds hashes of tokens, beside those that the store knows.
        progress : callable, optional
            Called with the number of messages done.

        Raises
        ------
        DumpError
            If a line is damaged, which it names, or the text is none of these.
        """
        from suffice.spam.transfer import import_text

        with self._store.transaction():
            return import_text(self._store, file, self._day(None), words, progress)

    def remove_import(self, program: str) -> bool:
        """Undo what was imported from "bogofilter" or "spamassassin", and return whether there was anything."""
        from suffice.spam.transfer import remove_import

        with self._store.transaction():
            return remove_import(self._store, program)

    @property
    def imports(self) -> dict[str, dict[str, int]]:
        """What was imported: by program, how many spams and hams it had learned, and how many tokens are taken over."""
        found = self._store.get("imports", {})
        return {program: {key: about[key] for key in ("spam", "ham", "tokens")} for program, about in found.items()}

    @property
    def thresholds(self) -> Thresholds:
        """The probabilities up to which a message is ham and from which on it is spam, kept in the store."""
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
        """The senders that are always or never wanted, kept in the store."""
        found = self._store.get("lists")
        return Lists(*map(tuple, found)) if found else Lists()

    def allow(self, *entries: str) -> None:
        """Call all mail of these senders ham, whatever it says: addresses, or domains, as `suffice.spam.lists` says."""
        self._put_lists(lambda lists: lists.with_entries("allow", entries))

    def block(self, *entries: str) -> None:
        """Call all mail of these senders spam, whatever it says; entries as of `allow`."""
        self._put_lists(lambda lists: lists.with_entries("block", entries))

    def unlist(self, name: Literal["allow", "block"], *entries: str) -> None:
        """Remove entries from the list of senders that are allowed, or blocked; ListError if one is not there."""
        self._put_lists(lambda lists: lists.without_entries(name, entries))

    def _put_lists(self, change: Callable[[Lists], Lists]) -> None:
        with self._store.transaction():
            lists = change(self.lists)
            self._store.put("lists", [lists.allow, lists.block])

    @property
    def half_life(self) -> float | None:
        """After how many days a message counts half, kept in the store; None, the default, to forget nothing."""
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

        Those of others are ignored, and so are all without any name. What was learned before stays as it was read.
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
        """Remove messages that are older than so many days, by default ten half-lives, and return how many."""
        if days is None:
            half_life = self.half_life
            if half_life is None:
                raise ValueError("expire needs a number of days, since the filter has no half_life; give one of them")
            days = OLD * half_life
        if not days >= 0:  # nor is it a number if it is NaN
            raise ValueError(f"expire needs a number of days that is at least 0, but it is {days!r}; give another")
        with self._store.transaction():
            return self._store.expire(math.ceil(max(_FIRST, self._day(None) - days)))

    def stats(self) -> Size:
        """Return how many spams, hams and tokens the store holds."""
        with self._store.snapshot():
            return Size(*self._store.size())

    def days(self) -> tuple[date, date] | None:
        """Return the first and the last day on which messages were learned; None without any."""
        from datetime import date

        with self._store.snapshot():
            days = self._store.days()
        if days is None:
            return None
        first, last = (date.fromordinal(_EPOCH + min(max(day, _FIRST), _LAST)) for day in days)
        return first, last

    def interrupt(self) -> None:
        """End what the filter does with its store, from any thread: that raises a StoreError, and so does all later.

        What was committed stays, the rest is undone. To go on, close the filter and open it anew. Waiting for another
        process is not interrupted, but ends after `patience`.
        """
        self._store.interrupt()

    @property
    def known_tokens(self) -> int:
        """Of how many tokens `score` keeps the weights in memory."""
        return 0 if self._known_weights is None else len(self._known_weights)

    def forget_tokens(self) -> None:
        """Free the memory that `score` keeps weights in; they are read again from the store when they are needed."""
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
        """Return a function that reads a message within the budget."""
        return read if self._bounded is None else partial(self._bounded.ask, read)

    def _lines_in_time(self, chunk: Chunk) -> list[str | Unread]:
        read = self._in_time(partial(lines_of, servers=self.servers))
        return [isolated(read, raw) for raw, _ in chunk]

    def _lesson(self, raw: bytes, label: Label) -> Lesson:
        """Read one message to learn; UnreadableError if that fails."""
        return readable(self._in_time(partial(_lesson_of, self.servers, checked_label(label))), checked(raw))

    def _score_chunk(self, known: KnownWeights, chunk: Chunk) -> list[Verdict]:
        return self._verdicts(lines_of_chunk(self.servers, chunk), known)

    def _verdicts(self, messages: Sequence[str | Unread], known: KnownWeights) -> list[Verdict]:
        """Return the verdicts about messages, given by their tokens, one a line, on one state of the store."""
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
        """Return the probabilities of the buckets for messages; within a snapshot."""
        if self._sorting is None:
            self._sorting = Sorting(self._store)
        return self._sorting.probabilities(messages, self._day(None))

    def _learn(self, batch: Lesson, only_errors: bool, day: int, bucket: str | None = None) -> Training:
        """Learn messages, and put them into a bucket unless that is None; within a transaction."""
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
            if found == "unlabeled":  # a guess gives way to a label
                found = None
            learned += found is None
            moved += found is not None
            labels[identity] = label
            wanted[identity] = pair
        self._store.remove(identity for identity in wanted if identity in before)
        if wanted:
            is_whole = len(wanted) == len(batch.messages)  # else the counts are those of too many
            self._store.add(list(wanted.values()), day, batch.counts if is_whole else None)
        return Training(learned, moved, known)

    def _learn_errors(self, batch: list[tuple[Reading, Label]], labels: dict[bytes, Known], day: int) -> Training:
        """Learn those whose verdict is not their class yet, each verdict on what was learned before it."""
        self._store.renew(day)
        weight, basis = self._store.forgetting.weight(day), self._basis()
        read = [item.tokens for item, _ in batch]
        rows = self._store.rows(sorted(set(chain.from_iterable(read))))  # and what is learned is added here at once
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
        """Return what verdicts need beside the rows of tokens; read anew when the store has changed."""
        state = self._store.version(), self._day(None)
        if self._known_basis is None or self._known_basis[0] != state:
            self._known_basis = state, Basis.of(self._store, state[1])
        return self._known_basis[1]

    def _settings(self) -> tuple[object, Servers, Lists]:
        """Return the state of the store, the servers that are believed and the lists; read anew when it has changed."""
        with self._store.explained():
            state = self._store.version()
        if self._known_settings is None or self._known_settings[0] != state:
            self._known_settings = state, self.servers, self.lists
        return self._known_settings

    def _known_verdict(self, lines: str | Unread, state: object) -> Verdict | None:
        """Return the verdict about a message, None if something must be read for it from the store in this state."""
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
        """Return the day of a time; what comes from the future is of today, and nothing is from before the year 1."""
        if at is not None and math.isnan(at):
            raise ValueError("`at` must be a time in seconds since 1970, but it is not a number; leave it out for now")
        now = self._clock()
        return int(max(_FIRST * DAY, min(now, now if at is None else at)) // DAY)


#: the filter that a process of `score_many` has opened, and its rows
_OPENED: dict[str, tuple[SpamFilter, KnownWeights]] = {}


def _score_elsewhere(path: str, patience: float, now: float, chunk: Chunk) -> list[Verdict]:
    """Score a chunk in a process that was started for it, on the store at a path."""
    if path not in _OPENED:
        if not os.path.exists(path):  # opening it would make it
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
    """Return what a message of a class adds to the weights of spam and of ham."""
    return (weight, 0) if label == "spam" else (0, weight)
