"""The linear algebra of a Newton step: collinear columns, and directions without curvature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh
from scipy.linalg.lapack import dtrtri

from suffice._arrays import FloatArray
from suffice.optimize.newton import Local

#: a column is collinear if those before it leave at most this share of its curvature
ALIASED = 1e-11
#: the likelihood has no maximum in a direction that keeps less than this share of its curvature at the start
LOST = 1e-8
#: rounding error in the remaining curvature of a collinear column, if those before it are well conditioned
_ROUNDING = 256.0 * float(np.finfo(np.float64).eps)


def independent(hessian: FloatArray) -> NDArray[np.bool_]:
    """Return which columns are not linear combinations of those before them, by the same rule as R.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [2.0, 0.5, 2.5]])  # the last is the sum of the others
    >>> independent(x.T @ x)
    array([ True,  True, False])
    """
    diagonal = np.diag(hessian).copy()
    kept = diagonal > 0.0
    root = np.sqrt(np.where(kept, diagonal, 1.0))
    left = hessian / np.outer(root, root)
    if kept.all():
        factor = _cholesky(left)
        if factor is not None and np.diag(factor).min() ** 2 > ALIASED:
            return kept
    least = 1.0  # smallest remaining curvature of a kept column; rounding error grows by its reciprocal
    factor, remaining = np.empty_like(left), np.diag(left).copy()
    for j in range(len(left)):
        kept[j] = kept[j] and remaining[j] > max(ALIASED, _ROUNDING / least)
        if kept[j]:
            least, rank = min(least, remaining[j]), int(kept[:j].sum())
            row = (left[j, j:] - factor[:rank, j] @ factor[:rank, j:]) / np.sqrt(remaining[j])
            factor[rank, j:] = row
            remaining[j:] -= row * row
    return kept


def _cholesky(matrix: FloatArray) -> FloatArray | None:
    try:
        return cholesky(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None


class Solver:
    """Solves H δ = −g over the columns that are linearly independent in the first Hessian.

    If a later Hessian is not positive definite, because the weights of the rows are almost 0, a multiple of the first
    Hessian's diagonal is added: the smallest power of ten, from 1e-12 on, that is enough.
    """

    def __init__(self, first: Local, *, keep_all: bool = False) -> None:
        self.first = first.hessian
        self.kept = np.diag(first.hessian) > 0.0 if keep_all else independent(first.hessian)

    def direction(self, here: Local) -> FloatArray:
        """Return −H⁻¹ g, (q,); 0 for the columns that are left out."""
        step = np.zeros_like(here.gradient)
        root, factor = self._factor(here.hessian)
        step[self.kept] = -cho_solve((factor, True), here.gradient[self.kept] / root, check_finite=False) / root
        return step

    def _factor(self, hessian: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return d and L with L Lᵀ = D⁻¹ H D⁻¹ and D = diag(d), for the kept columns."""
        matrix = hessian[np.ix_(self.kept, self.kept)]
        first = np.diag(self.first)[self.kept]
        ridge = 0.0
        while True:
            guarded = matrix + np.diag(ridge * first) if ridge else matrix
            root = np.sqrt(np.maximum(np.diag(guarded), np.finfo(np.float64).tiny))
            factor = _cholesky(guarded / np.outer(root, root))
            if factor is not None and (len(factor) == 0 or np.diag(factor).min() ** 2 > 1e-14):
                return root, factor
            ridge = max(10.0 * ridge, 1e-12)

    def definite(self, hessian: FloatArray) -> bool:
        """Return whether a Hessian is finite and positive definite in the kept columns, without a ridge."""
        matrix = hessian[np.ix_(self.kept, self.kept)]
        diagonal = np.diag(matrix)
        if not (np.isfinite(matrix).all() and (diagonal > 0.0).all()):
            return False
        root = np.sqrt(diagonal)
        factor = _cholesky(matrix / np.outer(root, root))
        return factor is not None and (len(factor) == 0 or bool(np.diag(factor).min() ** 2 > 1e-14))

    def root_of_inverse(self, hessian: FloatArray) -> FloatArray:
        """Return F with F Fᵀ = H⁻¹, q×q; zeros for the columns that are left out."""
        root, factor = self._factor(hessian)
        spread = np.zeros_like(hessian)
        inverse = dtrtri(factor, lower=1)[0] if len(factor) else factor  # `solve_triangular` wakes threads for any size
        spread[np.ix_(self.kept, self.kept)] = inverse.T / root[:, None]
        return spread

    def log_determinant(self, hessian: FloatArray) -> float:
        """Return log |H| of the kept columns."""
        root, factor = self._factor(hessian)
        return 2.0 * float(np.log(root).sum() + np.log(np.diag(factor)).sum())

    def lost(self, hessian: FloatArray) -> FloatArray:
        """Return the share of each column in the directions that have lost their curvature since the start, (q,).

        All are 0 if there is no such direction: if vᵀHv ≥ `LOST` vᵀH₀v for all v, with H₀ the first Hessian.
        """
        share = np.zeros(len(hessian))
        grid = np.ix_(self.kept, self.kept)
        root = np.sqrt(np.diag(self.first)[self.kept])
        scale = np.outer(root, root)
        now, then = hessian[grid] / scale, self.first[grid] / scale
        try:
            remaining, directions = eigh(now, then, check_finite=False)
        except np.linalg.LinAlgError:  # two columns differ by little more than rounding error
            then += ALIASED * len(then) * np.eye(len(then))
            remaining, directions = eigh(now, then, check_finite=False)
        without = directions[:, remaining < LOST]
        if without.shape[1]:
            share[self.kept] = np.sqrt((without**2).sum(axis=1))
            share /= share.max()
        return share


#: maps θ, a vector or the columns of a matrix, to Qθ, for a penalty ½ θᵀQθ
Penalty = Callable[[FloatArray], FloatArray]


def ridge(diagonal: FloatArray) -> Penalty:
    """Return the ridge penalty ½ Σ d_j θ_j²."""
    return lambda theta: (diagonal * theta.T).T
