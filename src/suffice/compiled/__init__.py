"""The compiled kernels, where they were built; every one has a NumPy twin that its caller falls back to.

Each function here returns None when it cannot do the job (not built, another array library, another type), and the
caller goes on with NumPy. Set the environment variable ``SUFFICE_COMPILED=0`` to always use the twins.
"""

from __future__ import annotations

import ctypes
import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array

#: what `inspect` finds in the cells of a sparse chunk
NOT_FINITE, NEGATIVE, NOT_BINARY = 1, 2, 4
_LEVELS = ("base", "avx2", "avx512")
_NEAR = 256.0  # standard deviations (times √½) from which a mean costs digits when it is scaled before it is subtracted
_LINE = 64  # bytes of a cache line
_LANES = 8  # doubles in the widest register that any level uses


class Library:
    """The shared library, with the functions for the processor at hand."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self.level = _LEVELS[self._library.level()]
        self._functions: dict[tuple[str, str], Any] = {}

    def has(self, name: str, kind: str) -> bool:
        """Say whether the compiler at hand could build the kernel of that name."""
        return hasattr(self._library, f"{name}_{kind}_{self.level}")

    def __call__(self, name: str, kind: str, *arguments: Any) -> int:
        """Call the kernel of that name for that type of cell; arrays are passed by address, integers as int64."""
        function = self._functions.get((name, kind))
        if function is None:
            function = self._functions[name, kind] = getattr(self._library, f"{name}_{kind}_{self.level}")
        return int(function(*(_argument(argument) for argument in arguments)))


def _argument(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_int64(value)


def _load() -> Library | None:
    if os.environ.get("SUFFICE_COMPILED", "1") == "0":
        return None
    for suffix in EXTENSION_SUFFIXES:
        path = Path(__file__).with_name(f"kernels{suffix}")
        if path.exists():
            try:
                return Library(path)
            except (OSError, AttributeError):  # built for another machine: the twins do the work
                return None
    return None


library: Library | None = _load()

_REALS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
_CODES = {np.dtype(np.int64): "int64", np.dtype(np.int32): "int32"}


def _rows(x: Array) -> tuple[NDArray[Any], str, int] | None:
    """Return rows whose cells lie side by side, the name of their type, and the step from row to row in cells."""
    if library is None or not isinstance(x, np.ndarray) or x.dtype not in _REALS:
        return None
    if (x.strides[1] != x.itemsize and x.shape[1] > 1) or x.strides[0] % x.itemsize or not x.flags.aligned:
        x = np.ascontiguousarray(x)
    return x, _REALS[x.dtype], x.strides[0] // x.itemsize


def _aligned(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """Return an empty array that begins with a cache line."""
    memory = np.empty(rows * columns * np.dtype(dtype).itemsize + _LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : len(memory) - _LINE + begin].view(dtype).reshape(rows, columns)


# the kernels by subject; they ask this module for the library when they are called
from suffice.compiled.discrete import (  # noqa: E402
    count_codes,
    inspect,
    score_codes,
    sparse_scores,
    sparse_sums,
    whole_registers,
)
from suffice.compiled.gaussian import (  # noqa: E402
    complete_rows,
    diagonal_moments,
    diagonal_scores,
    full_moments,
    linear_scores,
    observed_moments,
    quadratic_scores,
    tied_moments,
)
from suffice.compiled.holes import (  # noqa: E402
    PatternSums,
    holes_moments,
    holes_scores,
    knows_patterns,
    patterns_pass,
)
from suffice.compiled.merge import (  # noqa: E402
    merge_clusters,
)
from suffice.compiled.mixture import (  # noqa: E402
    diagonal_pass,
    full_pass,
    spherical_pass,
    tied_pass,
)
from suffice.compiled.shares import (  # noqa: E402
    most_probable,
    posterior,
)

__all__ = [
    "NEGATIVE",
    "NOT_BINARY",
    "NOT_FINITE",
    "Library",
    "PatternSums",
    "complete_rows",
    "count_codes",
    "diagonal_moments",
    "diagonal_pass",
    "diagonal_scores",
    "full_moments",
    "full_pass",
    "holes_moments",
    "holes_scores",
    "inspect",
    "knows_patterns",
    "library",
    "linear_scores",
    "merge_clusters",
    "most_probable",
    "observed_moments",
    "patterns_pass",
    "posterior",
    "quadratic_scores",
    "score_codes",
    "sparse_scores",
    "sparse_sums",
    "spherical_pass",
    "tied_moments",
    "tied_pass",
    "whole_registers",
]
