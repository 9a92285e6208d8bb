"""python -m benchmarks.calibration: log-loss against the number of training rows, ours and scikit-learn's."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

import suffice
from suffice import GaussianDiscriminant, NaiveBayes

SPAMBASE = Path(__file__).parents[2] / "shared/data/spambase/spambase.data"
SIZES = (2, 3, 5, 10, 20, 50, 100)
#: up to so many rows per class, "predictive" is to be at least as good as the others
FEW = 20
#: rows that a split is tested on, at most
TEST_ROWS = 1000

Table = tuple[Any, Any]
#: for each structure, what is compared
MODELS: dict[str, dict[str, Callable[[], Any]]] = {
    "diagonal": {
        "scikit-learn": GaussianNB,
        "map": NaiveBayes,
        "predictive": lambda: NaiveBayes(estimate="predictive"),
    },
    "tied": {
        "scikit-learn": LinearDiscriminantAnalysis,
        "map": lambda: GaussianDiscriminant("tied"),
        "predictive": lambda: GaussianDiscriminant("tied", estimate="predictive"),
    },
    "full": {
        "scikit-learn": QuadraticDiscriminantAnalysis,
        "map": lambda: GaussianDiscriminant("full"),
        "predictive": lambda: GaussianDiscriminant("full", estimate="predictive"),
    },
}
PEERS = {"diagonal": "GaussianNB", "tied": "LDA", "full": "QDA"}
COLOURS = {"scikit-learn": "#7a7a7a", "map": "#b5482a", "predictive": "#1b6ca8"}


def tables(spambase: Path) -> dict[str, Table]:
    """Return the data sets: those that scikit-learn brings, and spambase where it is there."""
    found = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
    }
    if spambase.exists():
        rows = np.loadtxt(spambase, delimiter=",")
        found["spambase"] = rows[:, :-1], rows[:, -1].astype(int)
    return found


def splits(y: Any, size: int, draws: int) -> Iterator[tuple[Any, Any]]:
    """Yield training rows, so many of each class, and test rows from the rest."""
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:size] for c in np.unique(y)])
        yield train, rng.permutation(np.setdiff1d(np.arange(len(y)), train))[:TEST_ROWS]


def losses(table: Table, structure: str, size: int, draws: int) -> dict[str, list[float]]:
    """Return the log-loss of every model in every split, NaN where it cannot be fitted."""
    X, y = table
    found: dict[str, list[float]] = {name: [] for name in MODELS[structure]}
    for train, test in splits(y, size, draws):
        for name, model in MODELS[structure].items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of collinear columns, and of what that does to probabilities
                try:
                    probabilities = model().fit(X[train], y[train]).predict_proba(X[test])
                    loss = float(log_loss(y[test], probabilities, labels=np.unique(y)))
                except (ValueError, np.linalg.LinAlgError):  # fewer rows than columns
                    loss = float("nan")
            found[name].append(loss)
    return found


def curve(found: dict[str, Table], sizes: Sequence[int], draws: int) -> Iterator[dict[str, Any]]:
    """Yield the mean log-loss of each data set, structure and size, with the error of the mean differences."""
    for name, (X, y) in found.items():
        for structure in MODELS:
            for size in sizes:
                if size > np.bincount(y).min() - 5:
                    continue
                by_model = losses((X, y), structure, size, draws)
                row: dict[str, Any] = {"data": name, "structure": structure, "rows": size}
                own = np.array(by_model["predictive"])
                for model, values in by_model.items():
                    row[model] = float(np.mean(values))
                    row[f"{model} − predictive, error"] = float(np.std(values - own) / np.sqrt(draws))
                yield row


def worse(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return where another model has a lower log-loss than "predictive", with few rows per class."""
    others = ("scikit-learn", "map")
    return [row for row in results if row["rows"] <= FEW and any(row[other] < row["predictive"] for other in others)]


def plot(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a panel for each data set and structure."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(row["data"] for row in results))
    figure, panels = plt.subplots(
        3, len(names), figsize=(2.5 * len(names), 6.6), sharex=True, squeeze=False, layout="constrained"
    )
    for (i, structure), (j, name) in ((a, b) for a in enumerate(MODELS) for b in enumerate(names)):
        axes = panels[i, j]
        rows = [row for row in results if row["data"] == name and row["structure"] == structure]
        for model in COLOURS:
            values = [row[model] for row in rows]
            axes.plot([row["rows"] for row in rows], values, "o-", ms=3, lw=1.4, color=COLOURS[model])
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        low, high = axes.get_ylim()
        ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0) if low <= tick <= high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
        if i == 0:
            axes.set_title(name, fontsize=10)
        if i == 2:
            axes.set_xlabel("training rows per class")
        if j == 0:
            axes.set_ylabel(f"{structure} ({PEERS[structure]})\nlog-loss")
    handles = [Line2D([], [], color=colour, marker="o", ms=3) for colour in COLOURS.values()]
    names = ["scikit-learn", 'suffice, estimate="mean"', 'suffice, estimate="predictive"']
    figure.legend(handles, names, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the curves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--draws", type=int, default=60, help="random splits")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", default="", help="only the data sets whose name contains this")
    parser.add_argument(
        "--spambase", type=Path, default=SPAMBASE, help="the path of spambase.data; left out if it does not exist"
    )
    parser.add_argument("--plot", type=Path, help="draw the curves to this file")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    found = {name: table for name, table in tables(options.spambase).items() if options.only in name}
    print(
        f"suffice {suffice.__version__} against scikit-learn {sklearn.__version__}: log-loss on rows that were held out"
    )
    print(f"mean of {options.draws} random splits; in brackets the error of the mean difference to predictive\n")
    print(f"{'data':14} {'structure':9} {'rows per class':>12} {'scikit-learn':>16} {'map':>16} {'predictive':>10}")
    results = []
    for row in curve(found, options.sizes, options.draws):
        results.append(row)
        beside = [f"{row[m]:7.3f} ({row[f'{m} − predictive, error']:.3f})" for m in ("scikit-learn", "map")]
        print(
            f"{row['data']:14} {row['structure']:9} {row['rows']:12} {beside[0]:>16} {beside[1]:>16} "
            f"{row['predictive']:10.3f}",
            flush=True,
        )
    exceptions = worse(results)
    print(f"\nup to {FEW} rows per class, another one is better than predictive in {len(exceptions)} cells")
    for row in exceptions:
        print(f"  {row['data']}, {row['structure']}, {row['rows']} rows per class")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
