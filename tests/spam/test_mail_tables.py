"""Mail as a table: which messages, under which names, and what their cells hold."""

import gzip
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from suffice.cli.app import app
from suffice.spam import MailboxError, mail_table
from suffice.spam.mail_tables import COLUMNS, folder_table
from suffice.spam.mailboxes import as_mbox
from suffice.spam.sample_mailbox import arriving, taught, write

ROOT = Path(__file__).parents[2]
ANN = b"From: Ann Lee <Ann@Example.org>\nSubject: Lunch\nDate: Mon, 3 Mar 2025 10:00:00 +0100\n\nSee you\n at noon\n"
BARE = b"X-Nothing: 1\n\n"


def named(folder):
    table = mail_table(folder)
    return sorted(zip(table["folder"], table["subject"], strict=True), key=str)


def test_cells_are_what_a_reader_sees(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.eml").write_bytes(ANN)
    (tmp_path / "a" / "2.eml").write_bytes(BARE)
    (tmp_path / "a" / "3.eml").write_bytes(
        b"From: bob@example.net\nSubject: =?utf-8?q?caf=C3=A9?=\nContent-Type: text/html\n\n<p>One</p><!-- x --><p>two"
    )
    table = mail_table(tmp_path)
    assert tuple(table) == COLUMNS
    assert table["from"] == ["ann@example.org", None, "bob@example.net"]
    assert table["subject"] == ["Lunch", None, "café"]
    assert table["body"] == ["See you at noon", "", "One two"]
    assert table["date"] == [datetime(2025, 3, 3, 9, tzinfo=UTC), None, None]
    assert table["place"][0] == str(tmp_path / "a" / "1.eml")
    assert pd.DataFrame(table).shape == pl.DataFrame(table).shape == (3, 6)


def test_folders_and_mailboxes_at_the_top_give_their_names(tmp_path):
    write(tmp_path / "ham", [ANN])  # a Maildir
    (tmp_path / "spam" / "old").mkdir(parents=True)
    (tmp_path / "spam" / "old" / "mail").write_bytes(as_mbox(ANN) + as_mbox(ANN))
    (tmp_path / "work.mbox").write_bytes(as_mbox(ANN))
    (tmp_path / "Letters").write_bytes(as_mbox(ANN) + as_mbox(ANN))
    with gzip.open(tmp_path / "lists.mbox.gz", "wb") as file:
        file.write(as_mbox(ANN))
    (tmp_path / "alone.eml").write_bytes(ANN)
    names = [folder for folder, _ in named(tmp_path)]
    assert names == sorted(["ham", "spam", "spam", "work", "Letters", "Letters", "lists", tmp_path.name])


def test_a_maildir_gives_the_names_of_its_folders(tmp_path):
    write(tmp_path, [ANN])
    write(tmp_path / ".Junk", [ANN, ANN])
    assert [folder for folder, _ in named(tmp_path)] == ["INBOX", "Junk", "Junk"]


def test_a_mapping_names_mailboxes_anywhere(tmp_path):
    (tmp_path / "one").write_bytes(as_mbox(ANN))
    write(tmp_path / "two", [ANN])
    table = mail_table({"mine": [tmp_path / "one", tmp_path / "two"], "theirs": str(tmp_path / "one")})
    assert table["folder"] == ["mine", "mine", "theirs"]


def test_messages_that_cannot_be_read_are_left_out_and_told(tmp_path):
    (tmp_path / "ham").mkdir()
    (tmp_path / "ham" / "1.eml").write_bytes(ANN)
    (tmp_path / "ham" / "2.eml").write_bytes(b"PK\3\4 an archive")
    lost = []
    table = mail_table(tmp_path, skipped=lambda place, reason: lost.append((place, reason)))
    assert len(table["folder"]) == 1
    assert lost[0][0].endswith("2.eml")
    assert "is an archive" in lost[0][1]
    with pytest.warns(UserWarning, match="1 messages were left out, because they cannot be read"):
        mail_table(tmp_path)


def test_what_is_no_mail_is_no_table_of_mail(tmp_path):
    with pytest.raises(MailboxError, match="there is no folder"):
        mail_table(tmp_path / "absent")
    assert mail_table(tmp_path) == {name: [] for name in COLUMNS}
    assert folder_table(str(tmp_path)) is None
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    assert folder_table(str(tmp_path)) is None


class _EntryPoint:
    @staticmethod
    def load():
        return folder_table


@pytest.fixture
def mails(tmp_path, monkeypatch):
    for folder, part in (("old", list(taught())), ("new", list(arriving()))):
        for label in ("spam", "ham"):
            write(tmp_path / folder / label, [raw for raw, own in part if own == label])
    monkeypatch.setattr("suffice.cli.inputs.entry_points", lambda group: [_EntryPoint] if "folders" in group else [])
    return tmp_path


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="suffice", catch_exceptions=False)


def test_suffice_fit_learns_from_a_folder_of_mailboxes(mails):
    model = mails / "detector.suffice"
    fitted = run("fit", mails / "old", "--target", "folder", "--threshold", "spam=0.9", "--drop", "from", "-o", model)
    assert fitted.exit_code == 0, fitted.output
    assert "2: 2 text" in fitted.stdout
    assert "ham 60.0%, spam 40.0%" in fitted.stdout
    rows = pd.read_csv(pd.io.common.StringIO(run("predict", model, mails / "new", "--proba").stdout))
    assert list(rows) == ["place", "date", "prediction", "p_ham", "p_spam"]
    true = rows["place"].map(lambda place: Path(place).parents[1].name)
    assert (rows["prediction"] == true).mean() > 0.7
    assert ((rows["prediction"] == "spam") == (rows["p_spam"] >= 0.9)).all()


def test_folders_that_nobody_reads_are_an_error(mails):
    (mails / "empty").mkdir()
    result = run("fit", mails / "empty", "--target", "folder", "-o", mails / "m.suffice")
    assert result.exit_code == 1
    assert "give one that holds .parquet files or mail" in result.stderr


def test_the_package_registers_the_reader():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["suffice.folders"] == {"mail": "suffice.spam.mail_tables:folder_table"}
