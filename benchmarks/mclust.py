"""python -m benchmarks.mclust: MixtureSearch() and R's mclust, both with their defaults, on the same data in one run.

Both fit fourteen covariance structures with 1 to 9 components. R (Debian: r-cran-mclust) measures its own call, without
its start-up; the two take turns. Seconds are medians. Seconds of the processor are the smallest, which depend less on
what else the machine does; ours are those of all threads, R has one. The tables are the differences of BIC, ours minus
theirs with theirs in our sign, so that a positive number is a higher likelihood of ours; `.` is a tie within 0.01, NA
is where mclust gave up, and * where we needed a prior. Without R only our seconds are shown.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

import suffice
from suffice.selection.mixture_search import ALL

ORACLES = Path(__file__).parents[2] / "shared/oracles"
#: names of data sets: ours, and data sets that come with mclust, with the columns that are not numbers left out
OURS, THEIRS = ("faithful", "iris", "pima", "wine"), ("diabetes", "banknote", "thyroid", "wreath")
#: a BIC that is lower by more than this counts as below
TOLERATED = 0.01

#: reads requests from the standard input, one per line, and answers with one line of numbers each
PROGRAM = r"""
suppressMessages(library(mclust))
lines <- file("stdin", "r")
tables <- list()
repeat {
  request <- readLines(lines, n = 1)
  if (length(request) == 0) break
  words <- strsplit(request, "\t")[[1]]
  if (words[1] == "data") {
    data(list = words[2], package = "mclust")
    write.table(Filter(is.numeric, as.data.frame(get(words[2]))), words[3], sep = ",", row.names = FALSE)
    cat("done\n")
  } else if (words[1] == "read") {
    tables[[words[2]]] <- as.matrix(read.csv(words[3]))
    cat("done\n")
  } else {
    seconds <- system.time(found <- mclustBIC(tables[[words[2]]], verbose = FALSE))
    cat(seconds[["elapsed"]], seconds[["user.self"]] + seconds[["sys.self"]], "")
    cat(format(t(unclass(found)[, ]), digits = 17), "\n")
  }
}
"""


class R:
    """A running R, which answers one request after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, *words: str) -> list[str]:
        """Return the words of the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*words, sep="\t", file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"R ended at the request {words}")
        return answer.split()

    def mclust(self, name: str) -> tuple[float, float, np.ndarray]:
        """Return the seconds that mclustBIC took, also of the processor, and minus its BIC; NaN where it gave up."""
        seconds, processor, *values = self.ask("run", name)
        table = np.array([np.nan if value == "NA" else -float(value) for value in values])
        return float(seconds), float(processor), table.reshape(-1, len(ALL))


@contextmanager
def running_r(folder: Path) -> Iterator[R | None]:
    """Start R where it is installed with mclust; None where it is not."""
    command = shutil.which("Rscript")
    if (
        command is None
        or subprocess.run([command, "-e", "library(mclust)"], capture_output=True, check=False).returncode
    ):
        yield None
        return
    script = folder / "mclust.R"
    script.write_text(PROGRAM)
    with subprocess.Popen([command, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield R(process)
        assert process.stdin is not None
        process.stdin.close()


def table_of(name: str, folder: Path, r: R | None) -> tuple[Path, np.ndarray] | None:
    """Return a file of numbers with a line of names, and the numbers; None where the data is not available."""
    path = folder / f"{name}.csv"
    if name in THEIRS:
        if r is None:
            return None
        r.ask("data", name, str(path))
    elif name in ("iris", "wine"):
        X = getattr(datasets, f"load_{name}")().data
        np.savetxt(
            path, X, delimiter=",", header=",".join(f"x{j}" for j in range(X.shape[1])), comments="", fmt="%.17g"
        )
    elif (ORACLES / f"{name}.csv").exists():
        with (ORACLES / f"{name}.csv").open() as file:
            header, *rows = csv.reader(file)
        numeric = [j for j, cell in enumerate(rows[0]) if _is_number(cell)]
        lines = [",".join(row[j] for j in numeric) for row in [header, *rows]]
        path.write_text("\n".join(lines) + "\n")
    else:
        return None
    return path, np.loadtxt(path, delimiter=",", skiprows=1)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def ours(X: np.ndarray) -> tuple[float, float, suffice.MixtureSearch]:
    """Return the seconds that the default search took, also of the processor, and what it found."""
    begun, processor = time.perf_counter(), time.process_time()
    search = suffice.MixtureSearch().fit(X)
    return time.perf_counter() - begun, time.process_time() - processor, search


def compare(name: str, X: np.ndarray, r: R | None, repeats: int) -> dict[str, Any]:
    """Let both take turns, and return their median seconds and the differences of BIC."""
    seconds: dict[str, list[float]] = {"suffice": [], "mclust": []}
    processor: dict[str, list[float]] = {"suffice": [], "mclust": []}
    theirs = np.full((9, len(ALL)), np.nan)
    for _ in range(repeats):
        if r is not None:
            taken, used, theirs = r.mclust(name)
            seconds["mclust"].append(taken)
            processor["mclust"].append(used)
        taken, used, search = ours(X)
        seconds["suffice"].append(taken)
        processor["suffice"].append(used)
    mine = search.results_["bic"].reshape(theirs.shape)
    low = ~(mine <= theirs + TOLERATED) & ~np.isnan(theirs)
    best = search.best_estimator_
    return {
        "data": name,
        "rows": len(X),
        "columns": X.shape[1],
        "suffice s": statistics.median(seconds["suffice"]),
        "mclust s": statistics.median(seconds["mclust"]) if r is not None else None,
        "suffice processor s": min(processor["suffice"]),
        "mclust processor s": min(processor["mclust"], default=None),
        "best": f"{best.covariance} {best.n_components}",
        "mclust best": _best_of(theirs) if r is not None else None,
        "gains": (theirs - mine).tolist(),
        "prior": search.results_["prior"].reshape(theirs.shape).tolist(),
        "compared": int((~np.isnan(theirs)).sum()),
        "below": int(low.sum()),
    }


def _best_of(bic: np.ndarray) -> str:
    size, structure = np.unravel_index(np.nanargmin(bic), bic.shape)
    return f"{ALL[structure]} {size + 1}"


def show(row: dict[str, Any]) -> None:
    """Print the seconds of both, and the table of differences."""
    print(f"\n{row['data']}, {row['rows']} × {row['columns']}: suffice {row['suffice s']:.3f} s", end="")
    if row["mclust s"] is None:
        print(f", best {row['best']}")
        return
    ratio = row["mclust s"] / row["suffice s"]
    print(f", mclust {row['mclust s']:.3f} s, ratio {ratio:.2f}×; best {row['best']}, mclust {row['mclust best']}")
    used = row["mclust processor s"] / row["suffice processor s"]
    print(f"processor: {row['suffice processor s']:.3f} s and {row['mclust processor s']:.3f} s, ratio {used:.2f}×")
    print("   " + "".join(f"{name:>9}" for name in ALL))
    for size, (gains, priors) in enumerate(zip(row["gains"], row["prior"], strict=True), start=1):
        print(f"{size:3}" + "".join(_cell(*pair) for pair in zip(gains, priors, strict=True)))
    print(f"{row['below']} of {row['compared']} entries below mclust's by more than {TOLERATED}", flush=True)


def _cell(gain: float, prior: bool) -> str:
    text = "NA" if np.isnan(gain) else "." if abs(gain) <= TOLERATED else f"{gain:.2f}"
    return f"{text + ('*' if prior else ''):>9}"


def main() -> None:
    """Compare on the data sets that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mclust", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="fits of each; the median is shown")
    parser.add_argument("--only", default="", help="only the data sets whose name contains this")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name, running_r(Path(name)) as r:
        if r is None and not options.json:
            print("R or its package mclust is not installed (Debian: r-cran-mclust); only the times of suffice follow")
        for data in [data for data in (*OURS, *THEIRS) if options.only in data]:
            table = table_of(data, Path(name), r)
            if table is None:
                print(f"\n{data}: not available", file=sys.stderr)
                continue
            if r is not None:
                r.ask("read", data, str(table[0]))
            rows.append(compare(data, table[1], r, options.repeats))
            if not options.json:
                show(rows[-1])
    if options.json:
        print(json.dumps(rows, indent=1))
    elif r is not None and rows:
        ratios = [row["mclust s"] / row["suffice s"] for row in rows]
        print(
            f"\ngeometric mean of the ratios {statistics.geometric_mean(ratios):.2f}×, smallest {min(ratios):.2f}×; "
            f"{sum(row['below'] for row in rows)} of {sum(row['compared'] for row in rows)} entries below mclust's"
        )


if __name__ == "__main__":
    main()
