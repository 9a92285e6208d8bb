"""One warning about collinear columns and estimates that are not finite, naming the columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from suffice.glm.fitting import GUARD
from suffice.glm.lbfgs import ITERATIONS_PER_STEP
from suffice.glm.objective import Found
from suffice.glm.responses import NegativeBinomialResponse, Response

INTERCEPT = "(intercept)"
#: columns below this share of the largest, in the directions without a maximum, are not named
_SHARE = 0.1
#: iterations after which shortened steps are no longer due to a poor start
_MANY = 20


def warn_of_fit(
    names: NDArray[Any], found: Found, *, stacklevel: int, firth: bool, constant: str | None = None
) -> None:
    """Warn of collinear columns, of columns without a finite estimate, and of a fit that did not converge.

    Parameters
    ----------
    firth : bool
        Whether Firth's correction is available for such a model.
    constant : str or None
        A description of the responses if they are all the same.
    """
    parts = []
    if not (found.converged or found.interrupted or found.lost.any()):
        warnings.warn(_not_converged(found), ConvergenceWarning, stacklevel=stacklevel)
    if not found.kept.all():
        parts.append(
            f"{_listed(names[~found.kept])} can be written in terms of earlier columns, so the coefficients are not "
            f"determined: they were set to 0, and have no standard errors. Leave such columns out, or pass alpha > 0"
        )
    if found.lost.any():
        guilty = names[found.lost >= _SHARE]
        guilty = guilty[guilty != INTERCEPT] if (guilty != INTERCEPT).any() else guilty
        cause = f"{_listed(guilty)} separate{'s' * (len(set(guilty.tolist())) == 1)} the responses perfectly"
        remedy = "alpha > 0 or firth=True" if firth else "alpha > 0"
        held = f"a ridge of {GUARD:g} of the information at the start keeps the coefficients finite"
        if found.method == "L-BFGS":
            held = "L-BFGS stopped where every row is fitted, as the coefficients would grow without limit"
        parts.append(
            f"{constant or cause}, so the likelihood has no maximum: {held}. "
            + ("Fit rows whose responses differ" if constant else f"Pass {remedy} for meaningful estimates")
        )
    if parts:
        warnings.warn(". Moreover, ".join(parts), UserWarning, stacklevel=stacklevel)


def warn_of_shape(response: Response, found: Found, *, stacklevel: int) -> None:
    """Warn if the estimated shape of a negative binomial is infinite."""
    if not isinstance(response, NegativeBinomialResponse) or found.interrupted:
        return
    if response.estimated and np.isinf(response.shape):
        warnings.warn(
            "the counts vary no more than Poisson counts of the same means, so the estimated shape is infinite: the "
            "fit is that of family='poisson'. Choose it, or pass a shape",
            UserWarning,
            stacklevel=stacklevel,
        )


def _not_converged(found: Found) -> str:
    """Return the warning for a fit that did not converge, with its cause and remedy."""
    if found.at_edge and (found.stuck or found.n_iter >= _MANY):
        return (
            f"{found.method} did not converge in {found.n_iter} iterations, as its steps reach the limit of the means "
            f"that the link can express, where the maximum seems to lie; pass another link, such as 'log', or alpha > 0"
        )
    if found.stuck:
        return (
            f"{found.method} stopped after {found.n_iter} iterations, as no further step raises the likelihood though "
            f"its gradient is not 0; the columns may be of very different sizes or nearly collinear. Scale them, leave "
            f"some out, or pass alpha > 0"
        )
    factor = (
        f" (L-BFGS makes {ITERATIONS_PER_STEP} iterations for each of max_iter)" if found.method == "L-BFGS" else ""
    )
    return f"{found.method} did not converge in {found.n_iter} iterations; raise max_iter{factor}"


def _listed(names: NDArray[Any], most: int = 8) -> str:
    unique = list(dict.fromkeys(np.asarray(names).tolist()))
    shown = ", ".join(map(repr, unique[:most])) + (f" and {len(unique) - most} more" if len(unique) > most else "")
    return f"column {shown}" if len(unique) == 1 else f"columns {shown}"
