"""Locating and loading the library of compiled kernels, as the environment variables request."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from suffice._environment import compiled_required, compiled_wanted
from suffice.compiled.boundary import KernelError, Library

NAME = "kernels.dll" if sys.platform == "win32" else "kernels.so"
LEVELS = ("base", "avx2", "avx512", "neon")


def find(folder: Path | None = None) -> tuple[Library | None, str]:
    """Return the library that the environment requests, or None, and the reason if there is none."""
    wanted = compiled_wanted()
    if wanted not in ("0", "1", *LEVELS):
        raise ImportError(f"SUFFICE_COMPILED must be 0, 1 or one of {', '.join(LEVELS)}, but it is {wanted!r}")
    if wanted == "0":
        return None, "switched off by SUFFICE_COMPILED=0"
    path = (folder or Path(__file__).parent) / NAME
    if not path.exists():
        return None, f"they were not built ({path} is not there)"
    try:
        return Library(path, None if wanted == "1" else wanted), ""
    except (OSError, AttributeError, KernelError) as error:
        return None, f"{path} cannot be used: {error}"


def load(folder: Path | None = None) -> Library | None:
    """Return the library that `setup.py` built beside this module; None if there is none or none is wanted.

    Raises
    ------
    ImportError
        If ``SUFFICE_COMPILED`` names no level, or one that the library or the processor does not have; and if
        ``SUFFICE_REQUIRE_COMPILED=1`` is set and there is no library to use.
    """
    library, reason = find(folder)
    if library is None and (compiled_required() or compiled_wanted() in LEVELS):
        raise ImportError(f"the compiled kernels are required but missing: {reason}")
    if library is None and "cannot be used" in reason:
        warnings.warn(
            f"the compiled kernels: {reason}; NumPy is used instead, more slowly", RuntimeWarning, stacklevel=2
        )
    return library
