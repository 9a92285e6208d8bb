"""docs/design.md: the rooms of the house, and where a row goes."""

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import GLM, Mixture, NaiveBayes
from suffice.spam import SpamFilter

SOURCE = Path(suffice.__file__).parent
DESIGN = Path(__file__).parents[2] / "docs" / "design.md"
rng = np.random.default_rng(0)
frame = pd.DataFrame({"size": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
y = np.where(frame["size"] > 0, "large", "small")
MAIL = b"From: ann@site.example\r\nSubject: %s\r\n\r\nmeet me at noon\r\n"


def a_mail(folder):
    with SpamFilter.open(folder / "store") as spam_filter:
        spam_filter.train(MAIL % b"watches", "spam")
        spam_filter.train(MAIL % b"lunch", "ham")
        spam_filter.score(MAIL % b"lunch")


WALKS = {
    "NaiveBayes()": lambda _: NaiveBayes().fit(frame, y).predict_proba(frame),
    "Mixture(2)": lambda _: Mixture(2, random_state=0).fit(frame),
    "GLM(": lambda _: GLM("poisson").fit(frame[["size"]], np.arange(60) % 3),
    "SpamFilter": a_mail,
}


def files_entered(call):
    """Return the files of the package in the order in which a call first enters a function of theirs."""
    found = {}

    def profile(code_frame, event, _):
        if event == "call" and code_frame.f_code.co_name != "<module>":
            found.setdefault(code_frame.f_code.co_filename)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    inside = f"{SOURCE}/"
    return [name.removeprefix(inside) for name in found if name.startswith(inside)]


@pytest.mark.skipif(not DESIGN.exists(), reason="the documents are not beside the tests")
@pytest.mark.parametrize("begins", WALKS)
def test_a_row_goes_the_way_that_the_design_says(begins, tmp_path):
    section = re.search(rf"^`{re.escape(begins)}.*?\n((?:\n|\d+\..*\n|   .*\n)+)", DESIGN.read_text(), flags=re.M)
    written = re.findall(r"^\d+\. `([^`]+)`", section.group(1), flags=re.M)
    assert len(written) >= 6
    WALKS[begins](tmp_path)  # what is made once is made here
    walked = files_entered(lambda: WALKS[begins](tmp_path))
    assert [name for name in walked if name in written] == written


@pytest.mark.skipif(not DESIGN.exists(), reason="the documents are not beside the tests")
def test_the_design_names_every_package():
    tree = re.search(r"src/suffice/\n(.*?)\n\n", DESIGN.read_text(), flags=re.S).group(1)
    written = set(re.findall(r"(?:^|\s)([\w]+(?:/|\.py))(?=\s|$)", tree))
    rooms = {f"{folder.name}/" for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}
    assert rooms <= written
    assert all((SOURCE / name).exists() for name in written if name not in ("covariance/", "gaussian/", "text/"))
