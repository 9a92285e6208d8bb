"""Link functions, which relate the mean of a response to the linear predictor η = x·β."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from suffice._arrays import FloatArray
from suffice.families.names import did_you_mean

#: probabilities stay this far from 0 and 1, as in R, so that their logarithms are finite
_EDGE = np.finfo(np.float64).eps


class Link(ABC):
    """A function g with g(μ) = η; its inverse gives the mean."""

    name: ClassVar[str]

    @abstractmethod
    def link(self, mu: FloatArray) -> FloatArray:
        """Return η = g(μ)."""

    @abstractmethod
    def inverse(self, eta: FloatArray) -> FloatArray:
        """Return μ = g⁻¹(η); NaN where η is outside the range of g."""

    @abstractmethod
    def derivative(self, eta: FloatArray) -> FloatArray:
        """Return dμ/dη."""

    def second_derivative(self, eta: FloatArray) -> FloatArray:
        """Return d²μ/dη², by a finite difference of dμ/dη unless a link has a formula."""
        h = 1e-5 * (1.0 + np.abs(eta))
        return (self.derivative(eta + h) - self.derivative(eta - h)) / (2.0 * h)

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return μ = g⁻¹(η), or the limit of μ at the end of the range of g where η is outside it."""
        return self.inverse(eta)

    def outside(self, eta: FloatArray) -> NDArray[np.bool_]:
        """Return which η are outside the range of g."""
        return np.zeros(np.shape(eta), dtype=bool)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Identity(Link):
    """η = μ."""

    name: ClassVar[str] = "identity"

    def link(self, mu: FloatArray) -> FloatArray:
        """Return μ."""
        return mu

    def inverse(self, eta: FloatArray) -> FloatArray:
        """Return η."""
        return eta

    def derivative(self, eta: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(eta)

    def second_derivative(self, eta: FloatArray) -> FloatArray:
        """Return 0."""
        return np.zeros_like(eta)


@dataclass(frozen=True)
class Log(Link):
    """η = log μ."""

    name: ClassVar[str] = "log"

    def link(self, mu: FloatArray) -> FloatArray:
        """Return log μ."""
        return np.log(mu)

    def inverse(self, eta: FloatArray) -> FloatArray:
        """Return e^η, at least the smallest normal float."""
        return np.maximum(np.exp(eta), np.finfo(np.float64).tiny)

    def derivative(self, eta: FloatArray) -> FloatArray:
        """Return e^η."""
        return self.inverse(eta)

    def second_derivative(self, eta: FloatArray) -> FloatArray:
        """Return e^η."""
        return self.inverse(eta)


@dataclass(frozen=True)
class Logit(Link):
    """η = log(μ / (1 − μ))."""

    name: ClassVar[str] = "logit"

    def link(self, mu: FloatArray) -> FloatArray:
        """Return log(μ / (1 − μ))."""
        return np.log(mu / (1.0 - mu))

    def inverse(self, eta: FloatArray) -> FloatArray:
        """Return 1 / (1 + e^−η)."""
        return expit(eta)

    def derivative(self, eta: FloatArray) -> FloatArray:
        """Return μ(1 − μ)."""
        return expit(eta) * expit(-eta)


@dataclass(frozen=True)
class Probit(Link):
    """η = Φ⁻¹(μ), with Φ the distribution function of the standard normal."""

    name: ClassVar[str] = "probit"

    def link(self, mu: FloatArray) -> FloatArray:
        """Return Φ⁻¹(μ)."""
        return ndtri(mu)

    def inverse(self, eta: FloatArray) -> FloatArray:
        """Return Φ(η)."""
        return np.clip(ndtr(eta), _EDGE, 1.0 - _EDGE)

    def derivative(self, eta: FloatArray) -> FloatArray:
        """Return the normal density."""
        return np.maximum(np.exp(-0.5 * eta * eta) / np.sqrt(2.0 * np.pi), _EDGE)

    def second_derivative(self, eta: FloatArray) -> FloatArray:
        """Return −η times the normal density."""
        return -eta * self.derivative(eta)


@dataclass(frozen=True)
class ComplementaryLogLog(Link):
    """η = log(−log(1 − μ))."""

    name: ClassVar[str] = "cloglog"

    def link(self, mu: FloatArray) -> FloatArray:
        """Return log(−log(1 − μ))."""
        return np.log(-np.log1p(-mu))

    def inverse(self, eta: FloatArray) -> FloatArray:
        """Return 1 − exp(−e^η)."""
        return np.clip(-np.expm1(-np.exp(np.minimum(eta, 700.0))), _EDGE, 1.0 - _EDGE)

    def derivative(self, eta: FloatArray) -> FloatArray:
        """Return exp(η − e^η)."""
        capped = np.minimum(eta, 700.0)
        return np.maximum(np.exp(capped - np.exp(capped)), _EDGE)

    def second_derivative(self, eta: FloatArray) -> FloatArray:
        """Return (1 − e^η) exp(η − e^η)."""
        return -np.expm1(np.minimum(eta, 700.0)) * self.derivative(eta)


@dataclass(frozen=True)
class Power(Link):
    """η = μ^p; -1 is the inverse, ½ the square root.

    Examples
    --------
    >>> Power(-1).inverse(np.array([0.5, -1.0]))  # a mean of such a link is positive, and so is η
    array([ 2., nan])
    >>> Power(-1).mean(np.array([0.5, -1.0]))  # on the way to 0 the mean grows without bound
    array([ 2., inf])
    """

    exponent: float
    name: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        if not np.isfinite(self.exponent) or self.exponent == 0.0:
            raise ValueError(f"the exponent of a power link must be a number other than 0, not {self.exponent!r}")

    def link(self, mu: FloatArray) -> FloatArray:
        """Return μ^p."""
        return mu**self.exponent

    def inverse(self, eta: FloatArray) -> FloatArray:
        """Return η^(1/p)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(eta > 0.0, eta ** (1.0 / self.exponent), np.nan)

    def derivative(self, eta: FloatArray) -> FloatArray:
        """Return η^(1/p − 1) / p."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(eta > 0.0, eta ** (1.0 / self.exponent - 1.0) / self.exponent, np.nan)

    def second_derivative(self, eta: FloatArray) -> FloatArray:
        """Return (1/p)(1/p − 1) η^(1/p − 2)."""
        r = 1.0 / self.exponent
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(eta > 0.0, r * (r - 1.0) * eta ** (r - 2.0), np.nan)

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return η^(1/p), and the limit at 0 where η is not positive: 0, or infinity for a negative exponent."""
        limit = 0.0 if self.exponent > 0.0 else np.inf
        return np.where(self.outside(eta), limit, self.inverse(eta))

    def outside(self, eta: FloatArray) -> NDArray[np.bool_]:
        """Return which η are not positive."""
        return np.asarray(eta) <= 0.0

    def __str__(self) -> str:
        return _NAMES_OF_POWERS.get(self.exponent, f"power({float(self.exponent)!r})")


_NAMES_OF_POWERS = {-1.0: "inverse", 0.5: "sqrt", -2.0: "inverse-squared"}
LINKS: dict[str, Link] = {link.name: link for link in (Identity(), Log(), Logit(), Probit(), ComplementaryLogLog())} | {
    name: Power(exponent) for exponent, name in _NAMES_OF_POWERS.items()
}
_BY_PLAIN_NAME = {re.sub(r"[-_ ]", "", name): link for name, link in LINKS.items()} | {
    "complementaryloglog": ComplementaryLogLog(),
    "1/mu^2": Power(-2.0),  # as R writes it
}


def as_link(spec: str | Link) -> Link:
    """Return the link for a name, or a Link as it is.

    Examples
    --------
    >>> as_link("sqrt"), as_link("inverse_squared")
    (Power(exponent=0.5), Power(exponent=-2.0))
    >>> as_link("power(0.25)")
    Power(exponent=0.25)
    """
    if isinstance(spec, Link):
        return spec
    name = str(spec).lower().strip()
    plain = re.sub(r"[-_ ]", "", name)
    if plain in _BY_PLAIN_NAME:
        return _BY_PLAIN_NAME[plain]
    if name.startswith("power(") and name.endswith(")"):
        try:
            return Power(float(name[6:-1]))
        except ValueError as error:
            raise ValueError(f"link={spec!r}: a power link is written with its exponent, like 'power(0.25)'") from error
    raise ValueError(
        f"unknown link {spec!r}{did_you_mean(spec, LINKS)}; give one of "
        f"{', '.join(map(repr, LINKS))}, 'power(0.25)' with its exponent, or a Link"
    )
