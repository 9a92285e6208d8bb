"""python -m benchmarks.curves: generative against discriminative as the training set grows, on six data sets.

Ng and Jordan (2002) compared naive Bayes and logistic regression: the generative model comes to its error with fewer
rows, the discriminative one to a lower error with many. Here are two structures of a Gaussian model against logistic
regression with a weak prior on standardised columns.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import Comparison, GaussianDiscriminant, LogisticRegression, NaiveBayes, compare

SHARED = Path(__file__).parents[2] / "shared"


def spambase() -> tuple[Any, Any]:
    """Return 57 shares of words and runs of capitals: mostly zeros with long tails, and anything but normal."""
    rows = np.loadtxt(SHARED / "data" / "spambase" / "spambase.data", delimiter=",")
    return rows[:, :-1], rows[:, -1].astype(int)


def pima() -> tuple[Any, Any]:
    """Return the Pima women of R's MASS."""
    with (SHARED / "oracles" / "pima.csv").open(encoding="utf-8") as file:
        header = [name.strip('"') for name in file.readline().strip().split(",")]
        rows = [[cell.strip('"') for cell in line.strip().split(",")] for line in file]
    target = header.index("type")
    numbers = np.array([[float(cell) for cell in row[:target]] for row in rows])  # the last column is R's own split
    return numbers, np.array([row[target] for row in rows])


DATA: dict[str, Callable[[], tuple[Any, Any]]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "pima": pima,
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "spambase": spambase,
}
#: linear log-odds, as logistic regression has them, and quadratic ones of independent columns
GENERATIVE: dict[str, Callable[[], Any]] = {
    "naive Bayes": lambda: NaiveBayes(estimate="predictive"),
    "tied": lambda: GaussianDiscriminant("tied", estimate="predictive"),
}


def curves(name: str, kind: str, n_splits: int) -> Comparison:
    """Return the learning curves of one kind of generative model on one data set."""
    X, y = DATA[name]()
    logistic = make_pipeline(StandardScaler(), LogisticRegression(alpha=1.0))
    return compare(GENERATIVE[kind](), logistic, X, y, n_splits=n_splits, names=(kind, "logistic"))


def draw(found: dict[str, dict[str, Comparison]], path: Path) -> None:
    """Draw the errors of all models on all data sets."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    fig, grid = plt.subplots(2, len(found), figsize=(2.7 * len(found), 5.2), layout="constrained", squeeze=False)
    for column, (name, kinds) in enumerate(found.items()):
        for row, measure in enumerate(("error", "log-loss")):
            ax = grid[row, column]
            for colour, (kind, comparison) in zip(("tab:blue", "tab:green"), kinds.items(), strict=False):
                mean, low, high = comparison.curve(measure)
                ax.plot(comparison.sizes, mean[0], color=colour, label=kind)
                ax.fill_between(comparison.sizes, low[0], high[0], color=colour, alpha=0.2, linewidth=0)
            ax.plot(comparison.sizes, mean[1], color="tab:orange", label="logistic")
            ax.fill_between(comparison.sizes, low[1], high[1], color="tab:orange", alpha=0.2, linewidth=0)
            ax.set(xscale="log", title=name if row == 0 else None, xlabel="rows" if row else None)
            ax.set_ylim(0, min(ax.get_ylim()[1], 1.0 if row == 0 else 2.5))
        grid[0, 0].set_ylabel("error")
        grid[1, 0].set_ylabel("log-loss")
    grid[0, 0].legend(frameon=False, fontsize="small")
    fig.savefig(path, dpi=80)


def main() -> None:
    """Run the data sets that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--only", default="", help="only the data sets whose name contains this")
    parser.add_argument("--figure", type=Path, help="where to draw the curves")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    options = parser.parse_args()
    found: dict[str, dict[str, Comparison]] = {}
    for name in DATA:
        if options.only not in name:
            continue
        try:
            found[name] = {kind: curves(name, kind, options.splits) for kind in GENERATIVE}
        except FileNotFoundError as error:
            print(f"{name}: left out, because {error.filename} does not exist", file=sys.stderr)
            continue
        for kind, comparison in found[name].items():
            if not options.json:
                print(f"\n{name}: {kind} against logistic regression\n{comparison}", flush=True)
    if options.figure is not None:
        draw(found, options.figure)
    if options.json:
        result = {
            name: {
                kind: {
                    "sizes": c.sizes.tolist(),
                    "error": c.curve("error")[0].tolist(),
                    "log-loss": c.curve("log-loss")[0].tolist(),
                    "crossing": {measure: c.crossing(measure) for measure in ("error", "log-loss")},
                }
                for kind, c in kinds.items()
            }
            for name, kinds in found.items()
        }
        json.dump(result, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
