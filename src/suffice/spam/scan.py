"""The compiled loops over words and tokens, where they were built; each has a twin in Python with the same results.

`compiled` is the module, or None where it is not built, does not fit this Python, or is switched off by the environment
variable ``SUFFICE_COMPILED=0``. Then the twins do the work, at about half the speed. With
``SUFFICE_REQUIRE_COMPILED=1`` that is an ImportError.
"""

from __future__ import annotations

from types import ModuleType

from suffice._environment import compiled_required, compiled_wanted


def _load() -> ModuleType | None:
    if compiled_wanted() == "0":
        if compiled_required():
            raise ImportError("the compiled loops are required, but SUFFICE_COMPILED=0 switches them off")
        return None
    try:
        from suffice.spam import _scan
    except ImportError:
        if compiled_required():
            raise
        return None
    return _scan


compiled = _load()
