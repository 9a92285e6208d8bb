"""The command line: `suffice fit`, `suffice predict`, `suffice demo` and `suffice spam`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

#: the packages of the extras `cli` and, for the spam filter, `spam`
_NEEDED = {"cli": ("typer", "rich", "pyarrow"), "spam": ("typer", "rich")}


def main() -> None:
    """Run the command line; if packages are missing, print which extra to install."""
    arguments = sys.argv[1:]
    try:
        if arguments[:2] == ["spam", "filter"] and not {"-h", "--help"} & set(arguments):
            from suffice.spam import pipe  # started once per message, and needs none of these packages

            raise SystemExit(pipe.main(arguments[2:]))
        extra = "spam" if arguments[:1] == ["spam"] else "cli"
        if any(find_spec(name) is None for name in _NEEDED[extra]):
            if extra == "cli" and find_spec("suffice.estimators") is None:
                print(
                    "this is the spam filter alone: see `suffice spam --help`; for the rest, ", end="", file=sys.stderr
                )
            else:
                print("the command line needs extra packages: ", end="", file=sys.stderr)
            print(f"pip install 'suffice[{extra}]'", file=sys.stderr)
            raise SystemExit(1)
        from suffice.cli.app import app

        app(prog_name="suffice")
    except KeyboardInterrupt:  # while packages are being imported
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None


__all__ = ["main"]
