"""python -m benchmarks.spam: our filter, bogofilter, spamprobe and scikit-learn on the same messages, in one run.

Everybody runs by its own program. The SpamAssassin corpus is scored over ten folds, and in one pass: each message is
classified, then taught, in a shuffled order, for several seeds. Tokens, fields and settings of ours were chosen on
folds 0–4, so that folds 5–9 are shown by themselves as well. SMS are scored over ten folds. Results are kept in a
folder, so that a run may be interrupted and continued; ours are made anew when the sources of the filter change.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.spam_corpus import corpus, folds, log_loss, not_caught_at, one_minus_auc, shuffled, sms
from benchmarks.spam_defence import defence
from benchmarks.spam_ours import Suffice
from benchmarks.spam_peers import PEERS, Multinomial, Outcome, Program

PARTS = ("ten-fold", "one-pass", "sms", "attacks")
#: peers that read a message of one line without headers as well as any
SMS_PEERS = (Multinomial.name,)
SEEDS = 5


@dataclass(frozen=True)
class Job:
    """One program over one corpus; `seed` is the order of a pass."""

    part: str
    program: Program
    seed: int
    folder: Path

    @property
    def path(self) -> Path:
        key = self.program.key if isinstance(self.program, Suffice) else self.program.name
        return self.folder / f"{self.part}-{key}-{self.seed}.json"

    def run(self) -> None:
        """Run it, and write its outcome whole or not at all."""
        raws, y = _messages(self.part)
        start = time.perf_counter()
        if self.part == "one-pass":
            order = shuffled(len(y), self.seed)
            found = self.program.one_pass([raws[i] for i in order], y[order])
        else:
            found = self.program.ten_fold(raws, y, folds(y))
        seconds = time.perf_counter() - start
        text = json.dumps(
            {
                "seconds": round(seconds, 1),
                "scores": found.scores.tolist(),
                "probabilities": found.probabilities.tolist(),
                "verdicts": found.verdicts.tolist(),
            }
        )
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text(text)
        unfinished.replace(self.path)
        print(f"  {self.part}, {self.program.name}, seed {self.seed}: {seconds:.0f} s", flush=True)

    def outcome(self) -> tuple[np.ndarray, Outcome]:
        """Return the labels, 1 for spam, and what was said, in the order in which it was."""
        saved = json.loads(self.path.read_text())
        _, y = _messages(self.part)
        if self.part == "one-pass":
            y = y[shuffled(len(y), self.seed)]
        return y, Outcome(*(np.array(saved[name]) for name in ("scores", "probabilities", "verdicts")))


@lru_cache(maxsize=2)
def _messages(part: str) -> tuple[list[bytes], np.ndarray]:
    return sms() if part == "sms" else corpus()


def _run(job: Job) -> None:
    job.run()


def finish(jobs: Sequence[Job], workers: int) -> None:
    """Run the jobs that have no result yet, in the order given."""
    left = [job for job in jobs if not job.path.exists()]
    if workers == 1:
        for job in left:
            job.run()
        return
    with ProcessPoolExecutor(workers) as pool:
        list(pool.map(_run, left))


HEADER = (
    f"  {'':24}{'(1−AUC)%':>9}{'hams called spam':>18}{'spams called ham':>18}{'unsure spam':>12}{'unsure ham':>11}"
    f"{'unsure':>8}{'log-loss':>10}{'not caught at 2, 5 hams lost':>31}"
)


def show(name: str, y: np.ndarray, found: Outcome) -> None:
    """Print one line of a table."""
    spam, verdicts = y == 1, found.verdicts
    unsure = verdicts == "unsure"
    at = " / ".join(str(not_caught_at(y, found.scores, count)) for count in (2, 5))
    print(
        f"  {name:24}{one_minus_auc(y, found.scores):9.4f}{(~spam & (verdicts == 'spam')).sum():18}"
        f"{(spam & (verdicts == 'ham')).sum():18}{(spam & unsure).sum():12}{(~spam & unsure).sum():11}"
        f"{unsure.mean():8.1%}{log_loss(y, found.probabilities):10.4f}{at:>31}",
        flush=True,
    )


def _counts(y: np.ndarray) -> str:
    return f"{(y == 0).sum():,} hams and {(y == 1).sum():,} spams"


def report(jobs: Sequence[Job], parts: Sequence[str]) -> None:
    """Print the tables."""
    print("\nVerdicts are by each program's own thresholds; log-loss uses probabilities clipped to 1e-6 and 1 - 1e-6.")
    for part in ("ten-fold", "one-pass", "sms"):
        found = [(job, *job.outcome()) for job in jobs if job.part == part]
        if not found:
            continue
        y = found[0][1]
        if part == "ten-fold":
            fold = folds(y)
            for title, rows in (("all folds", fold >= 0), ("folds 5–9", fold >= 5)):
                print(f"\nTen-fold, {title}, each trained on the nine others: {_counts(y[rows])}\n{HEADER}")
                for job, labels, said in found:
                    part_said = Outcome(said.scores[rows], said.probabilities[rows], said.verdicts[rows])
                    show(job.program.name, labels[rows], part_said)
        else:
            title = "One pass, each classified and then taught" if part == "one-pass" else "SMS, ten-fold"
            print(f"\n{title}: {_counts(y)}\n{HEADER}")
            for job, labels, said in found:
                show(f"{job.program.name}{f', seed {job.seed}' if part == 'one-pass' else ''}", labels, said)


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("build/spam_results"), help="where results are kept")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--programs", nargs="+", metavar="NAME", help="suffice and the peers; all by default")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many orders of the one pass")
    parser.add_argument(
        "--tune",
        default="500",
        metavar="N",
        help="in one pass ours is tuned after every N messages; 'before': on folds 0–4; 'never': not at all",
    )
    parser.add_argument("--cost", type=float, default=100.0, help="of a lost ham against a missed spam, for our tuning")
    parser.add_argument("--jobs", type=int, default=1, help="how many programs run at a time")
    options = parser.parse_args()
    ours = Suffice(options.tune, options.cost)
    known = {program.name: program for program in (ours, *PEERS)}
    names = options.programs or list(known)
    if unknown := set(names) - set(known):
        raise SystemExit(f"--programs must be among {', '.join(known)}, but {', '.join(sorted(unknown))} was given")
    options.results.mkdir(parents=True, exist_ok=True)
    jobs = []
    for name in names:
        program = known[name]
        if reason := program.missing():
            print(f"{name} is left out: {reason}")
            continue
        for part in options.parts:
            if part == "attacks" or (part == "sms" and program is not ours and name not in SMS_PEERS):
                continue
            seeds = range(options.seeds) if part == "one-pass" else range(1)
            jobs += [Job(part, program, seed, options.results) for seed in seeds]
    finish(jobs, options.jobs)
    report(jobs, options.parts)
    if "attacks" in options.parts:
        defence()


if __name__ == "__main__":
    main()
