"""Array helpers used by all kernels, for chunks of any array library."""

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
    "as_doubles",
    "as_like",
    "issparse",
    "namespace",
    "on_device_of",
    "plain_csr",
    "row_slice",
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


_FLOATS = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}


def is_float(x: Array, name: str) -> bool:
    """Return whether an array of any library has the type `name`, "float32" or "float64", in native byte order."""
    dtype = x.dtype
    if isinstance(dtype, np.dtype):  # comparing NumPy types is faster than making their names
        return bool(dtype == _FLOATS[name])
    return str(dtype).endswith(name)


def as_like(values: NDArray[Any], x: Array) -> Array:
    """Return the NumPy array `values` converted to the library, the device and the float type of `x`."""
    if isinstance(x, np.ndarray) or issparse(x):
        return values.astype(x.dtype, copy=False) if x.dtype == np.float32 else values
    from array_api_compat import array_namespace, device

    return array_namespace(x).asarray(values, dtype=x.dtype, device=device(x))


def on_device_of(values: NDArray[Any], x: Array) -> Array:
    """Return the NumPy array `values` converted to the library and the device of `x`, with its own type."""
    if isinstance(x, np.ndarray) or issparse(x):
        return values
    from array_api_compat import array_namespace, device

    return array_namespace(x).asarray(values, device=device(x))


def to_numpy(x: Array) -> NDArray[Any]:
    """Return `x` as a NumPy array, from any library and device."""
    if hasattr(x, "detach"):  # PyTorch tensors may have gradients or be on a device NumPy cannot read
        x = x.detach().cpu()
    return np.asarray(x)


def to_float64(x: Array) -> FloatArray:
    """Return `x` as a NumPy float64 array, from any library and device."""
    return to_numpy(x).astype(np.float64, copy=False)


def as_doubles(values: Any) -> FloatArray:
    """Return numbers in the format of compiled code: float64 in native byte order, aligned, C-contiguous.

    They are copied only if they are not in this format already.

    Examples
    --------
    >>> as_doubles(np.arange(6, dtype=">i2")[::-2])
    array([5., 3., 1.])
    """
    array = to_numpy(values)
    if array.dtype.kind in "cmMV":
        raise TypeError(f"real numbers are needed, but these are of type {array.dtype}")
    return np.require(array, np.float64, ["C", "A"])


def row_slice(x: Array, start: int, stop: int) -> Array:
    """Return rows `start` to `stop` without a copy, also of CSR arrays, which SciPy would copy.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> whole = csr_array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> row_slice(whole, 1, 3).toarray().tolist(), np.shares_memory(row_slice(whole, 1, 3).data, whole.data)
    ([[0.0, 2.0], [3.0, 0.0]], True)
    """
    if not issparse(x) or x.format != "csr" or len(x.indptr) != x.shape[0] + 1:
        return x[start:stop]
    begin, end = int(x.indptr[start]), int(x.indptr[stop])
    if not 0 <= begin <= end <= min(len(x.data), len(x.indices)):  # invalid: the kernels raise the error
        return x[start:stop]
    part = type(x)((stop - start, x.shape[1]), dtype=x.dtype)
    part.data, part.indices, part.indptr = x.data[begin:end], x.indices[begin:end], x.indptr[start : stop + 1] - begin
    return part


def plain_csr(x: Array) -> Array:
    """Return a sparse array of any format as CSR with one entry per cell, in a layout that compiled code can read.

    Duplicate entries of a cell are added up, as in SciPy. The given array is not changed, and is returned itself if it
    has this format already.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> twice = csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 3))
    >>> plain_csr(twice).data, twice.data
    (array([3.]), array([1., 2.]))
    """
    if x.format in ("csc", "bsr"):
        _require_within(x)
    csr = x.tocsr()
    if csr.dtype.kind == "f" and csr.dtype.itemsize > 8:
        csr = csr.astype(np.float64)
    parts = (csr.data, csr.indices, csr.indptr)
    if not all(part.flags.c_contiguous and part.flags.aligned for part in parts):
        csr = type(csr)(tuple(np.require(part, requirements=["C", "A"]) for part in parts), shape=csr.shape)
    _require_within(csr)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _require_within(x: Array) -> None:
    """Raise ValueError if the indices of a compressed array are out of bounds: SciPy would read and write there."""
    indptr, indices = x.indptr, x.indices
    height, width = getattr(x, "blocksize", (1, 1))
    n, d = x.shape[0] // height, x.shape[1] // width
    n, d = (d, n) if x.format == "csc" else (n, d)
    size = min(len(indices), len(x.data))
    rises = len(indptr) == n + 1 and indptr[0] == 0 and indptr[-1] <= size and bool((np.diff(indptr) >= 0).all())
    # a negative index read as unsigned is very large
    if not rises or (size and indices[: indptr[-1]].view(f"u{indices.itemsize}").max(initial=0) >= max(d, 1)):
        raise ValueError(
            f"a {x.format.upper()} matrix of shape {x.shape} must have indices from 0 to {d - 1}, and indptr must rise "
            f"from 0 to at most {size}, its number of stored cells, but one does not; check it by X.check_format()"
        )


def rows_to_columns(values: FloatArray) -> FloatArray:
    """Return a 1-D array as a single column, and a single cell as one row; a 2-D array is returned unchanged."""
    if values.ndim > 2:
        raise ValueError(f"rows must be an array of at most two dimensions, but have the shape {values.shape}")
    return values.reshape(-1, 1) if values.ndim < 2 else values
