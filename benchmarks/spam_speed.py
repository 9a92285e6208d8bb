"""python -m benchmarks.spam_speed: how many messages per second the spam filter learns and scores, beside bogofilter.

The messages are those of the SpamAssassin corpus, the stores are files. Rates are medians of runs by turns; beside the
seconds on the clock stand those of all processors, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from threading import Thread

from benchmarks.spam_corpus import corpus
from suffice.spam import SpamFilter, digest, read
from suffice.spam.bulk import KnownWeights
from suffice.spam.counting import counted_lines
from suffice.spam.reading import pack, sorted_lines
from suffice.spam.shares import KnownMessage, Label
from suffice.spam.tokenizing import all_tokens

#: how often each client program asks the daemon
CALLS = 50
COLD = """
import sys
from suffice.spam import SpamFilter
with SpamFilter.open(sys.argv[1]) as spam_filter:
    print(spam_filter.score(sys.stdin.buffer.read()).label)
"""
LARGE = """
import resource, sys
from suffice.spam import SpamFilter
def raw(i):
    return (f"Subject: letter {i}\\n\\n" + " ".join(f"w{(i * 7919 + j * 31) % 10**6:06}" for j in range(400))).encode()
with SpamFilter.open(sys.argv[1]) as spam_filter:
    raws = [raw(i) for i in range(2000)]
    spam_filter.train_many(raws, ["spam", "ham"] * 1000, processes=2)
    assert sum(1 for _ in spam_filter.score_many(raws, processes=2)) == 2000
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) / 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that work takes, on the clock and of all processors, those of ended processes among them."""
    before, start = _processor_seconds(), time.perf_counter()
    work()
    return time.perf_counter() - start, _processor_seconds() - before


def _processor_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def ours(raws: list[bytes], labels: list[Label], processes: int) -> dict[str, tuple[float, float]]:
    """Return how long it takes to learn all messages and to score them."""
    with tempfile.TemporaryDirectory() as folder, SpamFilter.open(Path(folder) / "store") as spam_filter:
        return {
            "train": timed(lambda: spam_filter.train_many(raws, labels, processes=processes)),
            "score": timed(lambda: sum(1 for _ in spam_filter.score_many(raws, processes=processes))),
        }


def bogofilter(files: dict[Label, list[Path]]) -> dict[str, tuple[float, float]]:
    """Return the same of bogofilter, which uses one core."""
    with tempfile.TemporaryDirectory() as folder:

        def call(option: str, names: list[Path]) -> None:
            text = "".join(f"{name}\n" for name in names)
            command = ["bogofilter", "-d", folder, option]
            done = subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, check=False)
            if done.returncode not in (0, 1, 2):
                raise RuntimeError(f"bogofilter {option} ended with exit code {done.returncode}")

        def train() -> None:
            call("-sb", files["spam"])
            call("-nb", files["ham"])

        return {"train": timed(train), "score": timed(lambda: call("-vb", files["spam"] + files["ham"]))}


def stages(raws: list[bytes], labels: list[Label]) -> dict[str, dict[str, float]]:
    """Return the processor seconds of each stage of learning and of scoring, in one process."""
    spent: dict[str, dict[str, float]] = {"train": defaultdict(float), "score": defaultdict(float)}
    last = time.process_time()

    def note(way: str, stage: str) -> None:
        nonlocal last
        now = time.process_time()
        spent[way][stage] += now - last
        last = time.process_time()

    with tempfile.TemporaryDirectory() as folder, SpamFilter.open(Path(folder) / "store") as spam_filter:
        store = spam_filter._store
        for start in range(0, len(raws), 1024):
            chunk, kinds = raws[start : start + 1024], labels[start : start + 1024]
            note("train", "rest")
            identities = [bytes.fromhex(digest(raw)) for raw in chunk]
            note("train", "identity")
            messages = [read(raw) for raw in chunk]
            note("train", "read")
            found = [all_tokens(message) for message in messages]
            note("train", "tokens")
            lines = [sorted_lines(each) for each in found]
            note("train", "sort")
            packed = [pack(each) for each in lines]
            note("train", "compress")
            counts = counted_lines(zip(kinds, lines, strict=True))
            note("train", "count")
            rows = {
                row[0]: KnownMessage(row[0], row[1], 20_000, row[2])
                for row in zip(identities, kinds, packed, strict=True)
            }
            with store.transaction():
                known = store.labels(identities)
                new = [row for identity, row in rows.items() if identity not in known]
                store.add(new, counts if len(new) == len(chunk) else None)
            note("train", "store")
        weights = KnownWeights(store)
        for start in range(0, len(raws), 512):
            note("score", "rest")
            messages = [read(raw) for raw in raws[start : start + 512]]
            note("score", "read")
            found = [all_tokens(message) for message in messages]
            note("score", "tokens")
            lines = [sorted_lines(each) for each in found]
            note("score", "sort")
            with store.snapshot():
                basis = spam_filter._basis()
                weights.prepare(lines, basis)
            note("score", "look up")
            for each in lines:
                weights.prepared_verdict(each, basis)
            note("score", "verdict")
    return {way: dict(parts) for way, parts in spent.items()}


def cold_start(raws: list[bytes], labels: list[Label], runs: int) -> tuple[float, float]:
    """Return the seconds until a fresh process has scored one message, and those that Python takes for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "store")
        with SpamFilter.open(path) as spam_filter:
            spam_filter.train_many(raws, labels)
        found: dict[str, list[float]] = {COLD: [], "pass": []}
        for number in range(runs):
            for code, times in found.items():
                start = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-c", code, path],
                    input=raws[97 * number % len(raws)],
                    check=True,
                    capture_output=True,
                )
                times.append(time.perf_counter() - start)
    return statistics.median(found[COLD]), statistics.median(found["pass"])


