"""python -m benchmarks.defaults: what a person calls, from start to end: the default fit of a mixture, theirs and ours.

Each problem is fitted with scikit-learn's default `GaussianMixture(k)`, with `suffice.Mixture(k)` and with the drop-in
`suffice.dropin.GaussianMixture(k)`, starts included, in turn and several times with different seeds. The table has the
median seconds, their ratios, and the median log-likelihood per row of the training data minus scikit-learn's.
The worst is the lowest difference of any seed: where there are many optima, one seed may be lucky for the one only.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import suffice
from suffice import Mixture, dropin

#: what is to be reached: geometric means, the smallest ratio of `Mixture`, and the log-likelihood per row
REACH = {"mixture": 15.0, "dropin": 20.0, "least": 1.5, "below": 0.01}


@dataclass(frozen=True)
class Problem:
    """Rows to be fitted, and how many components are asked for."""

    name: str
    components: int
    rows: Callable[[], Any]


def _iris() -> Any:
    return datasets.load_iris().data


def _wine() -> Any:
    return datasets.load_wine().data


def _cancer(columns: int) -> Callable[[], Any]:
    return lambda: datasets.load_breast_cancer().data[:, :columns]


def _diabetes() -> Any:
    return datasets.load_diabetes().data[:, [0, 2, 3, 4, 5, 6, 7, 8, 9]]  # without the sex, which has two values


def _digits(components: int) -> Callable[[], Any]:
    def rows() -> Any:
        pixels = datasets.load_digits().data
        centred = pixels - pixels.mean(0)
        return centred @ np.linalg.svd(centred, full_matrices=False)[2][:components].T

    return rows


def _faithful() -> Any:
    path = Path(__file__).parent.parent / "tests" / "reference" / "data" / "faithful.csv"
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=(-2, -1))


def _overlapping(n: int, d: int, k: int, apart: float = 2.0) -> Callable[[], Any]:
    """Return clusters with covariances of their own, whose means are drawn that far apart."""

    def rows() -> Any:
        rng = np.random.default_rng(n + d + k)
        members = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
        mixing = rng.normal(size=(k, d, d)) / np.sqrt(d) + np.eye(d)
        means = apart * rng.normal(size=(k, d))
        noise = rng.normal(size=(n, d))
        X = np.empty((n, d))
        for c in range(k):
            X[members == c] = means[c] + noise[members == c] @ mixing[c].T
        return X

    return rows


def _blobs(n: int, d: int, k: int) -> Callable[[], Any]:
    return lambda: datasets.make_blobs(n, d, centers=k, random_state=0)[0]


def _moons(n: int) -> Callable[[], Any]:
    return lambda: datasets.make_moons(n, noise=0.05, random_state=0)[0]


def _heavy_tails(n: int, d: int) -> Callable[[], Any]:
    return lambda: np.random.default_rng(0).standard_t(4, size=(n, d))


PROBLEMS = (
    Problem("iris", 3, _iris),
    Problem("wine", 3, _wine),
    Problem("faithful", 2, _faithful),
    Problem("diabetes", 4, _diabetes),
    Problem("breast cancer, 10 columns", 2, _cancer(10)),
    Problem("breast cancer", 2, _cancer(30)),
    Problem("digits, 10 axes", 10, _digits(10)),
    Problem("digits, 20 axes", 5, _digits(20)),
    Problem("overlapping", 3, _overlapping(150, 2, 3)),
    Problem("overlapping", 5, _overlapping(500, 4, 5)),
    Problem("moons", 6, _moons(1_000)),
    Problem("blobs", 5, _blobs(2_000, 8, 5)),
    Problem("overlapping", 4, _overlapping(5_000, 16, 4)),
    Problem("heavy tails", 3, _heavy_tails(5_000, 3)),
    Problem("overlapping", 8, _overlapping(10_000, 4, 8)),
    Problem("blobs", 10, _blobs(20_000, 16, 10)),
    Problem("overlapping", 6, _overlapping(20_000, 64, 6)),
    Problem("overlapping", 8, _overlapping(50_000, 8, 8)),
    Problem("heavy tails", 4, _heavy_tails(100_000, 2)),
    Problem("overlapping", 6, _overlapping(150_000, 4, 6)),
    Problem("overlapping", 16, _overlapping(200_000, 16, 16)),
    Problem("overlapping", 8, _overlapping(500_000, 4, 8)),
)


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call took, and its result."""
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def measure(problem: Problem, repeats: int) -> dict[str, Any]:
    """Fit the three in turn, with several seeds, and return the medians."""
    X, k = problem.rows(), problem.components
    fits: dict[str, Callable[[int], Any]] = {
        "sklearn": lambda seed: GaussianMixture(k, random_state=seed).fit(X),
        "mixture": lambda seed: Mixture(k, random_state=seed).fit(X),
        "dropin": lambda seed: dropin.GaussianMixture(k, random_state=seed).fit(X),
    }
    times: dict[str, list[float]] = {name: [] for name in fits}
    scores: dict[str, list[float]] = {name: [] for name in fits}
    for seed in range(repeats):
        for name, fit in fits.items():
            elapsed, model = seconds_of(partial(fit, seed))
            times[name].append(elapsed)
            scores[name].append(float(model.score(X)))
    ours, theirs = ("mixture", "dropin"), scores["sklearn"]
    row: dict[str, Any] = {"problem": f"{problem.name} {len(X):,} × {X.shape[1]}, k {k}"}
    row |= {f"{name} s": statistics.median(found) for name, found in times.items()}
    row |= {f"{name} ratio": row["sklearn s"] / row[f"{name} s"] for name in ours}
    row |= {f"{name} gain": statistics.median(scores[name]) - statistics.median(theirs) for name in ours}
    row |= {f"{name} worst": min(a - b for a, b in zip(scores[name], theirs, strict=True)) for name in ours}
    return row


