"""Our filter as it takes part in `benchmarks.spam`: the public `SpamFilter`, tuned on what it was taught."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

import suffice.spam
from benchmarks.spam_corpus import corpus, folds
from benchmarks.spam_peers import Outcome
from suffice.spam import SpamFilter, Verdict

#: never: the thresholds that a new store has
NEVER = "never"
#: before: those that `tune` finds on folds 0–4 are put into the empty store of a pass
BEFORE = "before"


class Suffice:
    """The filter with its thresholds tuned in a way that a user could.

    Over ten folds, `tune` chooses them on the nine that were taught. In one pass `tune` is called after every so many
    messages, on what was learned so far; or the thresholds were chosen beforehand (`BEFORE`), or not at all (`NEVER`).
    """

    name = "suffice"

    def __init__(self, tuning: str, cost: float) -> None:
        if tuning not in (NEVER, BEFORE) and not (tuning.isdigit() and int(tuning) > 0):
            raise SystemExit(f"--tune must be a number of messages, {BEFORE!r} or {NEVER!r}, but it is {tuning!r}")
        self.tuning, self.cost = tuning, cost
        # what results depend on: the way of tuning, and the sources of the filter as they are now
        folder = Path(suffice.spam.__file__).parent
        sources = sorted([*folder.rglob("*.py"), *folder.glob("*.[ch]")])
        state = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
        self.key = f"suffice-{tuning}-{cost:g}-{state.hexdigest()[:8]}"

    def missing(self) -> str:
        return ""

    def tune(self, spam_filter: SpamFilter) -> None:
        """Choose thresholds and link by leave-one-out over what the filter has learned, and keep them in its store."""
        spam_filter.tune(self.cost)

    def ten_fold(self, raws: list[bytes], y: np.ndarray, fold: np.ndarray) -> Outcome:
        verdicts: list[Verdict | None] = [None] * len(y)
        for k in range(10):
            with SpamFilter() as spam_filter:
                self._teach(spam_filter, raws, y, np.flatnonzero(fold != k))
                if self.tuning != NEVER:
                    self.tune(spam_filter)
                rows = np.flatnonzero(fold == k)
                for i, verdict in zip(rows, spam_filter.score_many(raws[i] for i in rows), strict=True):
                    verdicts[i] = verdict
        return _outcome([verdict for verdict in verdicts if verdict is not None])

    def one_pass(self, raws: list[bytes], y: np.ndarray) -> Outcome:
        verdicts = []
        with SpamFilter() as spam_filter:
            if self.tuning == BEFORE:
                self._tune_on_first_folds(spam_filter)
            for i, raw in enumerate(raws):
                verdicts.append(spam_filter.score(raw))
                spam_filter.train(raw, "spam" if y[i] else "ham")
                if self.tuning.isdigit() and (i + 1) % int(self.tuning) == 0:
                    self.tune(spam_filter)
        return _outcome(verdicts)

    def _tune_on_first_folds(self, spam_filter: SpamFilter) -> None:
        """Tune on folds 0–4, and take the messages out again: what was chosen stays in the store."""
        raws, y = corpus()
        rows = np.flatnonzero(folds(y) < 5)
        self._teach(spam_filter, raws, y, rows)
        self.tune(spam_filter)
        for raw in {suffice.spam.digest(raws[i]): raws[i] for i in rows}.values():
            spam_filter.untrain(raw)

    def _teach(self, spam_filter: SpamFilter, raws: list[bytes], y: np.ndarray, rows: np.ndarray) -> None:
        spam_filter.train_many((raws[i] for i in rows), ["spam" if y[i] else "ham" for i in rows])


def _outcome(verdicts: list[Verdict]) -> Outcome:
    probabilities = np.array([verdict.probability for verdict in verdicts])
    return Outcome(probabilities, probabilities, np.array([verdict.label for verdict in verdicts]))
