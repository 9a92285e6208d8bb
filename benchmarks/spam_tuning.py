"""python -m benchmarks.spam_tuning: calibration and thresholds, tuned on one part of the corpus, tested on the rest.

For several random orders a filter learns the first `--learned` messages, tunes itself on them by leave-one-out at a
cost of 100, and is asked about the others, before and after. Rules for the threshold are compared on the same scores.
`--in-time` teaches the messages that arrived first, tunes, and asks about those that came later, beside a random split
of the same size and bogofilter; settings were chosen on folds 0–4, folds 5–9 are shown. `--imbalance` compares, on
folds 0–4, what much more of one class does with and without the common rate of tokens.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.spam_corpus import corpus, folds, one_minus_auc
from benchmarks.spam_peers import Bogofilter, Outcome, outcome
from benchmarks.spam_study import Bags
from suffice.spam import Evaluation, Scoring, SpamFilter, Thresholds, read, score, tokens
from suffice.spam.arrival import arrival_day
from suffice.spam.shares import Label
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


def in_time() -> None:
    """Print what filters taught by the older messages of folds 5–9, of draws from them and of all say of newer ones."""
    raws, y = corpus()
    day = np.array([arrival_day(read(raw)) or 0 for raw in raws])
    held = np.flatnonzero(folds(y) >= 5)
    pools = {"folds 5–9": held, "all": np.arange(len(y))}
    for seed in range(4):
        pools[f"1,000 of folds 5–9, draw {seed}"] = np.random.default_rng(seed).permutation(held)[:1000]
    lost: dict[str, list[list[int]]] = {}
    for name, pool in pools.items():
        orders = {"in time": pool[np.argsort(day[pool], kind="stable")]}
        if len(pool) > 1000:
            orders["at random"] = np.random.default_rng(0).permutation(pool)
        for kind, order in orders.items():
            for share in (0.3, 0.5, 0.7):
                cut = int(share * len(order))
                for title, found in _split_outcomes(raws, y, order[:cut], order[cut:]).items():
                    hams, spams = found.verdicts[y[order[cut:]] == 0], found.verdicts[y[order[cut:]] == 1]
                    row = [(hams == "spam").sum(), len(hams), (spams != "spam").sum(), len(spams)]
                    lost.setdefault(f"{title}, {kind}", []).append(row)
                    print(
                        f"{name}, {kind}, {share:.0%} taught: {title:18} {row[0]} of {row[1]} hams lost, {row[2]} of "
                        f"{row[3]} spams not caught, (1−AUC)% {one_minus_auc(y[order[cut:]], found.scores):.3f}",
                        flush=True,
                    )
    for title, rows in lost.items():
        total, worst = np.sum(rows, axis=0), max(row[0] / row[1] for row in rows)
        print(
            f"{title:30} {total[0] / total[1]:.3%} of hams lost, {worst:.3%} at worst, "
            f"{total[2] / total[3]:.1%} of spams not caught, cost {COST * total[0] + total[2]:.0f}"
        )


def _labels(y: np.ndarray) -> list[Label]:
    return ["spam" if each else "ham" for each in y]


def _split_outcomes(raws: list[bytes], y: np.ndarray, taught: np.ndarray, tested: np.ndarray) -> dict[str, Outcome]:
    """Return what our filter, untuned and tuned, and bogofilter say."""
    lesson, asked = [raws[i] for i in taught], [raws[i] for i in tested]
    result = {}
    with SpamFilter() as spam_filter:
        spam_filter.train_many(lesson, _labels(y[taught]))
        for title in ("untuned", "tuned"):
            if title == "tuned":
                spam_filter.tune(COST)
            said = list(spam_filter.score_many(asked))
            p = np.array([verdict.probability for verdict in said])
            scores = np.array([verdict.log_odds for verdict in said])
            result[title] = Outcome(scores, p, np.array([verdict.label for verdict in said]))
    peer = Bogofilter()
    if not peer.missing():
        with peer.taught(lesson, y[taught]) as score_all:
            result["bogofilter"] = outcome(score_all(asked), peer.ham, peer.spam)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam_tuning", description=__doc__)
    parser.add_argument("--learned", type=int, default=3023)
    parser.add_argument("--tested", type=int, default=3023)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--imbalance", action="store_true")
    parser.add_argument("--in-time", action="store_true")
    options = parser.parse_args()
    if options.in_time:
        in_time()
        return
    raws, y = corpus()
    if options.imbalance:
        imbalance(raws, y)
        return
    costs: dict[str, list[float]] = {}
    for seed in range(options.seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        parts = order[: options.learned], order[options.learned :][: options.tested]
        mail, new_mail = ([raws[i] for i in part] for part in parts)
        labels, new_labels = (_labels(y[part]) for part in parts)
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
        for bar in after.reliability():
            print(f"    {bar.low:.1f}–{bar.high:.1f}: mean {bar.probability:.3f}, spam {bar.spam:.3f}, {bar.count}")
    for name, found in costs.items():
        print(f"{name:18} mean cost {np.mean(found):.0f}: {[round(cost) for cost in found]}", flush=True)


if __name__ == "__main__":
    main()
