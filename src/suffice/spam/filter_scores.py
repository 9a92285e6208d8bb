"""The verdicts of a filter, from caches that are valid as long as the store does not change, and how good they are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat, tee
from typing import Literal, TypeVar

from suffice.spam.basis import Basis
from suffice.spam.bounded import Bounded
from suffice.spam.buckets.kinds import Sorting
from suffice.spam.bulk import KnownWeights, lines_of_chunk
from suffice.spam.connected import StoreError
from suffice.spam.evaluation import Evaluation
from suffice.spam.filter_store import FilterStore
from suffice.spam.isolation import Unread, isolated
from suffice.spam.leave_one_out import sample_of
from suffice.spam.lists import Lists
from suffice.spam.naive_bayes import RULES
from suffice.spam.reading import Servers, lines_of
from suffice.spam.shares import Label
from suffice.spam.store_file import PATIENCE
from suffice.spam.tuning import Tuning, checked_cost, tuned
from suffice.spam.verdict import Verdict
from suffice.spam.workers import Chunk, checked, spread

T = TypeVar("T")


class FilterScores(FilterStore):
    """A filter that judges messages, and can be evaluated and tuned; parameters as in `SpamFilter`."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        patience: float = PATIENCE,
        budget: float | None = None,
    ) -> None:
        super().__init__(path, clock=clock, patience=patience)
        self._bounded = None if budget is None else Bounded(budget)
        self._known_basis: tuple[object, Basis] | None = None
        self._known_settings: tuple[object, Servers, Lists] | None = None
        self._known_weights: KnownWeights | None = None
        self._sorting: Sorting | None = None

    def close(self) -> None:
        """Close the store."""
        if self._bounded is not None:
            self._bounded.close()
        super().close()

    def score(self, raw: bytes) -> Verdict:
        """Return the verdict on a message; the label is "error" if it cannot be read.

        Parameters
        ----------
        raw : bytes
            The message.
        """
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

        Parameters
        ----------
        raws : iterable of bytes
            The messages.
        processes : int, optional
            The number of processes that read messages; all cores by default.

        Yields
        ------
        Verdict
            The verdict on each message.
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

    def evaluate(
        self,
        raws: Iterable[bytes] | None = None,
        labels: Label | Iterable[Label] | None = None,
        *,
        processes: int | None = None,
        progress: Callable[[int], object] | None = None,
        skipped: Callable[[int, str], object] | None = None,
        rule: Literal["filter", "naive-bayes"] = "filter",
    ) -> Evaluation:
        """Evaluate the filter on messages of known class, without learning anything.

        If no messages are given, all learned messages are used, each scored without its own counts (leave-one-out),
        from the store alone. That is exact for these messages, but optimistic about future ones: near-copies of a
        message still count, spam changes over time, and the link may have been tuned on these messages.

        Parameters
        ----------
        raws, labels, processes : iterable of bytes, labels, int, optional
            Messages and their classes, as in `train_many`. Those that were learned are also scored without their own
            counts; `left_out` is their number.
        progress : callable, optional
            Called with the number of messages done.
        skipped : callable, optional
            As in `train_many`.
        rule : "filter" or "naive-bayes", default "filter"
            The score of the filter, or that of plain naive Bayes on the same sums: the log-odds of the classes and of
            every token of the dictionary, present or absent, with Laplace's rule.

        Returns
        -------
        Evaluation
            The probabilities of the messages, and the measures derived from them.
        """
        if rule not in RULES:
            raise ValueError(f"rule must be {' or '.join(map(repr, RULES))}, not {rule!r}")
        sample = sample_of(self._store, self._basis, raws, labels, processes, progress, skipped, rule=RULES[rule])
        basis = self._basis()
        if rule == "naive-bayes":  # its log-odds are probabilities as they are
            return sample.evaluation(1.0, 0.0, basis.thresholds)
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
        cost : float, default 100.0
            Cost of a ham called spam, in units of spams not caught.
        raws, labels, progress, skipped : optional
            As in `evaluate`.
        write : bool, default True
            Whether to write the link and thresholds to the store, and to use them from now on.

        Returns
        -------
        Tuning
            The link and the thresholds, and what they cost.

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

    @property
    def known_tokens(self) -> int:
        """The number of tokens whose weights `score` keeps in memory."""
        return 0 if self._known_weights is None else len(self._known_weights)

    def forget_tokens(self) -> None:
        """Free the weights that `score` keeps in memory; they are read again from the store when needed."""
        self._known_weights = None

    def _in_time(self, read: Callable[[bytes], T]) -> Callable[[bytes], T]:
        """Return a function that reads a message within the time limit `budget`."""
        return read if self._bounded is None else partial(self._bounded.ask, read)

    def _lines_in_time(self, chunk: Chunk) -> list[str | Unread]:
        read = self._in_time(partial(lines_of, servers=self.servers))
        return [isolated(read, raw) for raw, _ in chunk]

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
            Verdict.error(lines.reason) if isinstance(lines, Unread) else known.prepared_verdict(lines, basis)
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
        if not is_simple or found != (state, self._day(None)):
            return None
        return self._known_weights.verdict(lines, basis)


#: per path, the filter that a worker process of `score_many` has opened, and its cache of token weights
_OPENED: dict[str, tuple[FilterScores, KnownWeights]] = {}


def _score_elsewhere(path: str, patience: float, now: float, chunk: Chunk) -> list[Verdict]:
    """Score a chunk of messages in a worker process, with the store at `path`."""
    if path not in _OPENED:
        if not os.path.exists(path):  # opening it would create it
            raise StoreError(f"the store {path!r} no longer exists, so messages cannot be scored")
        opened = FilterScores(path, patience=patience)
        _OPENED[path] = opened, KnownWeights(opened._store)
    opened, known = _OPENED[path]
    opened._clock = lambda: now
    return opened._score_chunk(known, chunk)
