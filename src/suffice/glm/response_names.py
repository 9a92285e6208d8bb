"""Responses by name, or by one of the library's families."""

from __future__ import annotations

from numbers import Real
from typing import Any

from suffice.families import Bernoulli, Family, Gamma, Gaussian, InverseGaussian, NegativeBinomial, Poisson, plain_name
from suffice.families.names import did_you_mean
from suffice.glm.responses import (
    BernoulliResponse,
    BinomialResponse,
    GammaResponse,
    GaussianResponse,
    InverseGaussianResponse,
    NegativeBinomialResponse,
    PoissonResponse,
    Response,
)

_BY_NAME: dict[str, type[Response]] = {
    response.name: response
    for response in (
        GaussianResponse,
        BernoulliResponse,
        PoissonResponse,
        GammaResponse,
        BinomialResponse,
        NegativeBinomialResponse,
        InverseGaussianResponse,
    )
}
_BY_PLAIN_NAME = {plain_name(name): response for name, response in _BY_NAME.items()}
_BY_FAMILY: dict[type[Family], type[Response]] = {
    Gaussian: GaussianResponse,
    Bernoulli: BernoulliResponse,
    Poisson: PoissonResponse,
    Gamma: GammaResponse,
    InverseGaussian: InverseGaussianResponse,
    NegativeBinomial: NegativeBinomialResponse,
}


def as_response(spec: Any, shape: Any = None) -> Response:
    """Return the response for a name, one of the library's families, or a Response.

    A negative binomial without a shape is marked as `estimated`, and is that of Poisson counts until it is.

    Examples
    --------
    >>> as_response("poisson"), as_response("Normal")
    (PoissonResponse(), GaussianResponse())
    >>> as_response(Bernoulli())
    BernoulliResponse()
    >>> as_response("nb", 2.0)
    NegativeBinomialResponse(shape=2.0, estimated=False)
    """
    if isinstance(spec, Response):
        return spec
    kind = _kind(spec)
    if kind is not NegativeBinomialResponse:
        return kind()
    if isinstance(spec, NegativeBinomial) and shape is None:
        shape = spec.shape
    if shape is None:
        return NegativeBinomialResponse(estimated=True)
    if isinstance(shape, bool) or not (isinstance(shape, Real) and float(shape) > 0.0):
        raise ValueError(
            f"the shape of a negative binomial must be a positive number, or None to estimate it, not {shape!r}"
        )
    return NegativeBinomialResponse(float(shape))


def _kind(spec: Any) -> type[Response]:
    for family, response in _BY_FAMILY.items():
        if type(spec) is family or spec is family:
            return response
    if isinstance(spec, str) and plain_name(spec) in _BY_PLAIN_NAME:
        return _BY_PLAIN_NAME[plain_name(spec)]
    raise ValueError(
        f"unknown family {spec!r}{did_you_mean(spec, _BY_NAME)}; give one of "
        f"{', '.join(map(repr, _BY_NAME))}, or one of the families Gaussian(), "
        f"Bernoulli(), Poisson(), Gamma(), InverseGaussian() and NegativeBinomial(shape)"
    )
