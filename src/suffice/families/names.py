"""The names of families and covariance structures: one table of other names, and the nearest name to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: what is left out of a name
_NOTHING = str.maketrans("", "", "-_ ")
#: other names, of R, SciPy, scikit-learn and statsmodels, each with ours; spaces, hyphens and case do not matter
FAMILY_ALIASES = {
    "normal": "gaussian",
    "norm": "gaussian",
    "gauss": "gaussian",
    "nb": "negative_binomial",
    "negbin": "negative_binomial",
    "nbinom": "negative_binomial",
    "invgauss": "inverse_gaussian",
    "wald": "inverse_gaussian",
    "lognorm": "lognormal",
    "expon": "exponential",
    "geom": "geometric",
    "category": "categorical",
    "binary": "bernoulli",
}
#: a covariance of scikit-learn's GaussianMixture, and words for the same structures
STRUCTURE_ALIASES = {
    "diag": "diagonal",
    "tied-diag": "tied-diagonal",
    "shared": "tied",
    "isotropic": "spherical",
    "tied-isotropic": "tied-spherical",
}


def plain_name(name: str) -> str:
    """Return the name of a family in lower case without spaces, hyphens and underscores; aliases are replaced.

    Examples
    --------
    >>> plain_name("Inverse-Gaussian"), plain_name("normal")
    ('inversegaussian', 'gaussian')
    """
    plain = _plain(name)
    return _PLAIN_FAMILIES.get(plain, plain)


def plain_structure(name: str) -> str:
    """Return the name of a covariance structure in lower case without spaces and hyphens; aliases are replaced.

    Examples
    --------
    >>> plain_structure("Tied diag"), plain_structure("vvv")
    ('tieddiagonal', 'vvv')
    """
    plain = _plain(name)
    return _PLAIN_STRUCTURES.get(plain, plain)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the part of an error message that names the nearest of the known names; nothing if none is near.

    Examples
    --------
    >>> did_you_mean("poison", ["poisson", "gamma"]), did_you_mean("x", ["poisson"])
    ("; did you mean 'poisson'?", '')
    """
    by_plain = {_plain(one): one for one in known}
    near = get_close_matches(_plain(name), list(by_plain), n=1, cutoff=0.6) if isinstance(name, str) else []
    return f"; did you mean {by_plain[near[0]]!r}?" if near else ""


def _plain(name: str) -> str:
    return name.lower().translate(_NOTHING)


_PLAIN_FAMILIES = {_plain(name): _plain(ours) for name, ours in FAMILY_ALIASES.items()}
_PLAIN_STRUCTURES = {_plain(name): _plain(ours) for name, ours in STRUCTURE_ALIASES.items()}
