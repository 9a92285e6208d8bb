"""Responses: the distributions of y given its mean that a generalised linear model can have.

Each is an exponential dispersion model: log p(y | μ, φ) = −d(y, μ) / 2φ + c(y, φ), with d the unit deviance and φ the
dispersion, and Var y = φ V(μ) / weight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from suffice._arrays import FloatArray
from suffice.glm.gamma_gains import log_gamma_gain
from suffice.glm.links import Identity, Link, Log, Logit, Power

LOG_TWO_PI = float(np.log(2.0 * np.pi))


class Response(ABC):
    """The distribution of y given its mean."""

    name: ClassVar[str]
    #: the link if none is given
    default_link: ClassVar[Link]
    #: whether φ is known to be 1; otherwise it is estimated
    dispersion_known: ClassVar[bool] = False
    #: means that are reached only as η goes to ±∞
    edges: ClassVar[tuple[float, ...]] = ()
    #: the values that y must have, for error messages
    requirement: ClassVar[str]

    @abstractmethod
    def variance(self, mu: FloatArray) -> FloatArray:
        """Return V(μ)."""

    @abstractmethod
    def variance_slope(self, mu: FloatArray) -> FloatArray:
        """Return dV/dμ."""

    @abstractmethod
    def unit_deviance(self, y: FloatArray, mu: FloatArray) -> FloatArray:
        """Return d(y, μ)."""

    @abstractmethod
    def invalid(self, y: FloatArray) -> NDArray[np.bool_]:
        """Return which y are not values of this distribution."""

    @abstractmethod
    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return the log-likelihood of the saturated model, which fits every row: Σ c(y, φ)."""

    @abstractmethod
    def quantile(self, share: float, mu: FloatArray, dispersion: float) -> FloatArray:
        """Return the `share` quantile of y for each mean."""

    def possible(self, mu: FloatArray) -> bool:
        """Return whether all of these are valid means of the distribution."""
        return bool((mu > 0.0).all())

    def impossible(self, mu: FloatArray) -> NDArray[np.bool_]:
        """Return which are neither valid means of the distribution nor limits of valid means."""
        return ~(mu >= 0.0)

    def initial_mean(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return means near y, as start values."""
        return y

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class GaussianResponse(Response):
    """y ~ Normal(μ, φ / weight)."""

    name: ClassVar[str] = "gaussian"
    default_link: ClassVar[Link] = Identity()
    requirement: ClassVar[str] = "y must hold finite numbers"

    def variance(self, mu: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(mu)

    def variance_slope(self, mu: FloatArray) -> FloatArray:
        """Return 0."""
        return np.zeros_like(mu)

    def unit_deviance(self, y: FloatArray, mu: FloatArray) -> FloatArray:
        """Return (y − μ)²."""
        return (y - mu) ** 2

    def invalid(self, y: FloatArray) -> NDArray[np.bool_]:
        """Return where y is not finite."""
        return ~np.isfinite(y)

    def possible(self, mu: FloatArray) -> bool:
        """Return whether all are finite."""
        return bool(np.isfinite(mu).all())

    def impossible(self, mu: FloatArray) -> NDArray[np.bool_]:
        """Return which are NaN."""
        return np.isnan(mu)

    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return −½ Σ log(2πφ / weight), over the rows with a positive weight."""
        there = weight > 0.0
        return -0.5 * float(there.sum() * (LOG_TWO_PI + np.log(dispersion)) - np.log(weight[there]).sum())

    def quantile(self, share: float, mu: FloatArray, dispersion: float) -> FloatArray:
        """Return μ + √φ Φ⁻¹(share)."""
        from scipy.special import ndtri

        return mu + np.sqrt(dispersion) * ndtri(share)


@dataclass(frozen=True)
class BinomialResponse(Response):
    """weight · y ~ Binomial(weight, μ): y is the share of successes, the weight the number of trials."""

    name: ClassVar[str] = "binomial"
    default_link: ClassVar[Link] = Logit()
    dispersion_known: ClassVar[bool] = True
    edges: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    requirement: ClassVar[str] = "y must hold shares between 0 and 1, with the trials as weights"

    def variance(self, mu: FloatArray) -> FloatArray:
        """Return μ(1 − μ)."""
        return mu * (1.0 - mu)

    def variance_slope(self, mu: FloatArray) -> FloatArray:
        """Return 1 − 2μ."""
        return 1.0 - 2.0 * mu

    def unit_deviance(self, y: FloatArray, mu: FloatArray) -> FloatArray:
        """Return 2 [y log(y/μ) + (1 − y) log((1 − y)/(1 − μ))], with μ clipped to floats within (0, 1)."""
        mu = np.clip(mu, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).epsneg)
        return 2.0 * (xlogy(y, y / mu) + xlogy(1.0 - y, (1.0 - y) / (1.0 - mu)))

    def invalid(self, y: FloatArray) -> NDArray[np.bool_]:
        """Return where y is not a probability."""
        return ~((y >= 0.0) & (y <= 1.0))

    def possible(self, mu: FloatArray) -> bool:
        """Return whether all are strictly between 0 and 1."""
        return bool(((mu > 0.0) & (mu < 1.0)).all())

    def impossible(self, mu: FloatArray) -> NDArray[np.bool_]:
        """Return which are not between 0 and 1."""
        return ~((mu >= 0.0) & (mu <= 1.0))

    def initial_mean(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the share of successes after adding half a success and half a failure."""
        return (weight * y + 0.5) / (weight + 1.0)

    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return Σ log (n choose ny) + ny log y + n(1 − y) log(1 − y), for n trials."""
        yes, no = weight * y, weight * (1.0 - y)
        choices = gammaln(weight + 1.0) - gammaln(yes + 1.0) - gammaln(no + 1.0)
        return float((choices + xlogy(yes, y) + xlogy(no, 1.0 - y)).sum())

    def quantile(self, share: float, mu: FloatArray, dispersion: float) -> FloatArray:
        """Return the quantile of a single trial, 0 or 1."""
        return np.where(share > 1.0 - mu, 1.0, 0.0)


@dataclass(frozen=True)
class BernoulliResponse(BinomialResponse):
    """y is 1 with probability μ, else 0; a weight is a number of equal rows."""

    name: ClassVar[str] = "bernoulli"
    requirement: ClassVar[str] = "y must hold 0 and 1 (or false and true; for two other numbers pass positive=)"

    def invalid(self, y: FloatArray) -> NDArray[np.bool_]:
        """Return where y is neither 0 nor 1."""
        return (y != 0.0) & (y != 1.0)

    def initial_mean(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return (y + ½)/2, whatever the weight: a row of weight 2 stands for two equal rows."""
        return 0.5 * y + 0.25

    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class PoissonResponse(Response):
    """y ~ Poisson(μ)."""

    name: ClassVar[str] = "poisson"
    default_link: ClassVar[Link] = Log()
    dispersion_known: ClassVar[bool] = True
    edges: ClassVar[tuple[float, ...]] = (0.0,)
    requirement: ClassVar[str] = "y must hold counts, finite and not negative"

    def variance(self, mu: FloatArray) -> FloatArray:
        """Return μ."""
        return mu

    def variance_slope(self, mu: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(mu)

    def unit_deviance(self, y: FloatArray, mu: FloatArray) -> FloatArray:
        """Return 2 [y log(y/μ) − (y − μ)]."""
        return 2.0 * (xlogy(y, _ratio(y, mu)) - (y - mu))

    def invalid(self, y: FloatArray) -> NDArray[np.bool_]:
        """Return where y is negative or not finite."""
        return ~((y >= 0.0) & np.isfinite(y))

    def initial_mean(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return y + 0.1, which is positive."""
        return y + 0.1

    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return Σ weight (y log y − y − log y!)."""
        return float(weight @ (xlogy(y, y) - y - gammaln(y + 1.0)))

    def quantile(self, share: float, mu: FloatArray, dispersion: float) -> FloatArray:
        """Return quantiles of the counts."""
        from scipy.stats import poisson

        return np.asarray(poisson.ppf(share, mu))


@dataclass(frozen=True)
class GammaResponse(Response):
    """y ~ Gamma with shape 1/φ and mean μ."""

    name: ClassVar[str] = "gamma"
    default_link: ClassVar[Link] = Power(-1.0)
    requirement: ClassVar[str] = "y must hold positive, finite numbers"

    def variance(self, mu: FloatArray) -> FloatArray:
        """Return μ²."""
        return mu * mu

    def variance_slope(self, mu: FloatArray) -> FloatArray:
        """Return 2μ."""
        return 2.0 * mu

    def unit_deviance(self, y: FloatArray, mu: FloatArray) -> FloatArray:
        """Return 2 [(y − μ)/μ − log(y/μ)]."""
        ratio = y / mu
        return 2.0 * (ratio - 1.0 - np.log(ratio))

    def invalid(self, y: FloatArray) -> NDArray[np.bool_]:
        """Return where y is not positive and finite."""
        return ~((y > 0.0) & np.isfinite(y))

    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return Σ weight [−(1 + log φ)/φ − log Γ(1/φ) − log y]."""
        shape = 1.0 / dispersion
        each = -shape * (1.0 + np.log(dispersion)) - gammaln(shape)
        return float(weight.sum() * each - weight @ np.log(y))

    def quantile(self, share: float, mu: FloatArray, dispersion: float) -> FloatArray:
        """Return quantiles of the gamma distribution."""
        from scipy.stats import gamma

        return np.asarray(gamma.ppf(share, 1.0 / dispersion, scale=mu * dispersion))


@dataclass(frozen=True)
class InverseGaussianResponse(GammaResponse):
    """y ~ inverse Gaussian with mean μ and shape 1/φ."""

    name: ClassVar[str] = "inverse-gaussian"
    default_link: ClassVar[Link] = Power(-2.0)

    def variance(self, mu: FloatArray) -> FloatArray:
        """Return μ³."""
        return mu**3

    def variance_slope(self, mu: FloatArray) -> FloatArray:
        """Return 3μ²."""
        return 3.0 * mu * mu

    def unit_deviance(self, y: FloatArray, mu: FloatArray) -> FloatArray:
        """Return (y − μ)² / (μ² y)."""
        return ((y - mu) / mu) ** 2 / y

    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return −½ Σ weight log(2πφ y³)."""
        return -0.5 * float(weight.sum() * (LOG_TWO_PI + np.log(dispersion)) + 3.0 * weight @ np.log(y))

    def quantile(self, share: float, mu: FloatArray, dispersion: float) -> FloatArray:
        """Return quantiles of the inverse Gaussian distribution."""
        from scipy.stats import invgauss

        return np.asarray(invgauss.ppf(share, mu * dispersion, scale=1.0 / dispersion))


@dataclass(frozen=True)
class NegativeBinomialResponse(PoissonResponse):
    """Counts with mean μ and variance μ + μ²/θ; with the shape θ = ∞ they are Poisson counts."""

    shape: float = np.inf
    #: whether θ is estimated from the rows, rather than given
    estimated: bool = False
    name: ClassVar[str] = "negative-binomial"

    def variance(self, mu: FloatArray) -> FloatArray:
        """Return μ + μ²/θ."""
        return mu + mu * mu / self.shape

    def variance_slope(self, mu: FloatArray) -> FloatArray:
        """Return 1 + 2μ/θ."""
        return 1.0 + 2.0 * mu / self.shape

    def initial_mean(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return y, or 1/6 where y is 0."""
        return np.where(y == 0.0, 1.0 / 6.0, y)

    def unit_deviance(self, y: FloatArray, mu: FloatArray) -> FloatArray:
        """Return 2 [y log(y/μ) − (y + θ) log((y + θ)/(μ + θ))], with terms that do not cancel for large y or θ."""
        theta = self.shape
        if np.isinf(theta):
            return super().unit_deviance(y, mu)
        larger = (y - mu) / mu * (theta / (y + theta))
        return 2.0 * (xlog1py(y, larger) - theta * np.log1p((y - mu) / (mu + theta)))

    def saturated(self, y: FloatArray, weight: FloatArray, dispersion: float) -> float:
        """Return Σ weight log p(y | μ = y)."""
        theta = self.shape
        if np.isinf(theta):
            return super().saturated(y, weight, dispersion)
        terms = log_gamma_gain(y, theta) - gammaln(y + 1.0)
        return float(weight @ (terms + xlogy(y, y / (y + theta)) - theta * np.log1p(y / theta)))

    def quantile(self, share: float, mu: FloatArray, dispersion: float) -> FloatArray:
        """Return quantiles of the counts."""
        from scipy.stats import nbinom

        if np.isinf(self.shape):
            return super().quantile(share, mu, dispersion)
        return np.asarray(nbinom.ppf(share, self.shape, self.shape / (self.shape + mu)))

    def __str__(self) -> str:
        return f"{self.name}(shape={self.shape:.4g})" if self.estimated else f"{self.name}(shape={self.shape:g})"


def _ratio(y: FloatArray, mu: FloatArray) -> FloatArray:
    """Return y/μ, or 1 where y is 0: there y log(y/μ) is 0, even if μ is 0 as well."""
    return np.divide(y, mu, out=np.ones(np.broadcast(y, mu).shape), where=y > 0.0)
