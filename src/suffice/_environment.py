"""What the environment says of compiled code: SUFFICE_COMPILED and SUFFICE_REQUIRE_COMPILED."""

import os


def compiled_wanted() -> str:
    """Return what SUFFICE_COMPILED asks for: "0" no compiled code, "1" the best, anything else an instruction set."""
    return os.environ.get("SUFFICE_COMPILED", "") or "1"


def compiled_required() -> bool:
    """Return whether compiled code that is missing is an error, by SUFFICE_REQUIRE_COMPILED=1."""
    return os.environ.get("SUFFICE_REQUIRE_COMPILED", "") not in ("", "0")
