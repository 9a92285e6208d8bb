"""Detection of collapsed components: rows without variance in a direction where the covariance structure needs one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.priors import NormalInverseWishart
from suffice.statistics.moments import Moments

#: the largest variance of a collapsed component, in units of the squared range of a column
_COLLAPSED = 1e-14


@dataclass(frozen=True, eq=False)
class GaussianRows:
    """Rows of finite numbers, with the overall moments from which priors are computed.

    Attributes
    ----------
    x : array of shape (n, d)
    weight : array of shape (n,) or None
    overall : Moments
        The moments of all rows of the table as one class, also if `x` is only a part of them.
    """

    x: FloatArray
    weight: FloatArray | None
    overall: Moments

    def __len__(self) -> int:
        return len(self.x)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(len(self.x)) if self.weight is None else float(self.weight.sum())

    def taken(self, places: NDArray[Any]) -> GaussianRows:
        """Return some of the rows."""
        return replace(self, x=self.x[places], weight=None if self.weight is None else self.weight[places])


class Penalty:
    """The log-density of a prior at given covariances, −½a Σ (log|Σ| + tr(Σ⁻¹V)), relative to its maximum at Σ = V.

    Parameters
    ----------
    prior : NormalInverseWishart
        The prior, with numbers in place of all data-dependent settings, and without a mean.
    """

    def __init__(self, prior: NormalInverseWishart) -> None:
        prior_covariance = np.asarray(prior.scatter, dtype=np.float64)
        self._rows = float(prior.scatter_count)
        if self._rows == 0.0:  # no prior at all
            prior_covariance = np.ones(len(prior_covariance))
        self._variance = np.diagonal(prior_covariance) if prior_covariance.ndim == 2 else prior_covariance
        self._root = np.linalg.cholesky(prior_covariance if prior_covariance.ndim == 2 else np.diag(prior_covariance))
        self._log_volumes = np.log(self._variance).sum(), 2.0 * np.log(np.diagonal(self._root)).sum()

    def __call__(self, covariance: FloatArray) -> float:
        """Return the penalty for variances, (k, d), or covariances, (k, d, d); −∞ if one is singular."""
        return float(self.of_several(covariance[None])[0])

    def of_several(self, covariance: FloatArray) -> FloatArray:
        """Return the penalties, (m,), for the covariances of several runs, (m, k, d) or (m, k, d, d)."""
        with np.errstate(over="ignore"):
            if covariance.ndim == 3:
                total = (np.log(covariance) + self._variance / covariance).sum((1, 2))
            else:
                try:
                    factor = np.linalg.cholesky(covariance)
                except np.linalg.LinAlgError:  # one of them is singular
                    alone = len(covariance) == 1
                    return np.array([-np.inf if alone else self(own) for own in covariance])
                white = np.linalg.solve(factor, self._root)
                log_determinant = 2.0 * np.log(np.diagonal(factor, axis1=2, axis2=3)).sum((1, 2))
                total = log_determinant + (white**2).sum((1, 2, 3))
        least = covariance.shape[1] * (self._log_volumes[covariance.ndim - 3] + covariance.shape[2])
        return np.asarray(-0.5 * self._rows * (total - least))


def rows_collapse(
    x: FloatArray, weight: FloatArray | None, shares: FloatArray, covariance: FloatArray, code: str
) -> bool:
    """Return whether the likelihood of a structure has no maximum for rows with these responsibilities, n×k.

    Two things are checked: the scatter of the rows of each component, which may show the collapse before EM gets there,
    and the covariances that EM has reached: for components on parallel lines the likelihood has no maximum if volumes
    vary, even if not all of the components are lines.
    """
    own = shares if weight is None else shares * weight[:, None]
    count = own.sum(0)
    if not (count > 0).all():
        return True
    units = np.ptp(x, axis=0)
    if covariance.ndim == 2:
        narrowest = (covariance / units**2).min()
    else:
        narrowest = np.linalg.eigvalsh(covariance / np.multiply.outer(units, units)).min()
    if narrowest <= _COLLAPSED:
        return True
    scaled = x / units
    scatter = np.empty((len(count), x.shape[1], x.shape[1]))
    for c in range(len(count)):
        centred = scaled - own[:, c] @ scaled / count[c]
        scatter[c] = (own[:, [c]] * centred).T @ centred / count[c]
    return collapsed(scatter, count, code)


def collapsed(scatter: FloatArray, count: FloatArray, code: str) -> bool:
    """Return whether a variance that a structure needs to be positive is 0, so that its likelihood has no maximum.

    Parameters
    ----------
    scatter : array of shape (k, d, d)
        The covariance of the rows of each component, in units of the range of the columns.
    count : array of shape (k,)
    code : str
        The three letters of the structure, for volume, shape and orientation.
    """
    volume, shape, orientation = tuple(code)
    if volume == "I":  # the covariances are given
        return False
    columns = np.diagonal(scatter, axis1=1, axis2=2)
    along = columns if orientation == "I" else np.linalg.eigvalsh(scatter)
    needed = [columns.sum(1) if volume == "V" else columns.sum()]
    if shape == "V":  # common axes may be those of any one component
        needed.append(along)
    elif shape == "E" and orientation == "E":
        needed.append(np.linalg.eigvalsh(np.tensordot(count, scatter, 1) / count.sum()))
    elif shape == "E":
        needed.append(count @ along / count.sum())
    return any(bool((np.asarray(variance) <= _COLLAPSED).any()) for variance in needed)
