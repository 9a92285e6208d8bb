"""The demo: it runs, its figures are those of the models, and its explanations add up."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from suffice.demo import run
from suffice.demo.contest import EDGES
from suffice.demo.mail import THRESHOLDS, make_post
from suffice.demo.mixed import make_mixed, mixed_contest
from suffice.demo.show import SPLITS
from suffice.demo.votes import read_votes, votes_contest
from suffice.spam import read


@pytest.fixture(scope="module")
def contests():
    return votes_contest(), mixed_contest()


@pytest.fixture(scope="module")
def all_splits():
    return [[contest(split) for split in range(SPLITS)] for contest in (votes_contest, mixed_contest)]


@pytest.fixture(scope="module")
def post():
    return make_post()


@pytest.fixture(scope="module")
def shown():
    console = Console(file=io.StringIO(), width=100, highlight=False)
    run(console)
    return console.file.getvalue()


def test_it_shows_the_measures_of_every_model_over_all_splits(all_splits, shown):
    lines = iter([line for line in shown.splitlines() if line.count("±") == 3])
    for splits in all_splits:
        for number, entry in enumerate(splits[0].entries):
            line = next(lines)
            assert entry.name in line
            assert entry.preparation.split()[0] in line
            measured = np.array([contest.measures(contest.entries[number]) for contest in splits])
            mean, spread = measured.mean(0), measured.std(0)
            for figure in (
                f"{mean[0]:.1%} ± {100 * spread[0]:.1f}",
                f"{mean[1]:.3f} ± {spread[1]:.3f}",
                f"{mean[2]:.1%} ± {100 * spread[2]:.1f}",
            ):
                assert figure in line


def test_the_measures_are_right_by_hand(contests):
    for contest in contests:
        for entry in contest.entries:
            p, weight = entry.probabilities, contest.test_weight / contest.test_weight.sum()
            truth = np.searchsorted(contest.model.classes_, contest.test_labels)
            right = p.argmax(axis=1) == truth
            assert contest.accuracy(entry) == pytest.approx(weight @ right)
            true_share = np.clip(p[np.arange(len(p)), truth], np.finfo(float).eps, 1)
            assert contest.log_loss(entry) == pytest.approx(-weight @ np.log(true_share), rel=1e-6)
            error, sure = 0.0, p.max(axis=1)
            for low, high in pairwise(EDGES):
                here = (sure >= low) & ((sure < high) | (high == 1.0))
                error += abs(weight[here] @ (sure[here] - right[here]))
            assert contest.calibration_error(entry) == pytest.approx(error)
            assert sum(one.rows for one in contest.reliability(entry)) == len(p)


def test_everyone_is_measured_on_the_same_rows(contests):
    for contest in contests:
        assert {len(entry.probabilities) for entry in contest.entries} == {contest.test.num_rows}
        assert contest.train.num_rows + contest.test.num_rows in (435, 569)


def test_the_tables_are_what_it_says_they_are(shown):
    votes = read_votes()
    assert "435 rows, 16 columns (16 words), 392 of 6,960 cells missing" in shown
    assert sum(column.null_count for column in votes.columns) == 392
    mixed, _, weight = make_mixed()
    missing = sum(column.null_count for column in mixed.columns)
    assert f"10 columns (6 numbers, 2 booleans, 2 words), {missing} of 5,690 cells missing" in shown
    assert set(weight.tolist()) == {1.0, 2.0, 3.0}


def test_three_explanations_add_up_to_their_log_odds(shown):
    panels = re.findall(r"╭─ (A .*?╰.*?╯)", shown, flags=re.DOTALL)
    assert len(panels) == 3
    for panel in panels:
        numbers = [float(number) for number in re.findall(r"\s([+-]\d+\.\d\d)\s", panel)]
        *terms, total = numbers
        assert len(terms) >= 4
        assert sum(terms) == pytest.approx(total, abs=1e-9)
        share = float(re.search(r"= (0\.\d+)", panel).group(1))
        assert share == pytest.approx(1 / (1 + np.exp(-total)), abs=1e-4)


def test_forgetting_is_exact(shown):
    said = " ".join(shown.split())
    assert float(re.search(r"by at most (\S+)\.", said).group(1)) < 1e-9


def test_it_says_that_the_mail_is_synthetic_and_shows_every_error_of_the_filter(post, shown):
    assert "5  The same sums as a spam filter: a small synthetic mailbox" in shown
    said = " ".join(shown.split())
    assert (
        f"learns {post.taught['ham']} hams and {post.taught['spam']} spams, and classifies {len(post.messages)} others"
        in said
    )
    for label in ("spam", "ham"):
        counts = [
            sum(
                truth == label and verdict.label == name
                for truth, verdict in zip(post.labels, post.verdicts, strict=True)
            )
            for name in ("spam", "unsure", "ham")
        ]
        assert sum(counts) == post.labels.count(label)
        assert f"{label} ({sum(counts)}) {counts[0]} {counts[1]} {counts[2]}" in said
    assert post.wrong()
    for i in post.wrong():
        subject = read(post.messages[i]).header("subject")
        assert f"“{subject}” ({post.labels[i]}, called {post.verdicts[i].label})" in said


def test_the_evidence_of_a_message_adds_up_to_its_log_odds(post, shown):
    (panel,) = re.findall(r"╭─ (“.*?╰.*?╯)", shown, flags=re.DOTALL)
    *terms, total = [float(number) for number in re.findall(r"\s([+-]\d+\.\d\d)\s", panel)]
    assert len(terms) > 8
    assert min(terms) < 0 < max(terms)
    assert sum(terms) == pytest.approx(total, abs=1e-9)
    verdict = post.verdicts[post.closest_call()]
    assert total == pytest.approx(verdict.log_odds, abs=0.006)
    assert f"p(spam) = {verdict.probability:.3f}" in panel


def test_the_trade_off_is_that_of_the_verdicts(post, shown):
    rows = re.findall(r"^ +(0\.\d\d) +(\d+) █* +(\d+) █*", shown, flags=re.MULTILINE)
    assert [float(row[0]) for row in rows] == list(THRESHOLDS)
    for threshold, lost, missed in rows:
        pairs = [
            (label, v.probability >= float(threshold)) for label, v in zip(post.labels, post.verdicts, strict=True)
        ]
        assert (int(lost), int(missed)) == (pairs.count(("ham", True)), pairs.count(("spam", False)))


def test_it_fits_the_page_and_ends_with_the_code(shown):
    assert max(map(len, shown.splitlines())) <= 100
    assert "from suffice import NaiveBayes" in shown
    assert "\x1b" not in shown


def test_the_command_shows_the_same_every_time_and_needs_no_pandas(shown):
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
sys.argv = ["suffice", "demo"]
from suffice.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, timeout=60, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == shown
