"""The other libraries that fit Gaussian mixtures, where they are installed: float32 rows, full covariances.

Each returns a fit, which returns the mean log-likelihood of the first rows; None where the library is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np


def pomegranate(X: Any, weights: Any, means: Any, covariance: Any, iterations: int) -> Callable[[], float] | None:
    """Return a fit by pomegranate; its distributions are refined in place, so that each fit makes new ones."""
    if find_spec("pomegranate") is None:
        return None
    import torch
    from pomegranate.distributions import Normal
    from pomegranate.gmm import GeneralMixtureModel

    rows = torch.from_numpy(X.astype(np.float32))

    def fit() -> float:
        parts = [Normal(mean.astype(np.float32), covariance.astype(np.float32)) for mean in means]
        model = GeneralMixtureModel(parts, priors=weights.astype(np.float32), max_iter=iterations, tol=-np.inf)
        return float(model.fit(rows).log_probability(rows[:20_000]).mean())

    return fit


def gmmx(X: Any, weights: Any, means: Any, covariance: Any, iterations: int) -> Callable[[], float] | None:
    """Return a fit by gmmx."""
    if find_spec("gmmx") is None:
        return None
    import jax
    from gmmx import EMFitter, GaussianMixtureModelJax

    rows = jax.numpy.asarray(X.astype(np.float32))
    covariances = np.repeat(covariance[None], len(means), axis=0)
    first = GaussianMixtureModelJax.from_squeezed(means, covariances, weights)
    fitter = EMFitter(max_iter=iterations, tol=0.0)
    return lambda: float(fitter.fit(rows, first).gmm.score(rows[:20_000]))


OTHERS = {"pomegranate": pomegranate, "gmmx": gmmx}
