"""python -m benchmarks.text_models: models of text beside scikit-learn's, on 20 Newsgroups by date.

`accuracy` compares the family Text, trained on all labels, with MultinomialNB and ComplementNB after careful
preprocessing; `unlabelled` learns from 20 and 300 labels and all other documents by EM; `speed` times documents to a
trained model and predictions. Settings were chosen by three-fold cross-validation of the training part, or by the
accuracy on its unlabelled documents.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks.measure import median_seconds
from benchmarks.newsgroups import ARCHIVE, draw
from suffice import NaiveBayes, Text

#: the settings that cross-validation of the training part chose, of all labels and of few
ALL_LABELS = Text(weighting="tf-idf", complement=True, ngrams=2)
FEW_LABELS = Text(weighting="tf-idf", min_count=3)
ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)

#: documents and groups of the training and of the test part
Corpus = tuple[list[str], Any, list[str], Any]


def load(archive: Path, *, bodies: bool) -> Corpus:
    """Return the documents, whole or without their headers, and their groups."""
    import tarfile

    parts: dict[str, tuple[list[str], list[str]]] = {"train": ([], []), "test": ([], [])}
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            part, group = Path(member.name).parts[-3:-1]
            text = file.read().decode("latin-1")
            documents, groups = parts["train" if "train" in part else "test"]
            documents.append(text.partition("\n\n")[2] if bodies else text)
            groups.append(group)
    (train, y), (test, y_test) = parts["train"], parts["test"]
    return train, np.array(y), test, np.array(y_test)


def accuracy(corpus: Corpus, name: str) -> list[dict[str, Any]]:
    """Return the accuracies on the test part of models of all labels, with the preprocessing that folds chose."""
    train, y, test, y_test = corpus
    results = []
    for family in (Text(), Text("bernoulli"), Text(complement=True), Text(weighting="tf-idf"), ALL_LABELS):
        model = NaiveBayes(family, class_prior="uniform" if family.complement else "empirical").fit(train, y)
        results.append({"documents": name, "model": repr(family), "accuracy": model.score(test, y_test)})
        print(results[-1], flush=True)
    best: dict[type, tuple[float, dict[str, Any], float]] = {}
    for found in peers(train, y, test, y_test):
        if found[1] > best.get(found[0], (0.0,))[0]:
            best[found[0]] = found[1:]
    for kind, (_, chosen, score) in best.items():
        results.append({"documents": name, "model": f"{kind.__name__} {chosen}", "accuracy": score})
        print(results[-1], flush=True)
    return results


def peers(
    train: list[str], y: Any, test: list[str], y_test: Any
) -> Iterator[tuple[type, float, dict[str, Any], float]]:
    """Yield scikit-learn's models with every preprocessing: settings, accuracy on three folds, and on the test part.

    Words are counted once for all folds, which the peers only gain by.
    """
    folds = list(StratifiedKFold(3).split(train, y))
    for ngrams, stop_words, min_df in product((1, 2), (None, "english"), (1, 2)):
        words = CountVectorizer(ngram_range=(1, ngrams), stop_words=stop_words, min_df=min_df)
        counted, counted_test = words.fit_transform(train), words.transform(test)
        for sublinear in (False, True):
            weights = TfidfTransformer(sublinear_tf=sublinear).fit(counted)
            X, X_test = weights.transform(counted).tocsr(), weights.transform(counted_test)
            for kind, alpha in product((MultinomialNB, ComplementNB), ALPHAS):
                model = kind(alpha=alpha)
                held_out = np.mean([model.fit(X[rows], y[rows]).score(X[out], y[out]) for rows, out in folds])
                settings = {"ngrams": ngrams, "stop_words": stop_words, "min_df": min_df, "sublinear": sublinear}
                yield kind, float(held_out), settings | {"alpha": alpha}, model.fit(X, y).score(X_test, y_test)


def unlabelled(corpus: Corpus, sizes: Sequence[int], draws: int) -> list[dict[str, Any]]:
    """Return the accuracies of models of a few labels, alone and with all other documents by EM."""
    train, y, test, y_test = corpus
    results = []
    for n_labels in sizes:
        found = []
        for seed in range(draws):
            chosen = draw(y, n_labels, np.random.default_rng(seed))
            partial = np.full(len(y), None, dtype=object)
            partial[chosen] = y[chosen]
            alone = NaiveBayes(FEW_LABELS).fit([train[i] for i in chosen], y[chosen])
            both = NaiveBayes(FEW_LABELS, missing_label=None).fit(train, partial)
            found.append((alone.score(test, y_test), both.score(test, y_test)))
        means = np.mean(found, axis=0)
        results.append({"labels": n_labels, "labelled only": means[0], "with unlabelled": means[1]})
        print(results[-1], flush=True)
    return results


def speed(corpus: Corpus, repeats: int) -> dict[str, float]:
    """Return the seconds from documents to a trained model and predictions, of both libraries."""
    train, y, test, _ = corpus
    contenders: dict[str, Callable[[], Any]] = {
        "suffice": lambda: NaiveBayes("text").fit(train, y).predict(test),
        "scikit-learn": lambda: make_pipeline(CountVectorizer(), MultinomialNB()).fit(train, y).predict(test),
    }
    seconds = {name: median_seconds(call, repeats)[0] for name, call in contenders.items()}
    print({**seconds, "ratio": seconds["scikit-learn"] / seconds["suffice"]}, flush=True)
    return seconds


def main() -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text_models", description=__doc__)
    parser.add_argument("parts", nargs="*", default=["accuracy", "unlabelled", "speed"])
    parser.add_argument("--archive", type=Path, default=ARCHIVE)
    parser.add_argument("--draws", type=int, default=5, help="random choices of the labelled documents")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of the timed jobs")
    options = parser.parse_args()
    bodies, whole = (load(options.archive, bodies=flag) for flag in (True, False))
    if "speed" in options.parts:
        speed(whole, options.repeats)
    if "unlabelled" in options.parts:
        unlabelled(bodies, (20, 300), options.draws)
    if "accuracy" in options.parts:
        accuracy(bodies, "bodies")
        accuracy(whole, "whole messages")


if __name__ == "__main__":
    main()
