"""python docs/run.py [PAGE ...]: run the code blocks of pages, in order; the figures they save go to docs/images."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Return all pages with code."""
    return [page for page in sorted(DOCS.rglob("*.md")) if _BLOCK.search(page.read_text(encoding="utf-8"))]


def links(text: str) -> list[str]:
    """Return the files that a page points at."""
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [target for target in targets if "://" not in target]


def run(page: Path, folder: Path) -> None:
    """Run the blocks of a page one after the other, as one program, in a folder for what they write."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("agg")
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__page__"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for block in _BLOCK.finditer(text):
            line = text[: block.start()].count("\n") + 1
            exec(compile("\n" * line + block.group(1), str(page), "exec"), names)
    finally:
        os.chdir(before)
        plt.close("all")


if __name__ == "__main__":
    for chosen in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        print(chosen.relative_to(DOCS.resolve()))
        run(chosen, DOCS / "images")
