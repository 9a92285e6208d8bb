"""Covariance structures: which parts of the covariances the classes share, and which are free.

A structure names the moments that it needs and turns them into covariances, by maximum likelihood or with a prior.
It returns a compact array: variances (k, d) or covariances (k, d, d), with 1 in place of k if all classes share them.
Scoring depends on that shape only, so a new structure is one class here.

All fourteen parameterisations are here. Write Σ_c = λ_c D_c A_c D_cᵀ with |A_c| = 1: a volume, an orientation and
a shape. Each is Equal for all classes, Variable, or the Identity, and the code of a structure lists volume, shape and
orientation: "VEE" has one shape and one orientation for all classes, and one volume per class. `GivenSphere`,
`GivenDiagonal` and `GivenCovariance` are not estimated at all.
"""

from __future__ import annotations

from suffice.families.gaussian.covariance.constrained import EEV, EVE, EVI, EVV, VEE, VEI, VEV, VVE
from suffice.families.gaussian.covariance.data_scaled_prior import overall_covariance, prior_mean
from suffice.families.gaussian.covariance.given import GIVEN, Given, GivenCovariance, GivenDiagonal, GivenSphere
from suffice.families.gaussian.covariance.posterior_means import (
    DIAGONAL,
    FULL,
    SPHERICAL,
    TIED,
    TIED_DIAGONAL,
    TIED_SPHERICAL,
    Diagonal,
    Full,
    Spherical,
    Tied,
    TiedDiagonal,
    TiedSpherical,
)
from suffice.families.gaussian.covariance.structure import Covariance, expected_log_likelihood
from suffice.families.names import STRUCTURE_ALIASES, did_you_mean, plain_structure

__all__ = [
    "CODES",
    "EEV",
    "EVE",
    "EVI",
    "EVV",
    "STRUCTURES",
    "VEE",
    "VEI",
    "VEV",
    "VVE",
    "Covariance",
    "Diagonal",
    "Full",
    "Given",
    "GivenCovariance",
    "GivenDiagonal",
    "GivenSphere",
    "Spherical",
    "Tied",
    "TiedDiagonal",
    "TiedSpherical",
    "as_structure",
    "expected_log_likelihood",
    "overall_covariance",
    "prior_mean",
]

STRUCTURES: dict[str, Covariance] = {
    structure.name: structure
    for structure in (
        *(FULL, TIED, DIAGONAL, TIED_DIAGONAL, SPHERICAL, TIED_SPHERICAL),
        *(VEI(), EVI(), VEE(), EVE(), VVE(), EEV(), VEV(), EVV()),
    )
}

#: the structures by the letters for volume, shape and orientation
CODES: dict[str, Covariance] = {structure.code: structure for structure in STRUCTURES.values()}


_BY_PLAIN_NAME = {plain_structure(name): structure for name, structure in (*CODES.items(), *STRUCTURES.items())}


def as_structure(spec: str | Covariance) -> Covariance:
    """Return the structure with this name or code; upper case, spaces and hyphens are accepted, and "diag".

    Examples
    --------
    >>> as_structure("diag").name, as_structure("vvv").name
    ('diagonal', 'full')
    """
    if isinstance(spec, Covariance):
        return spec
    if isinstance(spec, str):
        found = _BY_PLAIN_NAME.get(plain_structure(spec))
        if found is not None:
            return found
        given = next((structure for kind in GIVEN if (structure := kind.named(spec)) is not None), None)
        if given is not None:
            return given
    names = dict.fromkeys([*STRUCTURES, *CODES])
    near = did_you_mean(spec, (*names, *STRUCTURE_ALIASES))
    raise ValueError(f"covariance must be one of {', '.join(map(repr, names))}, not {spec!r}{near}")
