"""NegativeBinomial: counts with a larger variance than Poisson counts, each column by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from suffice._arrays import Array, FloatArray, IntArray, namespace
from suffice.families.columnwise import ColumnwiseFamily, refuse_cells
from suffice.families.columnwise_distributions import ColumnwiseDistributions
from suffice.families.usual import POSITIVE_SHARE, Domain


class NegativeBinomial(ColumnwiseFamily):
    """p(x | p) = Γ(x + r) / (Γ(r) x!) · p^r (1 − p)^x for x = 0, 1, 2, …: failures before the r-th success.

    φ(x) = x, η = log(1 − p), A(η) = −r log(1 − e^η), h(x) = Γ(x + r) / (Γ(r) x!). The shape r is given and the same for
    all columns; each column has its own p, or mean r (1 − p)/p. The variance is mean + mean²/r. A prior of α rows holds
    the smoothed mean of all classes.

    Parameters
    ----------
    shape : float
        The r, any positive number: large for counts that are almost Poisson, small for counts that vary much.

    Examples
    --------
    >>> from suffice import NegativeBinomial
    >>> visits = NegativeBinomial(shape=2.0).fit([0, 1, 3, 8])
    >>> visits
    <NegativeBinomial(shape=2.0) with probability 0.4>
    >>> visits.mean(), visits.variance()
    (array([3.]), array([7.5]))
    """

    name: ClassVar[str] = "negative_binomial"
    usual: ClassVar[Mapping[str, Domain]] = {"probability": POSITIVE_SHARE}
    takes_zero: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    neutral: ClassVar[float] = 0.0

    def __init__(self, shape: float = 1.0) -> None:
        given: Any = shape
        if not (isinstance(given, (int, float, np.number)) and 0 < given < np.inf):
            raise ValueError(f"the shape of a NegativeBinomial must be a positive number, not {shape!r}")
        self.shape = float(shape)

    def config(self) -> dict[str, Any]:
        """Return the constructor arguments of this family."""
        return {"shape": self.shape}

    @property
    def mode_offset(self) -> tuple[float, float]:
        """That of the density of p: p^(rα − 1) (1 − p)^(αm − 1)."""
        return 1.0 / self.shape, 1.0

    def require_support(self, x: Array) -> None:
        """Raise if a cell is negative or not a whole number."""
        whose = type(self).__name__
        refuse_cells(
            x,
            lambda cells: (cells < 0) | (namespace(cells).floor(cells) < cells),
            f"a {whose} cell must be a whole number of at least 0",
            "clean that cell, or choose a family for measurements, such as Gamma or Gaussian",
        )

    def phi(self, x: Array) -> tuple[Array]:
        """Return x."""
        return (x,)

    def cell_normalizer(self, *eta: FloatArray) -> FloatArray:
        """Return −r log(1 − e^η)."""
        return -self.shape * np.log(-np.expm1(eta[0]))

    def cell_base(self, x: FloatArray) -> FloatArray | None:
        """Return log Γ(x + r) − log Γ(r) − log x!."""
        if self.shape == 1.0:
            return None
        return np.asarray(gammaln(x + self.shape) - gammaln(self.shape) - gammaln(x + 1.0))

    def from_natural_parts(self, *eta: FloatArray) -> NegativeBinomialDistributions:
        """Return (1 − p)/p = 1 / (e^−η − 1)."""
        return NegativeBinomialDistributions(self, 1.0 / np.expm1(-eta[0]))

    def from_moment_parts(self, *moments: FloatArray) -> NegativeBinomialDistributions:
        """Return (1 − p)/p = E x / r."""
        return NegativeBinomialDistributions(self, np.asarray(moments[0]) / self.shape)

    def with_parameters(self, arrays: Mapping[str, Any]) -> NegativeBinomialDistributions:
        """Return the distributions with these parameter arrays."""
        return NegativeBinomialDistributions(self, **arrays)

    def _from_rows(self, rows: dict[str, FloatArray]) -> NegativeBinomialDistributions:
        p = rows["probability"]
        return NegativeBinomialDistributions(self, (1.0 - p) / p)


@dataclass(frozen=True, eq=False)
class NegativeBinomialDistributions(ColumnwiseDistributions):
    """Negative binomial columns with the odds of a failure, (1 − p)/p, k×d, which are more accurate than p."""

    family: NegativeBinomial
    odds: FloatArray

    @property
    def probability(self) -> FloatArray:
        """The probability p of a success, k×d."""
        return 1.0 / (1.0 + self.odds)

    def natural_parts(self) -> tuple[FloatArray]:
        """Return log(1 − p)."""
        with np.errstate(divide="ignore"):  # −∞ if there are no failures
            return (-np.log1p(1.0 / self.odds),)

    def moment_parts(self) -> tuple[FloatArray]:
        """Return r (1 − p)/p."""
        return (self.mean(),)

    def covariance_parts(self) -> list[list[FloatArray]]:
        """Return the variance."""
        return [[self.variance()]]

    def mean(self) -> FloatArray:
        """Return r (1 − p)/p, k×d."""
        return self.family.shape * self.odds

    def variance(self) -> FloatArray:
        """Return r (1 − p)/p², k×d."""
        return self.family.shape * self.odds * (1.0 + self.odds)

    def shown(self) -> dict[str, Any]:
        """Return the probability."""
        return {"probability": self.probability}

    def expected_log_base(self) -> FloatArray:
        """Return E [log Γ(x + r) − log Γ(r) − log x!], (k,).

        With Malmstén's integral for log Γ and G(t) = E e^(−tx) = (1 + o (1 − e^−t))^−r, o the odds, it is
        ∫ (r − 1 − G(t) (1 − e^−(r−1)t) / (1 − e^−t)) e^−t / t dt − log Γ(r) over t > 0: the trapezoidal rule in log t
        converges faster than any power of its step, however long the tail of x is.
        """
        r = self.family.shape
        if r == 1.0:
            return np.zeros(self.n_classes)
        step = 0.1
        first = np.log(1e-18 / (1.0 + self.odds.max() + r))
        last = np.log(40.0 / min(r, 1.0))  # the integrand falls like e^−t and e^−rt
        t = np.exp(np.arange(first, last, step))
        left, decay = -np.expm1(-t), np.exp(-t)
        # written so that neither cancels for small t: (1 − e^−(r−1)t) e^−t, and 1 − G
        late = np.maximum(t, 1.0)
        tilted = np.where(t < 1.0, -np.expm1((1.0 - r) * np.minimum(t, 1.0)) * decay, np.exp(-late) - np.exp(-r * late))
        log_generating = -r * np.log1p(self.odds[..., None] * left)
        less = -np.expm1(log_generating)
        integrand = ((r - 1.0) * decay - tilted / left) * np.exp(log_generating) + (r - 1.0) * decay * less
        return np.asarray((integrand.sum(-1) * step - gammaln(r)).sum(1))

    def draw(self, classes: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return counts: Poisson with a rate that is drawn from a Gamma distribution."""
        odds = self.odds[classes]
        return rng.poisson(odds * rng.standard_gamma(self.family.shape, size=odds.shape)).astype(np.float64)
