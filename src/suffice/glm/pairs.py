"""A response with a link: the contribution of a row to the objective, gradient and Hessian, given its η."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from suffice._arrays import FloatArray
from suffice.compiled.linear import LOG_LINEAR, LOGISTIC
from suffice.glm.links import Identity, Link, Log, Logit, Power
from suffice.glm.responses import BinomialResponse, NegativeBinomialResponse, PoissonResponse, Response


@dataclass(frozen=True, eq=False)
class Working:
    """Half of the deviance of some rows, and per row the score dℓ/dη and the expected curvature −E d²ℓ/dη²."""

    half_deviance: float
    score: FloatArray
    curvature: FloatArray
    pearson: float = 0.0


@dataclass(frozen=True)
class Pair:
    """A response and a link."""

    response: Response
    link: Link
    #: the compiled pass that sums the rows; None if there is none
    compiled: ClassVar[int | None] = None

    def working(self, eta: FloatArray, y: FloatArray, weight: FloatArray | None) -> Working | None:
        """Return the contributions of the rows; None if some η gives a mean that the response cannot have.

        score = weight (y − μ) μ′ / V, curvature = weight μ′² / V.
        """
        mu = self.link.inverse(eta)
        if not self.response.possible(mu):
            return None
        slope, variance = self.link.derivative(eta), self.response.variance(mu)
        residual = y - mu
        per_variance = slope / variance
        deviance = self.response.unit_deviance(y, mu)
        pearson = residual * residual / variance
        if weight is None:
            return Working(
                0.5 * float(deviance.sum()), residual * per_variance, slope * per_variance, float(pearson.sum())
            )
        return Working(
            0.5 * float(weight @ deviance),
            weight * residual * per_variance,
            weight * slope * per_variance,
            float(weight @ pearson),
        )

    def observed_curvature(self, eta: FloatArray, y: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return −d²ℓ/dη² of each row, weight [μ′²/V − (y − μ) (μ″ − μ′² V′/V)/V], which can be negative."""
        mu, slope, bend = self.link.inverse(eta), self.link.derivative(eta), self.link.second_derivative(eta)
        variance = self.response.variance(mu)
        square = slope * slope / variance
        found = square - (y - mu) * (bend / variance - square * self.response.variance_slope(mu) / variance)
        return found if weight is None else weight * found

    @property
    def canonical(self) -> bool:
        """Whether the link is canonical, μ′ = V, so that the observed Hessian is the expected one."""
        return self.link == self.response.default_link and not isinstance(self.response, NegativeBinomialResponse)

    @property
    def observes(self) -> bool:
        """Whether steps by the observed Hessian help when those by the expected one gain little.

        Not if means end at a bound of η: the expected curvature grows near the bound and keeps steps away from it.
        """
        return not (self.canonical or isinstance(self.link, (Identity, Power)))

    def deviance(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Return d(y, μ) of each row, never negative; infinite where the response cannot have the mean μ."""
        with np.errstate(all="ignore"):
            mu = self.link.mean(eta)
            found = self.response.unit_deviance(y, mu)
        return np.where(self.response.impossible(mu) | np.isnan(found), np.inf, np.maximum(found, 0.0))

    def least_loss(self, y: FloatArray, weight: FloatArray | None) -> float:
        """Return the constant that the compiled pass adds to half of the deviance."""
        return 0.0

    @property
    def bends(self) -> bool:
        """Whether Firth's correction is available: the link is canonical and μ″/μ′ is known as a function of η."""
        return False

    def bend(self, eta: FloatArray) -> FloatArray:
        """Return μ″/μ′."""
        raise TypeError("Firth's correction is not known for this response and link; see `bends`")


@dataclass(frozen=True)
class LogisticPair(Pair):
    """Binomial and logit: everything follows from e^−|η|, which neither overflows nor cancels."""

    compiled: ClassVar[int | None] = LOGISTIC

    def working(self, eta: FloatArray, y: FloatArray, weight: FloatArray | None) -> Working:
        """Return the contributions of the rows; ℓ = yη − log(1 + e^η)."""
        small = np.exp(-np.abs(eta))
        larger = 1.0 / (1.0 + small)
        smaller = small * larger
        positive = eta >= 0.0
        score = y - np.where(positive, larger, smaller)
        curvature = larger * smaller
        loss = np.log1p(small)
        loss += np.maximum(eta, 0.0)
        loss -= y * eta
        least = self.least_loss(y, weight)
        if weight is None:
            return Working(float(loss.sum()) - least, score, curvature)
        return Working(float(weight @ loss) - least, weight * score, weight * curvature)

    def deviance(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Return d(y, μ) of each row; for 0 and 1 it is 2 log(1 + e^∓η), which does not saturate as μ does."""
        certain = np.logaddexp(0.0, np.where(y > 0.5, -eta, eta))
        return np.where((y == 0.0) | (y == 1.0), 2.0 * certain, super().deviance(eta, y))

    def least_loss(self, y: FloatArray, weight: FloatArray | None) -> float:
        """Return −ℓ at μ = y: positive for shares of successes between 0 and 1, 0 for y of 0 and 1."""
        if type(self.response) is not BinomialResponse:
            return 0.0
        entropy = -xlogy(y, y) - xlogy(1.0 - y, 1.0 - y)
        return float(entropy.sum() if weight is None else weight @ entropy)

    @property
    def bends(self) -> bool:
        """True."""
        return True

    def bend(self, eta: FloatArray) -> FloatArray:
        """Return 1 − 2μ."""
        return -np.tanh(0.5 * eta)


@dataclass(frozen=True)
class LogLinearPair(Pair):
    """Poisson and log."""

    compiled: ClassVar[int | None] = LOG_LINEAR

    def working(self, eta: FloatArray, y: FloatArray, weight: FloatArray | None) -> Working:
        """Return the contributions of the rows; ℓ = yη − e^η."""
        with np.errstate(over="ignore"):
            mu = np.exp(eta)
        score = y - mu
        log_y = np.log(np.maximum(y, np.finfo(np.float64).tiny))
        log_y -= eta
        log_y *= y
        log_y -= score
        if weight is None:
            return Working(float(log_y.sum()), score, mu)
        return Working(float(weight @ log_y), weight * score, weight * mu)

    @property
    def bends(self) -> bool:
        """True."""
        return True

    def bend(self, eta: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(eta)


def pair(response: Response, link: Link | None = None) -> Pair:
    """Return a response with a link, by default the response's own.

    Examples
    --------
    >>> from suffice.glm.response_names import as_response
    >>> work = pair(as_response("poisson")).working(np.log([1.0, 2.0]), np.array([1.0, 4.0]), None)
    >>> work.score, work.curvature
    (array([0., 2.]), array([1., 2.]))
    """
    link = response.default_link if link is None else link
    if isinstance(response, BinomialResponse) and isinstance(link, Logit):
        return LogisticPair(response, link)
    counts = isinstance(response, PoissonResponse) and not isinstance(response, NegativeBinomialResponse)
    return LogLinearPair(response, link) if counts and isinstance(link, Log) else Pair(response, link)
