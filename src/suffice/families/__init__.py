"""The families of distributions, and the registry that lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.families.base import Distributions, Family
from suffice.families.bernoulli import Bernoulli
from suffice.families.beta import Beta
from suffice.families.categorical import Categorical
from suffice.families.codes import Codes
from suffice.families.dirichlet import Dirichlet
from suffice.families.distribution import Distribution
from suffice.families.exponential import Exponential
from suffice.families.gamma import Gamma
from suffice.families.gaussian import Gaussian
from suffice.families.geometric import Geometric
from suffice.families.inverse_gaussian import InverseGaussian
from suffice.families.lognormal import LogNormal
from suffice.families.multinomial import Multinomial
from suffice.families.names import FAMILY_ALIASES, did_you_mean, plain_name
from suffice.families.negative_binomial import NegativeBinomial
from suffice.families.poisson import Poisson
from suffice.families.text import Text

#: every family, by name; a new family is one file and one line here
FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        Gaussian,
        Bernoulli,
        Categorical,
        Multinomial,
        Poisson,
        Exponential,
        Gamma,
        InverseGaussian,
        LogNormal,
        NegativeBinomial,
        Geometric,
        Beta,
        Dirichlet,
        Text,
    )
}


_BY_PLAIN_NAME = {plain_name(name): family for name, family in FAMILIES.items()}


def as_family(spec: str | Family | type[Family]) -> Family:
    """Return the family given by its name (upper case, spaces and hyphens are accepted), class or instance.

    Names of other libraries, such as "normal", are understood too: see `suffice.families.names`.

    Examples
    --------
    >>> as_family("poisson")
    Poisson()
    """
    if isinstance(spec, Family):
        return spec
    if isinstance(spec, type) and issubclass(spec, Family):
        return spec()
    if isinstance(spec, str) and plain_name(spec) in _BY_PLAIN_NAME:
        return _BY_PLAIN_NAME[plain_name(spec)]()
    raise ValueError(
        f"unknown family {spec!r}{did_you_mean(spec, (*FAMILIES, *FAMILY_ALIASES))}; give a Family such as "
        f"Gaussian('full'), or one of the names {', '.join(map(repr, FAMILIES))}"
    )


def reads_documents(families: Any) -> bool:
    """Return whether `families` gives all columns the family Text, so that documents need not be in a table."""
    automatic = isinstance(families, str) and families == "auto"
    return not automatic and not isinstance(families, Mapping) and isinstance(as_family(families), Text)


def family_from_config(name: str, config: Mapping[str, Any]) -> Family:
    """Return the family that `Family.config` describes."""
    return FAMILIES[name](**config)


__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Codes",
    "Dirichlet",
    "Distribution",
    "Distributions",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "Geometric",
    "InverseGaussian",
    "LogNormal",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "Text",
    "as_family",
    "family_from_config",
    "plain_name",
    "reads_documents",
]
