"""The compiled kernels, where they were built; every one has a NumPy twin that its caller falls back to.

Each function here returns None when it cannot do the job (not built, another array library, another type), and the
caller goes on with NumPy. Set the environment variable ``SUFFICE_COMPILED=0`` to always use the twins.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import Array, FloatArray, IntArray

#: what `inspect` finds in the cells of a sparse chunk
NOT_FINITE, NEGATIVE, NOT_BINARY = 1, 2, 4
_LEVELS = ("base", "avx2", "avx512")
_BLOCK_BYTES = 150_000  # rows that are centred and multiplied while they are in a core's own cache
_NEAR = 256.0  # standard deviations (times √½) from which a mean costs digits when it is scaled before it is subtracted
_LINE = 64  # bytes of a cache line
_LANES = 8  # doubles in the widest register that any level uses
_FEW = 5  # columns whose products with all others `quadratic_scores` sums at once


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


def diagonal_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre, first and second moments of each class, in one pass over the rows."""
    found = _rows(x)
    if found is None or library is None:
        return None
    rows, kind, stride = found
    n, d = rows.shape
    count, center, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    library("diagonal_moments", kind, rows, stride, n, d, codes, weight, count, center, first, second)
    return count, center, first, second


def complete_rows(x: Array) -> IntArray | None:
    """Return the places of the rows without holes (NaN); None too where a cell is infinite."""
    found = _rows(x)
    if found is None or library is None:
        return None
    rows, kind, stride = found
    n, d = rows.shape
    complete = np.empty(n + 1, dtype=np.int64)
    size = library("complete_rows", kind, rows, stride, n, d, complete)
    return None if size < 0 else complete[:size]


def observed_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre, first and second moments of the cells that are there (not NaN), each k×d."""
    found = _rows(x)
    if found is None or library is None:
        return None
    rows, kind, stride = found
    n, d = rows.shape
    count, center, first, second = np.zeros((k, d)), np.full((k, d), np.nan), np.zeros((k, d)), np.zeros((k, d))
    library("observed_moments", kind, rows, stride, n, d, codes, weight, count, center, first, second)
    return count, np.where(count > 0, center, 0.0), first, second


def tied_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre and first moments of each class, and the second moments of all classes together, d×d."""
    return _dense_moments(x, codes, weight, k, grouped=False)


