"""The compiled kernels, if they were built; every one has a NumPy fallback, which its caller uses otherwise.

Each function here returns None if it cannot do the job (not built, another array library, another type), and the
caller continues with NumPy. `signatures` declares the arguments of each kernel and explains how to add one; `boundary`
checks every call.

The environment variable ``SUFFICE_COMPILED`` chooses the instruction set: ``0`` none (only the fallbacks are used),
``base``, ``avx2``, ``avx512`` or ``neon`` that one, ``1`` (the default) the best that the processor has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, IntArray
from suffice.compiled.boundary import KernelError, Library, OutOfRangeError
from suffice.compiled.loading import load
from suffice.compiled.signatures import CONSTANTS

#: the flags that `inspect` returns for the cells of a sparse chunk
NOT_FINITE, NEGATIVE, NOT_BINARY = (CONSTANTS[name] for name in ("NOT_FINITE", "NEGATIVE", "NOT_BINARY"))
# distance of a mean, in standard deviations times √½, from which scaling it before the subtraction costs digits
_NEAR = 256.0
_LANES = CONSTANTS["MOST_LANES"]

library: Library | None = load()

_REALS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
_CODES = {np.dtype(np.int64): "int64", np.dtype(np.int32): "int32"}


def _rows(x: Array) -> tuple[NDArray[Any], str] | None:
    """Return rows whose cells are contiguous, and the name of their type; None if the kernels cannot read them."""
    if library is None or not isinstance(x, np.ndarray) or x.dtype not in _REALS:
        return None
    if (x.strides[1] != x.itemsize and x.shape[1] > 1) or x.strides[0] % x.itemsize or not x.flags.aligned:
        x = _contiguous(x)
    return x, _REALS[x.dtype]


def _contiguous(values: Any, dtype: Any = None) -> NDArray[Any]:
    """Return values as a contiguous, aligned array of native byte order, without a copy if they are one already."""
    array = np.ascontiguousarray(values, dtype=dtype)
    return array if array.flags.aligned else array.copy()


def _reals(values: Any) -> FloatArray:
    """Return values in the form that kernels read: contiguous, aligned, float64."""
    return _contiguous(values, np.float64)


def _reals_or_none(values: Any) -> FloatArray | None:
    return None if values is None else _reals(values)


def _integers(values: Any) -> IntArray:
    """Return indices in the form that kernels read: contiguous, aligned, int64."""
    return _contiguous(values, np.int64)


def _whole(size: int, step: int = _LANES) -> int:
    """Return the size rounded up to a multiple of `step`."""
    return -(-size // step) * step


# the kernels by subject; they look up the library in this module when they are called
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
    diagonal_left_out,
    diagonal_moments,
    diagonal_scores,
    full_moments,
    linear_scores,
    observed_moments,
    quadratic_scores,
    tied_moments,
)
from suffice.compiled.merge import (  # noqa: E402
    merge_clusters,
)
from suffice.compiled.missing import (  # noqa: E402
    PatternSums,
    missing_moments,
    missing_scores,
    patterns_pass,
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
    "KernelError",
    "Library",
    "OutOfRangeError",
    "PatternSums",
    "complete_rows",
    "count_codes",
    "diagonal_left_out",
    "diagonal_moments",
    "diagonal_pass",
    "diagonal_scores",
    "full_moments",
    "full_pass",
    "inspect",
    "library",
    "linear_scores",
    "merge_clusters",
    "missing_moments",
    "missing_scores",
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
