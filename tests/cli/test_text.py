"""The command line with columns of text."""

import csv
import json

import pytest

from suffice import TextColumnWarning, load
from suffice.cli.fit import fit_file
from suffice.cli.inputs import open_table
from suffice.cli.predict import csv_types, reasons
from suffice.cli.settings import parse_families

ROWS = [
    ("buy cheap pills right now", "spam"),
    ("cheap pills for you, now", "spam"),
    ("the meeting is at noon", "ham"),
    ("notes of the last meeting", "ham"),
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mail.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("body", "kind"), *ROWS])
    return str(path)


def test_a_csv_column_of_sentences_is_learned_as_text(table, tmp_path):
    with pytest.warns(TextColumnWarning):
        fitted = fit_file(table, "kind", tmp_path / "model.suffice")
    model = load(fitted.output if hasattr(fitted, "output") else tmp_path / "model.suffice")
    assert model.schema_.blocks[0].family.name == "text"


def test_a_family_may_be_named_and_predictions_give_words_as_reasons(table, tmp_path):
    families = parse_families(["body=text"], "diagonal")
    fit_file(table, "kind", tmp_path / "model.suffice", families=families)
    model = load(tmp_path / "model.suffice")
    numbers = tmp_path / "new.csv"
    numbers.write_text("body\n12 345\ncheap pills\n")
    found = open_table(str(numbers), csv_types(model))
    rows = next(iter(found.source(["body"]).batches())).table.frame.to_native()
    predicted = model.predict(rows)
    assert predicted.tolist()[1] == "spam"
    assert "body: cheap" in reasons(model, rows, predicted)[1]
    assert json.dumps(reasons(model, rows, predicted))