def full_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return count, centre, first and second moments of each class, the last k×d×d."""
    return _dense_moments(x, codes, weight, k, grouped=True)


def _dense_moments(
    x: Array, codes: IntArray, weight: FloatArray | None, k: int, *, grouped: bool
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Centre the rows, a block that fits the cache at a time, and multiply each block, or class in it, by itself."""
    found = _rows(x)
    if found is None or library is None:
        return None
    rows, kind, stride = found
    n, d = rows.shape
    cells = 64 // rows.itemsize  # in the widest register
    width = -(-d // cells) * cells
    count, center, first = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    second = np.zeros((k if grouped else 1, width, width))
    block = _BLOCK_BYTES * (min(k, 6) if grouped else 1)
    size = min(max(block // (rows.itemsize * width), 64), max(n, 1))
    z = _aligned(size, width, rows.dtype)
    place = np.empty(k + 1, dtype=np.int64) if grouped else None
    sums = (count, center, first, second)
    library("dense_moments", kind, rows, stride, n, d, codes, weight, k, place, width, size, z, *sums)
    second = np.ascontiguousarray(second[:, :d, :d])
    return count, center, first, second if grouped else second[0]


def diagonal_scores(x: Array, means: FloatArray, variance: FloatArray, constant: FloatArray) -> FloatArray | None:
    """Return constant_c − ½ Σ_j (x_j − μ_cj)² / σ²_cj, n×k; nothing cancels, wherever the classes are."""
    found = _rows(x)
    if found is None or library is None:
        return None
    rows, kind, stride = found
    n, d = rows.shape
    k = len(means)
    origin = np.ascontiguousarray(0.5 * (means.min(axis=0) + means.max(axis=0)))
    factor = np.ascontiguousarray(np.broadcast_to(np.sqrt(0.5 / variance), means.shape))
    centred = (means - origin) * factor
    scaled = bool((np.abs(centred) < _NEAR).all())
    if not scaled:
        origin, centred, factor = np.zeros(d), np.ascontiguousarray(means), -(factor**2)
    out, block = np.empty((k, n)), np.empty(2 * _LANES * d)
    library("diagonal_scores", kind, rows, stride, n, d, k, scaled, origin, centred, factor, constant, block, out)
    return out.T


def linear_scores(x: Array, origin: FloatArray, linear: FloatArray, constant: FloatArray) -> FloatArray | None:
    """Return constant_c + z·linear_c with z = x − origin, n×k."""
    found = _rows(x)
    if found is None or library is None:
        return None
    rows, kind, stride = found
    (n, d), k = rows.shape, len(linear)
    out, block = np.empty((k, n)), np.empty(2 * _LANES * d)
    linear, origin, constant = (np.ascontiguousarray(part) for part in (linear.T, origin, constant))
    library("linear_scores", kind, rows, stride, n, d, k, origin, linear, constant, block, out)
    return out.T


def quadratic_scores(
    x: Array, origin: FloatArray, linear: FloatArray, pairs: FloatArray, constant: FloatArray
) -> FloatArray | None:
    """Return constant_c + z·linear_c + Σ_{i≤j} z_i z_j pairs_cij with z = x − origin, n×k."""
    found = _rows(x)
    if found is None or library is None:
        return None
    rows, kind, stride = found
    (n, d), k = rows.shape, len(linear)
    packed = np.ascontiguousarray(np.hstack([linear, pairs, np.zeros((k, 1))])[:, _packing(d)])
    out, block = np.empty((k, n)), np.zeros(8 * _LANES * d)
    origin, constant = np.ascontiguousarray(origin), np.ascontiguousarray(constant)
    size = packed.shape[1]
    library("quadratic_scores", kind, rows, stride, n, d, k, origin, packed, size, constant, block, out)
    return out.T


@lru_cache(maxsize=32)
def _packing(d: int) -> IntArray:
    """Return which of d linear coefficients, the pairs i ≤ j and a 0 the kernel reads one after the other."""
    place = np.full((d + _FEW, d), d + d * (d + 1) // 2)  # that of the 0
    i, j = np.triu_indices(d)
    place[i, j] = d + np.arange(len(i))
    order: list[IntArray] = []
    for first in range(0, d, _FEW):
        columns = np.arange(first, first + _FEW)
        order += [np.where(columns < d, columns, place[-1, -1]), place[columns, first:].T.ravel()]
    return np.concatenate(order)


def posterior(scores: Array, log_prior: FloatArray, out: NDArray[Any] | None = None) -> FloatArray | None:
    """Return softmax(scores + log_prior) over the classes, n×k; None where some row has no finite maximum.

    The answer is written to `out` where that is an array of its shape and type.
    """
    return _of_scores("posterior", scores, log_prior, scores.shape, np.float64, out)


def most_probable(scores: Array, log_prior: FloatArray, out: NDArray[Any] | None = None) -> IntArray | None:
    """Return the class with the largest scores + log_prior, (n,); `out` and None as in `posterior`."""
    return _of_scores("most_probable", scores, log_prior, scores.shape[:1], np.int64, out)


def _of_scores(name: str, scores: Array, log_prior: FloatArray, shape: Any, dtype: Any, out: Any) -> Any:
    if library is None or not isinstance(scores, np.ndarray) or scores.dtype != np.float64:
        return None
    n, k = scores.shape
    if out is None or out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
        out = np.empty(shape, dtype=dtype)
    steps = (step // 8 for step in scores.strides)
    prior, block = np.ascontiguousarray(log_prior), np.empty(_LANES * k)
    return None if library(name, "double", scores, *steps, n, k, prior, block, out) else out


_Moments = tuple[float, FloatArray, FloatArray, FloatArray]
_STEP_BYTES = 2048 + 128  # from column to column in the scratch of `mixture_pass`
_FULL, _TIED, _SCALED, _DIAGONAL, _SPHERE = range(5)


@lru_cache(maxsize=32)
def _products(form: int, d: int) -> tuple[int, IntArray, IntArray]:
    """Return how many products of two columns are summed for each component, and of which; column 0 is all ones.

    The lists have 8 more entries, as the kernel takes several products at once.
    """
    ones, columns = np.zeros(d + 1, dtype=np.int64), np.arange(d + 1)
    if form == _FULL:
        left, right = np.triu_indices(d + 1)
    elif form == _TIED:
        left, right = ones, columns
    else:
        left, right = np.append(ones, columns[1:]), np.append(columns, columns[1:])
    filled = (np.append(side, np.zeros(8)).astype(np.int64) for side in (left, right))
    return len(left), *filled  # type: ignore[return-value]


def _pass(
    x: Array,
    weight: FloatArray | None,
    origin: FloatArray,
    form: int,
    tables: tuple[FloatArray, FloatArray | None],
    constant: FloatArray,
    single: bool,
) -> tuple[float, FloatArray, FloatArray] | None:
    """Return the log-likelihood, the sums of `_products`, k×products, and, where TIED, the scatter matrix's half."""
    found = _rows(x)
    if found is None or library is None or not library.has("mixture_pass", "double"):
        return None
    rows, kind, stride = found
    narrow = kind == "float"
    cell = np.dtype(np.float32 if narrow and single else np.float64)
    (n, d), k = rows.shape, len(constant)
    products, left, right = _products(form, d)
    first, second = (None if table is None else np.ascontiguousarray(table.T, dtype=cell) for table in tables)
    constant = np.ascontiguousarray(constant, dtype=cell)
    origin = np.ascontiguousarray(origin, dtype=np.float64)
    weight = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    scratch, wide = _aligned(2 * d + k + 1, _STEP_BYTES // cell.itemsize, cell), np.empty(2 * _LANES * d)
    sums, moments = np.zeros(_room(k, products)), np.empty((k, products))
    sums_of_all, scatter = np.zeros(_room(d, d) if form == _TIED else 0), np.zeros((d, d) if form == _TIED else (0, 0))
    total = np.empty(1)
    library(
        "mixture_pass", _REALS[cell], rows, narrow, stride, n, d, k, weight, origin, form, first, second, constant,
        products, left, right, scratch, wide, sums, sums_of_all, moments, scatter, total,
    )  # fmt: skip
    if not (np.isfinite(total[0]) and np.isfinite(moments).all() and np.isfinite(scatter).all()):
        return None
    return float(total[0]), moments, scatter


def _room(k: int, products: int) -> int:
    """Return at least how many sums the kernel keeps, with those that fill up its tiles and registers."""
    return 2 * k * (products + 8) + 64


def _symmetric(above: FloatArray, d: int) -> FloatArray:
    """Return d×d matrices from what is on and above their diagonals, row by row."""
    matrix = np.empty((*above.shape[:-1], d, d))
    i, j = np.triu_indices(d)
    matrix[..., i, j] = above
    matrix[..., j, i] = above
    return matrix


def full_pass(
    x: Array,
    weight: FloatArray | None,
    origin: FloatArray,
    linear: FloatArray,
    pairs: FloatArray,
    constant: FloatArray,
    *,
    single: bool = False,
) -> _Moments | None:
    """Return Σ weight · log Σ_c exp(score_c) over the rows, and the moments about `origin` of rows shared by softmax.

    The scores are those of `quadratic_scores`; the moments are the count (k,), first (k, d) and second (k, d, d) of
    weight · softmax(scores). Rows of float32 are reckoned with in float32 where `single`, which is faster and keeps
    seven digits of the scores' largest terms. None where anything is not finite.
    """
    found = _pass(x, weight, origin, _FULL, (linear, pairs), constant, single)
    if found is None:
        return None
    d = x.shape[1]
    total, moments, _ = found
    return total, moments[:, 0], moments[:, 1 : d + 1], _symmetric(moments[:, d + 1 :], d)


def diagonal_pass(
    x: Array,
    weight: FloatArray | None,
    origin: FloatArray,
    means: FloatArray,
    variance: FloatArray,
    constant: FloatArray,
    *,
    single: bool = False,
) -> _Moments | None:
    """Return what `full_pass` does for the scores of `diagonal_scores`; the second moments are those of each column.

    The moments are the count (k,), first (k, d) and second (k, d), about `origin`.
    """
    factor = np.broadcast_to(np.sqrt(0.5 / variance), means.shape)
    centred = means - origin
    scaled = centred * factor
    near = bool((np.abs(scaled) < _NEAR).all())
    tables = (scaled, factor) if near else (centred, -(factor**2))
    return _by_column(_pass(x, weight, origin, _SCALED if near else _DIAGONAL, tables, constant, single), x.shape[1])


def spherical_pass(
    x: Array,
    weight: FloatArray | None,
    origin: FloatArray,
    linear: FloatArray,
    factor: FloatArray,
    constant: FloatArray,
    *,
    single: bool = False,
) -> _Moments | None:
    """Return what `diagonal_pass` does for the scores constant + z·linear + factor·|z|², z = x − origin.

    `linear` is k×d, `factor` (k,).
    """
    tables = linear, factor[:, None]
    return _by_column(_pass(x, weight, origin, _SPHERE, tables, constant, single), x.shape[1])


def _by_column(found: tuple[float, FloatArray, FloatArray] | None, d: int) -> _Moments | None:
    if found is None:
        return None
    total, moments, _ = found
    return total, moments[:, 0], moments[:, 1 : d + 1], moments[:, d + 1 :]


def tied_pass(
    x: Array,
    weight: FloatArray | None,
    origin: FloatArray,
    linear: FloatArray,
    shared_pairs: FloatArray,
    constant: FloatArray,
    *,
    single: bool = False,
) -> _Moments | None:
    """Return what `full_pass` does where the pairs (d(d+1)/2,) are those of every component.

    The moments are the count (k,), first (k, d), and second (d, d) of all components together. The quadratic term is
    the same for all, so that only the log-likelihood has it: its sum is that of the pairs times the second moments.
    """
    found = _pass(x, weight, origin, _TIED, (linear, None), constant, single)
    if found is None:
        return None
    total, moments, scatter = found
    above = scatter[np.triu_indices(x.shape[1])]
    return total + float(shared_pairs @ above), moments[:, 0], moments[:, 1:], _symmetric(above, x.shape[1])


def count_codes(
    codes: Array, sizes: IntArray, labels: IntArray, weight: FloatArray | None, k: int
) -> FloatArray | None:
    """Return how often each value of each column occurs in each class, k×p."""
    if library is None or not isinstance(codes, np.ndarray) or codes.dtype not in _CODES:
        return None
    n, d = codes.shape
    width = int(sizes.sum())
    total = np.zeros((k, width))
    steps = (step // codes.itemsize for step in codes.strides)
    sizes = np.ascontiguousarray(sizes, dtype=np.int64)
    library("count_codes", _CODES[codes.dtype], codes, *steps, n, d, sizes, labels, weight, width, total)
    return total


def whole_registers(table: FloatArray) -> FloatArray:
    """Return a copy whose rows are filled up with zeros to whole registers, each row on cache lines of its own."""
    rows, k = table.shape
    filled = _aligned(rows, -(-k // _LANES) * _LANES, np.float64)
    filled[:, :k] = table
    filled[:, k:] = 0.0
    return filled


def _aligned(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """Return an empty array that begins with a cache line."""
    memory = np.empty(rows * columns * np.dtype(dtype).itemsize + _LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : len(memory) - _LINE + begin].view(dtype).reshape(rows, columns)


def score_codes(codes: Array, sizes: IntArray, tables: FloatArray, k: int) -> FloatArray | None:
    """Return Σ_j table_j[code], n×k.

    Each column's table has a row a value, one for unseen and one for missing values; they lie one below the other, in
    whole registers.
    """
    if library is None or not isinstance(codes, np.ndarray) or codes.dtype not in _CODES:
        return None
    n, d = codes.shape
    width = tables.shape[1]
    out, sums = np.empty((n, k)), np.empty(width)
    steps = (step // codes.itemsize for step in codes.strides)
    sizes = np.ascontiguousarray(sizes, dtype=np.int64)
    library("score_codes", _CODES[codes.dtype], codes, *steps, n, d, k, width, sizes, tables, sums, out)
    return out


def _sparse(x: Array) -> tuple[IntArray, IntArray, NDArray[Any], str] | None:
    if library is None or x.format != "csr" or x.dtype not in _REALS or x.nnz >= 2**31:
        return None
    # SciPy uses 32 bits wherever they suffice
    indptr, indices = (np.ascontiguousarray(part, dtype=np.int32) for part in (x.indptr, x.indices))
    return indptr, indices, x.data, _REALS[x.dtype]  # type: ignore[return-value]


def inspect(data: NDArray[Any]) -> int | None:
    """Return what is wrong with the cells of a sparse chunk: a sum of NOT_FINITE, NEGATIVE and NOT_BINARY."""
    if library is None or data.dtype not in _REALS:
        return None
    return library("inspect", _REALS[data.dtype], np.ascontiguousarray(data), len(data))


def sparse_sums(x: Array, codes: IntArray, weight: FloatArray | None, k: int) -> FloatArray | None:
    """Return Rᵀ x of a CSR chunk with hard labels, k×d."""
    found = _sparse(x)
    if found is None or library is None:
        return None
    indptr, indices, data, kind = found
    total = np.zeros((k, x.shape[1]))
    library("sparse_sums", kind, indptr, indices, data, x.shape[0], x.shape[1], codes, weight, total)
    return total


def sparse_scores(x: Array, table: FloatArray, k: int, constant: FloatArray | None = None) -> FloatArray | None:
    """Return x · table + constant of a CSR chunk, n×k; the table is d×k in whole registers."""
    found = _sparse(x)
    if found is None or library is None:
        return None
    indptr, indices, data, kind = found
    n, width = x.shape[0], table.shape[1]
    out, sums = np.empty((n, k)), np.empty(width)
    constant = np.zeros(k) if constant is None else np.ascontiguousarray(constant)
    library("sparse_scores", kind, indptr, indices, data, n, k, width, table, constant, sums, out)
    return out


def _padded_precision(precision: FloatArray) -> FloatArray:
    """Return k×d×d matrices with rows filled up to whole registers, k×d×D."""
    k, d, _ = precision.shape
    return whole_registers(precision.reshape(k * d, d)).reshape(k, d, -1)


def holes_scores(
    x: FloatArray, means: FloatArray, precision: FloatArray, log_determinant: FloatArray
) -> FloatArray | None:
    """Return −½ (log |Σ_oo| + z_oᵀ Σ_oo⁻¹ z_o) of rows with holes (NaN), over the cells that are there, n×k."""
    if library is None:
        return None
    rows, padded = np.ascontiguousarray(x, dtype=np.float64), _padded_precision(precision)
    (n, d), k, width = rows.shape, len(means), padded.shape[2]
    out, work, missing = np.empty((n, k)), np.empty(2 * width + d * d + d), np.empty(d + 1, dtype=np.int64)
    means, log_determinant = np.ascontiguousarray(means), np.ascontiguousarray(log_determinant)
    library("holes_scores", "double", rows, n, d, k, width, means, padded, log_determinant, work, missing, out)
    return out


def holes_moments(
    x: FloatArray, means: FloatArray, precision: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the expected first and second moments about the means of rows with holes (NaN), k×d and k×d×d."""
    if library is None:
        return None
    rows, padded = np.ascontiguousarray(x, dtype=np.float64), _padded_precision(precision)
    (n, d), k, width = rows.shape, len(means), padded.shape[2]
    work, missing = np.empty(2 * width + 2 * d * d + d), np.empty(d + 1, dtype=np.int64)
    first, second = np.zeros((k, width)), np.zeros((k, d, width))
    means, weights = np.ascontiguousarray(means), np.ascontiguousarray(weights)
    sums = (first, second)
    library("holes_moments", "double", rows, n, d, k, width, means, padded, weights, work, missing, *sums)
    return first[:, :d], second[:, :, :d]


def knows_patterns() -> bool:
    """Say whether there is a kernel for runs of rows with the same holes."""
    return library is not None and library.has("patterns_pass", "double")


@dataclass(frozen=True)
class PatternSums:
    """What a pass over runs of rows with the same holes gives.

    The log-likelihood; count (k,), first (k, d) and second moments ((k, d, d), or (d, d) of all classes together where
    they share a precision) about the origin; or else the scores, k×n. `rest` are the rows in no run.
    """

    log_likelihood: float
    count: FloatArray
    first: FloatArray
    second: FloatArray
    scores: FloatArray
    rest: IntArray


def patterns_pass(
    x: Array,
    origin: FloatArray,
    means: FloatArray,
    precision: FloatArray,
    constant: FloatArray,
    least: int,
    *,
    weight: FloatArray | None = None,
    given: FloatArray | None = None,
    scores: bool = False,
) -> PatternSums | None:
    """Return what one round of EM takes from rows with holes (NaN), for those in runs of at least `least` alike.

    The means, k×d, are about the origin; the precisions are k×d×d, or 1×d×d where they are shared; the constant is
    −½ log |Σ| and what else adds to a score. Rows are shared by softmax, or as `given`, n×k. With `scores` only these
    are taken, and those of other rows are left as they are. None where anything is not finite.
    """
    found = _rows(x)
    if found is None or library is None or not knows_patterns():
        return None
    rows, kind, stride = found
    (n, d), k, forms = rows.shape, len(means), len(precision)
    products, pairs = (d + 1) * (d + 2) // 2, d * (d + 1) // 2
    weight, given = (None if part is None else np.ascontiguousarray(part, dtype=np.float64) for part in (weight, given))
    parameters = [np.ascontiguousarray(part, dtype=np.float64) for part in (origin, means, precision, constant)]
    scratch, wide = _aligned(2 * d + k + 1, _STEP_BYTES // 8, np.float64), np.empty(2 * _LANES * d)
    sums, sums_of_all, moments = np.empty(_room(k, products)), np.empty(_room(d, d)), np.empty(k * products)
    work = np.empty((3 * forms + 3) * d * d + (k + 2) * d + forms + k + k * pairs)
    places, rest = np.empty(2 * d + 2 * products + 16, dtype=np.int64), np.empty(n, dtype=np.int64)
    out, total = np.empty((k, n)) if scores else None, np.zeros(1)
    count, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((forms, d, d))
    n_rest = library(
        "patterns_pass", "double", rows, kind == "float", stride, n, d, k, forms, least, weight, given, *parameters,
        scratch, wide, sums, sums_of_all, moments, work, places, out, count, first, second, total, rest,
    )  # fmt: skip
    if not (np.isfinite(total[0]) and np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    shared = second[0] if forms < k else second
    return PatternSums(float(total[0]), count, first, shared, np.empty((k, 0)) if out is None else out, rest[:n_rest])
