"""What leaves the sums of a class of Gaussian columns together with one of its rows: a downdate of rank one.

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
from suffice.families.gaussian.covariance import Covariance
from suffice.families.gaussian.quadratic import LOG_2PI
from suffice.statistics.base import NotContainedError

#: what is left of a scatter without a row is rounding error below this share of it
_ROUNDING = 1e-13


class Density(ABC):
    """The log-density of a row, given its squared distance in units of a scatter Λ of ν rows."""

    @abstractmethod
    def widening(self, count: FloatArray) -> FloatArray | float:
        """Return the factor of the scatter, given the weight that the mean was estimated from."""

    @abstractmethod
    def log(
        self,
        squared: FloatArray,
        log_determinant: FloatArray,
        rows: FloatArray,
        d: FloatArray | float,
        less: float = 0.0,
    ) -> FloatArray:
        """Return log p(x), given q = δᵀΛ⁻¹δ, log |Λ|, ν, the number of columns, and the rows of ν that they cost."""


class PlugIn(Density):
    """The Gaussian with the covariance Λ/ν."""

    def widening(self, count: FloatArray) -> FloatArray | float:
        """Return 1: the mean is taken as known."""
        return 1.0

    def log(
        self,
        squared: FloatArray,
        log_determinant: FloatArray,
        rows: FloatArray,
        d: FloatArray | float,
        less: float = 0.0,
    ) -> FloatArray:
        """Return −½ (d log 2π + log |Λ| − d log ν + ν q)."""
        found = rows * squared
        found += log_determinant
        found += d * (LOG_2PI - np.log(rows))
        found *= -0.5
        return found


class Widened(PlugIn):
    """The Gaussian of a row whose mean is uncertain, and whose covariance is known."""

    def widening(self, count: FloatArray) -> FloatArray | float:
        """Return 1 + 1/κ_n."""
        return 1.0 + 1.0 / count


@dataclass(frozen=True, eq=False)
class Leaving:
    """The change of a class by the loss of a row, for n rows; 1 in place of n if it is the same for all.

    Parameters
    ----------
    z : array of shape (n, d)
        x − m; NaN where the cell is missing.
    factor : array of shape (n, 1) or (n, d)
        N/(N − w), by which x is farther from the mean of the other rows; 0 if there are none.
    rho : array of shape (n, 1) or (n, d)
        ρ; 0 if there are no other rows, since such a class has no scatter.
    rows : array of shape (n, 1) or (n, d)
        The change of ν.
    count : array of shape (n, 1) or (n, d)
        The weight that the mean is estimated from without the row.
    """

    z: FloatArray
    factor: FloatArray
    rho: FloatArray
    rows: FloatArray
    count: FloatArray


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
        ν, the rows of Λ: a plus those of the classes and columns that share it; likewise.
    freedom : float
        The rows that estimating a mean costs.
    density : Density
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

    def of_class(self, values: FloatArray, c: int | IntArray) -> FloatArray:
        """Return the scatter, or its rows, of a class, or of the class of each row."""
        if len(values) == 1:
            return values[0]
        return np.asarray(values[c])

    def leave(self, x: FloatArray, c: int | IntArray, weight: FloatArray) -> Leaving:
        """Return how the sums of a class, or of the class of each row, change without the row.

        Raise NotContainedError if a row has more weight than its class.

        Parameters
        ----------
        x : array of shape (n, d)
        c : int, or array of shape (n,)
        weight : array of shape (1, 1), (n, 1) or (n, d)
            The weight of the row, 0 where a cell is missing.
        """
        n = self.count[c]
        left = n - weight
        if (left < -1e-9 * (n + weight)).any():
            row = int(np.argwhere(left < -1e-9 * (n + weight))[0, 0])
            raise NotContainedError(row, float(left[row].min()))
        left = np.where(left > 1e-9 * n, left, 0.0)
        after = left + self.kappa
        factor = np.divide(n + self.kappa, after, out=np.zeros_like(after), where=after > 0)
        count = after if self.kappa > 0 or self.known else np.maximum(left, 1.0)
        z = x - self.location[c]
        if self.known:
            return Leaving(z, factor, np.zeros((1, 1)), np.zeros((1, 1)), count)
        lost = np.maximum(n - self.freedom, 0.0) - np.maximum(left - self.freedom, 0.0)
        return Leaving(z, factor, weight * factor, lost, count)

    def apart(self, x: FloatArray, leaving: Leaving) -> FloatArray:
        """Return x − m', where m' is the prior mean if the class has no other row."""
        if (leaving.factor > 0).all():
            return leaving.factor * leaving.z
        return np.where(leaving.factor > 0, leaving.factor * leaving.z, x - self.center)


def shared_rows(structure: Covariance, rows: FloatArray, a: float, d: int) -> FloatArray:
    """Return a + the rows of all classes and columns that share a variance; such columns have a rows each."""
    if structure.tied:
        rows = rows.sum(0, keepdims=True)
    if structure.one_variance:
        return np.asarray(a * d + rows.sum(1, keepdims=True))
    return np.asarray(a + (rows if structure.diagonal else rows[:, 0]))


def what_is_left(share: FloatArray) -> FloatArray:
    """Return 1 − s, the part of a scatter that is left without a row; 0 if it is only rounding error.

    Raise NotContainedError if it is negative, which says that the row is none of those in the sums.
    """
    left = 1.0 - share
    if not left.min(initial=1.0) >= _ROUNDING:  # also for NaN, where cells are missing
        if (left < -1e-6).any():
            row = int(np.argwhere(left < -1e-6)[0, 0])
            raise NotContainedError(row, float(left[row].min()))
        left[left < _ROUNDING] = 0.0
    return left
