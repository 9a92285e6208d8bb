"""python -m benchmarks.spam_unlabeled: what mail without labels adds to a few labels.

Of four of the folds 5–9 some messages are learned with their labels and all others without; the fifth is asked about,
before and after. How messages are shared out among the classes was chosen on folds 0–4, by `--chosen-on`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.spam_corpus import corpus, folds
from suffice.spam import Evaluation, SpamFilter


def figures(evaluation: Evaluation) -> list[float]:
    found = evaluation.errors()
    return [evaluation.one_minus_auc, evaluation.log_loss, found.false_positives, found.not_caught]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam_unlabeled", description=__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 400, 1500])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--chosen-on", action="store_true", help="folds 0–4 instead")
    options = parser.parse_args()
    raws, y = corpus()
    fold = folds(y)
    used = range(5) if options.chosen_on else range(5, 10)
    for count in options.labels:
        results, seconds = [], []
        for seed in range(options.seeds):
            tested = fold == used[seed % 5]
            pool = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(fold, used) & ~tested))
            names = np.where(y == 1, "spam", "ham").tolist()
            asked = [raws[i] for i in np.flatnonzero(tested)], [names[i] for i in np.flatnonzero(tested)]
            with SpamFilter() as spam_filter:
                spam_filter.train_many([raws[i] for i in pool[:count]], [names[i] for i in pool[:count]])
                before = figures(spam_filter.evaluate(*asked))
                start = time.perf_counter()
                learned = spam_filter.train_unlabeled([raws[i] for i in pool[count:]])
                seconds.append(time.perf_counter() - start)
                results.append((before, figures(spam_filter.evaluate(*asked)), learned.iterations))
        for name, place in (("labels alone", 0), ("and the others without", 1)):
            rows = np.array([each[place] for each in results])
            print(
                f"{count:5} {name:24} (1−AUC)% {rows[:, 0].mean():.3f} {rows[:, 0].round(3).tolist()}, log-loss "
                f"{rows[:, 1].mean():.4f}, false positives {rows[:, 2].mean():.1f}, not caught {rows[:, 3].mean():.1f}",
                flush=True,
            )
        print(f"      {np.median(seconds):.0f} s, iterations {[each[2] for each in results]}", flush=True)


if __name__ == "__main__":
    main()
