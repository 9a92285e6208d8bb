"""python -m benchmarks.spam_tuning: calibration and thresholds, tuned on one part of the corpus, tested on the rest.

For several random orders a filter learns the first `--learned` messages, tunes itself on them by leave-one-out at a
cost of 100, and is asked about the others, before and after. Rules for the threshold are compared on the same scores.
`--imbalance` compares, on folds 0–4, what much more of one class does with and without the common rate of tokens.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.spam_study import Bags, corpus, folds, one_minus_auc
from suffice.spam import Evaluation, Scoring, SpamFilter, Thresholds, read, score, tokens
from suffice.spam.tuning import _least_cost

COST = 100.0


def shown(evaluation: Evaluation, thresholds: Thresholds) -> str:
    found = evaluation.errors(thresholds)
    return (
        f"{found.false_positives} of {found.ham} hams called spam, {found.not_caught} of {found.spam} spams not caught "
        f"({found.missed} called ham), {found.unsure_ham} hams unsure, cost {evaluation.cost(thresholds, COST):.0f}"
    )


def imbalance(raws: list[bytes], y: np.ndarray) -> None:
    """Print (1 − AUC)% on fold 4 for filters taught by so many spams and hams of folds 0–3."""
    fold = folds(y)
    chosen = np.flatnonzero(fold < 5)
    bags, labels, fold = Bags([tokens(read(raws[i])) for i in chosen]), y[chosen], fold[chosen]
    tested = np.flatnonzero(fold == 4)
    for spams, hams in ((20, 1500), (600, 20), (200, 1500)):
        for common in (0.0, 1.0):
            found = []
            for seed in range(4):
                rng = np.random.default_rng(seed)
                s, h = (
                    bags.counts(rng.permutation(np.flatnonzero((fold < 4) & (labels == c)))[:count])
                    for c, count in ((1, spams), (0, hams))
                )
                scores = [
                    score(
                        bags.messages[i], s[bags.rows[i]], h[bags.rows[i]], spams, hams, Scoring(common=common)
                    ).log_odds
                    for i in tested
                ]
                found.append(one_minus_auc(labels[tested], np.array(scores)))
            print(f"{spams} spams, {hams} hams, common {common}: {np.mean(found):.3f} {np.round(found, 3)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam_tuning", description=__doc__)
    parser.add_argument("--learned", type=int, default=3023)
    parser.add_argument("--tested", type=int, default=3023)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--imbalance", action="store_true")
    options = parser.parse_args()
    raws, y = corpus()
    if options.imbalance:
        imbalance(raws, y)
        return
    costs: dict[str, list[float]] = {}
    for seed in range(options.seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        parts = order[: options.learned], order[options.learned :][: options.tested]
        (mail, labels), (new_mail, new_labels) = (
            ([raws[i] for i in part], ["spam" if y[i] else "ham" for i in part]) for part in parts
        )
        with SpamFilter() as spam_filter:
            spam_filter.train_many(mail, labels)
            before = spam_filter.evaluate(new_mail, new_labels)
            start = time.perf_counter()
            tuning = spam_filter.tune(COST)
            seconds = time.perf_counter() - start
            after = spam_filter.evaluate(new_mail, new_labels)
        print(
            f"seed {seed}: tuned in {seconds:.1f} s, link {tuning.slope:.3f} {tuning.intercept:.3f}, "
            f"thresholds {tuning.thresholds.ham:.3f} {tuning.thresholds.spam:.5f}, (1−AUC)% {after.one_minus_auc:.4f}"
        )
        for name, each in (("before", before), ("after", after)):
            print(f"  {name:7} log-loss {each.log_loss:.4f}, calibration error {each.calibration_error:.4f}", end="; ")
            print(shown(each, each.thresholds))
        print(f"  leave-one-out {shown(tuning.after, tuning.thresholds)}")
        bayes, least = COST / (COST + 1.0), _least_cost(tuning.after, COST)
        rules = {"default, untuned": (before, 0.9), "cost/(cost + 1)": (after, bayes), "least cost": (after, least)}
        rules["the larger"] = (after, max(bayes, least))
        for name, (evaluation, threshold) in rules.items():
            costs.setdefault(name, []).append(evaluation.cost(Thresholds(0.0, threshold), COST))
        for each in after.reliability():
            print(
                f"    {each.low:.1f}–{each.high:.1f}: mean {each.probability:.3f}, spam {each.spam:.3f}, {each.count}"
            )
    for name, found in costs.items():
        print(f"{name:18} mean cost {np.mean(found):.0f}: {[round(cost) for cost in found]}", flush=True)


if __name__ == "__main__":
    main()
