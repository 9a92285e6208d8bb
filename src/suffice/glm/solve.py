"""The linear algebra of a Newton step: columns that say nothing new, and directions without curvature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular

from suffice._arrays import FloatArray
from suffice.optimize.newton import Local

#: the share of a column's curvature that the columns before it must leave
ALIASED = 1e-11
#: the share of its first curvature that is left in a direction in which the likelihood has no maximum
LOST = 1e-8
#: what rounding leaves of a column of which nothing is left, where those before it are well apart
_ROUNDING = 256.0 * float(np.finfo(np.float64).eps)


def independent(hessian: FloatArray) -> NDArray[np.bool_]:
    """Return which columns are not linear combinations of those before them, as R does it.

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
    least = 1.0  # of what the columns that are kept had left; rounding grows by its reciprocal
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
    """Solves H δ = −g over the columns that the first Hessian says are independent.

    Where a later Hessian is not positive definite, because weights have all but vanished, just so much of the first
    one's diagonal is added to it that it is.
    """

    def __init__(self, first: Local, *, keep_all: bool = False) -> None:
        self.first = first.hessian
        self.kept = np.diag(first.hessian) > 0.0 if keep_all else independent(first.hessian)

    def direction(self, here: Local) -> FloatArray:
        """Return −H⁻¹ g, with 0 for the columns that are left out."""
        step = np.zeros_like(here.gradient)
        root, factor = self._factor(here.hessian)
        step[self.kept] = -cho_solve((factor, True), here.gradient[self.kept] / root, check_finite=False) / root
        return step

    def _factor(self, hessian: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return d and L with L Lᵀ = D⁻¹ H D⁻¹, of the columns that are kept."""
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
        """Whether a Hessian is finite and positive definite, of the columns that are kept, as it is."""
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
        inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        spread[np.ix_(self.kept, self.kept)] = inverse.T / root[:, None]
        return spread

    def log_determinant(self, hessian: FloatArray) -> float:
        """Return log |H|, of the columns that are kept."""
        root, factor = self._factor(hessian)
        return 2.0 * float(np.log(root).sum() + np.log(np.diag(factor)).sum())

    def lost(self, hessian: FloatArray) -> FloatArray:
        """Return how much of each column is in the directions that have lost their curvature since the first, (q,).

        All are 0 where there is no such direction: where v ᵀHv is never less than `LOST` of what it was.
        """
        share = np.zeros(len(hessian))
        grid = np.ix_(self.kept, self.kept)
        root = np.sqrt(np.diag(self.first)[self.kept])
        scale = np.outer(root, root)
        now, then = hessian[grid] / scale, self.first[grid] / scale
        try:
            remaining, directions = eigh(now, then, check_finite=False)
        except np.linalg.LinAlgError:  # two columns differ by hardly more than rounding
            then += ALIASED * len(then) * np.eye(len(then))
            remaining, directions = eigh(now, then, check_finite=False)
        without = directions[:, remaining < LOST]
        if without.shape[1]:
            share[self.kept] = np.sqrt((without**2).sum(axis=1))
            share /= share.max()
        return share


#: Qθ of a penalty ½ θᵀQθ, of a vector or of the columns of a matrix
Penalty = Callable[[FloatArray], FloatArray]


def ridge(diagonal: FloatArray) -> Penalty:
    """Return the penalty ½ Σ d_j θ_j²."""
    return lambda theta: (diagonal * theta.T).T
