"""Every code block of the documentation runs."""

import importlib.util
import re
from pathlib import Path

import pytest

import suffice

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("docs_run", DOCS / "run.py")
docs_run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(docs_run)


@pytest.mark.parametrize("page", docs_run.pages(), ids=lambda page: page.stem)
def test_code_blocks_run(page, tmp_path):
    docs_run.run(page, tmp_path)
    text = page.read_text(encoding="utf-8")
    for figure in tmp_path.glob("*.png"):  # what a page draws, it shows, and the picture is there
        assert f"images/{figure.name})" in text
        assert (DOCS / "images" / figure.name).exists()


def test_pictures_and_links_of_pages_exist():
    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        for target in docs_run.links(page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} points at {target}, which is not there"


def test_files_that_the_page_for_contributors_names_exist():
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"\b(?:src|tests|benchmarks|docs)/[\w/.-]*\w", text)
    assert len(named) > 10
    assert [name for name in named if not (DOCS.parent / name).exists()] == []


def test_tests_lie_in_the_folder_of_the_package_that_they_test():
    tests, source = DOCS.parent / "tests", Path(suffice.__file__).parent
    found = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    others = {Path("laws"), Path("reference"), Path("docs"), Path("course"), Path("benchmarks")}
    assert others < found
    assert {folder for folder in found - others if folder == Path() or not (source / folder).is_dir()} == set()


def test_the_citation_names_this_version():
    text = (DOCS.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {suffice.__version__}\n" in text
