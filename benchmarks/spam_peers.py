"""Other spam filters, each by its own program and with its own settings: bogofilter, spamprobe, scikit-learn.

Everybody answers two questions: what does it say of each message when the nine other folds were taught (`ten_fold`),
and what does it say of each message of a pass when those before it were taught (`one_pass`)? Where nothing or only one
class was taught yet, it says a half.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from benchmarks.spam_corpus import plain_text

#: how many files are named on one command line
ARGUMENTS = 500


@dataclass(frozen=True)
class Outcome:
    """What a filter said of messages, in their order.

    `scores` rank them, `probabilities` are what the filter calls one, and `verdicts` are "spam", "ham" or "unsure".
    """

    scores: np.ndarray
    probabilities: np.ndarray
    verdicts: np.ndarray


class Program(Protocol):
    """A filter that takes part."""

    name: str

    def missing(self) -> str:
        """Return why it cannot take part, or an empty string."""

    def ten_fold(self, raws: list[bytes], y: np.ndarray, fold: np.ndarray) -> Outcome:
        """Return what it says of each message, taught by the nine other folds."""

    def one_pass(self, raws: list[bytes], y: np.ndarray) -> Outcome:
        """Return what it says of each message, taught by those before it."""


def outcome(probabilities: np.ndarray, ham: float, spam: float, scores: np.ndarray | None = None) -> Outcome:
    """Return an outcome with verdicts by two thresholds: spam from the upper one on, ham up to the lower one."""
    verdicts = np.where(probabilities >= spam, "spam", np.where(probabilities <= ham, "ham", "unsure"))
    return Outcome(probabilities if scores is None else scores, probabilities, verdicts)


@contextmanager
def as_files(raws: list[bytes]) -> Iterator[list[str]]:
    """Write each message into a file of its own, and yield their paths."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / str(i)) for i in range(len(raws))]
        for path, raw in zip(paths, raws, strict=True):
            Path(path).write_bytes(raw)
        yield paths


