"""python -m benchmarks.mixtures: ten iterations of EM, scikit-learn's and ours, from one start to one likelihood."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import suffice
from benchmarks.measure import gemm_rate, median_seconds, peak_megabytes
from benchmarks.other_mixtures import OTHERS
from suffice import Mixture

ITERATIONS = 10
NAMES = {"diagonal": "diag"}


@dataclass(frozen=True)
class Job:
    """One mixture to fit."""

    structure: str
    rows: int
    columns: int
    components: int

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return f"{self.structure} {self.rows:,} × {self.columns}, k {self.components}"

    @property
    def operations(self) -> float:
        """The floating-point operations of the two products of all iterations."""
        d, k = self.columns, self.components
        terms = {"full": k * (d + 1) * (d + 2) / 2, "tied": k * (d + 1) + d * (d + 1) / 2}
        return ITERATIONS * self.rows * 4.0 * terms.get(self.structure, k * (2 * d + 1))

    def data(self) -> Any:
        """Return rows of overlapping clusters."""
        rng = np.random.default_rng(0)
        z = rng.integers(0, self.components, self.rows)
        return rng.normal(size=(self.rows, self.columns)) + rng.normal(size=(self.components, self.columns))[z] * 2.0


JOBS = (
    Job("full", 200_000, 16, 16),
    Job("full", 1_000_000, 4, 8),
    Job("full", 100_000, 64, 16),
    Job("diagonal", 1_000_000, 16, 16),
    Job("tied", 500_000, 16, 16),
    Job("spherical", 1_000_000, 16, 16),
)


def start(job: Job, X: Any) -> tuple[Any, Any, Any]:
    """Return weights, means and one variance a column to begin with."""
    rng = np.random.default_rng(1)
    means = X[rng.choice(len(X), job.components, replace=False)]
    return np.full(job.components, 1.0 / job.components), means, X[:10_000].var(0)


def theirs(job: Job, X: Any) -> GaussianMixture:
    """Fit scikit-learn's mixture."""
    weights, means, variance = start(job, X)
    k = len(means)
    precisions = {
        "full": np.repeat(np.diag(1 / variance)[None], k, axis=0),
        "tied": np.diag(1 / variance),
        "diagonal": np.repeat(1 / variance[None], k, axis=0),
        "spherical": np.full(k, 1 / variance.mean()),
    }[job.structure]
    model = GaussianMixture(
        k,
        covariance_type=NAMES.get(job.structure, job.structure),
        tol=0.0,
        reg_covar=0.0,
        max_iter=ITERATIONS,
        weights_init=weights,
        means_init=means,
        precisions_init=precisions,
    )
    return model.fit(X)


def ours(job: Job, X: Any) -> Mixture:
    """Fit ours."""
    weights, means, variance = start(job, X)
    if job.structure == "spherical":
        variance = np.full_like(variance, variance.mean())
    covariance = np.diag(variance)[None] if job.structure in ("full", "tied") else variance[None]
    covariance = covariance if job.structure == "tied" else np.repeat(covariance, len(means), axis=0)
    first = Mixture.from_parameters(weights, means, covariance)
    return Mixture(job.components, covariance=job.structure, prior=None, init=first, max_iter=ITERATIONS, tol=0.0).fit(
        X
    )


def run(job: Job, repeats: int, gemm: float, *, peers: bool) -> dict[str, Any]:
    """Time a job with both, and check that they come to the same likelihood."""
    X = job.data()
    seconds, model = median_seconds(lambda: ours(job, X), repeats)
    peak = peak_megabytes(lambda: ours(job, X))
    narrow = X.astype(np.float32)
    seconds32, _ = median_seconds(lambda: ours(job, narrow), repeats)
    row = {"job": job.name, "suffice s": seconds, "suffice peak MB": peak, "suffice float32 s": seconds32}
    row["share of GEMM"] = job.operations / gemm / seconds
    if peers:
        their_seconds, other = median_seconds(lambda: theirs(job, X), 1)
        few = X[:20_000]
        mine, other_mean = model.score(few), other.score(few)
        if abs(mine - other_mean) > 1e-6 * abs(other_mean):
            raise SystemExit(f"{job.name}: the two do not come to the same likelihood ({mine}, {other_mean})")
        row |= {"scikit-learn s": their_seconds, "ratio": their_seconds / seconds}
        if job.structure == "full" and job.columns <= 16:  # the others keep an n×k×d×d array: more than memory has
            row |= others(job, X, other_mean)
    return row


def others(job: Job, X: Any, likelihood: float) -> dict[str, float]:
    """Return the seconds of the other libraries that are installed; float32 must come within 1e-3 of the likelihood."""
    weights, means, variance = start(job, X)
    seconds = {}
    for name, peer in OTHERS.items():
        found = peer(X, weights, means, np.diag(variance), ITERATIONS)
        if found is not None:
            seconds[f"{name} s"], mean = median_seconds(found, 1)
            if abs(mean - likelihood) > 1e-3 * abs(likelihood):
                raise SystemExit(f"{job.name}: {name} comes to the likelihood {mean}, scikit-learn to {likelihood}")
    return seconds


def results(options: argparse.Namespace, gemm: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    for job in JOBS:
        if options.only.lower() in job.name:
            small = Job(job.structure, job.rows // 10, job.columns, job.components) if options.quick else job
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                yield run(small, 3, gemm, peers=not options.ours)


def main() -> None:
    """Run the jobs that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixtures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--ours", action="store_true", help="without scikit-learn")
    parser.add_argument("--only", default="", help="only the jobs whose name contains this")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    options = parser.parse_args()
    gemm = gemm_rate()
    if not options.json:
        print(
            f"suffice {suffice.__version__} against scikit-learn {sklearn.__version__}, {ITERATIONS} iterations of EM"
        )
        print(f"GEMM {gemm / 1e9:.0f} GFLOP/s\n")
        print(f"{'job':34} {'sklearn s':>9} {'ours s':>7} {'ratio':>7} {'float32 s':>9} {'peak MB':>8} {'of GEMM':>8}")
    rows = []
    for row in results(options, gemm):
        rows.append(row)
        if not options.json:
            print(
                f"{row['job']:34} {row.get('scikit-learn s', float('nan')):9.2f} {row['suffice s']:7.3f} "
                f"{row.get('ratio', float('nan')):6.1f}× {row['suffice float32 s']:9.3f} {row['suffice peak MB']:8.0f} "
                f"{row['share of GEMM']:8.0%}",
                flush=True,
            )
            for name in OTHERS:
                if f"{name} s" in row:
                    print(f"{'  ' + name + ', float32':34} {row[f'{name} s']:9.2f}", flush=True)
    if options.json:
        json.dump({"gemm": gemm, "jobs": rows}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
