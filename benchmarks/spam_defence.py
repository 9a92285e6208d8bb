"""How many spams are still caught when they are disguised, before and after what was done against it.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from benchmarks.spam_attacks import ATTACKS
from benchmarks.spam_corpus import corpus, folds
from suffice.spam import SpamFilter, read, tokens

#: how many hams of folds 7–8 a threshold may call spam
FALSE_POSITIVES = 1
#: the common words of ham that an attacker may know
GOOD_WORDS = 2000
Scorer = Callable[[bytes], float]


@contextmanager
def words_as_written() -> Iterator[None]:
    """Switch off what undoes disguises: look-alike and zero-width characters, spaced words, digits for letters."""
    with patch.multiple(
        "suffice.spam.tokens", normalised=lambda text: text, spaced_words=lambda text: [], plain_word=lambda word: ""
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


def defence() -> None:
    """Print the tables."""
    raws, y = corpus()
    fold = folds(y)
    _table("whole messages", raws, y, fold)
    _table("without headers", [bare(raw) for raw in raws], y, fold)


def _table(title: str, raws: list[bytes], y: np.ndarray, fold: np.ndarray) -> None:
    taught = np.flatnonzero(fold <= 6)
    hams = [raws[i] for i in np.flatnonzero(np.isin(fold, (7, 8)) & (y == 0))]
    spams = [raws[i] for i in np.flatnonzero((fold == 9) & (y == 1))]
    lesson = [raws[i] for i in taught], y[taught]
    columns: dict[str, list[int]] = {}
    with words_as_written():
        plain = PlainNaiveBayes(*lesson)
        good_words = plain.good_words()
        columns["naive Bayes"] = _caught(plain, hams, spams, good_words)
        columns["ours, words as written"] = _caught(filter_scorer(*lesson), hams, spams, good_words)
    columns["ours"] = _caught(filter_scorer(*lesson), hams, spams, good_words)
    print(
        f"\nSpams caught under attack, {title}: of {len(spams)} in fold 9, at the lowest threshold that calls "
        f"{FALSE_POSITIVES} of {len(hams)} hams of folds 7–8 spam"
    )
    print(f"  {'':28}" + "".join(f"{name:>26}" for name in columns))
    for row, attack in enumerate(ATTACKS):
        cells = [f"{found[row]:19} ({found[row] / len(spams):4.0%})" for found in columns.values()]
        print(f"  {attack:28}" + "".join(cells), flush=True)


def _caught(score: Scorer, hams: list[bytes], spams: list[bytes], good_words: list[str]) -> list[int]:
    """Return how many spams are above the threshold after each attack."""
    threshold = np.sort([score(raw) for raw in hams])[::-1][FALSE_POSITIVES]
    caught = []
    for attack in ATTACKS.values():
        rng = np.random.default_rng(0)  # the same disguise for everybody
        caught.append(sum(score(attack(raw, good_words, rng)) > threshold for raw in spams))
    return caught


if __name__ == "__main__":
    defence()
