"""python -m benchmarks.missing: the cost of missing cells in EM for full covariances, against complete rows."""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import median_seconds, peak_megabytes
from suffice import Mixture

ITERATIONS = 5


def rows(n: int, d: int, k: int) -> Any:
    """Return rows of correlated clusters."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    return rng.normal(size=(n, d)) @ mixing + 2.0 * rng.normal(size=(k, d))[rng.integers(0, k, n)]


def missing_mask(n: int, d: int, patterns: int | None) -> Any:
    """Return which cells are missing, a tenth of them: in so many patterns, or anywhere."""
    rng = np.random.default_rng(1)
    if patterns is None:
        return rng.random((n, d)) < 0.1
    return (rng.random((patterns, d)) < 0.1)[rng.integers(0, patterns, n)]


def main() -> None:
    """Time rows without missing cells, with few patterns and with random missing cells."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.missing", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--components", type=int, nargs="+", default=[1, 4])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for k in options.components:
        X = rows(options.rows, options.columns, k)
        start = Mixture(k, init=np.arange(len(X)) % k, max_iter=1).fit(X)
        whole = None
        for name, missing in (
            ("no missing cells", None),
            ("200 patterns", missing_mask(options.rows, options.columns, 200)),
            ("random missing cells", missing_mask(options.rows, options.columns, None)),
        ):
            table = X if missing is None else np.where(missing, np.nan, X)
            model = Mixture(k, init=start, prior=None, max_iter=ITERATIONS, tol=0.0)
            fit = partial(model.fit, table)
            seconds, _ = median_seconds(fit, 3)
            peak = peak_megabytes(fit)
            whole = seconds if whole is None else whole
            print(
                f"{len(X):,} × {X.shape[1]}, k {k}, {ITERATIONS} iterations, {name:20} {seconds:7.3f} s  "
                f"{seconds / whole:5.1f}×  peak {peak:4.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
