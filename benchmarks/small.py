"""python -m benchmarks.small: tables so small that what is timed is the interpreter, with scikit-learn and with us.

Each line is fit and predict of iris (counts of it where a model needs counts), `partial_fit` of ten rows, or the
prediction of one row. The two take turns in one process. Times are medians; so are the ratios, over all turns.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn import discriminant_analysis, linear_model, mixture, naive_bayes
from sklearn.datasets import load_iris

import suffice
from suffice import GLM, GaussianDiscriminant, LogisticRegression, Mixture, NaiveBayes, dropin


@dataclass
class Job:
    """The same work with scikit-learn and with us."""

    name: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]


def _jobs() -> Iterator[Job]:
    X, y = load_iris(return_X_y=True)
    counts = np.floor(X * 2).astype(int)
    bits = (counts > np.median(counts, axis=0)).astype(int)
    target = counts[:, 0]
    for name, rows in (
        ("GaussianNB", X),
        ("BernoulliNB", bits),
        ("MultinomialNB", counts),
        ("ComplementNB", counts),
        ("CategoricalNB", counts),
    ):
        theirs, ours = getattr(naive_bayes, name), getattr(dropin, name)
        yield from _pair(f"dropin.{name}", theirs, ours, rows, y)
    for name in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"):
        yield from _pair(f"dropin.{name}", getattr(discriminant_analysis, name), getattr(dropin, name), X, y)
    yield from _pair(
        "dropin.GaussianMixture",
        lambda: mixture.GaussianMixture(3, random_state=0),
        lambda: dropin.GaussianMixture(3, random_state=0),
        X,
        None,
    )
    yield from _pair("NaiveBayes", naive_bayes.GaussianNB, NaiveBayes, X, y)
    yield from _pair(
        "GaussianDiscriminant tied",
        discriminant_analysis.LinearDiscriminantAnalysis,
        lambda: GaussianDiscriminant(covariance="tied"),
        X,
        y,
    )
    yield from _pair(
        "GaussianDiscriminant full",
        discriminant_analysis.QuadraticDiscriminantAnalysis,
        lambda: GaussianDiscriminant(covariance="full"),
        X,
        y,
    )
    yield from _pair(
        "Mixture",
        lambda: mixture.GaussianMixture(3, random_state=0),
        lambda: Mixture(3, random_state=0),
        X,
        None,
    )
    yield from _pair(
        "LogisticRegression", lambda: linear_model.LogisticRegression(max_iter=1000), LogisticRegression, X, y
    )
    yield from _pair("GLM poisson", linear_model.PoissonRegressor, lambda: GLM("poisson", alpha=1.0), X[:, 1:], target)


def _pair(name: str, theirs: Callable[[], Any], ours: Callable[[], Any], X: Any, y: Any) -> Iterator[Job]:
    """Yield fit and predict, the prediction of one row and, where there is one, a partial fit of ten rows."""
    arguments = (X,) if y is None else (X, y)
    yield Job(f"{name} fit + predict", *(_fit_predict(make, X, arguments) for make in (theirs, ours)))
    fitted = [make().fit(*arguments) for make in (theirs, ours)]
    row = X[70:71]
    yield Job(f"{name} predict one row", *((lambda model=model: model.predict(row)) for model in fitted))
    if hasattr(fitted[0], "predict_proba"):
        calls = ((lambda model=model: model.predict_proba(row)) for model in fitted)
        yield Job(f"{name} predict_proba one row", *calls)
    if hasattr(fitted[0], "partial_fit"):
        ten = slice(45, 55)
        yield Job(
            f"{name} partial_fit ten rows",
            *((lambda model=model: model.partial_fit(X[ten], y[ten])) for model in fitted),
        )


def _fit_predict(make: Callable[[], Any], X: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: make().fit(*arguments).predict(X)


def run(job: Job, repeats: int) -> dict[str, Any]:
    """Time both in turn."""
    for call in (job.theirs, job.ours):
        call()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for call, taken in zip((job.theirs, job.ours), times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    theirs, ours = (statistics.median(taken) for taken in times)
    return {
        "job": job.name,
        "scikit-learn ms": 1e3 * theirs,
        "suffice ms": 1e3 * ours,
        "ratio": theirs / ours,
        "ratio of the least": min(times[0]) / min(times[1]),
    }


def main() -> None:
    """Run the jobs that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--only", default="", help="only the jobs whose name contains this")
    options = parser.parse_args()
    if not options.json:
        versions = f"suffice {suffice.__version__} against scikit-learn {sklearn.__version__}"
        print(f"{versions}, median of {options.repeats}\n")
        print(f"{'job':58} {'sklearn ms':>10} {'ours ms':>8} {'ratio':>7} {'of least':>9}")
    results = []
    warnings.simplefilter("ignore")  # what both say about such data is not the matter here
    for job in _jobs():
        if options.only.lower() not in job.name.lower():
            continue
        row = run(job, options.repeats)
        results.append(row)
        if not options.json:
            print(
                f"{row['job']:58} {row['scikit-learn ms']:10.3f} {row['suffice ms']:8.3f} {row['ratio']:6.2f}× "
                f"{row['ratio of the least']:8.2f}×",
                flush=True,
            )
    mean = math.exp(sum(math.log(row["ratio"]) for row in results) / max(len(results), 1))
    if options.json:
        json.dump({"geometric mean": mean, "jobs": results}, sys.stdout, indent=1)
        return
    worst = min(results, key=lambda row: row["ratio"])
    print(f"\ngeometric mean of the ratios: {mean:.2f}×; worst: {worst['ratio']:.2f}× ({worst['job']})")


if __name__ == "__main__":
    main()
