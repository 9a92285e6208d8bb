"""python -m benchmarks.kernels [NAME=LIBRARY ...]: the main kernels by each compiler, and what a call costs.

Libraries are those that `.ci/kernels` and `make wheels` leave behind, for example
``clang=build/clang/suffice/compiled/kernels.so``; the installed one comes first. They take turns in one process, on one
thread; times are the least of all turns. Calls are timed with four rows: as they are made; without the checks of each
array (its address is still taken, and scratch memory allocated); and with arguments that are C's already.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse

from suffice import compiled
from suffice.compiled import boundary, cluster, linear


def jobs(n: int, d: int, k: int) -> dict[str, Callable[[], Any]]:
    """Return calls of the main kernels over n rows of d columns in k classes."""
    rng = np.random.default_rng(0)
    x, codes, weight = rng.normal(size=(n, d)), rng.integers(0, k, n), rng.random(n)
    means, variance, constant, origin = rng.normal(size=(k, d)), np.ones((k, d)), np.zeros(k), np.zeros(d)
    pairs, target = -rng.random((k, d * (d + 1) // 2)) / d, (codes > 0).astype(float)
    values, sizes = rng.integers(0, 8, (n, d)).astype(np.int32), np.full(d, 8)
    tables = compiled.whole_registers(rng.random((10 * d, k)))  # with a row for unseen and one for missing values
    counts = scipy.sparse.random(n, 1000, 0.02, format="csr", random_state=0)
    table = compiled.whole_registers(rng.random((1000, k)))
    scores, draws = rng.normal(size=(n, k)), rng.random((k - 1, 3))
    return {
        "diagonal moments": lambda: compiled.diagonal_moments(x, codes, weight, k),
        "full moments": lambda: compiled.full_moments(x, codes, weight, k),
        "diagonal scores": lambda: compiled.diagonal_scores(x, means, variance, constant),
        "quadratic scores": lambda: compiled.quadratic_scores(x, origin, means, pairs, constant),
        "EM pass, diagonal": lambda: compiled.diagonal_pass(x, weight, origin, means, variance, constant),
        "EM pass, full": lambda: compiled.full_pass(x, weight, origin, means, pairs, constant),
        "Newton pass": lambda: linear.newton_pass(x, origin, np.zeros(d + 1), target, None, None, 0, hessian=True),
        "counts of categories": lambda: compiled.count_codes(values, sizes, codes, weight, k),
        "scores of categories": lambda: compiled.score_codes(values, sizes, tables, k),
        "sparse sums": lambda: compiled.sparse_sums(counts, codes, weight, k),
        "sparse scores": lambda: compiled.sparse_scores(counts, table, k),
        "softmax": lambda: compiled.posterior(scores, constant),
        "k-means": lambda: cluster.k_means(x, k, origin, weight, 0, draws, 5, 0.0),
    }


def least(call: Callable[[], Any], repeats: int) -> float:
    """Return the least time of a call in seconds."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return min(times)


class Recorder:
    """A library that keeps the last call made through it; as a kernel, its last arguments."""

    argtypes: Any = ()
    restype: Any = None

    def __init__(self, library: compiled.Library) -> None:
        self._library = library
        self.last: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def __call__(self, *values: Any) -> int:
        """Keep the arguments, and make the call where it is one of a library."""
        self.last = values
        return self._library(*values) if isinstance(values[0], str) else 0


def microseconds(call: Callable[..., Any], *values: Any, count: int = 100) -> float:
    """Return the least time of a short call."""

    def often() -> None:
        for _ in range(count):
            call(*values)

    return least(often, 200) / count * 1e6


def calls(library: compiled.Library) -> None:
    """Print what calls over four rows cost."""
    print(f"{'microseconds per call':24}{'arguments':>10}{'checked':>10}{'unchecked':>10}{'in C':>10}")
    recorder: Any = Recorder(library)
    for label, job in jobs(4, 3, 2).items():
        compiled.library = recorder
        job()
        name, kind, *values = recorder.last
        function = library._library[f"{name}_{kind}_{library.level}"]
        boundary.bind(recorder, name, kind)(*values)
        given = recorder.last
        checked = boundary.bind(function, name, kind)
        with patch.object(boundary._Check, "array", lambda _, value, shape: boundary._address(value)):
            unchecked = microseconds(checked, *values)
        times = microseconds(checked, *values), unchecked, microseconds(function, *given)
        print(f"{label:24}{len(given):10}" + "".join(f"{each:10.1f}" for each in times), flush=True)
    compiled.library = library


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", metavar="NAME=LIBRARY")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    assert compiled.library is not None, "the kernels are not built"
    installed = compiled.library
    libraries = {"installed": installed}
    for text in options.libraries:
        name, path = text.split("=", 1)
        libraries[name] = compiled.Library(Path(path).resolve())
    for name, library in libraries.items():
        print(f"{name}: {library.level}, by {library.compiler}")
    calls(installed)
    print(f"{f'milliseconds, {options.rows:,} × 16, k 8':32}" + "".join(f"{name:>12}" for name in libraries))
    for label, job in jobs(options.rows, 16, 8).items():
        times = dict.fromkeys(libraries, float("inf"))
        for _ in range(options.repeats):
            for name, library in libraries.items():
                compiled.library = library
                times[name] = min(times[name], least(job, 2))
        print(f"{label:32}" + "".join(f"{1e3 * seconds:12.2f}" for seconds in times.values()), flush=True)
    compiled.library = installed


if __name__ == "__main__":
    main()
