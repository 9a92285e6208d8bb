"""python -m benchmarks: every job with scikit-learn and with us, in one process, and the ratio."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import sklearn

import suffice
from benchmarks.jobs import Job, jobs
from benchmarks.measure import gemm_rate, median_seconds, peak_megabytes, read_bandwidth

RECORDED = Path(__file__).with_name("recorded.json")


def run(job: Job, repeats: int, gemm: float, bandwidth: float) -> dict[str, Any]:
    """Time a job with both, check that they agree, and say how close to the machine's limit we are."""
    theirs, their_result = median_seconds(job.theirs, repeats)
    ours, our_result = median_seconds(job.ours, repeats)
    if not job.same(their_result, our_result):
        raise SystemExit(f"{job.name}: the two do not give the same answer")
    limit = max(job.operations / gemm, job.data_bytes / bandwidth)
    return {
        "job": job.name,
        "scikit-learn s": theirs,
        "suffice s": ours,
        "ratio": theirs / ours,
        "suffice peak MB": peak_megabytes(job.ours),
        "share of the limit": limit / ours,
        "limit": "GEMM" if job.operations / gemm > job.data_bytes / bandwidth else "memory",
    }


def show(row: dict[str, Any]) -> None:
    """Print one line of the table."""
    share = f"{row['share of the limit']:.0%} of {row['limit']}"
    print(
        f"{row['job']:62} {row['scikit-learn s']:9.3f} {row['suffice s']:8.3f} {row['ratio']:6.1f}× "
        f"{row['suffice peak MB']:8.0f} {share:>16}",
        flush=True,
    )


def main() -> None:
    """Run the jobs that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, three repeats")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--only", default="", help="only the jobs whose name contains this")
    parser.add_argument("--check", action="store_true", help="fail if a ratio is less than half of the recorded one")
    parser.add_argument("--record", action="store_true", help="record the ratios for --check")
    options = parser.parse_args()
    scale, repeats = (0.1, 3) if options.quick else (1.0, 5)
    gemm, bandwidth = gemm_rate(), read_bandwidth()
    mode = "quick" if options.quick else "full"
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if not options.json:
        print(f"suffice {suffice.__version__} against scikit-learn {sklearn.__version__}, median of {repeats}")
        print(f"limits of this machine: GEMM {gemm / 1e9:.0f} GFLOP/s, reading {bandwidth / 1e9:.1f} GB/s\n")
        print(f"{'job':62} {'sklearn s':>9} {'ours s':>8} {'ratio':>7} {'peak MB':>8} {'of the limit':>16}")
    results, slow = [], []
    for job in jobs(scale):
        if options.only.lower() not in job.name.lower():
            continue
        row = run(job, repeats, gemm, bandwidth)
        least = recorded.get(mode, {}).get(job.name, 0.0) / 2
        for _ in range(2):  # a busy machine may be slow once, but not three times
            if not options.check or row["ratio"] >= least:
                break
            row = max(row, run(job, repeats, gemm, bandwidth), key=lambda measured: measured["ratio"])
        if options.check and row["ratio"] < least:
            slow.append(f"{job.name}: {row['ratio']:.1f}×, recorded {2 * least:.1f}×")
        results.append(row)
        if not options.json:
            show(row)
    mean = math.exp(sum(math.log(row["ratio"]) for row in results) / max(len(results), 1))
    if options.json:
        json.dump({"gemm": gemm, "bandwidth": bandwidth, "geometric mean": mean, "jobs": results}, sys.stdout, indent=1)
    else:
        print(f"\ngeometric mean of the ratios: {mean:.1f}×")
    if options.record:
        recorded[mode] = {row["job"]: round(row["ratio"], 1) for row in results}
        RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    if slow:
        raise SystemExit("under half of the recorded ratio:\n  " + "\n  ".join(slow))


if __name__ == "__main__":
    main()
