"""The command line with columns of text."""

import csv

import pytest
from typer.testing import CliRunner

from suffice import load
from suffice.cli.app import app

ROWS = [
    ("buy cheap pills right now", "spam"),
    ("cheap pills for you, now", "spam"),
    ("the meeting is at noon", "ham"),
    ("notes of the last meeting", "ham"),
]


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="suffice", catch_exceptions=False)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mail.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("body", "kind"), *ROWS])
    return path


def test_a_csv_column_of_sentences_is_learned_as_text(table, tmp_path):
    told = run("fit", table, "--target", "kind", "-o", tmp_path / "model.suffice")
    shown = " ".join(told.output.split())
    assert "are sentences" in shown
    assert "pass --family 'body=text' if that is intended, or --family 'body=categorical'" in shown
    assert load(tmp_path / "model.suffice").schema_.blocks[0].family.name == "text"


def test_a_family_may_be_named_and_predictions_give_words_as_reasons(table, tmp_path):
    model, new = tmp_path / "model.suffice", tmp_path / "new.csv"
    fitted = run("fit", table, "--target", "kind", "--family", "body=text", "-o", model)
    assert "1: 1 text" in fitted.output
    new.write_text("body\n12345\ncheap pills\n")  # the first cell alone would be a number
    lines = run("predict", model, new, "--explain").output.splitlines()
    assert lines[2].startswith("spam")
    assert "body: cheap" in lines[2]
