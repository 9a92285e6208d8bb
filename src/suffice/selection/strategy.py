"""The strategy of a mixture search: which starts are tried for each structure, for how long, and in which threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from threading import Event
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.selection.gaussian_trials import judge
from suffice.selection.trials import Start, Trial, beats

T = TypeVar("T", bound=Trial)
Item = TypeVar("Item")
Result = TypeVar("Result")

#: iterations after which starts are compared by their likelihood, how many of the best are then compared by their
#: objective, and how many of these are continued
_SHORT, _COMPARED, _KEPT = 8, 6, 2
#: starts whose objectives differ by a smaller fraction are assumed to lead to the same optimum
_SAME = 1e-5
#: starts whose clusters differ in a smaller fraction of the rows count as one start
_NEAR = 0.05


def best_of_one_size(
    begin: Callable[[Any, Start], T], structures: Sequence[Any], starts: Sequence[Start], max_iter: int
) -> list[T]:
    """Return the best run of EM for each structure, all with the same number of components.

    Every structure is first run from the first start until it converges. Then it tries the other starts, and the
    clusters that the other structures have found, for a few iterations; the best two of these are continued.

    Parameters
    ----------
    begin : callable
        Returns the run of a structure from a start.
    structures, starts : sequences
    max_iter : int
        The maximum number of iterations of a run.
    """
    found = [_run(begin(structure, starts[0]), max_iter) for structure in structures]
    own = [run.shares() if len(structures) > 1 and run.found else None for run in found]
    candidates = [*starts[1:], *own]
    near = _near(candidates)
    others: list[int] = []
    for i, start in enumerate(candidates):
        if start is not None and not near[i, others].any():
            others.append(i)
    return [
        _best_of(run, (begin(structure, candidates[j]) for j in others if not near[i, j]), max_iter)
        for i, (structure, run) in enumerate(zip(structures, found, strict=True), start=len(starts) - 1)
    ]


def _near(starts: Sequence[Start]) -> NDArray[np.bool_]:
    """Return which pairs of starts have almost the same clusters, with the same numbers.

    Labels are treated as responsibilities of 0 and 1; other kinds of starts are never near.
    """
    near = np.zeros((len(starts), len(starts)), dtype=bool)
    given = {i: start for i, start in enumerate(starts) if isinstance(start, np.ndarray)}
    k = max((int(start.max()) + 1 if start.ndim == 1 else start.shape[1] for start in given.values()), default=0)
    shares = [(np.eye(k)[start] if start.ndim == 1 else start).ravel() for start in given.values()]
    if shares:
        places, stacked = np.array(list(given)), np.stack(shares)
        for i, one in zip(given, shares, strict=True):  # each row in a different cluster adds 2
            near[i, places] = np.abs(stacked - one).sum(1) < 2.0 * _NEAR * (len(one) // k)
    return near


def _run(run: T, iterations: int) -> T:
    run.advance(iterations)
    return run


def _best_of(first: T, others: Iterator[T], max_iter: int) -> T:
    """Return the best of a finished run and of other runs, which are first tried for a few iterations."""
    short = min(_SHORT, max_iter)
    tried = sorted((_run(other, short) for other in others), key=lambda run: -run.log_likelihood)
    judge(tried[:_COMPARED])
    found = list(islice((run for run in tried if run.found), _COMPARED))
    best, seen, kept = first, [first.objective] if first.found else [], 0
    for run in sorted(found, key=lambda run: -run.objective):
        if kept == _KEPT:
            break
        if any(abs(run.objective - other) <= _SAME * (1.0 + abs(other)) for other in seen):
            continue
        seen.append(run.objective)
        kept += 1
        run.advance(max_iter - short, extrapolate=True)
        best = run if beats(run, best) else best
    return best


def in_threads(
    work: Callable[[Item, Event], Result], items: Sequence[Item], n_threads: int, done: dict[int, Result]
) -> None:
    """Call `work` for each item, and store the results in `done` by position; in threads the last items start first.

    Parameters
    ----------
    work : callable
        Called with an item and an event; when the event is set, it should stop by raising `StoppedError`.
    """
    stop = Event()
    if n_threads == 1 or len(items) == 1:
        for place, item in enumerate(items):
            done[place] = work(item, stop)
        return
    running: dict[int, Future[Result]] = {}
    with ThreadPoolExecutor(min(n_threads, len(items)), thread_name_prefix="suffice-search") as pool:
        try:
            for place in reversed(range(len(items))):
                running[place] = pool.submit(work, items[place], stop)
            for place, future in running.items():
                done[place] = future.result()
        except BaseException:
            stop.set()
            for place, future in running.items():
                if not future.cancel() and future.done() and not future.exception():
                    done[place] = future.result()
            raise
