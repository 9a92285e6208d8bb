"""python -m benchmarks.newsgroups: what unlabelled documents are worth to naive Bayes, on 20 Newsgroups by date.

Bodies only (headers are cut off); the training part with a few labels and the rest unlabelled; accuracy on the test
part. Words are weighted by log (1 + count) and inverse document frequency, and documents scaled to equal length. That,
the length and the pseudo-count were chosen by the accuracy on the unlabelled documents of the training part.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from suffice import NaiveBayes

ARCHIVE = Path(__file__).parents[2] / "shared/data/20newsgroups/20news-bydate.tar.xz"
SIZES = (20, 40, 100, 300, 1000, 3000)
#: words of a document after scaling: all documents count alike, whatever their length
LENGTH = 15.0
PSEUDO_COUNT = 0.1


def documents(archive: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the part (train or test), the group and the body of each document."""
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            part, group = Path(member.name).parts[-3:-1]
            _, _, body = file.read().decode("latin-1").partition("\n\n")
            yield ("train" if "train" in part else "test"), group, body


def load(archive: Path) -> tuple[Any, Any, Any, Any]:
    """Return the words of the training and test documents, scaled to equal length, and their groups."""
    parts: dict[str, tuple[list[str], list[str]]] = {"train": ([], []), "test": ([], [])}
    for part, group, body in documents(archive):
        parts[part][0].append(body)
        parts[part][1].append(group)
    words = CountVectorizer(stop_words="english", min_df=2, token_pattern=r"(?u)\b[a-zA-Z][a-zA-Z]+\b")
    train = words.fit_transform(parts["train"][0])
    test = words.transform(parts["test"][0])
    rarity = np.log(train.shape[0] / np.diff(train.tocsc().indptr))
    scaled = [scale(rows, rarity) for rows in (train, test)]
    return scaled[0], np.array(parts["train"][1]), scaled[1], np.array(parts["test"][1])


def scale(counts: Any, rarity: Any) -> Any:
    """Return log (1 + count) times the rarity of the word, scaled so that every document has the same length."""
    rows = counts.astype(np.float64)
    rows.data = np.log1p(rows.data)
    return sparse.csr_array(normalize(rows.multiply(rarity).tocsr(), norm="l1") * LENGTH)


def draw(y: Any, n_labels: int, rng: np.random.Generator) -> Any:
    """Return places of documents to label: the same number of each group."""
    each = n_labels // len(np.unique(y))
    return np.concatenate([rng.choice(np.flatnonzero(y == group), each, replace=False) for group in np.unique(y)])


def curve(archive: Path, sizes: Sequence[int], draws: int, weight: float) -> list[dict[str, Any]]:
    """Return the accuracies with and without unlabelled documents, for each number of labels and draw."""
    X, y, X_test, y_test = load(archive)
    results = []
    for n_labels in sizes:
        for seed in range(draws):
            chosen = draw(y, n_labels, np.random.default_rng(seed))
            partial = np.full(len(y), None, dtype=object)
            partial[chosen] = y[chosen]
            alone = NaiveBayes("multinomial", prior=PSEUDO_COUNT).fit(X[chosen], y[chosen])
            both = NaiveBayes("multinomial", prior=PSEUDO_COUNT, unlabeled_weight=weight, missing_label=None).fit(
                X, partial
            )
            row = {
                "labels": n_labels,
                "seed": seed,
                "labelled only": float(alone.score(X_test, y_test)),
                "with unlabelled": float(both.score(X_test, y_test)),
                "iterations": both.n_iter_,
            }
            results.append(row)
            print(row, flush=True)
    return results


def plot(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the two learning curves."""
    import matplotlib.pyplot as plt

    sizes = sorted({row["labels"] for row in results})
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for name, label, colour in (
        ("with unlabelled", "and the rest without labels", "#1b6ca8"),
        ("labelled only", "labelled documents only", "#b5482a"),
    ):
        scores = np.array([[row[name] for row in results if row["labels"] == size] for size in sizes]) * 100
        axes.plot(sizes, scores.mean(1), "o-", color=colour, ms=4)
        axes.fill_between(sizes, scores.min(1), scores.max(1), color=colour, alpha=0.15, lw=0)
        axes.annotate(label, (sizes[1], scores.mean(1)[1]), (8, -14), textcoords="offset points", color=colour)
    axes.set(xscale="log", xlabel="labelled documents", ylabel="accuracy on the test part, %", ylim=(0, 90))
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.set_title("20 Newsgroups, bodies only, by date: 11,314 training documents", fontsize=10, loc="left")
    figure.savefig(path, dpi=160)


def main() -> None:
    """Run the curve."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.newsgroups", description=__doc__)
    parser.add_argument("--archive", type=Path, default=ARCHIVE)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--draws", type=int, default=5, help="random choices of the labelled documents")
    parser.add_argument("--weight", type=float, default=1.0, help="the weight of an unlabelled document")
    parser.add_argument("--plot", type=Path, help="draw the learning curve to this file")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    results = curve(options.archive, options.sizes, options.draws, options.weight)
    for size in options.sizes:
        rows = [row for row in results if row["labels"] == size]
        means = {name: np.mean([row[name] for row in rows]) for name in ("labelled only", "with unlabelled")}
        print(f"{size:6,} labels: {means['labelled only']:.1%} → {means['with unlabelled']:.1%}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