def run(command: list[str], given: str = "", ends: tuple[int, ...] = (0,)) -> str:
    """Run a command and return what it prints; other exit codes than `ends` are an error."""
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    if done.returncode not in ends:
        raise RuntimeError(f"{' '.join(command[:6])} … ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Bogofilter:
    """bogofilter with its settings; -b reads names of files, -TT prints the spamicity with all digits."""

    name = "bogofilter"
    ham, spam = 0.45, 0.99  # ham_cutoff and spam_cutoff of `bogofilter -Q`

    def missing(self) -> str:
        return "" if shutil.which("bogofilter") else "bogofilter is not installed"

    def ten_fold(self, raws: list[bytes], y: np.ndarray, fold: np.ndarray) -> Outcome:
        scores = np.full(len(y), np.nan)
        for k in range(10):
            with self.taught([raws[i] for i in np.flatnonzero(fold != k)], y[fold != k]) as score:
                scores[fold == k] = score([raws[i] for i in np.flatnonzero(fold == k)])
        return outcome(scores, self.ham, self.spam)

    @contextmanager
    def taught(self, raws: list[bytes], y: np.ndarray) -> Iterator[Callable[[list[bytes]], np.ndarray]]:
        """Teach it messages, and yield what returns its scores of others."""
        with tempfile.TemporaryDirectory() as words:
            with as_files(raws) as paths:
                for flag, c in (("-nb", 0), ("-sb", 1)):
                    run(["bogofilter", "-d", words, flag], "".join(paths[i] + "\n" for i in np.flatnonzero(y == c)))

            def score(others: list[bytes]) -> np.ndarray:
                with as_files(others) as paths:
                    names = "".join(path + "\n" for path in paths)
                    said = run(["bogofilter", "-d", words, "-TTb"], names, (0, 1, 2)).splitlines()
                return np.array([float(line.split()[-1]) for line in said])

            yield score

    def one_pass(self, raws: list[bytes], y: np.ndarray) -> Outcome:
        scores = np.full(len(y), 0.5)
        with as_files(raws) as paths, tempfile.TemporaryDirectory() as words:
            for i, path in enumerate(paths):
                if 0 < y[:i].sum() < i:
                    said = run(["bogofilter", "-d", words, "-TT", "-I", path], ends=(0, 1, 2))
                    scores[i] = float(said.split()[-1])
                run(["bogofilter", "-d", words, "-s" if y[i] else "-n", "-I", path])
        return outcome(scores, self.ham, self.spam)


class Spamprobe:
    """spamprobe with its settings, every message learned by `good` or `spam`; -M says that a file is one message."""

    name = "spamprobe"
    threshold = 0.6

    def missing(self) -> str:
        return "" if shutil.which("spamprobe") else "spamprobe is not installed"

    def ten_fold(self, raws: list[bytes], y: np.ndarray, fold: np.ndarray) -> Outcome:
        scores = np.full(len(y), np.nan)
        with as_files(raws) as paths:
            for k in range(10):
                with tempfile.TemporaryDirectory() as words:
                    run(["spamprobe", "-d", words, "create-db"])
                    for verb, c in (("good", 0), ("spam", 1)):
                        self._over(words, verb, [paths[i] for i in np.flatnonzero((fold != k) & (y == c))])
                    rows = np.flatnonzero(fold == k)
                    said = self._over(words, "score", [paths[i] for i in rows])
                    scores[rows] = [float(line.split()[1]) for line in said]
        return self._outcome(scores)

    def one_pass(self, raws: list[bytes], y: np.ndarray) -> Outcome:
        scores = np.full(len(y), 0.5)
        with as_files(raws) as paths, tempfile.TemporaryDirectory() as words:
            run(["spamprobe", "-d", words, "create-db"])
            for i, path in enumerate(paths):
                if 0 < y[:i].sum() < i:
                    scores[i] = float(self._over(words, "score", [path])[0].split()[1])
                self._over(words, "spam" if y[i] else "good", [path])
        return self._outcome(scores)

    def _over(self, words: str, verb: str, paths: list[str]) -> list[str]:
        printed = ""
        for start in range(0, len(paths), ARGUMENTS):
            printed += run(["spamprobe", "-M", "-d", words, verb, *paths[start : start + ARGUMENTS]])
        return printed.splitlines()

    def _outcome(self, scores: np.ndarray) -> Outcome:
        return outcome(scores, np.nextafter(self.threshold, 0.0), self.threshold)


class Multinomial:
    """scikit-learn's MultinomialNB over the words of decoded headers and texts.

    Words count once a message, with a pseudo-count of 0.01: of counted or not, raw or decoded, and 1 or 0.01, this was
    the best in ten folds, by far. In one pass words are hashed, since a vocabulary would have to be known beforehand.
    """

    name = "MultinomialNB"
    threshold = 0.5
    features = 2**18
    alpha = 0.01

    def missing(self) -> str:
        return ""

    def ten_fold(self, raws: list[bytes], y: np.ndarray, fold: np.ndarray) -> Outcome:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.pipeline import make_pipeline

        texts = np.array([plain_text(raw) for raw in raws], dtype=object)
        log_odds = np.full(len(y), np.nan)
        for k in range(10):
            model = make_pipeline(CountVectorizer(binary=True), MultinomialNB(alpha=self.alpha)).fit(
                texts[fold != k], y[fold != k]
            )
            joint = model[-1].predict_joint_log_proba(model[0].transform(texts[fold == k]))
            log_odds[fold == k] = joint[:, 1] - joint[:, 0]
        return self._outcome(log_odds)

    def one_pass(self, raws: list[bytes], y: np.ndarray) -> Outcome:
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.naive_bayes import MultinomialNB

        hashed = HashingVectorizer(n_features=self.features, alternate_sign=False, norm=None, binary=True)
        counts = hashed.transform(plain_text(raw) for raw in raws)
        model = MultinomialNB(alpha=self.alpha)
        log_odds = np.zeros(len(y))
        # the prior of a class without a message is log 0, which only matters while there is one
        with np.errstate(divide="ignore"):
            for i in range(len(y)):
                if 0 < y[:i].sum() < i:
                    joint = model.predict_joint_log_proba(counts[i])[0]
                    log_odds[i] = joint[1] - joint[0]
                model.partial_fit(counts[i], y[i : i + 1], classes=[0, 1])
        return self._outcome(log_odds)

    def _outcome(self, log_odds: np.ndarray) -> Outcome:
        from scipy.special import expit

        probabilities = expit(log_odds)
        return outcome(probabilities, np.nextafter(self.threshold, 0.0), self.threshold, log_odds)


PEERS: tuple[Program, ...] = (Bogofilter(), Spamprobe(), Multinomial())
