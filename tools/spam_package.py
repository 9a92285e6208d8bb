"""Writes the source of the distribution `suffice-spam`: the spam filter alone, which needs neither NumPy nor SciPy.

    python tools/spam_package.py FOLDER && pip install FOLDER

It has the same modules under the same names as `suffice`, of which it is a part: install one of the two.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: the modules beside `suffice.spam`
PARTS = [
    "__init__.py",
    "_environment.py",
    "_version.py",
    "py.typed",
    *(f"cli/{name}.py" for name in ("__init__", "__main__", "app")),
    *(f"terminal/{name}.py" for name in ("__init__", "descriptions", "help", "mistakes")),
]
#: requirements that are narrower here: from 0.29 on typer brings Pydantic, 10 MB, which is a third of all
LIGHT = {"typer>=0.20": "typer>=0.20,<0.29"}
PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "suffice-spam"
description = "A personal spam filter: learns from your mail, explains its verdicts; for mailboxes and mail servers."
readme = "README.md"
license = "BSD-3-Clause"
license-files = ["LICENSE"]
requires-python = "{python}"
dynamic = ["version"]
authors = [{{ name = "The Suffice developers" }}]
dependencies = {dependencies}

[project.optional-dependencies]
page = {page}

[project.scripts]
suffice = "suffice.cli:main"

[project.entry-points."suffice.commands"]
spam = "suffice.spam.commands:app"

[tool.setuptools.dynamic]
version = {{ attr = "suffice._version.__version__" }}

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
suffice = {data}

[tool.setuptools.exclude-package-data]
"suffice.spam" = ["*.[ch]"]
"""


def stage(folder: Path) -> None:
    """Write the source into a folder, which must not exist."""
    source, target = ROOT / "src" / "suffice", folder / "src" / "suffice"
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.dll")
    shutil.copytree(source / "spam", target / "spam", ignore=ignored)
    for part in PARTS:
        (target / part).parent.mkdir(exist_ok=True)
        shutil.copy(source / part, target / part)
    for name in ("setup.py", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copy(ROOT / "docs" / "spam-mail.md", folder / "README.md")
    (folder / "MANIFEST.in").write_text("graft src\nglobal-exclude *.py[cod] *.so *.dll\n")
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = whole["project"]["optional-dependencies"]
    assert {*LIGHT} <= {*extras["spam"]}
    facts = {
        "python": whole["project"]["requires-python"],
        "dependencies": [LIGHT.get(name, name) for name in extras["spam"] if name != "suffice[page]"],
        "page": extras["page"],
        "data": [
            name for name in whole["tool"]["setuptools"]["package-data"]["suffice"] if not name.startswith("data/")
        ],
    }
    (folder / "pyproject.toml").write_text(PROJECT.format(**facts))


if __name__ == "__main__":
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        sys.exit(f"usage: {sys.argv[0]} FOLDER, which is made")
    stage(Path(sys.argv[1]))
