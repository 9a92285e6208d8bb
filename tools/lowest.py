"""Prints the lowest versions that pyproject.toml allows of what suffice and its tests use, as requirements for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

#: the groups of optional packages that the tests use
GROUPS = ("parquet", "plot", "cli", "spam", "page", "formula", "test")


def lowest() -> dict[str, str]:
    """Return the lowest version of each package."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = [*project["dependencies"], *(line for name in GROUPS for line in project["optional-dependencies"][name])]
    found: dict[str, str] = {}
    for line in stated:
        if line.startswith("suffice["):
            continue
        match = re.fullmatch(r"([\w.-]+)>=([\d.]+)", line)
        if match is None:
            raise SystemExit(f"{line!r} states no lowest version; write it as name>=version")
        name, version = match.groups()
        if found.setdefault(name, version) != version:
            raise SystemExit(f"pyproject.toml states both {name}>={found[name]} and {name}>={version}")
    return found


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in lowest().items()))
