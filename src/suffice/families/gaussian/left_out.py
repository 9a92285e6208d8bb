"""Leave-one-out of Gaussian columns: the scatter of a class without one of its rows is a downdate of rank one.

With N the weight of the class (the κ rows of the prior mean included), m its mean and z = x − m, a row of weight w
leaves behind the weight N − w, the mean m − w z/(N − w) and

    Λ' = Λ − ρ z zᵀ,   ρ = w N/(N − w),   x − m' = z N/(N − w),

where Λ = a V + S is the scatter with the rows of the prior. With s = ρ zᵀΛ⁻¹z, the determinant lemma and the formula of
Sherman and Morrison give

    log |Λ'| = log |Λ| + log (1 − s),   (x − m')ᵀ Λ'⁻¹ (x − m') = (N/(N − w))² zᵀΛ⁻¹z / (1 − s).

The ridge that keeps the covariances of collinear columns nonsingular stays as it is for all rows, like V.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from suffice._arrays import FloatArray, IntArray
from suffice.families.gaussian.quadratic import LOG_2PI
from suffice.families.left_out import Own, left_weight
from suffice.statistics.base import NotContainedError

#: below this share of its scatter, what is left of a class without the row is rounding error
_NOTHING_LEFT = 1e-13


class Density(ABC):
    """The log-density of a row, given its squared distance in units of a scatter Λ of ν rows."""

    @abstractmethod
    def widening(self, count: FloatArray) -> FloatArray | float:
        """Return the factor of the scatter, given the weight that the mean was estimated from."""

    @abstractmethod
    def log(self, squared: FloatArray, log_determinant: FloatArray, rows: FloatArray, d: FloatArray | float, *, less: float) -> FloatArray:
        """Return log p(x), given q = δᵀΛ⁻¹δ, log |Λ|, ν and the number of columns, of which ν has `less` too many."""


class PlugIn(Density):
    """The Gaussian with the covariance Λ/ν."""

    def widening(self, count: FloatArray) -> FloatArray | float:
        """Return 1: the mean is taken as known."""
        return 1.0

    def log(self, squared: FloatArray, log_determinant: FloatArray, rows: FloatArray, d: FloatArray | float, *, less: float) -> FloatArray:
        """Return −½ (d log 2π + log |Λ| − d log ν + ν q)."""
        return -0.5 * (d * (LOG_2PI - np.log(rows)) + log_determinant + rows * squared)


class Widened(PlugIn):
    """The Gaussian of a row whose mean is uncertain, and whose variance is known."""

    def widening(self, count: FloatArray) -> FloatArray | float:
        """Return 1 + 1/κ_n."""
        return 1.0 + 1.0 / count


@dataclass(frozen=True, eq=False)
class Scatters:
    """What the classes of Gaussian columns have learned: weights, means, and scatters with the rows of the prior.

    Parameters
    ----------
    count : array of shape (k, 1) or (k, d)
        n, the weight of the rows.
    kappa : float
        κ, the rows of the prior mean.
    location : array of shape (k, d)
        The mean of each class, with those rows.
    center : array of shape (d,)
        The prior mean, the location of a class without rows.
    scatter : array of shape (k, d), (k, d, d) or (k, 1)
        Λ, with 1 for k if the classes share it.
    rows : array of shape (k, d), (k, 1) or (k,)
        ν, the rows of Λ: a plus those of the classes and columns that share it.
    freedom : float
        The rows that estimating a mean costs.
    known : bool
        Whether Λ is given, and does not change.
    """

    count: FloatArray
    kappa: float
    location: FloatArray
    center: FloatArray
    scatter: FloatArray
    rows: FloatArray
    freedom: float
    density: Density
    known: bool = False

    def leave(self, x: FloatArray, own: Own) -> Leaving:
        """Return how the sums of the own class of each row change without the row."""
        n = self.count[own.codes]
        left = left_weight(self.count, own)
        weight, before = own.weight[:, None], n + self.kappa
        after = left + self.kappa
        z = x - self.location[own.codes]
        some = after > 0
        factor = np.divide(before, after, out=np.ones_like(after), where=some)
        apart = np.where(some, factor * z, x - self.center)
        rho = np.where(some, weight * factor, 0.0)  # a class of one row has no scatter
        lost = np.maximum(n - self.freedom, 0.0) - np.maximum(left - self.freedom, 0.0)
        mean_of = after if self.kappa > 0 else np.maximum(left, 1.0)
        if self.known:
            return Leaving(z, apart, np.zeros_like(rho), np.zeros_like(lost), after, left)
        return Leaving(z, apart, rho, lost, mean_of, left)


@dataclass(frozen=True, eq=False)
class Leaving:
    """The change of a class by the loss of a row, for n rows.

    Parameters
    ----------
    z : array of shape (n, d)
        x − m.
    apart : array of shape (n, d)
        x − m', the distance to the mean without the row.
    rho : array of shape (n, 1) or (n, d)
        The factor of z zᵀ in the change of the scatter.
    rows : array of shape (n, 1) or (n, d)
        The change of ν.
    count : array of shape (n, 1) or (n, d)
        The weight that the mean is estimated from without the row.
    left : array of shape (n, 1) or (n, d)
        The weight of the other rows of the class.
    """

    z: FloatArray
    apart: FloatArray
    rho: FloatArray
    rows: FloatArray
    count: FloatArray
    left: FloatArray


def what_is_left(share: FloatArray) -> FloatArray:
    """Return 1 − s, the part of the determinant that is left without a row; 0 if it is only rounding error.

    Raise NotContainedError if it is negative, which says that the row is none of those in the sums.
    """
    left = 1.0 - share
    if (left < -1e-6).any():
        raise NotContainedError(int(np.argwhere(left < -1e-6)[0, 0]), float(left.min()))
    return np.where(left > _NOTHING_LEFT, left, 0.0)
