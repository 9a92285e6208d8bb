"""The compiled loops over words and tokens, where they were built; each has a twin in Python with the same results.

`compiled` is the module, or None where it is not built, does not fit this Python, or is switched off by the environment
variable ``SUFFICE_COMPILED=0``. Then the twins do the work, at about half the speed.
"""

from __future__ import annotations

import os
from types import ModuleType


def _load() -> ModuleType | None:
    if os.environ.get("SUFFICE_COMPILED", "1") == "0":
        return None
    try:
        from suffice.spam import _scan
    except ImportError:
        return None
    return _scan


compiled = _load()
