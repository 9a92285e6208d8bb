"""How many spams are still caught when they are disguised, beside bogofilter and without what is done against it.

First our filter, tuned at a cost of 100 on what it was taught, and bogofilter, each by its own thresholds: of the
spams of folds 5–9 that were caught as they are, how many are still caught and how many are called ham under each
attack. Every fold is attacked where the nine others were taught, from which the attacker's hams are drawn, too.

Then at equal false positives.

Before is plain naive Bayes (log-ratios of all words and marks added up, no pairs of words, no fields) that reads words
as they are written; between the two is our filter that reads words as they are written. After is our filter. Everybody
is taught by folds 0–6 and has the lowest threshold that calls one ham of folds 7–8 spam; the spams of fold 9 are
disguised. That is shown for whole messages, and for messages without headers but those of MIME, where words are
nearly all that there is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np

from benchmarks.spam_attacks import ATTACKS, Known
from benchmarks.spam_corpus import corpus, folds
from benchmarks.spam_peers import Bogofilter, outcome
from suffice.spam import SpamFilter, read, tokens

#: how many hams of folds 7–8 a threshold may call spam
FALSE_POSITIVES = 1
#: the common words of ham that an attacker may know
GOOD_WORDS = 2000
#: what a lost ham costs when our filter is tuned
COST = 100.0
Scorer = Callable[[bytes], float]
Judge = Callable[[list[bytes]], np.ndarray]


@contextmanager
def words_as_written() -> Iterator[None]:
    """Switch off what undoes disguises: look-alike and zero-width characters, spaced words, digits for letters."""
    with patch.multiple(
        "suffice.spam.tokenizing",
        normalised=lambda text: text,
        spaced_words=lambda text: [],
        plain_word=lambda word: "",
    ):
        yield


class PlainNaiveBayes:
    """Σ log (s + 1)/(S + 2) − log (h + 1)/(H + 2) over the distinct tokens of a message."""

    def __init__(self, raws: list[bytes], y: np.ndarray) -> None:
        self.held: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        for raw, label in zip(raws, y, strict=True):
            self.held[label].update(tokens(read(raw), 1))
        self.total = [int((y == 0).sum()), int((y == 1).sum())]

    def __call__(self, raw: bytes) -> float:
        (ham, spam), (H, S) = self.held, self.total
        known = [token for token in tokens(read(raw), 1) if token in ham or token in spam]
        return sum(math.log((spam[t] + 1) / (S + 2)) - math.log((ham[t] + 1) / (H + 2)) for t in known)

    def good_words(self) -> list[str]:
        """Return the commonest words of ham that are rarer in spam."""
        ham, spam = self.held
        return [token for token, n in ham.most_common() if token.isalpha() and n > 3 * spam[token]][:GOOD_WORDS]


def filter_scorer(raws: list[bytes], y: np.ndarray) -> Scorer:
    spam_filter = SpamFilter()
    # in this process, where words may be read as they are written
    spam_filter.train_many(raws, ["spam" if label else "ham" for label in y], processes=1)
    return lambda raw: spam_filter.score(raw).log_odds


def bare(raw: bytes) -> bytes:
    """Return a message with no headers but those of MIME."""
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    kept = re.findall(rb"(?im)^(?:content-[a-z-]+|mime-version):[^\n]*\n(?:[ \t][^\n]*\n)*", head + b"\n")
    return b"".join(kept) + b"\n" + body


@contextmanager
def suffice_judge(raws: list[bytes], y: np.ndarray) -> Iterator[Judge]:
    """Teach our filter and tune it, and yield what returns its verdicts."""
    with SpamFilter() as spam_filter:
        spam_filter.train_many(raws, ["spam" if label else "ham" for label in y])
        spam_filter.tune(COST)
        yield lambda others: np.array([verdict.label for verdict in spam_filter.score_many(others)])


@contextmanager
def bogofilter_judge(raws: list[bytes], y: np.ndarray) -> Iterator[Judge]:
    """Teach bogofilter, and yield what returns its verdicts."""
    peer = Bogofilter()
    with peer.taught(raws, y) as score:
        yield lambda others: outcome(score(others), peer.ham, peer.spam).verdicts


def defence() -> None:
    """Print the tables."""
    raws, y = corpus()
    fold = folds(y)
    verdicts(raws, y, fold, range(5, 10))
    _table("whole messages", raws, y, fold)
    _table("without headers", [bare(raw) for raw in raws], y, fold)


def verdicts(raws: list[bytes], y: np.ndarray, fold: np.ndarray, attacked: Iterable[int]) -> None:
    """Print what becomes of the spams that were caught, for our filter and bogofilter."""
    judges = {"suffice": suffice_judge, "bogofilter": bogofilter_judge}
    if reason := Bogofilter().missing():
        print(f"bogofilter is left out: {reason}")
        del judges["bogofilter"]
    said: dict[str, dict[str, list[np.ndarray]]] = {name: {attack: [] for attack in ATTACKS} for name in judges}
    for k in attacked:
        taught = [raws[i] for i in np.flatnonzero(fold != k)], y[fold != k]
        words = PlainNaiveBayes(*taught).good_words()
        attacker = Known(words, [raw for raw, label in zip(*taught, strict=True) if not label])
        spams = [raws[i] for i in np.flatnonzero((fold == k) & (y == 1))]
        with ExitStack() as stack:
            known = {name: stack.enter_context(judge(*taught)) for name, judge in judges.items()}
            for attack, disguise in ATTACKS.items():
                rng = np.random.default_rng(k)  # the same disguise for everybody
                disguised = [disguise(raw, attacker, rng) for raw in spams]
                for name, judge in known.items():
                    said[name][attack].append(judge(disguised))
    print(
        "\nShares of the caught spams that are still caught and that are classified as ham, at each filter's own "
        "thresholds"
    )
    print(f"  {'':30}" + "".join(f"{name:>28}" for name in judges))
    for attack in ATTACKS:
        cells = []
        for name in judges:
            before, after = (np.concatenate(said[name][each]) for each in ("as it is", attack))
            after = after[before == "spam"]
            caught, ham = (after == "spam").mean(), (after == "ham").mean()
            cells.append(f"{(after == 'spam').sum():10} {caught:6.1%} {ham:10.1%}")
        print(f"  {attack:30}" + "".join(cells), flush=True)


def _table(title: str, raws: list[bytes], y: np.ndarray, fold: np.ndarray) -> None:
    taught = np.flatnonzero(fold <= 6)
    hams = [raws[i] for i in np.flatnonzero(np.isin(fold, (7, 8)) & (y == 0))]
    spams = [raws[i] for i in np.flatnonzero((fold == 9) & (y == 1))]
    lesson = [raws[i] for i in taught], y[taught]
    attacked_hams = [raw for raw, label in zip(*lesson, strict=True) if not label]
    columns: dict[str, list[int]] = {}
    with words_as_written():
        plain = PlainNaiveBayes(*lesson)
        known = Known(plain.good_words(), attacked_hams)
        columns["naive Bayes"] = _caught(plain, hams, spams, known)
        columns["ours, words as written"] = _caught(filter_scorer(*lesson), hams, spams, known)
    columns["ours"] = _caught(filter_scorer(*lesson), hams, spams, known)
    print(
        f"\nSpams caught under attack, {title}: of {len(spams)} in fold 9, at the lowest threshold that calls "
        f"{FALSE_POSITIVES} of {len(hams)} hams of folds 7–8 spam"
    )
    print(f"  {'':28}" + "".join(f"{name:>26}" for name in columns))
    for row, attack in enumerate(ATTACKS):
        cells = [f"{found[row]:19} ({found[row] / len(spams):4.0%})" for found in columns.values()]
        print(f"  {attack:28}" + "".join(cells), flush=True)


def _caught(score: Scorer, hams: list[bytes], spams: list[bytes], known: Known) -> list[int]:
    """Return how many spams are above the threshold after each attack."""
    threshold = np.sort([score(raw) for raw in hams])[::-1][FALSE_POSITIVES]
    caught = []
    for attack in ATTACKS.values():
        rng = np.random.default_rng(0)  # the same disguise for everybody
        caught.append(sum(score(attack(raw, known, rng)) > threshold for raw in spams))
    return caught


if __name__ == "__main__":
    defence()