def results(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    for problem in PROBLEMS:
        if options.only not in problem.name:
            continue
        n = len(problem.rows())
        if not (options.quick and n > 20_000):
            yield measure(problem, options.repeats or (5 if n < 20_000 else 3))


def main() -> None:
    """Run the problems that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the problems of up to 20,000 rows")
    parser.add_argument("--only", default="", help="only the problems whose name contains this")
    parser.add_argument("--repeats", type=int, default=0, help="how many seeds (5, and 3 from 20,000 rows on)")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    measure(PROBLEMS[0], 1)  # the first fits pay for imports
    if not options.json:
        print(f"suffice {suffice.__version__} against scikit-learn {sklearn.__version__}, default fits of mixtures\n")
        print(
            f"{'problem':40} {'sklearn ms':>10}",
            *(f"{name:>10} {'ratio':>7} {'gain':>8} {'worst':>8}" for name in ("ours", "drop-in")),
        )
    rows = []
    for row in results(options):
        rows.append(row)
        if not options.json:
            print(
                f"{row['problem']:40} {1e3 * row['sklearn s']:10.1f} {1e3 * row['mixture s']:10.1f} "
                f"{row['mixture ratio']:6.1f}× {row['mixture gain']:+8.4f} {row['mixture worst']:+8.4f} "
                f"{1e3 * row['dropin s']:10.1f} {row['dropin ratio']:6.1f}× {row['dropin gain']:+8.4f} "
                f"{row['dropin worst']:+8.4f}",
                flush=True,
            )
    summary = {
        name: statistics.geometric_mean(row[f"{name} ratio"] for row in rows) for name in ("mixture", "dropin")
    } | {"least": min(row["mixture ratio"] for row in rows), "below": min(row["mixture gain"] for row in rows)}
    if options.json:
        json.dump({"problems": rows, "summary": summary, "reach": REACH}, sys.stdout, indent=1)
    else:
        print(
            f"\ngeometric means: Mixture {summary['mixture']:.1f}× (reach {REACH['mixture']:.0f}), drop-in "
            f"{summary['dropin']:.1f}× (reach {REACH['dropin']:.0f}); smallest ratio of Mixture "
            f"{summary['least']:.1f}× (reach {REACH['least']}); lowest gain {summary['below']:+.4f} per row (reach "
            f"{-REACH['below']:+})"
        )


if __name__ == "__main__":
    main()
