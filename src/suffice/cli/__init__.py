"""The command line: `suffice fit`, `suffice predict` and `suffice demo`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

#: what the extra `cli` brings
_NEEDED = ("typer", "rich", "pyarrow")


def main() -> None:
    """Run the command line, or say which packages it needs."""
    if any(find_spec(name) is None for name in _NEEDED):
        print("the command line needs extra packages: pip install 'suffice[cli]'", file=sys.stderr)
        raise SystemExit(1)
    try:
        from suffice.cli.app import app

        app(prog_name="suffice")
    except KeyboardInterrupt:  # while the packages were still loading
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None


__all__ = ["main"]
