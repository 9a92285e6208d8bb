"""Every benchmark still runs: each program on a few rows or messages, its figures left aside."""

import importlib
import io
import sys
import tarfile
from pathlib import Path

import pytest

from suffice import compiled
from suffice.spam.sample_mailbox import arriving, taught

ROOT = Path(__file__).parents[2]
NEEDS_KERNELS = pytest.mark.skipif(compiled.library is None, reason="takes long, or cannot run, without the kernels")


@pytest.fixture(autouse=True)
def _importable_and_in_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(tmp_path)


def run(monkeypatch, name, *arguments, **constants):
    """Run a benchmark in this process as `python -m` would, with other values of some of its constants."""
    module = importlib.import_module(f"benchmarks.{name}")
    for constant, value in constants.items():
        monkeypatch.setattr(module, constant, value)
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    (getattr(module, "main", None) or module.defence)()


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_benchmark_can_be_imported(path):
    importlib.import_module(f"benchmarks.{path.stem}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("calibration", "--draws 1 --sizes 5 --only iris --plot curves.png"),
        ("curves", "--splits 1 --only iris --figure curves.png"),
        ("defaults", "--only iris --repeats 1"),
        ("glm", "--rows 500 --columns 3 --repeats 1"),
        ("missing", "--rows 200 --columns 3 --components 2"),
        pytest.param("mclust", "--only iris --repeats 1", marks=NEEDS_KERNELS),
        ("small", "--only dropin.GaussianNB --repeats 1"),
    ],
)
def test_benchmark_of_the_library_runs(monkeypatch, capsys, name, arguments):
    run(monkeypatch, name, *arguments.split())
    assert capsys.readouterr().out


def test_benchmark_of_jobs_runs(monkeypatch, capsys):
    rates = {"gemm_rate": lambda: 1e9, "read_bandwidth": lambda: 1e9}
    jobs = importlib.import_module("benchmarks.jobs").jobs
    run(monkeypatch, "__main__", "--only", "nb", jobs=lambda scale: jobs(1e-3), **rates)
    assert "×" in capsys.readouterr().out


def test_benchmark_of_mixtures_runs(monkeypatch, capsys):
    from benchmarks.mixtures import Job

    run(monkeypatch, "mixtures", JOBS=[Job("full", 500, 2, 2), Job("tied", 500, 2, 2)], gemm_rate=lambda: 1e9)
    assert "tied 500 × 2, k 2" in capsys.readouterr().out


@NEEDS_KERNELS
def test_benchmark_of_kernels_runs(monkeypatch, capsys):
    run(monkeypatch, "kernels", "--rows", "20", "--repeats", "1", microseconds=lambda call, *values: call(*values))
    assert "k-means" in capsys.readouterr().out


@pytest.fixture
def corpora(monkeypatch, tmp_path):
    """Put small corpora of synthetic mail in the place of those that the benchmarks read."""
    mail = [message for seed in range(3) for message in (*taught(seed), *arriving(seed))]

    def archive(path, members):
        path.parent.mkdir(parents=True)
        with tarfile.open(path, "w:xz") as tar:
            for name, raw in members:
                member = tarfile.TarInfo(name)
                member.size = len(raw)
                tar.addfile(member, io.BytesIO(raw))

    archive(
        tmp_path / "spamassassin" / "spamassassin_public.tar.xz",
        ((f"{label}/{number:03}", raw) for number, (raw, label) in enumerate(mail)),
    )
    groups, parts = ("alt.a", "comp.b", "sci.c"), ("train", "test")
    archive(
        tmp_path / "20newsgroups" / "20news-bydate.tar.xz",
        ((f"20news-{parts[n // 3 % 2]}/{groups[n % 3]}/{n}", raw) for n, (raw, _) in enumerate(mail)),
    )
    (tmp_path / "sms_spam").mkdir()
    texts = (b"%s\t%s\n" % (label.encode(), raw[-60:].replace(b"\n", b" ")) for raw, label in mail)
    (tmp_path / "sms_spam" / "SMSSpamCollection").write_bytes(b"".join(texts))
    news = tmp_path / "20newsgroups" / "20news-bydate.tar.xz"
    monkeypatch.setattr("shutil.which", lambda name: None)  # other filters are left out
    for name, constants in {
        "spam_corpus": {"DATA": tmp_path},
        "spam_fuzz": {"DATA": tmp_path},
        "spam_buckets": {"ARCHIVE": news, "LIST_SIZE": 3},
        "newsgroups": {"ARCHIVE": news},
    }.items():
        for constant, value in constants.items():
            monkeypatch.setattr(f"benchmarks.{name}.{constant}", value)


@pytest.mark.usefixtures("corpora")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("newsgroups", "--sizes 3 6 --draws 1 --plot curve.png --json curve.json"),
        ("spam", "--parts ten-fold sms --programs suffice MultinomialNB"),
        ("spam_buckets", ""),
        ("spam_fuzz", "--count 20"),
        ("spam_study", ""),
        ("spam_study", "--held-out"),
        ("spam_tuning", "--learned 200 --tested 100 --seeds 1"),
        ("spam_tuning", "--in-time"),
        ("spam_tuning", "--imbalance"),
        ("spam_unlabeled", "--labels 100 --seeds 1"),
    ],
)
def test_benchmark_of_the_filter_runs(monkeypatch, capsys, name, arguments):
    run(monkeypatch, name, *arguments.split())
    assert capsys.readouterr().out


@pytest.mark.usefixtures("corpora")
def test_benchmark_of_attacks_runs(monkeypatch, capsys):
    attacks = importlib.import_module("benchmarks.spam_attacks").ATTACKS
    few = {name: attacks[name] for name in ("as it is", "one ham attached", "200 good words")}
    run(monkeypatch, "spam_defence", ATTACKS=few)
    assert "without headers" in capsys.readouterr().out


@pytest.mark.usefixtures("corpora")
def test_benchmark_of_the_speed_of_the_filter_runs(monkeypatch, capsys):
    module = importlib.import_module("benchmarks.spam_speed")
    few = module.LARGE.replace("2000", "20").replace("1000", "10")
    cold_start, peak_memory = module.cold_start, module.peak_memory
    rare = {"cold_start": lambda *mail: cold_start(*mail[:2], 1), "peak_memory": lambda: peak_memory(1000)}
    run(monkeypatch, "spam_speed", "--runs", "1", "--processes", "1", LARGE=few, CALLS=1, **rare)
    assert "in each helper process" in capsys.readouterr().out
