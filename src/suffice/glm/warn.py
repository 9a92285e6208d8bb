"""One warning about what a linear model had to do to be finite, naming the columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from suffice.glm.fitting import GUARD, Found

INTERCEPT = "(intercept)"
#: columns with less than this share of the largest in a direction without a maximum are not named
_SHARE = 0.1


def warn_of_fit(names: NDArray[Any], found: Found, *, stacklevel: int) -> None:
    """Say which columns are collinear, and which have no finite estimate; else whether the rounds were too few."""
    parts = []
    if not (found.converged or found.interrupted or found.lost.any()):
        warnings.warn(
            f"Newton's method did not converge in {found.n_iter} rounds; raise max_iter",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    if not found.kept.all():
        parts.append(
            f"{_listed(names[~found.kept])} can be written in terms of those before, so that the coefficients are not "
            f"determined: they were set to 0, and have no standard errors. Leave such columns out, or pass alpha > 0"
        )
    if found.lost.any():
        guilty = names[found.lost >= _SHARE]
        guilty = guilty[guilty != INTERCEPT] if (guilty != INTERCEPT).any() else guilty
        parts.append(
            f"{_listed(guilty)} separate{'s' if len(set(guilty.tolist())) == 1 else ''} the responses perfectly, so that the likelihood has no "
            f"maximum: a ridge of {GUARD:g} of the information at the start keeps the coefficients finite. Pass "
            f"alpha > 0 or firth=True for estimates that mean something"
        )
    if parts:
        warnings.warn(". Moreover, ".join(parts), UserWarning, stacklevel=stacklevel)


def _listed(names: NDArray[Any], most: int = 8) -> str:
    unique = list(dict.fromkeys(np.asarray(names).tolist()))
    shown = ", ".join(map(repr, unique[:most])) + (f" and {len(unique) - most} more" if len(unique) > most else "")
    return f"column {shown}" if len(unique) == 1 else f"columns {shown}"