def ask_daemon(path: str, raws: list[bytes]) -> None:
    """Ask the daemon about messages as spamc does: one after the other, a connection for each."""
    for raw in raws:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(raw) + raw)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert answer.startswith(b"SPAMD/1.1 0 EX_OK"), answer


def through_daemon(raws: list[bytes], labels: list[Label], runs: int, clients: int = 2) -> dict[str, float]:
    """Return messages per second through the daemon, each client with one at a time, and milliseconds per message."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        store, path = str(Path(folder) / "store"), f"{folder}/socket"
        with SpamFilter.open(store) as spam_filter:
            spam_filter.train_many(raws, labels)
        suffice = [sys.executable, "-m", "suffice.cli", "spam"]
        command = [*suffice, "daemon", "--store", store, "--listen", f"unix:{path}", "--allow-learning"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:
            assert daemon.stdout is not None
            daemon.stdout.readline()
            Thread(target=daemon.stdout.read, daemon=True).start()  # its lines
            rates = []
            for _ in range(runs + 1):
                start = time.perf_counter()
                asking = [
                    get_context("fork").Process(target=ask_daemon, args=(path, raws[i::clients]))
                    for i in range(clients)
                ]
                for each in asking:
                    each.start()
                for each in asking:
                    each.join()
                    assert each.exitcode == 0
                rates.append(len(raws) / (time.perf_counter() - start))
            found["messages per second"] = statistics.median(rates[1:])  # processes know no tokens in the first
            programs = {"suffice spam filter --daemon, by Python": [*suffice, "filter", f"--daemon=unix:{path}", "-p"]}
            if client := shutil.which("suffice-filter"):
                programs["suffice-filter"] = [client, f"--daemon=unix:{path}", "-p"]
            if shutil.which("spamc"):
                programs["spamc"] = ["spamc", "-U", path]
            programs["true, for comparison"] = ["true"]
            times: dict[str, list[float]] = defaultdict(list)
            for number in range(CALLS):
                for name, program in programs.items():
                    start = time.perf_counter()
                    subprocess.run(program, input=raws[97 * number % len(raws)], check=True, capture_output=True)
                    times[name].append(1e3 * (time.perf_counter() - start))
            found |= {f"{name}, ms": statistics.median(each) for name, each in times.items()}
            daemon.terminate()
    return found


def peak_memory(count: int = 1_000_000) -> tuple[float, float, float]:
    """Return megabytes: of a store of so many tokens, and at most in use, of the process and of its largest helper."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with SpamFilter.open(path) as spam_filter, spam_filter._store.transaction():
            rows = ((f"w{i:06} w{i % 1000}", i % 5, i % 3) for i in range(count))
            spam_filter._store._connection.executemany("INSERT INTO tokens VALUES (?, ?, ?)", rows)
        output = subprocess.run([sys.executable, "-c", LARGE, path], check=True, capture_output=True, text=True).stdout
        process, helper = map(float, output.split())
        return path.stat().st_size / 2**20, process, helper


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam_speed", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--daemon", action="store_true", help="only the daemon")
    options = parser.parse_args()
    raws, is_spam = corpus()
    labels: list[Label] = ["spam" if each else "ham" for each in is_spam]
    for name, figure in through_daemon(raws, labels, options.runs).items():
        print(f"daemon: {name}: {figure:,.4g}")
    if options.daemon:
        return
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        files: dict[Label, list[Path]] = {"spam": [], "ham": []}
        for number, (raw, label) in enumerate(zip(raws, labels, strict=True)):
            files[label].append(Path(folder) / str(number))
            files[label][-1].write_bytes(raw)
        for _ in range(options.runs):
            for way, seconds in ours(raws, labels, options.processes).items():
                found["suffice", way].append(seconds)
            if shutil.which("bogofilter"):
                for way, seconds in bogofilter(files).items():
                    found["bogofilter", way].append(seconds)
    load = os.getloadavg()[0]
    print(f"{len(raws)} messages, medians of {options.runs} runs, load of the machine {load:.1f}")
    print("| | messages per second | processor, ms per message | messages per second if two cores were free |")
    print("|---|---|---|---|")
    for (name, way), runs in found.items():
        wall, processor = (statistics.median(column) for column in zip(*runs, strict=True))
        cores = 2 if name == "suffice" else 1
        rates = f"{len(raws) / wall:,.0f} | {1e3 * processor / len(raws):.2f} | {cores * len(raws) / processor:,.0f}"
        print(f"| {name}, {way} | {rates} |")
    for way, parts in stages(raws, labels).items():
        total = sum(parts.values())
        print(f"{way}: " + ", ".join(f"{stage} {seconds / total:.0%}" for stage, seconds in parts.items()))
    cold, bare = cold_start(raws, labels, 9)
    print(f"one message in a fresh process: {cold:.3f} s, of which Python itself takes {bare:.3f} s")
    size, process, helper = peak_memory()
    print(f"a store of 1,000,000 tokens ({size:.0f} MB): {process:.0f} MB, and {helper:.0f} MB in each helper process")


if __name__ == "__main__":
    main()
