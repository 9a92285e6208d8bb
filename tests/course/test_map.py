"""docs/course.md, the map of the course, agrees with the tests: rows are complete, and each names the other."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PAGE = DOCS / "course.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documents are not beside the tests")


def names_in(path):
    return re.findall(r"^def test_(\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def rows():
    """Yield the chapter, its file and the cells of each row of the tables of ideas."""
    chapter = file = None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            chapter, file = line[3:], None
        elif found := re.fullmatch(r"`tests/course/(\w+\.py)`", line):
            file = found[1]
        elif file and line.startswith("| ") and not line.startswith("| idea |"):
            yield chapter, file, cells_of(line)


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_row_of_the_map_has_an_idea_a_formula_a_call_a_page_and_a_test():
    found = list(rows())
    assert len(found) >= 200
    for chapter, _, cells in found:
        assert len(cells) == 5, f"{chapter}: {cells}"
        assert all(cells), f"{chapter}: {cells} has an empty cell"
        assert "`" in cells[2], f"{chapter}: {cells[0]} has no call"


def test_every_row_of_the_map_names_tests_of_the_file_of_its_chapter():
    for _, file, cells in rows():
        existing = names_in(HERE / file)
        for name in re.findall(r"`(\w+)`", cells[4]):
            assert name in existing, f"{cells[0]}: {file} has no test_{name}"


def test_every_test_of_the_course_is_in_the_map():
    named = {(file, name) for _, file, cells in rows() for name in re.findall(r"`(\w+)`", cells[4])}
    written = {
        (path.name, name) for path in HERE.glob("test_*.py") for name in names_in(path) if path.stem != "test_map"
    }
    assert written - named == set()


def test_every_page_of_the_map_and_its_section_exist():
    text = PAGE.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    for link in links:
        page, _, anchor = link.partition("#")
        assert (DOCS / page).exists(), f"there is no page {page}"
        assert not anchor or anchor in anchors(DOCS / page), f"{page} has no section {anchor}"


def test_slips_of_the_material_name_tests_that_exist():
    text = PAGE.read_text(encoding="utf-8")
    part = text[text.index("## Slips of the material") :]
    written = {name for path in HERE.glob("test_*.py") for name in names_in(path)}
    named = re.findall(r"`(\w+)`", part)
    assert named
    assert set(named) <= written
