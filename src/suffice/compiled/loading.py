"""Finds and loads the library of compiled kernels, as the environment asks for."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from suffice.compiled.boundary import KernelError, Library

NAME = "kernels.dll" if sys.platform == "win32" else "kernels.so"
LEVELS = ("base", "avx2", "avx512", "neon")


def load(folder: Path | None = None) -> Library | None:
    """Return the library that `setup.py` built beside this module, or None where there is none or none is wanted.

    Raises
    ------
    ImportError
        If ``SUFFICE_COMPILED`` names no level, or one that the library or the processor does not have; and if
        ``SUFFICE_REQUIRE_COMPILED=1`` is set and the library cannot be loaded.
    """
    wanted = os.environ.get("SUFFICE_COMPILED", "") or "1"
    required = os.environ.get("SUFFICE_REQUIRE_COMPILED", "") not in ("", "0")
    if wanted not in ("0", "1", *LEVELS):
        raise ImportError(f"SUFFICE_COMPILED must be 0, 1 or one of {', '.join(LEVELS)}, but it is {wanted!r}")
    if wanted == "0":
        if required:
            raise ImportError("SUFFICE_REQUIRE_COMPILED=1 and SUFFICE_COMPILED=0 contradict each other; unset one")
        return None
    path = (folder or Path(__file__).parent) / NAME
    try:
        return Library(path, None if wanted == "1" else wanted)
    except (OSError, AttributeError, KernelError) as error:
        reason = f"the compiled kernels cannot be used ({path}): {error if path.exists() else 'they were not built'}"
        if required or wanted != "1":
            raise ImportError(reason) from error
        if path.exists():
            warnings.warn(f"{reason}; NumPy does their work, more slowly", RuntimeWarning, stacklevel=2)
        return None
