"""The compiled loops over words and tokens, if built; each has a Python fallback with the same results.

`compiled` is the module, or None if it is not built, does not fit this Python, or is switched off by the environment
variable ``SUFFICE_COMPILED=0``. Then the fallbacks are used, at about half the speed. With
``SUFFICE_REQUIRE_COMPILED=1`` a missing module raises ImportError.
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
