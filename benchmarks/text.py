"""python -m benchmarks.text: documents to counts of words, beside scikit-learn, on 20 Newsgroups.

Both read the same documents in one process, in turns, and their words and counts must be the same. Times are medians
of seconds and of the seconds of the processor; memory is that of one call in a process of its own, beyond that of the
documents, and of the counts that the call returns.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.newsgroups import ARCHIVE
from suffice._threads import threads
from suffice.tables.words import Bags, Reading, count_words


def documents(archive: Path) -> list[str]:
    """Return all documents as they are, with their headers."""
    with tarfile.open(archive) as tar:
        files = (tar.extractfile(member) for member in tar if member.isfile())
        return [file.read().decode("latin-1") for file in files if file is not None]


@dataclass
class Part:
    """A piece of work, the same for both; `same` compares their results."""

    name: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    same: Callable[[Any, Any], bool]


def parts(texts: list[str]) -> list[Part]:
    """Return the pieces of work on documents."""
    found = []
    for name, ngrams in (("words", (1, 1)), ("words and pairs", (1, 2))):
        known, numbers = CountVectorizer(ngram_range=ngrams), dict[str, int]()
        reading = Reading(ngrams=ngrams)
        found.append(Part(f"{name}, learned", *_learned(texts, known, reading, numbers)))
        found.append(Part(f"{name}, known", *_known(texts, known, reading, numbers)))
    return found


def _learned(texts: list[str], vectorizer: Any, reading: Reading, numbers: dict[str, int]) -> tuple[Any, ...]:
    def ours() -> tuple[Bags, dict[str, int]]:
        numbers.clear()
        return count_words(texts, reading, numbers, grow=True), numbers

    return lambda: (vectorizer.fit_transform(texts), vectorizer.vocabulary_), ours, _same


def _known(texts: list[str], vectorizer: Any, reading: Reading, numbers: dict[str, int]) -> tuple[Any, ...]:
    def ours() -> tuple[Bags, dict[str, int]]:
        return count_words(texts, reading, numbers, grow=False), numbers

    return lambda: (vectorizer.transform(texts), vectorizer.vocabulary_), ours, _same


def _same(theirs: Any, ours: Any) -> bool:
    """Return whether the words, and the counts of each, are the same."""
    (counts, vocabulary), (bags, numbers) = theirs, ours
    if vocabulary.keys() != numbers.keys():
        return False
    order = np.fromiter((numbers[word] for word in sorted(vocabulary, key=vocabulary.__getitem__)), np.int64)
    return (bags.counts[:, order] != counts).nnz == 0


def compare(part: Part, repeats: int) -> None:
    """Print how long both take, in turns, and whether they agree."""
    seconds: dict[str, list[tuple[float, float]]] = {"theirs": [], "ours": []}
    results: dict[str, Any] = {}
    for _ in range(repeats + 1):
        for who, call in (("theirs", part.theirs), ("ours", part.ours)):
            results[who] = None
            gc.collect()
            wall, processor = time.perf_counter(), time.process_time()
            results[who] = call()
            seconds[who].append((time.perf_counter() - wall, time.process_time() - processor))
    (theirs, their_work), (ours, our_work) = (np.median(seconds[who][1:], axis=0) for who in ("theirs", "ours"))
    assert part.same(results["theirs"], results["ours"]), f"{part.name}: words or counts differ"
    print(
        f"{part.name:26}{theirs:9.3f} s{ours:9.3f} s{theirs / ours:8.1f}{their_work:13.3f} s{our_work:9.3f} s",
        flush=True,
    )


def peak(archive: Path, ngrams: tuple[int, int]) -> None:
    """Print the memory of one call in this process, in which the kernel of Linux keeps the most there was, as JSON."""
    texts, numbers, reading = documents(archive), dict[str, int](), Reading(ngrams=ngrams)
    count_words(texts[:100], reading, {}, grow=True)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the most that there was so far
    before = _status("VmRSS")
    counts = count_words(texts, reading, numbers, grow=True).counts
    after = _status("VmHWM")
    size = counts.data.nbytes + counts.indices.nbytes + counts.indptr.nbytes
    words = sys.getsizeof(numbers) + sum(sys.getsizeof(word) + sys.getsizeof(n) for word, n in numbers.items())
    print(json.dumps({"peak": after - before, "counts": size / 1e6, "dictionary": words / 1e6}))


def _status(name: str) -> float:
    """Return a figure of this process in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024 / 1e6


def memory(archive: Path) -> None:
    """Print the memory of a call beyond that of the documents."""
    for ngrams in ((1, 1), (1, 2)):
        command = [sys.executable, "-m", "benchmarks.text", "--archive", str(archive), "--peak", *map(str, ngrams)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        parts = ", ".join(f"{name} {size:.0f} MB" for name, size in found.items())
        print(f"memory, n-grams of {ngrams[0]} to {ngrams[1]} words: {parts}", flush=True)


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("--archive", type=Path, default=ARCHIVE)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="words in the name of the parts to run")
    parser.add_argument("--peak", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(options.archive, tuple(options.peak))
        return
    texts = documents(options.archive)
    print(f"{len(texts):,} documents of {sum(map(len, texts)) / 1e6:.1f} million characters, {threads(None)} threads")
    print(f"{'':26}{'scikit-learn':>11}{'Suffice':>11}{'ratio':>8}{'processor':>15}{'':>11}")
    for part in parts(texts):
        if options.only in part.name:
            compare(part, options.repeats)
    memory(options.archive)


if __name__ == "__main__":
    main()
