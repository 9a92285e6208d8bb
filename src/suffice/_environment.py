"""The environment variables for compiled code: SUFFICE_COMPILED and SUFFICE_REQUIRE_COMPILED."""

import os


def compiled_wanted() -> str:
    """Return SUFFICE_COMPILED: "0" is no compiled code, "1" (the default) the best, others name an instruction set."""
    return os.environ.get("SUFFICE_COMPILED", "") or "1"


def compiled_required() -> bool:
    """Return whether missing compiled code is an error, as set by SUFFICE_REQUIRE_COMPILED=1."""
    return os.environ.get("SUFFICE_REQUIRE_COMPILED", "") not in ("", "0")
