"""The few array helpers that every kernel uses, whatever library its chunk comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Array = Any  # an array of any library that follows the array API standard, or a SciPy sparse array

__all__ = [
    "Array",
    "FloatArray",
    "IntArray",
    "as_like",
    "beside",
    "issparse",
    "namespace",
    "rows_to_columns",
    "to_float64",
    "to_numpy",
]


def namespace(x: Array) -> Any:
    """Return the array-API namespace of `x`; NumPy's own for NumPy and SciPy sparse arrays."""
    if isinstance(x, np.ndarray) or issparse(x):
        return np
    from array_api_compat import array_namespace

    return array_namespace(x)


def as_like(values: NDArray[Any], x: Array) -> Array:
    """Return the NumPy array `values` with the library, the device and the float type of `x`."""
    if isinstance(x, np.ndarray) or issparse(x):
        return values.astype(x.dtype, copy=False) if x.dtype == np.float32 else values
    from array_api_compat import array_namespace, device

    return array_namespace(x).asarray(values, dtype=x.dtype, device=device(x))


def beside(values: NDArray[Any], x: Array) -> Array:
    """Return the NumPy array `values` with the library and the device of `x`, in its own type."""
    if isinstance(x, np.ndarray) or issparse(x):
        return values
    from array_api_compat import array_namespace, device

    return array_namespace(x).asarray(values, device=device(x))


def to_numpy(x: Array) -> NDArray[Any]:
    """Return `x` as a NumPy array, from any library and device."""
    if hasattr(x, "detach"):  # PyTorch keeps gradients and devices that NumPy cannot look into
        x = x.detach().cpu()
    return np.asarray(x)


def to_float64(x: Array) -> FloatArray:
    """Return `x` as a NumPy float64 array, from any library and device."""
    return to_numpy(x).astype(np.float64, copy=False)


def rows_to_columns(values: FloatArray) -> FloatArray:
    """Return a 1-D array as one column, and leave a 2-D array as it is."""
    return values[:, None] if values.ndim == 1 else values
