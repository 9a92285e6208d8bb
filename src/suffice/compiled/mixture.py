"""Complete EM iterations over a mixture of Gaussians."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from suffice import compiled
from suffice._arrays import Array, FloatArray, IntArray
from suffice.compiled.signatures import CONSTANTS

_Moments = tuple[float, FloatArray, FloatArray, FloatArray]
_FULL, _TIED, _SCALED, _DIAGONAL, _SPHERE = (
    CONSTANTS[name] for name in ("FULL", "TIED", "SCALED", "DIAGONAL", "SPHERE")
)


@lru_cache(maxsize=32)
def _products(form: int, d: int) -> tuple[int, IntArray, IntArray]:
    """Return the number of products of two columns to sum per component, and the columns; column 0 is all ones.

    The lists have a few more entries, as the kernel takes several products at once.
    """
    ones, columns = np.zeros(d + 1, dtype=np.int64), np.arange(d + 1)
    if form == _FULL:
        left, right = np.triu_indices(d + 1)
    elif form == _TIED:
        left, right = ones, columns
    else:
        left, right = np.append(ones, columns[1:]), np.append(columns, columns[1:])
    filled = (np.append(side, np.zeros(CONSTANTS["PADDING"])).astype(np.int64) for side in (left, right))
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
    """Return the log-likelihood, the sums of `_products`, k×products, and, for TIED, the scatter's upper half."""
    found = compiled._rows(x)
    if found is None or compiled.library is None:
        return None
    rows, kind = found
    cell = np.dtype(np.float32 if kind == "float" and single else np.float64)
    (n, d), k = rows.shape, len(constant)
    products, left, right = _products(form, d)
    first, second = (None if table is None else compiled._contiguous(table.T, cell) for table in tables)
    constant = compiled._contiguous(constant, cell)
    moments, total = np.empty((k, products)), np.empty(1)
    scatter = np.zeros((d, d)) if form == _TIED else None
    compiled.library(
        "mixture_pass", compiled._REALS[cell], rows, n, d, k, compiled._reals_or_none(weight), compiled._reals(origin),
        form, first, second, constant, products, left, right, moments, scatter, total,
    )  # fmt: skip
    scatter = np.zeros((0, 0)) if scatter is None else scatter
    if not (np.isfinite(total[0]) and np.isfinite(moments).all() and np.isfinite(scatter).all()):
        return None
    return float(total[0]), moments, scatter


def _symmetric(above: FloatArray, d: int) -> FloatArray:
    """Return symmetric d×d matrices from their upper triangles, row by row."""
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
    """Return Σ weight · log Σ_c exp(score_c) over the rows, and the moments about `origin` under the softmax.

    The scores are those of `quadratic_scores`; the moments are the count (k,), first (k, d) and second (k, d, d) of
    weight · softmax(scores). If `single`, rows of float32 are processed in float32, which is faster and keeps seven
    digits of the scores' largest terms. None if anything is not finite.
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
    """Return the result of `full_pass` for the scores of `diagonal_scores`, with second moments per column.

    The moments are the count (k,), first (k, d) and second (k, d), about `origin`.
    """
    factor = np.broadcast_to(np.sqrt(0.5 / variance), means.shape)
    centred = means - origin
    scaled = centred * factor
    near = bool((np.abs(scaled) < compiled._NEAR).all())
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
    """Return the result of `diagonal_pass` for the scores constant + z·linear + factor·|z|², z = x − origin.

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
    """Return the result of `full_pass` if all components share the pairs (d(d+1)/2,).

    The moments are the count (k,), first (k, d), and second (d, d) of all components together. The quadratic term is
    the same for all, so it enters the log-likelihood only: its sum is that of the pairs times the second moments.
    """
    found = _pass(x, weight, origin, _TIED, (linear, None), constant, single)
    if found is None:
        return None
    total, moments, scatter = found
    above = scatter[np.triu_indices(x.shape[1])]
    return total + float(shared_pairs @ above), moments[:, 0], moments[:, 1:], _symmetric(above, x.shape[1])
