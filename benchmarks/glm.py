"""python -m benchmarks.glm: logistic and Poisson regression, our peers' and ours, to the same coefficients."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import suffice
from benchmarks.measure import peak_megabytes
from suffice import GLM

#: how far coefficients may be apart, relative to the largest
SAME = 1e-6
Fit = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Peer:
    """Somebody's way of fitting the model."""

    name: str
    fit: Fit


def data(kind: str, rows: int, columns: int) -> tuple[Any, Any]:
    """Return columns and a response that follows the model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)) + rng.normal(size=columns)
    eta = 0.5 * rng.normal(size=columns) / np.sqrt(columns) @ (X - X.mean(0)).T
    if kind == "logistic":
        return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-2.0 * eta - 0.5))).astype(np.int64)
    return X, rng.poisson(np.exp(eta + 0.3)).astype(np.float64)


def peers(kind: str) -> list[Peer]:
    """Return who takes part; glum and scikit-learn-intelex where they are installed."""
    found = []
    if kind == "logistic":
        for solver, tol in (("lbfgs", 1e-6), ("newton-cholesky", 1e-6)):
            model = LogisticRegression(C=np.inf, solver=solver, tol=tol, max_iter=500)
            found.append(Peer(f"scikit-learn {solver}", model.fit))
        try:
            from sklearnex.linear_model import LogisticRegression as Intel

            found.append(Peer("scikit-learn-intelex", Intel(C=1e12, tol=1e-6, max_iter=500).fit))
        except ImportError:
            pass
    else:
        for solver, tol in (("lbfgs", 1e-8), ("newton-cholesky", 1e-6)):
            model = PoissonRegressor(alpha=0.0, solver=solver, tol=tol, max_iter=500)
            found.append(Peer(f"scikit-learn {solver}", model.fit))
    try:
        from glum import GeneralizedLinearRegressor

        family = "binomial" if kind == "logistic" else "poisson"
        model = GeneralizedLinearRegressor(family=family, alpha=0.0, gradient_tol=1e-6)
        found.append(Peer("glum", model.fit))
    except ImportError:
        pass
    ours = suffice.LogisticRegression() if kind == "logistic" else GLM("poisson")
    return [*found, Peer("suffice", ours.fit)]


def run(kind: str, rows: int, columns: int, repeats: int, without: list[str]) -> list[dict[str, Any]]:
    """Time everybody in turn, several times, and compare their coefficients with ours."""
    X, y = data(kind, rows, columns)
    everybody = [peer for peer in peers(kind) if not any(name in peer.name for name in without)]
    times: dict[str, list[float]] = {peer.name: [] for peer in everybody}
    coefficients = {}
    for repeat in range(repeats + 1):
        for peer in everybody:
            start = time.perf_counter()
            model = peer.fit(X, y)
            if repeat:  # the first pays for imports and page faults
                times[peer.name].append(time.perf_counter() - start)
            coefficients[peer.name] = np.append(np.ravel(model.intercept_), np.ravel(model.coef_))
    ours = coefficients["suffice"]
    own = statistics.median(times["suffice"])
    peak = peak_megabytes(lambda: everybody[-1].fit(X, y))
    results = []
    for peer in everybody:
        seconds = statistics.median(times[peer.name])
        apart = float(np.abs(coefficients[peer.name] - ours).max() / np.abs(ours).max())
        results.append({
            "job": f"{kind} {rows:,} × {columns}", "who": peer.name, "seconds": seconds, "ratio": seconds / own,
            "apart": apart, "suffice peak MB": peak,
        })  # fmt: skip
    return results


def main() -> None:
    """Run both jobs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.glm", description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=[], help="leave out those whose name contains one of these")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    options = parser.parse_args()
    results = []
    if not options.json:
        print(
            f"suffice {suffice.__version__} against scikit-learn {sklearn.__version__}, median of {options.repeats}\n"
        )
        print(f"{'job':28} {'who':30} {'seconds':>8} {'ratio':>7} {'coefficients apart':>19}")
    for kind in ("logistic", "poisson"):
        for row in run(kind, options.rows, options.columns, options.repeats, options.without):
            results.append(row)
            if not options.json:
                far = "" if row["apart"] <= SAME else "  (not the same)"
                shown = f"{row['seconds']:8.3f} {row['ratio']:6.1f}× {row['apart']:19.1e}{far}"
                print(f"{row['job']:28} {row['who']:30} {shown}", flush=True)
    if options.json:
        json.dump(results, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
